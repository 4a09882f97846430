//! The path: runs its nodes in order of time.

use crate::deadlines::Deadlines;
use crate::delay::Entry;
use crate::gate::{AnyGate, Eligible, GateLaw};
use crate::link::AnyLink;
use crate::node::{Node, Role, Sending};
use crate::{AuditError, Count, Counters, LinkUsage, NodeId, Observer, Signal};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Context, DropReason, MarkReason, Packet, Sink, Span, Time};
use qdelay_trace::OPPORTUNITY_BYTES;

/// A graph of named nodes that packets flow through, made by a [`PathBuilder`](crate::PathBuilder).
///
/// It does nothing by itself. The host hands it packets and the time:
///
/// * [`Path::ingress`] puts a packet into a node;
/// * [`Path::next_deadline`] says when the path has something to do next (perhaps early, never late);
/// * [`Path::poll`] does everything that is due, each thing at its own time. Calling it at any other time does nothing.
///
/// What comes of it is told to the [`Observer`]. Events of the same time run in a fixed order: trace links first, those
/// further downstream before others; then nodes in the order they were declared; at one node in the order they came.
/// All events that are due run before an arrival of the same time. So results do not depend on how often the host polls.
#[derive(Clone, Debug)]
pub struct Path<Q = AnyQdisc> {
    nodes: Vec<Node<Q>>,
    names: Vec<String>,
    deadlines: Deadlines,
    /// Of each node, whether an arrival must wake it: links with nothing to send, and gates always.
    idle: Vec<bool>,
    now: Time,
}

/// Why a call was refused; the path is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// Time went backwards.
    TimeReversed {
        /// The time of the call before.
        now: Time,
        /// The time of this call.
        told: Time,
    },
    /// A packet was put into a node that takes none from outside: a gate or a link takes its packets from queues.
    NotAnEntry {
        /// The node, which may be of another path.
        node: NodeId,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::TimeReversed { now, told } => {
                write!(
                    f,
                    "time went backwards: expected {} ns or later, got {} ns",
                    now.as_nanos(),
                    told.as_nanos()
                )
            }
            PathError::NotAnEntry { node } => {
                write!(
                    f,
                    "node {} takes no packets from outside: expected a classifier, queue, delay or exit",
                    node.0
                )
            }
        }
    }
}
impl core::error::Error for PathError {}

/// Counts what a discipline drops and marks, and tells the observer.
struct Tally<'a, O> {
    now: Time,
    node: NodeId,
    counters: &'a mut Counters,
    observer: &'a mut O,
    /// Bytes dropped during this call.
    gone_bytes: u64,
}

impl<O: Observer> Sink for Tally<'_, O> {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.counters.count_drop(packet, reason);
        self.gone_bytes += u64::from(packet.bytes);
        self.observer.dropped(self.now, self.node, packet, reason);
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        self.counters.count_mark(packet, reason);
        self.observer.marked(self.now, self.node, packet, reason);
    }
}

// ---- What the host calls.

impl<Q: Qdisc> Path<Q> {
    pub(crate) fn new(nodes: Vec<Node<Q>>, names: Vec<String>, order: &[u16]) -> Path<Q> {
        let mut deadlines = Deadlines::new(order);
        for (index, node) in nodes.iter().enumerate() {
            if let Role::Queue(queue) = &node.role {
                deadlines.set(NodeId(index as u16), queue.deadline);
            }
        }
        let idle = vec![true; nodes.len()];
        Path { nodes, names, deadlines, idle, now: Time::ZERO }
    }

