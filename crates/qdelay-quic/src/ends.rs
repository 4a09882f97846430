//! Both ends of a QUIC connection in the simulator.

use crate::config::QuicConfig;
use crate::peer::Peer;
use crate::setup::HEADERS;
use crate::store::Store;
use crate::tap::Tap;
use qdelay_core::{Ecn, Packet, Random, Span, Time};
use qdelay_traffic::ends::{ConnectionState, Contents, End, EndFigures, FlowStart, Outgoing};
use qdelay_traffic::own::{AnyHost, OwnEnds};
use std::net::{Ipv4Addr, SocketAddr};

/// The sender, the receiver, and the datagrams between them.
pub struct QuicEnds {
    config: QuicConfig,
    tap: Tap,
    /// The sender; `None` before the flow begins.
    near: Option<Peer>,
    /// Bytes that the application offered before the flow began; `None`: no bound.
    offered: Option<u64>,
    /// The receiver.
    far: Option<Peer>,
    /// Random stream of the sender.
    random: Random,
    store: Store,
    /// Stream bytes that were reported to the host as sent.
    reported: u64,
    delivered_bytes: u64,
    finished: Option<Time>,
}

/// Addresses of the ends for the stack; no packet is sent to them.
const NEAR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40_000);
const FAR: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 443);

impl QuicEnds {
    /// Ends before any packet was sent.
    pub fn new(config: &QuicConfig, flow: &FlowStart<'_>) -> QuicEnds {
        QuicEnds {
            config: config.clone(),
            tap: Tap::default(),
            near: None,
            offered: None,
            // The call cannot fail: `component::build` has checked the settings.
            far: Peer::receiver(config, NEAR, flow.random("receiver")).ok(),
            random: flow.random("sender"),
            store: Store::default(),
            reported: 0,
            delivered_bytes: 0,
            finished: None,
        }
    }

    /// Data that the receiving application has read.
    pub fn received(&self) -> crate::peer::Received {
        self.far.as_ref().map(Peer::received).unwrap_or_default()
    }
    /// Reason for the end of the connection; `None` if it lasts as long as the run.
    pub fn ended(&self) -> Option<&str> {
        [&self.near, &self.far].into_iter().flatten().find_map(Peer::ended)
    }
    /// Number of datagrams on the path.
    pub fn on_path(&self) -> usize {
        self.store.len()
    }

    fn open(&mut self, now: Time) {
        self.near = Peer::sender(&self.config, now, FAR, self.random.clone(), self.tap.clone()).ok();
        if let (Some(near), Some(total)) = (&mut self.near, self.offered) {
            near.offer(total);
        }
    }

    /// Runs one end, for a datagram that arrives there or, without one, for its timers. Returns the end's next deadline.
    fn run(&mut self, now: Time, end: End, arriving: Option<(u64, Ecn)>, host: &mut AnyHost<'_>) -> Time {
        let arriving = arriving.map(|(number, ecn)| (self.store.remove(number), ecn));
        let peer = if end == End::Near { &mut self.near } else { &mut self.far };
        let Some(peer) = peer else { return Time::NEVER };
        let store = &mut self.store;
        let mut sink = |datagram: &[u8], ecn: Ecn| {
            let contents = Contents { created: now, number: store.put(datagram), ..Contents::default() };
            let is_other = end == End::Near && host.draw();
            let bytes = datagram.len() as u32 + HEADERS;
            // The host's error type is uninhabited.
            let Ok(()) = host.send(end, Outgoing { contents, bytes, ecn, is_other });
        };
        match arriving {
            Some((datagram, ecn)) => peer.receive(now, datagram, ecn, &mut sink),
            None => peer.advance(now, &mut sink),
        }
        // The stack's timers may be set to times in the past.
        let due = peer.next_deadline().max(now);
        match end {
            End::Near => self.report_sent(host),
            End::Far => self.report_received(now, host),
        }
        due
    }

    fn report_sent(&mut self, host: &mut AnyHost<'_>) {
        let sent = self.tap.totals().stream_bytes;
        if sent > self.reported {
            self.reported = sent;
            host.sent(sent);
        }
    }

    fn report_received(&mut self, now: Time, host: &mut AnyHost<'_>) {
        let received = self.received();
        self.delivered_bytes = received.stream_bytes + received.datagram_bytes;
        if self.config.streams > 0 {
            host.in_order(received.stream_bytes);
        }
        if self.finished.is_none() && self.config.bytes.is_some_and(|all| received.stream_bytes >= all) {
            self.finished = Some(now);
        }
    }

    fn deadline(&mut self, end: End) -> Time {
        let peer = if end == End::Near { &mut self.near } else { &mut self.far };
        peer.as_mut().map_or(Time::NEVER, Peer::next_deadline)
    }
}

impl OwnEnds for QuicEnds {
    fn wake(&mut self, now: Time, is_stopped: bool, host: &mut AnyHost<'_>) -> Time {
        let mut due = Time::NEVER;
        if !is_stopped {
            if self.near.is_none() {
                self.open(now);
                due = self.run(now, End::Near, None, host);
            } else {
                due = self.deadline(End::Near);
                if due <= now {
                    due = self.run(now, End::Near, None, host);
                }
            }
        }
        let mut far = self.deadline(End::Far);
        if far <= now {
            far = self.run(now, End::Far, None, host);
        }
        due.min(far)
    }

    fn arrive(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut AnyHost<'_>,
    ) -> Time {
        if at == End::Near && is_stopped {
            self.store.lose(contents.number);
            return Time::NEVER;
        }
        self.run(now, at, Some((contents.number, packet.ecn)), host)
    }

    fn offer(&mut self, now: Time, total: u64, host: &mut AnyHost<'_>) -> Option<Time> {
        if self.config.streams == 0 {
            return None;
        }
        let Some(near) = &mut self.near else {
            self.offered = self.offered.max(Some(total));
            return Some(Time::NEVER);
        };
        near.offer(total);
        Some(self.run(now, End::Near, None, host))
    }

    fn lost(&mut self, contents: &Contents) {
        self.store.lose(contents.number);
    }
    fn doubled(&mut self, contents: &Contents) {
        self.store.double(contents.number);
    }
    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        Some(self.near.as_ref().map_or(Span::ZERO, Peer::smoothed_rtt))
    }
    fn connection(&self) -> Option<ConnectionState> {
        let near = self.near.as_ref().filter(|_| self.finished.is_none())?;
        near.connection_state(self.tap.totals().retransmits)
    }

    fn figures(&self, _: Time) -> EndFigures {
        EndFigures {
            packets_sent: self.near.as_ref().map_or(0, Peer::datagrams_sent),
            retransmits: self.tap.totals().retransmits,
            window: self.near.as_ref().map_or(0, Peer::window_packets),
            finished: self.finished,
            ..EndFigures::default()
        }
    }
}
