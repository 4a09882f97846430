//! Values over time, of which some are missing, as steps of a rate or a delay.

use qdelay_core::component::{Typed, Unit};
use qdelay_core::{Rate, Span, Time};
use qdelay_trace::{DelayStep, DelaySteps, RateStep, RateSteps};

/// Latest time of a file, in s: about the year 2500 since 1970.
const SECONDS_MAX: f64 = 1.8e10;

pub(super) const MISSING: Typed<str> =
    Typed::new("missing", "hold", "samples without a value: hold the value before, or refuse the file")
        .unit(Unit::Choice(&["hold", "refuse"]));

/// Values at their times, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Time of the file, and the value from then on.
    pub values: Vec<(Time, Option<f64>)>,
    /// End of the last value; `None`: it lasts as long as the one before.
    pub end: Option<Time>,
}

/// Values that are known, from time 0 on.
pub(super) struct Steps {
    values: Vec<(Time, f64)>,
    period: Span,
    /// A line about the samples without a value.
    pub note: Option<String>,
}

/// A time in seconds, `place` being its name in errors.
pub(super) fn time(seconds: f64, place: &str) -> Result<Time, String> {
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("{place}: {seconds} s is no time; expected 0 to {SECONDS_MAX} s"));
    }
    // Whole seconds separately, so that times since 1970 keep their fraction.
    let nanos = (seconds.fract() * 1e9).round() as u64;
    Ok(Time::from_nanos(seconds.trunc() as u64 * 1_000_000_000 + nanos))
}

impl Samples {
    /// The values with those that are missing held; samples without a value at the beginning and at the end are left out.
    ///
    /// # Errors
    /// No value, times out of order, or a missing value where `missing` refuses them.
    pub fn steps(self, missing: &str) -> Result<Steps, String> {
        for (at, pair) in self.values.windows(2).enumerate() {
            let [(before, _), (time, _)] = pair else { continue };
            if time <= before {
                let number = at + 2;
                return Err(format!(
                    "sample {number}: its time is not after that of sample {}; expected times in order",
                    at + 1
                ));
            }
        }
        let has_value = |(_, value): &(Time, Option<f64>)| value.is_some();
        let first = self.values.iter().position(has_value);
        let last = self.values.iter().rposition(has_value);
        let (Some(first), Some(last)) = (first, last) else {
            return Err(format!("none of {} samples has a value; expected at least one", self.values.len()));
        };
        let within = self.values.get(first..=last).unwrap_or_default();
        let held = within.iter().filter(|sample| !has_value(sample)).count();
        let without = self.values.len() - within.len() + held;
        if without > 0 && missing == "refuse" {
            return Err(format!(
                "{without} of {} samples have no value; expected one in each",
                self.values.len()
            ));
        }
        let origin = within.first().map_or(Time::ZERO, |(time, _)| *time);
        let values: Vec<(Time, f64)> = within
            .iter()
            .filter_map(|(time, value)| Some((Time::ZERO + time.since(origin), (*value)?)))
            .collect();
        let after = self.values.get(last + 1).map(|(time, _)| *time);
        let before = last.checked_sub(1).and_then(|before| self.values.get(before));
        let end_time = self.values.get(last).map_or(Time::ZERO, |(time, _)| *time);
        let usual = before.map_or(Span::from_secs(1), |(before, _)| end_time.since(*before));
        let end = after.or(self.end).unwrap_or(end_time + usual);
        let outside = self.values.len() - within.len();
        let note = (outside + held > 0).then(|| {
            let rows =
                |count: usize| if count == 1 { "1 sample".to_string() } else { format!("{count} samples") };
            format!(
                "{} without a value held, {} at the beginning and the end left out",
                rows(held),
                rows(outside)
            )
        });
        Ok(Steps { values, period: end.since(origin), note })
    }
}

impl Steps {
    /// The steps as rates, `scale` bit/s being 1.
    ///
    /// # Errors
    /// A rate that is negative or too large.
    pub fn rates(self, scale: f64) -> Result<RateSteps, String> {
        let step = |(start, value): &(Time, f64)| match value * scale {
            bps if bps >= 0.0 => Ok(RateStep { start: *start, rate: Rate::from_bps(bps.round() as u64) }),
            bps => Err(format!("a rate of {bps} bit/s; expected 0 or more")),
        };
        let steps = self.values.iter().map(step).collect::<Result<Vec<_>, _>>()?;
        RateSteps::new(steps, self.period).map_err(|error| error.problem.to_string())
    }

    /// The steps as delays, `scale` ns being 1.
    ///
    /// # Errors
    /// A delay that is negative or too large.
    pub fn delays(self, scale: f64) -> Result<DelaySteps, String> {
        let step = |(start, value): &(Time, f64)| match value * scale {
            nanos if nanos >= 0.0 => {
                Ok(DelayStep { start: *start, value: Span::from_nanos(nanos.round() as u64) })
            }
            nanos => Err(format!("a delay of {} ms; expected 0 or more", nanos / 1e6)),
        };
        let steps = self.values.iter().map(step).collect::<Result<Vec<_>, _>>()?;
        DelaySteps::new(steps, self.period).map_err(|error| error.problem.to_string())
    }
}
