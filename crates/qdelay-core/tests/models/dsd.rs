//! ABE (Hurley, Le Boudec, Thiran, Kara 2001): the enqueuing and serving pseudo-code, table 1, equation 1 and
//! the control law, step by step, and as an alternative the refusals of green. The virtual queue is another
//! model above its own line; sums are added up packet by packet, and the exact acceptance test serves the
//! queues with g = 1 until the newcomer's turn comes.

use super::{Fate, Model, Ns, Pkt, Room, total};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    Off,
    Printed,
    Residual,
    Exact,
}

/// The control loop that moves g.
pub struct Loop {
    pub period: Ns,
    pub alpha: f64,
    pub k: f64,
    pub gamma: f64,
    pub base_rtt_s: f64,
    pub weight: f64,
    next: Ns,
    /// Packets served, packets lost, seconds waited, and true if any was new since the last update; for blue
    /// and for green.
    seen: [(f64, f64, f64, bool); 2],
}

impl Loop {
    pub fn new(period: Ns) -> Loop {
        Loop {
            period,
            alpha: 1.1,
            k: 2.0,
            gamma: 1.1,
            base_rtt_s: 0.02,
            weight: 0.1,
            next: period,
            seen: [(0.0, 0.0, 0.0, false); 2],
        }
    }
    fn theta(&self, colour: usize) -> f64 {
        let (served, lost, waited, _) = self.seen[colour];
        let r = self.base_rtt_s + if served > 0.0 { waited / served } else { 0.0 };
        let p = (lost + 0.5) / (lost + served + 1.0);
        let t1 = 4.0 * r;
        1.0 / (r * (2.0 * p / 3.0).sqrt() + 3.0 * t1 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
    }
    fn run(&mut self, now: Ns, g: &mut f64) {
        while self.next <= now {
            self.next += self.period;
            if !self.seen[0].3 || !self.seen[1].3 {
                continue;
            }
            let f = 1.0 / (1.0 + (self.gamma * self.theta(1) / self.theta(0)).powf(self.k));
            *g = ((1.0 - self.alpha) * *g + self.alpha * f).clamp(0.0, 1.0);
            for (served, lost, waited, news) in &mut self.seen {
                let keep = 1.0 - self.weight;
                (*served, *lost, *waited, *news) = (*served * keep, *lost * keep, *waited * keep, false);
            }
        }
    }
}

/// The law of `control=loss`: green is refused until a greedy green flow has the throughput of a blue one
/// over gamma. Sums are of bytes in full packets, and equation 1 is inverted by Newton's method.
pub struct Refusals {
    pub period: Ns,
    pub alpha: f64,
    pub gamma: f64,
    pub base_rtt_s: f64,
    pub weight: f64,
    pub full: f64,
    pub q: f64,
    /// Largest difference of `q` computed by another method: see [`Refusals::run`].
    pub slack: f64,
    next: Ns,
    /// Full packets served and lost, without refused ones, and the seconds that these waited; for blue and
    /// for green.
    served: [f64; 2],
    lost: [f64; 2],
    waited: [f64; 2],
    news: [bool; 2],
}

/// Largest difference between two computations of the loss that is due. Equation 1 and its arguments are some
/// 40 roundings, each of 2^-53. Since the equation falls at least as fast as the square root of the loss
/// rises, the roundings move that root by no larger part, and the loss by 80 roundings, at most; the last
/// step of a bisection moves it by 2^-51. Twice that is below 2^-45.
const DUE: f64 = 1.0 / (1_u64 << 45) as f64;
/// Largest difference between two computations of q from that loss: some 16 roundings each, of numbers of at
/// most 2.
const MOVE: f64 = 1.0 / (1_u64 << 47) as f64;

impl Refusals {
    pub fn new(period: Ns) -> Refusals {
        Refusals {
            period,
            alpha: 1.1,
            gamma: 1.1,
            base_rtt_s: 0.02,
            weight: 0.1,
            full: 1500.0,
            q: 0.0,
            slack: 0.0,
            next: period,
            served: [0.0; 2],
            lost: [0.0; 2],
            waited: [0.0; 2],
            news: [false; 2],
        }
    }
    fn round_trip(&self, colour: usize) -> f64 {
        let waited = if self.served[colour] > 0.0 { self.waited[colour] / self.served[colour] } else { 0.0 };
        self.base_rtt_s + waited
    }
    /// Moves q, and with it the slack. An error of the loss due is amplified by (served + lost) / served in
    /// the aim; there is none where all or more is due, or far less than is lost without refusals. The share
    /// |1 - alpha| of the previous slack stays. The sums have no error: both sides add the same numbers.
    fn run(&mut self, now: Ns) {
        while self.next <= now {
            self.next += self.period;
            if !self.news[1] {
                continue;
            }
            if self.news[0] {
                // Seconds a packet takes blue, in round trips of green: sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32
                // p^2) of x = sqrt(p).
                let slowness = |x: f64| {
                    (2.0_f64 / 3.0).sqrt() * x
                        + 12.0 * (3.0_f64 / 8.0).sqrt() * (x.powi(3) + 32.0 * x.powi(7))
                };
                let blue = ((self.lost[0] + 0.5) / (self.lost[0] + self.served[0] + 1.0)).sqrt();
                let wanted = self.gamma * self.round_trip(0) * slowness(blue) / self.round_trip(1);
                let (mut x, mut root): (f64, f64) = (1.0, 1.0);
                for _ in 0..200 {
                    let slope = (2.0_f64 / 3.0).sqrt()
                        + 12.0 * (3.0_f64 / 8.0).sqrt() * (3.0 * x.powi(2) + 7.0 * 32.0 * x.powi(6));
                    root = x - (slowness(x) - wanted) / slope;
                    x = root.min(1.0);
                }
                // Number of packets that should be served of those that were not refused. More are served, so
                // a share of them is refused.
                let all = self.served[1] + self.lost[1];
                let wanted = (1.0 - x * x) * all;
                let aim = match (self.served[1], self.lost[1]) {
                    (0.0, 0.0) => x * x,
                    (served, _) if wanted >= served => 0.0,
                    (served, _) => 1.0 - wanted / served,
                };
                self.q = (self.q + self.alpha * (aim - self.q)).clamp(0.0, 1.0);
                let error = match self.served[1] {
                    _ if root > 1.0 + DUE => 0.0,
                    0.0 => DUE,
                    served if wanted > served + DUE * all => 0.0,
                    served => (DUE * all / served).min(1.0),
                };
                self.slack = (1.0 - self.alpha).abs() * self.slack + self.alpha * error + MOVE;
                self.age(0);
            } else {
                self.q *= 1.0 - self.weight;
                self.slack = (1.0 - self.weight) * self.slack + MOVE;
            }
            self.age(1);
        }
    }
    fn age(&mut self, colour: usize) {
        for sum in [&mut self.served, &mut self.lost, &mut self.waited] {
            sum[colour] *= 1.0 - self.weight;
        }
        self.news[colour] = false;
    }
}

pub struct Dsd {
    pub room: Room,
    /// Rate in bits per second; `None` if positions are bytes.
    pub rate: Option<u64>,
    pub overhead: u64,
    pub d: Ns,
    pub test: Test,
    pub is_green: Box<dyn Fn(&Pkt) -> bool>,
    pub g: f64,
    pub control: Option<Loop>,
    pub refusals: Option<Refusals>,
    /// True if duplicates are marked instead of being dropped early.
    pub ecn: bool,
    pub window: Ns,
    /// Queue of the waiting duplicates.
    pub virtual_queue: Box<dyn Model>,
    /// Positions at which they begin.
    begins: VecDeque<u64>,
    /// Beginning of the virtual line's busy period, and bytes since.
    burst: (u64, u64),
    pub blue: VecDeque<(Pkt, u64)>,
    pub green: VecDeque<Pkt>,
    busy_until: Ns,
    taken: u64,
    /// Measurement of the estimated rate: bytes, nanoseconds, the last departure, and true if packets were
    /// left then.
    measured: (f64, f64, Option<(Ns, u64)>, bool),
}

impl Dsd {
    pub fn new(room: Room, rate: Option<u64>, d: Ns, virtual_queue: Box<dyn Model>) -> Dsd {
        Dsd {
            room,
            rate,
            overhead: 0,
            d,
            test: Test::Residual,
            is_green: Box::new(|packet| matches!(packet.dscp, 44..=46)),
            g: 1.0,
            control: None,
            refusals: None,
            ecn: false,
            window: 100_000_000,
            virtual_queue,
            begins: VecDeque::new(),
            burst: (0, 0),
            blue: VecDeque::new(),
            green: VecDeque::new(),
            busy_until: 0,
            taken: 0,
            measured: (0.0, 0.0, None, false),
        }
    }