    /// Puts `packet` into `node` at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node takes no packets from outside.
    #[inline]
    pub fn ingress<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        packet: Packet,
        observer: &mut O,
    ) -> Result<(), PathError> {
        match self.nodes.get(node.index()).map(|entry| &entry.role) {
            None | Some(Role::Gate(_) | Role::Link(_)) => return Err(PathError::NotAnEntry { node }),
            Some(_) => self.poll(now, observer)?,
        }
        self.nodes[node.index()].counters.ingress.add(&packet);
        self.push(node, packet, now, observer);
        self.run(now, observer);
        Ok(())
    }

    /// Does everything that is due by `now`. Without anything due, only the time is taken note of.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call.
    #[inline]
    pub fn poll<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<(), PathError> {
        if now < self.now {
            return Err(PathError::TimeReversed { now: self.now, told: now });
        }
        self.now = now;
        self.run(now, observer);
        Ok(())
    }

    /// When [`Path::poll`] should be called next: never late, perhaps early; [`Time::NEVER`] while nothing will happen.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.deadlines.next()
    }

    /// The time of the latest call.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.names.iter().position(|known| known == name).map(|index| NodeId(index as u16))
    }
    /// The name of a node; empty for a node of another path.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(node.index()).map_or("", String::as_str)
    }
    /// All nodes in the order they were declared.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<Q> {
        (0..self.nodes.len()).map(|index| NodeId(index as u16))
    }
    /// What has happened at a node; `None` for a node of another path.
    pub fn counters(&self, node: NodeId) -> Option<&Counters> {
        self.nodes.get(node.index()).map(|node| &node.counters)
    }
    /// What a node holds now: a queue's backlog, the packet a link is sending, what a delay holds back.
    pub fn inside(&self, node: NodeId) -> Count {
        self.nodes.get(node.index()).map_or(Count::default(), Node::inside)
    }
    /// The discipline of a queue; `None` for another node.
    pub fn qdisc(&self, node: NodeId) -> Option<&Q> {
        match self.nodes.get(node.index()).map(|node| &node.role) {
            Some(Role::Queue(queue)) => Some(&queue.qdisc),
            _ => None,
        }
    }
    /// The law of a gate; `None` for another node.
    pub fn gate(&self, node: NodeId) -> Option<&AnyGate> {
        match self.nodes.get(node.index()).map(|node| &node.role) {
            Some(Role::Gate(gate)) => Some(&gate.law),
            _ => None,
        }
    }
    /// What a link has sent, and what it could have sent up to `now`; `None` for another node.
    pub fn link_usage(&self, node: NodeId, now: Time) -> Option<LinkUsage> {
        let node = self.nodes.get(node.index())?;
        let Role::Link(link) = &node.role else { return None };
        let Count { packets, bytes } = node.counters.forwarded;
        let whole = bytes + packets * u64::from(link.model.overhead_bytes());
        let sent_bytes = whole + link.sending.map_or(0, |sending| sending.sent_bytes);
        Some(LinkUsage { sent_bytes, offered_bytes: link.model.offered_bytes(now) })
    }

    /// Checks that no packet and no byte was lost or made up.
    ///
    /// # Errors
    /// The first node, or the whole, where the counts do not add up.
    pub fn audit(&self) -> Result<(), AuditError> {
        let [mut received, mut ingress, mut handed, mut delivered, mut all_dropped, mut all_inside] =
            [Count::default(); 6];
        for (node, name) in self.nodes().zip(&self.names) {
            let (Counters { received: came, forwarded, ingress: entered, .. }, dropped, inside) = {
                let node = &self.nodes[node.index()];
                (&node.counters, node.counters.dropped_total(), node.inside())
            };
            if *came != *forwarded + dropped + inside {
                let (name, received, forwarded) = (name.clone(), *came, *forwarded);
                return Err(AuditError::Node { node, name, received, forwarded, dropped, inside });
            }
            received = received + *came;
            ingress = ingress + *entered;
            all_dropped = all_dropped + dropped;
            all_inside = all_inside + inside;
            match self.nodes[node.index()].role {
                Role::Exit => delivered = delivered + *forwarded,
                _ => handed = handed + *forwarded,
            }
        }
        if handed + ingress != received {
            let received = Count {
                packets: received.packets.saturating_sub(ingress.packets),
                bytes: received.bytes.saturating_sub(ingress.bytes),
            };
            return Err(AuditError::Handover { forwarded: handed, received });
        }
        if ingress != delivered + all_dropped + all_inside {
            return Err(AuditError::Path { ingress, delivered, dropped: all_dropped, inside: all_inside });
        }
        Ok(())
    }
}

