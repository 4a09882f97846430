//! QUIC: connections of `quinn-proto`, a stack that programs use, as a transport of the simulator and over sockets.
//!
//! The stack is a state machine that is told the time, and takes and gives datagrams; here both of its ends are in one flow
//! ([`ends`]). Its clock is a number of nanoseconds since one instant ([`clock`]), its randomness comes from the flow's random
//! streams ([`setup`]), and its cryptography is TLS 1.3 or nothing in the sizes of TLS ([`crypto`]). The application ([`peer`]) writes to
//! streams and sends datagrams at one end, and reads at the other.
//!
//! | module | what |
//! | --- | --- |
//! | [`component`] | `quic` as users type it |
//! | `config` | the settings of a connection |
//! | `control` | the congestion controls |
//! | [`adapter`] | a control of `qdelay-traffic` as one of the stack's |
//! | `in_flight` | the packets in flight, for that |
//! | [`setup`] | configurations of the stack for a flow |
//! | [`peer`] | one end: the stack and its application |
//! | [`ends`] | both ends, in the simulator |
//! | [`socket`] | one end over a UDP socket |
//! | [`tap`] | what a sender puts into its packets, read before they are encrypted |
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
