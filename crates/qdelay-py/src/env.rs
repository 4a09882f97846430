//! Simulation that Python advances in steps, observes and changes: the engine behind `qdelay.QueueEnv`.
//!
//! A run has no state outside of its [`Simulation`]: the same case, seed and actions give the same observations.

mod action;
mod driven;

use crate::case::Case;
use crate::component::{Declared, registry};
use crate::error;
use action::{Action, Acts};
use driven::Driven;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::units::parse_span;
use qdelay_core::{Span, Time};
use qdelay_sim::{RunError, Scenario, Simulation, Sums};
use qdelay_study::InputError;
use qdelay_study::engine::EngineError;
use qdelay_study::scenario::Study;
use qdelay_study::traces::Library;
use std::ffi::OsString;
use std::sync::Arc;

/// Observations of a step, in the order of the returned tuple.
const FIELDS: [&str; 9] = [
    "queue_delay_ms",
    "backlog_packets",
    "backlog_bytes",
    "rate_mbps",
    "capacity_mbps",
    "drops",
    "marks",
    "rtt_ms",
    "over",
];
type Observation = (f64, u64, u64, f64, f64, u64, u64, f64, bool);

/// Study whose cases are advanced in steps.
#[pyclass(module = "qdelay._native", unsendable)]
pub struct Stepper {
    study: Study,
    library: Library,
    step: Span,
    actions: Vec<Action>,
    driven: Arc<Driven>,
    run: Option<Run>,
}

/// Case in progress.
struct Run {
    /// State shared with components of Python.
    state: Arc<Case>,
    simulation: Simulation<'static>,
    acts: Acts,
    before: Sums,
}

#[pymethods]
impl Stepper {
    /// Names of the observations.
    #[classattr]
    #[pyo3(name = "FIELDS")]
    fn fields() -> Vec<&'static str> {
        FIELDS.to_vec()
    }

    /// Makes the cases of 'qdelay compare' with these options, in steps of `step`, such as 10ms. Each of `actions` is a parameter that
    /// changes, such as
    /// `qdisc.target`, with its smallest and largest value.
    #[new]
    fn new(
        py: Python<'_>,
        options: Vec<OsString>,
        components: Vec<Py<Declared>>,
        step: &str,
        actions: Vec<(String, String, String)>,
    ) -> PyResult<Stepper> {
        let wrong = |key: &str, message: &str| error::input(py, key, message);
        let step = parse_span(step).map_err(|fault| wrong("step", &format!("'{step}': {fault}")))?;
        if step.is_zero() {
            return Err(wrong("step", "out of range; expected a duration above 0, such as 10ms"));
        }
        let driven = Arc::new(Driven::default());
        let registry = registry(py, &components)?.with(driven::custom(&driven));
        registry.check(&[]).map_err(|fault| wrong("registry", &fault.to_string()))?;
        let comparison = qdelay::comparison(&options, &registry, qdelay::OverTime::Nothing)
            .map_err(|fault| error::failure(py, &fault))?;
        let (study, library) = (comparison.study, comparison.library);
        let case = study.case(0, &library).map_err(|fault| of_input(py, &fault))?;
        let actions: Vec<Action> = actions
            .into_iter()
            .map(|(name, low, high)| {
                Action::new(&name, &low, &high, &case.scenario).map_err(|message| wrong(&name, &message))
            })
            .collect::<PyResult<_>>()?;
        check_initial_window(&actions, &case.scenario)
            .map_err(|message| error::input(py, "transport", &message))?;
        Ok(Stepper { study, library, step, actions, driven, run: None })
    }

    /// Number of cases.
    fn __len__(&self) -> usize {
        usize::try_from(self.study.case_count()).unwrap_or(usize::MAX)
    }
    /// Axes with their labels; the index of a case counts through them, the last one fastest.
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.study.axes.iter().map(|axis| (axis.name.clone(), axis.labels.clone())).collect()
    }

    /// Value of the action at `place` for a `share` of 0 to 1: seconds, bit/s, bytes or a number.
    fn value(&self, py: Python<'_>, place: usize, share: f64) -> PyResult<f64> {
        let action = self.actions.get(place);
        action
            .map(|action| action.number(share))
            .ok_or_else(|| error::input(py, "actions", &format!("there is no {place}")))
    }

    /// Begins the case of this index with this seed; returns the observations at its start.
    fn reset(&mut self, py: Python<'_>, index: u64, seed: u64) -> PyResult<Observation> {
        let case =
            self.study.case_with_seed(index, seed, &self.library).map_err(|fault| of_input(py, &fault))?;
        self.driven.reset();
        let acts = Acts::new(&case.scenario);
        let state = Case::new(&case.id, index);
        let entered = state.enter();
        let simulation = Simulation::new(Arc::new(case.scenario)).map_err(|fault| failure(py, &fault))?;
        drop(entered);
        let mut run = Run { state, simulation, acts, before: Sums::default() };
        let seen = run.observe(self.step);
        self.run = Some(run);
        Ok(seen)
    }

    /// Sets the actions, each a share of 0 to 1, advances by a step, and returns the observations.
    #[pyo3(signature = (*shares))]
    fn step(&mut self, py: Python<'_>, shares: &Bound<'_, PyTuple>) -> PyResult<Observation> {
        let Some(run) = &mut self.run else {
            return Err(error::input(py, "step", "nothing runs; expected reset before it"));
        };
        if shares.len() != self.actions.len() {
            let message =
                format!("{} values for {} actions; expected one for each", shares.len(), self.actions.len());
            return Err(error::input(py, "action", &message));
        }
        for (action, share) in self.actions.iter().zip(shares.iter()) {
            let share: f64 = share.extract()?;
            if !share.is_finite() {
                return Err(error::input(py, &action.name, "is no finite number; expected 0 to 1"));
            }
            action
                .take(share.clamp(0.0, 1.0), &mut run.acts, &self.driven)
                .map_err(|message| error::input(py, &action.name, &message))?;
        }
        if !self.actions.is_empty() {
            run.acts.apply(&mut run.simulation).map_err(|message| error::input(py, "action", &message))?;
        }
        let next = run.simulation.now() + self.step;
        let entered = run.state.has_python().then(|| run.state.enter());
        let advanced = run.simulation.advance_to(next);
        drop(entered);
        match run.state.has_failed().then(|| run.state.take_failure()).flatten() {
            Some(fault) => Err(fault),
            None => advanced.map(|()| run.observe(self.step)).map_err(|fault| failure(py, &fault)),
        }
    }

    /// Runs to the end without further actions, and returns figures of the whole case.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let Some(run) = self.run.take() else {
            return Err(error::input(py, "finish", "nothing runs; expected reset before it"));
        };
        let entered = run.state.has_python().then(|| run.state.enter());
        let outcome = run.simulation.finish();
        drop(entered);
        if let Some(fault) = run.state.take_failure() {
            return Err(fault);
        }
        let outcome = outcome.map_err(|fault| failure(py, &fault))?;
        let figures = PyDict::new(py);
        let measures = &outcome.measures;
        figures.set_item("throughput_mbps", measures.throughput_mbps)?;
        figures.set_item("utilization", measures.utilization)?;
        figures.set_item("queue_delay_mean_ms", measures.queue_delay_ms.mean)?;
        figures.set_item("queue_delay_p95_ms", measures.queue_delay_ms.p95)?;
        figures.set_item("queue_delay_p99_ms", measures.queue_delay_ms.p99)?;
        figures.set_item("drops", outcome.drops)?;
        Ok(figures.unbind())
    }
}