// ---- Running events.

impl<Q: Qdisc> Path<Q> {
    /// Runs what is due by `now`, each event at its own time.
    #[inline]
    fn run<O: Observer>(&mut self, now: Time, observer: &mut O) {
        if self.is_due(now) {
            self.run_due(now, observer);
        }
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        let due = self.deadlines.next();
        due <= now && due < Time::NEVER
    }

    #[inline(never)]
    fn run_due<O: Observer>(&mut self, now: Time, observer: &mut O) {
        while self.is_due(now) {
            self.fire(self.deadlines.first(), self.deadlines.next(), observer);
        }
    }

    /// Runs the event of `id` that is due at `now`, and sets its next deadline.
    #[inline]
    fn fire<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        match &mut self.nodes[id.index()].role {
            Role::Delay(delay) => {
                let next = delay.next;
                let (packet, deadline) = delay.leave();
                self.deadlines.set(id, deadline);
                if let Some(packet) = packet {
                    self.forwarded(id, &packet, now);
                    self.push(next, packet, now, observer);
                }
            }
            Role::Link(link) => match link.model {
                AnyLink::Line(_) | AnyLink::Rate(_) => self.finish_sending(id, now, observer),
                AnyLink::Shaper(_) => self.release(id, now, observer),
                AnyLink::Trace(_) => self.opportunity(id, now, observer),
            },
            Role::Gate(_) => self.run_gate(id, now, observer),
            Role::Queue(_) => self.run_timer(id, now, observer),
            Role::Classifier(_) | Role::Exit => self.deadlines.set(id, Time::NEVER),
        }
    }

    /// Counts that `id` sends `packet` on, and tells who listens.
    #[inline]
    fn forwarded(&mut self, id: NodeId, packet: &Packet, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.counters.forwarded.add(packet);
        if !node.listeners.is_empty() {
            self.tell(id, now, Signal::Dequeued { bytes: u64::from(packet.bytes) });
        }
    }

    /// Puts `packet` into the node `to` and on through those that keep it no time, up to one that does.
    #[inline]
    fn push<O: Observer>(&mut self, mut to: NodeId, mut packet: Packet, now: Time, observer: &mut O) {
        loop {
            let node = &mut self.nodes[to.index()];
            node.counters.received.add(&packet);
            let next = match &mut node.role {
                Role::Queue(_) => return self.enqueue(to, packet, now, observer),
                Role::Delay(delay) => match delay.enter(now, &packet) {
                    Entry::Behind => return,
                    Entry::First(leave) => return self.deadlines.set(to, leave),
                    Entry::Lost => return self.discard(to, &packet, now, DropReason::Loss, observer),
                    Entry::Through => delay.next,
                },
                Role::Exit => {
                    observer.delivered(now, to, &packet);
                    return self.forwarded(to, &packet, now);
                }
                Role::Classifier(classifier) => match classifier.route(&packet) {
                    Some(route) => {
                        packet.class = route.class.unwrap_or(packet.class);
                        route.to
                    }
                    None => return self.discard(to, &packet, now, DropReason::Unroutable, observer),
                },
                // The builder connects nothing that pushes to these.
                Role::Gate(_) | Role::Link(_) => {
                    return self.discard(to, &packet, now, DropReason::Unroutable, observer);
                }
            };
            self.forwarded(to, &packet, now);
            to = next;
        }
    }

    /// A node that is not a queue drops `packet`.
    #[cold]
    fn discard<O: Observer>(
        &mut self,
        at: NodeId,
        packet: &Packet,
        now: Time,
        reason: DropReason,
        observer: &mut O,
    ) {
        self.nodes[at.index()].counters.count_drop(packet, reason);
        observer.dropped(now, at, packet, reason);
        self.tell(at, now, Signal::Dequeued { bytes: u64::from(packet.bytes) });
    }
}

// ---- Queues and who takes from them.

