//! Delivery opportunities at whole milliseconds: the contents of a mahimahi trace.
//!
//! Source: mahimahi's `LinkQueue` (Netravali et al., USENIX ATC 2015; the model of the file is that of
//! Winstein et al., NSDI 2013, section 4.2). Each opportunity may deliver up to [`OPPORTUNITY_BYTES`]. A
//! schedule that repeats starts over at the time of its last opportunity: opportunity `i` of round `r` falls
//! at `r * period + t_i`. Opportunities at time 0 therefore fall in the same millisecond as the last of the
//! round before.
//!
//! Storage: 4 bytes for each distinct millisecond: the gap since the one before and the number of its
//! opportunities, 16 bits each. Longer gaps and larger counts take several entries, in one normal form, so
//! that equal schedules compare equal.
//!
//! Differences from the reference: none in the times; a schedule holds at most 2^32 ms (49.7 days).

use crate::error::{Problem, TraceError};
use crate::window::check_window;
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Largest number of bytes of one opportunity: an Ethernet payload of 1500 bytes and 4 bytes of TUN header,
/// as in mahimahi.
pub const OPPORTUNITY_BYTES: u64 = 1504;

/// Default limit on the opportunities of a schedule (at most 4 bytes of memory each).
pub const OPPORTUNITIES_MAX: u64 = 100_000_000;

/// Largest gap or count of one entry.
const ENTRY_MAX: u64 = 0xffff;

/// A gap in ms (high half) and the number of opportunities after it (low half).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u32);

impl Entry {
    fn new(gap_ms: u64, count: u64) -> Entry {
        debug_assert!(gap_ms <= ENTRY_MAX && count <= ENTRY_MAX);
        Entry((gap_ms as u32) << 16 | count as u32)
    }
    const fn gap_ms(self) -> u64 {
        (self.0 >> 16) as u64
    }
    const fn count(self) -> u64 {
        (self.0 & 0xffff) as u64
    }
}

/// The delivery opportunities of a trace: at least one, and the last one is later than 0. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    entries: Arc<Vec<Entry>>,
    opportunities: u64,
    period_ms: u32,
}

/// Opportunities that fall in the same millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// Milliseconds since the schedule's start, earlier rounds included.
    pub ms: u64,
    /// Number of opportunities; at least 1.
    pub count: u64,
}

impl Opportunities {
    /// Time of the opportunities, if the schedule starts at the beginning of the run.
    pub const fn time(self) -> Time {
        Time::from_nanos(self.ms.saturating_mul(1_000_000))
    }
    /// Sum of the bytes of these opportunities.
    pub const fn bytes(self) -> u64 {
        self.count.saturating_mul(OPPORTUNITY_BYTES)
    }
}

