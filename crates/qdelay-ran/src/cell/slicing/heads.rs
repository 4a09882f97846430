//! The packets at the heads of the bearers in a TTI.

use crate::slice::{Head, Queues};
use alloc::vec::Vec;

/// The bearers with data, in the form that elastic quantum partition reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    pub list: Vec<Waiting>,
    pub ends: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub bearer: u32,
    pub candidate: u32,
    pub ue: u32,
    pub slice: u16,
    pub local: u8,
    pub channel: u32,
    /// Ends of the bearer's packets: a range of the list of ends.
    pub first: u32,
    pub last: u32,
    pub backlog_bytes: u64,
    /// The scheduler's metric, which orders the bearers.
    pub metric: f64,
    pub turn: (u32, u8),
}

impl Queues for Heads {
    fn count(&self) -> usize {
        self.list.len()
    }
    fn drb(&self, queue: usize) -> usize {
        self.list[queue].bearer as usize
    }
    fn channel(&self, queue: usize) -> usize {
        self.list[queue].channel as usize
    }
    fn head(&self, queue: usize) -> Head<'_> {
        let Waiting { first, last, .. } = self.list[queue];
        Head { ends: self.ends.get(first as usize..last as usize).unwrap_or(&[]), sent: 0 }
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        self.list[queue].backlog_bytes
    }
}
