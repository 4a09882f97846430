//! Replacement of a node's behaviour while packets are on the path.
//!
//! No packet is dropped because of a replacement, and none overtakes another that goes the same way:
//!
//! * queue: what arrives goes to the new discipline. The old one is served first, by its own rules (it may drop and mark, and
//!   its timers run), until it holds nothing; only then is it gone;
//! * link: the packet in transmission ends when it would have, and the new link starts then. A token bucket that is in debt
//!   is in transmission until it is not. What the old link would never end, because its rate stays zero or its trace
//!   is over, leaves at once. A schedule or profile begins at the time of the replacement;
//! * gate: the new law is asked for the packet at the head at once, and begins as a new one does: it knows nothing of what the
//!   old one has let through, but hears of it where it listens for that. Signals on their way reach it;
//! * delay: packets on their way keep their times. One that comes later waits for those before it, however short the new
//!   delay is.
//!
//! A node's random streams are derived anew, so that they begin again.
//!
//! A path that nothing is ever replaced in pays nothing for this: queues without timers and links look at no more than before.

use super::Path;
use crate::gate::Refused;
use crate::link::{AnyLink, LinkModel, Serial, Shaped, Slotted};
use crate::node::{Leaving, Link, Past, Queue, Retired, Retiring, Role};
use crate::{AnyPacer, Count, DelaySpec, ImpairmentSpec, NodeId, Observer, Pacer, PathError, Signal};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Packet, Random, Time};

