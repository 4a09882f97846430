//! What passed over a link, in files that other programs read.
//!
//! | log | of | read by |
//! | --- | --- | --- |
//! | [`MahimahiLog`] | one direction: arrivals, departures, drops, what the link could have sent | mahimahi's graph scripts and what was written for them |
//! | [`PcapngLog`] | both directions: the packets as they came and as they left or were dropped, with their bytes | Wireshark, tshark, tcpdump |
//!
//! Both are [`Tap`]s. On the data path a log copies what it needs into a [`ring`] and returns: no lock, no system call, no
//! allocation, no waiting. Everything else happens on a thread of the log's own. Records that find no room are counted
//! (`lost`), and so are those that come after the file could not be written, a full disk for instance: the run goes on, and
//! `close` returns the error, and what the file holds of it all: whole records, up to some record.
//!
//! Make logs where a thread may be made that is like its maker: after a user namespace was entered (which a process with
//! more than one thread cannot do), before the thread of the data path takes real-time priority (which the log's thread
//! would inherit).

mod mahimahi;
mod pcapng;
pub mod ring;
mod writer;

pub use mahimahi::{MahimahiLog, MahimahiOptions};
pub use pcapng::{PcapngLog, PcapngOptions};
pub use writer::{LogError, LogSummary};

use crate::any_plan::AnyPlan;
use crate::device::Port;
use crate::plan::Places;
use qdelay_core::Rate;
use qdelay_path::stack::{Bottleneck, StackError};
use qdelay_path::{AnyLink, Line, NodeId};

#[cfg(doc)]
use crate::emulator::Tap;

/// What logs need to know of a link.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Where things are on the path.
    pub places: Places,
    /// The nodes' names, by [`NodeId::index`].
    names: Vec<String>,
    /// As they are before the run, by the port whose packets they send.
    links: [AnyLink; 2],
}

impl Layout {
    /// That of `plan`.
    ///
    /// # Errors
    /// The path cannot be built as asked.
    pub fn of(plan: impl Into<AnyPlan>) -> Result<Layout, StackError> {
        let plan = plan.into();
        // What a cell could have sent is not known beforehand: its logs have none of it.
        let endless = || AnyLink::from(Line::new(Rate::INFINITE, 0));
        let links = match &plan {
            AnyPlan::Link(plan) => [plan.up.link.clone(), plan.down.link.clone()],
            AnyPlan::Dumbbell(plan) => {
                let up = plan.uplink.as_ref().map_or_else(endless, |uplink| uplink.link.0.clone());
                let down = match &plan.bottleneck {
                    Bottleneck::Link { link, .. } => link.0.clone(),
                    Bottleneck::Cell(_) => endless(),
                };
                [up, down]
            }
        };
        let (path, places) = plan.build()?;
        let names = path.nodes().map(|node| path.name(node).to_string()).collect();
        Ok(Layout { places, names, links })
    }

    /// The port that packets at `node` come from.
    #[inline]
    fn source(&self, node: NodeId) -> Port {
        self.places.role(node).source
    }

    fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }
}
