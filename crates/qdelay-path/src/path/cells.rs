//! Cells: packets that a cell takes from the path and returns to it.
//!
//! A cell's node has received what the MAC has taken from the queues, and holds it until it is handed up or lost. What the
//! cell did for a bearer in a TTI is told as a signal of the queue of that bearer, because that is what a pacer above it
//! listens to.

use super::Path;
use crate::node::{CellNode, Hearer, Node, Role};
use crate::{NodeId, Observer, Pacer, Served, Signal, Signals};
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::pacer::Waited;
use qdelay_core::qdisc::{Backlog, Qdisc};
use qdelay_core::{DropReason, Packet, PduSet, Span, Time};
use qdelay_ran::{Source, Split};

impl<Q: Qdisc> Path<Q> {
    /// A packet has come into the queue `input` of the cell `id`.
    #[inline(never)]
    pub(super) fn wake_cell(&mut self, id: NodeId, input: NodeId, now: Time) {
        self.copy_backlog(input, now);
        let queue = self.nodes[input.index()].role.queue();
        let (bearer, backlog) = (queue.place as usize, queue.backlog());
        let node = self.nodes[id.index()].role.cell_mut();
        // Only the first packet has to wake the cell. If the discipline has dropped it, the backlog is 0.
        if backlog.packets != 1 {
            return;
        }
        node.cell.wake(now, bearer);
        let deadline = node.cell.next_deadline().max(now);
        if deadline != self.deadlines.get(id.index()) {
            self.deadlines.set(id.index(), deadline);
        }
    }

    /// `packet` comes into the queue `at`: a cell that takes from it has to know of it, because it is long.
    #[cold]
    pub(super) fn announce(&mut self, at: NodeId, packet: &Packet) {
        let queue = self.nodes[at.index()].role.queue();
        let (puller, bearer) = (queue.puller, queue.place as usize);
        if let role @ Role::Cell(_) = &mut self.nodes[puller.index()].role {
            role.cell_mut().cell.announce(bearer, packet.bytes);
        }
    }

