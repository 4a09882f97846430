//! The slices of a cell, and the bearers of each slice.

use super::cell_tables::{Bearer, Cell, Ue};
use super::declare;
use super::matrix_keys::listed;
use super::named::Named;
use super::values::{Percent, Share};
use qdelay_config::{AnySetting, Fault, fault};
use qdelay_ran::cell::{CellSlice, Partition};
use qdelay_ran::slice::{self, Ratios, SliceError};
use qdelay_ran::{CellError, CellSetting};

/// The policy ratios of a slice.
fn ratios_of(slice: &Named<declare::Slice>) -> [&dyn AnySetting; 3] {
    let keys = &slice.keys;
    [&keys.dedicated, &keys.min, &keys.max]
}

/// The policy ratios of a slice; the fault is that of the key which is out of order.
fn ratios(slice: &Named<declare::Slice>) -> Result<Ratios, Fault> {
    let (keys, usual) = (&slice.keys, Ratios::default());
    let millionths = |Percent(part): Percent| (part * 1e6).round() as u32;
    let dedicated = keys.dedicated.get().map_or(usual.dedicated(), millionths);
    let min = keys.min.get().map_or(usual.min(), millionths);
    let max = keys.max.get().map_or(usual.max(), |Share(share)| share.millionths());
    let percent = |millionths: u32| f64::from(millionths) / 10_000.0;
    if dedicated > min {
        let message = format!(
            "{}% is above the minimum, {}%; expected at most min, which includes the dedicated resource blocks",
            percent(dedicated),
            percent(min)
        );
        return Err(keys.dedicated.fault(message));
    }
    if min > max {
        let message =
            format!("{}% is above the maximum, {}%; expected at most max", percent(min), percent(max));
        return Err(keys.min.fault(message));
    }
    Ratios::from_millionths(dedicated, min, max).map_err(|error| keys.max.fault(error))
}

impl Cell {
    /// Rule that partitions the resource blocks; `None` without slices.
    fn partition(&self) -> Result<Option<Partition>, Fault> {
        let Some(partition) = self.keys.partition.value().as_option() else { return Ok(None) };
        Partition::build(&partition.0).map(Some).map_err(|error| self.keys.partition.fault(error))
    }

    /// Index of the slice that the bearer names, or else its UE.
    fn slice_of(&self, ue: &Ue, bearer: &Bearer) -> Result<Option<usize>, Fault> {
        let named = bearer.keys.slice.or(&ue.keys.slice);
        if !named.is_set() {
            return Ok(None);
        }
        let names: Vec<&str> = self.slices.iter().map(|slice| slice.name.as_str()).collect();
        if let Some(place) = names.iter().position(|name| *name == named.text()) {
            return Ok(Some(place));
        }
        if names.is_empty() {
            return Err(named.fault("there are no slices; expected a [[cell.slice]] for each slice"));
        }
        let hint = fault::suggestion(named.text(), names.iter().copied());
        let message = format!("unknown slice '{}'; expected one of {}{hint}", named.text(), listed(&names));
        Err(named.fault(message))
    }

    /// Checks for settings of slices that contradict each other.
    ///
    /// # Errors
    /// The contradiction, at the line of one of the settings.
    pub fn check_slices(&self) -> Result<(), Fault> {
        let (setting, partition) = (&self.keys.partition, self.partition()?);
        if let (Some(slice), false) = (self.slices.first(), setting.is_given()) {
            let message =
                "there is no partition; expected cell.partition = \"fp\", \"eqp\" or \"rrm\", or \"none\"";
            return Err(Fault::new(slice.line, "cell.slice", message));
        }
        if partition.is_some() && self.slices.is_empty() {
            return Err(setting.fault("there are no slices; expected a [[cell.slice]] for each slice"));
        }
        match partition {
            Some(partition) if partition.by_ratios() => self.check_ratios()?,
            Some(_) => self.check_shares()?,
            // Without a partition slices have no effect, whatever they have agreed on.
            None => {}
        }
        let mut has_bearer = vec![false; self.slices.len()];
        for ue in &self.ues {
            for bearer in &ue.bearers {
                match self.slice_of(ue, bearer)? {
                    Some(slice) => has_bearer[slice] = true,
                    None if partition.is_some() => {
                        let message = format!(
                            "bearer '{}' of UE '{}' has no slice; expected slice with the name of one",
                            bearer.name, ue.name
                        );
                        return Err(Fault::new(bearer.line, "cell.ue.bearer.slice", message));
                    }
                    None => {}
                }
            }
        }
        match self.slices.iter().zip(has_bearer).find(|(_, has_bearer)| !has_bearer) {
            Some((slice, _)) if partition.is_some() => {
                let message = format!(
                    "slice '{}' has no bearer; expected slice = \"{}\" in at least one bearer or UE",
                    slice.name, slice.name
                );
                Err(Fault::new(slice.line, "cell.slice", message))
            }
            _ => Ok(()),
        }
    }