    fn wire(&self, packet: &Pkt) -> u64 {
        u64::from(packet.bytes) + self.overhead
    }
    /// Units that a packet takes on the link: nanoseconds, or bytes.
    fn takes(&self, packet: &Pkt) -> u64 {
        match self.rate {
            Some(rate) => (u128::from(self.wire(packet)) * 8_000_000_000 / u128::from(rate)) as u64,
            None => self.wire(packet),
        }
    }
    /// Position at which the virtual line has sent everything.
    fn end(&self) -> u64 {
        match self.rate {
            Some(rate) => self.burst.0 + (u128::from(self.burst.1) * 8_000_000_000 / u128::from(rate)) as u64,
            None => self.burst.0 + self.burst.1,
        }
    }
    fn has_begun(&self, begins: u64, now: Ns) -> bool {
        if self.rate.is_some() { begins <= now } else { begins < self.taken }
    }
    fn run_virtual(&mut self, now: Ns) {
        while let Some(begins) = self.begins.front().copied().filter(|begins| self.has_begun(*begins, now)) {
            self.begins.pop_front();
            self.virtual_queue.dequeue(if self.rate.is_some() { begins } else { now }, &mut Vec::new());
        }
        if let Some(control) = &mut self.control {
            control.run(now, &mut self.g);
        }
        if let Some(refusals) = &mut self.refusals {
            refusals.run(now);
        }
    }

