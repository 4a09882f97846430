//! The cases of a study: index, labels, id, and the case itself.

use super::case::{Case, Tables};
use super::sources::Sources;
use super::study::Study;
use crate::InputError;
use crate::traces::Library;
use qdelay_config::Fault;
use qdelay_core::Span;
use std::collections::BTreeMap;

/// Longest part of an id that is made of labels, in bytes.
const SLUG_MAX: usize = 60;

impl Study {
    /// Index of the first case with these labels, given as axis and label; `None` if an axis or a label does not exist.
    pub fn index_of(&self, labels: &[(&str, &str)]) -> Option<u64> {
        let is_axis = |(name, _): &(&str, &str)| self.axes.iter().any(|axis| axis.name == *name);
        if !labels.iter().all(is_axis) {
            return None;
        }
        self.axes.iter().try_fold(0, |index, axis| {
            let wanted = labels.iter().find(|(name, _)| *name == axis.name);
            let is_wanted = |label: &String| wanted.is_none_or(|(_, wanted)| label == wanted);
            Some(index * axis.labels.len() as u64 + axis.labels.iter().position(is_wanted)? as u64)
        })
    }

    /// Builds the case with this index; the seed changes fastest.
    ///
    /// # Errors
    /// The case does not exist, a trace cannot be found or read, or settings contradict each other.
    pub fn case(&self, index: u64, library: &Library) -> Result<Case, InputError> {
        if index >= self.cases {
            let message = format!("no case {index}; expected 0 to {}", self.cases - 1);
            return Err(InputError::new(&self.place, message));
        }
        self.build(index, library).map_err(|fault| fault.in_file(&self.place))
    }

    /// Id of the case with this index, which must be below [`Study::case_count`]; reads no trace.
    pub fn case_id(&self, index: u64) -> String {
        self.id(index, &self.labels(index))
    }

    pub(super) fn sources<'a>(&'a self, library: &'a Library, seed: u64, duration: Span) -> Sources<'a> {
        Sources {
            library,
            fallback: &self.fallback,
            used: BTreeMap::new(),
            random: self.has_random_starts().then_some((seed, duration)),
            places: BTreeMap::new(),
        }
    }

    /// Builds the case with this index, with `seed` in place of its own seed.
    ///
    /// # Errors
    /// Errors of [`Study::case`].
    pub fn case_with_seed(&self, index: u64, seed: u64, library: &Library) -> Result<Case, InputError> {
        if index >= self.cases {
            return self.case(index, library);
        }
        self.build_with(index, Some(seed), library).map_err(|fault| fault.in_file(&self.place))
    }

    fn build(&self, index: u64, library: &Library) -> Result<Case, Fault> {
        self.build_with(index, None, library)
    }

    fn build_with(&self, index: u64, seed: Option<u64>, library: &Library) -> Result<Case, Fault> {
        let digits = self.digits(index);
        let (seed_digit, digits) = digits.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        let seed = seed.unwrap_or(self.seeds[seed_digit]);
        let tables = self.tables_at(digits);
        tables.check()?;
        let mut sources = self.sources(library, seed, tables.duration());
        let scenario = tables.scenario(seed, &mut sources)?;
        let labels = self.labels(index);
        Ok(Case {
            index,
            id: self.id(index, &labels),
            labels,
            settings: tables.settings(seed, sources.random.map(|_| &sources.places)),
            traces: sources.used,
            scenario,
            packets: tables.packets(),
        })
    }

    /// The tables at `digits`, the index of the point on each axis except `seed`.
    pub(super) fn tables_at(&self, digits: &[usize]) -> Tables {
        let points = self.dimensions.iter().zip(digits).flat_map(|(axis, digit)| &axis.points[*digit]);
        self.tables.with(points)
    }

    /// Index of the point on each axis, with the seed last.
    fn digits(&self, index: u64) -> Vec<usize> {
        let mut rest = index;
        let mut digits: Vec<usize> = Vec::new();
        for axis in self.axes.iter().rev() {
            let count = axis.labels.len() as u64;
            // The remainder is below the number of labels, which is a usize.
            digits.push((rest % count) as usize);
            rest /= count;
        }
        digits.reverse();
        digits
    }

    /// Label on each axis.
    fn labels(&self, index: u64) -> Vec<String> {
        self.axes.iter().zip(self.digits(index)).map(|(axis, digit)| axis.labels[digit].clone()).collect()
    }

    fn id(&self, index: u64, labels: &[String]) -> String {
        let width = (self.cases - 1).to_string().len();
        let varied = self.axes.iter().zip(labels).filter(|(axis, _)| axis.labels.len() > 1);
        let words: Vec<&str> = varied.map(|(_, label)| label.as_str()).collect();
        let slug = slug(&words.join("-"));
        let joint = if slug.is_empty() { "" } else { "-" };
        format!("{index:0width$}{joint}{slug}")
    }
}

/// Converts a label to lowercase letters and digits, with single dashes for everything else.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_MAX {
            break;
        }
    }
    slug.trim_end_matches('-').to_string()
}
