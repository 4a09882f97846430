//! How many packets a cell carries in each tick.

use super::{FILE, FOR, FROM, FileChannel, REPEAT, parameter, parse, repeats, window};
use qdelay_core::component::{Component, Kind, Unit};
use qdelay_ran::radio::{Capacity, Channel, CqiTrace};
use qdelay_ran::tables::CqiToMcs;
use qdelay_trace::capacity::{self, Tie};

pub(super) static CHANNEL: FileChannel = FileChannel {
    component: &Component {
        kind: Kind::Channel,
        name: "capacity",
        about: "packets of 1500 bytes in each tick of 10 ms, a value for every second",
        source: "the emulator of the 5G QoS thesis",
        parameters: &[
            FILE,
            FROM,
            FOR,
            REPEAT,
            parameter(
                "spread",
                Unit::Switch,
                "off",
                "Whether the bytes of a tick are spread over its TTIs; else the TTI in which it begins has them all.",
            ),
            parameter(
                "cqi",
                Unit::Choice(&["none", "lowest", "highest"]),
                "none",
                "In place of packets, the CQIs that the values were made from, with the lowest or the highest of those that make the same value, and the MCS that the emulator gave each.",
            ),
        ],
        positional: Some("file"),
    },
    key: "file",
    example: "capacity:packets.txt",
    read: |arguments, input| {
        let (whole, digest) = parse(capacity::Parser::new(), input)?;
        let trace = window(arguments, whole.period(), |from, length| whole.window(from, length))?;
        let repeat = repeats(arguments);
        let tie = match arguments.text("cqi") {
            Some("lowest") => Some(Tie::Lowest),
            Some("highest") => Some(Tie::Highest),
            _ => None,
        };
        let Some(tie) = tie else {
            let spread = arguments.switch("spread") == Some(true);
            return Ok((Channel::Capacity(Capacity { trace, spread, repeat }), digest));
        };
        let trace = trace.cqis(tie).map_err(|error| error.to_string())?;
        let mapping = Some(CqiToMcs::ThesisEmulator);
        Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
    },
};
