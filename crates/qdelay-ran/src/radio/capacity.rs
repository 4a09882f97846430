//! Channels that define how many bytes a TTI carries, at any MCS: thesis capacity files and traces of links.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::iter::Peekable;
use qdelay_core::{Span, Time};
use qdelay_trace::capacity::{CapacitySteps, HOLD, PACKET_BYTES, TICK};
use qdelay_trace::{Cursor, Opportunities, RateCursor, RateStep, RateSteps, Schedule};

/// Nanobits (10^-9 bits) in a byte: the unit of a rate in bit/s times nanoseconds.
const NANOBITS: u128 = 8_000_000_000;

/// Counts the bytes between any time and any later one.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    flow: Flow,
    at: Time,
}

#[derive(Clone, Debug)]
enum Flow {
    /// All bytes of a tick at its beginning.
    Ticks(Ticks),
    Rates(Rates),
    Opportunities(Peekable<Cursor>),
}

#[derive(Clone, Debug)]
struct Ticks {
    trace: CapacitySteps,
    /// Sum of the values before each second, and the total.
    sums: Arc<Vec<u64>>,
    /// Time from one tick to the next.
    tick: Span,
    repeat: bool,
}

#[derive(Clone, Debug)]
struct Rates {
    cursor: RateCursor,
    /// The current step; `next`: the step after it.
    now: Option<RateStep>,
    next: Option<RateStep>,
    /// Remainder below a byte, carried over to the next call.
    rest: u128,
}

impl Bytes {
    pub(super) fn of_ticks(trace: &CapacitySteps, tick: Span, repeat: bool) -> Bytes {
        let mut sums = Vec::with_capacity(trace.values().len() + 1);
        let mut sum = 0_u64;
        sums.push(sum);
        for &value in trace.values() {
            sum += u64::from(value);
            sums.push(sum);
        }
        let tick = tick.max(Span::from_nanos(1));
        let ticks = Ticks { trace: trace.clone(), sums: Arc::new(sums), tick, repeat };
        Bytes { flow: Flow::Ticks(ticks), at: Time::ZERO }
    }
    /// The packets of each tick spread evenly over its 10 ms.
    pub(super) fn of_spread_ticks(trace: &CapacitySteps, repeat: bool) -> Bytes {
        match trace.rates() {
            Ok(rates) => Bytes::of_rates(&rates, repeat),
            // The conversion fails only for a rate that is too large, which no valid trace has.
            Err(_) => Bytes::of_ticks(trace, TICK, repeat),
        }
    }
    pub(super) fn of_rates(rates: &RateSteps, repeat: bool) -> Bytes {
        let mut cursor = rates.cursor(repeat);
        let (now, next) = (cursor.next(), cursor.next());
        Bytes { flow: Flow::Rates(Rates { cursor, now, next, rest: 0 }), at: Time::ZERO }
    }
    pub(super) fn of_opportunities(schedule: &Schedule, repeat: bool) -> Bytes {
        Bytes { flow: Flow::Opportunities(schedule.cursor(repeat).peekable()), at: Time::ZERO }
    }

    /// The bytes between `from` (inclusive) and `to` (exclusive). Bytes before `from` that were not queried are lost; a
    /// `from` before the last `to` counts as that `to`. On a trace that repeats, the cost grows with the number of rounds up
    /// to `to`.
    pub(super) fn between(&mut self, from: Time, to: Time) -> u64 {
        let from = from.max(self.at);
        self.pass(from);
        self.pass(to.max(from))
    }

    /// Advances to `to` and counts the bytes.
    fn pass(&mut self, to: Time) -> u64 {
        let from = self.at;
        self.at = to;
        match &mut self.flow {
            Flow::Ticks(ticks) => ticks.before(to).saturating_sub(ticks.before(from)),
            Flow::Rates(rates) => rates.pass(from, to),
            Flow::Opportunities(cursor) => {
                let mut bytes = 0_u64;
                while let Some(due) = cursor.next_if(|due| due.time() < to) {
                    bytes = bytes.saturating_add(Opportunities::bytes(due));
                }
                bytes
            }
        }
    }
}

impl Ticks {
    /// Bytes of all ticks that begin before `time`.
    fn before(&self, time: Time) -> u64 {
        let ticks_held = HOLD.as_nanos() / TICK.as_nanos();
        let ticks_of_round = self.trace.values().len() as u64 * ticks_held;
        let n = time.as_nanos().div_ceil(self.tick.as_nanos());
        let (rounds, n) =
            if self.repeat { (n / ticks_of_round, n % ticks_of_round) } else { (0, n.min(ticks_of_round)) };
        let second = usize::try_from(n / ticks_held).unwrap_or(usize::MAX);
        let of = |sums: Option<&u64>| sums.copied().unwrap_or(0);
        let value = self.trace.values().get(second).map_or(0, |&value| u64::from(value));
        let packets = of(self.sums.get(second)) * ticks_held + n % ticks_held * value;
        let all = rounds.saturating_mul(of(self.sums.last()) * ticks_held);
        all.saturating_add(packets).saturating_mul(PACKET_BYTES)
    }
}

