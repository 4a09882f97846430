//! The loss-based bound, by the model of a channel with an inherent share of lost packets, which also loses all packets above its bandwidth.
//!
//! An observation is the numbers of packets sent and lost over at least 250 ms. Candidates for the bandwidth are 95, 100 and 102% of the current
//! estimate, the acknowledged rate, and the delay-based rate. Newton's method fits the inherent loss of each candidate, and the candidate with the
//! highest likelihood of the last 15 observations is chosen. A small bias favours higher bandwidths, or lower ones if more than 20% is lost. A few
//! losses therefore do not reduce the rate, and the bound is never below the acknowledged rate.
//!
//! | parameter | value | unit |
//! | --- | --- | --- |
//! | minimum duration of an observation | 250 | ms |
//! | weight of an observation | 0.9 | relative to the next one |
//! | inherent loss | 0.1% to 5% and 100 kbit/s over the bandwidth | |
//! | growth while losses limit the rate | 1.3 | factor per 300 ms |
//! | hold after a reduction | 300, doubled with each reduction, up to 60000 | ms |
//!
//! Source: libwebrtc (June 2025), the estimator of loss-based bandwidth, version 2, with its default settings. draft-ietf-rmcat-gcc-02
//! section 6 has a rule by the share lost instead.
//!
//! # Differences from the reference
//! * No padding is sent while the bound grows.

use super::PacketResult;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

const FACTORS: [f64; 3] = [1.02, 1.0, 0.95];
const OBSERVED: Span = Span::from_millis(250);
const WINDOW: usize = 15;
/// Number of observations required for a bound.
const REQUIRED: usize = 3;
const WEIGHT: f64 = 0.9;
const BIAS: f64 = 0.0002;
const LOG_BIAS: f64 = 0.02;
/// Share of lost packets above which lower bandwidths are preferred.
const PREFERENCE: f64 = 0.2;
const SMOOTHING: f64 = 0.002;
const FIRST_INHERENT: f64 = 0.01;
const LEAST_INHERENT: f64 = 1e-3;
/// Share of lost packets from which on the loss bounds the rate at once; also an offset of the inherent loss.
const OFFSET: f64 = 0.05;
const BALANCE: f64 = 100_000.0;
const NEWTON_STEP: f64 = 0.75;
const GROWTH: f64 = 1.3;
const GROWTH_TIME: Span = Span::from_millis(300);
/// Largest bound relative to the acknowledged rate.
const RAMP: f64 = 1.5;
const RAMP_IN_HOLD: f64 = 1.2;
const HOLD_THRESHOLD: f64 = 1.3;
const FIRST_HOLD: Span = Span::from_millis(300);
const LONGEST_HOLD: Span = Span::from_secs(60);
/// Time after an increase in which the acknowledged rate is a candidate for an idle application too.
const PADDED: Span = Span::from_secs(2);
/// Multiple of the median sending rate above which the observation with the highest loss is not an outlier.
const MEDIAN: f64 = 2.0;
const UNBOUNDED: f64 = 1e9;

/// Limit of the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossState {
    /// The delay-based rate, not losses.
    #[default]
    Delay,
    /// The bound by losses, which grows.
    Increasing,
    /// The bound by losses, which falls or stays.
    Decreasing,
}

#[derive(Clone, Copy, Debug, Default)]
struct Observation {
    bytes: f64,
    lost: f64,
    rate: f64,
}

#[derive(Clone, Copy, Debug)]
struct Channel {
    bandwidth: f64,
    inherent: f64,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Time,
    length: Span,
    rate: f64,
}

const NO_HOLD: Hold = Hold { until: Time::ZERO, length: FIRST_HOLD, rate: f64::INFINITY };

/// State of the loss-based bound.
#[derive(Clone, Debug)]
pub struct LossBound {
    least: f64,
    observations: [Observation; WINDOW],
    /// Weights of observations by age.
    weights: [f64; WINDOW],
    count: usize,
    /// Bytes sent in the current observation.
    bytes: u64,
    lost: Vec<(u64, u32)>,
    last_sent: Option<Time>,
    best: Option<Channel>,
    arrives: Option<f64>,
    loss: f64,
    state: LossState,
    bound: f64,
    hold: Hold,
    /// Latest increase, which starts the time `PADDED`: time and new rate, bit/s.
    increased: (Time, f64),
    /// Limit of growth: start time and rate, bit/s.
    growth: Option<(Time, f64)>,
}

