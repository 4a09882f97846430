//! Conversion of a rate that changes in steps to delivery opportunities, and back.
//!
//! **Rates to opportunities.** Credit grows with the rate. An opportunity falls at the first whole
//! millisecond at which the credit has reached its 1504 bytes, and the rest of the credit is kept, so that at
//! every time the number of opportunities matches the integral of the rate, without drift. All arithmetic is
//! on integers (bits per second times nanoseconds). One round has the whole number of opportunities nearest
//! to the integral of the rate over it, at least one.
//!
//! A schedule repeats at its last opportunity, so the last one is moved to the end of the period where it
//! would fall earlier: that keeps the length of the round, and with it the mean rate, at the cost of a delay
//! for one opportunity.
//!
//! **Opportunities to rates.** Each bin of a given width gets the mean rate of its opportunities, where a bin
//! includes its end and not its beginning (time 0 belongs to the first): an opportunity carries the bytes of
//! the time before it. Rates are whole bits per second; the remainder of rounding is added to the next bin.
//!
//! Limits: a period is rounded up to whole milliseconds.

use crate::error::{Problem, TraceError};
use crate::rates::{RateStep, RateSteps};
use crate::schedule::{OPPORTUNITIES_MAX, OPPORTUNITY_BYTES, Schedule, ScheduleBuilder};
use alloc::vec::Vec;
use qdelay_core::{Rate, Span, Time};

const NANOS_PER_MS: u64 = 1_000_000;
/// Credit of an opportunity, in bits per second times nanoseconds.
const COST: u128 = OPPORTUNITY_BYTES as u128 * 8 * 1_000_000_000;

/// The opportunities of a rate, up to [`OPPORTUNITIES_MAX`] of them.
///
/// # Errors
/// A rate that is zero throughout, or more opportunities than the limit.
pub fn to_schedule(rates: &RateSteps) -> Result<Schedule, TraceError> {
    to_schedule_limited(rates, OPPORTUNITIES_MAX)
}

/// The opportunities of a rate, as [`to_schedule`], up to `limit` of them.
///
/// # Errors
/// Errors of [`to_schedule`].
pub fn to_schedule_limited(rates: &RateSteps, limit: u64) -> Result<Schedule, TraceError> {
    let total = rates.nanobits();
    if total == 0 {
        return Err(TraceError::in_line(0, Problem::NoCapacity));
    }
    let wanted = u64::try_from((total + COST / 2) / COST).unwrap_or(u64::MAX).max(1);
    let mut earned =
        Earned { builder: ScheduleBuilder::with_limit(limit), now: 0, credit: 0, left: wanted - 1 };
    for (step, span) in rates.spans() {
        earned.advance(step.rate, step.start.since(Time::ZERO).as_nanos() + span.as_nanos())?;
    }
    // The remaining opportunities: those of the last, unfinished millisecond, and the one that ends the
    // round.
    let end_ms = rates.period().as_nanos().div_ceil(NANOS_PER_MS);
    let rest = earned.left + 1;
    earned.push(end_ms, rest)?;
    earned.builder.finish()
}

/// Credit of a rate up to a time.
struct Earned {
    builder: ScheduleBuilder,
    /// Time in nanoseconds.
    now: u64,
    /// Unused credit, in bits per second times nanoseconds.
    credit: u128,
    /// Number of opportunities before the last one that are still to come.
    left: u64,
}

