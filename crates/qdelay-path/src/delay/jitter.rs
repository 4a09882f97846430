//! Jitter: a random part of each packet's delay, by distribution and correlation.
//!
//! | distribution | added to the delay |
//! | --- | --- |
//! | `uniform` | 0 to `most`, uniformly; what a plain time means |
//! | `normal` | a normal deviation with mean 0 |
//! | `pareto` | a Pareto deviation of shape 3, shifted to mean 0: few packets are much later than all others |
//! | `paretonormal` | a quarter of the normal and three quarters of the Pareto deviation, of the same quantile |
//! | a table | a value of a table of quantiles, in deviations; the library of traces opens its file |
//!
//! A delay is never below 0: a draw that would make it so gives 0, which moves the mean of a delay shorter than about three deviations.
//!
//! | parameter | unit | default | what it is |
//! | --- | --- | --- | --- |
//! | `most` of `uniform` | time | required | largest value |
//! | `deviation` | time | required | standard deviation; of a table, the time of the value 1 |
//! | `correlation` | percent | 0% | correlation of one packet's draw with the one before |
//! | `reorder` | on or off | off | on: packets may overtake others; off: a packet waits for those before it |
//! | `variant` | name | exact | `netem`: the arithmetic of Linux's netem |
//!
//! In the variant `exact` the correlation is one of normal numbers, by which the quantile of each draw is found (a Gaussian copula), so that
//! the distribution stays the one that was asked for, whatever the correlation. The variant `netem` is that of Linux's `sch_netem`
//! (`tabledist`, `get_crandom`): `normal`, `pareto` and `paretonormal` come from tables of 4096 quantiles that end at 4
//! deviations, and those of `pareto` and `paretonormal` have a standard deviation of 0.82 and 0.83 times the number that is given;
//! `uniform` is on both sides of the delay. A draw is a number of 32 bits, `(1 - correlation) * random + correlation * draw before`, of
//! which only a remainder is used: divided by the entries of the table, or by twice the jitter in nanoseconds. The remainder has the lowest
//! bits, which do not depend on the draw before: with a table, and with a uniform jitter far below 2 s, **the correlation has no effect**,
//! neither on the distribution nor on neighbours. A jitter is at most 2^31 - 1 ns, to which the kernel cuts it.

use super::curve::REORDER;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Typed, Unit};
use qdelay_core::{Random, Span};

const MOST: Typed<Option<Span>> = Typed::new("most", "", "Largest value; required.").within("0s", "60s");
/// Key `deviation`, of every distribution but the uniform one.
pub const DEVIATION: Typed<Option<Span>> =
    Typed::new("deviation", "", "Standard deviation; required.").within("0s", "60s");
/// Key `correlation`, of every distribution.
pub const CORRELATION: Typed<f64> =
    Typed::new("correlation", "0%", "Correlation of one packet's draw with the one before.")
        .unit(Unit::Percent)
        .within("0%", "100%")
        .source("netem");
/// Key `variant`, of every distribution and of random events.
pub const VARIANT: Typed<str> = Typed::new(
    "variant",
    "exact",
    "exact: the correlation leaves the distribution as it is; netem: the arithmetic of Linux's netem",
)
.unit(Unit::Choice(&["exact", "netem"]));

static UNIFORM: Component =
    Component::new(Kind::Jitter, "uniform", "Uniform from 0 to a largest value; what a plain time means.")
        .with(&[MOST.parameter(), CORRELATION.parameter(), REORDER.parameter(), VARIANT.parameter()])
        .positional("most");
static NORMAL: Component = shape("normal", "Normal, around the delay.");
static PARETO: Component =
    shape("pareto", "Pareto of shape 3, around the delay: few packets are much later.");
static PARETONORMAL: Component =
    shape("paretonormal", "A quarter normal and three quarters Pareto, around the delay.");

const fn shape(name: &'static str, about: &'static str) -> Component {
    Component::new(Kind::Jitter, name, about)
        .source("netem's tables of the same name")
        .with(&KEYS)
        .positional("deviation")
}

