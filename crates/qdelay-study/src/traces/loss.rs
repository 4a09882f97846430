//! Losses as users name them: a percentage, a model, steps, or a file with a probability over time.

use super::netem;
use super::steps::{self, EVERY, FILE, REPEAT, SCALE};
use super::window::{self, FOR, FROM};
use qdelay_core::component::{self, Arguments, Component, Kind, Typed, without_brackets};
use qdelay_path::{LOSSES, LossModel, OverTime, is_percentage};
use qdelay_trace::LossRate;
use std::io::Read;

const FORMAT: Typed<Option<&str>> = window::FORMAT.about(
    "a table's column, as in [csv:loss:time=t:unit=ratio] (unit: percent, ratio); default: lines of text",
);

static TRACE: Component = Component::new(
    Kind::Loss,
    "trace",
    "each packet by itself, with a probability from a file: lines of percent, or seconds and percent; or a table",
)
.with(&[
    FILE.parameter(),
    EVERY.parameter(),
    FROM.parameter(),
    FOR.parameter(),
    REPEAT.parameter(),
    SCALE.parameter(),
    FORMAT.parameter(),
])
.positional("file");

/// Every model of loss.
pub fn components() -> Vec<&'static Component> {
    LOSSES.iter().copied().chain([&TRACE]).collect()
}

/// A loss as written; a file is opened by a [`Library`](super::Library).
#[derive(Clone, Debug)]
pub enum Loss {
    /// A model without a file.
    Model(LossModel),
    /// A probability over time from a file.
    File(Arguments),
}

impl Loss {
    /// The arguments of a percentage such as `1%`, or of one of [`components`].
    ///
    /// # Errors
    /// Neither; what was expected.
    pub fn arguments(text: &str) -> Result<Arguments, String> {
        let arguments = match is_percentage(text) {
            true => LossModel::parse(text),
            false => Arguments::parse(&components(), text),
        };
        arguments.map_err(|error| netem::loss_hint(text).unwrap_or(error.message))
    }

    /// The loss that `arguments` describe.
    ///
    /// # Errors
    /// A value is missing or out of its range.
    pub fn new(arguments: &Arguments) -> Result<Loss, String> {
        match file(arguments)? {
            Some(_) => table(arguments).map(|_| Loss::File(arguments.clone())),
            None => LossModel::build(arguments).map(Loss::Model).map_err(|error| error.message),
        }
    }
}

/// The loss of `qdelay link` and gateways: a probability from 0 to 1 without a unit, or a [`Loss`].
#[derive(Clone, Debug)]
pub struct LinkLoss {
    text: String,
    loss: Loss,
}

/// No loss.
impl Default for LinkLoss {
    fn default() -> LinkLoss {
        LinkLoss::probability(0.0)
    }
}

impl LinkLoss {
    /// The probability `loss` for each packet.
    pub fn probability(loss: f64) -> LinkLoss {
        LinkLoss { text: loss.to_string(), loss: Loss::Model(LossModel::Random(loss)) }
    }

    /// Reads a loss.
    ///
    /// # Errors
    /// Text that is neither; the error has what was expected.
    pub fn parse(text: &str) -> Result<LinkLoss, String> {
        const EXPECTED: &str = "expected a probability, 0 to 1, a percentage such as 1%, or a model of loss";
        if let Ok(number) = text.parse::<f64>() {
            let is_one = (0.0..=1.0).contains(&number);
            return is_one.then(|| LinkLoss::probability(number)).ok_or_else(|| EXPECTED.to_string());
        }
        let name = text.split(':').next().unwrap_or_default();
        if let Some(hint) = netem::loss_hint(text) {
            return Err(hint);
        }
        if !is_percentage(text) && components().iter().all(|component| component.name != name) {
            let known = component::unknown(&components(), name);
            return Err(format!("{known}; or a probability, 0 to 1"));
        }
        let loss = Loss::arguments(text).and_then(|arguments| Loss::new(&arguments))?;
        Ok(LinkLoss { text: text.to_string(), loss })
    }

    /// The loss as written.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// The loss.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }
    /// The text of a model; `None` for the same probability at all times.
    pub fn model(&self) -> Option<String> {
        match self.loss {
            Loss::Model(LossModel::Random(_)) => None,
            _ => Some(self.text.clone()),
        }
    }
}

/// The file that a loss is read from; `None` for one without.
pub(super) fn file(arguments: &Arguments) -> Result<Option<&str>, String> {
    steps::file(arguments, &TRACE, "trace:loss.txt")
}

/// Reads the loss of a file; returns the digest of the file too.
pub(super) fn read(arguments: &Arguments, input: &mut dyn Read) -> Result<(OverTime<LossRate>, u64), String> {
    let (whole, digest) = match table(arguments)? {
        Some(columns) => steps::table(&columns, input)?,
        None => steps::lines(arguments, input)?,
    };
    let losses = steps::part(arguments, 1.0, &whole)?;
    Ok((OverTime::new(losses, arguments.get(&REPEAT)), digest))
}

/// The table that the file of `arguments` is; `None` for lines of text.
fn table(arguments: &Arguments) -> Result<Option<Arguments>, String> {
    let Some(format) = arguments.get(&FORMAT) else { return Ok(None) };
    steps::table_format::<LossRate>(format)?.map(Some).ok_or_else(|| {
        format!(
            "format: '{}' has no losses; expected csv:column=NAME; losses in lines of text need no format",
            without_brackets(format)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_and_files_are_told_apart() {
        let loss = |text: &str| Loss::new(&Loss::arguments(text)?);
        assert!(matches!(loss("1%"), Ok(Loss::Model(LossModel::Random(0.01)))));
        assert!(matches!(loss("steps:0s@0%+5s@2%"), Ok(Loss::Model(LossModel::OverTime(_)))));
        assert!(matches!(loss("trace:loss.txt:every=1s"), Ok(Loss::File(_))));
        let error = |text: &str| loss(text).unwrap_err();
        assert!(
            error("bursts").contains("known: random, gilbert-elliott, steps, trace"),
            "{}",
            error("bursts")
        );
        assert!(error("trace").contains("no file; expected one, such as trace:loss.txt"));
        assert!(error("trace:a:every=0s").contains("every") && error("101%").contains("0% to 100%"));
        assert!(error("trace:a:reorder=on").contains("reorder"), "{}", error("trace:a:reorder=on"));
    }

    #[test]
    fn links_take_probabilities_and_models() {
        let loss = |text: &str| LinkLoss::parse(text);
        let random = |text: &str| match loss(text).unwrap().loss() {
            Loss::Model(LossModel::Random(probability)) => *probability,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(["0", "0.25", "1", "1%", "100%"].map(random), [0.0, 0.25, 1.0, 0.01, 1.0]);
        assert_eq!(loss("0.25").unwrap().model(), None);
        for text in ["steps:0s@0%+5s@2%", "trace:loss.txt", "gilbert-elliott:p=1%:r=25%"] {
            assert_eq!(loss(text).unwrap().model().as_deref(), Some(text));
        }
        for text in ["1.5", "-0.1", "NaN", "inf", "often", "101%", "-1%"] {
            let error = loss(text).unwrap_err();
            assert!(
                error.contains("0 to 1") || error.contains("such as 1%") || error.contains("0% to 100%"),
                "{error}"
            );
        }
    }
}
