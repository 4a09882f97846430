//! One end of a connection: the stack with an application that sends or receives.

use crate::adapter::Gate;
use crate::clock::{instant, time};
use crate::config::QuicConfig;
use crate::pattern;
use crate::setup;
use crate::tap::Tap;
use bytes::{Bytes, BytesMut};
use qdelay_core::{Ecn, Random, Rate, Span, Time};
use qdelay_traffic::ends::ConnectionState;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, Event, StreamEvent, StreamId,
    VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// One end of a connection.
pub struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    remote: SocketAddr,
    application: Application,
    is_ecn_capable: bool,
    /// Time at which the next packet may leave.
    gate: Gate,
    /// Time at which the gate opens, while the peer waits for it; [`Time::NEVER`] otherwise.
    waits_until: Time,
    /// Reason for the end of the connection; `None` while it lasts.
    ended: Option<String>,
    /// The datagram being written.
    buffer: Vec<u8>,
    datagrams_sent: u64,
}

/// The application of one end.
enum Application {
    Sender(Sender),
    Receiver(Receiver),
}

/// A sending application: writes to streams as much as the stack accepts, and sends datagrams at a rate.
struct Sender {
    /// Number of streams to open.
    streams: u32,
    /// Streams that are open.
    open: Vec<Outgoing>,
    /// Bytes of all streams together; `None`: no end.
    bytes: Option<u64>,
    /// Bytes of all streams that the application has offered; `None`: unlimited.
    offered: Option<u64>,
    /// Rate of the datagrams' payload.
    rate: Option<Rate>,
    /// Send time of the next datagram.
    due: Time,
    is_connected: bool,
    /// Whether a stream may accept data.
    may_write: bool,
    /// Datagrams handed to the stack.
    datagrams: u64,
    /// Streams that are finished and acknowledged.
    acknowledged: u32,
}

struct Outgoing {
    id: StreamId,
    offset: u64,
    /// Length of the stream, bytes; `u64::MAX`: no end.
    end: u64,
    is_finished: bool,
}

/// A receiving application: reads streams in order, and datagrams.
#[derive(Default)]
struct Receiver {
    open: Vec<Incoming>,
    received: Received,
}

struct Incoming {
    id: StreamId,
    offset: u64,
}

/// Data that a receiver's application has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Stream bytes read in order.
    pub stream_bytes: u64,
    /// Payload bytes of DATAGRAM frames.
    pub datagram_bytes: u64,
    /// Number of DATAGRAM frames.
    pub datagrams: u64,
    /// Number of streams read to their end.
    pub finished: u32,
    /// Whether every stream byte equals the byte that was sent.
    pub is_exact: bool,
}

impl Default for Received {
    fn default() -> Received {
        Received { stream_bytes: 0, datagram_bytes: 0, datagrams: 0, finished: 0, is_exact: true }
    }
}

/// Callback for each datagram that a peer sends: UDP payload and ECN field.
pub type Sink<'a> = dyn FnMut(&[u8], Ecn) + 'a;

impl Peer {
    /// The sending end, which opens its connection to `remote` at `now`; `tap` reads its packets.
    ///
    /// # Errors
    /// The stack refuses the settings.
    pub fn sender(
        config: &QuicConfig,
        now: Time,
        remote: SocketAddr,
        mut random: Random,
        tap: Tap,
    ) -> Result<Peer, String> {
        let gate = Gate::default();
        let client = setup::client(config, &mut random, tap, &gate)?;
        let mut endpoint = Endpoint::new(setup::endpoint(config, &mut random), None, false, None);
        let connection = endpoint
            .connect(instant(now), client, remote, crate::crypto::tls::SERVER_NAME)
            .map_err(|error| format!("the QUIC stack cannot connect to {remote}: {error}"))?;
        let sender = Sender {
            streams: config.streams,
            open: Vec::new(),
            bytes: config.bytes,
            offered: None,
            rate: config.datagrams,
            due: Time::NEVER,
            is_connected: false,
            may_write: false,
            datagrams: 0,
            acknowledged: 0,
        };
        let peer = Peer::new(config, endpoint, Some(connection), remote, Application::Sender(sender));
        Ok(Peer { gate, ..peer })
    }

