//! Runs the cases of a study: on this process's threads, or in processes of their own for components of Python, which one process runs
//! one at a time.

use crate::case::{Case, lock};
use crate::packets::{Packets, Table};
use pyo3::prelude::*;
use qdelay_core::Span;
use qdelay_sim::{Recorder, Simulation};
use qdelay_study::engine::{self, CaseOutcome, EngineError, Recorded, Runner};
use qdelay_study::results::CaseSummary;
use qdelay_study::scenario;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A case looks this often, in simulated time, whether it shall end.
const SLICE: Span = Span::from_millis(10);
/// Between that many slices other threads of Python get their turn.
const SLICES_HELD: u32 = 20;

/// What runs the cases, shared with the thread that watches.
#[derive(Default)]
pub struct Cases {
    /// Every case shall end.
    stop: AtomicBool,
    running: Mutex<Vec<Arc<Case>>>,
    /// What ended cases early, by their places in the study.
    failures: Mutex<BTreeMap<u64, PyErr>>,
    /// Whether packets are kept in memory.
    keeps_packets: bool,
    packets: Mutex<BTreeMap<u64, Packets>>,
    /// A function that runs the case of an index in another process, and returns its figures as JSON.
    elsewhere: Option<Py<PyAny>>,
}

impl Cases {
    pub fn new(keeps_packets: bool, elsewhere: Option<Py<PyAny>>) -> Cases {
        Cases { keeps_packets, elsewhere, ..Cases::default() }
    }

    /// Every case ends soon.
    pub fn stop(&self, py: Python<'_>) {
        if !self.stop.swap(true, Ordering::Relaxed)
            && let Some(elsewhere) = &self.elsewhere
        {
            // What ends now is not to be told about.
            let _ = elsewhere.call_method0(py, "stop");
        }
    }
    /// The cases that run now.
    pub fn running(&self) -> Vec<Arc<Case>> {
        lock(&self.running).clone()
    }
    /// What ended the first of the cases that failed.
    pub fn take_failure(&self) -> Option<PyErr> {
        lock(&self.failures).pop_first().map(|(_, failure)| failure)
    }
    /// The packets of the cases so far, by their places in the study.
    pub fn take_packets(&self) -> BTreeMap<u64, Packets> {
        std::mem::take(&mut *lock(&self.packets))
    }

    fn failed(&self, case: &scenario::Case, failure: PyErr) -> EngineError {
        let stopped = EngineError::Stopped(format!("case {}: {failure}", case.id));
        lock(&self.failures).insert(case.index, failure);
        stopped
    }

    fn run(&self, case: &scenario::Case, recorder: &mut dyn Recorder) -> Result<CaseOutcome, EngineError> {
        let state = Case::new(&case.id, case.index);
        lock(&self.running).push(Arc::clone(&state));
        let result = {
            let _entered = state.enter();
            self.simulate(case, &state, recorder)
        };
        lock(&self.running).retain(|other| !Arc::ptr_eq(other, &state));
        // What a component did before it failed may have made the rest fail.
        match state.take_failure() {
            Some(failure) => Err(self.failed(case, failure)),
            None => result,
        }
    }

    fn simulate(
        &self,
        case: &scenario::Case,
        state: &Case,
        recorder: &mut dyn Recorder,
    ) -> Result<CaseOutcome, EngineError> {
        let place = format!("case {}", case.id);
        let fault = |error| engine::failure(&place, &error);
        let mut simulation = Simulation::with_recorder(&case.scenario, recorder).map_err(fault)?;
        if state.has_python() {
            // Held over calls: to take it for each takes longer than a short one.
            Python::attach(|py| self.advance(&mut simulation, state, &place, Some(py)))?;
        } else {
            self.advance(&mut simulation, state, &place, None)?;
        }
        Ok(CaseOutcome { outcome: simulation.finish().map_err(fault)?, audit: None })
    }

    fn advance(
        &self,
        simulation: &mut Simulation<'_, &mut dyn Recorder>,
        state: &Case,
        place: &str,
        python: Option<Python<'_>>,
    ) -> Result<(), EngineError> {
        let mut slices = 0;
        while !simulation.is_over() {
            let next = simulation.now() + SLICE;
            simulation.advance_to(next).map_err(|error| engine::failure(place, &error))?;
            if state.has_failed() || self.stop.load(Ordering::Relaxed) {
                return Err(EngineError::Stopped(format!("{place}: ended early")));
            }
            slices += 1;
            if slices % SLICES_HELD == 0
                && let Some(py) = python
            {
                py.detach(|| ());
            }
        }
        Ok(())
    }

    fn run_elsewhere(
        &self,
        elsewhere: &Py<PyAny>,
        case: &scenario::Case,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        let answer = Python::attach(|py| elsewhere.call1(py, (case.index, packets))?.extract::<String>(py));
        let json = answer.map_err(|failure| self.failed(case, failure))?;
        let summary: CaseSummary = serde_json::from_str(&json).map_err(|error| {
            EngineError::Audit(format!("case {}: its process answered what is no result: {error}", case.id))
        })?;
        Ok(Recorded { summary, audit: None, laboratory: None })
    }
}

impl Runner for Cases {
    fn record(
        &self,
        case: &scenario::Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        if let Some(elsewhere) = &self.elsewhere {
            return self.run_elsewhere(elsewhere, case, packets);
        }
        if !self.keeps_packets {
            return engine::recorded(case, labels, packets, |file| match file {
                Some(file) => self.run(case, file),
                None => self.run(case, &mut ()),
            });
        }
        let mut table = Table::default();
        let recorded = engine::recorded(case, labels, None, |_| self.run(case, &mut table))?;
        lock(&self.packets).insert(case.index, table.finish());
        Ok(recorded)
    }
}
