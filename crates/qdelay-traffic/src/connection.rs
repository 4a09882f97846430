//! A connection that carries an application: the far end (client) requests, and the near end (server) answers with bytes of one stream.
//!
//! The transport is TCP with any control, or a transport from outside whose ends support [offers](crate::own::OwnEnds::offer), such as QUIC. A
//! request is a packet of its own on the return path. It contains the byte of the stream up to which the near end is to send, so a request
//! that arrives twice has no further effect. An application may have several connections, numbered from 0; each packet contains the number of
//! its connection.
//!
//! # Differences from the reference
//! * Requests are not part of the transport's stream, and are not acknowledged: the application repeats an unanswered request.
//! * The near end opens the connection, as in every flow; a real client would. The first answer therefore arrives half a round trip earlier.
//! * Only QUIC has TLS; a TCP connection has no TLS handshake.

use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::own::{BoxedEnds, OwnConfig};
use crate::tcp::{TcpConfig, TcpEnds};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::convert::Infallible;
use qdelay_core::component::{Arguments, Component, ComponentError, Typed};
use qdelay_core::{Ecn, Packet, Span, Time};

/// The parameter `over` of applications: their transport.
pub(crate) const OVER: Typed<str> =
    Typed::new("over", "cubic", "Transport of the connection, with its parameters in square brackets")
        .source("ours");

/// Size of a request's IP packet, bytes: a `GET` with the headers of a browser and of the transport.
const REQUEST_BYTES: u32 = 500;
/// Timeout after which an unanswered request is repeated; each repetition doubles it (RFC 6298 for a segment without a round-trip sample).
const PATIENCE: Span = Span::from_secs(1);
/// Largest timeout, as a multiple of the first.
const PATIENCE_MAX: u32 = 64;

/// Layout of a packet's number: bits 0 to 47 are the transport's number, bits 48 to 62 the connection's, bit 63 marks a request.
const LANE_SHIFT: u32 = 48;
const OWN: u64 = (1 << LANE_SHIFT) - 1;
const IS_REQUEST: u64 = 1 << 63;

/// Largest number of bytes that the far end can request, over the life of a connection.
pub(crate) const BYTES_MAX: u64 = OWN;

/// Settings of a connection that carries an application.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow")]
pub enum ConnectionConfig {
    /// TCP.
    Tcp(TcpConfig),
    /// A transport from outside.
    Own(OwnConfig),
}

/// The transports among which `over` chooses. The registry of transports supplies them, because applications are transports too.
pub(crate) struct Carriers {
    /// The components that users can name.
    pub components: &'static [&'static Component],
    /// Builds the transport that the arguments describe; `None` for a transport that is not a connection.
    pub build: fn(&Arguments) -> Result<Option<ConnectionConfig>, ComponentError>,
}

/// The connection that `text` describes, one of `carriers`, for the application component `outer`.
pub(crate) fn parse(outer: &Arguments, text: &str, carriers: &Carriers) -> Result<ConnectionConfig, String> {
    let text = bare(text);
    let refuse = |message: &str| Err(format!("'{text}': {message}"));
    let arguments = outer.registry().parse(carriers.components, text).map_err(|error| error.to_string())?;
    if arguments.component().name == outer.component().name {
        return refuse("an application cannot carry another; expected a connection, such as cubic");
    }
    let config = (carriers.build)(&arguments).map_err(|error| error.to_string())?;
    if config.as_ref().is_some_and(|config| config.bytes().is_some()) {
        return refuse("the application decides how much is sent; remove bytes");
    }
    match config {
        Some(config) if config.can_wait() => Ok(config),
        _ => refuse("not a connection; expected one, such as cubic, bbr or quic"),
    }
}

/// `text` without square brackets around it.
pub(crate) fn bare(text: &str) -> &str {
    text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text)
}

impl ConnectionConfig {
    /// Application bytes that the settings bound the transfer to; `None` without such a bound.
    fn bytes(&self) -> Option<u64> {
        match self {
            ConnectionConfig::Tcp(tcp) => tcp.bytes,
            ConnectionConfig::Own(own) => own.transport().bytes(),
        }
    }

    /// Whether ends of this transport support offers, and so wait for their application.
    fn can_wait(&self) -> bool {
        match self {
            ConnectionConfig::Tcp(_) => true,
            ConnectionConfig::Own(own) => {
                let flow = FlowStart { name: "trial", seed: 0, start: Time::ZERO, has_choice: false };
                own.transport().ends(&flow).offer(Time::ZERO, 0, &mut Nowhere).is_some()
            }
        }
    }
}

