//! The sender's allowed rate, `X`.
//!
//! Before the first loss event the rate doubles; afterwards the rate is that of the equation. The rate is at most twice the recent receive
//! rate, unless the application has sent less than allowed. If no report arrives for four round trips, or for the time of two
//! packets, the rate is halved.
//!
//! A report covers packets sent one to two round trips before its arrival, so twice the reported rate is twice the rate of the round trip before
//! the last. After the first three round trips the rate therefore doubles in every second round trip; TCP's window doubles in each.
//!
//! Source: RFC 5348 sections 4.2 to 4.5 and 8.2.1.

use super::{Equation, Report};
use qdelay_core::{Span, Time};

/// Weight of the old round-trip estimate in the new one, `q` and `q2` (sections 4.3 and 4.5).
const MEMORY: f64 = 0.9;
/// Longest gap between packets, s: `t_mbi` (section 4.3).
pub const LONGEST_GAP_S: f64 = 64.0;
/// Share of a round trip after which the rate may double again. Below 1, because reports are one round trip apart and rounding must not
/// decide.
const NEARLY: f64 = 0.999;
/// Most receive rates stored; they cover two round trips.
const RATES: usize = 16;

/// Settings of the rate control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// TCP's throughput equation.
    pub equation: Equation,
    /// Whether packets are spaced wider while the round trip is above its average (section 4.5).
    pub damping: bool,
    /// Bytes of the first round trip, `W_init`: see [`RateConfig::standard_window`] for the value of section 4.2.
    pub initial_window: u32,
}

impl RateConfig {
    /// `W_init` of section 4.2 for packets of `bytes` bytes.
    pub fn standard_window(bytes: u32) -> u32 {
        (4 * bytes).min((2 * bytes).max(4380))
    }
}

/// State of the rate control. Rates in bytes/s, times in s.
#[derive(Clone, Debug)]
pub struct RateControl {
    config: RateConfig,
    /// Allowed rate, `X`.
    allowed: f64,
    /// Instantaneous rate with damping, `X_inst`.
    instantaneous: f64,
    /// Round trip, `R`; zero before the first report.
    rtt: f64,
    rtt_root: f64,
    /// Loss event rate of the last report, `p`.
    loss_event_rate: f64,
    /// Rate of the first round trip, `recover_rate`.
    initial: f64,
    /// Time of the last doubling, `tld`.
    doubled: Time,
    received: ReceiveRates,
    /// Expiry of the no-feedback timer; [`Time::NEVER`] before the first packet.
    timer: Time,
    /// Whether no packet was sent since the timer was set.
    idle: bool,
    expirations: u64,
    limits: Limits,
}

impl RateControl {
    /// Initial state: one packet per second until the first report.
    pub fn new(config: RateConfig) -> RateControl {
        let allowed = config.equation.segment_bytes;
        RateControl {
            config,
            allowed,
            instantaneous: allowed,
            rtt: 0.0,
            rtt_root: 0.0,
            loss_event_rate: 0.0,
            initial: 0.0,
            doubled: Time::ZERO,
            received: ReceiveRates::new(),
            timer: Time::NEVER,
            idle: true,
            expirations: 0,
            limits: Limits::default(),
        }
    }

