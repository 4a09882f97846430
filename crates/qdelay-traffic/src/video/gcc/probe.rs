//! Probes: short bursts of packets at a rate above the present one, whose arrival tells whether the link has it.
//!
//! A call begins with bursts at 3 and 6 times its first rate. Where 70% of the last one is found, another follows at twice what was found.
//! While the application is idle, or was until 3 s ago, there is one at 85% of the former rate after a large drop. There are none while the
//! queue grows or drains, nor while losses reduce the rate; while losses limit it, they have at most 1.5 times the rate.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5 leaves the start open; the rest is libwebrtc's probe controller (June 2025), without its
//! probes each 5 s, which calls with a camera have not.

use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Multiples of the first rate.
const FIRST: [f64; 2] = [3.0, 6.0];
/// Multiple of what was found.
const FURTHER: f64 = 2.0;
/// The share of the last probe that has to be found until there is a further one.
const FOUND: f64 = 0.7;
const PACKETS: u32 = 5;
const LENGTH_S: f64 = 0.015;
/// After which time without a result there is none.
const PATIENCE: Span = Span::from_secs(1);
/// Highest rate where the application has not asked for more, bit/s.
const MOST: f64 = 5e6;
/// Least time between probes after a drop, and for how long a large drop counts.
const INTERVAL: Span = Span::from_secs(5);
/// A drop to less than this share is large.
const LARGE_DROP: f64 = 0.66;

/// A burst of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Its number, from 1; packets outside of a probe have 0.
    pub number: u32,
    /// Rate at which its packets leave, bit/s.
    pub rate: f64,
    packets: u32,
    bytes: u32,
}

impl Cluster {
    /// The least number of packets.
    pub fn least_packets(&self) -> u32 {
        PACKETS
    }
    /// The least number of bytes.
    pub fn least_bytes(&self) -> u32 {
        (self.rate * LENGTH_S / 8.0) as u32
    }
}

/// What has arrived of a burst.
#[derive(Clone, Copy, Debug)]
struct Found {
    cluster: Cluster,
    packets: u32,
    bytes: u64,
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    last_arrived: Time,
    last_sent_bytes: u32,
    first_arrived_bytes: u32,
}

/// The bursts of a flow.
#[derive(Clone, Debug)]
pub struct Prober {
    is_on: bool,
    most: f64,
    /// For the time being, bit/s.
    ceiling: f64,
    waiting: VecDeque<Cluster>,
    found: VecDeque<Found>,
    number: u32,
    /// When the last one was asked for.
    asked: Option<Time>,
    /// Above which rate there is a further one, while a result is waited for.
    further_above: Option<f64>,
    /// The last large drop: when and from which rate.
    dropped: Option<(Time, f64)>,
    /// When the last one after a large drop was asked for.
    after_drop: Option<Time>,
}

impl Prober {
    /// For an application that sends at most `useful` bit/s: bursts have twice that at most, and no more than 5 Mbit/s where that is enough.
    /// If not `is_on`, there are none.
    pub fn new(is_on: bool, useful: f64) -> Prober {
        Prober {
            is_on,
            most: (2.0 * useful).min(useful.max(MOST)),
            ceiling: f64::INFINITY,
            waiting: VecDeque::new(),
            found: VecDeque::new(),
            number: 0,
            asked: None,
            further_above: None,
            dropped: None,
            after_drop: None,
        }
    }

    /// The call begins with this rate.
    pub fn begin(&mut self, now: Time, rate: f64) {
        for factor in FIRST {
            self.ask(now, factor * rate, true);
        }
    }

    /// The burst that is under way.
    pub fn current(&self) -> Option<Cluster> {
        self.waiting.front().copied()
    }

    /// A packet of the burst has left.
    pub fn sent(&mut self, bytes: u32) {
        let Some(cluster) = self.waiting.front_mut() else { return };
        (cluster.packets, cluster.bytes) = (cluster.packets + 1, cluster.bytes + bytes);
        if cluster.packets >= PACKETS && cluster.bytes >= cluster.least_bytes() {
            self.waiting.pop_front();
        }
    }

    /// A packet of burst `number` has arrived; the rate that the burst shows, bit/s.
    pub fn arrived(&mut self, number: u32, bytes: u32, sent: Time, arrived: Time) -> Option<f64> {
        let found = self.found.iter_mut().find(|found| found.cluster.number == number)?;
        if found.packets == 0 {
            (found.first_sent, found.last_sent, found.last_sent_bytes) = (sent, sent, bytes);
            (found.first_arrived, found.last_arrived, found.first_arrived_bytes) = (arrived, arrived, bytes);
        }
        (found.packets, found.bytes) = (found.packets + 1, found.bytes + u64::from(bytes));
        found.first_sent = found.first_sent.min(sent);
        if sent >= found.last_sent {
            (found.last_sent, found.last_sent_bytes) = (sent, bytes);
        }
        if arrived < found.first_arrived {
            (found.first_arrived, found.first_arrived_bytes) = (arrived, bytes);
        }
        found.last_arrived = found.last_arrived.max(arrived);
        found.rate()
    }

