//! DRR, deficit round robin: flows take turns, and unused bytes of a turn are carried over in the flow's
//! deficit.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995 and
//! IEEE/ACM Transactions on Networking 4(3), 1996 (the section on DRR and its pseudo-code: the enqueuing
//! module with `FreeBuffer`, and the dequeuing module); buffer stealing after P. McKenney, "Stochastic
//! Fairness Queueing", INFOCOM
//! 1990. Linux `net/sched/sch_drr.c` (`drr_enqueue`, `drr_dequeue`) for cross reading.
//!
//! A bucket that gets a packet joins the end of the active list. At its turn its deficit grows by `quantum`,
//! and it sends while its head fits into the deficit; then it moves to the end of the list and keeps the
//! remaining deficit. An empty bucket leaves the list and loses its deficit. A packet that arrives at a full
//! queue is stored, and the newest packets of the bucket that then holds the most bytes are dropped until the
//! limits hold: that may be the arrival itself.
//!
//! Parameters:
//! * `by`: contents of a bucket: the flows with one hash, one of the 64 codepoints of DiffServ, or the class
//!   that a classifier set, modulo 256 (flow).
//! * `flows`: number of buckets of `by=flow` (1024).
//! * `quantum`: bytes per turn (1514); `overhead`: bytes by which a packet counts as more than its IP bytes
//!   (14, an Ethernet header, which is part of the 1514; the paper has no overhead).
//! * `limit` in packets (1000) and `limit_bytes` (none), over all buckets; `depth`: packets that one bucket
//!   may hold (no limit); an arrival beyond is dropped.
//!
//! Cost: constant per packet where `quantum` is a full packet; otherwise packet size over `quantum` turns. A
//! drop costs a few times log2(buckets) steps.
//!
//! Differences from the reference:
//! * The deficit is credited when a turn ends, and at activation, rather than when the next turn begins, as
//!   in `drr_dequeue`; the order of departures is the same.
//! * The paper frees a buffer before it stores the arrival; here the arrival counts as stored when the
//!   longest bucket is determined, so that a flow that holds the most bytes loses its own packet. Ties go to
//!   the lowest bucket.
//! * A bucket emptied by buffer stealing stays in the list, with its deficit, until its turn. A bucket joins
//!   the list even if its first packet made it the longest and was dropped at once.
//! * Linux: each class has its own limit (`depth`) and there is no shared one; filters assign packets to
//!   classes; there is no buffer stealing.

use super::flow_hash::{self, FLOWS};
use super::flow_queues::{FlowList, FlowQueues, LONGEST_FLOW, Measure, OVERHEAD, QUANTUM};
use super::limits::{self, LIMIT, LIMIT_BYTES};
use super::{Backlog, Limit, Qdisc};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink};
use alloc::format;

pub(super) const BY: Typed<str> = Typed::new(
    "by",
    "flow",
    "contents of a bucket: hashed flows, one of the 64 codepoints of DiffServ, or a class (modulo 256)",
)
.unit(Unit::Choice(&["flow", "dscp", "class"]))
.source("Shreedhar and Varghese 1995 (what a flow is); RFC 2474 section 3");

pub(super) const DEPTH: Typed<u64> = Typed::new("depth", "0", "most packets in one bucket; 0 for no limit")
    .unit(Unit::Count("packets"))
    .within("0", "10000000")
    .source("Linux drr (the limit of a class's queue)");

