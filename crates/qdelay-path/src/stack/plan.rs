//! A two-way link as a path.
//!
//! ```text
//! outside -> [down-light] -> down -> down-link -> down-impairment -> down-delay -> inside
//! inside  -> [up-light]   -> up   -> up-link   -> up-impairment   -> up-delay   -> outside
//! ```
//!
//! `down` and `up` are queues, `inside` and `outside` are exits; a light load is there where the link replays two loads. The two directions share only the clock.

use super::Place;
use crate::{
    AnyLink, BuildError, BuildProblem, Curve, DelaySpec, ImpairmentSpec, Jitter, LinkModel, NodeId, NodeSpec,
    Path, PathBuilder,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Rate, Span, Time};

/// A side of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Port {
    /// The command's side: packets from here go up.
    Inside = 0,
    /// The side of the host or network: packets from here go down.
    Outside = 1,
}

impl Port {
    /// Both ports, in the order in which they are served.
    pub const ALL: [Port; 2] = [Port::Inside, Port::Outside];

    /// An index for arrays with one entry for each port.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The other side.
    #[inline]
    pub const fn other(self) -> Port {
        match self {
            Port::Inside => Port::Outside,
            Port::Outside => Port::Inside,
        }
    }
    /// The name as printed: `inside`, `outside`.
    pub const fn name(self) -> &'static str {
        match self {
            Port::Inside => "inside",
            Port::Outside => "outside",
        }
    }
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    /// The queue in front of the link.
    pub qdisc: AnyQdisc,
    /// The link, with its rate.
    pub link: AnyLink,
    /// Delay of each packet after it has left the link.
    pub delay: Span,
    /// A delay over time, in addition to `delay`.
    pub curve: Option<Box<Curve>>,
    /// A random part of the delay.
    pub jitter: Jitter,
    /// Loss, corruption, reordering and duplication behind the link.
    pub impairment: ImpairmentSpec,
    /// True while packets wait in the queue, whatever the link has to offer.
    pub is_held: bool,
}

/// Both directions of a link.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The direction from outside to inside.
    pub down: Direction,
    /// The direction from inside to outside.
    pub up: Direction,
    /// Seed of the random streams of queues and delays, together with the nodes' names.
    pub seed: u64,
}

/// The role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The port that the node's packets come from.
    pub source: Port,
    /// The node's place on the path of its packets.
    pub place: Place,
}

/// The nodes of the path, by [`Port::index`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNodes {
    /// The node at which packets from this port enter: `entry[Inside]` is the queue `up`, or the light load in front of it.
    pub entry: [NodeId; 2],
    /// The exit whose packets go to this port: `exit[Inside]` is `inside`, behind `down-delay`.
    pub exit: [NodeId; 2],
    /// The queue of packets that come from this port: the first of several, or, without a queue for packets, an empty one.
    pub queue: [NodeId; 2],
    /// The link of packets that come from this port.
    pub link: [NodeId; 2],
    /// The impairment of packets that come from this port.
    pub impairment: [NodeId; 2],
    /// The delay of packets that come from this port.
    pub delay: [NodeId; 2],
    /// Queue and link of each hop in front of the bottleneck.
    pub hops: Vec<[NodeId; 2]>,
    /// The role of each node, by [`NodeId::index`].
    pub roles: Vec<Role>,
}

/// Names of the nodes of the downlink: queue, link, impairment, delay and exit.
const DOWN: [&str; 5] = ["down", "down-link", "down-impairment", "down-delay", "inside"];
const UP: [&str; 5] = ["up", "up-link", "up-impairment", "up-delay", "outside"];

impl Direction {
    /// A direction without delay and impairments.
    pub fn new(qdisc: AnyQdisc, link: impl Into<AnyLink>) -> Direction {
        Direction {
            qdisc,
            link: link.into(),
            delay: Span::ZERO,
            curve: None,
            jitter: Jitter::NONE,
            impairment: ImpairmentSpec::default(),
            is_held: false,
        }
    }

    /// The parameters of the delay behind the link.
    pub fn delay_spec(&self) -> DelaySpec {
        DelaySpec { span: self.delay, jitter: self.jitter.clone(), curve: self.curve.clone() }
    }

