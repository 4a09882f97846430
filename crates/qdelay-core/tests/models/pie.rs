//! PIE: RFC 8033 section 4 and appendix A with the options of section 5, and mahimahi's variant.

use super::{Fate, MS, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

/// PIE of RFC 8033. Delays are in seconds; the timer of section 4.2 ticks at whole multiples of `tupdate`.
pub struct Pie {
    pub room: Room,
    pub target: f64,
    pub tupdate: Ns,
    pub alpha: f64,
    pub beta: f64,
    /// Burst allowance in whole nanoseconds: ten updates of 15 ms use up 150 ms exactly.
    pub max_burst: Ns,
    pub mean_packet: u64,
    /// Section 5.1: mark below this drop probability (0.1); `None` without ECN.
    pub mark_below: Option<f64>,
    /// Derandomisation of section 5.4.
    pub derandomize: bool,
    /// Section 5.5: at 10% and more, no step above 2%.
    pub cap_step: bool,
    /// `Some` for the departure rate of section 5.2 in place of the sojourn of the last departure (appendix A).
    pub rate: Option<Rate>,
    /// True if the probability is scaled by the packet's size over the mean (appendix B).
    pub bytemode: bool,
    /// True if a queue that runs empty counts as a delay of zero (Linux `pie_process_dequeue`); appendix A keeps the
    /// delay of the last packet that left.
    pub zero_when_empty: bool,
    pub queue: VecDeque<Pkt>,
    pub drop_prob: f64,
    pub qdelay: f64,
    pub qdelay_old: f64,
    pub burst: Ns,
    pub accu: f64,
    pub next_tick: Ns,
}

/// Departure rate of section 5.2: the time that 16 KiB take to leave, measured while at least that much is
/// queued.
#[derive(Clone, Copy, Default)]
pub struct Rate {
    pub measuring: bool,
    pub start: Ns,
    pub count: u64,
    /// Average duration of a measurement in seconds; 0 before the first.
    pub average: f64,
}

const DQ_BYTES: u64 = 1 << 14;

impl Rate {
    /// Delay by Little's law.
    fn delay(&self, queue: &VecDeque<Pkt>) -> f64 {
        total(queue) as f64 * self.average / DQ_BYTES as f64
    }
    fn departed(&mut self, now: Ns, bytes: u64, left: u64) {
        if self.measuring {
            self.count += bytes;
            if self.count >= DQ_BYTES {
                let time = (now - self.start) as f64 / 1e9;
                let weight = DQ_BYTES as f64 / 65_536.0;
                self.average =
                    if self.average == 0.0 { time } else { time * weight + self.average * (1.0 - weight) };
                self.measuring = false;
            }
        }
        if left >= DQ_BYTES && !self.measuring {
            self.measuring = true;
            self.start = now;
            self.count = 0;
        }
    }
}

impl Pie {
    pub fn new(room: Room, target: Ns, tupdate: Ns) -> Pie {
        Pie {
            room,
            target: target as f64 / 1e9,
            tupdate,
            alpha: 0.125,
            beta: 1.25,
            max_burst: 150 * MS,
            mean_packet: 1500,
            mark_below: None,
            derandomize: true,
            cap_step: true,
            rate: None,
            bytemode: false,
            zero_when_empty: false,
            queue: VecDeque::new(),
            drop_prob: 0.0,
            qdelay: 0.0,
            qdelay_old: 0.0,
            burst: 0,
            accu: 0.0,
            next_tick: tupdate,
        }
    }

    /// Update of the probability, section 4.2 (and 5.5).
    fn update(&mut self) {
        if let Some(rate) = self.rate {
            self.qdelay = rate.delay(&self.queue);
        }
        let mut p = self.alpha * (self.qdelay - self.target) + self.beta * (self.qdelay - self.qdelay_old);
        let scale = match self.drop_prob {
            x if x < 0.000_001 => 2048.0,
            x if x < 0.000_01 => 512.0,
            x if x < 0.000_1 => 128.0,
            x if x < 0.001 => 32.0,
            x if x < 0.01 => 8.0,
            x if x < 0.1 => 2.0,
            _ => 1.0,
        };
        p /= scale;
        if self.cap_step && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.qdelay;
        self.burst = self.burst.saturating_sub(self.tupdate);
    }

    /// Sections 4.1 and 5.4: true if a random decision would drop.
    fn drop_early(&mut self, bytes: u32, uniform: &mut dyn FnMut() -> f64) -> bool {
        if self.qdelay_old < self.target / 2.0 && self.drop_prob < 0.2 {
            return false;
        }
        if total(&self.queue) <= 2 * self.mean_packet {
            return false;
        }
        let mut probability = self.drop_prob;
        if self.bytemode {
            probability = (probability * f64::from(bytes) / self.mean_packet as f64).min(1.0);
        }
        if self.derandomize {
            if self.drop_prob == 0.0 {
                self.accu = 0.0;
            }
            self.accu += probability;
            if self.accu < 0.85 {
                return false;
            }
            if self.accu >= 8.5 {
                self.accu = 0.0;
                return true;
            }
        }
        let drop = uniform() < probability;
        if drop {
            self.accu = 0.0;
        }
        drop
    }
}

impl Model for Pie {
    fn advance(&mut self, now: Ns, _: &mut dyn FnMut() -> u64, _: &mut Vec<Fate>) {
        while self.next_tick <= now {
            self.update();
            self.next_tick += self.tupdate;
        }
    }
    fn enqueue(&mut self, _: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if !self.room.admits(&self.queue, &packet) {
            self.accu = 0.0;
            log.push(Fate::Drop("tail_limit", packet.id));
            return;
        }
        // Section 4.4. The current delay is computed at this moment where the estimate allows it (5.2).
        let qdelay = self.rate.map_or(self.qdelay, |rate| rate.delay(&self.queue));
        if self.drop_prob == 0.0 && qdelay < self.target / 2.0 && self.qdelay_old < self.target / 2.0 {
            self.burst = self.max_burst;
        }
        if self.burst == 0 && self.drop_early(packet.bytes, uniform) {
            if packet.capable && self.mark_below.is_some_and(|limit| self.drop_prob < limit) {
                log.push(Fate::Mark("pie", packet.id));
            } else {
                log.push(Fate::Drop("pie", packet.id));
                return;
            }
        }
        self.queue.push_back(packet);
    }
    fn dequeue(&mut self, now: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        let packet = self.queue.pop_front()?;
        let left = total(&self.queue);
        if let Some(rate) = &mut self.rate {
            rate.departed(now, u64::from(packet.bytes), left);
            return Some(packet);
        }
        self.qdelay = (now - packet.arrival) as f64 / 1e9;
        if self.zero_when_empty && self.queue.is_empty() {
            self.qdelay = 0.0;
        }
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}

/// mahimahi's `pie_packet_queue`: whole milliseconds and bytes in 32-bit integers, departure rate estimation, an update
/// every 30 ms that is caught up with at the next call (before an arrival, after a departure).
pub struct PieMahimahi {
    pub room: Room,
    pub target_ms: u32,
    pub max_burst_ms: u32,
    /// mahimahi's PACKET_SIZE, 1504, and the bytes that it counts in addition to the IP bytes of each packet,
    /// 4.
    pub packet_size: u64,
    pub overhead: u64,
    pub alpha: f64,
    pub beta: f64,
    pub tupdate_ms: u64,
    pub queue: VecDeque<Pkt>,
    pub drop_prob: f64,
    pub burst_ms: u32,
    pub qdelay_ms: u32,
    pub qdelay_old_ms: u32,
    /// `None` is the program's DQ_COUNT_INVALID.
    pub dq_count: Option<u32>,
    pub dq_tstamp: u32,
    pub dq_rate: u32,
    pub last_update: u64,
}

const DQ_THRESHOLD: u32 = 16_384;

impl PieMahimahi {
    pub fn new(room: Room, target: Ns, max_burst: Ns) -> PieMahimahi {
        PieMahimahi {
            room,
            target_ms: (target / MS) as u32,
            max_burst_ms: (max_burst / MS) as u32,
            packet_size: 1504,
            overhead: 4,
            alpha: 0.125,
            beta: 1.25,
            tupdate_ms: 30,
            queue: VecDeque::new(),
            drop_prob: 0.0,
            burst_ms: 0,
            qdelay_ms: 0,
            qdelay_old_ms: 0,
            dq_count: None,
            dq_tstamp: 0,
            dq_rate: 0,
            last_update: 0,
        }
    }

    fn size_bytes(&self) -> u64 {
        total(&self.queue) + self.overhead * self.queue.len() as u64
    }

    fn calculate(&mut self, now: u64) {
        while now - self.last_update > self.tupdate_ms {
            let size = self.size_bytes();
            let mut may_decay = true;
            self.qdelay_old_ms = self.qdelay_ms;
            self.qdelay_ms = (size as u32).checked_div(self.dq_rate).unwrap_or(0);
            if self.qdelay_ms == 0 && size != 0 {
                may_decay = false;
            }
            let error = self.qdelay_ms.wrapping_sub(self.target_ms) as i32;
            let trend = self.qdelay_ms.wrapping_sub(self.qdelay_old_ms) as i32;
            let mut p = self.alpha * f64::from(error) + self.beta * f64::from(trend);
            p /= match self.drop_prob {
                x if x < 0.01 => 128.0,
                x if x < 0.1 => 32.0,
                _ => 16.0,
            };
            self.drop_prob += p;
            if self.drop_prob < 0.0 {
                self.drop_prob = 0.0;
            } else if self.drop_prob > 1.0 {
                self.drop_prob = 1.0;
                may_decay = false;
            }
            if self.qdelay_ms == 0 && self.qdelay_old_ms == 0 && may_decay {
                self.drop_prob *= 0.98;
            }
            self.burst_ms = self.burst_ms.saturating_sub(self.tupdate_ms as u32);
            self.last_update += self.tupdate_ms;
            let half = self.target_ms / 2;
            if self.drop_prob == 0.0 && self.qdelay_ms < half && self.qdelay_old_ms < half && self.dq_rate > 0
            {
                self.dq_count = None;
                self.dq_rate = 0;
                self.burst_ms = self.max_burst_ms;
            }
        }
    }

    fn drop_early(&self, uniform: &mut dyn FnMut() -> f64) -> bool {
        if self.burst_ms > 0
            || (self.qdelay_old_ms < self.target_ms / 2 && self.drop_prob < 0.2)
            || self.size_bytes() < 2 * self.packet_size
        {
            return false;
        }
        uniform() < self.drop_prob
    }
}

impl Model for PieMahimahi {
    fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        self.calculate(now / MS);
        if !self.room.admits(&self.queue, &packet) {
            log.push(Fate::Drop("tail_limit", packet.id));
        } else if self.drop_early(uniform) {
            log.push(Fate::Drop("pie", packet.id));
        } else {
            self.queue.push_back(packet);
        }
    }
    fn dequeue(&mut self, now: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        let packet = self.queue.pop_front()?;
        let now = now / MS;
        let size = self.size_bytes();
        if size >= u64::from(DQ_THRESHOLD) && self.dq_count.is_none() {
            self.dq_tstamp = now as u32;
            self.dq_count = Some(0);
        }
        if let Some(count) = self.dq_count {
            let count = count + packet.bytes + self.overhead as u32;
            self.dq_count = Some(count);
            let dtime = now as u32 - self.dq_tstamp;
            if count > DQ_THRESHOLD && dtime > 0 {
                let sample = count / dtime;
                self.dq_rate = match self.dq_rate {
                    0 => sample,
                    rate => rate - (rate >> 3) + (sample >> 3),
                };
                if size < u64::from(DQ_THRESHOLD) {
                    self.dq_count = None;
                } else {
                    self.dq_count = Some(0);
                    self.dq_tstamp = now as u32;
                }
                self.burst_ms = self.burst_ms.saturating_sub(dtime);
            }
        }
        self.calculate(now);
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
