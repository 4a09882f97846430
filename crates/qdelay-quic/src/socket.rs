//! One end of a QUIC connection over a UDP socket, in real time.
//!
//! The peers are those of the simulator. One loop drives a peer: read the datagrams that have arrived, run the timers that are due, wait for the
//! next datagram or timer. The arrival time of a datagram is the time at which the loop reads it.

use crate::clock;
use crate::config::QuicConfig;
use crate::peer::{Peer, Received};
use crate::setup::HEADERS;
use crate::tap::Tap;
use bytes::BytesMut;
use qdelay_core::{Ecn, Random, Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_ip_tos, set_socket_recv_buffer_size};
use rustix::thread::set_current_timer_slack;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest wait of the loop, after which it checks the stop flag.
const TURN: Span = Span::from_millis(50);
/// Most datagrams read before timers run again.
const BATCH: usize = 64;
/// Socket buffer for received datagrams, in bytes; the kernel may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Sampling interval of the smoothed round trip for its mean.
const SAMPLING: Span = Span::from_millis(100);
/// Timeout of a sender for the receiver's first answer.
const PATIENCE: Span = Span::from_secs(30);
/// The same timeout if the address refuses datagrams: a receiver that is about to start has this long.
const PATIENCE_REFUSED: Span = Span::from_secs(8);
/// Size of the read buffer: no UDP datagram is larger, bytes.
const LARGEST: usize = 65_536;

/// Addresses, codepoint, duration and seed of a sender.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Local address; `None`: any.
    pub from: Option<SocketAddr>,
    /// DSCP of all packets, 0 to 63.
    pub dscp: u8,
    /// Duration of sending; `None`: until stopped or complete.
    pub duration: Option<Span>,
    /// Time at the start that the mean round trip excludes.
    pub warmup: Span,
    /// Seed of connection identifiers and of the stack's random numbers.
    pub seed: u64,
}

/// Figures of a sender at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderReport {
    /// Time from the first packet to the end, s.
    pub seconds: f64,
    /// UDP datagrams sent, those that the kernel refused included.
    pub packets_sent: u64,
    /// UDP datagrams received; 0 if no connection was established.
    pub packets_received: u64,
    /// UDP datagrams that the kernel refused to send.
    pub refused: u64,
    /// Stream bytes sent at least once.
    pub stream_bytes: u64,
    /// Packets with stream bytes that were sent before.
    pub retransmits: u64,
    /// Congestion window at the end, full packets.
    pub window_packets: u32,
    /// Smoothed round trip at the end, ms; 0 before the first sample.
    pub srtt_ms: f64,
    /// Mean of the smoothed round trip after the warm-up, ms; 0 before the first sample.
    pub srtt_mean_ms: f64,
    /// Time from the first packet until all data was acknowledged, s; `None` for an incomplete transfer.
    pub completion_s: Option<f64>,
}

/// Figures of a receiver at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverReport {
    /// Time from the first packet to the end, s.
    pub seconds: f64,
    /// UDP datagrams received.
    pub packets: u64,
    /// Data that the application has read.
    pub received: Received,
}

/// Sends until the duration is over, the transfer is complete, or `stop` is set.
///
/// # Errors
/// The socket cannot be opened, the receiver does not answer, or the connection is lost.
pub fn send(config: &QuicConfig, sending: &Sending, stop: &AtomicBool) -> Result<SenderReport, String> {
    let Sending { to, dscp, .. } = *sending;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let socket = Socket::open(sending.from.unwrap_or(any), dscp)
        .and_then(|socket| socket.socket.connect(to).map(|()| socket))
        .map_err(|error| format!("a socket to {to} cannot be opened: {error}"))?;
    let random = Random::derive(sending.seed, "quic", "sender");
    let (begin, tap) = (now(), Tap::default());
    let mut peer = Peer::sender(config, begin, to, random, tap.clone())?;
    let end = sending.duration.map_or(Time::NEVER, |duration| begin + duration);
    let mut report = SenderReport::default();
    let (mut samples, mut sum_ms) = (0_u64, 0.0);
    let mut next_sample = begin + sending.warmup + SAMPLING;
    let mut run = Running { socket, packets: 0, refused: 0, buffer: vec![0; LARGEST] };
    run.advance(&mut peer);
    loop {
        let time = now();
        if peer.is_delivered() {
            report.completion_s = Some(time.since(begin).as_secs_f64());
            break;
        }
        if time >= end || stop.load(Ordering::Relaxed) {
            break;
        }
        if let Some(reason) = peer.ended() {
            return Err(format!("the connection to {to} is lost: {reason}"));
        }
        if time.since(begin) > PATIENCE && run.packets == 0 {
            return Err(format!("{to} does not answer; expected 'qdelay quic receive' there"));
        }
        if time.since(begin) > PATIENCE_REFUSED && run.packets == 0 && run.refused > 0 {
            return Err(format!("{to} refuses datagrams; expected 'qdelay quic receive' there"));
        }
        if time >= next_sample {
            let srtt_ms = peer.smoothed_rtt().as_millis_f64();
            (samples, sum_ms) = (samples + u64::from(srtt_ms > 0.0), sum_ms + srtt_ms);
            next_sample = time + SAMPLING;
        }
        run.turn(&mut peer, end.min(next_sample))?;
    }
    let totals = tap.totals();
    report.seconds = now().since(begin).as_secs_f64();
    (report.packets_sent, report.packets_received) = (peer.datagrams_sent(), run.packets);
    report.refused = run.refused;
    (report.stream_bytes, report.retransmits) = (totals.stream_bytes, totals.retransmits);
    report.window_packets = peer.window_packets();
    report.srtt_ms = peer.smoothed_rtt().as_millis_f64();
    report.srtt_mean_ms = sum_ms / samples.max(1) as f64;
    peer.close(now(), &mut |datagram, _| run.socket.send(datagram, &mut run.refused));
    Ok(report)
}

