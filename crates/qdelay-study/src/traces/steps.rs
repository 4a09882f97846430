//! Files with a value over time: delays and losses.

use super::channel::{self, parse, window};
use super::window as cut;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Typed};
use qdelay_trace::steps::Parser;
use qdelay_trace::{StepValue, Steps};
use std::io::Read;

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

/// Reads the window of a file, with `factor` times its scale; returns the digest of the file too.
pub(super) fn read<V: StepValue>(
    arguments: &Arguments,
    factor: f64,
    input: &mut dyn Read,
) -> Result<(Steps<V>, u64), String> {
    let (whole, digest) = lines(arguments, input)?;
    Ok((part(arguments, factor, &whole)?, digest))
}

/// Reads lines of text; returns the digest of the file too.
pub(super) fn lines<V: StepValue>(
    arguments: &Arguments,
    input: &mut dyn Read,
) -> Result<(Steps<V>, u64), String> {
    parse(Parser::<V>::with_slots(arguments.get(&EVERY)), input)
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
