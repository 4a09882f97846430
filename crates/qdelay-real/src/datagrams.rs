//! UDP flows and the probe: datagrams are sent at the times at which the simulator's sources send, and counted by their receivers.
//! Receivers of a ping (`echo=on`) return each datagram, whose first bytes are a number that matches the reply to it.

use super::support::Generator;
use super::{ports, sleep_until};
use qdelay_core::{Random, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::netns::Namespace;
use qdelay_sim::Scenario;
use qdelay_traffic::transport::TransportConfig;
use qdelay_traffic::udp::UdpSource;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{set_ip_tos, set_socket_recv_buffer_size};
use rustix::thread::set_current_timer_slack;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;
/// Bytes of the number at the beginning of a datagram.
pub const NUMBER_BYTES: usize = 4;
/// Minimum size of a packet with a number, in bytes.
pub const NUMBERED_BYTES: u32 = (HEADERS + NUMBER_BYTES) as u32;
/// Socket buffer for received datagrams, in bytes; the kernel may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Maximum wait in one turn, and the time without datagrams after which the receiver ends.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Numbers of the flows generated here, followed by the probe's number.
fn numbers(scenario: &Scenario, generators: &[Generator]) -> Vec<usize> {
    let own = generators.iter().enumerate().filter(|(_, generator)| **generator == Generator::Own);
    own.map(|(index, _)| index).chain(scenario.probe.map(|_| scenario.flows.len())).collect()
}

/// Namespaces and addresses of senders and receivers.
pub struct Places<'a> {
    pub inside: &'a Namespace,
    pub outside: &'a Namespace,
    /// The addresses outside and inside.
    pub ends: (Ipv4Addr, Ipv4Addr),
}

impl Places<'_> {
    /// Opens a socket for a flow at one of its ends.
    fn open(
        &self,
        is_inside: bool,
        index: usize,
        prepare: impl FnOnce(&UdpSocket) -> io::Result<()> + Send + 'static,
    ) -> io::Result<UdpSocket> {
        let (outside, inside) = self.ends;
        let (place, own, other) = match is_inside {
            true => (self.inside, (inside, ports::receiver(index)), (outside, ports::sender(index))),
            false => (self.outside, (outside, ports::sender(index)), (inside, ports::receiver(index))),
        };
        place.run(move || {
            let socket = UdpSocket::bind(own)?;
            socket.connect(other)?;
            socket.set_nonblocking(true)?;
            prepare(&socket)?;
            Ok(socket)
        })
    }
}

/// Traits of a flow: whether its data goes up, whether its receiver returns the data, and its codepoint.
fn traits(scenario: &Scenario, index: usize) -> (bool, bool, u8) {
    let Some(flow) = scenario.flows.get(index) else { return (false, false, 0) };
    let is_echo = matches!(&flow.transport, TransportConfig::Udp(udp) if udp.echo);
    (flow.is_upload, is_echo, flow.dscp)
}

/// Sender of all flows generated here, on one thread.
pub struct Sender {
    flows: Vec<Sending>,
}

struct Sending {
    source: UdpSource,
    socket: UdpSocket,
    stop: Time,
    is_echo: bool,
    /// Number of the next datagram.
    number: u32,
}

impl Sender {
    /// Opens a socket for each flow.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn open(
        scenario: &Scenario,
        generators: &[Generator],
        places: &Places<'_>,
    ) -> Result<Sender, String> {
        let mut flows = Vec::new();
        for index in numbers(scenario, generators) {
            let (is_upload, is_echo, dscp) = traits(scenario, index);
            let socket = places
                .open(is_upload, index, move |socket| Ok(set_ip_tos(socket, dscp << 2)?))
                .map_err(|error| format!("a socket for sending cannot be opened: {error}"))?;
            let stop = scenario.flows.get(index).and_then(|flow| flow.stop);
            let stop = stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
            flows.push(Sending { source: source(scenario, index), socket, stop, is_echo, number: 0 });
        }
        Ok(Sender { flows })
    }

    /// Sends until the end of the run, or until `stop`.
    pub fn run(mut self, mut clock: RealClock, stop: &AtomicBool) {
        // The kernel's default timer slack of 50 us would delay datagrams.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut payload = [0; 1500];
        loop {
            let next = self.flows.iter().map(Sending::next).min().unwrap_or(Time::NEVER);
            if next == Time::NEVER || stop.load(Ordering::Relaxed) {
                return;
            }
            let now = clock.now();
            if next > now {
                // The sleep is limited, so that the thread notices the end of the run.
                sleep_until(&mut clock, next.min(now + super::CHECK_INTERVAL));
                continue;
            }
            for flow in &mut self.flows {
                flow.send(now, &mut payload);
            }
        }
    }
}

