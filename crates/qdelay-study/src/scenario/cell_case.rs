//! The cell of one case: checks for contradictions between settings, and the simulator's cell.

use super::cell_tables::{Bearer, Cell, EACH, Ue};
use super::declare::{self, Settings, UES_MAX};
use super::filter::Filter;
use super::matrix::listed;
use super::named::Named;
use super::sources::Sources;
use super::values::{
    self, Bandwidth, ControlTtis, Limit, McsTable, Pacer, Qdisc, QuantityUnit, SdapOrder, Technology,
};
use crate::radio;
use qdelay_config::{AnySetting, Fault, Said, Setting, fault};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::{self, AnyPacer, PacerSetting, SizeUnit};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::{F1Spec, PullOrder};
use qdelay_ran::cell::CellError;
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::mac::Sharing;
use qdelay_ran::pdcp::PdcpSetting;
use qdelay_ran::radio::{Bler, Control, Reported};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::qos::QosClass;
use qdelay_ran::tables::{self, Carrier, Overhead};
use qdelay_ran::{CellSetting, UeSetting};
use qdelay_sim::{Backhaul, BearerSpec, CellScenario, GateSpec, LinkSpec, QosFlowSpec, UeSpec, UpfSpec};
use serde_json::{Map, json};

/// The largest packet, which pacers must let pass at any rate.
const MTU_BYTES: u64 = 1500;
/// The quantum of each QoS flow in deficit round robin.
const QUANTUM_BYTES: u32 = 1500;
/// Where a channel elsewhere is given.
const NO_HANDOVER: &str =
    "there is no handover; expected one, such as handover = \"handover:every=5s\", or no channel elsewhere";
/// Limits in bytes are not to be cut short by a discipline's own number of packets.
const PACKETS_MAX: u64 = 10_000_000;
/// Time at the carrier's highest rate for which a queue has room that names no limit: 1000 packets, the disciplines' own limit, are less
/// from some 120 Mbit/s on, and 7 ms at 1.6 Gbit/s.
const USUAL_QUEUE: Span = Span::from_millis(100);

