//! The packets that a central unit has sent and that are not yet reported as transmitted, by their PDCP
//! numbers.

use crate::Time;
use alloc::collections::VecDeque;

/// Packets in the order of their PDCP numbers, which count packets sent from 0 on and wrap around after 2^32.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    /// Time of sending and size in bytes of each packet.
    packets: VecDeque<(Time, u64)>,
    bytes: u64,
    /// PDCP number of the first packet, or of the next packet if there is none.
    first: u32,
}

impl Sent {
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }
    /// Bytes of all packets.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
    pub(super) fn push(&mut self, now: Time, bytes: u64) {
        self.packets.push_back((now, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
    }
    /// The packet at position `place`, from the first on: its time of sending and its bytes.
    pub(super) fn get(&self, place: usize) -> Option<(Time, u64)> {
        self.packets.get(place).copied()
    }
    /// Removes and returns the first packet: its time of sending and its bytes.
    pub(super) fn pop(&mut self) -> Option<(Time, u64)> {
        let packet = self.packets.pop_front()?;
        self.bytes = self.bytes.saturating_sub(packet.1);
        self.first = self.first.wrapping_add(1);
        Some(packet)
    }
    /// Number of packets with PDCP numbers up to `number`; 0 for a number that was reported before.
    pub(super) fn up_to(&self, number: u32) -> usize {
        let count = number.wrapping_sub(self.first).wrapping_add(1);
        if count > u32::MAX / 2 { 0 } else { (count as usize).min(self.packets.len()) }
    }
    /// Removes the packets with numbers up to `number`: they were transmitted.
    pub(super) fn transmitted(&mut self, number: Option<u32>) {
        for _ in 0..number.map_or(0, |number| self.up_to(number)) {
            self.pop();
        }
    }
    /// Bytes and number of the leading packets, up to the first one for whose time of sending `is_early` is
    /// false.
    pub(super) fn while_sent(&self, is_early: impl Fn(Time) -> bool) -> (u64, u64) {
        let early = self.packets.iter().take_while(|packet| is_early(packet.0));
        early.fold((0, 0), |(bytes, packets), packet| (bytes + packet.1, packets + 1))
    }
    /// Removes all packets: none is awaited any longer.
    pub(super) fn clear(&mut self) {
        self.first = self.first.wrapping_add(self.packets.len() as u32);
        self.packets.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_around() {
        let mut sent = Sent { first: u32::MAX - 1, ..Sent::default() };
        let time = Time::from_nanos;
        for at in 1..=4 {
            sent.push(time(at), 100 * at);
        }
        assert_eq!(
            [u32::MAX - 2, u32::MAX - 1, u32::MAX, 0, 1, 2].map(|n| sent.up_to(n)),
            [0, 1, 2, 3, 4, 4]
        );
        assert_eq!((sent.bytes(), sent.while_sent(|at| at <= time(2))), (1000, (300, 2)));
        assert_eq!(sent.pop(), Some((time(1), 100)));
        assert_eq!((sent.up_to(u32::MAX - 1), sent.up_to(0)), (0, 2));
        sent.clear();
        sent.push(time(9), 50);
        assert_eq!((sent.up_to(1), sent.up_to(2), sent.bytes()), (0, 1, 50));
    }
}
