//! Outputs of programs, read as traces or as delays over time: a registry by name.
//!
//! A program is a file here with a [`Program`], its `mod` line, and an entry in [`PROGRAMS`]. Text becomes one of the formats of
//! [`qdelay_trace::format`]; JSON is read here.

mod alphartc;
mod flent;
mod iperf3;
mod irtt;
mod json;
mod pensieve;
mod puffer;
mod samples;
mod wireshark;

use super::extent::Extent;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_trace::format::guess::Guess;
use qdelay_trace::{DelaySteps, RateSteps, format};
use std::io::Read;

/// Every program, in the order of listings.
pub static PROGRAMS: &[&Program] = &[
    &iperf3::PROGRAM,
    &irtt::PROGRAM,
    &flent::PROGRAM,
    &wireshark::PROGRAM,
    &pensieve::PROGRAM,
    &puffer::PROGRAM,
    &alphartc::PROGRAM,
];

/// A program whose output is read.
pub struct Program {
    /// Name and keys.
    pub component: &'static Component,
    /// Usage with required keys.
    pub usage: &'static str,
    /// True if a file may be the program's output, by its first bytes.
    is_begun_by: fn(&[u8]) -> bool,
    /// The words that read such a file, and what they assume.
    guess: fn(&[u8]) -> Guess,
    reading: Reading,
}

/// How an output is read.
enum Reading {
    /// Text, by the words of a format.
    Text(fn(&Arguments) -> Result<String, String>),
    /// JSON with rates, delays or both.
    Json { rates: Option<ReadRates>, delays: Option<ReadDelays> },
}

type ReadRates = fn(&Arguments, &mut dyn Read) -> Result<(RateSteps, Vec<String>), String>;
type ReadDelays = fn(&Arguments, &mut dyn Read) -> Result<FileDelays, String>;

/// Delays of a file.
pub(super) struct FileDelays {
    pub steps: DelaySteps,
    /// One direction or a round trip; `None` if the file does not say.
    pub extent: Option<Extent>,
    /// Lines about the file.
    pub notes: Vec<String>,
}

impl Program {
    /// True if its outputs can have delays.
    pub const fn has_delays(&self) -> bool {
        matches!(self.reading, Reading::Json { delays: Some(_), .. })
    }
    /// True if its outputs can have rates.
    pub const fn has_rates(&self) -> bool {
        matches!(self.reading, Reading::Text(_) | Reading::Json { rates: Some(_), .. })
    }
    /// The error of an output without rates.
    pub(super) fn no_rates(&self) -> String {
        let name = self.component.name;
        format!("an output of {name} has delays, not rates; expected it as a delay, trace:FILE:format={name}")
    }
    /// A guess at the words that read a file with this beginning.
    pub(super) fn guess(&self, beginning: &[u8]) -> Guess {
        (self.guess)(beginning)
    }
}

/// The program that a format names; `None` if it is a format of text.
pub(super) fn named(text: &str) -> Option<&'static Program> {
    let name = text.split(':').next().unwrap_or("");
    PROGRAMS.iter().find(|program| program.component.name == name).copied()
}

/// The program whose output begins so.
pub(super) fn recognised(beginning: &[u8]) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| (program.is_begun_by)(beginning)).copied()
}

/// Usages of the formats of text and of programs.
pub fn usages() -> String {
    let programs: Vec<&str> = PROGRAMS.iter().map(|program| program.component.name).collect();
    format!("{}; or an output of {}", format::usages(), programs.join(", "))
}

/// A program with its keys, as a user gives them.
#[derive(Clone)]
pub(super) struct Output {
    pub program: &'static Program,
    arguments: Arguments,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.arguments.fmt(f)
    }
}

impl Output {
    /// Parses `name[:key=value...]` of a program.
    ///
    /// # Errors
    /// Keys that are unknown, missing or out of range.
    pub fn parse(program: &'static Program, text: &str) -> Result<Output, ComponentError> {
        let arguments = Arguments::parse(&[program.component], text)?;
        let output = Output { program, arguments };
        output.text_format().map_err(|message| ComponentError::new(text, message))?;
        Ok(output)
    }

    /// The format of text that reads the output; `None` for JSON.
    pub fn text_format(&self) -> Result<Option<Arguments>, String> {
        match self.program.reading {
            Reading::Text(words) => {
                format::parse(&words(&self.arguments)?).map(Some).map_err(|error| error.message)
            }
            Reading::Json { .. } => Ok(None),
        }
    }

    /// Reads rates out of JSON.
    ///
    /// # Errors
    /// The output has no rates, or cannot be read.
    pub fn rates(&self, input: &mut dyn Read) -> Result<(RateSteps, Vec<String>), String> {
        match self.program.reading {
            Reading::Json { rates: Some(read), .. } => read(&self.arguments, input),
            _ => Err(self.program.no_rates()),
        }
    }

    /// Reads delays out of JSON.
    ///
    /// # Errors
    /// The output has no delays, or cannot be read.
    pub fn delays(&self, input: &mut dyn Read) -> Result<FileDelays, String> {
        match self.program.reading {
            Reading::Json { delays: Some(read), .. } => read(&self.arguments, input),
            _ => Err(no_delays(self.program.component.name)),
        }
    }
}

/// The error of a format that has no delays.
pub(super) fn no_delays(name: &str) -> String {
    let with: Vec<&str> = PROGRAMS
        .iter()
        .filter(|program| program.has_delays())
        .map(|program| program.component.name)
        .collect();
    format!(
        "format {name} has no delays; expected csv:column=NAME, {}; delays in lines of text need no format",
        with.join(", ")
    )
}

/// True if `bytes` contain `part`.
fn has(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

/// True if the text begins as an object of JSON.
fn is_object(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start().starts_with(b"{")
}

#[cfg(test)]
mod tests;
