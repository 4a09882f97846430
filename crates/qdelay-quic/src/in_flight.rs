//! Record of a sender's packets in flight. The stack identifies packets by send time and size only, not by number.

use qdelay_core::Time;
use qdelay_traffic::tcp::{Record, state};
use std::collections::VecDeque;

/// A packet is lost once a packet with a number higher by this much is acknowledged (RFC 9002 section 6.1.1, kPacketThreshold).
const REORDERING: u64 = 3;

/// A packet in flight, or one acknowledged or lost while an older packet is still in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    record: Record,
}

impl Sent {
    fn is_flying(&self) -> bool {
        !self.record.is(state::DELIVERED | state::LOST)
    }
}

/// Packets in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    packets: VecDeque<Sent>,
    count: u32,
}

impl InFlight {
    /// Number of packets in flight.
    pub fn count(&self) -> u32 {
        self.count
    }
    /// Number of records kept, those of acknowledged and lost packets included.
    #[cfg(test)]
    pub fn records(&self) -> usize {
        self.packets.len()
    }
    /// Sequence number of the first byte of the oldest packet; `None` if there is no packet.
    pub fn first_byte(&self) -> Option<u64> {
        self.packets.front().map(|sent| sent.record.seq)
    }

    /// Records that packet `number` was sent.
    pub fn push(&mut self, number: u64, record: Record) {
        debug_assert!(
            self.packets.back().is_none_or(|last| last.record.sent <= record.sent),
            "packets out of order"
        );
        self.packets.push_back(Sent { number, record });
        self.count += 1;
    }

    /// Marks a packet of this send time and size as acknowledged; returns its number and its record before the change. `None` if no packet in
    /// flight was sent at that time.
    pub fn deliver(&mut self, sent: Time, bytes: u64) -> Option<(u64, Record)> {
        let place = self.find(sent, bytes)?;
        let Sent { number, record } = self.packets.get_mut(place)?;
        let found = (*number, *record);
        record.state |= state::DELIVERED;
        self.count -= 1;
        debug_assert!(self.count as usize <= self.packets.len(), "more packets in flight than records");
        Some(found)
    }

    /// Marks the oldest packets in flight as lost: `bytes` bytes in total, of packets sent no later than `newest`. Calls `lost` with the send
    /// time of each.
    pub fn lose(&mut self, newest: Time, bytes: u64, mut lost: impl FnMut(Time)) {
        let mut left = bytes;
        for sent in self.packets.iter_mut().take_while(|sent| sent.record.sent <= newest) {
            let len = u64::from(sent.record.len);
            if !sent.is_flying() {
                continue;
            }
            if len > left {
                break;
            }
            left -= len;
            sent.record.state |= state::LOST;
            debug_assert!(self.count > 0, "a lost packet that was not in flight");
            self.count -= 1;
            lost(sent.record.sent);
        }
    }

    /// Removes the oldest packets that are acknowledged or lost. Handshake packets whose keys were discarded are neither; they are removed once
    /// their numbers are more than the packet threshold below `largest`, the highest number acknowledged.
    pub fn forget(&mut self, largest: Option<u64>) {
        let is_over = |sent: &Sent| largest.is_some_and(|largest| sent.number + REORDERING < largest);
        while let Some(sent) = self.packets.front()
            && (!sent.is_flying() || is_over(sent))
        {
            self.count -= u32::from(sent.is_flying());
            self.packets.pop_front();
        }
    }

    /// Index of a packet in flight with this send time: one of `bytes` bytes if there is one, otherwise the first.
    fn find(&self, sent: Time, bytes: u64) -> Option<usize> {
        let first = self.packets.partition_point(|packet| packet.record.sent < sent);
        let alike = || self.packets.range(first..).take_while(|packet| packet.record.sent == sent);
        let place = alike().position(|packet| packet.is_flying() && u64::from(packet.record.len) == bytes);
        Some(first + place.or_else(|| alike().position(Sent::is_flying))?)
    }
}