impl Cell {
    /// Checks for contradictions between settings, without reading a file.
    ///
    /// # Errors
    /// The contradiction, in the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        let (is_nr, keys) = (self.is_nr(), &self.keys);
        let of_nr: [&dyn AnySetting; 3] = [&keys.numerology, &keys.mcs_table, &keys.layers];
        if let Some(setting) = of_nr.into_iter().find(|setting| !is_nr && setting.is_given()) {
            let message = "the cell is LTE; expected this with technology = \"nr\" only";
            return Err(Fault::new(setting.line(), setting.key().path, message));
        }
        if keys.bandwidth.is_set() {
            if is_nr {
                return Err(keys.bandwidth.fault("the cell is NR; expected prbs in its place"));
            }
            if keys.prbs.is_given() {
                return Err(keys.bandwidth.fault("prbs is given too; expected one of both"));
            }
        }
        let count = self.count();
        if count > UES_MAX {
            let line = self.ues.last().map_or(0, |ue| ue.line);
            let message = format!("{count} UEs are too many; expected at most {UES_MAX} in all");
            return Err(Fault::new(line, "cell.ue", message));
        }
        let no_handover =
            |ue: &Ue| ue.keys.handover.over(self.keys.handover.said()).value().as_option().is_none();
        if self.keys.handover_channel.is_set() && self.ues.iter().all(no_handover) {
            return Err(self.keys.handover_channel.fault(NO_HANDOVER));
        }
        self.check_slices()?;
        self.check_uplink()?;
        self.check_classes()?;
        self.check_upf()
    }

    /// Keys of the UPF's pacer need a queue before the pacer.
    fn check_upf(&self) -> Result<(), Fault> {
        const MESSAGE: &str =
            "there is no queue at the UPF; expected this with upf only, such as upf = \"sfq\"";
        let mut has_any = false;
        for flow in self.ues.iter().flat_map(|ue| &ue.bearers).flat_map(|bearer| &bearer.qos_flows) {
            let keys = &flow.keys;
            let has_upf = keys.upf.over(self.keys.upf.said()).value().as_option().is_some();
            has_any |= has_upf;
            let of_upf: [&dyn AnySetting; 2] = [&keys.usp, &keys.upf_packets];
            if let Some(setting) = of_upf.into_iter().find(|setting| !has_upf && setting.is_given()) {
                return Err(Fault::new(setting.line(), setting.key().path, MESSAGE));
            }
        }
        let of_upf: [&dyn AnySetting; 2] = [&self.keys.usp, &self.keys.upf_packets];
        match of_upf.into_iter().find(|setting| !has_any && setting.is_given()) {
            Some(setting) => Err(Fault::new(setting.line(), setting.key().path, MESSAGE)),
            None => Ok(()),
        }
    }

    pub(super) fn is_nr(&self) -> bool {
        self.keys.technology.get() == Technology::Nr
    }

    pub(super) fn unit(&self) -> SizeUnit {
        match self.keys.unit.get() {
            QuantityUnit::Packets => SizeUnit::Packets,
            QuantityUnit::Bytes => SizeUnit::Bytes,
        }
    }

    /// UEs in all.
    fn count(&self) -> u64 {
        self.ues.iter().map(|ue| ue.keys.count.get()).sum()
    }

    /// The places of the UEs of each entry, over all.
    pub(super) fn places(&self) -> impl Iterator<Item = (&Ue, std::ops::Range<usize>)> {
        let mut next = 0;
        self.ues.iter().map(move |ue| {
            let first = next;
            // Checked to be few.
            next += ue.keys.count.get() as usize;
            (ue, first..next)
        })
    }

    /// Where the flows of an entry of `[[flow]]` go: UEs by their place, and QFIs; where packet filters say, that of packets with
    /// the flow's own codepoint.
    ///
    /// # Errors
    /// No such UE or QFI, or several and none is named.
    pub fn destinations(&self, flow: &Named<declare::Flow>) -> Result<Vec<(usize, u8)>, Fault> {
        let (named, wanted) = (&flow.keys.ue, &flow.keys.qfi);
        let names: Vec<&str> = self.ues.iter().map(|ue| ue.name.as_str()).collect();
        let is_meant = |ue: &Ue| !named.is_set() || named.text() == EACH || named.text() == ue.name;
        if named.is_set() && named.text() != EACH && !names.contains(&named.text()) {
            let near = fault::near(named.text(), names.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let message =
                format!("'{}' is no UE; expected each or one of {}{hint}", named.text(), listed(&names));
            return Err(named.fault(message));
        }
        let total = self.count();
        if !named.is_set() && total > 1 {
            let message = format!(
                "there are {total} UEs and none is named; expected each or one of {}",
                listed(&names)
            );
            return Err(Fault { line: flow.line, ..named.fault(message) });
        }
        let mut all = Vec::new();
        for (ue, places) in self.places().filter(|(ue, _)| is_meant(ue)) {
            let qfis: Vec<u8> =
                ue.bearers.iter().flat_map(|bearer| &bearer.qos_flows).map(|flow| flow.qfi).collect();
            let known = || qfis.iter().map(u8::to_string).collect::<Vec<String>>().join(", ");
            let qfi = match (wanted.get(), self.filtered(ue, flow), qfis.as_slice()) {
                (None, Some(filtered), _) => filtered,
                (Some(wanted), ..) if qfis.contains(&wanted) => wanted,
                (Some(_), ..) => {
                    let message = format!(
                        "{}: no bearer of UE '{}' carries it; expected one of {}",
                        wanted.text(),
                        ue.name,
                        known()
                    );
                    let fault = wanted.fault(message);
                    return Err(if fault.line > 0 { fault } else { Fault { line: flow.line, ..fault } });
                }
                (None, None, [only]) => *only,
                (None, None, _) => {
                    let message = format!(
                        "UE '{}' has several QoS flows and none is named; expected one of {}",
                        ue.name,
                        known()
                    );
                    return Err(Fault { line: flow.line, ..wanted.fault(message) });
                }
            };
            all.extend(places.map(|place| (place, qfi)));
        }
        Ok(all)
    }

    /// The simulator's cell.
    ///
    /// # Errors
    /// A channel that cannot be read, an impossible carrier or cell, a discipline or pacer that cannot be built.
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
            .control(match keys.control.get() {
                ControlTtis::Testbed => Control::TESTBED,
                ControlTtis::None => Control::NONE,
            });
        if let Some(air) = keys.air.get() {
            setting = setting.air(air);
        }
        setting = self.divide(setting)?;
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
        // The remaining checks, with the key of each fault.
        qdelay_ran::Cell::new(scenario.complete(), 0, "").map_err(|error| self.blame(&error))?;
        self.check_uplink_scenario(&scenario)?;
        Ok(scenario)
    }

    fn carrier(&self) -> Result<Carrier, Fault> {
        let keys = &self.keys;
        let built = if self.is_nr() {
            let table = match keys.mcs_table.get() {
                McsTable::Qam256 => tables::McsTable::Qam256,
                McsTable::Qam64 => tables::McsTable::Qam64,
            };
            Carrier::nr(keys.numerology.get(), keys.prbs.get(), table, keys.layers.get(), Overhead::default())
        } else {
            Carrier::lte(keys.bandwidth.get().map_or(keys.prbs.get(), Bandwidth::prbs))
        };
        built.map_err(|error| keys.prbs.fault(error))
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
        let said = ue.keys.channel.over(self.keys.channel.said());
        let (channel, place) = sources.channel(&said.value().0).map_err(|message| said.fault(message))?;
        let reported = Reported {
            delay: ue.keys.report_delay.over(self.keys.report_delay.said()).get(),
            period: ue.keys.report_period.over(self.keys.report_period.said()).get(),
        };
        channel
            .start(carrier, tti, reported, 0, "")
            .map_err(|error| said.fault(format!("'{}': {error}", said.text())))?;
        let handover =
            ue.keys.handover.over(self.keys.handover.said()).value().as_option().map(|one| one.0.clone());
        let elsewhere = ue.keys.handover_channel.or(&self.keys.handover_channel);
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
        let setting = UeSetting::new(channel)
            .reported(reported)
            .starting_from(place)
            .olla(ue.keys.olla.over(self.keys.olla.said()).value().as_option().map(|olla| olla.0))
            .handover(handover, target)
            .drx(ue.keys.drx.over(self.keys.drx.said()).value().as_option().map(|drx| drx.0));
        let pacer = PacerSetting {
            tti,
            mtu_bytes: MTU_BYTES,
            peak_bytes: cell.peak_bytes(&setting),
            has_tdd: cell.has_tdd(),
            split: None,
        };
        let bearers =
            ue.bearers.iter().map(|bearer| self.bearer(bearer, &pacer)).collect::<Result<_, _>>()?;
        Ok(UeSpec { name: ue.name.clone(), setting, bearers })
    }

    fn bearer(&self, bearer: &Bearer, pacer: &PacerSetting) -> Result<BearerSpec, Fault> {
        let (keys, cell) = (&bearer.keys, &self.keys);
        let feedback = keys.feedback.over(cell.feedback.said()).get();
        let polling = keys.polling.over(cell.polling.said()).get();
        let gate = |law: Said<'_, Pacer>, packets: Option<u32>, period: Span| -> Result<GateSpec, Fault> {
            let arguments = &law.value().0;
            AnyPacer::build(arguments, pacer).map_err(|error| law.fault(error))?;
            Ok(GateSpec { law: arguments.clone(), feedback, polling, packets, period })
        };
        let order = match keys.sdap_order.over(cell.sdap_order.said()).get() {
            SdapOrder::RoundRobin => PullOrder::RoundRobin,
            SdapOrder::Drr => PullOrder::DeficitRoundRobin { quantum_bytes: QUANTUM_BYTES },
            SdapOrder::Priority => PullOrder::StrictPriority,
        };
        let usual = usual_packets(pacer.peak_bytes, pacer.tti);
        let mut qos_flows: Vec<(u8, QosFlowSpec)> = Vec::new();
        for flow in &bearer.qos_flows {
            let keys = &flow.keys;
            let upf = match keys.upf.over(cell.upf.said()).value().as_option() {
                Some(qdisc) => Some(UpfSpec {
                    qdisc: with_room(qdisc.0.clone(), usual),
                    gate: gate(
                        keys.usp.over(cell.usp.said()),
                        keys.upf_packets.or(&cell.upf_packets).get(),
                        keys.upf_period.over(cell.upf_period.said()).get(),
                    )?,
                }),
                None => None,
            };
            let sdap = with_room(keys.sdap.over(cell.sdap.said()).value().0.clone(), usual);
            let class = self.class(bearer, flow)?;
            let priority = match class {
                Some(class) if !keys.priority.is_given() => class.priority,
                _ => keys.priority.get(),
            };
            let (budget, kind) = (class.map(QosClass::budget), if self.is_nr() { "5qi" } else { "qci" });
            let class = class.map(|class| format!("{kind}-{}", class.number));
            qos_flows.push((priority, QosFlowSpec { qfi: flow.qfi, sdap, upf, budget, class }));
        }
        if order == PullOrder::StrictPriority {
            qos_flows.sort_by_key(|(priority, _)| *priority);
        }
        let rlc = self.with_pdcp(
            self.rlc(keys.rlc.over(cell.rlc.said()))?,
            keys.pdcp.over(cell.pdcp.said()),
            keys.rlc.over(cell.rlc.said()),
            keys.rlc_queue.over(cell.rlc_queue.said()),
        )?;
        let f1 = keys.f1.over(cell.f1.said());
        let spec = f1.value().0;
        check_f1(f1, rlc.pdcp.as_ref())?;
        let law = keys.pacer.over(cell.pacer.said());
        let queue = keys.rlc_queue.over(cell.rlc_queue.said());
        let split = spec.split(feedback);
        let above_rlc = PacerSetting { split, ..*pacer };
        if AnyPacer::build(&law.value().0, pacer).is_ok()
            && let Err(error) = AnyPacer::build(&law.value().0, &above_rlc)
        {
            let message = format!("{error}; expected another pacer, or f1 = \"ideal\"");
            return Err(law.fault(message));
        }
        Ok(BearerSpec {
            name: bearer.name.clone(),
            service: self.service(bearer)?,
            rlc,
            queue: rlc_queue(queue, keys.rlc_limit.or(&cell.rlc_limit), usual)?,
            buffer_bytes: keys.rlc_buffer.or(&cell.rlc_buffer).get(),
            gate: gate(
                law,
                keys.sdap_packets.or(&cell.sdap_packets).get(),
                keys.sdap_period.over(cell.sdap_period.said()).get(),
            )?,
            f1: spec,
            order,
            qos_flows: qos_flows.into_iter().map(|(_, flow)| flow).collect(),
        })
    }

    pub(super) fn rlc(&self, said: Said<'_, values::Rlc>) -> Result<RlcSetting, Fault> {
        if self.unit() == SizeUnit::Packets {
            if said.is_given() {
                let message = "packets are the unit, which go whole; expected unit = \"bytes\", or no rlc";
                return Err(said.fault(message));
            }
            return Ok(RlcSetting::whole_packets());
        }
        RlcSetting::build(&said.value().0, self.is_nr())
            .map_err(|message| said.fault(format!("'{}': {message}", said.text())))
    }

    /// `rlc` under the PDCP that the bearer names, which `queue` must be able to stand behind.
    pub(super) fn with_pdcp(
        &self,
        rlc: RlcSetting,
        pdcp: Said<'_, values::Pdcp>,
        said_rlc: Said<'_, values::Rlc>,
        queue: Said<'_, Qdisc>,
    ) -> Result<RlcSetting, Fault> {
        let built = PdcpSetting::build(&pdcp.value().0, &rlc.mode);
        let built = built.map_err(|message| pdcp.fault(format!("'{}': {message}", pdcp.text())))?;
        let Some(setting) = built else { return Ok(rlc) };
        if let Some(key) = said_rlc.value().0.first_given(&["reordering", "in_order"]) {
            let message = format!(
                "'{}': {key} is of the ideal PDCP; expected t_reordering or out_of_order_delivery of pdcp = \"standard\"",
                said_rlc.text()
            );
            return Err(said_rlc.fault(message));
        }
        let discipline = &queue.value().0;
        if let Some(what) = discipline.component().classifies {
            if setting.ciphered {
                let message = format!(
                    "'{}': it tells packets apart by {what}, but behind PDCP they are ciphered; expected a discipline that keeps their order, such as taildrop or codel, or pdcp = \"standard:ciphering=off\"",
                    queue.text()
                );
                return Err(queue.fault(message));
            }
            if setting.discard_timer < Span::MAX {
                let message = format!(
                    "'{}': discard_timer needs a discipline that keeps the order of packets, but rlc_queue is '{}'; expected another, such as taildrop",
                    pdcp.text(),
                    queue.text()
                );
                return Err(pdcp.fault(message));
            }
        }
        if setting.ciphered
            && let Some(key) = qdisc::marks_by(discipline)
        {
            let message = format!(
                "'{}': it marks packets ({key}), but behind PDCP they are ciphered; expected no marks here, marks at the sdap, or pdcp = \"standard:ciphering=off\"",
                queue.text()
            );
            return Err(queue.fault(message));
        }
        let has_header = said_rlc.value().0.first_given(&["header"]).is_some();
        let header_bytes = if has_header { rlc.sdu_overhead_bytes } else { setting.header_bytes() };
        Ok(RlcSetting { sdu_overhead_bytes: header_bytes, pdcp: Some(setting), ..rlc })
    }

    /// Settings of PDCP and F1 that have little effect.
    pub fn warnings(&self) -> Vec<Fault> {
        let bearers = self.ues.iter().flat_map(|ue| &ue.bearers);
        let of = |bearer: &Bearer| {
            let pdcp = bearer.keys.pdcp.over(self.keys.pdcp.said());
            let f1 = bearer.keys.f1.over(self.keys.f1.said());
            let of_pdcp = PdcpSetting::warning(&pdcp.value().0)
                .map(|message| pdcp.fault(format!("'{}': {message}", pdcp.text())));
            let rlc = self.rlc(bearer.keys.rlc.over(self.keys.rlc.said())).ok();
            let built = rlc.and_then(|rlc| PdcpSetting::build(&pdcp.value().0, &rlc.mode).ok().flatten());
            let of_f1 = built
                .and_then(|pdcp| f1.value().0.warning(pdcp.discard_timer, pdcp.t_reordering))
                .map(|message| f1.fault(format!("'{}': {message}", f1.text())));
            let law = bearer.keys.pacer.over(self.keys.pacer.said());
            let is_alone = law.value().0.component().name == pacer::DESIRED_BUFFER.name
                && !matches!(f1.value().0, F1Spec::Standard(_));
            let of_pacer = is_alone.then(|| {
                let message = "without f1 = \"standard\" it hears of nobody who desires anything, and lets every packet go";
                law.fault(format!("'{}': {message}", law.text()))
            });
            [of_pdcp, of_f1, of_pacer]
        };
        bearers.flat_map(of).flatten().collect()
    }

    /// An error of the cell as the fault of a key.
    fn blame(&self, error: &CellError) -> Fault {
        let keys = &self.keys;
        let ue_of =
            |place: usize| self.places().find(|(_, places)| places.contains(&place)).map(|(ue, _)| ue);
        match error {
            CellError::Tti { .. } => keys.tti.fault(error),
            CellError::Window { .. } => keys.scheduler.fault(error),
            CellError::SchedulerOfSlice => self.blame_scheduler(error),
            CellError::TddOfSlots { .. } | CellError::Tdd { .. } => keys.tdd.fault(error),
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
            CellError::Partition { .. } | CellError::Slices(_) => self.blame_slices(error),
            CellError::HarqRtt { .. } if keys.harq_rtt.is_given() => keys.harq_rtt.fault(error),
            CellError::HarqRtt { .. } => keys.air.fault(error),
            CellError::Radio { ue, error } if ue_of(*ue).is_some() => {
                let cell = keys.channel.said();
                ue_of(*ue).map_or(cell, |ue| ue.keys.channel.over(cell)).fault(error)
            }
            CellError::Rlc { ue, bearer, error } => {
                let (bearer, cell) = (ue_of(*ue).and_then(|ue| ue.bearers.get(*bearer)), keys.rlc.said());
                bearer.map_or(cell, |bearer| bearer.keys.rlc.over(cell)).fault(error)
            }
            _ => Fault::new(self.ues.first().map_or(0, |ue| ue.line), "cell", error),
        }
    }

    /// Every key with its value, including inherited values.
    pub fn json(&self) -> serde_json::Value {
        let object = serde_json::Value::Object;
        let bearer = |bearer: &Bearer| {
            let mut keys = filled(&bearer.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(bearer.name));
            if let Ok(priority) = self.priority(bearer) {
                keys.insert("priority".to_string(), json!(priority));
            }
            if !bearer.filters.is_empty() {
                let filters = bearer.filters.iter().map(Filter::json).collect::<Vec<_>>();
                keys.insert("filter".to_string(), json!(filters));
            }
            let qos_flows = bearer.qos_flows.iter().map(|flow| {
                let mut keys = filled(&flow.keys, &[&bearer.keys.each(), &self.keys.each()]);
                keys.insert("qfi".to_string(), json!(flow.qfi));
                object(keys)
            });
            keys.insert("qos_flow".to_string(), qos_flows.collect());
            object(keys)
        };
        let ue = |ue: &Ue| {
            let mut keys = filled(&ue.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(ue.name));
            keys.insert("bearer".to_string(), ue.bearers.iter().map(bearer).collect());
            object(keys)
        };
        let slice = |slice: &Named<declare::Slice>| {
            let mut keys = filled(&slice.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(slice.name));
            object(keys)
        };
        let mut keys = self.keys.json();
        if !self.slices.is_empty() {
            keys.insert("slice".to_string(), self.slices.iter().map(slice).collect());
        }
        if let Some(uplink) = &self.uplink {
            keys.insert("uplink".to_string(), object(uplink.keys.json()));
        }
        keys.insert("ue".to_string(), self.ues.iter().map(ue).collect());
        object(keys)
    }
}

