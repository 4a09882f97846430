//! Values over time: delays and probabilities of loss in steps, written in the text or read from a file.
//!
//! A packet takes the value that holds when it enters.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, ComponentError, Typed};
use qdelay_core::{Span, Time};
use qdelay_trace::{Step, StepValue, Steps};

/// Key `repeat`, of every profile.
pub(crate) const REPEAT: Typed<Option<Span>> = Typed::new(
    "repeat",
    "",
    "Start over after this long; the last value holds for ever where it is not given.",
)
.within("1us", "");

/// A value over time.
#[derive(Clone, Debug)]
pub struct OverTime<V> {
    steps: Steps<V>,
    repeat: bool,
    /// Position of the steps when the run begins.
    place: Span,
    /// Index of the step of the last query, from which the next one is found in most cases at once.
    near: u32,
}

/// Equal ones have equal values at all times; where the last query was does not matter.
impl<V: PartialEq> PartialEq for OverTime<V> {
    fn eq(&self, other: &OverTime<V>) -> bool {
        self.repeat == other.repeat && self.place == other.place && self.steps == other.steps
    }
}

impl<V: StepValue> OverTime<V> {
    /// Values of `steps`, which start over at their end if `repeat`; otherwise the last value holds.
    pub fn new(steps: Steps<V>, repeat: bool) -> OverTime<V> {
        OverTime { steps, repeat, place: Span::ZERO, near: 0 }
    }

    /// The values of the key `profile` of `arguments`, such as `0s@20ms+5s@60ms`; errors have the complete `example`.
    pub(crate) fn build(
        arguments: &Arguments,
        profile: &Typed<Option<&'static str>>,
        example: &str,
    ) -> Result<OverTime<V>, ComponentError> {
        let Some(text) = arguments.get(profile) else {
            let message = format!("no {}; expected one, as in {example}", profile.name());
            return Err(arguments.fail(message));
        };
        let repeat = arguments.get(&REPEAT);
        let steps = steps(text, repeat, example).map_err(|message| arguments.fail(message))?;
        Ok(OverTime::new(steps, repeat.is_some()))
    }

    /// The same values, at position `place` when the run begins.
    #[must_use]
    pub fn starting_from(self, place: Span) -> OverTime<V> {
        OverTime { place, ..self }
    }
    /// The steps.
    pub fn steps(&self) -> &Steps<V> {
        &self.steps
    }
    /// Returns true if the values start over at their end.
    pub fn repeats(&self) -> bool {
        self.repeat
    }

    /// The value that holds at `now`.
    pub fn at(&mut self, now: Time) -> V {
        let (steps, period) = (self.steps.steps(), self.steps.period().as_nanos().max(1));
        let place = (now + self.place).as_nanos();
        let within = Time::from_nanos(if self.repeat { place % period } else { place });
        let holds = |at: usize| {
            steps.get(at).is_some_and(|step| step.start <= within)
                && steps.get(at + 1).is_none_or(|next| next.start > within)
        };
        let near = self.near as usize;
        let at = [near, near + 1, 0]
            .into_iter()
            .find(|&at| holds(at))
            .unwrap_or_else(|| steps.partition_point(|step| step.start <= within).saturating_sub(1));
        self.near = at as u32;
        steps.get(at).map_or(V::default(), |step| step.value)
    }
}

/// The steps of `profile`.
fn steps<V: StepValue>(profile: &str, repeat: Option<Span>, example: &str) -> Result<Steps<V>, String> {
    let mut steps = Vec::new();
    for part in profile.split('+') {
        let (start, value) = part
            .split_once('@')
            .ok_or_else(|| format!("'{part}' is not a step; expected a time and a value, as in {example}"))?;
        let start = <Span as StepValue>::parse(start).map_err(|e| format!("in step '{part}': {e}"))?;
        let value = V::parse(value).map_err(|e| format!("in step '{part}': {e}"))?;
        steps.push(Step { start: Time::ZERO + start, value });
    }
    let last = steps.last().map_or(Time::ZERO, |step| step.start);
    let period = repeat.unwrap_or(last.since(Time::ZERO) + Span::from_secs(1));
    Steps::new(steps, period).map_err(|e| format!("profile: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Random;
    use qdelay_trace::{LossRate, LossStep};

    /// Queries in any order give the values of a walk over all steps.
    #[test]
    fn the_order_of_queries_does_not_matter() {
        fn check<V: StepValue>(draw: impl Fn(u64) -> V) {
            let random = &mut Random::derive(1, "curve", "queries");
            let ms = |n: u64| Time::from_nanos(n * 1_000_000);
            let steps: Vec<Step<V>> =
                (0..50).map(|n| Step { start: ms(n * 7 + n % 3), value: draw(random.below(90)) }).collect();
            let of_round = Steps::new(steps.clone(), Span::from_millis(400)).unwrap();
            let mut values = OverTime::new(of_round, true);
            for _ in 0..5000 {
                let now = Time::from_nanos(random.below(2_000_000_000));
                let within = Time::from_nanos(now.as_nanos() % 400_000_000);
                let expected = steps.iter().rfind(|step| step.start <= within).unwrap().value;
                assert_eq!(values.at(now), expected, "{now}");
            }
        }
        check(Span::from_millis);
        check(|n| LossRate(n as f64 / 100.0));
    }

    #[test]
    fn equal_values_are_equal_wherever_the_last_query_was() {
        let step = |s, percent| LossStep { start: Time::ZERO + Span::from_secs(s), value: LossRate(percent) };
        let steps = Steps::new(alloc::vec![step(0, 0.0), step(1, 0.5)], Span::from_secs(2)).unwrap();
        let (mut a, b) = (OverTime::new(steps.clone(), true), OverTime::new(steps, true));
        a.at(Time::ZERO + Span::from_secs(1));
        assert!(a == b && a.clone().starting_from(Span::from_secs(1)) != b);
    }
}
