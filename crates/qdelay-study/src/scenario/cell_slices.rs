//! The slices of the cell of one case: what they are, and which bearers are of which.

use super::cell_case::{BearerView, CellView, UeView, effective};
use super::fault::{self, Fault};
use super::matrix::listed;
use super::setting::{Meaning, Setting};
use qdelay_ran::cell::{CellSlice, Partition};
use qdelay_ran::mac::Scheduler;
use qdelay_ran::slice::{Share, SliceError};
use qdelay_ran::{CellError, CellSetting};

impl<'a> CellView<'a> {
    /// The law of the partition; `None` for none.
    fn partition(&self) -> Result<Option<Partition>, Fault> {
        let Meaning::Component(arguments) = &self.cell.get("partition").meaning else { return Ok(None) };
        Partition::build(arguments).map(Some).map_err(|error| self.cell.fault("partition", error))
    }

    /// The slice that a bearer names, or its UE for it.
    fn slice_of(&self, ue: &UeView<'a>, bearer: &BearerView<'a>) -> Result<Option<usize>, Fault> {
        let (level, named) = effective(&[&bearer.settings, &ue.settings], "slice");
        if !named.is_set() {
            return Ok(None);
        }
        let names: Vec<&str> = self.slices.iter().map(|(slice, _)| slice.name.as_str()).collect();
        if let Some(place) = names.iter().position(|name| *name == named.text) {
            return Ok(Some(place));
        }
        if names.is_empty() {
            return Err(level.fault("slice", "there are no slices; expected [[cell.slice]] for each"));
        }
        let near = fault::near(&named.text, names.iter().copied());
        let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let message = format!("'{}' is no slice; expected one of {}{hint}", named.text, listed(&names));
        Err(level.fault("slice", message))
    }

    /// What the settings of slices say against each other.
    ///
    /// # Errors
    /// The contradiction, in the line of one of the settings.
    pub fn check_slices(&self) -> Result<(), Fault> {
        let (setting, partition) = (self.cell.get("partition"), self.partition()?);
        if let (Some((slice, _)), false) = (self.slices.first(), setting.given) {
            let message = "there is no partition; expected cell.partition = \"fp\" or \"eqp\", or \"none\"";
            return Err(Fault::new(slice.line, "cell.slice", message));
        }
        if partition.is_some() && self.slices.is_empty() {
            return Err(self
                .cell
                .fault("partition", "there are no slices; expected [[cell.slice]] for each"));
        }
        let mut total = 0;
        for (slice, settings) in &self.slices {
            let share = settings.get("share");
            let Some(part) = share.share() else {
                let message = "is missing; expected percent in quotes, such as \"25%\"";
                return Err(Fault::new(slice.line, "cell.slice.share", message));
            };
            total += u64::from(part.millionths());
        }
        if total > u64::from(Share::ALL.millionths()) {
            let all: Vec<String> = self
                .slices
                .iter()
                .map(|(slice, set)| format!("{} {}", slice.name, set.get("share").text))
                .collect();
            let message = format!("{} ({})", SliceError::Shares { millionths: total }, all.join(", "));
            let last = self.slices.last().map_or(0, |(slice, set)| match set.get("share").line {
                0 => slice.line,
                line => line,
            });
            return Err(Fault::new(last, "cell.slice.share", message));
        }
        let mut has_bearer = vec![false; self.slices.len()];
        for ue in &self.ues {
            for bearer in &ue.bearers {
                match self.slice_of(ue, bearer)? {
                    Some(slice) => has_bearer[slice] = true,
                    None if partition.is_some() => {
                        let message = format!(
                            "bearer '{}' of UE '{}' is in no slice; expected slice with the name of one",
                            bearer.bearer.name, ue.ue.name
                        );
                        return Err(Fault::new(bearer.bearer.line, "cell.ue.bearer.slice", message));
                    }
                    None => {}
                }
            }
        }
        match self.slices.iter().zip(has_bearer).find(|(_, has_bearer)| !has_bearer) {
            Some(((slice, _), _)) if partition.is_some() => {
                let message = format!(
                    "'{}' has no bearer; expected slice = \"{}\" of at least one",
                    slice.name, slice.name
                );
                Err(Fault::new(slice.line, "cell.slice", message))
            }
            _ => Ok(()),
        }
    }

    /// `setting` with the slices.
    ///
    /// # Errors
    /// As [`CellView::check_slices`].
    pub fn divide(&self, setting: CellSetting) -> Result<CellSetting, Fault> {
        let Some(partition) = self.partition()? else { return Ok(setting) };
        self.check_slices()?;
        let mut bearers: Vec<Vec<usize>> = vec![Vec::new(); self.slices.len()];
        let mut next = 0;
        for ue in &self.ues {
            for _ in 0..ue.settings.get("count").whole() {
                for bearer in &ue.bearers {
                    if let Some(of) = self.slice_of(ue, bearer)?.and_then(|slice| bearers.get_mut(slice)) {
                        of.push(next);
                    }
                    next += 1;
                }
            }
        }
        let mut setting = setting.partition(partition);
        for ((slice, settings), bearers) in self.slices.iter().zip(bearers) {
            let scheduler = match &settings.get("scheduler").meaning {
                Meaning::Component(arguments) => {
                    Some(Scheduler::build(arguments).map_err(|error| settings.fault("scheduler", error))?)
                }
                _ => None,
            };
            let share = settings.get("share").share().unwrap_or(Share::ALL);
            setting = setting.with_slice(CellSlice { name: slice.name.clone(), share, scheduler, bearers });
        }
        Ok(setting)
    }

    /// What the cell finds fault with in slices, as the fault of a key.
    pub fn blame_slices(&self, error: &CellError) -> Fault {
        let setting: &Setting = self.cell.get("partition");
        let line = match (setting.line, self.slices.first()) {
            (0, Some((slice, _))) => slice.line,
            (line, _) => line,
        };
        Fault::new(line, "cell.partition", error)
    }

    /// A share as the fault of its slice.
    pub fn blame_share(&self, slice: usize, error: &CellError) -> Fault {
        let Some((slice, settings)) = self.slices.get(slice) else { return self.blame_slices(error) };
        let share = settings.get("share");
        Fault::new(if share.line > 0 { share.line } else { slice.line }, "cell.slice.share", error)
    }

    /// A scheduler that slices cannot have: theirs, or that of the cell.
    pub fn blame_scheduler(&self, error: &CellError) -> Fault {
        let mut of_slices = self.slices.iter().map(|(_, settings)| settings.get("scheduler"));
        match of_slices.find(|scheduler| scheduler.text.starts_with("eqp")) {
            Some(scheduler) => Fault::new(scheduler.line, "cell.slice.scheduler", error),
            None => self.cell.fault("scheduler", error),
        }
    }
}
