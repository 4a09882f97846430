//! A delay that changes over time: steps, written in the text or read from a file.
//!
//! A packet takes the delay that holds when it enters. By default no packet overtakes another, as on a wire: one that would leave before
//! the packet in front of it leaves together with that. With `reorder` each packet takes its own delay.
//!
//! Parameters of `steps`: `profile`, the delays and since when they hold; `repeat`, start over after this long (default: the last delay
//! holds for ever); `reorder`. Those of a file are in the library of traces, which opens it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed};
use qdelay_core::units::parse_span;
use qdelay_core::{Span, Time};
use qdelay_trace::{DelayStep, DelaySteps};

const PROFILE: Typed<Option<&str>> =
    Typed::new("profile", "", "Delays and since when they hold, as in 0s@20ms+5s@60ms; required.");
const REPEAT: Typed<Option<Span>> = Typed::new(
    "repeat",
    "",
    "Start over after this long; the last delay holds for ever where it is not given.",
)
.within("1us", "");
/// Key `reorder`, of every delay over time.
pub const REORDER: Typed<bool> = Typed::new(
    "reorder",
    "off",
    "on: each packet takes its own delay, and may overtake others; off: packets keep their order",
);

static STEPS: Component = Component::new(Kind::Delay, "steps", "A delay that changes in steps.")
    .with(&[PROFILE.parameter(), REPEAT.parameter(), REORDER.parameter()])
    .positional("profile");

/// Delays over time that text can name without a file.
pub static CURVES: &[&Component] = &[&STEPS];

/// An example of a delay over time.
pub const EXAMPLE: &str = "steps:0s@20ms+5s@60ms:repeat=10s";

/// The part of a curve's value that a delay takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// Half of it, rounded down: the data direction of a round trip.
    Half,
    /// The rest, with the other half.
    Rest,
}

/// A delay over time.
#[derive(Clone, Debug)]
pub struct Curve {
    steps: DelaySteps,
    repeat: bool,
    /// True if packets may overtake others.
    pub(crate) reorder: bool,
    /// Position of the curve when the run begins.
    place: Span,
    part: Part,
    /// Index of the step of the last query, from which the next one is found in most cases at once.
    near: u32,
}

/// Equal curves have equal values at all times; where the last query was does not matter.
impl PartialEq for Curve {
    fn eq(&self, other: &Curve) -> bool {
        let of = |curve: &Curve| (curve.repeat, curve.reorder, curve.place, curve.part);
        of(self) == of(other) && self.steps == other.steps
    }
}

impl Curve {
    /// A curve of `steps`, which start over at their end if `repeat`; otherwise the last delay holds.
    pub fn new(steps: DelaySteps, repeat: bool, reorder: bool) -> Curve {
        Curve { steps, repeat, reorder, place: Span::ZERO, part: Part::Whole, near: 0 }
    }

    /// The curve that `arguments` of one of [`CURVES`] describe.
    ///
    /// # Errors
    /// No profile, or one that cannot be read.
    pub fn build(arguments: &Arguments) -> Result<Curve, ComponentError> {
        let name = arguments.component().name;
        if name != STEPS.name {
            return Err(arguments.fail(format!("'{name}' is not a delay over time")));
        }
        let Some(profile) = arguments.get(&PROFILE) else {
            return Err(arguments.fail(format!("no delays are given; expected some, as in {EXAMPLE}")));
        };
        let repeat = arguments.get(&REPEAT);
        let steps = steps(profile, repeat).map_err(|message| arguments.fail(message))?;
        Ok(Curve::new(steps, repeat.is_some(), arguments.get(&REORDER)))
    }

    /// The same curve, at position `place` when the run begins.
    #[must_use]
    pub fn starting_from(self, place: Span) -> Curve {
        Curve { place, ..self }
    }
    /// The same curve, of which a delay takes `part`.
    #[must_use]
    pub fn part(self, part: Part) -> Curve {
        Curve { part, ..self }
    }
    /// The steps.
    pub fn steps(&self) -> &DelaySteps {
        &self.steps
    }
    /// Returns true if the curve starts over at its end.
    pub fn repeats(&self) -> bool {
        self.repeat
    }