/// Whether `f1` can be between the units of a bearer with `pdcp`.
fn check_f1(f1: Said<'_, values::F1>, pdcp: Option<&PdcpSetting>) -> Result<(), Fault> {
    let spec = f1.value().0;
    if matches!(spec, F1Spec::Standard(_)) && pdcp.is_none() {
        let message = format!(
            "'{}': a delivery status is of PDCP numbers, which the ideal PDCP gives behind the queue; expected pdcp = \"standard\", or f1 = \"ideal\"",
            f1.text()
        );
        return Err(f1.fault(message));
    }
    if !matches!(spec, F1Spec::None) && pdcp.is_some_and(|pdcp| pdcp.drops_before) {
        let message = format!(
            "'{}': the queue is in the distributed unit, behind PDCP, which is in the central one; expected none with drop_before=on",
            f1.text()
        );
        return Err(f1.fault(message));
    }
    Ok(())
}

/// Every key of `own` with its value, or with that of the first level above that has one.
fn filled(own: &impl Settings, above: &[&[&dyn AnySetting]]) -> Map<String, serde_json::Value> {
    let value = |setting: &dyn AnySetting| {
        let name = setting.key().name();
        let mut levels = above.iter().copied().flatten();
        let said = levels.find(|above| above.key().name() == name && above.has_value());
        let said = if setting.has_value() { setting } else { said.map_or(setting, |said| *said) };
        (name.to_string(), said.json())
    };
    own.each().into_iter().map(value).collect()
}