    /// Smallest delay behind the link.
    pub fn least_delay(&self) -> Span {
        self.delay + self.curve.as_ref().map_or(Span::ZERO, |curve| curve.steps().least())
    }

    /// True if both directions have the same discipline with the same parameters. Both queues must be empty.
    pub fn has_queue_of(&self, other: &Direction) -> bool {
        // Disciplines cannot be compared; but unused ones with equal parameters have equal states, which their debug output
        // shows completely.
        format!("{:?}", self.qdisc) == format!("{:?}", other.qdisc)
    }
}

/// Divisor of the link's shortest step for the lateness limit, which is never stricter than a host can achieve.
const LATENESS_PARTS: u64 = 10;
/// Minimum lateness limit, near the p99.9 of a thread that has real-time priority and spins.
pub const LATENESS_FLOOR: Span = Span::from_micros(50);
/// Maximum lateness limit, however slow the link.
pub const LATENESS_CEILING: Span = Span::from_millis(1);
/// Size of the packet whose transmission time is the step of a constant rate, in bytes.
const FULL_PACKET_BYTES: u64 = 1500;

impl Plan {
    /// Builds the path.
    ///
    /// # Errors
    /// An impairment that is not a probability.
    pub fn build(self) -> Result<(Path, PathNodes), BuildError> {
        let mut builder = PathBuilder::new();
        let lights = [self.up.link.light(), self.down.link.light()];
        let holds = [self.up.is_held, self.down.is_held];
        let [down, down_link, down_impairment, down_delay, inside] = half(&mut builder, self.down, DOWN);
        let [up, up_link, up_impairment, up_delay, outside] = half(&mut builder, self.up, UP);
        let mut roles: Vec<Role> = [Port::Outside, Port::Inside].into_iter().flat_map(roles).collect();
        let mut entry = [up, down];
        for ((port, light), name) in
            [Port::Inside, Port::Outside].into_iter().zip(lights).zip([UP[0], DOWN[0]])
        {
            if let Some(load) = light {
                let node = format!("{name}-light");
                entry[port.index()] = builder.add(&node, NodeSpec::Light(load));
                roles.push(Role { source: port, place: Place::Elsewhere });
                builder = builder.connect(&node, name);
            }
        }
        let mut path = builder.chain(&DOWN).chain(&UP).build(self.seed)?;
        for (queue, is_held) in [up, down].into_iter().zip(holds) {
            // A new path has no earlier time, and these are queues in front of links.
            let _ = path.hold_queue(Time::ZERO, queue, is_held, &mut ());
        }
        let nodes = PathNodes {
            entry,
            exit: [inside, outside],
            queue: [up, down],
            link: [up_link, down_link],
            impairment: [up_impairment, down_impairment],
            delay: [up_delay, down_delay],
            hops: Vec::new(),
            roles,
        };
        Ok((path, nodes))
    }

    /// Returns the errors of [`Plan::build`] without building the path.
    pub fn check(&self) -> Result<(), BuildError> {
        for (direction, [_, _, impairment, ..]) in [(&self.down, DOWN), (&self.up, UP)] {
            if !direction.impairment.is_possible() {
                return Err(BuildError::new(impairment, BuildProblem::Loss));
            }
        }
        Ok(())
    }

    /// Maximum lateness of a release to each port: a tenth of the step of the link that it comes from, within [`LATENESS_FLOOR`]
    /// and [`LATENESS_CEILING`]. The step of a trace is 1 ms; the step of a constant rate is the transmission time of 1500
    /// bytes.
    pub fn lateness_limits(&self) -> [Span; 2] {
        [&self.down.link, &self.up.link].map(|link| lateness_limit(step(link)))
    }
}

/// Declares the nodes of a direction.
fn half(builder: &mut PathBuilder, direction: Direction, names: [&str; 5]) -> [NodeId; 5] {
    let delay = NodeSpec::Delay(direction.delay_spec());
    let Direction { qdisc, link, impairment, .. } = direction;
    [
        builder.add(names[0], NodeSpec::Queue(qdisc)),
        builder.add(names[1], NodeSpec::Link(link)),
        builder.add(names[2], NodeSpec::Impairment(impairment)),
        builder.add(names[3], delay),
        builder.add(names[4], NodeSpec::Exit),
    ]
}

