//! Model of the receiver, with a list of all packets.

use super::inverse;
use qdelay_traffic::tfrc::intervals::LossCount;

#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Sequence number without wrapping.
    pub number: u64,
    /// Lane of the packet.
    pub lane: usize,
    pub in_lane: u64,
    pub sent: u64,
    pub rtt: u64,
    pub bytes: u64,
    pub marked: bool,
    pub at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    pub echo: u64,
    pub delay: u64,
    pub x_recv: f64,
    pub p: f64,
}

#[derive(Default)]
pub struct Model {
    s: f64,
    b: f64,
    least_timeout: f64,
    ndupack: usize,
    discounting: bool,
    count: LossCount,
    all: Vec<Data>,
    /// Expirations of the timer, ns, early ones included.
    expirations: Vec<u64>,
    timer: Option<u64>,
    period: u64,
    reports: Vec<Feedback>,
    /// Number of packets in `all` at the last report.
    seen: usize,
    was_silent: bool,
    p: f64,
    /// First loss interval, set when the first loss is detected.
    first_interval: Option<f64>,
}

/// A loss event.
struct Event {
    /// Number of the first lost packet.
    number: u64,
    at: u64,
    /// Packets lost in the event.
    losses: u64,
    /// Round trip when the next event was detected, ns.
    rtt_at_end: u64,
}

impl Model {
    pub fn new(
        (s, b, least_timeout): (f64, f64, f64),
        ndupack: usize,
        discounting: bool,
        count: LossCount,
    ) -> Model {
        Model { s, b, least_timeout, ndupack, discounting, count, ..Model::default() }
    }

    /// Losses and marks in the order of detection: index of the arrival that reveals it, number of the packet, time of the loss.
    fn losses(&self) -> Vec<(usize, u64, u64)> {
        let mut found = Vec::new();
        for lane in 0..2 {
            let all = || self.all.iter().enumerate().filter(|(_, data)| data.lane == lane);
            let Some((_, first)) = all().next() else { continue };
            let highest = all().map(|(_, data)| data.in_lane).max().unwrap();
            for lost in first.in_lane..=highest {
                let mut above: Vec<u64> = Vec::new();
                let mut first_above = None;
                let mut last_below = None;
                for (index, data) in all() {
                    if data.in_lane == lost {
                        break;
                    }
                    if data.in_lane > lost && !above.contains(&data.in_lane) {
                        above.push(data.in_lane);
                        first_above = first_above.or(Some(data));
                    } else if first_above.is_none() {
                        last_below = Some(data);
                    }
                    if above.len() >= self.ndupack {
                        // S_before is the last arrival below the loss before any arrival above it; S_after is the first arrival above.
                        let (before, after) = (last_below.unwrap(), first_above.unwrap());
                        let part = |distance: u64| {
                            let passed = u128::from(distance) * u128::from(lost - before.in_lane);
                            (passed / u128::from(after.in_lane - before.in_lane)) as u64
                        };
                        let number = before.number + part(after.number - before.number);
                        found.push((index, number, before.at + part(after.at - before.at)));
                        break;
                    }
                }
            }
        }
        for (index, data) in self.all.iter().enumerate() {
            // The first packet initializes the receiver; its mark is ignored.
            if data.marked && index > 0 {
                found.push((index, u64::MAX, data.at));
            }
        }
        // Losses that a packet reveals come before its mark.
        found.sort_by_key(|(index, number, at)| (*index, *number, *at));
        for (index, number, _) in &mut found {
            if *number == u64::MAX {
                *number = self.all[*index].number;
            }
        }
        found
    }

    /// Latest round trip known from the sender, ns.
    fn rtt_at(&self, index: usize) -> u64 {
        self.all[..=index].iter().map(|data| data.rtt).rfind(|rtt| *rtt > 0).unwrap_or(0)
    }

