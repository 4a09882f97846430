//! A TCP connection of a client, joined with one to the server.

use super::{BUFFER, Service};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_tcp_nodelay, socket_error};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Number of successive reads from one connection before others have their turn.
const TURNS: usize = 8;

/// Bytes on the way in one direction.
#[derive(Debug)]
struct Pipe {
    buffer: Vec<u8>,
    /// The bytes that have been read and not written.
    start: usize,
    end: usize,
    /// The sender has ended its data.
    is_ended: bool,
    /// The end has been passed on.
    is_closed: bool,
}

impl Pipe {
    fn new() -> Self {
        Self { buffer: vec![0; BUFFER], start: 0, end: 0, is_ended: false, is_closed: false }
    }

    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// True if bytes are read next.
    fn wants_input(&self) -> bool {
        self.is_empty() && !self.is_ended
    }

    /// Moves bytes until either socket would block.
    fn proceed(&mut self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        for _ in 0..TURNS {
            if self.wants_input() {
                match from.read(&mut self.buffer) {
                    Ok(0) => self.is_ended = true,
                    Ok(length) => (self.start, self.end) = (0, length),
                    Err(error) => return unless_blocked(error),
                }
            }
            while !self.is_empty() {
                match to.write(&self.buffer[self.start..self.end]) {
                    Ok(length) => self.start += length,
                    Err(error) => return unless_blocked(error),
                }
            }
            if self.is_ended {
                if !self.is_closed {
                    self.is_closed = true;
                    to.shutdown(Shutdown::Write)?;
                }
                return Ok(());
            }
        }
        Ok(())
    }
}

fn unless_blocked(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// State of the connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Connecting to the target with this number.
    Connecting(usize),
    Open,
    Done,
}

/// A client's connection and the server's.
#[derive(Debug)]
pub(super) struct Connection {
    service: usize,
    client: TcpStream,
    server: TcpStream,
    to_server: Pipe,
    to_client: Pipe,
    state: State,
}

impl Connection {
    /// Begins to connect to the service's server; `None`, and the client's connection is reset, if there is no way to it.
    pub(super) fn new(client: TcpStream, service: usize, services: &[Service]) -> Option<Self> {
        let prepared = client.set_nonblocking(true).and_then(|()| client.set_nodelay(true));
        let begun = prepared.ok().and_then(|()| begin(&services[service].targets, 0));
        let Some((server, target)) = begun else {
            reset(&client);
            return None;
        };
        let state = State::Connecting(target);
        Some(Self { service, client, server, to_server: Pipe::new(), to_client: Pipe::new(), state })
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Both sockets, with the events to wait for: the client's, the server's.
    pub(super) fn wanted(&self) -> [(BorrowedFd<'_>, PollFlags); 2] {
        let events = |from: &Pipe, to: &Pipe| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::IN, from.wants_input());
            events.set(PollFlags::OUT, !to.is_empty());
            events
        };
        let (client, server) = match self.state {
            State::Connecting(_) => (PollFlags::empty(), PollFlags::OUT),
            State::Open => {
                (events(&self.to_server, &self.to_client), events(&self.to_client, &self.to_server))
            }
            State::Done => (PollFlags::empty(), PollFlags::empty()),
        };
        [(self.client.as_fd(), client), (self.server.as_fd(), server)]
    }

    /// Proceeds after events at one of the sockets: 0 is the client's, 1 the server's.
    pub(super) fn proceed(&mut self, services: &[Service], end: usize) {
        if let State::Connecting(target) = self.state {
            if end == 1 {
                self.connected(&services[self.service].targets, target);
            }
            return;
        }
        let moved = self
            .to_server
            .proceed(&self.client, &self.server)
            .and_then(|()| self.to_client.proceed(&self.server, &self.client));
        if moved.is_err() {
            reset(&self.client);
            reset(&self.server);
        }
        if moved.is_err() || (self.to_server.is_closed && self.to_client.is_closed) {
            self.state = State::Done;
        }
    }

    /// Takes the result of connecting, and tries the next target after a failure.
    fn connected(&mut self, targets: &[SocketAddr], target: usize) {
        if matches!(socket_error(&self.server), Ok(Ok(()))) {
            self.state = State::Open;
        } else if let Some((server, target)) = begin(targets, target + 1) {
            self.server = server;
            self.state = State::Connecting(target);
        } else {
            reset(&self.client);
            self.state = State::Done;
        }
    }
}

/// Begins to connect to the first target from number `target` on that is not refused at once.
fn begin(targets: &[SocketAddr], target: usize) -> Option<(TcpStream, usize)> {
    (target..targets.len()).find_map(|number| {
        let address = targets[number];
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None).ok()?;
        let _ = set_tcp_nodelay(&socket, true);
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Some((socket.into(), number)),
            Err(_) => None,
        }
    })
}

/// Lets the socket be closed by a reset, without waiting for its data.
fn reset(socket: &TcpStream) {
    let _ = set_socket_linger(socket, Some(Duration::ZERO));
}
