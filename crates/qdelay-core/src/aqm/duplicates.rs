//! The virtual queue of duplicate scheduling: how a single first-in first-out queue without colours would treat every
//! arrival.
//!
//! Source: Hurley, Le Boudec, Thiran and Kara, "ABE: Providing a Low-Delay Service within Best Effort" (2001), the section on
//! duplicate scheduling with deadlines (DSD) and its enqueuing pseudo-code. Each arrival has a duplicate, which is never
//! sent: the virtual queue accepts or refuses it, and computes when it would leave. The time at which its transmission would
//! *begin* is the deadline of the original packet.
//!
//! Positions on the link are counted in *units*, from the beginning of the run:
//! * [`Pace::Rate`], the paper's form: nanoseconds. Duplicates are sent at the link's rate, and the position is the
//!   time.
//! * [`Pace::Service`], for a link of unknown rate: bytes handed to the link. Each byte that the link takes from the real
//!   queue also advances the duplicates, so they use the very same opportunities, and "no later than its duplicate"
//!   becomes "no more bytes before it".
//!
//! Limits count the duplicates that wait, not the one being sent, as the limits of a real queue above a link do. A RED law may
//! precede the limit; it sees the waiting duplicates.
//!
//! By service, the position within the packet being sent is unknown; a duplicate that begins anywhere in that packet counts
//! as begun. Opportunities at which the real queue was empty are not reported: [`Duplicates::restart`] discards the
//! duplicates left over. An arrival costs constant time, amortised.
//!
//! Differences from the reference:
//! * The paper has no form by service.

use super::{Red, RedVerdict};
use crate::qdisc::{Backlog, Limit};
use crate::{DropReason, Random, Rate, Time};
use alloc::collections::VecDeque;

/// The clock of the duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Time: duplicates are sent at this rate, more than zero. Units are nanoseconds.
    Rate(Rate),
    /// Bytes that the link takes from the real queue. Units are bytes.
    Service,
}

impl Pace {
    /// Units that `bytes` on the link take, rounded down.
    #[inline]
    pub fn units(self, bytes: u64) -> u64 {
        match self {
            Pace::Rate(rate) => rate.time_for(bytes).as_nanos(),
            Pace::Service => bytes,
        }
    }
}

/// The fate of a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicate {
    /// Accepted: the transmission will begin at position `begins`.
    Accepted {
        /// Position at which it begins, in units.
        begins: u64,
        /// True if early detection chose the duplicate and the original can carry a mark: the original is to
        /// be marked.
        is_marked: bool,
    },
    /// Refused, with the reason.
    Refused(DropReason),
}

/// An arrival, as the virtual queue sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Size in the queue (IP bytes).
    pub bytes: u32,
    /// Size on the link, in bytes.
    pub wire_bytes: u64,
    /// True if the packet may be marked instead of dropped.
    pub is_capable: bool,
    /// Time of arrival.
    pub now: Time,
}

/// The virtual queue.
#[derive(Clone, Debug)]
pub struct Duplicates {
    pace: Pace,
    limit: Limit,
    red: Option<Red>,
    /// Position at which each waiting duplicate begins, in units, and its size in IP bytes.
    waiting: VecDeque<(u64, u32)>,
    waiting_bytes: u64,
    /// Position at which the last duplicate ends, in units.
    end: u64,
    /// Shortfall of `end` below the exact position, in fractions 1/rate of a nanosecond.
    carry: u64,
}

impl Duplicates {
    /// An empty queue. With `red`, that law decides before the limit is applied.
    pub fn new(pace: Pace, limit: Limit, red: Option<Red>) -> Duplicates {
        let waiting = VecDeque::new();
        Duplicates { pace, limit, red, waiting, waiting_bytes: 0, end: 0, carry: 0 }
    }