/// The keys of every distribution but the uniform one.
pub const KEYS: [Parameter; 4] =
    [DEVIATION.parameter(), CORRELATION.parameter(), REORDER.parameter(), VARIANT.parameter()];

/// The distributions that text can name without a file, in the order they are listed.
pub static JITTERS: &[&Component] = &[&UNIFORM, &NORMAL, &PARETO, &PARETONORMAL];

/// An example of a jitter.
pub const EXAMPLE: &str = "normal:5ms";

/// Denominator of the values of a table of quantiles (`NETEM_DIST_SCALE`).
const TABLE_SCALE: f64 = 8192.0;
/// Number of entries of the tables that netem comes with.
const TABLE_ENTRIES: usize = 4096;
/// Largest jitter of netem.
const NETEM_MOST: Span = Span::from_nanos(i32::MAX as u64);
/// Standard deviation of a Pareto variable of shape 3 and scale 1, whose mean is 1.5.
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6;
/// Standard deviation of a quarter of a normal and three quarters of a Pareto deviation of the same quantile; a test integrates it.
const PARETONORMAL_DEVIATION: f64 = 0.937_753_3;

/// The distribution of a jitter.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Uniform from 0 to the size.
    #[default]
    Uniform,
    /// Normal with mean 0.
    Normal,
    /// Pareto of shape 3 with mean 0.
    Pareto,
    /// A quarter normal, three quarters Pareto.
    ParetoNormal,
    /// Quantiles in 1/8192 of the size, in ascending order.
    Table(Box<[i16]>),
}

/// Arithmetic of correlated draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// The distribution is the same with every correlation.
    #[default]
    Exact,
    /// That of Linux's netem.
    Netem,
}

impl Variant {
    /// The variant that `arguments` name.
    pub fn named(arguments: &Arguments) -> Variant {
        if arguments.get(&VARIANT) == "netem" { Variant::Netem } else { Variant::Exact }
    }
}

/// A jitter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The distribution.
    pub shape: Shape,
    /// Largest value of a uniform jitter, or standard deviation.
    pub size: Span,
    /// Correlation of a draw with the one before, 0 to 1.
    pub correlation: f64,
    /// Arithmetic of the draws.
    pub variant: Variant,
    /// True if packets may overtake others.
    pub reorder: bool,
}

/// A uniform jitter up to `most`; packets keep their order.
impl From<Span> for Jitter {
    fn from(most: Span) -> Jitter {
        Jitter { size: most, ..Jitter::default() }
    }
}

impl Jitter {
    /// No jitter.
    pub const NONE: Jitter = Jitter {
        shape: Shape::Uniform,
        size: Span::ZERO,
        correlation: 0.0,
        variant: Variant::Exact,
        reorder: false,
    };

    /// The jitter that `arguments` of one of [`JITTERS`] describe, or of a component with `table`, the quantiles of its file, and the
    /// keys of the others.
    ///
    /// # Errors
    /// The size is missing, or a component that is no jitter.
    pub fn build(arguments: &Arguments, table: Option<Box<[i16]>>) -> Result<Jitter, ComponentError> {
        let name = arguments.component().name;
        let (shape, size) = match (name, table) {
            (_, Some(table)) => (Shape::Table(table), &DEVIATION),
            (name, _) if name == UNIFORM.name => (Shape::Uniform, &MOST),
            (name, _) if name == NORMAL.name => (Shape::Normal, &DEVIATION),
            (name, _) if name == PARETO.name => (Shape::Pareto, &DEVIATION),
            (name, _) if name == PARETONORMAL.name => (Shape::ParetoNormal, &DEVIATION),
            (name, _) => return Err(arguments.fail(format!("'{name}' is not a jitter"))),
        };
        let size = arguments
            .get(size)
            .ok_or_else(|| arguments.fail(format!("no {}; expected a time, as in {EXAMPLE}", size.name())))?;
        let variant = Variant::named(arguments);
        if variant == Variant::Netem && size > NETEM_MOST {
            return Err(arguments.fail(format!(
                "{size} is longer than netem's longest jitter; expected at most {NETEM_MOST} with variant=netem"
            )));
        }
        Ok(Jitter {
            shape,
            size,
            correlation: arguments.get(&CORRELATION),
            variant,
            reorder: arguments.get(&REORDER),
        })
    }

