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
use qdelay_core::Span;
use qdelay_path::stack::{
    Bottleneck, Dumbbell, FlowKey, FlowWay, HopSpec, Place, StackError, Topology, Uplink,
};
use qdelay_path::stack::{PathNodes, Role, lateness_limit, step};
use qdelay_path::{Curve, DelaySpec, ImpairmentSpec, Impairments, Jitter, NodeId, Part, Path};

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
    /// A random part of the delay behind the bottleneck.
    pub jitter: Jitter,
    /// A random part of the delay behind the uplink.
    pub uplink_jitter: Jitter,
    /// Loss, corruption, reordering and duplication behind the bottleneck and behind the uplink.
    pub impairments: Impairments,
    /// Delays behind the bottleneck and behind the uplink, once they were changed.
    pub delays: [Option<DelaySpec>; 2],
    /// The route of each class of packets, by class number.
    pub ways: Vec<FlowWay>,
    /// The class of each packet. Packets of a class without a route enter directly in front of the bottleneck; in a cell they
    /// take the first route.
    pub classes: Classes,
    /// True if impairments may be added while the path runs.
    pub is_changeable: bool,
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
            jitter: &self.jitter,
            uplink_jitter: &self.uplink_jitter,
            impairments: &self.impairments,
            flows: &self.ways,
            key: FlowKey::Class,
            is_changeable: self.is_changeable,
            seed: self.seed,
        };
        dumbbell.build()
    }

    /// Delay and impairment behind the link of packets from `port`.
    pub fn behind(&self, port: Port) -> (DelaySpec, ImpairmentSpec) {
        let (part, half) = match port {
            Port::Outside => (Part::Half, self.base_rtt / 2),
            Port::Inside => (Part::Rest, self.base_rtt.saturating_sub(self.base_rtt / 2)),
        };
        let (adjusted, jitter, impairment) = match port {
            Port::Outside => (&self.delays[0], &self.jitter, &self.impairments.down),
            Port::Inside => (&self.delays[1], &self.uplink_jitter, &self.impairments.up),
        };
        let own = || match &self.rtt_curve {
            Some(curve) => DelaySpec::over_time(curve.clone().part(part)),
            None => DelaySpec::constant(half),
        };
        (adjusted.clone().unwrap_or_else(|| own().with_jitter(jitter.clone())), impairment.clone())
    }

    /// Keeps what is behind the link of packets from `port` after a change.
    pub(crate) fn set_behind(&mut self, port: Port, delay: DelaySpec, impairment: ImpairmentSpec) {
        match port {
            Port::Outside => (self.delays[0], self.impairments.down) = (Some(delay), impairment),
            Port::Inside => (self.delays[1], self.impairments.up) = (Some(delay), impairment),
        }
    }

    /// Maximum lateness of releases, like [`Plan::lateness_limits`](qdelay_path::stack::Plan::lateness_limits); the step of a cell is its TTI.
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
    let [down_impairment, up_impairment] = topology.impairments.map(|node| node.unwrap_or(topology.down));
    let [up_queue, up_link] = topology.uplinks.first().copied().unwrap_or([up, up]);
    PathNodes {
        entry: [entry(&topology.ack_entry), entry(&topology.data_entry)],
        exit: [topology.receivers, topology.senders],
        queue: [up_queue, topology.queue],
        link: [up_link, topology.link],
        impairment: [up_impairment, down_impairment],
        delay: [up, topology.down],
        hops: topology.hops.clone(),
        roles: topology.places.iter().zip(&topology.is_back).map(role).collect(),
    }
}
