//! Gates: asking their laws, and the signals they hear.

use super::Path;
use crate::gate::{Eligible, GateLaw};
use crate::node::Role;
use crate::{NodeId, Observer, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Packet, Span, Time};

impl<Q: Qdisc> Path<Q> {
    /// Hears the signals that have arrived, then lets one packet through if the law says so.
    pub(super) fn run_gate<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        self.hear(id, now);
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return };
        let next = gate.next;
        if gate.pulled {
            gate.retry = Time::NEVER;
            let deadline = gate.deadline();
            self.deadlines.set(id.index(), deadline);
            return self.wake(next, now, observer);
        }
        let passed = self.pass(id, now, observer);
        if let Some((packet, _)) = passed {
            // There may be more: comes back at this same time, after other nodes that are due.
            self.deadlines.set(id.index(), now);
            self.push(next, packet, now, observer);
        }
    }

    /// Takes a packet of the gate's inputs if its law lets it go now. Sets the gate's deadline.
    pub(super) fn pass<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
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
            self.deadlines.set(id.index(), deadline);
        }
        passed
    }

    /// Whether the law of the gate `id` lets a packet of `size` go now; otherwise notes when to ask again.
    #[inline]
    pub(super) fn ask(&mut self, id: NodeId, now: Time, size: u64) -> bool {
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
    pub(super) fn head_bytes(&self, queue: NodeId) -> Option<u64> {
        match &self.nodes[queue.index()].role {
            Role::Queue(queue) => queue.head().map(|packet| u64::from(packet.bytes)),
            _ => None,
        }
    }

    /// Sends `signal` from the node `from` to whoever listens.
    #[inline(never)]
    pub(super) fn tell(&mut self, from: NodeId, now: Time, signal: Signal) {
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
                self.deadlines.set(listener.gate.index(), now);
            } else if arrival < self.deadlines.get(listener.gate.index()) {
                self.deadlines.set(listener.gate.index(), arrival);
            }
        }
    }

    /// Gives the law of the gate `id` the signals that have arrived.
    pub(super) fn hear(&mut self, id: NodeId, now: Time) {
        let Role::Gate(gate) = &mut self.nodes[id.index()].role else { return };
        while let Some(&(arrival, signal)) = gate.inbox.front()
            && arrival <= now
        {
            gate.inbox.pop_front();
            gate.law.on_signal(now, signal);
        }
    }
}
