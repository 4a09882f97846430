//! The path of a scenario for the emulator: the simulator's path, in both directions.

use super::ports;
use qdelay_emu::classes::{ClassRule, Classes};
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_path::stack::FlowWay;
use qdelay_sim::{FlowSpec, Scenario};

/// Builds the plan: data goes through the bottleneck, then takes half of the round-trip time and the jitter; acknowledgements go
/// through the uplink, then take the other half. Ports identify flows: see `ports.rs`.
pub fn plan(scenario: &Scenario) -> DumbbellPlan {
    let is_plain = |flow: &FlowSpec| flow.access.is_none() && !flow.has_extra_rtt();
    if scenario.bottleneck.as_cell().is_none() && scenario.flows.iter().all(is_plain) {
        // All flows take the same route, so packets need no flow number.
        return dumbbell(scenario, Vec::new(), Classes::default());
    }
    let classes = by_ports(scenario.flows.len() + usize::from(scenario.probe.is_some()));
    dumbbell(scenario, scenario.flows.iter().map(FlowSpec::way).collect(), classes)
}

/// Plan of a scenario's path with these routes through it.
pub fn dumbbell(scenario: &Scenario, ways: Vec<FlowWay>, classes: Classes) -> DumbbellPlan {
    DumbbellPlan {
        hops: scenario.hops.clone(),
        bottleneck: scenario.bottleneck.clone(),
        uplink: scenario.uplink.clone(),
        base_rtt: scenario.base_rtt,
        rtt_curve: scenario.rtt_curve.clone(),
        jitter: scenario.jitter.clone(),
        uplink_jitter: scenario.uplink_jitter.clone(),
        delays: [None, None],
        is_changeable: false,
        impairments: scenario.impairments.clone(),
        ways,
        classes,
        seed: scenario.seed,
    }
}

/// Classes by port: the class of a packet is the number of its flow.
fn by_ports(flows: usize) -> Classes {
    let rule = |flow: usize| ClassRule {
        ports: Some(ports::receiver(flow)..=ports::receiver(flow)),
        class: flow as u16,
        ..ClassRule::default()
    };
    Classes { rules: (0..flows).map(rule).collect(), otherwise: u16::MAX }
}
