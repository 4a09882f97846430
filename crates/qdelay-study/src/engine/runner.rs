//! Runners of cases: the simulator, or another implementation.

use super::EngineError;
use crate::InputError;
use crate::results::Audit;
use crate::scenario::Case;
use qdelay_record::PacketFile;
use qdelay_sim::{Outcome, RunError, Scenario};

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its measures.
    pub outcome: Outcome,
    /// Whether to believe them; `None` where that is out of the question.
    pub audit: Option<Audit>,
}

/// Runs cases, on [`Options::jobs`](super::Options::jobs) threads.
pub trait Runner: Sync {
    /// The clock's name in results; `None` for the simulator.
    fn clock(&self) -> Option<&'static str> {
        None
    }
    /// Checks that `case` can be run. It is called for all cases before the first runs, or for very many cases directly before
    /// each runs.
    ///
    /// # Errors
    /// The unsupported setting, and the supported ones.
    fn check(&self, _case: &Case) -> Result<(), InputError> {
        Ok(())
    }
    /// Runs `case`, and records every packet in `packets`.
    ///
    /// # Errors
    /// The case cannot be run, or a fault.
    fn run(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<Ran, EngineError>;
}

/// Runs cases as fast as it can, in simulated time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Runner for Simulator {
    fn run(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<Ran, EngineError> {
        let outcome = Simulator::outcome(&format!("case {}", case.id), &case.scenario, packets)?;
        Ok(Ran { outcome, audit: None })
    }
}

impl Simulator {
    /// The outcome of `scenario`, whose name in errors is `place`; every packet is recorded in `packets`.
    ///
    /// # Errors
    /// It cannot be built, or a failed audit.
    pub fn outcome(
        place: &str,
        scenario: &Scenario,
        packets: Option<&mut PacketFile>,
    ) -> Result<Outcome, EngineError> {
        let outcome = match packets {
            Some(file) => qdelay_sim::run_recorded(scenario, file),
            None => qdelay_sim::run(scenario),
        };
        outcome.map_err(|error| failure(place, &error))
    }
}

/// A scenario that cannot be built is a mistake of the input; a failure of the run is a fault of the program.
fn failure(place: &str, error: &RunError) -> EngineError {
    match error {
        RunError::Topology(_) => InputError::new(place, error).into(),
        _ => EngineError::Audit(format!("{place}: {error}; expected every packet to be accounted for")),
    }
}
