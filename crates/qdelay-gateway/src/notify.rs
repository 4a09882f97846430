//! Notifications of a service manager (sd_notify(3)): datagrams to the socket that `NOTIFY_SOCKET` names.

use rustix::time::{ClockId, clock_gettime};
use std::ffi::{OsStr, OsString};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Maximum wait for a service manager that does not read. The wait delays no packet and no signal.
const PATIENCE: Duration = Duration::from_secs(1);

/// The socket of the service manager, if there is one.
#[derive(Debug, Default)]
pub struct Notify {
    to: Option<(UnixDatagram, SocketAddr)>,
}

impl Notify {
    /// Opens the socket that the environment names.
    pub fn from_environment() -> Notify {
        Notify::to(std::env::var_os("NOTIFY_SOCKET"))
    }

    fn to(name: Option<OsString>) -> Notify {
        let open = |name: &OsStr| {
            let address = match name.as_bytes().split_first() {
                Some((b'@', name)) => SocketAddr::from_abstract_name(name).ok()?,
                Some((b'/', _)) => SocketAddr::from_pathname(name).ok()?,
                _ => return None,
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_write_timeout(Some(PATIENCE)).ok()?;
            Some((socket, address))
        };
        Notify { to: name.as_deref().and_then(open) }
    }

    /// Notifies that packets are being forwarded.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }
    /// Notifies that a reload has begun; `ready` ends it.
    pub fn reloading(&self) {
        // `Type=notify-reload` requires the start time on the monotonic clock, in us.
        let time = clock_gettime(ClockId::Monotonic);
        let micros = time.tv_sec * 1_000_000 + time.tv_nsec / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }
    /// Notifies that shutdown has begun.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        if let Some((socket, address)) = &self.to {
            // Errors of the service manager's socket are ignored.
            let _ = socket.send_to_addr(message.as_bytes(), address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_at_path_and_abstract_sockets() {
        let path = std::env::temp_dir().join(format!("qdelay-notify-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let by_name = UnixDatagram::bind(&path).unwrap();
        let abstract_name = format!("qdelay-notify-{}", std::process::id());
        let by_abstract_name =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap();
        for (socket, name) in
            [(by_name, path.clone().into()), (by_abstract_name, format!("@{abstract_name}").into())]
        {
            let notify = Notify::to(Some(name));
            notify.ready("carrying");
            notify.reloading();
            notify.stopping();
            let mut buffer = [0; 100];
            let mut next = || {
                let length = socket.recv(&mut buffer).unwrap();
                String::from_utf8(buffer[..length].to_vec()).unwrap()
            };
            assert_eq!(next(), "READY=1\nSTATUS=carrying");
            assert!(next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
            assert_eq!(next(), "STOPPING=1");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_unusable_socket_is_ignored() {
        for name in [None, Some(""), Some("relative"), Some("/no/such/socket")] {
            Notify::to(name.map(OsString::from)).stopping();
        }
    }
}
