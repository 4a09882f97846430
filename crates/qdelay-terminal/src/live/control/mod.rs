//! The control socket: other programs on this machine query a link or gateway for snapshots, or request a reload or its end.
//!
//! The socket is a stream socket in the file system. Each request is a JSON object on one line, and so is each answer; see docs/live.md.
//!
//! | request | answer |
//! | --- | --- |
//! | `{"command":"status"}` | a snapshot ([`Snapshot`](qdelay_emu::snapshot::Snapshot)); its interval began at the previous request |
//! | `{"command":"watch","interval_ms":250}` | a snapshot now and after each interval, until either side closes |
//! | `set`, `cut`, `pause`, `restore`, `reset`, `changes` | changes to the link: see [`adjust`](super::adjust) |
//! | `{"command":"reload"}` | `{"ok":true,"message":...}` |
//! | `{"command":"stop"}` | `{"ok":true,"message":...}`; then the link or gateway ends |
//! | any other line | `{"error":...}` |

pub mod client;
pub mod protocol;
mod server;
mod socket;

pub use server::{Reload, Server};
pub use socket::{Socket, SocketOptions};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect as connect_socket, socket_with,
};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// Connects to a socket. A process that accepts no connections would keep its callers waiting, so after `patience` the call returns an
/// error of the kind `WouldBlock`.
fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let pause = Timespec::try_from(PAUSE).unwrap_or_default();
    let attempts = patience.as_millis() / PAUSE.as_millis();
    for attempt in 0..=attempts {
        match connect_socket(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::INTR) if attempt < attempts => {
                let _ = poll(&mut [], Some(&pause));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}
