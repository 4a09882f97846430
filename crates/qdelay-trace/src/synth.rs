//! Cellular-like traces from a seed: a rate that varies slowly and fades, with outages, delivered in grants.
//!
//! Source: the link model of Sprout (Winstein et al., NSDI 2013, section 3): a rate in Brownian motion,
//! outages that persist, and opportunities at random moments with gaps that are memoryless up to some 20 ms
//! and have a power law's tail beyond, as its authors measured. Here these are three processes, each with
//! parameters that can be estimated from a real trace:
//!
//! * **The rate** is the mean times two independent factors with mean 1, each lognormal around an
//!   Ornstein-Uhlenbeck process (Brownian motion pulled back to its mean): a slow one for place and load, a
//!   fast one for fading. They step every 10 ms.
//! * **Outages** begin at random (memoryless), and their duration has a Pareto distribution, cut at a longest
//!   one; the rate is zero.
//! * **Grants** come at memoryless moments; each carries as many whole opportunities of 1504 bytes as the
//!   rate has accumulated. Hence gaps within an outage-free interval are memoryless, and opportunities come
//!   in bursts, as from a scheduler that serves many users.
//!
//! | parameter | unit | meaning |
//! | --- | --- | --- |
//! | `rate` | bit/s | expected mean, outages included |
//! | `slow`, `slow_memory` | 1, s | coefficient of variation and correlation time of the slow factor |
//! | `fast`, `fast_memory` | 1, s | the same for the fast factor |
//! | `outage_every` | s | mean time from the end of an outage to the next |
//! | `outage_min`, `outage_max` | s | shortest outage (scale of the Pareto distribution) and longest |
//! | `outage_tail` | 1 | exponent of the tail: the share of outages longer than x falls with x to this power |
//! | `grant` | s | mean time between grants |
//!
//! Defaults are those of a preset. Each preset was set by hand so that the statistics of [`crate::info`] come
//! near those of recorded traces (README.md in the folder `traces` of this crate compares them):
//! `lte-driving` and `lte-driving-up` those of mahimahi's ATT-LTE-driving, `lte-stationary` a stationary LTE
//! downlink in New York (Orca, SIGCOMM 2020), `subway` a 3G downlink in its subway (C2TCP, JSAC 2019),
//! `5g-mmwave` walks of Lumos5G (IMC 2020).
//!
//! Differences from the reference:
//! * the rate is pulled back to a mean and multiplied rather than added to, so that mean and variation are
//!   parameters;
//! * outages are a separate process rather than a rate that has drifted to zero, for their tail;
//! * opportunities carry the integral of the rate, without the noise of a Poisson count, which is negligible
//!   at 5G's rates.

use crate::error::{Problem, TraceError};
use crate::rates::{RATE_MAX, RateStep, RateSteps, STEPS_MAX};
use crate::schedule::{OPPORTUNITIES_MAX, OPPORTUNITY_BYTES, Schedule, ScheduleBuilder};
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Random, Rate, Span, Time};

/// Time between changes of the rate.
const TICK: Span = Span::from_millis(10);
/// Credit of an opportunity, in bits per second times nanoseconds.
const COST: u128 = OPPORTUNITY_BYTES as u128 * 8 * 1_000_000_000;

/// Parameters of a link, from which traces are made; see the module for each field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Expected mean, outages included.
    pub rate: Rate,
    /// Coefficient of variation of the slow factor.
    pub slow: f64,
    /// Correlation time of the slow factor.
    pub slow_memory: Span,
    /// Coefficient of variation of the fast factor.
    pub fast: f64,
    /// Correlation time of the fast factor.
    pub fast_memory: Span,
    /// Mean time from the end of an outage to the next; zero for none.
    pub outage_every: Span,
    /// Shortest outage.
    pub outage_min: Span,
    /// Longest outage.
    pub outage_max: Span,
    /// Exponent of the tail of outages.
    pub outage_tail: f64,
    /// Mean time between grants.
    pub grant: Span,
}

/// Kinds of link with known parameters, by name.
pub static PRESETS: &[(&str, Parameters)] = &[
    ("lte-driving", LTE_DRIVING),
    ("lte-driving-up", LTE_DRIVING_UP),
    ("lte-stationary", LTE_STATIONARY),
    ("subway", SUBWAY),
    ("5g-mmwave", MMWAVE),
];

