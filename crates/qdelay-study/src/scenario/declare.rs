//! Every key of a scenario file, declared once: reading, errors, the JSON Schema and the tables of `docs/scenarios.md`
//! come from here.

pub use super::form::Form;
use qdelay_core::component::{Component, Parameter, Unit};
use qdelay_core::{pacer, qdisc};
use qdelay_ran::mac;
use qdelay_traffic::transport;

/// Most flows of a case.
pub const FLOWS_MAX: u64 = 10_000;
/// Most seeds of a study.
pub const SEEDS_MAX: u64 = 10_000;
/// Most bins of a time series.
pub const BINS_MAX: u64 = 1_000_000;
/// Most UEs of a cell.
pub const UES_MAX: u64 = 1_000;
/// Most hops in front of a bottleneck.
pub const HOPS_MAX: usize = qdelay_path::stack::HOPS_MAX;
/// Most data radio bearers of a UE.
pub const BEARERS_MAX: usize = 30;
/// Most QoS flows of a UE: their identifiers have six bits (TS 38.415 clause 5.5.3.3).
pub const QOS_FLOWS_MAX: usize = 64;

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name, unit, default and range.
    pub parameter: Parameter,
    /// How it is written.
    pub form: Form,
    /// Whether `[matrix]` may vary it.
    pub varies: bool,
}

/// A table of keys.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// As in its header.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its keys, in the order they are listed.
    pub keys: &'static [Key],
}

impl Table {
    /// The place of a key.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|key| key.parameter.name == name)
    }
    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.parameter.name).collect()
    }
    /// The names of those that `[matrix]` may vary.
    pub fn varying(&self) -> Vec<&'static str> {
        self.keys.iter().filter(|key| key.varies).map(|key| key.parameter.name).collect()
    }
}

impl Form {
    /// The components that it chooses from; links are in [`crate::links::components`].
    pub fn registry(self) -> Option<Vec<&'static Component>> {
        match self {
            Form::Qdisc | Form::OptionalQdisc => Some(qdisc::COMPONENTS.to_vec()),
            Form::Transport => Some(transport::COMPONENTS.to_vec()),
            Form::Link | Form::Uplink | Form::OptionalLink => Some(crate::links::components()),
            Form::Channel => Some(crate::radio::channels()),
            Form::Pacer => Some(pacer::COMPONENTS.to_vec()),
            Form::Scheduler => Some(mac::COMPONENTS.to_vec()),
            Form::Partition => Some(qdelay_ran::cell::PARTITIONS.to_vec()),
            Form::Rlc => Some(crate::radio::RLC.to_vec()),
            _ => None,
        }
    }
}

const fn key(name: &'static str, unit: Unit, default: &'static str, about: &'static str) -> Key {
    let parameter = Parameter { name, unit, default, min: "", max: "", about, source: "" };
    Key { parameter, form: Form::Plain, varies: true }
}

impl Key {
    const fn within(self, min: &'static str, max: &'static str) -> Key {
        Key { parameter: Parameter { min, max, ..self.parameter }, ..self }
    }
    const fn of(self, form: Form) -> Key {
        Key { form, ..self }
    }
    const fn fixed(self) -> Key {
        Key { varies: false, ..self }
    }
    /// The same key of a table whose values stand over those of the one above it.
    const fn inherited(self) -> Key {
        Key { parameter: Parameter { default: "", ..self.parameter }, ..self }
    }
    /// What its value is, for people: `duration`, `qdisc`, `true|false`.
    pub fn describe(&self) -> String {
        match self.form {
            Form::Plain if self.parameter.unit == Unit::Switch => "true|false".to_string(),
            Form::Plain => self.parameter.unit.describe(),
            Form::Qdisc => "qdisc".to_string(),
            Form::Transport => "transport".to_string(),
            Form::Link => "link".to_string(),
            Form::Uplink => "rate, link, trace or none".to_string(),
            Form::Trace => "trace".to_string(),
            Form::TraceFormat => qdelay_trace::format::usages(),
            Form::Dscp => "codepoint: name or number".to_string(),
            Form::Dscps => "codepoint, or list of them".to_string(),
            Form::Seeds => "number, list or range".to_string(),
            Form::Series => "duration or off".to_string(),
            Form::Name => "name".to_string(),
            Form::Channel => "channel".to_string(),
            Form::Pacer => "pacer".to_string(),
            Form::Scheduler => "scheduler".to_string(),
            Form::Partition => "partition or none".to_string(),
            Form::Share | Form::Percent => "percent".to_string(),
            Form::Rlc => "kind of RLC".to_string(),
            Form::OptionalQdisc => "qdisc or none".to_string(),
            Form::OptionalLink => "link or none".to_string(),
            Form::Limit => "packets, or bytes with a unit".to_string(),
        }
    }
}