impl Run {
    /// Observations since the last call, in a step of this length.
    fn observe(&mut self, step: Span) -> Observation {
        let (simulation, before) = (&self.simulation, self.before);
        let (now, sums, backlog) = (simulation.now(), simulation.sums(), simulation.backlog());
        let measured = sums.measured - before.measured;
        let delay_ms = match measured {
            // Nothing has left in this step: the delay is the waiting time of the first packet.
            0 => self.head_wait(now).as_millis_f64(),
            _ => (sums.delay_nanos - before.delay_nanos) as f64 / measured as f64 / 1e6,
        };
        let mbps = |bytes: u64| bytes as f64 * 8.0 / step.as_secs_f64() / 1e6;
        let round_trips = simulation.flows().filter_map(|flow| flow.smoothed_rtt);
        let (count, sum) =
            round_trips.fold((0_u32, 0.0), |(count, sum), rtt| (count + 1, sum + rtt.as_millis_f64()));
        self.before = sums;
        (
            delay_ms,
            backlog.packets,
            backlog.bytes,
            mbps(sums.left.bytes - before.left.bytes),
            mbps(sums.offered_bytes.saturating_sub(before.offered_bytes)),
            sums.dropped.packets - before.dropped.packets,
            sums.marked.packets - before.marked.packets,
            sum / f64::from(count.max(1)),
            simulation.is_over(),
        )
    }

    fn head_wait(&self, now: Time) -> Span {
        let head = self.simulation.path().qdisc(self.simulation.queue()).and_then(Qdisc::head);
        head.map_or(Span::ZERO, |packet| now.since(packet.arrival))
    }
}

/// Refuses an initial window beside the window action, which is set before the first packet and overrides it.
fn check_initial_window(actions: &[Action], scenario: &Scenario) -> Result<(), String> {
    let typed = scenario.flows.iter().map(|flow| flow.typed.as_str());
    let given = typed
        .filter(|typed| typed.starts_with("driven:"))
        .find(|typed| typed.split(':').skip(1).any(|key| key.split('=').next() == Some("iw")));
    match given {
        Some(typed) if actions.iter().any(Action::is_window) => Err(format!(
            "'{typed}': iw has no effect where control.window is an action; expected one of the two"
        )),
        _ => Ok(()),
    }
}

fn of_input(py: Python<'_>, fault: &InputError) -> PyErr {
    error::input(py, &fault.place, &fault.message)
}

fn failure(py: Python<'_>, fault: &RunError) -> PyErr {
    error::engine(py, &EngineError::Audit(fault.to_string()))
}
