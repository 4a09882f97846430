//! The cell of one case: its settings, with what bearers and QoS flows inherit, and the simulator's cell.

use super::cell_tables::{Bearer, Cell, EACH, Slice, Ue};
use super::declare::{BEARER, CELL, QOS_FLOW, SLICE, UE, UES_MAX};
use super::fault::{self, Fault};
use super::filter::Filter;
use super::matrix::{Target, listed};
use super::point::Settings;
use super::setting::{Limit, Meaning, Setting};
use super::sources::Sources;
use crate::radio;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Value};
use qdelay_core::pacer::{AnyPacer, PacerSetting, SizeUnit};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_path::PullOrder;
use qdelay_ran::cell::CellError;
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::mac::{RoundRobin, Scheduler, Sharing};
use qdelay_ran::radio::{Bler, Control, Reported};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::qos::QosClass;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{CellSetting, UeSetting};
use qdelay_sim::{Backhaul, BearerSpec, CellScenario, GateSpec, LinkSpec, QosFlowSpec, UeSpec, UpfSpec};
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// The largest packet, which pacers have to let through whatever the rate.
const MTU_BYTES: u64 = 1500;
/// What each QoS flow may send in its turn of deficit round robin.
const QUANTUM_BYTES: u32 = 1500;
/// Keys of NR, and of LTE.
const OF_NR: [&str; 3] = ["numerology", "mcs_table", "layers"];
/// Limits in bytes are not to be cut short by a discipline's own number of packets.
const PACKETS_MAX: u64 = 10_000_000;

/// The settings of the cell at one point.
pub(super) struct CellView<'a> {
    layers: &'a Cell,
    pub(super) cell: Settings<'a>,
    pub(super) slices: Vec<(&'a Slice, Settings<'a>)>,
    pub(super) ues: Vec<UeView<'a>>,
}

pub(super) struct UeView<'a> {
    pub ue: &'a Ue,
    pub settings: Settings<'a>,
    pub bearers: Vec<BearerView<'a>>,
}

pub(super) struct BearerView<'a> {
    pub bearer: &'a Bearer,
    pub settings: Settings<'a>,
    pub(super) qos_flows: Vec<(u8, Settings<'a>)>,
}

/// The first of `levels` that says what `name` is, and what it says; the last one has the default.
pub(super) fn effective<'b, 'a>(levels: &[&'b Settings<'a>], name: &str) -> (&'b Settings<'a>, &'a Setting) {
    let declares = |level: &&&Settings<'_>| level.table.position(name).is_some();
    let mut at = levels.iter().filter(declares);
    let said = at.clone().find(|level| level.get(name).is_set());
    let level = said.or_else(|| at.next_back()).unwrap_or(&levels[levels.len() - 1]);
    (level, level.get(name))
}

/// By the places of UE, bearer and filter: whether a filter decides about any packet, or only matches some that others of less
/// precedence decide about.
pub(super) type Matched = BTreeMap<(usize, usize, usize), bool>;

