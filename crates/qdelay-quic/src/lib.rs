//! QUIC: connections of `quinn-proto`, a stack that programs use, as a transport of the simulator and over sockets.
//!
//! quinn-proto is a state machine: each call passes the time, and datagrams go in and out as bytes. One flow holds both ends of a connection
//! ([`ends`]). The stack's clock is nanoseconds since a fixed instant ([`clock`]), random numbers come from the flow's random
//! streams ([`setup`]), and the cryptography is TLS 1.3, or plain text in packets of the same size ([`crypto`]). The application ([`peer`])
//! writes to streams and sends datagrams at one end, and reads at the other.
//!
//! | module | contents |
//! | --- | --- |
//! | [`component`] | the component `quic`: parameters and their checks |
//! | `config` | the settings of a connection |
//! | `control` | the congestion controls |
//! | [`adapter`] | runs a control of `qdelay-traffic` as a control of the stack |
//! | `in_flight` | the adapter's record of packets in flight |
//! | [`setup`] | the stack's configuration for a flow |
//! | [`peer`] | one end: the stack and its application |
//! | [`ends`] | both ends, in the simulator |
//! | [`socket`] | one end over a UDP socket |
//! | [`tap`] | reads the frames of outgoing packets before encryption |
//! | `store` | the bytes of datagrams on the path |
#![forbid(unsafe_code)]

pub mod adapter;
pub mod clock;
pub mod component;
mod config;
mod control;
pub mod crypto;
pub mod ends;
mod in_flight;
pub mod pattern;
pub mod peer;
pub mod setup;
pub mod socket;
mod store;
pub mod tap;

pub use component::custom;
pub use config::{Control, QuicConfig};
