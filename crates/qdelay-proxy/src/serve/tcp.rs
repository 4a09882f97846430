//! Connections: the sockets of clients and targets.

use super::{CONNECTIONS, Listener, Proxy};
use crate::engine::Key;
use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use qdelay_core::Time;
use qdelay_emu::device::Port;
use socket2::SockRef;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};

/// Receive buffer of the sockets in the kernel, bytes (Linux doubles it): what waits there waits in no queue of the path.
const KERNEL_BUFFER: usize = 128 * 1024;

/// The socket at one side of a connection.
pub(super) struct Socket {
    pub stream: TcpStream,
    /// Whether a read may find bytes.
    is_readable: bool,
    /// Whether a write may find room.
    is_writable: bool,
    /// Whether the end of the program's direction waits behind its bytes.
    ends: bool,
    /// Whether that end was read.
    is_ended: bool,
    /// Whether the system is still connecting it.
    is_connecting: bool,
}

/// A connection's sockets.
pub(super) struct Pair {
    pub key: Key,
    /// The client's port.
    pub client: u16,
    /// The place that the client came to.
    pub mapping: usize,
    /// By port.
    pub sockets: [Option<Socket>; 2],
    /// The address of the target that is tried, by its place.
    pub attempt: usize,
}

/// The sockets of all connections.
pub(super) struct Connections {
    /// By [`Key::index`].
    pub pairs: Vec<Option<Pair>>,
    /// Clients that were turned away because there were as many connections as are allowed.
    pub rejected: u64,
}

impl Connections {
    pub fn new(most: usize) -> Connections {
        Connections { pairs: (0..most).map(|_| None).collect(), rejected: 0 }
    }

    fn pair(&mut self, key: Key) -> Option<&mut Pair> {
        self.pairs.get_mut(key.index())?.as_mut().filter(|pair| pair.key == key)
    }

    fn socket(&mut self, key: Key, port: Port) -> Option<&mut Socket> {
        self.pair(key)?.sockets[port.index()].as_mut()
    }

    /// Closes the sockets of a connection.
    pub fn remove(&mut self, key: Key) {
        if self.pair(key).is_some() {
            self.pairs[key.index()] = None;
        }
    }

    /// Closes the sockets of a connection, the one at `port` by a reset.
    pub fn reset(&mut self, key: Key, port: Port) {
        if let Some(socket) = self.socket(key, port) {
            reset_at_close(&socket.stream);
        }
        self.remove(key);
    }
}

/// Lets the close of a socket be a reset.
pub(super) fn reset_at_close(stream: &TcpStream) {
    // A socket that is gone already needs none.
    let _ = SockRef::from(stream).set_linger(Some(std::time::Duration::ZERO));
}

/// Registers a socket and sets its options.
fn socket(
    registry: &Registry,
    key: Key,
    port: Port,
    mut stream: TcpStream,
    is_connecting: bool,
) -> io::Result<Socket> {
    // What the path lets through leaves at once. The buffer is a wish.
    stream.set_nodelay(true).or_else(|error| if is_connecting { Ok(()) } else { Err(error) })?;
    let _ = SockRef::from(&stream).set_recv_buffer_size(KERNEL_BUFFER);
    let token = Token(CONNECTIONS + key.index() * 2 + port.index());
    registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
    Ok(Socket {
        stream,
        is_readable: false,
        is_writable: !is_connecting,
        ends: false,
        is_ended: false,
        is_connecting,
    })
}

impl Proxy {
    /// Accepts the clients that wait at a place.
    pub(super) fn accept(&mut self, now: Time, place: usize) {
        loop {
            let Some(Listener::Tcp(listener)) = self.listeners.get(place) else { return };
            let (stream, client) = match listener.accept() {
                Ok((stream, client)) => (stream, client.port()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has gone meanwhile.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) =>
                {
                    continue;
                }
                Err(error) => {
                    if !self.accepts_again {
                        (self.report)(&format!(
                            "a connection waits: the operating system refused it: {error}"
                        ));
                    }
                    self.accepts_again = true;
                    return;
                }
            };
            let Some(key) = self.engine.open(now) else {
                if self.connections.rejected == 0 {
                    (self.report)("a connection was reset: as many as --connections allows are open");
                }
                self.connections.rejected += 1;
                reset_at_close(&stream);
                continue;
            };
            match socket(self.poll.registry(), key, Port::Inside, stream, false) {
                Ok(socket) => {
                    let sockets = [Some(socket), None];
                    self.connections.pairs[key.index()] =
                        Some(Pair { key, client, mapping: place, sockets, attempt: 0 });
                }
                Err(_) => {
                    self.connections.pairs[key.index()] = None;
                    self.engine.reset(now, key, Port::Inside);
                }
            }
        }
    }

    /// Tries again to accept after the system had refused.
    pub(super) fn accept_again(&mut self, now: Time) {
        if std::mem::take(&mut self.accepts_again) {
            (0..self.listeners.len()).for_each(|place| self.accept(now, place));
        }
    }

