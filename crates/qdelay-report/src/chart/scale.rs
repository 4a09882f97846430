//! From figures to positions: scales, their ticks, and numbers as text.

/// Fewer ticks than these say little of a scale.
const FEW: usize = 3;

/// From figures to positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The figure at one end.
    pub low: f64,
    /// The figure at the other one, above `low`; on a logarithmic scale both are above 0.
    pub high: f64,
    /// Whether equal distances are equal ratios.
    pub is_log: bool,
    /// The position of `low`.
    pub from: f64,
    /// The position of `high`.
    pub to: f64,
}

impl Scale {
    /// From `low` to `high`.
    pub fn new(low: f64, high: f64, is_log: bool) -> Scale {
        Scale { low, high, is_log, from: 0.0, to: 1.0 }
    }

    /// A scale around `values`, with this share of their extent as margin; a logarithmic scale uses the values above 0. An empty
    /// extent is widened.
    pub fn around(values: impl IntoIterator<Item = f64>, is_log: bool, share: f64) -> Scale {
        let there = values.into_iter().filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (low, high) = there
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return if is_log { Scale::new(0.1, 10.0, true) } else { Scale::new(0.0, 1.0, false) };
        }
        if is_log {
            let room = libm::pow(high / low, share).max(1.15);
            return Scale::new(low / room, high * room, true);
        }
        let extent = if high > low { high - low } else { high.abs().max(1e-3) };
        Scale::new(low - extent * share, high + extent * share, false)
    }

    /// From 0 to a little above the largest.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Scale {
        let high = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
        Scale::new(0.0, if high > 0.0 { high * 1.06 } else { 1.0 }, false)
    }

    /// The same between these positions.
    #[must_use]
    pub fn between(self, from: f64, to: f64) -> Scale {
        Scale { from, to, ..self }
    }

    /// The position of `value`, clamped to the ends.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            libm::log(value.max(1e-12) / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round figures on it, at most about `most`, in order.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        let linear = || self.linear_ticks(most);
        if !self.is_log {
            return linear();
        }
        let ticks = self.log_ticks(most);
        // Between two powers of ten there may be nothing as round as that.
        if ticks.len() < FEW.min(most) && linear().len() > ticks.len() { linear() } else { ticks }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        if !(rough.is_finite() && rough > 0.0) {
            return Vec::new();
        }
        let power = libm::floor(libm::log10(rough)) as i32 - 1;
        let steps = [10, 20, 25, 50, 100];
        let step = steps.into_iter().find(|step| decimal(*step, power) >= rough).unwrap_or(100);
        let size = decimal(step, power);
        // A round end is a tick, despite rounding errors.
        let first = (self.low / size - 1e-9).ceil() as i64;
        let last = (self.high / size + 1e-9).floor() as i64;
        (first..=last.min(first.saturating_add(100)))
            .map(|number| decimal(number.saturating_mul(step), power))
            .collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let power = |value: f64| libm::log10(value.max(f64::MIN_POSITIVE));
        let (first, last) = (power(self.low).floor() as i32, power(self.high).ceil() as i32);
        let on = |tenths: &[i64], every: i32| -> Vec<f64> {
            let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
            let all = powers.flat_map(|power| tenths.iter().map(move |step| decimal(*step, power - 1)));
            all.filter(|value| *value >= self.low * 0.9999 && *value <= self.high * 1.0001).collect()
        };
        let within: [&[i64]; 5] =
            [&[10, 15, 20, 30, 40, 50, 60, 80], &[10, 20, 30, 50, 70], &[10, 20, 50], &[10, 30], &[10]];
        let candidates = within.into_iter().map(|tenths| on(tenths, 1));
        let fewer = (2..=last - first).map(|every| on(&[10], every));
        candidates.chain(fewer).find(|ticks| ticks.len() <= most).unwrap_or_default()
    }
}

/// `digits` with this many zeros or decimals, as the nearest float, so that it is printed with few digits.
fn decimal(digits: i64, power: i32) -> f64 {
    format!("{digits}e{power}").parse().unwrap_or(f64::NAN)
}

