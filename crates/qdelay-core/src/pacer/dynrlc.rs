//! DynRLC: a limit on the packets in the RLC buffer that follows their sojourn there.
//!
//! Source: 5G QoS thesis sections 3.1, 3.6.1 and 3.6.4, which describe the algorithm of Kumar, Francini,
//! Panwar and Sharma ("Dynamic Control of RLC Buffer Size for Latency Minimization in Mobile RAN", 2018).
//! Every `interval` the mean sojourn of the packets that left is compared with `target`: at or below it the
//! limit grows by `alpha` times its distance to `max`, above it the limit shrinks by `alpha` times its
//! distance to `min`. A packet is sent if the buffer then holds at most the limit.
//!
//! Differences from the reference:
//! * Interval, target and bounds of the limit scale with the carrier: 10 and 3 service opportunities (TTIs; with
//!   time division duplex the mean time between slots with downlink data), and at most 10 packets for each
//!   2289 bytes of the best of the last ten opportunities. These are the thesis's 10 ms, 3 ms and 10 packets
//!   in its testbed, where a TTI of 1 ms carries 2289 bytes. Ten packets are a seventh of a slot of 100 MHz
//!   with four layers, so a fixed limit of ten packets would bound throughput there at any sojourn.
//! * Where an opportunity carries less than a full packet, the smallest limit is two packets: behind the rest
//!   of one packet there must be another that fills the TTI. A sojourn of several TTIs is the packet's own
//!   transmission there, and a limit of one packet loses up to 60% of the capacity.
//! * The limit keeps its fraction. The thesis's emulator counts whole packets and steps by at least one, at
//!   `max` too, which is `step=packets`.
//! * The thesis's testbed is described with growth by 1 + `alpha` per interval, which is `step=factor`.
//! * An interval without a departure gives no sojourn: it is extended until a packet has left.
//! * An empty buffer accepts a packet at any limit.

use super::bearer::BearerLaw;
use super::below::Below;
use super::opportunities::Opportunities;
use super::parameters::{PacerSetting, SILENCE};
use super::{Eligible, Served, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};
use alloc::format;

const INTERVAL: Typed<Option<Span>> =
    Typed::new("interval", "", "period between updates of the limit; default: 10 TTIs, with time division duplex 10 slots with downlink data")
        .within("1us", "100s")
        .source(
            "5G QoS thesis section 3.6.4: 10ms; 100ms in its emulator (section 3.6.1); TTIs of 1 and 10ms",
        );
const TARGET: Typed<Option<Span>> =
    Typed::new("target", "", "target of the mean sojourn in the RLC buffer; default: 3 TTIs, with time division duplex 3 slots with downlink data")
        .within("1us", "100s")
        .source("5G QoS thesis section 3.6.4: 3ms; 11ms in its emulator, whose TTI is 10ms");
const ALPHA: Typed<f64> = Typed::new("alpha", "0.05", "size of a step, as a part of its base (see step)")
    .within("0.0001", "1")
    .source("5G QoS thesis section 3.6.4: 0.05; 0.1 in its emulator");
const MIN: Typed<Option<u64>> = Typed::new(
    "min",
    "",
    "smallest limit; default: 1, or 2 where none of the last ten TTIs with a grant could carry a full packet",
)
.unit(Unit::Count("packets"))
.within("1", "10000000")
.source("5G QoS thesis section 3.6.4: 1; 2 in its emulator");
const MAX: Typed<Option<u64>> = Typed::new(
    "max",
    "",
    "largest limit; default: 10 for each 2289 bytes that the best of the last ten TTIs with a grant could carry, over F1-U the best \
     of the carrier, at least 10",
)
.unit(Unit::Count("packets"))
.within("1", "10000000")
.source("5G QoS thesis section 3.6.4: 10, and 2289 bytes (section 3.4); 20 in its emulator");
const START: Typed<Option<u64>> =
    Typed::new("start", "", "limit at the start; default: the middle between min and max")
        .unit(Unit::Count("packets"))
        .within("1", "10000000")
        .source("the thesis's emulator: 10, of 2 to 20");
const STEP: Typed<str> = Typed::new(
    "step",
    "distance",
    "base of a step: the distance to a bound (distance), the same in whole packets, at least one, also at max (packets), or the \
     limit itself (factor)",
)
.unit(Unit::Choice(&["distance", "packets", "factor"]))
.source("the thesis's emulator; 5G QoS thesis section 3.6.4 (1.05 to the power of the intervals)");

