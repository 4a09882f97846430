//! What every call into a discipline, a gate or a path is given.

use crate::{Ecn, Packet, Random, Time};

/// Why a packet was dropped. Every packet that is not delivered has exactly one. The component that drops packets declares
/// its reasons, as constants; here are those that any queue or path may have. Reasons of the same name are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DropReason(&'static str);

impl DropReason {
    /// It arrived at a full queue.
    pub const TAIL_LIMIT: DropReason = DropReason::new("tail_limit");
    /// It was the oldest of a full queue and made room for an arrival.
    pub const HEAD_LIMIT: DropReason = DropReason::new("head_limit");
    /// The path lost it (random loss configured on a node).
    pub const LOSS: DropReason = DropReason::new("loss");
    /// No output of a classifier takes it.
    pub const UNROUTABLE: DropReason = DropReason::new("unroutable");
    /// Those above.
    pub const OF_ANY_PATH: &[DropReason] =
        &[DropReason::TAIL_LIMIT, DropReason::HEAD_LIMIT, DropReason::LOSS, DropReason::UNROUTABLE];

    /// The reason that is called `name` in results: small letters, digits and `_`.
    pub const fn new(name: &'static str) -> DropReason {
        DropReason(name)
    }
    /// The name used in results: `tail_limit`, `sojourn_bound`...
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// Why a packet was marked "congestion experienced". The component that marks packets declares its reasons, as with [`DropReason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkReason(&'static str);

impl MarkReason {
    /// The reason that is called `name` in results.
    pub const fn new(name: &'static str) -> MarkReason {
        MarkReason(name)
    }
    /// The name used in results: `codel`, `ce_threshold`...
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// Hears of what happens to packets inside a discipline. The host frees a dropped packet's contents here.
pub trait Sink {
    /// `packet` is gone.
    fn dropped(&mut self, packet: &Packet, reason: DropReason);
    /// `packet` carries a mark now and goes on.
    fn marked(&mut self, packet: &Packet, reason: MarkReason);
}

/// Hears nothing: for benchmarks and for callers that look at counts alone.
impl Sink for () {
    fn dropped(&mut self, _: &Packet, _: DropReason) {}
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
}

/// Sinks behind a pointer, `&mut dyn Sink` among them.
impl<S: Sink + ?Sized> Sink for &mut S {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        (**self).dropped(packet, reason);
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        (**self).marked(packet, reason);
    }
}

/// One call's surroundings: the time it is, the random stream of the node that is called, and where drops are told.
pub struct Context<'a, S: Sink> {
    /// The time. Never earlier than at the call before.
    pub now: Time,
    /// The node's own random stream.
    pub random: &'a mut Random,
    /// Hears of drops and marks.
    pub sink: &'a mut S,
}

impl<S: Sink> Context<'_, S> {
    /// Marks `packet` "congestion experienced" and tells of it.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet, reason: MarkReason) {
        packet.ecn = Ecn::Ce;
        self.sink.marked(packet, reason);
    }
}
