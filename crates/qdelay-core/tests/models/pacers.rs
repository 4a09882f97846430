//! The 5G QoS thesis's pacers, polled: Algorithms 1 to 7 line by line, with the interpretations listed on the
//! pages of `docs/algorithms`. Each is called at the end of every TTI, with or without data for the bearer,
//! and asked at every poll.

use super::Ns;

/// Result of a TTI.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tti {
    pub capacity: u64,
    pub sent: u64,
    pub remaining: u64,
    /// Sojourns of the packets that left.
    pub sojourns: u64,
    pub left: u64,
    /// True if the bearer had data to be served.
    pub busy: bool,
    /// The slot, with time division duplex.
    pub slot: Option<Slot>,
}

/// A slot of a carrier with time division duplex: capacity of the whole carrier in it and in the next slot
/// with any capacity, and the time from the beginning of this slot to that of the next. A pacer's TTI is the
/// time from one slot with capacity to the next.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub carries: u64,
    pub next_carries: u64,
    pub next: Ns,
}

/// The duration of a pacer's TTI, which is longer if uplink slots follow.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    pub tti: Ns,
    pub now: Ns,
}

impl Length {
    pub fn new(tti: Ns) -> Length {
        Length { tti, now: tti }
    }
    /// Handles the beginning of a slot; returns true if a TTI of the pacer that began at `last` is over.
    fn is_over(&mut self, now: Ns, last: Ns, tti: &Tti) -> bool {
        match tti.slot {
            Some(slot) if tti.busy && slot.carries == 0 => {
                self.now = now + slot.next - last;
                false
            }
            _ if tti.busy => {
                self.now = tti.slot.map_or(self.tti, |slot| slot.next);
                true
            }
            _ if now >= last + self.now => {
                self.now = self.tti;
                true
            }
            _ => false,
        }
    }
}

/// Bytes of a slot, scaled to the next slot with capacity.
fn in_next(bytes: u64, slot: Option<Slot>) -> u64 {
    slot.map_or(bytes, |slot| bytes * slot.next_carries / slot.carries)
}

/// A polled pacer between the SDAP and the RLC.
pub trait Polled {
    fn end_of_tti(&mut self, now: Ns, tti: Tti);
    /// Returns true if a packet of `size` may be sent. `in_rlc`: bytes and packets in the RLC buffer now.
    fn may_go(&mut self, now: Ns, size: u64, in_rlc: (u64, u64)) -> bool;
    fn went(&mut self, size: u64);
}

/// DRQL, Algorithm 1.
pub struct Drql {
    pub interval: Ns,
    pub increase: f64,
    pub max: f64,
    pub mtu: f64,
    pub begun: bool,
    /// Round trip of F1-U: reports within it after the limit was lowered describe packets sent before.
    pub round_trip: Ns,
    pub limit: f64,
    pub min_val: f64,
    pub last_time: Ns,
    pub limit_reached: bool,
}

impl Polled for Drql {
    fn end_of_tti(&mut self, now: Ns, tti: Tti) {
        if !tti.busy {
            return;
        }
        let remaining = tti.remaining as f64;
        let buffer_starved = tti.remaining == 0 && self.limit_reached;
        if buffer_starved {
            self.limit = (self.limit * self.increase).ceil().min(self.max);
            self.last_time = now;
            self.min_val = f64::INFINITY;
        } else if remaining > 0.0 && now < self.last_time {
            // Remainder under the previous limit.
        } else if remaining > 0.0 {
            if self.min_val > remaining {
                self.min_val = remaining;
            }
            if now >= self.last_time + self.interval {
                self.last_time = now + self.round_trip;
                self.limit = (self.limit - self.min_val).max(self.mtu);
                self.min_val = f64::INFINITY;
            }
        } else {
            self.last_time = now;
            self.min_val = f64::INFINITY;
        }
        self.limit_reached = false;
    }
    fn may_go(&mut self, _: Ns, size: u64, (bytes, _): (u64, u64)) -> bool {
        let room = if self.begun { (bytes as f64) < self.limit } else { (bytes + size) as f64 <= self.limit };
        let may = bytes == 0 || room;
        self.limit_reached |= !may;
        may
    }
    fn went(&mut self, _: u64) {}
}

/// DynRLC as sections 3.6.1 and 3.6.4 describe it.
pub struct DynRlc {
    pub interval: Ns,
    pub target: Ns,
    pub alpha: f64,
    pub bounds: (f64, f64),
    /// Base of a step: `distance`, `packets` or `factor`.
    pub step: &'static str,
    pub limit: f64,
    pub last_time: Ns,
    pub sojourns: Vec<(u64, u64)>,
}

