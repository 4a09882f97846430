//! Probes: short bursts of packets above the current rate, whose arrival rate shows whether the link has that capacity.
//!
//! A call begins with probes at 3 and 6 times its first rate. If the result is at least 70% of the last probe's rate, another follows at twice the
//! result. After a large drop of the rate, an application that is idle, or was within the last 3 s, sends a probe at 85% of the former rate. There
//! are no probes while the queue grows or drains, or while losses reduce the rate; while losses limit the rate, probes have at most 1.5 times the
//! rate.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5 leaves the start open; the rest follows libwebrtc's probe controller (June 2025), without its
//! probes each 5 s, which calls with a camera do not have.

use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Rates of the first probes, as multiples of the first rate.
const FIRST: [f64; 2] = [3.0, 6.0];
/// Rate of a further probe, as a multiple of the result before.
const FURTHER: f64 = 2.0;
/// Smallest result that causes a further probe, as a share of the last probe's rate.
const FOUND: f64 = 0.7;
const PACKETS: u32 = 5;
const LENGTH_S: f64 = 0.015;
/// Time after which a probe without a result is over.
const PATIENCE: Span = Span::from_secs(1);
/// Highest rate of probes for applications with a lower useful rate, bit/s.
const MOST: f64 = 5e6;
/// Minimum interval between probes after a drop, and time for which a large drop counts.
const INTERVAL: Span = Span::from_secs(5);
/// Rate after a large drop, relative to the rate before: less than this.
const LARGE_DROP: f64 = 0.66;

/// A probe: a burst of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Number of the probe, from 1.
    pub number: u32,
    /// Send rate of the packets, bit/s.
    pub rate: f64,
    packets: u32,
    bytes: u32,
}

impl Cluster {
    /// Minimum number of packets.
    pub fn least_packets(&self) -> u32 {
        PACKETS
    }
    /// Minimum number of IP bytes.
    pub fn least_bytes(&self) -> u32 {
        (self.rate * LENGTH_S / 8.0) as u32
    }
}

/// Packets of a probe that have arrived.
#[derive(Clone, Copy, Debug)]
struct ProbeArrivals {
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

/// Probes of a flow.
#[derive(Clone, Debug)]
pub struct Prober {
    is_on: bool,
    most: f64,
    /// Current upper bound of a probe's rate, bit/s.
    ceiling: f64,
    waiting: VecDeque<Cluster>,
    found: VecDeque<ProbeArrivals>,
    number: u32,
    /// Time at which the last probe was requested.
    asked: Option<Time>,
    /// Rate above which a further probe follows, bit/s; `None` unless a result is awaited.
    further_above: Option<f64>,
    /// Latest large drop: time and rate before, bit/s.
    dropped: Option<(Time, f64)>,
    /// Time at which the last probe after a large drop was requested.
    after_drop: Option<Time>,
}

impl Prober {
    /// Initial state. `is_on`: whether there are probes; `useful`: highest useful rate of the application, bit/s. Probes have at most twice that
    /// rate, and at most the larger of that rate and 5 Mbit/s.
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

    /// Requests the first probes of a call with the initial rate `rate`, bit/s.
    pub fn begin(&mut self, now: Time, rate: f64) {
        for factor in FIRST {
            self.ask(now, factor * rate, true);
        }
    }

    /// Current probe; `None` without one.
    pub fn current(&self) -> Option<Cluster> {
        self.waiting.front().copied()
    }

    /// Records that a packet of the current probe has left.
    pub fn sent(&mut self, bytes: u32) {
        let Some(cluster) = self.waiting.front_mut() else { return };
        (cluster.packets, cluster.bytes) = (cluster.packets + 1, cluster.bytes + bytes);
        if cluster.packets >= PACKETS && cluster.bytes >= cluster.least_bytes() {
            self.waiting.pop_front();
        }
    }

    /// Records the arrival of a packet of probe `number`; returns the result of the probe, bit/s, once enough packets have arrived.
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

    /// Updates the probes after a feedback. `before`, `rate`: target rate before and after; `ceiling`: upper bound of a probe's rate, 0 for no
    /// probes; all bit/s.
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

    /// Requests a probe of the former rate after a large drop: the queue has drained while the application is idle.
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
        self.found.push_back(ProbeArrivals {
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

impl ProbeArrivals {
    /// Result, bit/s, once four fifths of the probe have arrived. The time between the first and the last packet is that of all packets but one.
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
        // A probe that arrives slower than it left shows the capacity; 95% of it builds no queue.
        Some(if arrived < 0.9 * sent { 0.95 * arrived } else { sent.min(arrived) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_us(micros: u64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    /// Probes at 0.9 and 1.8 Mbit/s over a link of 1 Mbit/s.
    #[test]
    fn the_first_probes_find_the_rate_of_the_link() {
        let mut prober = Prober::new(true, 1e7);
        prober.begin(Time::ZERO, 3e5);
        let (mut now, mut free) = (0.0, 0.0);
        let mut rates = alloc::vec::Vec::new();
        while let Some(cluster) = prober.current() {
            prober.sent(1250);
            free = f64::max(free, now) + 1e4;
            let found =
                prober.arrived(cluster.number, 1250, time_us(now as u64), time_us(50_000 + free as u64));
            rates.push((cluster.number, found));
            now += 1e4 / (cluster.rate / 1e6);
        }
        let last = |number| rates.iter().rfind(|rate| rate.0 == number).unwrap().1.unwrap();
        assert!((last(1) / 9e5 - 1.0).abs() < 0.01, "{rates:?}");
        assert!((last(2) / 9.5e5 - 1.0).abs() < 0.01, "{rates:?}");
        // The result is less than 70% of 1.8 Mbit/s: no further probe.
        prober.update(time_us(200_000), 9e5, 9.5e5, f64::INFINITY);
        assert_eq!(prober.current(), None);
    }
}