const PACKETS: Unit = Unit::Count("packets");

const TRACE_FORMAT: Key = key(
    "trace_format",
    Unit::Text,
    "",
    "How to read the trace; where it is not given, the first line tells.",
)
.of(Form::TraceFormat);
const ONCE: Key = key(
    "once",
    Unit::Switch,
    "off",
    "The trace does not start over: after its end a mahimahi link is silent, and the last rate of other formats holds.",
);
const LIMIT: Key = key(
    "limit",
    PACKETS,
    "",
    "Packets its queue holds, where the discipline's own limit is not given; else its default.",
)
.within("1", "10000000");

/// `[path]`.
pub static PATH: Table = Table {
    name: "path",
    about: "the bottleneck, and the way to it and back",
    keys: &[
        key("link", Unit::Text, "", "The bottleneck's link, such as 10mbit; this or trace.").of(Form::Link),
        key("trace", Unit::Text, "", "The trace that drives the bottleneck's link; this or link.")
            .of(Form::Trace),
        TRACE_FORMAT,
        ONCE,
        key("qdisc", Unit::Text, "taildrop", "The queue discipline of the bottleneck.").of(Form::Qdisc),
        LIMIT,
        key("rtt", Unit::Span, "10ms", "Round trip without any queue or transmission.").within("1us", "60s"),
        key(
            "jitter",
            Unit::Span,
            "0s",
            "At most this much more delay behind the bottleneck; packets keep their order.",
        )
        .within("0s", "60s"),
        key("uplink", Unit::Text, "48mbit", "What acknowledgements cross.").of(Form::Uplink),
        key("uplink_limit", PACKETS, "1000", "Packets the uplink's queue holds.").within("1", "10000000"),
    ],
};

/// `[[path.hop]]`.
pub static HOP: Table = Table {
    name: "path.hop",
    about: "a queue and a link in front of the bottleneck, which all flows cross in the data direction",
    keys: &[
        key("name", Unit::Text, "", "What it is called; hop-1, hop-2... where it is not given.")
            .of(Form::Name)
            .fixed(),
        key("link", Unit::Text, "", "Its link, such as 10mbit; this or trace.").of(Form::Link),
        key("trace", Unit::Text, "", "The trace that drives its link; this or link.").of(Form::Trace),
        TRACE_FORMAT,
        ONCE,
        key("qdisc", Unit::Text, "taildrop", "The queue discipline in front of the link.").of(Form::Qdisc),
        LIMIT,
        key("delay", Unit::Span, "0s", "From its link to what is behind it, one way; on top of path.rtt.")
            .within("0s", "60s"),
    ],
};

/// `[[flow]]`.
pub static FLOW: Table = Table {
    name: "flow",
    about: "a flow, or several that are alike",
    keys: &[
        key("name", Unit::Text, "", "What it is called in results; flow-1, flow-2... where it is not given.")
            .of(Form::Name)
            .fixed(),
        key("transport", Unit::Text, "cubic", "What its two ends run.").of(Form::Transport),
        key("count", Unit::Count("flows"), "1", "How many of them; several are called NAME-1, NAME-2...")
            .within("1", "10000"),
        key("start", Unit::Span, "0s", "When it starts."),
        key("stop", Unit::Span, "", "When it stops sending; at the end of the run where it is not given."),
        key("spread", Unit::Span, "0s", "Each starts at a random time up to this after start."),
        key(
            "dscp",
            Unit::Text,
            "be",
            "Differentiated services codepoint of its packets, in both directions.",
        )
        .of(Form::Dscp),
        key(
            "other_dscp",
            Unit::Text,
            "",
            "A second codepoint, for some of the data packets that it sends; acknowledgements keep dscp.",
        )
        .of(Form::Dscp),
        key(
            "other_share",
            Unit::Text,
            "",
            "With which probability a data packet carries other_dscp, such as 20%; nothing unless given.",
        )
        .of(Form::Percent),
        key("extra_rtt", Unit::Span, "0s", "Added to the round trip for this flow alone.")
            .within("0s", "60s"),
        key(
            "access",
            Unit::Rate,
            "",
            "Rate of its own access link in front of the bottleneck; none where not given.",
        )
        .within("1bit", ""),
        key(
            "access_jitter",
            Unit::Span,
            "0s",
            "At most this much more delay behind the access link for each data packet; packets keep their order.",
        )
        .within("0s", "60s"),
        key(
            "discard_after",
            Unit::Span,
            "",
            "The receiver throws away data packets that come later than this after they were sent.",
        )
        .within("1us", "60s"),
        key("ue", Unit::Text, "", "The UEs of a cell that it goes to: a name under [[cell.ue]], or each: one flow for each of them.")
            .of(Form::Name),
        key("qfi", Unit::Count("QFI"), "", "The QoS flow of that UE that carries it; its only one where it is not given.")
            .within("0", "63"),
    ],
};