/// A number for readers: three digits, no trailing zeros, thousands apart.
pub fn number_text(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if size < 10_000.0 {
        return text.to_string();
    }
    let (sign, figures) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let from_end = |at: usize| figures.len() - at;
    let spaced = figures.char_indices().map(|(at, figure)| {
        let gap = if at > 0 && from_end(at) % 3 == 0 { "\u{202f}" } else { "" };
        format!("{gap}{figure}")
    });
    format!("{sign}{}", spaced.collect::<String>())
}

/// A tick's label: all of its digits.
pub fn tick_text(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if !(1e-4..1e7).contains(&size) => format!("{value:e}"),
        size if size >= 10_000.0 => number_text(value),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_on_the_scale() {
        let ticks = |low, high, is_log, most| {
            let ticks = Scale::new(low, high, is_log).ticks(most);
            ticks.into_iter().map(tick_text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ticks(0.0, 10.0, false, 5), "0 2 4 6 8 10");
        assert_eq!(ticks(0.0, 0.7, false, 8), "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7");
        assert_eq!(ticks(-0.3, 0.3, false, 6), "-0.3 -0.2 -0.1 0 0.1 0.2 0.3");
        assert_eq!(ticks(0.0, 3e-5, false, 3), "0 1e-5 2e-5 3e-5");
        assert_eq!(ticks(0.0, 60_000.0, false, 3), "0 20\u{202f}000 40\u{202f}000 60\u{202f}000");
        assert_eq!(ticks(1e8, 1.2e8, false, 2), "1e8 1.1e8 1.2e8");
        assert_eq!(ticks(0.5, 2000.0, true, 5), "1 10 100 1000");
        assert_eq!(ticks(1.0, 10.0, true, 5), "1 2 5 10");
        assert_eq!(ticks(1.1, 700.0, true, 7), "3 10 30 100 300");
        assert_eq!(ticks(0.01, 0.2, true, 6), "0.01 0.02 0.05 0.1 0.2");
        assert_eq!(ticks(41.0, 49.5, true, 8), "42 44 46 48", "nothing rounder lies between");
        assert_eq!(
            ticks(1e-6, 1e6, true, 5),
            "1e-6 0.001 1 1000 1000000".replace("1000000", "1\u{202f}000\u{202f}000")
        );
    }

    #[test]
    fn ticks_ascend_whatever_the_scale() {
        let ranges =
            [(0.98, 1.0), (1e-3, 1e5), (-5.0, 3.0), (7.0, 7.1), (1e-9, 1e-8), (0.0, 1e15), (3.0, 3.0)];
        for (low, high) in ranges {
            for is_log in [false, true].into_iter().filter(|is_log| !is_log || low > 0.0) {
                let scale = Scale::new(low, high, is_log).between(0.0, 100.0);
                for most in 1..14 {
                    let ticks = scale.ticks(most);
                    assert!(ticks.len() <= most + 1, "{low} {high} {most}: {ticks:?}");
                    let room = (high - low) * 1e-6;
                    assert!(ticks.iter().all(|tick| *tick >= low - room && *tick <= high + room));
                    let ascend = |pair: &[f64]| pair[0] < pair[1] && scale.at(pair[0]) < scale.at(pair[1]);
                    assert!(ticks.windows(2).all(ascend), "{low} {high} {most}: {ticks:?}");
                }
                assert!(low == high || scale.ticks(8).len() > 1, "{low} {high} {is_log}");
            }
        }
    }

    #[test]
    fn what_has_no_extent_gets_one() {
        for values in [&[][..], &[3.0], &[0.0, 0.0], &[f64::NAN]] {
            for is_log in [false, true] {
                let scale = Scale::around(values.iter().copied(), is_log, 0.1).between(0.0, 10.0);
                assert!(scale.low < scale.high && scale.at(3.0).is_finite() && !scale.ticks(5).is_empty());
            }
        }
    }

    #[test]
    fn numbers_as_people_write_them() {
        for (value, text) in
            [(0.99948, "0.999"), (16.58, "16.6"), (2366.08, "2366"), (12_345.0, "12\u{202f}345"), (0.0, "0")]
        {
            assert_eq!(number_text(value), text);
        }
        assert_eq!([tick_text(0.05), tick_text(100.0), tick_text(-0.0)], ["0.05", "100", "0"]);
    }
}
