//! The packet store of the fair disciplines: many first-in first-out queues ("buckets") in one pool of
//! packets.
//!
//! A bucket is a doubly linked list through the pool, and buckets are themselves linked into the lists that
//! are served in turn. 1024 buckets always take 40 KiB. The pool grows to the largest number of packets ever
//! queued at once, and nothing is allocated after that. The entry freed last is reused first, so that a short
//! queue stays in cache.
//!
//! The longest bucket is tracked by a [`Longest`], which is created at the first query and updated with the
//! changed buckets only at the next: a queue that never overflows pays a branch per packet, and under lasting
//! overload a drop costs a few times log2(buckets) steps, with no scan of the buckets.

use super::Backlog;
use super::longest::Longest;
use crate::component::{Typed, Unit};
use crate::{DropReason, Packet};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Drop reason: the queue was full, and the packet was in the flow that held the most.
pub const LONGEST_FLOW: DropReason = DropReason::new("longest_flow");

/// `quantum`: bytes that a bucket may send in its turn.
pub(super) const QUANTUM: Typed<u32> = Typed::new(
    "quantum",
    "1514b",
    "bytes that a bucket may send in one turn, each packet counted with its overhead",
)
.unit(Unit::Bytes)
.within("1b", "1mb")
.source("Linux (the MTU and an Ethernet header)");

/// `overhead`: bytes that a packet counts in addition to its IP bytes. Linux's quantum is counted in frames, and so is the
/// size that it subtracts from a deficit: 1514 bytes are one full packet. Counted in IP bytes, 14 of them would be left for
/// the next packet.
pub(super) const OVERHEAD: Typed<u32> = Typed::new(
    "overhead",
    "14b",
    "bytes that each packet counts in a turn in addition to its IP bytes (the header of its frame)",
)
.unit(Unit::Bytes)
.within("0", "65535b")
.source("Linux qdisc_pkt_len, psched_mtu (an Ethernet header)");

/// The measure by which a bucket is the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Packets; among equals, the bucket whose number of packets changed last (Linux `sfq_link`).
    Packets,
    /// Bytes; among equals, the lowest bucket.
    Bytes,
}

/// Null index: no packet, no bucket.
const NONE: u32 = u32::MAX;

/// An entry of the pool. In the list of free entries only `next` is used.
#[derive(Clone, Debug)]
struct Place {
    packet: Packet,
    next: u32,
    previous: u32,
}

/// One queue, and its links in the list that contains the bucket.
#[derive(Clone, Debug)]
struct Bucket {
    first: u32,
    last: u32,
    packets: u32,
    next: u32,
    previous: u32,
    is_listed: bool,
    /// True if the length differs from the one stored in the tournament.
    is_changed: bool,
    bytes: u64,
    /// Number of the last change of the length.
    change: u64,
    /// Bytes that the bucket may send before its turn ends; each discipline defines the exact meaning.
    deficit: i64,
}

/// The packet store: all buckets, and the pool of their packets.
#[derive(Clone, Debug)]
pub(super) struct FlowQueues {
    buckets: Vec<Bucket>,
    pool: Vec<Place>,
    free: u32,
    total: Backlog,
    /// Number of changes of lengths so far.
    changes: u64,
    measure: Measure,
    /// The tournament, created at the first query. Boxed, so that it takes little space in a discipline that
    /// never overflows.
    longest: Option<Box<Tracked>>,
}

/// The tournament, and its pending updates.
#[derive(Clone, Debug)]
struct Tracked {
    longest: Longest,
    /// Buckets that changed since the last query, each once.
    changed: Vec<u32>,
}

impl FlowQueues {
    /// `buckets` empty queues, 1 to 65536.
    pub(super) fn new(buckets: u32, measure: Measure) -> FlowQueues {
        let empty = Bucket {
            first: NONE,
            last: NONE,
            packets: 0,
            next: NONE,
            previous: NONE,
            is_listed: false,
            is_changed: false,
            bytes: 0,
            change: 0,
            deficit: 0,
        };
        FlowQueues {
            buckets: vec![empty; buckets as usize],
            pool: Vec::new(),
            free: NONE,
            total: Backlog::default(),
            changes: 0,
            measure,
            longest: None,
        }
    }

