//! The simulator's cell of one case.

use super::cell_bearer::MTU_BYTES;
use super::cell_tables::{Cell, Ue};
use super::declare::{self, Settings as _};
use super::named::Named;
use super::sources::Sources;
use super::values::{self, Bandwidth, ControlTtis, McsTable, QuantityUnit, Rank, Technology};
use crate::radio;
use qdelay_config::{Effective, Fault};
use qdelay_core::Span;
use qdelay_core::pacer::{PacerSetting, SizeUnit};
use qdelay_ran::cell::CellError;
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::mac::Sharing;
use qdelay_ran::radio::{Bler, Control, RadioError, Reported};
use qdelay_ran::tables::{self, Carrier, Overhead, TableError};
use qdelay_ran::{CellSetting, ScellSetting, UeSetting};
use qdelay_sim::{Backhaul, CellScenario, LinkSpec, UeSpec};

/// The error of a handover channel without a handover.
pub(super) const NO_HANDOVER: &str =
    "there is no handover; expected one, such as handover = \"handover:every=5s\", or no handover_channel";

impl Cell {
    pub(super) fn is_nr(&self) -> bool {
        self.keys.technology.get() == Technology::Nr
    }

    pub(super) fn unit(&self) -> SizeUnit {
        match self.keys.unit.get() {
            QuantityUnit::Packets => SizeUnit::Packets,
            QuantityUnit::Bytes => SizeUnit::Bytes,
        }
    }

    /// Number of UEs, over all entries.
    pub(super) fn count(&self) -> u64 {
        self.ues.iter().map(|ue| ue.keys.count.get()).sum()
    }

    /// Each entry of `[[cell.ue]]` with the indices of its UEs.
    pub(super) fn places(&self) -> impl Iterator<Item = (&Ue, std::ops::Range<usize>)> {
        let mut next = 0;
        self.ues.iter().map(move |ue| {
            let first = next;
            // `check` bounds the number of UEs by `UES_MAX`.
            next += ue.keys.count.get() as usize;
            (ue, first..next)
        })
    }

    /// The simulator's cell.
    ///
    /// # Errors
    /// A channel cannot be read, the carrier or cell is impossible, or a discipline or pacer cannot be built.
    pub fn scenario(&self, sources: &mut Sources<'_>) -> Result<CellScenario, Fault> {
        let carrier = self.carrier()?;
        let keys = &self.keys;
        let tti = keys.tti.get().unwrap_or(carrier.slot());
        let unit = self.unit();
        let bler = Bler::new(keys.bler.get(), Bler::SLOPE).map_err(|error| keys.bler.fault(error))?;
        let harq = HarqSetting {
            bler,
            rtt: keys.harq_rtt.get(),
            retransmissions: keys.harq_retransmissions.get(),
            decoding: keys.decoding.value().0,
            processes: keys.harq_processes.get(),
            ..HarqSetting::default()
        };
        let tdd = keys.tdd.value().as_option().map(|tdd| tdd.0.clone());
        let mut setting = CellSetting::new(carrier.clone())
            .tti(tti)
            .unit(unit)
            .scheduler(keys.scheduler.value().0.clone())
            .sharing(match keys.sharing.get() {
                values::Sharing::Equal => Sharing::EqualShare,
                values::Sharing::Priority => Sharing::Priority,
            })
            .harq(harq)
            .tdd(tdd.clone())
            .control(match keys.control_ttis.get() {
                ControlTtis::Testbed => Control::TESTBED,
                ControlTtis::None => Control::NONE,
            });
        if let Some(air) = keys.decoding_delay.get() {
            setting = setting.air(air);
        }
        setting = self.divide(setting)?;
        for scell in &self.scells {
            setting = setting.scell(self.scell(scell, sources)?);
        }
        let mut ues = Vec::new();
        for ue in &self.ues {
            let count = ue.keys.count.get();
            let spec = self.ue(ue, &setting, tti, sources)?;
            for member in 1..=count {
                let name = if count == 1 { spec.name.clone() } else { format!("{}-{member}", spec.name) };
                ues.push(UeSpec { name, ..spec.clone() });
            }
        }
        let uplink = self.uplink_scenario(&carrier, (tti, tdd), &ues, sources)?;
        let n3 = self.n3(sources)?;
        let scenario = CellScenario { setting, tti, unit, n3, ues, by_dscp: Vec::new(), uplink };
        // The simulator makes the remaining checks; `blame` finds the key of each fault.
        qdelay_ran::Cell::new(scenario.complete(), 0, "").map_err(|error| self.blame(&error))?;
        self.check_uplink_scenario(&scenario)?;
        Ok(scenario)
    }

    fn carrier(&self) -> Result<Carrier, Fault> {
        let keys = &self.keys;
        let built = if self.is_nr() {
            let (numerology, prbs, layers) = (keys.numerology.get(), keys.prbs.get(), keys.layers.get());
            let carrier =
                Carrier::nr(numerology, prbs, table(keys.mcs_table.get()), layers, Overhead::default());
            self.with_rank(carrier)
        } else {
            Carrier::lte(keys.bandwidth.get().map_or(keys.prbs.get(), Bandwidth::prbs))
        };
        built.map_err(|error| keys.prbs.fault(error))
    }

