//! Plan of an emulator: a two-way link, or the path of a scenario.

use crate::device::Port;
use crate::dumbbell::DumbbellPlan;
use qdelay_core::Span;
use qdelay_path::Path;
use qdelay_path::stack::{PathNodes, Plan, StackError, Topology};

/// Plan of an emulator.
#[derive(Clone, Debug)]
pub enum PlanKind {
    /// A two-way link.
    Link(Box<Plan>),
    /// The path of a scenario.
    Dumbbell(Box<DumbbellPlan>),
}

impl From<Plan> for PlanKind {
    fn from(plan: Plan) -> PlanKind {
        PlanKind::Link(Box::new(plan))
    }
}

impl From<DumbbellPlan> for PlanKind {
    fn from(plan: DumbbellPlan) -> PlanKind {
        PlanKind::Dumbbell(Box::new(plan))
    }
}

impl From<&Plan> for PlanKind {
    fn from(plan: &Plan) -> PlanKind {
        plan.clone().into()
    }
}

impl From<&PlanKind> for PlanKind {
    fn from(plan: &PlanKind) -> PlanKind {
        plan.clone()
    }
}

impl PlanKind {
    /// Builds the path.
    ///
    /// # Errors
    /// A component or the path cannot be built.
    pub fn build(&self) -> Result<(Path, PathNodes), StackError> {
        match self {
            PlanKind::Link(plan) => Ok((**plan).clone().build()?),
            PlanKind::Dumbbell(plan) => plan.build(),
        }
    }
    /// A path of this plan with the role of each node, for measurements: the downlink of a two-way link is the bottleneck, its uplink the
    /// uplink.
    ///
    /// # Errors
    /// The errors of [`PlanKind::build`].
    pub fn topology(&self) -> Result<Topology, StackError> {
        match self {
            PlanKind::Link(plan) => {
                let (path, nodes) = (**plan).clone().build()?;
                Ok(topology(path, &nodes))
            }
            PlanKind::Dumbbell(plan) => plan.topology(),
        }
    }
    /// Maximum lateness of releases to each port; see [`Plan::lateness_limits`].
    pub fn lateness_limits(&self) -> [Span; 2] {
        match self {
            PlanKind::Link(plan) => plan.lateness_limits(),
            PlanKind::Dumbbell(plan) => plan.lateness_limits(),
        }
    }
    /// Delay behind the link of packets that come from outside.
    pub fn delay(&self) -> Span {
        match self {
            PlanKind::Link(plan) => plan.down.delay,
            PlanKind::Dumbbell(plan) => plan.base_rtt / 2,
        }
    }
    /// The two-way link, if the plan is one.
    pub fn as_link(&self) -> Option<&Plan> {
        if let PlanKind::Link(plan) = self { Some(plan) } else { None }
    }
}

/// The nodes of a two-way link by their roles in a dumbbell.
fn topology(path: Path, nodes: &PathNodes) -> Topology {
    let [inside, outside] = [Port::Inside, Port::Outside].map(Port::index);
    Topology {
        path,
        queue: nodes.queue[outside],
        link: nodes.link[outside],
        down: nodes.delay[outside],
        receivers: nodes.exit[inside],
        impairments: [Some(nodes.impairment[outside]), Some(nodes.impairment[inside])],
        up: nodes.delay[inside],
        senders: nodes.exit[outside],
        data_entry: vec![nodes.entry[outside]],
        ack_entry: vec![nodes.entry[inside]],
        hops: nodes.hops.clone(),
        uplinks: vec![[nodes.queue[inside], nodes.link[inside]]],
        is_back: nodes.roles.iter().map(|role| role.source == Port::Inside).collect(),
        places: nodes.roles.iter().map(|role| role.place).collect(),
    }
}