    /// Number of buckets.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.buckets.len() as u32
    }
    /// Backlog of all buckets.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.total
    }
    /// Backlog of one bucket.
    #[inline]
    pub(super) fn backlog_of(&self, bucket: u32) -> Backlog {
        let bucket = &self.buckets[bucket as usize];
        Backlog { packets: u64::from(bucket.packets), bytes: bucket.bytes }
    }
    /// The bucket's oldest packet.
    #[inline]
    pub(super) fn head(&self, bucket: u32) -> Option<&Packet> {
        self.pool.get(self.buckets[bucket as usize].first as usize).map(|place| &place.packet)
    }
    #[inline]
    pub(super) fn deficit(&self, bucket: u32) -> i64 {
        self.buckets[bucket as usize].deficit
    }
    #[inline]
    pub(super) fn set_deficit(&mut self, bucket: u32, bytes: i64) {
        self.buckets[bucket as usize].deficit = bytes;
    }
    #[inline]
    pub(super) fn add_deficit(&mut self, bucket: u32, bytes: i64) {
        self.buckets[bucket as usize].deficit += bytes;
    }
    /// Returns true if the bucket is in a [`FlowList`].
    #[inline]
    pub(super) fn is_listed(&self, bucket: u32) -> bool {
        self.buckets[bucket as usize].is_listed
    }

    /// Appends a packet to a bucket.
    #[inline]
    pub(super) fn push(&mut self, bucket: u32, packet: Packet) {
        self.touch(bucket);
        let queue = &mut self.buckets[bucket as usize];
        let place = Place { packet, next: NONE, previous: queue.last };
        // The entry freed last is reused first, because it is still in cache.
        let index = match self.pool.get_mut(self.free as usize) {
            Some(free) => {
                let index = core::mem::replace(&mut self.free, free.next);
                *free = place;
                index
            }
            None => {
                self.pool.push(place);
                (self.pool.len() - 1) as u32
            }
        };
        match core::mem::replace(&mut queue.last, index) {
            NONE => queue.first = index,
            last => self.pool[last as usize].next = index,
        }
        self.changes += 1;
        queue.change = self.changes;
        queue.packets += 1;
        queue.bytes += u64::from(packet.bytes);
        self.total.packets += 1;
        self.total.bytes += u64::from(packet.bytes);
    }

    /// Removes a bucket's oldest packet.
    #[inline]
    pub(super) fn pop_head(&mut self, bucket: u32) -> Option<Packet> {
        let queue = &mut self.buckets[bucket as usize];
        let index = queue.first;
        let place = self.pool.get_mut(index as usize)?;
        queue.first = place.next;
        let packet = place.packet;
        place.next = core::mem::replace(&mut self.free, index);
        match queue.first {
            NONE => queue.last = NONE,
            first => self.pool[first as usize].previous = NONE,
        }
        self.left(bucket, packet.bytes);
        Some(packet)
    }

    /// Removes a bucket's newest packet.
    #[inline]
    pub(super) fn pop_tail(&mut self, bucket: u32) -> Option<Packet> {
        let queue = &mut self.buckets[bucket as usize];
        let index = queue.last;
        let place = self.pool.get_mut(index as usize)?;
        queue.last = place.previous;
        let packet = place.packet;
        place.next = core::mem::replace(&mut self.free, index);
        match queue.last {
            NONE => queue.first = NONE,
            last => self.pool[last as usize].next = NONE,
        }
        self.left(bucket, packet.bytes);
        Some(packet)
    }

    /// Removes a bucket's oldest packet and appends another; the length does not change.
    pub(super) fn replace_head(&mut self, bucket: u32, packet: Packet) -> Option<Packet> {
        let change = self.buckets[bucket as usize].change;
        let oldest = self.pop_head(bucket);
        self.push(bucket, packet);
        self.buckets[bucket as usize].change = change;
        oldest
    }

    /// The longest bucket by the measure; bucket 0 if all are empty.
    pub(super) fn longest(&mut self) -> u32 {
        let (buckets, measure) = (&mut self.buckets, self.measure);
        match &mut self.longest {
            Some(tracked) => {
                for bucket in tracked.changed.drain(..) {
                    let queue = &mut buckets[bucket as usize];
                    queue.is_changed = false;
                    tracked.longest.set(bucket, queue.length(measure));
                }
                tracked.longest.winner()
            }
            none => {
                let longest = Longest::new(buckets.iter().map(|queue| queue.length(measure)));
                let changed = Vec::with_capacity(buckets.len());
                none.insert(Box::new(Tracked { longest, changed })).longest.winner()
            }
        }
    }

    #[inline]
    fn left(&mut self, bucket: u32, bytes: u32) {
        self.touch(bucket);
        let queue = &mut self.buckets[bucket as usize];
        self.changes += 1;
        queue.change = self.changes;
        queue.packets -= 1;
        queue.bytes -= u64::from(bytes);
        self.total.packets -= 1;
        self.total.bytes -= u64::from(bytes);
    }

    /// Records that the bucket's length is about to change.
    #[inline]
    fn touch(&mut self, bucket: u32) {
        if let Some(tracked) = &mut self.longest {
            let queue = &mut self.buckets[bucket as usize];
            if !core::mem::replace(&mut queue.is_changed, true) {
                tracked.changed.push(bucket);
            }
        }
    }
}

