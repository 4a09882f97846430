//! Requests of the page and their answers, as JSON. Requests of every frame use no JSON: see `exports`.
//!
//! A request is an object with `op`; after a zero byte the contents of a file may follow. An answer is an object; one that only has
//! `error` describes the error in a sentence.

use crate::session::{Session, read};
use qdelay_core::component::{Arguments, Component, Parameter};
use qdelay_core::qdisc;
use qdelay_core::{Span, Time};
use qdelay_study::shipped;
use qdelay_study::traces::delay::{Delay, Extent};
use qdelay_study::traces::{self, Beginning, Library};
use qdelay_trace::format::{self, FORMATS, Format};
use qdelay_traffic::transport;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Largest trace file in bytes.
pub const TRACE_BYTES_MAX: usize = 64_000_000;
/// Number of bytes that contain the first line of a trace.
const BEGINNING_BYTES: usize = 64 * 1024;

/// Request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Request {
    /// Lists built-in components, traces and scenarios.
    Catalogue,
    /// Returns the text of a shipped scenario.
    Shipped { name: String },
    /// Stores the contents after the request as the trace `name`.
    Trace { name: String },
    /// Reads a scenario: its axes and the number of cases.
    Read { text: String },
    /// Starts these cases.
    Open { text: String, cases: Vec<u64>, bin_ms: u64 },
    /// Returns the progress of the sides.
    Progress,
    /// Restarts the figures of the page.
    Forget,
    /// Exchanges the disciplines of the sides for those of these cases of `text`.
    Qdiscs { text: String, cases: Vec<u64> },
    /// Replaces the link by `rest` from now on.
    Link { rest: String, whole: String },
    /// Returns the capacity of the link, in spans of a bin.
    Capacity { from_ms: u64, width_ms: u64, count: usize },
    /// Runs a side to its end and returns the text of `summary.json`.
    Finish { side: usize },
}

/// State of the page in the module: traces and session.
#[derive(Default)]
pub struct Playground {
    traces: BTreeMap<String, Vec<u8>>,
    library: Library,
    /// Session in progress.
    pub session: Option<Session>,
}

impl Playground {
    /// Answers a request.
    pub fn call(&mut self, request: &[u8]) -> String {
        let split = request.iter().position(|byte| *byte == 0);
        let (head, contents) = match split {
            Some(at) => (&request[..at], &request[at + 1..]),
            None => (request, &[][..]),
        };
        let answer = serde_json::from_slice(head)
            .map_err(|error| format!("not a request: {error}"))
            .and_then(|request| self.answer(request, contents));
        answer.unwrap_or_else(|error| json!({ "error": error })).to_string()
    }

    /// Advances the session to `time`.
    ///
    /// # Errors
    /// A fault of the simulator.
    pub fn advance_to(&mut self, time: Time) -> Result<(), String> {
        self.session.as_mut().map_or(Ok(()), |session| session.advance_to(time))
    }

    fn playing(&mut self) -> Result<&mut Session, String> {
        self.session.as_mut().ok_or_else(|| "nothing is played".to_string())
    }

    /// Runs a request. Requests that read a scenario return its first error, so that the page keeps its previous session.
    fn answer(&mut self, request: Request, contents: &[u8]) -> Result<Value, String> {
        Ok(match request {
            Request::Catalogue => catalogue(),
            Request::Shipped { name } => {
                let text = shipped::find(&name).ok_or_else(|| {
                    let near = shipped::suggest(&name).map(|near| format!(", such as {near}"));
                    format!(
                        "no shipped scenario '{name}'; expected one of the list{}",
                        near.unwrap_or_default()
                    )
                })?;
                json!({ "text": text })
            }
            Request::Trace { name } => self.take_trace(name, contents)?,
            Request::Read { text } => {
                let study = read(&text)?;
                let axes = study.axes.iter();
                let axes: Vec<Value> =
                    axes.map(|axis| json!({ "name": axis.name, "labels": axis.labels })).collect();
                json!({
                    "title": study.title, "about": study.about, "axes": axes, "cases": study.case_count(),
                    "warnings": study.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(),
                })
            }
            Request::Open { text, cases, bin_ms } => {
                self.session = None;
                let bin = Span::from_millis(bin_ms.clamp(1, 10_000));
                let session = Session::new(&text, &cases, bin, &self.library)?;
                let sides: Vec<Value> = session.sides.iter().map(|side| json!(side.describe())).collect();
                self.session = Some(session);
                json!({ "sides": sides })
            }
            Request::Progress => {
                let sides = &self.playing()?.sides;
                json!({ "sides": sides.iter().map(|side| json!(side.progress())).collect::<Vec<_>>() })
            }
            Request::Forget => {
                self.playing()?.forget();
                json!({})
            }
            Request::Qdiscs { text, cases } => {
                let library = &self.library;
                let session = self.session.as_mut().ok_or("nothing is played")?;
                session.take_qdiscs(&text, &cases, library)?;
                json!({ "sides": session.sides.iter().map(|side| json!(side.describe())).collect::<Vec<_>>() })
            }
            Request::Link { rest, whole } => {
                let library = &self.library;
                self.session.as_mut().ok_or("nothing is played")?.take_link(&rest, &whole, library)?;
                json!({})
            }
            Request::Capacity { from_ms, width_ms, count } => {
                let from = Time::ZERO + Span::from_millis(from_ms);
                json!({ "mbps": self.playing()?.capacity(from, Span::from_millis(width_ms.max(1)), count.min(100_000)) })
            }
            Request::Finish { side } => json!({ "text": self.playing()?.finish(side)? }),
        })
    }

