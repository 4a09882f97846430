//! `[[cell.ue.bearer.filter]]`: packet filters that map packets to the bearers of a UE, as traffic flow templates do (TS 24.008
//! clause 10.5.6.12, TS 23.060 clause 15.3).
//!
//! A packet is compared with the filters of all bearers of its UE, in order of increasing precedence value, and goes to the
//! bearer of the first match. A packet without a match goes to the default bearer, which has no filters. Filters do not apply to
//! a flow that sets `qfi`.
//!
//! # Differences from the reference
//! * Filters match codepoint, protocol and the scenario's flows; `flow` stands for the addresses and ports of the standard.
//! * Filters apply to the downlink only. Acknowledgements use the UE's uplink, whatever their codepoint.

use super::Study;
use super::cell_tables::{Cell, EACH, Ue};
use super::changes::Change;
use super::declare::{self, FlowChange, Settings};
use super::filter::Filter;
use super::matrix_keys::listed;
use super::named::Named;
use super::values::Protocol;
use qdelay_config::{Fault, fault};
use qdelay_core::dscp::CODEPOINTS;
use qdelay_sim::{ByDscp, FlowSpec};
use std::collections::BTreeMap;

/// By the indices of UE, bearer and filter: true if the filter decides about some packet; false if it only matches packets that
/// filters with a lower precedence value decide about.
pub(super) type Matched = BTreeMap<(usize, usize, usize), bool>;

impl Filter {
    fn is_met(&self, traffic: &Traffic<'_>, dscp: u8) -> bool {
        self.dscps() & (1 << dscp) != 0
            && self.protocol().is_none_or(|protocol| protocol == traffic.protocol)
            && self.flow().is_none_or(|flow| flow == traffic.flow)
    }
}

/// Checks the filters of a UE against each other and against its bearers, using only the file.
///
/// # Errors
/// Two filters have equal precedence, a bearer lacks the QFI, or there is no default bearer or several.
pub(super) fn check_ue(ue: &Ue) -> Result<(), Fault> {
    let mut seen: BTreeMap<u8, (&Filter, &str)> = BTreeMap::new();
    for bearer in &ue.bearers {
        for filter in &bearer.filters {
            let precedence = &filter.keys.precedence;
            if !precedence.is_set() {
                let message =
                    "is missing; expected a number from 0 to 255, unique among the filters of the UE";
                return Err(Fault { line: filter.line, ..precedence.fault(message) });
            }
            if let Some((other, of)) = seen.insert(filter.precedence(), (filter, &bearer.name)) {
                let common = if filter.overlaps(other) {
                    format!("and a packet could match both: {} and {}", other.describe(), filter.describe())
                } else {
                    "although no packet could match both".to_string()
                };
                let message = format!(
                    "{} is also the precedence of the filter in line {} (bearer '{of}'), {common}; expected each precedence once in a UE",
                    precedence.text(),
                    other.line
                );
                return Err(precedence.fault(message));
            }
            let qfi = &filter.keys.qfi;
            if let Some(wanted) = qfi.get()
                && bearer.qos_flows.iter().all(|flow| flow.qfi != wanted)
            {
                let known: Vec<String> = bearer.qos_flows.iter().map(|flow| flow.qfi.to_string()).collect();
                let message = format!(
                    "{wanted}: bearer '{}' does not carry this QFI; expected one of {}",
                    bearer.name,
                    known.join(", ")
                );
                return Err(qfi.fault(message));
            }
        }
    }
    // A UE without filters needs no default bearer.
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
                "all bearers of UE '{name}' have filters, so packets that match none have no bearer; expected one bearer without filters, the default"
            );
            Err(Fault::new(line, declare::Filter::TABLE.name, message))
        }
        several => {
            let message = format!(
                "bearers {} of UE '{name}' have no filters; expected a single bearer without filters, the default",
                listed(several)
            );
            Err(Fault::new(line, declare::Filter::TABLE.name, message))
        }
    }
}

