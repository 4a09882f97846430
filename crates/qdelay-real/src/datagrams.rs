//! UDP flows and the probe: sent at the times at which the simulator's sources send, and counted by their receivers.

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
/// Socket buffer for received datagrams, in bytes; the kernel may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Longest wait in one turn, and the time without datagrams after which the receiver ends.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The numbers of the flows generated here, followed by the probe's.
fn numbers(scenario: &Scenario, generators: &[Generator]) -> Vec<usize> {
    let own = generators.iter().enumerate().filter(|(_, generator)| **generator == Generator::Own);
    own.map(|(index, _)| index).chain(scenario.probe.map(|_| scenario.flows.len())).collect()
}

/// The sender of all these flows, on one thread.
pub struct Sender {
    flows: Vec<Sending>,
}

struct Sending {
    source: UdpSource,
    socket: UdpSocket,
    stop: Time,
}

impl Sender {
    /// Opens a socket for each flow in the namespace outside. `ends` are the addresses outside and inside.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn open(
        scenario: &Scenario,
        generators: &[Generator],
        outer: &Namespace,
        ends: (Ipv4Addr, Ipv4Addr),
    ) -> Result<Sender, String> {
        let mut flows = Vec::new();
        for index in numbers(scenario, generators) {
            let spec = scenario.flows.get(index);
            let dscp = spec.map_or(0, |flow| flow.dscp);
            let socket = outer
                .run(move || {
                    let socket = UdpSocket::bind((ends.0, ports::sender(index)))?;
                    socket.connect((ends.1, ports::receiver(index)))?;
                    socket.set_nonblocking(true)?;
                    set_ip_tos(&socket, dscp << 2)?;
                    Ok(socket)
                })
                .map_err(|error: io::Error| format!("a socket for sending cannot be opened: {error}"))?;
            let stop = spec.and_then(|flow| flow.stop).map_or(Time::NEVER, |stop| Time::ZERO + stop);
            flows.push(Sending { source: source(scenario, index), socket, stop });
        }
        Ok(Sender { flows })
    }

    /// Sends until the end of the run, or until `stop`.
    pub fn run(mut self, mut clock: RealClock, stop: &AtomicBool) {
        // The default timer slack of the kernel is 50 us.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let payload = [0; 1500];
        loop {
            let next = self.flows.iter().map(Sending::next).min().unwrap_or(Time::NEVER);
            if next == Time::NEVER || stop.load(Ordering::Relaxed) {
                return;
            }
            let now = clock.now();
            if next > now {
                // At most so long, to notice the end.
                sleep_until(&mut clock, next.min(now + super::LOOK));
                continue;
            }
            for flow in &mut self.flows {
                flow.send(now, &payload);
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
    fn send(&mut self, now: Time, payload: &[u8]) {
        while self.next() <= now {
            let bytes = self.source.poll(now).unwrap_or(0) as usize;
            // If the socket buffer is full, the datagram counts as never sent.
            let _ = self.socket.send(payload.get(..bytes.saturating_sub(HEADERS)).unwrap_or(payload));
        }
    }
}

/// The simulator's own source of this flow, with its random stream.
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

/// The receiver of all these flows, on one thread.
pub struct Receiver {
    sockets: Vec<UdpSocket>,
}

impl Receiver {
    /// Opens a socket for each flow in the namespace inside, at `address`.
    ///
    /// # Errors
    /// A socket cannot be opened.
    pub fn open(
        scenario: &Scenario,
        generators: &[Generator],
        inner: &Namespace,
        address: Ipv4Addr,
    ) -> Result<Receiver, String> {
        let open = |index: usize| {
            inner.run(move || {
                let socket = UdpSocket::bind((address, ports::receiver(index)))?;
                socket.set_nonblocking(true)?;
                let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
                Ok(socket)
            })
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
                self.sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            let ready = poll(&mut fds, Some(&TURN)).unwrap_or(0);
            let before = received;
            for socket in &self.sockets {
                while socket.recv(&mut buffer).is_ok() {
                    received += 1;
                }
            }
            if is_last && ready == 0 && received == before {
                break;
            }
        }
        received
    }
}
