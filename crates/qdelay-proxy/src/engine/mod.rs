//! The connections and datagrams of a proxy on a path of two directions; the host has the sockets and passes the time.
//!
//! Sans-IO: it opens no socket and reads no clock. [`Port::Inside`] is the side of clients, [`Port::Outside`] the side of targets. The host
//!
//! 1. opens a connection ([`Engine::open`]) for each client that it accepts;
//! 2. reads the bytes of a socket into [`Engine::room`] and reports them ([`Engine::received`]), and its end ([`Engine::closed`],
//!    [`Engine::reset`]); it passes in datagrams ([`Engine::send`]);
//! 3. advances the time ([`Engine::advance`]), at [`Engine::next_deadline`] or later: due events happen at their own times;
//! 4. does what the engine asks for ([`Engine::next_action`], [`Engine::next_datagram`]);
//! 5. changes the path ([`Engine::adjust`]) and ends connections ([`Engine::abort`]) at any time.
//!
//! A connection is a TCP connection of its own through the path, from SYN to FIN: its packets wait in queues, are dropped, and are sent again as
//! in the simulator. The sockets at both ends only hand over and take bytes. `Connection` has the endpoints.

mod changes;
mod connection;
mod meter;
mod ring;
mod store;

use connection::{Connection, Opening};
use meter::{Arrival, Meter};
use qdelay_core::deadlines::Deadlines;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{EmulatorError, PortMeasures};
use qdelay_path::stack::Plan;
use qdelay_path::stack::StackError;
use qdelay_path::{ByReason, Count, LinkUsage, Path, PathError};
use qdelay_traffic::control::AnyController;
use qdelay_traffic::segment::{Segment, flag};
use qdelay_traffic::tcp::Profile;
use std::collections::VecDeque;
use store::Content;

/// Headers of a datagram: IPv4 and UDP, bytes.
const DATAGRAM_HEADERS: u32 = 28;
/// Size of a reset: the headers of a segment without options, bytes.
const RESET_BYTES: u32 = 40;
/// Time after which a reset that was lost is sent again. A kernel would send one again for each segment that comes for a closed connection.
const RESET_AGAIN: Span = Span::from_secs(1);

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// TCP of the connections through the path.
    pub profile: Profile,
    /// Congestion control of the connections.
    pub controller: AnyController,
    /// Most bytes of one direction of a connection, from the time at which they are read until they are written.
    pub window: usize,
    /// Most connections at a time.
    pub connections: usize,
    /// Most bytes of datagrams on the path.
    pub datagram_bytes: u64,
}

/// A connection, for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: u32,
    number: u32,
}

impl Key {
    /// The place of the connection among those that are open: below [`Settings::connections`].
    pub fn index(self) -> usize {
        self.index as usize
    }
    /// Number of the connection, from 0 in the order of opening.
    pub fn number(self) -> u32 {
        self.number
    }
}

/// An action that the engine asks of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The SYN has crossed the path: connect to the target, then call [`Engine::connected`] or [`Engine::refused`].
    Connect(Key),
    /// Bytes, or the end of the stream, have arrived for the socket at this port: see [`Engine::ready`] and [`Engine::is_ended`].
    Write(Key, Port),
    /// A reset has arrived for the socket at this port; the connection is gone.
    Reset(Key, Port),
    /// Both directions are closed; the connection is gone.
    Done(Key),
}

/// A datagram that has crossed the path.
#[derive(Debug)]
pub struct Datagram {
    /// The flow that the host has named.
    pub flow: u32,
    /// The side that it has reached.
    pub port: Port,
    /// Bytes of the datagram; the host gives the buffer back by [`Engine::give_back`].
    pub data: Vec<u8>,
}

/// Counts of a proxy's own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounts {
    /// Connections opened.
    pub opened: u64,
    /// Connections that ended by a close of both directions.
    pub done: u64,
    /// Connections that ended by a reset, refused ones among them.
    pub resets: u64,
    /// Connections whose target refused.
    pub refused: u64,
    /// Segments that were sent again, by the port that they come from.
    pub retransmits: [u64; 2],
    /// Datagrams that found no memory ([`Settings::datagram_bytes`]) and were lost outside the path.
    pub unstored: u64,
}

