//! `[[cell.ue.bearer.filter]]`: which bearer of a UE carries which packets, as traffic flow templates say (TS 24.008 clause
//! 10.5.6.12, TS 23.060 clause 15.3).
//!
//! A packet is compared with the filters of all bearers of its UE, that of the least precedence first, and goes to the bearer of the
//! first that matches; what none matches goes to the default bearer, the one without filters. Flows whose `qfi` is given are
//! not looked at.
//!
//! # Differences from the reference
//! * Filters know codepoint, protocol and the scenario's flows; there are no addresses and ports here, which `flow` stands for.
//! * They are of the downlink. Acknowledgements go over the UE's uplink, whatever their codepoint.

use super::Study;
use super::case::View;
use super::cell_case::{CellView, Matched, UeView};
use super::cell_tables::{Cell, Ue};
use super::declare::{FILTER, FLOW};
use super::fault::{self, Fault};
use super::filter::{Filter, Protocol};
use super::layer::place;
use super::matrix::{Target, listed};
use super::point::Settings;
use super::setting::Meaning;
use qdelay_core::dscp::CODEPOINTS;
use qdelay_sim::{ByDscp, FlowSpec};
use std::collections::BTreeMap;

impl Filter {
    fn is_met(&self, traffic: &Traffic<'_>, dscp: u8) -> bool {
        self.dscps() & (1 << dscp) != 0
            && self.protocol().is_none_or(|protocol| protocol == traffic.protocol)
            && self.flow().is_none_or(|flow| flow == traffic.flow)
    }
}

/// Checks the filters of a UE against each other and its bearers, as far as the file alone tells.
///
/// # Errors
/// Two of equal precedence, a QFI that the bearer does not have, no default bearer, or several.
pub(super) fn check_ue(ue: &Ue) -> Result<(), Fault> {
    let path = |key: &str| format!("{}.{key}", FILTER.name);
    let mut seen: BTreeMap<u64, (&Filter, &str)> = BTreeMap::new();
    for bearer in &ue.bearers {
        for filter in &bearer.filters {
            let precedence = filter.layer.get("precedence");
            if !precedence.is_set() {
                let message =
                    "is missing; expected a number of 0 to 255, unlike that of any other filter of the UE";
                return Err(Fault::new(filter.line, path("precedence"), message));
            }
            if let Some((other, of)) = seen.insert(filter.precedence(), (filter, &bearer.name)) {
                let common = if filter.overlaps(other) {
                    format!("and a packet could match both: {} and {}", other.describe(), filter.describe())
                } else {
                    "although no packet could match both".to_string()
                };
                let message = format!(
                    "{} is that of the filter in line {} (bearer '{of}') too, {common}; expected each precedence once in a UE",
                    precedence.text, other.line
                );
                return Err(Fault::new(precedence.line, path("precedence"), message));
            }
            let qfi = filter.layer.get("qfi");
            let known: Vec<String> = bearer.qos_flows.iter().map(|flow| flow.qfi.to_string()).collect();
            if qfi.is_set() && bearer.qos_flows.iter().all(|flow| u64::from(flow.qfi) != qfi.whole()) {
                let message = format!(
                    "{}: bearer '{}' does not carry it; expected one of {}",
                    qfi.text,
                    bearer.name,
                    known.join(", ")
                );
                return Err(Fault::new(qfi.line, path("qfi"), message));
            }
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    let defaults: Vec<&str> = ue
        .bearers
        .iter()
        .filter(|bearer| bearer.filters.is_empty())
        .map(|bearer| bearer.name.as_str())
        .collect();
    let line = ue.bearers.iter().flat_map(|bearer| &bearer.filters).map(|filter| filter.line).min();
    let (line, name) = (line.unwrap_or(ue.line), &ue.name);
    match defaults.as_slice() {
        [_] => Ok(()),
        [] => {
            let message = format!(
                "all bearers of UE '{name}' have filters, and what none matches has no bearer; expected one bearer without, the default"
            );
            Err(Fault::new(line, FILTER.name, message))
        }
        several => {
            let message = format!(
                "bearers {} of UE '{name}' have none; expected one bearer without filters, the default",
                listed(several)
            );
            Err(Fault::new(line, FILTER.name, message))
        }
    }
}

/// What of a flow filters look at.
struct Traffic<'a> {
    flow: &'a str,
    protocol: Protocol,
}

/// A filter: the place of its bearer in the UE, its place in the bearer, and the QFI it leads to.
struct Rule<'a> {
    bearer: usize,
    at: usize,
    filter: &'a Filter,
    qfi: u8,
}

