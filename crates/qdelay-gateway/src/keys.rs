//! Declaration of every key of a gateway's configuration, for the reader, error messages and the test of the example.

use qdelay_config::value::wrong_type;
use qdelay_config::{Accept, AnySetting as _, Fault, Node, Setting, Settings, Table, key, table};
use qdelay_core::Span;
use qdelay_core::component::Parameter;
use qdelay_study::link_keys::{Down, SEED, Up};
use serde_json::{Value as Json, json};
use std::net::SocketAddr;

/// Declares a type of values with one line of text: its name, the expectation for error messages, and its parser.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident($made:ty), $expected:literal, $make:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(pub $made);

        impl $name {
            const EXPECTED: &str = $expected;
        }

        impl Accept for $name {
            fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                let text = node.text().filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
                let text = text.ok_or_else(|| wrong_type(path, node, Self::EXPECTED))?;
                let make: fn(&str) -> Option<$made> = $make;
                let made = make(text)
                    .ok_or_else(|| Fault::new(node.line, path, format!("'{text}': expected {}", Self::EXPECTED)))?;
                Ok((text.to_string(), $name(made)))
            }
            fn describe(_: &Parameter) -> String {
                Self::EXPECTED.to_string()
            }
            fn schema(_: &Parameter) -> Json {
                json!({ "type": "string", "minLength": 1 })
            }
        }
    )*};
}

texts! {
    /// The name of a network interface.
    Interface(()), "the name of a network interface in quotes, at most 15 bytes", |text| {
        // The kernel accepts these names (`dev_valid_name`).
        (text.len() < 16 && !matches!(text, "." | "..") && !text.contains(['/', ':', ' '])).then_some(())
    };
    /// An address and a port.
    Listen(SocketAddr), "an address and a port in quotes, such as \"127.0.0.1:9469\"", |text| {
        text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0)
    };
    /// The name of a file.
    File(()), "the name of a file in quotes", |text| (!text.ends_with('/')).then_some(());
    /// The permissions of a file.
    Mode(u32), "octal digits in quotes with reading and writing for the owner, such as \"0660\"", |text| {
        let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
        mode.filter(|mode| mode & 0o600 == 0o600)
    };
    /// A user or a group: a name or a number.
    Owner(()), "a name or a number in quotes", |text| (!text.contains([':', ' '])).then_some(());
}

table! {
    /// `[gateway]`: the two interfaces, and options of forwarding.
    pub struct Gateway, GatewayChange = "gateway", "the two interfaces, and options of forwarding" {
        inside: Option<Interface> = key("", "The interface towards the devices behind the link.").required().fixed();
        outside: Option<Interface> = key("", "The interface towards the network.").required().fixed();
        mtu: u16 = key("1500", "Maximum size of a forwarded IP packet.").bytes().within("576", "9000").fixed();
        hold: u32 = key("100000", "Maximum number of packets held, both directions together.")
            .count("packets").within("1", "10000000").fixed();
        seed: u64 = key(SEED, "Seed of the random streams.").count("seeds");
        realtime: bool = key("off", "Requests real-time scheduling and locked memory, and spins before each release.").fixed();
        spin: Option<Span> = key("", "Time to spin before each release; 50us with realtime, else 0s.")
            .within("0s", "10ms").fixed();
        user: Option<Owner> = key("", "User to run as once interfaces, sockets and files are open.").fixed();
    }
}

table! {
    /// `[metrics]`: metrics for Prometheus.
    pub struct Metrics, MetricsChange = "metrics", "metrics for Prometheus" {
        listen: Option<Listen> = key("", "Address and port of /metrics, for Prometheus.").required().fixed();
    }
}

table! {
    /// `[control]`: the control socket.
    pub struct Control, ControlChange = "control", "the control socket" {
        socket: Option<File> = key("", "Path of the control socket.").required().fixed();
        mode: Mode = key("0600", "Permissions of the control socket.").fixed();
        group: Option<Owner> = key("", "Group of the control socket.").fixed();
    }
}

table! {
    /// `[log]`: records of packets.
    pub struct Log, LogChange = "log", "records of packets" {
        mahimahi: Option<File> = key("", "Prefix of mahimahi's logs of both directions, PREFIX.down and PREFIX.up.").fixed();
        pcap: Option<File> = key("", "Packet capture (pcapng) of both sides.").fixed();
        packets: Option<File> = key("", "Parquet file with a row for every packet.").fixed();
    }
}

/// All tables.
pub static TABLES: [&Table; 6] =
    [Gateway::TABLE, Down::TABLE, Up::TABLE, Metrics::TABLE, Control::TABLE, Log::TABLE];

/// Checks that a required key is set; `header` is the line of its table, if the table is present.
///
/// # Errors
/// The key is missing.
pub fn require<T: Accept>(setting: &Setting<Option<T>>, header: Option<u32>) -> Result<(), Fault> {
    if setting.is_set() {
        return Ok(());
    }
    let key = setting.key();
    Err(Fault::new(header.unwrap_or(0), key.path, format!("missing; expected {}", key.describe())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::component::Unit;

    /// The example that users copy contains every key with its default.
    #[test]
    fn the_example_has_every_key() {
        let example = include_str!("../gateway.toml");
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