impl<Q: Qdisc> Path<Q> {
    /// Gives the queue `node` another discipline at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node is no queue.
    pub fn replace_queue<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        qdisc: Q,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "queue", |role| matches!(role, Role::Queue(_)))?;
        self.poll(now, observer)?;
        let random = Random::derive(self.seed, self.name(node), "qdisc");
        self.reordered(|path| {
            path.nodes[node.index()].role.queue_mut().replace(qdisc, random);
        });
        let queue = self.nodes[node.index()].role.queue_mut();
        let puller = queue.puller;
        if queue.has_timer {
            queue.deadline = queue.next_deadline();
            self.deadlines.set(node.index(), queue.deadline.max(now));
        }
        // A refused head is kept only where nothing but an arrival changes it; the new discipline may change it otherwise.
        if let Role::Gate(_) = self.nodes[puller.index()].role {
            self.hear_at_once(puller, now);
            self.nodes[puller.index()].role.gate_mut().held = None;
        }
        self.run(now, observer);
        Ok(())
    }

    /// Changes the discipline of `node` in place, such as by [`Qdisc::adjust`](qdelay_core::qdisc::Qdisc::adjust), now.
    ///
    /// # Errors
    /// The node is no queue.
    pub fn change_queue<T>(
        &mut self,
        node: NodeId,
        change: impl FnOnce(&mut Q) -> T,
    ) -> Result<T, PathError> {
        self.require(node, "queue", |role| matches!(role, Role::Queue(_)))?;
        let now = self.now;
        let queue = self.nodes[node.index()].role.queue_mut();
        let changed = change(&mut queue.qdisc);
        if queue.has_timer {
            queue.deadline = queue.next_deadline();
            self.deadlines.set(node.index(), queue.deadline.max(now));
        }
        Ok(changed)
    }

    /// Whether a light load is in front of the queue of the link `node`.
    pub fn is_behind_light(&self, node: NodeId) -> bool {
        self.nodes.iter().any(|other| match &other.role {
            Role::Light(light) => self.nodes[light.next.index()].role.queue().puller == node,
            _ => false,
        })
    }

    /// Whether `node` is a delay.
    pub fn is_delay(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(node.index()).map(|node| &node.role), Some(Role::Delay(_)))
    }

    /// Whether `node` is an impairment.
    pub fn is_impairment(&self, node: NodeId) -> bool {
        matches!(self.nodes.get(node.index()).map(|node| &node.role), Some(Role::Impairment(_)))
    }

    /// Puts another link in the place of `node` at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, the node is no link, or one of both links has a light load.
    pub fn replace_link<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        mut link: AnyLink,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "link", |role| matches!(role, Role::Link(_) | Role::Leaving(_)))?;
        if self.is_behind_light(node) || link.light().is_some() {
            return Err(PathError::Light { node });
        }
        self.poll(now, observer)?;
        // The old link keeps the node until the end of its transmission: a packet on the line cannot change its rate.
        link.begin_at(now);
        let deadline = self.deadlines.get(node.index());
        let end = match &self.nodes[node.index()].role {
            Role::Link(link) => link.end(now, deadline),
            Role::Leaving(_) => deadline,
            other => other.is_not("link"),
        };
        self.reordered(|path| {
            let role = &mut path.nodes[node.index()].role;
            *role = match core::mem::replace(role, Role::Exit) {
                Role::Link(old) => Role::Leaving(Box::new(Leaving { link: old, successor: link })),
                Role::Leaving(old) => Role::Leaving(Box::new(Leaving { link: old.link, successor: link })),
                other => other.is_not("link"),
            };
        });
        self.idle[node.index()] = false;
        self.deadlines.set(node.index(), end);
        self.run(now, observer);
        Ok(())
    }

    /// Gives the line `node` the rates of `link` at `now`, after everything that is due by then. It continues as if it had had them from
    /// the beginning, where both have the same until `now`: the packet in transmission goes on at the new rate. Whether it can: only a
    /// line whose rate changes can, to another that begins when it did; otherwise [`Path::replace_link`] is left.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node is no link.
    pub fn continue_link<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        link: &AnyLink,
        observer: &mut O,
    ) -> Result<bool, PathError> {
        self.require(node, "link", |role| matches!(role, Role::Link(_) | Role::Leaving(_)))?;
        self.poll(now, observer)?;
        let Role::Link(Link { model: AnyLink::Serial(own), sending, .. }) =
            &mut self.nodes[node.index()].role
        else {
            return Ok(false);
        };
        let AnyLink::Serial(other) = link else { return Ok(false) };
        let Some(end) = own.continue_as(now, other) else { return Ok(false) };
        if sending.is_some() {
            self.deadlines.set(node.index(), end);
        }
        Ok(true)
    }

    /// Gives the gate `node` another law at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node is no gate.
    pub fn replace_gate<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        law: AnyPacer,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "gate", |role| matches!(role, Role::Gate(_)))?;
        self.poll(now, observer)?;
        // Reports that wait are of the old law, which hears them before it goes.
        self.recall_all(now);
        let kinds = law.listens();
        let mut hears_refusals = Vec::new();
        for (index, teller) in self.nodes.iter_mut().enumerate() {
            for listener in teller.listeners.iter_mut().filter(|listener| listener.gate == node) {
                listener.kinds = kinds;
            }
            if teller.listeners.iter().any(|listener| listener.kinds.refused) {
                hears_refusals.push(index);
            }
        }
        let gate = self.nodes[node.index()].role.gate_mut();
        gate.law = law;
        gate.inbox.retain(|entry| kinds.includes(entry.1));
        (gate.retry, gate.is_blocked, gate.held) = (Time::NEVER, true, None);
        for (index, teller) in self.nodes.iter_mut().enumerate() {
            let Role::Gate(gate) = &mut teller.role else { continue };
            if !hears_refusals.contains(&index) {
                gate.refused = None;
            } else if gate.refused.is_none() {
                gate.refused = Some(Box::new(Refused::new(gate.inputs.nodes.len())));
            }
        }
        self.find_hearers();
        self.find_bearers_below();
        self.set_due(node, now, now);
        self.run(now, observer);
        Ok(())
    }

    /// Makes the delay `node` another one at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node is no delay.
    pub fn replace_delay<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        spec: DelaySpec,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "delay", |role| matches!(role, Role::Delay(_)))?;
        self.poll(now, observer)?;
        let delay = self.nodes[node.index()].role.delay_mut();
        delay.replace(spec, self.seed, &self.names[node.index()]);
        Ok(())
    }

    /// Makes the impairment `node` another one at `now`, after everything that is due by then. Models that stay the same go on where they
    /// are.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, the node is no impairment, or a number is no probability.
    pub fn replace_impairment<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        spec: ImpairmentSpec,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "impairment", |role| matches!(role, Role::Impairment(_)))?;
        if !spec.is_possible() {
            return Err(PathError::Loss { node });
        }
        self.poll(now, observer)?;
        let impairment = self.nodes[node.index()].role.impairment_mut();
        impairment.replace(spec, self.seed, &self.names[node.index()]);
        Ok(())
    }

    /// Holds the queue `node` from `now` on, or no longer: while it is held, its packets wait, whatever its link has to offer. A packet in
    /// transmission goes on.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node is no queue in front of a link: a cell serves what its bearers
    /// have announced, and a pacer what it was told of.
    pub fn hold_queue<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        is_held: bool,
        observer: &mut O,
    ) -> Result<(), PathError> {
        self.require(node, "queue", |role| matches!(role, Role::Queue(_)))?;
        let puller = self.nodes[node.index()].role.queue().puller;
        self.require(puller, "link", |role| matches!(role, Role::Link(_) | Role::Leaving(_)))?;
        self.poll(now, observer)?;
        self.reordered(|path| {
            let queue = path.nodes[node.index()].role.queue_mut();
            queue.is_held = is_held;
            queue.retire();
        });
        if !is_held && self.idle[puller.index()] {
            self.wake(puller, node, now, observer);
        }
        self.run(now, observer);
        Ok(())
    }

    /// The seed of the random streams of future replacements, instead of the seed with which the path was built.
    pub fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn require(
        &self,
        node: NodeId,
        expected: &'static str,
        is_it: impl Fn(&Role<Q>) -> bool,
    ) -> Result<(), PathError> {
        match self.nodes.get(node.index()) {
            Some(entry) if is_it(&entry.role) => Ok(()),
            _ => Err(PathError::NotA { node, expected }),
        }
    }

    /// Does `change`, which may change which nodes have deadlines and in which order they run; the deadlines stay.
    fn reordered(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.order();
        change(self);
        let after = self.order();
        let mut deadlines = Deadlines::with_order(&after);
        for slot in before.into_iter().filter(|slot| after.contains(slot)) {
            deadlines.set(slot as usize, self.deadlines.get(slot as usize));
        }
        self.deadlines = deadlines;
    }

    /// [`Path::dequeue`] while replaced disciplines still hold packets.
    #[cold]
    pub(super) fn dequeue_oldest<O: Observer>(
        &mut self,
        at: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<Packet> {
        let node = &mut self.nodes[at.index()];
        let queue = node.role.queue_mut();
        let had_any = queue.backlog().packets > 0;
        let mut sink = super::queues::Tally::new(now, at, &mut node.counters, observer);
        let mut packet = None;
        for old in queue.retiring.iter_mut().flat_map(|retiring| &mut retiring.queues) {
            packet = sink.take(&mut old.qdisc, &mut old.random);
            // One that gives nothing has nothing; if it had, it would have to be heard out before the next.
            if packet.is_some() || old.qdisc.backlog().packets > 0 {
                break;
            }
        }
        queue.retire();
        if packet.is_none() && queue.retiring.is_none() {
            packet = sink.take(&mut queue.qdisc, &mut queue.random);
        }
        let gone = sink.gone;
        if let Some(packet) = &packet {
            node.counters.forwarded.add(packet);
            observer.dequeued(now, at, packet);
        }
        let is_heard = !node.listeners.is_empty();
        self.follow_timer(at, now);
        if is_heard && had_any {
            self.tell_of_dequeue(at, now, gone + packet.as_ref().map_or(Count::default(), Count::one));
        }
        packet
    }

    /// A link that leaves has its next event at `now`: the end of what it has begun, or an opportunity on the way there.
    #[cold]
    pub(super) fn run_leaving<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let link = &mut self.nodes[id.index()].role.leaving_mut().link;
        let next = link.next;
        let mut capacity = None;
        if let Some(mut sending) = link.sending.take() {
            // A packet that needs several opportunities is finished by the old link, so that no byte is sent twice.
            if let AnyLink::Slotted(slotted) = &mut link.model {
                let wire = u64::from(sending.packet.bytes) + u64::from(slotted.overhead_bytes());
                let (left, bytes) = (wire - sending.sent_bytes, slotted.slot_bytes());
                let deadline = slotted.sent(now, left.min(bytes), left.saturating_sub(bytes));
                capacity = slotted.tells_while_leaving().then_some(Signal::Capacity { bytes });
                if left > bytes && deadline < Time::NEVER {
                    sending.sent_bytes += bytes;
                    link.sending = Some(sending);
                    self.deadlines.set(id.index(), deadline);
                    if let Some(signal) = capacity {
                        self.tell(id, now, signal);
                    }
                    return;
                }
            }
            observer.departed(now, id, sending.queue, &sending.packet);
            self.forwarded(id, &sending.packet, now);
            self.push(next, sending.packet, now, observer);
        }
        self.hand_over(id, now);
        if let Some(signal) = capacity {
            self.tell(id, now, signal);
        }
    }

    /// The new link replaces the old one, and checks for packets to take.
    fn hand_over(&mut self, id: NodeId, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.role = match core::mem::replace(&mut node.role, Role::Exit) {
            Role::Leaving(leaving) => {
                let Leaving { mut link, successor } = *leaving;
                link.succeed(successor, node.counters.forwarded, now);
                Role::Link(link)
            }
            other => other.is_not("leaving link"),
        };
        let link = node.role.link_mut();
        self.deadlines.set(id.index(), link.model.wake(now));
    }
}

