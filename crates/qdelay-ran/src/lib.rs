//! The radio access network below the last queue: the bytes that a cell carries in each transmission time interval (TTI) for each UE,
//! and their losses on the air.
//!
//! * [`tables`]: CQI to MCS to transport block size (TS 36.213, TS 38.214), resource blocks and their groups.
//! * [`radio`]: the channel of a UE, and the cell's knowledge of it.
//! * [`rlc`]: radio link control (TS 36.322, TS 38.322): segmentation, reassembly, retransmission.
//! * [`mac`]: schedulers, which assign resource blocks to UEs.
//! * [`mod@slice`](mod@slice): the division of resource blocks among several tenants.
//! * [`cell`]: the whole cell, one TTI at a time.
//! * [`uplink`]: the other direction, in which UEs request and the base station grants.
//!
//! A host has the queues of the bearers; the cell takes packets from them through [`Source`]:
//!
//! ```
//! use qdelay_core::pacer::Served;
//! use qdelay_core::qdisc::Backlog;
//! use qdelay_core::{DropReason, Packet, Span, Time};
//! use qdelay_ran::radio::{Channel, Mcs};
//! use qdelay_ran::rlc::RlcSetting;
//! use qdelay_ran::tables::Carrier;
//! use qdelay_ran::{Cell, CellSetting, Source, Split, UeSetting};
//!
//! /// Packets that wait, and the number of packets that have arrived at the UE.
//! struct Host(Vec<Packet>, usize);
//!
//! impl Source for Host {
//!     fn backlog(&self, _bearer: usize) -> Backlog {
//!         Backlog { packets: self.0.len() as u64, bytes: self.0.iter().map(|packet| u64::from(packet.bytes)).sum() }
//!     }
//!     fn pull(&mut self, _bearer: usize) -> Option<Packet> {
//!         if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
//!     }
//!     fn departed(&mut self, _bearer: usize, _packet: &Packet) {}
//!     fn delivered(&mut self, _bearer: usize, _packet: Packet, split: Split) {
//!         assert!(split.air >= Span::from_millis(4), "a block is decoded 4 ms after it was sent");
//!         self.1 += 1;
//!     }
//!     fn dropped(&mut self, _bearer: usize, _packet: &Packet, _reason: DropReason) {}
//!     fn served(&mut self, _bearer: usize, _served: Served) {}
//! }
//!
//! // LTE with 25 PRBs, and one UE with a good channel and one bearer.
//! let ue = UeSetting::new(Channel::Mcs(Mcs(20))).bearer(RlcSetting::lte_um(), 1);
//! let setting = CellSetting::new(Carrier::lte(25).expect("a bandwidth of LTE")).ue(ue);
//! let mut cell = Cell::new(setting, 1, "cell").expect("a valid setting");
//! let mut host = Host(vec![Packet { bytes: 1500, ..Packet::default() }; 10], 0);
//! cell.wake(Time::ZERO, 0);
//! while cell.next_deadline() < Time::NEVER {
//!     cell.run(cell.next_deadline(), &mut host);
//! }
//! assert_eq!(host.1, 10);
//! ```
#![no_std]
extern crate alloc;

pub mod cell;
pub mod harq;
pub mod mac;
pub mod pdcp;
pub mod radio;
pub mod rlc;
pub mod slice;
pub mod tables;
pub mod uplink;

pub use cell::{
    AirUsage, Cell, CellError, CellSetting, CellSlice, CellUsage, Partition, ScellSetting, SliceUsage,
    Source, Split, UeSetting,
};
pub use harq::HarqSetting;
pub use mac::{Scheduler, Sharing};
pub use uplink::{UplinkCell, UplinkError, UplinkSetting};
