//! Radio channel from a file with the packets that a cell carries in each tick.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parse, window};
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_ran::radio::{Capacity, Channel, CqiTrace};
use qdelay_ran::tables::CqiToMcs;
use qdelay_trace::capacity::{self, Tie};

const SPREAD: Typed<bool> = Typed::new(
    "spread",
    "off",
    "Spread the bytes of a tick over its TTIs; off: its first TTI carries all of them.",
);
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
        let Some(tie) = tie else {
            let spread = arguments.get(&SPREAD);
            return Ok((Channel::Capacity(Capacity { trace, spread, repeat }), digest));
        };
        let trace = trace.cqis(tie).map_err(|error| error.to_string())?;
        let mapping = Some(CqiToMcs::ThesisEmulator);
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
    },
};
