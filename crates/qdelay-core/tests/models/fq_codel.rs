//! FQ-CoDel, RFC 8290 section 4: a queue and a CoDel for each bucket of flows, new flows before old ones,
//! deficits in bytes; at an overflow, half of the longest queue is dropped (at most a batch), as in Linux's
//! `fq_codel_drop`.

use super::codel::Codel;
use super::linux::CodelLinux;
use super::{Fate, Model, Ns, Pkt, bucket, total};
use std::collections::{BTreeMap, VecDeque};

/// The CoDel of a bucket, which holds the bucket's packets.
pub enum Law {
    Rfc(Codel),
    Linux(CodelLinux),
}

impl Law {
    fn queue(&self) -> &VecDeque<Pkt> {
        match self {
            Law::Rfc(codel) => &codel.queue,
            Law::Linux(codel) => &codel.queue,
        }
    }
    fn queue_mut(&mut self) -> &mut VecDeque<Pkt> {
        match self {
            Law::Rfc(codel) => &mut codel.queue,
            Law::Linux(codel) => &mut codel.queue,
        }
    }
    fn dequeue(&mut self, now: Ns, elsewhere: u64, log: &mut Vec<Fate>) -> Option<Pkt> {
        match self {
            Law::Rfc(codel) => {
                codel.elsewhere = elsewhere;
                codel.dequeue(now, log)
            }
            Law::Linux(codel) => {
                codel.elsewhere = elsewhere;
                codel.dequeue(now, log)
            }
        }
    }
    /// Adds the drops of an overflow to the law's count.
    fn add_to_count(&mut self, drops: u32) {
        match self {
            Law::Rfc(codel) => codel.count += drops,
            Law::Linux(codel) => codel.count += drops,
        }
    }
}

struct Bucket {
    law: Law,
    deficit: i64,
}

pub struct FqCodel {
    pub flows: u64,
    pub quantum: i64,
    /// Bytes of the frame around each packet; the quantum counts them.
    pub overhead: i64,
    pub limit: usize,
    /// Limit in bytes; 0 for none.
    pub memory: u64,
    pub drop_batch: u32,
    /// Makes a bucket's CoDel before any packet.
    pub law: Box<dyn Fn() -> Law>,
    buckets: BTreeMap<u64, Bucket>,
    new_flows: VecDeque<u64>,
    old_flows: VecDeque<u64>,
}

impl FqCodel {
    pub fn new(law: Box<dyn Fn() -> Law>) -> FqCodel {
        FqCodel {
            flows: 1024,
            quantum: 1514,
            overhead: 14,
            limit: 10240,
            memory: 32_000_000,
            drop_batch: 64,
            law,
            buckets: BTreeMap::new(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
        }
    }

    fn bytes_of(&self, index: u64) -> u64 {
        total(self.buckets[&index].law.queue())
    }

    /// The bucket with the most bytes; among equals, the one with the lowest index.
    fn fattest(&self) -> u64 {
        let mut fattest = None;
        for &index in self.buckets.keys() {
            if fattest.is_none_or(|f| self.bytes_of(index) > self.bytes_of(f)) {
                fattest = Some(index);
            }
        }
        fattest.expect("called with packets queued")
    }

    /// `fq_codel_drop`.
    fn drop_from_fattest(&mut self, log: &mut Vec<Fate>) {
        let fattest = self.fattest();
        let threshold = self.bytes_of(fattest) / 2;
        let law = &mut self.buckets.get_mut(&fattest).expect("it exists").law;
        let (mut count, mut len) = (0, 0);
        loop {
            let victim = law.queue_mut().pop_front().expect("the threshold is reached before the end");
            log.push(Fate::Drop("longest_flow", victim.id));
            count += 1;
            len += u64::from(victim.bytes);
            if count == self.drop_batch || len >= threshold {
                break;
            }
        }
        law.add_to_count(count);
    }
}

impl Model for FqCodel {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        let index = bucket(packet.flow, 0, self.flows);
        let law = &self.law;
        let bucket = self.buckets.entry(index).or_insert_with(|| Bucket { law: law(), deficit: 0 });
        bucket.law.queue_mut().push_back(packet);
        if !self.new_flows.contains(&index) && !self.old_flows.contains(&index) {
            bucket.deficit = self.quantum;
            self.new_flows.push_back(index);
        }
        let (packets, bytes) = self.holds();
        if packets > self.limit as u64 || (self.memory > 0 && bytes > self.memory) {
            self.drop_from_fattest(log);
        }
    }

    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let index = *list.front()?;
            let elsewhere = self.holds().1 - self.bytes_of(index);
            let bucket = self.buckets.get_mut(&index).expect("a listed bucket exists");
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            if bucket.deficit <= 0 {
                bucket.deficit += self.quantum;
                list.pop_front();
                self.old_flows.push_back(index);
                continue;
            }
            if let Some(packet) = bucket.law.dequeue(now, elsewhere, log) {
                bucket.deficit -= i64::from(packet.bytes) + self.overhead;
                return Some(packet);
            }
            list.pop_front();
            if is_new && !self.old_flows.is_empty() {
                self.old_flows.push_back(index);
            }
        }
    }

    fn holds(&self) -> (u64, u64) {
        let queues = || self.buckets.values().map(|bucket| bucket.law.queue());
        (queues().map(|queue| queue.len() as u64).sum(), queues().map(total).sum())
    }

    /// The first packet of the next dequeue, found over copies of the lists.
    fn head(&self) -> Option<Pkt> {
        let (mut new, mut old) = (self.new_flows.clone(), self.old_flows.clone());
        let mut deficits: BTreeMap<u64, i64> = self.buckets.iter().map(|(i, b)| (*i, b.deficit)).collect();
        loop {
            let is_new = !new.is_empty();
            let index = if is_new { new.pop_front() } else { old.pop_front() }?;
            if deficits[&index] <= 0 {
                *deficits.get_mut(&index).expect("it exists") += self.quantum;
                old.push_back(index);
            } else if let Some(first) = self.buckets[&index].law.queue().front() {
                return Some(*first);
            } else if is_new && !old.is_empty() {
                old.push_back(index);
            }
        }
    }
}
