//! Parameters of pacers: the properties of the cell, and the parameters that several pacers share.

use super::SplitSetting;
use crate::component::{Arguments, ComponentError, Typed, Unit};
use crate::{Span, Time};
use alloc::format;

/// Properties of the cell that a pacer depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacerSetting {
    /// The transmission time interval of the cell.
    pub tti: Span,
    /// Size of a full packet (IP bytes).
    pub mtu_bytes: u64,
    /// Most bytes that a TTI carries for one bearer: all resource blocks at the highest MCS. `None` where
    /// unknown, as on channels that are given in bytes.
    pub peak_bytes: Option<u64>,
    /// With time division duplex (TDD): the time from one service opportunity to the next, a slot that carries downlink
    /// data, on average over the pattern; a special slot counts as the part of a whole slot that it carries. `None`
    /// without TDD: each TTI is an opportunity.
    pub tdd_opportunity: Option<Span>,
    /// True if the channel gives bytes, as a trace does: TTIs between its opportunities carry nothing for any bearer.
    pub is_sparse: bool,
    /// Time from the sending of a packet to the first report that can cover it, beside the wait for the end of a TTI: the
    /// delay of the feedback, and twice that of an ideal F1.
    pub round_trip: Span,
    /// F1-U, where the buffer below is in another unit and is known by its delivery status only.
    pub split: Option<SplitSetting>,
}

impl Default for PacerSetting {
    /// The default setting: LTE's TTI of 1 ms and Ethernet's MTU of 1500 bytes, without F1-U.
    fn default() -> PacerSetting {
        PacerSetting {
            tti: Span::from_millis(1),
            mtu_bytes: 1500,
            peak_bytes: None,
            tdd_opportunity: None,
            is_sparse: false,
            round_trip: Span::ZERO,
            split: None,
        }
    }
}

impl PacerSetting {
    /// The TTI, never zero.
    pub(super) fn tti(&self) -> Span {
        self.tti.max(Span::from_nanos(1))
    }
    /// Mean time from one service opportunity of the carrier to the next; never zero.
    pub(super) fn opportunity(&self) -> Span {
        self.tdd_opportunity.unwrap_or(Span::ZERO).max(self.tti())
    }
    /// The MTU of `arguments`, or the cell's; never zero.
    pub(super) fn mtu(&self, arguments: &Arguments) -> u64 {
        arguments.get(&MTU).unwrap_or(self.mtu_bytes).max(1)
    }
    /// The `max` and the MTU of `arguments`, bytes.
    ///
    /// # Errors
    /// A `max` below the MTU.
    pub(super) fn max_and_mtu(&self, arguments: &Arguments) -> Result<(u64, u64), ComponentError> {
        let (max, mtu) = (arguments.get(&MAX), self.mtu(arguments));
        if max < mtu {
            return Err(arguments.fail(format!("max {max} is below the MTU of {mtu} bytes")));
        }
        Ok((max, mtu))
    }
    /// The `silence` of `arguments`, or its default.
    pub(super) fn silence(&self, arguments: &Arguments) -> Span {
        arguments.get(&SILENCE).unwrap_or(self.usual_silence())
    }
    /// Default of `silence`: 20 TTIs and at least 20 ms.
    pub(super) fn usual_silence(&self) -> Span {
        (self.tti() * 20).max(Span::from_millis(20))
    }
}

/// Rule by which a packet fits into the remainder of a limit or a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// A packet fits when all of it fits.
    Whole,
    /// A packet fits when its first byte does: the limit may be exceeded by less than a packet.
    Begun,
}

impl Fit {
    /// Returns true if a packet of `size` fits when `used` of `limit` are used.
    pub(super) fn has_room(self, used: u64, size: u64, limit: u64) -> bool {
        match self {
            Fit::Whole => used.saturating_add(size) <= limit,
            Fit::Begun => used < limit,
        }
    }
    /// The fit of `arguments`.
    pub(super) fn from_arguments(arguments: &Arguments) -> Fit {
        if arguments.get(&FIT) == "whole" { Fit::Whole } else { Fit::Begun }
    }
}

/// `fit`: the rule by which a packet fits. Each pacer gives the source.
pub(super) const FIT: Typed<str> = Typed::new(
    "fit",
    "begun",
    "rule by which a packet is sent: when all of it has room (whole), or when its first byte has (begun)",
)
.unit(Unit::Choice(&["whole", "begun"]));

/// `max` in bytes. Each pacer gives the description, which names the bounded quantity.
pub(super) const MAX: Typed<u64> = Typed::new("max", "1536000b", "largest limit")
    .unit(Unit::Bytes)
    .within("1b", "")
    .source("5G QoS thesis section 3.6.1: 1024 packets");

/// `mtu`: bytes.
pub(super) const MTU: Typed<Option<u64>> =
    Typed::new("mtu", "", "size of a full packet (IP bytes); default: the path's MTU")
        .unit(Unit::Bytes)
        .within("1b", "64kb")
        .source("5G QoS thesis sections 3.2 and 3.4 (MTU)");

/// `silence`: a duration.
pub(super) const SILENCE: Typed<Option<Span>> = Typed::new("silence", "", "time without a report after which the buffer below is assumed to be empty; default: 20 TTIs, at least 20ms").within("1us", "100s").source("none: lost reports must not stop a bearer");

/// The first nanosecond from `start` on at which `holds` is true; `holds` must be false before that time and true after it.
/// `estimate` is the answer in nanoseconds after `start`, except for rounding errors.
pub(super) fn first_time(start: Time, estimate: f64, holds: impl Fn(Time) -> bool) -> Time {
    const NANOSECOND: Span = Span::from_nanos(1);
    // A float-to-integer cast saturates; not-a-number becomes 0.
    let mut time = start + Span::from_nanos(libm::ceil(estimate) as u64);
    for _ in 0..2 {
        if !holds(time) {
            time += NANOSECOND;
        }
    }
    for _ in 0..2 {
        if time > start && holds(time - NANOSECOND) {
            time = time - NANOSECOND;
        }
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_exact_in_spite_of_rounding() {
        let start = Time::from_nanos(1000);
        for exact in [1000, 1001, 1500] {
            for error in [-1.5, -1.0, -0.2, 0.0, 0.2, 1.0, 1.5] {
                let estimate = exact as f64 - 1000.0 + error;
                let found = first_time(start, estimate, |time| time.as_nanos() >= exact);
                assert_eq!(found, Time::from_nanos(exact), "{error}");
            }
        }
    }

    #[test]
    fn whole_needs_room_for_the_packet_and_begun_for_a_byte() {
        assert!(Fit::Whole.has_room(1000, 500, 1500) && !Fit::Whole.has_room(1001, 500, 1500));
        assert!(Fit::Begun.has_room(1499, 500, 1500) && !Fit::Begun.has_room(1500, 500, 1500));
    }

    #[test]
    fn the_default_silence_is_20_ttis_and_at_least_20_ms() {
        let silence = |micros| {
            let setting = PacerSetting { tti: Span::from_micros(micros), ..PacerSetting::default() };
            setting.silence(&Arguments::defaults(&super::super::drql::COMPONENT))
        };
        assert_eq!([silence(125), silence(1000), silence(10_000)], [20, 20, 200].map(Span::from_millis));
    }
}
