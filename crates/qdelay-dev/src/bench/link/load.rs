//! Load generator for a link: TCP at full speed, UDP at full speed or at a fixed rate.
//!
//! Senders are outside, receivers inside, so that data flows down. All sockets are the standard library's.

use qdelay_emu::link_setup::Addresses;
use qdelay_emu::netns::Namespace;
use qdelay_study::cost::Stopwatch;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Offered traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// One TCP connection.
    Tcp,
    /// UDP datagrams, at full speed or at a fixed rate.
    Udp {
        /// Size of the IP packet in bytes.
        bytes: usize,
        /// Packets per second; `None` for full speed.
        rate: Option<f64>,
    },
}

/// Received traffic. Packets are counted for UDP only, because the kernel decides on TCP's packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// IP bytes (TCP: payload) received per second after the start phase.
    pub bytes_per_second: f64,
    /// Packets received per second after the start phase.
    pub packets_per_second: Option<f64>,
    /// Packets that the sender handed to its kernel.
    pub sent: u64,
    /// Packets that the receiver got, including after the sender had stopped.
    pub received: u64,
    /// Packets dropped by the receiver's kernel for lack of buffer memory, after the link.
    pub unread: u64,
}

/// Share of the time that belongs to the start phase and is not measured.
const START: f64 = 0.2;
/// Size of IPv4 and UDP headers in bytes.
const HEADERS: usize = 28;
/// Time without received data after which the link counts as stopped.
const STUCK: Duration = Duration::from_secs(10);
/// Number of polls without data after which the receiver ends. The receiver counts polls rather than time, because a busy machine may
/// suspend it.
const SILENCE: u64 = 6;
/// Interval at which the receiver checks for the end.
const LOOK: Duration = Duration::from_millis(50);
/// Receive buffer in bytes, larger than the payload because the kernel also counts its own structures.
const ROOM: usize = 64 << 20;

/// Ends of a link under load.
pub struct Ends<'a> {
    /// Namespace of the receiver.
    pub inside: &'a Namespace,
    /// Namespace of the sender.
    pub outside: &'a Namespace,
    /// Addresses of receiver and sender.
    pub addresses: Addresses,
}

impl Ends<'_> {
    /// Sends `load` for `seconds`.
    ///
    /// # Errors
    /// A socket that cannot be made or used, or a link that carries no data.
    pub fn send(&self, load: Load, seconds: f64) -> io::Result<Traffic> {
        match load {
            Load::Tcp => self.tcp(seconds),
            Load::Udp { bytes, rate } => self.udp(bytes.saturating_sub(HEADERS), rate, seconds),
        }
    }

    /// Measures one TCP connection. Sockets are made in their namespaces; a second thread receives, because both ends must run at full
    /// speed at once.
    fn tcp(&self, seconds: f64) -> io::Result<Traffic> {
        let inside = self.addresses.inside;
        let listener = self.inside.run(move || TcpListener::bind((inside, 0)))?;
        let server = listener.local_addr()?;
        let mut sender = self.outside.run(move || TcpStream::connect_timeout(&server, STUCK))?;
        let (mut receiver, _) = listener.accept()?;
        sender.set_write_timeout(Some(STUCK))?;
        receiver.set_read_timeout(Some(STUCK))?;
        let received = AtomicU64::new(0);
        thread::scope(|scope| {
            let receiving = thread::Builder::new().spawn_scoped(scope, || {
                let mut buffer = vec![0; 256 << 10];
                loop {
                    match receiver.read(&mut buffer)? {
                        0 => return Ok::<(), io::Error>(()),
                        bytes => received.fetch_add(bytes as u64, Ordering::Relaxed),
                    };
                }
            })?;
            let contents = vec![0x55; 128 << 10];
            let mut meter = Meter::start(seconds, &received);
            let sending = loop {
                if meter.is_over() {
                    break sender.shutdown(Shutdown::Write);
                }
                if let Err(error) = sender.write_all(&contents) {
                    break Err(error);
                }
            };
            let bytes_per_second = meter.per_second();
            if sending.is_err() {
                let _ = sender.shutdown(Shutdown::Both);
            }
            join(receiving)?;
            sending.map(|()| Traffic { bytes_per_second, ..Traffic::default() })
        })
    }

    fn udp(&self, contents: usize, rate: Option<f64>, seconds: f64) -> io::Result<Traffic> {
        let receiver = self.inside.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
        // Without permission the buffer is smaller, and lost packets are counted.
        let _ = set_socket_recv_buffer_size_force(&receiver, ROOM);
        receiver.set_read_timeout(Some(LOOK))?;
        let to = (self.addresses.inside, receiver.local_addr()?.port());
        let sender = self.outside.run(move || {
            let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            sender.connect(to)?;
            Ok::<UdpSocket, io::Error>(sender)
        })?;
        let unread = self.inside.run(unread)?;
        let (received, silence, ends) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        let traffic = thread::scope(|scope| {
            let receive = || receive(&receiver, &received, &silence, &ends);
            let receiving = thread::Builder::new().spawn_scoped(scope, receive)?;
            let mut meter = Meter::start(seconds, &received);
            let sending = flood(&sender, &vec![0x55; contents], rate, &mut meter);
            let packets_per_second = meter.per_second();
            wait_for_silence(&silence);
            ends.store(true, Ordering::Relaxed);
            join(receiving)?;
            Ok::<Traffic, io::Error>(Traffic {
                bytes_per_second: packets_per_second * (contents + HEADERS) as f64,
                packets_per_second: Some(packets_per_second),
                sent: sending?,
                received: received.load(Ordering::Relaxed),
                unread: 0,
            })
        })?;
        Ok(Traffic { unread: self.inside.run(self::unread)?.saturating_sub(unread), ..traffic })
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
}

