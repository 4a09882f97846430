//! One end of a connection over a UDP socket, in real time.
//!
//! The same peers as in the simulator, driven by one loop: read what has arrived, run the timers that are due, wait for either. Times are
//! those at which the loop reads a datagram.

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

/// Longest wait, after which the loop looks whether it is to stop.
const TURN: Span = Span::from_millis(50);
/// Datagrams that are read before the timers are looked at again.
const BATCH: usize = 64;
/// Socket buffer for received datagrams, in bytes; the kernel may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;
/// How often the round trip is sampled for its mean.
const SAMPLING: Span = Span::from_millis(100);
/// How long a sender waits for the receiver's answer to its first packet.
const PATIENCE: Span = Span::from_secs(30);
/// The same where the address refuses datagrams: the receiver may be about to start.
const PATIENCE_REFUSED: Span = Span::from_secs(8);
/// The largest UDP datagram.
const LARGEST: usize = 65_536;

/// Where a sender sends from and to, and for how long.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The receiver.
    pub to: SocketAddr,
    /// The own address; any if `None`.
    pub from: Option<SocketAddr>,
    /// Codepoint of all packets.
    pub dscp: u8,
    /// Until it is stopped if `None`.
    pub duration: Option<Span>,
    /// The mean of the round trips leaves out so much of the beginning.
    pub warmup: Span,
    /// Seed of connection identifiers and of what the stack draws.
    pub seed: u64,
}

/// What a sender has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderReport {
    /// From the first packet to the end.
    pub seconds: f64,
    /// UDP datagrams sent.
    pub packets_sent: u64,
    /// UDP datagrams of the receiver that have arrived; without any no connection was made.
    pub packets_received: u64,
    /// Those that the kernel did not take.
    pub refused: u64,
    /// Bytes of streams that were sent at least once.
    pub stream_bytes: u64,
    /// Packets with bytes of streams that had been sent before.
    pub retransmits: u64,
    /// Congestion window at the end, full packets.
    pub window_packets: u32,
    /// Smoothed round trip at the end, and its mean after the warm-up; 0 before the first sample.
    pub srtt_ms: f64,
    /// See `srtt_ms`.
    pub srtt_mean_ms: f64,
    /// When everything was acknowledged, for a transfer that has ended, seconds after the first packet.
    pub completion_s: Option<f64>,
}

/// What a receiver has to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReceiverReport {
    /// From the first packet to the end.
    pub seconds: f64,
    /// UDP datagrams that have arrived.
    pub packets: u64,
    /// What the application has got.
    pub received: Received,
}

/// Sends until the time is over, the transfer is complete, or `stop` is set.
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
        let at = now();
        if peer.is_delivered() {
            report.completion_s = Some(at.since(begin).as_secs_f64());
            break;
        }
        if at >= end || stop.load(Ordering::Relaxed) {
            break;
        }
        if let Some(reason) = peer.ended() {
            return Err(format!("the connection to {to} is lost: {reason}"));
        }
        if at.since(begin) > PATIENCE && run.packets == 0 {
            return Err(format!("{to} does not answer; expected 'qdelay quic receive' there"));
        }
        if at.since(begin) > PATIENCE_REFUSED && run.packets == 0 && run.refused > 0 {
            return Err(format!("{to} refuses datagrams; expected 'qdelay quic receive' there"));
        }
        if at >= next_sample {
            let srtt_ms = peer.smoothed_rtt().as_millis_f64();
            (samples, sum_ms) = (samples + u64::from(srtt_ms > 0.0), sum_ms + srtt_ms);
            next_sample = at + SAMPLING;
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

/// Receives one connection at `at` until its sender closes it, or `stop` is set.
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
    // The first datagram says where the sender is; from then on only its datagrams are read.
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
    // A datagram that nobody received is reported at the next call; the stack sends it again.
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

/// A peer's socket with what has gone through it.
struct Running {
    socket: Socket,
    /// Datagrams read.
    packets: u64,
    refused: u64,
    buffer: Vec<u8>,
}

impl Running {
    /// Reads what is there, runs what is due, and waits for more, until `end` at most.
    fn turn(&mut self, peer: &mut Peer, end: Time) -> Result<(), String> {
        let mut is_any = false;
        // Datagrams that are read together have one time, as in quinn's own driver: a control measures rates by the times between them.
        let at = now();
        for _ in 0..BATCH {
            match self.socket.socket.recv(&mut self.buffer) {
                Ok(bytes) => {
                    self.packets += 1;
                    is_any = true;
                    let datagram = BytesMut::from(&self.buffer[..bytes]);
                    let Running { socket, refused, .. } = self;
                    peer.receive(at, datagram, Ecn::NotEct, &mut |datagram, _| {
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

/// A UDP socket that does not block.
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

    /// Sends a datagram. One that the kernel does not take is lost, and counted.
    fn send(&self, datagram: &[u8], refused: &mut u64) {
        *refused += u64::from(self.socket.send(datagram).is_err());
    }

    /// Waits until there is something to read, or for `span`.
    fn wait(&self, span: Span) {
        let nanos = span.as_nanos();
        let span =
            Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&span));
    }
}

/// Whether `config` can be run over sockets.
///
/// # Errors
/// What cannot, and what is expected.
pub fn check(config: &QuicConfig, mtu: u16) -> Result<(), String> {
    if config.ecn {
        return Err("sockets here neither set nor read the ECN field; expected it without ecn=on".to_string());
    }
    if config.ip_bytes > mtu {
        return Err(format!(
            "packets of {} bytes would be fragmented; expected a size of at most {mtu}b, of which {HEADERS} are headers",
            config.ip_bytes
        ));
    }
    Ok(())
}
