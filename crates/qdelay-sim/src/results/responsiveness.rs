//! Responsiveness under load, in round trips a minute.

use qdelay_record::{DelayHistogram, entity};

/// Share of the round trips of datagrams that counts: the longest twentieth is left out (`TMP` of draft-ietf-ippm-responsiveness-08).
const KEPT_PERCENT: f64 = 95.0;
/// Milliseconds in a minute.
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
    /// The figures of `probes`, the round trips of datagrams that are sent back, and of `loads`, the mean smoothed round trip of each
    /// endless transfer in ms; `None` without any transfer.
    pub(crate) fn from_round_trips(probes: &DelayHistogram, loads: &[f64]) -> Option<ResponsivenessFigures> {
        if loads.is_empty() {
            return None;
        }
        // A mean of 0: the run has no series, whose bins sample round trips, or nothing came back.
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
