//! The basis of every part of qdelay: units, the packet, the context of a call, and the queue disciplines.
//!
//! * [`units`]: [`Time`], [`Span`], [`Rate`]; time is always an argument, and nothing here reads a clock.
//! * [`packet`]: the 32 bytes of a packet that a queue needs.
//! * [`pdu_set`]: frames as sets of packets, of which a host knows and a queue asks.
//! * [`context`]: the arguments of every call: `now`, a random stream, and the sink for drops and marks.
//! * [`component`]: declarations of components and parameters, shared by the command line, files and documentation.
//! * [`dscp`]: names of differentiated services codepoints.
//! * [`aqm`]: laws. A law decides from numbers and holds no packet, so it fits a stack that keeps its own buffers.
//! * [`pacer`]: laws that decide when a packet may go from one queue to the next.
//! * [`qdisc`]: disciplines. A discipline owns packets and calls laws.
//!
//! The feature `alloc`, on by default, adds the parts that need a heap: components, deadlines, disciplines, pacers, and
//! [`aqm::Duplicates`]. Without it a law runs on a microcontroller that has no allocator: `examples/bare-metal`.
//!
//! A law alone; the host stores the packets:
//!
//! ```
//! use qdelay_core::Span;
//! use qdelay_core::aqm::{Bode, Verdict};
//! use qdelay_core::packet::Backlog;
//!
//! let law = Bode { target: Span::from_millis(20), min_keep: 2, min_keep_bytes: 0 };
//! let behind = Backlog { packets: 10, bytes: 15_000 };
//! assert_eq!(law.decide(Span::from_millis(19), behind), Verdict::Forward);
//! assert_eq!(law.decide(Span::from_millis(21), behind), Verdict::Drop);
//! ```
//!
//! A discipline by name, as users write it:
//!
//! ```
//! use qdelay_core::qdisc::{AnyQdisc, Qdisc};
//! use qdelay_core::{Context, Packet, Random, Time};
//!
//! let mut queue = AnyQdisc::parse("fq_codel:target=10ms")?;
//! let mut random = Random::derive(1, "queue", "qdisc");
//! let mut context = Context { now: Time::ZERO, random: &mut random, sink: &mut () };
//! queue.enqueue(&mut context, Packet { handle: 7, bytes: 1500, ..Packet::default() });
//! assert_eq!(queue.backlog().bytes, 1500);
//! assert_eq!(queue.dequeue(&mut context).map(|packet| packet.handle), Some(7));
//! # Ok::<(), qdelay_core::component::ComponentError>(())
//! ```
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
pub mod pdu_set;
#[cfg(feature = "alloc")]
pub mod qdisc;
pub mod random;
pub mod units;

pub use context::{Context, DropReason, MarkReason, Sink};
pub use packet::{Ecn, Packet};
pub use pdu_set::PduSet;
pub use random::Random;
pub use units::{Rate, Span, Time};
