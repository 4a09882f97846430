//! Deficit round robin, Shreedhar and Varghese 1996 section 3, with McKenney's buffer stealing (section 3.3 there):
//! where it overflows, the longest queue loses its newest packet.

use super::{Fate, Model, Ns, Pkt, Room, bucket, total};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Flow,
    Dscp,
    Class,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<Pkt>,
    deficit: u64,
    /// True if the queue has had its quantum in the present turn.
    granted: bool,
}

pub struct Drr {
    pub by: By,
    pub flows: u64,
    pub quantum: u64,
    /// Bytes of the frame around each packet; the quantum counts them.
    pub overhead: u64,
    pub room: Room,
    queues: BTreeMap<u64, Queue>,
    /// The paper's active list.
    active: VecDeque<u64>,
}

impl Drr {
    pub fn new(by: By, room: Room) -> Drr {
        Drr {
            by,
            flows: 1024,
            quantum: 1514,
            overhead: 14,
            room,
            queues: BTreeMap::new(),
            active: VecDeque::new(),
        }
    }

    fn index(&self, packet: &Pkt) -> u64 {
        match self.by {
            By::Flow => bucket(packet.flow, 0, self.flows),
            By::Dscp => u64::from(packet.dscp),
            By::Class => u64::from(packet.class) % 256,
        }
    }

    /// The queue with the most bytes; among equals, the one with the lowest index.
    fn longest(&self) -> u64 {
        let mut longest = None;
        for (&index, queue) in &self.queues {
            let bytes = total(&queue.packets);
            if longest.is_none_or(|(most, _)| bytes > most) {
                longest = Some((bytes, index));
            }
        }
        longest.expect("called with packets queued").1
    }
}

impl Model for Drr {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        let index = self.index(&packet);
        let queue = self.queues.entry(index).or_default();
        queue.packets.push_back(packet);
        if !self.active.contains(&index) {
            self.active.push_back(index);
            (queue.deficit, queue.granted) = (0, false);
        }
        loop {
            let (packets, bytes) = self.holds();
            if self.room.allows(packets as usize, bytes) {
                return;
            }
            let longest = self.longest();
            let victim = self.queues.get_mut(&longest).and_then(|queue| queue.packets.pop_back());
            log.push(Fate::Drop("longest_flow", victim.expect("the longest queue is not empty").id));
        }
    }

    fn dequeue(&mut self, _: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        loop {
            let index = *self.active.front()?;
            let queue = self.queues.get_mut(&index).expect("an active queue exists");
            let Some(first) = queue.packets.front().copied() else {
                self.active.pop_front();
                queue.deficit = 0;
                continue;
            };
            if !queue.granted {
                queue.granted = true;
                queue.deficit += self.quantum;
            }
            let frame = u64::from(first.bytes) + self.overhead;
            if frame > queue.deficit {
                queue.granted = false;
                self.active.pop_front();
                self.active.push_back(index);
                continue;
            }
            queue.packets.pop_front();
            queue.deficit -= frame;
            if queue.packets.is_empty() {
                queue.deficit = 0;
                self.active.pop_front();
            }
            return Some(first);
        }
    }

    fn holds(&self) -> (u64, u64) {
        let queues = || self.queues.values().map(|queue| &queue.packets);
        (queues().map(|queue| queue.len() as u64).sum(), queues().map(total).sum())
    }

    /// The first packet of the next dequeue: round after round over the active list, the first queue whose
    /// first packet is covered. The queue whose turn it is may have its quantum already.
    fn head(&self) -> Option<Pkt> {
        let mut waiting: VecDeque<(&Queue, u64, bool)> =
            self.active.iter().map(|i| &self.queues[i]).map(|q| (q, q.deficit, q.granted)).collect();
        loop {
            let (queue, deficit, granted) = waiting.pop_front()?;
            let Some(first) = queue.packets.front() else { continue };
            let deficit = if granted { deficit } else { deficit + self.quantum };
            if u64::from(first.bytes) + self.overhead <= deficit {
                return Some(*first);
            }
            waiting.push_back((queue, deficit, false));
        }
    }
}