    fn bytes_per_ns(&self) -> Option<f64> {
        (self.measured.1 > 0.0 && self.measured.0 > 0.0).then(|| self.measured.0 / self.measured.1)
    }
    /// Position at which the link is free; remainder of the packet on it; distance that it advances in `d`.
    fn link(&self, now: Ns) -> (u64, u64, Option<u64>) {
        if self.rate.is_some() {
            let free = now.max(self.busy_until);
            return (free, free - now, Some(self.d));
        }
        let Some(rate) = self.bytes_per_ns() else { return (self.taken, 0, None) };
        let left = self
            .measured
            .2
            .map_or(0, |(then, bytes)| bytes.saturating_sub((rate * (now - then) as f64).round() as u64));
        (self.taken, left, Some((rate * self.d as f64).round() as u64))
    }

    /// True if this green packet begins within its bound, with g = 1 and no further arrivals.
    fn makes_it(&self, packet: &Pkt, now: Ns) -> bool {
        let (free, left, Some(budget)) = self.link(now) else { return true };
        let mut green: VecDeque<u64> = self.green.iter().map(|p| self.takes(p)).collect();
        green.push_back(self.takes(packet));
        let mut blue: VecDeque<(u64, u64)> = self.blue.iter().map(|(p, at)| (self.takes(p), *at)).collect();
        let mut at = free;
        loop {
            if let Some((takes, begins)) = blue.front().copied()
                && at + green[0] > begins
            {
                at += takes;
                blue.pop_front();
                continue;
            }
            if green.len() == 1 {
                return left + (at - free) <= budget;
            }
            at += green.pop_front().expect("it is longer than one");
        }
    }

    fn passes(&self, packet: &Pkt, now: Ns) -> bool {
        let (free, left, Some(budget)) = self.link(now) else { return true };
        let pg = self.takes(packet);
        let lg: u64 = self.green.iter().map(|p| self.takes(p)).sum::<u64>() + pg;
        let before = i128::from(free) - i128::from(left) + i128::from(budget) + i128::from(pg);
        let due = self.blue.iter().filter(|(_, begins)| i128::from(*begins) < before);
        let lb: u64 = due.map(|(p, _)| self.takes(p)).sum();
        match self.test {
            Test::Off => true,
            Test::Printed => lg + lb <= budget + pg,
            Test::Residual => left + lg + lb <= budget + pg,
            Test::Exact => self.makes_it(packet, now),
        }
    }