impl Earned {
    /// Advances to `end` (ns) at one rate.
    fn advance(&mut self, rate: Rate, end: u64) -> Result<(), TraceError> {
        let bps = u128::from(rate.as_bps());
        while self.left > 0 {
            let missing = COST.saturating_sub(self.credit);
            if missing > 0 && bps == 0 {
                break;
            }
            let wait = if missing == 0 { 0 } else { missing.div_ceil(bps) };
            let paid = u128::from(self.now) + wait;
            let tick = paid.div_ceil(u128::from(NANOS_PER_MS)) * u128::from(NANOS_PER_MS);
            if tick > u128::from(end) {
                break;
            }
            let tick = tick as u64;
            self.credit += bps * u128::from(tick - self.now);
            self.now = tick;
            let count = u64::try_from(self.credit / COST).unwrap_or(u64::MAX).min(self.left);
            self.credit -= u128::from(count) * COST;
            self.left -= count;
            self.push(tick / NANOS_PER_MS, count)?;
        }
        self.credit += bps * u128::from(end - self.now);
        self.now = end;
        Ok(())
    }

    fn push(&mut self, ms: u64, count: u64) -> Result<(), TraceError> {
        // The value fits: the period is at most 2^32 - 1 ms.
        let ms = u32::try_from(ms).unwrap_or(u32::MAX);
        self.builder.push(ms, count).map_err(|problem| TraceError::in_line(0, problem))
    }
}

/// The mean rate of each bin of width `bin`, which is rounded up to whole milliseconds and is at least one.
///
/// # Errors
/// More than [`crate::rates::STEPS_MAX`] bins, or a bin above [`crate::rates::RATE_MAX`].
pub fn to_rates(schedule: &Schedule, bin: Span) -> Result<RateSteps, TraceError> {
    let bin_ms = bin.as_nanos().div_ceil(NANOS_PER_MS).max(1);
    let period_ms = u64::from(schedule.period_ms());
    let limit = crate::rates::STEPS_MAX;
    if period_ms.div_ceil(bin_ms) > limit {
        return Err(TraceError::in_line(0, Problem::TooMany { what: "bins", limit }));
    }
    let mut steps: Vec<RateStep> = Vec::new();
    // Bits times 1000 / ms is bits per second.
    let mut carry = 0;
    for_each_bin(schedule, bin_ms, |index, width_ms, count| {
        let bits = u128::from(count) * u128::from(OPPORTUNITY_BYTES) * 8 * 1000 + carry;
        let bps = bits / u128::from(width_ms);
        carry = bits % u128::from(width_ms);
        let rate = Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX));
        steps.push(RateStep { start: Time::from_nanos(index * bin_ms * NANOS_PER_MS), rate });
    });
    RateSteps::new(steps, schedule.period())
}

