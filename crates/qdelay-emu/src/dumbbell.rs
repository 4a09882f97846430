//! The whole path of a scenario, cells and access links included, as it is carried: the graph that the simulator runs, with one
//! way in for each direction.
//!
//! ```text
//! outside -> flows -> [access-i] -> [hops] -> bottleneck and link, or what is above a cell and the cell -> down -> inside
//! inside -> returns -> [return-i] -> [uplink of its UE] -> up -> outside
//! ```
//!
//! `flows` and `returns` send packets to where their flow enters; which flow a packet is of is what [`Classes`] say.

use crate::classes::Classes;
use crate::device::Port;
use crate::plan::{Places, Role, lateness_limit, step};
use qdelay_core::Span;
use qdelay_path::stack::{
    Bottleneck, Dumbbell, FlowKey, FlowWay, HopSpec, Place, StackError, Topology, Uplink,
};
use qdelay_path::{NodeId, Path};

/// See the module.
#[derive(Clone, Debug)]
pub struct DumbbellPlan {
    /// What packets that come from outside cross in front of the bottleneck.
    pub hops: Vec<HopSpec>,
    /// What packets that come from outside cross.
    pub bottleneck: Bottleneck,
    /// What packets that come from inside cross; behind a cell each UE has such an uplink of its own.
    pub uplink: Option<Uplink>,
    /// Half of it behind the bottleneck, the rest behind the uplink.
    pub base_rtt: Span,
    /// At most this much more delay behind the bottleneck, uniformly; no packet overtakes another.
    pub jitter: Span,
    /// Where each class of packets goes, by its number.
    pub ways: Vec<FlowWay>,
    /// What class a packet is of. Those of no way go in front of the bottleneck, and in a cell the first way.
    pub classes: Classes,
    /// The random streams of queues, delays and the cell are derived from it and the nodes' names.
    pub seed: u64,
}

impl DumbbellPlan {
    /// Builds the path.
    ///
    /// # Errors
    /// A component that cannot be built, or a path that cannot be.
    pub fn build(&self) -> Result<(Path, Places), StackError> {
        let topology = self.topology()?;
        let places = places(&topology);
        Ok((topology.path, places))
    }

    /// The path, and what its nodes are for, as the simulator sees them.
    ///
    /// # Errors
    /// As [`DumbbellPlan::build`].
    pub fn topology(&self) -> Result<Topology, StackError> {
        let dumbbell = Dumbbell {
            hops: &self.hops,
            bottleneck: &self.bottleneck,
            uplink: self.uplink.as_ref(),
            base_rtt: self.base_rtt,
            jitter: self.jitter,
            flows: &self.ways,
            key: FlowKey::Class,
            seed: self.seed,
        };
        dumbbell.build()
    }

    /// As [`Plan::lateness_limits`](crate::plan::Plan::lateness_limits); the step of a cell is its TTI.
    pub fn lateness_limits(&self) -> [Span; 2] {
        let down = match &self.bottleneck {
            Bottleneck::Link { link, .. } => step(&link.0),
            Bottleneck::Cell(cell) => cell.tti,
        };
        let up = self.uplink.as_ref().map_or(Span::from_millis(1), |uplink| step(&uplink.link.0));
        [down, up].map(lateness_limit)
    }
}

/// What each node is for.
fn places(topology: &Topology) -> Places {
    let role = |(place, is_back): (&Place, &bool)| Role {
        source: if *is_back { Port::Inside } else { Port::Outside },
        place: *place,
    };
    let entry = |all: &[NodeId]| all.last().copied().unwrap_or(topology.link);
    let up = topology.up;
    let [up_queue, up_link] = topology.uplinks.first().copied().unwrap_or([up, up]);
    Places {
        entry: [entry(&topology.ack_entry), entry(&topology.data_entry)],
        exit: [topology.receivers, topology.senders],
        queue: [up_queue, topology.queue],
        link: [up_link, topology.link],
        delay: [up, topology.down],
        hops: topology.hops.clone(),
        roles: topology.places.iter().zip(&topology.is_back).map(role).collect(),
    }
}
