//! Comparison with programs that replay recordings around real programs: LeoReplayer on its example pair of files, and CellReplay on a
//! recording of two loads.

mod recording;

use super::reference::{CELLREPLAY, LEO, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each};
use qdelay_core::Span;
use qdelay_sim::Outcome;
use qdelay_study::engine::Named;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use std::path::Path;

/// Starts of our flows for each scenario. LeoReplayer's: 860 to 956 ms; the first data of its flow reached its client 918 to 978 ms after its own start,
/// some 40 ms after the SYN. CellReplay's recording begins with the first packet.
const STARTS: u64 = 9;
const START_STEP: Span = Span::from_millis(12);

/// A program, and what it was run on.
struct Replayer {
    name: &'static str,
    table: &'static str,
    /// Scenarios by name.
    studies: &'static [(&'static str, &'static str)],
}

const LEO_REPLAYER: Replayer = Replayer {
    name: "leo",
    table: LEO,
    studies: &[("echo", include_str!("leo/echo.toml")), ("cubic", include_str!("leo/cubic.toml"))],
};
/// Files of its example pair, below the folder of traces.
const FILES: [&str; 2] = ["leo/bw_example.txt", "leo/delay_example.txt"];

const CELL_REPLAY: Replayer = Replayer {
    name: "cellreplay",
    table: CELLREPLAY,
    studies: &[
        ("echo", include_str!("cellreplay/echo.toml")),
        ("bursts", include_str!("cellreplay/bursts.toml")),
        ("cubic", include_str!("cellreplay/cubic.toml")),
    ],
};

/// LeoReplayer's rows, with the pair of files found below `folder`.
///
/// # Errors
/// A file of the pair that cannot be used.
pub fn leo(folder: Option<&Path>) -> Result<Vec<Row>, Failure> {
    let found = folder.filter(|folder| FILES.iter().all(|file| folder.join(file).is_file()));
    let missing = format!(
        "the pair of files is not available; expected {} and {} below --traces DIR or QDELAY_TRACES",
        FILES[0], FILES[1]
    );
    rows(&LEO_REPLAYER, found.map(|folder| Library::new().folder(folder)).as_ref(), &missing)
}

/// CellReplay's rows, on our own recording.
///
/// # Errors
/// The recording cannot be used.
pub fn cellreplay() -> Result<Vec<Row>, Failure> {
    let library = Library::new()
        .with_contents("heavy", recording::heavy().into_bytes())
        .with_contents("light", recording::light().into_bytes())
        .with_contents("light-up", recording::light_up().into_bytes());
    rows(&CELL_REPLAY, Some(&library), "")
}

/// Writes CellReplay's recording into `folder`, for a run of the program itself.
///
/// # Errors
/// A file cannot be written.
pub fn write_recording(folder: &Path) -> Result<(), Failure> {
    let (heavy, light, up) = (recording::heavy(), recording::light(), recording::light_up());
    for (name, text) in [("heavy", heavy), ("light", light), ("light-up", up)] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::input(path.display(), error))?;
    }
    Ok(())
}

/// Rows of the table that belong to a scenario, and its cases, with the recordings of `library`.
fn rows(replayer: &Replayer, library: Option<&Library>, missing: &str) -> Result<Vec<Row>, Failure> {
    let table = Table::parse(replayer.table);
    let mut rows = Vec::new();
    for (name, text) in replayer.studies {
        let cells: Vec<Cell> = (0..table.len())
            .filter(|&row| table.text(row, "scenario") == *name)
            .map(|row| Cell::read(replayer.name, &table, row))
            .collect();
        rows.push(match library {
            Some(library) => row(cases(replayer, name, text, library)?, cells),
            None => skipped(cells, missing),
        });
    }
    Ok(rows)
}

/// The scenario's case, once for each start.
fn cases(replayer: &Replayer, name: &str, text: &str, library: &Library) -> Result<Vec<Named>, Failure> {
    let study = Study::parse(name, text, &Overrides::default())?;
    let case = study.case(0, library)?;
    let at = |start: u64| {
        let mut scenario = case.scenario.clone();
        scenario.flows.iter_mut().for_each(|flow| flow.start += START_STEP * start);
        Named { name: format!("{}, {name}, start {start}", replayer.name), scenario }
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
fn skipped(cells: Vec<Cell>, why: &str) -> Row {
    let why = why.to_string();
    let skip = move |_: &[&Outcome]| {
        cells.into_iter().map(|cell| ReferenceCell::skipped(cell.name, why.clone())).collect::<Vec<_>>()
    };
    Row { cases: Vec::new(), judge: Box::new(skip) }
}

/// Row of the table: a figure of a flow.
struct Cell {
    replayer: &'static str,
    name: String,
    flow: &'static str,
    figure: &'static str,
    /// Minimum and maximum over the program's runs.
    references: [f64; 2],
    relative: f64,
    absolute: f64,
}

impl Cell {
    fn read(replayer: &'static str, table: &Table, row: usize) -> Cell {
        let [scenario, flow, figure] = ["scenario", "flow", "measure"].map(|column| table.text(row, column));
        let [low, high, relative, absolute] =
            ["low", "high", "relative", "absolute"].map(|column| table.number(row, column));
        let name = format!("{scenario}, {flow}: {figure}");
        Cell { replayer, name, flow, figure, references: [low, high], relative, absolute }
    }

    fn judge(&self, outcomes: &[&Outcome]) -> ReferenceCell {
        let ours = each(outcomes, |outcome| self.figure_of(outcome).unwrap_or(f64::NAN));
        let measure = Measure::new("figure", &self.references, &ours, self.relative, self.absolute);
        ReferenceCell::judge(self.replayer, self.name.clone(), vec![measure])
    }

    fn figure_of(&self, outcome: &Outcome) -> Option<f64> {
        let flow = outcome.groups.get(self.flow)?;
        match self.figure {
            "goodput_mbps" => Some(flow.goodput_mbps),
            "delay_mean_ms" => Some(flow.one_way_delay_ms.mean),
            "rtt_p50_ms" => flow.round_trip_ms.as_ref().map(|round_trip| round_trip.p50),
            "rtt_p95_ms" => flow.round_trip_ms.as_ref().map(|round_trip| round_trip.p95),
            _ => None,
        }
    }
}
