//! Links and channels of a case, and the traces that they come from.

use crate::traces::{Library, TraceUsed, channel};
use qdelay_core::component::Arguments;
use qdelay_path::AnyLink;
use qdelay_ran::radio::Channel;
use std::collections::BTreeMap;

/// Where links come from, and which traces were used.
pub(super) struct Sources<'a> {
    pub library: &'a Library,
    pub fallback: &'a BTreeMap<String, String>,
    pub used: BTreeMap<String, TraceUsed>,
}

impl Sources<'_> {
    /// A trace as a link.
    pub fn trace(&mut self, name: &str, format: Option<&str>, repeat: bool) -> Result<AnyLink, String> {
        let stand_in = self.fallback.get(name).map(String::as_str);
        let found = self.library.trace(name, format, repeat, stand_in)?;
        self.used.entry(found.name.clone()).or_insert(found.used);
        Ok(found.link)
    }

    /// A radio channel, from its file where it is in one.
    pub fn channel(&mut self, arguments: &Arguments) -> Result<Channel, String> {
        let Some(channel) = channel::find(arguments) else {
            return Channel::build(arguments).map_err(|error| error.to_string());
        };
        let stand_in = channel.file(arguments).ok().and_then(|name| self.fallback.get(name));
        let found = self
            .library
            .channel(channel, arguments, stand_in.map(String::as_str))
            .map_err(|message| format!("'{}': {message}", arguments.typed()))?;
        self.used.entry(found.name).or_insert(found.used);
        Ok(found.channel)
    }
}