/// Connections and datagrams on a path; see the module.
#[derive(Debug)]
pub struct Engine {
    path: Path,
    plan: Plan,
    meter: Meter,
    settings: Settings,
    seed: u64,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    /// The deadlines of connections, by index.
    deadlines: Deadlines,
    actions: VecDeque<Action>,
    datagrams: VecDeque<Datagram>,
    /// Times at which packets with bytes for a socket left the path, with the port that they reached, until the host takes them.
    due: Vec<(Port, Time)>,
    /// Segments to send at the end of the current call.
    out: Vec<Segment>,
    counts: EngineCounts,
    next_number: u32,
    fault: Option<PathError>,
}

impl Engine {
    /// Builds the path of `plan`.
    ///
    /// # Errors
    /// The path cannot be built.
    pub fn new(plan: Plan, settings: Settings) -> Result<Engine, StackError> {
        let seed = plan.seed;
        let (path, nodes) = plan.clone().build()?;
        let most = settings.connections;
        Ok(Engine {
            path,
            plan,
            meter: Meter::new(nodes),
            seed,
            connections: (0..most).map(|_| None).collect(),
            free: (0..most as u32).rev().collect(),
            deadlines: Deadlines::new(most),
            settings,
            actions: VecDeque::new(),
            datagrams: VecDeque::new(),
            due: Vec::new(),
            out: Vec::new(),
            counts: EngineCounts::default(),
            next_number: 0,
            fault: None,
        })
    }

    /// Opens a connection at `now`: its SYN leaves from the client's side. `None` while there are as many as the settings allow.
    pub fn open(&mut self, now: Time) -> Option<Key> {
        let now = self.advance(now);
        let index = self.free.pop()?;
        let key = Key { index, number: self.next_number };
        self.next_number = self.next_number.wrapping_add(1);
        self.counts.opened += 1;
        let mut connection = Box::new(Connection::new(key, &self.settings, self.seed));
        connection.ends[Port::Inside.index()].connect(now, &mut self.out);
        self.connections[key.index()] = Some(connection);
        self.send_segments(now, key, Port::Inside);
        Some(key)
    }

    /// The target has accepted the connection: its SYN is answered.
    pub fn connected(&mut self, now: Time, key: Key) {
        let now = self.advance(now);
        let Some(connection) = self.connection(key) else { return };
        let Opening::Connecting(syn) = connection.opening else { return };
        connection.opening = Opening::Open;
        self.with_end(now, key, Port::Outside, |end, out| {
            end.on_segment(now, &syn, Default::default(), out);
        });
    }

    /// The target has refused the connection: a reset goes to the client.
    pub fn refused(&mut self, now: Time, key: Key) {
        self.counts.refused += 1;
        self.reset(now, key, Port::Outside);
    }

    /// Room for the next bytes from `port`; empty while the window is full, and for a connection that is gone.
    pub fn room(&mut self, key: Key, port: Port) -> &mut [u8] {
        match self.connection(key) {
            Some(connection) => connection.streams[port.index()].ring.room(),
            None => &mut [],
        }
    }

    /// `count` bytes from `port` were read into [`Engine::room`] at `now`.
    pub fn received(&mut self, now: Time, key: Key, port: Port, count: usize) {
        let now = self.advance(now);
        let Some(connection) = self.connection(key) else { return };
        connection.streams[port.index()].ring.add(count);
        self.with_end(now, key, port, |end, out| end.write(now, count as u64, out));
    }

    /// The socket at `port` has closed its direction at `now`.
    pub fn closed(&mut self, now: Time, key: Key, port: Port) {
        let now = self.advance(now);
        let Some(connection) = self.connection(key) else { return };
        if !std::mem::replace(&mut connection.streams[port.index()].is_closed, true) {
            self.with_end(now, key, port, |end, out| end.close(now, out));
        }
        self.end_if_complete(key);
    }

    /// The socket at `port` is gone without a close at `now`: a reset goes to the other side, behind the packets on their way.
    pub fn reset(&mut self, now: Time, key: Key, port: Port) {
        let now = self.advance(now);
        let Some(connection) = self.connection(key) else { return };
        if !std::mem::replace(&mut connection.is_dead[port.index()], true) {
            self.send_reset(now, key, port);
        }
    }

