//! The control socket: other programs on this machine query a link or gateway for snapshots, or request a reload or its end.
//!
//! A stream socket in the file system. Each request is one line, a JSON object; so is each answer. See docs/live.md.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"command":"status"}` | a snapshot ([`Snapshot`](qdelay_emu::snapshot::Snapshot)); its interval began at the previous
//! request |
//! | `{"command":"watch","interval_ms":250}` | a snapshot now and after each interval, until either side closes |
//! | `{"command":"reload"}` | `{"ok":true,"message":...}` |
//! | `{"command":"stop"}` | `{"ok":true,"message":...}`; then the link or gateway ends |
//! | anything else | `{"error":...}` |

pub mod client;
pub mod protocol;
mod server;
mod socket;

pub use server::{Reload, Server};
pub use socket::{Socket, SocketOptions};