/// Calls `take(index, width in ms, opportunities)` for each bin of one round; the last can be narrower.
fn for_each_bin(schedule: &Schedule, bin_ms: u64, mut take: impl FnMut(u64, u64, u64)) {
    let period_ms = u64::from(schedule.period_ms());
    let (mut index, mut count) = (0, 0);
    for item in schedule.cursor(false) {
        while item.ms > (index + 1) * bin_ms {
            take(index, bin_ms, count);
            (index, count) = (index + 1, 0);
        }
        count += item.count;
    }
    take(index, period_ms - index * bin_ms, count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn rates(list: &[(u64, u64)], period_ms: u64) -> RateSteps {
        let step = |&(ms, bps): &(u64, u64)| RateStep {
            start: Time::from_nanos(ms * NANOS_PER_MS),
            rate: Rate::from_bps(bps),
        };
        RateSteps::new(list.iter().map(step).collect(), Span::from_millis(period_ms)).unwrap()
    }
    fn items(schedule: &Schedule) -> Vec<(u64, u64)> {
        schedule.cursor(false).map(|o| (o.ms, o.count)).collect()
    }

    #[test]
    fn a_constant_rate_is_evenly_spread() {
        // 12.032 Mbit/s is one opportunity a millisecond.
        let even = to_schedule(&rates(&[(0, 12_032_000)], 5)).unwrap();
        assert_eq!(items(&even), vec![(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
        let carried = to_schedule(&rates(&[(0, 18_048_000)], 4)).unwrap();
        assert_eq!(items(&carried), vec![(1, 1), (2, 2), (3, 1), (4, 2)]);
    }

    #[test]
    fn an_outage_has_no_opportunities_and_the_round_keeps_its_length() {
        let schedule = to_schedule(&rates(&[(0, 12_032_000), (3, 0), (7, 12_032_000), (8, 0)], 20)).unwrap();
        assert_eq!(items(&schedule), vec![(1, 1), (2, 1), (3, 1), (20, 1)]);
        let tiny = to_schedule(&rates(&[(0, 1)], 20)).unwrap();
        assert_eq!(items(&tiny), vec![(20, 1)]);
    }

    #[test]
    fn rates_without_opportunities_are_refused() {
        let problem = |result: Result<Schedule, TraceError>| result.unwrap_err().problem;
        assert_eq!(problem(to_schedule(&rates(&[(0, 0)], 20))), Problem::NoCapacity);
        let fast = rates(&[(0, 1_000_000_000_000)], u64::from(u32::MAX));
        assert!(matches!(problem(to_schedule(&fast)), Problem::TooMany { limit: OPPORTUNITIES_MAX, .. }));
        let long = to_schedule(&rates(&[(0, 1_000_000)], 20_000_000)).unwrap();
        let bins = to_rates(&long, Span::from_millis(1)).unwrap_err().problem;
        assert!(matches!(bins, Problem::TooMany { what: "bins", .. }));
    }

    proptest! {
        /// The number of opportunities is the nearest to the integral of the rate, the period is kept, and,
        /// except for the last one of a round, no opportunity comes before its credit or more than a
        /// millisecond later.
        #[test]
        fn opportunities_follow_the_integral_of_the_rate(
            list in prop::collection::vec((1_u64..50_000_000, 0_u64..200_000_000), 1..20)
        ) {
            let mut start = 0;
            let mut steps = vec![];
            for (span, bps) in &list {
                steps.push(RateStep { start: Time::from_nanos(start), rate: Rate::from_bps(*bps) });
                start += span;
            }
            let earned = |until: u64| -> u128 {
                let mut begin = 0;
                list.iter().map(|(span, bps)| {
                    let end = begin + span;
                    let inside = until.min(end).saturating_sub(begin);
                    begin = end;
                    u128::from(inside) * u128::from(*bps)
                }).sum()
            };
            prop_assume!(earned(start) > 0);
            let schedule = to_schedule(&RateSteps::new(steps, Span::from_nanos(start)).unwrap()).unwrap();
            let total = ((earned(start) as f64 / COST as f64).round() as u64).max(1);
            prop_assert_eq!(schedule.opportunities(), total);
            prop_assert_eq!(u64::from(schedule.period_ms()), start.div_ceil(1_000_000));
            let mut sent = 0;
            for item in schedule.cursor(false).filter(|item| item.ms * 1_000_000 < start) {
                sent += u128::from(item.count);
                prop_assert!(sent * COST <= earned(item.ms * 1_000_000));
                prop_assert!((sent + 1) * COST > earned(item.ms * 1_000_000) || sent + 1 == u128::from(total));
                prop_assert!((sent - u128::from(item.count) + 1) * COST > earned((item.ms - 1) * 1_000_000));
            }
        }

        /// Conversion to rates and back keeps every byte, and the period.
        #[test]
        fn round_trip_keeps_every_byte(
            gaps in prop::collection::vec((0_u32..400, 1_u64..30), 1..200), bin in 1_u64..1000
        ) {
            let mut builder = ScheduleBuilder::default();
            let mut ms = 1;
            for (gap, count) in gaps {
                ms += gap;
                builder.push(ms, count).unwrap();
            }
            let schedule = builder.finish().unwrap();
            let rates = to_rates(&schedule, Span::from_millis(bin)).unwrap();
            let back = to_schedule(&rates).unwrap();
            prop_assert_eq!(back.bytes(), schedule.bytes());
            prop_assert_eq!(back.period(), schedule.period());
        }
    }
}
