//! PDU sets: one first-in first-out queue that discards whole PDU sets: those whose delay budget is over, those of low importance
//! under congestion, and the rest of a set that has lost a packet.
//!
//! * A set whose [deadline](crate::PduSet::deadline) has come is discarded as its first packet would leave (`late`).
//! * With `low`, the queue is congested while the packet at its head has waited for longer than `congestion`. A set of importance `low`
//!   or a higher number, whose first packet arrives then, is discarded.
//! * An arrival at a full queue displaces the set of the highest importance number, if that is above its own; of several the newest. It
//!   is dropped otherwise.
//! * Without one of its packets a set that needs all of them (PSIHI) is of no use: what of it waits is discarded, and what comes later.
//!
//! Packets of no set pass as in `taildrop`, and displace nothing.
//!
//! Source: TS 23.501 clause 5.7.7 (PSDB, PSIHI), TS 38.323 clauses 5.2.1 and 5.3 (discard of a set, and by importance, by a UE). For the
//! downlink the standard leaves discards to the base station: `late`, `low`, `congestion` and the displacement are ours.
//!
//! Parameters: `late` (on), `low` (none), `congestion` (5 ms), `limit` in packets (1000) and `limit_bytes` (none).
//!
//! # Differences from the reference
//! * A UE has a shorter timer for packets of low importance while the network has activated it; here they are refused at arrival while
//!   the queue is congested, so that no part of such a set is sent.
//! * A set whose first packet was admitted stays, also if the queue is congested as the others arrive.
//! * Only the latest 32 discarded sets are remembered.

use super::limits::{LIMIT, LIMIT_BYTES};
use super::{FifoLaw, Ring};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::pdu_set::DiscardedSets;
use crate::{Context, DropReason, MarkReason, Packet, PduSet, Sink, Span};
use alloc::boxed::Box;

const LATE: Typed<bool> =
    Typed::new("late", "on", "discard a set whose delay budget is over").source("ours; TS 23.501, PSDB");
const LOW: Typed<Option<u32>> =
    Typed::new("low", "", "importance from which on sets are discarded under congestion; default: none is")
        .unit(Unit::Count("importance"))
        .within("1", "15")
        .source("ours; TS 38.323 clause 5.2.1 for the uplink");
const CONGESTION: Typed<Span> =
    Typed::new("congestion", "5ms", "wait of the packet at the head above which the queue is congested")
        .within("0s", "10s")
        .source("ours");

/// Declaration of `pdu_sets` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "pdu_sets",
    "first in, first out; discards whole PDU sets: late ones, and under congestion the least important",
)
.source("ours; TS 23.501 clause 5.7.7, TS 38.323 clause 5.3")
.with(&[
    LATE.parameter(),
    LOW.parameter(),
    CONGESTION.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reason: another packet of the PDU set was lost or discarded.
pub const SET_DISCARD: DropReason = DropReason::new("set_discard");
/// Drop reason: the delay budget of the packet's PDU set was over.
pub const SET_LATE: DropReason = DropReason::new("set_late");
/// Drop reason: the packet's PDU set was of low importance, and the queue congested or full.
pub const SET_IMPORTANCE: DropReason = DropReason::new("set_importance");

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, SET_DISCARD, SET_LATE, SET_IMPORTANCE];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The law that discards sets.
#[derive(Clone, Debug)]
pub struct PduSets {
    late: bool,
    low: Option<u32>,
    congestion: Span,
    discarded: Box<DiscardedSets>,
}

impl PduSets {
    /// The law that `arguments` describe.
    pub(super) fn build(arguments: &Arguments) -> Result<PduSets, ComponentError> {
        Ok(PduSets {
            late: arguments.get(&LATE),
            low: arguments.get(&LOW),
            congestion: arguments.get(&CONGESTION),
            discarded: Box::default(),
        })
    }

    /// Discards set `number` of `flow`: what of it is queued, for `reason`, and what comes later.
    fn discard<S: Sink>(
        &mut self,
        ring: &mut Ring,
        sink: &mut S,
        (flow, number): (u32, u32),
        reason: DropReason,
    ) {
        self.discarded.add(flow, number);
        ring.discard_set(sink, flow, number, reason);
    }

    /// Whether `set`, whose first packet arrives, is discarded by importance.
    fn refuses<S: Sink>(&self, ring: &Ring, context: &Context<'_, S>, set: &PduSet) -> bool {
        let waited = || ring.head().map_or(Span::ZERO, |head| context.now.since(head.arrival));
        self.low.is_some_and(|low| u32::from(set.importance) >= low)
            && set.pdu == 0
            && waited() > self.congestion
    }

    /// The newest of the least important sets that are queued and less important than `importance`.
    fn displaced<S: Sink>(ring: &Ring, sink: &S, importance: u8) -> Option<(u32, u32)> {
        let sets = ring.iter().filter_map(|packet| Some((packet.flow, sink.pdu_set(packet)?)));
        let worse = sets.filter(|(_, set)| set.importance > importance);
        // Of equal ones `max_by_key` returns the last.
        worse.max_by_key(|(_, set)| set.importance).map(|(flow, set)| (flow, set.number))
    }
}

impl FifoLaw for PduSets {
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let Some(set) = context.sink.pdu_set(packet) else { return ring.check_room(packet) };
        let own = (packet.flow, set.number);
        if self.discarded.contains(own.0, own.1) {
            return Err(SET_DISCARD);
        }
        if self.refuses(ring, context, &set) {
            self.discarded.add(own.0, own.1);
            return Err(SET_IMPORTANCE);
        }
        while !ring.has_room_for(packet) {
            let Some(other) = Self::displaced(ring, &*context.sink, set.importance) else {
                if set.is_integrated {
                    self.discard(ring, context.sink, own, SET_DISCARD);
                }
                return Err(DropReason::TAIL_LIMIT);
            };
            self.discard(ring, context.sink, other, SET_IMPORTANCE);
        }
        Ok(())
    }

    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        while self.late
            && let Some(head) = ring.head()
            && let Some(set) = context.sink.pdu_set(head)
            && context.now >= set.deadline
        {
            let late = (head.flow, set.number);
            self.discard(ring, context.sink, late, SET_LATE);
        }
        ring.pop()
    }

    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let discarded = core::mem::take(&mut self.discarded);
        *self = PduSets { discarded, ..PduSets::build(arguments)? };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    /// Without sets the queue is `taildrop`.
    #[test]
    fn packets_of_no_set_are_dropped_at_a_full_queue_only() {
        let mut bench = Bench::new("pdu_sets:limit=2:low=1:congestion=0s");
        (0..4).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(2, DropReason::TAIL_LIMIT), (3, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.dequeue_many(900, 3), [0, 1]);
    }

    #[test]
    fn an_importance_outside_1_to_15_is_refused() {
        for wrong in ["pdu_sets:low=0", "pdu_sets:low=16", "pdu_sets:congestion=11s"] {
            assert!(super::super::AnyQdisc::parse(wrong).is_err(), "{wrong}");
        }
    }
}