/// A host that discards all packets and events.
struct Nowhere;
impl Host for Nowhere {
    type Error = Infallible;
    fn draw(&mut self) -> bool {
        false
    }
    fn send(&mut self, _: End, _: Outgoing) -> Result<(), Infallible> {
        Ok(())
    }
    fn sent(&mut self, _: u64) {}
    fn in_order(&mut self, _: u64) {}
    fn round_trip(&mut self, _: Span) {}
}

/// A host that puts the connection's number into each packet.
struct Lane<'a, H> {
    host: &'a mut H,
    number: u64,
    /// Whether the connection is the only one of its flow: only then does the host receive the events of its stream.
    is_only: bool,
}

impl<H: Host> Host for Lane<'_, H> {
    type Error = H::Error;

    fn draw(&mut self) -> bool {
        self.host.draw()
    }
    fn send(&mut self, end: End, mut outgoing: Outgoing) -> Result<(), H::Error> {
        outgoing.contents.number |= self.number << LANE_SHIFT;
        self.host.send(end, outgoing)
    }
    fn sent(&mut self, end: u64) {
        if self.is_only {
            self.host.sent(end);
        }
    }
    fn arrived(&mut self, first: u64, end: u64) {
        if self.is_only {
            self.host.arrived(first, end);
        }
    }
    fn in_order(&mut self, bytes: u64) {
        if self.is_only {
            self.host.in_order(bytes);
        }
    }
    fn round_trip(&mut self, span: Span) {
        self.host.round_trip(span);
    }
}

/// The ends of the transport.
enum Inner {
    Tcp(Box<TcpEnds>),
    Own(BoxedEnds),
}

macro_rules! inner {
    ($connection:expr, $ends:ident => $call:expr) => {
        match $connection {
            Inner::Tcp($ends) => $call,
            Inner::Own($ends) => $call,
        }
    };
}

/// A connection with its outstanding request.
pub struct Connection {
    inner: Inner,
    number: u64,
    is_only: bool,
    /// Bytes that the far end has requested in total.
    requested: u64,
    /// Value of `requested` before the latest request.
    before: u64,
    /// Time at which the latest request is repeated; [`Time::NEVER`] once it is answered.
    again: Time,
    /// Current timeout of the latest request.
    wait: Span,
    /// Whether the near end's first packet has arrived at the far end.
    is_heard: bool,
}

impl Connection {
    /// Connection `number` of a flow with `count` connections. The first [`Connection::wake`] opens it.
    pub fn new(config: &ConnectionConfig, flow: &FlowStart<'_>, number: usize, count: usize) -> Connection {
        let inner = match config {
            ConnectionConfig::Tcp(tcp) => {
                let name =
                    if number == 0 { flow.name.to_string() } else { format!("{}-{number}", flow.name) };
                Inner::Tcp(Box::new(TcpEnds::carrying(tcp, &FlowStart { name: &name, ..*flow })))
            }
            ConnectionConfig::Own(own) => {
                let mut ends = BoxedEnds::new(own, flow);
                // Without a first offer the stream would be unbounded.
                let Ok(_) = ends.offer(flow.start, 0, &mut Nowhere);
                Inner::Own(ends)
            }
        };
        Connection {
            inner,
            number: number as u64,
            is_only: count == 1,
            requested: 0,
            before: 0,
            again: Time::NEVER,
            wait: Span::ZERO,
            is_heard: false,
        }
    }

    /// Number of the connection to which a packet with `contents` belongs.
    pub fn number_of(contents: &Contents) -> usize {
        ((contents.number & !IS_REQUEST) >> LANE_SHIFT) as usize
    }
    /// Byte of the stream up to which a request asks the near end to send; `None` if `contents` are not a request.
    pub fn request_of(contents: &Contents) -> Option<u64> {
        (contents.number & IS_REQUEST != 0).then_some(contents.number & OWN)
    }

    /// Whether the far end has received a packet of this connection.
    pub fn is_heard(&self) -> bool {
        self.is_heard
    }
    /// Bytes of the stream that have arrived in order at the far end.
    pub fn delivered_bytes(&self) -> u64 {
        inner!(&self.inner, ends => ends.delivered_bytes())
    }
    /// Bytes that the far end has requested in total.
    pub fn requested(&self) -> u64 {
        self.requested
    }
    /// Time at which [`Connection::repeat`] is due.
    pub fn repeats(&self) -> Time {
        self.again
    }

