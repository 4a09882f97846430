//! Models of random loss: whether each packet is lost, from draws of their own. The same models choose the packets that are corrupted,
//! copied or held back.
//!
//! `random` loses each packet with one probability, independently of the others; with `correlation` it is a chain of two states, lost and
//! not lost, whose share of losses is the probability and whose correlation of one packet with the next is that number, so that bursts of
//! losses have a mean length of 1 / ((1 - correlation) (1 - probability)). Its variant `netem` draws as Linux's `get_crandom`: the
//! numbers that are compared with the probability move less from packet to packet, and fewer of them are near 0, so that fewer packets are
//! lost than the probability says. `gilbert-elliott` is a Markov chain of two
//! states, good and bad, each with a probability of loss: Gilbert (1960), "Capacity of a Burst-Noise Channel", with losses in the
//! bad state alone, and Elliott (1963), "Estimates of Error Rates for Codes on Burst-Noise Channels", with losses in both. Its
//! parameters are those of netem's `loss gemodel P R 1-H 1-K`. It begins in the good state. For each packet the state first decides
//! whether the packet is lost, and then changes with its probability.
//!
//! `steps` loses each packet independently, with the probability that holds when it enters; a file of such probabilities is opened by the
//! library of traces. There is one draw for each packet, also while the probability is 0, so that a packet has the same draw whatever the
//! probabilities before it were.
//!
//! With p and r the probabilities of the changes, the chain is in the bad state a share p / (p + r) of the packets, and stays there
//! for 1 / r packets on average: with the defaults of the other two that is the mean length of a burst of losses.
//!
//! | parameter | unit | default | what it is |
//! | --- | --- | --- | --- |
//! | `probability` of `random` | percent | required | of the loss of a packet |
//! | `correlation` of `random` | percent | 0% | of one packet's loss with that of the packet before |
//! | `variant` of `random` | name | exact | `netem`: the correlation as in Linux's netem |
//! | `p` | percent | required | of the change from good to bad, after each packet |
//! | `r` | percent | required | of the change from bad to good, after each packet |
//! | `bad` | percent | 100% | of a loss in the bad state: 1-h |
//! | `good` | percent | 0% | of a loss in the good state: 1-k |
//! | `profile` of `steps` | times and percent | required | of the loss of a packet, and since when: `0s@0%+14.9s@30%` |
//! | `repeat` | time | | start over after this long; otherwise the last probability holds for ever |
//!
//! Differences from the reference: in netem `r` is 1-p where it is not given.

use crate::delay::jitter::{CORRELATION, VARIANT, Variant, netem_draw, netem_share};
use crate::over_time::{OverTime, REPEAT};
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Random, Time};
use qdelay_trace::LossRate;

const PROBABILITY: Typed<Option<f64>> = percent("probability", "", "Of the loss of a packet; required.");
const P: Typed<Option<f64>> = percent("p", "", "Of a change from good to bad, after each packet; required.");
const R: Typed<Option<f64>> = percent("r", "", "Of a change from bad to good, after each packet; required.");
const BAD: Typed<f64> = Typed::new("bad", "100%", "Of the loss of a packet in the bad state: 1-h.")
    .unit(Unit::Percent)
    .within("0%", "100%")
    .source("Gilbert 1960; netem");
const GOOD: Typed<f64> = Typed::new("good", "0%", "Of the loss of a packet in the good state: 1-k.")
    .unit(Unit::Percent)
    .within("0%", "100%")
    .source("Gilbert 1960; netem");
const PROFILE: Typed<Option<&str>> = Typed::new(
    "profile",
    "",
    "Probabilities of the loss of a packet and since when they hold, as in 0s@0%+5s@2%; required.",
);

const fn percent(name: &'static str, default: &'static str, about: &'static str) -> Typed<Option<f64>> {
    Typed::new(name, default, about).unit(Unit::Percent).within("0%", "100%")
}

static RANDOM: Component =
    Component::new(Kind::Loss, "random", "Each packet by itself; what a plain percentage means.")
        .with(&[PROBABILITY.parameter(), CORRELATION.parameter(), VARIANT.parameter()])
        .positional("probability");
static GILBERT_ELLIOTT: Component =
    Component::new(Kind::Loss, "gilbert-elliott", "In bursts: a chain of a good and a bad state.")
        .source("Gilbert 1960, Elliott 1963; netem's loss gemodel")
        .with(&[P.parameter(), R.parameter(), BAD.parameter(), GOOD.parameter()]);
static STEPS: Component =
    Component::new(Kind::Loss, "steps", "Each packet by itself, with a probability that changes in steps.")
        .with(&[PROFILE.parameter(), REPEAT.parameter()])
        .positional("profile");

