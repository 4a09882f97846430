//! An impairment: random loss, corruption, reordering and duplication of packets that pass through.
//!
//! A packet is lost as it enters, or goes on at once. A packet that `corrupt` chooses is changed by the host, which carries its bytes
//! ([`Observer::corrupted`](crate::Observer::corrupted)); a host without bytes, such as the simulator, has it dropped here, with the
//! reason `corrupted`, because its receiver's checksum fails. A packet that `reorder` chooses stays for `reorder_delay` first, so that
//! packets that come meanwhile overtake it. Behind one that `duplicate` chooses a copy follows, which is the host's packet like any other:
//! see [`Observer::duplicated`](crate::Observer::duplicated). A copy is neither lost, nor reordered, nor copied here by itself; a copy of a
//! corrupted packet is corrupted. Each of the four is a [model](LossModel) with a stream of the node's own, so that one does not change the
//! draws of another. While the impairment is `cut`, every packet is dropped, with the reason `cut`, and nothing is drawn.
//!
//! Source: the impairments of Linux's netem (`loss`, `corrupt`, `reorder`, `duplicate`).
//!
//! Differences from the reference: netem delays all packets but those that it reorders, which overtake the others; here those that
//! are reordered are late, so that the delay of the others does not depend on it. In netem a packet may be copied and one of the
//! two lost; here what is lost is not copied.

mod loss;

pub(crate) use loss::Loss;
pub use loss::{LOSSES, LossModel, is_percentage};

use crate::NodeId;
use crate::schedule::Schedule;
use qdelay_core::{DropReason, Random, Span, Time};

/// The packet was corrupted; its receiver would drop it, because its checksum fails.
pub const CORRUPTED: DropReason = DropReason::new("corrupted");
/// The path was cut.
pub const CUT: DropReason = DropReason::new("cut");

/// The settings of an impairment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Loss model.
    pub loss: LossModel,
    /// Packets that are corrupted.
    pub corrupt: LossModel,
    /// Packets that stay for `reorder_delay`.
    pub reorder: LossModel,
    /// Time that a reordered packet stays.
    pub reorder_delay: Span,
    /// Packets that are followed by a copy.
    pub duplicate: LossModel,
    /// True while every packet is dropped.
    pub is_cut: bool,
}

impl ImpairmentSpec {
    /// Whether it does nothing to any packet.
    pub fn is_none(&self) -> bool {
        !self.is_cut
            && !self.loss.is_lossy()
            && !self.corrupt.is_lossy()
            && !self.reorders()
            && !self.duplicate.is_lossy()
    }
    /// Whether packets may overtake others.
    pub fn reorders(&self) -> bool {
        self.reorder.is_lossy() && !self.reorder_delay.is_zero()
    }
    /// Whether all of its numbers are probabilities.
    pub fn is_possible(&self) -> bool {
        [&self.loss, &self.corrupt, &self.reorder, &self.duplicate].into_iter().all(LossModel::is_possible)
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
    /// It is dropped.
    Dropped(DropReason),
    /// Something else than to go on at once, or to be lost.
    Changed(Change),
}

/// Changes to a packet that is not lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// When it goes on, and its copy.
    pub(crate) leave: Time,
    pub(crate) has_copy: bool,
    pub(crate) is_corrupt: bool,
}

/// The state of an impairment.
#[derive(Clone, Debug)]
pub(crate) struct Impairment {
    pub(crate) next: NodeId,
    seed: u64,
    is_cut: bool,
    /// True if nothing is drawn.
    is_clear: bool,
    reorder_delay: Span,
    loss: Loss,
    corrupt: Loss,
    reorder: Loss,
    duplicate: Loss,
    /// Packets that are late, and copies, in the order in which they leave.
    pub(crate) schedule: Schedule,
}

impl Impairment {
    pub(crate) fn new(spec: ImpairmentSpec, next: NodeId, seed: u64, name: &str) -> Impairment {
        let draws = |model: LossModel, purpose| {
            // A model that chooses no packet draws nothing.
            let model = if model.is_lossy() { model } else { LossModel::None };
            Loss::new(model, Random::derive(seed, name, purpose))
        };
        let reorder = if spec.reorders() { spec.reorder.clone() } else { LossModel::None };
        Impairment {
            next,
            seed,
            is_cut: spec.is_cut,
            is_clear: ImpairmentSpec { is_cut: false, ..spec.clone() }.is_none(),
            reorder_delay: spec.reorder_delay,
            loss: draws(spec.loss, "loss"),
            corrupt: draws(spec.corrupt, "corrupt"),
            reorder: draws(reorder, "reorder"),
            duplicate: draws(spec.duplicate, "duplicate"),
            schedule: Schedule::default(),
        }
    }

    /// Does `spec` with the packets that enter from now on. A model that differs, or has another seed, begins at the beginning of its stream.
    pub(crate) fn replace(&mut self, spec: ImpairmentSpec, seed: u64, name: &str) {
        let new = Impairment::new(spec, self.next, seed, name);
        let old = core::mem::replace(self, new);
        self.schedule = old.schedule;
        if old.seed == seed {
            self.loss.go_on_as(old.loss);
            self.corrupt.go_on_as(old.corrupt);
            self.reorder.go_on_as(old.reorder);
            self.duplicate.go_on_as(old.duplicate);
        }
    }

    /// Draws for a packet that enters.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time) -> Verdict {
        if self.is_cut {
            return Verdict::Dropped(CUT);
        }
        if self.is_clear { Verdict::Through } else { self.draw(now) }
    }

    #[inline(never)]
    fn draw(&mut self, now: Time) -> Verdict {
        let is_lost = self.loss.draw(now);
        let is_corrupt = self.corrupt.draw(now);
        let is_late = self.reorder.draw(now);
        let has_copy = self.duplicate.draw(now);
        if is_lost {
            return Verdict::Dropped(DropReason::LOSS);
        }
        let leave = if is_late { now + self.reorder_delay } else { now };
        match is_corrupt || is_late || has_copy {
            true => Verdict::Changed(Change { leave, has_copy, is_corrupt }),
            false => Verdict::Through,
        }
    }
}
