//! The host of a cell, as seen by a bearer.

use super::{Source, Split};
use crate::rlc::{Receiver, Supply};
use qdelay_core::{DropReason, Packet, Span, Time};

/// The queue of one bearer, during a transmission.
pub(crate) struct Queue<'a, S> {
    pub source: &'a mut S,
    pub bearer: usize,
    pub now: Time,
    /// Packets whose last byte was taken in this transmission.
    pub left_packets: u32,
    /// Sum of the times that these packets spent in the queue and partly taken.
    pub left_sojourn: Span,
}

impl<S: Source> Supply for Queue<'_, S> {
    #[inline]
    fn pull(&mut self) -> Option<Packet> {
        self.source.pull(self.bearer)
    }
    #[inline]
    fn is_empty(&self) -> bool {
        self.source.backlog(self.bearer).packets == 0
    }
    #[inline]
    fn departed(&mut self, packet: &Packet) {
        self.left_packets += 1;
        self.left_sojourn += self.now.since(packet.arrival);
        self.source.departed(self.bearer, packet);
    }
}

/// The destination of one bearer's packets.
pub(crate) struct Output<'a, S> {
    pub source: &'a mut S,
    pub bearer: usize,
}

impl<S: Source> Receiver for Output<'_, S> {
    #[inline]
    fn delivered(&mut self, packet: Packet, split: Split) {
        self.source.delivered(self.bearer, packet, split);
    }
    #[inline]
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.source.dropped(self.bearer, packet, reason);
    }
}