/// An example of a loss over time.
const STEPS_EXAMPLE: &str = "steps:0s@0%+14.9s@30%:repeat=15s";

/// The models that users can name, in the order they are listed.
pub static LOSSES: &[&Component] = &[&RANDOM, &GILBERT_ELLIOTT, &STEPS];

/// A model of random loss. Probabilities are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet with this probability.
    Random(f64),
    /// Each packet with a probability that depends on the packet before.
    Correlated {
        /// Share of lost packets; in the variant `netem` the number that draws are compared with.
        probability: f64,
        /// Correlation with the packet before.
        correlation: f64,
        /// Arithmetic of the draws.
        variant: Variant,
    },
    /// A chain of two states.
    GilbertElliott {
        /// Probability of the change from good to bad after each packet.
        p: f64,
        /// Probability of the change from bad to good after each packet.
        r: f64,
        /// Probability of a loss in the bad state.
        bad: f64,
        /// Probability of a loss in the good state.
        good: f64,
    },
    /// Each packet with the probability that holds when it enters.
    OverTime(Box<OverTime<LossRate>>),
}

/// Each packet with this probability.
impl From<f64> for LossModel {
    fn from(probability: f64) -> LossModel {
        LossModel::Random(probability)
    }
}

impl LossModel {
    /// The model that `arguments` of one of [`LOSSES`] describe.
    ///
    /// # Errors
    /// A probability that is required is missing, or a component that is no model of loss.
    pub fn build(arguments: &Arguments) -> Result<LossModel, ComponentError> {
        let required = |key: &Typed<Option<f64>>| {
            let missing = || {
                let name = key.name();
                arguments.fail(alloc::format!("no {name}; expected a percentage such as {name}=1%"))
            };
            arguments.get(key).ok_or_else(missing)
        };
        match arguments.component().name {
            name if name == RANDOM.name => {
                let (probability, correlation) = (required(&PROBABILITY)?, arguments.get(&CORRELATION));
                let variant = Variant::named(arguments);
                Ok(match correlation > 0.0 {
                    true => LossModel::Correlated { probability, correlation, variant },
                    false => LossModel::Random(probability),
                })
            }
            name if name == GILBERT_ELLIOTT.name => Ok(LossModel::GilbertElliott {
                p: required(&P)?,
                r: required(&R)?,
                bad: arguments.get(&BAD),
                good: arguments.get(&GOOD),
            }),
            name if name == STEPS.name => {
                OverTime::build(arguments, &PROFILE, STEPS_EXAMPLE).map(LossModel::over_time)
            }
            name => Err(arguments.fail(alloc::format!("'{name}' is not a model of loss"))),
        }
    }

    /// A probability over time.
    pub fn over_time(losses: OverTime<LossRate>) -> LossModel {
        LossModel::OverTime(Box::new(losses))
    }

    /// Reads a model as users write it: `1%`, `gilbert-elliott:p=1%:r=25%`.
    ///
    /// # Errors
    /// An unknown name or key, or a value out of its range.
    pub fn parse(text: &str) -> Result<Arguments, ComponentError> {
        if is_percentage(text) {
            return Arguments::from_parts(&RANDOM, text, text.split(':'))
                .map_err(|message| ComponentError::new(text, message));
        }
        Arguments::parse(LOSSES, text)
    }

    /// Whether it can lose a packet.
    pub fn is_lossy(&self) -> bool {
        match self {
            LossModel::None => false,
            LossModel::Random(probability) | LossModel::Correlated { probability, .. } => *probability > 0.0,
            LossModel::GilbertElliott { p, bad, good, .. } => *good > 0.0 || *p > 0.0 && *bad > 0.0,
            LossModel::OverTime(losses) => losses.steps().largest() > LossRate(0.0),
        }
    }

    /// Smallest probability of loss.
    pub fn least(&self) -> f64 {
        match self {
            LossModel::None => 0.0,
            LossModel::Random(probability) | LossModel::Correlated { probability, .. } => *probability,
            LossModel::GilbertElliott { bad, good, .. } => bad.min(*good),
            LossModel::OverTime(losses) => losses.steps().least().0,
        }
    }

    /// Whether all of its numbers are probabilities.
    pub fn is_possible(&self) -> bool {
        let is_one = |probability: &f64| (0.0..=1.0).contains(probability);
        match self {
            // Steps are checked when they are made.
            LossModel::None | LossModel::OverTime(_) => true,
            LossModel::Random(probability) => is_one(probability),
            LossModel::Correlated { probability, correlation, .. } => {
                is_one(probability) && is_one(correlation)
            }
            LossModel::GilbertElliott { p, r, bad, good } => [p, r, bad, good].into_iter().all(is_one),
        }
    }
}