impl Bandwidth {
    /// Resource blocks of an LTE carrier (TS 36.101 table 5.6-1).
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

/// Packets for which a queue above or below a carrier has room that names no limit: what it carries in [`USUAL_QUEUE`], where a TTI of
/// `tti` carries `peak_bytes` at most; none where that is not known.
pub(super) fn usual_packets(peak_bytes: Option<u64>, tti: Span) -> u64 {
    let ttis = USUAL_QUEUE.as_nanos() / tti.as_nanos().max(1);
    (peak_bytes.unwrap_or(0).saturating_mul(ttis) / MTU_BYTES).min(PACKETS_MAX)
}

/// A discipline with room for `packets`, if no limit of it is given and its own number is less. One whose queues have no common limit
/// stays as it is.
fn with_room(mut arguments: Arguments, packets: u64) -> Arguments {
    let mut parameters = arguments.component().parameters.iter();
    let own = parameters.find(|parameter| parameter.name == qdisc::LIMIT.name());
    let own: Option<u64> = own.and_then(|parameter| parameter.default.parse().ok());
    let is_given = arguments.is_given(&qdisc::LIMIT) || arguments.is_given(&qdisc::LIMIT_BYTES);
    if !is_given && own.is_some_and(|own| own < packets) {
        arguments.default_to(&qdisc::LIMIT, packets);
    }
    arguments
}

/// The queue of the RLC, with the table's limit if the discipline's own limit is not given, and room for `usual` packets where
/// neither is.
pub(super) fn rlc_queue(
    queue: Said<'_, Qdisc>,
    limit: &Setting<Option<Limit>>,
    usual: u64,
) -> Result<Arguments, Fault> {
    let mut arguments = queue.value().0.clone();
    match limit.get() {
        Some(Limit::Packets(packets)) => arguments.default_to(&qdisc::LIMIT, packets),
        Some(Limit::Bytes(bytes)) => {
            if !arguments.declares(&qdisc::LIMIT_BYTES) {
                let name = arguments.component().name;
                let message = format!("'{}': {name} has no limit in bytes; expected packets", limit.text());
                return Err(limit.fault(message));
            }
            arguments.default_to(&qdisc::LIMIT_BYTES, bytes);
            arguments.default_to(&qdisc::LIMIT, PACKETS_MAX);
        }
        None => arguments = with_room(arguments, usual),
    }
    AnyQdisc::build(&arguments).map_err(|error| queue.fault(error))?;
    Ok(arguments)
}