impl LossBound {
    /// Initial state; `least`: lowest rate, bit/s.
    pub fn new(least: f64) -> LossBound {
        LossBound {
            least,
            observations: [Observation::default(); WINDOW],
            weights: core::array::from_fn(|age| libm::pow(WEIGHT, age as f64)),
            count: 0,
            bytes: 0,
            lost: Vec::new(),
            last_sent: None,
            best: None,
            arrives: None,
            loss: 0.0,
            state: LossState::Delay,
            bound: f64::INFINITY,
            hold: NO_HOLD,
            increased: (Time::ZERO, 0.0),
            growth: None,
        }
    }

    /// Current limit of the rate.
    pub fn state(&self) -> LossState {
        self.state
    }

    /// Bound of the rate, bit/s; infinite before the first.
    pub fn bound(&self) -> f64 {
        if self.count < REQUIRED { f64::INFINITY } else { self.bound }
    }

    /// Processes feedback. `arrives`: acknowledged rate; `delay`: delay-based rate; both bit/s. `is_idle`: the application sends less than the
    /// target.
    pub fn update(&mut self, packets: &[PacketResult], arrives: Option<f64>, delay: f64, is_idle: bool) {
        self.arrives = arrives.or(self.arrives);
        let Some(sent) = self.observe(packets) else { return };
        let old = *self.best.get_or_insert(Channel { bandwidth: delay, inherent: FIRST_INHERENT });
        if self.bound == f64::INFINITY {
            self.bound = delay;
        }
        let mut best = self.likeliest(old, delay, is_idle, sent);
        if self.loss > best.inherent {
            best.bandwidth = best.bandwidth.min(old.bandwidth);
        }
        if self.state != LossState::Delay {
            self.bound_growth(&mut best, old, sent);
        }
        let lower = self.lower();
        let bounded = lower.max(best.bandwidth.min(self.upper()).min(delay));
        self.best = Some(if bounded < best.bandwidth {
            Channel { bandwidth: bounded, inherent: 0.0 }
        } else {
            Channel { bandwidth: best.bandwidth.max(lower), ..best }
        });
        self.settle(bounded, delay, sent);
    }

    /// Adds packets to the current observation. If that completes it, returns the send time of its last packet.
    fn observe(&mut self, packets: &[PacketResult]) -> Option<Time> {
        for packet in packets {
            self.bytes += u64::from(packet.bytes);
            self.lost.retain(|(number, _)| *number != packet.number);
            if packet.arrived.is_none() {
                self.lost.push((packet.number, packet.bytes));
            }
        }
        let first = packets.iter().map(|packet| packet.sent).min()?;
        let last = packets.iter().map(|packet| packet.sent).max()?;
        let before = *self.last_sent.get_or_insert(first);
        let span = last.since(before);
        if last < before || span < OBSERVED {
            return None;
        }
        self.last_sent = Some(last);
        let lost: u64 = self.lost.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        let (bytes, lost) = (self.bytes as f64, lost as f64);
        self.observations[self.count % WINDOW] =
            Observation { bytes, lost, rate: 8.0 * bytes / span.as_secs_f64() };
        self.count += 1;
        self.bytes = 0;
        self.lost.clear();
        self.loss = self.mean_loss();
        Some(last)
    }