    /// Reads a jitter as users write it: `5ms`, `normal:5ms:correlation=25%`.
    ///
    /// # Errors
    /// An unknown name or key, or a value out of its range.
    pub fn parse(text: &str) -> Result<Arguments, ComponentError> {
        if text.starts_with(|first: char| first.is_ascii_digit() || ['.', '-', '+'].contains(&first)) {
            return Arguments::from_parts(&UNIFORM, text, text.split(':'))
                .map_err(|message| ComponentError::new(text, message));
        }
        Arguments::parse(JITTERS, text)
    }

    /// True if it adds nothing to any packet.
    pub fn is_none(&self) -> bool {
        self.size.is_zero()
    }

    /// True if it is uniform from 0 to its size, without correlation, and packets keep their order: what a plain time means.
    pub fn is_plain(&self) -> bool {
        *self == Jitter::from(self.size)
    }
}

/// A jitter at work.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    jitter: Jitter,
    random: Random,
    /// The correlated normal number before.
    last: Option<f64>,
    /// The correlated number before in the variant `netem`.
    last_netem: Option<u32>,
    /// Quantiles of the variant `netem`.
    table: Vec<i16>,
}

impl Draws {
    pub(super) fn new(jitter: Jitter, random: Random) -> Draws {
        let table = match jitter.variant {
            Variant::Netem => netem_table(&jitter.shape),
            Variant::Exact => Vec::new(),
        };
        Draws { jitter, random, last: None, last_netem: None, table }
    }

    pub(super) fn reorders(&self) -> bool {
        self.jitter.reorder
    }

    /// The deviation of the next packet in nanoseconds, which may be negative.
    pub(super) fn draw(&mut self) -> i64 {
        let size = self.jitter.size.as_nanos();
        match self.jitter.variant {
            Variant::Exact if self.jitter.shape == Shape::Uniform && self.jitter.correlation <= 0.0 => {
                self.random.below(size.saturating_add(1)) as i64
            }
            Variant::Exact => libm::round(size as f64 * self.exact()) as i64,
            Variant::Netem => self.netem(),
        }
    }

    /// The next draw in units of the size.
    fn exact(&mut self) -> f64 {
        let normal = self.random.normal();
        let rho = self.jitter.correlation;
        let z = match self.last {
            Some(last) if rho > 0.0 => rho * last + libm::sqrt(1.0 - rho * rho) * normal,
            _ => normal,
        };
        self.last = Some(z);
        match &self.jitter.shape {
            Shape::Uniform => 1.0 - above(z),
            Shape::Normal => z,
            Shape::Pareto => pareto(above(z)) / PARETO_DEVIATION,
            Shape::ParetoNormal => paretonormal(z) / PARETONORMAL_DEVIATION,
            Shape::Table(table) => quantile(table, 1.0 - above(z)),
        }
    }

    /// The next deviation in nanoseconds, by netem's arithmetic: the remainder of a draw chooses it.
    fn netem(&mut self) -> i64 {
        let size = self.jitter.size.as_nanos().min(NETEM_MOST.as_nanos());
        let draw = netem_draw(&mut self.random, self.jitter.correlation, &mut self.last_netem);
        match &self.jitter.shape {
            // A size of 0 is no jitter.
            Shape::Uniform => (u64::from(draw) % (2 * size).max(1)) as i64 - size as i64,
            _ => {
                let at = draw as usize % self.table.len().max(1);
                let value = self.table.get(at).map_or(0.0, |value| f64::from(*value) / TABLE_SCALE);
                libm::round(size as f64 * value) as i64
            }
        }
    }
}

/// netem's random number of 32 bits (`get_crandom`): without correlation uniform, otherwise moved towards the one before. The first
/// is moved towards a uniform one, which netem draws when the discipline is set.
pub(crate) fn netem_draw(random: &mut Random, rho: f64, last: &mut Option<u32>) -> u32 {
    let mut next = || (random.bits() >> 32) as u32;
    if rho <= 0.0 {
        return next();
    }
    let before = last.unwrap_or_else(&mut next);
    let drawn = netem_mix(next(), before, rho);
    *last = Some(drawn);
    drawn
}