    /// The receiving end, which waits for one connection from `remote`.
    ///
    /// # Errors
    /// The stack refuses the settings.
    pub fn receiver(config: &QuicConfig, remote: SocketAddr, mut random: Random) -> Result<Peer, String> {
        let server = Arc::new(setup::server(config)?);
        let endpoint = Endpoint::new(setup::endpoint(config, &mut random), Some(server), false, None);
        Ok(Peer::new(config, endpoint, None, remote, Application::Receiver(Receiver::default())))
    }

    fn new(
        config: &QuicConfig,
        endpoint: Endpoint,
        connection: Option<(ConnectionHandle, Connection)>,
        remote: SocketAddr,
        application: Application,
    ) -> Peer {
        Peer {
            endpoint,
            connection,
            remote,
            application,
            is_ecn_capable: config.ecn,
            gate: Gate::default(),
            waits_until: Time::NEVER,
            ended: None,
            buffer: Vec::with_capacity(usize::from(config.ip_bytes)),
            datagrams_sent: 0,
        }
    }

    /// Processes a datagram that has arrived, then sends as [`Peer::advance`] does.
    pub fn receive(&mut self, now: Time, datagram: BytesMut, ecn: Ecn, sink: &mut Sink<'_>) {
        self.buffer.clear();
        let (at, remote) = (instant(now), self.remote);
        match self.endpoint.handle(at, remote, None, codepoint(ecn), datagram, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if self.connection.is_some() {
                    self.endpoint.ignore(incoming);
                } else {
                    match self.endpoint.accept(incoming, at, &mut self.buffer, None) {
                        Ok(accepted) => self.connection = Some(accepted),
                        Err(error) => {
                            if let Some(transmit) = error.response {
                                self.give(transmit.size, Ecn::NotEct, sink);
                            }
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.give(transmit.size, Ecn::NotEct, sink),
            None => {}
        }
        self.run(now, sink);
    }

    /// Runs the timers that are due and the application, then sends the packets that windows and pacing allow.
    pub fn advance(&mut self, now: Time, sink: &mut Sink<'_>) {
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|due| due <= instant(now))
        {
            connection.handle_timeout(instant(now));
        }
        self.run(now, sink);
    }

    /// Bounds a sender's streams to `total` bytes: bytes beyond wait for a larger offer, and the streams stay open. Before the first call there is
    /// no bound; a total below an earlier one has no effect. The bytes leave with the next [`Peer::advance`].
    pub fn offer(&mut self, total: u64) {
        if let Application::Sender(sender) = &mut self.application {
            sender.offered = sender.offered.max(Some(total));
            sender.may_write = sender.is_connected;
        }
    }

    /// Time of the next call of [`Peer::advance`].
    pub fn next_deadline(&mut self) -> Time {
        let Some((_, connection)) = &mut self.connection else { return Time::NEVER };
        let timer = connection.poll_timeout().map_or(Time::NEVER, time).min(self.waits_until);
        match &self.application {
            Application::Sender(sender) => timer.min(sender.due),
            Application::Receiver(_) => timer,
        }
    }

    /// Passes events between the stack's endpoint, connection and the application, until none is left; then sends.
    fn run(&mut self, now: Time, sink: &mut Sink<'_>) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        while let Some(event) = connection.poll() {
            match (event, &mut self.application) {
                (Event::ConnectionLost { reason }, _) => self.ended = Some(reason.to_string()),
                (event, Application::Sender(sender)) => sender.on_event(now, &event, connection),
                (event, Application::Receiver(receiver)) => receiver.on_event(&event, connection),
            }
        }
        if let Application::Sender(sender) = &mut self.application {
            sender.run(now, connection);
        }
        loop {
            let Some((_, connection)) = &mut self.connection else { return };
            self.waits_until = Time::NEVER;
            let opens = self.gate.opens();
            if opens > now && !connection.is_closed() {
                self.waits_until = opens;
                return;
            }
            self.buffer.clear();
            let Some(transmit) = connection.poll_transmit(instant(now), 1, &mut self.buffer) else { return };
            let ecn = match transmit.ecn {
                Some(EcnCodepoint::Ect0) if self.is_ecn_capable => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) if self.is_ecn_capable => Ecn::Ect1,
                _ => Ecn::NotEct,
            };
            self.give(transmit.size, ecn, sink);
        }
    }

