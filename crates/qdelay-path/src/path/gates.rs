//! Gates: questions to their laws, and signals to them.

use super::Path;
use crate::gate::Gate;
use crate::{Count, Eligible, NodeId, Observer, Pacer, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Packet, Span, Time};

impl<Q: Qdisc> Path<Q> {
    /// Hears the signals that have arrived, then lets one packet through if the law says so.
    pub(super) fn run_gate<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        if self.rests(id, now) {
            return;
        }
        self.hear(id, now);
        self.hear_late(id);
        let gate = self.nodes[id.index()].role.gate_mut();
        let next = gate.next;
        if gate.pulled {
            gate.retry = Time::NEVER;
            let deadline = gate.deadline();
            self.set_due(id, deadline, now);
            return self.wake(next, id, now, observer);
        }
        match self.let_through(id, now, observer) {
            Some((packet, _)) => {
                // There may be more: comes back at this same time, after other nodes that are due.
                self.set_due(id, now, now);
                self.push(next, packet, now, observer);
            }
            None => {
                self.hold_back(id, now);
                self.set_to_deadline(id, now);
            }
        }
    }

    /// Takes a packet of the gate's inputs if its law lets it go now. Sets the gate's deadline.
    pub(super) fn pass<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let passed = self.let_through(id, now, observer);
        self.set_to_deadline(id, now);
        passed
    }

    /// The gate `id` has nothing to do before its next deadline.
    fn set_to_deadline(&mut self, id: NodeId, now: Time) {
        let deadline = self.nodes[id.index()].role.gate().deadline();
        self.set_due(id, deadline, now);
    }

    /// [`Path::pass`] that sets no deadline.
    fn let_through<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let gate = self.nodes[id.index()].role.gate_mut();
        gate.retry = Time::NEVER;
        let held = gate.held.take().filter(|_| gate.is_blocked);
        gate.is_blocked = false;
        let passed = if gate.inputs.deficits.is_some() {
            self.pass_by_deficit(id, now, observer)
        } else {
            self.pass_in_turn(id, now, observer)
        };
        let node = &mut self.nodes[id.index()];
        let gate = node.role.gate_mut();
        if let Some((packet, _, index)) = &passed {
            node.counters.received.add(packet);
            node.counters.forwarded.add(packet);
            // A gate holds nothing: what it may not let through stays in its queue.
            debug_assert_eq!(node.counters.received, node.counters.forwarded);
            gate.law.forwarded(now, gate.unit.counted_bytes(u64::from(packet.bytes)));
            if let Some(clock) = &mut gate.clock {
                clock.forwarded(now);
            }
            if let Some(refused) = &mut gate.refused {
                refused.forwarded(*index);
            }
        }
        if gate.bearer.is_some() && (gate.held.is_none() || gate.held != held) {
            self.hear_at_once(id, now);
        }
        let (packet, input, _) = passed?;
        if !self.nodes[id.index()].listeners.is_empty() {
            self.tell_gone(id, now, Count::one(&packet));
        }
        Some((packet, input))
    }

    /// In round robin and strict priority: the packet, its input and the place of that.
    fn pass_in_turn<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId, usize)> {
        let gate = self.nodes[id.index()].role.gate();
        let (count, mut index) = (gate.inputs.nodes.len(), gate.inputs.first());
        for _ in 0..count {
            let gate = self.nodes[id.index()].role.gate();
            let (input, after) = (gate.inputs.nodes[index], gate.inputs.after(index));
            if let Some(bytes) = self.head_bytes(input) {
                if !self.ask(id, index, bytes, now) {
                    self.hold(id, index, input, bytes);
                    return None;
                }
                if let Some(packet) = self.dequeue(input, now, observer) {
                    self.nodes[id.index()].role.gate_mut().inputs.turn = after;
                    return Some((packet, input, index));
                }
            }
            index = after;
        }
        None
    }

    /// [`Path::pass_in_turn`] for deficit round robin.
    fn pass_by_deficit<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId, usize)> {
        let gate = self.nodes[id.index()].role.gate();
        // Where a discipline has only packets to drop, another input may have one.
        for _ in 0..=gate.inputs.nodes.len() {
            let gate = self.nodes[id.index()].role.gate_mut();
            let unit = gate.unit;
            let mut deficits = gate.inputs.deficits.take().expect("deficit round robin");
            let chosen =
                deficits.choose(|input| self.head_bytes(input).map(|bytes| unit.counted_bytes(bytes)));
            let place = chosen.map(|(index, _)| (index, deficits.nodes[index]));
            self.nodes[id.index()].role.gate_mut().inputs.deficits = Some(deficits);
            let (index, input) = place?;
            let bytes = self.head_bytes(input)?;
            if !self.ask(id, index, bytes, now) {
                return None;
            }
            if let Some(packet) = self.dequeue(input, now, observer) {
                let gate = self.nodes[id.index()].role.gate_mut();
                if let Some(deficits) = &mut gate.inputs.deficits {
                    deficits.taken(index, unit.counted_bytes(u64::from(packet.bytes)));
                }
                return Some((packet, input, index));
            }
        }
        None
    }

    /// Whether the gate `id` lets the head of its input `index`, of `bytes`, go now; otherwise stores the time to ask again, and
    /// signals the refusal to listeners.
    #[inline]
    fn ask(&mut self, id: NodeId, index: usize, bytes: u64, now: Time) -> bool {
        let gate = self.nodes[id.index()].role.gate_mut();
        gate.retry = Time::NEVER;
        let opening = gate.opening(now);
        if opening > now {
            (gate.retry, gate.is_blocked) = (opening, true);
            return false;
        }
        match gate.law.next_eligible(now, gate.unit.counted_bytes(bytes)) {
            Eligible::Now => return true,
            // A law that answers with a time that has come would keep everything from going on.
            Eligible::At(time) => gate.retry = gate.opening(time.max(now + Span::from_nanos(1))),
            Eligible::OnSignal => {}
        }
        gate.is_blocked = true;
        if gate.refused.is_some() {
            self.refuse(id, index, now);
        }
        false
    }

    /// The law of the gate `id` refuses the head of its input `index`: says so, if it is the first time.
    fn refuse(&mut self, id: NodeId, index: usize, now: Time) {
        let gate = self.nodes[id.index()].role.gate();
        let head = self.nodes[gate.inputs.nodes[index].index()].role.queue().head().copied();
        let gate = self.nodes[id.index()].role.gate_mut();
        if let (Some(refused), Some(head)) = (&mut gate.refused, head)
            && refused.is_news(index, &head)
        {
            self.tell(id, now, Signal::Refused);
        }
    }

    #[inline]
    pub(super) fn head_bytes(&self, queue: NodeId) -> Option<u64> {
        self.nodes[queue.index()].role.queue().head().map(|packet| u64::from(packet.bytes))
    }

    /// `gone` has left the node `from`: signals it to listeners.
    #[inline(never)]
    pub(super) fn tell_gone(&mut self, from: NodeId, now: Time, gone: Count) {
        self.tell_count(from, now, gone, |bytes| Signal::Dequeued { bytes });
    }

    /// `left` remains in the queue `from`: signals it to listeners.
    pub(super) fn tell_left(&mut self, from: NodeId, now: Time, left: Count) {
        self.tell_count(from, now, left, |bytes| Signal::Remaining { bytes });
    }

    /// Tells each listener of `count` in its own unit.
    fn tell_count(&mut self, from: NodeId, now: Time, count: Count, signal: fn(u64) -> Signal) {
        for index in 0..self.nodes[from.index()].listeners.len() {
            let unit = self.nodes[from.index()].listeners[index].unit;
            self.tell_one(from, index, now, signal(unit.counted_bytes_of(count.packets, count.bytes)));
        }
    }

    /// Sends `signal` from the node `from` to its listeners.
    #[inline(never)]
    pub(super) fn tell(&mut self, from: NodeId, now: Time, signal: Signal) {
        for index in 0..self.nodes[from.index()].listeners.len() {
            self.tell_one(from, index, now, signal);
        }
    }

    /// Sends `signal` to the listener `index` of the node `from`, if it listens for this kind.
    #[inline]
    fn tell_one(&mut self, from: NodeId, index: usize, now: Time, signal: Signal) {
        let listener = self.nodes[from.index()].listeners[index];
        if !listener.kinds.includes(signal) {
            return;
        }
        if !listener.delay.is_zero() {
            let arrival = now + listener.delay;
            let gate = self.nodes[listener.gate.index()].role.gate_mut();
            gate.post(arrival, signal);
            if arrival < gate.due {
                self.set_due(listener.gate, arrival, now);
            }
            return;
        }
        self.signal(listener.gate, now, signal);
    }

    /// The gate `id` receives `signal` now.
    #[inline]
    pub(super) fn signal(&mut self, id: NodeId, now: Time, signal: Signal) {
        let gate = self.nodes[id.index()].role.gate_mut();
        if gate.inbox.front().is_none_or(|entry| entry.0 > now) {
            gate.law.on_signal(now, signal);
        } else {
            gate.post(now, signal);
            self.hear(id, now);
        }
        // One that holds nothing back has nothing to ask.
        if self.nodes[id.index()].role.gate().is_blocked {
            self.reconsider(id, now);
        }
    }

    /// The gate `id`, which holds a packet back, has heard something: lets it run at once if it would let the packet go now.
    /// Most of the time it would not, and this is cheaper than running it.
    pub(super) fn reconsider(&mut self, id: NodeId, now: Time) {
        let gate = self.nodes[id.index()].role.gate();
        let mut due = now;
        if gate.due > now
            && let Some((index, bytes)) = gate.held.or_else(|| self.head_of_inputs(gate))
            && !self.ask(id, index, bytes, now)
        {
            due = self.nodes[id.index()].role.gate().deadline();
        }
        self.set_due(id, due, now);
    }

    /// The input of `gate` whose head is next, and its bytes; not known in deficit round robin.
    fn head_of_inputs(&self, gate: &Gate) -> Option<(usize, u64)> {
        if gate.inputs.deficits.is_some() {
            return None;
        }
        let mut index = gate.inputs.first();
        for _ in 0..gate.inputs.nodes.len() {
            if let Some(bytes) = self.head_bytes(gate.inputs.nodes[index]) {
                return Some((index, bytes));
            }
            index = gate.inputs.after(index);
        }
        None
    }

    /// The law of the gate `id` has refused the head of `input`, its input `index`, of `bytes`: keeps in mind which it is.
    #[inline]
    fn hold(&mut self, id: NodeId, index: usize, input: NodeId, bytes: u64) {
        if !self.nodes[input.index()].role.queue().has_timer {
            self.nodes[id.index()].role.gate_mut().held = Some((index, bytes));
        }
    }

    /// The gate `id` is to run at `now`, because a packet has come.
    #[inline]
    pub(super) fn run_soon(&mut self, id: NodeId, now: Time) {
        self.nodes[id.index()].role.gate_mut().retry = Time::NEVER;
        self.set_due(id, now, now);
    }

    /// The gate `id` is to run at `due`.
    #[inline]
    pub(super) fn set_due(&mut self, id: NodeId, due: Time, now: Time) {
        let gate = self.nodes[id.index()].role.gate_mut();
        gate.due = due;
        if due < gate.alarm || gate.alarm <= now && due != gate.alarm {
            gate.alarm = due;
            self.deadlines.set(id.index(), due);
        }
    }

    /// Gives the law of the gate `id` the signals that have arrived.
    pub(super) fn hear(&mut self, id: NodeId, now: Time) {
        let gate = self.nodes[id.index()].role.gate_mut();
        while let Some(&(arrival, signal)) = gate.inbox.front()
            && arrival <= now
        {
            gate.inbox.pop_front();
            gate.law.on_signal(now, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Line, NodeSpec, PathBuilder};
    use alloc::vec::Vec;
    use qdelay_core::Rate;
    use qdelay_core::pacer::{AnyPacer, Credit, PacerSetting};
    use qdelay_core::qdisc::AnyQdisc;

    /// A signal after which the packet still may not go does not run the gate: the head is asked for at once, of whichever input
    /// it is. It is not kept in mind here, because a discipline with a timer may change it.
    #[test]
    fn a_signal_that_changes_nothing_does_not_run_a_gate() {
        let timed = || NodeSpec::Queue(AnyQdisc::parse("pie").unwrap());
        let mut path = PathBuilder::new()
            .node("empty", timed())
            .node("full", timed())
            .node("pacer", NodeSpec::gate(Credit::new(1000)))
            .node("rlc", NodeSpec::Queue(AnyQdisc::parse("taildrop").unwrap()))
            .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000), 0)))
            .node("out", NodeSpec::Exit)
            .chain(&["empty", "pacer", "rlc", "line", "out"])
            .chain(&["full", "pacer"])
            .feedback("rlc", "pacer", Span::ZERO)
            .build(1)
            .unwrap();
        let [full, pacer] = ["full", "pacer"].map(|name| path.node(name).unwrap());
        for handle in 0..3 {
            let packet = Packet { handle, bytes: 1000, ..Packet::default() };
            path.ingress(Time::ZERO, full, packet, &mut ()).unwrap();
        }
        // One on the line, one in the RLC, and one that is held.
        let now = Time::from_nanos(1_000_000);
        path.poll(now, &mut ()).unwrap();
        let state = |path: &Path<AnyQdisc>| {
            let gate = path.nodes[pacer.index()].role.gate();
            (gate.is_blocked, gate.held, gate.due)
        };
        assert_eq!(state(&path), (true, None, Time::NEVER));
        // A byte too few, by far.
        path.signal(pacer, now, Signal::Dequeued { bytes: 1 });
        assert_eq!(state(&path), (true, None, Time::NEVER));
        path.signal(pacer, now, Signal::Dequeued { bytes: 999 });
        assert_eq!(state(&path).2, now);
    }

    /// The signals of a gate that lets packets through one by one, on their way to one that listens for all it tells.
    #[test]
    fn a_gate_tells_what_went_and_once_what_was_held() {
        let queue = || NodeSpec::Queue(AnyQdisc::parse("taildrop").unwrap());
        let usp = AnyPacer::parse("usp", &PacerSetting::default()).unwrap();
        let mut path = PathBuilder::new()
            .node("upf", queue())
            .node("usp", NodeSpec::Gate(usp))
            .node("sdap", queue())
            .node("pacer", NodeSpec::gate(Credit::new(1000)))
            .node("rlc", queue())
            .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
            .node("out", NodeSpec::Exit)
            .chain(&["upf", "usp", "sdap", "pacer", "rlc", "line", "out"])
            .feedback("rlc", "pacer", Span::ZERO)
            .feedback("pacer", "usp", Span::from_secs(1))
            .build(1)
            .unwrap();
        let [upf, gate] = ["upf", "usp"].map(|name| path.node(name).unwrap());
        for handle in 0..4 {
            let packet = Packet { handle, bytes: 1000, ..Packet::default() };
            path.ingress(Time::ZERO, upf, packet, &mut ()).unwrap();
        }
        path.poll(Time::from_nanos(900_000_000), &mut ()).unwrap();
        let gate = path.nodes[gate.index()].role.gate();
        let heard: Vec<(u64, Signal)> =
            gate.inbox.iter().map(|(time, signal)| (time.as_nanos() / 1_000_000 - 1000, *signal)).collect();
        let gone = Signal::Dequeued { bytes: 1000 };
        let held = Signal::Refused;
        // The third is asked for again when the fourth comes, which is no news.
        assert_eq!(heard, [(0, gone), (0, gone), (0, held), (1, gone), (1, held), (2, gone)]);
    }
}
