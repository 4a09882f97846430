//! Names for a command that cannot reach the host's resolver: a relay at the outer end of the link.
//!
//! The command's `/etc/resolv.conf` names the outer end, so that questions go through the link as other packets do. The
//! relay passes them on, unchanged, to the resolvers of the host's own file, and the answers back. It understands of a
//! message only its first four bytes: the number, and whether it is a question (RFC 1035, section 4.1.1). It keeps
//! nothing but the questions that wait for an answer.
//!
//! * UDP: at most [`MAX_QUESTIONS`] wait, each with a socket of its own, so that only the resolver asked can answer; one
//!   that does not answer within [`PATIENCE_MS`] is followed by the next; when none answers, the client is told so.
//! * TCP: at most [`MAX_CONNECTIONS`], each on a thread of its own, one question after another (RFC 7766).
//!
//! Only clients of the link are answered. What does not go through sockets (nss-resolve, nscd) does not come here.
//!
//! Differences from RFC 5625 (DNS proxies): nothing is cached or changed, so nothing that it warns of applies; an answer
//! of more than 65535 bytes does not exist.

mod tcp;
mod udp;

use crate::link_setup::netlink::{Netlink, Network};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;

/// UDP questions that wait for an answer at the same time; more are dropped, and asked again by the client.
pub const MAX_QUESTIONS: usize = 128;
/// TCP connections at the same time.
pub const MAX_CONNECTIONS: usize = 16;
/// How long a resolver has for an answer, in milliseconds: three of them fit into the 5 s of resolv.conf(5).
pub const PATIENCE_MS: u64 = 1500;
/// Resolvers that are asked: `MAXNS` of resolv.conf(5).
const MAX_SERVERS: usize = 3;

/// What a resolv.conf(5) says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Where to ask, in this order.
    pub servers: Vec<SocketAddr>,
    /// The other lines.
    rest: String,
}

impl Configuration {
    /// Reads one. Lines that make no sense are passed over, as the C library does; without a resolver it is this host.
    pub fn parse(text: &str) -> Self {
        let mut configuration = Self::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if words.next() != Some("nameserver") {
                configuration.rest.push_str(line);
                configuration.rest.push('\n');
            } else if let Some(server) = words.next().and_then(server)
                && configuration.servers.len() < MAX_SERVERS
            {
                configuration.servers.push(server);
            }
        }
        if configuration.servers.is_empty() {
            configuration.servers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        configuration
    }

    /// The same file with one resolver instead.
    pub fn pointing_at(&self, server: Ipv4Addr) -> String {
        format!("nameserver {server}\n{}", self.rest)
    }
}

/// The port of the service.
const PORT: u16 = 53;

/// An address, perhaps with a device: `fe80::1%eth0`.
fn server(text: &str) -> Option<SocketAddr> {
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    let address: IpAddr = address.parse().ok()?;
    match address {
        IpAddr::V6(six) if !zone.is_empty() => {
            let by_name = || Netlink::open().ok()?.index(zone).ok()?;
            let device = zone.parse().ok().or_else(by_name)?;
            Some(SocketAddrV6::new(six, PORT, 0, device).into())
        }
        _ => Some((address, PORT).into()),
    }
}

/// Why there is no relay.
#[derive(Debug)]
pub struct RelayError {
    address: Option<IpAddr>,
    error: io::Error,
}

impl RelayError {
    /// What the kernel said.
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "port {PORT} of {address}: {}", self.error),
            None => write!(f, "starting the relay: {}", self.error),
        }
    }
}

impl std::error::Error for RelayError {}

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub struct Relay {
    /// Closed to stop the threads.
    stop: Option<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

/// What both kinds of service share.
#[derive(Debug)]
struct Shared {
    /// Never empty.
    servers: Vec<SocketAddr>,
    /// The server that answered last, which is asked first.
    preferred: AtomicUsize,
    clients: Vec<Network>,
}

impl Shared {
    fn serves(&self, client: SocketAddr) -> bool {
        let address = match client.ip() {
            IpAddr::V4(_) => Network::new(client.ip(), 32),
            IpAddr::V6(_) => Network::new(client.ip(), 128),
        };
        self.clients.iter().any(|network| network.overlaps(address))
    }
}

impl Relay {
    /// Serves port 53 of `addresses` to clients of the networks `clients`, from the network namespace of the calling
    /// thread. `servers` are asked in turn.
    ///
    /// # Errors
    /// A port is taken ([`io::ErrorKind::AddrInUse`]) or not permitted, or there is no server.
    pub fn start(
        addresses: &[IpAddr],
        clients: Vec<Network>,
        servers: &[SocketAddr],
    ) -> Result<Self, RelayError> {
        Self::start_at(addresses, PORT, clients, servers)
    }

    fn start_at(
        addresses: &[IpAddr],
        port: u16,
        clients: Vec<Network>,
        servers: &[SocketAddr],
    ) -> Result<Self, RelayError> {
        let failed = |error| RelayError { address: None, error };
        if servers.is_empty() {
            return Err(failed(io::Error::other("there is no resolver to ask")));
        }
        let mut datagrams = Vec::new();
        let mut streams = Vec::new();
        for address in addresses {
            let at = |error| RelayError { address: Some(*address), error };
            let socket = UdpSocket::bind((*address, port)).map_err(at)?;
            socket.set_nonblocking(true).map_err(at)?;
            // With port 0, both on the same.
            let port = socket.local_addr().map_err(at)?.port();
            let listener = TcpListener::bind((*address, port)).map_err(at)?;
            listener.set_nonblocking(true).map_err(at)?;
            datagrams.push(socket);
            streams.push(listener);
        }
        let shared = Arc::new(Shared { servers: servers.to_vec(), preferred: AtomicUsize::new(0), clients });
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(|error| failed(error.into()))?;
        let stopped_too = stopped.try_clone().map_err(failed)?;
        let mut relay = Self { stop: Some(stop), threads: Vec::new() };
        let of_datagrams = Arc::clone(&shared);
        relay
            .start_thread("dns-udp", move || udp::serve(&datagrams, &of_datagrams, &stopped))
            .map_err(failed)?;
        relay.start_thread("dns-tcp", move || tcp::serve(&streams, &shared, &stopped_too)).map_err(failed)?;
        Ok(relay)
    }

    fn start_thread(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(std::thread::Builder::new().name(name.into()).spawn(work)?);
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            // A panic there has been printed, and there is nothing to be done about it here.
            let _ = thread.join();
        }
    }
}

/// The bytes before the first question.
const HEADER: usize = 12;

/// Whether this is a question that can be passed on.
fn is_question(message: &[u8]) -> bool {
    message.len() >= HEADER && message[2] & 0x80 == 0
}

/// Whether this answers `question`: the same number, and the other direction.
fn answers(message: &[u8], question: &[u8]) -> bool {
    message.len() >= HEADER && question.len() >= 2 && message[..2] == question[..2] && message[2] & 0x80 != 0
}

/// Makes the answer "server failure" (RCODE 2) of a question.
fn to_failure(question: &mut [u8]) {
    if question.len() >= HEADER {
        question[2] |= 0x80;
        question[3] = 2;
    }
}

#[cfg(test)]
mod tests;