    /// Checks the shares of a partition without policy ratios.
    fn check_shares(&self) -> Result<(), Fault> {
        let mut total = 0;
        for slice in &self.slices {
            if let Some(ratio) = ratios_of(slice).into_iter().find(|ratio| ratio.is_given()) {
                let message = format!(
                    "the partition is {}, which has shares; expected share in place of dedicated, min and max, or cell.partition = \"rrm\"",
                    self.keys.partition.text()
                );
                return Err(Fault::new(ratio.line(), ratio.key().path, message));
            }
            let Some(Share(part)) = slice.keys.share.get() else {
                let message = "is missing; expected percent in quotes, such as \"25%\"";
                return Err(Fault::new(slice.line, "cell.slice.share", message));
            };
            total += u64::from(part.millionths());
        }
        // The sum is in whole millionths, so that rounding cannot exceed 100%.
        match total > u64::from(slice::Share::ALL.millionths()) {
            true => Err(self.too_much(&SliceError::Shares { millionths: total }, |slice| &slice.keys.share)),
            false => Ok(()),
        }
    }

    /// Checks the policy ratios.
    fn check_ratios(&self) -> Result<(), Fault> {
        let mut total = 0;
        for slice in &self.slices {
            if slice.keys.share.is_given() {
                let message = "the partition is rrm, which has no shares; expected dedicated, min and max in place of share, or cell.partition = \"fp\" or \"eqp\"";
                return Err(slice.keys.share.fault(message));
            }
            total += u64::from(ratios(slice)?.min());
        }
        match total > u64::from(slice::Share::ALL.millionths()) {
            true => Err(self.too_much(&SliceError::Minima { millionths: total }, |slice| &slice.keys.min)),
            false => Ok(()),
        }
    }

    /// The fault of parts that are too large together, with the part of each slice.
    fn too_much<'a>(
        &'a self,
        error: &SliceError,
        part: impl Fn(&'a Named<declare::Slice>) -> &'a dyn AnySetting,
    ) -> Fault {
        let given =
            || self.slices.iter().map(|slice| (slice, part(slice))).filter(|(_, part)| part.has_value());
        let all: Vec<String> =
            given().map(|(slice, part)| format!("{} {}", slice.name, part.text())).collect();
        let message = format!("{error} ({})", all.join(", "));
        given().last().map_or_else(
            || Fault::new(0, "cell.slice", &message),
            |(slice, part)| {
                let line = if part.line() == 0 { slice.line } else { part.line() };
                Fault::new(line, part.key().path, &message)
            },
        )
    }

    /// Adds the partition and the slices to `setting`.
    ///
    /// # Errors
    /// Errors of [`Cell::check_slices`].
    pub fn divide(&self, setting: CellSetting) -> Result<CellSetting, Fault> {
        let Some(partition) = self.partition()? else { return Ok(setting) };
        self.check_slices()?;
        let mut bearers: Vec<Vec<usize>> = vec![Vec::new(); self.slices.len()];
        let mut next = 0;
        for ue in &self.ues {
            for _ in 0..ue.keys.count.get() {
                for bearer in &ue.bearers {
                    if let Some(of) = self.slice_of(ue, bearer)?.and_then(|slice| bearers.get_mut(slice)) {
                        of.push(next);
                    }
                    next += 1;
                }
            }
        }
        let mut setting = setting.partition(partition);
        for (slice, bearers) in self.slices.iter().zip(bearers) {
            let scheduler = slice.keys.scheduler.value().as_ref().map(|scheduler| scheduler.0.clone());
            let agreed = match partition.by_ratios() {
                true => ratios(slice)?.into(),
                false => slice.keys.share.get().map_or(slice::Share::ALL, |Share(share)| share).into(),
            };
            setting = setting.with_slice(CellSlice { name: slice.name.clone(), agreed, scheduler, bearers });
        }
        Ok(setting)
    }

    /// Converts an error about slices to the fault of the partition.
    pub fn blame_slices(&self, error: &CellError) -> Fault {
        let line = match (self.keys.partition.line(), self.slices.first()) {
            (0, Some(slice)) => slice.line,
            (line, _) => line,
        };
        Fault { line, ..self.keys.partition.fault(error) }
    }

    /// Converts an error about a share to the fault of its slice.
    pub fn blame_share(&self, slice: usize, error: &CellError) -> Fault {
        let Some(slice) = self.slices.get(slice) else { return self.blame_slices(error) };
        let fault = slice.keys.share.fault(error);
        if fault.line > 0 { fault } else { Fault { line: slice.line, ..fault } }
    }

    /// Converts an error about a policy ratio to the fault of its key.
    pub fn blame_ratio(&self, slice: usize, key: &str, error: &CellError) -> Fault {
        let Some(slice) = self.slices.get(slice) else { return self.blame_slices(error) };
        let of_key = ratios_of(slice).into_iter().find(|ratio| ratio.key().name() == key && ratio.is_given());
        match of_key {
            Some(ratio) => Fault::new(ratio.line(), ratio.key().path, error),
            // A maximum of all resource blocks is less than a group: the window is at fault.
            None => self.blame_slices(error),
        }
    }

    /// Converts an error about the scheduler of slices to the fault of a slice's scheduler, or of the cell's.
    pub fn blame_scheduler(&self, error: &CellError) -> Fault {
        let mut of_slices = self.slices.iter().map(|slice| &slice.keys.scheduler);
        match of_slices.find(|scheduler| scheduler.text().starts_with("eqp")) {
            Some(scheduler) => scheduler.fault(error),
            None => self.keys.scheduler.fault(error),
        }
    }
}