    /// Bytes that have arrived for the socket at `port`, in two parts, the second of which may be empty.
    pub fn ready(&self, key: Key, port: Port) -> [&[u8]; 2] {
        match self.find(key) {
            Some(connection) => {
                let stream = &connection.streams[port.other().index()];
                stream.ring.first(stream.ready())
            }
            None => [&[], &[]],
        }
    }

    /// Whether the stream to `port` has ended: nothing follows the bytes that are [ready](Engine::ready).
    pub fn is_ended(&self, key: Key, port: Port) -> bool {
        self.find(key).is_some_and(|connection| connection.streams[port.other().index()].is_ended)
    }

    /// The host has written the first `count` bytes that were ready for `port`.
    pub fn written(&mut self, key: Key, port: Port, count: usize) {
        let Some(connection) = self.connection(key) else { return };
        let stream = &mut connection.streams[port.other().index()];
        let count = count.min(stream.ready());
        stream.ring.remove(count);
        stream.written += count as u64;
    }

    /// The host has closed the stream to `port` at the socket, after its [end](Engine::is_ended).
    pub fn finished(&mut self, key: Key, port: Port) {
        let Some(connection) = self.connection(key) else { return };
        connection.streams[port.other().index()].is_finished = true;
        self.end_if_complete(key);
    }

    /// Sends a datagram of `flow` that came from `port` at `now`.
    pub fn send(&mut self, now: Time, flow: u32, port: Port, data: &[u8]) {
        let now = self.advance(now);
        if self.meter.store.datagram_bytes() + data.len() as u64 > self.settings.datagram_bytes {
            self.counts.unstored += 1;
            return;
        }
        let mut buffer = self.meter.store.buffer();
        buffer.extend_from_slice(data);
        let bytes = DATAGRAM_HEADERS + data.len() as u32;
        // Flows of datagrams are told from connections by the highest bit.
        let packet = Packet { bytes, flow: flow | 1 << 31, ..Packet::default() };
        self.ingress(now, port, packet, Content::Datagram(flow, buffer));
    }

    /// The next datagram that has crossed the path.
    pub fn next_datagram(&mut self) -> Option<Datagram> {
        self.datagrams.pop_front()
    }

    /// Takes back the buffer of a datagram.
    pub fn give_back(&mut self, data: Vec<u8>) {
        self.meter.store.give_back(data);
    }

    /// The next action for the host.
    pub fn next_action(&mut self) -> Option<Action> {
        let action = self.actions.pop_front()?;
        if let Action::Write(key, port) = action
            && let Some(connection) = self.connection(key)
        {
            connection.streams[port.other().index()].is_listed = false;
        }
        Some(action)
    }

    /// Times at which packets with bytes for sockets left the path since the last call, with the port that they reached.
    pub fn take_due(&mut self, into: &mut Vec<(Port, Time)>) {
        into.append(&mut self.due);
    }

    /// Time of the next necessary call of [`Engine::advance`]: never late, perhaps early.
    pub fn next_deadline(&self) -> Time {
        match self.meter.arrivals.is_empty() && self.meter.lost_resets.is_empty() {
            true => self.path.next_deadline().min(self.deadlines.next()),
            false => self.path.now(),
        }
    }

    /// Runs all events that are due by `now`, each at its own time. A time before that of the previous call is taken as the time of that call.
    /// Returns the time.
    pub fn advance(&mut self, now: Time) -> Time {
        let now = now.max(self.path.now());
        loop {
            // Without a delay on the path a packet arrives in the call that sends it.
            while let Some(arrival) = self.meter.arrivals.pop_front() {
                self.arrived(&arrival);
            }
            while let Some((key, port)) = self.meter.lost_resets.pop() {
                self.reset_lost(key, port);
            }
            let timer = self.deadlines.next();
            let until = now.min(timer).max(self.path.now());
            let advanced = self.path.advance(until, &mut self.meter);
            self.note(advanced.map(|_| ()));
            if !self.meter.arrivals.is_empty() || !self.meter.lost_resets.is_empty() {
                continue;
            }
            match self.deadlines.due(until) {
                Some((_, index)) => self.run_timers(until, index),
                None if until == now => return now,
                // The tree of deadlines may be early.
                None => {}
            }
        }
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let Arrival { time, port, packet } = *arrival;
        match self.meter.store.take(packet.handle) {
            Content::Segment(key, segment) => self.segment_arrived(time, key, port, &segment, &packet),
            Content::Reset(key) => self.reset_arrived(time, key, port),
            Content::Datagram(flow, data) => {
                self.due.push((port, time));
                self.datagrams.push_back(Datagram { flow, port, data });
            }
            Content::Free => {}
        }
    }