impl Schedule {
    /// Number of opportunities in one round.
    pub const fn opportunities(&self) -> u64 {
        self.opportunities
    }
    /// Duration of one round, at least 1: the time of the last opportunity in ms, or the length of a
    /// [window](Schedule::window).
    pub const fn period_ms(&self) -> u32 {
        self.period_ms
    }
    /// Duration of one round, as [`Schedule::period_ms`].
    pub const fn period(&self) -> Span {
        Span::from_millis(self.period_ms as u64)
    }
    /// Sum of the bytes of all opportunities in one round.
    pub const fn bytes(&self) -> u64 {
        self.opportunities.saturating_mul(OPPORTUNITY_BYTES)
    }
    /// Mean rate over one round, in Mbit/s.
    pub fn mean_mbps(&self) -> f64 {
        self.opportunities as f64 * (OPPORTUNITY_BYTES * 8) as f64 / (f64::from(self.period_ms) * 1e3)
    }
    /// An iterator over the opportunities from the first on; endless if `repeat`, otherwise over one round.
    pub fn cursor(&self, repeat: bool) -> Cursor {
        Cursor { schedule: self.clone(), repeat, next: 0, base_ms: 0, at_ms: 0 }
    }
    /// The opportunities after `start` for `length`, both whole milliseconds, as a separate schedule that
    /// starts over after `length`. An opportunity at the end of a window belongs to it, as the last one of a
    /// schedule is at its end; those at time 0 belong to a window that starts there.
    ///
    /// # Errors
    /// An empty window, one that does not begin and end within the schedule or at whole milliseconds, or one
    /// without any opportunity.
    pub fn window(&self, start: Span, length: Span) -> Result<Schedule, TraceError> {
        check_window(start, length, self.period())?;
        let whole = |span: Span| span.as_nanos().is_multiple_of(1_000_000);
        if !whole(start) || !whole(length) {
            let found = alloc::format!("{start} for {length}");
            return Err(TraceError::unexpected(0, "a window of whole milliseconds", found.as_bytes()));
        }
        let (from, to) = (start.as_millis(), (start + length).as_millis());
        let is_before = |ms: u64| from > 0 && ms <= from;
        let within =
            self.cursor(false).skip_while(|item| is_before(item.ms)).take_while(|item| item.ms <= to);
        // Times in the window are below the period, which fits 32 bits.
        self.made_of(within.map(|item| ((item.ms - from) as u32, item.count)), length.as_millis() as u32)
    }
    /// The same schedule with `scale` times as many opportunities: the first `n` opportunities give the first
    /// `n * scale` of the result, rounded down.
    ///
    /// # Errors
    /// No opportunity is left, or there are more than [`OPPORTUNITIES_MAX`].
    pub fn scaled(&self, scale: f64) -> Result<Schedule, TraceError> {
        let (mut before, mut made) = (0_u64, 0_u64);
        let items = self.cursor(false).map(|item| {
            before += item.count;
            let until = (before as f64 * scale) as u64;
            let count = until - made;
            made = until;
            (item.ms as u32, count)
        });
        self.made_of(items, self.period_ms)
    }
    fn made_of(
        &self,
        items: impl Iterator<Item = (u32, u64)>,
        period_ms: u32,
    ) -> Result<Schedule, TraceError> {
        let mut builder = ScheduleBuilder::default();
        for (ms, count) in items {
            builder.push(ms, count).map_err(|problem| TraceError::in_line(0, problem))?;
        }
        builder.finish_after(period_ms)
    }
    /// Memory of the schedule in bytes, without the few bytes of the handle.
    pub fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

/// Iterates over a schedule without allocation. Times never decrease; within a round each millisecond comes
/// once, and the first item of a round can have the time of the last item before.
#[derive(Clone, Debug)]
pub struct Cursor {
    schedule: Schedule,
    repeat: bool,
    next: usize,
    base_ms: u64,
    /// Time of the entry before `next` within its round.
    at_ms: u64,
}

impl Cursor {
    /// Beginning of the round of the next item, in ms: a whole number of periods.
    pub const fn base_ms(&self) -> u64 {
        self.base_ms
    }
    /// The schedule of this iterator.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl Iterator for Cursor {
    type Item = Opportunities;

    fn next(&mut self) -> Option<Opportunities> {
        let entries = self.schedule.entries.as_slice();
        if self.next == entries.len() {
            if !self.repeat {
                return None;
            }
            self.base_ms = self.base_ms.saturating_add(u64::from(self.schedule.period_ms));
            (self.next, self.at_ms) = (0, 0);
        }
        let mut count = 0;
        // Entries without opportunities only carry a long gap; those without a gap add to the same millisecond.
        while let Some(entry) = entries.get(self.next)
            && (count == 0 || entry.gap_ms() == 0)
        {
            self.at_ms += entry.gap_ms();
            count += entry.count();
            self.next += 1;
        }
        Some(Opportunities { ms: self.base_ms.saturating_add(self.at_ms), count })
    }
}

/// Makes a [`Schedule`] from opportunities in order.
#[derive(Clone, Debug)]
pub struct ScheduleBuilder {
    entries: Vec<Entry>,
    opportunities: u64,
    limit: u64,
    last_ms: u64,
}

impl Default for ScheduleBuilder {
    fn default() -> Self {
        ScheduleBuilder::with_limit(OPPORTUNITIES_MAX)
    }
}

impl ScheduleBuilder {
    /// An empty builder that accepts at most `limit` opportunities.
    pub const fn with_limit(limit: u64) -> ScheduleBuilder {
        ScheduleBuilder { entries: Vec::new(), opportunities: 0, limit, last_ms: 0 }
    }
    /// The time of the last opportunity so far in ms; 0 before the first.
    pub const fn last_ms(&self) -> u32 {
        self.last_ms as u32
    }
    /// Number of opportunities so far.
    pub const fn opportunities(&self) -> u64 {
        self.opportunities
    }

