//! A path: a graph of named nodes that packets flow through. The host passes the time.
//!
//! | node | what it does with packets |
//! | --- | --- |
//! | classifier ([`Rules`]) | sends each to one of several nodes, by flow, codepoint or class |
//! | queue (any [`Qdisc`](qdelay_core::qdisc::Qdisc)) | holds them until a gate or link takes them |
//! | gate (any [`Pacer`]) | takes them from queues when its law says so, and sends them on at once |
//! | link ([`link`]) | takes them from queues or through gates, as fast as its rate allows |
//! | cell ([`Cell`]) | takes them from the queue of each radio bearer, as its radio allows, and sends each on when it is whole |
//! | uplink of a cell (`UplinkCell`) | the same, from queues of UEs, which have to ask |
//! | delay ([`DelaySpec`]) | lets time pass; jitter and loss on request |
//! | wire ([`WireSpec`]) | sends them one after the other at a rate, and lets time pass |
//! | F1-U ([`F1Setting`]) | gives them PDCP numbers, lets time pass, and tells gates what the RLC behind it has done with them |
//! | impairment ([`ImpairmentSpec`]) | loses some, lets others be overtaken, makes copies |
//! | exit | hands them to the host |
//!
//! Classifiers, gates, links, cells, delays, wires and impairments push packets to the next node; gates, links and cells pull them from the
//! queues before them. A path may have any number of entries and exits: two directions are two flows through one graph.
//!
//! Nothing is allocated for a packet once the queues have grown to what they need.
//!
//! ```
//! use qdelay_core::{Packet, Rate, Time, qdisc::AnyQdisc};
//! use qdelay_path::{Line, NodeId, NodeSpec, Observer, PathBuilder};
//!
//! #[derive(Default)]
//! struct Arrivals(Vec<(Time, u64)>);
//!
//! impl Observer for Arrivals {
//!     fn delivered(&mut self, now: Time, _: NodeId, packet: &Packet) {
//!         self.0.push((now, packet.handle));
//!     }
//! }
//!
//! // A queue and a line of 8 Mbit/s: 1000 bytes take a millisecond.
//! let mut path = PathBuilder::new()
//!     .node("queue", NodeSpec::Queue(AnyQdisc::parse("codel").expect("a discipline")))
//!     .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
//!     .node("out", NodeSpec::Exit)
//!     .chain(&["queue", "line", "out"])
//!     .build(1)
//!     .expect("a path");
//! let (entry, mut arrivals) = (path.node("queue").expect("a node"), Arrivals::default());
//! path.ingress(Time::ZERO, entry, Packet { handle: 7, bytes: 1000, ..Packet::default() }, &mut arrivals).expect("in order");
//! while path.next_deadline() < Time::NEVER {
//!     path.poll(path.next_deadline(), &mut arrivals).expect("in order");
//! }
//! assert_eq!(arrivals.0, [(Time::from_nanos(1_000_000), 7)]);
//! path.audit().expect("no packet is lost or made up");
//! ```
#![no_std]
extern crate alloc;

mod air;
mod builder;
mod classifier;
mod counters;
mod delay;
mod f1;
mod gate;
mod impairment;
mod inputs;
mod light;
pub mod link;
mod node;
mod observer;
mod over_time;
mod path;
mod problem;
mod schedule;
pub mod stack;
mod wire;

pub use builder::{NodeSpec, PathBuilder};
pub use classifier::{Key, Rules};
pub use counters::{AuditError, ByReason, Count, Counters, LinkUsage, drop_reasons, mark_reasons};
pub use delay::curve::{CURVES, REORDER};
pub use delay::jitter::{JITTERS, Jitter, KEYS as JITTER_KEYS, Shape as JitterShape, Variant};
pub use delay::{Curve, DelaySpec, Part};
pub use f1::{F1_COMPONENTS, F1Setting, F1Spec};
pub use impairment::{CORRUPTED, CUT, ImpairmentSpec, Impairments, LOSSES, LossModel, is_percentage};
pub use inputs::PullOrder;
pub use light::{LightLoad, LightSpec};
pub use link::{
    AnyLink, LINKS, Line, LinkModel, OVERHEAD, RateLink, Shaper, TraceLink, Uplink, is_rate, parse_link,
};
pub use node::{BearerBuffer, Numbering};
pub use observer::{Delivered, Observer};
pub use over_time::OverTime;
pub use path::{Path, PathError};
pub use problem::{BuildError, BuildProblem};
pub use qdelay_core::pacer::{AnyPacer, Eligible, Pacer, Served, Signal, Signals, SizeUnit};
pub use qdelay_ran::pdcp::PdcpCounts;
pub use qdelay_ran::{AirUsage, Cell, CellSetting, CellUsage, SliceUsage, Split, UplinkCell, UplinkSetting};
pub use wire::WireSpec;

/// Most nodes of a path: a deadline and the place of its node share 64 bits, which leaves 19 hours for the deadline.
pub const NODES_MAX: usize = (1 << 18) - 1;

/// A node of a path: its place in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The place in the order of declaration, from 0: an index for tables beside the path.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
