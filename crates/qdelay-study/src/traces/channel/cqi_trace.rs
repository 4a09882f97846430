//! Radio channel from the channel quality indicators of a drive test.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parse, window};
use qdelay_core::Span;
use qdelay_core::component::{Component, Kind, Typed};
use qdelay_ran::radio::{self, Channel, CqiTrace, mapping};
use qdelay_trace::{Gap, cqi};

const OUTAGE: Typed<Option<Span>> = Typed::new(
    "outage",
    "",
    "Time after a CQI from which nothing is received until the next one; default: the channel keeps its last CQI.",
);
const MAPPING: Typed<str> =
    radio::MAPPING.about("Mapping of CQI to MCS; usual: oai on LTE, efficiency on NR.").source("");

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component::new(
        Kind::Channel,
        "cqi-trace",
        "the channel quality indicator of a drive test, as G-NetTrack writes it",
    )
    .source("the 4G and 5G datasets of UCC (Raca et al., MMSys 2018 and 2020)")
    .with(&[
        FILE.parameter(),
        FROM.parameter(),
        FOR.parameter(),
        REPEAT.parameter(),
        OUTAGE.parameter(),
        MAPPING.parameter(),
    ])
    .positional("file"),
    key: FILE,
    example: "cqi-trace:drive.csv",
    read: |arguments, input| {
        let gap = arguments.get(&OUTAGE).map_or(Gap::Hold, Gap::OutageAfter);
        let (whole, digest) = parse(cqi::Parser::with_gap(gap), input)?;
        let trace = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
        let (repeat, mapping) = (arguments.get(&REPEAT), mapping(arguments));
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
    },
};
