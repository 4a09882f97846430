//! USP, UPF-SDAP pacer: keeps in the SDAP queue the bytes that the RLC buffer accepts between two polls of
//! the UPF.
//!
//! Source: 5G QoS thesis section 3.5, Algorithms 6 and 7. The pacer is located between the UPF and the SDAP.
//! The gate below notifies it of every packet that passes, and of every packet that is held back
//! ("saturation"). After a saturation the optimal occupancy is calculated anew: the bytes that passed in an
//! `interval`, divided by the number of times that the UPF polls in it. Packets are sent while the SDAP queue
//! holds less; in the second half of an interval, less than twice as much.
//!
//! Differences from the reference:
//! * The thesis has no formula for the occupancy; this one follows its prose. Its emulator takes a tenth of
//!   the packets that entered the SDAP since the last saturation, and keeps the doubled value.
//! * The bytes are measured over at least an interval, and scaled to exactly one: saturations occur many
//!   times in a TTI if the gate below spreads its packets.
//! * The UPF does not poll but is notified: `looks` is the number of times that it would poll.
//! * An empty SDAP queue accepts a packet at any occupancy.
//! * If the gate below is silent for `silence` after a packet passed it, the SDAP queue is assumed to be
//!   empty (it may have dropped packets, which the gate does not report); if the gate's last signal was a
//!   saturation, after ten times as long.

use super::parameters::{FIT, Fit, MAX, MTU, PacerSetting, SILENCE};
use super::{Eligible, Pacer, Signal, Signals};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};

const INTERVAL: Typed<Option<Span>> =
    Typed::new("interval", "", "period over which the accepted bytes are measured (T); default: the TTI")
        .within("1us", "100s")
        .source("5G QoS thesis section 3.5, Algorithm 6, line 1");
const LOOKS: Typed<u64> = Typed::new("looks", "10", "number of polls by the UPF in an interval (num_ticks)")
    .unit(Unit::Count("looks"))
    .within("1", "1000000")
    .source("5G QoS thesis section 3.6.1: every 1ms of a TTI of 10ms");

/// Declaration of `usp` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "usp",
    "keeps in the SDAP queue the bytes that the RLC buffer accepts between two polls of the UPF (UPF-SDAP pacer)",
)
.source("5G QoS thesis section 3.5, Algorithms 6 and 7")
.with(&[
    INTERVAL.parameter(),
    LOOKS.parameter(),
    MAX.about("largest occupancy, and the occupancy at the start (MAX_OCC)").parameter(),
    MTU.parameter(),
    FIT.source("5G QoS thesis section 3.5: while the occupancy is below the optimal one").parameter(),
    SILENCE.parameter(),
]);

/// The parameters of USP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UspParameters {
    /// Interval over which the accepted bytes are measured.
    pub interval: Span,
    /// Number of polls by the UPF in an interval, at least 1.
    pub looks: u64,
    /// Largest occupancy, bytes; at least `mtu_bytes`.
    pub max_bytes: u64,
    /// Smallest occupancy, bytes.
    pub mtu_bytes: u64,
    /// Rule by which a packet fits into the occupancy.
    pub fit: Fit,
    /// Time without a signal after which the SDAP queue is assumed to be empty.
    pub silence: Span,
}

/// The law of USP.
#[derive(Clone, Copy, Debug)]
pub struct Usp {
    parameters: UspParameters,
    /// Bytes in the SDAP queue: sent to it and not reported as gone.
    queued_bytes: u64,
    /// Time of the last signal, or of the last packet sent into the empty queue.
    heard: Time,
    /// True if the gate below held a packet back, and no packet has passed it since.
    is_held: bool,
    occupancy_bytes: u64,
    /// True if the gate below held a packet back since the occupancy was last calculated.
    is_saturated: bool,
    /// Bytes that passed the gate below since `last`.
    accepted_bytes: u64,
    /// Time at which the measurement began.
    last: Time,
}

/// Multiple of `silence` for which a gate may hold a packet back before it is considered gone.
const HELD: u64 = 10;

