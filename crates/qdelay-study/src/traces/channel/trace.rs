//! The trace of a link as a channel.

use super::super::{Format, Trace, read_with_digest};
use super::{FileChannel, REPEAT, parameter, repeats};
use qdelay_core::component::{Component, Kind, Unit};
use qdelay_ran::radio::{Channel, Opportunities, Rates};

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component {
        kind: Kind::Channel,
        name: "trace",
        about: "the trace of a link: each TTI carries what the link would have",
        source: "",
        parameters: &[parameter("name", Unit::Text, "", "The name of the trace; required."), REPEAT],
        positional: Some("name"),
    },
    key: "name",
    example: "trace:synth-lte-driving",
    read: |arguments, input| {
        let (trace, digest) = read_with_digest(input, &Format::default())?;
        Ok((of_trace(trace, repeats(arguments)), digest))
    },
};

/// The channel that the trace of a link makes.
pub fn of_trace(trace: Trace, repeat: bool) -> Channel {
    match trace {
        Trace::Schedule(trace) => Channel::Opportunities(Opportunities { trace, repeat }),
        Trace::Rates(trace) => Channel::Rates(Rates { trace, repeat }),
    }
}
