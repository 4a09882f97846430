//! The sockets of a proxy and the loop that moves bytes between them and the engine: one thread.
//!
//! Bytes are read as they come, while their stream has room; what has crossed the path is written at most every `WRITE_INTERVAL`, so that
//! segments of one connection leave in one call.

mod outcome;
mod requests;
mod tcp;
mod udp;

pub use outcome::Outcome;

use crate::engine::{Action, Engine, Settings};
use crate::mapping::{Mapping, Transport};
use crate::wait::{LONGEST, wait};
use mio::event::Event;
use mio::net::{TcpListener, UdpSocket};
use mio::{Events, Interest, Poll, Token, Waker};
use qdelay_core::{Span, Time};
use qdelay_emu::audit::Audit;
use qdelay_emu::control::{Control, Inbox, control};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::EmulatorError;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_emu::system_clock::SystemClock;
use qdelay_path::stack::{LATENESS_CEILING, Plan};
use requests::PollWake;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcp::Connections;
use udp::Flows;

/// Shortest time between two rounds of writing: a quarter of the limit of lateness.
const WRITE_INTERVAL: Span = Span::from_micros(250);
/// Events taken from the system at once.
const EVENTS: usize = 1024;

const WAKER: Token = Token(0);
/// First token of listening sockets.
const LISTENERS: usize = 1;
/// First token of connections: two for each, by port.
const CONNECTIONS: usize = 1 << 16;
/// First token of flows of datagrams.
const FLOWS: usize = 1 << 24;

/// Why a proxy cannot begin or go on.
#[derive(Debug)]
pub enum ProxyError {
    /// The path cannot be built from the plan.
    Path(String),
    /// The proxy cannot listen at this place.
    Listen(Mapping, io::Error),
    /// The system refused a call that every proxy needs.
    System(io::Error),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyError::Path(error) => error.fmt(f),
            ProxyError::Listen(mapping, error) => {
                write!(f, "--listen {}: {error}; expected a free port of this machine", mapping.listen)
            }
            ProxyError::System(error) => write!(f, "the operating system refused: {error}"),
        }
    }
}
impl std::error::Error for ProxyError {}

impl From<io::Error> for ProxyError {
    fn from(error: io::Error) -> ProxyError {
        ProxyError::System(error)
    }
}

/// A socket that listens.
enum Listener {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Listener {
    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr(),
            Listener::Udp(socket) => socket.local_addr(),
        }
    }
}

/// A function that is given each line for the user.
pub type Report = Box<dyn FnMut(&str) + Send>;

/// A proxy with its sockets; see the module.
pub struct Proxy {
    clock: SystemClock,
    poll: Poll,
    engine: Engine,
    audit: Audit,
    mappings: Vec<Mapping>,
    listeners: Vec<Listener>,
    connections: Connections,
    flows: Flows,
    /// `None` while its requests are served.
    inbox: Option<Inbox<PollWake>>,
    report: Report,
    due: Vec<(Port, Time)>,
    /// Time of the next round of writing, if there is anything to write.
    next_write: Time,
    /// Whether the system refused to accept a connection that waits.
    accepts_again: bool,
    is_stopped: bool,
    /// Ends the loop from elsewhere, when it is set.
    stop: Option<Arc<AtomicBool>>,
    /// Called at a request to stop, in place of the end of the loop.
    at_stop: Option<Box<dyn FnMut() + Send>>,
}

impl Proxy {
    /// Opens the listening sockets. `shown` are the settings of the path for views of it; `None` where no one watches.
    ///
    /// # Errors
    /// The path cannot be built, or a place cannot be listened on.
    pub fn new(
        plan: Plan,
        settings: Settings,
        mappings: Vec<Mapping>,
        shown: Option<LinkSettings>,
        report: Report,
    ) -> Result<(Proxy, Control), ProxyError> {
        let connections = Connections::new(settings.connections);
        let mut engine = Engine::new(plan, settings).map_err(|error| ProxyError::Path(error.to_string()))?;
        if shown.is_some() {
            engine.count_classes().map_err(|error| ProxyError::Path(error.to_string()))?;
        }
        let poll = Poll::new()?;
        let wake = PollWake(Waker::new(poll.registry(), WAKER)?);
        let (control, inbox) = control(shown.unwrap_or_default(), wake);
        let mut listeners = Vec::new();
        for (number, mapping) in mappings.iter().enumerate() {
            let listener = listen(&poll, Token(LISTENERS + number), mapping)
                .map_err(|error| ProxyError::Listen(mapping.clone(), error))?;
            listeners.push(listener);
        }
        let clock = SystemClock::start();
        let audit = Audit::begin(clock.now(), [LATENESS_CEILING; 2], 0);
        let proxy = Proxy {
            clock,
            poll,
            engine,
            audit,
            mappings,
            listeners,
            connections,
            flows: Flows::new(),
            inbox: Some(inbox),
            report,
            due: Vec::new(),
            next_write: Time::ZERO,
            accepts_again: false,
            is_stopped: false,
            stop: None,
            at_stop: None,
        };
        Ok((proxy, control))
    }

