//! Paths under a real clock, with packets of real programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`emulator`], [`dumbbell`], [`plan_kind`] | the path together with the bytes of its packets; plans of a two-way link and of a scenario's path |
//! | [`drive`], [`clock`], [`wait`] | the event loop, its clock, and how it waits |
//! | [`device`], [`frame`], [`gso`], [`classes`], [`pool`] | TUN and AF_PACKET devices; IP headers; super-packets; classes of packets; memory for packets |
//! | [`link_setup`], [`netns`], [`dns`], [`relay`], [`packet_steering`] | namespaces, devices and addresses for a command behind a link, and ports served for others |
//! | [`audit`], [`stall`], [`accuracy`] | verdict on a run's validity; accuracy of its delays |
//! | [`resets`] | TCP connections that cross the link, and the segments that end them |
//! | [`control`], [`snapshot`], [`metrics`], [`log`] | requests, samples, Prometheus metrics and logs for other threads |
//!
//! An [`emulator::Emulator`] opens no device and reads no clock, so it also runs in a program that has both:
//!
//! ```
//! use qdelay_core::qdisc::AnyQdisc;
//! use qdelay_core::{Rate, Span, Time};
//! use qdelay_emu::device::{Port, Received};
//! use qdelay_emu::emulator::Emulator;
//! use qdelay_path::stack::{Direction, Plan};
//! use qdelay_emu::pool::Pool;
//! use qdelay_path::Line;
//!
//! let codel = AnyQdisc::parse("codel").expect("a discipline");
//! let direction = Direction {
//!     delay: Span::from_millis(5),
//!     ..Direction::new(codel, Line::new(Rate::from_bps(8_000_000), 0))
//! };
//! let plan = Plan { down: direction.clone(), up: direction, seed: 1 };
//! let mut emulator = Emulator::new(plan, Pool::new(1500, 100), ()).expect("a path");
//!
//! // An IPv4 packet of 1000 bytes: a millisecond on the link, then the delay.
//! let slot = emulator.take_slot().expect("memory for a packet");
//! emulator.buffer(slot)[..20].copy_from_slice(&[
//!     0x45, 0, 0x03, 0xe8, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
//! ]);
//! emulator.arrive(Time::ZERO, Port::Inside, slot, Received::ip(1000)).expect("an IP packet");
//! emulator.advance(Time::ZERO + Span::from_millis(10));
//! let release = emulator.next_release().expect("the packet has crossed the link");
//! assert_eq!((release.port, release.due), (Port::Outside, Time::ZERO + Span::from_millis(6)));
//! emulator.settle(release.slot);
//! ```
#![cfg(target_os = "linux")]

pub mod accuracy;
mod adjust;
pub mod audit;
pub mod classes;
pub mod clock;
pub mod control;
pub mod device;
pub mod dns;
pub mod drive;
pub mod dumbbell;
pub mod emulator;
pub mod frame;
pub mod gso;
pub mod link_setup;
pub mod log;
pub mod metrics;
pub mod netns;
pub mod packet_steering;
pub mod plan_kind;
pub mod pool;
pub mod relay;
pub mod resets;
pub mod snapshot;
pub mod stall;
pub mod wait;
