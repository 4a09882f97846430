//! FQ-CoDel: flows hashed to queues that take turns, new ones first, with a CoDel for each.
//!
//! Source: RFC 8290 section 4 (enqueue 4.1, dequeue 4.2) and Linux `net/sched/sch_fq_codel.c`
//! (`fq_codel_enqueue`, `fq_codel_dequeue`, `fq_codel_drop`) for the points that the RFC leaves open. The law
//! is [`crate::aqm::Codel`].
//!
//! A bucket that becomes active joins the *new* list with a deficit of `quantum`. Dequeue takes the first
//! bucket of the new list, or of the *old* one if the new list is empty. A bucket whose deficit is used up
//! gets another quantum and moves to the end of the old list; otherwise its CoDel dequeues packets until it
//! forwards one, whose bytes are subtracted from the deficit. A bucket found empty leaves its list, but one
//! in the new list moves to the old list first, so that a flow that sends a packet now and then cannot starve
//! the others.
//!
//! Parameters:
//! * `flows`: number of buckets (1024, section 5.2.5).
//! * `quantum`: bytes per turn (1514, section 5.2.4); `overhead`: bytes by which a packet counts as more than
//!   its IP bytes (14, an Ethernet header, which is part of the 1514).
//! * `target`, `interval`, `ecn` (on, section 5.2.6), `ce_threshold`, `mtu`, `variant`: CoDel's.
//! * `limit`: packets in all buckets (10240, section 5.2.3); `memory`: bytes in all buckets (32 MB).
//! * `drop_batch`: when either limit is exceeded, half of the bytes of the longest bucket are dropped from
//!   its head, but no more than this many packets (64, section 4.1).
//!
//! Cost: a packet touches its bucket, its entry in the pool and one law; [`Qdisc::head`] reads one or two
//! buckets if the quantum is a full packet. The longest bucket is found by a tournament, not by a scan.
//!
//! Differences from the reference:
//! * `memory` and the size of a bucket are counted in IP bytes. Linux counts the kernel's buffers for the
//!   former and frames for the latter, and its 32 MB are 2^25 bytes.
//! * RFC: no packet is dropped while at most `mtu` bytes remain in all buckets together, as in Linux; the
//!   RFC's CoDel considers only its own queue.
//! * RFC: a batch also raises that CoDel's count of drops, as in Linux since 4.16.
//! * The hash is over [`Packet::flow`] (`qdisc/flow_hash.rs`) and its seed does not change; Linux hashes the
//!   addresses and ports with a seed drawn at boot. There are no filters.
//! * Of two buckets of equal size the lower is taken, as in Linux. An empty bucket is never taken.
//! * `variant=linux` is [`crate::aqm::Codel`]'s, with the differences listed there.

use super::flow_hash::{self, FLOWS};
use super::flow_queues::{FlowList, FlowQueues, LONGEST_FLOW, Measure, OVERHEAD, QUANTUM};
use super::limits::{LIMIT, MTU};
use super::{Backlog, Limit, Qdisc, codel};
use crate::aqm::{self, CodelParameters, Verdict};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink};
use alloc::vec;
use alloc::vec::Vec;

const VARIANT: Typed<str> =
    Typed::new("variant", "rfc", "arithmetic of CoDel: of the RFC or of the Linux kernel")
        .unit(Unit::Choice(&["rfc", "linux"]))
        .source("RFC 8289 section 5");
pub(super) const DROP_BATCH: Typed<u32> = Typed::new(
    "drop_batch",
    "64",
    "most packets dropped at once from the longest bucket when a limit is exceeded",
)
.unit(Unit::Count("packets"))
.within("1", "1000")
.source("RFC 8290 section 4.1; Linux fq_codel (drop_batch)");
pub(super) const MEMORY: Typed<u64> =
    Typed::new("memory", "32mb", "most bytes queued (IP bytes); 0 for no limit")
        .unit(Unit::Bytes)
        .within("0", "")
        .source("Linux fq_codel (memory_limit)");

