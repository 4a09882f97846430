//! DRQL, Dynamic RLC Queue Limit: a limit on the bytes in the RLC buffer that falls by the bytes that were
//! never needed and grows when the buffer ran empty. It is Linux's dynamic queue limits (BQL) in steps of the
//! TTI.
//!
//! Source: 5G QoS thesis section 3.2, Algorithm 1. After each TTI: if the buffer is empty and the limit had
//! held a packet back, the limit grows by `increase`. If bytes are left, the smallest remainder over an
//! `interval` is subtracted from the limit, down to an MTU. Otherwise the interval begins anew.
//!
//! Differences from the reference:
//! * Lines 14 and 19 test that the interval is *not* over; here it is over when `interval` has passed. The
//!   interval is not one TTI (line 1) but ten, which gives the published curves. If the buffer is empty and
//!   no packet was held back, the interval always begins anew, without line 19's condition.
//! * The thesis does not state the growth of the limit: here it is a factor of 1.2, rounded up to a byte, and
//!   the interval begins anew, as in the thesis's emulator.
//! * "The limit was reached" is recorded when a packet is held back and kept until the next report, rather
//!   than compared at the report.
//! * A packet that is larger than the limit is sent into an empty buffer.
//! * With time division duplex (TDD) the interval is the mean time of ten service opportunities, slots with
//!   downlink data: in ten TTIs of LTE's configuration 0 the bearer is served two to four times, and the limit
//!   would fall by remainders of so few.
//! * Over F1-U an interval begins a round trip after the limit was lowered: earlier reports describe packets
//!   sent under the old limit, and would subtract the same surplus again.

use super::bearer::BearerLaw;
use super::below::Below;
use super::parameters::{FIT, Fit, MAX, MTU, PacerSetting, SILENCE};
use super::{Eligible, Served, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};

const INTERVAL: Typed<Option<Span>> =
    Typed::new("interval", "", "period over which the smallest remainder is taken (T); default: 10 TTIs; with time division duplex the mean time of 10 slots with downlink data")
        .within("1us", "100s")
        .source("the thesis's emulator; 5G QoS thesis section 3.2 has one TTI");
const INCREASE: Typed<f64> = Typed::new("increase", "1.2", "factor on the limit when the buffer ran empty")
    .within("1", "10")
    .source("the thesis's emulator; the thesis has no number");
const ROUND: Typed<str> =
    Typed::new("round", "byte", "unit to which a grown limit is rounded up: a byte, or a full packet")
        .unit(Unit::Choice(&["byte", "mtu"]))
        .source("the thesis's emulator: packets");

/// Declaration of `drql` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "drql",
    "limits the bytes in the RLC buffer to the bytes that TTIs send (dynamic RLC queue limit)",
)
.source("5G QoS thesis section 3.2, Algorithm 1")
.with(&[
    INTERVAL.parameter(),
    INCREASE.parameter(),
    ROUND.parameter(),
    MAX.about("largest limit, and the limit at the start (MAX_VAL_LIMIT)").parameter(),
    MTU.parameter(),
    FIT.with_default("whole").source("5G QoS thesis section 3.2: the limit is the queue's").parameter(),
    SILENCE.parameter(),
]);

/// The parameters of DRQL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrqlParameters {
    /// Period over which the smallest remainder is taken.
    pub interval: Span,
    /// Factor by which the limit grows, at least 1.
    pub increase: f64,
    /// Unit of rounding in bytes, at least 1: a limit that grew is rounded up to a multiple of it.
    pub round_bytes: u64,
    /// Largest limit, bytes; at least `mtu_bytes`.
    pub max_bytes: u64,
    /// Smallest limit, bytes.
    pub mtu_bytes: u64,
    /// Rule by which a packet fits into the limit.
    pub fit: Fit,
    /// Time from the sending of a packet to the first report that can cover it.
    pub round_trip: Span,
}

/// The law of DRQL.
#[derive(Clone, Copy, Debug)]
pub struct Drql {
    parameters: DrqlParameters,
    limit_bytes: u64,
    /// Smallest remainder in this interval; `None` before the first.
    least_bytes: Option<u64>,
    /// Time at which the interval began.
    last: Time,
    /// True if a packet was held back since the last report.
    limit_reached: bool,
}

impl Drql {
    /// The law with `parameters`.
    pub fn new(parameters: DrqlParameters) -> Drql {
        let max_bytes = parameters.max_bytes.max(parameters.mtu_bytes);
        Drql {
            parameters: DrqlParameters { max_bytes, ..parameters },
            limit_bytes: max_bytes,
            least_bytes: None,
            last: Time::ZERO,
            limit_reached: false,
        }
    }

