//! Rates of iperf3's JSON (`iperf3 -J`), one for each interval of its reports.
//!
//! The receiver's intervals are what the path delivered, the sender's what it accepted. With `-R` the client receives, with
//! `--get-server-output` the file has the server's intervals too. Intervals of `-O` are left out, as iperf3's own sums leave them out.

use super::json::{self, Bounded};
use super::samples::{Samples, time};
use super::{Program, Reading, has, is_object};
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_trace::RateSteps;
use qdelay_trace::format::guess::Guess;
use serde::Deserialize;
use std::io::Read;

const SIDE: Typed<str> = Typed::new(
    "side",
    "auto",
    "the intervals of the client or of the server (--get-server-output); auto: those of the receiver, where the file has them",
)
.unit(Unit::Choice(&["auto", "client", "server"]));
const FLOW: Typed<str> = Typed::new(
    "flow",
    "forward",
    "with --bidir: forward (sum, from the client to the server) or reverse (sum_bidir_reverse)",
)
.unit(Unit::Choice(&["forward", "reverse"]));

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(Kind::Format, "iperf3", "rates of iperf3's JSON (iperf3 -J), by interval")
        .source("iperf3, iperf_api.c")
        .with(&[SIDE.parameter(), FLOW.parameter()]),
    usage: "iperf3",
    is_begun_by: |bytes| {
        is_object(bytes)
            && (has(bytes, "\"test_start\"")
                || has(bytes, "\"intervals\"") && has(bytes, "\"bits_per_second\""))
    },
    guess: |bytes| {
        let is_bidirectional = has(bytes, "\"sum_bidir_reverse\"");
        let other = "both directions (--bidir): flow=reverse reads the other, from the server to the client";
        let assumed = if is_bidirectional {
            other
        } else {
            "the receiver's intervals where the file has them; side= names one"
        };
        Guess {
            format: "iperf3".to_string(),
            assumed: vec!["JSON of iperf3".to_string(), assumed.to_string()],
        }
    },
    reading: Reading::Json { rates: Some(rates), delays: None },
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    start: Start,
    #[serde(default)]
    intervals: Bounded<Interval>,
    server_output_json: Option<Server>,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
struct Start {
    #[serde(default)]
    test_start: TestStart,
}

#[derive(Default, Deserialize)]
struct TestStart {
    #[serde(default)]
    reverse: i64,
}

#[derive(Deserialize)]
struct Server {
    #[serde(default)]
    intervals: Bounded<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    sum: Option<Sum>,
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    #[serde(default)]
    omitted: bool,
    sender: Option<bool>,
}

fn rates(arguments: &Arguments, input: &mut dyn Read) -> Result<(RateSteps, Vec<String>), String> {
    let file: File = json::read(input, "JSON of iperf3 -J")?;
    if let (Some(error), true) = (&file.error, file.intervals.0.is_empty()) {
        let error = error.escape_debug();
        return Err(format!("iperf3 ended with '{error}' and no intervals; expected a run with intervals"));
    }
    let is_reverse = arguments.get(&FLOW) == "reverse";
    let sums = |intervals: Vec<Interval>| -> Vec<Sum> {
        let sum = |interval: Interval| if is_reverse { interval.sum_bidir_reverse } else { interval.sum };
        intervals.into_iter().filter_map(sum).collect()
    };
    let client = sums(file.intervals.0);
    let server = file.server_output_json.map(|server| sums(server.intervals.0)).unwrap_or_default();
    // Versions before 3.7 have no `sender`: then the client sends unless -R was given.
    let client_sends = client
        .first()
        .and_then(|sum| sum.sender)
        .unwrap_or((file.start.test_start.reverse == 0) != is_reverse);
    let (chosen, is_client) = match arguments.get(&SIDE) {
        "client" => (client, true),
        "server" => (server, false),
        _ if client_sends && !server.is_empty() => (server, false),
        _ => (client, true),
    };
    if chosen.is_empty() {
        let side = if is_client { "client" } else { "server" };
        let remedy = match (is_reverse, is_client) {
            (true, _) => "expected a run with --bidir, or flow=forward",
            (false, true) => "expected intervals with a sum",
            (false, false) => "expected a run with --get-server-output and -J at both ends, or side=client",
        };
        return Err(format!("no interval of the {side} has such a sum; {remedy}"));
    }
    let omitted = chosen.iter().filter(|sum| sum.omitted).count();
    let mut samples = Samples::default();
    for (at, sum) in chosen.iter().filter(|sum| !sum.omitted).enumerate() {
        let place = format!("interval {}", at + 1);
        let (start, end) = (time(sum.start, &place)?, time(sum.end, &place)?);
        // The last interval may be empty.
        if end > start {
            samples.values.push((start, Some(sum.bits_per_second)));
            samples.end = Some(end);
        }
    }
    let count = samples.values.len();
    let sends = client_sends == is_client;
    let what = if sends { "the sender: what it handed to its socket" } else { "the receiver" };
    let side = if is_client { "client" } else { "server" };
    let mut notes = vec![format!("read as iperf3, {count} intervals of the {side}, {what}")];
    if omitted > 0 {
        notes.push(format!("{omitted} intervals of -O left out"));
    }
    Ok((samples.steps("refuse")?.rates(1.0)?, notes))
}
