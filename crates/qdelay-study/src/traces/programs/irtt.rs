//! Delays of irtt's JSON (`irtt client -o FILE`): round trips, or one direction where the server stamps packets.
//!
//! A delay holds from the time at which its packet was sent. The delay of a lost packet is missing. One-way delays contain the offset of the
//! two clocks, which no file tells; where it makes a delay negative, the file is refused.

use super::json::{self, Bounded};
use super::samples::{MISSING, Samples};
use super::{FileDelays, Program, Reading, has, is_object};
use crate::traces::extent::Extent;
use qdelay_core::Time;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_trace::format::guess::Guess;
use serde::Deserialize;
use std::io::Read;

const DELAY: Typed<str> = Typed::new(
    "delay",
    "rtt",
    "round trips, or the delay from the client to the server (send) or back (receive), whose clocks have to agree",
)
.unit(Unit::Choice(&["rtt", "send", "receive"]));

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "irtt",
        "delays of irtt's JSON (irtt client -o FILE), by packet",
    )
    .source("irtt 0.9, json_format 1")
    .with(&[DELAY.parameter(), MISSING.parameter()]),
    usage: "irtt",
    is_begun_by: |bytes| {
        is_object(bytes)
            && (has(bytes, "\"json_format\"") && has(bytes, "\"irtt\"") || has(bytes, "\"round_trips\""))
    },
    guess: |_| {
        Guess {
        format: "irtt".to_string(),
        assumed: vec![
            "JSON of irtt".to_string(),
            "round trips; delay=send and delay=receive read one direction; lost packets hold the delay before".to_string(),
        ],
    }
    },
    reading: Reading::Json { rates: None, delays: Some(delays) },
};

#[derive(Deserialize)]
struct File {
    round_trips: Option<Bounded<Trip>>,
}

#[derive(Deserialize)]
struct Trip {
    timestamps: Stamps,
    #[serde(default)]
    delay: Delays,
}

#[derive(Deserialize)]
struct Stamps {
    client: Client,
}

#[derive(Deserialize)]
struct Client {
    send: Stamp,
}

#[derive(Deserialize)]
struct Stamp {
    wall: Option<i64>,
    monotonic: Option<i64>,
}

/// Delays in ns.
#[derive(Default, Deserialize)]
struct Delays {
    rtt: Option<i64>,
    send: Option<i64>,
    receive: Option<i64>,
}

fn delays(arguments: &Arguments, input: &mut dyn Read) -> Result<FileDelays, String> {
    let file: File = json::read(input, "JSON of irtt client -o")?;
    let trips = file.round_trips.map(|trips| trips.0).unwrap_or_default();
    let which = arguments.get(&DELAY);
    let delay = |trip: &Trip| match which {
        "send" => trip.delay.send,
        "receive" => trip.delay.receive,
        _ => trip.delay.rtt,
    };
    // The monotonic clock has no steps; its origin may be any time.
    let has_monotonic = trips.iter().all(|trip| trip.timestamps.client.send.monotonic.is_some());
    let sent = |trip: &Trip| {
        let stamp = &trip.timestamps.client.send;
        if has_monotonic { stamp.monotonic } else { stamp.wall }
    };
    let origin = trips.first().and_then(sent).unwrap_or(0);
    let mut samples = Samples::default();
    for (at, trip) in trips.iter().enumerate() {
        let number = at + 1;
        let after = sent(trip).and_then(|sent| u64::try_from(sent.checked_sub(origin)?).ok());
        let Some(after) = after else {
            return Err(format!(
                "round trip {number}: no time of its sending, or one before the first; expected times in order"
            ));
        };
        let value = delay(trip);
        if let Some(value) = value.filter(|value| *value < 0) {
            return Err(format!(
                "round trip {number}: a delay of {} ms in one direction, because the clocks of client and server differ; expected clocks that \
                 agree (NTP, PTP), or delay=rtt, which needs one clock",
                value as f64 / 1e6
            ));
        }
        samples.values.push((Time::from_nanos(after), value.map(|value| value as f64)));
    }
    if which != "rtt" && samples.values.iter().all(|(_, value)| value.is_none()) {
        return Err(format!(
            "no packet has a delay in the direction '{which}'; expected a server that stamps packets (irtt client --tstamp=both), or delay=rtt"
        ));
    }
    let (count, lost) = (trips.len(), samples.values.iter().filter(|(_, value)| value.is_none()).count());
    let steps = samples.steps(arguments.get(&MISSING))?;
    let mut notes = vec![format!("read as irtt, {which} of {count} packets, {lost} without one")];
    notes.extend(steps.note.clone());
    let extent = Some(if which == "rtt" { Extent::RoundTrip } else { Extent::OneWay });
    Ok(FileDelays { steps: steps.delays(1.0)?, extent, notes })
}
