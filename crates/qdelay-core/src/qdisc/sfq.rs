//! SFQ, stochastic fairness queueing: flows hashed to queues that take turns; when full, the longest loses a
//! packet.
//!
//! Source: P. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990 (hashing, perturbation, buffer
//! stealing), in the form of Linux `net/sched/sch_sfq.c` (`sfq_enqueue`, `sfq_dequeue`, `sfq_drop`,
//! `sfq_rehash`), without its RED.
//!
//! A bucket that gets its first packet joins the end of the ring with an allotment of `quantum`. The first
//! bucket sends while its allotment is above zero, which the last packet may overdraw; then it gets another
//! quantum and moves to the end. An empty bucket leaves the ring at once.
//!
//! Parameters:
//! * `flows`: number of buckets (1024, Linux's divisor).
//! * `quantum`: bytes per turn (1514); `overhead`: bytes by which a packet counts as more than its IP bytes
//!   (14, an Ethernet header, which is part of the 1514).
//! * `depth`: packets a bucket may hold (127); an arrival beyond is dropped, or with `headdrop` the bucket's
//!   oldest.
//! * `limit`: packets in all buckets (127, as in Linux); beyond it the bucket with the most packets loses its
//!   newest, or with `headdrop` its oldest. Among equally long buckets, the one that reached this length last
//!   loses a packet; if none has more than one packet, the next to be served.
//! * `perturb`: period after which the hash changes, and queued packets are moved to their new buckets (0:
//!   never).
//!
//! Cost: constant per packet if `quantum` is a full packet. A drop costs a few times log2(buckets) steps, and
//! a perturbation visits all queued packets, once per `perturb`.
//!
//! Differences from the reference:
//! * McKenney's queues take turns by packets; here and in Linux, by bytes.
//! * Linux: the allotment is counted in bytes; older kernels count units of 8, rounded up.
//! * Linux: any number of buckets up to `flows` may be active; the kernel has a table of `flows` (128) active
//!   ones beside its divisor and drops an arrival that finds no free slot.
//! * Linux: a perturbation moves packets in the order of the ring; the kernel in the order of its slots.
//! * Linux: `limit` may exceed the capacity `flows` times `depth`; the kernel lowers it.
//! * The hash is over [`Packet::flow`] (`qdisc/flow_hash.rs`), the first one unseeded. There are no filters.

use super::flow_hash::{self, FLOWS};
use super::flow_queues::{FlowList, FlowQueues, LONGEST_FLOW, Measure, OVERHEAD, QUANTUM};
use super::limits::LIMIT;
use super::{Backlog, Qdisc};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink, Span, Time};
use alloc::format;
use alloc::vec::Vec;

pub(super) const DEPTH: Typed<u64> = Typed::new("depth", "127", "most packets in one bucket")
    .unit(Unit::Count("packets"))
    .within("1", "65535")
    .source("Linux sfq (SFQ_MAX_DEPTH)");
pub(super) const HEADDROP: Typed<bool> =
    Typed::new("headdrop", "off", "drop a bucket's oldest packet in place of its newest")
        .source("Linux sfq (headdrop)");
pub(super) const PERTURB: Typed<Span> =
    Typed::new("perturb", "0", "period after which the hash changes; 0 for never")
        .within("0", "1000s")
        .source("McKenney, INFOCOM 1990; Linux sfq (perturb 0)");

