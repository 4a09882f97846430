//! Responsiveness under load, in round trips a minute.

use crate::outcome::{FlowOutcome, round_trips};
use crate::scenario::Scenario;
use qdelay_record::entity;

/// Of the round trips of datagrams the longest twentieth is left out (`TMP` of draft-ietf-ippm-responsiveness-08).
const KEPT_PERCENT: f64 = 95.0;
/// Round trips of so many ms are one a minute.
const MINUTE_MS: f64 = 60_000.0;

entity! {
    /// Round trips a minute under load, after draft-ietf-ippm-responsiveness-08.
    #[derive(Copy)]
    pub struct ResponsivenessFigures {
        /// The mean of the next two; null where either is.
        pub rpm: Option<f64>,
        /// Round trips a minute of datagrams that are sent back, beside the load; null without any.
        pub foreign_rpm: Option<f64>,
        /// Round trips a minute within the connections that are the load; null where none was measured.
        pub loaded_rpm: Option<f64>,
        /// The mean round trip of the datagrams, without the longest 5%.
        pub foreign_ms: f64,
        /// The mean round trip of the connections: of each the mean of its smoothed round trip over time.
        pub loaded_ms: f64,
        /// Datagrams that came back in the measured time.
        pub probes: u64,
        /// Connections that are the load.
        pub loads: u64,
    }
}

impl ResponsivenessFigures {
    /// Of the flows of `scenario` after a run; nothing where no datagrams are sent back, or no connection is without an end.
    pub(crate) fn of(scenario: &Scenario, ends: &[FlowOutcome]) -> Option<ResponsivenessFigures> {
        let probes = round_trips(ends.iter())?;
        let flows = scenario.flows.iter().zip(ends);
        let loads: Vec<f64> = flows
            .filter(|(spec, _)| spec.transport.is_endless_transfer())
            .map(|(_, end)| end.flow.srtt_mean_ms)
            .collect();
        if loads.is_empty() {
            return None;
        }
        // Without a series, or where nothing came back, there is no round trip.
        let measured: Vec<f64> = loads.iter().copied().filter(|ms| *ms > 0.0).collect();
        let foreign_ms = probes.trimmed_mean(KEPT_PERCENT);
        let loaded_ms = super::mean_of(&measured, |ms| *ms);
        let a_minute = |ms: f64| (ms > 0.0).then(|| MINUTE_MS / ms);
        let (foreign_rpm, loaded_rpm) = (a_minute(foreign_ms), a_minute(loaded_ms));
        Some(ResponsivenessFigures {
            rpm: foreign_rpm.zip(loaded_rpm).map(|(foreign, loaded)| (foreign + loaded) / 2.0),
            foreign_rpm,
            loaded_rpm,
            foreign_ms,
            loaded_ms,
            probes: probes.count(),
            loads: loads.len() as u64,
        })
    }
}
