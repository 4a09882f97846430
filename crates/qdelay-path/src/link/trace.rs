//! A link that sends when a recorded trace says it could (mahimahi, `src/frontend/link_queue.cc`: `rationalize`).
//!
//! Every opportunity carries up to 1504 bytes, or as many as [`TraceLink::with_slots`] is given. A packet counts its IP bytes and `overhead` (4 for the header of a TUN
//! device, so that a full packet of 1500 bytes fills one opportunity). What an opportunity has left over goes to the next
//! packet in the queue; what a packet lacks is carried by the next opportunity. A packet leaves with its last byte. An
//! opportunity that finds nothing queued is wasted, and one at the very time of an arrival comes first: it cannot
//! carry the arrival. Without `repeat` the link is silent after the last opportunity.
//!
//! Parameters: the schedule, `overhead` (4 bytes), `repeat` (on).
//!
//! Opportunities that nothing waits for make no events: when a packet arrives at an idle link, the next opportunity is
//! looked up, in time logarithmic in the length of the trace, and the ones in between count as offered.
//!
//! Differences from the reference:
//! * A packet may be larger than an opportunity; mahimahi stops at one.
//! * Without `repeat`, mahimahi ends the whole emulation after the last opportunity.
//! * mahimahi sleeps for whole milliseconds, so that a packet may leave up to one late; here it leaves on time.
//! * Time is in nanoseconds: an arrival within a millisecond has the later opportunities only, as one that mahimahi's
//!   clock rounded down to that millisecond.

use super::{LinkModel, Slotted};
use crate::light::{LightLoad, LightSpec};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};
use qdelay_trace::{OPPORTUNITY_BYTES, Schedule};

const NANOS_PER_MS: u64 = 1_000_000;

/// One round of a schedule, laid out for looking up times. Distinct milliseconds in order.
#[derive(Debug, PartialEq, Eq)]
struct Table {
    ms: Vec<u32>,
    /// Opportunities of the round up to and including that millisecond.
    through: Vec<u64>,
    period_ms: u64,
}

impl Table {
    fn new(schedule: &Schedule) -> Table {
        let (mut ms, mut through, mut total) = (Vec::new(), Vec::new(), 0);
        for item in schedule.cursor(false) {
            total += item.count;
            // A round fits 32 bits of milliseconds.
            ms.push(item.ms as u32);
            through.push(total);
        }
        Table { ms, through, period_ms: u64::from(schedule.period_ms()) }
    }
    /// The first entry later than `ms` within the round; the number of entries where there is none.
    fn after(&self, ms: u64) -> usize {
        self.ms.partition_point(|&entry| u64::from(entry) <= ms)
    }
    /// Opportunities in the first `entries`.
    fn through(&self, entries: usize) -> u64 {
        entries.checked_sub(1).and_then(|last| self.through.get(last)).copied().unwrap_or(0)
    }
}

/// A link driven by the opportunities of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLink {
    table: Arc<Table>,
    /// The recording of the light load, where the trace is that of the heavy load.
    light: Option<Arc<LightSpec>>,
    repeat: bool,
    slot_bytes: u16,
    overhead_bytes: u32,
    /// When the schedule begins, in nanoseconds since the run began; below 0 where the run begins in its middle.
    begin: i64,
    /// Opportunities of the schedule before the run began.
    before: u64,
    /// The next opportunity: the round's begin, the entry in it, and how many of that entry are left.
    base_ms: u64,
    entry: usize,
    left: u64,
}

impl TraceLink {
    /// Bytes that `mm-link` adds to each packet: the header of the TUN device.
    pub const OVERHEAD_BYTES: u32 = 4;