impl Polled for DynRlc {
    fn end_of_tti(&mut self, now: Ns, tti: Tti) {
        if tti.left > 0 {
            self.sojourns.push((tti.sojourns, tti.left));
        }
        if !tti.busy || now < self.last_time + self.interval || self.sojourns.is_empty() {
            return;
        }
        let sum: u64 = self.sojourns.iter().map(|x| x.0).sum();
        let count: u64 = self.sojourns.iter().map(|x| x.1).sum();
        let (low, high) = self.bounds;
        let grows = sum <= self.target * count;
        let base = match (self.step, grows) {
            ("factor", _) => self.limit,
            (_, true) => high - self.limit,
            (_, false) => self.limit - low,
        };
        let step = if self.step == "packets" { (self.alpha * base).max(1.0) } else { self.alpha * base };
        self.limit = if grows { self.limit + step } else { self.limit - step };
        self.limit = match self.step {
            "packets" => self.limit.max(low).floor(),
            _ => self.limit.clamp(low, high),
        };
        self.last_time = now;
        self.sojourns.clear();
    }
    fn may_go(&mut self, _: Ns, _: u64, (_, packets): (u64, u64)) -> bool {
        packets == 0 || (packets + 1) as f64 <= self.limit
    }
    fn went(&mut self, _: u64) {}
}

/// 5G-BDP, Algorithm 2.
pub struct Bdp {
    pub length: Length,
    pub offset: f64,
    pub mtu: u64,
    pub full_mtu: bool,
    /// True if the capacity is the number of bytes sent.
    pub used: bool,
    pub begun: bool,
    pub capacity: u64,
    pub bytes_to_send: u64,
    pub bytes_tx: u64,
    pub last_time: Ns,
    /// The largest packet that was refused in this TTI.
    pub refused: u64,
    /// Largest size that may be sent because it could have been at the end of an empty TTI in which it was
    /// refused.
    pub due: u64,
}

impl Bdp {
    fn follows_algorithm_2(&self, now: Ns, size: u64, in_rlc: u64) -> bool {
        let elapsed = (now - self.last_time) as f64 / self.length.now as f64;
        let normal_tti = elapsed.min(1.0) + self.offset;
        let soll_tx = normal_tti * self.bytes_to_send as f64;
        let optimal = soll_tx - self.bytes_tx as f64;
        if self.bytes_to_send == 0 {
            false
        } else if self.begun {
            optimal > 0.0
        } else if in_rlc == 0 {
            soll_tx >= size.min(self.bytes_to_send) as f64
        } else {
            soll_tx >= (self.bytes_tx + size) as f64
        }
    }
}

impl Polled for Bdp {
    fn end_of_tti(&mut self, now: Ns, tti: Tti) {
        if tti.busy {
            (self.due, self.refused) = (0, 0);
        }
        // A whole TTI, by its actual duration.
        let could_have_gone = !tti.busy && self.refused > 0 && self.follows_algorithm_2(now, self.refused, 0);
        if !self.length.is_over(now, self.last_time, &tti) {
            return;
        }
        if could_have_gone {
            self.due = self.refused;
        }
        self.refused = 0;
        if tti.busy {
            let capacity = if self.used { tti.sent } else { tti.capacity };
            self.capacity = in_next(capacity, tti.slot);
            self.bytes_to_send = if self.capacity > tti.remaining {
                self.capacity - tti.remaining
            } else if self.full_mtu {
                self.mtu
            } else {
                0
            };
        } else {
            self.bytes_to_send = self.capacity.max(self.mtu);
        }
        self.bytes_tx = 0;
        self.last_time = now;
    }
    fn may_go(&mut self, now: Ns, size: u64, (in_rlc, _): (u64, u64)) -> bool {
        if in_rlc > 0 {
            self.due = 0;
        }
        let may = size <= self.due || self.follows_algorithm_2(now, size, in_rlc);
        if !may && in_rlc == 0 {
            self.refused = self.refused.max(size);
        }
        may
    }
    fn went(&mut self, size: u64) {
        self.bytes_tx += size;
        self.due = 0;
    }
}

/// e5G-BDP, Algorithms 3 to 5.
pub struct EnhancedBdp {
    pub length: Length,
    /// Part of the TTI from which on it is filled up to the best capacity of the last ten busy ones.
    pub fill: Option<f64>,
    pub capacities: Vec<u64>,
    /// Capacity of the next slot, and of a whole slot, with time division duplex.
    pub part: (u64, u64),
    pub alpha: f64,
    pub reduce_const: f64,
    pub idle: f64,
    pub mtu: u64,
    pub bandwidth: f64,
    pub max_bytes: u64,
    pub srs_bytes: i64,
    pub last_acc_bytes: i64,
    pub last_tti: Ns,
    /// The largest packet that was refused in this TTI.
    pub refused: u64,
    /// Largest size that may be sent because it could have been at the end of an empty TTI in which it was
    /// refused.
    pub due: u64,
}