    fn events(&self) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        for (index, number, at) in self.losses() {
            let rtt = self.rtt_at(index);
            match events.last_mut() {
                Some(old) if old.at + rtt >= at => old.losses += 1,
                old => {
                    if let Some(old) = old {
                        old.rtt_at_end = rtt;
                    }
                    events.push(Event { number, at, losses: 1, rtt_at_end: 0 });
                }
            }
        }
        events
    }

    /// Loss event rate from the list of events (sections 5.3 to 5.5).
    fn loss_event_rate(&self, now: u64) -> f64 {
        let events = self.events();
        if events.is_empty() {
            return 0.0;
        }
        let weight = |i: usize| if i < 4 { 1.0 } else { 1.0 - (i as f64 - 3.0) / 5.0 };
        // Intervals with their discounts, the oldest first.
        let mut closed: Vec<(f64, f64)> = vec![(self.first_interval.unwrap(), 1.0)];
        let mean = |closed: &[(f64, f64)]| {
            let latest: Vec<_> = closed.iter().rev().take(8).collect();
            let total: f64 = latest.iter().enumerate().map(|(i, (length, df))| length * weight(i) * df).sum();
            let weights: f64 = latest.iter().enumerate().map(|(i, (_, df))| weight(i) * df).sum();
            total / weights
        };
        let discount = |length: f64, mean: f64| {
            if self.discounting && length > 2.0 * mean { (2.0 * mean / length).max(0.25) } else { 1.0 }
        };
        // RFC 4828: an interval of at most two round trips has its packets shared by its losses.
        let packets = |event: &Event, end: u64, at: u64, rtt: u64| {
            let all = (end as f64 - event.number as f64).max(1.0);
            let is_short = at.saturating_sub(event.at) <= 2 * rtt;
            let is_shared = self.count == LossCount::Packet || (self.count == LossCount::Short && is_short);
            if is_shared { (all / event.losses as f64).max(1.0) } else { all }
        };
        for pair in events.windows(2) {
            let length = packets(&pair[0], pair[1].number, pair[1].at, pair[0].rtt_at_end);
            let factor = discount(length, mean(&closed));
            for interval in &mut closed {
                interval.1 *= factor;
            }
            closed.push((length, 1.0));
        }
        let highest = self.all.iter().map(|data| data.number).max().unwrap();
        let open = packets(events.last().unwrap(), highest + 1, now, self.rtt_at(self.all.len() - 1));
        let factor = discount(open, mean(&closed));
        let (mut total, mut weights) = (open, 1.0);
        let k = closed.len().min(8);
        for (i, (length, df)) in closed.iter().rev().take(k - 1).enumerate() {
            total += length * weight(i + 1) * df * factor;
            weights += weight(i + 1) * df * factor;
        }
        1.0 / (total / weights).max(mean(&closed)).max(1.0)
    }

    fn x_recv(&self, now: u64) -> f64 {
        let since = self.expirations.iter().rev().find(|at| now - **at >= self.period);
        let Some(since) = since.or(self.expirations.first()) else { return 0.0 };
        // Arrivals at the time of an expiration count before it, except the current packet.
        let bytes: u64 = self.bytes_at(self.all.len()) - self.bytes_before_expiration(*since);
        if now == *since { 0.0 } else { bytes as f64 / ((now - since) as f64 / 1e9) }
    }

    fn bytes_at(&self, count: usize) -> u64 {
        self.all[..count].iter().map(|data| data.bytes).sum()
    }

    /// Bytes received before an expiration at `at`; the tests that use this have no simultaneous events.
    fn bytes_before_expiration(&self, at: u64) -> u64 {
        self.all.iter().filter(|data| data.at <= at).map(|data| data.bytes).sum()
    }

    fn run_silent_timer(&mut self, now: u64) {
        while self.was_silent
            && let Some(next) = self.expirations.last().map(|last| last + self.period)
            && next < now
        {
            self.expirations.push(next);
        }
    }

    fn report(&mut self, now: u64) -> Feedback {
        let last = *self.all.last().unwrap();
        let x_recv = self.x_recv(now);
        let report = Feedback { echo: last.sent, delay: now - last.at, x_recv, p: self.p };
        self.reports.push(report);
        self.expirations.push(now);
        self.seen = self.all.len();
        self.was_silent = false;
        self.period = self.rtt_at(self.all.len() - 1);
        self.timer = (self.period > 0).then(|| now + self.period);
        report
    }

    pub fn on_data(&mut self, data: Data) -> Option<Feedback> {
        let now = data.at;
        self.run_silent_timer(now);
        let before = self.events().len();
        self.all.push(data);
        if self.all.len() == 1 {
            return Some(self.report(now));
        }
        let found = self.events().len() > before;
        if found && self.first_interval.is_none() {
            let reported = self.reports.iter().map(|report| report.x_recv).fold(0.0, f64::max);
            let target = if reported > 0.0 { reported } else { self.x_recv(now) };
            let rtt = self.rtt_at(self.all.len() - 1);
            let r = rtt as f64 / 1e9;
            let lost = self.events()[0].number.saturating_sub(self.all[0].number);
            self.first_interval = Some(if target > 0.0 && rtt > 0 {
                (1.0 / inverse(self.s, r, target, self.b, self.least_timeout)).max(1.0)
            } else {
                (lost as f64).max(1.0)
            });
        }
        // Every packet causes a report until one has a round trip, which starts the timer (section 6.3).
        if self.timer.is_none() && !self.was_silent {
            self.p = self.loss_event_rate(now);
            return Some(self.report(now));
        }
        let p_prev = self.p;
        if found {
            self.p = self.loss_event_rate(now);
        }
        if (found && self.p > p_prev * (1.0 + 1e-9)) || self.was_silent {
            self.p = self.loss_event_rate(now);
            return Some(self.report(now));
        }
        None
    }

    pub fn deadline(&self) -> Option<u64> {
        self.timer
    }

    pub fn on_timer(&mut self, now: u64) -> Option<Feedback> {
        if self.seen < self.all.len() {
            self.p = self.loss_event_rate(now);
            return Some(self.report(now));
        }
        self.expirations.push(now);
        self.was_silent = true;
        self.timer = None;
        None
    }
}