    /// Sends the first `size` bytes of the buffer.
    fn give(&mut self, size: usize, ecn: Ecn, sink: &mut Sink<'_>) {
        self.datagrams_sent += 1;
        sink(self.buffer.get(..size).unwrap_or(&self.buffer), ecn);
    }

    /// Closes the connection and sends CONNECTION_CLOSE to the other end.
    pub fn close(&mut self, now: Time, sink: &mut Sink<'_>) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(instant(now), VarInt::from_u32(0), Bytes::new());
        }
        self.run(now, sink);
    }

    /// Data that the receiving application has read; zero for a sender.
    pub fn received(&self) -> Received {
        match &self.application {
            Application::Receiver(receiver) => receiver.received,
            Application::Sender(_) => Received::default(),
        }
    }

    /// UDP datagrams sent.
    pub fn datagrams_sent(&self) -> u64 {
        self.datagrams_sent
    }
    /// Reason for the end of the connection; `None` while it lasts.
    pub fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }
    /// Whether a connection exists, established or in its handshake.
    pub fn has_connection(&self) -> bool {
        self.connection.is_some()
    }
    /// Whether all streams of a sender are finished and acknowledged.
    pub fn is_delivered(&self) -> bool {
        let Application::Sender(sender) = &self.application else { return false };
        sender.is_connected && sender.bytes.is_some() && sender.acknowledged == sender.streams
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn smoothed_rtt(&self) -> Span {
        let Some((_, connection)) = &self.connection else { return Span::ZERO };
        if connection.stats().frame_rx.acks == 0 {
            return Span::ZERO;
        }
        Span::from_nanos(u64::try_from(connection.rtt().as_nanos()).unwrap_or(u64::MAX))
    }

    /// State of the congestion control. The stack reports neither bytes in flight nor single round trips. The pacing rate is that of a control
    /// that sets one, such as BBR; the rate of the stack's own pacer (1.25 windows per smoothed round trip) is not reported.
    pub fn connection_state(&self, retransmits: u64) -> Option<ConnectionState> {
        let (_, connection) = self.connection.as_ref().filter(|_| self.ended.is_none())?;
        let metrics = connection.congestion_state().metrics();
        let smoothed = self.smoothed_rtt();
        Some(ConnectionState {
            window_bytes: metrics.congestion_window,
            threshold_bytes: metrics.ssthresh.filter(|threshold| *threshold != u64::MAX),
            smoothed_rtt: Some(smoothed).filter(|rtt| !rtt.is_zero()),
            pacing_rate: metrics.pacing_rate.map(Rate::from_bps),
            retransmits,
            ..ConnectionState::default()
        })
    }

    /// Congestion window in full packets.
    pub fn window_packets(&self) -> u32 {
        let Some((_, connection)) = &self.connection else { return 0 };
        let window = connection.congestion_state().window();
        u32::try_from(window / u64::from(connection.current_mtu().max(1))).unwrap_or(u32::MAX)
    }
}

impl Sender {
    fn on_event(&mut self, now: Time, event: &Event, connection: &mut Connection) {
        match event {
            Event::Connected => {
                self.is_connected = true;
                self.may_write = true;
                if self.rate.is_some() {
                    self.due = now;
                }
                self.open_streams(connection);
            }
            Event::Stream(StreamEvent::Available { .. }) => self.open_streams(connection),
            Event::Stream(StreamEvent::Writable { .. }) => self.may_write = true,
            Event::Stream(StreamEvent::Finished { .. }) => self.acknowledged += 1,
            _ => {}
        }
    }

