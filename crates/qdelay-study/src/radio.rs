//! Components of a cell as users name them.

use crate::traces::channel;
use qdelay_core::component::Component;
use qdelay_path::{F1_COMPONENTS, OVERHEAD};
use qdelay_ran::cell::{MOVES, PARTITIONS, SLEEPS};
use qdelay_ran::mac;
use qdelay_ran::pdcp;
use qdelay_ran::radio::{ADAPTATIONS, CHANNELS, DECODINGS, DUPLEXES};
use qdelay_ran::rlc;

/// The radio channels.
pub fn channels() -> Vec<&'static Component> {
    CHANNELS.iter().copied().chain(channel::components()).collect()
}

/// Every component of a cell: channels, MAC schedulers, partitions, kinds of RLC, PDCP and F1, and options of the air interface.
pub fn components() -> Vec<&'static Component> {
    let air = [DECODINGS, ADAPTATIONS, SLEEPS, DUPLEXES, MOVES];
    channels()
        .into_iter()
        .chain(
            [mac::COMPONENTS, PARTITIONS, rlc::COMPONENTS, pdcp::COMPONENTS, F1_COMPONENTS]
                .into_iter()
                .flatten()
                .copied(),
        )
        .chain(air.into_iter().flatten().copied())
        .collect()
}

/// Adds an overhead in bytes per packet to the text of a link, if the link has this parameter and the text does not set it.
pub(crate) fn with_overhead(text: &str, bytes: u64) -> String {
    let name = text.split(':').next().unwrap_or("");
    let is_rate = qdelay_path::is_rate(text);
    let components = crate::links::components();
    let component = components.iter().find(|component| component.name == name);
    let key = OVERHEAD.name();
    let can = is_rate
        || component
            .is_some_and(|component| component.parameters.iter().any(|parameter| parameter.name == key));
    if !can || text.contains(&format!(":{key}=")) || bytes == 0 {
        return text.to_string();
    }
    format!("{text}:{key}={bytes}")
}