    /// The cell `id` has something to do at `now`.
    #[inline(never)]
    pub(super) fn run_cell<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        // Nothing that a cell causes comes back to it before it is done: what it hands up goes down the path, and gates
        // that hear of it run later.
        let mut node = self.nodes[id.index()].role.take_cell();
        let CellNode { cell, queues, next, waiting, hearers } = &mut *node;
        let next = *next;
        cell.run(now, &mut Surroundings { path: self, observer, now, id, queues, next, waiting, hearers });
        // A cell that asks for the time it was just called at would keep everything from going on.
        let deadline = cell.next_deadline().max(now + Span::from_nanos(1));
        self.nodes[id.index()].role.return_cell(node);
        // A cell loses no packet: RLC and PDCP report each that they drop.
        debug_assert!(self.nodes[id.index()].is_conserving(), "{:?}", self.nodes[id.index()].counters);
        self.deadlines.set(id.index(), deadline);
    }

    /// The backlog of the queue `at` has changed without the cell: updates the copy of the cell that takes from it, if there is
    /// one. Reports that have waited are of the backlog before.
    pub(super) fn copy_backlog(&mut self, at: NodeId, now: Time) {
        let queue = self.nodes[at.index()].role.queue();
        let (puller, bearer, backlog) = (queue.puller, queue.place as usize, queue.backlog());
        let role @ Role::Cell(_) = &mut self.nodes[puller.index()].role else { return };
        let node = role.cell_mut();
        let before = core::mem::replace(&mut node.waiting[bearer], backlog);
        let (waited, hearer) = (node.cell.recall(bearer, before), node.hearers[bearer]);
        self.tell_waited(hearer, waited, now);
    }

    /// Tells the gate of a bearer about TTIs in which the bearer's packets waited. A gate that rests until such a report (`rests`)
    /// is asked again.
    #[inline]
    fn tell_waited(&mut self, hearer: Hearer, waited: Option<Waited>, now: Time) {
        if let (Hearer::Late(id), Some(waited)) = (hearer, waited) {
            let gate = self.nodes[id.index()].role.gate_mut();
            gate.waited(&waited);
            if gate.rests {
                gate.rests = false;
                self.reconsider(id, now);
            }
        }
    }

    /// The law of the gate `id` is due to be asked again only because no report came. But reports do come and wait for it, after
    /// each of which its head would have been refused until well after the next one: it rests until they are told.
    #[inline]
    pub(super) fn rests(&mut self, id: NodeId, now: Time) -> bool {
        let gate = self.nodes[id.index()].role.gate();
        let Some((cell, bearer)) = gate.bearer else { return false };
        let is_quiet = gate.held.is_some() && gate.retry == gate.due;
        if !is_quiet || !self.nodes[cell.index()].role.cell().cell.has_waited(bearer as usize) {
            return false;
        }
        let gate = self.nodes[id.index()].role.gate_mut();
        (gate.rests, gate.retry) = (true, Time::NEVER);
        self.set_due(id, Time::NEVER, now);
        true
    }

    /// Before the gate `id` is asked: tells it the reports that have waited for it.
    #[inline]
    pub(super) fn hear_late(&mut self, id: NodeId) {
        let Some((cell, bearer)) = self.nodes[id.index()].role.gate().bearer else { return };
        let CellNode { cell, waiting, .. } = self.nodes[cell.index()].role.cell_mut();
        if let Some(waited) = cell.take_waited(bearer as usize, waiting[bearer as usize]) {
            let gate = self.nodes[id.index()].role.gate_mut();
            gate.waited(&waited);
            gate.rests = false;
        }
    }

    /// The gate `id` may answer otherwise than before: reports for it wait no longer.
    pub(super) fn hear_at_once(&mut self, id: NodeId, now: Time) {
        let Some((cell, bearer)) = self.nodes[id.index()].role.gate().bearer else { return };
        let CellNode { cell, waiting, hearers, .. } = self.nodes[cell.index()].role.cell_mut();
        let (hearer, waited) =
            (hearers[bearer as usize], cell.recall(bearer as usize, waiting[bearer as usize]));
        self.tell_waited(hearer, waited, now);
    }

    /// Updates the receivers of reports about the bearers of cells, after a change of listeners.
    pub(super) fn find_hearers(&mut self) {
        let mut tellers = vec![0_u32; self.nodes.len()];
        for listener in self.nodes.iter().flat_map(|node| &node.listeners) {
            tellers[listener.gate.index()] += 1;
        }
        for node in &mut self.nodes {
            if let Role::Gate(gate) = &mut node.role {
                gate.bearer = None;
            }
        }
        let mut over_f1 = vec![None; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Role::F1(f1) = &node.role {
                over_f1[f1.next.index()] = Some(NodeId(index as u32));
            }
        }
        for index in 0..self.nodes.len() {
            let role @ Role::Cell(_) = &mut self.nodes[index].role else { continue };
            let mut node = role.take_cell();
            for (bearer, (hearer, queue)) in node.hearers.iter_mut().zip(&node.queues).enumerate() {
                *hearer = Hearer::from_listeners(&self.nodes[queue.index()].listeners);
                if let Some(id) = over_f1[queue.index()] {
                    *hearer = Hearer::F1(id);
                }
                if let Hearer::AtOnce(id) = *hearer {
                    let gate = self.nodes[id.index()].role.gate_mut();
                    let only = Signals { served: true, ..Signals::NONE };
                    // An uplink slot is not a downlink slot without room, as a late report would have it.
                    if tellers[id.index()] == 1
                        && !node.cell.has_tdd()
                        && gate.law.listens() == only
                        && gate.clock.is_none()
                        && !gate.pulled
                        && gate.inbox.is_empty()
                    {
                        gate.bearer = Some((NodeId(index as u32), bearer as u32));
                        *hearer = Hearer::Late(id);
                    }
                }
            }
            self.nodes[index].role.return_cell(node);
        }
    }

    /// Updates the bearer below each gate.
    pub(super) fn find_bearers_below(&mut self) {
        let bearer = |id: NodeId| match &self.nodes[id.index()].role {
            Role::Queue(queue) if matches!(self.nodes[queue.puller.index()].role, Role::Cell(_)) => {
                Some((queue.puller, queue.place))
            }
            _ => None,
        };
        let below = |node: &Node<Q>| match &node.role {
            Role::Gate(gate) => match &self.nodes[gate.next.index()].role {
                Role::F1(f1) => bearer(f1.next),
                _ => bearer(gate.next),
            },
            _ => None,
        };
        let found: Vec<_> = self.nodes.iter().map(below).collect();
        for (node, below) in self.nodes.iter_mut().zip(found) {
            if let Role::Gate(gate) = &mut node.role {
                gate.below = below;
            }
        }
    }

    /// The gate `id` has run: tells the cell below how much it holds back.
    #[inline]
    pub(super) fn hold_back(&mut self, id: NodeId, now: Time) {
        let gate = self.nodes[id.index()].role.gate();
        let Some((cell, bearer)) = gate.below else { return };
        let bytes = match gate.is_blocked {
            true => gate.inputs.nodes.iter().map(|input| self.backlog_bytes(*input)).sum(),
            false => 0,
        };
        self.nodes[cell.index()].role.cell_mut().cell.hold_back(now, bearer as usize, bytes);
    }

    fn backlog_bytes(&self, queue: NodeId) -> u64 {
        self.nodes[queue.index()].role.queue().backlog().bytes
    }

    /// All reports that have waited are told, and none waits, before listeners change.
    pub(super) fn recall_all(&mut self, now: Time) {
        for index in 0..self.nodes.len() {
            if let Role::Queue(queue) = &self.nodes[index].role
                && let Role::Cell(_) = self.nodes[queue.puller.index()].role
            {
                self.copy_backlog(NodeId(index as u32), now);
            }
        }
    }
}