    fn segment_arrived(&mut self, now: Time, key: Key, port: Port, segment: &Segment, packet: &Packet) {
        let Some(connection) = self.connection(key) else { return };
        if connection.is_dead[port.index()] {
            return;
        }
        if port == Port::Outside && !matches!(connection.opening, Opening::Open) {
            if matches!(connection.opening, Opening::Crossing) && segment.has(flag::SYN) {
                connection.opening = Opening::Connecting(*segment);
                self.actions.push_back(Action::Connect(key));
            }
            return;
        }
        self.with_end(now, key, port, |end, out| end.on_segment(now, segment, packet.ecn, out));
        let Some(connection) = self.connection(key) else { return };
        let end = &connection.ends[port.index()];
        let (crossed, is_ended) = (end.bytes_received(), end.receiver().is_finished());
        let stream = &mut connection.streams[port.other().index()];
        if crossed > stream.crossed || is_ended != stream.is_ended {
            (stream.crossed, stream.is_ended) = (crossed, is_ended);
            if !std::mem::replace(&mut stream.is_listed, true) {
                self.actions.push_back(Action::Write(key, port));
            }
            self.due.push((port, now));
        }
        self.end_if_complete(key);
    }

    fn reset_arrived(&mut self, now: Time, key: Key, port: Port) {
        if self.find(key).is_some() {
            self.due.push((port, now));
            self.counts.resets += 1;
            self.remove(key);
            self.actions.push_back(Action::Reset(key, port));
        }
    }

    /// A reset that came from `port` was dropped on the path.
    fn reset_lost(&mut self, key: Key, port: Port) {
        let again = self.path.now() + RESET_AGAIN;
        if let Some(connection) = self.connection(key) {
            connection.reset_due[port.index()] = again;
            self.schedule(key);
        }
    }

    fn run_timers(&mut self, now: Time, index: usize) {
        let Some(connection) = &self.connections[index] else {
            self.deadlines.set(index, Time::NEVER);
            return;
        };
        let key = connection.key;
        for port in Port::ALL {
            let Some(connection) = self.connection(key) else { return };
            if !connection.is_dead[port.index()] {
                self.with_end(now, key, port, |end, out| end.on_deadline(now, out));
            } else if connection.reset_due[port.index()] <= now {
                connection.reset_due[port.index()] = Time::NEVER;
                self.send_reset(now, key, port);
            }
        }
        self.end_if_complete(key);
    }

    /// Calls an endpoint and sends its segments.
    fn with_end(
        &mut self,
        now: Time,
        key: Key,
        port: Port,
        call: impl FnOnce(&mut qdelay_traffic::tcp::Endpoint, &mut Vec<Segment>),
    ) {
        let Some(connection) = find_mut(&mut self.connections, key) else { return };
        if connection.is_dead[port.index()] {
            return;
        }
        call(&mut connection.ends[port.index()], &mut self.out);
        self.send_segments(now, key, port);
    }

    /// Sends the segments that the endpoint at `port` has made.
    fn send_segments(&mut self, now: Time, key: Key, port: Port) {
        let mut out = std::mem::take(&mut self.out);
        for segment in &out {
            let ecn = match self.find(key) {
                Some(connection) => connection.ends[port.index()].ecn(segment),
                None => return,
            };
            let packet = Packet { bytes: segment.ip_bytes(), flow: key.number, ecn, ..Packet::default() };
            self.ingress(now, port, packet, Content::Segment(key, *segment));
        }
        out.clear();
        self.out = out;
        self.schedule(key);
    }

    fn send_reset(&mut self, now: Time, key: Key, port: Port) {
        let packet = Packet { bytes: RESET_BYTES, flow: key.number, ..Packet::default() };
        self.ingress(now, port, packet, Content::Reset(key));
        self.schedule(key);
    }