impl EnhancedBdp {
    fn follows_algorithm_3(&self, now: Ns, size: u64) -> bool {
        if let Some(fill) = self.fill
            && let Some(best) = self.capacities.iter().rev().take(10).max()
            && let best = best * self.part.0 / self.part.1
            && (now - self.last_tti) as f64 >= fill * self.length.now as f64
            && ((self.srs_bytes + self.last_acc_bytes) as u64) < best
        {
            return true;
        }
        if (self.srs_bytes + self.last_acc_bytes) as u64 > self.max_bytes {
            return false;
        }
        let paced_bytes = self.calculate_paced_bytes(now);
        if paced_bytes * self.reduce_const > (size as i64 + self.srs_bytes) as f64 {
            return true;
        }
        let counted = size.min(self.mtu) as i64;
        let extra_bytes =
            if self.srs_bytes != 0 && self.last_acc_bytes != 0 { counted / 3 } else { counted / 5 };
        (self.srs_bytes + self.last_acc_bytes + extra_bytes) as f64 <= paced_bytes
    }
    fn calculate_paced_bytes(&self, now: Ns) -> f64 {
        let elapsed = (now - self.last_tti) as f64 / self.length.now as f64;
        let incr = if elapsed <= 0.5 { 1.2 } else { 1.33 };
        let mut paced_bytes = 0.0;
        if self.bandwidth >= self.idle && self.bandwidth > 0.0 {
            paced_bytes = incr * elapsed * self.bandwidth + (self.mtu / 7) as f64;
        } else if self.last_acc_bytes == 0 && elapsed > 0.5 {
            paced_bytes = (self.mtu / 4) as f64;
        }
        paced_bytes
    }
}

impl Polled for EnhancedBdp {
    fn end_of_tti(&mut self, now: Ns, tti: Tti) {
        if tti.busy {
            (self.due, self.refused) = (0, 0);
        }
        // A whole TTI, by its actual duration.
        let could_have_gone = !tti.busy && self.refused > 0 && self.follows_algorithm_3(now, self.refused);
        if !self.length.is_over(now, self.last_tti, &tti) {
            return;
        }
        if could_have_gone {
            self.due = self.refused;
        }
        self.refused = 0;
        if tti.busy {
            self.max_bytes = in_next(tti.capacity, tti.slot);
            self.capacities.push(tti.capacity);
            if let Some(slot) = tti.slot {
                self.part = (slot.next_carries, self.part.1.max(slot.carries).max(slot.next_carries));
            }
        }
        let acc_bytes = tti.remaining as i64;
        let rms_bytes = (self.srs_bytes - (acc_bytes - self.last_acc_bytes)).max(0);
        self.bandwidth = self.alpha * rms_bytes as f64 + (1.0 - self.alpha) * self.bandwidth;
        if let Some(slot) = tti.slot.filter(|_| tti.busy) {
            self.bandwidth = self.bandwidth * slot.next_carries as f64 / slot.carries as f64;
        }
        self.srs_bytes = 0;
        self.last_acc_bytes = acc_bytes;
        self.last_tti = now;
    }
    fn may_go(&mut self, now: Ns, size: u64, _: (u64, u64)) -> bool {
        let may = size <= self.due || self.follows_algorithm_3(now, size);
        if !may {
            self.refused = self.refused.max(size);
        }
        may
    }
    fn went(&mut self, size: u64) {
        self.srs_bytes += size as i64;
        self.due = 0;
    }
}

/// USP, Algorithms 6 and 7, between the UPF and the SDAP.
pub struct Usp {
    pub t: Ns,
    pub looks: u64,
    pub range: (u64, u64),
    pub begun: bool,
    pub optimal_occ: u64,
    pub saturation_detected: bool,
    pub dequeued_bytes: u64,
    pub dequeued_bytes_last: u64,
    pub last_time: Ns,
}

impl Usp {
    pub fn dequeued(&mut self, now: Ns, bytes: u64) {
        let elapsed = now - self.last_time;
        if elapsed >= self.t {
            if self.saturation_detected {
                self.saturation_detected = false;
                let accepted = (self.dequeued_bytes - self.dequeued_bytes_last) as f64;
                let per_look = accepted * self.t as f64 / (elapsed as f64 * self.looks as f64);
                self.optimal_occ = (per_look.ceil() as u64).clamp(self.range.0, self.range.1);
            }
            self.last_time = now;
            self.dequeued_bytes_last = self.dequeued_bytes;
        }
        self.dequeued_bytes += bytes;
    }
    pub fn get_opt_occupancy(&self, now: Ns) -> u64 {
        if now > self.last_time + self.t / 2 {
            (2 * self.optimal_occ).clamp(self.range.0, self.range.1)
        } else {
            self.optimal_occ
        }
    }
    pub fn may_go(&self, now: Ns, size: u64, in_sdap: u64) -> bool {
        let occupancy = self.get_opt_occupancy(now);
        in_sdap == 0 || if self.begun { in_sdap < occupancy } else { in_sdap + size <= occupancy }
    }
}
