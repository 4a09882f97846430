//! Random early detection: Floyd and Jacobson 1993, figure 2, with the gentle slope of Floyd's note of 2000. Capable
//! packets are marked in its probabilistic zone only (RFC 3168 section 7).

use super::{Fate, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

pub struct Red {
    pub room: Room,
    /// True if thresholds and average are in bytes, and the probability scales with the packet's size.
    pub in_bytes: bool,
    pub min: f64,
    pub max: f64,
    pub max_p: f64,
    pub weight: f64,
    pub gentle: bool,
    pub ecn: bool,
    /// True if drops are spread evenly by the count.
    pub wait: bool,
    /// True if, as in Linux, a number is drawn after each drop, and the next drop is where the product
    /// reaches it.
    pub once: bool,
    pub mean_packet: u64,
    /// Rate in bits per second.
    pub rate: f64,
    pub queue: VecDeque<Pkt>,
    pub avg: f64,
    count: i64,
    /// Random number for the next drop.
    r: f64,
    /// Time at which the queue became empty.
    q_time: Option<Ns>,
}

impl Red {
    pub fn new(room: Room, min: f64, max: f64) -> Red {
        Red {
            room,
            in_bytes: false,
            min,
            max,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            wait: true,
            once: false,
            mean_packet: 1500,
            rate: 10e6,
            queue: VecDeque::new(),
            avg: 0.0,
            count: -1,
            r: 1.0,
            q_time: None,
        }
    }

    fn average(&mut self, now: Ns) {
        match self.q_time {
            Some(q_time) if self.queue.is_empty() => {
                let seconds_each = self.mean_packet as f64 * 8.0 / self.rate;
                let m = (now - q_time) as f64 / 1e9 / seconds_each;
                self.avg *= (1.0 - self.weight).powf(m);
            }
            _ => {
                let q = if self.in_bytes { total(&self.queue) } else { self.queue.len() as u64 };
                self.avg = (1.0 - self.weight) * self.avg + self.weight * q as f64;
            }
        }
    }

    /// Share to drop at this average; 1 or more: all arrivals, by force.
    fn slope(&self) -> f64 {
        if self.avg < self.max {
            self.max_p * (self.avg - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max) / self.max
        }
    }

    fn is_forced(&self) -> bool {
        self.avg >= if self.gentle { 2.0 * self.max } else { self.max }
    }

    fn is_chosen(&mut self, packet: &Pkt, uniform: &mut dyn FnMut() -> f64) -> bool {
        let mut p_b = self.slope();
        if self.in_bytes {
            p_b = (p_b * f64::from(packet.bytes) / self.mean_packet as f64).min(1.0);
        }
        self.count += 1;
        let spent = self.count as f64 * p_b;
        if self.once {
            if self.count == 0 {
                self.r = uniform();
                return false;
            }
            let reached = spent >= self.r;
            if reached {
                self.r = uniform();
            }
            return reached;
        }
        let p_a = if !self.wait {
            p_b
        } else if spent >= 1.0 {
            1.0
        } else {
            p_b / (1.0 - spent)
        };
        uniform() < p_a
    }
}

impl Model for Red {
    fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        self.average(now);
        let mut mark = false;
        if self.avg < self.min {
            self.count = -1;
        } else if self.is_forced() {
            self.count = if self.once { -1 } else { 0 };
            log.push(Fate::Drop("red_forced", packet.id));
            return;
        } else if self.is_chosen(&packet, uniform) {
            self.count = 0;
            mark = self.ecn && packet.capable;
            if !mark {
                log.push(Fate::Drop("red", packet.id));
                return;
            }
        }
        if !self.room.admits(&self.queue, &packet) {
            log.push(Fate::Drop("tail_limit", packet.id));
            return;
        }
        if mark {
            log.push(Fate::Mark("red", packet.id));
        }
        self.queue.push_back(packet);
    }
    fn dequeue(&mut self, now: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        let packet = self.queue.pop_front()?;
        if self.queue.is_empty() {
            self.q_time = Some(now);
        }
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
