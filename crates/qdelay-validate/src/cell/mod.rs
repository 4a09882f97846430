//! `qdelay validate cell`: kernel TCP and a game through a cell in real time, beside the simulator and beside the 5G QoS thesis.
//!
//! What is run are the emulator's two scenarios of the thesis's section 3.6.2, on the pedestrian's channel, as `qdelay run --clock real`
//! runs them. Several may run at once: the MAC takes packets every 10 ms, so that an emulator is idle most of the time. A run that
//! cannot be trusted is repeated, after all others. Runs stand in a folder, and a command that was stopped goes on where it was.
//!
//! | file | what |
//! | --- | --- |
//! | `cases` | the cases, and what is asked of each |
//! | `store` | a run, as it is kept |
//! | `judge`, `print` | bounds and order; the table and JSON |

mod cases;
mod figures;
mod judge;
mod print;
mod store;

use crate::options::Validate;
use crate::store::Store;
use cases::Row;
use figures::Figures;
use judge::Report;
use qdelay_emu::netns::user;
use qdelay_real::RealTime;
use qdelay_study::engine::{Named, Progress, Runner, outcomes};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use store::{Attempt, entry};

/// Seconds of each case: the capacity file has a value for each of 200.
const SECONDS: u64 = 200;
/// Times a run that cannot be trusted is repeated.
const RETRIES: u32 = 1;

/// Runs the command.
///
/// # Errors
/// No trace, no rights, a program that does not run; a case that misses its bounds or cannot be judged.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let traces: Vec<PathBuf> = options.traces.iter().cloned().collect();
    let library = Library::of(None, &traces);
    let seconds = options.seconds.unwrap_or(SECONDS);
    let rows = cases::rows(&library, seconds, &options.only)?;
    qdelay_terminal::output::tell_stand_ins(&library);
    if !user::is_administrator() {
        user::enter().map_err(|error| Failure::input("validate cell", error))?;
    }
    output::exit_when_interrupted();
    let folder = options.out.clone().unwrap_or(Path::new("qdelay-results").join("validate-cell"));
    let store = Store::open(folder, "case", options.fresh)?;
    let jobs = options.jobs.unwrap_or(1);
    let attempts = real_runs(options, &rows, &store, jobs)?;
    let simulated = simulate(&rows)?;
    let report = Report::new(seconds, jobs, store.folder(), &rows, &attempts, &simulated);
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    report.check()
}

/// The simulator's figures of each case.
fn simulate(rows: &[Row]) -> Result<Vec<Figures>, Failure> {
    let case = |row: &Row| Named { name: row.name.clone(), scenario: row.case.scenario.clone() };
    let cases: Vec<Named> = rows.iter().map(case).collect();
    let outcomes = outcomes("validate cell, simulated", &cases, None, &Bar::default())?;
    Ok(outcomes.iter().map(Figures::of).collect())
}

/// The runs of each case, those of earlier commands included; the last one is what counts.
fn real_runs(
    options: &Validate,
    rows: &[Row],
    store: &Store<Attempt>,
    jobs: usize,
) -> Result<Vec<Vec<Attempt>>, Failure> {
    let real = RealTime::several(!options.no_realtime, jobs);
    for row in rows {
        real.check(&row.case)?;
    }
    let runs: Vec<Mutex<Vec<Attempt>>> = rows.iter().map(|row| Mutex::new(store.read(&entry(row)))).collect();
    let is_open = |place: usize| {
        runs.get(place).is_some_and(|runs| !lock(runs).last().is_some_and(|last| last.audit.trustworthy))
    };
    let all_open = || (0..rows.len()).filter(|&place| is_open(place)).collect::<Vec<usize>>();
    real.begins("validate cell", rows.len() as u64, (rows.len() - all_open().len()) as u64);
    // Written down at once: who is interrupted loses what runs, and no more.
    let carry_out = |place: usize| -> Result<(), Failure> {
        let (Some(row), Some(runs)) = (rows.get(place), runs.get(place)) else { return Ok(()) };
        let attempt = Attempt::new(&real.carry_out(&row.case, None)?.ran);
        if attempt.audit.trustworthy {
            real.case_done();
        }
        let mut runs = lock(runs);
        runs.push(attempt);
        store.write(&entry(row), &runs)
    };
    for round in 0..=options.retries.unwrap_or(RETRIES) {
        real.bar.name(if round > 0 { "validate cell, again" } else { "validate cell, real time" });
        together(&all_open(), jobs, &carry_out)?;
    }
    Ok(runs.into_iter().map(|runs| runs.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` for each of `places`, `jobs` at a time; after an error no more is begun.
fn together(
    places: &[usize],
    jobs: usize,
    work: &(dyn Fn(usize) -> Result<(), Failure> + Sync),
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let one_after_another = || {
        while let Some(&place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(failure) = work(place) {
                next.store(places.len(), Ordering::Relaxed);
                lock(&failed).get_or_insert(failure);
            }
        }
    };
    thread::scope(|scope| (0..jobs.min(places.len())).for_each(|_| drop(scope.spawn(one_after_another))));
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_once_and_none_after_a_failure() {
        let seen = Mutex::new(Vec::new());
        let note = |place: usize| {
            lock(&seen).push(place);
            Ok(())
        };
        together(&[3, 1, 4, 5], 3, &note).unwrap();
        lock(&seen).sort_unstable();
        assert_eq!(*lock(&seen), [1, 3, 4, 5]);
        let fails = |place: usize| match place {
            1 => Err(Failure::Check("no".to_string())),
            _ => note(place),
        };
        assert!(together(&[7, 1, 8, 9], 1, &fails).is_err());
        assert_eq!(*lock(&seen), [1, 3, 4, 5, 7]);
        together(&[], 2, &note).unwrap();
    }
}
