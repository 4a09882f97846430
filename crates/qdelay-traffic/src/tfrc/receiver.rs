//! The receiving end: detection of missing packets and loss events, and reports to the sender.
//!
//! A packet is lost when three packets with higher numbers have arrived. The time of the loss is interpolated between the arrivals
//! around it. Losses within a round trip of the first loss of an event belong to that event. A packet with a congestion
//! mark counts as lost at its arrival. A report is sent once per round trip, and at once if `p` has grown.
//!
//! Source: RFC 5348 sections 5.1, 5.2 and 6.

use super::intervals::{LossCount, LossIntervals};
use super::{DataHeader, Equation, Report};
use crate::segment::expand;
use qdelay_core::{Span, Time};

/// Number of timer expirations stored. Loss events add at most one report per round trip to those of the timer, so that the expiration of one
/// round trip ago is among the last few.
const EXPIRATIONS: usize = 16;
/// Largest value of [`ReceiverConfig::reorder`].
const REORDER_MAX: usize = 16;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The equation for the first loss interval.
    pub equation: Equation,
    /// Packets with higher numbers that must arrive before one is declared lost, `NDUPACK`: 1 to 16, 3 in the RFC.
    pub reorder: u32,
    /// Whether history is discounted (section 5.5).
    pub discounting: bool,
    /// Number of times that an interval counts; by RFC 4828 for flows of small packets.
    pub count: LossCount,
}

/// A packet: its number in the flow, its number within its lane, and its time of arrival.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    in_lane: u64,
    time: Time,
}

/// A packet that has arrived, and the previous arrival of its lane.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    here: Place,
    before: Place,
    /// Number of earlier arrivals.
    order: u64,
}

const NOWHERE: Place = Place { number: 0, in_lane: 0, time: Time::ZERO };
const NOTHING: Arrival = Arrival { here: NOWHERE, before: NOWHERE, order: 0 };
/// Offset added to the first sequence number, so that packets sent before the first arrival have positive numbers too.
const BASE: u64 = 1 << 32;

/// Arrivals of a lane: almost in order, with some packets missing. Numbers are those within the lane.
#[derive(Clone, Debug)]
struct Lane {
    /// Packet that arrived last; `None` before the first.
    last: Option<Place>,
    highest: u64,
    /// Highest number up to which every packet has arrived or is lost.
    settled: u64,
    /// Arrivals above `settled`, by number.
    pending: [Arrival; REORDER_MAX],
    pending_count: usize,
}

/// The state of a receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    intervals: LossIntervals,
    lanes: [Lane; 2],
    /// Number of the packet that arrived first; `None` before it.
    first: Option<u64>,
    /// Arrival time of the last packet.
    last: Time,
    last_sent: Time,
    highest: u64,
    /// Number of packets received.
    packets: u64,
    /// Start of the latest loss event.
    event: Option<Time>,
    /// The sender's round trip, as in the last packet.
    rtt: Span,
    loss_event_rate: f64,
    /// Bytes of all packets received.
    bytes: u64,
    /// Highest rate reported so far.
    rate_max: f64,
    /// Expirations of the timer, the latest last: time, and bytes received by then.
    expired: [(Time, u64); EXPIRATIONS],
    expired_count: usize,
    /// Next expiry of the timer.
    timer: Time,
    period: Span,
    /// Packets since the last report.
    unreported: u64,
    /// Whether the timer has expired without a packet since the report before.
    silent: bool,
}

impl Receiver {
    /// A receiver before the first packet.
    pub fn new(config: ReceiverConfig) -> Receiver {
        let reorder = config.reorder.clamp(1, REORDER_MAX as u32);
        Receiver {
            config: ReceiverConfig { reorder, ..config },
            intervals: LossIntervals::new(config.discounting, config.count),
            lanes: [Lane::NEW; 2],
            first: None,
            last: Time::ZERO,
            last_sent: Time::ZERO,
            highest: 0,
            packets: 0,
            event: None,
            rtt: Span::ZERO,
            loss_event_rate: 0.0,
            bytes: 0,
            rate_max: 0.0,
            expired: [(Time::ZERO, 0); EXPIRATIONS],
            expired_count: 0,
            timer: Time::NEVER,
            period: Span::ZERO,
            unreported: 0,
            silent: false,
        }
    }

