//! Runs in real time that are repeated until they can be trusted. The runs are kept in a folder, so that an interrupted command
//! continues from there.

use crate::validate::options::Validate;
use crate::validate::store::{Entry, Store};
use qdelay_emu::netns::user;
use qdelay_real::{RealRun, RealTime};
use qdelay_study::engine::{Progress, Runner, on_threads};
use qdelay_study::scenario::Case;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Stored run.
pub trait Attempt: Serialize + DeserializeOwned + Send + Sync {
    /// The run can be judged.
    fn is_trustworthy(&self) -> bool;
}

/// Case run in real time.
pub struct Subject<'a, A> {
    /// Name and file of the case's runs.
    pub entry: Entry,
    /// Case to run.
    pub case: &'a Case,
    /// Extracts the stored results of a run.
    pub keep: Box<dyn Fn(&RealRun) -> A + Sync + 'a>,
}

/// Opens the folder of the runs of `command`: the folder of the options, or the default `name`. `what` is the kind of files.
///
/// # Errors
/// No permission for namespaces; the folder cannot be written to.
pub fn open<A: Attempt>(
    options: &Validate,
    command: &str,
    name: &str,
    what: &'static str,
) -> Result<Store<A>, Failure> {
    if !user::is_administrator() {
        user::enter().map_err(|error| Failure::input(command, error))?;
    }
    output::exit_when_interrupted();
    let folder = options.out.clone().unwrap_or(Path::new("qdelay-results").join(name));
    Store::open(folder, what, options.fresh)
}

/// Runs of each subject, including those of earlier commands; the last run counts. `jobs` subjects run at once. A subject whose last
/// run cannot be trusted is repeated in each of `1 + retries` rounds over all subjects, because disturbances of a machine last
/// for a while. Nothing runs without subjects.
///
/// # Errors
/// A program that cannot be run, a fault, or a folder that cannot be written to.
pub fn real_runs<A: Attempt>(
    command: &str,
    real: &RealTime,
    (jobs, retries): (usize, u32),
    subjects: &[Option<Subject<'_, A>>],
    store: &Store<A>,
) -> Result<Vec<Vec<A>>, Failure> {
    for subject in subjects.iter().flatten() {
        real.check(subject.case)?;
    }
    let known = |subject: &Option<Subject<'_, A>>| subject.as_ref().map(|subject| store.read(&subject.entry));
    let runs: Vec<Mutex<Vec<A>>> =
        subjects.iter().map(|subject| Mutex::new(known(subject).unwrap_or_default())).collect();
    let subject = |index: u64| subjects[index as usize].as_ref();
    let is_open = |index: &u64| {
        let runs = runs[*index as usize].lock().unwrap_or_else(PoisonError::into_inner);
        subject(*index).is_some() && !runs.last().is_some_and(A::is_trustworthy)
    };
    let open = || (0..subjects.len() as u64).filter(is_open).collect::<Vec<u64>>();
    let all = subjects.iter().flatten().count();
    real.begins(command, all as u64, (all - open().len()) as u64);
    for round in 0..=retries {
        on_threads(open().into_iter(), jobs, |index| {
            let Some(Subject { entry, case, keep }) = subject(index) else { return Ok(()) };
            real.bar.set_name(&format!("{}{}", entry.name, if round > 0 { " again" } else { "" }));
            let attempt = keep(&real.run_case(case, None)?);
            if attempt.is_trustworthy() {
                real.case_done();
            }
            // Each run is written at once, so that an interrupt loses only the current one.
            let mut runs = runs[index as usize].lock().unwrap_or_else(PoisonError::into_inner);
            runs.push(attempt);
            Ok(store.write(entry, &runs)?)
        })?;
    }
    Ok(runs.into_iter().map(|runs| runs.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// Matches `name` against `only`: true if all comma-separated words of one entry occur in `name`, or if `only` is empty.
pub fn is_meant(only: &[String], name: &str) -> bool {
    let has = |word: &str| name.to_lowercase().contains(&word.trim().to_lowercase());
    only.is_empty() || only.iter().any(|words| words.split(',').all(has))
}