    /// Adds `count` opportunities at `ms`, which may not be before the last one.
    ///
    /// # Errors
    /// [`Problem::Decreasing`], or [`Problem::TooMany`] opportunities.
    pub fn push(&mut self, ms: u32, count: u64) -> Result<(), Problem> {
        let ms = u64::from(ms);
        if ms < self.last_ms {
            return Err(decreasing(self.last_ms, ms));
        }
        if count > self.limit - self.opportunities {
            return Err(Problem::TooMany { what: "opportunities", limit: self.limit });
        }
        if count > 0 {
            self.extend(ms - self.last_ms, count);
            self.opportunities += count;
            self.last_ms = ms;
        }
        Ok(())
    }

    /// Appends a gap and a count in the normal form: full gaps first, then full counts.
    fn extend(&mut self, mut gap_ms: u64, mut count: u64) {
        while gap_ms > ENTRY_MAX {
            self.entries.push(Entry::new(ENTRY_MAX, 0));
            gap_ms -= ENTRY_MAX;
        }
        if gap_ms == 0
            && let Some(last) = self.entries.last_mut()
        {
            let added = count.min(ENTRY_MAX - last.count());
            *last = Entry::new(last.gap_ms(), last.count() + added);
            count -= added;
        }
        while count > 0 {
            let here = count.min(ENTRY_MAX);
            self.entries.push(Entry::new(gap_ms, here));
            gap_ms = 0;
            count -= here;
        }
    }

    /// Builds the schedule.
    ///
    /// # Errors
    /// [`Problem::Empty`], or [`Problem::NoDuration`] where every opportunity is at time 0.
    pub fn finish(self) -> Result<Schedule, TraceError> {
        let period_ms = self.last_ms();
        self.finish_after(period_ms)
    }