    /// The law that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<Drql, ComponentError> {
        let (max_bytes, mtu_bytes) = setting.max_and_mtu(arguments)?;
        Ok(Drql::new(DrqlParameters {
            interval: arguments.get(&INTERVAL).unwrap_or(setting.opportunity() * 10),
            increase: arguments.get(&INCREASE),
            round_bytes: if arguments.get(&ROUND) == "mtu" { mtu_bytes } else { 1 },
            max_bytes,
            mtu_bytes,
            fit: Fit::from_arguments(arguments),
            round_trip: setting.split.map_or(Span::ZERO, |split| split.round_trip),
        }))
    }

    /// The limit, bytes.
    pub const fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    fn restart(&mut self, now: Time) {
        self.last = now;
        self.least_bytes = None;
    }
}

impl BearerLaw for Drql {
    const EVERY_TTI: bool = false;

    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible {
        below.forget(now);
        let used = below.bytes();
        if below.is_empty() || self.parameters.fit.has_room(used, size_bytes, self.limit_bytes) {
            return Eligible::Now;
        }
        self.limit_reached = true;
        Eligible::At(below.deadline())
    }
    fn served(&mut self, _: &mut Below, now: Time, served: &Served) {
        let DrqlParameters { interval, increase, round_bytes, max_bytes, mtu_bytes, round_trip, .. } =
            self.parameters;
        let remaining = served.remaining_bytes;
        if remaining > 0 && now >= self.last {
            let least = self.least_bytes.map_or(remaining, |least| least.min(remaining));
            self.least_bytes = Some(least);
            if now >= self.last + interval {
                self.limit_bytes = self.limit_bytes.saturating_sub(least).max(mtu_bytes);
                self.restart(now + round_trip);
            }
        } else if remaining == 0 {
            if self.limit_reached {
                let grown = libm::ceil(self.limit_bytes as f64 * increase) as u64;
                self.limit_bytes =
                    grown.div_ceil(round_bytes.max(1)).saturating_mul(round_bytes.max(1)).min(max_bytes);
            }
            self.restart(now);
        }
        self.limit_reached = false;
    }
    /// Reports may wait while bytes are left: the limit does not grow then.
    fn may_wait(&self, _: &Below, waited: &Waited, head_bytes: u64) -> bool {
        !self.parameters.fit.has_room(waited.remaining_bytes, head_bytes, self.limit_bytes)
    }
    fn waited(&mut self, below: &mut Below, waited: &Waited, is_held: bool) -> u64 {
        let report = waited.report();
        waited.times().for_each(|time| self.served(below, time, &report));
        self.limit_reached = is_held;
        waited.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, ms, parse, refused, served, us};
    use super::super::{AnyPacer, Ddds, OverBearer, Pacer, Signal, SplitSetting};
    use super::*;

    fn law(text: &str) -> OverBearer<Drql> {
        match parse(text) {
            AnyPacer::Drql(law) => law,
            other => panic!("{other:?}"),
        }
    }
    /// Sends full packets until one is held back; returns how many were sent.
    fn fill(law: &mut OverBearer<Drql>, now: Time) -> u64 {
        let mut count = 0;
        while law.ask(now, 1500) == Eligible::Now {
            law.forwarded(now, 1500);
            count += 1;
        }
        count
    }

    #[test]
    fn bytes_never_needed_are_subtracted_from_the_limit() {
        let mut law = law("drql:max=10500b");
        assert_eq!(fill(&mut law, ms(0)), 7);
        for tti in 1..10 {
            law.on_signal(ms(tti), served(2289, 2289, 8211 - 100 * (tti % 3)));
            assert_eq!(law.limit_bytes(), 10_500);
        }
        law.on_signal(ms(10), served(2289, 2289, 8300));
        assert_eq!(law.limit_bytes(), 10_500 - 8011, "the smallest remainder of ten TTIs");
        assert_eq!(law.least_bytes, None);
        law.on_signal(ms(11), served(2289, 2289, 6000));
        assert_eq!(law.limit_bytes(), 2489);
        law.on_signal(ms(20), served(2289, 2289, 5000));
        assert_eq!(law.limit_bytes(), 1500, "an MTU remains");
    }

    #[test]
    fn the_limit_grows_at_once_when_the_buffer_ran_empty() {
        let mut law = law("drql:max=3000b");
        law.limit_bytes = 1501;
        assert_eq!(fill(&mut law, ms(1)), 1);
        law.on_signal(ms(2), served(2289, 1500, 0));
        assert_eq!(law.limit_bytes(), 1802, "1801.2 rounded up");
        law.on_signal(ms(3), served(2289, 1500, 0));
        assert_eq!((law.limit_bytes(), law.last), (1802, ms(3)), "no packet was held back");
        for tti in 4..10 {
            fill(&mut law, ms(tti));
            law.on_signal(ms(tti), served(2289, 1500, 0));
        }
        assert_eq!(law.limit_bytes(), 3000);
    }

