//! The segments sent and not acknowledged (RFC 6675's scoreboard).
//!
//! Segments are numbered from 0 in the order of their first transmission and kept in a ring, so that a record is found by its
//! number without a search. The four counts are those of Linux: in flight = out - (sacked + lost) + retransmitted.

use alloc::vec::Vec;
use qdelay_core::Time;

/// State bits of a record.
pub mod state {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Marked lost.
    pub const LOST: u8 = 2;
    /// A retransmission is in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// Was retransmitted at least once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// Sent while the application had no more data.
    pub const APP_LIMITED: u8 = 16;
    /// Delivery has been counted.
    pub const DELIVERED: u8 = 32;
    /// The retransmission was selectively acknowledged, but counts as in flight (ns-3).
    pub const LINGERING: u8 = 64;
    /// The last segment of a burst.
    pub const ENDS_BURST: u8 = 128;
}

/// One sent segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// First sequence number.
    pub seq: u64,
    /// Time of the latest transmission.
    pub sent: Time,
    /// Send time of the segment most recently delivered at the transmission of this one.
    pub first_sent: Time,
    /// Delivery time of that segment.
    pub delivered_time: Time,
    /// Segments delivered at the transmission of this one.
    pub delivered: u64,
    /// Number of sequence numbers, the FIN included.
    pub len: u32,
    /// Bits of [`state`].
    pub state: u8,
}

impl Record {
    /// One past the last sequence number.
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
    /// Whether any of `bits` is set.
    pub const fn is(&self, bits: u8) -> bool {
        self.state & bits != 0
    }
}

/// Ring buffer of records, with counts.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: Vec<Record>,
    first: u64,
    next: u64,
    /// Segments sent and not cumulatively acknowledged.
    pub out: u32,
    /// Segments among `out` that are selectively acknowledged.
    pub sacked: u32,
    /// Segments among `out` that are marked lost.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retransmitted: u32,
    /// Retransmissions that count as in flight although they were selectively acknowledged; only with `linger`.
    lingering: u32,
    /// Whether such retransmissions exist (ns-3's `TcpTxBuffer::Update`, its issue 1190).
    linger: bool,
    /// Number below which no segment is lost and waiting for retransmission.
    retransmit_hint: u64,
    /// One past the highest sequence number that was selectively acknowledged.
    pub highest_sacked: u64,
    /// Bursts sent and not completely acknowledged.
    bursts: u32,
    /// Whether losses are recorded for the controller.
    pub notes_losses: bool,
    pub noted_losses: Vec<Time>,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            ring: alloc::vec![Record::default(); 64],
            first: 0,
            next: 0,
            out: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            lingering: 0,
            linger: false,
            retransmit_hint: 0,
            highest_sacked: 0,
            bursts: 0,
            notes_losses: false,
            noted_losses: Vec::new(),
        }
    }
}

impl Scoreboard {
    /// An empty scoreboard; `linger`: selectively acknowledged retransmissions count as in flight.
    pub fn new(linger: bool) -> Scoreboard {
        Scoreboard { linger, ..Scoreboard::default() }
    }

    /// Whether the counts are those of some set of marked records. A record is not both selectively acknowledged and lost, and no retransmission
    /// of a selectively acknowledged record counts as in flight.
    fn has_consistent_counts(&self) -> bool {
        u64::from(self.out) == self.next - self.first
            && self.sacked + self.lost.max(self.retransmitted) <= self.out
            && self.lingering <= self.sacked
            && self.bursts <= self.out
    }

