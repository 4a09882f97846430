//! The arguments of every call of a discipline, a gate or a path: the time, a random stream and a sink for drops and marks.

use crate::{Ecn, Packet, PduSet, Random, Time};

/// The reason of a drop. Every packet that is not delivered has exactly one reason. A component declares its own reasons as
/// constants; the constants here are for any queue or path. Reasons with the same name are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DropReason(&'static str);

impl DropReason {
    /// The packet arrived at a full queue.
    pub const TAIL_LIMIT: DropReason = DropReason::new("tail_limit");
    /// The packet was the oldest of a full queue and made room for an arrival.
    pub const HEAD_LIMIT: DropReason = DropReason::new("head_limit");
    /// The path lost the packet (random loss configured on a node).
    pub const LOSS: DropReason = DropReason::new("loss");
    /// The packet matched no output of a classifier.
    pub const UNROUTABLE: DropReason = DropReason::new("unroutable");
    /// All reasons above.
    pub const OF_ANY_PATH: &[DropReason] =
        &[DropReason::TAIL_LIMIT, DropReason::HEAD_LIMIT, DropReason::LOSS, DropReason::UNROUTABLE];

    /// The reason with this name in results; the name has lower-case letters, digits and `_`.
    pub const fn new(name: &'static str) -> DropReason {
        DropReason(name)
    }
    /// The name used in results: `tail_limit`, `sojourn_bound`...
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// The reason of a mark "congestion experienced". Components declare their reasons, as with [`DropReason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkReason(&'static str);

impl MarkReason {
    /// The reason with this name in results.
    pub const fn new(name: &'static str) -> MarkReason {
        MarkReason(name)
    }
    /// The name used in results: `codel`, `ce_threshold`...
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// Receives the drops and marks of a discipline. The host frees the contents of a dropped packet here.
pub trait Sink {
    /// Reports that `packet` was dropped.
    fn dropped(&mut self, packet: &Packet, reason: DropReason);
    /// Reports that `packet` was marked; it stays in the queue or is sent.
    fn marked(&mut self, packet: &Packet, reason: MarkReason);
    /// The PDU set of `packet`, which is in the queue or offered to it; the default is `None`: it belongs to none.
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        let _ = packet;
        None
    }
}

/// A sink that ignores everything, for benchmarks and for callers that only need counts.
impl Sink for () {
    fn dropped(&mut self, _: &Packet, _: DropReason) {}
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
}

/// A reference to a sink is a sink, including `&mut dyn Sink`.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        (**self).dropped(packet, reason);
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        (**self).marked(packet, reason);
    }
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        (**self).pdu_set(packet)
    }
}

/// The context of one call: the time, the random stream of the node, and the sink for drops and marks.
pub struct Context<'a, S: Sink> {
    /// Time of the call; never earlier than in the previous call.
    pub now: Time,
    /// The random stream of the node.
    pub random: &'a mut Random,
    /// The sink for drops and marks.
    pub sink: &'a mut S,
}

impl<S: Sink> Context<'_, S> {
    /// Marks `packet` "congestion experienced" and reports the mark to the sink.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet, reason: MarkReason) {
        packet.ecn = Ecn::Ce;
        self.sink.marked(packet, reason);
    }
}
