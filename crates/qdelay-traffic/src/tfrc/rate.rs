//! The sender's allowed rate, `X`.
//!
//! Before the first loss event the rate doubles, afterwards it is the equation's. It never exceeds twice the recent receive
//! rate, unless the application has sent less than allowed. If no report arrives for four round trips, or for the time of two
//! packets, it is halved.
//!
//! A report is about packets that were sent one to two round trips before it comes. Twice what it says is therefore what was sent
//! the round trip before the last, doubled: after the first three the rate doubles in every second round trip and not, as TCP's window,
//! in each.
//!
//! Source: RFC 5348 sections 4.2 to 4.5 and 8.2.1.

use super::{Equation, Report};
use qdelay_core::{Span, Time};

/// The part of an old estimate of the round trip in a new one, `q` and `q2` (sections 4.3 and 4.5).
const MEMORY: f64 = 0.9;
/// At least one packet in so many seconds, `t_mbi` (section 4.3).
pub const LONGEST_GAP_S: f64 = 64.0;
/// The part of a round trip after which the rate may be doubled again. Reports are a round trip apart, and rounding must not
/// decide.
const NEARLY: f64 = 0.999;
/// Receive rates of two round trips that are remembered.
const RATES: usize = 16;

/// The knobs of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// TCP's throughput equation.
    pub equation: Equation,
    /// Whether packets are spaced wider while the round trip is above its average (section 4.5).
    pub damping: bool,
    /// Bytes of the first round trip, `W_init`: of section 4.2, or a choice.
    pub initial_window: u32,
}

impl RateConfig {
    /// `W_init` of section 4.2 for packets of `bytes`.
    pub fn standard_window(bytes: u32) -> u32 {
        (4 * bytes).min((2 * bytes).max(4380))
    }
}

/// The state of the rate. All rates in bytes a second, times in seconds.
#[derive(Clone, Debug)]
pub struct RateControl {
    config: RateConfig,
    /// `X`.
    allowed: f64,
    /// `X_inst`.
    instantaneous: f64,
    /// `R`, and the average of its root; zero before the first report.
    rtt: f64,
    rtt_root: f64,
    /// `p` of the last report.
    loss_event_rate: f64,
    /// The rate of the first round trip, `recover_rate`.
    initial: f64,
    /// `tld`.
    doubled: Time,
    received: ReceiveRates,
    /// When the no-feedback timer expires; [`Time::NEVER`] before the first packet.
    timer: Time,
    /// Nothing was sent since the timer was set.
    idle: bool,
    expirations: u64,
    limits: Limits,
}

impl RateControl {
    /// A packet a second, until the first report.
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

    /// The rate at which packets are to be spaced now.
    pub fn rate(&self) -> f64 {
        self.instantaneous
    }
    /// `X`, which [`RateControl::rate`] is without damping.
    pub fn allowed(&self) -> f64 {
        self.allowed
    }
    /// `R`; zero before the first report.
    pub fn rtt(&self) -> Span {
        Span::from_secs_f64(self.rtt)
    }
    /// `p` of the last report.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }
    /// How often the no-feedback timer has expired.
    pub fn expirations(&self) -> u64 {
        self.expirations
    }
    /// When [`RateControl::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        self.timer
    }

    /// A packet was sent. `limited`: it is the last that the rate allows; the application has more.
    pub fn sent(&mut self, now: Time, limited: bool) {
        if self.timer == Time::NEVER {
            self.timer = now + Span::from_secs(2);
        }
        self.idle = false;
        if limited {
            self.limits.limited(now);
        }
    }

    /// A report has arrived (section 4.3).
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
        // A connection that was idle keeps the rate at which it may restart.
        let is_low = if p > 0.0 { received < self.initial } else { self.allowed < 2.0 * self.initial };
        if self.idle && (is_low || self.rtt <= 0.0) {
            // Nothing changes.
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

    /// Section 4.3, step 4, second half.
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

/// `X_recv_set`: of the receive rates of the last two round trips those that no later one exceeds, the latest last.
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

    /// Keeps only the larger of this rate and all stored ones, except the unbounded one.
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
        // Two round trips never have so many reports; if they had, the least of them would be dropped.
        self.count = self.count.min(RATES - 1);
        self.entries[self.count] = (rate, now);
        self.count += 1;
    }

    fn replace(&mut self, now: Time, rate: f64) {
        self.entries[0] = (rate, now);
        self.count = 1;
    }
}

/// When the sender has sent all it was allowed to (section 8.2.1): two times, the first after what the last report was about and
/// the first after that report came.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// `NotLimited1` and `NotLimited2`.
    first: Option<Time>,
    second: Option<Time>,
    /// `t_new` and `t_next`.
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

    /// Whether the application, and not the rate, was what limited the sender in all of the round trip that ends with the
    /// packet that was sent at `echo`.
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
