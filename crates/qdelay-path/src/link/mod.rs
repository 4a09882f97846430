//! Links: they send packets at a rate.
//!
//! | link | a packet leaves | source |
//! | --- | --- | --- |
//! | [`Line`] | when its last bit is sent, at a constant rate | a serial line: store and forward |
//! | [`Shaper`] | at the start of its slot, if the bucket is not in debt | a Linux HTB class with a burst |
//! | [`Recorded`] | at the next recorded time | another implementation's departures |
//! | [`TraceLink`] | at the opportunity that carries its last byte | mahimahi's `mm-link` |
//! | [`RateLink`] | when its last bit is sent, at a rate that changes on the way | a line over [`RateSteps`](qdelay_trace::RateSteps) |
//! | [`Uplink`] | in the granted slot that carries its last byte | scheduling requests and buffer status reports of LTE |
//! | [`Starlink`] | in the frame that carries its last byte, at a rate that grows under pressure | measurements of Starlink |
//!
//! Each adds `overhead` bytes to every packet: framing that the IP size does not show. An idle link has no events.

mod component;
mod dispatch;
mod line;
mod parameters;
mod recorded;
mod shaper;
mod starlink;
mod steps;
mod trace;
mod uplink;

pub use component::{is_rate, parse_link};
pub use parameters::OVERHEAD;

use crate::light::LightLoad;
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::{Rate, Span, Time};

// The registry: a line makes of a link a variant, an entry of `LINKS` and an example. They are listed in this order.
dispatch::links! {
    shaped: { shaper::Shaper }
    recorded: { recorded::Recorded }
    serial: { line::Line, steps::RateLink }
    slotted: { uplink::Uplink in Box, starlink::Starlink in Box }
    traces: { trace::TraceLink }
}

/// Any link, by how a path drives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyLink {
    /// A packet leaves at the start of its slot.
    Shaped(AnyShaped),
    /// A packet leaves with its last bit.
    Serial(AnySerial),
    /// Packets leave at times that are the link's.
    Slotted(AnySlotted),
}

dispatch::delegate!(AnyLink: Shaped, Serial, Slotted);

/// Properties of every link.
pub trait LinkModel {
    /// Bytes that it adds to each packet.
    fn overhead_bytes(&self) -> u32;

    /// Bytes, overhead included, that could have been sent from the beginning of the run to `now`; from the beginning of its
    /// schedule where it has one that begins later.
    fn offered_bytes(&self, now: Time) -> u64;

    /// Constant rate; `None` for a rate that changes.
    fn rate(&self) -> Option<Rate> {
        None
    }

    /// The opportunities that it sends by, where they are known beforehand.
    fn opportunities(&self) -> Option<&TraceLink> {
        None
    }

    /// The light load in front of its queue, where it replays the heavy one of two.
    fn light(&self) -> Option<LightLoad> {
        None
    }

    /// Moves the beginning of its schedule, if it has one, to `begin`. The link is idle.
    fn begin_at(&mut self, begin: Time) {
        let _ = begin;
    }

    /// Moves its schedule, if it has one, to `place` as the run begins. The link is idle. A trace of opportunities has places of whole
    /// milliseconds.
    fn start_from(&mut self, place: Span) {
        let _ = place;
    }

    /// Length of one round of its schedule, if it has one.
    fn length(&self) -> Option<Span> {
        None
    }

    /// Whether it sends before all else that happens at the same time.
    fn runs_first(&self) -> bool {
        false
    }
}

/// A token bucket: a packet may leave from a time on, whatever its size, and then makes others wait.
pub trait Shaped: LinkModel {
    /// From when on a packet may leave; [`Time::NEVER`] where none ever may.
    fn eligible(&self) -> Time;

    /// A packet of `bytes` leaves at `now`, not before [`Shaped::eligible`].
    fn charge(&mut self, now: Time, bytes: u32);
}

/// A line: a packet is stored until its last bit is sent, and the next one starts then.
pub trait Serial: LinkModel {
    /// Starts a packet of `bytes` at `now`, when the one before is through; returns when its last bit is sent.
    fn begin(&mut self, now: Time, bytes: u32) -> Time;

    /// Has the rates of `other` from `now` on, as if it had had them from the beginning: both have the same until then. The packet
    /// in transmission goes on at the new rate. Returns when its last bit is sent, or the last one's was; `None` where that cannot be,
    /// and nothing changes.
    fn continue_as(&mut self, now: Time, other: &Self) -> Option<Time> {
        let _ = (now, other);
        None
    }
}

/// A link that sends at certain times, up to a number of bytes at a time: the remainder of a slot is for the next packet, and the
/// rest of a packet is carried by the next slot.
pub trait Slotted: LinkModel {
    /// Something has come to the idle link at `now`: its first slot, which is later.
    fn wake(&mut self, now: Time) -> Time;

    /// Bytes, overhead included, that a slot carries.
    fn slot_bytes(&self) -> u64;

    /// In its slot at `now` it has sent `sent` bytes, less than a slot carries only if there were no more. Returns the next slot;
    /// [`Time::NEVER`] where it is idle. `waiting` are the bytes that are left, with their overhead; 0 where it does not report
    /// them.
    fn sent(&mut self, now: Time, sent: u64, waiting: u64) -> Time;

    /// Whether the link needs the backlog after a slot, which costs time to count.
    fn reports(&self) -> bool {
        false
    }

    /// Whether its slots are told as capacity also while it ends what it has begun, because it is replaced.
    fn tells_while_leaving(&self) -> bool {
        false
    }
}

impl AnyLink {
    /// When the link has something to do, idle before, if a packet has come at `now`.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time) -> Time {
        match self {
            AnyLink::Shaped(link) => link.eligible().max(now),
            AnyLink::Serial(_) => now,
            AnyLink::Slotted(link) => link.wake(now),
        }
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
