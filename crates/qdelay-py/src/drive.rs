//! Runs work on a separate thread, while the calling thread handles signals, shows progress, and ends calls of Python that do not return.

use crate::case::{Case, lock};
use crate::error;
use crate::runner::Cases;
use pyo3::prelude::*;
use qdelay_study::cost::Stopwatch;
use qdelay_study::engine::{EngineError, Progress};
use qdelay_terminal::progress::Bar;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval between checks for signals.
const POLL: Duration = Duration::from_millis(50);
/// Time allowed to end after a request; a call of Python that waits in C does not see the request.
const GRACE_S: f64 = 3.0;

/// Threads left behind in calls of Python that have not returned. Each ends when its call does.
static LEFT_BEHIND: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Number of left-behind threads that still run.
#[pyfunction]
pub fn left_behind() -> usize {
    let mut left = lock(&LEFT_BEHIND);
    left.retain(|thread| !thread.is_finished());
    left.len()
}

/// Progress in finished cases: as a line in a terminal, and as numbers for other displays.
pub struct Shown {
    bar: Option<Bar>,
    done: AtomicU64,
    all: AtomicU64,
}

impl Shown {
    /// Makes the progress, with a line in a terminal if wanted.
    pub fn new(in_terminal: bool) -> Shown {
        Shown { bar: in_terminal.then(Bar::default), done: AtomicU64::new(0), all: AtomicU64::new(0) }
    }
    fn counts(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed))
    }
}

impl Progress for Shown {
    fn begins(&self, study: &str, cases: u64, there: u64) {
        self.done.store(there, Ordering::Relaxed);
        self.all.store(cases, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.begins(study, cases, there);
        }
    }
    fn case_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.case_done();
        }
    }
}

/// Receivers of reports while cases run.
pub struct Watch {
    /// Cases that run.
    pub cases: Arc<Cases>,
    /// Number of finished cases.
    pub shown: Arc<Shown>,
    /// Python function that receives the number of finished cases and of all cases.
    pub progress: Option<Py<PyAny>>,
    /// Time limit of a component's call, in seconds; 0 for no limit.
    pub limit_s: f64,
}

/// Result of `work`, or the reason for its end.
///
/// # Errors
/// Errors of `work`; a failure of a component; an interrupt; a call that did not return in time.
pub fn drive<T: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let receiver = Mutex::new(receiver);
    // A panic drops the sender, which wakes the waiting thread.
    let worker = thread::Builder::new().name("qdelay".to_string()).spawn(move || {
        let _ = sender.send(work());
    })?;
    let clock = Stopwatch::start();
    // Reason for the end of the work, and the time of the request.
    let mut ending: Option<(PyErr, f64)> = None;
    let mut seen = BTreeMap::new();
    let mut told = None;
    loop {
        let received = py.detach(|| lock(&receiver).recv_timeout(POLL));
        match received {
            Ok(result) => {
                drop(py.detach(|| worker.join()));
                tell(py, watch, &mut told)?;
                return finished(py, watch, result, ending.map(|(error, _)| error));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(panicked(py, worker)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = clock.seconds();
        let running = watch.cases.running();
        if ending.is_none() {
            ending = py
                .check_signals()
                .and_then(|()| tell(py, watch, &mut told))
                .err()
                .or_else(|| {
                    overdue(&running, &mut seen, now, watch.limit_s)
                        .map(|case| error::time_limit(py, &case.name, watch.limit_s))
                })
                .map(|error| (error, now));
        }
        if let Some((error, since)) = &ending {
            watch.cases.stop(py);
            for case in running.iter().filter(|case| case.under_way().is_some()) {
                raise_in(py, case.thread())?;
            }
            if now - since > GRACE_S {
                let error = error.clone_ref(py);
                lock(&LEFT_BEHIND).push(worker);
                return Err(error);
            }
        }
    }
}

fn finished<T>(
    py: Python<'_>,
    watch: &Watch,
    result: Result<T, EngineError>,
    ending: Option<PyErr>,
) -> PyResult<T> {
    match (result, ending) {
        (_, Some(error)) => Err(error),
        (Ok(value), None) => Ok(value),
        (Err(fault), None) => Err(watch.cases.take_failure().unwrap_or_else(|| error::engine(py, &fault))),
    }
}

/// Reports the number of finished cases if it has changed.
fn tell(py: Python<'_>, watch: &Watch, told: &mut Option<(u64, u64)>) -> PyResult<()> {
    let counts = watch.shown.counts();
    if let Some(progress) = &watch.progress
        && told.replace(counts) != Some(counts)
    {
        progress.call1(py, counts)?;
    }
    Ok(())
}

/// Case whose current call exceeds the time limit. `seen` has the call of each case and its first observation.
fn overdue<'a>(
    running: &'a [Arc<Case>],
    seen: &mut BTreeMap<u64, (u64, f64)>,
    now: f64,
    limit_s: f64,
) -> Option<&'a Arc<Case>> {
    if limit_s <= 0.0 {
        return None;
    }
    seen.retain(|index, _| running.iter().any(|case| case.index == *index));
    running.iter().find(|case| {
        let Some(call) = case.under_way() else {
            seen.remove(&case.index);
            return false;
        };
        let since = seen.entry(case.index).or_insert((call, now));
        if since.0 != call {
            *since = (call, now);
        }
        now - since.1 > limit_s
    })
}

/// Raises an exception in the Python code of this thread.
fn raise_in(py: Python<'_>, thread: u64) -> PyResult<()> {
    let ctypes = py.import("ctypes")?;
    let number = ctypes.getattr("c_ulong")?.call1((thread,))?;
    let ended = ctypes.getattr("py_object")?.call1((py.import("qdelay._errors")?.getattr("Ended")?,))?;
    ctypes.getattr("pythonapi")?.call_method1("PyThreadState_SetAsyncExc", (number, ended))?;
    Ok(())
}

fn panicked(py: Python<'_>, worker: JoinHandle<()>) -> PyErr {
    let message = match py.detach(|| worker.join()) {
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_string()))
                .unwrap_or_default()
        }
        Ok(()) => String::new(),
    };
    error::engine(py, &EngineError::Audit(format!("a fault of the program: {message}")))
}