    /// Rate for the spacing of packets, bytes/s: `X_inst` with damping, otherwise `X`.
    pub fn rate(&self) -> f64 {
        self.instantaneous
    }
    /// Allowed rate `X`, bytes/s.
    pub fn allowed(&self) -> f64 {
        self.allowed
    }
    /// Round trip `R`; zero before the first report.
    pub fn rtt(&self) -> Span {
        Span::from_secs_f64(self.rtt)
    }
    /// Loss event rate `p` of the last report, 0 to 1.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }
    /// Number of expiries of the no-feedback timer.
    pub fn expirations(&self) -> u64 {
        self.expirations
    }
    /// Time at which [`RateControl::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        self.timer
    }

    /// Records that a packet was sent. `limited`: the rate allows no further packet although the application has more.
    pub fn sent(&mut self, now: Time, limited: bool) {
        if self.timer == Time::NEVER {
            self.timer = now + Span::from_secs(2);
        }
        self.idle = false;
        if limited {
            self.limits.limited(now);
        }
    }

    /// Processes a report (section 4.3).
    pub fn on_report(&mut self, now: Time, report: &Report) {
        let sample = now.since(report.echo).saturating_sub(report.delay).as_secs_f64().max(1e-9);
        let first = self.rtt <= 0.0;
        if first {
            self.rtt = sample;
            self.initial = f64::from(self.config.initial_window) / sample;
            self.allowed = self.initial;
            self.doubled = now;
            self.received = ReceiveRates::unbounded(now);
        } else {
            self.rtt = MEMORY * self.rtt + (1.0 - MEMORY) * sample;
        }
        debug_assert!((0.0..=1.0).contains(&report.loss_event_rate), "p of {}", report.loss_event_rate);
        debug_assert!(report.receive_rate >= 0.0, "X_recv of {}", report.receive_rate);
        let timeout = self.timeout();
        let application_limited = self.limits.reported(now, report.echo, self.rtt());
        let has_grown = report.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = report.loss_event_rate;
        let limit = match (application_limited, has_grown) {
            (true, true) => {
                self.received.halve();
                self.received.maximize(now, 0.85 * report.receive_rate);
                self.received.max()
            }
            (true, false) => {
                self.received.maximize(now, report.receive_rate);
                2.0 * self.received.max()
            }
            (false, _) => {
                self.received.update(now, report.receive_rate, Span::from_secs_f64(2.0 * self.rtt));
                2.0 * self.received.max()
            }
        };
        self.recompute(now, limit);
        let root = libm::sqrt(sample);
        self.rtt_root = if first { root } else { MEMORY * self.rtt_root + (1.0 - MEMORY) * root };
        let factor = if self.config.damping { self.rtt_root / root } else { 1.0 };
        self.instantaneous = (self.allowed * factor).max(self.least());
        self.set_timer(now, timeout);
    }

    /// Handles an expiry of the no-feedback timer (section 4.4).
    pub fn on_deadline(&mut self, now: Time) {
        if now < self.timer {
            return;
        }
        self.expirations += 1;
        let received = self.received.max();
        let p = self.loss_event_rate;
        let equation = self.config.equation.rate(p, self.rtt);
        // An idle connection keeps at least its restart rate.
        let is_low = if p > 0.0 { received < self.initial } else { self.allowed < 2.0 * self.initial };
        if self.idle && (is_low || self.rtt <= 0.0) {
            // The rate stays.
        } else if p <= 0.0 {
            self.allowed = (self.allowed / 2.0).max(self.least());
        } else {
            let limit = if equation > 2.0 * received { received } else { equation / 2.0 };
            let limit = limit.max(self.least());
            self.received.replace(now, limit / 2.0);
            self.recompute(now, limit);
        }
        self.instantaneous = self.allowed;
        let timeout = self.timeout();
        self.set_timer(now, timeout);
    }

    /// Sets the allowed rate from `p` and `R`, at most `limit` (section 4.3, step 4, second half).
    fn recompute(&mut self, now: Time, limit: f64) {
        if self.loss_event_rate > 0.0 {
            let equation = self.config.equation.rate(self.loss_event_rate, self.rtt);
            self.allowed = equation.min(limit).max(self.least());
        } else if now.since(self.doubled).as_secs_f64() >= NEARLY * self.rtt {
            self.allowed = (2.0 * self.allowed).min(limit).max(self.initial);
            self.doubled = now;
        }
    }

    fn least(&self) -> f64 {
        self.config.equation.segment_bytes / LONGEST_GAP_S
    }

    fn timeout(&self) -> f64 {
        (4.0 * self.rtt).max(2.0 * self.config.equation.segment_bytes / self.allowed)
    }

    fn set_timer(&mut self, now: Time, timeout: f64) {
        self.timer = now + Span::from_secs_f64(timeout);
        self.idle = true;
    }
}

/// Receive rates of the last two round trips (`X_recv_set`), without those that a later one exceeds; the latest last.
#[derive(Clone, Debug)]
struct ReceiveRates {
    entries: [(f64, Time); RATES],
    count: usize,
}

impl ReceiveRates {
    const fn new() -> ReceiveRates {
        ReceiveRates { entries: [(0.0, Time::ZERO); RATES], count: 0 }
    }

    fn unbounded(now: Time) -> ReceiveRates {
        let mut rates = ReceiveRates::new();
        rates.replace(now, f64::INFINITY);
        rates
    }

    fn max(&self) -> f64 {
        self.entries[..self.count].first().map_or(0.0, |entry| entry.0)
    }

    fn halve(&mut self) {
        for entry in &mut self.entries[..self.count] {
            entry.0 /= 2.0;
        }
    }

    /// Replaces the stored rates by the largest of them and `rate`; the initial unbounded rate does not count.
    fn maximize(&mut self, now: Time, rate: f64) {
        let known = self.entries[..self.count].iter().map(|entry| entry.0).filter(|rate| rate.is_finite());
        let largest = known.fold(rate, f64::max);
        self.replace(now, largest);
    }

    fn update(&mut self, now: Time, rate: f64, lifetime: Span) {
        let old = self.entries[..self.count].iter().take_while(|entry| now.since(entry.1) > lifetime).count();
        self.entries.copy_within(old..self.count, 0);
        self.count -= old;
        while self.count > 0 && self.entries[self.count - 1].0 <= rate {
            self.count -= 1;
        }
        // Two round trips have fewer reports than this; beyond, the smallest rate is dropped.
        self.count = self.count.min(RATES - 1);
        self.entries[self.count] = (rate, now);
        self.count += 1;
    }

    fn replace(&mut self, now: Time, rate: f64) {
        self.entries[0] = (rate, now);
        self.count = 1;
    }
}

/// Times at which the sender was limited by the allowed rate (section 8.2.1): the first after the packets that the last report covers,
/// and the first after the arrival of that report.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// First limited time, as `NotLimited1` in the RFC.
    first: Option<Time>,
    second: Option<Time>,
    /// `t_new` of section 8.2.1; `next` is `t_next`.
    new: Option<Time>,
    next: Option<Time>,
}

impl Limits {
    fn limited(&mut self, now: Time) {
        if self.first <= self.new {
            self.first = Some(now);
        } else if self.second <= self.next {
            self.second = Some(now);
        }
    }

    /// Whether the application, not the allowed rate, limited the sender over the whole round trip that ends with the
    /// packet sent at `echo`.
    fn reported(&mut self, now: Time, echo: Time, rtt: Span) -> bool {
        self.new = Some(echo);
        self.next = Some(now);
        let is_within = |time: Option<Time>| time.is_some_and(|time| time <= echo && time + rtt > echo);
        let was_limited = is_within(self.first) || is_within(self.second);
        if self.first <= self.new && self.second > self.new {
            self.first = self.second;
        }
        !was_limited
    }
}
