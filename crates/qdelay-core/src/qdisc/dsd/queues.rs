//! The two queues of real packets. Each counts the units it holds; the blue queue also counts the units
//! before a position.

use super::super::Backlog;
use crate::Packet;
use alloc::collections::VecDeque;

/// Green packets, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct GreenQueue {
    packets: VecDeque<(Packet, u64)>,
    bytes: u64,
    units: u64,
}

impl GreenQueue {
    pub(super) fn push(&mut self, packet: Packet, units: u64) {
        self.bytes += u64::from(packet.bytes);
        self.units += units;
        self.packets.push_back((packet, units));
    }
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let taken = self.packets.pop_front();
        self.without(taken)
    }
    /// Removes and returns the packet that arrived last.
    pub(super) fn pop_newest(&mut self) -> Option<Packet> {
        let taken = self.packets.pop_back();
        self.without(taken)
    }
    fn without(&mut self, taken: Option<(Packet, u64)>) -> Option<Packet> {
        let (packet, units) = taken?;
        self.bytes -= u64::from(packet.bytes);
        self.units -= units;
        Some(packet)
    }
    pub(super) fn head(&self) -> Option<&Packet> {
        self.packets.front().map(|(packet, _)| packet)
    }
    /// Units of all packets.
    pub(super) fn units(&self) -> u64 {
        self.units
    }
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

/// A blue packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blue {
    pub(super) packet: Packet,
    /// Position at which its duplicate begins: its deadline.
    pub(super) begins: u64,
    /// Units of all blue packets that arrived earlier, since the beginning of the run.
    before: u64,
}

/// Blue packets, oldest first, which is the order of their deadlines.
#[derive(Clone, Debug, Default)]
pub(super) struct BlueQueue {
    packets: VecDeque<Blue>,
    bytes: u64,
    /// Units of all packets that ever arrived.
    came: u64,
}

impl BlueQueue {
    pub(super) fn push(&mut self, packet: Packet, begins: u64, units: u64) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(Blue { packet, begins, before: self.came });
        self.came = self.came.saturating_add(units);
    }
    pub(super) fn pop(&mut self) -> Option<Packet> {
        let Blue { packet, .. } = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
    pub(super) fn head(&self) -> Option<&Blue> {
        self.packets.front()
    }
    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
    /// Units of all packets.
    pub(super) fn units(&self) -> u64 {
        self.units_of_first(self.packets.len())
    }
    /// Units of the packets whose deadline is before position `place`.
    pub(super) fn units_due_before(&self, place: u64) -> u64 {
        self.units_of_first(self.packets.partition_point(|blue| blue.begins < place))
    }
    /// Units of the packets that cannot wait for a green packet which, without them, would end at `end`. Each packet before
    /// it delays that end by its own units; its deadline is later by at least as much, so the packets that cannot wait are at
    /// the front.
    pub(super) fn units_forced_before(&self, end: u64) -> u64 {
        let gone = self.gone();
        let is_forced = |blue: &Blue| blue.begins < end.saturating_add(blue.before - gone);
        self.units_of_first(self.packets.partition_point(is_forced))
    }
    /// Units of the packets that have left.
    fn gone(&self) -> u64 {
        self.packets.front().map_or(self.came, |head| head.before)
    }
    fn units_of_first(&self, count: usize) -> u64 {
        self.packets.get(count).map_or(self.came, |next| next.before) - self.gone()
    }
}