    /// An idle link whose schedule begins with the run.
    pub fn new(schedule: &Schedule, overhead_bytes: u32, repeat: bool) -> TraceLink {
        let table = Arc::new(Table::new(schedule));
        let left = table.through(1);
        let slot_bytes = OPPORTUNITY_BYTES as u16;
        TraceLink {
            table,
            light: None,
            repeat,
            slot_bytes,
            overhead_bytes,
            begin: 0,
            before: 0,
            base_ms: 0,
            entry: 0,
            left,
        }
    }
    /// The same link with opportunities of `slot_bytes`, which are not 0.
    #[must_use]
    pub fn with_slots(self, slot_bytes: u16) -> TraceLink {
        debug_assert!(slot_bytes > 0, "an opportunity carries something");
        TraceLink { slot_bytes, ..self }
    }
    /// The same link behind the replay of a light load.
    #[must_use]
    pub fn with_light(self, light: LightSpec) -> TraceLink {
        TraceLink { light: Some(Arc::new(light)), ..self }
    }
    /// The time of the next opportunity; [`Time::NEVER`] after the last.
    #[inline]
    pub fn next(&self) -> Time {
        match self.table.ms.get(self.entry) {
            Some(&ms) => {
                let nanos = self.base_ms.saturating_add(u64::from(ms)).saturating_mul(NANOS_PER_MS);
                Time::from_nanos(nanos.saturating_add_signed(self.begin))
            }
            None => Time::NEVER,
        }
    }
    /// Uses or wastes the next opportunity.
    #[inline]
    pub fn burn(&mut self) {
        if self.left > 1 {
            self.left -= 1;
            return;
        }
        self.entry += 1;
        if self.entry == self.table.ms.len() && self.repeat {
            self.base_ms = self.base_ms.saturating_add(self.table.period_ms);
            self.entry = 0;
        }
        self.left = self.count();
    }
    /// Opportunities to `now`, the ones at `now` included: from the beginning of the schedule, or of the run if that is later.
    pub fn count_to(&self, now: Time) -> u64 {
        // A table has an entry later than 0, so that there are fewer opportunities before time 0 than this.
        self.in_schedule(now).map_or(0, |nanos| self.count_in(nanos) - self.before)
    }
    /// Nanoseconds from the beginning of the schedule to `now`; `None` before it.
    fn in_schedule(&self, now: Time) -> Option<u64> {
        match u64::try_from(self.begin) {
            Ok(begin) => now.as_nanos().checked_sub(begin),
            Err(_) => Some(now.as_nanos().saturating_add(self.begin.unsigned_abs())),
        }
    }
    /// Opportunities in the first `nanos` of the schedule, the ones at its end included.
    fn count_in(&self, nanos: u64) -> u64 {
        let ms = nanos / NANOS_PER_MS;
        let round = self.round(ms);
        let whole = round.saturating_mul(self.table.through(self.table.ms.len()));
        whole.saturating_add(self.table.through(self.table.after(ms - round * self.table.period_ms)))
    }
    fn round(&self, ms: u64) -> u64 {
        if self.repeat { ms / self.table.period_ms } else { 0 }
    }
    /// The next opportunity is the first one later than `ms` of the schedule.
    fn seek(&mut self, ms: u64) {
        self.base_ms = self.round(ms) * self.table.period_ms;
        self.entry = self.table.after(ms - self.base_ms);
        if self.entry == self.table.ms.len() && self.repeat {
            self.base_ms += self.table.period_ms;
            self.entry = 0;
        }
        self.left = self.count();
    }
    /// Opportunities of the current entry.
    fn count(&self) -> u64 {
        self.table.through.get(self.entry).map_or(0, |through| through - self.table.through(self.entry))
    }
}

impl Slotted for TraceLink {
    /// Wastes all opportunities up to `now`.
    fn wake(&mut self, now: Time) -> Time {
        if self.next() > now {
            return self.next();
        }
        self.seek(self.in_schedule(now).unwrap_or(0) / NANOS_PER_MS);
        self.next()
    }
    #[inline]
    fn slot_bytes(&self) -> u64 {
        u64::from(self.slot_bytes)
    }
    /// The unused bytes are wasted, because the queue is empty.
    #[inline]
    fn sent(&mut self, _: Time, sent: u64, _: u64) -> Time {
        self.burn();
        if sent < u64::from(self.slot_bytes) { Time::NEVER } else { self.next() }
    }
    /// A trace is the capacity of the link, used or not.
    fn tells_while_leaving(&self) -> bool {
        true
    }
}

