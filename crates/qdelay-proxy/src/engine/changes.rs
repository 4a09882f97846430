//! Changes to the path while it carries packets, and connections that are ended from outside.

use super::{Engine, Key};
use qdelay_core::Time;
use qdelay_emu::metrics::Metrics;
use qdelay_emu::replace::{Replaceable, Replaced, replace_parts};
use qdelay_path::stack::{Adjustment, Plan, StackError};

impl Engine {
    /// Counts packets by class from now on, for samples.
    ///
    /// # Errors
    /// The path cannot be built, as in [`Engine::new`].
    pub fn count_classes(&mut self) -> Result<(), StackError> {
        self.meter.metrics = Some(Box::new(Metrics::new(&self.plan)?));
        Ok(())
    }

    /// The counts by class, where they are kept.
    pub fn metrics(&self) -> Option<&Metrics> {
        self.meter.metrics.as_deref()
    }

    /// Replaces the parts of the path that differ from `plan` at `now`, after all events that are due by then; returns which, and the time.
    /// No packet is lost or reordered.
    ///
    /// # Errors
    /// The part that cannot be replaced, and why; nothing has changed.
    pub fn replace(&mut self, now: Time, plan: Plan) -> Result<(Time, Replaced), String> {
        self.replace_plan(now, plan, Replaced::default())
    }

    fn replace_plan(&mut self, now: Time, plan: Plan, anew: Replaced) -> Result<(Time, Replaced), String> {
        let now = self.advance(now);
        let nodes = Replaceable::from(&self.meter.nodes);
        let (replaced, done) =
            replace_parts(&mut self.path, nodes, now, &mut self.plan, plan, anew, &mut self.meter)
                .map_err(|error| error.to_string())?;
        self.note(done);
        // Packets that have left the path because of the change arrive now.
        self.advance(now);
        Ok((now, replaced))
    }

    /// Applies `adjustment` as [`Engine::replace`] does, begins the links, delays and losses in it anew, and returns the time.
    ///
    /// # Errors
    /// The errors of [`Engine::replace`].
    pub fn adjust(&mut self, now: Time, adjustment: &Adjustment) -> Result<Time, String> {
        let mut plan = self.plan.clone();
        adjustment.apply(&mut plan);
        self.replace_plan(now, plan, Replaced::anew(adjustment)).map(|(time, _)| time)
    }

    /// Ends a connection whose sockets the host has reset; returns whether it was open. Its packets on the path use the link, and are
    /// ignored at their arrival.
    pub fn abort(&mut self, key: Key) -> bool {
        let is_open = self.find(key).is_some();
        if is_open {
            self.counts.resets += 1;
            self.remove(key);
        }
        is_open
    }
}