    /// Observations with their weights, in the order of the ring buffer.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let seen = self.observations[..self.count.min(WINDOW)].iter().enumerate();
        seen.map(|(place, seen)| (self.weights[(self.count - 1 - place) % WINDOW], seen))
    }

    /// Weighted mean share of lost packets, without the observations with the highest and the lowest loss.
    fn mean_loss(&self) -> f64 {
        let (mut bytes, mut lost) = (0.0, 0.0);
        let (mut least, mut most) = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0));
        let mut rate_of_most = 0.0;
        for (weight, seen) in self.weighted() {
            (bytes, lost) = (bytes + weight * seen.bytes, lost + weight * seen.lost);
            let share = if seen.bytes > 0.0 { seen.lost / seen.bytes } else { 0.0 };
            if self.count > 3 {
                if share > most.0 {
                    most = (share, weight * seen.bytes, weight * seen.lost);
                    rate_of_most = seen.rate;
                }
                if share < least.0 {
                    least = (share, weight * seen.bytes, weight * seen.lost);
                }
            }
        }
        let rest = bytes - least.1 - most.1;
        if MEDIAN * self.median_rate() <= rate_of_most || rest <= 0.0 {
            return lost / bytes.max(1.0);
        }
        ((lost - least.2 - most.2) / rest).max(0.0)
    }

    fn median_rate(&self) -> f64 {
        let mut rates = [0.0; WINDOW];
        let count = self.count.min(WINDOW);
        for (place, (_, seen)) in rates.iter_mut().zip(self.weighted()) {
            *place = seen.rate;
        }
        let rates = &mut rates[..count];
        rates.sort_by(f64::total_cmp);
        if count.is_multiple_of(2) {
            (rates[count / 2 - 1] + rates[count / 2]) / 2.0
        } else {
            rates[count / 2]
        }
    }

    /// Candidate with the highest likelihood. `old`: current estimate; `delay`: delay-based rate, bit/s; `sent`: time of the observation.
    fn likeliest(&self, old: Channel, delay: f64, is_idle: bool, sent: Time) -> Channel {
        let is_padded = self.increased.1 > 0.0 && self.increased.0 + PADDED >= sent;
        let arrives = self.arrives.filter(|_| !is_idle || is_padded);
        let delay = Some(delay).filter(|delay| *delay > old.bandwidth);
        let most = match (self.state, self.growth) {
            (LossState::Increasing | LossState::Decreasing, Some((_, limit))) => limit,
            _ => UNBOUNDED,
        };
        let bandwidths = FACTORS.map(|factor| Some(factor * old.bandwidth)).into_iter();
        let mut best = (f64::NEG_INFINITY, old);
        for bandwidth in bandwidths.chain([arrives, delay]).flatten() {
            let bandwidth = bandwidth.min(old.bandwidth.max(most));
            let inherent = feasible(old.inherent, bandwidth);
            let channel = Channel { bandwidth, inherent: self.newton(Channel { bandwidth, inherent }) };
            let likelihood = self.likelihood(channel);
            if likelihood > best.0 {
                best = (likelihood, channel);
            }
        }
        best.1
    }

    /// Inherent loss of a channel after a step of Newton's method.
    fn newton(&self, channel: Channel) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, seen) in self.weighted() {
            let loss = probability(channel, seen.rate);
            let (lost, come) = (seen.lost / 1000.0, (seen.bytes - seen.lost) / 1000.0);
            first += weight * (lost / loss - come / (1.0 - loss));
            second -= weight * (lost / (loss * loss) + come / ((1.0 - loss) * (1.0 - loss)));
        }
        let second = if second < 0.0 { second } else { -1e-6 };
        feasible(channel.inherent - NEWTON_STEP * first / second, channel.bandwidth)
    }

    fn likelihood(&self, channel: Channel) -> f64 {
        let preference = PREFERENCE - self.loss;
        let preference = preference / (SMOOTHING + preference.abs());
        let kbps = channel.bandwidth / 1000.0;
        let bias = preference * (BIAS * kbps + LOG_BIAS * libm::log(1.0 + kbps));
        let of = |(weight, seen): (f64, &Observation)| {
            let loss = probability(channel, seen.rate);
            let (lost, come) = (seen.lost / 1000.0, (seen.bytes - seen.lost) / 1000.0);
            weight * (lost * libm::log(loss) + come * libm::log(1.0 - loss) + bias * seen.bytes / 1000.0)
        };
        self.weighted().map(of).sum()
    }

    /// Limits the growth of the bound over time and by the acknowledged rate, while losses limit the rate.
    fn bound_growth(&self, best: &mut Channel, old: Channel, sent: Time) {
        if let Some((since, limit)) = self.growth
            && since + GROWTH_TIME > sent
        {
            best.bandwidth = best.bandwidth.min(limit);
        }
        let is_growing = best.bandwidth > old.bandwidth
            || (best.bandwidth == old.bandwidth && self.state == LossState::Increasing);
        if is_growing && let Some(arrives) = self.arrives {
            let ramp = if arrives < HOLD_THRESHOLD * self.hold.rate && self.hold.rate.is_finite() {
                RAMP_IN_HOLD
            } else {
                RAMP
            };
            best.bandwidth = old.bandwidth.max(best.bandwidth.min(ramp * arrives));
            if self.state == LossState::Decreasing && best.bandwidth == old.bandwidth {
                best.bandwidth += 1.0;
            }
        }
    }

    fn lower(&self) -> f64 {
        self.arrives.unwrap_or(0.0).max(self.least)
    }

    fn upper(&self) -> f64 {
        if self.loss > OFFSET { BALANCE / (self.loss - OFFSET) } else { UNBOUNDED }
    }

    fn settle(&mut self, bounded: f64, delay: f64, sent: Time) {
        let is_limited = bounded < delay && bounded < UNBOUNDED;
        if self.state == LossState::Decreasing && self.hold.until > sent && bounded < delay {
            self.hold.rate = self.hold.rate.max(self.lower());
            self.bound = self.hold.rate.min(bounded);
            return;
        }
        let is_growing = self.state != LossState::Delay
            && (self.bound < bounded || (self.bound == bounded && self.state == LossState::Increasing));
        let can_grow = self.state != LossState::Increasing
            || self.increased.0 + PADDED >= sent
            || self.increased.1 < bounded;
        if is_growing && can_grow && is_limited {
            if bounded > self.increased.1 {
                self.increased = (sent, bounded);
            }
            self.state = LossState::Increasing;
        } else if is_limited {
            if self.state != LossState::Decreasing {
                let length = self.hold.length;
                let doubled = Span::from_nanos(2 * length.as_nanos()).min(LONGEST_HOLD);
                self.hold = Hold { until: sent + length, length: doubled, rate: bounded };
            }
            self.increased = (Time::ZERO, 0.0);
            self.state = LossState::Decreasing;
        } else {
            (self.hold, self.increased) = (NO_HOLD, (Time::ZERO, 0.0));
            self.state = LossState::Delay;
        }
        self.bound = bounded;
        let is_due = self.growth.is_none_or(|(since, _)| since + GROWTH_TIME < sent);
        if self.state != LossState::Delay
            && is_due
            && let Some(best) = self.best
        {
            self.growth = Some((sent, (GROWTH * best.bandwidth).max(self.least)));
        }
    }
}

