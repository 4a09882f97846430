//! Radio channel from a file with the packets that a cell carries in each tick.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parse, window};
use qdelay_core::Span;
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_ran::radio::{Capacity, Channel, CqiTrace};
use qdelay_ran::tables::CqiToMcs;
use qdelay_trace::capacity::{self, Tie};

const SPREAD: Typed<bool> = Typed::new(
    "spread",
    "off",
    "Spread the bytes of a tick over its TTIs; off: its first TTI carries all of them.",
);
const TICK: Typed<Span> = Typed::new(
    "tick",
    "10ms",
    "Time from one tick to the next; a value of the file holds for 100 ticks. Another than 10ms is for spread=off and cqi=none.",
)
.within("1us", "10s");
const CQI: Typed<str> = Typed::new(
    "cqi",
    "none",
    "Use CQIs with the emulator's MCS for each in place of packets: of the CQIs that give a value, the lowest or the highest.",
)
.unit(Unit::Choice(&["none", "lowest", "highest"]));

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component::new(
        Kind::Channel,
        "capacity",
        "capacity in packets of 1500 bytes per tick of 10 ms, one value for each second",
    )
    .source("the emulator of the 5G QoS thesis")
    .with(&[
        FILE.parameter(),
        FROM.parameter(),
        FOR.parameter(),
        REPEAT.parameter(),
        TICK.parameter(),
        SPREAD.parameter(),
        CQI.parameter(),
    ])
    .positional("file"),
    key: FILE,
    example: "capacity:packets.txt",
    read: |arguments, input| {
        let (whole, digest) = parse(capacity::Parser::new(), input)?;
        let trace = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
        let repeat = arguments.get(&REPEAT);
        let tie = match arguments.get(&CQI) {
            "lowest" => Some(Tie::Lowest),
            "highest" => Some(Tie::Highest),
            _ => None,
        };
        let (spread, tick) = (arguments.get(&SPREAD), arguments.get(&TICK));
        if tick != capacity::TICK && (spread || tie.is_some()) {
            return Err(arguments
                .fail(format!("tick {tick}; expected 10ms with spread=on or cqi"))
                .to_string());
        }
        let Some(tie) = tie else {
            return Ok((Channel::Capacity(Capacity { trace, tick, spread, repeat }), digest));
        };
        let trace = trace.cqis(tie).map_err(|error| error.to_string())?;
        let mapping = Some(CqiToMcs::ThesisEmulator);
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
    },
};