/// Meter of the rate of a counter between the start phase and the end.
struct Meter<'a> {
    watch: Stopwatch,
    seconds: f64,
    counter: &'a AtomicU64,
    /// Time and count at the end of the start phase.
    begun: Option<(f64, u64)>,
}

impl<'a> Meter<'a> {
    fn start(seconds: f64, counter: &'a AtomicU64) -> Meter<'a> {
        Meter { watch: Stopwatch::start(), seconds, counter, begun: None }
    }

    fn is_over(&mut self) -> bool {
        let elapsed = self.watch.seconds();
        if self.begun.is_none() && elapsed >= START * self.seconds {
            self.begun = Some((elapsed, self.counter.load(Ordering::Relaxed)));
        }
        elapsed >= self.seconds
    }

    fn per_second(&self) -> f64 {
        let (time, count) = self.begun.unwrap_or_default();
        (self.counter.load(Ordering::Relaxed) - count) as f64 / (self.watch.seconds() - time).max(1e-9)
    }
}

/// Counts received packets, and polls of [`LOOK`] without a packet since the last one, until told to end.
fn receive(
    socket: &UdpSocket,
    received: &AtomicU64,
    silence: &AtomicU64,
    ends: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = [0; 2048];
    while !ends.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                received.fetch_add(1, Ordering::Relaxed);
                silence.store(0, Ordering::Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                silence.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // A sender that failed ends the wait at once.
                silence.store(u64::MAX / 2, Ordering::Relaxed);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Sends until the meter is over; returns the number of packets that the kernel accepted.
fn flood(socket: &UdpSocket, contents: &[u8], rate: Option<f64>, meter: &mut Meter) -> io::Result<u64> {
    let mut sent = 0;
    while !meter.is_over() {
        // Each reading of the clock is followed by a batch of packets, or by all packets that are due.
        let due = rate.map_or(sent + 32, |rate| (meter.watch.seconds() * rate) as u64);
        if due == sent {
            pause(Duration::from_micros(200));
        }
        while sent < due {
            match socket.send(contents) {
                Ok(_) => sent += 1,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(sent)
}

fn wait_for_silence(silence: &AtomicU64) {
    while silence.load(Ordering::Relaxed) < SILENCE {
        pause(LOOK);
    }
}

#[allow(clippy::disallowed_methods, reason = "a sender at a rate, and a receiver of what is still under way")]
fn pause(time: Duration) {
    thread::sleep(time);
}

/// Datagrams that receivers in the calling thread's namespace dropped for lack of buffer or other errors, since the namespace was made.
fn unread() -> io::Result<u64> {
    parse_unread(&std::fs::read_to_string("/proc/thread-self/net/snmp")?)
        .ok_or_else(|| io::Error::other("/proc/net/snmp does not count the errors of UDP"))
}

/// The file has two lines for each protocol: names, values.
fn parse_unread(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:")).map(str::split_whitespace);
    let (names, values) = (lines.next()?, lines.next()?);
    names.zip(values).find(|(name, _)| *name == "InErrors")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_udp() {
        let text = "Ip: InErrors\nIp: 9\nUdp: InDatagrams NoPorts InErrors\nUdp: 5 6 7\nUdpLite: InErrors\nUdpLite: 8\n";
        assert_eq!(parse_unread(text), Some(7));
        assert_eq!(parse_unread("Udp: InErrors\n"), None);
        assert_eq!(parse_unread("Udp: InErrors\nUdp: x\n"), None);
        assert!(unread().is_ok());
    }

    #[test]
    fn a_meter_leaves_the_start_out() {
        let counter = AtomicU64::new(0);
        let mut meter = Meter::start(0.0, &counter);
        counter.store(7, Ordering::Relaxed);
        assert!(meter.is_over());
        assert_eq!((meter.begun.map(|(_, count)| count), meter.per_second()), (Some(7), 0.0));
    }
}