/// Declaration of `dynrlc` and its parameters.
pub static COMPONENT: Component =
    Component::new(Kind::Pacer, "dynrlc", "limits the packets in the RLC buffer by their mean sojourn there")
        .source("5G QoS thesis sections 3.6.1 and 3.6.4 (DynRLC)")
        .with(&[
            INTERVAL.parameter(),
            TARGET.parameter(),
            ALPHA.parameter(),
            MIN.parameter(),
            MAX.parameter(),
            START.parameter(),
            STEP.parameter(),
            SILENCE.parameter(),
        ]);

/// Largest limit in the thesis's testbed, packets, where a TTI carries [`TESTBED_BYTES`] at most.
const TESTBED_PACKETS: u64 = 10;
const TESTBED_BYTES: u64 = 2289;

/// Default of the smallest limit, packets, and where a TTI carries less than one.
const LEAST_PACKETS: u64 = 1;
const LEAST_CUT_PACKETS: u64 = 2;

/// Default of the largest limit, packets, where a TTI carries `bytes`.
fn usual_max(bytes: u64) -> u64 {
    let packets = bytes.saturating_mul(TESTBED_PACKETS) / TESTBED_BYTES;
    packets.clamp(TESTBED_PACKETS, 10_000_000)
}

/// The base of a step of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A step is a part of the distance to the bound that the limit moves to.
    Distance,
    /// A step is a part of the distance, but at least one packet; the limit is rounded down to whole packets,
    /// and may pass `max_packets` by such steps.
    Packets,
    /// A step is a part of the limit itself.
    Factor,
}

/// The parameters of DynRLC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynRlcParameters {
    /// Period between updates of the limit.
    pub interval: Span,
    /// Mean sojourn in the RLC buffer up to which the limit grows.
    pub target: Span,
    /// Size of a step, above 0 and at most 1.
    pub alpha: f64,
    /// Smallest limit, packets, at least 1.
    pub min_packets: u64,
    /// Largest limit, packets, at least `min_packets`.
    pub max_packets: u64,
    /// The smallest limit follows the reports: 2 while no TTI could carry a packet of this many bytes, otherwise
    /// `min_packets`; `None`: it does not.
    pub min_follows_mtu: Option<u64>,
    /// The largest limit follows the reports, from the first on.
    pub max_follows: bool,
    /// Limit at the start, packets; clamped to the bounds.
    pub start_packets: f64,
    /// The base of a step.
    pub step: Step,
}

/// The law of DynRLC.
#[derive(Clone, Copy, Debug)]
pub struct DynRlc {
    parameters: DynRlcParameters,
    limit_packets: f64,
    /// Time of the last update of the limit.
    last: Time,
    left_packets: u64,
    left_sojourn: Span,
    opportunities: Opportunities,
}

impl DynRlc {
    /// The law with `parameters`; an alpha, a limit or a bound out of its range is clamped.
    pub fn new(parameters: DynRlcParameters) -> DynRlc {
        let min_packets = parameters.min_packets.max(1);
        let max_packets = parameters.max_packets.max(min_packets);
        let alpha = parameters.alpha.clamp(0.0, 1.0);
        let mut law = DynRlc {
            parameters: DynRlcParameters { min_packets, max_packets, alpha, ..parameters },
            limit_packets: 0.0,
            last: Time::ZERO,
            left_packets: 0,
            left_sojourn: Span::ZERO,
            opportunities: Opportunities::default(),
        };
        law.set_limit(parameters.start_packets);
        law
    }

    /// The law that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<DynRlc, ComponentError> {
        let min_packets = arguments.get(&MIN).unwrap_or(LEAST_PACKETS);
        let max_packets = arguments.get(&MAX).unwrap_or(usual_max(setting.peak_bytes.unwrap_or(0)));
        let is_reported = setting.split.is_none();
        let fail = |message| Err(arguments.fail(message));
        if min_packets > max_packets {
            return fail(format!("min {min_packets} is above max {max_packets}"));
        }
        let middle = (min_packets + max_packets) as f64 / 2.0;
        let start_packets = arguments.get(&START).map_or(middle, |start| start as f64);
        if start_packets < min_packets as f64 || start_packets > max_packets as f64 {
            return fail(format!(
                "start {start_packets} is not within {min_packets} to {max_packets} (min, max)"
            ));
        }
        Ok(DynRlc::new(DynRlcParameters {
            interval: arguments.get(&INTERVAL).unwrap_or(setting.opportunity() * 10),
            target: arguments.get(&TARGET).unwrap_or(setting.opportunity() * 3),
            alpha: arguments.get(&ALPHA),
            min_packets,
            max_packets,
            min_follows_mtu: (is_reported && arguments.get(&MIN).is_none()).then_some(setting.mtu_bytes),
            max_follows: is_reported && arguments.get(&MAX).is_none(),
            start_packets,
            step: match arguments.get(&STEP) {
                "factor" => Step::Factor,
                "packets" => Step::Packets,
                _ => Step::Distance,
            },
        }))
    }

    /// The limit, packets with fraction.
    pub const fn limit_packets(&self) -> f64 {
        self.limit_packets
    }

    /// Moves the bounds that follow the reports.
    fn follow(&mut self) {
        let Some(bytes) = self.opportunities.best() else { return };
        if let Some(mtu_bytes) = self.parameters.min_follows_mtu {
            self.parameters.min_packets = if bytes < mtu_bytes { LEAST_CUT_PACKETS } else { LEAST_PACKETS };
        }
        if self.parameters.max_follows {
            self.parameters.max_packets = usual_max(bytes);
        }
        let DynRlcParameters { min_packets, max_packets, .. } = &mut self.parameters;
        *max_packets = (*max_packets).max(*min_packets);
    }

    fn set_limit(&mut self, packets: f64) {
        let bounds = (self.parameters.min_packets as f64, self.parameters.max_packets as f64);
        self.limit_packets = packets.max(bounds.0).min(bounds.1);
    }
}

