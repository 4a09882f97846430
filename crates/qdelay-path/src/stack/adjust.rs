//! Changes to a path while it runs: the parts that a user names, in either direction, and no others.

use super::{Direction, Plan};
use crate::{AnyLink, Curve, DelaySpec, ImpairmentSpec, Jitter, LossModel};
use alloc::boxed::Box;
use qdelay_core::Span;
use qdelay_core::qdisc::AnyQdisc;

/// Changes to one direction; `None` leaves a part as it is.
#[derive(Clone, Debug, Default)]
pub struct DirectionAdjustment {
    /// The link.
    pub link: Option<AnyLink>,
    /// The discipline of the queue.
    pub qdisc: Option<AnyQdisc>,
    /// The delay, and a delay over time in addition to it.
    pub delay: Option<(Span, Option<Box<Curve>>)>,
    /// The random part of the delay.
    pub jitter: Option<Jitter>,
    /// Packets that are lost.
    pub loss: Option<LossModel>,
    /// Packets that are corrupted.
    pub corrupt: Option<LossModel>,
    /// Packets that are held back.
    pub reorder: Option<LossModel>,
    /// Time for which they are held back.
    pub reorder_delay: Option<Span>,
    /// Packets that are followed by a copy.
    pub duplicate: Option<LossModel>,
    /// Whether every packet is dropped behind the link.
    pub is_cut: Option<bool>,
    /// Whether packets wait in the queue, whatever the link has to offer.
    pub is_held: Option<bool>,
}

/// Changes to both directions.
#[derive(Clone, Debug, Default)]
pub struct Adjustment {
    /// The direction from outside to inside.
    pub down: DirectionAdjustment,
    /// The direction from inside to outside.
    pub up: DirectionAdjustment,
}

/// Every part of `direction`.
impl From<&Direction> for DirectionAdjustment {
    fn from(direction: &Direction) -> DirectionAdjustment {
        let Direction { qdisc, link, delay, curve, jitter, impairment, is_held } = direction.clone();
        DirectionAdjustment {
            link: Some(link),
            qdisc: Some(qdisc),
            delay: Some((delay, curve)),
            jitter: Some(jitter),
            loss: Some(impairment.loss),
            corrupt: Some(impairment.corrupt),
            reorder: Some(impairment.reorder),
            reorder_delay: Some(impairment.reorder_delay),
            duplicate: Some(impairment.duplicate),
            is_cut: Some(impairment.is_cut),
            is_held: Some(is_held),
        }
    }
}

impl Adjustment {
    /// Changes `plan`.
    pub fn apply(&self, plan: &mut Plan) {
        self.down.apply(&mut plan.down);
        self.up.apply(&mut plan.up);
    }
}

/// Copies `new` over `old` where it is given.
fn set<T: Clone>(old: &mut T, new: &Option<T>) {
    if let Some(new) = new {
        old.clone_from(new);
    }
}

impl DirectionAdjustment {
    fn apply(&self, direction: &mut Direction) {
        set(&mut direction.link, &self.link);
        set(&mut direction.qdisc, &self.qdisc);
        if let Some((delay, curve)) = &self.delay {
            (direction.delay, direction.curve) = (*delay, curve.clone());
        }
        set(&mut direction.jitter, &self.jitter);
        set(&mut direction.is_held, &self.is_held);
        self.apply_to_impairment(&mut direction.impairment);
    }

    /// Whether a part of the impairment is changed.
    pub fn changes_impairment(&self) -> bool {
        let models = [&self.loss, &self.corrupt, &self.reorder, &self.duplicate];
        models.into_iter().any(Option::is_some) || self.reorder_delay.is_some() || self.is_cut.is_some()
    }

    /// Changes an impairment.
    pub fn apply_to_impairment(&self, spec: &mut ImpairmentSpec) {
        set(&mut spec.loss, &self.loss);
        set(&mut spec.corrupt, &self.corrupt);
        set(&mut spec.reorder, &self.reorder);
        set(&mut spec.reorder_delay, &self.reorder_delay);
        set(&mut spec.duplicate, &self.duplicate);
        set(&mut spec.is_cut, &self.is_cut);
    }

    /// Changes a delay.
    pub fn apply_to_delay(&self, spec: &mut DelaySpec) {
        if let Some((delay, curve)) = &self.delay {
            (spec.span, spec.curve) = (*delay, curve.clone());
        }
        set(&mut spec.jitter, &self.jitter);
    }
}
