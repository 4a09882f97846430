//! Measurements made by other programs: mahimahi's logs, and captures of both ends of a link.
//!
//! | module | contents |
//! | --- | --- |
//! | [`mahimahi_log`] | rates and delays of a log, as in mm-throughput-graph |
//! | [`captures`] | matched packets of two captures: delay, loss and reordering of each flow |
//! | [`clocks`] | offset and drift between two clocks, from packets with a time of each |
//! | [`replay`] | traces of delay and capacity from the delays of packets |
//!
//! Files may be cut short, damaged or malicious: readers return the error with its place, and use memory in proportion to the file.

pub mod captures;
pub mod clocks;
mod command;
pub mod mahimahi_log;
pub mod replay;
mod trace_files;

pub use command::run;

use qdelay_record::DelaySummary;

const NANOS_PER_MS: f64 = 1e6;

/// Distribution of delays in nanoseconds, which may be negative; exact, percentiles by nearest rank.
fn summary(nanos: &mut [i64]) -> Option<DelaySummary> {
    nanos.sort_unstable();
    let (count, max) = (nanos.len(), *nanos.last()?);
    let at = |percent: f64| {
        let rank = (percent / 100.0 * count as f64).ceil() as usize;
        nanos[rank.clamp(1, count) - 1] as f64 / NANOS_PER_MS
    };
    let sum: i128 = nanos.iter().map(|nanos| i128::from(*nanos)).sum();
    Some(DelaySummary {
        count: count as u64,
        mean: sum as f64 / count as f64 / NANOS_PER_MS,
        p50: at(50.0),
        p95: at(95.0),
        p99: at(99.0),
        p999: at(99.9),
        max: max as f64 / NANOS_PER_MS,
    })
}
