//! Radio channel from the trace of a link.

use super::super::window::{FORMAT, named_format};
use super::super::{Trace, read_with_digest};
use super::{FOR, FROM, FileChannel, REPEAT, window};
use qdelay_core::component::{Component, Kind, Typed};
use qdelay_ran::radio::{Channel, Opportunities, Rates};

const NAME: Typed<Option<&str>> = Typed::new("name", "", "Name of the trace; required.");

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component::new(
        Kind::Channel,
        "trace",
        "the trace of a link: each TTI carries the bytes that the link would send",
    )
    .with(&[NAME.parameter(), FROM.parameter(), FOR.parameter(), REPEAT.parameter(), FORMAT.parameter()])
    .positional("name"),
    key: NAME,
    example: "trace:synth-lte-driving",
    read: |arguments, input| {
        let format = named_format(arguments, &FORMAT)?.unwrap_or_default();
        let (trace, digest) = read_with_digest(input, &format)?;
        let part = match &trace {
            Trace::Schedule(whole) => window(arguments, whole.period(), |from, length| {
                whole.window(from, length).map(Trace::Schedule)
            }),
            Trace::Rates(whole) => {
                window(arguments, whole.period(), |from, length| whole.window(from, length).map(Trace::Rates))
            }
        };
        Ok((from_link_trace(part?, arguments.get(&REPEAT)), digest))
    },
};

/// The channel that a link's trace makes.
pub fn from_link_trace(trace: Trace, repeat: bool) -> Channel {
    match trace {
        Trace::Schedule(trace) => Channel::Opportunities(Opportunities { trace, repeat }),
        Trace::Rates(trace) => Channel::Rates(Rates { trace, repeat }),
    }
}
