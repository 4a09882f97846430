//! Comparison of our results with a reference: criteria for a match, and printing.

use super::reference::{EXPLAINED, Table};
use qdelay_terminal::text_table::{Column, table};
use serde::Serialize;

/// Result of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// Name of the result, with its unit last.
    pub measure: &'static str,
    /// Minimum of the reference over its seeds.
    pub reference_low: f64,
    /// Maximum of the reference over its seeds.
    pub reference_high: f64,
    /// Our result, the mean over our seeds.
    pub value: f64,
    /// Minimum of our results.
    pub value_low: f64,
    /// Maximum of our results.
    pub value_high: f64,
    /// Smallest value that still matches.
    pub low: f64,
    /// Largest value that still matches.
    pub high: f64,
}

impl Measure {
    /// Compares `ours` with `references`; it matches within `relative` of the reference or `absolute`, whichever is wider,
    /// counted from the nearer end of the reference's band.
    pub fn new(
        measure: &'static str,
        references: &[f64],
        ours: &[f64],
        relative: f64,
        absolute: f64,
    ) -> Measure {
        let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |figures: &[f64]| figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (reference_low, reference_high) = (least(references), most(references));
        let low = reference_low - (reference_low * relative).max(absolute);
        let high = reference_high + (reference_high * relative).max(absolute);
        let mean = ours.iter().sum::<f64>() / ours.len() as f64;
        let (value_low, value_high) = (least(ours), most(ours));
        Measure { measure, reference_low, reference_high, value: mean, value_low, value_high, low, high }
    }

    /// Compares the mean of `ours` with the mean of `references`; it matches within `bound`.
    pub fn around(measure: &'static str, references: &[f64], ours: &[f64], bound: f64) -> Measure {
        let mean = references.iter().sum::<f64>() / references.len() as f64;
        Measure { low: mean - bound, high: mean + bound, ..Measure::new(measure, references, ours, 0.0, 0.0) }
    }

    /// Moves the bounds for a result known to be larger by `shift`.
    #[must_use]
    pub fn shifted(self, shift: f64) -> Measure {
        Measure { low: self.low + shift, high: self.high + shift, ..self }
    }

    /// Our result is within the bounds.
    pub fn matches(&self) -> bool {
        (self.low..=self.high).contains(&self.value)
    }
}

/// Verdict on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceVerdict {
    /// Every measure is within its bounds.
    Match,
    /// Some measures are outside their bounds, each for a known reason.
    Explained,
    /// Some measures are outside their bounds, without a known reason.
    Miss,
    /// The cell could not be run.
    Skipped,
}

/// Cell of a reference.
#[derive(Clone, Debug, Serialize)]
pub struct ReferenceCell {
    /// Name of the cell.
    pub cell: String,
    /// Results of the cell.
    pub measures: Vec<Measure>,
    /// Verdict on the cell.
    pub verdict: ReferenceVerdict,
    /// Reason of the verdict, unless it is a match.
    pub cause: Option<String>,
}

impl ReferenceCell {
    /// Judges the results of a cell.
    pub fn judge(reference: &str, cell: String, measures: Vec<Measure>) -> ReferenceCell {
        let explained = Table::parse(EXPLAINED);
        let cause = |measure: &str| {
            (0..explained.len())
                .find(|&row| {
                    explained.text(row, "reference") == reference
                        && explained.text(row, "cell") == cell
                        && explained.text(row, "measure") == measure
                })
                .map(|row| explained.text(row, "cause"))
        };
        let outside: Vec<&Measure> = measures.iter().filter(|measure| !measure.matches()).collect();
        let causes: Vec<&str> = outside.iter().filter_map(|measure| cause(measure.measure)).collect();
        let verdict = match (outside.len(), causes.len()) {
            (0, _) => ReferenceVerdict::Match,
            (outside, causes) if outside == causes => ReferenceVerdict::Explained,
            _ => ReferenceVerdict::Miss,
        };
        let cause = causes.first().map(|cause| (*cause).to_string());
        ReferenceCell { cell, measures, verdict, cause }
    }

