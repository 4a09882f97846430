//! Logs of the packets on a link, in formats of other programs.
//!
//! | log | contents | read by |
//! | --- | --- | --- |
//! | [`MahimahiLog`] | one direction: arrivals, departures, drops, the link's capacity | mahimahi's graph scripts, programs for its format |
//! | [`PcapngLog`] | both directions: the packets as they arrived and as they left or were dropped, with their bytes | Wireshark, tshark, tcpdump |
//!
//! Both are [`Tap`]s. On the data path a log copies a record into a [`ring`] and returns: no lock, no system call, no
//! allocation, no waiting. A thread of the log does the rest. Records are counted as `lost` if the ring is full, or after
//! writing the file has failed, on a full disk for instance: the run continues, and `close` returns the error and the number
//! of records in the file, which ends with a whole record.
//!
//! Create logs after entering a user namespace (which a process with more than one thread cannot do), and before the thread of
//! the data path takes real-time priority (which the log's thread would inherit).

mod mahimahi;
mod pcapng;
pub mod ring;
mod writer;

pub use mahimahi::{MahimahiLog, MahimahiOptions};
pub use pcapng::{PcapngLog, PcapngOptions};
pub use writer::{LogError, LogSummary};

use crate::device::Port;
use crate::plan_kind::PlanKind;
use qdelay_core::Rate;
use qdelay_path::stack::PathNodes;
use qdelay_path::stack::{Bottleneck, StackError};
use qdelay_path::{AnyLink, Line, NodeId};

#[cfg(doc)]
use crate::emulator::Tap;

/// Nodes and links of a path, as the logs need them.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The nodes of the path.
    pub nodes: PathNodes,
    /// The nodes' names, by [`NodeId::index`].
    names: Vec<String>,
    /// The links in their state before the run, by the port whose packets they send.
    links: [AnyLink; 2],
}

impl Layout {
    /// Derives the layout of the path of `plan`.
    ///
    /// # Errors
    /// The path cannot be built from the plan.
    pub fn from_plan(plan: impl Into<PlanKind>) -> Result<Layout, StackError> {
        let plan = plan.into();
        // The capacity of a cell depends on its users, so its logs omit the capacity.
        let endless = || AnyLink::from(Line::new(Rate::INFINITE, 0));
        let links = match &plan {
            PlanKind::Link(plan) => [plan.up.link.clone(), plan.down.link.clone()],
            PlanKind::Dumbbell(plan) => {
                let up = plan.uplink.as_ref().map_or_else(endless, |uplink| uplink.link.0.clone());
                let down = match &plan.bottleneck {
                    Bottleneck::Link { link, .. } => link.0.clone(),
                    Bottleneck::Cell(_) => endless(),
                };
                [up, down]
            }
        };
        let (path, nodes) = plan.build()?;
        let names = path.nodes().map(|node| path.name(node).to_string()).collect();
        Ok(Layout { nodes, names, links })
    }

    /// The port from which packets at `node` came.
    #[inline]
    fn source(&self, node: NodeId) -> Port {
        self.nodes.role(node).source
    }

    fn name(&self, node: usize) -> &str {
        self.names.get(node).map_or("", String::as_str)
    }
}
