//! Connecting to a control socket.

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
pub(super) fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
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