impl<Q: Qdisc> Path<Q> {
    #[inline]
    fn enqueue<O: Observer>(&mut self, at: NodeId, mut packet: Packet, now: Time, observer: &mut O) {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return };
        packet.arrival = now;
        observer.enqueued(now, at, &packet);
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        queue.qdisc.enqueue(&mut Context { now, random: &mut queue.random, sink: &mut sink }, packet);
        let (puller, gone_bytes) = (queue.puller, sink.gone_bytes);
        let deadline = queue.qdisc.next_deadline();
        if deadline != queue.deadline {
            queue.deadline = deadline;
            self.deadlines.set(at, deadline.max(now));
        }
        if gone_bytes > 0 && !node.listeners.is_empty() {
            self.tell(at, now, Signal::Dequeued { bytes: gone_bytes });
        }
        if self.idle[puller.index()] {
            self.wake(puller, now, observer);
        }
    }

    /// Takes a packet out of the queue `at`.
    #[inline]
    fn dequeue<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) -> Option<Packet> {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return None };
        queue.qdisc.head()?;
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        let packet = queue.qdisc.dequeue(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        let gone_bytes = sink.gone_bytes;
        let deadline = queue.qdisc.next_deadline();
        if deadline != queue.deadline {
            queue.deadline = deadline;
            self.deadlines.set(at, deadline.max(now));
        }
        if let Some(packet) = &packet {
            node.counters.forwarded.add(packet);
            observer.dequeued(now, at, packet);
        }
        if !node.listeners.is_empty() {
            let remaining = queue.qdisc.backlog().bytes;
            let bytes = gone_bytes + packet.map_or(0, |packet| u64::from(packet.bytes));
            self.tell(at, now, Signal::Dequeued { bytes });
            self.tell(at, now, Signal::Remaining { bytes: remaining });
        }
        packet
    }

    #[cold]
    fn run_timer<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return };
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        queue.qdisc.poll(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        let gone_bytes = sink.gone_bytes;
        queue.deadline = queue.qdisc.next_deadline();
        // A discipline that asks for the time it was just called at would keep everything from going on.
        self.deadlines.set(at, queue.deadline.max(now + Span::from_nanos(1)));
        if gone_bytes > 0 {
            self.tell(at, now, Signal::Dequeued { bytes: gone_bytes });
        }
    }

    /// The node `id`, a gate or link, has something to take. A busy link looks by itself when it is done.
    fn wake<O: Observer>(&mut self, mut id: NodeId, now: Time, observer: &mut O) {
        if let Role::Gate(gate) = &self.nodes[id.index()].role {
            if !gate.pulled {
                return self.deadlines.set(id, now);
            }
            id = gate.next;
        }
        if !self.idle[id.index()] {
            return;
        }
        let Role::Link(link) = &mut self.nodes[id.index()].role else { return };
        let deadline = match &mut link.model {
            AnyLink::Line(_) | AnyLink::Rate(_) => return self.begin_sending(id, now, observer),
            AnyLink::Shaper(shaper) => shaper.eligible().max(now),
            AnyLink::Trace(trace) => trace.skip(now),
        };
        self.idle[id.index()] = false;
        self.deadlines.set(id, deadline);
    }

    /// The link `id` takes a packet from its inputs; also says from which queue it came.
    #[inline]
    fn pull<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) -> Option<(Packet, NodeId)> {
        let Role::Link(link) = &self.nodes[id.index()].role else { return None };
        match link.only {
            Some(queue) => self.dequeue(queue, now, observer).map(|packet| (packet, queue)),
            None => self.pull_in_turn(id, now, observer),
        }
    }

    /// As [`Path::pull`], with several inputs or through a gate.
    fn pull_in_turn<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let Role::Link(link) = &self.nodes[id.index()].role else { return None };
        let (count, mut index) = (link.inputs.nodes.len(), link.inputs.first());
        for _ in 0..count {
            let Role::Link(link) = &mut self.nodes[id.index()].role else { return None };
            let (input, after) = (link.inputs.nodes[index], link.inputs.after(index));
            let taken = match self.nodes[input.index()].role {
                Role::Gate(_) => self.pass(input, now, observer),
                _ => self.dequeue(input, now, observer).map(|packet| (packet, input)),
            };
            if taken.is_some() {
                let Role::Link(link) = &mut self.nodes[id.index()].role else { return None };
                link.inputs.turn = after;
                return taken;
            }
            index = after;
        }
        None
    }
}

