//! A delay that changes over time: steps, written in the text or read from a file.
//!
//! A packet takes the delay that holds when it enters. By default no packet overtakes another, as on a wire: one that would leave before
//! the packet in front of it leaves together with that. With `reorder` each packet takes its own delay.
//!
//! Parameters of `steps`: `profile`, the delays and since when they hold; `repeat`, start over after this long (default: the last delay
//! holds for ever); `reorder`. Those of a file are in the library of traces, which opens it.

use crate::over_time::{OverTime, REPEAT};
use alloc::format;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed};
use qdelay_core::{Span, Time};
use qdelay_trace::DelaySteps;

const PROFILE: Typed<Option<&str>> =
    Typed::new("profile", "", "Delays and since when they hold, as in 0s@20ms+5s@60ms; required.");
/// Key `reorder`, of every delay over time and every jitter.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    delays: OverTime<Span>,
    /// True if packets may overtake others.
    pub(crate) reorder: bool,
    part: Part,
}

impl Curve {
    /// A curve of `steps`, which start over at their end if `repeat`; otherwise the last delay holds.
    pub fn new(steps: DelaySteps, repeat: bool, reorder: bool) -> Curve {
        Curve { delays: OverTime::new(steps, repeat), reorder, part: Part::Whole }
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
        let delays = OverTime::build(arguments, &PROFILE, EXAMPLE)?;
        Ok(Curve { delays, reorder: arguments.get(&REORDER), part: Part::Whole })
    }

    /// The same curve, at position `place` when the run begins.
    #[must_use]
    pub fn starting_from(self, place: Span) -> Curve {
        Curve { delays: self.delays.starting_from(place), ..self }
    }
    /// The same curve, of which a delay takes `part`.
    #[must_use]
    pub fn part(self, part: Part) -> Curve {
        Curve { part, ..self }
    }
    /// The steps.
    pub fn steps(&self) -> &DelaySteps {
        self.delays.steps()
    }
    /// Returns true if the curve starts over at its end.
    pub fn repeats(&self) -> bool {
        self.delays.repeats()
    }

    /// The delay of a packet that enters at `now`.
    pub fn at(&mut self, now: Time) -> Span {
        let delay = self.delays.at(now);
        match self.part {
            Part::Whole => delay,
            Part::Half => delay / 2,
            Part::Rest => delay.saturating_sub(delay / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

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