/// Declaration of `sfq` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "sfq",
    "hashed flows take turns; when full the flow with the most packets loses one",
)
.source("McKenney, INFOCOM 1990; Linux sch_sfq.c")
.classifies("flow")
.with(&[
    FLOWS.parameter(),
    DEPTH.parameter(),
    QUANTUM.parameter(),
    OVERHEAD.parameter(),
    HEADDROP.parameter(),
    PERTURB.parameter(),
    LIMIT.with_default("127").within("1", "65536").source("Linux sfq (SFQ_MAX_DEPTH)").parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, DropReason::HEAD_LIMIT, LONGEST_FLOW];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The parameters of SFQ; [`SfqParameters::default`] are Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfqParameters {
    /// Number of buckets, 1 to 65536.
    pub flows: u32,
    /// Most packets in one bucket, at least 1.
    pub depth: u64,
    /// Bytes that a bucket may send in its turn, at least 1.
    pub quantum: u32,
    /// Bytes that each packet counts in addition to its IP bytes.
    pub overhead: u32,
    /// Most packets in all buckets, at least 1.
    pub limit: u64,
    /// Drop the oldest packet of a bucket instead of the newest.
    pub headdrop: bool,
    /// Period after which the hash changes; [`Span::ZERO`] for never.
    pub perturb: Span,
}

fn parameters(arguments: &Arguments) -> SfqParameters {
    SfqParameters {
        flows: arguments.get(&FLOWS),
        depth: arguments.get(&DEPTH),
        quantum: arguments.get(&QUANTUM),
        overhead: arguments.get(&OVERHEAD),
        limit: arguments.get(&LIMIT),
        headdrop: arguments.get(&HEADDROP),
        perturb: arguments.get(&PERTURB),
    }
}

impl Default for SfqParameters {
    fn default() -> SfqParameters {
        parameters(&Arguments::defaults(&COMPONENT))
    }
}

/// The SFQ discipline.
#[derive(Clone, Debug)]
pub struct Sfq {
    queues: FlowQueues,
    ring: FlowList,
    parameters: SfqParameters,
    perturbation: u64,
    /// Time of the next change of the hash; `Time::NEVER` if the hash does not change, and before the first
    /// packet.
    deadline: Time,
    /// Temporary store of the packets being moved; kept for its allocation.
    moving: Vec<Packet>,
}

impl Sfq {
    /// Empty buckets.
    pub fn new(parameters: SfqParameters) -> Sfq {
        Sfq {
            queues: FlowQueues::new(parameters.flows.max(1), Measure::Packets),
            ring: FlowList::new(),
            parameters,
            perturbation: 0,
            deadline: Time::NEVER,
            moving: Vec::new(),
        }
    }

    /// The queue that `arguments` describe.
    ///
    /// # Errors
    /// A `perturb` above 0 and below 1 us.
    pub fn build(arguments: &Arguments) -> Result<Sfq, ComponentError> {
        let perturb = arguments.get(&PERTURB);
        if !perturb.is_zero() && perturb < Span::from_micros(1) {
            return Err(arguments
                .fail(format!("perturb {perturb} is above 0 and below 1us; expected 0, or 1us and more")));
        }
        Ok(Sfq::new(parameters(arguments)))
    }

    #[inline]
    fn bucket(&self, packet: &Packet) -> u32 {
        flow_hash::bucket(packet.flow, self.perturbation, self.queues.len())
    }

    #[inline]
    fn quantum(&self) -> i64 {
        i64::from(self.parameters.quantum.max(1))
    }

    #[inline]
    fn is_at_depth(&self, bucket: u32) -> bool {
        self.queues.backlog_of(bucket).packets >= self.parameters.depth.max(1)
    }

    /// Appends a packet to the bucket, and the bucket to the ring if it is not in it.
    #[inline]
    fn append(&mut self, bucket: u32, packet: Packet) {
        self.queues.push(bucket, packet);
        if !self.queues.is_listed(bucket) {
            self.queues.set_deficit(bucket, self.quantum());
            self.ring.push(&mut self.queues, bucket);
        }
    }

    #[inline]
    fn leave_if_empty(&mut self, bucket: u32) {
        if self.queues.head(bucket).is_none() {
            self.ring.remove(&mut self.queues, bucket);
        }
    }

    /// Handles an arrival at a full bucket: drops the arrival, or with `headdrop` the bucket's oldest packet.
    #[cold]
    fn refuse<S: Sink>(&mut self, bucket: u32, packet: Packet, sink: &mut S) {
        if !self.parameters.headdrop {
            sink.dropped(&packet, DropReason::TAIL_LIMIT);
        } else if let Some(oldest) = self.queues.replace_head(bucket, packet) {
            sink.dropped(&oldest, DropReason::HEAD_LIMIT);
        }
    }

    /// Drops one packet of the bucket with the most packets.
    #[cold]
    fn drop_from_longest<S: Sink>(&mut self, sink: &mut S) {
        let mut longest = self.queues.longest();
        if self.queues.backlog_of(longest).packets == 1 {
            longest = self.ring.first().unwrap_or(longest);
        }
        let packet = match self.parameters.headdrop {
            true => self.queues.pop_head(longest),
            false => self.queues.pop_tail(longest),
        };
        if let Some(packet) = packet {
            sink.dropped(&packet, LONGEST_FLOW);
            self.leave_if_empty(longest);
        }
    }

    /// Removes all packets in the order of the ring and stores them in the buckets of the new hash.
    fn rehash<S: Sink>(&mut self, sink: &mut S) {
        let mut moving = core::mem::take(&mut self.moving);
        while let Some(bucket) = self.ring.first() {
            while let Some(packet) = self.queues.pop_head(bucket) {
                moving.push(packet);
            }
            self.ring.remove(&mut self.queues, bucket);
        }
        for packet in moving.drain(..) {
            let bucket = self.bucket(&packet);
            if self.is_at_depth(bucket) {
                sink.dropped(&packet, DropReason::TAIL_LIMIT);
            } else {
                self.append(bucket, packet);
            }
        }
        self.moving = moving;
    }
}

impl Qdisc for Sfq {
    #[inline]
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        if self.deadline == Time::NEVER && !self.parameters.perturb.is_zero() {
            self.deadline = context.now + self.parameters.perturb;
        }
        let bucket = self.bucket(&packet);
        if self.is_at_depth(bucket) {
            return self.refuse(bucket, packet, context.sink);
        }
        self.append(bucket, packet);
        if self.queues.backlog().packets > self.parameters.limit {
            self.drop_from_longest(context.sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, _: &mut Context<'_, S>) -> Option<Packet> {
        loop {
            let bucket = self.ring.first()?;
            if self.queues.deficit(bucket) > 0 {
                let packet = self.queues.pop_head(bucket)?;
                let cost = i64::from(packet.bytes) + i64::from(self.parameters.overhead);
                self.queues.add_deficit(bucket, -cost);
                self.leave_if_empty(bucket);
                return Some(packet);
            }
            self.queues.add_deficit(bucket, self.quantum());
            self.ring.rotate(&mut self.queues);
        }
    }

    #[inline]
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.dequeue(context)
    }

    fn head(&self) -> Option<&Packet> {
        let next = self.ring.next_ready(&self.queues, self.quantum(), |_| 1);
        next.and_then(|(_, bucket)| self.queues.head(bucket))
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }
    #[inline]
    fn next_deadline(&self) -> Time {
        self.deadline
    }
    fn has_timer(&self) -> bool {
        !self.parameters.perturb.is_zero()
    }
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        if self.deadline == Time::NEVER || context.now < self.deadline {
            return;
        }
        let period = self.parameters.perturb;
        let missed = context.now.since(self.deadline).as_nanos() / period.as_nanos().max(1);
        self.deadline += period * (missed + 1);
        self.perturbation = context.random.bits();
        self.rehash(context.sink);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, at, error, fair_in_random_traffic};
    use super::*;

    #[test]
    fn a_turn_is_a_quantum_of_bytes_and_is_overdrawn_by_the_last_packet() {
        let mut bench = Bench::new("sfq:quantum=1000b:overhead=0");
        bench.enqueue_flow(1, 0, &[400; 8]);
        bench.enqueue_flow(2, 0, &[1000; 3]);
        assert_eq!(bench.qdisc.head().map(|packet| packet.handle), Some(0));
        // Deficits: flow 1 has 1000 - 3 * 400 = -200, flow 2 has 1000 - 1000 = 0. Then flow 1 has 800 and
        // sends two; flow 2 has 1000 and sends one. Then flow 1 has 1000 again.
        assert_eq!(bench.dequeue_many(0, 11), [0, 1, 2, 8, 3, 4, 9, 5, 6, 7, 10]);
    }

    #[test]
    fn a_new_flow_waits_for_the_others_and_comes_back_with_a_full_quantum() {
        let mut bench = Bench::new("sfq:quantum=500b:overhead=0");
        bench.enqueue_flow(1, 0, &[500; 3]);
        bench.enqueue_flow(2, 0, &[400]);
        assert_eq!(bench.dequeue_many(0, 2), [0, 3]);
        bench.enqueue_flow(2, 0, &[400; 3]);
        assert_eq!(
            bench.dequeue_many(0, 9),
            [1, 4, 5, 2, 6],
            "it left the ring, so the 100 are no help: 500 again"
        );
    }

    #[test]
    fn a_full_bucket_drops_the_arrival_or_its_oldest() {
        for (headdrop, lost, left) in
            [("off", (2, DropReason::TAIL_LIMIT), [0, 3, 1]), ("on", (0, DropReason::HEAD_LIMIT), [1, 3, 2])]
        {
            let mut bench = Bench::new(&format!("sfq:depth=2:headdrop={headdrop}:quantum=1000b:overhead=0"));
            bench.enqueue_flow(1, 0, &[1000; 3]);
            assert_eq!(bench.qdisc.backlog(), Backlog { packets: 2, bytes: 2000 });
            bench.enqueue_flow(2, 0, &[1000]);
            assert_eq!(bench.log.dropped, [lost]);
            assert_eq!(bench.dequeue_many(0, 9), left);
        }
    }

    #[test]
    fn the_bucket_with_the_most_packets_makes_room() {
        for (headdrop, lost) in [("off", 5), ("on", 3)] {
            let mut bench = Bench::new(&format!("sfq:limit=5:headdrop={headdrop}"));
            bench.enqueue_flow(1, 0, &[40; 3]);
            bench.enqueue_flow(2, 0, &[1500; 3]);
            assert_eq!(
                bench.drops(LONGEST_FLOW),
                1,
                "as many packets each: the one that came to that last loses"
            );
            bench.enqueue_flow(1, 0, &[40]);
            assert_eq!(bench.drops(LONGEST_FLOW), 2);
            assert_eq!(bench.qdisc.backlog().packets, 5);
            assert_eq!(bench.log.dropped[0].0, lost);
        }
    }

    #[test]
    fn a_bucket_that_loses_its_only_packet_leaves_the_ring() {
        let mut bench = Bench::new("sfq:limit=2");
        let mut flows = [1, 2, 3];
        flows.sort_by_key(|flow| flow_hash::bucket(*flow, 0, 1024));
        bench.enqueue_flow(flows[0], 0, &[100]);
        bench.enqueue_flow(flows[1], 0, &[100]);
        bench.enqueue_flow(flows[2], 0, &[100]);
        assert_eq!(bench.log.dropped, [(0, LONGEST_FLOW)]);
        assert_eq!(bench.dequeue(0), Some(1));
        bench.enqueue_flow(flows[0], 0, &[100]);
        assert_eq!(bench.dequeue_many(0, 9), [2, 3], "behind, not in its old place");
    }

    #[test]
    fn the_timer_starts_with_the_first_packet_and_catches_up_in_one_step() {
        let mut bench = Bench::new("sfq:perturb=10s");
        assert!(bench.qdisc.has_timer() && !Bench::new("sfq").qdisc.has_timer());
        bench.poll(50_000);
        assert_eq!(bench.qdisc.next_deadline(), Time::NEVER);
        bench.enqueue(51_000, 100);
        bench.dequeue(51_000);
        assert_eq!(bench.qdisc.next_deadline(), at(61_000));
        let mut untouched = bench.random.clone();
        bench.poll(60_999);
        assert_eq!(bench.qdisc.next_deadline(), at(61_000), "early");
        bench.poll(61_000);
        assert_eq!(bench.qdisc.next_deadline(), at(71_000));
        bench.poll(91_000);
        assert_eq!(bench.qdisc.next_deadline(), at(101_000));
        let draws = [untouched.bits(), untouched.bits(), untouched.bits()];
        assert_eq!(bench.random.bits(), draws[2], "one draw for each");
    }

    /// Two flows in one bucket are separated, keep their order, and join the ring in the order in which they
    /// are visited.
    #[test]
    fn a_perturbation_moves_queued_packets() {
        let mut bench = Bench::new("sfq:flows=2:perturb=1s:quantum=100b:overhead=0");
        let other = (1..).find(|flow| flow_hash::bucket(*flow, 0, 2) == 0).unwrap();
        for flow in [0, other, 0, other] {
            bench.enqueue_flow(flow, 0, &[100]);
        }
        let is_parted = |random: &mut crate::Random| {
            let perturbation = random.bits();
            flow_hash::bucket(0, perturbation, 2) != flow_hash::bucket(other, perturbation, 2)
        };
        let mut random = bench.random.clone();
        let seconds = (1..).find(|_| is_parted(&mut random)).unwrap();
        (1..=seconds).for_each(|second| bench.poll(1000 * second));
        assert_eq!(bench.qdisc.backlog(), Backlog { packets: 4, bytes: 400 });
        bench.enqueue_flow(0, 1000 * seconds, &[100]);
        assert_eq!(bench.dequeue_many(1000 * seconds, 9), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_moved_packet_is_dropped_at_a_full_bucket() {
        let mut bench = Bench::new("sfq:flows=2:depth=2:perturb=1s");
        let other = (1..).find(|flow| flow_hash::bucket(*flow, 0, 2) == 1).unwrap();
        bench.enqueue_flow(0, 0, &[100; 2]);
        bench.enqueue_flow(other, 0, &[100; 2]);
        let mut second = 0;
        while bench.log.dropped.is_empty() {
            second += 1;
            bench.poll(1000 * second);
        }
        assert_eq!(bench.log.dropped, [(2, DropReason::TAIL_LIMIT), (3, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.dequeue_many(1000 * second, 9), [0, 1]);
    }

    #[test]
    fn nothing_is_returned_before_its_turn() {
        for quantum in [1, 300, 1514, 9000] {
            fair_in_random_traffic(&format!("sfq:quantum={quantum}b:limit=60"), 60);
            fair_in_random_traffic(&format!("sfq:quantum={quantum}b:flows=4:depth=30:headdrop=on"), 127);
            fair_in_random_traffic(&format!("sfq:quantum={quantum}b:flows=16:limit=100:perturb=50ms"), 100);
        }
        assert_eq!(Bench::new("sfq:limit=20").overload(2000, 2), 2000);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("sfq:perturb=1ns").contains("perturb 1ns is above 0 and below 1us"));
        assert!(error("sfq:limit=65537").contains("1 to 65536"));
        assert!(error("sfq:depth=0").contains("1 to 65535"));
    }
}