    /// The carrier with rank adaptation, if the cell has it.
    fn with_rank(&self, carrier: Result<Carrier, TableError>) -> Result<Carrier, TableError> {
        match self.keys.rank.get() {
            Rank::Fixed => carrier,
            Rank::Adapted => carrier.map(Carrier::adapt_rank),
        }
    }

    /// The carrier of a secondary cell.
    pub(super) fn scell_carrier(&self, scell: &Named<declare::Scell>) -> Result<Carrier, Fault> {
        let (own, cell) = (&scell.keys, &self.keys);
        let prbs = own.prbs.get().unwrap_or(self.carrier()?.prbs());
        let built = if self.is_nr() {
            let table = table(own.mcs_table.or_inherit(cell.mcs_table.effective()).get());
            let layers = own.layers.or_inherit(cell.layers.effective()).get();
            self.with_rank(Carrier::nr(cell.numerology.get(), prbs, table, layers, Overhead::default()))
        } else {
            Carrier::lte(prbs)
        };
        built.map_err(|error| own.prbs.or_inherit(cell.prbs.effective()).fault(error))
    }

    fn scell(&self, scell: &Named<declare::Scell>, sources: &mut Sources<'_>) -> Result<ScellSetting, Fault> {
        let tdd = scell.keys.tdd.or_inherit(self.keys.tdd.effective());
        let setting = ScellSetting::new(self.scell_carrier(scell)?)
            .tdd(tdd.value().as_option().map(|tdd| tdd.0.clone()));
        let own = &scell.keys.channel;
        let Some(channel) = own.value() else { return Ok(setting) };
        let (channel, place) = sources.channel(&channel.0).map_err(|message| own.fault(message))?;
        Ok(setting.channel(channel, place))
    }

    fn n3(&self, sources: &mut Sources<'_>) -> Result<Option<Backhaul>, Fault> {
        let n3 = &self.keys.n3;
        if n3.value().as_option().is_none() {
            return Ok(None);
        }
        let text = radio::with_overhead(n3.text(), self.keys.n3_overhead.get());
        let link = sources.link(&text).map_err(|message| n3.fault(message))?;
        Ok(Some(Backhaul { link: LinkSpec(link), limit: self.keys.n3_limit.get() }))
    }

    fn ue(&self, ue: &Ue, cell: &CellSetting, tti: Span, sources: &mut Sources<'_>) -> Result<UeSpec, Fault> {
        let carrier = cell.carrier();
        let effective = ue.keys.channel.or_inherit(self.keys.channel.effective());
        let (channel, place) =
            sources.channel(&effective.value().0).map_err(|message| effective.fault(message))?;
        let reported = Reported {
            delay: ue.keys.report_delay.or_inherit(self.keys.report_delay.effective()).get(),
            period: ue.keys.report_period.or_inherit(self.keys.report_period.effective()).get(),
        };
        channel
            .start(carrier, tti, reported, 0, "")
            .map_err(|error| self.refused_channel(effective, &error))?;
        let handover = ue
            .keys
            .handover
            .or_inherit(self.keys.handover.effective())
            .value()
            .as_option()
            .map(|one| one.0.clone());
        let elsewhere = ue.keys.handover_channel.or(&self.keys.handover_channel);
        // A channel given for this UE needs a handover; one inherited from the cell is ignored without a handover.
        let target = match elsewhere.value() {
            Some(_) if handover.is_none() && ue.keys.handover_channel.is_set() => {
                return Err(elsewhere.fault(NO_HANDOVER));
            }
            Some(channel) => {
                let (channel, _) = sources.channel(&channel.0).map_err(|message| elsewhere.fault(message))?;
                let started = channel.start(carrier, tti, reported, 0, "");
                started.map_err(|error| elsewhere.fault(format!("'{}': {error}", elsewhere.text())))?;
                Some(channel)
            }
            None => None,
        };
        let scells = ue.keys.scells.get().map_or(usize::MAX, |count| count as usize);
        let setting = UeSetting::new(channel)
            .scells(scells)
            .reported(reported)
            .starting_from(place)
            .olla(ue.keys.olla.or_inherit(self.keys.olla.effective()).value().as_option().map(|olla| olla.0))
            .handover(handover, target)
            .drx(ue.keys.drx.or_inherit(self.keys.drx.effective()).value().as_option().map(|drx| drx.0));
        let pacer = PacerSetting {
            tti,
            mtu_bytes: MTU_BYTES,
            peak_bytes: cell.peak_bytes(&setting),
            tdd_opportunity: cell.tdd_opportunity(),
            is_sparse: cell.is_sparse(&setting),
            // The bearer is not known yet.
            round_trip: Span::ZERO,
            split: None,
        };
        let bearers =
            ue.bearers.iter().map(|bearer| self.bearer(bearer, &pacer)).collect::<Result<_, _>>()?;
        Ok(UeSpec { name: ue.name.clone(), setting, bearers })
    }

