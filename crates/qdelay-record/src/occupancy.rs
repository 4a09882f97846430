//! Occupancy of a buffer over time, in bounded memory.

use crate::entity;
use qdelay_core::{Span, Time};

/// Values below this are told apart; above, each octave has [`STEPS`] steps.
const EXACT: u64 = 128;
/// Steps of an octave: within 1/64, 1.6%.
const STEPS: u64 = 64;
/// log2 of [`EXACT`] and of [`STEPS`].
const EXACT_BITS: u32 = 7;
const STEP_BITS: u32 = 6;

/// A level that changes at times: its mean and maximum over the time since it was opened. What lasts no time does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    level: u64,
    opened: Time,
    /// Since when it has been so, or since when it counts.
    since: Time,
    integral: u128,
    max: u64,
}

/// A [`Gauge`] with its percentiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    level: Gauge,
    /// Time at each step of the level, in nanoseconds.
    nanos: Vec<u64>,
}

entity! {
    /// A level over time.
    #[derive(Copy)]
    pub struct OccupancySummary {
        /// Mean over time.
        pub mean: f64,
        /// Value not exceeded in 95% of the time.
        pub p95: f64,
        /// The highest that lasted.
        pub max: f64,
    }
}

impl Gauge {
    /// Zero, and opened at `from`.
    const fn new(from: Time) -> Gauge {
        Gauge { level: 0, opened: from, since: from, integral: 0, max: 0 }
    }

    /// The level rises by `by` at `now`.
    #[inline]
    pub fn rise(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level += by;
    }

    /// The level falls by `by` at `now`.
    #[inline]
    pub fn fall(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level = self.level.saturating_sub(by);
    }

    /// Accounts for the current level up to `now`. Returns the nanoseconds newly accounted for.
    #[inline]
    fn settle(&mut self, now: Time) -> u64 {
        if now <= self.since {
            return 0;
        }
        let lasted = now.since(self.since).as_nanos();
        self.since = now;
        self.integral += u128::from(self.level) * u128::from(lasted);
        self.max = self.max.max(self.level);
        lasted
    }

    /// Mean and maximum up to `now`, from which the next interval counts.
    pub fn close(&mut self, now: Time) -> (f64, u64) {
        self.settle(now);
        let lasted = now.since(self.opened).as_nanos();
        let mean = if lasted == 0 { self.level as f64 } else { self.integral as f64 / lasted as f64 };
        let max = self.max;
        (self.opened, self.integral, self.max) = (now, 0, 0);
        (mean, max)
    }
}

impl Occupancy {
    /// Empty, and counted from `from` on.
    pub const fn new(from: Time) -> Occupancy {
        Occupancy { level: Gauge::new(from), nanos: Vec::new() }
    }

    /// The level now.
    pub const fn level(&self) -> u64 {
        self.level.level
    }

    /// The level rises by `by` at `now`.
    #[inline]
    pub fn rise(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level.rise(now, by);
    }

    /// The level falls by `by` at `now`.
    #[inline]
    pub fn fall(&mut self, now: Time, by: u64) {
        self.settle(now);
        self.level.fall(now, by);
    }

    #[inline]
    fn settle(&mut self, now: Time) {
        let lasted = self.level.settle(now);
        if lasted == 0 {
            return;
        }
        let step = step(self.level());
        if step >= self.nanos.len() {
            self.nanos.resize(step + 1, 0);
        }
        self.nanos[step] += lasted;
    }

    /// The figures up to `end`: percentiles within 1.6%; all zero where it was watched for no time.
    pub fn summary(&self, end: Time) -> OccupancySummary {
        let mut all = self.clone();
        all.settle(end);
        let total: u64 = all.nanos.iter().sum();
        if total == 0 {
            return OccupancySummary::default();
        }
        // Of so much time, rounded up, the level is not above.
        let wanted = (u128::from(total) * 95).div_ceil(100);
        let mut seen = 0_u128;
        let at = all.nanos.iter().position(|nanos| {
            seen += u128::from(*nanos);
            seen >= wanted
        });
        let Gauge { integral, max, .. } = all.level;
        let p95 = at.map_or(max, |at| highest(at).min(max));
        OccupancySummary { mean: integral as f64 / total as f64, p95: p95 as f64, max: max as f64 }
    }

    /// Observed time up to the latest change.
    pub fn watched(&self) -> Span {
        Span::from_nanos(self.nanos.iter().sum())
    }
}

/// The step that a level is in.
#[inline]
fn step(level: u64) -> usize {
    if level < EXACT {
        return level as usize;
    }
    let octave = 63 - level.leading_zeros();
    let within = (level >> (octave - STEP_BITS)) - STEPS;
    (EXACT + u64::from(octave - EXACT_BITS) * STEPS + within) as usize
}

