//! Transports and applications as state machines without sockets, clock or threads.
//!
//! Two endpoints of TCP, 10 ms apart:
//!
//! ```
//! use qdelay_core::{Random, Span, Time};
//! use qdelay_traffic::control::Reno;
//! use qdelay_traffic::tcp::{Endpoint, Profile};
//!
//! let endpoint = |name| Endpoint::new(Profile::linux(), Reno::default().into(), Random::derive(1, name, "tcp"));
//! let (mut client, mut server) = (endpoint("client"), endpoint("server"));
//! let (mut now, mut sent, mut answers) = (Time::ZERO, Vec::new(), Vec::new());
//! client.connect(now, &mut sent);
//! client.write(now, 100_000, &mut sent);
//! for _ in 0..20 {
//!     now += Span::from_millis(10);
//!     for segment in std::mem::take(&mut sent) {
//!         let ecn = client.ecn(&segment);
//!         server.on_segment(now, &segment, ecn, &mut answers);
//!     }
//!     server.on_deadline(now, &mut answers);
//!     now += Span::from_millis(10);
//!     for segment in std::mem::take(&mut answers) {
//!         let ecn = server.ecn(&segment);
//!         client.on_segment(now, &segment, ecn, &mut sent);
//!     }
//!     client.on_deadline(now, &mut sent);
//! }
//! assert_eq!(server.bytes_received(), 100_000);
//! ```
#![no_std]
extern crate alloc;

pub mod audio;
pub mod biases;
pub mod connection;
mod contents;
pub mod control;
pub mod datagrams;
pub mod emodel;
pub mod ends;
pub mod experience;
mod gaming;
pub mod interval;
mod knobs;
mod nearest_rank;
pub mod numbering;
pub mod own;
pub mod playout;
mod profile;
pub mod segment;
pub mod source;
pub mod sprout;
pub mod streaming;
pub mod tcp;
pub mod tfrc;
pub mod transport;
pub mod udp;
pub mod video;
pub mod voice;
mod voip;
pub mod web;
