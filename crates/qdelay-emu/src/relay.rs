//! Ports served for another address, in user space: a port of the machine for one behind the link, or a port behind the link for a
//! server that listens on the machine's loopback device only.
//!
//! A [`Relay`] accepts connections and datagrams at sockets that are opened anywhere, and connects to the targets from the network
//! namespace of the thread that starts it: so a relay joins two namespaces that no packet passes between.
//!
//! * TCP: each connection is joined with one to the target; an end of data and a reset are passed on. If no target accepts, the
//!   connection is reset. At most [`MAX_CONNECTIONS`] connections.
//! * UDP: each client has a socket of its own towards the target, until [`IDLE_S`] seconds without a datagram have passed. At most
//!   [`MAX_CLIENTS`] clients; a further client replaces the one that was idle for longest.
//!
//! One thread serves all ports, with [`BUFFER`] bytes for each direction of a connection. A relay ends a TCP connection and begins
//! another: congestion control and buffers of the sender's kernel see the relay, not the link.

mod tcp;
mod udp;

use crate::link_setup::netlink::Network;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;

/// Maximum number of TCP connections at a time; further clients wait.
pub const MAX_CONNECTIONS: usize = 1000;
/// Maximum number of UDP clients of a relay.
pub const MAX_CLIENTS: usize = 256;
/// Time without a datagram after which a UDP client is forgotten, in seconds.
pub const IDLE_S: i64 = 120;
/// Bytes that are held for each direction of a TCP connection.
pub const BUFFER: usize = 32_768;
/// Pause when no connection can be accepted because too many files are open.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A transport protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Both protocols.
    pub const ALL: [Protocol; 2] = [Protocol::Tcp, Protocol::Udp];

    /// The name of the protocol: `tcp`, `udp`.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A socket that accepts clients.
#[derive(Debug)]
pub enum Listening {
    /// Accepts connections.
    Tcp(TcpListener),
    /// Receives datagrams.
    Udp(UdpSocket),
}

impl Listening {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's error: the port is in use, or not permitted.
    pub fn bind(protocol: Protocol, address: SocketAddr) -> io::Result<Self> {
        match protocol {
            Protocol::Tcp => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Listening::Tcp(listener))
            }
            Protocol::Udp => {
                let socket = UdpSocket::bind(address)?;
                socket.set_nonblocking(true)?;
                Ok(Listening::Udp(socket))
            }
        }
    }

    /// The address of the socket.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Listening::Tcp(listener) => listener.local_addr(),
            Listening::Udp(socket) => socket.local_addr(),
        }
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listening::Tcp(listener) => listener.as_fd(),
            Listening::Udp(socket) => socket.as_fd(),
        }
    }
}

/// A port that is served for another.
#[derive(Debug)]
pub struct Service {
    /// The socket for clients.
    pub listening: Listening,
    /// The networks of its clients; others get no answer. Empty for every client.
    pub clients: Vec<Network>,
    /// The addresses of the server. TCP connections are made to the first that accepts, datagrams are sent to the first.
    pub targets: Vec<SocketAddr>,
}

impl Service {
    fn serves(&self, client: SocketAddr) -> bool {
        self.clients.is_empty() || self.clients.iter().any(|network| network.contains(client.ip()))
    }
}

/// A relay that runs until it is dropped.
#[derive(Debug)]
pub struct Relay {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Serves these ports. Connections to the targets are made from the network namespace of the calling thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(services: Vec<Service>) -> io::Result<Self> {
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let thread =
            std::thread::Builder::new().name("relay".into()).spawn(move || serve(&services, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Owner of a descriptor in the list that is polled.
#[derive(Clone, Copy)]
enum Owner {
    Stop,
    Service(usize),
    /// A TCP connection, and its end: 0 is the client's, 1 the server's.
    Connection(usize, usize),
    Client(usize),
}

/// Serves until the other end of `stopped` is closed.
fn serve(services: &[Service], stopped: &OwnedFd) {
    let mut connections: Vec<tcp::Connection> = Vec::new();
    let mut clients = udp::Clients::default();
    let mut buffer = vec![0; udp::MAX_DATAGRAM];
    loop {
        let (ready, is_stopped) = match wait(services, &connections, &clients, stopped) {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
        };
        if is_stopped {
            return;
        }
        for owner in ready {
            match owner {
                Owner::Stop => {}
                Owner::Connection(index, end) => connections[index].proceed(services, end),
                Owner::Client(index) => clients.take_answers(index, services, &mut buffer),
                Owner::Service(index) => match &services[index].listening {
                    Listening::Tcp(listener) => {
                        accept(listener, index, services, &mut connections);
                    }
                    Listening::Udp(socket) => clients.take_datagrams(socket, index, services, &mut buffer),
                },
            }
        }
        connections.retain(|connection| !connection.is_done());
        clients.forget_idle();
    }
}

/// Waits for events; returns those that have come, and true if the relay is to stop.
fn wait(
    services: &[Service],
    connections: &[tcp::Connection],
    clients: &udp::Clients,
    stopped: &OwnedFd,
) -> rustix::io::Result<(Vec<Owner>, bool)> {
    let mut owners = vec![Owner::Stop];
    let mut fds = vec![PollFd::new(stopped, PollFlags::IN)];
    let is_full = connections.len() >= MAX_CONNECTIONS;
    for (index, service) in services.iter().enumerate() {
        if !(is_full && matches!(service.listening, Listening::Tcp(_))) {
            owners.push(Owner::Service(index));
            fds.push(PollFd::new(&service.listening, PollFlags::IN));
        }
    }
    for (index, connection) in connections.iter().enumerate() {
        for (end, (socket, events)) in connection.wanted().into_iter().enumerate() {
            // A socket without a wanted event would report its hang-up again and again.
            if !events.is_empty() {
                owners.push(Owner::Connection(index, end));
                fds.push(PollFd::from_borrowed_fd(socket, events));
            }
        }
    }
    for (index, socket) in clients.sockets().enumerate() {
        owners.push(Owner::Client(index));
        fds.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
    }
    let limit = clients.has_any().then_some(Timespec { tv_sec: IDLE_S, tv_nsec: 0 });
    poll(&mut fds, limit.as_ref())?;
    let is_stopped = !fds[0].revents().is_empty();
    let ready = owners.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
    Ok((ready.map(|(owner, _)| owner).collect(), is_stopped))
}

fn accept(
    listener: &TcpListener,
    service: usize,
    services: &[Service],
    connections: &mut Vec<tcp::Connection>,
) {
    while connections.len() < MAX_CONNECTIONS {
        match listener.accept() {
            Ok((client, address)) if services[service].serves(address) => {
                connections.extend(tcp::Connection::new(client, service, services));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => {
                let _ = poll(&mut [], Some(&PAUSE));
                return;
            }
        }
    }
}