impl Bucket {
    #[inline]
    fn length(&self, measure: Measure) -> u64 {
        match measure {
            Measure::Packets if self.packets == 0 => 0,
            // A number of packets takes at most 17 bits; the lower 46 hold the change, for ties.
            Measure::Packets => u64::from(self.packets) << 46 | self.change & ((1 << 46) - 1),
            // One more if the bucket holds any packet, so that packets of zero bytes are longer than an empty
            // bucket.
            Measure::Bytes => 2 * self.bytes + u64::from(self.packets > 0),
        }
    }
}

/// Buckets in the order of their turns. The links are in the buckets, so a bucket is in at most one list.
#[derive(Clone, Debug)]
pub(super) struct FlowList {
    first: u32,
    last: u32,
}

impl FlowList {
    pub(super) const fn new() -> FlowList {
        FlowList { first: NONE, last: NONE }
    }
    /// The bucket whose turn it is.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Appends a bucket that is in no list.
    #[inline]
    pub(super) fn push(&mut self, queues: &mut FlowQueues, bucket: u32) {
        let entry = &mut queues.buckets[bucket as usize];
        debug_assert!(!entry.is_listed);
        (entry.next, entry.previous, entry.is_listed) = (NONE, self.last, true);
        match core::mem::replace(&mut self.last, bucket) {
            NONE => self.first = bucket,
            last => queues.buckets[last as usize].next = bucket,
        }
    }

