//! Helpers for the tests of the pacers.

use super::{AnyPacer, Eligible, OverBearer, Pacer, PacerSetting, Served, Signal, TddSlot};
use crate::{Span, Time};
use alloc::string::{String, ToString};
use core::ops::{Deref, DerefMut};

pub fn ms(ms: u64) -> Time {
    us(ms * 1000)
}

pub fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

/// The pacer `text` above a cell with a TTI of 1 ms and an MTU of 1500 bytes.
pub fn parse(text: &str) -> AnyPacer {
    AnyPacer::parse(text, &PacerSetting::default()).unwrap()
}

/// The error of parsing `text`.
pub fn refused(text: &str) -> String {
    AnyPacer::parse(text, &PacerSetting::default()).map(|_| ()).unwrap_err().to_string()
}

/// The report of a TTI that could have carried `capacity` bytes, carried `sent` and left `remaining`.
pub fn served(capacity: u64, sent: u64, remaining: u64) -> Signal {
    Signal::Served(Served {
        capacity_bytes: capacity,
        sent_bytes: sent,
        remaining_bytes: remaining,
        remaining_packets: remaining.div_ceil(1500),
        ..Served::default()
    })
}

/// The same report in a slot with time division duplex that carries `carries` of the carrier; the next slot
/// with downlink data carries `next_carries` and begins `next_us` later.
pub fn in_slot(signal: Signal, carries: u32, next_carries: u32, next_us: u64) -> Signal {
    let Signal::Served(served) = signal else { return signal };
    let next = Span::from_micros(next_us);
    Signal::Served(Served { tdd: Some(TddSlot { carries, next_carries, next }), ..served })
}

/// Asks the law twice: a query must not change the answer.
pub trait Asked {
    fn ask(&mut self, now: Time, size: u64) -> Eligible;
}

impl<P: Pacer> Asked for P {
    fn ask(&mut self, now: Time, size: u64) -> Eligible {
        let first = self.next_eligible(now, size);
        assert_eq!(self.next_eligible(now, size), first);
        first
    }
}

impl<L> Deref for OverBearer<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.law
    }
}

impl<L> DerefMut for OverBearer<L> {
    fn deref_mut(&mut self) -> &mut L {
        &mut self.law
    }
}