    /// Cell that could not be run, with the reason.
    pub fn skipped(cell: String, why: String) -> ReferenceCell {
        ReferenceCell { cell, measures: Vec::new(), verdict: ReferenceVerdict::Skipped, cause: Some(why) }
    }
}

/// Number of cells with this verdict.
pub fn count(cells: &[ReferenceCell], verdict: ReferenceVerdict) -> usize {
    cells.iter().filter(|cell| cell.verdict == verdict).count()
}

/// Table of the cells: a row per cell, `ours / reference` per measure, `!` behind results outside their bounds.
pub fn print_table(title: &str, cells: &[ReferenceCell]) -> String {
    let mut columns = vec![Column::left("cell")];
    let names = cells.iter().find(|cell| !cell.measures.is_empty());
    columns
        .extend(names.iter().flat_map(|cell| &cell.measures).map(|measure| Column::right(measure.measure)));
    columns.push(Column::left("verdict"));
    let width = columns.len() - 2;
    let rows = cells
        .iter()
        .map(|cell| {
            let mut row = vec![cell.cell.clone()];
            row.extend(cell.measures.iter().map(figures));
            row.resize(width + 1, String::new());
            row.push(format!("{:?}", cell.verdict).to_lowercase());
            row
        })
        .collect();
    let mut text = format!(
        "{title}\nEach figure: the mean of our runs (and their range, where they differ much) / reference.\n\n{}\n",
        table(&columns, rows)
    );
    for cell in cells {
        if let Some(cause) = &cell.cause {
            text += &format!("\n{}: {cause}", cell.cell);
        }
    }
    text + "\n" + &counts(cells)
}

/// Line with the number of cells of each verdict.
pub fn counts(cells: &[ReferenceCell]) -> String {
    format!(
        "{} of {} cells match, {} explained, {} miss, {} skipped.\n",
        count(cells, ReferenceVerdict::Match),
        cells.len(),
        count(cells, ReferenceVerdict::Explained),
        count(cells, ReferenceVerdict::Miss),
        count(cells, ReferenceVerdict::Skipped),
    )
}

fn figures(measure: &Measure) -> String {
    let mark = if measure.matches() { "" } else { " !" };
    let reference = if measure.reference_low == measure.reference_high {
        digits(measure.reference_low)
    } else {
        format!("{}..{}", digits(measure.reference_low), digits(measure.reference_high))
    };
    // A single mean would hide that the runs of a cell diverged.
    let spread = measure.value_high - measure.value_low;
    let ours = if spread > WIDE_SPREAD * measure.value && measure.value > 1.5 {
        format!("{} ({}..{})", digits(measure.value), digits(measure.value_low), digits(measure.value_high))
    } else {
        digits(measure.value)
    };
    format!("{ours} / {reference}{mark}")
}

/// Runs of a cell that differ by more than this share of their mean are shown as a range too.
const WIDE_SPREAD: f64 = 0.3;

fn digits(x: f64) -> String {
    match x.abs() {
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_from_the_nearer_end() {
        let measure = Measure::new("x", &[10.0, 12.0], &[14.0, 14.6], 0.2, 1.0);
        assert_eq!((measure.low, measure.high), (8.0, 14.4));
        assert!(measure.matches());
        assert!(!Measure { value: 14.5, ..measure }.matches());
    }

    #[test]
    fn what_is_outside_without_a_cause_is_a_miss() {
        let cell = |ours| {
            ReferenceCell::judge("none", "c".into(), vec![Measure::new("x", &[1.0], &[ours], 0.1, 0.0)])
        };
        assert_eq!(cell(1.05).verdict, ReferenceVerdict::Match);
        assert_eq!(cell(1.2).verdict, ReferenceVerdict::Miss);
    }
}
