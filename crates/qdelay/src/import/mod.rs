//! Measurements made by other programs: mahimahi's logs, captures of both ends of a link, and results of irtt.
//!
//! | module | contents |
//! | --- | --- |
//! | [`mahimahi_log`] | rates and delays of a log, as in mm-throughput-graph |
//! | [`captures`] | matched packets of two captures: delay, loss and reordering of each flow |
//! | [`clocks`] | offset and drift between two clocks, from packets with a time of each |
//! | [`irtt`] | results of irtt: round trips, one-way delays, losses by direction |
//! | [`replay`] | traces of delay and capacity from the delays of packets |
//!
//! Files may be cut short, damaged or malicious: readers return the error with its place, and use memory in proportion to the file.

pub mod captures;
pub mod clocks;
mod command;
pub mod irtt;
mod irtt_command;
pub mod mahimahi_log;
mod offset;
pub mod replay;
mod trace_files;

pub use command::run;

use qdelay_record::DelaySummary;
use qdelay_terminal::error::Failure;
use std::fs::File;
use std::path::Path;

const NANOS_PER_MS: f64 = 1e6;

/// Opens a file that the user names.
fn open(path: &Path) -> Result<File, Failure> {
    let fail = |error: std::io::Error| Failure::input(path.display(), format!("{error}; expected a file"));
    let file = File::open(path).map_err(fail)?;
    match file.metadata().map_err(fail)?.is_dir() {
        true => Err(Failure::input(path.display(), "is a folder; expected a file")),
        false => Ok(file),
    }
}

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
