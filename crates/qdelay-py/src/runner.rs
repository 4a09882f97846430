//! Runs the cases of a study: on threads of this process, or in separate processes for components of Python, of which a process runs
//! only one at a time.

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

/// Simulated time between checks for an early end of the case.
const SLICE: Span = Span::from_millis(10);
/// Number of such slices after which other threads of Python get a turn.
const SLICES_HELD: u32 = 20;

/// State of the run, shared with the watching thread.
#[derive(Default)]
pub struct Cases {
    /// Every case shall end.
    stop: AtomicBool,
    running: Mutex<Vec<Arc<Case>>>,
    /// Errors that ended cases early, by place in the study.
    failures: Mutex<BTreeMap<u64, PyErr>>,
    /// Packets are kept in memory.
    keeps_packets: bool,
    packets: Mutex<BTreeMap<u64, Packets>>,
    /// Function that runs the case of an index in another process, and returns its figures as JSON.
    elsewhere: Option<Py<PyAny>>,
}

impl Cases {
    pub fn new(keeps_packets: bool, elsewhere: Option<Py<PyAny>>) -> Cases {
        Cases { keeps_packets, elsewhere, ..Cases::default() }
    }

    /// Requests the end of every case.
    pub fn stop(&self, py: Python<'_>) {
        if !self.stop.swap(true, Ordering::Relaxed)
            && let Some(elsewhere) = &self.elsewhere
        {
            // Cases that end on request report no progress.
            let _ = elsewhere.call_method0(py, "stop");
        }
    }
    /// Cases in progress.
    pub fn running(&self) -> Vec<Arc<Case>> {
        lock(&self.running).clone()
    }
    /// Error of the first case that failed.
    pub fn take_failure(&self) -> Option<PyErr> {
        lock(&self.failures).pop_first().map(|(_, failure)| failure)
    }
    /// Packets of the finished cases, by place in the study.
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
        // A component's failure comes first, because later errors may be its consequences.
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
            // The interpreter is held over calls, because acquiring it takes longer than a short call.
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
            EngineError::Audit(format!("case {}: its process sent an invalid result: {error}", case.id))
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
