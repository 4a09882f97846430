//! What came of a case.

use qdelay_record::entity;
use qdelay_sim::results::{Measures, Series};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

entity! {
    /// Delays by percentile; two lists of one length.
    pub struct Cdf {
        /// 0 to 100, ascending.
        pub percent: Vec<f64>,
        /// The delay that so many percent of the packets do not exceed.
        pub ms: Vec<f64>,
    }
}

/// The figures of a case: an entry of the folder's `summary.json`, and the case's own `summary.json` with its curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Which case.
    pub id: String,
    /// Its point on each axis.
    pub labels: BTreeMap<String, String>,
    /// The figures.
    #[serde(flatten)]
    pub measures: Measures,
    /// Under a real clock: whether nothing speaks against the figures. `run.json` says what does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trustworthy: Option<bool>,
    /// Queue delays by percentile; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_cdf: Option<Cdf>,
    /// The same for each entry of `[[flow]]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// The same for each codepoint, where flows use more than one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub codepoint_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// Of a cell: delays by stage, and their `total`, for each entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_stage_cdf: Option<BTreeMap<String, BTreeMap<String, Cdf>>>,
    /// Round trips of datagrams that are sent back, by entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_round_trip_cdf: Option<BTreeMap<String, Cdf>>,
    /// Queue delays at fewer percentiles, by what their packets have in common (`flow`, `ue`, `slice`, `class`) and its name: of 2 to 256
    /// flows. Flows are there where an entry of `[[flow]]` has several. In the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub part_delay_cdf: Option<BTreeMap<String, BTreeMap<String, Cdf>>>,
    /// Rates and delays over time; in the case's own file only, and null where they are off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<Series>,
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