/// Properties of a flow that filters match.
struct Traffic<'a> {
    flow: &'a str,
    protocol: Protocol,
}

/// A filter: index of its bearer in the UE, its index in the bearer, and the QFI of matching packets.
struct Rule<'a> {
    bearer: usize,
    at: usize,
    filter: &'a Filter,
    qfi: u8,
}

/// All filters of a UE, in order of increasing precedence value.
struct Template<'a> {
    rules: Vec<Rule<'a>>,
    /// First QoS flow of the default bearer.
    default: u8,
}

impl<'a> Template<'a> {
    /// Collects the filters of a UE; `None` if it has none.
    fn from_ue(ue: &'a Ue) -> Option<Template<'a>> {
        let first = |bearer: usize| ue.bearers.get(bearer)?.qos_flows.first().map(|flow| flow.qfi);
        let mut rules = Vec::new();
        for (bearer, of) in ue.bearers.iter().enumerate() {
            for (at, filter) in of.filters.iter().enumerate() {
                let qfi = filter.keys.qfi.get().map_or_else(|| first(bearer), Some)?;
                rules.push(Rule { bearer, at, filter, qfi });
            }
        }
        rules.sort_by_key(|rule| rule.filter.precedence());
        let default = ue.bearers.iter().position(|bearer| bearer.filters.is_empty())?;
        (!rules.is_empty()).then_some(Template { rules, default: first(default)? })
    }

    /// The QoS flow that carries packets of `traffic` with the codepoint `dscp`.
    fn qfi(&self, traffic: &Traffic<'_>, dscp: u8) -> u8 {
        let met = self.rules.iter().find(|rule| rule.filter.is_met(traffic, dscp));
        met.map_or(self.default, |rule| rule.qfi)
    }
    fn qfis(&self, traffic: &Traffic<'_>) -> [u8; CODEPOINTS] {
        // A codepoint has six bits, so the cast to u8 is exact.
        core::array::from_fn(|dscp| self.qfi(traffic, dscp as u8))
    }
}

impl Named<declare::Flow> {
    /// Codepoints that the flow's packets may have; bit n stands for codepoint n.
    fn marks(&self) -> u64 {
        let other = self.keys.second_dscp.get().map_or(0, |other| other.mask());
        self.keys.dscp.get().mask() | other
    }
    fn traffic(&self) -> Traffic<'_> {
        Traffic { flow: &self.name, protocol: Protocol::from_transport(&self.keys.transport.value().0) }
    }
}

impl Cell {
    /// The QoS flow of `ue` that carries the packets of a flow with the flow's own codepoint; `None` if the UE has no filters.
    pub(super) fn filtered(&self, ue: &Ue, flow: &Named<declare::Flow>) -> Option<u8> {
        Template::from_ue(ue).map(|template| template.qfi(&flow.traffic(), flow.keys.dscp.get().0))
    }

    /// QoS flows by codepoint, for each flow to a UE with filters whose `qfi` is not set and depends on the codepoint. `groups`
    /// are the entries of `[[flow]]`.
    pub(super) fn by_dscp(&self, flows: &[FlowSpec], groups: &[Named<declare::Flow>]) -> Vec<ByDscp> {
        let templates: Vec<Option<Template<'_>>> = self.ues.iter().map(Template::from_ue).collect();
        if templates.iter().all(Option::is_none) {
            return Vec::new();
        }
        let members = self.ues.iter().map(|ue| ue.keys.count.get() as usize);
        let entry_of: Vec<usize> =
            members.enumerate().flat_map(|(entry, count)| std::iter::repeat_n(entry, count)).collect();
        let template_of = |ue: usize| templates.get(*entry_of.get(ue)?)?.as_ref();
        let mut all = Vec::new();
        for (number, flow) in flows.iter().enumerate() {
            let group = &groups[flow.group];
            let Some(template) = template_of(flow.ue).filter(|_| !group.keys.qfi.is_set()) else { continue };
            let qfis = template.qfis(&group.traffic());
            // Flows with the same QFI for all codepoints need no table.
            if qfis.iter().any(|qfi| *qfi != qfis[0]) {
                all.push(ByDscp { flow: number, ue: flow.ue, qfis });
            }
        }
        if let Some(template) = template_of(0) {
            // Packets without a flow, such as probe packets, go to the first UE.
            let qfis = template.qfis(&Traffic { flow: "", protocol: Protocol::Udp });
            all.push(ByDscp { flow: flows.len(), ue: 0, qfis });
        }
        all
    }

