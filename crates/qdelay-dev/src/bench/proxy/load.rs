//! The load of the benchmark: connections that each send at a constant rate, and a sink that reads them.
//!
//! A connection sends a piece every 10 ms, and the connections take turns within that time. A piece begins with the time at which it was
//! written, from which the sink computes its delay.

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_record::{DelayHistogram, DelaySummary};
use rustix::thread::nanosleep;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::thread;

/// Pieces that a connection sends in a second.
pub const PIECES_PER_SECOND: u64 = 100;
/// Time between two pieces of a connection.
const PERIOD: Span = Span::from_millis(1000 / PIECES_PER_SECOND);
/// Groups of connections that send at the same time.
const TURNS: usize = 10;
/// Time for connections to be set up, before the first piece.
const SETTLE: Span = Span::from_millis(500);

/// Bytes that the sink has received, and their delays.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes.
    pub bytes: u64,
    /// Delays of pieces, from the write of the first byte to its read, in ms.
    pub delay_ms: DelaySummary,
}

/// A sink for connections.
pub struct Sink {
    listener: TcpListener,
    clock: RealClock,
}

impl Sink {
    /// Listens on a free port of the loopback interface.
    pub fn new(clock: RealClock) -> io::Result<Sink> {
        Ok(Sink { listener: TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?, clock })
    }

    /// Address of the listener.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The clock of the stamps.
    pub fn clock(&self) -> RealClock {
        self.clock
    }

    /// Reads `count` connections to their ends; `piece` is the size of their pieces in bytes.
    pub fn run(mut self, count: usize, piece: usize) -> io::Result<Received> {
        const LISTENER: Token = Token(usize::MAX);
        let mut poll = Poll::new()?;
        poll.registry().register(&mut self.listener, LISTENER, Interest::READABLE)?;
        let mut streams: Vec<(Option<TcpStream>, u64, [u8; 8])> = Vec::new();
        let mut events = Events::with_capacity(1024);
        let (mut open, mut delays, mut bytes) = (count, DelayHistogram::default(), 0);
        let mut buffer = vec![0; 256 * 1024];
        while open > 0 {
            poll.poll(&mut events, None)?;
            for event in &events {
                if event.token() == LISTENER {
                    while let Ok((mut stream, _)) = self.listener.accept() {
                        poll.registry().register(&mut stream, Token(streams.len()), Interest::READABLE)?;
                        streams.push((Some(stream), 0, [0; 8]));
                    }
                    continue;
                }
                let Some((stream, place, stamp)) = streams.get_mut(event.token().0) else { continue };
                while let Some(socket) = stream {
                    match socket.read(&mut buffer) {
                        Ok(0) => {
                            *stream = None;
                            open -= 1;
                        }
                        Ok(read) => {
                            let now = self.clock.now();
                            bytes += read as u64;
                            note_stamps(&buffer[..read], place, stamp, piece as u64, |sent| {
                                delays.record(now.since(sent));
                            });
                        }
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(Received { bytes, delay_ms: delays.summary() })
    }
}

/// Finds the stamps of pieces in `data`, which begins at byte `place` of the connection.
fn note_stamps(data: &[u8], place: &mut u64, stamp: &mut [u8; 8], piece: u64, mut note: impl FnMut(Time)) {
    let mut at = 0;
    while at < data.len() {
        let within = *place % piece;
        if within < 8 {
            stamp[within as usize] = data[at];
            if within == 7 {
                note(Time::from_nanos(u64::from_le_bytes(*stamp)));
            }
            (at, *place) = (at + 1, *place + 1);
        } else {
            let rest = ((piece - within) as usize).min(data.len() - at);
            (at, *place) = (at + rest, *place + rest as u64);
        }
    }
}

/// Sends `pieces` pieces of `piece` bytes over each of `count` connections to `address`. Returns when everything is written.
pub fn send(
    address: SocketAddr,
    mut clock: RealClock,
    count: usize,
    piece: usize,
    pieces: u64,
) -> io::Result<()> {
    let connect = |_| {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let mut streams: Vec<std::net::TcpStream> = (0..count).map(connect).collect::<io::Result<_>>()?;
    let mut data = vec![0; piece];
    let start = clock.now() + SETTLE;
    for turn in 0..pieces * TURNS as u64 {
        let due = start + PERIOD / TURNS as u64 * turn;
        let ahead = due.since(clock.now());
        if !ahead.is_zero() {
            let _ = nanosleep(&rustix::thread::Timespec { tv_sec: 0, tv_nsec: ahead.as_nanos() as i64 });
        }
        for stream in streams.iter_mut().skip((turn % TURNS as u64) as usize).step_by(TURNS) {
            data[..8].copy_from_slice(&clock.now().as_nanos().to_le_bytes());
            stream.write_all(&data)?;
        }
    }
    Ok(())
}

/// Runs `work` on a thread. Returns its result, and the processor time that the thread took.
pub fn timed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<(T, Span)> {
    thread::spawn(move || {
        let result = work();
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        (result, Span::from_nanos(used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64))
    })
}
