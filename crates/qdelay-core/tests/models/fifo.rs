//! Tail drop and head drop, as in mahimahi's `droptail` and `drophead`.

use super::{Fate, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

pub struct TailDrop {
    pub room: Room,
    pub queue: VecDeque<Pkt>,
}

impl Model for TailDrop {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, _: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        self.queue.pop_front()
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}

/// Head drop: the arrival always joins; the oldest packets are dropped until the limits hold again.
pub struct HeadDrop {
    pub room: Room,
    pub queue: VecDeque<Pkt>,
}

impl Model for HeadDrop {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        self.queue.push_back(packet);
        while !self.room.allows(self.queue.len(), total(&self.queue)) {
            let oldest = self.queue.pop_front().expect("an empty queue is within its limits");
            log.push(Fate::Drop("head_limit", oldest.id));
        }
    }
    fn dequeue(&mut self, _: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        self.queue.pop_front()
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
