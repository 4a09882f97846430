//! Time-based loss detection (RFC 8985 section 6).
//!
//! A segment is lost when one sent sufficiently later was delivered. Segments that were sent once are in the order of their
//! numbers and are visited by a cursor; retransmissions are in the order of their times in a queue. So each is visited once,
//! except those still within the reordering window.

use super::scoreboard::{Scoreboard, state};
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// State of RACK.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// Send time and end of the segment sent last among those delivered.
    latest: (Time, u64),
    /// Its round trip.
    rtt: Span,
    /// Whether an acknowledgement has delivered anything since the last detection.
    advanced: bool,
    /// Segments below this number that were sent once are settled.
    cursor: u64,
    /// Retransmissions in flight: number and send time.
    retransmissions: VecDeque<(u64, Time)>,
    /// Whether a segment was ever delivered after one sent later.
    pub reordering_seen: bool,
    /// A duplicate SACK since the window was last adapted.
    pub duplicate_seen: bool,
    /// Quarters of the smallest round trip, less one; recoveries until this expires; and when it last grew.
    extra_steps: u32,
    persist: u32,
    adapted_at: u64,
}

/// The result of a detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Segments newly marked lost.
    pub lost: u32,
    /// Time until the segments still within the reordering window would be lost.
    pub wait: Option<Span>,
}

impl Rack {
    /// A segment was delivered. `min_rtt` rules out acknowledgements of the original of a retransmitted one.
    pub fn delivered(&mut self, now: Time, sent: Time, end: u64, retransmitted: bool, min_rtt: Span) {
        let rtt = now.since(sent);
        if retransmitted && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent, end) > self.latest {
            self.latest = (sent, end);
        }
    }

    /// `number` was retransmitted.
    pub fn retransmitted(&mut self, number: u64, now: Time) {
        self.retransmissions.push_back((number, now));
    }

    /// The reordering window in quarters of the smallest round trip.
    pub fn steps(&self) -> u32 {
        self.extra_steps + 1
    }

    /// RFC 8985 section 6.2 step 4: one more step for a round trip with duplicate SACKs, for 16 recoveries.
    pub fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.adapted_at {
            self.duplicate_seen = false;
        }
        if self.duplicate_seen {
            self.extra_steps = (self.extra_steps + 1).min(254);
            self.duplicate_seen = false;
            self.adapted_at = delivered;
            self.persist = 16;
        } else if self.persist == 0 {
            self.extra_steps = 0;
        }
    }

    /// A recovery is over.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Schedules every segment for another check (loss marks were taken back).
    pub fn restart(&mut self) {
        self.cursor = 0;
        self.advanced = true;
    }

    /// Whether there was a delivery since the last call; resets it.
    pub fn take_news(&mut self) -> bool {
        core::mem::take(&mut self.advanced)
    }

    /// How much longer `sent` may be outstanding; zero if it is lost.
    pub fn remaining(&self, now: Time, sent: Time, window: Span) -> Span {
        (self.rtt + window).saturating_sub(now.since(sent))
    }

    /// Marks the segments lost by now, with a reordering window of `window`.
    pub fn detect(&mut self, board: &mut Scoreboard, now: Time, window: Span) -> Found {
        let mut found = Found::default();
        self.walk_first_transmissions(board, now, window, &mut found);
        self.walk_retransmissions(board, now, window, &mut found);
        found
    }

    fn walk_first_transmissions(
        &mut self,
        board: &mut Scoreboard,
        now: Time,
        window: Span,
        found: &mut Found,
    ) {
        self.cursor = self.cursor.max(board.first());
        let mut settled = true;
        for number in self.cursor..board.next() {
            let record = board.get(number);
            if !record.is(state::SACKED | state::LOST | state::EVER_RETRANSMITTED) {
                if (record.sent, record.end()) >= self.latest {
                    break;
                }
                let remaining = self.remaining(now, record.sent, window);
                if remaining.is_zero() {
                    found.lost += u32::from(board.mark_lost(number));
                } else {
                    settled = false;
                    found.wait = Some(found.wait.unwrap_or(Span::ZERO).max(remaining));
                }
            }
            if settled {
                self.cursor = number + 1;
            }
        }
    }

    fn walk_retransmissions(&mut self, board: &mut Scoreboard, now: Time, window: Span, found: &mut Found) {
        while let Some(&(number, sent)) = self.retransmissions.front() {
            if number >= board.first() {
                let record = board.get(number);
                let in_flight = record.sent == sent && !record.is(state::SACKED);
                if in_flight && (!record.is(state::LOST) || record.is(state::RETRANSMITTED)) {
                    if (sent, record.end()) >= self.latest {
                        return;
                    }
                    let remaining = self.remaining(now, sent, window);
                    if !remaining.is_zero() {
                        found.wait = Some(found.wait.unwrap_or(Span::ZERO).max(remaining));
                        return;
                    }
                    found.lost += u32::from(board.mark_lost(number));
                }
            }
            self.retransmissions.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Record;
    use super::*;

    const RTT: Span = Span::from_millis(10);

    fn time_us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn sent(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            board.push(Record { seq: i * 100, len: 100, sent: time_us(i * 1000), ..Record::default() });
        }
        board
    }

    fn sack(rack: &mut Rack, board: &mut Scoreboard, number: u64, now: Time) {
        let record = board.mark_sacked(number).unwrap();
        rack.delivered(now, record.sent, record.end(), record.is(state::EVER_RETRANSMITTED), RTT);
    }

    #[test]
    fn lost_when_a_later_one_arrives_and_the_window_is_over() {
        let (mut rack, mut board) = (Rack::default(), sent(6));
        sack(&mut rack, &mut board, 2, time_us(12_000));
        let found = rack.detect(&mut board, time_us(12_000), Span::from_millis(3));
        assert_eq!(found, Found { lost: 0, wait: Some(Span::from_millis(2)) });
        let found = rack.detect(&mut board, time_us(14_000), Span::from_millis(3));
        assert_eq!((found.lost, board.lost), (2, 2));
        assert!(!board.get(3).is(state::LOST), "sent after the one that arrived");
    }

    #[test]
    fn a_lost_retransmission_is_found() {
        let (mut rack, mut board) = (Rack::default(), sent(6));
        sack(&mut rack, &mut board, 1, time_us(11_000));
        assert_eq!(rack.detect(&mut board, time_us(11_000), Span::ZERO).lost, 1);
        board.mark_retransmitted(0, time_us(11_000));
        rack.retransmitted(0, time_us(11_000));
        board.push(Record { seq: 600, len: 100, sent: time_us(12_000), ..Record::default() });
        sack(&mut rack, &mut board, 5, time_us(15_000));
        assert_eq!(
            rack.detect(&mut board, time_us(15_000), Span::ZERO).lost,
            3,
            "2, 3 and 4, not the retransmission"
        );
        sack(&mut rack, &mut board, 6, time_us(22_000));
        assert_eq!(rack.detect(&mut board, time_us(22_000), Span::ZERO).lost, 1);
        assert!(board.get(0).is(state::LOST) && !board.get(0).is(state::RETRANSMITTED));
    }
}