impl Usp {
    /// The law with `parameters`.
    pub fn new(parameters: UspParameters) -> Usp {
        let max_bytes = parameters.max_bytes.max(parameters.mtu_bytes);
        let (interval, looks) = (parameters.interval.max(Span::from_nanos(1)), parameters.looks.max(1));
        Usp {
            parameters: UspParameters { interval, looks, max_bytes, ..parameters },
            queued_bytes: 0,
            heard: Time::ZERO,
            is_held: false,
            occupancy_bytes: max_bytes,
            is_saturated: false,
            accepted_bytes: 0,
            last: Time::ZERO,
        }
    }

    /// The law that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<Usp, ComponentError> {
        let (max_bytes, mtu_bytes) = setting.max_and_mtu(arguments)?;
        Ok(Usp::new(UspParameters {
            interval: arguments.get(&INTERVAL).unwrap_or(setting.tti()),
            looks: arguments.get(&LOOKS),
            max_bytes,
            mtu_bytes,
            fit: Fit::from_arguments(arguments),
            silence: setting.silence(arguments),
        }))
    }

    /// The optimal occupancy of the SDAP queue at `now`, bytes (Algorithm 7).
    pub fn occupancy_bytes(&self, now: Time) -> u64 {
        if now > self.half() {
            self.clamp(self.occupancy_bytes.saturating_mul(2))
        } else {
            self.occupancy_bytes
        }
    }

    fn half(&self) -> Time {
        self.last + self.parameters.interval / 2
    }

    fn clamp(&self, bytes: u64) -> u64 {
        bytes.clamp(self.parameters.mtu_bytes, self.parameters.max_bytes)
    }

    /// Counts `bytes` that passed the gate below (Algorithm 6).
    fn dequeued(&mut self, now: Time, bytes: u64) {
        let interval = self.parameters.interval;
        if now >= self.last + interval {
            if self.is_saturated {
                self.is_saturated = false;
                // Scaled to exactly one interval and divided by its number of polls, rounded up.
                let accepted = u128::from(self.accepted_bytes) * u128::from(interval.as_nanos());
                let share = u128::from(now.since(self.last).as_nanos()) * u128::from(self.parameters.looks);
                let bytes = accepted.div_ceil(share.max(1));
                self.occupancy_bytes = self.clamp(u64::try_from(bytes).unwrap_or(u64::MAX));
            }
            self.last = now;
            self.accepted_bytes = 0;
        }
        self.accepted_bytes = self.accepted_bytes.saturating_add(bytes);
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
        (self.heard, self.is_held) = (now, false);
    }

    /// Time at which the silence becomes too long.
    fn deadline(&self) -> Time {
        self.heard + self.parameters.silence * if self.is_held { HELD } else { 1 }
    }
}

