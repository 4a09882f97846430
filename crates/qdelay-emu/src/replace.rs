//! Replacement of the parts of a two-way link while packets are on its path: by an emulator, and by any other owner of such a path.

use crate::device::Port;
use qdelay_core::Time;
use qdelay_path::stack::{Adjustment, DirectionAdjustment, PathNodes, Plan};
use qdelay_path::{BuildError, BuildProblem, LinkModel, NodeId, Observer, Path, PathError};

/// The parts that a replacement changed, by the port that the packets come from: [`Port::Outside`] is the downlink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The discipline of the queue.
    pub queue: [bool; 2],
    /// The link.
    pub link: [bool; 2],
    /// Loss, corruption, reordering or duplication, or a cut.
    pub impairment: [bool; 2],
    /// Delay or jitter.
    pub delay: [bool; 2],
    /// Whether packets are held in the queue.
    pub hold: [bool; 2],
}

impl Replaced {
    /// The parts that `adjustment` begins anew though they are the same: links, delays and losses, which may follow a trace.
    pub fn anew(adjustment: &Adjustment) -> Replaced {
        // By port: what comes from inside goes up.
        let given = |has: fn(&DirectionAdjustment) -> bool| [has(&adjustment.up), has(&adjustment.down)];
        Replaced {
            link: given(|change| change.link.is_some()),
            delay: given(|change| change.delay.is_some()),
            impairment: given(|change| change.loss.is_some()),
            ..Replaced::default()
        }
    }

    /// True if any part has changed.
    pub fn is_any(&self) -> bool {
        let Replaced { queue, link, impairment, delay, hold } = *self;
        [queue, link, impairment, delay, hold].into_iter().flatten().any(|changed| changed)
    }
}

/// The nodes of a path that a replacement may change, by the port that the packets come from.
#[derive(Clone, Copy, Debug)]
pub struct Replaceable {
    impairment: [NodeId; 2],
    delay: [NodeId; 2],
    link: [NodeId; 2],
    queue: [NodeId; 2],
}

impl From<&PathNodes> for Replaceable {
    fn from(nodes: &PathNodes) -> Replaceable {
        let PathNodes { impairment, delay, link, queue, .. } = *nodes;
        Replaceable { impairment, delay, link, queue }
    }
}

/// Replaces the parts of the plan `runs` that differ from `plan`, and those in `anew`, at `now`, which is not before the time of the path. No
/// packet is lost or reordered: see [`Path::replace_queue`] and its neighbours. The inner result is a fault of this program.
///
/// # Errors
/// An impairment that is not a probability, or a link with a light load in place of another; nothing has changed.
pub fn replace_parts(
    path: &mut Path,
    nodes: Replaceable,
    now: Time,
    runs: &mut Plan,
    plan: Plan,
    anew: Replaced,
    mut observer: &mut dyn Observer,
) -> Result<(Replaced, Result<(), PathError>), BuildError> {
    plan.check()?;
    for (name, new, old) in [("down-link", &plan.down, &runs.down), ("up-link", &plan.up, &runs.up)] {
        if new.link != old.link && (new.link.light().is_some() || old.link.light().is_some()) {
            return Err(BuildError::new(name, BuildProblem::LightFixed));
        }
    }
    let has_other_seed = plan.seed != runs.seed;
    path.set_seed(plan.seed);
    let before = std::mem::replace(runs, plan.clone());
    let (mut replaced, mut all) = (Replaced::default(), Ok(()));
    let mut note = |done: Result<(), PathError>| {
        if done.is_err() {
            all = done;
        }
    };
    // Down is declared first, and therefore replaced first.
    for (port, new, old) in [(Port::Outside, plan.down, before.down), (Port::Inside, plan.up, before.up)] {
        let index = port.index();
        replaced.queue[index] = has_other_seed || !new.has_queue_of(&old);
        replaced.link[index] = anew.link[index] || new.link != old.link;
        replaced.impairment[index] =
            has_other_seed || anew.impairment[index] || new.impairment != old.impairment;
        replaced.delay[index] = has_other_seed || anew.delay[index] || new.delay_spec() != old.delay_spec();
        replaced.hold[index] = new.is_held != old.is_held;
        let Replaceable { impairment, delay, link, queue } = nodes;
        let [impairment, delay, link, queue] = [impairment, delay, link, queue].map(|nodes| nodes[index]);
        // Behind the link first, so that a packet that leaves because of the change meets what the change has made of it.
        if replaced.impairment[index] {
            note(path.replace_impairment(now, impairment, new.impairment.clone(), &mut observer));
        }
        if replaced.delay[index] {
            note(path.replace_delay(now, delay, new.delay_spec(), &mut observer));
        }
        if replaced.link[index] {
            note(path.replace_link(now, link, new.link, &mut observer));
        }
        if replaced.queue[index] {
            note(path.replace_queue(now, queue, new.qdisc, &mut observer));
        }
        if replaced.hold[index] {
            note(path.hold_queue(now, queue, new.is_held, &mut observer));
        }
    }
    Ok((replaced, all))
}