impl Rates {
    fn pass(&mut self, mut from: Time, to: Time) -> u64 {
        while let Some(step) = self.now {
            let end = self.next.map_or_else(|| self.cursor.round_end(), |next| next.start);
            let until = end.min(to);
            self.rest += u128::from(step.rate.as_bps()) * u128::from(until.since(from).as_nanos());
            from = from.max(until);
            if to <= end {
                break;
            }
            self.now = self.next;
            self.next = self.next.and_then(|_| self.cursor.next());
        }
        let bytes = self.rest / NANOBITS;
        self.rest %= NANOBITS;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;
    use qdelay_core::{Rate, Span};
    use qdelay_trace::ScheduleBuilder;

    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }
    fn trace() -> CapacitySteps {
        CapacitySteps::new(vec![6, 0, 15]).unwrap()
    }

    #[test]
    fn ticks_carry_at_once_and_rates_evenly() {
        let mut bytes = Bytes::of_ticks(&trace(), TICK, false);
        let first: Vec<u64> = (0..11).map(|n| bytes.between(ms(n), ms(n + 1))).collect();
        assert_eq!(first, [9000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9000]);
        let mut bytes = Bytes::of_spread_ticks(&trace(), false);
        assert_eq!((0..11).map(|n| bytes.between(ms(n), ms(n + 1))).collect::<Vec<_>>(), [900; 11]);
        assert_eq!(bytes.between(ms(990), ms(1010)), 9000);
        assert_eq!(bytes.between(ms(2000), ms(2010)), 22_500);
    }

    #[test]
    fn ten_ms_carry_the_bytes_of_the_file_either_way() {
        for mut bytes in [Bytes::of_ticks(&trace(), TICK, true), Bytes::of_spread_ticks(&trace(), true)] {
            for n in 0..900 {
                let expected = [9000, 0, 22_500][(n / 100) as usize % 3];
                assert_eq!(bytes.between(ms(10 * n), ms(10 * n + 10)), expected);
            }
        }
    }

    #[test]
    fn longer_ticks_carry_the_packets_of_one_tick_each() {
        let mut bytes = Bytes::of_ticks(&trace(), Span::from_micros(10_625), false);
        let at = |n: u64| Time::from_nanos(n * 10_625_000);
        for n in 0..300 {
            assert_eq!(bytes.between(at(n), at(n + 1)), [9000, 0, 22_500][n as usize / 100]);
        }
        assert_eq!(bytes.between(at(300), Time::NEVER), 0);
    }

    #[test]
    fn a_trace_without_repetition_ends() {
        for mut bytes in [Bytes::of_ticks(&trace(), TICK, false), Bytes::of_spread_ticks(&trace(), false)] {
            assert_eq!(bytes.between(ms(2990), ms(10_000)), 22_500);
            assert_eq!(bytes.between(ms(10_000), Time::NEVER), 0);
        }
    }

    #[test]
    fn opportunities_of_a_tti() {
        let mut builder = ScheduleBuilder::default();
        for (at, count) in [(0, 1), (3, 2), (4, 1)] {
            builder.push(at, count).unwrap();
        }
        let mut bytes = Bytes::of_opportunities(&builder.finish().unwrap(), true);
        let each: Vec<u64> = (0..9).map(|n| bytes.between(ms(n), ms(n + 1)) / 1504).collect();
        // A new round begins at the last opportunity.
        assert_eq!(each, [1, 0, 0, 2, 2, 0, 0, 2, 2]);
    }

    proptest! {
        /// The bytes are the integral of the rate, for any division of the time, and after any skipped part.
        #[test]
        fn rates_add_up_to_their_integral(
            rates in prop::collection::vec((1_u64..50_000_000, 0_u64..2_000_000_000), 1..8),
            cuts in prop::collection::vec(0_u64..20_000_000, 1..60),
            repeat: bool,
        ) {
            let mut start = 0;
            let mut steps = vec![];
            for (length, rate) in &rates {
                steps.push(RateStep { start: Time::from_nanos(start), rate: Rate::from_bps(*rate) });
                start += length;
            }
            let trace = RateSteps::new(steps, Span::from_nanos(start)).unwrap();
            let integral = |to: u64| {
                let (rounds, rest) = if repeat { (to / start, to % start) } else { (0, to.min(start)) };
                let upto = |rest: u64| {
                    let mut left = rest;
                    let mut sum = 0_u128;
                    for (length, rate) in &rates {
                        sum += u128::from(left.min(*length)) * u128::from(*rate);
                        left -= left.min(*length);
                    }
                    sum
                };
                u128::from(rounds) * upto(start) + upto(rest)
            };
            let mut bytes = Bytes::of_rates(&trace, repeat);
            let (mut at, mut sum) = (0, 0_u128);
            for cut in cuts {
                sum += u128::from(bytes.between(Time::from_nanos(at), Time::from_nanos(at + cut)));
                at += cut;
                prop_assert_eq!(sum, integral(at) / NANOBITS);
            }
            // Skipping keeps the position: the following bytes are within one byte of their own integral.
            let (from, to) = (at + 3_000_000, at + 9_000_000);
            let found = u128::from(bytes.between(Time::from_nanos(from), Time::from_nanos(to)));
            let expected = (integral(to) - integral(from)) / NANOBITS;
            prop_assert!(found == expected || found == expected + 1);
        }
    }
}
