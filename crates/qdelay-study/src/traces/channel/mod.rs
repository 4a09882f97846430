//! Channels that are in files: CQIs of drive tests, capacities, and the traces of links.
//!
//! A channel is a file here with a [`FileChannel`], its `mod` line and a line of the registry below.

mod capacity;
mod cqi_trace;
mod trace;

pub use trace::of_trace;

use super::window::{FOR, FROM};
use super::{CHUNK_BYTES, Digesting, FNV_BASIS, fill, unreadable};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Typed};
use qdelay_ran::radio::Channel;
use qdelay_trace::{Body, LineParser, TraceError};
use std::io::Read;

/// The registry, in the order in which they are listed.
static CHANNELS: &[&FileChannel] = &[&cqi_trace::CHANNEL, &capacity::CHANNEL, &trace::CHANNEL];

/// Makes the channel, and the digest of the file.
type ReadChannel = fn(&Arguments, &mut dyn Read) -> Result<(Channel, u64), String>;

/// A channel that is in a file.
pub struct FileChannel {
    component: &'static Component,
    /// The key that names the file.
    key: Typed<Option<&'static str>>,
    /// How it is written.
    example: &'static str,
    read: ReadChannel,
}

/// The declarations of the channels in files.
pub fn components() -> impl Iterator<Item = &'static Component> {
    CHANNELS.iter().map(|channel| channel.component)
}

/// The channel that `arguments` are of; `None` where it is in no file.
pub fn find(arguments: &Arguments) -> Option<&'static FileChannel> {
    let name = arguments.component().name;
    CHANNELS.iter().find(|channel| channel.component.name == name).copied()
}

/// How long one round of the channel in a file lasts, and whether it starts over; `None` for other channels.
pub fn length(channel: &Channel) -> Option<(Span, bool)> {
    match channel {
        Channel::CqiTrace(channel) => Some((channel.trace.period(), channel.repeat)),
        Channel::Capacity(channel) => Some((channel.trace.period(), channel.repeat)),
        Channel::Opportunities(channel) => Some((channel.trace.period(), channel.repeat)),
        Channel::Rates(channel) => Some((channel.trace.period(), channel.repeat)),
        _ => None,
    }
}

impl FileChannel {
    /// The file that it is in.
    ///
    /// # Errors
    /// None is named.
    pub fn file<'a>(&self, arguments: &'a Arguments) -> Result<&'a str, String> {
        let name = self.key.name();
        arguments.get(&self.key).ok_or_else(|| format!("no {name}; expected one, such as {}", self.example))
    }

    /// Reads the channel that `arguments` describe from its file; its digest too.
    ///
    /// # Errors
    /// The mistake in the file, and what was expected.
    pub fn read(&self, arguments: &Arguments, input: &mut dyn Read) -> Result<(Channel, u64), String> {
        (self.read)(arguments, input)
    }
}

const FILE: Typed<Option<&str>> = Typed::new("file", "", "Where it is, looked for as traces are; required.");
const REPEAT: Typed<bool> =
    Typed::new("repeat", "on", "Whether it starts over at its end; else nothing is received after it.");

/// What [`FROM`] and [`FOR`] leave of a trace of this period.
fn window<T>(
    arguments: &Arguments,
    period: Span,
    cut: impl FnOnce(Span, Span) -> Result<T, TraceError>,
) -> Result<T, String> {
    let from = arguments.get(&FROM);
    let length = arguments.get(&FOR).unwrap_or(period.saturating_sub(from));
    // A window has no line in the file.
    cut(from, length).map_err(|error| format!("from and for: {}", error.problem))
}

/// The result of a parser for a whole file, and the digest of the file.
fn parse<B: Body>(mut parser: LineParser<B>, input: &mut dyn Read) -> Result<(B::Trace, u64), String> {
    let mut input = Digesting { input, digest: FNV_BASIS };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let filled = fill(&mut input, &mut chunk).map_err(|error| unreadable(&error))?;
        if filled == 0 {
            let trace = parser.finish().map_err(|error| error.to_string())?;
            return Ok((trace, input.digest));
        }
        parser.feed(&chunk[..filled]).map_err(|error| error.to_string())?;
    }
}
