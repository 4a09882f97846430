//! Data rates in bits per second.

use super::Span;
use core::fmt;

/// A data rate in whole bits per second (decimal: 1 Mbit/s is 10^6 bit/s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Zero rate: no packet is ever sent.
    pub const ZERO: Rate = Rate(0);
    /// Infinite rate: no time is spent on any packet.
    pub const INFINITE: Rate = Rate(u64::MAX);

    /// `n` bits per second.
    pub const fn from_bps(n: u64) -> Rate {
        Rate(n)
    }
    /// `n` megabits per second.
    pub fn from_mbps(n: f64) -> Rate {
        Rate((n * 1e6) as u64)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Megabits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time that `bytes` occupy a line of this rate, rounded down to a nanosecond. At rate zero: for ever; at
    /// [`Rate::INFINITE`]: no time. Exact for up to 2 GB at a time.
    pub fn time_for(self, bytes: u64) -> Span {
        match self.0 {
            0 => Span::MAX,
            u64::MAX => Span::ZERO,
            bps => match bytes.checked_mul(8_000_000_000) {
                Some(scaled) => Span::from_nanos(scaled / bps),
                None => Span::from_nanos((u128::from(bytes) * 8_000_000_000 / u128::from(bps)) as u64),
            },
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("infinite"),
            n if n >= 1_000_000_000 => write!(f, "{}gbit", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{}mbit", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{}kbit", n as f64 / 1e3),
            n => write!(f, "{n}bit"),
        }
    }
}
