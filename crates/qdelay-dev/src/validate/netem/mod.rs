//! `qdelay-dev validate netem`: impairments and jitter with `variant=netem` beside the kernel's netem in the laboratory (`qdelay-lab`).
//!
//! In the machine, numbered frames go from one end of a pair of interfaces to the other, through `tc qdisc ... netem`. Ours go through the
//! path's impairment and delay. Both sides have the same figures: shares, lengths of runs, quantiles of delays. The kernel's are stored
//! (`tests/reference/netem.tsv`), so the comparison needs no laboratory; `--measure` runs the machines.
//!
//! | file | contents |
//! | --- | --- |
//! | `cells` | netem's words beside ours |
//! | `figures` | figures of the packets that arrived |
//! | `guest` | the part that runs in the machine |
//! | `measure` | the kernel's figures, stored or measured |
//! | `ours` | our figures |
//! | `judge` | bounds |

mod cells;
mod figures;
mod guest;
mod judge;
mod measure;
mod ours;

use super::options::Validate;
use super::verdict::{self, ReferenceCell, ReferenceVerdict};
use cells::{Cell, Group};
use figures::{CONTROL_MEDIAN, Figures};
use measure::Kernel;
use qdelay_study::engine::{EngineError, on_threads};
use qdelay_study::results::SCHEMA_VERSION;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use serde_json::json;
use std::fmt::Write;
use std::thread;

const COMMAND: &str = "validate netem";

/// Runs the command.
///
/// # Errors
/// No laboratory where the kernel is measured, or a cell outside its bounds.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let failed = |error| Failure::input(COMMAND, error);
    if options.in_machine {
        return guest::run().map_err(failed);
    }
    let cells = cells::chosen(&options.only);
    if cells.len() == 1 && !options.only.is_empty() {
        return Err(Failure::input(
            "--only",
            "no cell has all of these words; expected words of netem, as in loss,25%",
        ));
    }
    let kernel = if options.measure { Kernel::measured(options, &cells)? } else { Kernel::stored(&cells) };
    let jobs = options.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let control = cells.iter().find(|cell| cell.group == Group::Control);
    let control = control.map_or(&[][..], |cell| kernel.figures(cell));
    let judged: Vec<&Cell> = cells.iter().filter(|cell| cell.group != Group::Control).collect();
    let found = compare(&kernel, control, &judged, jobs)?;
    let text = if options.json {
        let value = json!({"schema_version": SCHEMA_VERSION, "against": kernel.about, "cells": found});
        format!("{value:#}\n")
    } else {
        print(&kernel.about, control, &judged, &found)
    };
    output::print(&text)?;
    match verdict::count(&found, ReferenceVerdict::Miss) {
        0 => Ok(()),
        misses => Err(Failure::Check(format!("cells that miss their bounds: {misses}; expected none"))),
    }
}

/// Verdicts on the cells; `control` are the figures of the control cell.
fn compare(
    kernel: &Kernel,
    control: &[Figures],
    cells: &[&Cell],
    jobs: usize,
) -> Result<Vec<ReferenceCell>, EngineError> {
    let median = |figures: &Figures| figures.get(CONTROL_MEDIAN).copied();
    let control_us: Vec<f64> = control.iter().filter_map(median).collect();
    let one = |place: u64| -> Result<ReferenceCell, EngineError> {
        let cell = cells[place as usize];
        let ours = ours::measure(cell).map_err(EngineError::Audit)?;
        Ok(judge::judge(cell, kernel.figures(cell), &ours, &control_us))
    };
    let mut found = on_threads(0..cells.len() as u64, jobs, one)?;
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, cell)| cell).collect())
}

/// Timing of the machine, and a table for each group.
fn print(about: &str, control: &[Figures], cells: &[&Cell], found: &[ReferenceCell]) -> String {
    let mut text = format!("{about}\n");
    for (place, name) in Group::Control.measures().iter().enumerate() {
        let values = || control.iter().filter_map(|figures| figures.get(place));
        let (low, high) =
            (values().copied().fold(f64::INFINITY, f64::min), values().copied().fold(0.0, f64::max));
        let _ = writeln!(text, "constant delay of 300 ms, lateness {name}: {low:.1} to {high:.1} by seed");
    }
    for (group, title) in Group::ALL {
        let own = cells.iter().zip(found).filter(|(cell, _)| cell.group == group);
        let own: Vec<ReferenceCell> = own.map(|(_, found)| found.clone()).collect();
        if !own.is_empty() {
            let _ = write!(text, "\n{}", verdict::print_table(title, &own));
        }
    }
    text + "\nall cells: " + &verdict::counts(found)
}