const UPF: Key = key(
    "upf",
    Unit::Text,
    "none",
    "The queue of each QoS flow at the user plane function; none: packets come to the SDAP at once.",
)
.of(Form::OptionalQdisc);
const USP: Key =
    key("usp", Unit::Text, "vanilla", "The pacer between the UPF's queue and the SDAP's.").of(Form::Pacer);
const UPF_PACKETS: Key = key(
    "upf_packets",
    PACKETS,
    "",
    "Packets that may go on from a UPF's queue in each upf_period; any number where it is not given.",
)
.within("1", "1000000");
const UPF_PERIOD: Key = key("upf_period", Unit::Span, "1ms", "See upf_packets.").within("1us", "10s");
const SDAP: Key =
    key("sdap", Unit::Text, "taildrop", "The queue of each QoS flow at the SDAP.").of(Form::Qdisc);
const SDAP_ORDER: Key = key(
    "sdap_order",
    Unit::Choice(&["priority", "round_robin", "drr"]),
    "priority",
    "How a bearer takes from its QoS flows: always the most important, a packet of each in turn, or as many bytes of each.",
);
const SDAP_PACKETS: Key = key(
    "sdap_packets",
    PACKETS,
    "",
    "Packets that may go on from the SDAP to a bearer in each sdap_period; any number where it is not given.",
)
.within("1", "1000000");
const SDAP_PERIOD: Key = key("sdap_period", Unit::Span, "1ms", "See sdap_packets.").within("1us", "10s");
const PACER: Key =
    key("pacer", Unit::Text, "vanilla", "What lets packets from the SDAP into the RLC's queue.")
        .of(Form::Pacer);
const FEEDBACK: Key =
    key("feedback", Unit::Span, "0s", "How long it takes until a pacer hears of what happens below it.")
        .within("0s", "10s");
const POLLING: Key = key(
    "polling",
    Unit::Span,
    "0s",
    "Pacers look at multiples of this only; 0: whenever there is a reason to.",
)
.within("0s", "10s");
const RLC: Key =
    key("rlc", Unit::Text, "um", "Radio link control: unacknowledged, acknowledged or transparent mode.")
        .of(Form::Rlc);
const RLC_QUEUE: Key =
    key("rlc_queue", Unit::Text, "taildrop", "The queue that the RLC takes from.").of(Form::Qdisc);
const RLC_LIMIT: Key = key(
    "rlc_limit",
    Unit::Text,
    "",
    "What that queue holds, where the discipline's own limit is not given; else its default.",
)
.of(Form::Limit);
const RLC_BUFFER: Key = key(
    "rlc_buffer",
    Unit::Bytes,
    "",
    "What that queue and the rest of a packet that is partly sent may be together, headers of PDCP included; an arrival that does not fit is dropped.",
)
.within("64b", "1000000000b");
const FIVE_QI: Key =
    key("five_qi", Unit::Count("5QI"), "", "Of NR: its standardized 5QI.").within("1", "254");
const CHANNEL: Key = key("channel", Unit::Text, "mcs:28", "How good the radio channel is.").of(Form::Channel);
const REPORT_DELAY: Key =
    key("report_delay", Unit::Span, "0s", "How old a channel report is when the scheduler first uses it.")
        .within("0s", "10s");