    /// Removes a bucket from this list.
    #[inline]
    pub(super) fn remove(&mut self, queues: &mut FlowQueues, bucket: u32) {
        let entry = &mut queues.buckets[bucket as usize];
        debug_assert!(entry.is_listed);
        entry.is_listed = false;
        let (next, previous) = (entry.next, entry.previous);
        match previous {
            NONE => self.first = next,
            previous => queues.buckets[previous as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => queues.buckets[next as usize].previous = previous,
        }
    }

    /// Moves the first bucket to the end.
    #[inline]
    pub(super) fn rotate(&mut self, queues: &mut FlowQueues) {
        if self.first != self.last {
            let bucket = self.first;
            self.remove(queues, bucket);
            self.push(queues, bucket);
        }
    }

    /// The bucket that sends next, if every turn that cannot begin moves its bucket to the end and credits it
    /// with `quantum`: the bucket with the fewest such turns before its deficit is at least the deficit that
    /// `needed` requires for its head, and among equals the first. Also returns that number of turns. Empty
    /// buckets are skipped.
    ///
    /// Stops at the first bucket that is ready, which is nearly always one of the first two if the quantum is
    /// a full packet; with a smaller quantum it visits more.
    #[inline]
    pub(super) fn next_ready(
        &self,
        queues: &FlowQueues,
        quantum: i64,
        needed: impl Fn(&Packet) -> i64,
    ) -> Option<(i64, u32)> {
        let mut best: Option<(i64, u32)> = None;
        let mut bucket = self.first;
        while let Some(queue) = queues.buckets.get(bucket as usize) {
            if let Some(head) = queues.head(bucket) {
                let missing = needed(head) - queue.deficit;
                if missing <= 0 {
                    return Some((0, bucket));
                }
                let turns = (missing + quantum - 1) / quantum;
                if best.is_none_or(|(fewest, _)| turns < fewest) {
                    best = Some((turns, bucket));
                }
            }
            bucket = queue.next;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use alloc::collections::VecDeque;

    fn packet(handle: u64, bytes: u32) -> Packet {
        Packet { handle, bytes, ..Packet::default() }
    }

    /// Compares the buckets with a deque each, over random operations; the pool never exceeds the largest
    /// number of queued packets.
    #[test]
    fn buckets_are_queues_and_pool_entries_are_reused() {
        for measure in [Measure::Packets, Measure::Bytes] {
            let mut random = Random::derive(1, "flow_queues", "test");
            let mut queues = FlowQueues::new(5, measure);
            let mut model: [VecDeque<Packet>; 5] = Default::default();
            let (mut lengths, mut changed) = ([0; 5], [0; 5]);
            let (mut total, mut most) = (0, 0);
            for step in 0..20_000 {
                let bucket = random.below(5) as usize;
                let taken = match random.below(4) {
                    0 => (queues.pop_head(bucket as u32), model[bucket].pop_front()),
                    1 => (queues.pop_tail(bucket as u32), model[bucket].pop_back()),
                    _ if total < 40 => {
                        let packet = packet(step, random.below(3) as u32 * 500);
                        queues.push(bucket as u32, packet);
                        model[bucket].push_back(packet);
                        (None, None)
                    }
                    _ => continue,
                };
                assert_eq!(taken.0, taken.1);
                let length = queues.backlog_of(bucket as u32).packets;
                if length != lengths[bucket] {
                    (lengths[bucket], changed[bucket]) = (length, step);
                }
                assert_eq!(queues.head(bucket as u32), model[bucket].front());
                let bytes = |queue: &VecDeque<Packet>| queue.iter().map(|p| u64::from(p.bytes)).sum::<u64>();
                total = model.iter().map(VecDeque::len).sum();
                most = most.max(total);
                let backlog = Backlog { packets: total as u64, bytes: model.iter().map(bytes).sum() };
                assert_eq!(queues.backlog(), backlog);
                if random.below(3) == 0 {
                    let length = |at: usize| match measure {
                        Measure::Packets if model[at].is_empty() => (0, 0),
                        Measure::Packets => (model[at].len() as u64, changed[at]),
                        Measure::Bytes => (bytes(&model[at]), model[at].len().min(1) as u64),
                    };
                    let longest = (0..5).map(length).max().unwrap();
                    let expected = (0..5).position(|at| length(at) == longest).unwrap();
                    assert_eq!(queues.longest() as usize, expected);
                }
            }
            assert_eq!(queues.pool.len(), most);
        }
    }

    #[test]
    fn a_packet_without_bytes_is_longer_than_an_empty_bucket() {
        let mut queues = FlowQueues::new(3, Measure::Bytes);
        queues.push(2, packet(0, 0));
        assert_eq!(queues.longest(), 2);
        queues.push(1, packet(1, 1));
        assert_eq!(queues.longest(), 1);
    }

    #[test]
    fn a_list_keeps_its_order_through_removals_and_rotations() {
        let mut queues = FlowQueues::new(4, Measure::Bytes);
        let mut list = FlowList::new();
        (0..4).for_each(|bucket| list.push(&mut queues, bucket));
        list.remove(&mut queues, 1);
        list.remove(&mut queues, 3);
        list.rotate(&mut queues);
        list.push(&mut queues, 1);
        let mut order = Vec::new();
        while let Some(bucket) = list.first() {
            list.remove(&mut queues, bucket);
            order.push(bucket);
        }
        assert_eq!(order, [2, 0, 1]);
        assert!(list.is_empty() && !queues.is_listed(2));
        list.push(&mut queues, 3);
        list.rotate(&mut queues);
        assert_eq!(list.first(), Some(3));
    }

    #[test]
    fn the_bucket_with_the_fewest_turns_sends_next_then_the_first_in_line() {
        let mut queues = FlowQueues::new(4, Measure::Bytes);
        let mut list = FlowList::new();
        let ready = |list: &FlowList, queues: &FlowQueues| list.next_ready(queues, 100, |_| 1);
        assert_eq!(ready(&list, &queues), None);
        for (bucket, deficit) in [(0, -300), (1, -100), (2, -150), (3, 5)] {
            queues.set_deficit(bucket, deficit);
            list.push(&mut queues, bucket);
        }
        assert_eq!(ready(&list, &queues), None, "all are empty");
        (0..3).for_each(|bucket| queues.push(bucket, packet(0, 1)));
        assert_eq!(ready(&list, &queues), Some((2, 1)), "-100 becomes 0, then 100, as does -150 to 50");
        queues.push(3, packet(0, 1));
        assert_eq!(ready(&list, &queues), Some((0, 3)));
    }
}