    fn is_full(&self, packet: &Pkt) -> bool {
        let (packets, bytes) = self.holds_both();
        !self.room.allows(packets as usize + 1, bytes + u64::from(packet.bytes))
    }
    fn holds_both(&self) -> (u64, u64) {
        let blue: u64 = self.blue.iter().map(|(p, _)| u64::from(p.bytes)).sum();
        ((self.blue.len() + self.green.len()) as u64, blue + total(&self.green))
    }

    fn gone(&mut self, colour: usize, bytes: u32, fate: Fate, log: &mut Vec<Fate>) {
        if let Some(refusals) = &mut self.refusals {
            refusals.lost[colour] += f64::from(bytes) / refusals.full;
            refusals.news[colour] = true;
        }
        if let Some(control) = &mut self.control {
            control.seen[colour].1 += 1.0;
            control.seen[colour].3 = true;
        }
        log.push(fate);
    }
    fn refuse(&mut self) {
        if let Some(refusals) = &mut self.refusals {
            refusals.news[1] = true;
        }
    }
    fn drop_stale(&mut self, now: Ns, log: &mut Vec<Fate>) {
        while self.green.front().is_some_and(|p| p.arrival + self.d < now) {
            let packet = self.green.pop_front().expect("there is one");
            self.gone(1, packet.bytes, Fate::Drop("sojourn_bound", packet.id), log);
        }
    }

    pub fn enqueue(&mut self, now: Ns, packet: Pkt, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        self.run_virtual(now);
        if self.rate.is_none() && self.holds_both().0 == 0 {
            while self.virtual_queue.dequeue(now, &mut Vec::new()).is_some() {}
            self.begins.clear();
            self.burst = (self.taken, 0);
        }
        let is_chosen = match &self.refusals {
            Some(refusals) if (self.is_green)(&packet) && refusals.q > 0.0 => {
                let full = f64::from(packet.bytes) / refusals.full;
                uniform() < if full < 1.0 { refusals.q * full } else { refusals.q }
            }
            _ => false,
        };
        if is_chosen && !(self.ecn && packet.capable) {
            self.refuse();
            return log.push(Fate::Drop("green_loss", packet.id));
        }
        // Add dup to the virtual queue (a step of the pseudo-code).
        let mut said = Vec::new();
        self.virtual_queue.enqueue(now, packet, uniform, &mut said);
        let refused = said.iter().find(|fate| !fate.is_mark()).copied();
        let mark = said.iter().find(|fate| fate.is_mark()).copied();
        let place = if self.rate.is_some() { now } else { self.taken };
        if refused.is_none() {
            if place > self.end() {
                self.burst = (place, 0);
            }
            self.begins.push_back(self.end());
            self.burst.1 += self.wire(&packet);
        }
        if !(self.is_green)(&packet) {
            if let Some(fate) = refused {
                return self.gone(0, packet.bytes, fate, log);
            }
            let begins = *self.begins.back().expect("it has just come");
            while self.is_full(&packet) {
                let Some(newest) = self.green.pop_back() else {
                    return self.gone(0, packet.bytes, Fate::Drop("tail_limit", packet.id), log);
                };
                self.gone(1, newest.bytes, Fate::Drop("tail_limit", newest.id), log);
            }
            if let Some(fate) = mark {
                self.gone(0, packet.bytes, fate, log);
            }
            self.blue.push_back((packet, begins));
            return;
        }
        self.drop_stale(now, log);
        if let Some(fate) = refused {
            let all = self.green.iter().chain(self.blue.iter().map(|(p, _)| p)).chain([&packet]);
            let sum: u64 = all.map(|p| self.takes(p)).sum();
            if self.link(now).0 + sum > self.end() {
                return self.gone(1, packet.bytes, fate, log);
            }
        }
        if !self.passes(&packet, now) {
            return self.gone(1, packet.bytes, Fate::Drop("would_be_late", packet.id), log);
        }
        if self.is_full(&packet) {
            return self.gone(1, packet.bytes, Fate::Drop("tail_limit", packet.id), log);
        }
        if let Some(fate) = mark {
            self.gone(1, packet.bytes, fate, log);
        } else if is_chosen {
            self.refuse();
            log.push(Fate::Mark("green_loss", packet.id));
        }
        self.green.push_back(packet);
    }

