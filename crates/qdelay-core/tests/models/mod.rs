//! Slow, literal models of the queue disciplines: the independent judges of the implementations.
//!
//! They share no code with the crate (own packet, own arithmetic, `VecDeque` and `f64` throughout) and follow the
//! source they are named after step by step, so that a reader can hold the source beside them.

#![allow(dead_code)]

pub mod bode;
pub mod codel;
pub mod fifo;
pub mod linux;
pub mod pie;

use std::collections::VecDeque;

/// Nanoseconds.
pub type Ns = u64;
pub const MS: Ns = 1_000_000;

/// What a model knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pkt {
    pub id: u64,
    pub arrival: Ns,
    pub bytes: u32,
    pub capable: bool,
}

/// What became of a packet in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Tail(u64),
    Head(u64),
    Sojourn(u64),
    Codel(u64),
    Pie(u64),
    MarkCodel(u64),
    MarkThreshold(u64),
    MarkPie(u64),
}

/// A model of a discipline. `uniform` gives draws in [0, 1).
pub trait Model {
    /// Runs whatever timers fall at or before `now`.
    fn advance(&mut self, _now: Ns) {}
    fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>);
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt>;
    fn queue(&self) -> &VecDeque<Pkt>;
}

/// Packets, and bytes where not zero.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub packets: usize,
    pub bytes: u64,
}

impl Room {
    pub fn allows(&self, packets: usize, bytes: u64) -> bool {
        packets <= self.packets && (self.bytes == 0 || bytes <= self.bytes)
    }
    /// The tail drop in front of every discipline but head drop.
    pub fn admits(&self, queue: &VecDeque<Pkt>, packet: &Pkt) -> bool {
        self.allows(queue.len() + 1, total(queue) + u64::from(packet.bytes))
    }
}

/// Bytes queued, counted one by one.
pub fn total(queue: &VecDeque<Pkt>) -> u64 {
    queue.iter().map(|p| u64::from(p.bytes)).sum()
}
