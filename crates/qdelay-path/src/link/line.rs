//! A serial line: store and forward at a constant rate.
//!
//! A packet leaves when its last bit is sent; the next one starts at that moment. Parameters: `rate`, and `overhead` bytes
//! added to each packet (default 0).

use super::parameters::{OVERHEAD, RATE, overhead, rate};
use super::{LinkModel, Serial, WORK_PER_BYTE, bytes_in, transmission_nanos};
use qdelay_core::component::{Arguments, Component, ComponentError, Kind};
use qdelay_core::{Rate, Span, Time};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Link,
    "line",
    "A constant rate as a serial line gives it: packets leave with their last bit.",
)
.with(&[RATE.parameter(), OVERHEAD.parameter()])
.positional("rate");

pub(super) const EXAMPLE: &str = "line:10mbit";

/// A line of constant rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    rate: Rate,
    overhead_bytes: u32,
    /// Nanoseconds per byte if whole (as at 100 Mbit/s), which saves a division per packet; otherwise 0.
    nanos_per_byte: u64,
    /// When the last packet's last bit was sent, rounded down to a nanosecond...
    finish: Time,
    /// The part that was rounded off, in units of 1/rate nanoseconds.
    carry: u64,
}

impl Line {
    /// An idle line. At rate zero nothing ever leaves; at [`Rate::INFINITE`] a packet takes no time.
    pub const fn new(rate: Rate, overhead_bytes: u32) -> Line {
        let nanos_per_byte = match rate.as_bps() {
            0 => 0,
            bps if WORK_PER_BYTE.is_multiple_of(bps) => WORK_PER_BYTE / bps,
            _ => 0,
        };
        Line { rate, overhead_bytes, nanos_per_byte, finish: Time::ZERO, carry: 0 }
    }
    pub(super) fn build(arguments: &Arguments) -> Result<Line, ComponentError> {
        Ok(Line::new(rate(arguments)?, overhead(arguments)))
    }
}

impl Serial for Line {
    #[inline(always)]
    fn begin(&mut self, now: Time, bytes: u32) -> Time {
        let wire = u64::from(bytes) + u64::from(self.overhead_bytes);
        if self.nanos_per_byte > 0 {
            self.finish = now + Span::from_nanos(wire * self.nanos_per_byte);
            return self.finish;
        }
        if now != self.finish {
            self.carry = 0;
        }
        self.finish = now + Span::from_nanos(transmission_nanos(self.rate, wire, &mut self.carry));
        self.finish
    }
}

impl LinkModel for Line {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    fn offered_bytes(&self, now: Time) -> u64 {
        bytes_in(self.rate, now.as_nanos())
    }
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bit_counts() {
        let mut line = Line::new(Rate::from_bps(10_000_000), 14);
        let at = |nanos| Time::from_nanos(nanos);
        assert_eq!(line.begin(at(0), 1500), at(1_211_200));
        assert_eq!(line.begin(at(1_211_200), 1500), at(2_422_400));
        assert_eq!(line.begin(at(5_000_000), 36), at(5_040_000));
        assert_eq!(line.offered_bytes(Time::from_nanos(8_000_000)), 10_000);
    }

    #[test]
    fn thirds_of_nanoseconds_add_up_within_a_burst_and_not_beyond() {
        let mut line = Line::new(Rate::from_bps(24_000_000_000), 0);
        let mut now = Time::ZERO;
        for expected in [0, 0, 1, 1, 1, 2] {
            now = line.begin(now, 1);
            assert_eq!(now.as_nanos(), expected);
        }
        assert_eq!(line.begin(Time::from_nanos(10), 2).as_nanos(), 10);
        assert_eq!(line.begin(Time::from_nanos(20), 2).as_nanos(), 20);
    }
}