impl<'a> CellView<'a> {
    /// As the file says.
    pub fn new(layers: &'a Cell) -> CellView<'a> {
        let qos_flow = |flow: &'a super::cell_tables::QosFlow| {
            (flow.qfi, Settings::new(&QOS_FLOW, &flow.layer.settings))
        };
        let bearer = |bearer: &'a Bearer| BearerView {
            bearer,
            settings: Settings::new(&BEARER, &bearer.layer.settings),
            qos_flows: bearer.qos_flows.iter().map(qos_flow).collect(),
        };
        let ue = |ue: &'a Ue| UeView {
            ue,
            settings: Settings::new(&UE, &ue.layer.settings),
            bearers: ue.bearers.iter().map(bearer).collect(),
        };
        CellView {
            layers,
            cell: Settings::new(&CELL, &layers.layer.settings),
            slices: layers
                .slices
                .iter()
                .map(|slice| (slice, Settings::new(&SLICE, &slice.layer.settings)))
                .collect(),
            ues: layers.ues.iter().map(ue).collect(),
        }
    }

    /// What axes set: for one over what they set for all.
    pub fn set(&mut self, points: Vec<(Target, &'a Setting)>) {
        let bearers = |ues: &mut Vec<UeView<'a>>, which: Option<usize>, key: usize, setting: &'a Setting| {
            for bearer in ues.iter_mut().flat_map(|ue| &mut ue.bearers) {
                if which.is_none_or(|called| bearer.bearer.called == called) {
                    bearer.settings.all[key] = setting;
                }
            }
        };
        for (target, setting) in &points {
            match *target {
                Target::Cell(key) => self.cell.all[key] = setting,
                Target::EveryUe(key) => self.ues.iter_mut().for_each(|ue| ue.settings.all[key] = setting),
                Target::EveryBearer(key) => bearers(&mut self.ues, None, key, setting),
                Target::EverySlice(key) => {
                    self.slices.iter_mut().for_each(|slice| slice.1.all[key] = setting)
                }
                _ => {}
            }
        }
        for (target, setting) in points {
            match target {
                Target::Ue(ue, key) => self.ues[ue].settings.all[key] = setting,
                Target::Bearer(called, key) => bearers(&mut self.ues, Some(called), key, setting),
                Target::Slice(slice, key) => self.slices[slice].1.all[key] = setting,
                _ => {}
            }
        }
    }

    /// What the settings say against each other, without a file being read.
    ///
    /// # Errors
    /// The contradiction, in the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        let is_nr = self.is_nr();
        for key in OF_NR {
            if !is_nr && self.cell.get(key).given {
                return Err(self
                    .cell
                    .fault(key, "the cell is LTE; expected this with technology = \"nr\" only"));
            }
        }
        if self.cell.get("bandwidth").is_set() {
            if is_nr {
                return Err(self.cell.fault("bandwidth", "the cell is NR; expected prbs in its place"));
            }
            if self.cell.get("prbs").given {
                return Err(self.cell.fault("bandwidth", "prbs is given too; expected one of both"));
            }
        }
        let count: u64 = self.ues.iter().map(|ue| ue.settings.get("count").whole()).sum();
        if count > UES_MAX {
            let line = self.ues.last().map_or(0, |ue| ue.ue.line);
            let message = format!("{count} UEs are too many; expected at most {UES_MAX} in all");
            return Err(Fault::new(line, "cell.ue", message));
        }
        self.check_slices()?;
        self.check_classes()?;
        self.check_upf()
    }

    /// What is said of the UPF's pacer needs a queue before it.
    fn check_upf(&self) -> Result<(), Fault> {
        const MESSAGE: &str =
            "there is no queue at the UPF; expected this with upf only, such as upf = \"sfq\"";
        let mut has_any = false;
        for bearer in self.ues.iter().flat_map(|ue| &ue.bearers) {
            for (_, flow) in &bearer.qos_flows {
                let upf = effective(&[flow, &bearer.settings, &self.cell], "upf").1;
                let has_upf = matches!(upf.meaning, Meaning::OptionalQdisc(Some(_)));
                has_any |= has_upf;
                match ["usp", "upf_packets"].into_iter().find(|key| flow.get(key).given) {
                    Some(key) if !has_upf => return Err(flow.fault(key, MESSAGE)),
                    _ => {}
                }
            }
        }
        match ["usp", "upf_packets"].into_iter().find(|key| self.cell.get(key).given) {
            Some(key) if !has_any => Err(self.cell.fault(key, MESSAGE)),
            _ => Ok(()),
        }
    }

    pub(super) fn is_nr(&self) -> bool {
        self.cell.get("technology").text == "nr"
    }

    fn unit(&self) -> SizeUnit {
        if self.cell.get("unit").text == "packets" { SizeUnit::Packets } else { SizeUnit::Bytes }
    }

    /// The places of the UEs of each entry, over all.
    fn places(&self) -> impl Iterator<Item = (&UeView<'a>, std::ops::Range<usize>)> {
        let mut next = 0;
        self.ues.iter().map(move |ue| {
            let first = next;
            // Checked to be few.
            next += ue.settings.get("count").whole() as usize;
            (ue, first..next)
        })
    }

    /// Where the flows of an entry of `[[flow]]` in `line`, called `name`, go: UEs by their place, and QFIs; where packet filters
    /// say, that of packets with the flow's own codepoint.
    ///
    /// # Errors
    /// No such UE or QFI, or several and none is named.
    pub fn destinations(
        &self,
        name: &str,
        flow: &Settings<'_>,
        line: u32,
    ) -> Result<Vec<(usize, u8)>, Fault> {
        let named = flow.get("ue");
        let names: Vec<&str> = self.ues.iter().map(|ue| ue.ue.name.as_str()).collect();
        let is_meant = |ue: &UeView<'_>| named.text == EACH || named.text == ue.ue.name;
        let at = |setting: &Setting| if setting.line > 0 { setting.line } else { line };
        if named.is_set() && named.text != EACH && !names.contains(&named.text.as_str()) {
            let near = fault::near(&named.text, names.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let message =
                format!("'{}' is no UE; expected each or one of {}{hint}", named.text, listed(&names));
            return Err(flow.fault("ue", message));
        }
        let total: u64 = self.ues.iter().map(|ue| ue.settings.get("count").whole()).sum();
        if !named.is_set() && total > 1 {
            let message = format!(
                "there are {total} UEs and none is named; expected each or one of {}",
                listed(&names)
            );
            return Err(Fault::new(line, "flow.ue", message));
        }
        let mut all = Vec::new();
        for (ue, places) in self.places().filter(|(ue, _)| !named.is_set() || is_meant(ue)) {
            let qfis: Vec<u8> =
                ue.bearers.iter().flat_map(|bearer| &bearer.qos_flows).map(|(qfi, _)| *qfi).collect();
            let words: Vec<String> = qfis.iter().map(u8::to_string).collect();
            let known = words.join(", ");
            let wanted = flow.get("qfi");
            let filtered = self.filtered(ue, name, flow).filter(|_| !wanted.is_set());
            let qfi = match (wanted.is_set(), qfis.as_slice()) {
                _ if filtered.is_some() => filtered.unwrap_or_default(),
                // The declared range keeps it within six bits.
                (true, _) if qfis.contains(&(wanted.whole() as u8)) => wanted.whole() as u8,
                (true, _) => {
                    let message = format!(
                        "{}: no bearer of UE '{}' carries it; expected one of {known}",
                        wanted.text, ue.ue.name
                    );
                    return Err(Fault::new(at(wanted), "flow.qfi", message));
                }
                (false, [only]) => *only,
                (false, _) => {
                    let message = format!(
                        "UE '{}' has several QoS flows and none is named; expected one of {known}",
                        ue.ue.name
                    );
                    return Err(Fault::new(line, "flow.qfi", message));
                }
            };
            all.extend(places.map(|place| (place, qfi)));
        }
        Ok(all)
    }

    /// The simulator's cell.
    ///
    /// # Errors
    /// A channel that cannot be read, a carrier or cell that there is not, a discipline or pacer that cannot be built.
    pub fn scenario(&self, sources: &mut Sources<'_>) -> Result<CellScenario, Fault> {
        let carrier = self.carrier()?;
        let tti = self.cell.get("tti").span().unwrap_or(carrier.slot());
        let unit = self.unit();
        let scheduler = match &self.cell.get("scheduler").meaning {
            Meaning::Component(arguments) => {
                Scheduler::build(arguments).map_err(|error| self.cell.fault("scheduler", error))?
            }
            _ => RoundRobin.into(),
        };
        let bler = Bler::new(self.cell.get("bler").number(), Bler::SLOPE)
            .map_err(|error| self.cell.fault("bler", error))?;
        let harq = HarqSetting {
            bler,
            rtt: self.cell.get("harq_rtt").span(),
            // The declared range keeps it within eight bits.
            retransmissions: self.cell.get("harq_retransmissions").whole() as u8,
            ..HarqSetting::default()
        };
        let mut setting = CellSetting::new(carrier.clone())
            .tti(tti)
            .unit(unit)
            .scheduler(scheduler)
            .sharing(if self.cell.get("sharing").text == "equal" {
                Sharing::EqualShare
            } else {
                Sharing::Priority
            })
            .harq(harq)
            .control(if self.cell.get("control").text == "testbed" {
                Control::TESTBED
            } else {
                Control::NONE
            });
        if let Some(air) = self.cell.get("air").span() {
            setting = setting.air(air);
        }
        setting = self.divide(setting)?;
        let pacer = PacerSetting { tti, mtu_bytes: MTU_BYTES };
        let mut ues = Vec::new();
        for ue in &self.ues {
            let count = ue.settings.get("count").whole();
            let spec = self.ue(ue, &carrier, &pacer, sources)?;
            for member in 1..=count {
                let name = if count == 1 { spec.name.clone() } else { format!("{}-{member}", spec.name) };
                ues.push(UeSpec { name, ..spec.clone() });
            }
        }
        let scenario = CellScenario { setting, tti, unit, n3: self.n3(sources)?, ues, by_dscp: Vec::new() };
        // Whatever else there is to find fault with, with the key it comes from.
        qdelay_ran::Cell::new(scenario.complete(), 0, "").map_err(|error| self.blame(&error))?;
        Ok(scenario)
    }

    fn carrier(&self) -> Result<Carrier, Fault> {
        let prbs = match self.cell.get("bandwidth").text.as_str() {
            "1.4mhz" => 6,
            "3mhz" => 15,
            "5mhz" => 25,
            "10mhz" => 50,
            "15mhz" => 75,
            "20mhz" => 100,
            // The declared ranges keep these within their bits.
            _ => self.cell.get("prbs").whole() as u16,
        };
        let built = if self.is_nr() {
            let table =
                if self.cell.get("mcs_table").text == "qam256" { McsTable::Qam256 } else { McsTable::Qam64 };
            let (numerology, layers) =
                (self.cell.get("numerology").whole() as u8, self.cell.get("layers").whole() as u8);
            Carrier::nr(numerology, prbs, table, layers, Overhead::default())
        } else {
            Carrier::lte(prbs)
        };
        built.map_err(|error| self.cell.fault("prbs", error))
    }

    fn n3(&self, sources: &mut Sources<'_>) -> Result<Option<Backhaul>, Fault> {
        let n3 = self.cell.get("n3");
        if !matches!(n3.meaning, Meaning::OptionalLink(true)) {
            return Ok(None);
        }
        let text = radio::with_overhead(&n3.text, self.cell.get("n3_overhead").whole());
        let link = sources.library.link(&text).map_err(|message| self.cell.fault("n3", message))?;
        Ok(Some(Backhaul { link: LinkSpec(link), limit: self.cell.get("n3_limit").whole() }))
    }

    fn ue(
        &self,
        ue: &UeView<'a>,
        carrier: &Carrier,
        pacer: &PacerSetting,
        sources: &mut Sources<'_>,
    ) -> Result<UeSpec, Fault> {
        let levels = [&ue.settings, &self.cell];
        let (level, setting) = effective(&levels, "channel");
        let Meaning::Component(arguments) = &setting.meaning else {
            return Err(level.fault("channel", "no channel; expected one, such as \"mcs:28\""));
        };
        let channel = sources.channel(arguments).map_err(|message| level.fault("channel", message))?;
        let span = |name: &str| effective(&levels, name).1.span().unwrap_or(Span::ZERO);
        let reported = Reported { delay: span("report_delay"), period: span("report_period") };
        channel
            .start(carrier, pacer.tti, reported, 0, "")
            .map_err(|error| level.fault("channel", format!("'{}': {error}", setting.text)))?;
        Ok(UeSpec {
            name: ue.ue.name.clone(),
            setting: UeSetting::new(channel).reported(reported),
            bearers: ue.bearers.iter().map(|bearer| self.bearer(bearer, pacer)).collect::<Result<_, _>>()?,
        })
    }

    fn bearer(&self, bearer: &BearerView<'a>, pacer: &PacerSetting) -> Result<BearerSpec, Fault> {
        let levels = [&bearer.settings, &self.cell];
        let order = match effective(&levels, "sdap_order").1.text.as_str() {
            "round_robin" => PullOrder::RoundRobin,
            "drr" => PullOrder::DeficitRoundRobin { quantum_bytes: QUANTUM_BYTES },
            _ => PullOrder::StrictPriority,
        };
        let mut qos_flows: Vec<(u64, QosFlowSpec)> = Vec::new();
        for (qfi, settings) in &bearer.qos_flows {
            let levels = [settings, &bearer.settings, &self.cell];
            let upf = match &effective(&levels, "upf").1.meaning {
                Meaning::OptionalQdisc(Some(qdisc)) => Some(UpfSpec {
                    qdisc: qdisc.clone(),
                    gate: gate(&levels, "usp", "upf_packets", "upf_period", pacer)?,
                }),
                _ => None,
            };
            let (level, sdap) = effective(&levels, "sdap");
            let Meaning::Qdisc(sdap) = &sdap.meaning else {
                return Err(level.fault("sdap", "no discipline; expected one"));
            };
            let class = self.class(bearer, settings)?;
            let priority = settings.get("priority");
            let priority = match class {
                Some(class) if !priority.given => u64::from(class.priority),
                _ => priority.whole(),
            };
            let budget = class.map(QosClass::budget);
            qos_flows.push((priority, QosFlowSpec { qfi: *qfi, sdap: sdap.clone(), upf, budget }));
        }
        if order == PullOrder::StrictPriority {
            qos_flows.sort_by_key(|(priority, _)| *priority);
        }
        Ok(BearerSpec {
            name: bearer.bearer.name.clone(),
            priority: self.priority(bearer)?,
            rlc: self.rlc(&levels)?,
            queue: rlc_queue(&levels)?,
            buffer_bytes: Some(effective(&levels, "rlc_buffer").1)
                .filter(|set| set.is_set())
                .map(Setting::whole),
            gate: gate(&levels, "pacer", "sdap_packets", "sdap_period", pacer)?,
            order,
            qos_flows: qos_flows.into_iter().map(|(_, flow)| flow).collect(),
        })
    }

    fn rlc(&self, levels: &[&Settings<'a>]) -> Result<RlcSetting, Fault> {
        let (level, setting) = effective(levels, "rlc");
        if self.unit() == SizeUnit::Packets {
            if setting.given {
                return Err(level.fault(
                    "rlc",
                    "packets are the unit, which go whole; expected unit = \"bytes\", or no rlc",
                ));
            }
            return Ok(RlcSetting::whole_packets());
        }
        let Meaning::Component(arguments) = &setting.meaning else {
            return Err(level.fault("rlc", "no RLC; expected um, am or tm"));
        };
        radio::rlc(arguments, self.is_nr())
            .map_err(|message| level.fault("rlc", format!("'{}': {message}", setting.text)))
    }

    /// What the cell finds fault with, as the fault of a key.
    fn blame(&self, error: &CellError) -> Fault {
        let ue_of =
            |place: usize| self.places().find(|(_, places)| places.contains(&place)).map(|(ue, _)| ue);
        match error {
            CellError::Tti { .. } => self.cell.fault("tti", error),
            CellError::Window { .. } => self.cell.fault("scheduler", error),
            CellError::SchedulerOfSlice => self.blame_scheduler(error),
            CellError::ShareOfNothing { slice, .. } => self.blame_share(*slice, error),
            CellError::Slices(_) if self.cell.get("partition").text == "none" => {
                self.cell.fault("scheduler", error)
            }
            CellError::Partition { .. } | CellError::Slices(_) => self.blame_slices(error),
            CellError::HarqRtt { .. } if self.cell.get("harq_rtt").given => {
                self.cell.fault("harq_rtt", error)
            }
            CellError::HarqRtt { .. } => self.cell.fault("air", error),
            CellError::Radio { ue, error } if ue_of(*ue).is_some() => {
                let levels = ue_of(*ue).map_or([&self.cell; 2], |ue| [&ue.settings, &self.cell]);
                effective(&levels, "channel").0.fault("channel", error)
            }
            CellError::Rlc { ue, bearer, error } => {
                let bearer = ue_of(*ue).and_then(|ue| ue.bearers.get(*bearer));
                let levels = bearer.map_or([&self.cell; 2], |bearer| [&bearer.settings, &self.cell]);
                effective(&levels, "rlc").0.fault("rlc", error)
            }
            _ => Fault::new(self.ues.first().map_or(0, |ue| ue.ue.line), "cell", error),
        }
    }

    /// Every key with its value, what is inherited included.
    pub fn json(&self) -> serde_json::Value {
        let fill = |settings: &Settings<'a>, above: &[&Settings<'a>]| -> Map<String, serde_json::Value> {
            let levels: Vec<&Settings<'a>> = [settings].into_iter().chain(above.iter().copied()).collect();
            let keys = settings.table.keys.iter().map(|key| key.parameter.name);
            keys.map(|name| (name.to_string(), effective(&levels, name).1.json())).collect()
        };
        let bearer = |bearer: &BearerView<'a>| {
            let mut keys = fill(&bearer.settings, &[&self.cell]);
            keys.insert("name".to_string(), json!(bearer.bearer.name));
            if let Ok(priority) = self.priority(bearer) {
                keys.insert("priority".to_string(), json!(priority));
            }
            if !bearer.bearer.filters.is_empty() {
                let filters = bearer.bearer.filters.iter().map(Filter::json).collect::<Vec<_>>();
                keys.insert("filter".to_string(), json!(filters));
            }
            let qos_flow = |(qfi, settings): &(u8, Settings<'a>)| {
                let mut keys = fill(settings, &[&bearer.settings, &self.cell]);
                keys.insert("qfi".to_string(), json!(qfi));
                serde_json::Value::Object(keys)
            };
            let qos_flows: Vec<serde_json::Value> = bearer.qos_flows.iter().map(qos_flow).collect();
            keys.insert("qos_flow".to_string(), json!(qos_flows));
            serde_json::Value::Object(keys)
        };
        let ue = |ue: &UeView<'a>| {
            let mut keys = fill(&ue.settings, &[&self.cell]);
            keys.insert("name".to_string(), json!(ue.ue.name));
            let bearers: Vec<serde_json::Value> = ue.bearers.iter().map(bearer).collect();
            keys.insert("bearer".to_string(), json!(bearers));
            serde_json::Value::Object(keys)
        };
        let mut keys = self.cell.json();
        let slice = |(slice, settings): &(&Slice, Settings<'a>)| {
            let mut keys = fill(settings, &[&self.cell]);
            keys.insert("name".to_string(), json!(slice.name));
            serde_json::Value::Object(keys)
        };
        if !self.slices.is_empty() {
            let slices: Vec<serde_json::Value> = self.slices.iter().map(slice).collect();
            keys.insert("slice".to_string(), json!(slices));
        }
        let ues: Vec<serde_json::Value> = self.ues.iter().map(ue).collect();
        keys.insert("ue".to_string(), json!(ues));
        debug_assert_eq!(self.ues.len(), self.layers.ues.len());
        serde_json::Value::Object(keys)
    }
}

