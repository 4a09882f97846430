//! A proxy that only copies: the peer of the benchmark.
//!
//! One thread, edge-triggered events, a buffer of 64 kB for each direction of a connection: what a proxy cannot do without.

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const BUFFER: usize = 64 * 1024;
const WAKER: Token = Token(usize::MAX);
const LISTENER: Token = Token(usize::MAX - 1);

/// One direction: bytes that were read and not written yet.
struct Half {
    bytes: Box<[u8]>,
    from: usize,
    to: usize,
    has_ended: bool,
}

impl Half {
    fn new() -> Half {
        Half { bytes: vec![0; BUFFER].into_boxed_slice(), from: 0, to: 0, has_ended: false }
    }

    /// Copies until the source has nothing or the destination no room. `ends`: the end of the source waits behind its bytes.
    fn copy(&mut self, mut source: &TcpStream, mut destination: &TcpStream, ends: bool) -> io::Result<()> {
        let mut is_empty = false;
        loop {
            while self.from < self.to {
                match destination.write(&self.bytes[self.from..self.to]) {
                    Ok(count) => self.from += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            if self.has_ended || is_empty {
                return Ok(());
            }
            match source.read(&mut self.bytes) {
                Ok(0) => {
                    self.has_ended = true;
                    let _ = destination.shutdown(Shutdown::Write);
                }
                Ok(count) => {
                    (self.from, self.to) = (0, count);
                    // A short read has emptied the source.
                    is_empty = count < BUFFER && !ends;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Copies between clients of a listener and a target until it is stopped.
pub struct Bare {
    poll: Poll,
    listener: TcpListener,
    target: SocketAddr,
    stop: Arc<AtomicBool>,
    pairs: Vec<Option<([TcpStream; 2], [Half; 2])>>,
}

impl Bare {
    /// Listens on a free port of the loopback interface. Returns the function that stops the proxy, too.
    pub fn new(target: SocketAddr) -> io::Result<(Bare, impl Fn() + Send)> {
        let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let end = move || {
            stopped.store(true, Ordering::Relaxed);
            let _ = waker.wake();
        };
        Ok((Bare { poll, listener, target, stop, pairs: Vec::new() }, end))
    }

    /// Address of the listener.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Copies until it is stopped.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while !self.stop.load(Ordering::Relaxed) {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                match event.token() {
                    WAKER => {}
                    LISTENER => self.accept()?,
                    Token(place) => {
                        let Some(Some((streams, halves))) = self.pairs.get_mut(place / 2) else { continue };
                        let side = place % 2;
                        let mut done = Ok(());
                        if event.is_readable() {
                            let ends = event.is_read_closed();
                            done = halves[side].copy(&streams[side], &streams[1 - side], ends);
                        }
                        if event.is_writable() && done.is_ok() {
                            let back = &mut halves[1 - side];
                            if back.from < back.to {
                                done = back.copy(&streams[1 - side], &streams[side], true);
                            }
                        }
                        if done.is_err() || halves.iter().all(|half| half.has_ended && half.from == half.to) {
                            self.pairs[place / 2] = None;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let mut streams = [client, TcpStream::connect(self.target)?];
            for (side, stream) in streams.iter_mut().enumerate() {
                let token = Token(self.pairs.len() * 2 + side);
                self.poll.registry().register(stream, token, Interest::READABLE | Interest::WRITABLE)?;
            }
            self.pairs.push(Some((streams, [Half::new(), Half::new()])));
        }
    }
}
