//! Gates: laws that decide when a packet may go from one queue to the next.
//!
//! A gate holds no packet. It is asked when the head of its queue may go, is told what went and what nodes downstream
//! signal back, and answers with a time or waits for the next signal. Nothing polls it.

mod credit;

use crate::{Signal, Signals};
pub use credit::Credit;
use qdelay_core::Time;

/// When a packet may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eligible {
    /// At once.
    Now,
    /// Not before this time. The law is asked again then, or earlier.
    At(Time),
    /// Not before another signal has come.
    OnSignal,
}

/// The law of a gate.
pub trait GateLaw {
    /// When the packet at the head, of `size_bytes` IP bytes, may go. Asked any number of times for the same packet: when
    /// it arrives, when a signal has come, when the time answered before is there. A discipline may drop the head as it
    /// is taken and send another, so [`GateLaw::forwarded`] counts, not the size asked for here.
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible;
    /// A packet of `bytes` IP bytes went through.
    fn forwarded(&mut self, now: Time, bytes: u64);
    /// A signal has arrived. The gate asks for the head again right after.
    fn on_signal(&mut self, now: Time, signal: Signal);
    /// Which signals the law listens for.
    fn listens(&self) -> Signals;
}

/// Lets everything through at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassThrough;

impl GateLaw for PassThrough {
    #[inline]
    fn next_eligible(&mut self, _: Time, _: u64) -> Eligible {
        Eligible::Now
    }
    #[inline]
    fn forwarded(&mut self, _: Time, _: u64) {}
    #[inline]
    fn on_signal(&mut self, _: Time, _: Signal) {}
    fn listens(&self) -> Signals {
        Signals::NONE
    }
}

/// Any of the gates.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyGate {
    /// Lets everything through at once.
    PassThrough(PassThrough),
    /// A fixed window of bytes, returned by signals.
    Credit(Credit),
}

impl AnyGate {
    /// The gate that lets everything through.
    pub const PASS_THROUGH: AnyGate = AnyGate::PassThrough(PassThrough);
}

impl From<Credit> for AnyGate {
    fn from(law: Credit) -> AnyGate {
        AnyGate::Credit(law)
    }
}

impl GateLaw for AnyGate {
    #[inline]
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        match self {
            AnyGate::PassThrough(law) => law.next_eligible(now, size_bytes),
            AnyGate::Credit(law) => law.next_eligible(now, size_bytes),
        }
    }
    #[inline]
    fn forwarded(&mut self, now: Time, bytes: u64) {
        match self {
            AnyGate::PassThrough(law) => law.forwarded(now, bytes),
            AnyGate::Credit(law) => law.forwarded(now, bytes),
        }
    }
    #[inline]
    fn on_signal(&mut self, now: Time, signal: Signal) {
        match self {
            AnyGate::PassThrough(law) => law.on_signal(now, signal),
            AnyGate::Credit(law) => law.on_signal(now, signal),
        }
    }
    fn listens(&self) -> Signals {
        match self {
            AnyGate::PassThrough(law) => law.listens(),
            AnyGate::Credit(law) => law.listens(),
        }
    }
}