impl<Q: Qdisc> Queue<Q> {
    /// `qdisc` receives the arrivals from now on.
    fn replace(&mut self, qdisc: Q, random: Random) {
        let old = Retired {
            qdisc: core::mem::replace(&mut self.qdisc, qdisc),
            random: core::mem::replace(&mut self.random, random),
        };
        let retiring = self.retiring.get_or_insert_with(|| Box::new(Retiring { queues: VecDeque::new() }));
        retiring.queues.push_back(old);
        self.retire();
    }

    /// Lets go of the disciplines that hold nothing any more.
    pub(super) fn retire(&mut self) {
        if let Some(retiring) = &mut self.retiring {
            retiring.queues.retain(|old| old.qdisc.backlog().packets > 0);
            if retiring.queues.is_empty() {
                self.retiring = None;
            }
        }
        self.has_timer = self.is_held || self.retiring.is_some() || self.qdisc.has_timer() || self.discards();
    }
}

impl Link {
    /// The time at which this link has finished its transmission, `now` at the earliest. `deadline` is the time of its next event.
    fn end(&self, now: Time, deadline: Time) -> Time {
        let end = match &self.model {
            AnyLink::Shaped(shaped) => shaped.eligible(),
            AnyLink::Serial(_) | AnyLink::Slotted(_) if self.sending.is_none() => now,
            AnyLink::Serial(_) | AnyLink::Slotted(_) => deadline,
        };
        if end == Time::NEVER { now } else { end.max(now) }
    }

    /// `model` carries packets from `now` on; the node has forwarded so much until then.
    fn succeed(&mut self, model: AnyLink, forwarded: crate::Count, now: Time) {
        let usage = self.usage(forwarded, now);
        let past = self.past.as_deref().copied().unwrap_or_default();
        let offered_bytes = match usage.offered_bytes {
            u64::MAX => past.offered_bytes + (usage.sent_bytes - past.sent_bytes),
            bytes => bytes,
        };
        self.past =
            Some(Box::new(Past { until: now, sent_bytes: usage.sent_bytes, offered_bytes, forwarded }));
        (self.model, self.sending) = (model, None);
    }
}
