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
    /// Its delivery has been counted.
    pub const DELIVERED: u8 = 32;
    /// Its retransmission was selectively acknowledged, and counts as in flight nevertheless.
    pub const LINGERING: u8 = 64;
    /// The last segment of a burst.
    pub const ENDS_BURST: u8 = 128;
}

/// One sent segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// First sequence number.
    pub seq: u64,
    /// When it was last sent.
    pub sent: Time,
    /// Send time of the segment most recently delivered when this one was sent.
    pub first_sent: Time,
    /// When that segment was delivered.
    pub delivered_time: Time,
    /// Segments delivered when this one was sent.
    pub delivered: u64,
    /// Sequence numbers it covers.
    pub len: u32,
    /// Bits of [`state`].
    pub state: u8,
}

impl Record {
    /// One past its last sequence number.
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
    /// Whether any of `bits` is set.
    pub const fn is(&self, bits: u8) -> bool {
        self.state & bits != 0
    }
}

/// The ring of records, and the counts.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: Vec<Record>,
    first: u64,
    next: u64,
    /// Segments sent and not cumulatively acknowledged.
    pub out: u32,
    /// Of those, selectively acknowledged.
    pub sacked: u32,
    /// Of those, marked lost.
    pub lost: u32,
    /// Retransmissions in flight.
    pub retransmitted: u32,
    /// Retransmissions that count as in flight although they were selectively acknowledged; only with `linger`.
    lingering: u32,
    /// Whether such retransmissions exist (ns-3's `TcpTxBuffer::Update`, its issue 1190).
    linger: bool,
    /// No segment below this number is lost and waiting to be retransmitted.
    retransmit_hint: u64,
    /// One past the highest sequence number that was selectively acknowledged.
    pub highest_sacked: u64,
    /// Bursts sent and not wholly acknowledged.
    bursts: u32,
    /// Whether the controller is told of losses, and when the segments were sent that it was not told of yet.
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
    /// An empty board; `linger`: retransmissions stay in the flight when they are selectively acknowledged.
    pub fn new(linger: bool) -> Scoreboard {
        Scoreboard { linger, ..Scoreboard::default() }
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

    /// Bytes of the segments in flight, and bytes that were selectively acknowledged: a pass over all records, for samples.
    pub fn bytes(&self) -> (u64, u64) {
        let mut bytes = (0, 0);
        for number in self.first..self.next {
            let record = self.get(number);
            let has = |bit: u8| u64::from(record.is(bit));
            // As the counts of segments are added up.
            let copies = 1 + has(state::RETRANSMITTED) + has(state::LINGERING);
            let len = u64::from(record.len);
            bytes.0 += len * copies.saturating_sub(has(state::SACKED) + has(state::LOST));
            bytes.1 += len * has(state::SACKED);
        }
        bytes
    }

    /// The record of `number`, which is in `first..next`.
    #[inline]
    pub fn get(&self, number: u64) -> &Record {
        let mask = self.ring.len() - 1;
        &self.ring[number as usize & mask]
    }
    /// As [`Scoreboard::get`], to change it.
    #[inline]
    pub fn get_mut(&mut self, number: u64) -> &mut Record {
        let mask = self.ring.len() - 1;
        &mut self.ring[number as usize & mask]
    }
    /// The oldest record.
    pub fn head(&self) -> Option<&Record> {
        (!self.is_empty()).then(|| self.get(self.first))
    }

    /// Adds a segment that was just sent for the first time.
    pub fn push(&mut self, record: Record) {
        if (self.next - self.first) as usize == self.ring.len() {
            self.grow();
        }
        let number = self.next;
        self.next += 1;
        self.out += 1;
        *self.get_mut(number) = record;
    }

    /// The last segment ends a burst.
    pub fn end_burst(&mut self) {
        let number = self.next - 1;
        self.get_mut(number).state |= state::ENDS_BURST;
        self.bursts += 1;
    }
    /// Bursts sent and not wholly acknowledged.
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

    /// Removes lingering retransmissions from the flight (ns-3's `SetSentListLost`).
    pub fn end_lingering(&mut self) {
        if self.lingering > 0 {
            for number in self.first..self.next {
                self.get_mut(number).state &= !state::LINGERING;
            }
            self.lingering = 0;
        }
    }

    /// Cuts `acked` bytes off the front of the oldest record (an acknowledgement inside a segment).
    pub fn trim_head(&mut self, una: u64) {
        let first = self.first;
        let record = self.get_mut(first);
        record.len = (record.end() - una) as u32;
        record.seq = una;
    }

    /// Number of the first record that ends after `seq`, or `next`.
    pub fn find(&self, seq: u64) -> u64 {
        let (mut low, mut high) = (self.first, self.next);
        if low == high || seq < self.get(low).end() {
            return low;
        }
        // Nearly all segments have the same size: the estimate is tried first.
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

    /// Marks `number` selectively acknowledged and returns the record as it was, or `None` if it already was.
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
        Some(before)
    }

    /// Marks `number` lost; its retransmission in flight, if any, is lost with it. Returns whether this is new.
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
        if is_new && self.notes_losses {
            self.noted_losses.push(before.sent);
        }
        is_new
    }

    /// Takes every loss mark back (a timeout or recovery that was spurious).
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

    /// `number` is retransmitted as a probe, although it is not marked lost.
    pub fn mark_probed(&mut self, number: u64, now: Time) {
        let record = self.get_mut(number);
        record.state |= state::EVER_RETRANSMITTED;
        record.sent = now;
    }

    /// `number` is retransmitted.
    pub fn mark_retransmitted(&mut self, number: u64, now: Time) {
        let record = self.get_mut(number);
        let again = record.is(state::RETRANSMITTED);
        record.state |= state::RETRANSMITTED | state::EVER_RETRANSMITTED;
        record.sent = now;
        self.retransmitted += u32::from(!again);
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

    /// As in ns-3: until it is cumulatively acknowledged, or a timeout.
    #[test]
    fn a_retransmission_may_linger() {
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
