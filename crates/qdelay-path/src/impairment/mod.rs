//! An impairment: random loss, reordering and duplication of packets that pass through.
//!
//! A packet is lost as it enters, or goes on at once. With probability `reorder` it stays for `reorder_delay` first, so that packets
//! that come meanwhile overtake it. With probability `duplicate` a copy follows right behind it, which is the host's packet like
//! any other: see [`Observer::duplicated`](crate::Observer::duplicated). A copy is neither lost, nor reordered, nor copied here by
//! itself. Each of the three draws from a stream of the node's own, so that one does not change the draws of another.
//!
//! Source: the impairments of Linux's netem (`loss`, `reorder`, `duplicate`).
//!
//! Differences from the reference: netem delays all packets but those that it reorders, which overtake the others; here those that
//! are reordered are late, so that the delay of the others does not depend on it. In netem a packet may be copied and one of the
//! two lost; here what is lost is not copied.

mod loss;

pub(crate) use loss::Loss;
pub use loss::{LOSSES, LossModel, is_percentage};

use crate::NodeId;
use crate::schedule::Schedule;
use qdelay_core::{Random, Span, Time};

/// The settings of an impairment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Loss model.
    pub loss: LossModel,
    /// Probability, 0 to 1, with which a packet stays for `reorder_delay`.
    pub reorder: f64,
    /// Time that a reordered packet stays.
    pub reorder_delay: Span,
    /// Probability, 0 to 1, with which a packet is followed by a copy.
    pub duplicate: f64,
}

impl ImpairmentSpec {
    /// Whether it does nothing to any packet.
    pub fn is_none(&self) -> bool {
        !self.loss.is_lossy() && !self.reorders() && self.duplicate <= 0.0
    }
    /// Whether packets may overtake others.
    pub fn reorders(&self) -> bool {
        self.reorder > 0.0 && !self.reorder_delay.is_zero()
    }
    /// Whether all of its numbers are probabilities.
    pub fn is_possible(&self) -> bool {
        let is_one = |probability| (0.0..=1.0).contains(&probability);
        self.loss.is_possible() && is_one(self.reorder) && is_one(self.duplicate)
    }
}

/// The impairments of a path in both directions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Behind the bottleneck.
    pub down: ImpairmentSpec,
    /// Behind the uplink, or where it would be.
    pub up: ImpairmentSpec,
}

impl Impairments {
    /// Whether they do nothing to any packet.
    pub fn is_none(&self) -> bool {
        self.down.is_none() && self.up.is_none()
    }
}

/// Fate of an entering packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on at once.
    Through,
    /// It is lost.
    Lost,
    /// It, and its copy if there is to be one, goes on at a time.
    Held { leave: Time, has_copy: bool },
}

/// The state of an impairment.
#[derive(Clone, Debug)]
pub(crate) struct Impairment {
    pub(crate) next: NodeId,
    /// Settings, without the loss model, which is moved to `loss`.
    spec: ImpairmentSpec,
    loss: Loss,
    reorder: Random,
    duplicate: Random,
    /// Packets that are late, and copies, in the order in which they leave.
    pub(crate) schedule: Schedule,
}

impl Impairment {
    pub(crate) fn new(mut spec: ImpairmentSpec, next: NodeId, seed: u64, name: &str) -> Impairment {
        Impairment {
            next,
            loss: Loss::new(core::mem::take(&mut spec.loss), Random::derive(seed, name, "loss")),
            spec,
            reorder: Random::derive(seed, name, "reorder"),
            duplicate: Random::derive(seed, name, "duplicate"),
            schedule: Schedule::default(),
        }
    }

    /// Draws for a packet that enters.
    pub(crate) fn enter(&mut self, now: Time) -> Verdict {
        let is_lost = self.loss.draw(now);
        let is_late = self.spec.reorders() && self.reorder.unit() < self.spec.reorder;
        let has_copy = self.spec.duplicate > 0.0 && self.duplicate.unit() < self.spec.duplicate;
        match (is_lost, is_late) {
            (true, _) => Verdict::Lost,
            (false, true) => Verdict::Held { leave: now + self.spec.reorder_delay, has_copy },
            (false, false) if has_copy => Verdict::Held { leave: now, has_copy },
            (false, false) => Verdict::Through,
        }
    }
}
