//! BoDe, section V-C: three rules, with the counts of the authors' program.
//!
//! Rule 2 is sojourn <= target. Rule 3, "the last 3", is counted after the head has been taken: at most
//! `min_keep` = 2 remain. The program also spares the head where at most 1504 bytes remain; that is
//! `min_keep_bytes`, which 0 disables.

use super::{Fate, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

pub struct Bode {
    pub room: Room,
    pub target: Ns,
    pub min_keep: usize,
    pub min_keep_bytes: u64,
    pub queue: VecDeque<Pkt>,
}

impl Model for Bode {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        while let Some(head) = self.queue.pop_front() {
            let in_time = now - head.arrival <= self.target;
            let last = self.queue.is_empty() || self.queue.len() <= self.min_keep;
            let small = self.min_keep_bytes > 0 && total(&self.queue) <= self.min_keep_bytes;
            if in_time || last || small {
                return Some(head);
            }
            log.push(Fate::Drop("sojourn_bound", head.id));
        }
        None
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
