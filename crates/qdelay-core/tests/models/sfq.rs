//! Stochastic fairness queueing: McKenney 1990 with the byte allotments of Linux's `sch_sfq`. The longest
//! queue (in packets) loses packets at an overflow; after each period `perturb` all flows are hashed anew.

use super::{Fate, Model, Ns, Pkt, bucket, total};
use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
struct Slot {
    packets: VecDeque<Pkt>,
    allotment: i64,
}

/// Slots by number of packets, the one that reached it last in front (Linux's `dep`).
type Depths = BTreeMap<usize, Vec<u64>>;

pub struct Sfq {
    pub flows: u64,
    pub depth: usize,
    pub quantum: i64,
    /// Bytes of the frame around each packet; the quantum counts them.
    pub overhead: i64,
    pub limit: usize,
    pub headdrop: bool,
    /// Period after which the hash changes; 0 for never.
    pub perturb: Ns,
    /// True if the host reads the timer only now and then.
    pub late: bool,
    perturbation: u64,
    next: Option<Ns>,
    /// Slots that were used since the last rehash.
    slots: BTreeMap<u64, Slot>,
    depths: Depths,
    ring: VecDeque<u64>,
}

impl Sfq {
    pub fn new(limit: usize) -> Sfq {
        Sfq {
            flows: 1024,
            depth: 127,
            quantum: 1514,
            overhead: 14,
            limit,
            headdrop: false,
            perturb: 0,
            late: false,
            perturbation: 0,
            next: None,
            slots: BTreeMap::new(),
            depths: Depths::new(),
            ring: VecDeque::new(),
        }
    }

    /// Appends a packet to its slot's queue; a slot that was empty joins the ring.
    fn append(&mut self, packet: Pkt) {
        let index = bucket(packet.flow, self.perturbation, self.flows);
        let slot = self.slots.entry(index).or_default();
        slot.packets.push_back(packet);
        if !self.ring.contains(&index) {
            slot.allotment = self.quantum;
            self.ring.push_back(index);
        }
        self.relink(index);
    }

    fn is_full(&self, packet: &Pkt) -> bool {
        let index = bucket(packet.flow, self.perturbation, self.flows);
        self.slots.get(&index).is_some_and(|slot| slot.packets.len() >= self.depth)
    }

    /// Files a slot under its new length.
    fn relink(&mut self, index: u64) {
        self.depths.values_mut().for_each(|slots| slots.retain(|other| *other != index));
        self.depths.entry(self.slots[&index].packets.len()).or_default().insert(0, index);
    }

    /// The slot with the most packets; among equals, the one that reached this length last. If all have one,
    /// the next to send.
    fn longest(&self) -> u64 {
        let (most, slots) =
            self.depths.iter().rfind(|(_, slots)| !slots.is_empty()).expect("packets are queued");
        if *most == 1 { self.ring[0] } else { slots[0] }
    }

    fn drop_from_longest(&mut self, log: &mut Vec<Fate>) {
        let index = self.longest();
        let packets = &mut self.slots.get_mut(&index).expect("it exists").packets;
        let victim = if self.headdrop { packets.pop_front() } else { packets.pop_back() };
        log.push(Fate::Drop("longest_flow", victim.expect("the longest is not empty").id));
        if packets.is_empty() {
            self.ring.retain(|i| *i != index);
        }
        self.relink(index);
    }

    /// Moves all packets to their new slots, slot by slot in the order of the ring.
    fn rehash(&mut self, perturbation: u64, log: &mut Vec<Fate>) {
        self.perturbation = perturbation;
        let mut all = Vec::new();
        for index in std::mem::take(&mut self.ring) {
            all.extend(self.slots.remove(&index).expect("it exists").packets);
        }
        self.slots.clear();
        self.depths.clear();
        for packet in all {
            if self.is_full(&packet) {
                log.push(Fate::Drop("tail_limit", packet.id));
            } else {
                self.append(packet);
            }
        }
    }
}

impl Model for Sfq {
    fn advance(&mut self, now: Ns, bits: &mut dyn FnMut() -> u64, log: &mut Vec<Fate>) {
        while let Some(next) = self.next.filter(|next| *next <= now) {
            self.rehash(bits(), log);
            self.next = Some(next + self.perturb);
            while self.late && self.next <= Some(now) {
                self.next = self.next.map(|missed| missed + self.perturb);
            }
        }
    }

    fn deadline(&self) -> Ns {
        self.next.unwrap_or(Ns::MAX)
    }

    fn is_polled_late(&self) -> bool {
        self.late
    }

    fn enqueue(&mut self, now: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.perturb > 0 && self.next.is_none() {
            self.next = Some(now + self.perturb);
        }
        if self.is_full(&packet) {
            if !self.headdrop {
                log.push(Fate::Drop("tail_limit", packet.id));
                return;
            }
            let index = bucket(packet.flow, self.perturbation, self.flows);
            let packets = &mut self.slots.get_mut(&index).expect("it is full").packets;
            log.push(Fate::Drop("head_limit", packets.pop_front().expect("it is full").id));
            packets.push_back(packet);
            return;
        }
        self.append(packet);
        if self.holds().0 > self.limit as u64 {
            self.drop_from_longest(log);
        }
    }

    fn dequeue(&mut self, _: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        loop {
            let index = *self.ring.front()?;
            let slot = self.slots.get_mut(&index).expect("a slot of the ring exists");
            if slot.allotment <= 0 {
                slot.allotment += self.quantum;
                self.ring.pop_front();
                self.ring.push_back(index);
                continue;
            }
            let packet = slot.packets.pop_front().expect("a slot of the ring is not empty");
            slot.allotment -= i64::from(packet.bytes) + self.overhead;
            if slot.packets.is_empty() {
                self.ring.pop_front();
            }
            self.relink(index);
            return Some(packet);
        }
    }

    fn holds(&self) -> (u64, u64) {
        let queues = || self.slots.values().map(|slot| &slot.packets);
        (queues().map(|queue| queue.len() as u64).sum(), queues().map(total).sum())
    }

    fn head(&self) -> Option<Pkt> {
        let mut ring: VecDeque<(&Slot, i64)> =
            self.ring.iter().map(|i| &self.slots[i]).map(|slot| (slot, slot.allotment)).collect();
        loop {
            let (slot, allotment) = ring.pop_front()?;
            if allotment > 0 {
                return slot.packets.front().copied();
            }
            ring.push_back((slot, allotment + self.quantum));
        }
    }
}
