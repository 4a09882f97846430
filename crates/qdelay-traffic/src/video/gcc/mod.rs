//! Google Congestion Control (GCC), in the sender-side variant: the target rate of a call from the arrival times of its packets.
//!
//! The delay-based rate follows the trend of the queue; losses bound it; probes find capacity quickly. The target rate is not
//! bounded by the application's highest rate: it may be up to 1.5 times the acknowledged rate.
//!
//! | file | contents |
//! | --- | --- |
//! | [`arrival`] | groups of packets and the intervals between them |
//! | [`trendline`] | the slope of the queue delay |
//! | [`overuse`] | the signal of overuse, with an adaptive threshold |
//! | [`acknowledged`] | the acknowledged rate |
//! | [`capacity`] | the estimate of the link's capacity |
//! | [`aimd`] | the delay-based rate |
//! | [`loss`] | the loss-based bound |
//! | [`loss_rule`] | a rate by the share of lost packets alone |
//! | [`alr`] | the detector of an application-limited sender |
//! | [`probe`] | bursts above the current rate |
//! | [`window`] | frame drops while too many bytes are in flight |
//!
//! Time is an argument of every call, and nothing is allocated per packet once windows have grown.
//!
//! Source: draft-ietf-rmcat-gcc-02; and libwebrtc (June 2025, with its default settings) where the draft is silent or superseded. Each file
//! names its source.
//!
//! # Differences from the reference
//! * Without feedback there is no back-off by the round trip; libwebrtc's is off by default.

pub mod acknowledged;
pub mod aimd;
pub mod alr;
pub mod arrival;
pub mod capacity;
pub mod loss;
pub mod loss_rule;
pub mod overuse;
pub mod probe;
pub mod trendline;
pub mod window;

use acknowledged::Acknowledged;
use aimd::Aimd;
use alr::Alr;
use arrival::Groups;
use loss::{LossBound, LossState};
use loss_rule::LossRule;
use overuse::{Detector, Usage};
use probe::{Cluster, Prober};
use qdelay_core::{Span, Time};
use trendline::Trendline;
use window::Window;

/// Feedback on a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketResult {
    /// Number of the packet in the flow.
    pub number: u64,
    /// Send time.
    pub sent: Time,
    /// Arrival time; `None` for a lost packet.
    pub arrived: Option<Time>,
    /// Size of the IP packet, bytes.
    pub bytes: u32,
    /// Number of the packet's probe; 0 for none.
    pub probe: u32,
}

/// Number of samples in the mean round trip.
const ROUND_TRIPS: usize = 32;
/// Time without feedback after which groups restart.
const SILENCE: Span = Span::from_secs(2);
/// Time after the end of an idle time in which the sender still counts as idle for probes.
const IDLE_LATELY: Span = Span::from_secs(3);
/// Highest rate of a probe relative to the target rate, while losses limit the target.
const PROBE_IN_LOSS: f64 = 1.5;
/// Lowest rate that a probe's result sets, relative to the acknowledged rate.
const PROBE_FLOOR: f64 = 0.85;

/// Signals that set the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// The trend of the queue delay, and losses as a bound.
    Delay,
    /// The share of lost packets alone ([`loss_rule`]).
    Loss,
}

/// State of the control.
#[derive(Clone, Debug)]
pub struct Gcc {
    least: f64,
    groups: Groups,
    line: Trendline,
    detector: Detector,
    acknowledged: Acknowledged,
    aimd: Aimd,
    loss: LossBound,
    /// The rate by losses alone; `None` where the delay sets the rate.
    rule: Option<LossRule>,
    alr: Alr,
    prober: Prober,
    round_trips: [Span; ROUND_TRIPS],
    samples: usize,
    heard: Option<Time>,
    window: Window,
    target: f64,
}

impl Gcc {
    /// Initial state. `least`, `useful`, `start`: lowest, highest useful and first rate, bit/s. `probes`: whether bursts probe for capacity.
    pub fn new(least: f64, useful: f64, start: f64, probes: bool, signals: Signals) -> Gcc {
        let aimd = Aimd::new(least, start);
        Gcc {
            least,
            groups: Groups::default(),
            line: Trendline::default(),
            detector: Detector::default(),
            acknowledged: Acknowledged::default(),
            target: aimd.rate(),
            aimd,
            loss: LossBound::new(least),
            rule: (signals == Signals::Loss).then(|| LossRule::new(least, start)),
            alr: Alr::default(),
            prober: Prober::new(probes, useful),
            round_trips: [Span::ZERO; ROUND_TRIPS],
            samples: 0,
            heard: None,
            window: Window::default(),
        }
    }

    /// Starts the call and the first probes.
    pub fn begin(&mut self, now: Time) {
        self.prober.begin(now, self.target);
    }