    /// The far end requests `bytes` more bytes.
    ///
    /// # Errors
    /// Errors of the host.
    pub fn request<H: Host>(&mut self, now: Time, bytes: u64, host: &mut H) -> Result<(), H::Error> {
        self.before = self.requested;
        self.requested = (self.requested + bytes).min(BYTES_MAX);
        debug_assert!(
            self.before <= self.requested && self.requested <= BYTES_MAX,
            "requests beyond the stream"
        );
        self.wait = PATIENCE;
        self.send_request(now, host)
    }

    /// Repeats the latest request if its timeout is over; has no effect before.
    ///
    /// # Errors
    /// Errors of the host.
    pub fn repeat<H: Host>(&mut self, now: Time, host: &mut H) -> Result<(), H::Error> {
        if self.again > now {
            return Ok(());
        }
        self.wait = (self.wait * 2).min(PATIENCE * u64::from(PATIENCE_MAX));
        self.send_request(now, host)
    }

    fn send_request<H: Host>(&mut self, now: Time, host: &mut H) -> Result<(), H::Error> {
        self.again = now + self.wait;
        let number = IS_REQUEST | self.number << LANE_SHIFT | self.requested;
        let contents = Contents { created: now, number, ..Contents::default() };
        host.send(End::Far, Outgoing { contents, bytes: REQUEST_BYTES, ecn: Ecn::NotEct, is_other: false })
    }

    /// See [`Ends::wake`].
    ///
    /// # Errors
    /// Errors of the host.
    pub fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        let mut lane = Lane { host, number: self.number, is_only: self.is_only };
        inner!(&mut self.inner, ends => ends.wake(now, is_stopped, &mut lane))
    }

    /// See [`Ends::arrive`].
    ///
    /// # Errors
    /// Errors of the host.
    pub fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        if let Some(total) = Connection::request_of(contents) {
            return if is_stopped { Ok(Time::NEVER) } else { self.offer(now, total, host) };
        }
        let mut lane = Lane { host, number: self.number, is_only: self.is_only };
        let contents = Contents { number: contents.number & OWN, ..*contents };
        let due =
            inner!(&mut self.inner, ends => ends.arrive(now, at, packet, &contents, is_stopped, &mut lane))?;
        if at == End::Far {
            self.is_heard = true;
            // From the first byte of the answer on, the transport's retransmissions repair losses.
            if self.delivered_bytes() > self.before {
                self.again = Time::NEVER;
            }
        }
        Ok(due)
    }

    /// Lets the near end send the first `total` bytes of its stream: see [`OwnEnds::offer`](crate::own::OwnEnds::offer).
    ///
    /// # Errors
    /// Errors of the host.
    pub fn offer<H: Host>(&mut self, now: Time, total: u64, host: &mut H) -> Result<Time, H::Error> {
        let mut lane = Lane { host, number: self.number, is_only: self.is_only };
        inner!(&mut self.inner, ends => ends.offer(now, total, &mut lane))
    }

    /// See [`Ends::keeps_packets`].
    pub fn keeps_packets(&self) -> bool {
        inner!(&self.inner, ends => ends.keeps_packets())
    }
    /// See [`Ends::lost`].
    pub fn lost(&mut self, contents: &Contents) {
        if contents.number & IS_REQUEST == 0 {
            let own = Contents { number: contents.number & OWN, ..*contents };
            inner!(&mut self.inner, ends => ends.lost(&own));
        }
    }
    /// See [`Ends::doubled`].
    pub fn doubled(&mut self, contents: &Contents) {
        if contents.number & IS_REQUEST == 0 {
            let own = Contents { number: contents.number & OWN, ..*contents };
            inner!(&mut self.inner, ends => ends.doubled(&own));
        }
    }
    /// See [`Ends::smoothed_rtt`].
    pub fn smoothed_rtt(&self) -> Option<Span> {
        inner!(&self.inner, ends => ends.smoothed_rtt())
    }
    /// See [`Ends::connection`].
    pub fn state(&self) -> Option<ConnectionState> {
        inner!(&self.inner, ends => ends.connection())
    }
    /// See [`Ends::has_round_trips`].
    pub fn has_round_trips(&self) -> bool {
        inner!(&self.inner, ends => ends.has_round_trips())
    }
    /// See [`Ends::end_warmup`].
    pub fn end_warmup(&mut self, now: Time) {
        inner!(&mut self.inner, ends => ends.end_warmup(now));
    }
    /// See [`Ends::figures`].
    pub fn figures(&self, end: Time) -> EndFigures {
        inner!(&self.inner, ends => ends.figures(end))
    }
}