/// The highest level in a step.
fn highest(step: usize) -> u64 {
    let step = step as u64;
    if step < EXACT {
        return step;
    }
    let (octave, within) = ((step - EXACT) / STEPS, (step - EXACT) % STEPS);
    let width = 1_u64 << (octave + u64::from(EXACT_BITS - STEP_BITS));
    (STEPS + within) * width + (width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Random;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn steps_are_narrow_and_in_order() {
        let mut last = None;
        for level in
            (0..100_000).chain((17..63).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 12_345]))
        {
            let step = step(level);
            assert!(
                highest(step) >= level && (highest(step) - level) as f64 <= level as f64 / 64.0,
                "{level}"
            );
            if level < 100_000 {
                assert!(last.is_none_or(|last| step == last || step == last + 1), "{level}");
                last = Some(step);
            }
        }
    }

    #[test]
    fn a_level_by_hand() {
        let mut level = Occupancy::new(at(100));
        level.rise(at(50), 10);
        level.rise(at(100), 10);
        // 20 for 300 ns, 120 for no time, 1 for 100 ns.
        level.rise(at(400), 100);
        level.fall(at(400), 119);
        let summary = level.summary(at(500));
        assert_eq!((summary.mean, summary.p95, summary.max), (15.25, 20.0, 20.0));
        assert_eq!(Occupancy::new(at(7)).summary(at(7)), OccupancySummary::default());
        assert_eq!(Occupancy::new(at(0)).summary(at(7)), OccupancySummary::default());
        assert_eq!((level.level(), level.watched()), (1, Span::from_nanos(300)));
    }

    #[test]
    fn against_a_list_of_every_nanosecond() {
        for seed in 0..20 {
            let mut random = Random::derive(seed, "occupancy", "test");
            let (from, mut now, mut level, mut literal) = (50, 0, 0_u64, Vec::new());
            let mut occupancy = Occupancy::new(at(from));
            for _ in 0..200 {
                let next = now + random.below(20);
                literal.extend((now..next).filter(|nanos| *nanos >= from).map(|_| level));
                now = next;
                if random.below(2) == 0 {
                    let by = random.below(3000);
                    level += by;
                    occupancy.rise(at(now), by);
                } else {
                    let by = random.below(level + 1);
                    level -= by;
                    occupancy.fall(at(now), by);
                }
            }
            let summary = occupancy.summary(at(now));
            let mean = literal.iter().sum::<u64>() as f64 / literal.len() as f64;
            literal.sort_unstable();
            let p95 = literal[(literal.len() * 95).div_ceil(100) - 1] as f64;
            assert!((summary.mean - mean).abs() < 1e-9 * mean);
            assert!(summary.p95 >= p95 && summary.p95 <= p95 * (1.0 + 1.0 / 64.0), "{} {p95}", summary.p95);
            assert_eq!(summary.max, *literal.last().unwrap() as f64);
        }
    }

    #[test]
    fn a_level_in_bins_by_hand() {
        let mut level = Gauge::default();
        level.rise(at(10), 4);
        // 100 for no time at all.
        level.rise(at(30), 96);
        level.fall(at(30), 98);
        assert_eq!(level.close(at(40)), ((4.0 * 20.0 + 2.0 * 10.0) / 40.0, 4));
        level.fall(at(45), 5);
        assert_eq!(level.close(at(50)), (1.0, 2), "what was there when the bin began counts");
        assert_eq!(level.close(at(60)), (0.0, 0));
        assert_eq!(level.close(at(60)), (0.0, 0), "a bin of no length");
    }

    #[test]
    fn bins_against_a_list_of_every_nanosecond() {
        let mut random = Random::derive(7, "cell series", "test");
        let (mut level, mut held, mut literal) = (Gauge::default(), 0_u64, Vec::new());
        for bin in 1..40_u64 {
            while literal.len() < bin as usize * 50 {
                let now = Time::from_nanos(literal.len() as u64);
                if random.below(5) == 0 {
                    let by = random.below(900);
                    level.rise(now, by);
                    held += by;
                }
                if random.below(5) == 0 {
                    let by = random.below(held + 1);
                    level.fall(now, by);
                    held -= by;
                }
                literal.push(held);
            }
            let (mean, max) = level.close(Time::from_nanos(bin * 50));
            let of_bin = &literal[literal.len() - 50..];
            assert!((mean - of_bin.iter().sum::<u64>() as f64 / 50.0).abs() < 1e-9);
            assert_eq!(Some(&max), of_bin.iter().max());
        }
    }
}
