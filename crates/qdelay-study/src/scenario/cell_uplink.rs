//! The cell's own uplink, `[cell.uplink]`: checks for contradictions, and the simulator's uplink.

use super::cell_bearer::{rlc_qdisc, usual_packets};
use super::cell_tables::{Bearer, Cell, Uplink};
use super::declare::{self, Settings};
use super::sources::Sources;
use qdelay_config::{AnySetting, Fault};
use qdelay_core::Span;
use qdelay_core::pacer::SizeUnit;
use qdelay_ran::cell::CellError;
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::radio::{Bler, Reported, Tdd};
use qdelay_ran::rlc::{Mode, RlcSetting, StatusUplink};
use qdelay_ran::tables::Carrier;
use qdelay_ran::uplink::{Configured, Prioritised, Reports, Requests};
use qdelay_ran::{CellSetting, UeSetting, UplinkCell, UplinkError, UplinkSetting};
use qdelay_sim::{CellScenario, CellUplink, UeSpec, UplinkBearerSpec};

impl Cell {
    /// Checks the keys of the uplink against each other; refuses keys of UEs and bearers that need a missing uplink.
    pub(super) fn check_uplink(&self) -> Result<(), Fault> {
        let Some(Uplink { keys, line }) = &self.uplink else { return self.check_no_uplink() };
        if self.unit() == SizeUnit::Packets {
            let message = "the cell counts packets; expected this table only with unit = \"bytes\"";
            return Err(Fault::new(*line, declare::CellUplink::TABLE.name, message));
        }
        if keys.sr_period.value().as_option().is_none() && !keys.configured_period.is_set() {
            let message = "UEs have neither scheduling requests nor configured grants, so they cannot send; expected a period, or configured_period too";
            return Err(keys.sr_period.fault(message));
        }
        // A configured grant needs both a period and a size.
        match (keys.configured_period.is_set(), keys.configured_bytes.is_set()) {
            (true, false) => {
                let message = "the size of configured grants is missing; expected configured_bytes too, such as \"300b\"";
                return Err(keys.configured_period.fault(message));
            }
            (false, true) => {
                let message = "the period of configured grants is missing; expected configured_period too, such as \"20ms\"";
                return Err(keys.configured_bytes.fault(message));
            }
            _ => {}
        }
        let bearers = self.ues.iter().flat_map(|ue| &ue.bearers);
        for Bearer { keys, .. } in bearers {
            if keys.uplink_bucket.is_given() && !keys.uplink_pbr.is_set() {
                let message = "the bucket has no rate; expected uplink_pbr too, such as \"100kbit\"";
                return Err(keys.uplink_bucket.fault(message));
            }
        }
        Ok(())
    }

    fn check_no_uplink(&self) -> Result<(), Fault> {
        for ue in &self.ues {
            let of_ue: [&dyn AnySetting; 1] = [&ue.keys.uplink_channel];
            let of_bearers = ue.bearers.iter().flat_map(|Bearer { keys, .. }| -> [&dyn AnySetting; 4] {
                [&keys.uplink_qdisc, &keys.uplink_limit, &keys.uplink_pbr, &keys.uplink_bucket]
            });
            if let Some(setting) = of_ue.into_iter().chain(of_bearers).find(|setting| setting.is_given()) {
                let message = "the cell has no uplink of its own; expected a table [cell.uplink] too";
                return Err(Fault::new(setting.line(), setting.key().path, message));
            }
        }
        Ok(())
    }

