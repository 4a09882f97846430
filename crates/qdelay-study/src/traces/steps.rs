//! Files with a value over time: delays and losses.

use super::channel::{self, parse, parse_by, window};
use super::window as cut;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Typed, without_brackets};
use qdelay_trace::csv::{self, UnitOf};
use qdelay_trace::steps::Parser;
use qdelay_trace::{StepValue, Steps};
use std::io::Read;

/// Hint for a table's format whose keys have been taken for those of the trace.
const BRACKETS: &str = "; a format with keys stands in brackets, as in format=[csv:column=NAME]";

pub(super) const FILE: Typed<Option<&str>> =
    Typed::new("file", "", "file, searched for in the same places as traces; required");
pub(super) const EVERY: Typed<Span> =
    Typed::new("every", "10ms", "duration of a slot, in a file with one number in each line")
        .within("1us", "");
pub(super) const REPEAT: Typed<bool> =
    channel::REPEAT.about("start over at the end; off: the last value holds");
pub(super) const SCALE: Typed<f64> = cut::SCALE.about("factor on the values");

/// The file of `arguments` of `trace`, of which `example` is an example; `None` for other components.
pub(super) fn file<'a>(
    arguments: &'a Arguments,
    trace: &Component,
    example: &str,
) -> Result<Option<&'a str>, String> {
    if arguments.component().name != trace.name {
        return Ok(None);
    }
    arguments.get(&FILE).map(Some).ok_or_else(|| format!("no file; expected one, such as {example}"))
}

/// Reads lines of text; returns the digest of the file too.
pub(super) fn lines<V: StepValue>(
    arguments: &Arguments,
    input: &mut dyn Read,
) -> Result<(Steps<V>, u64), String> {
    parse(Parser::<V>::with_slots(arguments.get(&EVERY)), input)
}

/// The table that the value of a key `format` describes; `None` for another format.
///
/// # Errors
/// Keys that are unknown, missing or contradict each other.
pub(super) fn table_format<V: StepValue>(format: &str) -> Result<Option<Arguments>, String> {
    let text = without_brackets(format);
    if text.split(':').next() != Some(V::TABLE.name) {
        return Ok(None);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        let colon = if text.len() == format.len() { BRACKETS } else { "" };
        format!("format: '{text}': {error}{colon}")
    };
    let arguments = Arguments::parse(&[V::TABLE], text).map_err(|error| wrong(&error.message))?;
    csv::Parser::<UnitOf<V>>::of_values(&arguments).map_err(|error| wrong(&error))?;
    Ok(Some(arguments))
}

/// Reads a column of a table; returns the digest of the file too.
pub(super) fn table<V: StepValue>(
    columns: &Arguments,
    input: &mut dyn Read,
) -> Result<(Steps<V>, u64), String> {
    let parser = csv::Parser::<UnitOf<V>>::of_values(columns)?;
    parse_by(parser, csv::Parser::feed, csv::Parser::finish, input)
}

/// The window of `whole`, with `factor` times its scale.
pub(super) fn part<V: StepValue>(
    arguments: &Arguments,
    factor: f64,
    whole: &Steps<V>,
) -> Result<Steps<V>, String> {
    let part = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
    part.scaled(factor * arguments.get(&SCALE)).map_err(|error| format!("scale: {}", error.problem))
}
