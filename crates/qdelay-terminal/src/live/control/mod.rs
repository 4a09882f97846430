//! The control socket: other programs on this machine query a path for snapshots, change it, or request a reload or its end.
//!
//! The socket is a stream socket in the file system. Each request is a JSON object on one line, and so is each answer; see docs/live.md.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"command":"status"}` | a snapshot ([`Snapshot`](qdelay_emu::snapshot::Snapshot)); its interval began at the previous request |
//! | `{"command":"watch","interval_ms":250}` | a snapshot now and after each interval, until either side closes |
//! | `set`, `cut`, `pause`, `restore`, `reset`, `changes` | changes to the link: see [`adjust`](super::adjust) |
//! | `{"command":"reload"}` | `{"ok":true,"message":...}` |
//! | `{"command":"stop"}` | `{"ok":true,"message":...}`; then its owner ends |
//! | any other line | `{"error":...}` |
//!
//! The socket is for Linux; [`protocol`] also serves [HTTP](super::http_control) elsewhere.

#[cfg(target_os = "linux")]
pub mod client;
#[cfg(target_os = "linux")]
mod connect;
pub mod protocol;
#[cfg(target_os = "linux")]
mod server;
#[cfg(target_os = "linux")]
mod socket;

#[cfg(target_os = "linux")]
pub use server::{Reload, Server};
#[cfg(target_os = "linux")]
pub use socket::{Socket, SocketOptions};