    /// Records the filters that match packets of a flow.
    fn add_matched(&self, flow: &Named<declare::Flow>, matched: &mut Matched) {
        if flow.keys.qfi.is_set() {
            return;
        }
        let (to, marks, traffic) = (&flow.keys.ue, flow.marks(), flow.traffic());
        for (place, ue) in self.ues.iter().enumerate() {
            let is_meant = !to.is_set() || to.text() == EACH || to.text() == ue.name;
            let Some(template) = Template::from_ue(ue).filter(|_| is_meant) else { continue };
            for dscp in (0..CODEPOINTS as u8).filter(|dscp| marks & (1 << dscp) != 0) {
                let met = template.rules.iter().filter(|rule| rule.filter.is_met(&traffic, dscp));
                for (rank, rule) in met.enumerate() {
                    *matched.entry((place, rule.bearer, rule.at)).or_insert(false) |= rank == 0;
                }
            }
        }
    }
}

/// Checks the filters against the flows of all cases.
///
/// # Errors
/// A filter names a flow that does not exist, or matches no packet in any case.
pub(super) fn check(study: &Study) -> Result<(), Fault> {
    let Some(cell) = study.tables.cell.as_ref().filter(|cell| has_filters(cell)) else { return Ok(()) };
    let flows: Vec<&str> = study.tables.flows.iter().map(|flow| flow.name.as_str()).collect();
    for filter in cell.ues.iter().flat_map(|ue| &ue.bearers).flat_map(|bearer| &bearer.filters) {
        let Some(flow) = filter.flow().filter(|flow| !flows.contains(flow)) else { continue };
        let hint = fault::suggestion(flow, flows.iter().copied());
        let message = format!("unknown flow '{flow}'; expected one of {}{hint}", listed(&flows));
        return Err(filter.keys.flow.fault(message));
    }
    // Only these keys change the packets of a flow, or the UEs that receive them.
    let matters = |change: &Change| match change {
        Change::Flow(change) => matches!(
            change,
            FlowChange::dscp(_)
                | FlowChange::second_dscp(_)
                | FlowChange::transport(_)
                | FlowChange::ue(_)
                | FlowChange::qfi(_)
        ),
        _ => false,
    };
    let mut matched = Matched::new();
    study.combinations(matters, |digits| {
        let tables = study.tables_at(digits);
        if let Some(cell) = &tables.cell {
            tables.flows.iter().for_each(|flow| cell.add_matched(flow, &mut matched));
        }
        Ok(())
    })?;
    for (ue_place, ue) in cell.ues.iter().enumerate() {
        for (bearer_place, bearer) in ue.bearers.iter().enumerate() {
            for (at, filter) in bearer.filters.iter().enumerate() {
                match matched.get(&(ue_place, bearer_place, at)) {
                    Some(true) => {}
                    Some(false) => {
                        return Err(nothing(
                            ue,
                            filter,
                            "filters with a lower precedence value match all of its packets",
                        ));
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
        "the filter with precedence {} of UE '{}' has no effect: {why}; expected packets that it decides about",
        filter.precedence(),
        ue.name
    );
    Fault::new(filter.line, declare::Filter::TABLE.name, message)
}

fn has_filters(cell: &Cell) -> bool {
    cell.ues.iter().flat_map(|ue| &ue.bearers).any(|bearer| !bearer.filters.is_empty())
}