const LTE_DRIVING: Parameters = Parameters {
    rate: Rate::from_bps(5_200_000),
    slow: 0.55,
    slow_memory: Span::from_secs(15),
    fast: 0.3,
    fast_memory: Span::from_millis(100),
    outage_every: Span::from_millis(1800),
    outage_min: Span::from_millis(50),
    outage_max: Span::from_secs(2),
    outage_tail: 1.2,
    grant: Span::from_millis(3),
};
const LTE_DRIVING_UP: Parameters = Parameters {
    rate: Rate::from_bps(850_000),
    slow: 0.45,
    outage_every: Span::from_millis(2000),
    grant: Span::from_millis(10),
    ..LTE_DRIVING
};
const LTE_STATIONARY: Parameters = Parameters {
    rate: Rate::from_bps(7_600_000),
    slow: 0.22,
    slow_memory: Span::from_secs(3),
    fast: 0.35,
    fast_memory: Span::from_millis(100),
    outage_every: Span::from_millis(4500),
    outage_min: Span::from_millis(40),
    outage_max: Span::from_secs(2),
    outage_tail: 3.0,
    grant: Span::from_micros(1500),
};
const SUBWAY: Parameters = Parameters {
    rate: Rate::from_bps(5_000_000),
    slow: 0.45,
    slow_memory: Span::from_secs(6),
    fast: 0.35,
    fast_memory: Span::from_millis(100),
    outage_every: Span::from_millis(1100),
    outage_min: Span::from_millis(50),
    outage_max: Span::from_millis(1300),
    outage_tail: 1.1,
    grant: Span::from_micros(3500),
};
const MMWAVE: Parameters = Parameters {
    rate: Rate::from_bps(690_000_000),
    slow: 0.75,
    slow_memory: Span::from_secs(10),
    fast: 0.2,
    fast_memory: Span::from_millis(500),
    outage_every: Span::from_secs(45),
    outage_min: Span::from_secs(1),
    outage_max: Span::from_secs(20),
    outage_tail: 1.2,
    grant: Span::from_millis(1),
};

/// The parameters of the preset of this name.
pub fn preset(name: &str) -> Option<Parameters> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, parameters)| *parameters)
}

/// Key `preset`: kind of link.
pub const PRESET: Typed<str> =
    Typed::new("preset", "lte-driving", "kind of link, which gives the defaults of the other parameters")
        .unit(Unit::Choice(&["lte-driving", "lte-driving-up", "lte-stationary", "subway", "5g-mmwave"]));
/// Key `seed`: seed of the random numbers.
pub const SEED: Typed<u64> =
    Typed::new("seed", "1", "seed of the random numbers; equal parameters and seed give equal traces")
        .unit(Unit::Count("no unit"));
/// Key `duration`: duration of a trace.
pub const DURATION: Typed<Span> =
    Typed::new("duration", "60s", "length of the trace, after which it repeats").within("1ms", "1000000s");
const RATE: Typed<Option<Rate>> =
    Typed::new("rate", "", "expected mean rate, outages included (default: the preset's)")
        .within("1kbit", "100gbit");
const SLOW: Typed<Option<f64>> =
    Typed::new("slow", "", "coefficient of variation of the slow factor of the rate (default: the preset's)")
        .within("0", "3");
const SLOW_MEMORY: Typed<Option<Span>> =
    Typed::new("slow_memory", "", "correlation time of the slow factor (default: the preset's)")
        .within("10ms", "10000s");
const FAST: Typed<Option<f64>> =
    Typed::new("fast", "", "coefficient of variation of the fast factor of the rate (default: the preset's)")
        .within("0", "3");
const FAST_MEMORY: Typed<Option<Span>> =
    Typed::new("fast_memory", "", "correlation time of the fast factor (default: the preset's)")
        .within("10ms", "10000s");
const OUTAGE_EVERY: Typed<Option<Span>> =
    Typed::new("outage_every", "", "mean time between outages; 0 for none (default: the preset's)")
        .within("0", "100000s");
const OUTAGE_MIN: Typed<Option<Span>> =
    Typed::new("outage_min", "", "shortest outage (default: the preset's)").within("1ms", "1000s");
const OUTAGE_MAX: Typed<Option<Span>> =
    Typed::new("outage_max", "", "longest outage (default: the preset's)").within("1ms", "1000s");
const OUTAGE_TAIL: Typed<Option<f64>> =
    Typed::new("outage_tail", "", "exponent of the tail of outages (default: the preset's)")
        .within("0.1", "10");