/// All filters of a UE, that of the least precedence first.
struct Template<'a> {
    rules: Vec<Rule<'a>>,
    /// The first QoS flow of the default bearer.
    default: u8,
}

impl<'a> Template<'a> {
    /// `None` where the UE has no filters.
    fn of(ue: &'a Ue) -> Option<Template<'a>> {
        let first = |bearer: usize| ue.bearers.get(bearer)?.qos_flows.first().map(|flow| flow.qfi);
        let mut rules = Vec::new();
        for (bearer, of) in ue.bearers.iter().enumerate() {
            for (at, filter) in of.filters.iter().enumerate() {
                let qfi = filter.layer.get("qfi");
                // The declared range keeps it within six bits.
                let qfi = if qfi.is_set() { qfi.whole() as u8 } else { first(bearer)? };
                rules.push(Rule { bearer, at, filter, qfi });
            }
        }
        rules.sort_by_key(|rule| rule.filter.precedence());
        let default = ue.bearers.iter().position(|bearer| bearer.filters.is_empty())?;
        (!rules.is_empty()).then_some(Template { rules, default: first(default)? })
    }

    /// The QoS flow that carries packets of `traffic` with `dscp`.
    fn qfi(&self, traffic: &Traffic<'_>, dscp: u8) -> u8 {
        let met = self.rules.iter().find(|rule| rule.filter.is_met(traffic, dscp));
        met.map_or(self.default, |rule| rule.qfi)
    }
    fn qfis(&self, traffic: &Traffic<'_>) -> [u8; CODEPOINTS] {
        // A codepoint has six bits.
        core::array::from_fn(|dscp| self.qfi(traffic, dscp as u8))
    }
}

/// The codepoints that packets of a flow may have, bit n for codepoint n.
fn marks(flow: &Settings<'_>) -> u64 {
    let keys = ["dscp", "other_dscp"].into_iter().filter(|key| flow.table.position(key).is_some());
    keys.filter_map(|key| flow.get(key).dscps()).fold(0, |all, mask| all | mask)
}

fn traffic<'a>(name: &'a str, flow: &Settings<'_>) -> Traffic<'a> {
    let protocol = match &flow.get("transport").meaning {
        Meaning::Transport(config) => Protocol::of(config),
        _ => Protocol::Udp,
    };
    Traffic { flow: name, protocol }
}

impl CellView<'_> {
    /// The QoS flow of `ue` that carries the packets of a flow with its own codepoint; `None` where the UE has no filters.
    pub(super) fn filtered(&self, ue: &UeView<'_>, name: &str, flow: &Settings<'_>) -> Option<u8> {
        let own = flow.get("dscp").dscps().unwrap_or(1).trailing_zeros();
        Template::of(ue.ue).map(|template| template.qfi(&traffic(name, flow), own as u8))
    }