/// Declaration of `fq_codel` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "fq_codel",
    "flows take turns by bytes, new ones first, each under its own CoDel; a full queue drops from the longest flow",
)
.source("RFC 8290; Linux sch_fq_codel.c")
.classifies("flow")
.with(&[
    FLOWS.parameter(),
    QUANTUM
        .within("256b", "1mb")
        .source("RFC 8290 section 5.2.4; Linux fq_codel (the MTU and an Ethernet header, at least 256)")
        .parameter(),
    OVERHEAD.parameter(),
    codel::TARGET
        .about("acceptable standing sojourn in a bucket")
        .source("RFC 8290 section 5.2.2")
        .parameter(),
    codel::INTERVAL.source("RFC 8290 section 5.2.1").parameter(),
    codel::ECN
        .with_default("on")
        .about("mark ECN-capable packets where CoDel drops others")
        .source("RFC 8290 section 5.2.6")
        .parameter(),
    codel::CE_THRESHOLD.source("RFC 8290 section 5.2.7").parameter(),
    VARIANT.parameter(),
    DROP_BATCH.parameter(),
    MEMORY.parameter(),
    MTU.about("size of a full packet (IP bytes); nothing is dropped at a backlog of at most one").parameter(),
    LIMIT.with_default("10240").source("RFC 8290 section 5.2.3").parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[LONGEST_FLOW, aqm::Codel::DROP];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[aqm::Codel::MARK, aqm::Codel::CE_THRESHOLD];

/// The parameters of FQ-CoDel; [`FqCodelParameters::default`] are the RFC's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelParameters {
    /// Number of buckets, 1 to 65536.
    pub flows: u32,
    /// Bytes that a bucket may send in its turn, at least 1.
    pub quantum: u32,
    /// Bytes that each packet counts in addition to its IP bytes.
    pub overhead: u32,
    /// Limit of all buckets together.
    pub limit: Limit,
    /// Most packets dropped at once, at least 1.
    pub drop_batch: u32,
    /// Parameters of every bucket's CoDel.
    pub codel: CodelParameters,
}

/// The parameters in `arguments`.
///
/// # Errors
/// A target longer than the interval.
fn parameters(arguments: &Arguments) -> Result<FqCodelParameters, ComponentError> {
    let memory = arguments.get(&MEMORY);
    Ok(FqCodelParameters {
        flows: arguments.get(&FLOWS),
        quantum: arguments.get(&QUANTUM),
        overhead: arguments.get(&OVERHEAD),
        limit: Limit { packets: arguments.get(&LIMIT), bytes: if memory == 0 { u64::MAX } else { memory } },
        drop_batch: arguments.get(&DROP_BATCH),
        codel: codel::parameters(arguments)?,
    })
}

impl Default for FqCodelParameters {
    fn default() -> FqCodelParameters {
        parameters(&Arguments::defaults(&COMPONENT)).expect("the target is not longer than the interval")
    }
}

/// The FQ-CoDel discipline.
#[derive(Clone, Debug)]
pub struct FqCodel {
    queues: FlowQueues,
    /// The law of each bucket.
    laws: Vec<aqm::Codel>,
    new_flows: FlowList,
    old_flows: FlowList,
    quantum: i64,
    overhead: i64,
    limit: Limit,
    drop_batch: u32,
}

impl FqCodel {
    /// Empty buckets. `flows` of 0 counts as 1.
    pub fn new(parameters: FqCodelParameters) -> FqCodel {
        let flows = parameters.flows.max(1);
        FqCodel {
            queues: FlowQueues::new(flows, Measure::Bytes),
            laws: vec![aqm::Codel::new(parameters.codel); flows as usize],
            new_flows: FlowList::new(),
            old_flows: FlowList::new(),
            quantum: i64::from(parameters.quantum.max(1)),
            overhead: i64::from(parameters.overhead),
            limit: parameters.limit,
            drop_batch: parameters.drop_batch.max(1),
        }
    }

    /// The queue that `arguments` describe.
    ///
    /// # Errors
    /// A target longer than the interval.
    pub fn build(arguments: &Arguments) -> Result<FqCodel, ComponentError> {
        Ok(FqCodel::new(parameters(arguments)?))
    }

    /// Drops half of the bytes of the largest bucket, from its head, but at most one batch of packets.
    #[cold]
    fn drop_batch<S: Sink>(&mut self, sink: &mut S) {
        let bucket = self.queues.longest();
        let half = self.queues.backlog_of(bucket).bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = self.queues.pop_head(bucket) {
            sink.dropped(&packet, LONGEST_FLOW);
            packets += 1;
            bytes += u64::from(packet.bytes);
            if packets == self.drop_batch || bytes >= half {
                break;
            }
        }
        self.laws[bucket as usize].host_dropped(packets);
    }

    /// Dequeues packets from one bucket until its law forwards one.
    #[inline]
    fn dequeue_from<S: Sink>(&mut self, bucket: u32, context: &mut Context<'_, S>) -> Option<Packet> {
        let law = &mut self.laws[bucket as usize];
        loop {
            let Some(mut packet) = self.queues.pop_head(bucket) else {
                law.emptied();
                return None;
            };
            let sojourn = context.now.since(packet.arrival);
            match law.decide(sojourn, context.now, self.queues.backlog().bytes, packet.ecn) {
                Verdict::Forward => return Some(packet),
                Verdict::Mark(reason) => {
                    context.mark(&mut packet, reason);
                    return Some(packet);
                }
                Verdict::Drop => context.sink.dropped(&packet, aqm::Codel::DROP),
            }
        }
    }

    /// The first bucket of the new list (with `true`) or, where that is empty, of the old list (with
    /// `false`).
    #[inline]
    fn first(&self) -> Option<(u32, bool)> {
        match self.new_flows.first() {
            Some(bucket) => Some((bucket, true)),
            None => self.old_flows.first().map(|bucket| (bucket, false)),
        }
    }

    /// Moves the first bucket to the end of the old list.
    #[inline]
    fn move_to_old(&mut self, bucket: u32, is_new: bool) {
        if is_new {
            self.new_flows.remove(&mut self.queues, bucket);
            self.old_flows.push(&mut self.queues, bucket);
        } else {
            self.old_flows.rotate(&mut self.queues);
        }
    }
}

impl Qdisc for FqCodel {
    #[inline]
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        let bucket = flow_hash::bucket(packet.flow, 0, self.queues.len());
        self.queues.push(bucket, packet);
        if !self.queues.is_listed(bucket) {
            self.queues.set_deficit(bucket, self.quantum);
            self.new_flows.push(&mut self.queues, bucket);
        }
        let backlog = self.queues.backlog();
        if backlog.packets > self.limit.packets || backlog.bytes > self.limit.bytes {
            self.drop_batch(context.sink);
        }
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        loop {
            let (bucket, is_new) = self.first()?;
            if self.queues.deficit(bucket) <= 0 {
                self.queues.add_deficit(bucket, self.quantum);
                self.move_to_old(bucket, is_new);
            } else if let Some(packet) = self.dequeue_from(bucket, context) {
                self.queues.add_deficit(bucket, -i64::from(packet.bytes) - self.overhead);
                return Some(packet);
            } else if is_new && !self.old_flows.is_empty() {
                self.move_to_old(bucket, is_new);
            } else if is_new {
                self.new_flows.remove(&mut self.queues, bucket);
            } else {
                self.old_flows.remove(&mut self.queues, bucket);
            }
        }
    }

    #[inline]
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        if self.queues.backlog().packets == 0 { None } else { self.dequeue(context) }
    }

    fn head(&self) -> Option<&Packet> {
        if self.queues.backlog().packets == 0 {
            return None;
        }
        let ready = |list: &FlowList| list.next_ready(&self.queues, self.quantum, |_| 1);
        let bucket = match ready(&self.new_flows) {
            Some((0, bucket)) => bucket,
            // A new bucket is behind all old ones after its first turn.
            new => match (new, ready(&self.old_flows)) {
                (Some((turns, bucket)), Some((old_turns, _))) if turns <= old_turns => bucket,
                (_, Some((_, bucket))) => bucket,
                (new, None) => new?.1,
            },
        };
        self.queues.head(bucket)
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
    use crate::Ecn;
    use alloc::string::String;

    /// Flows 0 to 9 are in separate buckets, in the same order.
    #[test]
    fn the_flows_of_these_tests_do_not_collide() {
        let mut buckets: Vec<u32> = (0..10).map(|flow| flow_hash::bucket(flow, 0, 1024)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        assert_eq!(buckets.len(), 10);
    }

    #[test]
    fn a_new_flow_is_served_before_old_ones() {
        let mut bench = Bench::new("fq_codel");
        bench.enqueue_flow(1, 0, &[1500; 4]);
        assert_eq!(bench.dequeue_many(0, 2), [0, 1]);
        bench.enqueue_flow(2, 0, &[100; 2]);
        assert_eq!(bench.qdisc.head().map(|packet| packet.handle), Some(4));
        assert_eq!(bench.dequeue_many(0, 5), [4, 5, 2, 3]);
    }

    #[test]
    fn a_turn_is_a_quantum_of_bytes_and_is_overdrawn_by_the_last_packet() {
        let mut bench = Bench::new("fq_codel:quantum=1000b:overhead=0");
        bench.enqueue_flow(1, 0, &[400; 8]);
        bench.enqueue_flow(2, 0, &[1000; 3]);
        // Deficits: flow 1 has 1000 - 3 * 400 = -200, flow 2 has 1000 - 1000 = 0. Then flow 1 has 800 and
        // sends two; flow 2 has 1000 and sends one. Then flow 1 has 1000 again.
        assert_eq!(bench.dequeue_many(0, 11), [0, 1, 2, 8, 3, 4, 9, 5, 6, 7, 10]);
    }

    #[test]
    fn an_emptied_flow_waits_for_the_old_ones_once() {
        let mut bench = Bench::new("fq_codel:overhead=0");
        bench.enqueue_flow(1, 0, &[1500; 9]);
        bench.enqueue_flow(3, 0, &[1500; 9]);
        assert_eq!(bench.dequeue_many(0, 4), [0, 1, 9, 10]);
        bench.enqueue_flow(2, 0, &[100]);
        assert_eq!(bench.dequeue(0), Some(18));
        // Found empty in the new list, flow 2 moves behind flows 1 and 3, so that its next packet does not
        // overtake again.
        assert_eq!(bench.dequeue(0), Some(2));
        bench.enqueue_flow(2, 0, &[100]);
        assert_eq!(bench.dequeue_many(0, 3), [11, 19, 3]);
        // Found empty in the old list, flow 2 has left, and is new again.
        bench.enqueue_flow(2, 0, &[100]);
        assert_eq!(bench.dequeue(0), Some(20));
    }

    #[test]
    fn a_lone_empty_bucket_leaves_the_new_list_at_once() {
        let mut bench = Bench::new("fq_codel:overhead=0");
        bench.enqueue_flow(1, 0, &[1500]);
        assert_eq!([bench.dequeue(0), bench.dequeue(0)], [Some(0), None]);
        // With the old deficit of 14 bytes flow 1 would send one packet before flow 2, not two.
        bench.enqueue_flow(1, 0, &[1500; 3]);
        bench.enqueue_flow(2, 0, &[1500]);
        assert_eq!(bench.dequeue_many(0, 9), [1, 2, 4, 3]);
    }

    #[test]
    fn only_the_late_flow_loses_packets() {
        for variant in ["rfc", "linux"] {
            let mut bench = Bench::new(&alloc::format!("fq_codel:variant={variant}"));
            bench.enqueue_flow(1, 0, &[1500; 100]);
            assert_eq!(bench.dequeue_many(10, 1), [0]);
            bench.enqueue_flow(2, 110, &[1500; 100]);
            // Flow 2 is new, and flow 1 has had its turn; by then flow 1's law has been late for an interval.
            let left = bench.dequeue_many(111, 4);
            assert_eq!(left, [100, 2, 101, 3], "{variant}");
            assert_eq!(bench.log.dropped, [(1, aqm::Codel::DROP)], "{variant}");
        }
    }

    #[test]
    fn ecn_is_on_and_marks_in_place_of_dropping() {
        let mut bench = Bench::new("fq_codel");
        bench.ecn = Ecn::Ect0;
        bench.enqueue_flow(1, 0, &[1500; 100]);
        assert_eq!([bench.dequeue(10), bench.dequeue(111)], [Some(0), Some(1)]);
        assert_eq!(bench.log.marked, [(1, aqm::Codel::MARK)]);
        let mut bench = Bench::new("fq_codel:ecn=off:ce_threshold=1ms");
        bench.ecn = Ecn::Ect0;
        bench.enqueue_flow(1, 0, &[1500; 3]);
        bench.dequeue_many(2, 3);
        assert_eq!(bench.log.marked.len(), 3);
        assert_eq!(bench.log.marked[0], (0, aqm::Codel::CE_THRESHOLD));
    }

    /// The backlog that is spared from drops is counted over all buckets: 2000 bytes of another flow suffice
    /// for a drop.
    #[test]
    fn the_spared_backlog_counts_all_flows() {
        for (others, drops) in [(0, 0), (2, 1)] {
            let mut bench = Bench::new("fq_codel:overhead=0");
            bench.enqueue_flow(1, 0, &[1500; 3]);
            bench.enqueue_flow(2, 0, &[1000; 3][..others]);
            bench.dequeue(10);
            bench.dequeue(120);
            assert_eq!(bench.drops(aqm::Codel::DROP), drops);
        }
    }

    #[test]
    fn overflow_drops_half_the_bytes_of_the_longest_flow_from_its_head() {
        let mut bench = Bench::new("fq_codel:limit=10");
        bench.enqueue_flow(1, 0, &[100; 5]);
        bench.enqueue_flow(2, 0, &[1500; 5]);
        assert!(bench.log.dropped.is_empty());
        bench.enqueue_flow(1, 0, &[100]);
        let lost = |handle| (handle, LONGEST_FLOW);
        assert_eq!(bench.log.dropped, [lost(5), lost(6), lost(7)], "4500 of 7500 bytes");
        assert_eq!(bench.qdisc.backlog(), Backlog { packets: 8, bytes: 3600 });
    }

    #[test]
    fn a_batch_is_bounded_and_there_is_one_per_arrival() {
        let mut bench = Bench::new("fq_codel:limit=10:drop_batch=2");
        bench.enqueue_flow(1, 0, &[1500; 11]);
        assert_eq!(bench.drops(LONGEST_FLOW), 2);
        let mut bench = Bench::new("fq_codel:limit=200");
        bench.enqueue_flow(1, 0, &[1500; 201]);
        assert_eq!(bench.drops(LONGEST_FLOW), 64);
    }

    #[test]
    fn memory_limits_bytes_and_zero_disables_it() {
        let mut bench = Bench::new("fq_codel:memory=3kb");
        bench.enqueue_flow(1, 0, &[1500; 2]);
        assert!(bench.log.dropped.is_empty(), "at the limit");
        bench.enqueue_flow(2, 0, &[1]);
        assert_eq!(bench.log.dropped, [(0, LONGEST_FLOW)]);
        let mut bench = Bench::new("fq_codel:memory=1b");
        bench.enqueue_flow(1, 0, &[1500]);
        assert_eq!(
            (bench.qdisc.backlog().packets, bench.dequeue(0)),
            (0, None),
            "the bucket stays in its list"
        );
        bench.enqueue_flow(1, 0, &[1]);
        assert_eq!(bench.dequeue(0), Some(1));
        let mut bench = Bench::new("fq_codel:memory=0");
        bench.enqueue_flow(1, 0, &[1_000_000_000; 100]);
        assert!(bench.log.dropped.is_empty());
    }

    #[test]
    fn of_equally_long_buckets_the_lowest_loses() {
        let mut bench = Bench::new("fq_codel:limit=4");
        let lower = |a: u32, b: u32| flow_hash::bucket(a, 0, 1024) < flow_hash::bucket(b, 0, 1024);
        let (first, second) = if lower(1, 2) { (2, 1) } else { (1, 2) };
        bench.enqueue_flow(first, 0, &[500; 2]);
        bench.enqueue_flow(second, 0, &[500; 2]);
        bench.enqueue_flow(3, 0, &[500]);
        assert_eq!(bench.log.dropped, [(2, LONGEST_FLOW)]);
    }

    #[test]
    fn nothing_is_returned_before_its_turn() {
        let slow = "target=100s:interval=100s";
        for quantum in [256, 700, 1514, 9000] {
            fair_in_random_traffic(&alloc::format!("fq_codel:quantum={quantum}b:{slow}:limit=60"), 60);
            fair_in_random_traffic(
                &alloc::format!("fq_codel:quantum={quantum}b:flows=4:limit=400:memory=30kb"),
                400,
            );
        }
        let mut bench = Bench::new("fq_codel");
        assert_eq!(bench.overload(2000, 2), 2000);
        assert!(bench.drops(aqm::Codel::DROP) > 50);
    }

    #[test]
    fn contradictions_are_refused() {
        let expected: [(&str, &str); 4] = [
            ("target=200ms", "target 200ms is longer than interval 100ms"),
            ("flows=65537", "1 to 65536"),
            ("quantum=255b", "256b to 1mb"),
            ("variant=mahimahi", "rfc, linux"),
        ];
        for (text, message) in expected {
            let error: String = error(&alloc::format!("fq_codel:{text}"));
            assert!(error.contains(message), "{error}");
        }
    }
}
