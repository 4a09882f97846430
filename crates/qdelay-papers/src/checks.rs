//! Checks of claims: the scenario or example, the figure and its bounds.

use super::examples::Example;
use qdelay_study::expect::Expect;
use qdelay_study::results::round;
use serde::Deserialize;

/// The check of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The scenario or example that it is judged by.
    pub by: By,
    /// Whether the claim holds for cellular links in general, so that substitute traces may be used.
    pub any_trace: bool,
    /// The figure and its bounds.
    pub expect: Expect,
    /// The figure is in other units than the bounds: times this...
    pub factor: f64,
    /// ...and then this more.
    pub offset: f64,
    /// Side of the bounds on which a figure is better than the paper's, for claims with two bounds.
    pub better: Option<Side>,
    /// The choice of the setting, where this very figure decided it and so shows nothing.
    pub fitted: Option<String>,
    /// The name of the setting that removes the cause of the difference, if one was found.
    pub explained: Option<String>,
}

/// The source of a claim's figure.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// A shipped scenario, by its name.
    Scenario(String),
    /// A worked example.
    Example(&'static Example),
}

/// A side of two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Below the lower one.
    Below,
    /// Above the higher one.
    Above,
}

impl Check {
    /// The scenario that is to be run.
    pub fn scenario(&self) -> Option<&str> {
        match &self.by {
            By::Scenario(name) => Some(name),
            By::Example(_) => None,
        }
    }

    /// A figure of the results in the units of the bounds, with six decimals.
    pub fn in_units(&self, figure: f64) -> f64 {
        round(figure * self.factor + self.offset)
    }
}
