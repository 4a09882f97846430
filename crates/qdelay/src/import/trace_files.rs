//! `--trace PREFIX`: files with the traces of [`replay`](super::replay), and the lines about them.

use super::NANOS_PER_MS;
use super::replay::{self, Arrived, BINS_MAX, Choices, DelayPart, NoTraces, Traces, Unsaturated};
use crate::cli::{TraceDelay, TraceFiles, TraceRate};
use qdelay_core::Span;
use qdelay_study::results::round;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use qdelay_trace::{delays, mbps};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

impl From<TraceDelay> for DelayPart {
    fn from(delay: TraceDelay) -> DelayPart {
        match delay {
            TraceDelay::Base => DelayPart::Base,
            TraceDelay::All => DelayPart::All,
        }
    }
}

/// Packets of one direction.
pub struct Packets {
    /// Name of the direction in file names.
    pub name: &'static str,
    /// Packets that arrived.
    pub arrived: Vec<Arrived>,
}

/// Files of a direction, as in the JSON.
#[derive(Debug, Serialize)]
pub struct Written {
    direction: &'static str,
    delay_file: String,
    /// Null where packets are probes that fill no link.
    rate_file: Option<String>,
    bins: usize,
    bin_s: f64,
    delay: &'static str,
    delay_min_ms: f64,
    delay_max_ms: f64,
    mean_mbps: Option<f64>,
    not_saturated: Option<u64>,
    packets_after: u64,
}

/// Kind of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Traffic whose rate tells the capacity; the rate of bins that are not saturated.
    Traffic(TraceRate),
    /// Probes.
    Probes,
}

/// Refuses files that exist before anything is read.
///
/// # Errors
/// A file that exists, without `--force`.
pub fn refuse_existing(options: &TraceFiles, names: &[&'static str], load: Load) -> Result<(), Failure> {
    if options.trace.is_none() {
        return Ok(());
    }
    for name in names {
        output::refuse_existing(&path(options, name, "delay"), options.force)?;
        if load != Load::Probes {
            output::refuse_existing(&path(options, name, "mbps"), options.force)?;
        }
    }
    Ok(())
}

fn path(options: &TraceFiles, name: &str, ending: &str) -> PathBuf {
    let mut path = options.trace.clone().unwrap_or_default().into_os_string();
    path.push(format!("-{name}.{ending}"));
    path.into()
}

/// Makes the traces of all directions, and writes them if there is a `--trace`.
///
/// # Errors
/// Packets of which no traces can be made, or a file that cannot be written.
pub fn write(
    options: &TraceFiles,
    directions: Vec<Packets>,
    load: Load,
    bin: Span,
    delay: DelayPart,
) -> Result<Vec<Written>, Failure> {
    if options.trace.is_none() {
        return Ok(Vec::new());
    }
    let unsaturated = match load {
        Load::Traffic(TraceRate::Hold) => Unsaturated::Hold,
        _ => Unsaturated::Measured,
    };
    let lead = if load == Load::Probes { bin / 2 } else { Span::ZERO };
    let choices = Choices { bin, window: options.trace_window, delay, unsaturated, lead };
    let (names, packets): (Vec<_>, Vec<_>) =
        directions.into_iter().map(|direction| (direction.name, direction.arrived)).unzip();
    let made = replay::traces(&packets, &choices)
        .map_err(|(number, error)| refused(names.get(number).copied().unwrap_or(""), &error))?;
    let mut written = Vec::new();
    for (name, traces) in names.into_iter().zip(made) {
        if let Some(traces) = traces {
            written.push(write_direction(options, name, &traces, load, &choices)?);
        }
    }
    Ok(written)
}

fn refused(name: &str, error: &NoTraces) -> Failure {
    let message = match error {
        NoTraces::NegativeDelay(nanos) => format!(
            "delays {name} are down to {:.3} ms; expected none below 0, as by clocks that agree; --offset auto estimates their offset",
            *nanos as f64 / NANOS_PER_MS
        ),
        NoTraces::Bins(0 | 1) => {
            "fewer than two bins between the first packet and the last; expected a longer measurement, or a shorter --trace-bin".to_string()
        }
        NoTraces::Bins(bins) => {
            format!("{bins} bins from the first packet to the last; expected at most {BINS_MAX}: a longer --trace-bin")
        }
        NoTraces::Value(error) => format!("{name}: {}", error.problem),
    };
    Failure::input("--trace", message)
}

fn write_direction(
    options: &TraceFiles,
    name: &'static str,
    traces: &Traces,
    load: Load,
    choices: &Choices,
) -> Result<Written, Failure> {
    let (what, delay) = match choices.delay {
        DelayPart::Base => {
            (format!("smallest delay within {} around each bin, without queueing", choices.window), "base")
        }
        DelayPart::All => ("mean delay of the packets sent in each bin, with queueing".to_string(), "all"),
    };
    let delay_path = path(options, name, "delay");
    let extent = if name == "rtt" { "round trip" } else { "one-way delay" };
    output::write_file(&delay_path, options.force, |mut out| {
        writeln!(out, "# {extent} ({name}), in seconds and ms: {what}; made by qdelay import")?;
        delays::write(&traces.delays, &mut out)
    })?;
    let bins = traces.rates.steps().len();
    let rate_path = (load != Load::Probes).then(|| path(options, name, "mbps"));
    if let Some(path) = &rate_path {
        output::write_file(path, options.force, |mut out| {
            let held = if choices.unsaturated == Unsaturated::Hold {
                ", and the rate of the last saturated bin where that is larger"
            } else {
                ""
            };
            writeln!(
                out,
                "# rate {name}, in seconds and Mbit/s of IP packets: bytes that left the queue in each bin; made by qdelay import"
            )?;
            writeln!(
                out,
                "# {} of {bins} bins not saturated (the queue was empty): the capacity is at least this rate{held}",
                traces.not_saturated
            )?;
            mbps::write(&traces.rates, &mut out)
        })?;
    }
    let ms = |span: Option<Span>| span.map_or(0.0, |span| round(span.as_millis_f64()));
    let values = || traces.delays.steps().iter().map(|step| step.value);
    Ok(Written {
        direction: name,
        delay_file: delay_path.display().to_string(),
        mean_mbps: rate_path.is_some().then(|| round(traces.rates.mean_mbps())),
        not_saturated: rate_path.is_some().then_some(traces.not_saturated),
        rate_file: rate_path.map(|path| path.display().to_string()),
        bins,
        bin_s: choices.bin.as_secs_f64(),
        delay,
        delay_min_ms: ms(values().min()),
        delay_max_ms: ms(values().max()),
        packets_after: traces.after,
    })
}

/// Lines about the files.
pub fn text(written: &[Written]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for files in written {
        if let (Some(file), Some(mbps), Some(idle)) = (&files.rate_file, files.mean_mbps, files.not_saturated)
        {
            let _ = writeln!(
                text,
                "written: {}: {} bins of {} ms, mean {mbps:.2} Mbit/s; {idle} bins not saturated: at least this rate",
                one_line(file),
                files.bins,
                files.bin_s * 1e3
            );
        }
        let delay = if files.delay == "base" { "base delay" } else { "delay with queueing" };
        let _ = writeln!(
            text,
            "written: {}: {delay}, {} to {} ms",
            one_line(&files.delay_file),
            files.delay_min_ms,
            files.delay_max_ms
        );
    }
    text
}
