//! The Linux kernel's CoDel (`codel_impl.h`) and PIE (`sch_pie.c`) in the kernel's own integers: 32-bit times of
//! 1024 ns with signed comparisons and a 16-bit reciprocal root; 64 ns ticks and 56-bit probabilities.

use super::{Fate, MS, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

fn codel_time(ns: Ns) -> u32 {
    (ns >> 10) as u32
}
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

pub struct CodelLinux {
    pub room: Room,
    pub target: u32,
    pub interval: u32,
    pub mtu: u64,
    pub ecn: bool,
    pub ce_threshold: Option<u32>,
    /// Bytes in other queues of the discipline: `sch->qstats.backlog` counts them too.
    pub elsewhere: u64,
    pub queue: VecDeque<Pkt>,
    pub count: u32,
    pub lastcount: u32,
    pub dropping: bool,
    pub rec_inv_sqrt: u16,
    pub first_above_time: u32,
    pub drop_next: u32,
    /// True after the first drop: before it `drop_next` is the zero of the kernel's clock, which lies long
    /// before any run.
    pub has_dropped: bool,
    pub ldelay: u32,
}

impl CodelLinux {
    pub fn new(room: Room, target: Ns, interval: Ns, mtu: u64, ecn: bool, ce: Option<Ns>) -> CodelLinux {
        CodelLinux {
            room,
            target: codel_time(target),
            interval: codel_time(interval),
            mtu,
            ecn,
            ce_threshold: ce.map(codel_time),
            elsewhere: 0,
            queue: VecDeque::new(),
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: 0,
            first_above_time: 0,
            drop_next: 0,
            has_dropped: false,
            ldelay: 0,
        }
    }

    /// `codel_Newton_step`: x (3 - count x^2) / 2 in Q0.32, of which 16 bits are kept.
    fn newton_step(&mut self) {
        let x = u64::from(self.rec_inv_sqrt) << 16;
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.rec_inv_sqrt = ((rest.wrapping_mul(x) >> 31) as u32 >> 16) as u16;
    }

    /// `codel_control_law`.
    fn law(&self, t: u32) -> u32 {
        let part = (u64::from(self.interval) * (u64::from(self.rec_inv_sqrt) << 16)) >> 32;
        t.wrapping_add(part as u32)
    }

    /// `codel_should_drop`.
    fn should_drop(&mut self, packet: Option<Pkt>, now: u32) -> bool {
        let Some(packet) = packet else {
            self.first_above_time = 0;
            return false;
        };
        self.ldelay = now.wrapping_sub(codel_time(packet.arrival));
        if before(self.ldelay, self.target) || total(&self.queue) + self.elsewhere <= self.mtu {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(self.interval);
            return false;
        }
        after(now, self.first_above_time)
    }

    /// `codel_dequeue` up to its label `end`, as of commit 815980fe6dbb (2026): before that, `first_above_time` outlived an empty queue,
    /// which shows only where other queues count as backlog, and made fq_codel drop from sparse flows.
    fn decide(&mut self, now: u32, log: &mut Vec<Fate>) -> Option<Pkt> {
        let Some(packet) = self.queue.pop_front() else {
            self.first_above_time = 0;
            self.dropping = false;
            return None;
        };
        let drop = self.should_drop(Some(packet), now);
        let mut packet = Some(packet);
        if self.dropping {
            if !drop {
                self.dropping = false;
            }
            while self.dropping && !before(now, self.drop_next) {
                let victim = packet.expect("should_drop is false without a packet");
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if self.ecn && victim.capable {
                    log.push(Fate::Mark("codel", victim.id));
                    self.drop_next = self.law(self.drop_next);
                    return packet;
                }
                log.push(Fate::Drop("codel", victim.id));
                packet = self.queue.pop_front();
                if self.should_drop(packet, now) {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if drop {
            let victim = packet.expect("should_drop is false without a packet");
            if self.ecn && victim.capable {
                log.push(Fate::Mark("codel", victim.id));
            } else {
                log.push(Fate::Drop("codel", victim.id));
                packet = self.queue.pop_front();
                self.should_drop(packet, now);
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            let recent = self.has_dropped && before(now.wrapping_sub(self.drop_next), 16 * self.interval);
            self.has_dropped = true;
            if delta > 1 && recent {
                self.count = delta;
                self.newton_step();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.lastcount = self.count;
            self.drop_next = self.law(now);
        }
        packet
    }
}

impl Model for CodelLinux {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        let start = log.len();
        let packet = self.decide(codel_time(now), log)?;
        let marked = log[start..].contains(&Fate::Mark("codel", packet.id));
        if self.ce_threshold.is_some_and(|limit| after(self.ldelay, limit)) && packet.capable && !marked {
            log.push(Fate::Mark("ce_threshold", packet.id));
        }
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}

const MAX_PROB: u64 = u64::MAX >> 8;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> 6;

/// PIE with packet timestamps (the kernel's default, no `dq_rate_estimator`).
pub struct PieLinux {
    pub room: Room,
    pub target: u64,
    /// Update period in timer ticks.
    pub tupdate: u64,
    pub hz: u64,
    /// Number of the next tick at which the timer runs.
    pub jiffies: u64,
    /// Weight in sixteenths.
    pub alpha: u64,
    pub beta: u64,
    pub max_burst: u64,
    pub mtu: u64,
    pub ecn: bool,
    pub bytemode: bool,
    pub queue: VecDeque<Pkt>,
    pub prob: u64,
    pub burst_time: u64,
    pub qdelay: u64,
    pub qdelay_old: u64,
    pub dq_tstamp: Option<u64>,
    pub accu_prob: u64,
}

impl PieLinux {
    pub fn new(room: Room, target: Ns, tupdate: Ns, max_burst: Ns, hz: u64) -> PieLinux {
        PieLinux {
            room,
            target: target >> 6,
            // `usecs_to_jiffies`.
            tupdate: (tupdate / 1000 * hz).div_ceil(1_000_000),
            hz,
            jiffies: 0,
            alpha: 2,
            beta: 20,
            max_burst: max_burst >> 6,
            mtu: 1500,
            ecn: false,
            bytemode: false,
            queue: VecDeque::new(),
            prob: 0,
            burst_time: max_burst >> 6,
            qdelay: 0,
            qdelay_old: 0,
            dq_tstamp: None,
            accu_prob: 0,
        }
    }

    /// `mod_timer` at the tick `jiffies`: the timer's bucket by `calc_wheel_index` runs at this tick. The
    /// wheel's own clock is one tick ahead while timers of a tick run.
    pub fn set_timer(&mut self) {
        let expires = self.jiffies + self.tupdate;
        let delta = expires - (self.jiffies + 1);
        let level = (0..9).find(|level| delta < 63 << (3 * level)).expect("within the wheel");
        self.jiffies = ((expires >> (3 * level)) + 1) << (3 * level);
    }

    fn next_tick(&self) -> Ns {
        self.jiffies * 1_000_000_000 / self.hz
    }

    /// `pie_calculate_probability`.
    fn calculate(&mut self) {
        let (qdelay, qdelay_old) = (self.qdelay, self.qdelay_old);
        let mut update_prob = qdelay != 0 || self.queue.is_empty();
        let mut alpha = (self.alpha * (MAX_PROB / TICKS_PER_SEC)) >> 4;
        let mut beta = (self.beta * (MAX_PROB / TICKS_PER_SEC)) >> 4;
        if self.prob < MAX_PROB / 10 {
            alpha >>= 1;
            beta >>= 1;
            let mut power = 100;
            while self.prob < MAX_PROB / power && power <= 1_000_000 {
                alpha >>= 2;
                beta >>= 2;
                power *= 10;
            }
        }
        let mut delta = alpha.wrapping_mul(qdelay.wrapping_sub(self.target)) as i64;
        delta = delta.wrapping_add(beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old)) as i64);
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if qdelay > (250 * MS) >> 6 {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        let old = self.prob;
        self.prob = self.prob.wrapping_add(delta as u64);
        if delta > 0 {
            if self.prob < old {
                self.prob = MAX_PROB;
                update_prob = false;
            }
        } else if self.prob > old {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && update_prob {
            self.prob -= self.prob / 64;
        }
        if qdelay < self.target / 2 && qdelay_old < self.target / 2 && self.prob == 0 {
            self.burst_time = self.max_burst;
            self.dq_tstamp = None;
            self.accu_prob = 0;
        }
        self.qdelay_old = qdelay;
    }

    /// `pie_drop_early`.
    fn drop_early(&mut self, bytes: u64, uniform: &mut dyn FnMut() -> f64) -> bool {
        if self.burst_time > 0
            || (self.qdelay < self.target / 2 && self.prob < MAX_PROB / 5)
            || total(&self.queue) < 2 * self.mtu
        {
            return false;
        }
        let scaled = self.bytemode && bytes <= self.mtu;
        let prob = if scaled { bytes * (self.prob / self.mtu) } else { self.prob };
        if prob == 0 {
            self.accu_prob = 0;
        } else {
            self.accu_prob = self.accu_prob.wrapping_add(prob);
        }
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let random = (uniform() * (MAX_PROB + 1) as f64) as u64;
        if random < prob {
            self.accu_prob = 0;
            return true;
        }
        false
    }
}

impl Model for PieLinux {
    fn advance(&mut self, now: Ns, _: &mut dyn FnMut() -> u64, _: &mut Vec<Fate>) {
        while self.next_tick() <= now {
            self.calculate();
            self.set_timer();
        }
    }
    fn enqueue(&mut self, _: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if !self.room.admits(&self.queue, &packet) {
            log.push(Fate::Drop("tail_limit", packet.id));
            self.accu_prob = 0;
        } else if !self.drop_early(u64::from(packet.bytes), uniform) {
            self.queue.push_back(packet);
        } else if self.ecn && packet.capable && self.prob <= MAX_PROB / 10 {
            log.push(Fate::Mark("pie", packet.id));
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("pie", packet.id));
            self.accu_prob = 0;
        }
    }
    /// `pie_process_dequeue`.
    fn dequeue(&mut self, now: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        let packet = self.queue.pop_front()?;
        let now = now >> 6;
        self.qdelay = now - (packet.arrival >> 6);
        let passed = self.dq_tstamp.map_or(0, |last| now - last);
        self.dq_tstamp = Some(now);
        if self.queue.is_empty() {
            self.qdelay = 0;
        }
        self.burst_time = self.burst_time.saturating_sub(passed);
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