    /// The rate in force after a feedback was `before` and is `rate` now; bursts may have `ceiling` bit/s, of which 0 is for none.
    pub fn update(&mut self, now: Time, before: f64, rate: f64, ceiling: f64) {
        self.ceiling = ceiling;
        if rate < LARGE_DROP * before {
            self.dropped = Some((now, before));
        }
        match self.further_above {
            Some(_) if self.asked.is_some_and(|asked| now.since(asked) > PATIENCE) => {
                self.further_above = None
            }
            Some(least) if rate > least => self.ask(now, FURTHER * rate, true),
            _ => {}
        }
    }

    /// The queue has drained, while idle: whether the former rate is there again.
    pub fn recovered(&mut self, now: Time, rate: f64) {
        let Some((at, before)) = self.dropped else { return };
        let suggested = 0.85 * before;
        let is_due =
            self.further_above.is_none() && self.after_drop.is_none_or(|last| now.since(last) > INTERVAL);
        if is_due && 0.95 * suggested > rate && now.since(at) < INTERVAL {
            self.after_drop = Some(now);
            self.ask(now, suggested, false);
        }
    }

    fn ask(&mut self, now: Time, rate: f64, mut is_further: bool) {
        if !self.is_on || self.ceiling == 0.0 {
            return;
        }
        let most = self.most.min(self.ceiling);
        if rate >= most {
            is_further = false;
        }
        self.number += 1;
        let cluster = Cluster { number: self.number, rate: rate.min(most), packets: 0, bytes: 0 };
        self.asked = Some(now);
        self.further_above = is_further.then_some(FOUND * cluster.rate);
        self.waiting.push_back(cluster);
        if self.found.len() == 8 {
            self.found.pop_front();
        }
        self.found.push_back(Found {
            cluster,
            packets: 0,
            bytes: 0,
            first_sent: now,
            last_sent: now,
            first_arrived: now,
            last_arrived: now,
            last_sent_bytes: 0,
            first_arrived_bytes: 0,
        });
    }
}

impl Found {
    /// Bits a second, if four fifths have come. Packets from first to last take the time between them without one of the two.
    fn rate(&self) -> Option<f64> {
        let is_enough = f64::from(self.packets) >= 0.8 * f64::from(PACKETS)
            && self.bytes as f64 >= 0.8 * f64::from(self.cluster.least_bytes());
        let sent_s = self.last_sent.since(self.first_sent).as_secs_f64();
        let arrived_s = self.last_arrived.since(self.first_arrived).as_secs_f64();
        let is_valid = |seconds: f64| seconds > 0.0 && seconds <= 1.0;
        if !is_enough || !is_valid(sent_s) || !is_valid(arrived_s) {
            return None;
        }
        let sent = 8.0 * (self.bytes - u64::from(self.last_sent_bytes)) as f64 / sent_s;
        let arrived = 8.0 * (self.bytes - u64::from(self.first_arrived_bytes)) as f64 / arrived_s;
        if arrived > 2.0 * sent {
            return None;
        }
        // A burst that comes slower than it left has found the capacity; a bit less than that does not build a queue.
        Some(if arrived < 0.9 * sent { 0.95 * arrived } else { sent.min(arrived) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Bursts at 0.9 and 1.8 Mbit/s over a link of 1 Mbit/s.
    #[test]
    fn the_first_bursts_find_the_link() {
        let mut prober = Prober::new(true, 1e7);
        prober.begin(Time::ZERO, 3e5);
        let (mut now, mut free) = (0.0, 0.0);
        let mut rates = alloc::vec::Vec::new();
        while let Some(cluster) = prober.current() {
            prober.sent(1250);
            free = f64::max(free, now) + 1e4;
            let found = prober.arrived(cluster.number, 1250, at(now as u64), at(50_000 + free as u64));
            rates.push((cluster.number, found));
            now += 1e4 / (cluster.rate / 1e6);
        }
        let last = |number| rates.iter().rfind(|rate| rate.0 == number).unwrap().1.unwrap();
        assert!((last(1) / 9e5 - 1.0).abs() < 0.01, "{rates:?}");
        assert!((last(2) / 9.5e5 - 1.0).abs() < 0.01, "{rates:?}");
        // Less than 70% of 1.8 Mbit/s was found: no further one.
        prober.update(at(200_000), 9e5, 9.5e5, f64::INFINITY);
        assert_eq!(prober.current(), None);
    }
}