/// Receives one connection at the local address `at` until the sender closes it or `stop` is set.
///
/// # Errors
/// The socket cannot be opened, or the connection is lost.
pub fn receive(
    config: &QuicConfig,
    at: SocketAddr,
    dscp: u8,
    stop: &AtomicBool,
) -> Result<ReceiverReport, String> {
    let refused = |error: io::Error| format!("a socket at {at} cannot be opened: {error}");
    let socket = Socket::open(at, dscp).map_err(refused)?;
    let mut run = Running { socket, packets: 0, refused: 0, buffer: vec![0; LARGEST] };
    // The first datagram gives the sender's address; from then on the socket accepts datagrams from that address only.
    let from = loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(ReceiverReport::default());
        }
        run.socket.wait(TURN);
        match run.socket.socket.peek_from(&mut run.buffer) {
            Ok((_, from)) => break from,
            Err(error) if is_nothing(&error) => {}
            Err(error) => return Err(refused(error)),
        }
    };
    run.socket.socket.connect(from).map_err(refused)?;
    let begin = now();
    let mut peer = Peer::receiver(config, from, Random::derive(0, "quic", "receiver"))?;
    while peer.ended().is_none() && !stop.load(Ordering::Relaxed) {
        run.turn(&mut peer, Time::NEVER)?;
    }
    Ok(ReceiverReport {
        seconds: now().since(begin).as_secs_f64(),
        packets: run.packets,
        received: peer.received(),
    })
}

fn now() -> Time {
    clock::time(clock::read())
}

fn is_nothing(error: &io::Error) -> bool {
    // ConnectionRefused reports an earlier datagram that found no receiver; the stack retransmits its data.
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

/// A peer's socket with its counters.
struct Running {
    socket: Socket,
    /// Datagrams read.
    packets: u64,
    /// Datagrams that the kernel refused to send.
    refused: u64,
    buffer: Vec<u8>,
}

impl Running {
    /// Reads the datagrams that have arrived, runs the timers that are due, and waits for the next event, at most until `end`.
    fn turn(&mut self, peer: &mut Peer, end: Time) -> Result<(), String> {
        let mut is_any = false;
        // Datagrams read together have one arrival time, as in quinn's own driver: a control measures rates by the times between them.
        let arrival = now();
        for _ in 0..BATCH {
            match self.socket.socket.recv(&mut self.buffer) {
                Ok(bytes) => {
                    self.packets += 1;
                    is_any = true;
                    let datagram = BytesMut::from(&self.buffer[..bytes]);
                    let Running { socket, refused, .. } = self;
                    peer.receive(arrival, datagram, Ecn::NotEct, &mut |datagram, _| {
                        socket.send(datagram, refused)
                    });
                }
                Err(error) if is_nothing(&error) => break,
                Err(error) => return Err(format!("a datagram cannot be read: {error}")),
            }
        }
        let due = peer.next_deadline();
        if due <= now() {
            self.advance(peer);
        } else if !is_any {
            let left = due.min(end).since(now());
            self.socket.wait(left.min(TURN));
        }
        Ok(())
    }

    fn advance(&mut self, peer: &mut Peer) {
        let Running { socket, refused, .. } = self;
        peer.advance(now(), &mut |datagram, _| socket.send(datagram, refused));
    }
}

/// A non-blocking UDP socket.
struct Socket {
    socket: UdpSocket,
}

impl Socket {
    fn open(at: SocketAddr, dscp: u8) -> io::Result<Socket> {
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        if at.is_ipv4() {
            set_ip_tos(&socket, dscp << 2)?;
        }
        let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
        // The default timer slack of the kernel is 50 us.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Ok(Socket { socket })
    }

    /// Sends a datagram. A datagram that the kernel refuses is lost, and counted in `refused`.
    fn send(&self, datagram: &[u8], refused: &mut u64) {
        *refused += u64::from(self.socket.send(datagram).is_err());
    }

    /// Waits until a datagram can be read, at most for `span`.
    fn wait(&self, span: Span) {
        let nanos = span.as_nanos();
        let span =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&span));
    }
}

/// Checks that `config` can run over sockets on a link of `mtu` bytes.
///
/// # Errors
/// The setting that cannot, and the expected one.
pub fn check(config: &QuicConfig, mtu: u16) -> Result<(), String> {
    if config.ecn {
        return Err("ecn=on: these sockets neither set nor read the ECN field; expected quic without ecn=on"
            .to_string());
    }
    if config.ip_bytes > mtu {
        return Err(format!(
            "packets of {} bytes would be fragmented; expected a size of at most {mtu}b, {HEADERS} bytes of headers included",
            config.ip_bytes
        ));
    }
    Ok(())
}