/// Probability that a packet sent at `rate`, bit/s, is lost.
fn probability(channel: Channel, rate: f64) -> f64 {
    let excess = if rate > channel.bandwidth { (rate - channel.bandwidth) / rate } else { 0.0 };
    (channel.inherent + (1.0 - channel.inherent) * excess).clamp(1e-6, 1.0 - 1e-6)
}

/// Inherent loss clamped to the range for a channel of `bandwidth`, bit/s.
fn feasible(inherent: f64, bandwidth: f64) -> f64 {
    let most = if bandwidth > 0.0 { (OFFSET + BALANCE / bandwidth).min(1.0) } else { 1.0 };
    inherent.max(LEAST_INHERENT).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State after packets of 1000 bytes each 8 ms (1 Mbit/s) of which every `nth` is lost, with a delay-based rate of 1.5 Mbit/s.
    fn after(nth: u64, seconds: u64) -> LossBound {
        let mut bound = LossBound::new(1e4);
        for feedback in 0..20 * seconds {
            let packets: Vec<PacketResult> = (0..6)
                .map(|n| {
                    let number = 6 * feedback + n;
                    let sent = Time::ZERO + Span::from_millis(8 * number);
                    let arrived = (nth == 0 || number % nth != 0).then_some(sent + Span::from_millis(50));
                    PacketResult { number, sent, arrived, bytes: 1000, probe: 0 }
                })
                .collect();
            let share = if nth == 0 { 0.0 } else { 1.0 / nth as f64 };
            bound.update(&packets, Some(1e6 * (1.0 - share)), 1.5e6, false);
        }
        bound
    }

    #[test]
    fn few_losses_do_not_bound_the_rate() {
        for nth in [0, 100, 50] {
            let bound = after(nth, 20);
            assert_eq!((bound.state(), bound.bound()), (LossState::Delay, 1.5e6), "{nth}: {bound:?}");
        }
    }

    /// A loss above 5% bounds the rate at once, but not below the acknowledged rate.
    #[test]
    fn many_losses_leave_the_acknowledged_rate() {
        for nth in [2, 4, 5] {
            let bound = after(nth, 20);
            let arrives = 1e6 * (1.0 - 1.0 / nth as f64);
            assert_ne!(bound.state(), LossState::Delay, "{nth}");
            assert!((arrives..=1.05 * arrives).contains(&bound.bound()), "{nth}: {}", bound.bound());
        }
    }
}