    /// Number of the oldest record.
    pub fn first(&self) -> u64 {
        self.first
    }
    /// Number of the next segment.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }
    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        (self.out + self.retransmitted + self.lingering).saturating_sub(self.sacked + self.lost)
    }

    /// Bytes in flight, and bytes selectively acknowledged; a pass over all records, for time series.
    pub fn bytes(&self) -> (u64, u64) {
        let mut bytes = (0, 0);
        for number in self.first..self.next {
            let record = self.get(number);
            let has = |bit: u8| u64::from(record.is(bit));
            // The same sum as in `in_flight`, per record.
            let copies = 1 + has(state::RETRANSMITTED) + has(state::LINGERING);
            let len = u64::from(record.len);
            bytes.0 += len * copies.saturating_sub(has(state::SACKED) + has(state::LOST));
            bytes.1 += len * has(state::SACKED);
        }
        bytes
    }

    /// Record of segment `number`, which is in `first..next`.
    #[inline]
    pub fn get(&self, number: u64) -> &Record {
        let mask = self.ring.len() - 1;
        &self.ring[number as usize & mask]
    }
    /// Mutable record of segment `number`, which is in `first..next`.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> &mut Record {
        let mask = self.ring.len() - 1;
        &mut self.ring[number as usize & mask]
    }
    /// The oldest record.
    pub fn head(&self) -> Option<&Record> {
        (!self.is_empty()).then(|| self.get(self.first))
    }

    /// Adds the record of a new segment.
    pub fn push(&mut self, record: Record) {
        if (self.next - self.first) as usize == self.ring.len() {
            self.grow();
        }
        debug_assert!(record.len > 0, "a record without sequence numbers");
        let number = self.next;
        self.next += 1;
        self.out += 1;
        *self.get_mut(number) = record;
    }

    /// Marks the last segment as the end of a burst.
    pub fn end_burst(&mut self) {
        let number = self.next - 1;
        self.get_mut(number).state |= state::ENDS_BURST;
        self.bursts += 1;
        debug_assert!(self.bursts <= self.out, "a burst without a segment");
    }
    /// Bursts sent and not completely acknowledged.
    pub fn bursts(&self) -> u32 {
        self.bursts
    }

    fn grow(&mut self) {
        let mut larger = alloc::vec![Record::default(); self.ring.len() * 2];
        let mask = larger.len() - 1;
        for number in self.first..self.next {
            larger[number as usize & mask] = *self.get(number);
        }
        self.ring = larger;
    }

    /// Removes the oldest record, which was cumulatively acknowledged, and returns it.
    pub fn pop(&mut self) -> Record {
        debug_assert!(!self.is_empty(), "nothing is outstanding");
        let record = *self.get(self.first);
        self.first += 1;
        self.out -= 1;
        self.sacked -= u32::from(record.is(state::SACKED));
        self.lost -= u32::from(record.is(state::LOST));
        self.retransmitted -= u32::from(record.is(state::RETRANSMITTED));
        self.lingering -= u32::from(record.is(state::LINGERING));
        self.bursts -= u32::from(record.is(state::ENDS_BURST));
        record
    }

    /// Ends the counting of selectively acknowledged retransmissions as in flight (ns-3 `SetSentListLost`).
    pub fn end_lingering(&mut self) {
        if self.lingering > 0 {
            for number in self.first..self.next {
                self.get_mut(number).state &= !state::LINGERING;
            }
            self.lingering = 0;
        }
    }

    /// Cuts the bytes below `una` off the oldest record, after an acknowledgement inside a segment.
    pub fn trim_head(&mut self, una: u64) {
        let first = self.first;
        let record = self.get_mut(first);
        debug_assert!(record.seq <= una && una < record.end(), "{una} is not inside the oldest segment");
        record.len = (record.end() - una) as u32;
        record.seq = una;
    }

    /// Number of the first record that ends after `seq`; `next` without such a record.
    pub fn find(&self, seq: u64) -> u64 {
        let (mut low, mut high) = (self.first, self.next);
        if low == high || seq < self.get(low).end() {
            return low;
        }
        // Nearly all segments have the same size, so that an estimate usually finds the record without a search.
        let head = self.get(low);
        let guess = low + (seq - head.seq) / u64::from(head.len.max(1));
        if guess < high {
            let record = self.get(guess);
            if record.seq <= seq && seq < record.end() {
                return guess;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).end() <= seq { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Marks segment `number` selectively acknowledged. Returns the record before the change; `None` if it was marked already.
    pub fn mark_sacked(&mut self, number: u64) -> Option<Record> {
        let record = self.get_mut(number);
        if record.is(state::SACKED) {
            return None;
        }
        let before = *record;
        record.state = (before.state | state::SACKED) & !(state::LOST | state::RETRANSMITTED);
        let end = record.end();
        if self.linger && before.is(state::RETRANSMITTED) {
            self.get_mut(number).state |= state::LINGERING;
            self.lingering += 1;
        }
        self.sacked += 1;
        self.lost -= u32::from(before.is(state::LOST));
        self.retransmitted -= u32::from(before.is(state::RETRANSMITTED));
        self.highest_sacked = self.highest_sacked.max(end);
        debug_assert!(self.has_consistent_counts(), "{self:?}");
        Some(before)
    }

    /// Marks segment `number` lost, and with it a retransmission in flight. Returns whether the mark is new.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let record = self.get_mut(number);
        if record.is(state::SACKED) {
            return false;
        }
        let before = *record;
        record.state = (before.state | state::LOST) & !state::RETRANSMITTED;
        self.retransmitted -= u32::from(before.is(state::RETRANSMITTED));
        self.lost += u32::from(!before.is(state::LOST));
        self.retransmit_hint = self.retransmit_hint.min(number);
        let is_new = !before.is(state::LOST) || before.is(state::RETRANSMITTED);
        debug_assert!(self.has_consistent_counts(), "{self:?}");
        if is_new && self.notes_losses {
            self.noted_losses.push(before.sent);
        }
        is_new
    }

    /// Removes all loss marks, after a spurious timeout or recovery.
    pub fn unmark_all_lost(&mut self) {
        for number in self.first..self.next {
            self.get_mut(number).state &= !state::LOST;
        }
        self.lost = 0;
    }

    /// Number of the first segment that is lost and not being retransmitted.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.lost <= self.retransmitted {
            return None;
        }
        self.retransmit_hint = self.retransmit_hint.max(self.first);
        while self.retransmit_hint < self.next {
            let record = self.get(self.retransmit_hint);
            if record.is(state::LOST) && !record.is(state::RETRANSMITTED) {
                return Some(self.retransmit_hint);
            }
            self.retransmit_hint += 1;
        }
        None
    }

    /// Records that segment `number` is retransmitted as a probe without a loss mark.
    pub fn mark_probed(&mut self, number: u64, now: Time) {
        let record = self.get_mut(number);
        record.state |= state::EVER_RETRANSMITTED;
        record.sent = now;
    }

    /// Records that segment `number` is retransmitted.
    pub fn mark_retransmitted(&mut self, number: u64, now: Time) {
        let record = self.get_mut(number);
        let again = record.is(state::RETRANSMITTED);
        record.state |= state::RETRANSMITTED | state::EVER_RETRANSMITTED;
        record.sent = now;
        self.retransmitted += u32::from(!again);
        debug_assert!(self.has_consistent_counts(), "{self:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for i in 0..n {
            board.push(Record { seq: i * 100, len: 100, ..Record::default() });
        }
        board
    }

    #[test]
    fn finds_by_sequence_number() {
        let mut board = board(200);
        board.push(Record { seq: 20_000, len: 7, ..Record::default() });
        board.push(Record { seq: 20_007, len: 100, ..Record::default() });
        for _ in 0..150 {
            board.pop();
        }
        for seq in 15_000..20_107 {
            let record = board.get(board.find(seq));
            assert!(record.seq <= seq && seq < record.end(), "{seq}");
        }
        assert_eq!(board.find(0), 150);
        assert_eq!(board.find(30_000), board.next());
    }

    /// A lingering retransmission ends with its cumulative acknowledgement or a timeout (ns-3).
    #[test]
    fn a_selectively_acknowledged_retransmission_may_count_as_in_flight() {
        let mut board = Scoreboard { linger: true, ..board(10) };
        board.mark_lost(0);
        board.mark_lost(1);
        board.mark_retransmitted(0, Time::ZERO);
        board.mark_retransmitted(1, Time::ZERO);
        assert_eq!(board.in_flight(), 10);
        board.mark_sacked(1);
        board.mark_sacked(2);
        assert_eq!((board.in_flight(), board.retransmitted), (9, 1), "the second no, the first still");
        board.pop();
        board.pop();
        assert_eq!(board.in_flight(), 7);
        board.mark_lost(3);
        board.mark_retransmitted(3, Time::ZERO);
        board.mark_sacked(3);
        assert_eq!(board.in_flight(), 7);
        board.end_lingering();
        assert_eq!(board.in_flight(), 6);
    }

    #[test]
    fn counts_follow_the_marks() {
        let mut board = board(10);
        assert_eq!((board.in_flight(), board.bytes()), (10, (1000, 0)));
        assert!(board.mark_sacked(5).is_some() && board.mark_sacked(5).is_none());
        assert!(board.mark_lost(0) && !board.mark_lost(0));
        assert_eq!((board.in_flight(), board.bytes()), (8, (800, 100)));
        assert_eq!(board.next_to_retransmit(), Some(0));
        board.mark_retransmitted(0, Time::ZERO);
        assert_eq!((board.in_flight(), board.next_to_retransmit()), (9, None));
        assert_eq!(board.bytes(), (900, 100));
        assert!(board.mark_lost(0), "the retransmission was lost too");
        assert_eq!(board.in_flight(), 8);
        board.unmark_all_lost();
        assert_eq!(board.in_flight(), 9);
        board.pop();
        assert_eq!((board.out, board.sacked, board.lost, board.retransmitted), (9, 1, 0, 0));
    }
}