    pub fn dequeue(&mut self, now: Ns, uniform: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) -> Option<Pkt> {
        self.run_virtual(now);
        self.drop_stale(now, log);
        let serve_green = match (self.green.front(), self.blue.front()) {
            (None, None) => return None,
            (head_green, None) => head_green.is_some(),
            (None, Some(_)) => false,
            (Some(green), Some((blue, dead_blue))) => {
                let place = if self.rate.is_some() { now } else { self.taken };
                let pb = match (self.rate, self.bytes_per_ns()) {
                    (Some(_), _) => self.takes(blue),
                    (None, Some(rate)) => (self.wire(blue) as f64 / rate).round() as u64,
                    (None, None) => 0,
                };
                if place + self.takes(green) > *dead_blue {
                    false
                } else if now + pb > green.arrival + self.d {
                    true
                } else {
                    uniform() < self.g
                }
            }
        };
        let packet =
            if serve_green { self.green.pop_front() } else { self.blue.pop_front().map(|(p, _)| p) }?;
        self.busy_until = now + self.takes(&packet);
        self.taken += self.wire(&packet);
        if self.rate.is_none() {
            self.run_virtual(now);
        }
        let (bytes, nanos, last, was_left) = &mut self.measured;
        if let (Some((then, sent)), true) = (*last, *was_left) {
            let took = (now - then) as f64;
            let keep = (-took / self.window as f64).exp();
            (*bytes, *nanos) = (*bytes * keep + sent as f64, *nanos * keep + took);
        }
        (*last, *was_left) = (
            Some((now, u64::from(packet.bytes) + self.overhead)),
            !self.green.is_empty() || !self.blue.is_empty(),
        );
        if let Some(control) = &mut self.control {
            let seen = &mut control.seen[usize::from(serve_green)];
            (seen.0, seen.2, seen.3) = (seen.0 + 1.0, seen.2 + (now - packet.arrival) as f64 / 1e9, true);
        }
        if let Some(refusals) = &mut self.refusals {
            let (colour, full) = (usize::from(serve_green), f64::from(packet.bytes) / refusals.full);
            refusals.served[colour] += full;
            refusals.waited[colour] += full * ((now - packet.arrival) as f64 / 1e9);
            refusals.news[colour] = true;
        }
        Some(packet)
    }

    pub fn holds(&self) -> (u64, u64) {
        self.holds_both()
    }
    /// The older of both heads.
    pub fn head(&self) -> Option<Pkt> {
        match (self.blue.front(), self.green.front()) {
            (Some((blue, _)), Some(green)) => Some(if green.arrival < blue.arrival { *green } else { *blue }),
            (Some((blue, _)), None) => Some(*blue),
            (None, green) => green.copied(),
        }
    }
}

/// The paper's first idea: one queue, in which a green packet is accepted if it will begin within `d`.
pub struct FcfsGreen {
    pub room: Room,
    /// Rate in bits per second.
    pub rate: u64,
    pub overhead: u64,
    pub d: Ns,
    pub queue: VecDeque<Pkt>,
    pub busy_until: Ns,
}

impl FcfsGreen {
    fn takes(&self, bytes: u64) -> Ns {
        (u128::from(bytes) * 8_000_000_000 / u128::from(self.rate)) as u64
    }
}

impl Model for FcfsGreen {
    fn enqueue(&mut self, now: Ns, packet: Pkt, _: &mut dyn FnMut() -> f64, log: &mut Vec<Fate>) {
        let ahead: u64 = self.queue.iter().map(|p| u64::from(p.bytes) + self.overhead).sum();
        let begins = self.busy_until.max(now) + self.takes(ahead);
        if !self.room.admits(&self.queue, &packet) {
            log.push(Fate::Drop("tail_limit", packet.id));
        } else if matches!(packet.dscp, 44..=46) && begins > now + self.d {
            log.push(Fate::Drop("would_be_late", packet.id));
        } else {
            self.queue.push_back(packet);
        }
    }
    fn dequeue(&mut self, now: Ns, _: &mut Vec<Fate>) -> Option<Pkt> {
        let packet = self.queue.pop_front()?;
        self.busy_until = now + self.takes(u64::from(packet.bytes) + self.overhead);
        Some(packet)
    }
    fn queue(&self) -> &VecDeque<Pkt> {
        &self.queue
    }
}