    /// The simulator's uplink for the UEs of the cell; `None` if the cell has no uplink of its own.
    ///
    /// # Errors
    /// A channel cannot be read, or a discipline or RLC cannot be built.
    pub(super) fn uplink_scenario(
        &self,
        carrier: &Carrier,
        (tti, tdd): (Span, Option<Tdd>),
        ues: &[UeSpec],
        sources: &mut Sources<'_>,
    ) -> Result<Option<CellUplink>, Fault> {
        let Some(Uplink { keys, .. }) = &self.uplink else { return Ok(None) };
        let bler = Bler::new(keys.bler.get(), Bler::SLOPE).map_err(|error| keys.bler.fault(error))?;
        let harq = HarqSetting {
            bler,
            rtt: keys.harq_rtt.get(),
            retransmissions: keys.harq_retransmissions.get(),
            ..HarqSetting::default()
        };
        let scheduler = keys.scheduler.value().0.clone();
        let mut cell = CellSetting::new(carrier.clone()).tti(tti).tdd(tdd).harq(harq).scheduler(scheduler);
        if let Some(air) = keys.decoding_delay.get() {
            cell = cell.air(air);
        }
        let requests = keys.sr_period.value().as_option().map(|&period| Requests {
            period,
            offset: keys.sr_offset.get(),
            prohibit: keys.sr_prohibit.get(),
        });
        let configured = keys.configured_period.get().zip(keys.configured_bytes.get());
        // The declared range keeps bytes within 32 bits.
        let configured = configured.map(|(period, bytes)| Configured { period, bytes: bytes as u32 });
        let reports = Reports { periodic: keys.periodic_bsr.get(), retransmission: keys.retx_bsr.get() };
        let setting = UplinkSetting::new(cell.clone())
            .requests(requests)
            .configured(configured)
            .reports(reports)
            .grant_delay(keys.grant_delay.get())
            .first_bytes(keys.sr_grant.get() as u32);
        let (mut channels, mut bearers) = (Vec::new(), Vec::new());
        let uplink_carrier = carrier.clone().of_uplink();
        for (ue, places) in self.places() {
            let effective = ue.keys.uplink_channel.or_inherit(keys.channel.effective());
            let (channel, place) =
                sources.channel(&effective.value().0).map_err(|message| effective.fault(message))?;
            channel
                .start(&uplink_carrier, tti, Reported::default(), 0, "")
                .map_err(|error| effective.fault(format!("'{}': {error}", effective.text())))?;
            let channel = UeSetting::new(channel).starting_from(place);
            let usual = usual_packets(cell.peak_bytes(&channel), tti);
            let of: Vec<UplinkBearerSpec> = ue
                .bearers
                .iter()
                .map(|bearer| self.uplink_bearer(bearer, keys, (tti, usual)))
                .collect::<Result<_, _>>()?;
            for _ in places {
                channels.push(channel.clone());
                bearers.extend(of.iter().cloned());
            }
        }
        debug_assert_eq!(channels.len(), ues.len());
        Ok(Some(CellUplink { setting, ues: channels, bearers }))
    }

    fn uplink_bearer(
        &self,
        bearer: &Bearer,
        uplink: &declare::CellUplink,
        (tti, usual): (Span, u64),
    ) -> Result<UplinkBearerSpec, Fault> {
        let (keys, cell) = (&bearer.keys, &self.keys);
        let effective_rlc = uplink.rlc.or_inherit(keys.rlc.or_inherit(cell.rlc.effective()));
        let queue = keys.uplink_qdisc.or_inherit(uplink.qdisc.effective());
        let pdcp = uplink.pdcp.or_inherit(keys.pdcp.or_inherit(cell.pdcp.effective()));
        let rlc = self.with_pdcp(self.rlc(effective_rlc)?, pdcp, effective_rlc, queue)?;
        let rate = keys.uplink_pbr.get().map(|rate| Prioritised { rate, bucket: keys.uplink_bucket.get() });
        Ok(UplinkBearerSpec {
            queue: rlc_qdisc(queue, keys.uplink_limit.or(&uplink.limit), usual)?,
            rlc: reported_down(rlc, tti),
            rate,
        })
    }

    /// Makes the simulator's remaining checks of the uplink; finds the key of each fault.
    pub(super) fn check_uplink_scenario(&self, scenario: &CellScenario) -> Result<(), Fault> {
        let (Some(Uplink { keys, line }), Some(setting)) = (&self.uplink, scenario.complete_uplink()) else {
            return Ok(());
        };
        let Err(error) = UplinkCell::new(setting, 0, "") else { return Ok(()) };
        let whole = |error: &dyn std::fmt::Display| Fault::new(*line, declare::CellUplink::TABLE.name, error);
        Err(match &error {
            UplinkError::Scheduler | UplinkError::Cell(CellError::Window { .. }) => {
                keys.scheduler.fault(error)
            }
            UplinkError::RequestPeriod { .. } | UplinkError::NoGrants => keys.sr_period.fault(error),
            UplinkError::RequestOffset { .. } => keys.sr_offset.fault(error),
            UplinkError::ConfiguredPeriod { .. } => keys.configured_period.fault(error),
            UplinkError::ConfiguredBytes(_) => keys.configured_bytes.fault(error),
            UplinkError::FirstBytes(_) => keys.sr_grant.fault(error),
            UplinkError::HarqRtt { .. } | UplinkError::Cell(CellError::HarqRtt { .. }) => {
                let settings: [&dyn AnySetting; 3] =
                    [&keys.harq_rtt, &keys.grant_delay, &keys.decoding_delay];
                let given = settings.into_iter().find(|setting| setting.is_given());
                given.map_or_else(|| whole(&error), |key| Fault::new(key.line(), key.key().path, error))
            }
            _ => whole(&error),
        })
    }
}

/// Adapts `rlc` to the uplink: the base station writes a status report in the next TTI, and the UE reads it one block
/// transmission later.
fn reported_down(mut rlc: RlcSetting, tti: Span) -> RlcSetting {
    let down = StatusUplink { grant: tti, ..StatusUplink::DEFAULT };
    match &mut rlc.mode {
        Mode::LteAm(am) => am.uplink = down,
        Mode::NrAm(am) => am.am.uplink = down,
        Mode::Transparent { .. } | Mode::LteUm(_) | Mode::NrUm(_) => {}
    }
    rlc
}
