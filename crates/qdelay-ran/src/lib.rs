//! The radio access network below the last queue: how many bytes a cell carries in each transmission time interval (TTI), for
//! which UE, and whether they are lost on the air.
//!
//! * [`tables`]: CQI to MCS to transport block size (TS 36.213, TS 38.214), resource blocks and their groups.
//! * [`radio`]: the channel of a UE, and the cell's knowledge of it.
//! * [`rlc`]: radio link control (TS 36.322, TS 38.322): segmentation, reassembly, retransmission.
//! * [`mac`]: schedulers, which assign resource blocks to UEs.
//! * [`mod@slice`](mod@slice): the division of resource blocks among several tenants.
//! * [`cell`]: the whole cell, one TTI at a time.
#![no_std]
extern crate alloc;

pub mod cell;
pub mod harq;
pub mod mac;
pub mod radio;
pub mod rlc;
pub mod slice;
pub mod tables;

pub use cell::{
    Cell, CellError, CellSetting, CellSlice, CellUsage, Partition, SliceUsage, Source, Split, UeSetting,
};
pub use harq::HarqSetting;
pub use mac::{Scheduler, Sharing};