const REPORT_PERIOD: Key =
    key("report_period", Unit::Span, "0s", "How far channel reports are apart; 0: one for every TTI.")
        .within("0s", "10s");

const SCHEDULER: Key =
    key("scheduler", Unit::Text, "round_robin", "Which UE gets which resource blocks.").of(Form::Scheduler);
const SLICE_OF: Key =
    key("slice", Unit::Text, "", "With a partition: the slice of its bearers; each bearer is of one slice.")
        .of(Form::Name);

/// `[cell]`.
pub static CELL: Table = Table {
    name: "cell",
    about: "a cell as the bottleneck, in place of path.link, path.trace and path.qdisc",
    keys: &[
        key("technology", Unit::Choice(&["lte", "nr"]), "lte", "Which tables and slots it has.").fixed(),
        key("prbs", Unit::Count("resource blocks"), "25", "Physical resource blocks of the carrier.").within("1", "275"),
        key(
            "bandwidth",
            Unit::Choice(&["1.4mhz", "3mhz", "5mhz", "10mhz", "15mhz", "20mhz"]),
            "",
            "Of LTE, in place of prbs.",
        ),
        key("numerology", Unit::Count("numerology"), "0", "Of NR: slots of 1 ms, 500, 250 or 125 us.").within("0", "3"),
        key("mcs_table", Unit::Choice(&["qam64", "qam256"]), "qam64", "Of NR: which modulations there are."),
        key("layers", Unit::Count("layers"), "1", "Of NR: spatial layers.").within("1", "4"),
        key("tti", Unit::Span, "", "Transmission time interval: a multiple of the slot; the slot where it is not given.")
            .within("1us", "1s"),
        key(
            "unit",
            Unit::Choice(&["bytes", "packets"]),
            "bytes",
            "What is counted; packets: each is 1500 bytes, and none is cut in pieces.",
        ),
        SCHEDULER,
        key(
            "partition",
            Unit::Text,
            "none",
            "How slices, each under [[cell.slice]], get their resource blocks.",
        )
        .of(Form::Partition),
        key("sharing", Unit::Choice(&["priority", "equal"]), "priority", "How the bearers of a UE share what it gets."),
        key("control", Unit::Choice(&["none", "testbed"]), "none", "Which TTIs carry less because of control."),
        key("bler", Unit::Number, "0", "Share of transport blocks that are lost and sent again, where the MCS is right.").within("0", "0.99"),
        key("harq_rtt", Unit::Span, "", "From a lost block to its repetition; the technology's where it is not given.")
            .within("1us", "1s"),
        key("harq_retransmissions", Unit::Count("repetitions"), "3", "After so many a block is lost for good.").within("0", "30"),
        key("air", Unit::Span, "", "From the TTI in which a block is sent until it is decoded; the technology's where it is not given.")
            .within("0s", "1s"),
        CHANNEL,
        REPORT_DELAY,
        REPORT_PERIOD,
        key("n3", Unit::Text, "none", "A link that packets cross before they come to the node.").of(Form::OptionalLink),
        key(
            "n3_overhead",
            Unit::Bytes,
            "36",
            "Bytes that its tunnel adds to each packet, where the link's own overhead is not given: GTP-U, UDP and IP.",
        )
        .within("0", "1500b"),
        key("n3_limit", PACKETS, "1000", "Packets its queue holds.").within("1", "10000000"),
        UPF,
        USP,
        UPF_PACKETS,
        UPF_PERIOD,
        SDAP,
        SDAP_ORDER,
        SDAP_PACKETS,
        SDAP_PERIOD,
        PACER,
        FEEDBACK,
        POLLING,
        RLC,
        RLC_QUEUE,
        RLC_LIMIT,
        RLC_BUFFER,
    ],
};

/// `[[cell.slice]]`.
pub static SLICE: Table = Table {
    name: "cell.slice",
    about: "a slice of the cell: a share of its resource blocks, and the bearers that name it",
    keys: &[
        key("name", Unit::Text, "", "What it is called; required.").of(Form::Name).fixed(),
        key(
            "share",
            Unit::Text,
            "",
            "Its part of the resource blocks that carry new data, such as \"25%\"; required.",
        )
        .of(Form::Share),
        SCHEDULER.inherited(),
    ],
};