/// Mean of two numbers, the second with the weight `rho`, in whole multiples of 2^-32; what is left is cut off.
fn netem_mix(drawn: u32, before: u32, rho: f64) -> u32 {
    let weight = u64::from(netem_share(rho)) + 1;
    ((u64::from(drawn) * ((1 << 32) - weight) + u64::from(before) * weight) >> 32) as u32
}

/// A share from 0 to 1 as netem's number of 32 bits.
pub(crate) fn netem_share(share: f64) -> u32 {
    libm::rint(share * f64::from(u32::MAX)) as u32
}

/// Probability that a standard normal number is above `z`.
pub(crate) fn above(z: f64) -> f64 {
    0.5 * libm::erfc(z * core::f64::consts::FRAC_1_SQRT_2)
}

/// Pareto variable of shape 3 and scale 1 less its mean, where `u` is the probability of a larger one.
fn pareto(u: f64) -> f64 {
    libm::pow(u, -1.0 / 3.0) - 1.5
}

/// The mix of both at the quantile of the normal number `z`.
fn paretonormal(z: f64) -> f64 {
    0.25 * z + 0.75 * pareto(above(z)) / PARETO_DEVIATION
}

/// The entry of `table` at the quantile `u`, in units of the size.
fn quantile(table: &[i16], u: f64) -> f64 {
    let at = ((u * table.len() as f64) as usize).min(table.len().saturating_sub(1));
    table.get(at).map_or(0.0, |value| f64::from(*value) / TABLE_SCALE)
}

/// The table of netem for `shape`: quantiles in 1/8192 of the deviation, cut at the ends of their type.
fn netem_table(shape: &Shape) -> Vec<i16> {
    let entries = 0..TABLE_ENTRIES;
    // The scale of netem's Pareto table is 4/3 of the deviation from the mean.
    let pareto = |at: usize| pareto(1.0 - at as f64 / TABLE_ENTRIES as f64) * 4.0 / 3.0;
    let value =
        |value: f64| libm::rint(value * TABLE_SCALE).clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16;
    match shape {
        Shape::Uniform => Vec::new(),
        Shape::Normal => entries.map(|at| value(normal_quantile(at))).collect(),
        Shape::Pareto => entries.map(|at| value(pareto(at))).collect(),
        // Made of the finished tables.
        Shape::ParetoNormal => entries
            .map(|at| [0.25 * f64::from(value(normal_quantile(at))), 0.75 * f64::from(value(pareto(at)))])
            .map(|[normal, pareto]| libm::rint(normal + pareto) as i16)
            .collect(),
        Shape::Table(table) => table.to_vec(),
    }
}

