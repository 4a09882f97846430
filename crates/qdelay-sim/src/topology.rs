//! The path of a scenario: see [`qdelay_path::stack`].

use crate::scenario::{FlowSpec, Scenario};
use qdelay_path::stack::{Dumbbell, FlowKey, FlowWay};
pub use qdelay_path::stack::{StackError as TopologyError, Topology};

/// Builds the path. The probe, if any, is the flow after the last.
pub fn build(scenario: &Scenario) -> Result<Topology, TopologyError> {
    let flows: Vec<FlowWay> = scenario.flows.iter().map(FlowSpec::way).collect();
    let dumbbell = Dumbbell {
        hops: &scenario.hops,
        bottleneck: &scenario.bottleneck,
        uplink: scenario.uplink.as_ref(),
        base_rtt: scenario.base_rtt,
        rtt_curve: scenario.rtt_curve.as_ref(),
        jitter: &scenario.jitter,
        uplink_jitter: &scenario.uplink_jitter,
        impairments: &scenario.impairments,
        flows: &flows,
        key: FlowKey::Flow,
        is_changeable: false,
        seed: scenario.seed,
    };
    dumbbell.build()
}
