//! Radio channel from the channel quality indicators of a drive test.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parse, window};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, without_brackets};
use qdelay_ran::radio::{self, Channel, CqiTrace, mapping};
use qdelay_trace::format::time::{self, TimeUnit};
use qdelay_trace::{Gap, cqi};

const OUTAGE: Typed<Option<Span>> = Typed::new(
    "outage",
    "",
    "Time after a CQI from which nothing is received until the next one; default: the channel keeps its last CQI.",
);
const COLUMN: Typed<str> = Typed::new(
    "column",
    cqi::CQI_COLUMN,
    "Name of the column of the CQI, in brackets if it has a colon; 11.0 is read as 11.",
);
const TIME: Typed<str> =
    Typed::new("time", cqi::TIME_COLUMN, "Name of the column of the time, in brackets if it has a colon.");
const TIME_UNIT: Typed<str> = time::TIME_UNIT.about("Unit of times that are numbers.");
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
        COLUMN.parameter(),
        TIME.parameter(),
        TIME_UNIT.parameter(),
        MAPPING.parameter(),
    ])
    .positional("file"),
    key: FILE,
    example: "cqi-trace:drive.csv",
    read: |arguments, input| {
        let gap = arguments.get(&OUTAGE).map_or(Gap::Hold, Gap::OutageAfter);
        let (whole, digest) = parse(cqi::Parser::with_columns(gap, columns(arguments)), input)?;
        let trace = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
        let (repeat, mapping) = (arguments.get(&REPEAT), mapping(arguments));
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
    },
};

fn columns(arguments: &Arguments) -> cqi::Columns {
    let name = |key| without_brackets(arguments.get(key)).to_string();
    let time_unit = TimeUnit::named(arguments.get(&TIME_UNIT));
    cqi::Columns { time: name(&TIME), time_unit, cqi: name(&COLUMN) }
}