impl BearerLaw for DynRlc {
    const EVERY_TTI: bool = false;

    fn next_eligible(&mut self, below: &mut Below, now: Time, _: u64) -> Eligible {
        below.forget(now);
        let packets = below.packets();
        if below.is_empty() || packets.saturating_add(1) as f64 <= self.limit_packets {
            return Eligible::Now;
        }
        Eligible::At(below.deadline())
    }
    fn served(&mut self, _: &mut Below, now: Time, served: &Served) {
        self.opportunities.served(served);
        self.left_packets += u64::from(served.left_packets);
        self.left_sojourn += served.left_sojourn;
        if self.left_packets == 0 || now < self.last + self.parameters.interval {
            return;
        }
        self.follow();
        let DynRlcParameters { target, alpha, min_packets, max_packets, step, .. } = self.parameters;
        let (limit, is_late) = (self.limit_packets, self.left_sojourn > target * self.left_packets);
        let (min, max) = (min_packets as f64, max_packets as f64);
        match (step, is_late) {
            (Step::Distance, false) => self.set_limit(limit + alpha * (max - limit)),
            (Step::Distance, true) => self.set_limit(limit - alpha * (limit - min)),
            (Step::Packets, false) => {
                self.limit_packets = libm::floor(limit + (alpha * (max - limit)).max(1.0))
            }
            (Step::Packets, true) => {
                self.limit_packets = libm::floor((limit - (alpha * (limit - min)).max(1.0)).max(min));
            }
            (Step::Factor, false) => self.set_limit(limit * (1.0 + alpha)),
            (Step::Factor, true) => self.set_limit(limit * (1.0 - alpha)),
        }
        self.last = now;
        (self.left_packets, self.left_sojourn) = (0, Span::ZERO);
    }
    /// Reports may wait while no packet leaves: the limit changes only after packets have left.
    fn may_wait(&self, _: &Below, waited: &Waited, _: u64) -> bool {
        self.left_packets == 0 && waited.remaining_packets.saturating_add(1) as f64 > self.limit_packets
    }
    fn waited(&mut self, _: &mut Below, waited: &Waited, _: bool) -> u64 {
        if self.left_packets == 0 { waited.count } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, ms, parse, refused};
    use super::super::{AnyPacer, OverBearer, Pacer, Signal};
    use super::*;

    fn law(text: &str) -> OverBearer<DynRlc> {
        match parse(text) {
            AnyPacer::DynRlc(law) => law,
            other => panic!("{other:?}"),
        }
    }
    /// Reports that `packets` left at `at` ms after a mean sojourn of `sojourn_ms`, with `remaining` bytes
    /// still queued.
    fn left(law: &mut OverBearer<DynRlc>, at: u64, packets: u32, sojourn_ms: u64, remaining: u64) {
        let served = Served {
            left_packets: packets,
            left_sojourn: Span::from_millis(sojourn_ms * u64::from(packets)),
            remaining_packets: remaining,
            remaining_bytes: 1500 * remaining,
            ..Served::default()
        };
        law.on_signal(ms(at), Signal::Served(served));
    }

    #[test]
    fn the_limit_moves_towards_either_bound() {
        let mut law = law("dynrlc:interval=100ms:target=11ms:alpha=0.1:min=2:max=20:start=10");
        left(&mut law, 99, 3, 5, 0);
        assert_eq!(law.limit_packets(), 10.0, "the interval is not over");
        left(&mut law, 100, 1, 5, 0);
        assert_eq!(law.limit_packets(), 11.0);
        left(&mut law, 200, 4, 11, 0);
        assert!((law.limit_packets() - 11.9).abs() < 1e-12, "at the target it grows");
        left(&mut law, 300, 4, 12, 0);
        assert!((law.limit_packets() - 10.91).abs() < 1e-12);
        (4..1000).for_each(|i| left(&mut law, i * 100, 1, 50, 0));
        assert!((law.limit_packets() - 2.0).abs() < 1e-9);
        (1000..2000).for_each(|i| left(&mut law, i * 100, 1, 1, 0));
        assert!((law.limit_packets() - 20.0).abs() < 1e-9 && law.limit_packets() <= 20.0);
    }