    fn open_streams(&mut self, connection: &mut Connection) {
        while (self.open.len() as u32) < self.streams
            && let Some(id) = connection.streams().open(Dir::Uni)
        {
            let index = self.open.len() as u64;
            let end = self.bytes.map_or(u64::MAX, |bytes| share(bytes, index, self.streams));
            self.open.push(Outgoing { id, offset: 0, end, is_finished: false });
            self.may_write = true;
        }
    }

    fn run(&mut self, now: Time, connection: &mut Connection) {
        while self.due <= now {
            self.send_datagram(connection);
        }
        if std::mem::take(&mut self.may_write) {
            // One piece per stream in turn, so that no stream takes the whole connection window.
            let (offered, streams) = (self.offered, self.streams);
            let mut write = |is_any: bool, (index, stream): (usize, &mut Outgoing)| {
                let bound = offered.map_or(u64::MAX, |bytes| share(bytes, index as u64, streams));
                stream.write(bound, connection) | is_any
            };
            while self.open.iter_mut().enumerate().fold(false, &mut write) {}
        }
    }

    fn send_datagram(&mut self, connection: &mut Connection) {
        let size = connection.datagrams().max_size().unwrap_or(0);
        let gap = self.rate.map_or(Span::MAX, |rate| rate.time_for(size.max(1) as u64));
        self.due += gap;
        // While the congestion window is full the stack buffers datagrams; when the buffer is full it drops the oldest.
        let _ = connection.datagrams().send(pattern::piece(self.datagrams, size as u64), true);
        self.datagrams += 1;
    }
}

/// Share of stream `index` in `bytes` bytes of `streams` streams. The first streams carry one byte more if the division leaves a rest, so that
/// no share shrinks as `bytes` grows.
fn share(bytes: u64, index: u64, streams: u32) -> u64 {
    let streams = u64::from(streams);
    bytes / streams + u64::from(index < bytes % streams)
}

impl Outgoing {
    /// Writes one piece, up to byte `bound` of the stream; returns whether the stack may accept more.
    fn write(&mut self, bound: u64, connection: &mut Connection) -> bool {
        let bound = bound.min(self.end);
        if self.is_finished || (self.offset >= bound && bound < self.end) {
            return false;
        }
        let mut stream = connection.send_stream(self.id);
        if self.offset < bound {
            let piece = pattern::piece(self.offset, bound - self.offset);
            let Ok(written) = stream.write_chunks(&mut [piece]) else { return false };
            self.offset += written.bytes as u64;
        }
        debug_assert!(self.offset <= self.end, "{} bytes of a stream of {}", self.offset, self.end);
        if self.offset == self.end {
            self.is_finished = stream.finish().is_ok();
        }
        true
    }
}

impl Receiver {
    fn on_event(&mut self, event: &Event, connection: &mut Connection) {
        match event {
            Event::Stream(StreamEvent::Opened { .. }) => {
                while let Some(id) = connection.streams().accept(Dir::Uni) {
                    self.open.push(Incoming { id, offset: 0 });
                    self.read(id, connection);
                }
            }
            Event::Stream(StreamEvent::Readable { id }) => self.read(*id, connection),
            Event::DatagramReceived => {
                while let Some(datagram) = connection.datagrams().recv() {
                    self.received.datagrams += 1;
                    self.received.datagram_bytes += datagram.len() as u64;
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, id: StreamId, connection: &mut Connection) {
        let Some(incoming) = self.open.iter_mut().find(|open| open.id == id) else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    self.received.is_exact &=
                        chunk.offset == incoming.offset && pattern::matches(chunk.offset, &chunk.bytes);
                    incoming.offset += chunk.bytes.len() as u64;
                    self.received.stream_bytes += chunk.bytes.len() as u64;
                }
                Ok(None) => {
                    self.received.finished += 1;
                    break;
                }
                Err(_) => break,
            }
        }
        // The flow-control window that the reading has freed is announced with the next packet.
        let _ = chunks.finalize();
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
