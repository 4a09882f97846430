//! Figures and curves of a case.

use qdelay_record::entity;
use qdelay_sim::results::{Measures, Series};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

entity! {
    /// Distribution of a delay: two lists of equal length.
    pub struct Cdf {
        /// Percentiles, 0 to 100, ascending.
        pub percent: Vec<f64>,
        /// Delay at each percentile, ms.
        pub ms: Vec<f64>,
    }
}

/// Results of a case: an entry of the folder's `summary.json`, and the case's own `summary.json`, which also has the curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Id of the case.
    pub id: String,
    /// Label on each axis.
    pub labels: BTreeMap<String, String>,
    /// The figures.
    #[serde(flatten)]
    pub measures: Measures,
    /// With a real clock: true if the audit found no problem; `run.json` has the audit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trustworthy: Option<bool>,
    /// With a real clock: changes that were made to the path by hand while the case ran, left out without any. The figures are then
    /// not those of the scenario, and no later run takes them for it.
    #[serde(skip_serializing_if = "is_none", default)]
    pub changes: u64,
    /// Distribution of queue delays; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_cdf: Option<Cdf>,
    /// Distribution of queue delays for each entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// Distribution of queue delays for each codepoint, if flows use several; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub codepoint_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// With a cell: distribution of the delay of each stage, and of their `total`, for each entry of `[[flow]]`; in the case's
    /// own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_stage_cdf: Option<BTreeMap<String, BTreeMap<String, Cdf>>>,
    /// Distribution of round trips of datagrams that the receiver returns, by entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_round_trip_cdf: Option<BTreeMap<String, Cdf>>,
    /// Distribution of the time until the data of TCP flows arrived, by entry of `[[flow]]` (`arrival_ms`); it ends below 100 percent if
    /// data did not arrive. In the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_arrival_cdf: Option<BTreeMap<String, Cdf>>,
    /// Distribution of queue delays by `flow`, `ue`, `slice` and `class`, then by name, at 21 percentiles; for 2 to 256 flows.
    /// `flow` is missing if no entry of `[[flow]]` has several flows. In the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part_delay_cdf: Option<BTreeMap<String, BTreeMap<String, Cdf>>>,
    /// Rates and delays over time; in the case's own file only, and null if series are off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<Series>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_none(changes: &u64) -> bool {
    *changes == 0
}

impl Deref for CaseSummary {
    type Target = Measures;
    fn deref(&self) -> &Measures {
        &self.measures
    }
}

impl DerefMut for CaseSummary {
    fn deref_mut(&mut self) -> &mut Measures {
        &mut self.measures
    }
}
