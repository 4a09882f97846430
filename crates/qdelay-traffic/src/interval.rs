//! The interval between datagrams at a constant rate, exact on average.

use qdelay_core::{Rate, Span};

/// An interval of whole nanoseconds and a fraction. Whole nanoseconds alone would round the interval down and so raise the rate: by up to 1% for
/// an interval of 100 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    whole: Span,
    /// Numerator of the fraction of a nanosecond; less than `denominator`.
    part: u64,
    denominator: u64,
}

impl Interval {
    /// Interval between datagrams of `bytes` bytes at `rate`.
    pub fn at_rate(rate: Rate, bytes: u32) -> Interval {
        let bps = rate.as_bps();
        if rate == Rate::ZERO || rate == Rate::INFINITE {
            return rate.time_for(u64::from(bytes)).into();
        }
        let scaled = u128::from(bytes) * 8_000_000_000;
        let whole = u64::try_from(scaled / u128::from(bps)).map_or(Span::MAX, Span::from_nanos);
        let part = (scaled % u128::from(bps)) as u64;
        Interval { whole, part, denominator: if part == 0 { 1 } else { bps } }
    }

    /// The interval rounded down to whole nanoseconds.
    pub const fn whole(self) -> Span {
        self.whole
    }

    /// The length in nanoseconds.
    pub fn as_nanos_f64(self) -> f64 {
        self.whole.as_nanos() as f64 + self.part as f64 / self.denominator as f64
    }

    /// Time to the next datagram. `carry` holds the fraction of a nanosecond left over from earlier calls; 0 at first.
    #[inline]
    pub fn next(self, carry: &mut u64) -> Span {
        debug_assert!(
            *carry < self.denominator && self.part < self.denominator,
            "a carry of {carry} for {self:?}"
        );
        if *carry < self.denominator - self.part {
            *carry += self.part;
            return self.whole;
        }
        *carry -= self.denominator - self.part;
        self.whole + Span::from_nanos(1)
    }
}

impl From<Span> for Interval {
    fn from(whole: Span) -> Interval {
        Interval { whole, part: 0, denominator: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million intervals last as long as their bits at the rate, to the nanosecond.
    #[test]
    fn a_million_intervals_have_the_exact_rate() {
        for (bps, bytes) in
            [(900_000_000, 64), (90_000_000_000, 64), (3, 65_535), (7_000_000_000, 1500), (1, 28)]
        {
            let interval = Interval::at_rate(Rate::from_bps(bps), bytes);
            let mut carry = 0;
            let nanos: u128 = (0..1_000_000).map(|_| u128::from(interval.next(&mut carry).as_nanos())).sum();
            assert_eq!(nanos, u128::from(bytes) * 8_000_000_000 * 1_000_000 / u128::from(bps), "{bps}");
        }
    }

    #[test]
    fn zero_and_infinite_rates_have_the_longest_and_shortest_interval() {
        let interval = |rate| Interval::at_rate(rate, 1200);
        assert_eq!(interval(Rate::ZERO).whole(), Span::MAX);
        assert_eq!(interval(Rate::INFINITE).as_nanos_f64(), 0.0);
        let fastest = interval(Rate::from_bps(u64::MAX - 1));
        let mut carry = 0;
        assert!((0..1000).all(|_| fastest.next(&mut carry) <= Span::from_nanos(1)));
        assert_eq!(Interval::from(Span::from_millis(2)).next(&mut 0), Span::from_millis(2));
    }
}
