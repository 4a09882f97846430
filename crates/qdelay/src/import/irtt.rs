//! Results of irtt (its JSON, format 1): round trips, one-way delays, and losses by direction.
//!
//! The format is that of irtt's manual page irtt-client(1), section "Output". Times are nanoseconds: `wall` since 1970 by the clock of each
//! host, `monotonic` from any origin. A one-way delay is a difference of the two wall clocks, as irtt's own; where the server gives one time
//! only, or the middle of two, that time stands for both. `delay.rtt` is irtt's round trip: by the client's monotonic clock, without the time
//! that the packet spent in the server.
//!
//! Losses by direction have two sources: the number of packets that the server has received (`--stats=count`), of which irtt makes
//! `upstream_loss_percent`, and a window of received packets in each reply (`--stats=window`), of which irtt makes `lost` of each packet.

use super::clocks::Times;
use qdelay_config::InputError;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::{BufReader, Read};

/// Largest number of round trips: 11 hours of one each 10 ms.
pub const TRIPS_MAX: usize = 4_000_000;
const EXPECTED: &str = "expected the JSON that 'irtt client -o FILE' writes";

/// A measurement.
#[derive(Clone, Debug, Deserialize)]
pub struct Results {
    #[serde(default)]
    version: Version,
    #[serde(default)]
    config: Config,
    stats: Stats,
    #[serde(default)]
    round_trips: Trips,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Version {
    irtt: Option<String>,
    json_format: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    params: Params,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Params {
    interval: Option<i64>,
    received_stats: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Stats {
    packets_sent: u64,
    packets_received: u64,
    packet_loss_percent: Option<f64>,
    upstream_loss_percent: Option<f64>,
    downstream_loss_percent: Option<f64>,
    server_packets_received: Option<u64>,
    duplicates: Option<u64>,
    late_packets: Option<u64>,
}

/// A request and its reply.
#[derive(Clone, Debug, Deserialize)]
struct Trip {
    lost: Lost,
    #[serde(default)]
    timestamps: Timestamps,
    #[serde(default)]
    delay: Delay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    No,
    Up,
    Down,
    /// In a direction that irtt does not know.
    Somewhere,
}

impl<'de> Deserialize<'de> for Lost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lost, D::Error> {
        /// A word, or as the manual page has it, a truth value.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            Truth(bool),
        }
        match Form::deserialize(deserializer)? {
            Form::Truth(false) => Ok(Lost::No),
            Form::Truth(true) => Ok(Lost::Somewhere),
            Form::Word(word) => match word.as_str() {
                "false" => Ok(Lost::No),
                "true" => Ok(Lost::Somewhere),
                "true_up" => Ok(Lost::Up),
                "true_down" => Ok(Lost::Down),
                _ => Err(de::Error::custom("'lost' is none of false, true, true_up, true_down")),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Timestamps {
    #[serde(default)]
    client: Stamps,
    #[serde(default)]
    server: Stamps,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Stamps {
    #[serde(default)]
    receive: Stamp,
    #[serde(default)]
    send: Stamp,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct Stamp {
    wall: Option<i64>,
    monotonic: Option<i64>,
}

impl Stamp {
    /// This time, or `other` where it lacks.
    fn or(self, other: Stamp) -> Stamp {
        if self == Stamp::default() { other } else { self }
    }
    fn by(self, clock: Clock) -> Option<i64> {
        match clock {
            Clock::Wall => self.wall,
            Clock::Monotonic => self.monotonic,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Delay {
    rtt: Option<i64>,
}

#[derive(Clone, Debug, Default)]
struct Trips(Vec<Trip>);

impl<'de> Deserialize<'de> for Trips {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Trips, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Trips;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of round trips")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Trips, A::Error> {
                let mut trips = Vec::new();
                while let Some(trip) = list.next_element()? {
                    if trips.len() == TRIPS_MAX {
                        return Err(de::Error::custom(format!("more than {TRIPS_MAX} round trips")));
                    }
                    trips.push(trip);
                }
                Ok(Trips(trips))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// Clock of one-way delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Time since 1970.
    Wall,
    /// Time from an origin that differs from host to host.
    Monotonic,
}

/// Losses as irtt states them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Losses {
    /// Packets that the client has sent.
    pub sent: u64,
    /// Replies that it has received, with duplicates.
    pub received: u64,
    /// Requests without a reply, in percent of those sent.
    pub loss_percent: Option<f64>,
    /// Requests that the server has not received, in percent of those sent; null where the server does not count, or the figure is no
    /// percentage, as duplicates make it.
    pub up_percent: Option<f64>,
    /// Replies that the client has not received, in percent of the requests that the server has received; null as `up_percent`.
    pub down_percent: Option<f64>,
    /// Lost requests by the replies' windows of received packets.
    pub lost_up: u64,
    /// Lost replies by these windows.
    pub lost_down: u64,
    /// Lost in a direction that no window shows.
    pub lost_unknown: u64,
    /// Replies that came more than once.
    pub duplicates: u64,
    /// Replies that came after one of a later request.
    pub late: u64,
}

/// A reply: times of the client and of the server in nanoseconds, by one kind of clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// Request: sent by the client's clock, received by the server's.
    pub up: Times,
    /// Reply: received by the client's clock, sent by the server's.
    pub down: Times,
}

/// Reads a file.
///
/// # Errors
/// A file that cannot be read, or is no result of irtt.
pub fn read(place: &str, file: &mut dyn Read) -> Result<Results, InputError> {
    let wrong = |message: String| InputError::new(place, format!("{message}; {EXPECTED}"));
    let text = qdelay_study::traces::unpacked(file).map_err(|error| wrong(error.to_string()))?;
    let mut text = BufReader::new(text);
    let results: Results = serde_json::from_reader(&mut text).map_err(|error| wrong(error.to_string()))?;
    match results.version.json_format {
        Some(1) | None => {}
        Some(other) => return Err(wrong(format!("its 'json_format' is {other}, not 1"))),
    }
    if results.round_trips.0.is_empty() {
        return Err(wrong("it has no 'round_trips'".to_string()));
    }
    Ok(results)
}

impl Results {
    /// Version of irtt; empty if the file has none.
    pub fn version(&self) -> &str {
        self.version.irtt.as_deref().unwrap_or("")
    }
    /// Time between two packets in nanoseconds; `None` if the file has none.
    pub fn interval(&self) -> Option<u64> {
        self.config.params.interval.and_then(|nanos| u64::try_from(nanos).ok()).filter(|nanos| *nanos > 0)
    }
    /// Losses as irtt states them.
    pub fn losses(&self) -> Losses {
        let stats = &self.stats;
        let counts = self.config.params.received_stats.as_deref();
        let is_counted = matches!(counts, Some("count" | "both") | None)
            && stats.server_packets_received.is_some_and(|count| count > 0);
        let percent = |percent: Option<f64>| percent.filter(|percent| (0.0..=100.0).contains(percent));
        let lost = |kind: Lost| self.round_trips.0.iter().filter(|trip| trip.lost == kind).count() as u64;
        Losses {
            sent: stats.packets_sent,
            received: stats.packets_received,
            loss_percent: percent(stats.packet_loss_percent),
            up_percent: percent(stats.upstream_loss_percent).filter(|_| is_counted),
            down_percent: percent(stats.downstream_loss_percent).filter(|_| is_counted),
            lost_up: lost(Lost::Up),
            lost_down: lost(Lost::Down),
            lost_unknown: lost(Lost::Somewhere),
            duplicates: stats.duplicates.unwrap_or(0),
            late: stats.late_packets.unwrap_or(0),
        }
    }
    /// Time of sending by the client's wall clock, and round trip, both in nanoseconds, of each reply with both.
    pub fn round_trips(&self) -> Vec<(i64, i64)> {
        let trips = self.round_trips.0.iter().filter(|trip| trip.lost == Lost::No);
        let trip = |trip: &Trip| {
            let send = trip.timestamps.client.send;
            Some((send.wall.or(send.monotonic)?, trip.delay.rtt?))
        };
        trips.filter_map(trip).collect()
    }
    /// Times of each reply for one-way delays, and their clock: wall clocks, or monotonic ones where no reply has the former. `None` without
    /// times of the server.
    pub fn one_way(&self) -> Option<(Clock, Vec<OneWay>)> {
        let by = |clock: Clock| {
            let trips = self.round_trips.0.iter().filter(|trip| trip.lost == Lost::No);
            let times = |trip: &Trip| {
                let Timestamps { client, server } = trip.timestamps;
                let (received, sent) = (server.receive.or(server.send), server.send.or(server.receive));
                Some(OneWay {
                    up: (client.send.by(clock)?, received.by(clock)?),
                    down: (client.receive.by(clock)?, sent.by(clock)?),
                })
            };
            let times: Vec<OneWay> = trips.filter_map(times).collect();
            (!times.is_empty()).then_some((clock, times))
        };
        by(Clock::Wall).or_else(|| by(Clock::Monotonic))
    }
}
