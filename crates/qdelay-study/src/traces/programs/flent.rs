//! A series of flent's data files (`.flent`, `.flent.gz`), by its name: a rate or a delay.
//!
//! `x_values` are seconds from the beginning of the test, `results` has a list of values for each series. A value holds until the next.
//! Tests begin and end with seconds without load, in which series of flows have no values: these are left out.

use super::json::{self, Bounded};
use super::samples::{MISSING, Samples, time};
use super::{FileDelays, Program, Reading, has, is_object};
use crate::traces::extent::Extent;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit, without_brackets};
use qdelay_trace::RateSteps;
use qdelay_trace::format::guess::Guess;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

const SERIES: Typed<Option<&str>> =
    Typed::new("series", "", "name of the series, in brackets, as in series=[TCP download sum]; required");
const UNIT: Typed<Option<&str>> = Typed::new(
    "unit",
    "",
    "unit of the series; default: the one in the file, or by the name Mbit/s of TCP and ms of Ping",
)
.unit(Unit::Choice(&["mbit", "kbit", "bit", "s", "ms", "us"]));

/// Series that a guess looks for, the first of which is proposed.
const USUAL: [&str; 6] =
    ["TCP download sum", "TCP download", "TCP upload sum", "TCP upload", "TCP totals", "Ping (ms) ICMP"];
/// Names that an error lists.
const KNOWN_MAX: usize = 40;

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "flent",
        "a series of flent's data files, as a rate or as a delay",
    )
    .source("flent, data file versions 1 to 4")
    .with(&[SERIES.parameter(), UNIT.parameter(), MISSING.parameter()])
    .positional("series"),
    usage: "flent:series=NAME",
    is_begun_by: |bytes| {
        is_object(bytes) && (has(bytes, "\"FLENT_VERSION\"") || has(bytes, "\"NETPERF_WRAPPER_VERSION\""))
    },
    guess: |bytes| {
        let name = USUAL.iter().find(|name| has(bytes, &format!("\"{name}\""))).unwrap_or(&"NAME");
        Guess {
            format: format!("flent:series=[{name}]"),
            assumed: vec![
                "a data file of flent".to_string(),
                "values hold until the next one; what is missing in between holds the value before"
                    .to_string(),
            ],
        }
    },
    reading: Reading::Json { rates: Some(rates), delays: Some(delays) },
};

/// Kept parts of a file.
#[derive(Default)]
struct File {
    times: Vec<f64>,
    /// Values of the series; `None` if the file has no such series.
    values: Option<Vec<Option<f64>>>,
    /// Names of the first series, and their number.
    names: Vec<String>,
    count: usize,
    units: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(rename = "SERIES_META", default)]
    series: BTreeMap<String, Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "UNITS")]
    units: Option<String>,
}

/// Reads a file; keeps this series only.
struct Whole<'a>(&'a str);
/// Reads the series of a file into what is kept of it.
struct Results<'a>(&'a str, &'a mut File);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = File;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<File, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = File;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a data file of flent")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<File, A::Error> {
        let mut file = File::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "x_values" => file.times = map.next_value::<Bounded<f64>>()?.0,
                "results" => map.next_value_seed(Results(self.0, &mut file))?,
                "metadata" => {
                    let mut metadata: Metadata = map.next_value()?;
                    file.units = metadata.series.remove(self.0).and_then(|meta| meta.units);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(file)
    }
}

impl<'de> DeserializeSeed<'de> for Results<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Results<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lists by the names of series")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if name == self.0 {
                self.1.values = Some(map.next_value::<Bounded<Option<f64>>>()?.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            self.1.count += 1;
            if self.1.names.len() < KNOWN_MAX {
                self.1.names.push(name.escape_debug().to_string());
            }
        }
        Ok(())
    }
}

/// Samples of the series, its name and its unit.
fn samples(arguments: &Arguments, input: &mut dyn Read) -> Result<(Samples, String, String), String> {
    let name = arguments.get(&SERIES).map_or("", without_brackets);
    let file = json::read_by(Whole(name), input, "a data file of flent")?;
    let Some(values) = file.values else {
        let more = if file.count > file.names.len() { ", ..." } else { "" };
        let names = file.names.join("], [");
        let shown = name.escape_debug();
        return Err(format!("no series '{shown}'; expected flent:series=NAME with one of [{names}]{more}"));
    };
    if values.len() != file.times.len() {
        let (values, times) = (values.len(), file.times.len());
        return Err(format!("{values} values of the series and {times} x_values; expected as many"));
    }
    let unit = match (arguments.get(&UNIT), file.units.as_deref()) {
        (Some(unit), _) => unit,
        (None, Some("Mbits/s")) => "mbit",
        (None, Some("Kbps" | "Kbits/s")) => "kbit",
        (None, Some("bits/s")) => "bit",
        (None, Some("ms")) => "ms",
        (None, Some("s")) => "s",
        (None, _) if name.starts_with("TCP ") && !name.contains("::tcp_") => "mbit",
        (None, _) if name.starts_with("Ping (ms)") => "ms",
        (None, units) => {
            let units =
                units.map_or("no unit".to_string(), |units| format!("unit '{}'", units.escape_debug()));
            return Err(format!(
                "series '{name}' has {units}; expected unit=mbit, kbit or bit of a rate, s, ms or us of a delay"
            ));
        }
    };
    let mut samples = Samples::default();
    for (number, (seconds, value)) in (1..).zip(file.times.iter().zip(values)) {
        samples.values.push((time(*seconds, &format!("x_values, number {number}"))?, value));
    }
    Ok((samples, name.to_string(), unit.to_string()))
}

fn rates(arguments: &Arguments, input: &mut dyn Read) -> Result<(RateSteps, Vec<String>), String> {
    let (samples, name, unit) = samples(arguments, input)?;
    let scale = match unit.as_str() {
        "mbit" => 1e6,
        "kbit" => 1e3,
        "bit" => 1.0,
        _ => {
            return Err(format!(
                "series '{name}' is a delay in {unit}; expected a rate, or as a delay trace:FILE:format=[flent:series=[{name}]]"
            ));
        }
    };
    let count = samples.values.len();
    let steps = samples.steps(arguments.get(&MISSING))?;
    let mut notes = vec![format!("read as flent, series '{name}' in {unit}/s, {count} samples")];
    notes.extend(steps.note.clone());
    Ok((steps.rates(scale)?, notes))
}

fn delays(arguments: &Arguments, input: &mut dyn Read) -> Result<FileDelays, String> {
    let (samples, name, unit) = samples(arguments, input)?;
    let scale = match unit.as_str() {
        "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        _ => {
            return Err(format!(
                "series '{name}' is a rate in {unit}/s; expected a delay, or as a trace FILE:format=[flent:series=[{name}]]"
            ));
        }
    };
    let count = samples.values.len();
    let steps = samples.steps(arguments.get(&MISSING))?;
    let mut notes = vec![format!("read as flent, series '{name}' in {unit}, {count} samples")];
    notes.extend(steps.note.clone());
    // flent's own pings are round trips; other delays may be of one direction.
    let extent = name.starts_with("Ping").then_some(Extent::RoundTrip);
    Ok(FileDelays { steps: steps.delays(scale)?, extent, notes })
}