// ---- Links.

impl<Q: Qdisc> Path<Q> {
    /// A link that stores and forwards takes its next packet, or becomes idle.
    #[inline]
    fn begin_sending<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let taken = self.pull(id, now, observer);
        self.idle[id.index()] = taken.is_none();
        let Some((packet, queue)) = taken else { return self.deadlines.set(id, Time::NEVER) };
        let node = &mut self.nodes[id.index()];
        node.counters.received.add(&packet);
        let Role::Link(link) = &mut node.role else { return };
        link.sending = Some(Sending { packet, queue, sent_bytes: 0 });
        let deadline = match &mut link.model {
            AnyLink::Line(line) => line.begin(now, packet.bytes),
            AnyLink::Rate(line) => line.begin(now, packet.bytes),
            AnyLink::Shaper(_) | AnyLink::Trace(_) => Time::NEVER,
        };
        self.deadlines.set(id, deadline);
    }

    /// The last bit is sent.
    #[inline]
    fn finish_sending<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let Role::Link(link) = &mut self.nodes[id.index()].role else { return };
        if let Some(sending) = link.sending.take() {
            let next = link.next;
            observer.departed(now, id, sending.queue, &sending.packet);
            self.forwarded(id, &sending.packet, now);
            self.push(next, sending.packet, now, observer);
        }
        self.begin_sending(id, now, observer);
    }

    /// A shaper may send: one packet at the start of its slot.
    #[inline]
    fn release<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let Some((packet, queue)) = self.pull(id, now, observer) else {
            self.idle[id.index()] = true;
            return self.deadlines.set(id, Time::NEVER);
        };
        let node = &mut self.nodes[id.index()];
        node.counters.received.add(&packet);
        let Role::Link(link) = &mut node.role else { return };
        let AnyLink::Shaper(shaper) = &mut link.model else { return };
        shaper.charge(now, packet.bytes);
        let (deadline, next) = (shaper.eligible().max(now), link.next);
        self.deadlines.set(id, deadline);
        observer.departed(now, id, queue, &packet);
        self.forwarded(id, &packet, now);
        self.push(next, packet, now, observer);
    }

    /// A trace link may send up to 1504 bytes.
    fn opportunity<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let mut budget = OPPORTUNITY_BYTES;
        while budget > 0 {
            let Role::Link(link) = &mut self.nodes[id.index()].role else { return };
            let overhead = u64::from(link.model.overhead_bytes());
            let next = link.next;
            let mut sending = match link.sending.take() {
                Some(sending) => sending,
                None => {
                    let Some((packet, queue)) = self.pull(id, now, observer) else { break };
                    self.nodes[id.index()].counters.received.add(&packet);
                    Sending { packet, queue, sent_bytes: 0 }
                }
            };
            let left = u64::from(sending.packet.bytes) + overhead - sending.sent_bytes;
            if left > budget {
                sending.sent_bytes += budget;
                budget = 0;
                let Role::Link(link) = &mut self.nodes[id.index()].role else { return };
                link.sending = Some(sending);
            } else {
                budget -= left;
                observer.departed(now, id, sending.queue, &sending.packet);
                self.forwarded(id, &sending.packet, now);
                self.push(next, sending.packet, now, observer);
            }
        }
        let node = &mut self.nodes[id.index()];
        let Role::Link(link) = &mut node.role else { return };
        let AnyLink::Trace(trace) = &mut link.model else { return };
        trace.burn();
        // Where bytes were left over there was nothing to take, and nothing to do until something comes.
        let idle = budget > 0;
        self.idle[id.index()] = idle;
        self.deadlines.set(id, if idle { Time::NEVER } else { trace.next() });
        if !node.listeners.is_empty() {
            self.tell(id, now, Signal::Capacity { bytes: OPPORTUNITY_BYTES });
        }
    }
}

// ---- Gates and signals.