/// A pacer and how it is run.
fn gate(
    levels: &[&Settings<'_>],
    law: &str,
    packets: &str,
    period: &str,
    pacer: &PacerSetting,
) -> Result<GateSpec, Fault> {
    let (level, setting) = effective(levels, law);
    let Meaning::Component(arguments) = &setting.meaning else {
        return Err(level.fault(law, "no pacer; expected one, such as vanilla"));
    };
    AnyPacer::build(arguments, pacer).map_err(|error| level.fault(law, error))?;
    let span = |name: &str| effective(levels, name).1.span().unwrap_or(Span::ZERO);
    let limit = effective(levels, packets).1;
    Ok(GateSpec {
        law: arguments.clone(),
        feedback: span("feedback"),
        polling: span("polling"),
        // The declared range keeps it within 32 bits.
        packets: limit.is_set().then(|| limit.whole() as u32),
        period: span(period),
    })
}

/// The queue of the RLC, with the limit that is given for it where it has none of its own.
fn rlc_queue(levels: &[&Settings<'_>]) -> Result<Arguments, Fault> {
    let (level, setting) = effective(levels, "rlc_queue");
    let Meaning::Qdisc(arguments) = &setting.meaning else {
        return Err(level.fault("rlc_queue", "no discipline; expected one"));
    };
    let mut arguments = arguments.clone();
    let (limit_level, limit) = effective(levels, "rlc_limit");
    match limit.meaning {
        Meaning::Limit(Limit::Packets(packets)) => arguments.default_to("limit", Value::Whole(packets)),
        Meaning::Limit(Limit::Bytes(bytes)) => {
            let component = arguments.component();
            if component.parameters.iter().all(|parameter| parameter.name != "limit_bytes") {
                let message =
                    format!("'{}': {} has no limit in bytes; expected packets", limit.text, component.name);
                return Err(limit_level.fault("rlc_limit", message));
            }
            arguments.default_to("limit_bytes", Value::Whole(bytes));
            arguments.default_to("limit", Value::Whole(PACKETS_MAX));
        }
        _ => {}
    }
    AnyQdisc::build(&arguments).map_err(|error| level.fault("rlc_queue", error))?;
    Ok(arguments)
}