const GRANT: Typed<Option<Span>> =
    Typed::new("grant", "", "mean time between grants (default: the preset's)").within("100us", "10s");

/// The declaration for the command line and files.
pub static COMPONENT: Component = Component::new(
    Kind::Link,
    "synth",
    "a cellular-like link made from a seed: a rate that varies slowly and fades, outages, bursts of opportunities",
)
.source("after Winstein et al., NSDI 2013, section 3")
.with(&[
    PRESET.parameter(),
    SEED.parameter(),
    DURATION.parameter(),
    RATE.parameter(),
    SLOW.parameter(),
    SLOW_MEMORY.parameter(),
    FAST.parameter(),
    FAST_MEMORY.parameter(),
    OUTAGE_EVERY.parameter(),
    OUTAGE_MIN.parameter(),
    OUTAGE_MAX.parameter(),
    OUTAGE_TAIL.parameter(),
    GRANT.parameter(),
])
.positional("preset");

/// A trace to make: a link, a duration, and the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synth {
    /// The link.
    pub parameters: Parameters,
    /// Duration of the trace; the schedule's is rounded up to whole milliseconds.
    pub duration: Span,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Synth {
    /// A trace of the preset of this name.
    pub fn of_preset(name: &str, duration: Span, seed: u64) -> Option<Synth> {
        Some(Synth { parameters: preset(name)?, duration, seed })
    }

    /// The trace that `arguments` of [`COMPONENT`] describe.
    pub fn from_arguments(arguments: &Arguments) -> Synth {
        // The choice of the parameter is the list of presets; a test compares them.
        let base = preset(arguments.get(&PRESET)).unwrap_or(LTE_DRIVING);
        let parameters = Parameters {
            rate: arguments.get(&RATE).unwrap_or(base.rate),
            slow: arguments.get(&SLOW).unwrap_or(base.slow),
            slow_memory: arguments.get(&SLOW_MEMORY).unwrap_or(base.slow_memory),
            fast: arguments.get(&FAST).unwrap_or(base.fast),
            fast_memory: arguments.get(&FAST_MEMORY).unwrap_or(base.fast_memory),
            outage_every: arguments.get(&OUTAGE_EVERY).unwrap_or(base.outage_every),
            outage_min: arguments.get(&OUTAGE_MIN).unwrap_or(base.outage_min),
            outage_max: arguments.get(&OUTAGE_MAX).unwrap_or(base.outage_max),
            outage_tail: arguments.get(&OUTAGE_TAIL).unwrap_or(base.outage_tail),
            grant: arguments.get(&GRANT).unwrap_or(base.grant),
        };
        Synth { parameters, duration: arguments.get(&DURATION), seed: arguments.get(&SEED) }
    }

    /// The rate of the link, without grants.
    ///
    /// # Errors
    /// A duration of zero or of more than [`STEPS_MAX`] ticks of 10 ms, or beyond the longest duration of a
    /// trace.
    pub fn rates(&self) -> Result<RateSteps, TraceError> {
        if self.parameters.outage_min > self.parameters.outage_max {
            let expected = "an outage_min of at most outage_max";
            let found = alloc::format!("{} and {}", self.parameters.outage_min, self.parameters.outage_max);
            return Err(TraceError::in_line(0, Problem::Unexpected { expected, found }));
        }
        let mut process = Process::new(self);
        let mut steps: Vec<RateStep> = Vec::new();
        while process.now < self.duration {
            let (start, rate) = (Time::ZERO + process.now, process.step());
            if steps.len() as u64 >= STEPS_MAX {
                return Err(TraceError::in_line(0, Problem::TooMany { what: "steps", limit: STEPS_MAX }));
            }
            if steps.last().is_none_or(|last| last.rate != rate) {
                steps.push(RateStep { start, rate });
            }
        }
        RateSteps::new(steps, self.duration)
    }

    /// The opportunities of the link, delivered in its grants. The last one is at the end.
    ///
    /// # Errors
    /// Errors of [`Synth::rates`], and more than [`OPPORTUNITIES_MAX`] opportunities.
    pub fn schedule(&self) -> Result<Schedule, TraceError> {
        let rates = self.rates()?;
        let mut random = Random::derive(self.seed, "trace", "synth-grants");
        let mut builder = ScheduleBuilder::with_limit(OPPORTUNITIES_MAX);
        let mut push = |ms: u64, credit: &mut u128| {
            let count = u64::try_from(*credit / COST).unwrap_or(u64::MAX);
            *credit %= COST;
            let ms = u32::try_from(ms).unwrap_or(u32::MAX);
            builder.push(ms, count).map_err(|problem| TraceError::in_line(0, problem))
        };
        let mut gap = || ((random.exponential() * self.parameters.grant.as_nanos() as f64) as u64).max(1);
        let (mut now, mut credit, mut grant) = (0, 0_u128, gap());
        for (step, span) in rates.spans() {
            let bps = u128::from(step.rate.as_bps());
            let end = now + span.as_nanos();
            while grant <= end {
                credit += bps * u128::from(grant - now);
                now = grant;
                grant += gap();
                push(now.div_ceil(1_000_000), &mut credit)?;
            }
            credit += bps * u128::from(end - now);
            now = end;
        }
        credit += COST;
        push(now.div_ceil(1_000_000), &mut credit)?;
        builder.finish()
    }
}