    /// The delay of a packet that enters at `now`.
    pub fn at(&mut self, now: Time) -> Span {
        let delay = self.step(now).delay;
        match self.part {
            Part::Whole => delay,
            Part::Half => delay / 2,
            Part::Rest => delay.saturating_sub(delay / 2),
        }
    }

    /// The step that holds at `now`.
    fn step(&mut self, now: Time) -> DelayStep {
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
        let step = steps.get(at).copied();
        self.near = at as u32;
        step.unwrap_or(DelayStep { start: Time::ZERO, delay: Span::ZERO })
    }
}

/// The steps of `profile`, such as `0s@20ms+5s@60ms`.
fn steps(profile: &str, repeat: Option<Span>) -> Result<DelaySteps, String> {
    let mut steps = Vec::new();
    for part in profile.split('+') {
        let (start, delay) = part
            .split_once('@')
            .ok_or_else(|| format!("'{part}' is not a step; expected a time and a delay, such as 5s@60ms"))?;
        let start = parse_span(start).map_err(|e| format!("in step '{part}': {e}"))?;
        let delay = parse_span(delay).map_err(|e| format!("in step '{part}': {e}"))?;
        steps.push(DelayStep { start: Time::ZERO + start, delay });
    }
    let last = steps.last().map_or(Time::ZERO, |step| step.start);
    let period = repeat.unwrap_or(last.since(Time::ZERO) + Span::from_secs(1));
    DelaySteps::new(steps, period).map_err(|e| format!("profile: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use qdelay_core::Random;

    fn curve(text: &str) -> Result<Curve, ComponentError> {
        Curve::build(&Arguments::parse(CURVES, text)?)
    }
    fn ms(n: u64) -> Time {
        Time::from_nanos(n * 1_000_000)
    }

    #[test]
    fn steps_hold_and_repeat_or_stay() {
        let values =
            |mut curve: Curve| [0, 4999, 5000, 9999, 10_000, 16_000].map(|at| curve.at(ms(at)).as_millis());
        let repeating = curve("steps:0s@20ms+5s@60ms:repeat=10s").unwrap();
        assert_eq!(values(repeating.clone()), [20, 20, 60, 60, 20, 60]);
        assert_eq!(values(repeating.starting_from(Span::from_secs(5))), [60, 60, 20, 20, 60, 20]);
        assert_eq!(values(curve("steps:0s@20ms+5s@60ms").unwrap()), [20, 20, 60, 60, 60, 60]);
        let odd = curve("steps:0s@21us").unwrap();
        let part = |part| odd.clone().part(part).at(ms(1)).as_nanos();
        assert_eq!((part(Part::Half), part(Part::Rest), part(Part::Whole)), (10_500, 10_500, 21_000));
    }

    /// Queries in any order give the values of a walk over all steps.
    #[test]
    fn the_order_of_queries_does_not_matter() {
        let random = &mut Random::derive(1, "curve", "queries");
        let steps: Vec<DelayStep> = (0..50)
            .map(|n| DelayStep { start: ms(n * 7 + n % 3), delay: Span::from_millis(random.below(90)) })
            .collect();
        let delays = DelaySteps::new(steps.clone(), Span::from_millis(400)).unwrap();
        let mut curve = Curve::new(delays, true, false);
        for _ in 0..5000 {
            let now = Time::from_nanos(random.below(2_000_000_000));
            let within = Time::from_nanos(now.as_nanos() % 400_000_000);
            let expected = steps.iter().rfind(|step| step.start <= within).unwrap().delay;
            assert_eq!(curve.at(now), expected, "{now}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| curve(text).unwrap_err().to_string();
        assert!(message("steps").contains(EXAMPLE));
        assert!(message("steps:20ms").contains("5s@60ms"));
        assert!(message("steps:0s@20").contains("in step '0s@20'"));
        assert!(message("steps:1s@20ms").contains("time 0"));
        assert!(message("steps:0s@2min").contains("60000 ms"));
        assert!(message("steps:0s@20ms+2s@1ms:repeat=1s").contains("begins before the trace ends"));
    }
}