    #[test]
    fn the_limit_grows_by_full_packets_in_the_unit_packets() {
        let mut law = law("drql:max=9000b:round=mtu");
        law.limit_bytes = 1500;
        for (tti, limit) in [(1, 3000), (2, 4500), (3, 6000), (4, 7500), (5, 9000), (6, 9000)] {
            fill(&mut law, ms(tti));
            law.on_signal(ms(tti), served(15000, 1500, 0));
            assert_eq!(law.limit_bytes(), limit, "{tti}");
        }
    }

    #[test]
    fn an_empty_buffer_begins_the_interval_anew() {
        let mut law = law("drql:max=6000b:interval=3ms");
        law.on_signal(ms(1), served(2289, 100, 50));
        law.on_signal(ms(2), served(2289, 100, 0));
        assert_eq!((law.least_bytes, law.last), (None, ms(2)));
        law.on_signal(ms(4), served(2289, 100, 700));
        assert_eq!(law.limit_bytes(), 6000);
        law.on_signal(ms(5), served(2289, 100, 900));
        assert_eq!(law.limit_bytes(), 5300);
    }

    #[test]
    fn packets_beyond_the_limit_are_held_back() {
        let mut law = law("drql:max=4000b");
        assert_eq!(fill(&mut law, ms(0)), 2);
        assert_eq!(law.ask(ms(0), 1000), Eligible::Now);
        assert_eq!(law.ask(ms(0), 1001), Eligible::At(ms(20)));
        law.on_signal(ms(1), served(500, 500, 2500));
        assert_eq!(law.ask(ms(1), 1500), Eligible::Now);
        assert_eq!(law.ask(ms(1), 1501), Eligible::At(ms(21)));
        assert_eq!(law.ask(ms(21), 1501), Eligible::Now, "no report for 20 ms");
    }

    #[test]
    fn with_fit_begun_a_packet_may_exceed_the_limit() {
        let mut law = law("drql:max=4000b:fit=begun");
        assert_eq!(fill(&mut law, ms(0)), 3);
        law.on_signal(ms(1), served(501, 501, 3999));
        assert_eq!(fill(&mut law, ms(1)), 1);
        law.on_signal(ms(2), served(1499, 1499, 4000));
        assert_eq!(fill(&mut law, ms(2)), 0);
    }

    #[test]
    fn a_packet_larger_than_the_limit_is_sent_alone() {
        let mut law = law("drql:max=1500b");
        assert_eq!(law.ask(ms(0), 9000), Eligible::Now);
        law.forwarded(ms(0), 9000);
        assert_eq!(law.ask(ms(0), 40), Eligible::At(ms(20)));
    }

    /// Over F1-U with 1 ms each way, at a limit of one packet: a packet sent at 10 ms reaches RLC as a TTI
    /// begins and leaves in the next one; the report of it reaches the CU at 13 ms. The packets sent
    /// meanwhile have had no TTI: RLC ran empty, and the limit grows.
    #[test]
    fn over_f1_a_packet_without_a_tti_counts_as_no_remainder() {
        let grown = |second_us: u64| {
            let (delay, round_trip) = (Span::from_millis(1), Span::from_millis(2));
            let split = SplitSetting { delay, round_trip, period: Span::from_millis(5) };
            let setting = PacerSetting { split: Some(split), ..PacerSetting::default() };
            let Ok(AnyPacer::Drql(mut law)) = AnyPacer::parse("drql", &setting) else { panic!() };
            law.limit_bytes = 1500;
            let report = |transmitted| {
                Signal::Delivered(Ddds { transmitted, desired_rate: Some(9_000_000), ..Ddds::default() })
            };
            law.on_signal(ms(9), report(None));
            law.forwarded(us(9500), 1500);
            law.forwarded(us(second_us), 1500);
            assert_ne!(law.ask(us(second_us), 1500), Eligible::Now);
            // On the clock of sending the report is of 11 ms: the TTI at 12 ms took the first packet, or had
            // begun.
            law.on_signal(ms(13), report(Some(0)));
            law.limit_bytes
        };
        assert_eq!(grown(11_000), 1800);
        assert_eq!(
            grown(10_500),
            1800,
            "it came in time for the TTI at 12 ms, which this report may not cover"
        );
        assert_eq!(grown(9900), 1500, "it had the TTI at 11 ms: at least a byte of it is left");
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("drql:max=1499b").contains("max 1499 is below the MTU of 1500 bytes"));
        assert!(refused("drql:increase=0.9").contains("1 to 10"));
    }
}
