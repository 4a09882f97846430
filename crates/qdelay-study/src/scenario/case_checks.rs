//! Checks of a case for settings that contradict each other; no trace is read.

use super::case::Tables;
use super::case_scenario::{access_rate, second_share};
use super::cell_tables::Cell;
use super::declare::{BINS_MAX, FLOWS_MAX, Flow, Hop, Path, Settings};
use super::named::Named;
use super::queue_and_link::QueueAndLink;
use super::values::{Direction, Uplink};
use qdelay_config::{AnySetting, Fault};
use std::collections::BTreeMap;

impl Tables {
    /// Checks for settings that contradict each other, without reading a trace.
    ///
    /// # Errors
    /// The contradiction, at the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.cell {
            Some(cell) => {
                self.check_no_link()?;
                cell.check()?;
            }
            None => QueueAndLink::from(&self.path).check(Path::TABLE.name, self.path_line)?,
        }
        for hop in &self.hops {
            QueueAndLink::from(&hop.keys).check(Hop::TABLE.name, hop.line)?;
        }
        self.check_uplink()?;
        self.check_times()?;
        self.check_flows()
    }

    /// Settings of the cell that have little effect in this case; see [`Study::warnings`](super::Study::warnings).
    pub fn cell_warnings(&self) -> Vec<Fault> {
        self.cell.as_ref().map_or(Vec::new(), Cell::warnings)
    }

    /// Refuses keys of a link beside a cell.
    fn check_no_link(&self) -> Result<(), Fault> {
        let Path { link, trace, trace_format, repeat, qdisc, limit, .. } = &self.path;
        let of_link: [&dyn AnySetting; 6] = [link, trace, trace_format, repeat, qdisc, limit];
        match of_link.into_iter().find(|setting| setting.is_given()) {
            Some(setting) => {
                let message = "a cell is given; expected this key only without [cell]";
                Err(Fault::new(setting.line(), setting.key().path, message))
            }
            None => Ok(()),
        }
    }

    /// Refuses keys of a queue at an uplink that does not exist.
    fn check_uplink(&self) -> Result<(), Fault> {
        let Path { uplink, uplink_qdisc, uplink_limit, .. } = &self.path;
        if self.cell.as_ref().is_some_and(|cell| cell.uplink.is_some()) {
            let of_path: [&dyn AnySetting; 3] = [uplink, uplink_qdisc, uplink_limit];
            return match of_path.into_iter().find(|setting| setting.is_given()) {
                Some(setting) => {
                    let message =
                        "the cell has an uplink of its own; expected this key only without [cell.uplink]";
                    Err(Fault::new(setting.line(), setting.key().path, message))
                }
                None => Ok(()),
            };
        }
        if uplink_qdisc.is_given() && uplink.get() == Uplink::None {
            let message = "there is no uplink; expected path.uplink too, such as uplink = \"10mbit\"";
            return Err(uplink_qdisc.fault(message));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), Fault> {
        let (duration, warmup) = (self.run.duration.get(), self.run.warmup.get());
        if warmup >= duration {
            let message = format!(
                "{warmup} is not shorter than the duration of {duration}; expected a shorter warm-up"
            );
            return Err(self.run.warmup.fault(message));
        }
        if let Some(width) = self.series()
            && duration.as_nanos() / width.as_nanos().max(1) > BINS_MAX
        {
            let series = &self.run.series;
            let message = format!("'{}': more than {BINS_MAX} bins; expected wider ones", series.text());
            return Err(series.fault(message));
        }
        if self.series().is_none() && self.run.connections.get() {
            let message = "there are no series to add connections to; expected run.series too, such as series = \"20ms\"";
            return Err(self.run.connections.fault(message));
        }
        // A flow that may start after the end of the run could have no figures.
        for Named { keys, .. } in &self.flows {
            let (start, spread) = (keys.start.get(), keys.start_spread.get());
            let latest = start + spread;
            if latest >= duration {
                let key =
                    if spread.is_zero() || start >= duration { &keys.start } else { &keys.start_spread };
                let message =
                    format!("starts at up to {latest} in a run of {duration}; expected an earlier start");
                return Err(key.fault(message));
            }
            if keys.stop.get().is_some_and(|stop| stop <= latest) {
                let message = format!(
                    "{} is not later than the start at {latest}; expected a later stop",
                    keys.stop.text()
                );
                return Err(keys.stop.fault(message));
            }
        }
        Ok(())
    }

    /// Refuses keys of a flow that have no effect without another key.
    fn check_companions(&self) -> Result<(), Fault> {
        for Named { keys, .. } in &self.flows {
            if !keys.access_jitter.get().is_zero() && access_rate(keys).is_none() {
                let message =
                    "the flow has no access link; expected access_rate too, such as access_rate = \"10mbit\"";
                return Err(keys.access_jitter.fault(message));
            }
            if second_share(keys) > 0.0 && !keys.second_dscp.is_set() {
                let message = "the flow has no second codepoint; expected second_dscp too, such as second_dscp = \"be\"";
                return Err(keys.second_share.fault(message));
            }
        }
        Ok(())
    }

    /// Refuses uploads without an uplink; in a cell the uplink must be the cell's own.
    fn check_directions(&self) -> Result<(), Fault> {
        let mut uploads = self.flows.iter().filter(|flow| flow.keys.direction.get() == Direction::Up);
        let Some(Named { keys, .. }) = uploads.next() else { return Ok(()) };
        if let Some(cell) = &self.cell {
            let message = "the cell has no uplink of its own for an upload; expected a table [cell.uplink] too, or down";
            return if cell.uplink.is_some() { Ok(()) } else { Err(keys.direction.fault(message)) };
        }
        if self.path.uplink.get() == Uplink::None {
            let message = "there is no uplink for the data of an upload; expected path.uplink too, such as uplink = \"10mbit\"";
            return Err(keys.direction.fault(message));
        }
        Ok(())
    }

    /// Destinations of the flows of an entry: indices of UEs, and QFIs. Without a cell, a single destination that is not used.
    pub(super) fn destinations(&self, flow: &Named<Flow>) -> Result<Vec<(usize, u8)>, Fault> {
        const MESSAGE: &str = "there is no cell; expected this key only with [cell]";
        match &self.cell {
            Some(cell) => cell.destinations(flow),
            None if flow.keys.ue.is_set() => Err(flow.keys.ue.fault(MESSAGE)),
            None if flow.keys.qfi.is_set() => Err(flow.keys.qfi.fault(MESSAGE)),
            None => Ok(vec![(0, 1)]),
        }
    }

    fn check_flows(&self) -> Result<(), Fault> {
        self.check_companions()?;
        self.check_directions()?;
        self.check_sets()?;
        let mut counts: Vec<u64> = Vec::new();
        for flow in &self.flows {
            let destinations = self.destinations(flow)?.len() as u64;
            counts.push(flow.keys.count.get().saturating_mul(destinations));
        }
        let counts = || counts.iter().copied();
        let total = counts().fold(0, u64::saturating_add);
        if total > FLOWS_MAX {
            let message = format!("{total} flows are too many; expected at most {FLOWS_MAX} in all");
            return Err(Fault::new(self.flows.last().map_or(0, |flow| flow.line), "flow", message));
        }
        // Flows of an entry are named NAME-1, NAME-2..., so no other entry may have such a name.
        let names = || self.flows.iter();
        let several: BTreeMap<&str, u64> =
            names().zip(counts()).filter(|(_, n)| *n > 1).map(|(flow, n)| (flow.name.as_str(), n)).collect();
        for flow in names() {
            let Some((group, number)) = flow.name.rsplit_once('-') else { continue };
            if let (Some(count), Ok(number)) = (several.get(group), number.parse::<u64>())
                && (1..=*count).contains(&number)
            {
                let message = format!(
                    "'{}' is the name of one of the {count} flows of '{group}' too; expected another name",
                    flow.name
                );
                return Err(Fault::new(flow.line, "flow.name", message));
            }
        }
        Ok(())
    }
}
