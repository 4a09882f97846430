//! Missing video packets, and the times of requests for them.
//!
//! The receiver requests a missing packet as soon as it detects the gap, and again after each round trip, at most ten times. After that it gives
//! the frame up.
//!
//! Source: RFC 4585 section 6.2.1 (generic NACK); the number of requests and the minimum of 20 ms between them are libwebrtc's.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

const TRIES: u32 = 10;
const APART: Span = Span::from_millis(20);
/// Largest gap whose packets are requested, packets.
const LARGEST_GAP: u32 = 1000;

#[derive(Clone, Copy, Debug)]
struct Missing {
    seq: u32,
    tries: u32,
    due: Time,
}

/// Whether an arriving packet is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// First arrival of the packet.
    New,
    /// The packet had arrived before, or was given up.
    Old,
}

/// Missing packets with the state of their requests.
#[derive(Clone, Debug, Default)]
pub struct Nack {
    is_on: bool,
    next: u32,
    missing: Vec<Missing>,
    is_given_up: bool,
}

impl Nack {
    /// `is_on`: missing packets are requested; otherwise they are given up at once.
    pub fn new(is_on: bool) -> Nack {
        Nack { is_on, ..Nack::default() }
    }

    /// Records the arrival of packet `seq`.
    pub fn add(&mut self, now: Time, seq: u32) -> Arrived {
        if seq < self.next {
            let Ok(place) = self.missing.binary_search_by_key(&seq, |missing| missing.seq) else {
                return Arrived::Old;
            };
            self.missing.remove(place);
            return Arrived::New;
        }
        if seq > self.next {
            if self.is_on && seq - self.next <= LARGEST_GAP {
                self.missing.extend((self.next..seq).map(|seq| Missing { seq, tries: 0, due: now }));
            } else {
                self.is_given_up = true;
            }
        }
        self.next = seq + 1;
        Arrived::New
    }

    /// Removes packets below `seq`, which are no longer needed.
    pub fn forget(&mut self, seq: u32) {
        self.missing.retain(|missing| missing.seq >= seq);
    }

    /// Appends the packets to request at `now` to `ask`; `rtt`: round trip.
    pub fn poll(&mut self, now: Time, rtt: Span, ask: &mut Vec<u32>) {
        let before = self.missing.len();
        self.missing.retain(|missing| missing.due > now || missing.tries < TRIES);
        self.is_given_up |= self.missing.len() < before;
        for missing in self.missing.iter_mut().filter(|missing| missing.due <= now) {
            ask.push(missing.seq);
            (missing.tries, missing.due) = (missing.tries + 1, now + rtt.max(APART));
        }
    }

    /// Whether a packet was given up since the last call.
    pub fn take_given_up(&mut self) -> bool {
        core::mem::take(&mut self.is_given_up)
    }

    /// Time at which [`Nack::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        self.missing.iter().map(|missing| missing.due).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_requested_at_most_ten_times() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut nack = Nack::new(true);
        assert_eq!(nack.add(at(0), 0), Arrived::New);
        assert_eq!(nack.add(at(1), 3), Arrived::New);
        assert_eq!(nack.add(at(1), 3), Arrived::Old);
        let mut asked = Vec::new();
        nack.poll(at(1), Span::from_millis(50), &mut asked);
        assert_eq!((asked.as_slice(), nack.next_deadline()), (&[1, 2][..], at(51)));
        assert_eq!(nack.add(at(40), 2), Arrived::New);
        while nack.next_deadline() != Time::NEVER {
            let now = nack.next_deadline();
            nack.poll(now, Span::from_millis(50), &mut asked);
        }
        assert_eq!(asked.len(), 2 + 9);
        assert!(nack.take_given_up() && !nack.take_given_up());
        assert_eq!(nack.add(at(900), 1), Arrived::Old);
        let mut off = Nack::new(false);
        off.add(at(0), 1);
        assert!(off.take_given_up());
    }
}
