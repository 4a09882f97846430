//! Links: what a rate does to packets.
//!
//! | link | a packet leaves | source |
//! | --- | --- | --- |
//! | [`Line`] | when its last bit is sent, at a constant rate | a serial line: store and forward |
//! | [`Shaper`] | at the start of its slot, if the bucket is not in debt | a Linux HTB class with a burst |
//! | [`TraceLink`] | at the opportunity that carries its last byte | mahimahi's `mm-link` |
//! | [`RateLink`] | when its last bit is sent, at a rate that changes on the way | a line over [`RateSteps`](qdelay_trace::RateSteps) |
//! | [`Uplink`] | in the granted slot that carries its last byte | scheduling requests and buffer status reports of LTE |
//!
//! Each adds `overhead` bytes to every packet: framing that the IP size does not show. An idle link has no events.

mod component;
mod line;
mod shaper;
mod steps;
mod trace;
mod uplink;

pub use component::{LINKS, is_rate, parse_link};
pub use line::Line;
pub use shaper::Shaper;
pub use steps::RateLink;
pub use trace::TraceLink;
pub use uplink::Uplink;

use alloc::boxed::Box;
use qdelay_core::{Rate, Time};

/// Any of the links.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnyLink {
    /// Store and forward at a constant rate.
    Line(Line),
    /// A token bucket.
    Shaper(Shaper),
    /// Opportunities recorded in a trace.
    Trace(TraceLink),
    /// Store and forward at a rate that changes.
    Rate(RateLink),
    /// Slots that have to be requested.
    Uplink(Box<Uplink>),
}

impl AnyLink {
    /// Bytes, overhead included, that could have been sent from the beginning of the run to `now`.
    pub fn offered_bytes(&self, now: Time) -> u64 {
        match self {
            AnyLink::Line(link) => link.offered_bytes(now),
            AnyLink::Shaper(link) => link.offered_bytes(now),
            AnyLink::Trace(link) => link.offered_bytes(now),
            AnyLink::Rate(link) => link.offered_bytes(now),
            AnyLink::Uplink(link) => link.offered_bytes(now),
        }
    }
    /// Bytes the link adds to each packet.
    pub fn overhead_bytes(&self) -> u32 {
        match self {
            AnyLink::Line(link) => link.overhead_bytes(),
            AnyLink::Shaper(link) => link.overhead_bytes(),
            AnyLink::Trace(link) => link.overhead_bytes(),
            AnyLink::Rate(link) => link.overhead_bytes(),
            AnyLink::Uplink(link) => link.overhead_bytes(),
        }
    }
}

impl From<Line> for AnyLink {
    fn from(link: Line) -> AnyLink {
        AnyLink::Line(link)
    }
}
impl From<Shaper> for AnyLink {
    fn from(link: Shaper) -> AnyLink {
        AnyLink::Shaper(link)
    }
}
impl From<TraceLink> for AnyLink {
    fn from(link: TraceLink) -> AnyLink {
        AnyLink::Trace(link)
    }
}
impl From<RateLink> for AnyLink {
    fn from(link: RateLink) -> AnyLink {
        AnyLink::Rate(link)
    }
}
impl From<Uplink> for AnyLink {
    fn from(link: Uplink) -> AnyLink {
        AnyLink::Uplink(Box::new(link))
    }
}

/// One bit at one bit per second, in the unit work is counted in (bit nanoseconds per second): 8e9 to a byte.
const WORK_PER_BYTE: u64 = 8_000_000_000;

/// Nanoseconds that `bytes` take at `rate`. `carry` is the part of a nanosecond (in units of 1/rate) that earlier packets
/// of the same burst left over and holds the new remainder afterwards, so that no time is lost or won over a burst.
#[inline]
fn transmission_nanos(rate: Rate, bytes: u64, carry: &mut u64) -> u64 {
    let bps = rate.as_bps();
    if bps == 0 {
        return u64::MAX;
    }
    if rate == Rate::INFINITE {
        return 0;
    }
    if let Some(work) = bytes.checked_mul(WORK_PER_BYTE).and_then(|work| work.checked_add(*carry)) {
        *carry = work % bps;
        return work / bps;
    }
    let work = u128::from(bytes) * u128::from(WORK_PER_BYTE) + u128::from(*carry);
    *carry = (work % u128::from(bps)) as u64;
    u64::try_from(work / u128::from(bps)).unwrap_or(u64::MAX)
}

/// Bytes that a constant rate carries in `nanos`, rounded down.
fn bytes_in(rate: Rate, nanos: u64) -> u64 {
    if rate == Rate::INFINITE {
        return u64::MAX;
    }
    let bytes = u128::from(rate.as_bps()) * u128::from(nanos) / u128::from(WORK_PER_BYTE);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_lost_in_fractions() {
        let (rate, mut carry, mut total) = (Rate::from_bps(7_000_003), 0, 0_u64);
        for _ in 0..7_000_003_u64 / 8 {
            total += transmission_nanos(rate, 1, &mut carry);
        }
        let exact = (7_000_003_u64 / 8) * WORK_PER_BYTE / 7_000_003;
        assert_eq!(total, exact);
    }

    #[test]
    fn extremes() {
        let mut carry = 0;
        assert_eq!(transmission_nanos(Rate::ZERO, 1, &mut carry), u64::MAX);
        assert_eq!(transmission_nanos(Rate::INFINITE, u64::MAX, &mut carry), 0);
        assert_eq!(transmission_nanos(Rate::from_bps(1), u64::MAX, &mut carry), u64::MAX);
        assert_eq!(
            transmission_nanos(Rate::from_bps(8), 4_000_000_000, &mut carry),
            4_000_000_000_000_000_000
        );
        assert_eq!(bytes_in(Rate::from_bps(8_000_000), 1_500_999), 1500);
    }
}
