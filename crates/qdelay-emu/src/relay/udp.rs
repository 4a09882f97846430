//! The clients of UDP ports.

use super::{IDLE_S, Listening, MAX_CLIENTS, Service};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Length of the longest datagram in bytes.
pub(super) const MAX_DATAGRAM: usize = 65_535;
/// Number of successive datagrams from one socket before others have their turn.
const TURNS: usize = 64;

/// A client, with its socket towards the server.
#[derive(Debug)]
struct Client {
    address: SocketAddr,
    service: usize,
    server: UdpSocket,
    /// Second of the last datagram in either direction.
    used: i64,
}

/// The clients of all ports.
#[derive(Debug, Default)]
pub(super) struct Clients(Vec<Client>);

impl Clients {
    pub(super) fn has_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// The sockets towards the servers.
    pub(super) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|client| client.server.as_fd())
    }

    /// Passes datagrams of clients on to the server.
    pub(super) fn take_datagrams(
        &mut self,
        socket: &UdpSocket,
        service: usize,
        services: &[Service],
        buffer: &mut [u8],
    ) {
        let now = now();
        for _ in 0..TURNS {
            // An error is that of an earlier answer to a client that is gone.
            let (length, address) = match socket.recv_from(buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            if !services[service].serves(address) {
                continue;
            }
            let known =
                self.0.iter().position(|client| client.service == service && client.address == address);
            let index = match known {
                Some(index) => index,
                None => {
                    let Some(server) = services[service].targets.first().and_then(|to| open(*to).ok()) else {
                        continue;
                    };
                    self.make_place();
                    self.0.push(Client { address, service, server, used: now });
                    self.0.len() - 1
                }
            };
            let client = &mut self.0[index];
            client.used = now;
            // A datagram that the server's port refuses is lost, as on any network.
            let _ = client.server.send(&buffer[..length]);
        }
    }

    /// Passes datagrams of the server on to the client with this number.
    pub(super) fn take_answers(&mut self, index: usize, services: &[Service], buffer: &mut [u8]) {
        // Clients that came in the same round may have replaced others.
        let Some(client) = self.0.get_mut(index) else { return };
        let Listening::Udp(socket) = &services[client.service].listening else { return };
        for _ in 0..TURNS {
            match client.server.recv(buffer) {
                Ok(length) => {
                    client.used = now();
                    let _ = socket.send_to(&buffer[..length], client.address);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    pub(super) fn forget_idle(&mut self) {
        if self.has_any() {
            let now = now();
            self.0.retain(|client| now - client.used < IDLE_S);
        }
    }

    /// Forgets the client that was idle for longest if there are too many.
    fn make_place(&mut self) {
        if self.0.len() >= MAX_CLIENTS
            && let Some((index, _)) = self.0.iter().enumerate().min_by_key(|(_, client)| client.used)
        {
            self.0.swap_remove(index);
        }
    }
}

/// A socket towards the server, in the network namespace of the calling thread.
fn open(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    socket.connect(server)?;
    Ok(socket)
}

fn now() -> i64 {
    clock_gettime(ClockId::Monotonic).tv_sec
}
