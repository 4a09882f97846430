//! The whole path of a scenario, cells and access links included, under a real clock: the simulator's graph, with one entry for
//! each direction.
//!
//! ```text
//! outside -> flows -> [access-i] -> [hops] -> bottleneck and link, or what is above a cell and the cell -> down -> inside
//! inside -> returns -> [return-i] -> [uplink of its UE] -> up -> outside
//! ```
//!
//! `flows` and `returns` are classifiers that send each packet to the entry of its flow; [`Classes`] assign packets to flows.

use crate::classes::Classes;
use crate::device::Port;
use crate::plan::{PathNodes, Role, lateness_limit, step};
use qdelay_core::Span;
use qdelay_path::stack::{
    Bottleneck, Dumbbell, FlowKey, FlowWay, HopSpec, Place, StackError, Topology, Uplink,
};
use qdelay_path::{Curve, Impairments, NodeId, Path};

/// Plan of a scenario's path under a real clock.
#[derive(Clone, Debug)]
pub struct DumbbellPlan {
    /// The hops in front of the bottleneck, for packets from outside.
    pub hops: Vec<HopSpec>,
    /// The bottleneck, for packets from outside.
    pub bottleneck: Bottleneck,
    /// The uplink, for packets from inside; behind a cell each UE has such an uplink of its own.
    pub uplink: Option<Uplink>,
    /// Base round-trip time: half of it is behind the bottleneck, the rest behind the uplink.
    pub base_rtt: Span,
    /// A round trip over time, in place of `base_rtt`.
    pub rtt_curve: Option<Curve>,
    /// Maximum additional delay behind the bottleneck, uniformly distributed; packets are not reordered.
    pub jitter: Span,
    /// Loss and reordering behind the bottleneck and behind the uplink. Duplication is not supported here.
    pub impairments: Impairments,
    /// The route of each class of packets, by class number.
    pub ways: Vec<FlowWay>,
    /// The class of each packet. Packets of a class without a route enter directly in front of the bottleneck; in a cell they
    /// take the first route.
    pub classes: Classes,
    /// Seed of the random streams of queues, delays and the cell, together with the nodes' names.
    pub seed: u64,
}

impl DumbbellPlan {
    /// Builds the path.
    ///
    /// # Errors
    /// A component or the path cannot be built.
    pub fn build(&self) -> Result<(Path, PathNodes), StackError> {
        let topology = self.topology()?;
        let nodes = path_nodes(&topology);
        Ok((topology.path, nodes))
    }

    /// The path with the role of each node, identical to the simulator's.
    ///
    /// # Errors
    /// The errors of [`DumbbellPlan::build`].
    pub fn topology(&self) -> Result<Topology, StackError> {
        let dumbbell = Dumbbell {
            hops: &self.hops,
            bottleneck: &self.bottleneck,
            uplink: self.uplink.as_ref(),
            base_rtt: self.base_rtt,
            rtt_curve: self.rtt_curve.as_ref(),
            jitter: self.jitter,
            impairments: &self.impairments,
            flows: &self.ways,
            key: FlowKey::Class,
            seed: self.seed,
        };
        dumbbell.build()
    }

    /// Maximum lateness of releases, like [`Plan::lateness_limits`](crate::plan::Plan::lateness_limits); the step of a cell is its TTI.
    pub fn lateness_limits(&self) -> [Span; 2] {
        let down = match &self.bottleneck {
            Bottleneck::Link { link, .. } => step(&link.0),
            Bottleneck::Cell(cell) => cell.tti,
        };
        let up = self.uplink.as_ref().map_or(Span::from_millis(1), |uplink| step(&uplink.link.0));
        [down, up].map(lateness_limit)
    }
}

/// The role of each node.
fn path_nodes(topology: &Topology) -> PathNodes {
    let role = |(place, is_back): (&Place, &bool)| Role {
        source: if *is_back { Port::Inside } else { Port::Outside },
        place: *place,
    };
    let entry = |all: &[NodeId]| all.last().copied().unwrap_or(topology.link);
    let up = topology.up;
    let [up_queue, up_link] = topology.uplinks.first().copied().unwrap_or([up, up]);
    PathNodes {
        entry: [entry(&topology.ack_entry), entry(&topology.data_entry)],
        exit: [topology.receivers, topology.senders],
        queue: [up_queue, topology.queue],
        link: [up_link, topology.link],
        delay: [up, topology.down],
        hops: topology.hops.clone(),
        roles: topology.places.iter().zip(&topology.is_back).map(role).collect(),
    }
}