impl LinkModel for TraceLink {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    fn offered_bytes(&self, now: Time) -> u64 {
        self.count_to(now).saturating_mul(u64::from(self.slot_bytes))
    }
    fn opportunities(&self) -> Option<&TraceLink> {
        Some(self)
    }
    fn light(&self) -> Option<LightLoad> {
        Some(LightLoad {
            spec: self.light.clone()?,
            slot_bytes: u32::from(self.slot_bytes),
            overhead_bytes: self.overhead_bytes,
            place: Span::from_nanos(self.begin.min(0).unsigned_abs()),
        })
    }
    fn begin_at(&mut self, begin: Time) {
        self.begin = i64::try_from(begin.as_nanos()).unwrap_or(i64::MAX);
        (self.before, self.base_ms, self.entry) = (0, 0, 0);
        self.left = self.count();
    }
    fn start_from(&mut self, place: Span) {
        let place = place.as_millis();
        self.begin_at(Time::ZERO);
        if place > 0 {
            // A place is within a schedule, which has less than 2^32 ms.
            self.begin = -i64::try_from(place.saturating_mul(NANOS_PER_MS)).unwrap_or(i64::MAX);
            self.before = self.count_in((place - 1) * NANOS_PER_MS);
            self.seek(place - 1);
        }
    }
    fn length(&self) -> Option<Span> {
        Some(Span::from_millis(self.table.period_ms))
    }
    /// An opportunity cannot carry packets that arrive at the same time.
    fn runs_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_trace::ScheduleBuilder;

    fn link(items: &[(u32, u64)], repeat: bool) -> TraceLink {
        let mut builder = ScheduleBuilder::default();
        for &(ms, count) in items {
            builder.push(ms, count).unwrap();
        }
        TraceLink::new(&builder.finish().unwrap(), 4, repeat)
    }
    fn ms(n: u64) -> Time {
        Time::from_nanos(n * NANOS_PER_MS)
    }

    #[test]
    fn burning_one_by_one() {
        let mut link = link(&[(0, 1), (3, 2), (5, 1)], true);
        let mut times = Vec::new();
        for _ in 0..9 {
            times.push(link.next().as_nanos() / NANOS_PER_MS);
            link.burn();
        }
        assert_eq!(times, [0, 3, 3, 5, 5, 8, 8, 10, 10]);
    }

    #[test]
    fn a_run_may_begin_anywhere_in_the_schedule() {
        for (repeat, place) in
            [true, false].into_iter().flat_map(|repeat| (0..=9).map(move |ms| (repeat, ms)))
        {
            let mut burnt = link(&[(0, 2), (3, 2), (4, 1), (9, 3)], repeat);
            let mut from = burnt.clone();
            from.start_from(Span::from_millis(place));
            let fresh = from.clone();
            while burnt.next() < ms(place) {
                burnt.burn();
            }
            for count in 1..30 {
                let later = burnt.next();
                let expected = if later == Time::NEVER { later } else { later - Span::from_millis(place) };
                assert_eq!(from.next(), expected, "from {place}, repeat {repeat}");
                if later == Time::NEVER {
                    break;
                }
                from.burn();
                burnt.burn();
                if burnt.next() > later {
                    assert_eq!(fresh.count_to(expected), count, "from {place} to {expected}");
                    assert_eq!(fresh.clone().wake(expected), from.next(), "from {place} at {expected}");
                }
            }
        }
    }

    #[test]
    fn skipping_lands_where_burning_does() {
        for repeat in [true, false] {
            let fresh = link(&[(0, 2), (3, 2), (4, 1), (9, 3)], repeat);
            for nanos in (0..40 * NANOS_PER_MS).step_by(250_000) {
                let now = Time::from_nanos(nanos);
                let (mut skipped, mut burnt, mut count) = (fresh.clone(), fresh.clone(), 0);
                while burnt.next() <= now {
                    burnt.burn();
                    count += 1;
                }
                assert_eq!(skipped.wake(now), burnt.next(), "at {now}");
                assert_eq!(skipped.count_to(now), count, "at {now}");
                for _ in 0..7 {
                    assert_eq!(skipped.next(), burnt.next());
                    if skipped.next() < Time::NEVER {
                        skipped.burn();
                        burnt.burn();
                    }
                }
            }
        }
    }

    #[test]
    fn once_is_silent_at_the_end() {
        let mut link = link(&[(1, 1), (2, 1)], false);
        link.burn();
        link.burn();
        assert_eq!(link.next(), Time::NEVER);
        assert_eq!(link.wake(ms(50)), Time::NEVER);
        assert_eq!(link.offered_bytes(ms(1_000_000)), 2 * 1504);
    }

    #[test]
    fn far_away() {
        let mut link = link(&[(7, 1)], true);
        assert!(link.wake(Time::from_nanos(u64::MAX - 1)) == Time::NEVER);
        assert_eq!(link.wake(ms(7_000_000)), Time::NEVER, "never back");
    }
}
