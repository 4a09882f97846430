//! CoDel: RFC 8289 section 5 with Linux's placing of ECN (`codel_dequeue`), and mahimahi's reading of it.

use super::{Fate, MS, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

/// RFC 8289 section 5. Zero stands for "not set" in `first_above`, as in the RFC.
pub struct Codel {
    pub room: Room,
    pub target: Ns,
    pub interval: Ns,
    /// The RFC's `maxpacket_`, held at the link's MTU.
    pub maxpacket: u64,
    pub ecn: bool,
    /// Linux's `ce_threshold`: a packet that waited longer is marked as it leaves.
    pub ce_threshold: Option<Ns>,
    /// Bytes in other queues, which count as backlog too.
    pub elsewhere: u64,
    pub queue: VecDeque<Pkt>,
    pub first_above: Ns,
    pub drop_next: Ns,
    pub count: u32,
    pub lastcount: u32,
    pub dropping: bool,
    /// True after the first drop: `drop_next` has no meaning before it, at any start time of the run.
    pub has_dropped: bool,
}

impl Codel {
    pub fn new(room: Room, target: Ns, interval: Ns, maxpacket: u64, ecn: bool) -> Codel {
        Codel {
            room,
            target,
            interval,
            maxpacket,
            ecn,
            ce_threshold: None,
            elsewhere: 0,
            queue: VecDeque::new(),
            first_above: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            has_dropped: false,
        }
    }

    /// RFC 8289 section 5.6, `dodequeue`.
    fn dodequeue(&mut self, now: Ns) -> (Option<Pkt>, bool) {
        let Some(p) = self.queue.pop_front() else {
            self.first_above = 0;
            return (None, false);
        };
        let sojourn = now - p.arrival;
        let mut ok_to_drop = false;
        if sojourn < self.target || total(&self.queue) + self.elsewhere <= self.maxpacket {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + self.interval;
        } else if now >= self.first_above {
            ok_to_drop = true;
        }
        (Some(p), ok_to_drop)
    }

    fn law(&self, t: Ns, count: u32) -> Ns {
        t + (self.interval as f64 / f64::from(count).sqrt()) as u64
    }

    fn decide(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        let (mut p, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let victim = p.expect("ok to drop means there is one");
                self.count += 1;
                if self.ecn && victim.capable {
                    // A marked packet is sent: there is one mark in a dequeue.
                    log.push(Fate::Mark("codel", victim.id));
                    self.drop_next = self.law(self.drop_next, self.count);
                    return p;
                }
                log.push(Fate::Drop("codel", victim.id));
                (p, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let victim = p.expect("ok to drop means there is one");
            if self.ecn && victim.capable {
                log.push(Fate::Mark("codel", victim.id));
            } else {
                log.push(Fate::Drop("codel", victim.id));
                (p, _) = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            // The difference of times is signed: a next drop in the future counts as recent.
            let recent =
                self.has_dropped && (now as i128 - self.drop_next as i128) < 16 * self.interval as i128;
            self.has_dropped = true;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.law(now, self.count);
            self.lastcount = self.count;
        }
        p
    }
}

impl Model for Codel {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        let before = log.len();
        let p = self.decide(now, log)?;
        let marked = log[before..].contains(&Fate::Mark("codel", p.id));
        if self.ce_threshold.is_some_and(|limit| now - p.arrival > limit) && p.capable && !marked {
            log.push(Fate::Mark("ce_threshold", p.id));
        }
        Some(p)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}

/// mahimahi's `codel_packet_queue`: whole milliseconds; the packet first taken is always the one returned,
/// and those behind it are dropped instead, including the one that ends the dropping state; differences of
/// times are unsigned.
pub struct CodelMahimahi {
    pub room: Room,
    pub target_ms: u64,
    pub interval_ms: u64,
    /// 1504 with mahimahi's own byte counts (4 bytes of TUN header each).
    pub packet_size: u64,
    /// Bytes that mahimahi counts in addition to the IP packet.
    pub overhead: u64,
    pub queue: VecDeque<Pkt>,
    pub first_above: u64,
    pub drop_next: u64,
    pub count: u32,
    pub lastcount: u32,
    pub dropping: bool,
}

impl CodelMahimahi {
    pub fn new(room: Room, target: Ns, interval: Ns, packet_size: u64, overhead: u64) -> CodelMahimahi {
        CodelMahimahi {
            room,
            target_ms: target / MS,
            interval_ms: interval / MS,
            packet_size,
            overhead,
            queue: VecDeque::new(),
            first_above: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    fn dodequeue(&mut self, now: u64) -> (Pkt, bool) {
        let p = self.queue.pop_front().expect("mahimahi never asks an empty queue");
        if self.queue.is_empty() {
            self.first_above = 0;
            return (p, false);
        }
        let sojourn = now - p.arrival / MS;
        let left = total(&self.queue) + self.overhead * self.queue.len() as u64;
        if sojourn < self.target_ms || left <= self.packet_size {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + self.interval_ms;
        } else if now >= self.first_above {
            return (p, true);
        }
        (p, false)
    }

    fn law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval_ms as f64 / f64::from(count).sqrt()) as u64
    }
}

impl Model for CodelMahimahi {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        if self.queue.is_empty() {
            return None;
        }
        let now = now / MS;
        let (returned, ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let (gone, ok_to_drop) = self.dodequeue(now);
                log.push(Fate::Drop("codel", gone.id));
                self.count += 1;
                if ok_to_drop {
                    self.drop_next = self.law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let (gone, _) = self.dodequeue(now);
            log.push(Fate::Drop("codel", gone.id));
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            let recent = now.wrapping_sub(self.drop_next) < 16 * self.interval_ms;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.law(now, self.count);
            self.lastcount = self.count;
        }
        Some(returned)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}

/// The 5G QoS thesis's `mib_queue_codel_deque`: the packet in hand is forgotten, and the next one dropped in
/// its place.
pub struct CodelThesis {
    pub room: Room,
    pub target: Ns,
    pub interval: Ns,
    pub queue: VecDeque<Pkt>,
    pub first_above_time: Ns,
    pub drop_next: Ns,
    pub count: u32,
    pub lastcount: u32,
    pub dropping: bool,
}

impl CodelThesis {
    pub fn new(room: Room, target: Ns, interval: Ns) -> CodelThesis {
        CodelThesis {
            room,
            target,
            interval,
            queue: VecDeque::new(),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    fn dodequeue(&mut self, now: Ns) -> Option<(Pkt, bool)> {
        let p = self.queue.pop_front()?;
        if now - p.arrival < self.target {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            return Some((p, true));
        }
        Some((p, false))
    }

    fn control_law(&self, t: Ns) -> Ns {
        t + (self.interval as f64 / f64::from(self.count).sqrt()) as u64
    }

    /// Forgets `m`, drops the next packet, if there is one, and takes another. Without another, none is sent.
    fn replace(&mut self, now: Ns, m: &Pkt, log: &mut Vec<Fate>) -> Option<(Pkt, bool)> {
        log.push(Fate::Drop("codel", m.id));
        if let Some(gone) = self.queue.pop_front() {
            log.push(Fate::Drop("codel", gone.id));
        }
        if self.queue.is_empty() {
            self.first_above_time = 0;
            return None;
        }
        self.dodequeue(now)
    }
}

impl Model for CodelThesis {
    fn enqueue(&mut self, _: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        if self.room.admits(&self.queue, &packet) {
            self.queue.push_back(packet);
        } else {
            log.push(Fate::Drop("tail_limit", packet.id));
        }
    }
    fn dequeue(&mut self, now: Ns, log: &mut Vec<Fate>) -> Option<Pkt> {
        let Some((mut m, mut ok_to_drop)) = self.dodequeue(now) else {
            self.first_above_time = 0;
            return None;
        };
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
                return Some(m);
            }
            while now >= self.drop_next && self.dropping {
                let other = self.replace(now, &m, log)?;
                (m, ok_to_drop) = other;
                if ok_to_drop {
                    self.count += 1;
                    self.drop_next = self.control_law(now);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            (m, _) = self.replace(now, &m, log)?;
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * self.interval as i64 {
                self.count = delta;
            }
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        Some(m)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
