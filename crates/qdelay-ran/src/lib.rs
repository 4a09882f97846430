//! The radio access network below the last queue: how many bytes a cell carries in each transmission time interval (TTI),
//! whose they are, and what becomes of them on the air.
//!
//! * [`tables`]: CQI to MCS to transport block size (TS 36.213, TS 38.214), resource blocks and their groups.
//! * [`radio`]: the channel of a UE, and what of it the cell knows.
//! * [`rlc`]: radio link control (TS 36.322, TS 38.322): segmentation, reassembly, retransmission.
//! * [`mac`]: schedulers: which UE gets which resource blocks.
//! * [`mod@slice`](mod@slice): who of several tenants gets how many of the resource blocks.
//! * [`cell`]: all of it, a TTI at a time.
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
