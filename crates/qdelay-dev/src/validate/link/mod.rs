//! `qdelay-dev validate link`: real packets of the kernel's own TCP through the emulator, compared with the simulator and with
//! mahimahi.
//!
//! Each cell is a trace, a transport and a discipline: one iperf3 flow in real time, as run by `qdelay run --clock real`. Only
//! runs with a verdict of trustworthy are judged; others are repeated, in further rounds over all cells, because disturbances
//! of a machine last for a while. Runs are kept in a folder, and an interrupted command continues from there. With `--quic` the flows use
//! QUIC: the same stack in the simulator and over sockets.
//!
//! | file | contents |
//! | --- | --- |
//! | `cells` | the cells, and their cases |
//! | `store` | a stored run |
//! | `phases` | simulated runs: started when the real flow was, and around that time |
//! | `judge`, `print` | bounds and counts; the table and JSON |
//! | `rrul` | `--rrul`: a line loaded in both directions |

mod cells;
mod figures;
mod judge;
mod phases;
mod print;
mod rrul;
mod store;

use crate::validate::attempts;
use crate::validate::options::Validate;
use cells::Against;
use judge::{JudgedCell, LinkReport};
use qdelay_real::RealTime;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::path::PathBuf;

const COMMAND: &str = "validate link";
/// Duration of each cell in seconds, unless a reference determines it.
const SECONDS: u64 = 20;
/// Number of repetitions of a run that cannot be trusted.
const RETRIES: u32 = 3;

/// Runs the command.
///
/// # Errors
/// No trace, no permission, a program that cannot be run, or too few cells within their bounds.
pub fn run(options: &Validate) -> Result<(), Failure> {
    if options.rrul {
        return rrul::run(options);
    }
    let against = match (options.mahimahi, options.quic) {
        (true, _) => Against::Mahimahi,
        (_, true) => Against::Quic,
        _ => Against::Simulator,
    };
    let traces: Vec<PathBuf> = options.traces.iter().cloned().collect();
    let library = Library::for_scenario(None, &traces);
    let seconds = if options.mahimahi { cells::MAHIMAHI_SECONDS } else { options.seconds.unwrap_or(SECONDS) };
    let cells = cells::cells(against, &library, seconds, options.rtt, &options.only)?;
    if cells.iter().all(|cell| cell.run.is_err()) {
        return Err(Failure::input(
            "--traces",
            "none of the traces is available; expected a folder with some of them, here or in QDELAY_TRACES (docs/validation.md)",
        ));
    }
    let folder = match against {
        Against::Simulator => "validate-link",
        Against::Quic => "validate-link-quic",
        Against::Mahimahi => "validate-link-mahimahi",
    };
    let store = attempts::open(options, COMMAND, folder, "cell")?;
    let subjects: Vec<_> = cells.iter().map(store::subject).collect();
    let real = RealTime::new(!options.no_realtime);
    let rounds = (1, options.retries.unwrap_or(RETRIES));
    let attempts = attempts::real_runs(COMMAND, &real, rounds, &subjects, &store)?;
    let simulated = phases::run(&cells, &attempts, options.jobs)?;
    let judged: Vec<JudgedCell> = cells
        .iter()
        .zip(&attempts)
        .zip(simulated)
        .map(|((cell, attempts), simulated)| judge::judge(against, cell, attempts, simulated))
        .collect();
    let report = LinkReport::new(against, seconds, store.folder(), judged);
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    report.check()
}
