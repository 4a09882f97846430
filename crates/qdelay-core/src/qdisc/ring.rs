//! The first-in first-out packet store of the single-queue disciplines.

use super::Backlog;
use crate::{DropReason, Packet, Sink};
use alloc::collections::VecDeque;

/// A first-in first-out queue of packets with its byte count and its limits. It grows as needed, at most to its packet limit,
/// and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct Ring {
    packets: VecDeque<Packet>,
    bytes: u64,
    limit: Limit,
}

/// Limits of a queue, in packets and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Most packets, at least 1.
    pub packets: u64,
    /// Most bytes (IP bytes); `u64::MAX` for no limit.
    pub bytes: u64,
}

impl Limit {
    /// A limit of `packets`, of any size.
    pub const fn packets(packets: u64) -> Limit {
        Limit { packets, bytes: u64::MAX }
    }
}

impl Ring {
    /// An empty queue.
    #[inline]
    pub fn new(limit: Limit) -> Ring {
        Ring { packets: VecDeque::new(), bytes: 0, limit }
    }
    /// Returns true if `packet` can join without exceeding a limit.
    #[inline]
    pub fn has_room_for(&self, packet: &Packet) -> bool {
        (self.packets.len() as u64) < self.limit.packets
            && self.bytes + u64::from(packet.bytes) <= self.limit.bytes
    }
    /// Checks [`Ring::has_room_for`].
    ///
    /// # Errors
    /// There is no room: [`DropReason::TAIL_LIMIT`].
    #[inline]
    pub fn check_room(&self, packet: &Packet) -> Result<(), DropReason> {
        if self.has_room_for(packet) { Ok(()) } else { Err(DropReason::TAIL_LIMIT) }
    }
    /// Appends at the tail. The caller must have checked [`Ring::has_room_for`].
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }
    /// Removes the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        // The head is copied before the pop, because the popped `Option` would be unpacked only to test its
        // presence.
        let packet = *self.packets.front()?;
        self.packets.pop_front();
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
    /// Removes the packets of PDU set `number` of `flow`, wherever they are, and reports each to `sink` as dropped for `reason`. Takes
    /// time in proportion to the queue.
    pub fn discard_set<S: Sink>(&mut self, sink: &mut S, flow: u32, number: u32, reason: DropReason) {
        let Ring { packets, bytes, .. } = self;
        packets.retain(|packet| {
            let is_of_set =
                packet.flow == flow && sink.pdu_set(packet).is_some_and(|set| set.number == number);
            if is_of_set {
                *bytes -= u64::from(packet.bytes);
                sink.dropped(packet, reason);
            }
            !is_of_set
        });
    }
    /// The packets from the head to the tail.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }
    /// The packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }
    /// Writes the bytes of the packets from index `from` on into `sizes`; returns how many were written.
    pub fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        let known = self.packets.range(from.min(self.packets.len())..);
        known.zip(sizes).map(|(packet, size)| *size = packet.bytes).count()
    }
    /// Packets queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    /// Returns true if nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// Packets and bytes queued.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
    /// Replaces the limits. Queued packets beyond them stay.
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
    /// Limits of the queue.
    #[inline]
    pub fn limit(&self) -> Limit {
        self.limit
    }
}