/// Declaration of `drr` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "drr",
    "flows take turns by bytes; when full the flow that holds the most loses its newest packet",
)
.source("Shreedhar and Varghese, SIGCOMM 1995; McKenney, INFOCOM 1990")
.classifies("flow or class")
.with(&[
    BY.parameter(),
    FLOWS.parameter(),
    QUANTUM
        .about("bytes credited to a bucket in each turn; a quantum below the packet size costs several turns a packet")
        .source(
            "Shreedhar and Varghese 1995 (at least the largest packet); Linux drr (the MTU with its header)",
        )
        .parameter(),
    OVERHEAD.parameter(),
    DEPTH.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[LONGEST_FLOW, DropReason::TAIL_LIMIT];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The criterion that assigns packets to buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrrBy {
    /// Buckets by the hash of [`Packet::flow`].
    #[default]
    Flow,
    /// Buckets by [`Packet::dscp`].
    Dscp,
    /// Buckets by [`Packet::class`], modulo 256.
    Class,
}

/// The DRR discipline.
#[derive(Clone, Debug)]
pub struct Drr {
    queues: FlowQueues,
    active: FlowList,
    by: DrrBy,
    quantum: i64,
    overhead: i64,
    depth: u64,
    limit: Limit,
}

impl Drr {
    /// Empty buckets: `flows` of them (1 to 65536) if `by` is the flow. `quantum` in bytes, at least 1; each packet counts
    /// with `overhead` bytes more than its IP bytes.
    pub fn new(limit: Limit, by: DrrBy, flows: u32, quantum: u32, overhead: u32) -> Drr {
        let buckets = match by {
            DrrBy::Flow => flows.max(1),
            DrrBy::Dscp => 64,
            DrrBy::Class => 256,
        };
        Drr {
            queues: FlowQueues::new(buckets, Measure::Bytes),
            active: FlowList::new(),
            by,
            quantum: i64::from(quantum.max(1)),
            overhead: i64::from(overhead),
            depth: u64::MAX,
            limit,
        }
    }

    /// The queue that `arguments` describe.
    ///
    /// # Errors
    /// `flows` where the buckets are not flows.
    pub fn build(arguments: &Arguments) -> Result<Drr, ComponentError> {
        let by = match arguments.get(&BY) {
            "dscp" => DrrBy::Dscp,
            "class" => DrrBy::Class,
            _ => DrrBy::Flow,
        };
        if by != DrrBy::Flow && arguments.is_given(&FLOWS) {
            let by = arguments.get(&BY);
            return Err(arguments.fail(format!("flows has no effect with by={by}")));
        }
        let (flows, quantum, overhead) =
            (arguments.get(&FLOWS), arguments.get(&QUANTUM), arguments.get(&OVERHEAD));
        let depth = Some(arguments.get(&DEPTH)).filter(|depth| *depth > 0).unwrap_or(u64::MAX);
        Ok(Drr { depth, ..Drr::new(limits::limit(arguments), by, flows, quantum, overhead) })
    }

    #[inline]
    fn bucket(&self, packet: &Packet) -> u32 {
        match self.by {
            DrrBy::Flow => flow_hash::bucket(packet.flow, 0, self.queues.len()),
            DrrBy::Dscp => u32::from(packet.dscp % 64),
            DrrBy::Class => u32::from(packet.class % 256),
        }
    }

    /// Bytes that a packet takes from its bucket's deficit.
    #[inline]
    fn cost(&self, packet: &Packet) -> i64 {
        i64::from(packet.bytes) + self.overhead
    }

    #[inline]
    fn is_over_limit(&self) -> bool {
        let Backlog { packets, bytes } = self.queues.backlog();
        packets > self.limit.packets || bytes > self.limit.bytes
    }

    /// Drops the newest packets of the longest bucket until the limits hold (buffer stealing).
    #[cold]
    fn steal<S: Sink>(&mut self, sink: &mut S) {
        while self.is_over_limit() {
            let longest = self.queues.longest();
            let Some(packet) = self.queues.pop_tail(longest) else { return };
            sink.dropped(&packet, LONGEST_FLOW);
        }
    }
}

impl Qdisc for Drr {
    #[inline]
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        let bucket = self.bucket(&packet);
        if self.queues.backlog_of(bucket).packets >= self.depth {
            return context.sink.dropped(&packet, DropReason::TAIL_LIMIT);
        }
        self.queues.push(bucket, packet);
        if !self.queues.is_listed(bucket) {
            self.queues.set_deficit(bucket, self.quantum);
            self.active.push(&mut self.queues, bucket);
        }
        if self.is_over_limit() {
            self.steal(context.sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, _: &mut Context<'_, S>) -> Option<Packet> {
        loop {
            let bucket = self.active.first()?;
            let Some(head) = self.queues.head(bucket) else {
                self.active.remove(&mut self.queues, bucket);
                continue;
            };
            let cost = self.cost(head);
            if cost <= self.queues.deficit(bucket) {
                self.queues.add_deficit(bucket, -cost);
                let packet = self.queues.pop_head(bucket);
                if self.queues.head(bucket).is_none() {
                    self.active.remove(&mut self.queues, bucket);
                }
                return packet;
            }
            self.queues.add_deficit(bucket, self.quantum);
            self.active.rotate(&mut self.queues);
        }
    }

    #[inline]
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        if self.queues.backlog().packets == 0 { None } else { self.dequeue(context) }
    }

    fn head(&self) -> Option<&Packet> {
        let next = self.active.next_ready(&self.queues, self.quantum, |head| self.cost(head));
        next.and_then(|(_, bucket)| self.queues.head(bucket))
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }
    fn has_timer(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error, fair_in_random_traffic};
    use super::*;

    /// The example of the paper's figures: a quantum of 500, and a first flow with packets of 200, 750 and 20, whose 750 wait
    /// for the second round and use the 300 left from the first round.
    #[test]
    fn unused_deficit_is_kept_for_the_next_turn() {
        let mut bench = Bench::new("drr:overhead=0:quantum=500b");
        bench.enqueue_flow(1, 0, &[200, 750, 20]);
        bench.enqueue_flow(2, 0, &[500, 500]);
        assert_eq!(bench.dequeue_many(0, 9), [0, 3, 1, 2, 4]);
    }

    #[test]
    fn an_emptied_flow_loses_its_deficit() {
        let mut bench = Bench::new("drr:overhead=0:quantum=500b");
        bench.enqueue_flow(1, 0, &[100]);
        bench.enqueue_flow(2, 0, &[600]);
        assert_eq!(bench.dequeue(0), Some(0));
        bench.enqueue_flow(1, 0, &[600]);
        // Flow 2 has used 500 by then and sends its 600 in the second turn; so does flow 1, whose 400 have left.
        assert_eq!(bench.dequeue_many(0, 9), [1, 2]);
    }

    #[test]
    fn bytes_are_shared_equally_whatever_the_sizes() {
        for quantum in [1, 100, 1500, 4000] {
            let mut bench = Bench::new(&format!("drr:overhead=0:quantum={quantum}b:limit=100000"));
            bench.enqueue_flow(1, 0, &[1500; 400]);
            bench.enqueue_flow(2, 0, &[100; 6000]);
            let mut bytes = [0i64; 2];
            for handle in bench.dequeue_many(0, 3000) {
                bytes[usize::from(handle >= 400)] += if handle < 400 { 1500 } else { 100 };
                // The paper's bound on its fairness measure: a quantum and two of the largest packets.
                assert!((bytes[0] - bytes[1]).abs() <= quantum + 3000, "{bytes:?}");
            }
        }
    }

    #[test]
    fn the_longest_flow_loses_its_newest_packet() {
        let mut bench = Bench::new("drr:limit=4");
        bench.enqueue_flow(1, 0, &[1500; 3]);
        bench.enqueue_flow(2, 0, &[1500; 2]);
        assert_eq!(bench.log.dropped, [(2, LONGEST_FLOW)], "flow 1 has three");
        bench.enqueue_flow(1, 0, &[1500]);
        assert_eq!(bench.log.dropped[1], (5, LONGEST_FLOW), "and with its arrival has three again");
        bench.enqueue_flow(3, 0, &[40]);
        assert_eq!(bench.drops(LONGEST_FLOW), 3);
        assert_eq!(bench.qdisc.backlog().packets, 4);
    }

    #[test]
    fn of_equally_long_flows_the_lowest_bucket_loses() {
        let mut bench = Bench::new("drr:by=class:limit=4");
        for class in [9, 4] {
            bench.class = class;
            (0..2).for_each(|_| bench.enqueue(0, 500));
        }
        bench.class = 20;
        bench.enqueue(0, 500);
        assert_eq!(bench.log.dropped, [(3, LONGEST_FLOW)]);
    }

    #[test]
    fn enough_packets_are_dropped_for_the_bytes_and_an_oversized_arrival_itself() {
        let mut bench = Bench::new("drr:limit_bytes=1000b");
        bench.enqueue_flow(1, 0, &[300; 3]);
        bench.enqueue_flow(2, 0, &[590]);
        assert_eq!(bench.log.dropped, [(2, LONGEST_FLOW), (1, LONGEST_FLOW)]);
        bench.enqueue_flow(3, 0, &[1001]);
        assert_eq!(bench.log.dropped[2], (4, LONGEST_FLOW));
        assert_eq!(bench.dequeue_many(0, 9), [0, 3]);
    }

    #[test]
    fn a_bucket_emptied_by_stealing_keeps_its_place_and_deficit() {
        let mut bench = Bench::new("drr:overhead=0:quantum=500b:limit_bytes=1500b");
        bench.enqueue_flow(1, 0, &[100, 900]);
        assert_eq!(bench.dequeue(0), Some(0));
        // Flow 1 has 400 left in this turn, and loses its packet of 900 because flows 2 and 3 hold less each.
        bench.enqueue_flow(2, 0, &[400]);
        bench.enqueue_flow(3, 0, &[400]);
        assert_eq!(bench.log.dropped, [(1, LONGEST_FLOW)]);
        bench.enqueue_flow(1, 0, &[400]);
        assert_eq!(bench.dequeue_many(0, 9), [4, 2, 3]);
    }

    #[test]
    fn an_empty_bucket_is_passed_over_and_starts_anew() {
        let mut bench = Bench::new("drr:overhead=0:quantum=500b:limit_bytes=1000b");
        bench.enqueue_flow(1, 0, &[900]);
        bench.enqueue_flow(2, 0, &[450]);
        assert_eq!(bench.log.dropped, [(0, LONGEST_FLOW)]);
        assert_eq!(bench.qdisc.head().map(|packet| packet.handle), Some(1));
        assert_eq!(bench.dequeue_many(0, 9), [1]);
        bench.enqueue_flow(1, 0, &[500]);
        assert_eq!(bench.dequeue(0), Some(2));
    }

    #[test]
    fn depth_limits_each_bucket() {
        let mut bench = Bench::new("drr:depth=2");
        bench.enqueue_flow(1, 0, &[1500; 3]);
        bench.enqueue_flow(2, 0, &[1500; 2]);
        assert_eq!(bench.log.dropped, [(2, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.dequeue_many(0, 9), [0, 3, 1, 4]);
    }

    #[test]
    fn codepoints_and_classes_take_turns_too() {
        let mut bench = Bench::new("drr:by=dscp:quantum=100b:overhead=0");
        for dscp in [46, 46, 0] {
            (bench.dscp, bench.flow) = (dscp, bench.flow + 1);
            bench.enqueue(0, 100);
        }
        assert_eq!(bench.dequeue_many(0, 9), [0, 2, 1]);
        let mut bench = Bench::new("drr:by=class:quantum=100b:overhead=0");
        for class in [1, 257, 2] {
            bench.class = class;
            bench.enqueue(0, 100);
        }
        assert_eq!(bench.dequeue_many(0, 9), [0, 2, 1], "class 257 shares the bucket of class 1");
    }

    #[test]
    fn nothing_is_returned_before_its_turn() {
        for quantum in [1, 300, 1514, 9000] {
            fair_in_random_traffic(&format!("drr:quantum={quantum}b:limit=50"), 50);
            fair_in_random_traffic(&format!("drr:quantum={quantum}b:flows=4:limit_bytes=20kb"), 500);
        }
        assert_eq!(Bench::new("drr:limit=20").overload(2000, 2), 2000);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("drr:by=dscp:flows=64").contains("flows has no effect with by=dscp"));
        assert!(error("drr:quantum=0").contains("1b to 1mb"));
        assert!(error("drr:by=port").contains("flow, dscp, class"));
    }
}