    fn ingress(&mut self, now: Time, port: Port, packet: Packet, content: Content) {
        let handle = self.meter.store.add(content);
        let entry = self.meter.nodes.entry[port.index()];
        let entered = self.path.ingress(now, entry, Packet { handle, ..packet }, &mut self.meter);
        self.note(entered);
    }

    fn schedule(&mut self, key: Key) {
        if let Some(connection) = self.find(key) {
            let deadline = connection.next_deadline();
            self.deadlines.set(key.index(), deadline);
        }
    }

    fn end_if_complete(&mut self, key: Key) {
        if self.find(key).is_some_and(Connection::is_complete) {
            self.counts.done += 1;
            self.remove(key);
            self.actions.push_back(Action::Done(key));
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key.index()).and_then(Option::take) {
            let sum = &mut self.counts.retransmits;
            sum.iter_mut().zip(connection.retransmits()).for_each(|(sum, more)| *sum += more);
            self.deadlines.set(key.index(), Time::NEVER);
            self.free.push(key.index);
        }
    }

    fn find(&self, key: Key) -> Option<&Connection> {
        self.connections.get(key.index())?.as_deref().filter(|connection| connection.key == key)
    }

    fn connection(&mut self, key: Key) -> Option<&mut Connection> {
        find_mut(&mut self.connections, key)
    }

    fn note(&mut self, done: Result<(), PathError>) {
        if let Err(fault) = done {
            self.fault = Some(fault);
        }
    }
}

fn find_mut(connections: &mut [Option<Box<Connection>>], key: Key) -> Option<&mut Connection> {
    connections.get_mut(key.index())?.as_deref_mut().filter(|connection| connection.key == key)
}

/// Figures.
impl Engine {
    /// Measurements of the packets that come from `port`.
    pub fn measures(&self, port: Port) -> &PortMeasures {
        &self.meter.measures[port.index()]
    }

    /// Packets that came from `port` and were dropped on the path, by reason.
    pub fn drops_by_reason(&self, port: Port) -> ByReason<DropReason> {
        let mut sum = ByReason::default();
        let nodes = self.path.nodes().filter(|node| self.meter.nodes.role(*node).source == port);
        nodes.filter_map(|node| self.path.counters(node)).for_each(|node| sum.add_all(&node.dropped));
        sum
    }

    /// Packets that came from `port` and were marked on the path.
    pub fn marks(&self, port: Port) -> Count {
        let nodes = self.path.nodes().filter(|node| self.meter.nodes.role(*node).source == port);
        nodes.filter_map(|node| self.path.counters(node)).map(|node| node.marked_total()).sum()
    }

    /// Bytes sent and bytes offered by the link of packets from `port`, up to `now`.
    pub fn link_usage(&self, port: Port, now: Time) -> LinkUsage {
        self.path.link_usage(self.meter.nodes.link[port.index()], now).unwrap_or_default()
    }

    /// Counts of the proxy's own work; retransmissions of open connections included.
    pub fn counts(&self) -> EngineCounts {
        let mut counts = self.counts;
        for connection in self.connections.iter().flatten() {
            counts.retransmits.iter_mut().zip(connection.retransmits()).for_each(|(sum, more)| *sum += more);
        }
        counts
    }

    /// Number of open connections.
    pub fn open_connections(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    /// Bytes of one direction that were read from `port` and not yet written to the other side.
    pub fn held_bytes(&self, key: Key, port: Port) -> usize {
        self.find(key).map_or(0, |connection| connection.streams[port.index()].ring.len())
    }

    /// Packets on the path.
    pub fn packets_inside(&self) -> u64 {
        self.path.nodes().map(|node| self.path.inside(node).packets).sum()
    }

    /// Checks that every packet is delivered, dropped or on the path, and that the contents of the latter are held.
    ///
    /// # Errors
    /// A defect of this program.
    pub fn audit(&self) -> Result<(), EmulatorError> {
        if let Some(fault) = self.fault {
            return Err(EmulatorError::Call(fault));
        }
        self.path.audit().map_err(EmulatorError::Path)?;
        let (inside, in_use) = (self.packets_inside(), self.meter.store.len() as u64);
        let releases = self.meter.arrivals.len() as u64;
        match in_use == inside + releases {
            true => Ok(()),
            false => Err(EmulatorError::Slots { in_use, inside, releases, held: 0 }),
        }
    }
}
