//! Every key of a scenario file, declared once: reading, errors, the JSON Schema and the tables of `docs/scenarios.md`
//! come from here.

use qdelay_core::component::{Component, Parameter, Unit};
use qdelay_core::qdisc;
use qdelay_traffic::transport;

/// Most flows of a case.
pub const FLOWS_MAX: u64 = 10_000;
/// Most seeds of a study.
pub const SEEDS_MAX: u64 = 10_000;
/// Most bins of a time series.
pub const BINS_MAX: u64 = 1_000_000;

/// How a value is written, beyond its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As its unit says.
    Plain,
    /// A queue discipline.
    Qdisc,
    /// A transport.
    Transport,
    /// A link.
    Link,
    /// A link, a trace, a rate or `none`.
    Uplink,
    /// The name of a trace.
    Trace,
    /// How a trace is to be read.
    TraceFormat,
    /// A codepoint: a name, or 0 to 63.
    Dscp,
    /// A number, a list of numbers, or a range such as `1..10`.
    Seeds,
    /// A duration, or `off`.
    Series,
    /// The name of a flow.
    Name,
}

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
            Form::Qdisc => Some(qdisc::COMPONENTS.to_vec()),
            Form::Transport => Some(transport::COMPONENTS.to_vec()),
            Form::Link | Form::Uplink => Some(crate::links::components()),
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
            Form::TraceFormat => "mahimahi, mbps or csv:...".to_string(),
            Form::Dscp => "codepoint: name or number".to_string(),
            Form::Seeds => "number, list or range".to_string(),
            Form::Series => "duration or off".to_string(),
            Form::Name => "name".to_string(),
        }
    }
}

const PACKETS: Unit = Unit::Count("packets");

/// `[path]`.
pub static PATH: Table = Table {
    name: "path",
    about: "the bottleneck, and the way to it and back",
    keys: &[
        key("link", Unit::Text, "", "The bottleneck's link, such as 10mbit; this or trace.").of(Form::Link),
        key("trace", Unit::Text, "", "The trace that drives the bottleneck's link; this or link.")
            .of(Form::Trace),
        key(
            "trace_format",
            Unit::Text,
            "",
            "How to read the trace; where it is not given, the first line tells.",
        )
        .of(Form::TraceFormat),
        key(
            "once",
            Unit::Switch,
            "off",
            "The trace does not start over: after its end a mahimahi link is silent, and the last rate of other formats holds.",
        ),
        key("qdisc", Unit::Text, "taildrop", "The queue discipline of the bottleneck.").of(Form::Qdisc),
        key(
            "limit",
            PACKETS,
            "",
            "Packets its queue holds, where the discipline's own limit is not given; else its default.",
        )
        .within("1", "10000000"),
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
        key("extra_rtt", Unit::Span, "0s", "Added to the round trip for this flow alone.")
            .within("0s", "60s"),
        key(
            "access",
            Unit::Rate,
            "",
            "Rate of its own access link in front of the bottleneck; none where not given.",
        )
        .within("1bit", ""),
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
            Unit::Choice(&["mean", "geomean", "median", "min", "max", "sum"]),
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
        for table in [PATH, FLOW, RUN, EXPECT] {
            for key in table.keys.iter().filter(|key| !key.parameter.default.is_empty()) {
                let read = key.parameter.read(key.parameter.default);
                assert!(read.is_ok(), "{}.{}: {read:?}", table.name, key.parameter.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_defined() {
        for table in [PATH, FLOW, RUN, EXPECT] {
            let mut names = table.names();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.keys.len(), "{}", table.name);
            assert!(table.keys.iter().all(|key| key.parameter.about.ends_with('.')));
        }
    }
}