    /// Time at which [`Receiver::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        self.timer
    }
    /// Loss event rate `p` as of the last report or loss event, 0 to 1.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// Processes a data packet of `bytes` IP bytes; returns the report that it triggers, if any. `marked`: the packet has a congestion
    /// mark (CE).
    pub fn on_data(&mut self, now: Time, header: &DataHeader, bytes: u32, marked: bool) -> Option<Report> {
        let near = if self.first.is_some() { self.highest } else { BASE + u64::from(header.seq) };
        let number = expand(header.seq, near);
        if self.silent {
            self.catch_up(now);
        }
        self.bytes += u64::from(bytes);
        self.unreported += 1;
        self.last_sent = header.sent;
        if !header.rtt.is_zero() {
            self.rtt = header.rtt;
        }
        self.last = now;
        self.packets += 1;
        self.highest = self.highest.max(number);
        let lost = self.record_arrival(now, header, number);
        if self.first.is_none() {
            self.first = Some(number);
            // The first report has X_recv = 0 and p = 0 (section 6.3).
            return Some(self.report(now));
        }
        let news = lost | (marked && self.lose_one(number, now));
        // Before the sender has a round-trip sample there is no timer, and every packet causes a report.
        if self.period.is_zero() {
            return Some(self.expire(now));
        }
        if news {
            let before = self.loss_event_rate;
            self.loss_event_rate = self.intervals.loss_event_rate(self.highest, now, self.rtt);
            // The tolerance covers rounding: an event may leave the average unchanged.
            if self.loss_event_rate > before * (1.0 + 1e-9) {
                return Some(self.expire(now));
            }
        }
        self.silent.then(|| self.expire(now))
    }

    /// Report of the timer; `None` if the timer is not due or no packet has arrived since the last report.
    pub fn on_deadline(&mut self, now: Time) -> Option<Report> {
        if now < self.timer {
            return None;
        }
        if self.unreported > 0 {
            return Some(self.expire(now));
        }
        // The timer conceptually continues to expire each `period`; `catch_up` adds these expirations later.
        self.remember(now);
        self.silent = true;
        self.timer = Time::NEVER;
        None
    }

    // ---- Reports ----

    /// Expires the timer, at its time or earlier, and makes the report (section 6.2).
    fn expire(&mut self, now: Time) -> Report {
        self.loss_event_rate = self.intervals.loss_event_rate(self.highest, now, self.rtt);
        self.report(now)
    }

    fn report(&mut self, now: Time) -> Report {
        let receive_rate = self.receive_rate(now);
        self.rate_max = self.rate_max.max(receive_rate);
        self.remember(now);
        self.unreported = 0;
        self.silent = false;
        self.period = self.rtt;
        self.timer = if self.rtt.is_zero() { Time::NEVER } else { now + self.rtt };
        Report {
            echo: self.last_sent,
            delay: now.since(self.last),
            receive_rate,
            loss_event_rate: self.loss_event_rate,
        }
    }

    /// Receive rate, bytes/s, since the last expiration that is at least a period old, or else since the oldest stored one. Zero before the first
    /// expiration.
    fn receive_rate(&self, now: Time) -> f64 {
        let known = &self.expired[..self.expired_count];
        let old_enough = known.iter().rev().find(|(time, _)| now.since(*time) >= self.period);
        let Some((time, bytes)) = old_enough.or(known.first()) else { return 0.0 };
        let seconds = now.since(*time).as_secs_f64();
        if seconds > 0.0 { (self.bytes - bytes) as f64 / seconds } else { 0.0 }
    }

    fn remember(&mut self, now: Time) {
        if self.expired_count == EXPIRATIONS {
            self.expired.copy_within(1.., 0);
            self.expired_count -= 1;
        }
        self.expired[self.expired_count] = (now, self.bytes);
        self.expired_count += 1;
    }

    /// Adds the expirations of the timer during a silence, one per period; only the last of them are stored.
    fn catch_up(&mut self, now: Time) {
        let Some(&(last, _)) = self.expired[..self.expired_count].last() else { return };
        let periods = now.since(last).as_nanos().saturating_sub(1) / self.period.as_nanos().max(1);
        for periods in periods.saturating_sub(EXPIRATIONS as u64).max(1)..=periods {
            self.remember(last + self.period * periods);
        }
    }

    // ---- Losses ----

    /// Adds an arrival to its lane; returns whether it reveals a new loss event.
    fn record_arrival(&mut self, now: Time, header: &DataHeader, number: u64) -> bool {
        let lane = &mut self.lanes[usize::from(header.lane & 1)];
        let near = if lane.last.is_some() { lane.highest } else { BASE + u64::from(header.lane_seq) };
        let here = Place { number, in_lane: expand(header.lane_seq, near), time: now };
        lane.highest = lane.highest.max(here.in_lane);
        let Some(before) = lane.last.replace(here) else {
            lane.settled = here.in_lane;
            return false;
        };
        lane.insert(Arrival { here, before, order: self.packets });
        let mut found = false;
        loop {
            let lane = &mut self.lanes[usize::from(header.lane & 1)];
            let Some((first, last, after)) = lane.settle(self.config.reorder as usize) else { break };
            found |= self.lose(first, last, after);
        }
        found
    }

    /// Records packets `first` to `last` of a lane as lost; `after` is the first arrival above them. Returns whether that starts a loss event.
    fn lose(&mut self, first: u64, last: u64, after: Arrival) -> bool {
        let mut found = false;
        let mut in_lane = first;
        while in_lane <= last {
            let lost = after.lost(in_lane);
            if self.lose_one(lost.number, lost.time) {
                found = true;
                in_lane += 1;
            } else {
                // Packets up to a round trip after the start of the event belong to it: they are counted in one step.
                let end = self.event.map_or(lost.time, |event| event + self.rtt);
                let next = after.first_later(end).max(in_lane + 1);
                self.intervals.more(next.min(last + 1) - in_lane - 1);
                in_lane = next;
            }
        }
        found
    }

    /// Records the loss of packet `number` at time `at`; returns whether it starts a loss event.
    fn lose_one(&mut self, number: u64, at: Time) -> bool {
        if self.event.is_some_and(|event| event + self.rtt >= at) {
            self.intervals.more(1);
            return false;
        }
        self.event = Some(at);
        if self.intervals.has_event() {
            self.intervals.next(number, at, self.rtt);
        } else {
            self.intervals.begin(number, at, self.first_interval(number));
        }
        true
    }

    /// First loss interval, packets: the one for which the equation gives the receive rate before the first loss event (section 6.3.1).
    fn first_interval(&self, number: u64) -> f64 {
        let rate = if self.rate_max > 0.0 { self.rate_max } else { self.receive_rate(self.last) };
        if rate > 0.0 && !self.rtt.is_zero() {
            1.0 / self.config.equation.loss_event_rate(rate, self.rtt.as_secs_f64())
        } else {
            number.saturating_sub(self.first.unwrap_or(number)).max(1) as f64
        }
    }
}