    /// The addresses that the proxy listens on, in the order of the mappings.
    ///
    /// # Errors
    /// The system does not name one.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.listeners.iter().map(Listener::address).collect()
    }

    /// Lets the loop end within a tenth of a second when `stop` is set, such as by the handler of a signal.
    pub fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.stop = Some(stop);
    }

    /// Calls `act` at a request to stop, in place of ending the loop: for a program that is to end first.
    pub fn at_stop(&mut self, act: impl FnMut() + Send + 'static) {
        self.at_stop = Some(Box::new(act));
    }

    /// Runs the loop until a request to stop.
    ///
    /// # Errors
    /// The system refused to wait.
    pub fn run(&mut self) -> Result<(), ProxyError> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.is_stopped && !self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            let now = self.read_clock();
            self.engine.advance(now);
            if now >= self.next_write && self.write(now) {
                continue;
            }
            let due = self.engine.next_deadline().max(self.next_write);
            let until = if self.accepts_again { due.min(now + LONGEST) } else { due };
            let span = until.since(now).min(LONGEST);
            self.audit.stalls.sleep(now + span);
            wait(&mut self.poll, &mut events, span)?;
            self.audit.turns += 1;
            if !events.is_empty() || self.accepts_again {
                let now = self.read_clock();
                self.accept_again(now);
                let mut is_asked = false;
                for event in &events {
                    is_asked |= event.token() == WAKER;
                    self.serve(now, event);
                }
                // Last, so that a change concerns what comes after it.
                if is_asked {
                    self.obey();
                }
                Port::ALL.into_iter().for_each(|port| self.audit.stalls.empty(port));
            }
        }
        Ok(())
    }

    fn read_clock(&mut self) -> Time {
        let now = self.clock.now();
        self.audit.clock_read(now);
        now
    }

    /// Does everything that the engine asks for. Returns whether there was anything.
    fn write(&mut self, now: Time) -> bool {
        let mut has_written = false;
        while let Some(action) = self.engine.next_action() {
            has_written = true;
            match action {
                Action::Connect(key) => self.connect(now, key),
                Action::Write(key, port) => self.write_stream(now, key, port),
                Action::Reset(key, port) => self.connections.reset(key, port),
                Action::Done(key) => self.connections.remove(key),
            }
        }
        while let Some(datagram) = self.engine.next_datagram() {
            has_written = true;
            self.write_datagram(datagram);
        }
        self.engine.take_due(&mut self.due);
        if !self.due.is_empty() {
            let written = self.clock.now();
            for (port, due) in self.due.drain(..) {
                self.audit.released(written, port, due);
            }
        }
        if has_written {
            self.next_write = now + WRITE_INTERVAL;
        }
        has_written
    }

    fn serve(&mut self, now: Time, event: &Event) {
        match event.token().0 {
            0 => {}
            token @ FLOWS.. => self.read_flow(now, (token - FLOWS) as u32),
            token @ CONNECTIONS.. => {
                let place = token - CONNECTIONS;
                self.socket_ready(now, place / 2, Port::ALL[place % 2], event);
            }
            token => match self.listeners.get(token - LISTENERS) {
                Some(Listener::Tcp(_)) => self.accept(now, token - LISTENERS),
                Some(Listener::Udp(_)) => self.read_clients(now, token - LISTENERS),
                None => {}
            },
        }
    }

    fn update_audit(&mut self, now: Time) {
        self.audit.update(now, 0);
        self.audit.pool_empty = self.engine.counts().unstored;
        self.audit.send_full = self.flows.unsent;
    }

    /// The results up to now, after the loop has ended.
    ///
    /// # Errors
    /// A defect of this program: packets were lost or made up.
    pub fn outcome(&mut self) -> Result<Outcome, EmulatorError> {
        let now = self.clock.now();
        let now = self.engine.advance(now);
        self.update_audit(now);
        self.engine.audit()?;
        let mut outcome = Outcome::collect(&self.engine, &self.audit, &self.connections, &self.flows, now);
        // Requests fail from now on, because the loop has ended.
        outcome.changes = self.inbox.take().map(|inbox| inbox.changes().to_vec()).unwrap_or_default();
        Ok(outcome)
    }
}

fn listen(poll: &Poll, token: Token, mapping: &Mapping) -> io::Result<Listener> {
    let address = mapping.listen.address;
    Ok(match mapping.listen.transport {
        Transport::Tcp => {
            let mut listener = TcpListener::bind(address)?;
            poll.registry().register(&mut listener, token, Interest::READABLE)?;
            Listener::Tcp(listener)
        }
        Transport::Udp => {
            let mut socket = UdpSocket::bind(address)?;
            poll.registry().register(&mut socket, token, Interest::READABLE)?;
            Listener::Udp(socket)
        }
    })
}