/// The random process of the rate over time.
struct Process {
    random: Random,
    parameters: Parameters,
    now: Span,
    /// The mean of the rate outside outages, bit/s.
    clear_bps: f64,
    slow: Factor,
    fast: Factor,
    outage: bool,
    /// Time at which the outage ends, or the next one begins.
    change: Span,
    /// End of the tick; `rate`: the rate within it outside outages.
    tick_end: Span,
    rate: Rate,
}

impl Process {
    fn new(synth: &Synth) -> Process {
        let parameters = synth.parameters;
        let mut random = Random::derive(synth.seed, "trace", "synth");
        let slow = Factor::new(parameters.slow, parameters.slow_memory, &mut random);
        let fast = Factor::new(parameters.fast, parameters.fast_memory, &mut random);
        let clear_bps = parameters.rate.as_bps() as f64 / (1.0 - parameters.outage_share());
        let change = parameters.next_outage(&mut random);
        let mut process = Process {
            random,
            parameters,
            now: Span::ZERO,
            clear_bps,
            slow,
            fast,
            outage: false,
            change,
            tick_end: Span::ZERO,
            rate: Rate::ZERO,
        };
        process.next_tick();
        process
    }

    /// Returns the rate from now on, and advances to its next change.
    fn step(&mut self) -> Rate {
        let rate = if self.outage { Rate::ZERO } else { self.rate };
        self.now = self.tick_end.min(self.change);
        if self.now == self.change {
            self.outage = !self.outage;
            let span = if self.outage {
                self.parameters.outage(&mut self.random)
            } else {
                self.parameters.next_outage(&mut self.random)
            };
            self.change = self.now + span.max(Span::from_nanos(1));
        }
        if self.now == self.tick_end {
            self.next_tick();
        }
        rate
    }

    fn next_tick(&mut self) {
        self.tick_end += TICK;
        let bps = self.clear_bps * self.slow.next(&mut self.random) * self.fast.next(&mut self.random);
        self.rate = Rate::from_bps(bps as u64).min(RATE_MAX);
    }
}

impl Parameters {
    fn next_outage(&self, random: &mut Random) -> Span {
        if self.outage_every.is_zero() {
            return Span::MAX;
        }
        Span::from_secs_f64(self.outage_every.as_secs_f64() * random.exponential())
    }

    /// Duration of an outage: Pareto by inversion, cut at the longest.
    fn outage(&self, random: &mut Random) -> Span {
        let factor = libm::pow(1.0 - random.unit(), -1.0 / self.outage_tail);
        Span::from_secs_f64(self.outage_min.as_secs_f64() * factor).min(self.outage_max)
    }

    /// Share of time in outages: `m / (m + every)`, where `m` is the mean of the cut Pareto distribution: the
    /// integral of the share of outages that are longer than x.
    fn outage_share(&self) -> f64 {
        if self.outage_every.is_zero() {
            return 0.0;
        }
        let (min, max) = (self.outage_min.as_secs_f64(), self.outage_max.as_secs_f64());
        let rest = 1.0 - self.outage_tail;
        let mean = if max <= min {
            max
        } else if rest.abs() < 1e-9 {
            min + min * libm::log(max / min)
        } else {
            min + min / rest * (libm::pow(max / min, rest) - 1.0)
        };
        mean / (mean + self.outage_every.as_secs_f64())
    }
}

/// A lognormal factor with mean 1 around an Ornstein-Uhlenbeck process, which is sampled exactly.
struct Factor {
    /// State of the process, standard normal.
    state: f64,
    /// Correlation from one tick to the next.
    keep: f64,
    /// Standard deviation of the logarithm.
    deviation: f64,
}

