//! Comparison with LeoReplayer: its example pair of a trace of capacity and a trace of delays.

use super::reference::{LEO, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each};
use qdelay_core::Span;
use qdelay_sim::Outcome;
use qdelay_study::engine::Named;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use std::path::Path;

/// Scenarios by name: the echo alone, and beside a flow.
const STUDIES: [(&str, &str); 2] =
    [("echo", include_str!("echo.toml")), ("cubic", include_str!("cubic.toml"))];
/// Files of the pair, below the folder of traces.
const FILES: [&str; 2] = ["leo/bw_example.txt", "leo/delay_example.txt"];
/// Starts of our flows, 860 to 956 ms. The first data of LeoReplayer's flow reached its client 918 to 978 ms after its own start, some 40 ms
/// after the SYN.
const STARTS: u64 = 9;
const START_STEP: Span = Span::from_millis(12);

/// Rows of the table that belong to a scenario, and its cases, with the pair of files found below `folder`.
///
/// # Errors
/// A file of the pair that cannot be used.
pub fn rows(folder: Option<&Path>) -> Result<Vec<Row>, Failure> {
    let table = Table::parse(LEO);
    let found = folder.filter(|folder| FILES.iter().all(|file| folder.join(file).is_file()));
    let mut rows = Vec::new();
    for (name, text) in STUDIES {
        let cells: Vec<Cell> = (0..table.len())
            .filter(|&row| table.text(row, "scenario") == name)
            .map(|row| Cell::read(&table, row))
            .collect();
        rows.push(match found {
            Some(folder) => row(cases(name, text, folder)?, cells),
            None => skipped(cells),
        });
    }
    Ok(rows)
}

/// The scenario's case, once for each start.
fn cases(name: &str, text: &str, folder: &Path) -> Result<Vec<Named>, Failure> {
    let study = Study::parse(name, text, &Overrides::default())?;
    let case = study.case(0, &Library::new().folder(folder))?;
    let at = |start: u64| {
        let mut scenario = case.scenario.clone();
        scenario.flows.iter_mut().for_each(|flow| flow.start += START_STEP * start);
        Named { name: format!("leo, {name}, start {start}"), scenario }
    };
    Ok((0..STARTS).map(at).collect())
}

/// Cases and the cells that they decide.
fn row(cases: Vec<Named>, cells: Vec<Cell>) -> Row {
    let judge =
        move |outcomes: &[&Outcome]| cells.iter().map(|cell| cell.judge(outcomes)).collect::<Vec<_>>();
    Row { cases, judge: Box::new(judge) }
}

/// Cells without their files.
fn skipped(cells: Vec<Cell>) -> Row {
    let why = format!(
        "the pair of files is not available; expected {} and {} below --traces DIR or QDELAY_TRACES",
        FILES[0], FILES[1]
    );
    let skip = move |_: &[&Outcome]| {
        cells.into_iter().map(|cell| ReferenceCell::skipped(cell.name, why.clone())).collect::<Vec<_>>()
    };
    Row { cases: Vec::new(), judge: Box::new(skip) }
}

/// Row of the table: a figure of a flow.
struct Cell {
    name: String,
    flow: &'static str,
    figure: &'static str,
    /// Minimum and maximum over LeoReplayer's runs.
    references: [f64; 2],
    relative: f64,
    absolute: f64,
}

impl Cell {
    fn read(table: &Table, row: usize) -> Cell {
        let [scenario, flow, figure] = ["scenario", "flow", "measure"].map(|column| table.text(row, column));
        let [low, high, relative, absolute] =
            ["low", "high", "relative", "absolute"].map(|column| table.number(row, column));
        let name = format!("{scenario}, {flow}: {figure}");
        Cell { name, flow, figure, references: [low, high], relative, absolute }
    }

    fn judge(&self, outcomes: &[&Outcome]) -> ReferenceCell {
        let ours = each(outcomes, |outcome| self.figure_of(outcome).unwrap_or(f64::NAN));
        let measure = Measure::new("figure", &self.references, &ours, self.relative, self.absolute);
        ReferenceCell::judge("leo", self.name.clone(), vec![measure])
    }

    fn figure_of(&self, outcome: &Outcome) -> Option<f64> {
        let flow = outcome.groups.get(self.flow)?;
        match self.figure {
            "goodput_mbps" => Some(flow.goodput_mbps),
            "rtt_p50_ms" => flow.round_trip_ms.as_ref().map(|round_trip| round_trip.p50),
            "rtt_p95_ms" => flow.round_trip_ms.as_ref().map(|round_trip| round_trip.p95),
            _ => None,
        }
    }
}
