//! Every key of a gateway's configuration, declared once: reading, errors and the test of the example come from here.

use qdelay_core::component::{Parameter, Unit};

/// How a value is written, beyond its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As its unit says.
    Plain,
    /// The name of a network interface.
    Interface,
    /// A link or a trace.
    Link,
    /// A queue discipline.
    Qdisc,
    /// An address and a port.
    Listen,
    /// The name of a file.
    File,
    /// The permissions of a file, in octal digits.
    Mode,
    /// A user or a group: a name or a number.
    Owner,
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name, unit, default and range.
    pub parameter: Parameter,
    /// How it is written.
    pub form: Form,
    /// Whether a reload can change it.
    pub is_live: bool,
    /// Whether there is no gateway without it.
    pub is_required: bool,
}

/// A table of keys.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// As in its header.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

impl Table {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.parameter.name == name)
    }
}

const fn key(name: &'static str, form: Form, default: &'static str, about: &'static str) -> Key {
    let parameter = Parameter { name, unit: Unit::Text, default, min: "", max: "", about, source: "" };
    Key { parameter, form, is_live: false, is_required: false }
}

const fn plain(
    name: &'static str,
    unit: Unit,
    default: &'static str,
    range: [&'static str; 2],
    about: &'static str,
) -> Key {
    let [min, max] = range;
    let parameter = Parameter { name, unit, default, min, max, about, source: "" };
    Key { parameter, form: Form::Plain, is_live: false, is_required: false }
}

impl Key {
    const fn live(self) -> Key {
        Key { is_live: true, ..self }
    }
    const fn required(self) -> Key {
        Key { is_required: true, ..self }
    }
}

const ANY: [&str; 2] = ["", ""];

static GATEWAY: Table = Table {
    name: "gateway",
    keys: &[
        key("inside", Form::Interface, "", "The interface towards the devices behind the link.").required(),
        key("outside", Form::Interface, "", "The interface towards the rest of the world.").required(),
        plain("mtu", Unit::Bytes, "1500", ["576", "9000"], "Largest IP packet that is carried."),
        plain(
            "hold",
            Unit::Count("packets"),
            "100000",
            ["1", "10000000"],
            "Packets that are held at most, both directions together.",
        ),
        plain("seed", Unit::Count("seeds"), "1", ANY, "Seed of the random streams.").live(),
        plain(
            "realtime",
            Unit::Switch,
            "off",
            ANY,
            "Asks for real-time scheduling and locked memory, and spins before each release.",
        ),
        plain(
            "spin",
            Unit::Span,
            "",
            ["0s", "10ms"],
            "How long to spin before each release; 50us with realtime, else 0s.",
        ),
        key("user", Form::Owner, "", "The user to run as once everything is open."),
    ],
};

const DIRECTION: &[Key] = &[
    key("link", Form::Link, "infinite", "A rate, any link that 'qdelay list link' has, or a trace.").live(),
    plain("once", Unit::Switch, "off", ANY, "A trace does not start over at its end.").live(),
    key("qdisc", Form::Qdisc, "taildrop", "The queue discipline in front of the link.").live(),
    plain("delay", Unit::Span, "0s", ["0s", "60s"], "Delay of each packet behind the link.").live(),
    plain(
        "jitter",
        Unit::Span,
        "0s",
        ["0s", "60s"],
        "At most this much more, drawn for each packet; packets keep their order.",
    )
    .live(),
    plain("loss", Unit::Number, "0", ["0", "1"], "Probability that a packet is lost behind the link.").live(),
];

/// From outside to inside.
pub static DOWN: Table = Table { name: "down", keys: DIRECTION };
/// From inside to outside.
pub static UP: Table = Table { name: "up", keys: DIRECTION };

static METRICS: Table = Table {
    name: "metrics",
    keys: &[key("listen", Form::Listen, "", "Address and port of /metrics, for Prometheus.").required()],
};

static CONTROL: Table = Table {
    name: "control",
    keys: &[
        key("socket", Form::File, "", "The control socket.").required(),
        key("mode", Form::Mode, "0600", "Its permissions."),
        key("group", Form::Owner, "", "Its group."),
    ],
};

static LOG: Table = Table {
    name: "log",
    keys: &[
        key(
            "mahimahi",
            Form::File,
            "",
            "Prefix of mahimahi's logs of both directions, PREFIX.down and PREFIX.up.",
        ),
        key("pcap", Form::File, "", "A packet capture (pcapng) of both sides."),
        key("packets", Form::File, "", "A Parquet file with a row for every packet."),
    ],
};

/// Every table.
pub static TABLES: [&Table; 6] = [&GATEWAY, &DOWN, &UP, &METRICS, &CONTROL, &LOG];

#[cfg(test)]
mod tests {
    use super::*;

    /// What people copy has every key with its default, and is not behind what is read.
    #[test]
    fn the_example_has_every_key() {
        let example = include_str!("../../../packaging/gateway.toml");
        let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in example.lines() {
            let line = line.trim_start_matches('#').trim();
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => sections.push((name, Vec::new())),
                None => sections.last_mut().map_or((), |(_, lines)| lines.push(line)),
            }
        }
        assert_eq!(sections.len(), TABLES.len());
        for (table, (name, lines)) in TABLES.iter().zip(&sections) {
            assert_eq!(table.name, *name);
            let keys: Vec<&str> =
                lines.iter().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key).collect();
            let declared: Vec<&str> = table.keys.iter().map(|key| key.parameter.name).collect();
            assert_eq!(keys, declared, "[{name}]");
            for key in table.keys.iter().filter(|key| !key.parameter.default.is_empty()) {
                let default = key.parameter.default;
                let explained = lines.iter().any(|line| {
                    line.starts_with(&format!("{} = ", key.parameter.name))
                        && (line.contains(&format!("default {default}"))
                            || line.ends_with(&format!("= {default}"))
                            || line.ends_with(&format!("= \"{default}\"")))
                });
                let switched = key.parameter.unit == Unit::Switch;
                assert!(explained || switched, "[{name}] {} = ...; default {default}", key.parameter.name);
            }
        }
    }
}
