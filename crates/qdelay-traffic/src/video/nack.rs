//! What is missing of the video, and when to ask for it.
//!
//! A gap is asked for as soon as it is seen, and again each round trip, ten times at most. After that the frame is given up.
//!
//! Source: RFC 4585 section 6.2.1 (generic NACK); the number of tries and the least time of 20 ms between them are libwebrtc's.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

const TRIES: u32 = 10;
const APART: Span = Span::from_millis(20);
/// Of a larger gap nothing is asked for.
const LARGEST_GAP: u32 = 1000;

#[derive(Clone, Copy, Debug)]
struct Missing {
    seq: u32,
    tries: u32,
    due: Time,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// It has not come before.
    New,
    /// It has, or was given up.
    Old,
}

/// The packets that are missing.
#[derive(Clone, Debug, Default)]
pub struct Nack {
    is_on: bool,
    next: u32,
    missing: Vec<Missing>,
    is_given_up: bool,
}

impl Nack {
    /// If not `is_on`, what is missing is given up at once.
    pub fn new(is_on: bool) -> Nack {
        Nack { is_on, ..Nack::default() }
    }

    /// Packet `seq` has come.
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

    /// Packets before `seq` are no longer of use.
    pub fn forget(&mut self, seq: u32) {
        self.missing.retain(|missing| missing.seq >= seq);
    }

    /// Adds what is to be asked for now, with round trips of `rtt`.
    pub fn poll(&mut self, now: Time, rtt: Span, ask: &mut Vec<u32>) {
        let before = self.missing.len();
        self.missing.retain(|missing| missing.due > now || missing.tries < TRIES);
        self.is_given_up |= self.missing.len() < before;
        for missing in self.missing.iter_mut().filter(|missing| missing.due <= now) {
            ask.push(missing.seq);
            (missing.tries, missing.due) = (missing.tries + 1, now + rtt.max(APART));
        }
    }

    /// Whether something was given up since the last call.
    pub fn take_given_up(&mut self) -> bool {
        core::mem::take(&mut self.is_given_up)
    }

    /// When [`Nack::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        self.missing.iter().map(|missing| missing.due).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tries_and_no_more() {
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
