//! A delay: each packet leaves a fixed time after its arrival, in the order of arrival.
//!
//! Parameters: `span`; `jitter`, added to it uniformly between nothing and this much, drawn for each packet, while no packet
//! overtakes another (one that drew less waits for the one before); `loss`, the probability that a packet is lost as
//! it enters, independently of the others. Both draw from streams of the node's own.

use crate::NodeId;
use crate::schedule::Schedule;
use qdelay_core::{Packet, Random, Span, Time};

/// The settings of a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySpec {
    /// The delay of each packet.
    pub span: Span,
    /// At most this much more, uniformly; zero for none.
    pub jitter: Span,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
}

impl DelaySpec {
    /// A constant delay without jitter or loss.
    pub const fn constant(span: Span) -> DelaySpec {
        DelaySpec { span, jitter: Span::ZERO, loss: 0.0 }
    }

    /// Whether the loss is a probability.
    pub fn is_possible(&self) -> bool {
        (0.0..=1.0).contains(&self.loss)
    }
}

/// The fate of an entering packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It goes on at once.
    Through,
    /// It waits, and it is the first to.
    First(Time),
    /// It waits behind others.
    Behind,
    /// It is lost.
    Lost,
}

/// The state of a delay.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    pub(crate) next: NodeId,
    spec: DelaySpec,
    pub(crate) schedule: Schedule,
    jitter: Random,
    loss: Random,
}

impl Delay {
    pub(crate) fn new(spec: DelaySpec, next: NodeId, seed: u64, name: &str) -> Delay {
        Delay {
            next,
            spec,
            schedule: Schedule::default(),
            jitter: Random::derive(seed, name, "jitter"),
            loss: Random::derive(seed, name, "loss"),
        }
    }

    /// Does `spec` with the packets that enter from now on, and draws from the beginning of the streams of `seed`.
    pub(crate) fn replace(&mut self, spec: DelaySpec, seed: u64, name: &str) {
        let fresh = Delay::new(spec, self.next, seed, name);
        (self.spec, self.jitter, self.loss) = (fresh.spec, fresh.jitter, fresh.loss);
    }

    #[inline]
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Entry {
        if self.spec.loss > 0.0 && self.draw_loss() {
            return Entry::Lost;
        }
        let mut leave = now + self.spec.span;
        if !self.spec.jitter.is_zero() {
            leave += self.draw_jitter();
        }
        let before = self.schedule.last();
        if before.is_none() && leave == now {
            return Entry::Through;
        }
        let leave = leave.max(before.unwrap_or(Time::ZERO));
        debug_assert!(leave >= now, "a packet leaves before it comes");
        self.schedule.push(leave, packet);
        if before.is_none() { Entry::First(leave) } else { Entry::Behind }
    }

    /// Whether a packet is lost. Not inlined, as few delays draw.
    #[inline(never)]
    fn draw_loss(&mut self) -> bool {
        self.loss.unit() < self.spec.loss
    }

    #[inline(never)]
    fn draw_jitter(&mut self) -> Span {
        Span::from_nanos(self.jitter.below(self.spec.jitter.as_nanos().saturating_add(1)))
    }
}
