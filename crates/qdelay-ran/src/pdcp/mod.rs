//! The packet data convergence protocol (PDCP) of a data radio bearer, limited to its effects on delay:
//! numbers and their order.
//!
//! * [`PdcpSetting`]: the configuration by RRC. `component`: the same as users name it.
//! * [`Reception`]: the receiving entity, with its window and its timer. It holds packets that wait for an
//!   earlier number.
//!
//! The transmitting entity is a counter in front of the queue of the bearer, which belongs to the host: a
//! packet enters the bearer with its number in [`Packet::count`](qdelay_core::Packet::count).
//!
//! Source: TS 38.323 (releases 15 to 18) clauses 5.2.1, 5.2.2, 5.3 and 7.1; TS 38.331 for the values of
//! timers.
//!
//! # Differences from the reference
//! * Nothing is encoded, ciphered or compressed: headers have their size only, and a packet that would be
//!   deciphered with a wrong COUNT is dropped as [`DESYNCHRONIZED`].
//! * Keys are not changed before COUNT has wrapped around after 2^32 packets.
//! * The discard of PDU sets, an UE's procedure, is there in both directions. No discardTimerForLowImportance, no gap report.
//! * PDCP is not re-established and recovers no data, also where RLC is re-established; no status reports, no
//!   duplication.

mod component;
mod reception;
mod setting;

pub use component::COMPONENTS;
pub use reception::{Outcome, PdcpCounts, Reception};
pub use setting::{PdcpSetting, SN_BITS};
pub(crate) use setting::{USUAL_OVER_AM, USUAL_OVER_UM};

use qdelay_core::DropReason;

/// Drop reason: the discard timer ran out before any part of the packet was handed to the MAC.
pub const DISCARD: DropReason = DropReason::new("pdcp_discard");
/// Drop reason: the number was given up, or is a duplicate; the packet came after t-Reordering had run out.
pub const OLD: DropReason = DropReason::new("pdcp_old");
/// Drop reason: the receiver's COUNT is not the sender's, so that deciphering gives garbage: more numbers
/// than half of all were skipped or overtaken (TS 38.323 clause 5.2.1, NOTE 1).
pub const DESYNCHRONIZED: DropReason = DropReason::new("pdcp_desynchronized");