    /// The clock of the duplicates.
    pub fn pace(&self) -> Pace {
        self.pace
    }
    /// Position at which the last duplicate ends, in units.
    pub fn end(&self) -> u64 {
        self.end
    }
    /// Duplicates whose transmission has not begun, as of the last call.
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.waiting_bytes }
    }

    /// Removes the duplicates that begin before position `place`. `now` is the time, which RED needs where
    /// units are bytes.
    #[inline]
    pub fn advance(&mut self, place: u64, now: Time) {
        let mut last = None;
        while let Some((begins, bytes)) = self.waiting.front().copied().filter(|(begins, _)| *begins < place)
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
            last = Some(begins);
        }
        if let (Some(begins), true, Some(red)) = (last, self.waiting.is_empty(), &mut self.red) {
            red.emptied(if self.pace == Pace::Service { now } else { Time::from_nanos(begins) });
        }
    }

    /// Discards all duplicates: the next one begins at position `place` at the latest.
    pub fn restart(&mut self, place: u64, now: Time) {
        self.advance(u64::MAX, now);
        self.end = place;
    }

    /// Offers the duplicate of an arrival while the link is at position `place`.
    pub fn offer(&mut self, arrival: &Arrival, place: u64, random: &mut Random) -> Duplicate {
        let mut is_marked = false;
        let queued = self.backlog();
        if let Some(red) = &mut self.red {
            match red.admit(queued, arrival.bytes, arrival.now, random) {
                RedVerdict::Forward => {}
                RedVerdict::Early if arrival.is_capable => is_marked = true,
                RedVerdict::Early => return Duplicate::Refused(Red::EARLY),
                RedVerdict::Forced => return Duplicate::Refused(Red::FORCED),
            }
        }
        let bytes = queued.bytes.saturating_add(u64::from(arrival.bytes));
        if queued.packets >= self.limit.packets || bytes > self.limit.bytes {
            return Duplicate::Refused(DropReason::TAIL_LIMIT);
        }
        if place > self.end {
            (self.end, self.carry) = (place, 0);
        }
        let begins = self.end;
        self.waiting.push_back((begins, arrival.bytes));
        self.waiting_bytes = bytes;
        self.append(arrival.wire_bytes);
        Duplicate::Accepted { begins, is_marked }
    }

    /// Advances `end` by one packet as a line transmits it: fractions of a nanosecond are carried over, so
    /// that rounding does not speed up many packets.
    fn append(&mut self, wire_bytes: u64) {
        let units = match self.pace {
            Pace::Rate(rate) if rate > Rate::ZERO && rate < Rate::INFINITE => {
                let work = u128::from(wire_bytes) * 8_000_000_000 + u128::from(self.carry);
                let bps = u128::from(rate.as_bps());
                self.carry = (work % bps) as u64;
                u64::try_from(work / bps).unwrap_or(u64::MAX)
            }
            pace => pace.units(wire_bytes),
        };
        self.end = self.end.saturating_add(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const LIMIT: Limit = Limit { packets: 3, bytes: u64::MAX };

    fn offer(queue: &mut Duplicates, place: u64) -> Duplicate {
        let now = Time::from_nanos(place);
        let arrival = Arrival { bytes: 1000, wire_bytes: 1000, is_capable: false, now };
        queue.offer(&arrival, place, &mut Random::derive(1, "node", "aqm"))
    }
    fn begins(begins: u64) -> Duplicate {
        Duplicate::Accepted { begins, is_marked: false }
    }

    /// 1000 bytes take 1 ms at 8 Mbit/s.
    #[test]
    fn by_rate_duplicates_leave_as_on_a_line() {
        let mut queue = Duplicates::new(Pace::Rate(Rate::from_bps(8_000_000)), LIMIT, None);
        assert_eq!(offer(&mut queue, 5 * MS), begins(5 * MS));
        queue.advance(5 * MS + 1, Time::ZERO);
        for n in 1..4 {
            assert_eq!(offer(&mut queue, 5 * MS), begins((5 + n) * MS));
        }
        assert_eq!(offer(&mut queue, 5 * MS), Duplicate::Refused(DropReason::TAIL_LIMIT));
        queue.advance(6 * MS, Time::ZERO);
        assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 3000 });
        queue.advance(6 * MS + 1, Time::ZERO);
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 2000 });
        assert_eq!(offer(&mut queue, 6 * MS), begins(9 * MS));
    }

    #[test]
    fn by_service_positions_are_bytes() {
        let mut queue = Duplicates::new(Pace::Service, LIMIT, None);
        (0..3).for_each(|n| assert_eq!(offer(&mut queue, 0), begins(1000 * n)));
        assert_eq!(offer(&mut queue, 0), Duplicate::Refused(DropReason::TAIL_LIMIT));
        queue.advance(1000, Time::ZERO);
        assert_eq!(offer(&mut queue, 1000), begins(3000));
        queue.restart(2000, Time::ZERO);
        assert_eq!((queue.backlog(), queue.end()), (Backlog::default(), 2000));
    }

    /// 1 byte at 3 bit/s takes 8/3 s: three of them take 8 s to the nanosecond.
    #[test]
    fn fractions_of_a_nanosecond_are_carried_over() {
        let mut queue = Duplicates::new(Pace::Rate(Rate::from_bps(3)), LIMIT, None);
        let arrival = Arrival { bytes: 1, wire_bytes: 1, is_capable: false, now: Time::ZERO };
        (0..3).for_each(|_| {
            queue.offer(&arrival, 0, &mut Random::derive(1, "node", "aqm"));
        });
        assert_eq!(queue.end(), 8_000_000_000);
    }
}
