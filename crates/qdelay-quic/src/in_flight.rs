//! The packets in flight of a sender, by what the stack tells of them: when they were sent, and how many bytes they have.

use qdelay_core::Time;
use qdelay_traffic::tcp::{Record, state};
use std::collections::VecDeque;

/// Packets above a packet that make it lost (RFC 9002 section 6.1.1).
const REORDERING: u64 = 3;

/// A packet that is in flight, or whose fate is known while that of an older one is not.
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

/// The packets in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    packets: VecDeque<Sent>,
    count: u32,
}

impl InFlight {
    /// How many packets are in flight.
    pub fn count(&self) -> u32 {
        self.count
    }
    /// Records that are kept: also those of packets whose fate is known.
    #[cfg(test)]
    pub fn records(&self) -> usize {
        self.packets.len()
    }
    /// The first byte of the oldest packet; `None` without any.
    pub fn first_byte(&self) -> Option<u64> {
        self.packets.front().map(|sent| sent.record.seq)
    }

    /// The packet `number` is sent.
    pub fn push(&mut self, number: u64, record: Record) {
        self.packets.push_back(Sent { number, record });
        self.count += 1;
    }

    /// A packet that was sent then is acknowledged: its number and its record from before.
    pub fn deliver(&mut self, sent: Time, bytes: u64) -> Option<(u64, Record)> {
        let place = self.find(sent, bytes)?;
        let Sent { number, record } = self.packets.get_mut(place)?;
        let found = (*number, *record);
        record.state |= state::DELIVERED;
        self.count -= 1;
        Some(found)
    }

    /// The oldest packets in flight are lost: so many bytes, none of them sent after `newest`. `lost` hears when each was sent.
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
            self.count -= 1;
            lost(sent.record.sent);
        }
    }

    /// Forgets the oldest packets whose fate is known. Those of a handshake whose keys are gone have none, and are not in flight any more;
    /// they are far below `largest`, the newest packet that was acknowledged.
    pub fn forget(&mut self, largest: Option<u64>) {
        let is_over = |sent: &Sent| largest.is_some_and(|largest| sent.number + REORDERING < largest);
        while let Some(sent) = self.packets.front()
            && (!sent.is_flying() || is_over(sent))
        {
            self.count -= u32::from(sent.is_flying());
            self.packets.pop_front();
        }
    }

    /// The place of a packet in flight that was sent then.
    fn find(&self, sent: Time, bytes: u64) -> Option<usize> {
        let first = self.packets.partition_point(|packet| packet.record.sent < sent);
        let alike = || self.packets.range(first..).take_while(|packet| packet.record.sent == sent);
        let place = alike().position(|packet| packet.is_flying() && u64::from(packet.record.len) == bytes);
        Some(first + place.or_else(|| alike().position(Sent::is_flying))?)
    }
}
