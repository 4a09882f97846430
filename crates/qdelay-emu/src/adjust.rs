//! Changes to the path of a scenario while it runs. Those to a link of two directions are made by [`Emulator::adjust`].

use crate::device::Port;
use crate::emulator::{Emulator, Replaced, Tap};
use crate::plan_kind::PlanKind;
use qdelay_core::Time;
use qdelay_path::stack::{Adjustment, DirectionAdjustment};
use qdelay_path::{BuildProblem, LinkModel};
use qdelay_record::Recorder;

impl<R: Recorder, T: Tap> Emulator<R, T> {
    /// [`Emulator::adjust`] on the path of a scenario. Links, disciplines and holds are those of the bottleneck and of the uplink.
    pub(crate) fn adjust_dumbbell(&mut self, now: Time, adjustment: &Adjustment) -> Result<Replaced, String> {
        let mut replaced = Replaced::default();
        let changes = [(Port::Outside, &adjustment.down), (Port::Inside, &adjustment.up)];
        for (port, change) in changes {
            self.check_direction(port, change)?;
        }
        for (port, change) in changes {
            self.adjust_direction(now, port, change, &mut replaced)?;
        }
        Ok(replaced)
    }

    /// Checks that the path has the parts that `change` changes.
    fn check_direction(&self, port: Port, change: &DirectionAdjustment) -> Result<(), String> {
        let nodes = self.nodes();
        let [impairment, delay, link, queue] =
            [&nodes.impairment, &nodes.delay, &nodes.link, &nodes.queue].map(|nodes| nodes[port.index()]);
        let changes_queue = change.link.is_some() || change.qdisc.is_some() || change.is_held.is_some();
        let has_queue = queue != link && nodes.queues(self.path(), port).count() == 1;
        if changes_queue && !has_queue {
            return Err("link, qdisc and pause: this direction has no queue and link of its own, or those of a cell; \
                        expected other keys, or a scenario with a link"
                .to_string());
        }
        if change.changes_impairment() && !self.path().is_impairment(impairment) {
            return Err("loss, corrupt, reorder, duplicate and cut: this direction has no link; expected the other direction, \
                        or a scenario with an uplink"
                .to_string());
        }
        if change.link.as_ref().is_some_and(|new| new.light().is_some() || self.path().is_behind_light(link))
        {
            return Err(BuildProblem::LightFixed.to_string());
        }
        if (change.delay.is_some() || change.jitter.is_some()) && !self.path().is_delay(delay) {
            return Err(
                "delay, jitter: the flows of this scenario have delays of their own; expected other keys"
                    .to_string(),
            );
        }
        Ok(())
    }

    fn adjust_direction(
        &mut self,
        now: Time,
        port: Port,
        change: &DirectionAdjustment,
        replaced: &mut Replaced,
    ) -> Result<(), String> {
        let index = port.index();
        let PlanKind::Dumbbell(plan) = &self.plan else { return Ok(()) };
        let (mut delay, mut impairment) = plan.behind(port);
        change.apply_to_delay(&mut delay);
        change.apply_to_impairment(&mut impairment);
        if !impairment.is_possible() {
            return Err("a probability is out of range; expected 0 to 1".to_string());
        }
        let nodes = self.nodes();
        let [impairment_at, delay_at, link_at, queue_at] =
            [&nodes.impairment, &nodes.delay, &nodes.link, &nodes.queue].map(|nodes| nodes[index]);
        // Behind the link first, so that a packet that leaves because of the change meets what the change has made of it.
        if change.changes_impairment() {
            self.change(now, |path, now, observer| {
                path.replace_impairment(now, impairment_at, impairment.clone(), observer)
            })?;
            replaced.impairment[index] = true;
        }
        if change.delay.is_some() || change.jitter.is_some() {
            self.change(now, |path, now, observer| {
                path.replace_delay(now, delay_at, delay.clone(), observer)
            })?;
            replaced.delay[index] = true;
        }
        if let Some(link) = &change.link {
            self.change(now, |path, now, observer| path.replace_link(now, link_at, link.clone(), observer))?;
            self.link_replaced(now, port, link);
            replaced.link[index] = true;
        }
        if let Some(qdisc) = &change.qdisc {
            self.change(now, |path, now, observer| {
                path.replace_queue(now, queue_at, qdisc.clone(), observer)
            })?;
            replaced.queue[index] = true;
        }
        if let Some(is_held) = change.is_held {
            self.change(now, |path, now, observer| path.hold_queue(now, queue_at, is_held, observer))?;
            replaced.hold[index] = true;
        }
        self.keep_behind(port, delay, impairment);
        Ok(())
    }
}
