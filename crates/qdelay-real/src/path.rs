//! The path of a scenario as the emulator has it: what the simulator builds, in both directions.

use super::ports;
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span};
use qdelay_emu::classes::{ClassRule, Classes};
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_emu::plan::{Direction, Plan};
use qdelay_path::stack::FlowWay;
use qdelay_path::{AnyLink, Line};
use qdelay_sim::{FlowSpec, Scenario};

/// Data goes through the bottleneck, then takes half of the round trip and the jitter; acknowledgements go through the uplink,
/// then take the other half. Flows are told by their ports: see `ports.rs`.
pub fn plan(scenario: &Scenario) -> DumbbellPlan {
    let is_plain = |flow: &FlowSpec| flow.access.is_none() && flow.extra_rtt.is_zero();
    if scenario.bottleneck.as_cell().is_none() && scenario.flows.iter().all(is_plain) {
        // All go one way, and nobody has to ask which flow a packet is of.
        return dumbbell(scenario, Vec::new(), Classes::default());
    }
    let classes = by_ports(scenario.flows.len() + usize::from(scenario.probe.is_some()));
    dumbbell(scenario, scenario.flows.iter().map(FlowSpec::way).collect(), classes)
}

/// The path of a scenario with these ways through it.
pub fn dumbbell(scenario: &Scenario, ways: Vec<FlowWay>, classes: Classes) -> DumbbellPlan {
    DumbbellPlan {
        hops: scenario.hops.clone(),
        bottleneck: scenario.bottleneck.clone(),
        uplink: scenario.uplink.clone(),
        base_rtt: scenario.base_rtt,
        jitter: scenario.jitter,
        ways,
        classes,
        seed: scenario.seed,
    }
}

/// The class of a packet is the number of its flow.
fn by_ports(flows: usize) -> Classes {
    let rule = |flow: usize| ClassRule {
        ports: Some(ports::receiver(flow)..=ports::receiver(flow)),
        class: flow as u16,
        ..ClassRule::default()
    };
    Classes { rules: (0..flows).map(rule).collect(), otherwise: u16::MAX }
}

/// Of a scenario whose bottleneck is a link and whose flows share all of the path.
///
/// # Errors
/// A cell, or a discipline that cannot be built.
pub fn link(scenario: &Scenario) -> Result<Plan, String> {
    let half = scenario.base_rtt / 2;
    let (limit, link) = match &scenario.uplink {
        Some(uplink) => (uplink.limit, uplink.link.0.clone()),
        None => (u64::from(u32::MAX), AnyLink::from(Line::new(Rate::INFINITE, 0))),
    };
    let tail_drop = Arguments::parse(qdisc::COMPONENTS, &format!("taildrop:limit={limit}"));
    let build = |arguments: &Arguments| AnyQdisc::build(arguments).map_err(|error| error.to_string());
    let (qdisc, bottleneck) =
        scenario.bottleneck.as_link().ok_or("it is a cell; expected a queue and a link")?;
    Ok(Plan {
        down: Direction {
            qdisc: build(qdisc)?,
            link: bottleneck.0.clone(),
            delay: half,
            jitter: scenario.jitter,
            loss: 0.0,
        },
        up: Direction {
            qdisc: build(&tail_drop.map_err(|error| error.to_string())?)?,
            link,
            delay: scenario.base_rtt.saturating_sub(half),
            jitter: Span::ZERO,
            loss: 0.0,
        },
        seed: scenario.seed,
    })
}