impl<Q: Qdisc> Path<Q> {
    /// Hears the signals that have arrived, then lets one packet through if the law says so.
    fn run_gate<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        self.hear(id, now);
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return };
        let next = gate.next;
        if gate.pulled {
            gate.retry = Time::NEVER;
            let deadline = gate.deadline();
            self.deadlines.set(id, deadline);
            return self.wake(next, now, observer);
        }
        let passed = self.pass(id, now, observer);
        if let Some((packet, _)) = passed {
            // There may be more: comes back at this same time, after other nodes that are due.
            self.deadlines.set(id, now);
            self.push(next, packet, now, observer);
        }
    }

    /// Takes a packet of the gate's inputs if its law lets it go now. Sets the gate's deadline.
    fn pass<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) -> Option<(Packet, NodeId)> {
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return None };
        gate.retry = Time::NEVER;
        let (count, mut index) = (gate.inputs.nodes.len(), gate.inputs.first());
        let mut passed = None;
        for _ in 0..count {
            let Role::Gate(gate) = &self.nodes[id.index()].role else { return None };
            let (input, after) = (gate.inputs.nodes[index], gate.inputs.after(index));
            if let Some(size) = self.head_bytes(input) {
                let eligible = self.ask(id, now, size);
                if !eligible {
                    break;
                }
                if let Some(packet) = self.dequeue(input, now, observer) {
                    let node = &mut self.nodes[id.index()];
                    node.counters.received.add(&packet);
                    node.counters.forwarded.add(&packet);
                    let Role::Gate(gate) = &mut node.role else { return None };
                    gate.inputs.turn = after;
                    passed = Some((packet, input));
                    break;
                }
            }
            index = after;
        }
        if let Some((packet, _)) = &passed {
            let bytes = u64::from(packet.bytes);
            if let Role::Gate(gate) = &mut self.nodes[id.index()].role {
                gate.law.forwarded(now, bytes);
            }
            if !self.nodes[id.index()].listeners.is_empty() {
                self.tell(id, now, Signal::Dequeued { bytes });
            }
        }
        if let Role::Gate(gate) = &self.nodes[id.index()].role {
            let deadline = gate.deadline();
            self.deadlines.set(id, deadline);
        }
        passed
    }

    /// Whether the law of the gate `id` lets a packet of `size` go now; otherwise notes when to ask again.
    #[inline]
    fn ask(&mut self, id: NodeId, now: Time, size: u64) -> bool {
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return false };
        match gate.law.next_eligible(now, size) {
            Eligible::Now => return true,
            // A law that answers with a time that has come would keep everything from going on.
            Eligible::At(time) => gate.retry = time.max(now + Span::from_nanos(1)),
            Eligible::OnSignal => {}
        }
        false
    }

    #[inline]
    fn head_bytes(&self, queue: NodeId) -> Option<u64> {
        match &self.nodes[queue.index()].role {
            Role::Queue(queue) => queue.qdisc.head().map(|packet| u64::from(packet.bytes)),
            _ => None,
        }
    }

    /// Sends `signal` from the node `from` to whoever listens.
    fn tell(&mut self, from: NodeId, now: Time, signal: Signal) {
        for index in 0..self.nodes[from.index()].listeners.len() {
            let listener = self.nodes[from.index()].listeners[index];
            if !listener.kinds.includes(signal) {
                continue;
            }
            let arrival = now + listener.delay;
            let Role::Gate(gate) = &mut self.nodes[listener.gate.index()].role else { continue };
            gate.post(arrival, signal);
            if listener.delay.is_zero() {
                self.hear(listener.gate, now);
                self.deadlines.set(listener.gate, now);
            } else if arrival < self.deadlines.get(listener.gate) {
                self.deadlines.set(listener.gate, arrival);
            }
        }
    }

    /// Gives the law of the gate `id` the signals that have arrived.
    fn hear(&mut self, id: NodeId, now: Time) {
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return };
        while let Some(&(arrival, signal)) = gate.inbox.front()
            && arrival <= now
        {
            gate.inbox.pop_front();
            gate.law.on_signal(now, signal);
        }
    }
}
