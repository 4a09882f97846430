//! A packet filter of a bearer, as given in the file.

use super::declare::{self, Settings};
use super::values::{Dscps, Protocol};
use qdelay_config::AnySetting;
use qdelay_traffic::transport::TransportConfig;

impl Protocol {
    pub(super) fn from_transport(transport: &TransportConfig) -> Protocol {
        if let TransportConfig::Tcp(_) = transport { Protocol::Tcp } else { Protocol::Udp }
    }
}

/// A `[[cell.ue.bearer.filter]]`.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub line: u32,
    pub keys: declare::Filter,
}

impl Filter {
    /// Precedence; its presence is checked when the file is read.
    pub fn precedence(&self) -> u8 {
        self.keys.precedence.get().unwrap_or(0)
    }
    /// Codepoints that match; bit n stands for codepoint n.
    pub fn dscps(&self) -> u64 {
        self.keys.dscp.get().map_or(u64::MAX, |Dscps(all)| all)
    }
    pub fn protocol(&self) -> Option<Protocol> {
        self.keys.protocol.get()
    }
    pub fn flow(&self) -> Option<&str> {
        self.keys.flow.is_set().then(|| self.keys.flow.text())
    }
    /// True if some packet can match both filters.
    pub fn overlaps(&self, other: &Filter) -> bool {
        let either = |one: Option<&str>, other: Option<&str>| one.zip(other).is_none_or(|(a, b)| a == b);
        let protocols = self.protocol().zip(other.protocol()).is_none_or(|(a, b)| a == b);
        self.dscps() & other.dscps() != 0 && protocols && either(self.flow(), other.flow())
    }
    /// A description of the packets that match.
    pub fn describe(&self) -> String {
        let keys: [&dyn AnySetting; 3] = [&self.keys.dscp, &self.keys.protocol, &self.keys.flow];
        let given = keys.into_iter().filter(|setting| setting.has_value());
        let parts: Vec<String> =
            given.map(|setting| format!("{} {}", setting.key().name(), setting.text())).collect();
        if parts.is_empty() { "any packet".to_string() } else { parts.join(", ") }
    }
    /// The filter in result files.
    pub fn json(&self) -> serde_json::Value {
        serde_json::Value::Object(self.keys.json())
    }
}