/// The nodes of a direction, in the order in which they are declared.
fn roles(source: Port) -> [Role; 5] {
    let [queue, link] = match source {
        Port::Outside => [Place::Bottleneck, Place::Link],
        Port::Inside => [Place::Uplink, Place::UplinkLink],
    };
    [queue, link, Place::Elsewhere, Place::Elsewhere, Place::Elsewhere].map(|place| Role { source, place })
}

/// Maximum lateness of a release for a link or cell with this step.
pub fn lateness_limit(step: Span) -> Span {
    (step / LATENESS_PARTS).clamp(LATENESS_FLOOR, LATENESS_CEILING)
}

/// The shortest step of a link.
pub fn step(link: &AnyLink) -> Span {
    match link.rate() {
        // The link has no step, a step of milliseconds, or no rate limit.
        None | Some(Rate::INFINITE) => Span::from_millis(1),
        Some(rate) => rate.time_for(FULL_PACKET_BYTES),
    }
}

impl PathNodes {
    /// The role of a node of this path.
    #[inline]
    pub fn role(&self, node: NodeId) -> Role {
        // Every node of the path has a role.
        let none = Role { source: Port::Outside, place: Place::Elsewhere };
        self.roles.get(node.index()).copied().unwrap_or(none)
    }
    /// The queues in which packets from `port` wait at the bottleneck.
    pub fn queues<'a>(&'a self, path: &Path, port: Port) -> impl Iterator<Item = NodeId> + use<'a> {
        let is_meant = move |role: &Role| role.place.is_queue() && role.source == port;
        path.nodes().zip(&self.roles).filter(move |(_, role)| is_meant(role)).map(|(node, _)| node)
    }
    /// The links, or the cell, behind the queues of packets from `port`.
    pub fn links<'a>(&'a self, path: &Path, port: Port) -> impl Iterator<Item = NodeId> + use<'a> {
        let is_meant = move |role: &Role| role.place.is_link() && role.source == port;
        path.nodes().zip(&self.roles).filter(move |(_, role)| is_meant(role)).map(|(node, _)| node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_link;
    use alloc::string::ToString;

    fn direction(link: &str) -> Direction {
        let link = AnyLink::build(&parse_link(link).unwrap()).unwrap();
        Direction::new(AnyQdisc::parse("taildrop").unwrap(), link)
    }

    #[test]
    fn nodes_are_named_after_their_direction() {
        let plan = Plan { down: direction("line:10mbit"), up: direction("1mbit"), seed: 1 };
        let (path, nodes) = plan.build().unwrap();
        let names = |nodes: [NodeId; 2]| nodes.map(|node| path.name(node).to_string());
        assert_eq!(names(nodes.entry), ["up", "down"]);
        assert_eq!(names(nodes.exit), ["inside", "outside"]);
        assert_eq!(names(nodes.link), ["up-link", "down-link"]);
        let role = |node| nodes.role(node);
        assert_eq!(role(nodes.link[1]), Role { source: Port::Outside, place: Place::Link });
        assert_eq!(role(nodes.queue[0]), Role { source: Port::Inside, place: Place::Uplink });
        let behind_up = Role { source: Port::Inside, place: Place::Elsewhere };
        assert_eq!(role(nodes.exit[1]), behind_up);
    }

    #[test]
    fn lateness_limit_follows_the_shortest_step() {
        let limit = |down, up| {
            let plan = Plan { down: direction(down), up: direction(up), seed: 1 };
            plan.lateness_limits().map(Span::as_micros)
        };
        assert_eq!(limit("line:1mbit", "10gbit"), [1000, 50], "12 ms would be 1.2 ms");
        assert_eq!(limit("line:12mbit", "5mbit"), [100, 240]);
        assert_eq!(limit("steps:0s@1mbit", "infinite"), [100, 100]);
    }
}
