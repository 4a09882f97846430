//! Runs cases on several threads. Results stand in the order of the cases, whichever was done first.

use super::cases::{Axes, Case};
use crate::InputError;
use crate::cost::{self, Stopwatch};
use crate::engine::{EngineError, Progress};
use qdelay_sim::{Outcome, RunError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A case that has been run.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// What tells it from the others.
    pub axes: Axes,
    /// What came out.
    pub outcome: Outcome,
    /// User and system time of the case's thread; of the whole process, its start included, where there is one case.
    pub cpu_seconds: f64,
    /// Time on the clock, likewise.
    pub wall_seconds: f64,
}

/// For each case the place of the first that differs from it in its seed alone and in nothing that came out: its own where none before
/// it does. Such cases are one run, done several times.
pub fn first_equals(results: &[CaseResult]) -> Vec<usize> {
    let point = |result: &CaseResult| {
        let Axes { trace, qdisc, transport, .. } = &result.axes;
        (trace.clone(), qdisc.clone(), transport.clone())
    };
    let mut firsts: Vec<usize> = Vec::with_capacity(results.len());
    // Of the point of all axes but the seed, which is the innermost: where it begins, and what it is.
    let mut begin = 0;
    for (place, result) in results.iter().enumerate() {
        if point(&results[begin]) != point(result) {
            begin = place;
        }
        let first = (begin..place)
            .filter(|before| firsts[*before] == *before)
            .find(|before| results[*before].outcome == result.outcome);
        firsts.push(first.unwrap_or(place));
    }
    firsts
}

/// Runs all cases, `jobs` at a time; a core each where `jobs` is not given. `watch` was started with the command; `name` is
/// what `progress` is told to be run.
///
/// # Errors
/// The first of the cases that has no outcome.
pub fn run(
    name: &str,
    cases: Vec<Case>,
    jobs: Option<usize>,
    watch: &Stopwatch,
    progress: &dyn Progress,
) -> Result<Vec<CaseResult>, EngineError> {
    let jobs =
        jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).min(cases.len());
    progress.begins(name, cases.len() as u64, 0);
    let next = AtomicUsize::new(0);
    let results: Vec<Slot> = cases.iter().map(|_| Slot::default()).collect();
    let work = || {
        while let (Some(case), Some(slot)) = take(&next, &cases, &results) {
            let result = run_case(case);
            if result.is_err() {
                next.store(cases.len(), Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            progress.case_done();
        }
    };
    if jobs <= 1 {
        work();
    } else {
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    }
    let mut results = collect(&cases, results)?;
    if let [only] = results.as_mut_slice() {
        (only.cpu_seconds, only.wall_seconds) = (cost::process_cpu_seconds(), watch.seconds());
    }
    Ok(results)
}

type Slot = Mutex<Option<Result<CaseResult, RunError>>>;

fn take<'a>(
    next: &AtomicUsize,
    cases: &'a [Case],
    slots: &'a [Slot],
) -> (Option<&'a Case>, Option<&'a Slot>) {
    // Kept from wrapping round: it grows by one for each thread that finds nothing left.
    let index = next.fetch_add(1, Ordering::Relaxed);
    (cases.get(index), slots.get(index))
}

fn collect(cases: &[Case], slots: Vec<Slot>) -> Result<Vec<CaseResult>, EngineError> {
    let slots = slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    let done = cases.iter().zip(slots).filter_map(|(case, slot)| slot.map(|result| (case, result)));
    done.map(|(case, result)| result.map_err(|error| failure(&case.axes, &error))).collect()
}

fn run_case(case: &Case) -> Result<CaseResult, RunError> {
    let (cpu, watch) = (cost::thread_cpu_seconds(), Stopwatch::start());
    let outcome = qdelay_sim::run(&case.scenario)?;
    Ok(CaseResult {
        axes: case.axes.clone(),
        outcome,
        cpu_seconds: cost::thread_cpu_seconds() - cpu,
        wall_seconds: watch.seconds(),
    })
}

/// What cannot be built is the user's doing; what fails on the way is ours.
pub fn failure(axes: &Axes, error: &RunError) -> EngineError {
    let case = format!("case '{}' '{}' '{}' seed {}", axes.trace, axes.qdisc, axes.transport, axes.seed);
    match error {
        RunError::Component(_) | RunError::Build(_) => EngineError::Input(InputError::new(case, error)),
        _ => EngineError::Audit(format!("{case}: {error}; expected every packet to be accounted for")),
    }
}