/// Whether `text` is meant as a percentage: it begins like a number.
pub fn is_percentage(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || ['.', '-', '+'].contains(&first))
}

/// A model of loss at work.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    model: LossModel,
    /// True if a chain is in the bad state, or, with correlated losses, the packet before was lost.
    is_bad: bool,
    /// True if correlated losses had a packet before.
    is_begun: bool,
    /// Draw before of correlated losses in the variant `netem`.
    last: Option<u32>,
    random: Random,
}

impl Loss {
    pub(crate) fn new(model: LossModel, random: Random) -> Loss {
        Loss { model, is_bad: false, is_begun: false, last: None, random }
    }

    /// Goes on as `old`, which has the same model.
    pub(crate) fn go_on_as(&mut self, old: Loss) {
        if self.model == old.model {
            *self = old;
        }
    }

    /// Whether a packet that enters at `now` is lost.
    pub(crate) fn draw(&mut self, now: Time) -> bool {
        match &mut self.model {
            LossModel::None => false,
            LossModel::Random(probability) => self.random.unit() < *probability,
            LossModel::OverTime(losses) => self.random.unit() < losses.at(now).0,
            &mut LossModel::Correlated { probability, correlation, variant: Variant::Netem } => {
                let draw = netem_draw(&mut self.random, correlation, &mut self.last);
                probability > 0.0 && draw <= netem_share(probability)
            }
            &mut LossModel::Correlated { probability, correlation, variant: Variant::Exact } => {
                // The first packet has none before it.
                let share = match (self.is_begun, self.is_bad) {
                    (false, _) => probability,
                    (true, true) => probability + correlation * (1.0 - probability),
                    (true, false) => probability * (1.0 - correlation),
                };
                (self.is_begun, self.is_bad) = (true, self.random.unit() < share);
                self.is_bad
            }
            &mut LossModel::GilbertElliott { p, r, bad, good } => {
                let (loss, change) = if self.is_bad { (bad, r) } else { (good, p) };
                let is_lost = self.random.unit() < loss;
                self.is_bad ^= self.random.unit() < change;
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn model(text: &str) -> Result<LossModel, ComponentError> {
        LossModel::build(&LossModel::parse(text)?)
    }

    #[test]
    fn what_users_write() {
        for text in ["1%", "random:1%", "random:probability=1%", "1.0%"] {
            assert_eq!(model(text), Ok(LossModel::Random(0.01)), "{text}");
        }
        let correlated =
            |variant| Ok(LossModel::Correlated { probability: 0.01, correlation: 0.25, variant });
        assert_eq!(model("1%:correlation=25%"), correlated(Variant::Exact));
        assert_eq!(model("random:1%:correlation=25%:variant=netem"), correlated(Variant::Netem));
        assert_eq!(model("1%:variant=netem"), Ok(LossModel::Random(0.01)));
        let chain = |bad, good| Ok(LossModel::GilbertElliott { p: 0.01, r: 0.25, bad, good });
        assert_eq!(model("gilbert-elliott:p=1%:r=25%"), chain(1.0, 0.0));
        assert_eq!(model("gilbert-elliott:p=1%:r=25%:bad=50%:good=0.1%"), chain(0.5, 0.001));
        assert!(model("0%").is_ok_and(|model| !model.is_lossy()));
        assert!(model("gilbert-elliott:p=0%:r=25%").is_ok_and(|model| !model.is_lossy()));
    }

    #[test]
    fn every_error_names_what_was_expected() {
        let message = |text| model(text).unwrap_err().to_string();
        assert!(message("101%").contains("0% to 100%"), "{}", message("101%"));
        assert!(message("-1%").contains("such as 1%"), "{}", message("-1%"));
        assert!(message("0.01").contains("such as 1%"));
        assert!(message("gilbert-elliott:r=1%").contains("p=1%"));
        assert!(message("gilbert-elliott:p=1%").contains("r=1%"));
        assert!(message("random").contains("probability=1%"));
        assert!(message("burst").contains("known: random, gilbert-elliott, steps"));
        assert!(message("steps").contains("no profile; expected one, as in steps:0s@0%+14.9s@30%"));
        assert!(message("steps:0s@101%").contains("expected at most 100%"), "{}", message("steps:0s@101%"));
        assert!(message("steps:0s@0.1").contains("in step '0s@0.1'"));
        assert!(message("steps:1s@1%").contains("time 0"));
        assert!(message("steps:0s@1%+2s@0%:repeat=1s").contains("begins before the trace ends"));
        assert!(message("steps:5%").contains("'5%' is not a step"));
    }
}