    /// The fault of a secondary cell: of its channel if it has one.
    fn blame_scell(&self, scell: usize, error: &CellError) -> Fault {
        let Some(scell) = self.scells.get(scell) else { return Fault::new(0, "cell", error) };
        match scell.keys.channel.is_set() {
            true => scell.keys.channel.fault(error),
            false => Fault::new(scell.line, declare::Scell::TABLE.name, error),
        }
    }

    /// The fault of a channel that the carrier does not support.
    fn refused_channel(&self, channel: Effective<'_, values::Channel>, error: &RadioError) -> Fault {
        let message = format!("'{}': {error}", channel.text());
        match error {
            // The default channel has no line, but the key that it does not suit has one.
            RadioError::Rank if !channel.is_given() => {
                self.keys.rank.fault(format!("the channel is {message}"))
            }
            _ => channel.fault(message),
        }
    }

    /// Converts an error of the simulator's cell to the fault of a key.
    fn blame(&self, error: &CellError) -> Fault {
        let keys = &self.keys;
        // Errors number single UEs, but keys belong to an entry, which may stand for several UEs.
        let ue_of =
            |place: usize| self.places().find(|(_, places)| places.contains(&place)).map(|(ue, _)| ue);
        match error {
            CellError::Tti { .. } => keys.tti.fault(error),
            CellError::Window { .. } => keys.scheduler.fault(error),
            CellError::SchedulerOfSlice => self.blame_scheduler(error),
            CellError::TddOfSlots { .. } | CellError::Tdd { .. } => keys.tdd.fault(error),
            CellError::RankBySteps => keys.rank.fault(error),
            CellError::DelayOfSlice if keys.partition.value().as_option().is_some() => {
                keys.partition.fault(error)
            }
            CellError::DelayOfSlice => keys.scheduler.fault(error),
            CellError::Guaranteed { ue, bearer, .. } => {
                let bearer = ue_of(*ue).and_then(|ue| ue.bearers.get(*bearer));
                let nowhere = || Fault::new(0, "cell", error);
                bearer.map_or_else(nowhere, |bearer| bearer.keys.gbr.fault(error))
            }
            CellError::ShareOfNothing { slice, .. } => self.blame_share(*slice, error),
            CellError::Slices(_) if keys.partition.value().as_option().is_none() => {
                keys.scheduler.fault(error)
            }
            CellError::RatioOfNothing { slice, key, .. } => self.blame_ratio(*slice, key, error),
            CellError::Partition { .. } | CellError::Slices(_) | CellError::WindowOfSlices { .. } => {
                self.blame_slices(error)
            }
            CellError::SlotOfScell { scell, .. } | CellError::TddOfScell { scell, .. } => {
                self.scells.get(*scell).map_or(Fault::new(0, "cell", error), |scell| {
                    scell.keys.tdd.or_inherit(keys.tdd.effective()).fault(error)
                })
            }
            CellError::RadioOfScell { scell, .. } => self.blame_scell(*scell, error),
            CellError::ScellOfSlices | CellError::ScellInBytes => self.blame_scell(0, error),
            CellError::HarqRtt { .. } if keys.harq_rtt.is_given() => keys.harq_rtt.fault(error),
            CellError::HarqRtt { .. } => keys.decoding_delay.fault(error),
            CellError::Radio { ue, error } if ue_of(*ue).is_some() => {
                let cell = keys.channel.effective();
                ue_of(*ue).map_or(cell, |ue| ue.keys.channel.or_inherit(cell)).fault(error)
            }
            CellError::Rlc { ue, bearer, error } => {
                let (bearer, cell) =
                    (ue_of(*ue).and_then(|ue| ue.bearers.get(*bearer)), keys.rlc.effective());
                bearer.map_or(cell, |bearer| bearer.keys.rlc.or_inherit(cell)).fault(error)
            }
            _ => Fault::new(self.ues.first().map_or(0, |ue| ue.line), "cell", error),
        }
    }
}

/// The MCS table of a carrier.
fn table(table: McsTable) -> tables::McsTable {
    match table {
        McsTable::Qam256 => tables::McsTable::Qam256,
        McsTable::Qam64 => tables::McsTable::Qam64,
    }
}

impl Bandwidth {
    /// Number of resource blocks of an LTE carrier (TS 36.101 table 5.6-1).
    fn prbs(self) -> u16 {
        match self {
            Bandwidth::Mhz1_4 => 6,
            Bandwidth::Mhz3 => 15,
            Bandwidth::Mhz5 => 25,
            Bandwidth::Mhz10 => 50,
            Bandwidth::Mhz15 => 75,
            Bandwidth::Mhz20 => 100,
        }
    }
}