impl Lane {
    const NEW: Lane =
        Lane { last: None, highest: 0, settled: 0, pending: [NOTHING; REORDER_MAX], pending_count: 0 };

    /// Inserts an arrival into `pending` by its number; a duplicate, or a packet at or below `settled`, is ignored.
    fn insert(&mut self, arrival: Arrival) {
        let number = arrival.here.in_lane;
        let place = self.pending[..self.pending_count].iter().position(|other| other.here.in_lane >= number);
        let is_known = place.is_some_and(|place| self.pending[place].here.in_lane == number);
        // `settle` is called until it returns `None`, so that fewer than `reorder` arrivals are pending.
        if is_known || number <= self.settled || self.pending_count == REORDER_MAX {
            return;
        }
        let place = place.unwrap_or(self.pending_count);
        self.pending.copy_within(place..self.pending_count.min(REORDER_MAX - 1), place + 1);
        self.pending[place] = arrival;
        self.pending_count += 1;
    }

    /// Next range of packets declared lost: first and last number, and the first arrival above them. `None` if there is none.
    fn settle(&mut self, reorder: usize) -> Option<(u64, u64, Arrival)> {
        while self.pending_count > 0 {
            let pending = &self.pending[..self.pending_count];
            let (first, lowest) = (self.settled + 1, pending[0].here.in_lane);
            let after = pending.iter().min_by_key(|arrival| arrival.order).copied();
            if lowest > first && self.pending_count < reorder {
                break;
            }
            self.settled = lowest;
            self.pending.copy_within(1..self.pending_count, 0);
            self.pending_count -= 1;
            if lowest > first {
                return after.map(|after| (first, lowest - 1, after));
            }
        }
        None
    }
}

impl Arrival {
    /// Interpolated number and arrival time of the lost packet `in_lane` below this arrival, between this arrival and the previous
    /// one of the lane (section 5.2, `T_loss`).
    fn lost(&self, in_lane: u64) -> Place {
        let Arrival { here, before, .. } = self;
        let all = u128::from(here.in_lane.saturating_sub(before.in_lane)).max(1);
        let passed = u128::from(in_lane.saturating_sub(before.in_lane)).min(all);
        // The result is at most `distance`, so that the cast is exact.
        let part = |distance: u64| (u128::from(distance) * passed / all) as u64;
        Place {
            number: before.number + part(here.number.saturating_sub(before.number)),
            in_lane,
            time: before.time + Span::from_nanos(part(here.time.since(before.time).as_nanos())),
        }
    }

    /// First number in the lane whose interpolated time of loss ([`Arrival::lost`]) is later than `end`.
    fn first_later(&self, end: Time) -> u64 {
        let Arrival { here, before, .. } = self;
        let elapsed = u128::from(here.time.since(before.time).as_nanos());
        if elapsed == 0 {
            return u64::MAX;
        }
        let all = u128::from(here.in_lane.saturating_sub(before.in_lane)).max(1);
        let passed = ((u128::from(end.since(before.time).as_nanos()) + 1) * all).div_ceil(elapsed);
        u64::try_from(passed).map_or(u64::MAX, |passed| before.in_lane.saturating_add(passed))
    }
}