    #[test]
    fn the_mean_sojourn_covers_the_packets_of_the_interval() {
        let mut law = law("dynrlc:start=5");
        left(&mut law, 10, 0, 0, 3);
        assert_eq!(law.limit_packets(), 5.0, "nobody left");
        left(&mut law, 12, 3, 2, 3);
        assert!((law.limit_packets() - 5.25).abs() < 1e-12);
        left(&mut law, 15, 1, 7, 3);
        left(&mut law, 22, 1, 1, 3);
        assert!((law.limit_packets() - (5.25 - 0.05 * 4.25)).abs() < 1e-12, "a mean of 4 ms");
    }

    #[test]
    fn factor_steps_from_1_to_10_within_500_ms() {
        let mut law = law("dynrlc:step=factor:start=1");
        (1..=50).for_each(|i| left(&mut law, i * 10, 1, 1, 0));
        assert_eq!(law.limit_packets(), 10.0);
        left(&mut law, 510, 1, 9, 0);
        assert_eq!(law.limit_packets(), 9.5);
        (52..200).for_each(|i| left(&mut law, i * 10, 1, 9, 0));
        assert_eq!(law.limit_packets(), 1.0);
    }

    /// Steps by hand: 10 + 1 (a tenth of 10), 11 + 1, 12 - 1.0, 11 - 1; from 20 on one more each time; 25 -
    /// 2.3, rounded down.
    #[test]
    fn steps_in_packets_are_at_least_one() {
        let mut law = law("dynrlc:interval=100ms:target=11ms:alpha=0.1:min=2:max=20:start=10:step=packets");
        let steps = [(5, 11.0), (5, 12.0), (50, 11.0), (50, 10.0)];
        for (at, (sojourn_ms, limit)) in (1..).zip(steps) {
            left(&mut law, at * 100, 1, sojourn_ms, 0);
            assert_eq!(law.limit_packets(), limit, "{at}");
        }
        (5..20).for_each(|i| left(&mut law, i * 100, 1, 1, 0));
        assert_eq!(law.limit_packets(), 25.0, "it passes the largest");
        left(&mut law, 2000, 1, 50, 0);
        assert_eq!(law.limit_packets(), 22.0);
        (21..100).for_each(|i| left(&mut law, i * 100, 1, 50, 0));
        assert_eq!(law.limit_packets(), 2.0);
    }

    #[test]
    fn packets_up_to_the_limit_are_sent() {
        let mut law = law("dynrlc:start=3");
        law.limit_packets = 3.9;
        for _ in 0..3 {
            assert_eq!(law.ask(ms(1), 1500), Eligible::Now);
            law.forwarded(ms(1), 1500);
        }
        assert_eq!(law.ask(ms(2), 40), Eligible::At(ms(21)));
        left(&mut law, 2, 1, 1, 2);
        assert_eq!(law.ask(ms(2), 40), Eligible::Now);
        law.forwarded(ms(2), 40);
        assert_eq!(law.ask(ms(21), 40), Eligible::At(ms(22)));
        assert_eq!(law.ask(ms(22), 40), Eligible::Now, "no report for 20 ms");
    }

    /// The thesis's testbed gives the thesis's figures; a TTI of half the length that carries 40 times as
    /// much gives the same number of TTIs.
    #[test]
    fn defaults_follow_the_carrier() {
        let parameters = |tti_us: u64, peak_bytes| {
            let setting =
                PacerSetting { tti: Span::from_micros(tti_us), peak_bytes, ..PacerSetting::default() };
            let Ok(AnyPacer::DynRlc(law)) = AnyPacer::parse("dynrlc", &setting) else { panic!() };
            (
                law.parameters.interval.as_micros(),
                law.parameters.target.as_micros(),
                law.parameters.max_packets,
            )
        };
        assert_eq!(parameters(1000, None), (10_000, 3000, 10));
        assert_eq!(parameters(1000, Some(2292)), (10_000, 3000, 10));
        assert_eq!(parameters(500, Some(40 * 2289)), (5000, 1500, 400));
        assert_eq!(parameters(500, Some(u64::MAX)), (5000, 1500, 10_000_000));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("dynrlc:min=5:max=4").contains("min 5 is above max 4"));
        assert!(refused("dynrlc:start=11").contains("start 11 is not within 1 to 10"));
        assert!(refused("dynrlc:alpha=2").contains("0.0001 to 1"));
    }
}