    /// The SYN has crossed the path: connects to the target.
    pub(super) fn connect(&mut self, now: Time, key: Key) {
        let Some(pair) = self.connections.pair(key) else {
            // The client has gone; its reset follows the SYN.
            return;
        };
        let target = &self.mappings[pair.mapping].target;
        let Some(address) = target.addresses.get(pair.attempt).copied() else { return };
        let opened = TcpStream::connect(address)
            .and_then(|stream| socket(self.poll.registry(), key, Port::Outside, stream, true));
        match opened {
            Ok(socket) => pair.sockets[Port::Outside.index()] = Some(socket),
            Err(error) => self.not_connected(now, key, address, &error),
        }
    }

    /// Tries the next address of the target, or gives up.
    fn not_connected(&mut self, now: Time, key: Key, address: SocketAddr, error: &io::Error) {
        let Some(pair) = self.connections.pair(key) else { return };
        pair.sockets[Port::Outside.index()] = None;
        pair.attempt += 1;
        let mapping = &self.mappings[pair.mapping];
        if pair.attempt < mapping.target.addresses.len() {
            return self.connect(now, key);
        }
        let (listen, target) = (mapping.listen, &mapping.target.name);
        (self.report)(&format!(
            "{listen} -> {target} ({address}): {error}; the client's connection is reset"
        ));
        self.engine.refused(now, key);
    }

    /// A socket can be read, or written, or both.
    pub(super) fn socket_ready(&mut self, now: Time, index: usize, port: Port, event: &Event) {
        let is_readable = event.is_readable() || event.is_read_closed() || event.is_error();
        let is_writable = event.is_writable() || event.is_write_closed() || event.is_error();
        let Some(Some(pair)) = self.connections.pairs.get_mut(index) else { return };
        let (key, mapping, attempt) = (pair.key, pair.mapping, pair.attempt);
        let Some(socket) = pair.sockets[port.index()].as_mut() else { return };
        if socket.is_connecting {
            let failed = match socket.stream.take_error() {
                Ok(None) => match socket.stream.peer_addr() {
                    Ok(_) => None,
                    Err(error) if error.kind() == ErrorKind::NotConnected => return,
                    Err(error) => Some(error),
                },
                Ok(Some(error)) | Err(error) => Some(error),
            };
            if let Some(error) = failed {
                let addresses = &self.mappings[mapping].target.addresses;
                let Some(address) = addresses.get(attempt).copied() else { return };
                return self.not_connected(now, key, address, &error);
            }
            (socket.is_connecting, socket.is_writable) = (false, true);
            let _ = socket.stream.set_nodelay(true);
            self.engine.connected(now, key);
        }
        let Some(socket) = self.connections.socket(key, port) else { return };
        socket.ends |= event.is_read_closed() || event.is_error();
        socket.is_readable |= is_readable;
        if is_readable {
            self.read_stream(now, key, port);
        }
        let Some(socket) = self.connections.socket(key, port) else { return };
        if is_writable && !std::mem::replace(&mut socket.is_writable, true) {
            self.write_stream(now, key, port);
        }
    }

    /// Reads a socket while there are bytes and room for them.
    pub(super) fn read_stream(&mut self, now: Time, key: Key, port: Port) {
        loop {
            let Some(socket) = self.connections.socket(key, port) else { return };
            if !socket.is_readable || socket.is_ended || socket.is_connecting {
                return;
            }
            let room = self.engine.room(key, port);
            let most = room.len();
            if most == 0 {
                return;
            }
            match socket.stream.read(room) {
                Ok(0) => {
                    (socket.is_readable, socket.is_ended) = (false, true);
                    self.engine.closed(now, key, port);
                    return;
                }
                Ok(count) => {
                    // Where room was left nothing more has come. Linux reports later bytes, other systems only after a read in vain.
                    socket.is_readable = count == most || socket.ends || !cfg!(target_os = "linux");
                    self.audit.stalls.read(port, false);
                    self.engine.received(now, key, port, count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    socket.is_readable = false;
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.socket_gone(now, key, port),
            }
        }
    }

    /// Writes what has crossed the path to the socket at `port`, while it takes bytes.
    pub(super) fn write_stream(&mut self, now: Time, key: Key, port: Port) {
        let mut has_written = false;
        loop {
            let Some(socket) = self.connections.socket(key, port) else { return };
            let [first, second] = self.engine.ready(key, port);
            if first.is_empty() {
                break;
            }
            if !socket.is_writable {
                break;
            }
            let done = match second.is_empty() {
                true => socket.stream.write(first),
                false => socket.stream.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]),
            };
            match done {
                Ok(count) => {
                    has_written = true;
                    self.engine.written(key, port, count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => socket.is_writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.socket_gone(now, key, port),
            }
        }
        if self.engine.ready(key, port)[0].is_empty() && self.engine.is_ended(key, port) {
            if let Some(socket) = self.connections.socket(key, port) {
                // A program that has gone already needs no end.
                let _ = socket.stream.shutdown(Shutdown::Write);
            }
            self.engine.finished(key, port);
        }
        if has_written {
            // There is room for more from the other side.
            self.read_stream(now, key, port.other());
        }
    }

    /// A socket is gone without a close: its program has reset the connection, or ended without reading everything.
    fn socket_gone(&mut self, now: Time, key: Key, port: Port) {
        if let Some(pair) = self.connections.pair(key) {
            pair.sockets[port.index()] = None;
        }
        self.engine.reset(now, key, port);
    }
}
