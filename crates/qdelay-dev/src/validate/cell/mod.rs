//! `qdelay-dev validate cell`: kernel TCP and a game through a cell in real time, compared with the simulator and the 5G QoS
//! thesis.
//!
//! The emulator runs the two scenarios of the thesis' section 3.6.2 on the pedestrian's channel, as `qdelay run --clock
//! real` does. Several cases may run at once: the MAC takes packets every 10 ms, so an emulator is idle most of the time. A run that
//! cannot be trusted is repeated after all others. Runs are kept in a folder, and an interrupted command continues from there.
//!
//! | file | contents |
//! | --- | --- |
//! | `cases` | the cases, and their criteria |
//! | `store` | a stored run |
//! | `judge`, `print` | bounds and order; the table and JSON |

mod cases;
mod figures;
mod judge;
mod print;
mod store;

use crate::validate::attempts;
use crate::validate::options::Validate;
use cases::Row;
use figures::CaseFigures;
use judge::CaseReport;
use qdelay_real::RealTime;
use qdelay_study::engine::{Named, outcomes};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use std::path::PathBuf;

const COMMAND: &str = "validate cell";
/// Duration of each case in seconds: the capacity file has 200 values, one for each second.
const SECONDS: u64 = 200;
/// Number of repetitions of a run that cannot be trusted.
const RETRIES: u32 = 1;

/// Runs the command.
///
/// # Errors
/// No trace, no permission, a program that cannot be run; a case that misses its bounds or cannot be judged.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let traces: Vec<PathBuf> = options.traces.iter().cloned().collect();
    let library = Library::for_scenario(None, &traces);
    let seconds = options.seconds.unwrap_or(SECONDS);
    let rows = cases::rows(&library, seconds, &options.only)?;
    qdelay_terminal::output::report_substitutes(&library);
    let store = attempts::open(options, COMMAND, "validate-cell", "case")?;
    let subjects: Vec<_> = rows.iter().map(|row| Some(store::subject(row))).collect();
    let jobs = options.jobs.unwrap_or(1);
    let real = RealTime::with_jobs(!options.no_realtime, jobs);
    let rounds = (jobs, options.retries.unwrap_or(RETRIES));
    let attempts = attempts::real_runs(COMMAND, &real, rounds, &subjects, &store)?;
    let simulated = simulate(&rows)?;
    let report = CaseReport::new(seconds, jobs, store.folder(), &rows, &attempts, &simulated);
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    report.check()
}

/// Simulated figures of each case.
fn simulate(rows: &[Row]) -> Result<Vec<CaseFigures>, Failure> {
    let case = |row: &Row| Named { name: row.name.clone(), scenario: row.case.scenario.clone() };
    let cases: Vec<Named> = rows.iter().map(case).collect();
    let outcomes = outcomes("validate cell, simulated", &cases, None, &Bar::default())?;
    Ok(outcomes.iter().map(CaseFigures::from_outcome).collect())
}
