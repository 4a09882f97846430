//! `qdelay validate link`: real packets of the kernel's own TCP through the emulator, beside the simulator and beside mahimahi.
//!
//! Each cell is a trace, a transport and a discipline: one iperf3 flow in real time, as `qdelay run --clock real` runs it. What
//! can be judged is only a run whose verdict is that it can be trusted; others are repeated, in further rounds over all
//! cells, because what disturbs a machine lasts for a while. Runs stand in a folder, and a command that was stopped goes on
//! where it was.
//!
//! | file | what |
//! | --- | --- |
//! | `cells` | the cells, and what is run for each |
//! | `store` | a run, as it is kept |
//! | `phases` | the simulator's runs: from where the real flow began, and from around there |
//! | `judge`, `print` | bounds and counts; the table and JSON |

mod cells;
mod figures;
mod judge;
mod phases;
mod print;
mod store;

use crate::options::Validate;
use crate::store::Store;
use cells::{Against, Cell};
use judge::{Judged, Report};
use qdelay_emu::netns::user;
use qdelay_real::{Real, RealTime};
use qdelay_study::engine::{Progress, Runner};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::path::{Path, PathBuf};
use store::{Attempt, entry};

/// Seconds of each cell, where no figures of others say how long.
const SECONDS: u64 = 20;
/// Times a run that cannot be trusted is repeated.
const RETRIES: u32 = 3;

/// Runs the command.
///
/// # Errors
/// No trace, no rights, a program that does not run; fewer cells than expected within their bounds.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let against = if options.mahimahi { Against::Mahimahi } else { Against::Simulator };
    let traces: Vec<PathBuf> = options.traces.iter().cloned().collect();
    let library = Library::of(None, &traces);
    let seconds = if options.mahimahi { cells::MAHIMAHI_SECONDS } else { options.seconds.unwrap_or(SECONDS) };
    let cells = cells::cells(against, &library, seconds, options.rtt, &options.only)?;
    if cells.iter().all(|cell| cell.run.is_err()) {
        return Err(Failure::input(
            "--traces",
            "none of the traces is at hand; expected a folder with some, here or in QDELAY_TRACES (docs/validation.md)",
        ));
    }
    if !user::is_administrator() {
        user::enter().map_err(|error| Failure::input("validate link", error))?;
    }
    output::exit_when_interrupted();
    let default = Path::new("qdelay-results").join(match against {
        Against::Simulator => "validate-link",
        Against::Mahimahi => "validate-link-mahimahi",
    });
    let store = Store::open(options.out.clone().unwrap_or(default), "cell", options.fresh)?;
    let attempts = real_runs(options, &cells, &store)?;
    let simulated = phases::run(&cells, &attempts, options.jobs)?;
    let judged: Vec<Judged> = cells
        .iter()
        .zip(&attempts)
        .zip(simulated)
        .map(|((cell, attempts), simulated)| judge::judge(cell, attempts, simulated))
        .collect();
    let report = Report::new(against, seconds, store.folder(), judged);
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    report.check()
}

/// The runs of each cell, those of earlier commands included; the last one is what counts.
fn real_runs(
    options: &Validate,
    cells: &[Cell],
    store: &Store<Attempt>,
) -> Result<Vec<Vec<Attempt>>, Failure> {
    let real = RealTime::new(!options.no_realtime);
    let known = |cell: &Cell| entry(cell).map_or_else(Vec::new, |entry| store.read(&entry));
    let mut runs: Vec<Vec<Attempt>> = cells.iter().map(known).collect();
    for cell in cells {
        if let Ok(run) = &cell.run {
            real.check(&run.case)?;
        }
    }
    let is_open = |runs: &[Attempt]| !runs.last().is_some_and(Attempt::is_trustworthy);
    let runnable = || cells.iter().filter(|cell| cell.run.is_ok()).count() as u64;
    real.begins("validate link", runnable(), runs.iter().filter(|runs| !is_open(runs)).count() as u64);
    let rounds = 1 + options.retries.unwrap_or(RETRIES);
    for round in 1..=rounds {
        for (cell, runs) in cells.iter().zip(&mut runs) {
            let (Ok(run), Some(entry)) = (&cell.run, entry(cell)) else { continue };
            if !is_open(runs) {
                continue;
            }
            real.bar.name(&if round > 1 { format!("{} again", cell.name) } else { cell.name.clone() });
            let Real { ran, begun } = real.carry_out(&run.case, None)?;
            runs.push(Attempt::new(&ran, begun.first().copied().flatten(), run.header_seconds));
            store.write(&entry, runs)?;
            if !is_open(runs) {
                real.case_done();
            }
        }
    }
    Ok(runs)
}
