//! Google Congestion Control (GCC), with everything at the sender: how fast a call may send, from the arrival times of its packets.
//!
//! The delay-based rate follows the trend of the queue; losses bound it; probes find capacity quickly. The target that results is not
//! bounded by what the application can use: it may be up to 1.5 times what arrives.
//!
//! | file | what |
//! | --- | --- |
//! | [`arrival`] | groups of packets and the differences of their times |
//! | [`trendline`] | the slope of the queue |
//! | [`overuse`] | the signal of overuse, with a threshold that adapts |
//! | [`acknowledged`] | the rate at which packets arrive |
//! | [`capacity`] | what the link gave when it was last overused |
//! | [`aimd`] | the delay-based rate |
//! | [`loss`] | the bound by losses |
//! | [`alr`] | whether the application sends less than it may |
//! | [`probe`] | bursts above the present rate |
//! | [`window`] | frames dropped while too much is in flight |
//!
//! Time is an argument of every call, and nothing is allocated per packet once windows have grown.
//!
//! Source: draft-ietf-rmcat-gcc-02, and, where it is silent or has been overtaken, what libwebrtc does (as of June 2025, with its default settings); each file says
//! which.
//!
//! # Differences from the reference
//! * There is no back-off by the round trip while feedback does not come; libwebrtc's is off by default.

pub mod acknowledged;
pub mod aimd;
pub mod alr;
pub mod arrival;
pub mod capacity;
pub mod loss;
pub mod overuse;
pub mod probe;
pub mod trendline;
pub mod window;

use acknowledged::Acknowledged;
use aimd::Aimd;
use alr::Alr;
use arrival::Groups;
use loss::{LossBound, LossState};
use overuse::{Detector, Usage};
use probe::{Cluster, Prober};
use qdelay_core::{Span, Time};
use trendline::Trendline;
use window::Window;

/// What feedback says of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketResult {
    /// Its number among all packets of the flow.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// When it arrived; `None` if it did not.
    pub arrived: Option<Time>,
    /// IP packet size.
    pub bytes: u32,
    /// The probe it belongs to; 0 for none.
    pub probe: u32,
}

/// Round trips over which the mean is taken.
const ROUND_TRIPS: usize = 32;
/// After such a time without feedback, groups begin anew.
const SILENCE: Span = Span::from_secs(2);
/// For how long after its end idleness counts.
const IDLE_LATELY: Span = Span::from_secs(3);
/// Over the rate, the most that a probe has while losses limit it.
const PROBE_IN_LOSS: f64 = 1.5;
/// Of what arrives, the least that a probe makes of the rate.
const PROBE_FLOOR: f64 = 0.85;

/// The state of the control.
#[derive(Clone, Debug)]
pub struct Gcc {
    least: f64,
    groups: Groups,
    line: Trendline,
    detector: Detector,
    acknowledged: Acknowledged,
    aimd: Aimd,
    loss: LossBound,
    alr: Alr,
    prober: Prober,
    round_trips: [Span; ROUND_TRIPS],
    samples: usize,
    heard: Option<Time>,
    window: Window,
    target: f64,
}

impl Gcc {
    /// Rates in bit/s: the lowest, the most that is of use, and the first. If not `probes`, there are no bursts.
    pub fn new(least: f64, useful: f64, start: f64, probes: bool) -> Gcc {
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
            alr: Alr::default(),
            prober: Prober::new(probes, useful),
            round_trips: [Span::ZERO; ROUND_TRIPS],
            samples: 0,
            heard: None,
            window: Window::default(),
        }
    }

    /// The call begins.
    pub fn begin(&mut self, now: Time) {
        self.prober.begin(now, self.target);
    }

    /// The rate of IP packets it may have, bit/s, whatever of that is of use.
    pub fn target(&self) -> f64 {
        self.target
    }
    /// The signal of the last feedback.
    pub fn usage(&self) -> Usage {
        self.detector.usage()
    }
    /// Mean of the last round trips, each of the first packet of a feedback, so that waiting for it counts; zero before the first.
    pub fn rtt(&self) -> Span {
        let known = self.samples.min(ROUND_TRIPS);
        let sum: u64 = self.round_trips[..known].iter().map(|rtt| rtt.as_nanos()).sum();
        Span::from_nanos(sum / known.max(1) as u64)
    }
    /// The probe that is under way.
    pub fn probe(&self) -> Option<Cluster> {
        self.prober.current()
    }

    /// How many frames there are for one that is dropped, at the time of a frame; `None` for no drops.
    pub fn drops_each(&mut self, now: Time) -> Option<u32> {
        self.window.tick(now, self.target, self.shortest_rtt());
        self.window.drops_each(self.target, self.least)
    }

    /// A packet leaves, of this probe or of none (0), with which so many bytes are in flight.
    pub fn on_sent(&mut self, now: Time, bytes: u32, probe: u32, in_flight: u64) {
        self.window.update(in_flight);
        self.alr.sent(now, bytes, self.target);
        if probe != 0 {
            self.prober.sent(bytes);
        }
    }

    /// Feedback has come about these packets, in the order in which they were sent, after which so many bytes are in flight.
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

    /// The delay-based rate after a feedback in which probes found a rate, or not.
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

    /// The target after a feedback about these packets.
    fn settle(&mut self, now: Time, packets: &[PacketResult]) {
        let (before, delay) = (self.target, self.aimd.rate());
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
