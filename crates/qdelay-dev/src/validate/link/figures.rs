//! Figures of a run that are compared.

use qdelay_path::TraceLink;
use qdelay_sim::Outcome;
use serde::{Deserialize, Serialize};

/// Figures that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkFigures {
    /// Throughput of the bottleneck.
    pub throughput_mbps: f64,
    /// Mean delay from arrival at the bottleneck to departure.
    pub delay_mean_ms: f64,
    /// 99th percentile of the delay from arrival to departure.
    pub delay_p99_ms: f64,
}

impl LinkFigures {
    /// Figures of an outcome; throughput includes the TUN header of each packet over `header_seconds` seconds, as in mahimahi, if given.
    pub fn from_outcome(outcome: &Outcome, header_seconds: Option<u64>) -> LinkFigures {
        let header_bits = outcome.packets_forwarded as f64 * f64::from(TraceLink::OVERHEAD_BYTES) * 8.0;
        let headers_mbps = header_seconds.map_or(0.0, |seconds| header_bits / seconds as f64 / 1e6);
        LinkFigures {
            throughput_mbps: outcome.throughput_mbps + headers_mbps,
            delay_mean_ms: outcome.queue_delay_ms.mean,
            delay_p99_ms: outcome.queue_delay_ms.p99,
        }
    }

    /// Throughput, mean delay, 99th percentile of the delay.
    pub fn all(&self) -> [f64; 3] {
        [self.throughput_mbps, self.delay_mean_ms, self.delay_p99_ms]
    }
}
