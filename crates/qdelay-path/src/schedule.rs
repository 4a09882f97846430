//! Packets with the times at which they go on, the earliest first; of the same time, the one that came first.

use crate::Count;
use alloc::collections::VecDeque;
use qdelay_core::{Packet, Time};

/// Packets that a node holds back for a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schedule {
    packets: VecDeque<(Time, Packet)>,
    bytes: u64,
}

impl Schedule {
    /// Number of packets.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// When the last packet goes on.
    #[inline]
    pub(crate) fn last(&self) -> Option<Time> {
        self.packets.back().map(|entry| entry.0)
    }

    /// Adds a packet that goes on at `time`, behind all others.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, packet: &Packet) {
        debug_assert!(self.last().is_none_or(|last| last <= time), "a later packet leaves first");
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back((time, *packet));
    }

    /// Adds a packet that goes on at `time`, behind those that go on by then.
    pub(crate) fn insert(&mut self, time: Time, packet: &Packet) {
        self.bytes += u64::from(packet.bytes);
        let place = self.packets.partition_point(|entry| entry.0 <= time);
        self.packets.insert(place, (time, *packet));
        debug_assert!(self.packets.iter().is_sorted_by_key(|entry| entry.0), "insertion keeps the order");
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Packet> {
        let packet = self.packets.front()?.1;
        self.packets.pop_front();
        self.bytes -= u64::from(packet.bytes);
        debug_assert!(
            !self.packets.is_empty() || self.bytes == 0,
            "an empty schedule holds {} bytes",
            self.bytes
        );
        Some(packet)
    }

    /// When the first packet goes on; [`Time::NEVER`] if there is none.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |entry| entry.0)
    }

    pub(crate) fn inside(&self) -> Count {
        Count { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
