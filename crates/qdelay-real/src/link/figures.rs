//! Figures of a link's own traffic: the two directions as the flows of a scenario, measured as a run's flows are.

use crate::measure::MeasuringTap;
use crate::programs::ProgramReports;
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_core::qdisc;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_path::stack::{StackError, Topology};
use qdelay_sim::{Bottleneck, FlowSpec, Outcome, Scenario};
use qdelay_traffic::transport::TransportConfig;
use qdelay_traffic::udp::{Gaps, UdpConfig};

/// Names of the flows: towards the command, and from it.
pub const DIRECTIONS: [&str; 2] = ["down", "up"];
/// Transport of the flows in results: packets of any program.
const TRANSPORT: &str = "packets";
/// Width of the first bins of the time series.
const BIN: Span = Span::from_millis(50);
/// Maximum number of bins: each two become one when it is reached.
const BINS: usize = 1000;

/// A link as a scenario, for the measurement of its traffic.
pub struct MeasuredLink {
    scenario: Scenario,
    topology: Topology,
}

impl MeasuredLink {
    /// The link of `plan`.
    ///
    /// # Errors
    /// A component or the path cannot be built.
    pub fn new(plan: &PlanKind) -> Result<MeasuredLink, StackError> {
        Ok(MeasuredLink { scenario: scenario(plan)?, topology: plan.topology()? })
    }

    /// A tap that measures both directions.
    pub fn tap(&self) -> MeasuringTap<'_> {
        MeasuringTap::of_link(&self.scenario, &self.topology, BINS)
    }
}

/// Figures of a tap whose run has ended.
pub fn outcome(tap: MeasuringTap<'_>) -> Outcome {
    let mut outcome = tap.finish(&ProgramReports::default());
    for flow in &mut outcome.measures.flows {
        // In a cell each packet chooses its QoS flow.
        flow.qfi = None;
    }
    outcome
}

/// The path of `plan` with the two directions as its flows. The measurement reads from it whether there is a cell, hops and an uplink;
/// the path itself has queues and links.
fn scenario(plan: &PlanKind) -> Result<Scenario, StackError> {
    let flows = DIRECTIONS.iter().enumerate().map(|(number, name)| FlowSpec {
        name: (*name).to_string(),
        group: number,
        is_upload: number == 1,
        // No QoS flow has this QFI.
        qfi: 0,
        ..FlowSpec::new(TRANSPORT, TransportConfig::Udp(UdpConfig::new(0, Gaps::constant(Span::MAX))))
    });
    let flows = flows.collect();
    let (bottleneck, hops, uplink) = match plan {
        PlanKind::Link(plan) => {
            let queue = Arguments::parse(qdisc::COMPONENTS, "taildrop")?;
            (Bottleneck::link(queue, plan.down.link.clone()), Vec::new(), None)
        }
        PlanKind::Dumbbell(plan) => (plan.bottleneck.clone(), plan.hops.clone(), plan.uplink.clone()),
    };
    Ok(Scenario {
        flows,
        groups: DIRECTIONS.map(str::to_string).to_vec(),
        hops,
        uplink,
        series: Some(BIN),
        ..Scenario::new(bottleneck, plan.delay() * 2, Span::ZERO)
    })
}
