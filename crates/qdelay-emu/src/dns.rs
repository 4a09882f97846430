//! Name resolution for a command that cannot reach the host's resolver: a DNS relay at the outer end of the link.
//!
//! The command's `/etc/resolv.conf` names the outer end, so that queries pass through the link like other packets. The relay
//! forwards queries unchanged to the resolvers of the host's own file, and the answers back. Of a message the relay reads only the
//! first four bytes: the ID and the query bit (RFC 1035, section 4.1.1). The relay stores only the queries that wait for an
//! answer.
//!
//! * UDP: at most [`MAX_QUESTIONS`] queries wait, each with a socket of its own, so that only the queried resolver can answer.
//!   After [`PATIENCE_MS`] without an answer the next resolver is queried; if none answers, the client gets a server failure.
//! * TCP: at most [`MAX_CONNECTIONS`] connections, each on a thread of its own, one query after another (RFC 7766).
//!
//! Only clients of the link are answered. Lookups that do not use DNS sockets (nss-resolve, nscd) do not reach the relay.
//!
//! Differences from RFC 5625 (DNS proxies): messages are neither cached nor changed, so its warnings about both do not apply;
//! an answer of more than 65535 bytes does not exist.

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

/// Maximum number of UDP queries that wait for an answer; further queries are dropped, and repeated by the client.
pub const MAX_QUESTIONS: usize = 128;
/// Maximum number of concurrent TCP connections.
pub const MAX_CONNECTIONS: usize = 16;
/// Timeout for an answer of a resolver, in milliseconds: three of them fit into the 5 s of resolv.conf(5).
pub const PATIENCE_MS: u64 = 1500;
/// Maximum number of resolvers in use: `MAXNS` of resolv.conf(5).
const MAX_SERVERS: usize = 3;

/// The contents of a resolv.conf(5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The resolvers, in the order of the file.
    pub servers: Vec<SocketAddr>,
    /// The lines that are not `nameserver` lines.
    rest: String,
}

impl Configuration {
    /// Parses a file. Invalid lines are ignored, as the C library does; a file without a resolver selects this host.
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

    /// Returns the same file with `server` as its only resolver.
    pub fn pointing_at(&self, server: Ipv4Addr) -> String {
        format!("nameserver {server}\n{}", self.rest)
    }
}

/// The port of the service.
const PORT: u16 = 53;

/// Parses an address, optionally with a device: `fe80::1%eth0`.
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

/// Reason why the relay could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub struct RelayError {
    address: Option<IpAddr>,
    error: io::Error,
}

impl RelayError {
    /// The kind of the kernel's error.
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

/// A DNS relay that runs until it is dropped.
#[derive(Debug)]
pub struct Relay {
    /// Descriptor that stops the threads when closed.
    stop: Option<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
}

/// State shared by the UDP and TCP services.
#[derive(Debug)]
struct Shared {
    /// The resolvers, at least one.
    servers: Vec<SocketAddr>,
    /// The server that answered last, which is queried first.
    preferred: AtomicUsize,
    clients: Vec<Network>,
}

impl Shared {
    fn serves(&self, client: SocketAddr) -> bool {
        self.clients.iter().any(|network| network.contains(client.ip()))
    }
}

impl Relay {
    /// Serves port 53 of `addresses` to clients of the networks `clients`, from the network namespace of the calling thread.
    /// `servers` are queried in turn.
    ///
    /// # Errors
    /// A port is in use ([`io::ErrorKind::AddrInUse`]) or not permitted, or there is no server.
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
            return Err(failed(io::Error::other("there is no resolver to query")));
        }
        let mut datagrams = Vec::new();
        let mut streams = Vec::new();
        for address in addresses {
            let at = |error| RelayError { address: Some(*address), error };
            let socket = UdpSocket::bind((*address, port)).map_err(at)?;
            socket.set_nonblocking(true).map_err(at)?;
            // Port 0 chooses a port for UDP, which TCP then uses, too.
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
            // The thread's panic has been printed already, so the result carries nothing new.
            let _ = thread.join();
        }
    }
}

/// Bytes before the first question section.
const HEADER: usize = 12;

/// True if `message` is a query that can be forwarded.
fn is_question(message: &[u8]) -> bool {
    message.len() >= HEADER && message[2] & 0x80 == 0
}

/// True if `message` is a response to `question`: the same ID, and the response bit set.
fn answers(message: &[u8], question: &[u8]) -> bool {
    message.len() >= HEADER && question.len() >= 2 && message[..2] == question[..2] && message[2] & 0x80 != 0
}

/// Turns a query into the response "server failure" (RCODE 2).
fn to_failure(question: &mut [u8]) {
    if question.len() >= HEADER {
        question[2] |= 0x80;
        question[3] = 2;
    }
}

#[cfg(test)]
mod tests;