impl Factor {
    fn new(variation: f64, memory: Span, random: &mut Random) -> Factor {
        let keep = libm::exp(-TICK.as_secs_f64() / memory.as_secs_f64());
        let deviation = libm::sqrt(libm::log(1.0 + variation * variation));
        Factor { state: random.normal(), keep, deviation }
    }

    fn next(&mut self, random: &mut Random) -> f64 {
        self.state = self.keep * self.state + libm::sqrt(1.0 - self.keep * self.keep) * random.normal();
        libm::exp(self.deviation * self.state - self.deviation * self.deviation / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info;

    fn synth(name: &str, seconds: u64, seed: u64) -> Synth {
        Synth::of_preset(name, Span::from_secs(seconds), seed).unwrap()
    }

    #[test]
    fn equal_seeds_make_equal_traces() {
        let make = |seed| synth("subway", 5, seed).schedule().unwrap();
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
        assert_eq!(make(1).period_ms(), 5000);
    }

    #[test]
    fn the_mean_matches_the_parameter() {
        for (name, parameters) in PRESETS {
            let mean = synth(name, 20_000, 1).rates().unwrap().mean_mbps();
            let wanted = parameters.rate.as_mbps();
            assert!((mean / wanted - 1.0).abs() < 0.08, "{name}: {mean} instead of {wanted}");
        }
    }

    #[test]
    fn grants_deliver_the_integral_of_the_rate() {
        for (name, _) in &PRESETS[..4] {
            let trace = synth(name, 100, 3);
            let (rates, schedule) = (trace.rates().unwrap(), trace.schedule().unwrap());
            let earned = (rates.nanobits() / COST) as u64;
            assert_eq!(schedule.opportunities(), earned + 1, "{name}");
        }
    }

    /// Variation, correlation and outages over a long trace match the parameters.
    #[test]
    fn statistics_follow_the_parameters() {
        let info = info::of_rates(&synth("lte-driving", 20_000, 1).rates().unwrap());
        let variation = info.bins_1s.coefficient_of_variation;
        assert!((0.5..0.65).contains(&variation), "{variation}");
        // An outage begins every 1.8 s plus a mean duration of about 0.14 s; the share (50/100)^1.2 lasts
        // over 100 ms.
        let per_minute = info.gaps_over_100ms as f64 / (20_000.0 / 60.0);
        assert!((12.0..15.0).contains(&per_minute), "{per_minute}");
        assert!(info.longest_gap <= Span::from_secs(2));
        let share =
            1.0 - info::of_rates(&synth("lte-driving", 20_000, 1).rates().unwrap()).bins_100ms.zero_share;
        assert!((0.93..1.0).contains(&share), "{share}");
    }

    #[test]
    fn without_variation_the_rate_is_constant() {
        let steady = Parameters { slow: 0.0, fast: 0.0, outage_every: Span::ZERO, ..LTE_DRIVING };
        let trace = Synth { parameters: steady, duration: Span::from_secs(10), seed: 1 };
        assert_eq!(trace.rates().unwrap().steps().len(), 1);
        assert_eq!(trace.rates().unwrap().mean_mbps(), 5.2);
    }

    #[test]
    fn the_declaration_lists_every_preset_and_every_default_is_valid() {
        let Unit::Choice(words) = COMPONENT.parameters[0].unit else { panic!("preset is a choice") };
        assert!(words.iter().eq(PRESETS.iter().map(|(name, _)| name)));
        for (name, parameters) in PRESETS {
            let text = alloc::format!("synth:{name}:seed=5:duration=2s");
            let arguments = Arguments::parse(&[&COMPONENT], &text).unwrap();
            let expected = Synth { parameters: *parameters, duration: Span::from_secs(2), seed: 5 };
            assert_eq!(Synth::from_arguments(&arguments), expected);
        }
        let changed = Arguments::parse(&[&COMPONENT], "synth:subway:rate=2mbit:outage_every=0").unwrap();
        let changed = Synth::from_arguments(&changed).parameters;
        assert_eq!(
            changed,
            Parameters { rate: Rate::from_bps(2_000_000), outage_every: Span::ZERO, ..SUBWAY }
        );
    }

    #[test]
    fn a_duration_that_is_too_long_is_refused() {
        assert!(synth("subway", 1_000_000, 1).rates().is_err());
        assert!(synth("subway", 0, 1).schedule().is_err());
    }
}
