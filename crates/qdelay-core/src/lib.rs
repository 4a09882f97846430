//! The basis of every part of qdelay: units, the packet, the context of a call, and the queue disciplines.
//!
//! * [`units`]: [`Time`], [`Span`], [`Rate`]; time is always an argument, and nothing here reads a clock.
//! * [`packet`]: the 32 bytes of a packet that a queue needs.
//! * [`context`]: the arguments of every call: `now`, a random stream, and the sink for drops and marks.
//! * [`component`]: how a component declares its parameters once, for the command line, files and documentation.
//! * [`dscp`]: names of differentiated services codepoints.
//! * [`aqm`]: laws. A law decides from numbers and holds no packet, so it fits a stack that keeps its own buffers.
//! * [`pacer`]: laws that say when a packet may go from one queue to the next.
//! * [`qdisc`]: disciplines. A discipline owns packets and calls laws.
//!
//! The feature `alloc`, which is on by default, is whatever needs a heap: components, deadlines, disciplines, pacers, and
//! [`aqm::Duplicates`]. Without it the rest stays, so that a law runs on a microcontroller that has no allocator: `examples/bare-metal`.
#![no_std]
#[cfg(any(feature = "alloc", test))]
extern crate alloc;

pub mod aqm;
#[cfg(feature = "alloc")]
pub mod component;
pub mod context;
#[cfg(feature = "alloc")]
pub mod deadlines;
pub mod dscp;
#[cfg(feature = "alloc")]
pub mod pacer;
pub mod packet;
#[cfg(feature = "alloc")]
pub mod qdisc;
pub mod random;
pub mod units;

pub use context::{Context, DropReason, MarkReason, Sink};
pub use packet::{Ecn, Packet};
pub use random::Random;
pub use units::{Rate, Span, Time};