impl Sending {
    fn next(&self) -> Time {
        let next = self.source.next_deadline();
        if next < self.stop { next } else { Time::NEVER }
    }

    /// Sends all datagrams that are due: a sender that was late keeps its rate.
    fn send(&mut self, now: Time, payload: &mut [u8]) {
        while self.next() <= now {
            let bytes = self.source.poll(now).unwrap_or(0) as usize;
            payload[..NUMBER_BYTES].copy_from_slice(&self.number.to_be_bytes());
            self.number = self.number.wrapping_add(1);
            // With a full socket buffer, the datagram counts as never sent.
            let _ = self.socket.send(payload.get(..bytes.saturating_sub(HEADERS)).unwrap_or(payload));
            // The path measures replies, so they are only discarded here.
            while self.is_echo && self.socket.recv(&mut [0; 16]).is_ok() {}
        }
    }
}

/// The simulator's own source of a flow, with its random stream.
fn source(scenario: &Scenario, index: usize) -> UdpSource {
    let seed = scenario.seed;
    let flow = scenario.flows.get(index);
    match (flow.map(|flow| (flow.transport.clone(), flow.start)), scenario.probe) {
        (Some((TransportConfig::Udp(config), start)), _) => {
            let random = Random::derive(seed, &format!("flow-{index}"), "source");
            UdpSource::new(config, Time::ZERO + start, random)
        }
        (_, probe) => {
            let probe = probe.unwrap_or_default();
            let random = Random::derive(seed, "probe", "gaps");
            UdpSource::probe(probe.bytes, probe.gap_min, probe.gap_max, Time::ZERO, random)
        }
    }
}

/// Receiver of all flows generated here, on one thread.
pub struct Receiver {
    /// Sockets, each with a flag: the socket returns received datagrams.
    sockets: Vec<(UdpSocket, bool)>,
}

impl Receiver {
    /// Opens a socket for each flow.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn open(
        scenario: &Scenario,
        generators: &[Generator],
        places: &Places<'_>,
    ) -> Result<Receiver, String> {
        let open = |index: usize| {
            let (is_upload, is_echo, dscp) = traits(scenario, index);
            let socket = places.open(!is_upload, index, move |socket| {
                let _ = set_socket_recv_buffer_size(socket, RECEIVE_BUFFER);
                Ok(set_ip_tos(socket, dscp << 2)?)
            });
            socket.map(|socket| (socket, is_echo))
        };
        let sockets = numbers(scenario, generators).into_iter().map(open).collect::<io::Result<_>>();
        let sockets = sockets.map_err(|error| format!("a socket for receiving cannot be opened: {error}"))?;
        Ok(Receiver { sockets })
    }

    /// Receives until `stop` is set and no more datagrams arrive; returns the number of received datagrams.
    pub fn run(self, stop: &AtomicBool) -> u64 {
        let mut received = 0;
        let mut buffer = [0; 2048];
        while !self.sockets.is_empty() {
            let is_last = stop.load(Ordering::Relaxed);
            let mut fds: Vec<PollFd<'_>> =
                self.sockets.iter().map(|(socket, _)| PollFd::new(socket, PollFlags::IN)).collect();
            let ready = poll(&mut fds, Some(&TURN)).unwrap_or(0);
            let before = received;
            for (socket, is_echo) in &self.sockets {
                while let Ok(bytes) = socket.recv(&mut buffer) {
                    received += 1;
                    if *is_echo {
                        // With a full socket buffer, the reply counts as never sent.
                        let _ = socket.send(&buffer[..bytes]);
                    }
                }
            }
            if is_last && ready == 0 && received == before {
                break;
            }
        }
        received
    }
}
