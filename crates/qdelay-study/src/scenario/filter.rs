//! A packet filter of a bearer, as the file has it.

use super::layer::Layer;
use qdelay_traffic::transport::TransportConfig;

/// What packets are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    pub fn of(transport: &TransportConfig) -> Protocol {
        if let TransportConfig::Tcp(_) = transport { Protocol::Tcp } else { Protocol::Udp }
    }
}

/// A `[[cell.ue.bearer.filter]]`.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub line: u32,
    pub layer: Layer,
}

impl Filter {
    /// Its precedence; the declared range keeps it within eight bits.
    pub fn precedence(&self) -> u64 {
        self.layer.get("precedence").whole()
    }
    /// The codepoints that match, bit n for codepoint n.
    pub fn dscps(&self) -> u64 {
        self.layer.get("dscp").dscps().unwrap_or(u64::MAX)
    }
    pub fn protocol(&self) -> Option<Protocol> {
        match self.layer.get("protocol").text.as_str() {
            "udp" => Some(Protocol::Udp),
            "tcp" => Some(Protocol::Tcp),
            _ => None,
        }
    }
    pub fn flow(&self) -> Option<&str> {
        let flow = self.layer.get("flow");
        flow.is_set().then_some(flow.text.as_str())
    }
    /// Whether a packet may match both.
    pub fn overlaps(&self, other: &Filter) -> bool {
        let either = |one: Option<&str>, other: Option<&str>| one.zip(other).is_none_or(|(a, b)| a == b);
        let protocols = self.protocol().zip(other.protocol()).is_none_or(|(a, b)| a == b);
        self.dscps() & other.dscps() != 0 && protocols && either(self.flow(), other.flow())
    }
    /// What it matches, for people.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        let dscps = self.layer.get("dscp");
        if dscps.is_set() {
            parts.push(format!("dscp {}", dscps.text));
        }
        for name in ["protocol", "flow"] {
            let setting = self.layer.get(name);
            if setting.is_set() {
                parts.push(format!("{name} {}", setting.text));
            }
        }
        if parts.is_empty() { "any packet".to_string() } else { parts.join(", ") }
    }
    /// As it stands in files of results.
    pub fn json(&self) -> serde_json::Value {
        let keys = self.layer.table.keys.iter().zip(&self.layer.settings);
        keys.map(|(key, setting)| (key.parameter.name.to_string(), setting.json())).collect()
    }
}
