//! Stand-ins for the types of `qdelay-ran` if the feature `ran` is off. No value of a cell can be made then. The other files
//! therefore do not test for the feature: their code for cells is compiled, and is never run.

use alloc::vec::Vec;
use core::fmt;
use qdelay_core::pacer::Waited;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Time};

/// There is no value of this type, nor of those that hold one. They do so in private: otherwise other files would be warned of
/// code that cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Never {}

/// There is no cell.
#[derive(Clone, Debug)]
pub struct Cell(Never);
/// There is no setting of a cell.
#[derive(Clone, Debug)]
pub struct CellSetting(Never);
/// There is no UE.
#[derive(Clone, Debug)]
pub struct UeSetting(Never);
/// There is no uplink of a cell.
#[derive(Clone, Debug)]
pub struct UplinkCell(Never);
/// There is no setting of one.
#[derive(Clone, Debug)]
pub struct UplinkSetting(Never);
/// There is no uplink that cannot be built.
#[derive(Clone, Debug, PartialEq)]
pub struct UplinkError(Never);
/// There is no cell that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellError(Never);
/// The delay of a packet in a cell.
#[derive(Clone, Copy, Debug)]
pub struct Split(Never);
/// The usage of a slice.
#[derive(Clone, Copy, Debug)]
pub struct SliceUsage(Never);
/// What became of a UE's blocks.
#[derive(Clone, Copy, Debug)]
pub struct AirUsage(Never);
/// The usage of a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellUsage {
    pub sent_bytes: u64,
    pub offered_bytes: u64,
}

/// The queues of a cell.
pub trait Source {
    fn backlog(&self, bearer: usize) -> Backlog;
    fn sizes(&self, bearer: usize, from: usize, sizes: &mut [u32]) -> usize;
    fn head(&self, bearer: usize) -> Option<Time>;
    fn pull(&mut self, bearer: usize) -> Option<Packet>;
    fn departed(&mut self, bearer: usize, packet: &Packet);
    fn delivered(&mut self, bearer: usize, packet: Packet, split: Split);
    fn dropped(&mut self, bearer: usize, packet: &Packet, reason: DropReason);
    fn served(&mut self, bearer: usize, served: crate::Served);
    fn may_wait(&self, bearer: usize, waited: &Waited) -> bool;
    fn waited(&mut self, bearer: usize, waited: &Waited);
}

pub mod rlc {
    /// The RLC of a bearer.
    #[derive(Clone, Copy, Debug)]
    pub struct RlcSetting {
        pub sdu_overhead_bytes: u32,
        pub pdcp: Option<super::pdcp::PdcpSetting>,
        _never: super::Never,
    }
    /// No packet is announced to a cell.
    pub const ANNOUNCED_BYTES: u32 = u32::MAX;
    pub const DROPS: &[qdelay_core::DropReason] = &[];
}

pub mod mac {
    /// What a bearer is to get.
    #[derive(Clone, Copy, Debug)]
    pub struct Service(super::Never);
}

pub mod pdcp {
    /// The PDCP of a bearer.
    #[derive(Clone, Copy, Debug)]
    pub struct PdcpSetting {
        pub drops_before: bool,
        pub discard_timer: qdelay_core::Span,
        _never: super::Never,
    }
    /// The statistics of a PDCP.
    #[derive(Clone, Copy, Debug)]
    pub struct PdcpCounts(super::Never);
    pub const DISCARD: qdelay_core::DropReason = qdelay_core::DropReason::new("pdcp_discard");
}

impl Cell {
    pub fn new(setting: CellSetting, _seed: u64, _name: &str) -> Result<Cell, CellError> {
        match setting.0 {}
    }
    pub fn bearers(&self) -> usize {
        match self.0 {}
    }
    pub fn wake(&mut self, _now: Time, _bearer: usize) {
        match self.0 {}
    }
    pub fn announce(&mut self, _bearer: usize, _packet_bytes: u32) {
        match self.0 {}
    }
    pub fn next_deadline(&self) -> Time {
        match self.0 {}
    }
    pub fn run<S: Source>(&mut self, _now: Time, _source: &mut S) {
        match self.0 {}
    }
    pub fn take_waited(&mut self, _bearer: usize, _queue: Backlog) -> Option<Waited> {
        match self.0 {}
    }
    pub fn has_tdd(&self) -> bool {
        match self.0 {}
    }
    pub fn has_waited(&self, _bearer: usize) -> bool {
        match self.0 {}
    }
    pub fn recall(&mut self, _bearer: usize, _queue: Backlog) -> Option<Waited> {
        match self.0 {}
    }
    pub fn inside(&self) -> Backlog {
        match self.0 {}
    }
    pub fn pdcp(&self, _bearer: usize, _now: Time) -> Option<pdcp::PdcpCounts> {
        match self.0 {}
    }
    pub fn partly(&self, _bearer: usize) -> Backlog {
        match self.0 {}
    }
    pub fn usage(&self, _now: Time) -> CellUsage {
        match self.0 {}
    }
    pub fn air(&self, _now: Time) -> Vec<AirUsage> {
        match self.0 {}
    }
    pub fn slices(&self, _now: Time) -> Vec<SliceUsage> {
        match self.0 {}
    }
}

impl UplinkCell {
    pub fn new(setting: UplinkSetting, _seed: u64, _name: &str) -> Result<UplinkCell, UplinkError> {
        match setting.0 {}
    }
    pub fn bearers(&self) -> usize {
        match self.0 {}
    }
    pub fn wake(&mut self, _now: Time, _bearer: usize) {
        match self.0 {}
    }
    pub fn announce(&mut self, _bearer: usize, _packet_bytes: u32) {
        match self.0 {}
    }
    pub fn next_deadline(&self) -> Time {
        match self.0 {}
    }
    pub fn run<S: Source>(&mut self, _now: Time, _source: &mut S) {
        match self.0 {}
    }
    pub fn inside(&self) -> Backlog {
        match self.0 {}
    }
    pub fn pdcp(&self, _bearer: usize, _now: Time) -> Option<pdcp::PdcpCounts> {
        match self.0 {}
    }
    pub fn partly(&self, _bearer: usize) -> Backlog {
        match self.0 {}
    }
    pub fn usage(&self, _now: Time) -> CellUsage {
        match self.0 {}
    }
}

impl UplinkSetting {
    pub fn ue(self, _ue: UeSetting) -> UplinkSetting {
        match self.0 {}
    }
    pub fn prioritised(self, _bearer: usize, _rate: Option<uplink::Prioritised>) -> UplinkSetting {
        match self.0 {}
    }
}

pub mod uplink {
    /// There is no bearer that could have one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Prioritised(super::Never);
}

impl fmt::Display for UplinkError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl CellSetting {
    pub fn ue(self, _ue: UeSetting) -> CellSetting {
        match self.0 {}
    }
    pub fn peak_bytes(&self, _ue: &UeSetting) -> Option<u64> {
        match self.0 {}
    }
    pub fn has_tdd(&self) -> bool {
        match self.0 {}
    }
}

impl UeSetting {
    pub fn serving(self, _rlc: rlc::RlcSetting, _service: mac::Service) -> UeSetting {
        match self.0 {}
    }
    pub fn without_guarantees(self) -> UeSetting {
        match self.0 {}
    }
}

impl fmt::Display for CellError {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}