/// The path as the cell `id` sees it while it runs.
struct Surroundings<'a, Q, O> {
    path: &'a mut Path<Q>,
    observer: &'a mut O,
    now: Time,
    id: NodeId,
    queues: &'a [NodeId],
    next: NodeId,
    waiting: &'a mut [Backlog],
    hearers: &'a [Hearer],
}

impl<Q: Qdisc, O: Observer> Source for Surroundings<'_, Q, O> {
    #[inline]
    fn backlog(&self, bearer: usize) -> Backlog {
        self.waiting[bearer]
    }
    fn sizes(&self, bearer: usize, from: usize, sizes: &mut [u32]) -> usize {
        self.path.nodes[self.queues[bearer].index()].role.queue().sizes(from, sizes)
    }
    fn head(&self, bearer: usize) -> Option<Time> {
        let queue = self.path.nodes[self.queues[bearer].index()].role.queue();
        queue.head().map(|packet| packet.arrival)
    }
    fn next_packet(&self, bearer: usize) -> Option<Packet> {
        self.path.nodes[self.queues[bearer].index()].role.queue().head().copied()
    }
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        self.observer.pdu_set(packet)
    }
    #[inline]
    fn pull(&mut self, bearer: usize) -> Option<Packet> {
        let at = self.queues[bearer];
        let packet = self.path.dequeue(at, self.now, self.observer);
        // The dequeue may also have dropped packets.
        self.waiting[bearer] = self.path.nodes[at.index()].role.queue().backlog();
        let packet = packet?;
        debug_assert!(packet.arrival <= self.now, "a cell takes a packet before it comes to its queue");
        self.path.nodes[self.id.index()].counters.received.add(&packet);
        Some(packet)
    }
    #[inline]
    fn departed(&mut self, bearer: usize, packet: &Packet) {
        self.observer.departed(self.now, self.id, self.queues[bearer], packet);
        if let Hearer::F1(id) = self.hearers[bearer] {
            self.path.nodes[id.index()].role.f1_mut().reporter.transmitted(packet.count);
        }
    }
    #[inline]
    fn delivered(&mut self, _: usize, packet: Packet, split: Split) {
        self.observer.split(self.now, self.id, &packet, split);
        self.path.forwarded(self.id, &packet, self.now);
        self.path.push(self.next, packet, self.now, self.observer);
    }
    fn dropped(&mut self, _: usize, packet: &Packet, reason: DropReason) {
        self.path.discard(self.id, packet, self.now, reason, self.observer);
    }
    #[inline]
    fn served(&mut self, bearer: usize, served: Served) {
        match self.hearers[bearer] {
            Hearer::Nobody => {}
            Hearer::AtOnce(gate) | Hearer::Late(gate) => {
                self.path.signal(gate, self.now, Signal::Served(served));
            }
            Hearer::Listeners => self.path.tell(self.queues[bearer], self.now, Signal::Served(served)),
            Hearer::F1(id) => self.path.served_over_f1(id, self.now, &served),
        }
    }
    #[inline]
    fn may_wait(&self, bearer: usize, waited: &Waited) -> bool {
        match self.hearers[bearer] {
            Hearer::Nobody => true,
            Hearer::Late(gate) => self.path.nodes[gate.index()].role.gate().may_wait(waited),
            Hearer::AtOnce(_) | Hearer::Listeners | Hearer::F1(_) => false,
        }
    }
    #[inline]
    fn waited(&mut self, bearer: usize, waited: &Waited) {
        self.path.tell_waited(self.hearers[bearer], Some(*waited), self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyPacer, BearerBuffer, CellSetting, NodeSpec, PathBuilder};
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;
    use qdelay_core::pacer::PacerSetting;
    use qdelay_core::qdisc::AnyQdisc;
    use qdelay_ran::UeSetting;
    use qdelay_ran::radio::{Channel, Mcs};
    use qdelay_ran::rlc::RlcSetting;
    use qdelay_ran::tables::Carrier;

    /// A bearer may hold 1500 bytes, headers of PDCP and what is left of a packet that is partly sent included: by hand.
    #[test]
    fn a_bearers_buffer_holds_the_rest_of_a_packet_too() {
        let rlc = RlcSetting { mac: qdelay_ran::rlc::MacHeader::None, ..RlcSetting::lte_um() };
        let ue = UeSetting::new(Channel::Mcs(Mcs(28))).bearer(rlc, 1);
        let buffer = BearerBuffer { limit_bytes: 1500, header_bytes: 2 };
        let mut path = PathBuilder::new()
            .node("rlc", NodeSpec::Queue(AnyQdisc::parse("taildrop").unwrap()))
            .node("cell", NodeSpec::cell(CellSetting::new(Carrier::lte(6).unwrap()).ue(ue)))
            .node("out", NodeSpec::Exit)
            .chain(&["rlc", "cell", "out"])
            .buffer("rlc", buffer)
            .build(1)
            .unwrap();
        let entry = path.node("rlc").unwrap();
        let mut handle = 0;
        let mut offer = |path: &mut Path, micros: u64, bytes: u32| {
            let before = path.counters(entry).unwrap().dropped_total().packets;
            handle += 1;
            let packet = Packet { handle, bytes, ..Packet::default() };
            path.ingress(Time::from_nanos(micros * 1000), entry, packet, &mut ()).unwrap();
            path.counters(entry).unwrap().dropped_total().packets == before
        };
        // 590 and 590; a third would make 1770, but 318 and its header fit exactly.
        assert_eq!(
            [588, 588, 588, 319, 318].map(|bytes| offer(&mut path, 300, bytes)),
            [true, true, false, false, true]
        );
        // A TTI carries 549 bytes, two of them the RLC's: 43 of the first packet are left, beside 590 and 320.
        assert_eq!([546, 545].map(|bytes| offer(&mut path, 1500, bytes)), [false, true]);
        path.poll(Time::from_nanos(100_000_000), &mut ()).unwrap();
        let counters = path.counters(entry).unwrap();
        assert_eq!((counters.received.packets, counters.dropped_total().packets), (7, 3));
        path.audit().unwrap();
    }

    #[test]
    fn only_a_queue_in_front_of_a_cell_has_a_buffer() {
        let buffer = BearerBuffer { limit_bytes: 1500, header_bytes: 2 };
        let error = PathBuilder::<AnyQdisc>::new()
            .node("queue", NodeSpec::Queue(AnyQdisc::parse("taildrop").unwrap()))
            .node("link", NodeSpec::link(crate::Line::new(qdelay_core::Rate::from_bps(1_000_000), 0)))
            .node("out", NodeSpec::Exit)
            .chain(&["queue", "link", "out"])
            .buffer("queue", buffer)
            .build(1)
            .unwrap_err();
        assert!(error.to_string().contains("expected a queue in front of a cell"), "{error}");
    }

    /// Two bearers of one UE, each with a pacer that hears of its own queue, a second later: what is on its way to each.
    #[test]
    fn what_a_tti_did_is_told_to_those_above_that_bearer() {
        let queue = || NodeSpec::Queue(AnyQdisc::parse("taildrop").unwrap());
        let pacer = || NodeSpec::Gate(AnyPacer::parse("e5g-bdp", &PacerSetting::default()).unwrap());
        let carrier = Carrier::lte(25).unwrap();
        let block = u64::from(carrier.block_bytes(28, 25));
        let rlc = RlcSetting::transparent();
        let ue = UeSetting::new(Channel::Mcs(Mcs(28))).bearer(rlc, 1).bearer(rlc, 2);
        let mut path = PathBuilder::new()
            .node("a", queue())
            .node("b", queue())
            .node("rlc a", queue())
            .node("rlc b", queue())
            .node("gate a", pacer())
            .node("gate b", pacer())
            .node("cell", NodeSpec::cell(CellSetting::new(carrier).ue(ue)))
            .node("out", NodeSpec::Exit)
            .chain(&["a", "gate a", "rlc a", "cell", "out"])
            .chain(&["b", "gate b", "rlc b", "cell"])
            .feedback("rlc a", "gate a", Span::from_secs(1))
            .feedback("rlc b", "gate b", Span::from_secs(1))
            .build(1)
            .unwrap();
        let node = |path: &Path, name: &str| path.node(name).unwrap();
        let (rlc_a, rlc_b) = (node(&path, "rlc a"), node(&path, "rlc b"));
        let at = Time::from_nanos(300_000);
        for (handle, (entry, bytes)) in
            [(rlc_a, 1000), (rlc_b, 1000), (rlc_b, 1100), (rlc_b, 50)].into_iter().enumerate()
        {
            let packet = Packet { handle: handle as u64, bytes, ..Packet::default() };
            path.ingress(at, entry, packet, &mut ()).unwrap();
        }
        path.poll(Time::from_nanos(900_000_000), &mut ()).unwrap();
        let heard = |path: &Path, name: &str| -> Vec<(u64, Served)> {
            let gate = path.nodes[node(path, name).index()].role.gate();
            let served = |signal: &Signal| match *signal {
                Signal::Served(served) => Some(served),
                _ => None,
            };
            let ms = |time: Time| time.as_nanos() / 1_000_000 - 1000;
            gate.inbox.iter().filter_map(|(time, signal)| Some((ms(*time), served(signal)?))).collect()
        };
        // The first goes before the second, of which one fits beside it.
        let first = Served {
            capacity_bytes: block - 1000,
            sent_bytes: 1000,
            left_packets: 1,
            left_sojourn: Span::from_micros(700),
            ..Served::default()
        };
        let told_a = heard(&path, "gate a");
        assert_eq!(told_a, vec![(1, Served { capacity_bytes: told_a[0].1.capacity_bytes, ..first })]);
        let told_b = heard(&path, "gate b");
        let second = Served {
            capacity_bytes: block - 1000,
            sent_bytes: 1000,
            remaining_bytes: 1150,
            remaining_packets: 2,
            left_packets: 1,
            left_sojourn: Span::from_micros(700),
            ..Served::default()
        };
        let third = Served {
            capacity_bytes: block,
            sent_bytes: 1150,
            left_packets: 2,
            left_sojourn: Span::from_micros(1700) * 2,
            ..Served::default()
        };
        assert_eq!(told_b, vec![(1, second), (2, third)]);
        // What the first could have sent: the second's part as well, or not; but not more than the block.
        assert!((1000..=block).contains(&told_a[0].1.capacity_bytes), "{told_a:?}");
        path.audit().unwrap();
    }
}