/// `[[cell.ue]]`.
pub static UE: Table = Table {
    name: "cell.ue",
    about: "a UE of the cell, or several that are alike",
    keys: &[
        key("name", Unit::Text, "", "What it is called; ue-1, ue-2... where it is not given.")
            .of(Form::Name)
            .fixed(),
        key("count", Unit::Count("UEs"), "1", "How many of them; several are called NAME-1, NAME-2...")
            .within("1", "1000"),
        CHANNEL.inherited(),
        REPORT_DELAY.inherited(),
        REPORT_PERIOD.inherited(),
        SLICE_OF,
    ],
};

/// `[[cell.ue.bearer]]`.
pub static BEARER: Table = Table {
    name: "cell.ue.bearer",
    about: "a data radio bearer of a UE",
    keys: &[
        key("name", Unit::Text, "", "What it is called; drb-1, drb-2... where it is not given.")
            .of(Form::Name)
            .fixed(),
        key(
            "priority",
            Unit::Count("priority"),
            "1",
            "The bearers of a UE are served in this order, 1 first; equal ones in turn. Where it is not given, that of qci or five_qi.",
        )
        .within("1", "255"),
        key("qci", Unit::Count("QCI"), "", "Of LTE: its standardized QoS class; all bearers of a UE have one, or none.")
            .within("1", "254"),
        Key {
            parameter: Parameter { about: "Of NR: the standardized 5QI of its QoS flows that have none of their own.", ..FIVE_QI.parameter },
            ..FIVE_QI
        },
        Key {
            parameter: Parameter {
                about: "With a partition: its slice, in place of the UE's.",
                ..SLICE_OF.parameter
            },
            ..SLICE_OF
        },
        SDAP_ORDER.inherited(),
        SDAP_PACKETS,
        SDAP_PERIOD.inherited(),
        PACER.inherited(),
        FEEDBACK.inherited(),
        POLLING.inherited(),
        RLC.inherited(),
        RLC_QUEUE.inherited(),
        RLC_LIMIT,
        RLC_BUFFER,
    ],
};

/// `[[cell.ue.bearer.qos_flow]]`.
pub static QOS_FLOW: Table = Table {
    name: "cell.ue.bearer.qos_flow",
    about: "a QoS flow of a bearer",
    keys: &[
        key("qfi", Unit::Count("QFI"), "", "Its identifier, unlike that of any other of the UE; required.")
            .within("0", "63")
            .fixed(),
        key(
            "priority",
            Unit::Count("priority"),
            "1",
            "With sdap_order = \"priority\": 1 first; equal ones as they stand. Where it is not given, that of five_qi.",
        )
        .within("1", "255"),
        FIVE_QI,
        UPF.inherited(),
        USP.inherited(),
        UPF_PACKETS,
        UPF_PERIOD.inherited(),
        SDAP.inherited(),
    ],
};

/// `[[cell.ue.bearer.filter]]`.
pub static FILTER: Table = Table {
    name: "cell.ue.bearer.filter",
    about: "a packet filter of a bearer: which packets it carries",
    keys: &[
        key(
            "precedence",
            Unit::Count("precedence"),
            "",
            "Of the filters that match a packet the one with the least decides; unlike that of any other of the UE; required.",
        )
        .within("0", "255")
        .fixed(),
        key("dscp", Unit::Text, "", "Codepoints of packets that match; any where it is not given.")
            .of(Form::Dscps)
            .fixed(),
        key("protocol", Unit::Choice(&["udp", "tcp"]), "", "What packets that match are of; either where it is not given.").fixed(),
        key("flow", Unit::Text, "", "The [[flow]] that packets that match are of; any where it is not given.")
            .of(Form::Name)
            .fixed(),
        key("qfi", Unit::Count("QFI"), "", "The QoS flow of the bearer that carries what matches; its first where it is not given.")
            .within("0", "63")
            .fixed(),
    ],
};

