//! The channel quality indicator of a drive test.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parameter, parse, repeats, window};
use qdelay_core::component::{Component, Kind, Unit};
use qdelay_ran::radio::{Channel, CqiTrace};
use qdelay_ran::tables::CqiToMcs;
use qdelay_trace::{Gap, cqi};

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component {
        kind: Kind::Channel,
        name: "cqi-trace",
        about: "the channel quality indicator of a drive test, as G-NetTrack writes it",
        source: "the 4G and 5G datasets of UCC (Raca et al., MMSys 2018 and 2020)",
        parameters: &[
            FILE,
            FROM,
            FOR,
            REPEAT,
            parameter(
                "outage",
                Unit::Span,
                "",
                "Nothing is received from this long after the last CQI on until the next; the channel stays as it was where it is not given.",
            ),
            parameter(
                "mapping",
                Unit::Choice(&["usual", "oai", "thesis", "efficiency"]),
                "usual",
                "Which MCS a CQI stands for; usual: oai on LTE, efficiency on NR.",
            ),
        ],
        positional: Some("file"),
    },
    key: "file",
    example: "cqi-trace:drive.csv",
    read: |arguments, input| {
        let gap = arguments.span("outage").map_or(Gap::Hold, Gap::OutageAfter);
        let (whole, digest) = parse(cqi::Parser::with_gap(gap), input)?;
        let trace = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
        let mapping = match arguments.text("mapping") {
            Some("oai") => Some(CqiToMcs::Oai),
            Some("thesis") => Some(CqiToMcs::ThesisEmulator),
            Some("efficiency") => Some(CqiToMcs::Efficiency),
            _ => None,
        };
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat: repeats(arguments), mapping }), digest))
    },
};
