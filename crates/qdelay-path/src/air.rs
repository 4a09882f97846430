//! The air interface of a cell's node: the cell in the direction of data, or its uplink.

use alloc::boxed::Box;
use alloc::vec::Vec;
use qdelay_core::Time;
use qdelay_core::pacer::Waited;
use qdelay_core::qdisc::Backlog;
use qdelay_ran::pdcp::PdcpCounts;
use qdelay_ran::{Cell, CellUsage, SliceUsage, Source, UplinkCell};

/// See [`Cell`] and [`UplinkCell`] for what each call does. Reports of an uplink never wait, because nothing listens to them.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "it is in a box")]
pub(crate) enum Air {
    Down(Cell),
    Up(Box<UplinkCell>),
}

impl Air {
    pub(crate) fn as_cell(&self) -> Option<&Cell> {
        if let Air::Down(cell) = self { Some(cell) } else { None }
    }
    pub(crate) fn bearers(&self) -> usize {
        match self {
            Air::Down(cell) => cell.bearers(),
            Air::Up(uplink) => uplink.bearers(),
        }
    }
    #[inline]
    pub(crate) fn wake(&mut self, now: Time, bearer: usize) {
        match self {
            Air::Down(cell) => cell.wake(now, bearer),
            Air::Up(uplink) => uplink.wake(now, bearer),
        }
    }
    pub(crate) fn announce(&mut self, bearer: usize, packet_bytes: u32) {
        match self {
            Air::Down(cell) => cell.announce(bearer, packet_bytes),
            Air::Up(uplink) => uplink.announce(bearer, packet_bytes),
        }
    }
    #[inline]
    pub(crate) fn next_deadline(&self) -> Time {
        match self {
            Air::Down(cell) => cell.next_deadline(),
            Air::Up(uplink) => uplink.next_deadline(),
        }
    }
    #[inline]
    pub(crate) fn run<S: Source>(&mut self, now: Time, source: &mut S) {
        match self {
            Air::Down(cell) => cell.run(now, source),
            Air::Up(uplink) => uplink.run(now, source),
        }
    }
    #[inline]
    pub(crate) fn take_waited(&mut self, bearer: usize, queue: Backlog) -> Option<Waited> {
        match self {
            Air::Down(cell) => cell.take_waited(bearer, queue),
            Air::Up(_) => None,
        }
    }
    #[inline]
    pub(crate) fn has_waited(&self, bearer: usize) -> bool {
        self.as_cell().is_some_and(|cell| cell.has_waited(bearer))
    }
    /// Whether the carrier is downlink in some slots only.
    pub(crate) fn has_tdd(&self) -> bool {
        self.as_cell().is_some_and(Cell::has_tdd)
    }
    #[inline]
    pub(crate) fn recall(&mut self, bearer: usize, queue: Backlog) -> Option<Waited> {
        match self {
            Air::Down(cell) => cell.recall(bearer, queue),
            Air::Up(_) => None,
        }
    }
    /// [`Cell::hold_back`]; no pacer is above the queue of a UE.
    #[inline]
    pub(crate) fn hold_back(&mut self, now: Time, bearer: usize, bytes: u64) {
        if let Air::Down(cell) = self {
            cell.hold_back(now, bearer, bytes);
        }
    }
    pub(crate) fn inside(&self) -> Backlog {
        match self {
            Air::Down(cell) => cell.inside(),
            Air::Up(uplink) => uplink.inside(),
        }
    }
    pub(crate) fn partly(&self, bearer: usize) -> Backlog {
        match self {
            Air::Down(cell) => cell.partly(bearer),
            Air::Up(uplink) => uplink.partly(bearer),
        }
    }
    pub(crate) fn pdcp(&self, bearer: usize, now: Time) -> Option<PdcpCounts> {
        match self {
            Air::Down(cell) => cell.pdcp(bearer, now),
            Air::Up(uplink) => uplink.pdcp(bearer, now),
        }
    }
    pub(crate) fn usage(&self, now: Time) -> CellUsage {
        match self {
            Air::Down(cell) => cell.usage(now),
            Air::Up(uplink) => uplink.usage(now),
        }
    }
    pub(crate) fn slices(&self, now: Time) -> Vec<SliceUsage> {
        self.as_cell().map_or(Vec::new(), |cell| cell.slices(now))
    }
}
