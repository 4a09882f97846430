//! The place of each flow in a cell: its slice and class; and the figures of the flows of a UE, a slice or a class together.
//!
//! A flow whose packets filters share out over several QoS flows is wholly in the place of those with its own codepoint; whether a
//! packet was within its budget goes by the QoS flow that it was in. Uploads are left out: their data does not cross the cell.

use crate::delay_breakdown::BudgetCount;
use crate::flow_meter::FlowDelays;
use crate::outcome::{Outcome, Parts};
use crate::results::{FlowFigures, TrafficFigures};
use crate::scenario::FlowSpec;
use qdelay_core::Span;
use qdelay_path::stack::CellScenario;
use std::collections::BTreeMap;

/// The place of a flow in a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellPlace {
    /// The slice of its bearer.
    pub slice: Option<String>,
    /// The name of the class of its QoS flow.
    pub class: Option<String>,
    /// The packet delay budget of its QoS flow.
    pub budget: Option<Span>,
}

impl CellPlace {
    /// The place of the flow `spec`; nothing where the cell does not have it.
    pub fn from_spec(cell: &CellScenario, spec: &FlowSpec) -> CellPlace {
        let Some(ue) = cell.ues.get(spec.ue) else { return CellPlace::default() };
        let before: usize = cell.ues.iter().take(spec.ue).map(|ue| ue.bearers.len()).sum();
        let found = ue.bearers.iter().enumerate().find_map(|(number, bearer)| {
            Some((before + number, bearer.qos_flows.iter().find(|flow| flow.qfi == spec.qfi)?))
        });
        let Some((bearer, qos_flow)) = found else { return CellPlace::default() };
        let slice = cell.setting.slices().iter().find(|slice| slice.bearers.contains(&bearer));
        CellPlace {
            slice: slice.map(|slice| slice.name.clone()),
            class: qos_flow.class.clone(),
            budget: qos_flow.budget,
        }
    }
}

/// The flows of something, by its name.
type Members = BTreeMap<String, Vec<usize>>;

/// Adds shares within budgets to flows and groups, and what the flows of each UE, slice and class have together. `budgets` are the
/// packets of each flow within budget.
pub fn add(measured: Span, budgets: &[BudgetCount], outcome: &mut Outcome) {
    let measures = &mut outcome.measures;
    for (flow, count) in measures.flows.iter_mut().zip(budgets).filter(|(flow, _)| flow.direction.is_none()) {
        flow.within_budget = count.share();
    }
    let flows = &measures.flows;
    let downloads = || (0..flows.len()).filter(|flow| flows[*flow].direction.is_none());
    let (mut of_groups, mut ues, mut slices, mut classes) =
        (Members::new(), Members::new(), Members::new(), Members::new());
    for index in downloads() {
        let flow = &flows[index];
        let places = [
            (&mut of_groups, Some(&flow.group)),
            (&mut ues, flow.ue.as_ref()),
            (&mut slices, flow.slice.as_ref()),
            (&mut classes, flow.class.as_ref()),
        ];
        for (members, name) in places {
            if let Some(name) = name {
                members.entry(name.clone()).or_default().push(index);
            }
        }
    }
    for (name, members) in &of_groups {
        if let Some(group) = measures.groups.get_mut(name) {
            (group.budget_ms, group.within_budget) = budget_of(members, flows, budgets);
        }
    }
    // Delays of each flow are kept up to a number of flows; without them there is nothing to add up.
    let Some(delays) = outcome.delays.as_mut().filter(|delays| !delays.flows.is_empty()) else { return };
    let mut parts = Parts::default();
    let mut together = |all: Members, delays_by: fn(&mut Parts<_>) -> &mut BTreeMap<String, _>| {
        let mut figures = BTreeMap::new();
        for (name, members) in all {
            let own = FlowDelays::together(members.iter().filter_map(|flow| delays.flows.get(*flow)));
            let of: Vec<&FlowFigures> = members.iter().map(|flow| &flows[*flow]).collect();
            let (budget_ms, within_budget) = budget_of(&members, flows, budgets);
            let traffic = TrafficFigures {
                budget_ms,
                within_budget,
                ..TrafficFigures::from_flows(&of, &own.figures(measured))
            };
            delays_by(&mut parts).insert(name.clone(), own.queue);
            figures.insert(name, traffic);
        }
        figures
    };
    let by_ue = together(ues, |parts| &mut parts.ues);
    let by_slice = together(slices, |parts| &mut parts.slices);
    let by_class = together(classes, |parts| &mut parts.classes);
    delays.parts = parts;
    if let Some(cell) = &mut measures.cell {
        (cell.by_ue, cell.by_slice, cell.by_class) = (by_ue, by_slice, by_class);
    }
}

/// The shortest budget of these flows, and the share of their packets within budget.
fn budget_of(
    members: &[usize],
    flows: &[FlowFigures],
    budgets: &[BudgetCount],
) -> (Option<f64>, Option<f64>) {
    let shortest = members.iter().filter_map(|flow| flows[*flow].budget_ms).reduce(f64::min);
    let counts = members.iter().filter_map(|flow| budgets.get(*flow).copied());
    (shortest, BudgetCount::together(counts).share())
}
