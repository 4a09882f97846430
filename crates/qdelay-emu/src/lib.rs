//! Paths under a real clock, with packets of real programs.
//!
//! | module | what |
//! | --- | --- |
//! | [`emulator`], [`dumbbell`], [`plan_kind`] | the path together with the bytes of its packets; plans of a two-way link and of a scenario's path |
//! | [`replace`] | parts of a two-way link replaced while packets are on its path |
//! | [`drive`], [`clock`], [`wait`], [`run_delay`] | the event loop, its clock, how it waits, and how long it waits for a processor |
//! | [`system_clock`] | a clock of every operating system |
//! | [`device`], [`frame`], [`gso`], [`classes`], [`pool`] | TUN and AF_PACKET devices; IP headers; super-packets; classes of packets; memory for packets |
//! | [`link_setup`], [`netns`], [`dns`], [`relay`], [`packet_steering`] | namespaces, devices and addresses for a command behind a link, and ports served for others |
//! | [`audit`], [`stall`], [`accuracy`] | verdict on a run's validity; accuracy of its delays |
//! | [`resets`] | TCP connections that cross the link, and the segments that end them |
//! | [`control`], [`alarm`], [`snapshot`], [`metrics`], [`figures`], [`log`] | requests, samples, Prometheus metrics, figures and logs for other threads |
//!
//! Devices, namespaces, clocks and what uses them are for Linux; the other modules, which need no operating system, are built everywhere.
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

pub mod accuracy;
mod adjust;
#[cfg(target_os = "linux")]
pub mod alarm;
pub mod audit;
pub mod classes;
#[cfg(target_os = "linux")]
pub mod clock;
pub mod control;
pub mod device;
#[cfg(target_os = "linux")]
pub mod dns;
#[cfg(target_os = "linux")]
pub mod drive;
pub mod dumbbell;
pub mod emulator;
pub mod figures;
pub mod frame;
#[cfg(target_os = "linux")]
pub mod gso;
#[cfg(target_os = "linux")]
pub mod link_setup;
#[cfg(target_os = "linux")]
pub mod log;
pub mod metrics;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(target_os = "linux")]
pub mod packet_steering;
pub mod plan_kind;
pub mod pool;
#[cfg(target_os = "linux")]
pub mod relay;
pub mod replace;
pub mod resets;
#[cfg(target_os = "linux")]
pub mod run_delay;
pub mod snapshot;
pub mod stall;
pub mod system_clock;
#[cfg(target_os = "linux")]
pub mod wait;