    /// Builds a schedule whose round lasts `period_ms`, not less than the time of the last opportunity.
    fn finish_after(self, period_ms: u32) -> Result<Schedule, TraceError> {
        if self.entries.is_empty() {
            return Err(TraceError::in_line(0, Problem::Empty));
        }
        if period_ms == 0 {
            return Err(TraceError::in_line(0, Problem::NoDuration));
        }
        let mut entries = self.entries;
        entries.shrink_to_fit();
        let opportunities = self.opportunities;
        Ok(Schedule { entries: Arc::new(entries), opportunities, period_ms })
    }
}

#[cold]
fn decreasing(before: u64, found: u64) -> Problem {
    use alloc::string::ToString;
    Problem::Decreasing { before: before.to_string(), found: found.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn build(items: &[(u32, u64)]) -> Schedule {
        let mut builder = ScheduleBuilder::default();
        for &(ms, count) in items {
            builder.push(ms, count).unwrap();
        }
        builder.finish().unwrap()
    }
    fn first_items(schedule: &Schedule, repeat: bool, n: usize) -> Vec<(u64, u64)> {
        schedule.cursor(repeat).take(n).map(|o| (o.ms, o.count)).collect()
    }

    #[test]
    fn a_cursor_ends_or_starts_over_at_the_last_time() {
        let schedule = build(&[(0, 1), (3, 2), (5, 1)]);
        assert_eq!(first_items(&schedule, false, 9), vec![(0, 1), (3, 2), (5, 1)]);
        assert_eq!(first_items(&schedule, true, 6), vec![(0, 1), (3, 2), (5, 1), (5, 1), (8, 2), (10, 1)]);
        assert_eq!((schedule.opportunities(), schedule.period_ms(), schedule.bytes()), (4, 5, 6016));
        let mut once = schedule.cursor(false);
        assert_eq!(once.by_ref().count(), 3);
        assert_eq!(once.next(), None);
    }

    #[test]
    fn first_later_than_zero_delays_every_round() {
        assert_eq!(
            first_items(&build(&[(2, 1), (4, 1)]), true, 5),
            vec![(2, 1), (4, 1), (6, 1), (8, 1), (10, 1)]
        );
    }

    #[test]
    fn long_gaps_and_large_counts_take_several_entries() {
        for gap in [65_534, 65_535, 65_536, 131_070, 131_071, 1_000_000, u32::MAX] {
            for count in [1, 65_535, 65_536, 200_000] {
                let schedule = build(&[(gap, count)]);
                let gap = u64::from(gap);
                assert_eq!(first_items(&schedule, true, 2), vec![(gap, count), (2 * gap, count)]);
            }
        }
    }

    #[test]
    fn equal_schedules_compare_equal() {
        let mut singly = ScheduleBuilder::default();
        for ms in [0, 0, 70_000] {
            for _ in 0..70_000 {
                singly.push(ms, 1).unwrap();
            }
        }
        assert_eq!(
            singly.finish().unwrap(),
            build(&[(0, 100_000), (0, 40_000), (70_000, 70_000), (70_000, 0)])
        );
    }

    #[test]
    fn windows_and_scaled_schedules_match() {
        let schedule = build(&[(0, 1), (3, 2), (5, 1), (9, 4)]);
        let span = Span::from_millis;
        let window = schedule.window(span(2), span(4)).unwrap();
        assert_eq!(first_items(&window, true, 5), vec![(1, 2), (3, 1), (5, 2), (7, 1), (9, 2)]);
        assert_eq!((window.period_ms(), window.opportunities()), (4, 3));
        assert_eq!(first_items(&schedule.window(span(0), span(3)).unwrap(), false, 5), vec![(0, 1), (3, 2)]);
        assert_eq!(first_items(&schedule.window(span(3), span(6)).unwrap(), false, 5), vec![(2, 1), (6, 4)]);
        assert_eq!(schedule.window(span(0), span(9)).unwrap(), schedule);
        for (start, length) in [(0, 0), (3, 7), (10, 1), (6, 2)] {
            assert!(schedule.window(span(start), span(length)).is_err(), "{start} for {length}");
        }
        assert!(schedule.window(Span::from_micros(500), span(4)).is_err());
        assert_eq!(
            first_items(&schedule.scaled(0.5).unwrap(), true, 4),
            vec![(3, 1), (5, 1), (9, 2), (12, 1)]
        );
        assert_eq!(
            first_items(&schedule.scaled(1.5).unwrap(), false, 9),
            vec![(0, 1), (3, 3), (5, 2), (9, 6)]
        );
        assert_eq!(schedule.scaled(1.0).unwrap(), schedule);
        assert!(schedule.scaled(0.01).is_err());
    }

    #[test]
    fn empty_schedules_are_refused() {
        let mut builder = ScheduleBuilder::with_limit(3);
        builder.push(5, 2).unwrap();
        assert!(matches!(builder.push(4, 1), Err(Problem::Decreasing { .. })));
        assert_eq!(builder.push(5, 2), Err(Problem::TooMany { what: "opportunities", limit: 3 }));
        assert_eq!(ScheduleBuilder::default().finish().unwrap_err().problem, Problem::Empty);
        let mut zero = ScheduleBuilder::default();
        zero.push(0, 7).unwrap();
        assert_eq!(zero.finish().unwrap_err().problem, Problem::NoDuration);
    }

    #[test]
    fn a_millisecond_takes_four_bytes() {
        let schedule = build(&(1..=1000).map(|ms| (ms, 60)).collect::<Vec<_>>());
        assert_eq!(schedule.memory_bytes(), 4000);
    }
}
