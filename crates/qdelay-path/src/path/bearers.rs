//! The entry of a bearer: the limit that it shares with its queue, the numbers of PDCP, its discard timer, and the discard of PDU
//! sets.
//!
//! With the discard of sets (TS 38.323 clause 5.3, `pdu-SetDiscard`) the end of a packet's discard timer discards all packets of its PDU
//! set: those in the queue, and those that come later, which get no number. The same is done for a set that needs all of its packets
//! (PSIHI) when the entry or the queue drops one as it arrives: the standard leaves that to the base station.

use super::Path;
use super::queues::Tally;
use crate::node::Queue;
use crate::{NodeId, Observer};
use qdelay_core::qdisc::{Backlog, Qdisc, SET_DISCARD};
use qdelay_core::{Context, DropReason, Packet, Sink, Time};
use qdelay_ran::pdcp::DISCARD;

impl<Q: Qdisc> Path<Q> {
    /// `packet` comes to the queue `at` of a bearer with an entry of its own: why the bearer may not hold it too, if so. It is numbered,
    /// unless PDCP is behind the drop that follows.
    #[inline(never)]
    pub(super) fn enters_bearer<O: Observer>(
        &mut self,
        at: NodeId,
        packet: &mut Packet,
        now: Time,
        observer: &mut O,
    ) -> Result<(), DropReason> {
        let set = match self.nodes[at.index()].role.queue().discards_sets() {
            true => observer.pdu_set(packet),
            false => None,
        };
        if let Some(set) = set
            && let Some(entry) = &self.nodes[at.index()].role.queue().entry
            && entry.discarded.contains(packet.flow, set.number)
        {
            return Err(SET_DISCARD);
        }
        let has_room = self.has_room(at, packet);
        if let Some(entry) = &mut self.nodes[at.index()].role.queue_mut().entry
            && let Some(numbering) = entry.numbering
            && !numbering.is_done
            && (has_room || !numbering.drops_before)
        {
            packet.count = entry.next;
            entry.next = entry.next.wrapping_add(1);
        }
        if has_room {
            return Ok(());
        }
        if let Some(set) = set.filter(|set| set.is_integrated) {
            self.discard_rest(at, (packet.flow, set.number), now, observer);
        }
        Err(DropReason::TAIL_LIMIT)
    }

    /// Discards the PDU set `set` of a flow in the queue `at` of a bearer, whose entry drops a packet of it.
    #[cold]
    fn discard_rest<O: Observer>(&mut self, at: NodeId, set: (u32, u32), now: Time, observer: &mut O) {
        let node = &mut self.nodes[at.index()];
        let queue = node.role.queue_mut();
        let mut sink = Tally::new(now, at, &mut node.counters, observer);
        queue.discard_set(now, set, &mut sink);
        let gone = sink.gone;
        self.copy_backlog(at, now);
        self.follow_timer(at, now);
        if gone.packets > 0 {
            self.tell_gone(at, now, gone);
        }
    }

    /// Whether the bearer behind the queue `at` may hold `packet` too.
    fn has_room(&self, at: NodeId, packet: &Packet) -> bool {
        let queue = self.nodes[at.index()].role.queue();
        let Some(buffer) = queue.entry.as_ref().and_then(|entry| entry.buffer) else { return true };
        let partly = self.nodes[queue.puller.index()].role.cell().cell.partly(queue.place as usize);
        let Backlog { packets, bytes } = queue.backlog();
        let headers = (packets + 1) * u64::from(buffer.header_bytes);
        bytes + partly.bytes + u64::from(packet.bytes) + headers <= buffer.limit_bytes
    }
}

impl<Q: Qdisc> Queue<Q> {
    /// The discipline has dropped packets as one arrived, the last of them with number `newest`. If that was the arrival, and
    /// drops are in front of PDCP, its number is free.
    #[cold]
    pub(super) fn take_number_back(&mut self, newest: u32) {
        if let Some(entry) = &mut self.entry
            && entry.numbering.is_some_and(|numbering| numbering.drops_before)
            && newest == entry.next.wrapping_sub(1)
        {
            entry.next = newest;
        }
    }

