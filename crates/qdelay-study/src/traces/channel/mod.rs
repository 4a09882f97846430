//! Radio channels from files: CQIs of drive tests, capacities, and traces of links.
//!
//! Each channel has a file here with a [`FileChannel`], a `mod` line, and an entry in the registry below.

mod capacity;
mod cqi_trace;
mod trace;

pub use trace::from_link_trace;

use super::contents::Contents;
use super::window::{FOR, FROM};
use super::{CHUNK_BYTES, Digesting, FNV_BASIS, fill, unreadable};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Typed};
use qdelay_ran::radio::Channel;
use qdelay_trace::{Body, LineParser, TraceError};
use std::io::Read;

/// Registry, in the order of listings.
static CHANNELS: &[&FileChannel] = &[&cqi_trace::CHANNEL, &capacity::CHANNEL, &trace::CHANNEL];

/// Builds a channel from its arguments and its file; returns the digest of the file too.
type ReadChannel = fn(&Arguments, &mut dyn Read) -> Result<(Channel, u64), String>;

/// A radio channel that is read from a file.
pub struct FileChannel {
    component: &'static Component,
    /// Parameter that names the file.
    key: Typed<Option<&'static str>>,
    /// Example of the notation, for errors.
    example: &'static str,
    read: ReadChannel,
}

/// Declarations of the channels that are read from files.
pub fn components() -> impl Iterator<Item = &'static Component> {
    CHANNELS.iter().map(|channel| channel.component)
}

/// The file channel that `arguments` name; `None` for other channels.
pub fn find(arguments: &Arguments) -> Option<&'static FileChannel> {
    let name = arguments.component().name;
    CHANNELS.iter().find(|channel| channel.component.name == name).copied()
}

/// Length of one pass through the file of the channel, and whether it repeats; `None` for channels without a file.
pub fn length(channel: &Channel) -> Option<(Span, bool)> {
    match channel {
        Channel::CqiTrace(channel) => Some((channel.trace.period(), channel.repeat)),
        Channel::Capacity(channel) => Some((channel.period(), channel.repeat)),
        Channel::Opportunities(channel) => Some((channel.trace.period(), channel.repeat)),
        Channel::Rates(channel) => Some((channel.trace.period(), channel.repeat)),
        _ => None,
    }
}

impl FileChannel {
    /// The name of the file.
    ///
    /// # Errors
    /// The arguments name no file.
    pub fn file<'a>(&self, arguments: &'a Arguments) -> Result<&'a str, String> {
        let name = self.key.name();
        arguments.get(&self.key).ok_or_else(|| format!("no {name}; expected one, such as {}", self.example))
    }

    /// Reads the channel from its file; returns the digest of the file too.
    ///
    /// # Errors
    /// The mistake in the file, and the expected contents.
    pub fn read(&self, arguments: &Arguments, input: &mut dyn Read) -> Result<(Channel, u64), String> {
        (self.read)(arguments, input)
    }
}

const FILE: Typed<Option<&str>> =
    Typed::new("file", "", "File, searched for in the same places as traces; required.");
pub(super) const REPEAT: Typed<bool> =
    Typed::new("repeat", "on", "Start over at the end; off: nothing is received after it.");

/// Cuts the part from [`FROM`] on, of length [`FOR`], out of a trace with this period.
pub(super) fn window<T>(
    arguments: &Arguments,
    period: Span,
    cut: impl FnOnce(Span, Span) -> Result<T, TraceError>,
) -> Result<T, String> {
    let from = arguments.get(&FROM);
    let length = arguments.get(&FOR).unwrap_or(period.saturating_sub(from));
    // The error has no line, because a window does not stand in the file.
    cut(from, length).map_err(|error| format!("from and for: {}", error.problem))
}

/// Parses a whole file of lines; returns the digest of the file too.
pub(super) fn parse<B: Body>(parser: LineParser<B>, input: &mut dyn Read) -> Result<(B::Trace, u64), String> {
    parse_by(parser, LineParser::feed, LineParser::finish, input)
}

/// Parses a whole file; returns the digest of the file too.
pub(super) fn parse_by<P, T>(
    mut parser: P,
    feed: impl Fn(&mut P, &[u8]) -> Result<(), TraceError>,
    finish: impl FnOnce(P) -> Result<T, TraceError>,
    input: &mut dyn Read,
) -> Result<(T, u64), String> {
    let mut input = Digesting { input, digest: FNV_BASIS };
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut contents = Contents::of_file(&mut input).map_err(|error| unreadable(&error))?;
    loop {
        let filled = fill(&mut contents, &mut chunk).map_err(|error| unreadable(&error))?;
        if filled == 0 {
            break;
        }
        feed(&mut parser, &chunk[..filled]).map_err(|error| contents.explain(&error))?;
    }
    let trace = finish(parser).map_err(|error| contents.explain(&error))?;
    drop(contents);
    Ok((trace, input.digest))
}
