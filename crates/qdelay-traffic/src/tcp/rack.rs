//! Time-based loss detection (RFC 8985 section 6).
//!
//! A segment is lost when a segment sent sufficiently later was delivered. Segments sent once are checked in the order of their
//! numbers by a cursor, retransmissions in the order of their send times by a queue. Each transmission is therefore checked once,
//! except those within the reordering window.

use super::scoreboard::{Scoreboard, state};
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// State of RACK.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    /// Send time and end of the latest sent among the delivered segments.
    latest: (Time, u64),
    /// Round trip of that segment.
    rtt: Span,
    /// Whether an acknowledgement has delivered a segment since the last detection.
    advanced: bool,
    /// Number below which all segments sent once are delivered or marked lost.
    cursor: u64,
    /// Retransmissions in flight: number and send time.
    retransmissions: VecDeque<(u64, Time)>,
    /// Whether a segment was ever delivered after one sent later.
    pub reordering_seen: bool,
    /// Whether a duplicate SACK has arrived since the window was last adapted.
    pub duplicate_seen: bool,
    /// Reordering window in quarters of the smallest round trip, less one.
    extra_steps: u32,
    persist: u32,
    adapted_at: u64,
}

/// Result of a detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detection {
    /// Segments newly marked lost.
    pub lost: u32,
    /// Time after which the segments within the reordering window are lost; `None` without such segments.
    pub wait: Option<Span>,
}

impl Rack {
    /// Records a delivery. A delivery of a retransmitted segment within `min_rtt` of its retransmission is that of the original, and is ignored.
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

    /// Records that segment `number` was retransmitted at `now`.
    pub fn retransmitted(&mut self, number: u64, now: Time) {
        debug_assert!(
            self.retransmissions.back().is_none_or(|last| last.1 <= now),
            "retransmissions out of order"
        );
        self.retransmissions.push_back((number, now));
    }

    /// Reordering window in quarters of the smallest round trip.
    pub fn steps(&self) -> u32 {
        self.extra_steps + 1
    }

    /// Adapts the reordering window (RFC 8985 section 6.2 step 4): one more step per round trip with duplicate SACKs, for 16 recoveries.
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

    /// Records the end of a recovery.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Restarts the checks of all segments, after loss marks were removed.
    pub fn restart(&mut self) {
        self.cursor = 0;
        self.advanced = true;
    }

    /// Whether a segment was delivered since the last call.
    pub fn has_new_delivery(&mut self) -> bool {
        core::mem::take(&mut self.advanced)
    }

    /// Time after which a segment sent at `sent` is lost; zero if it is lost now. `window`: reordering window.
    pub fn remaining(&self, now: Time, sent: Time, window: Span) -> Span {
        (self.rtt + window).saturating_sub(now.since(sent))
    }

    /// Marks the segments that are lost at `now`; `window`: reordering window.
    pub fn detect(&mut self, board: &mut Scoreboard, now: Time, window: Span) -> Detection {
        let mut found = Detection::default();
        self.walk_first_transmissions(board, now, window, &mut found);
        self.walk_retransmissions(board, now, window, &mut found);
        found
    }

    fn walk_first_transmissions(
        &mut self,
        board: &mut Scoreboard,
        now: Time,
        window: Span,
        found: &mut Detection,
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

    fn walk_retransmissions(
        &mut self,
        board: &mut Scoreboard,
        now: Time,
        window: Span,
        found: &mut Detection,
    ) {
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
        assert_eq!(found, Detection { lost: 0, wait: Some(Span::from_millis(2)) });
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