/// The normal number that a share `at` / 4096 of all are below, by bisection; that of the first entry is the end of the table.
fn normal_quantile(at: usize) -> f64 {
    let share = at as f64 / TABLE_ENTRIES as f64;
    let (mut low, mut high) = (-4.0, 4.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if 1.0 - above(middle) < share { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use alloc::string::ToString;

    fn jitter(text: &str) -> Result<Jitter, ComponentError> {
        Jitter::build(&Jitter::parse(text)?, None)
    }

    fn draws(text: &str, count: usize) -> Vec<f64> {
        let jitter = jitter(text).unwrap();
        let size = jitter.size.as_nanos() as f64;
        let mut draws = Draws::new(jitter, Random::derive(1, "jitter", text));
        (0..count).map(|_| draws.draw() as f64 / size).collect()
    }

    /// Mean, standard deviation and correlation with the draw before.
    fn moments(values: &[f64]) -> [f64; 3] {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let product =
            values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / (count - 1.0);
        [mean, square.sqrt(), product / square]
    }

    /// Shares below some values, beside the closed form of the distribution, within five standard errors of independent draws.
    #[test]
    fn exact_draws_follow_the_closed_forms() {
        const COUNT: usize = 400_000;
        let below = |values: &[f64], limit: f64| {
            values.iter().filter(|value| **value < limit).count() as f64 / COUNT as f64
        };
        // P(X < x) of a Pareto variable of shape 3: 1 - x^-3, at x = 1.5 + 0.866 d.
        let pareto = |d: f64| 1.0 - (1.5 + 0.75_f64.sqrt() * d).powi(-3);
        let normal = |z: f64| 0.5 * (1.0 + libm::erf(z / 2.0_f64.sqrt()));
        type Closed<'a> = (&'a str, &'a dyn Fn(f64) -> f64, &'a [f64]);
        let all: [Closed<'_>; 3] = [
            ("10ms", &|x| x, &[0.1, 0.5, 0.9]),
            ("normal:10ms", &normal, &[-2.0, -1.0, 0.0, 0.5, 3.0]),
            ("pareto:10ms", &pareto, &[-0.5, 0.0, 1.0, 4.0, 10.0]),
        ];
        for (text, share, limits) in all {
            let values = draws(text, COUNT);
            for &limit in limits {
                let (expected, found) = (share(limit), below(&values, limit));
                let error = (expected * (1.0 - expected) / COUNT as f64).sqrt();
                assert!(
                    (found - expected).abs() < 5.0 * error,
                    "{text} below {limit}: {found} for {expected}"
                );
            }
            // The correlation does not change the shares. Neighbours that depend on each other make their error larger.
            for (rho, wider) in [(25, 2.0), (80, 4.0)] {
                let values = draws(&std::format!("{}:correlation={rho}%", text), COUNT);
                for &limit in limits {
                    let (expected, found) = (share(limit), below(&values, limit));
                    let error = wider * (expected * (1.0 - expected) / COUNT as f64).sqrt();
                    assert!(
                        (found - expected).abs() < 5.0 * error,
                        "{text} {rho}% below {limit}: {found} for {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn deviation_and_correlation_are_those_asked_for() {
        for text in ["normal:1s", "paretonormal:1s"] {
            let [mean, deviation, _] = moments(&draws(text, 1_000_000));
            assert!(mean.abs() < 0.01 && (deviation - 1.0).abs() < 0.02, "{text}: {mean} {deviation}");
        }
        let [mean, deviation, rho] = moments(&draws("normal:1s:correlation=60%", 400_000));
        assert!(
            mean.abs() < 0.02 && (deviation - 1.0).abs() < 0.01 && (rho - 0.6).abs() < 0.01,
            "{mean} {deviation} {rho}"
        );
        let [mean, _, rho] = moments(&draws("1s:correlation=60%", 400_000));
        // The correlation of uniform numbers with that of normal ones: 6 / pi asin(rho / 2).
        let expected = 6.0 / core::f64::consts::PI * (0.3_f64).asin();
        assert!((mean - 0.5).abs() < 0.01 && (rho - expected).abs() < 0.01, "{mean} {rho} {expected}");
    }

    #[test]
    fn paretonormal_has_the_deviation_it_is_divided_by() {
        // The integral of the square over all quantiles, by the substitution of a normal number.
        let step = 1e-4;
        let square: f64 = (-90_000..90_000)
            .map(|n| f64::from(n) * step)
            .map(|z| {
                paretonormal(z).powi(2) * (-z * z / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt() * step
            })
            .sum();
        assert!((square.sqrt() - PARETONORMAL_DEVIATION).abs() < 1e-5, "{}", square.sqrt());
    }

    /// The tables of iproute2, where they are installed: each entry within 0.5% of the deviation, but for the first and last few.
    #[test]
    fn tables_are_those_of_netem() {
        let folders = ["/usr/lib/x86_64-linux-gnu/tc", "/usr/lib/aarch64-linux-gnu/tc", "/usr/lib/tc"];
        let shapes =
            [("normal", Shape::Normal), ("pareto", Shape::Pareto), ("paretonormal", Shape::ParetoNormal)];
        for (name, shape) in shapes {
            let file = folders
                .iter()
                .find_map(|folder| std::fs::read_to_string(std::format!("{folder}/{name}.dist")).ok());
            let Some(text) = file else { continue };
            let numbers = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
            let theirs: Vec<i16> = numbers.map(|number| number.parse().unwrap()).collect();
            let ours = netem_table(&shape);
            assert_eq!(theirs.len(), ours.len());
            for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate().skip(8).take(TABLE_ENTRIES - 16)
            {
                assert!(
                    (f64::from(*ours) - f64::from(*theirs)).abs() < 0.02 * TABLE_SCALE,
                    "{name} {at}: {ours} for {theirs}"
                );
            }
        }
    }

    /// Numbers by hand: a correlation of 50% is the weight 2147483648 + 1 of 4294967296.
    #[test]
    fn netem_mixes_whole_numbers() {
        assert_eq!((netem_share(0.0), netem_share(0.5), netem_share(1.0)), (0, 2_147_483_648, u32::MAX));
        assert_eq!(netem_mix(u32::MAX, 0, 0.5), 2_147_483_646);
        assert_eq!(netem_mix(0, u32::MAX, 0.5), 2_147_483_648);
        assert_eq!(netem_mix(7, 1234, 1.0), 1234);
        let (mut random, mut last) = (Random::derive(1, "a", "b"), None);
        let mut same = random.clone();
        let mut next = || (same.bits() >> 32) as u32;
        let (begun, first, second) = (next(), next(), next());
        let expected = netem_mix(first, begun, 0.25);
        assert_eq!(netem_draw(&mut random, 0.25, &mut last), expected);
        assert_eq!(netem_draw(&mut random, 0.25, &mut last), netem_mix(second, expected, 0.25));
    }

    /// Only the remainder of a draw is used, in which the draw before is not to be seen, unless the jitter is long.
    #[test]
    fn netem_s_correlation_moves_long_uniform_jitters_alone() {
        let uniform = 1.0 / 3.0_f64.sqrt();
        for (text, expected) in [
            ("10ms:variant=netem", uniform),
            ("10ms:variant=netem:correlation=75%", uniform),
            ("pareto:10ms:variant=netem", 0.82),
            ("pareto:10ms:variant=netem:correlation=75%", 0.82),
        ] {
            let [mean, deviation, rho] = moments(&draws(text, 200_000));
            assert!(mean.abs() < 0.05 && (deviation - expected).abs() < 0.02, "{text}: {mean} {deviation}");
            assert!(rho.abs() < 0.01, "{text}: {rho}");
        }
        // Twice the longest jitter is the range of the numbers but for one: an autoregression of uniform numbers, whose deviation is
        // sqrt((1 - rho) / (1 + rho)) of theirs.
        let [_, deviation, rho] = moments(&draws("2147483647ns:variant=netem:correlation=50%", 200_000));
        let expected = uniform * (0.5_f64 / 1.5).sqrt();
        assert!((deviation - expected).abs() < 0.01 && (rho - 0.5).abs() < 0.01, "{deviation} {rho}");
        let error = jitter("normal:2148ms:variant=netem").unwrap_err().to_string();
        assert!(error.contains("longer than netem's longest jitter"), "{error}");
    }

    #[test]
    fn what_users_write() {
        let plain = Jitter::from(Span::from_millis(5));
        for text in ["5ms", "uniform:5ms", "uniform:most=5ms"] {
            assert_eq!(jitter(text), Ok(plain.clone()), "{text}");
        }
        let normal = Jitter { shape: Shape::Normal, correlation: 0.25, reorder: true, ..plain.clone() };
        assert_eq!(jitter("normal:5ms:correlation=25%:reorder=on"), Ok(normal));
        assert!(jitter("5ms:correlation=10%").is_ok_and(|jitter| !jitter.is_plain()));
        let message = |text: &str| jitter(text).unwrap_err().to_string();
        assert!(message("normal").contains("no deviation; expected a time, as in normal:5ms"));
        assert!(message("gauss:5ms").contains("known: uniform, normal, pareto, paretonormal"));
        assert!(message("normal:5ms:correlation=2").contains("correlation"));
    }
}