/// `[run]`.
pub static RUN: Table = Table {
    name: "run",
    about: "for how long, how often, and what is kept",
    keys: &[
        key("duration", Unit::Span, "60s", "Simulated time.").within("1ms", "1440min"),
        key("warmup", Unit::Span, "0s", "Rates and delays are taken from here on."),
        key("seeds", Unit::Text, "1", "Seeds of the random streams: each case runs with each.")
            .of(Form::Seeds)
            .fixed(),
        key("min_packet_bytes", Unit::Bytes, "0", "Smallest IP packet whose delay counts.")
            .within("0", "65535b"),
        key("probe", Unit::Switch, "off", "Small packets at random times through the bottleneck's queue."),
        key(
            "series",
            Unit::Text,
            "",
            "Width of the bins of the time series, or off; a 500th of the duration, rounded up.",
        )
        .of(Form::Series),
        key("packets", Unit::Switch, "off", "Keep a record of every packet."),
    ],
};

/// `[[expect]]`.
pub static EXPECT: Table = Table {
    name: "expect",
    about: "what the results should be",
    keys: &[
        key("claim", Unit::Text, "", "What is expected, in words; required.").fixed(),
        key("measure", Unit::Text, "", "The figure, as a dotted path into a case of summary.json; required.")
            .fixed(),
        key(
            "where",
            Unit::Text,
            "",
            "A table of axis = label, or a list of labels: the cases meant; all others too.",
        )
        .fixed(),
        key(
            "normalise",
            Unit::Text,
            "",
            "A table of axis = label: each figure over that of the case with these labels.",
        )
        .fixed(),
        key(
            "over",
            Unit::Choice(&["mean", "geomean", "median", "min", "max", "sum", "ci95_low", "ci95_high"]),
            "mean",
            "How the figures of the cases become one.",
        )
        .fixed(),
        key(
            "versus",
            Unit::Text,
            "",
            "A table of axis = labels: the figure is divided by the best of these labels'.",
        )
        .fixed(),
        key("best", Unit::Choice(&["min", "max"]), "min", "Which of versus is best.").fixed(),
        key("unit", Unit::Text, "", "Unit of low, high and paper, to be printed.").fixed(),
        key("low", Unit::Number, "", "Least accepted; this, high or both.").fixed(),
        key("high", Unit::Number, "", "Largest accepted; this, low or both.").fixed(),
        key("paper", Unit::Number, "", "What a paper says.").fixed(),
    ],
};

/// The keys outside of any table, and the tables, with what each is for.
pub static TOP: &[(&str, &str)] = &[
    ("title", "What it is, in one line."),
    ("about", "What it is for, in any number of lines."),
    ("path", "The bottleneck, and the way to it and back."),
    ("cell", "A cell of a mobile network as the bottleneck."),
    ("flow", "The flows: one table for each."),
    ("run", "For how long, how often, and what is kept."),
    ("matrix", "Keys with several values: one case for each combination."),
    ("fallback", "Shipped traces that stand in for ones that may not be at hand."),
    ("expect", "What the results should be."),
];

/// The table of the documentation for `table`.
pub fn markdown(table: &Table) -> String {
    let mut text =
        String::from("| key | value | default | range | what it does |\n| --- | --- | --- | --- | --- |\n");
    for key in table.keys {
        let parameter = &key.parameter;
        let value = key.describe().replace('|', "\\|");
        let default = match (parameter.default, parameter.unit) {
            ("", _) => String::new(),
            (default, Unit::Switch) => format!("`{}`", default == "on"),
            (default, _) => format!("`{default}`"),
        };
        let ranged = !(parameter.min.is_empty() && parameter.max.is_empty());
        let range = if ranged { parameter.range() } else { String::new() };
        text += &format!("| `{}` | {value} | {default} | {range} | {} |\n", parameter.name, parameter.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_can_be_read() {
        for table in [PATH, HOP, CELL, SLICE, UE, BEARER, QOS_FLOW, FILTER, FLOW, RUN, EXPECT] {
            for key in table.keys.iter().filter(|key| !key.parameter.default.is_empty()) {
                let read = key.parameter.read(key.parameter.default);
                assert!(read.is_ok(), "{}.{}: {read:?}", table.name, key.parameter.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_defined() {
        for table in [PATH, HOP, CELL, SLICE, UE, BEARER, QOS_FLOW, FILTER, FLOW, RUN, EXPECT] {
            let mut names = table.names();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.keys.len(), "{}", table.name);
            assert!(table.keys.iter().all(|key| key.parameter.about.ends_with('.')));
        }
    }
}
