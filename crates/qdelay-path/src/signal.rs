//! What nodes tell a gate upstream of them.

/// A message to a gate. It arrives after the delay of its feedback, in order of arrival time; one without delay arrives
/// right after the operation that caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `bytes` have left the node: sent on, or dropped there.
    Dequeued {
        /// IP bytes.
        bytes: u64,
    },
    /// A packet was taken from the queue, and `bytes` are left in it.
    Remaining {
        /// IP bytes.
        bytes: u64,
    },
    /// The link had an opportunity to send `bytes`. Told at each opportunity it had something to send at.
    Capacity {
        /// Bytes on the link, overhead included.
        bytes: u64,
    },
}

/// Which signals a gate's law listens for; the others are not made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Listens for [`Signal::Dequeued`].
    pub dequeued: bool,
    /// Listens for [`Signal::Remaining`].
    pub remaining: bool,
    /// Listens for [`Signal::Capacity`].
    pub capacity: bool,
}

impl Signals {
    /// None of them.
    pub const NONE: Signals = Signals { dequeued: false, remaining: false, capacity: false };

    pub(crate) fn includes(self, signal: Signal) -> bool {
        match signal {
            Signal::Dequeued { .. } => self.dequeued,
            Signal::Remaining { .. } => self.remaining,
            Signal::Capacity { .. } => self.capacity,
        }
    }
}