    /// Stores a trace and reads it once, so that errors are reported at once.
    fn take_trace(&mut self, name: String, contents: &[u8]) -> Result<Value, String> {
        if contents.len() > TRACE_BYTES_MAX {
            let bytes = contents.len();
            return Err(format!("{name}: has {bytes} bytes; expected a trace of at most {TRACE_BYTES_MAX}"));
        }
        let looked = traces::look(contents, BEGINNING_BYTES);
        let Beginning { text: beginning, output, has_delays } =
            looked.map_err(|message| format!("{name}: {message}. {}", accepted()))?;
        if let Some(guess) = output {
            self.keep(name.clone(), contents);
            let key = match has_delays {
                true => format!("rtt = \"trace:{name}:format=[{}]\"", guess.format),
                false => format!("trace = \"{name}:format=[{}]\" in place of link or trace", guess.format),
            };
            let assumed = guess.assumed.join("; ");
            return Err(format!(
                "{name}: {assumed}. The scenario's text can use it, with {key} below [path]."
            ));
        }
        let format = format::detect(&beginning);
        if !is_whole(format) {
            // A table needs a scenario that names the column.
            self.keep(name.clone(), contents);
            let line = String::from_utf8_lossy(beginning.split(|byte| *byte == b'\n').next().unwrap_or(b""));
            let found: String = line.trim().chars().take(40).collect();
            return Err(format!(
                "{name}: line 1: expected numbers, found '{found}'. {} If this is {}, the scenario's text can say which column is the rate: with \
                 trace = \"{name}\" and trace_format = \"{}\" in place of link or trace.",
                accepted(),
                format.begins,
                format.usage
            ));
        }
        let library = Library::new().with_contents(name.clone(), contents);
        let found = library.trace(&name, None, true, None);
        let as_delay = format!("trace:{name}");
        let delay = found.as_ref().err().and_then(|_| Delay::parse(&as_delay).ok());
        let has_delays = delay.is_some_and(|delay| library.delay(&delay, Extent::RoundTrip).is_ok());
        if has_delays {
            self.keep(name.clone(), contents);
        }
        let found = found.map_err(|error| {
            let rates = format!("{error}. {}", accepted());
            match has_delays {
                true => format!(
                    "{rates} The file can be read as delays over time: the scenario's text can use it, with rtt = \"{as_delay}\" below [path]."
                ),
                false => rates,
            }
        })?;
        self.keep(name, contents);
        let length = qdelay_path::LinkModel::length(&found.link);
        Ok(json!({ "length_s": length.map(Span::as_secs_f64) }))
    }

    /// Stores a file for scenarios that name it.
    fn keep(&mut self, name: String, contents: &[u8]) {
        self.traces.insert(name, contents.to_vec());
        // A new file replaces an earlier one of this name, and the cached contents of the old one are dropped.
        let all = self.traces.iter();
        self.library = all.fold(Library::new(), |library, (name, contents)| {
            library.with_contents(name.clone(), &contents[..])
        });
    }
}

/// True if a file of this format can be read without further parameters.
fn is_whole(format: &Format) -> bool {
    format::parser(&Arguments::defaults(format.component)).is_ok()
}

/// Formats that the page accepts without parameters, as a sentence.
fn accepted() -> String {
    let all = FORMATS.iter().filter(|format| is_whole(format));
    let form = |format: &&Format| {
        let lines: Vec<String> = format.example.lines().map(|line| format!("“{line}”")).collect();
        format!("{} ({}; such as the lines {})", format.usage, format.component.about, lines.join(", "))
    };
    let forms: Vec<String> = all.map(form).collect();
    format!("The page takes text files in the formats {}.", forms.join(" and "))
}

/// Catalogue of built-in components, traces and scenarios.
fn catalogue() -> Value {
    let scenarios: Vec<&str> = shipped::SCENARIOS.iter().map(|(name, _)| *name).collect();
    let traces: Vec<&str> = qdelay_trace::SHIPPED.iter().map(|(name, _)| *name).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "qdiscs": components(qdisc::COMPONENTS),
        "transports": components(transport::COMPONENTS),
        "traces": traces,
        "scenarios": scenarios,
    })
}

fn components(all: &[&Component]) -> Vec<Value> {
    let parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name, "unit": parameter.unit.describe(), "default": parameter.default,
            "range": parameter.range(), "about": parameter.about,
        })
    };
    let component = |component: &&Component| {
        json!({
            "name": component.name, "about": component.about, "source": component.source,
            "parameters": component.parameters.iter().map(parameter).collect::<Vec<_>>(),
        })
    };
    all.iter().map(component).collect()
}
