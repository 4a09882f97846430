//! The figures of PDU sets.

use qdelay_record::{DelaySummary, entity};
use std::collections::BTreeMap;

entity! {
    /// Figures of the PDU sets of a flow, or of those of an entry of `[[flow]]` together. Of sets whose first packet came to the bottleneck
    /// after the warm-up, and a second or more before the end.
    pub struct PduSetFigures {
        /// How many.
        pub sets: u64,
        /// The PDU set delay budget (PSDB): that of the QoS flow, or the packet delay budget of its 5QI.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub psdb_ms: Option<f64>,
        /// Share of the sets of which all packets were handed up within PSDB after the first one came to the bottleneck.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_psdb: Option<f64>,
        /// The same share within each delay of `set_within`: `10ms`, `15ms`...
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub within: BTreeMap<String, f64>,
        /// The bound on the PDU set error rate (PSER), where it is given.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub pser: Option<f64>,
        /// Share of the sets of which a packet was not handed up, for any reason.
        pub error_rate: f64,
        /// Share of the sets of which a packet was lost behind the queue of the RLC: what PSER bounds.
        pub air_error_rate: f64,
        /// Whether the application needs all packets of a set (PSIHI).
        pub psihi: bool,
        /// With `psihi`: IP bytes handed up of sets that were not complete within PSDB (complete at all, without one), Mbit/s.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub useless_mbps: Option<f64>,
        /// Delay of complete sets: from the first packet's arrival at the bottleneck until the last one was handed up.
        pub delay_ms: DelaySummary,
        /// Share complete within PSDB (complete at all, without one) of the sets of each importance.
        pub by_importance: BTreeMap<String, f64>,
    }
}