    /// Discards the packets whose time is over.
    pub(super) fn discard_old<O: Observer>(&mut self, now: Time, sink: &mut Tally<'_, O>) {
        while self.next_discard() <= now {
            let (qdisc, random) =
                match self.retiring.as_mut().and_then(|retiring| retiring.queues.front_mut()) {
                    Some(old) => (&mut old.qdisc, &mut old.random),
                    None => (&mut self.qdisc, &mut self.random),
                };
            let expelled = qdisc.expel(&mut Context { now, random, sink });
            match expelled {
                Some(packet) => {
                    let set = if self.discards_sets() { sink.pdu_set(&packet) } else { None };
                    sink.dropped(&packet, DISCARD);
                    if let Some(set) = set {
                        self.discard_set(now, (packet.flow, set.number), sink);
                    }
                }
                None => break,
            }
            self.retire();
        }
    }

    /// Discards a PDU set, of a flow and with a number: what of it is queued, and what comes later.
    pub(super) fn discard_set<O: Observer>(
        &mut self,
        now: Time,
        (flow, number): (u32, u32),
        sink: &mut Tally<'_, O>,
    ) {
        if let Some(entry) = &mut self.entry {
            entry.discarded.add(flow, number);
        }
        for old in self.retiring.iter_mut().flat_map(|retiring| &mut retiring.queues) {
            let context = &mut Context { now, random: &mut old.random, sink: &mut *sink };
            old.qdisc.discard_set(context, flow, number, SET_DISCARD);
        }
        let context = &mut Context { now, random: &mut self.random, sink };
        self.qdisc.discard_set(context, flow, number, SET_DISCARD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellSetting, Numbering, Observer, PathBuilder};
    use crate::{NodeSpec, PdcpCounts};
    use alloc::vec;
    use alloc::vec::Vec;
    use qdelay_core::qdisc::AnyQdisc;
    use qdelay_core::{DropReason, Span};
    use qdelay_ran::UeSetting;
    use qdelay_ran::pdcp::PdcpSetting;
    use qdelay_ran::radio::{Channel, Mcs};
    use qdelay_ran::rlc::RlcSetting;
    use qdelay_ran::tables::Carrier;

    /// Handles with their numbers as they leave, and drops with their time in milliseconds.
    #[derive(Default)]
    struct Log {
        delivered: Vec<(u64, u32)>,
        dropped: Vec<(u64, u64, DropReason)>,
    }
    impl Observer for Log {
        fn delivered(&mut self, _: Time, _: NodeId, packet: &Packet) {
            self.delivered.push((packet.handle, packet.count));
        }
        fn dropped(&mut self, now: Time, _: NodeId, packet: &Packet, reason: DropReason) {
            self.dropped.push((now.as_nanos() / 1_000_000, packet.handle, reason));
        }
    }

    /// Numbers of packets, without a discard timer unless told otherwise.
    const NUMBERING: Numbering =
        Numbering { drops_before: false, discard_timer: Span::MAX, set_discard: false, is_done: false };

    /// A cell of one bearer, of 549 bytes for each TTI, behind a queue of `qdisc`.
    fn path(qdisc: &str, rlc: RlcSetting, numbering: Numbering) -> Path {
        let pdcp = PdcpSetting {
            sn_bits: 12,
            t_reordering: Span::from_millis(20),
            out_of_order_delivery: false,
            discard_timer: numbering.discard_timer,
            set_discard: numbering.set_discard,
            ciphered: true,
            drops_before: numbering.drops_before,
        };
        let rlc = RlcSetting { mac: qdelay_ran::rlc::MacHeader::None, pdcp: Some(pdcp), ..rlc };
        let ue = UeSetting::new(Channel::Mcs(Mcs(28))).bearer(rlc, 1);
        PathBuilder::new()
            .node("rlc", NodeSpec::Queue(AnyQdisc::parse(qdisc).unwrap()))
            .node("cell", NodeSpec::cell(CellSetting::new(Carrier::lte(6).unwrap()).ue(ue)))
            .node("out", NodeSpec::Exit)
            .chain(&["rlc", "cell", "out"])
            .numbering("rlc", numbering)
            .build(1)
            .unwrap()
    }

    /// Packets of `bytes` in the middle of the first TTI.
    fn offer(path: &mut Path, handles: core::ops::Range<u64>, bytes: u32, log: &mut Log) {
        let entry = path.node("rlc").unwrap();
        for handle in handles {
            let packet = Packet { handle, bytes, ..Packet::default() };
            path.ingress(Time::from_nanos(300_000), entry, packet, log).unwrap();
        }
    }

    fn counts(path: &Path, at: Time) -> PdcpCounts {
        path.cell_pdcp(path.node("cell").unwrap(), at)[0].unwrap()
    }

    /// Five packets come to a queue for two and one more, while none leaves: what is refused has a number where PDCP is in front of the
    /// queue, and none where it is behind the decision.
    #[test]
    fn a_drop_at_arrival_leaves_a_hole_behind_pdcp_only() {
        for (drops_before, numbers, holes) in [(false, [0, 1, 5], 3), (true, [0, 1, 2], 0)] {
            let numbering = Numbering { drops_before, ..NUMBERING };
            let mut path = path("taildrop:limit=2", RlcSetting::nr_um(), numbering);
            let mut log = Log::default();
            offer(&mut path, 0..5, 100, &mut log);
            path.poll(Time::from_nanos(30_000_000), &mut log).unwrap();
            let entry = path.node("rlc").unwrap();
            let last = Packet { handle: 5, bytes: 100, ..Packet::default() };
            path.ingress(Time::from_nanos(30_300_000), entry, last, &mut log).unwrap();
            let end = Time::from_nanos(200_000_000);
            path.poll(end, &mut log).unwrap();
            assert_eq!(log.delivered, [(0, numbers[0]), (1, numbers[1]), (5, numbers[2])]);
            let refused: Vec<u64> = log.dropped.iter().map(|drop| drop.1).collect();
            assert_eq!((refused, counts(&path, end).holes), (vec![2, 3, 4], holes));
            assert_eq!(counts(&path, end).stalled, Span::from_millis(if holes > 0 { 20 } else { 0 }));
            path.audit().unwrap();
        }
    }

    /// A discipline that makes room for an arrival drops an older packet: a hole in any case.
    #[test]
    fn a_drop_at_the_head_leaves_a_hole() {
        let numbering = Numbering { drops_before: true, ..NUMBERING };
        let mut path = path("headdrop:limit=2", RlcSetting::nr_um(), numbering);
        let mut log = Log::default();
        offer(&mut path, 0..5, 100, &mut log);
        let end = Time::from_nanos(200_000_000);
        path.poll(end, &mut log).unwrap();
        assert_eq!(log.delivered, [(3, 3), (4, 4)]);
        assert_eq!(counts(&path, end).holes, 3);
        path.audit().unwrap();
    }

    /// 40 packets of 1000 bytes for which a TTI has 549: those of which nothing has been sent 10 ms after they came are discarded at
    /// that time, and the one of which a part has been sent is not.
    #[test]
    fn what_has_waited_for_the_discard_timer_is_discarded_unless_a_part_is_sent() {
        for rlc in [RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::lte_am(), RlcSetting::nr_am()] {
            let numbering = Numbering { discard_timer: Span::from_millis(10), ..NUMBERING };
            let mut path = path("taildrop", rlc, numbering);
            let mut log = Log::default();
            offer(&mut path, 0..40, 1000, &mut log);
            let end = Time::from_nanos(500_000_000);
            path.poll(end, &mut log).unwrap();
            // TTIs at 1 to 10 ms: 5 packets whole, and part of a sixth.
            let sent = log.delivered.len() as u64;
            assert!((5..=6).contains(&sent), "{sent}");
            assert!(log.delivered.iter().map(|one| one.0).eq(0..sent));
            let expected: Vec<_> = (sent..40).map(|handle| (10, handle, DISCARD)).collect();
            assert_eq!(log.dropped, expected, "{rlc:?}");
            assert_eq!(path.inside(path.node("rlc").unwrap()).packets, 0);
            path.audit().unwrap();
            // A packet behind the holes waits for t-Reordering, and nothing else.
            let entry = path.node("rlc").unwrap();
            let next = Packet { handle: 40, bytes: 100, ..Packet::default() };
            path.ingress(end, entry, next, &mut log).unwrap();
            let end = Time::from_nanos(900_000_000);
            path.poll(end, &mut log).unwrap();
            assert_eq!(log.delivered.last(), Some(&(40, 40)));
            assert_eq!(
                (counts(&path, end).holes, counts(&path, end).stalled),
                (40 - sent, Span::from_millis(20))
            );
        }
    }
}