impl Pacer for Usp {
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        if self.queued_bytes > 0 && now >= self.deadline() {
            (self.queued_bytes, self.is_held) = (0, false);
        }
        let (fit, queued) = (self.parameters.fit, self.queued_bytes);
        if queued == 0 || fit.has_room(queued, size_bytes, self.occupancy_bytes(now)) {
            return Eligible::Now;
        }
        let doubled = self.half() + Span::from_nanos(1);
        if now < doubled && fit.has_room(queued, size_bytes, self.occupancy_bytes(doubled)) {
            return Eligible::At(doubled.min(self.deadline()));
        }
        Eligible::At(self.deadline())
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        if self.queued_bytes == 0 {
            self.heard = now;
        }
        self.queued_bytes = self.queued_bytes.saturating_add(bytes);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        match signal {
            Signal::Dequeued { bytes } => self.dequeued(now, bytes),
            Signal::Refused => {
                self.is_saturated = true;
                (self.heard, self.is_held) = (now, true);
            }
            _ => {}
        }
    }
    fn listens(&self) -> Signals {
        Signals { dequeued: true, refused: true, ..Signals::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AnyPacer;
    use super::super::testing::{Asked, ms, parse, refused, us};
    use super::*;

    fn law(text: &str) -> Usp {
        match parse(text) {
            AnyPacer::Usp(law) => law,
            other => panic!("{other:?}"),
        }
    }
    fn gone(law: &mut Usp, now: Time, bytes: u64) {
        law.on_signal(now, Signal::Dequeued { bytes });
    }
    fn held(law: &mut Usp, now: Time) {
        law.on_signal(now, Signal::Refused);
    }

    #[test]
    fn the_occupancy_is_the_bytes_accepted_between_two_polls() {
        let mut law = law("usp:interval=10ms:looks=2");
        assert_eq!(law.occupancy_bytes(ms(0)), 1_536_000);
        (0..100).for_each(|_| law.forwarded(ms(0), 1500));
        gone(&mut law, ms(10), 1500);
        assert_eq!((law.last, law.occupancy_bytes), (ms(10), 1_536_000), "nothing was held back");
        gone(&mut law, ms(12), 1500);
        held(&mut law, ms(13));
        gone(&mut law, ms(19), 3000);
        assert_eq!(law.occupancy_bytes, 1_536_000, "an interval is not over");
        gone(&mut law, ms(20), 1500);
        assert_eq!((law.last, law.occupancy_bytes, law.accepted_bytes), (ms(20), 3000, 1500));
        held(&mut law, ms(21));
        gone(&mut law, ms(25), 7500);
        gone(&mut law, ms(32), 1500);
        assert_eq!(law.occupancy_bytes, 3750, "9000 bytes in 12 ms");
        gone(&mut law, ms(50), 1500);
        assert_eq!((law.last, law.occupancy_bytes), (ms(50), 3750));
    }

    #[test]
    fn the_occupancy_is_doubled_in_the_second_half_and_clamped() {
        let mut law = law("usp:interval=10ms:max=4000b");
        law.occupancy_bytes = 1700;
        law.last = ms(100);
        assert_eq!([105_000, 105_001].map(|at| law.occupancy_bytes(us(at))), [1700, 3400]);
        law.forwarded(ms(100), 1700);
        assert_eq!(law.ask(ms(101), 1500), Eligible::At(ms(105) + Span::from_nanos(1)));
        law.forwarded(ms(105), 1700);
        assert_eq!(law.ask(ms(106), 1500), Eligible::At(ms(120)), "its silence");
        law.occupancy_bytes = 2500;
        assert_eq!(law.occupancy_bytes(ms(106)), 4000);
        held(&mut law, ms(106));
        gone(&mut law, ms(111), 100);
        assert_eq!(law.occupancy_bytes, 1500, "an MTU at least");
    }

    #[test]
    fn packets_are_sent_while_less_is_queued() {
        let mut law = law("usp");
        law.occupancy_bytes = 1600;
        law.last = ms(5);
        for _ in 0..2 {
            assert_eq!(law.ask(ms(5), 1500), Eligible::Now);
            law.forwarded(ms(5), 1500);
        }
        assert_eq!(law.ask(ms(5), 1500), Eligible::At(us(5500) + Span::from_nanos(1)));
        gone(&mut law, us(5100), 1400);
        assert_ne!(law.ask(us(5100), 1500), Eligible::Now);
        gone(&mut law, us(5200), 1);
        assert_eq!(law.ask(us(5200), 1500), Eligible::Now);
        law.parameters.fit = Fit::Whole;
        assert_ne!(law.ask(us(5200), 2), Eligible::Now);
        assert_eq!(law.ask(us(5200), 1), Eligible::Now);
        gone(&mut law, us(5200), 5000);
        assert_eq!(law.ask(us(5200), 60_000), Eligible::Now, "nothing is queued");
    }

    #[test]
    fn after_a_silence_the_queue_counts_as_empty() {
        let mut law = law("usp:max=1500b");
        law.forwarded(ms(5), 1500);
        assert_eq!(law.ask(ms(6), 40), Eligible::At(ms(25)));
        held(&mut law, ms(6));
        assert_eq!(law.ask(ms(7), 40), Eligible::At(ms(206)), "it has a packet");
        gone(&mut law, ms(8), 100);
        law.forwarded(ms(8), 100);
        assert_eq!(law.ask(ms(9), 40), Eligible::At(ms(28)));
        assert_eq!(law.ask(ms(28), 40), Eligible::Now);
        assert_eq!(law.queued_bytes, 0);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("usp:max=1499b").contains("max 1499 is below the MTU of 1500 bytes"));
        assert!(
            refused("usp:looks=0").contains("at least 1") || refused("usp:looks=0").contains("1 to 1000000")
        );
    }
}