    /// Target rate of IP packets, bit/s; may exceed the highest useful rate.
    pub fn target(&self) -> f64 {
        self.target
    }
    /// Signal of the latest feedback.
    pub fn usage(&self) -> Usage {
        self.detector.usage()
    }
    /// Mean of the last round trips; zero before the first. A sample is that of the first packet in a feedback, so it includes the wait for the
    /// feedback.
    pub fn rtt(&self) -> Span {
        let known = self.samples.min(ROUND_TRIPS);
        let sum: u64 = self.round_trips[..known].iter().map(|rtt| rtt.as_nanos()).sum();
        Span::from_nanos(sum / known.max(1) as u64)
    }
    /// Current probe; `None` without one.
    pub fn probe(&self) -> Option<Cluster> {
        self.prober.current()
    }

    /// Number of frames per dropped frame, at the time of a frame; `None` without drops.
    pub fn drops_each(&mut self, now: Time) -> Option<u32> {
        self.window.tick(now, self.target, self.shortest_rtt());
        self.window.drops_each(self.target, self.least)
    }

    /// Records that a packet leaves. `probe`: number of its probe, 0 for none; `in_flight`: bytes in flight with this packet.
    pub fn on_sent(&mut self, now: Time, bytes: u32, probe: u32, in_flight: u64) {
        self.window.update(in_flight);
        self.alr.sent(now, bytes, self.target);
        if probe != 0 {
            self.prober.sent(bytes);
        }
    }

    /// Processes feedback on `packets`, in the order of sending; `in_flight`: bytes in flight after the feedback.
    pub fn on_feedback(&mut self, now: Time, packets: &[PacketResult], in_flight: u64) {
        if self.heard.is_some_and(|last| now.since(last) > SILENCE) {
            (self.groups, self.line, self.detector) = Default::default();
        }
        self.heard = Some(now);
        let (mut found, mut first_sent, mut recovered) = (None, None, false);
        for packet in packets {
            let Some(arrived) = packet.arrived else { continue };
            first_sent = first_sent.or(Some(packet.sent));
            self.acknowledged.add(packet.sent, arrived, packet.bytes);
            if packet.probe != 0 {
                found = self.prober.arrived(packet.probe, packet.bytes, packet.sent, arrived).or(found);
            }
            if let Some(delta) = self.groups.add(packet.sent, arrived) {
                self.line.add(delta, arrived);
                let before = self.usage();
                self.detector.update(&self.line, delta.sent_ms, arrived);
                recovered |= before == Usage::Under && self.usage() == Usage::Normal;
            }
        }
        let Some(first_sent) = first_sent else {
            self.settle(now, packets);
            return;
        };
        self.round_trips[self.samples % ROUND_TRIPS] = now.since(first_sent);
        self.samples += 1;
        self.aimd.set_rtt(self.rtt());
        self.delays(now, found);
        self.settle(now, packets);
        self.window.update(in_flight);
        self.window.resize(self.target, self.shortest_rtt());
        if recovered && self.usage() != Usage::Over {
            let is_idle = self.alr.since().is_some()
                || self.alr.ended().is_some_and(|ended| now.since(ended) < IDLE_LATELY);
            if is_idle {
                self.prober.recovered(now, self.target);
            }
        }
    }

    fn shortest_rtt(&self) -> Span {
        self.round_trips[..self.samples.min(ROUND_TRIPS)].iter().copied().min().unwrap_or(Span::ZERO)
    }

    /// Updates the delay-based rate after a feedback. `found`: result of a probe in it, bit/s.
    fn delays(&mut self, now: Time, found: Option<f64>) {
        let (usage, acknowledged) = (self.usage(), self.acknowledged.rate());
        match (usage, found) {
            (Usage::Over, _) => {
                if !self.aimd.may_reduce(now, acknowledged) {
                } else if acknowledged.is_some() {
                    self.aimd.update(now, usage, acknowledged);
                } else {
                    self.aimd.halve(now);
                }
            }
            (_, Some(rate)) => {
                let floor = acknowledged.map_or(0.0, |bps| (PROBE_FLOOR * bps).min(self.aimd.rate()));
                self.aimd.set(now, rate.max(floor));
            }
            _ => self.aimd.update(now, usage, acknowledged),
        }
    }

    /// Updates the target rate after a feedback on `packets`.
    fn settle(&mut self, now: Time, packets: &[PacketResult]) {
        let before = self.target;
        if let Some(rule) = &mut self.rule {
            rule.update(now, packets, self.acknowledged.rate());
            self.target = rule.rate();
            // A probe's result sets the delay-based rate, which is not in use.
            self.prober.update(now, before, self.target, 0.0);
            return;
        }
        let delay = self.aimd.rate();
        self.loss.update(packets, self.acknowledged.rate(), delay, self.alr.since().is_some());
        self.target = delay.min(self.loss.bound()).max(self.least);
        let ceiling = match (self.usage(), self.loss.state()) {
            (Usage::Over | Usage::Under, _) | (_, LossState::Decreasing) => 0.0,
            (_, LossState::Increasing) => PROBE_IN_LOSS * self.target,
            (_, LossState::Delay) => f64::INFINITY,
        };
        self.prober.update(now, before, self.target, ceiling);
    }
}