    /// The flows whose packets are told apart by codepoint: those to UEs with filters that have no QFI of their own. `entries` are
    /// the names and settings of the groups of `flows`.
    pub(super) fn by_dscp(&self, flows: &[FlowSpec], entries: &[(&str, &Settings<'_>)]) -> Vec<ByDscp> {
        let templates: Vec<Option<Template<'_>>> = self.ues.iter().map(|ue| Template::of(ue.ue)).collect();
        if templates.iter().all(Option::is_none) {
            return Vec::new();
        }
        let members = self.ues.iter().map(|ue| ue.settings.get("count").whole() as usize);
        let entry_of: Vec<usize> =
            members.enumerate().flat_map(|(entry, count)| std::iter::repeat_n(entry, count)).collect();
        let template_of = |ue: usize| templates.get(*entry_of.get(ue)?)?.as_ref();
        let mut all = Vec::new();
        for (number, flow) in flows.iter().enumerate() {
            let Some((name, settings)) = entries.get(flow.group) else { continue };
            if settings.get("qfi").is_set() {
                continue;
            }
            let Some(template) = template_of(flow.ue) else { continue };
            let qfis = template.qfis(&Traffic { flow: name, protocol: Protocol::of(&flow.transport) });
            // Where the codepoint decides nothing, the flow's own QFI says it all.
            if qfis.iter().any(|qfi| *qfi != qfis[0]) {
                all.push(ByDscp { flow: number, ue: flow.ue, qfis });
            }
        }
        if let Some(template) = template_of(0) {
            // What is of no flow, such as a probe.
            let qfis = template.qfis(&Traffic { flow: "", protocol: Protocol::Udp });
            all.push(ByDscp { flow: flows.len(), ue: 0, qfis });
        }
        all
    }

    /// Adds the filters that packets of a flow match.
    pub(super) fn add_matched(&self, name: &str, flow: &Settings<'_>, matched: &mut Matched) {
        if flow.get("qfi").is_set() {
            return;
        }
        let (to, marks) = (flow.get("ue"), marks(flow));
        for (place, ue) in self.ues.iter().enumerate() {
            let is_meant = !to.is_set() || to.text == super::cell_tables::EACH || to.text == ue.ue.name;
            let Some(template) = Template::of(ue.ue).filter(|_| is_meant) else { continue };
            let traffic = traffic(name, flow);
            for dscp in (0..CODEPOINTS as u8).filter(|dscp| marks & (1 << dscp) != 0) {
                let met = template.rules.iter().filter(|rule| rule.filter.is_met(&traffic, dscp));
                for (rank, rule) in met.enumerate() {
                    *matched.entry((place, rule.bearer, rule.at)).or_insert(false) |= rank == 0;
                }
            }
        }
    }
}

/// Checks filters against the flows of all cases.
///
/// # Errors
/// A filter of a flow that there is not, or one that matches no packet in any case.
pub(super) fn check(study: &Study) -> Result<(), Fault> {
    let Some(cell) = study.cell.as_ref().filter(|cell| has_filters(cell)) else { return Ok(()) };
    let flows: Vec<&str> = study.flows.iter().map(|flow| flow.name.as_str()).collect();
    for filter in cell.ues.iter().flat_map(|ue| &ue.bearers).flat_map(|bearer| &bearer.filters) {
        let Some(flow) = filter.flow().filter(|flow| !flows.contains(flow)) else { continue };
        let near = fault::near(flow, flows.iter().copied());
        let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let message = format!("'{flow}' is no flow; expected one of {}{hint}", listed(&flows));
        let line = filter.layer.get("flow").line;
        return Err(Fault::new(line, format!("{}.flow", FILTER.name), message));
    }
    let keys: Vec<usize> = ["dscp", "other_dscp", "transport", "ue", "qfi"]
        .into_iter()
        .filter(|key| FLOW.position(key).is_some())
        .map(|key| place(&FLOW, key))
        .collect();
    let matters = |target: &Target| match target {
        Target::EveryFlow(key) | Target::Flow(_, key) => keys.contains(key),
        _ => false,
    };
    let mut matched = Matched::new();
    study.combinations(matters, |digits| {
        View::new(study, digits).add_matched_filters(&mut matched);
        Ok(())
    })?;
    for (ue_place, ue) in cell.ues.iter().enumerate() {
        for (bearer_place, bearer) in ue.bearers.iter().enumerate() {
            for (at, filter) in bearer.filters.iter().enumerate() {
                match matched.get(&(ue_place, bearer_place, at)) {
                    Some(true) => {}
                    Some(false) => {
                        return Err(nothing(ue, filter, "filters of less precedence match all it does"));
                    }
                    None => {
                        let why = format!(
                            "no flow to UE '{}' without a qfi of its own sends such packets ({})",
                            ue.name,
                            filter.describe()
                        );
                        return Err(nothing(ue, filter, &why));
                    }
                }
            }
        }
    }
    Ok(())
}

fn nothing(ue: &Ue, filter: &Filter, why: &str) -> Fault {
    let message = format!(
        "precedence {} of UE '{}' matches nothing: {why}; expected packets that it decides about",
        filter.precedence(),
        ue.name
    );
    Fault::new(filter.line, FILTER.name, message)
}

fn has_filters(cell: &Cell) -> bool {
    cell.ues.iter().flat_map(|ue| &ue.bearers).any(|bearer| !bearer.filters.is_empty())
}
