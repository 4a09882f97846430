//! Capacity and round trips of the traces of AlphaRTC and its gym (OpenNetLab): JSON with a pattern of intervals.
//!
//! `{"uplink": {"trace_pattern": [{"duration": 2896, "capacity": 179, "rtt": 89}, ...]}}`, in ms and kbit/s. Loss and jitter are not read.

use super::json::{self, Bounded};
use super::samples::{Samples, time};
use super::{FileDelays, Program, Reading, has, is_object};
use crate::traces::extent::Extent;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Span, Time};
use qdelay_trace::RateSteps;
use qdelay_trace::format::guess::Guess;
use serde::Deserialize;
use std::io::Read;

const DIRECTION: Typed<str> =
    Typed::new("direction", "uplink", "the pattern that is read").unit(Unit::Choice(&["uplink", "downlink"]));

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "alphartc",
        "capacity, or as a delay the round trips, of a trace of AlphaRTC's gym (JSON)",
    )
    .source("OpenNetLab's gym")
    .with(&[DIRECTION.parameter()]),
    usage: "alphartc",
    is_begun_by: |bytes| is_object(bytes) && has(bytes, "\"trace_pattern\""),
    guess: |_| Guess {
        format: "alphartc".to_string(),
        assumed: vec![
            "JSON of AlphaRTC's gym: durations in ms, capacities in kbit/s".to_string(),
            "the uplink; direction=downlink reads the other; loss and jitter are not read".to_string(),
        ],
    },
    reading: Reading::Json { rates: Some(rates), delays: Some(delays) },
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    uplink: Direction,
    #[serde(default)]
    downlink: Direction,
}

#[derive(Default, Deserialize)]
struct Direction {
    #[serde(default)]
    trace_pattern: Bounded<Interval>,
}

/// An interval: ms, kbit/s, ms.
#[derive(Deserialize)]
struct Interval {
    duration: f64,
    capacity: Option<f64>,
    rtt: Option<f64>,
}

/// The intervals one after the other, and their number.
fn samples(
    arguments: &Arguments,
    input: &mut dyn Read,
    value: fn(&Interval) -> Option<f64>,
) -> Result<(Samples, usize), String> {
    let file: File = json::read(input, "JSON of AlphaRTC's gym with a trace_pattern")?;
    let direction = arguments.get(&DIRECTION);
    let pattern = if direction == "downlink" { file.downlink } else { file.uplink }.trace_pattern.0;
    if pattern.is_empty() {
        let other = if direction == "downlink" { "uplink" } else { "downlink" };
        return Err(format!("{direction} has no trace_pattern; expected one, or direction={other}"));
    }
    let (mut samples, mut at) = (Samples::default(), Time::ZERO);
    for (number, interval) in (1..).zip(&pattern) {
        let duration = time(interval.duration / 1e3, &format!("interval {number}"))?.since(Time::ZERO);
        if duration > Span::ZERO {
            samples.values.push((at, value(interval)));
        }
        at = Time::from_nanos(at.as_nanos().saturating_add(duration.as_nanos()));
    }
    samples.end = Some(at);
    Ok((samples, pattern.len()))
}

fn rates(arguments: &Arguments, input: &mut dyn Read) -> Result<(RateSteps, Vec<String>), String> {
    let (samples, count) = samples(arguments, input, |interval| interval.capacity)?;
    let note = format!(
        "read as alphartc, {} of {count} intervals; loss and jitter are not read",
        arguments.get(&DIRECTION)
    );
    Ok((samples.steps("refuse")?.rates(1e3)?, vec![note]))
}

fn delays(arguments: &Arguments, input: &mut dyn Read) -> Result<FileDelays, String> {
    let (samples, count) = samples(arguments, input, |interval| interval.rtt)?;
    let note = format!("read as alphartc, round trips of {count} intervals");
    let steps = samples.steps("refuse")?.delays(1e6)?;
    Ok(FileDelays { steps, extent: Some(Extent::RoundTrip), notes: vec![note] })
}
