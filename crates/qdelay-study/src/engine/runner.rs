//! Who runs a case: the simulator, or somebody else.

use super::EngineError;
use crate::InputError;
use crate::results::Audit;
use crate::scenario::Case;
use qdelay_record::PacketFile;
use qdelay_sim::{Outcome, RunError, Scenario};

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its measures.
    pub outcome: Outcome,
    /// Whether to believe them; `None` where that is out of the question.
    pub audit: Option<Audit>,
}

/// Runs cases. Called from as many threads as [`Options::jobs`](super::Options::jobs) says.
pub trait Runner: Sync {
    /// What results say of the clock; `None` for the simulator's.
    fn clock(&self) -> Option<&'static str> {
        None
    }
    /// Whether `case` can be run at all; asked before the first case is run, of very many when their turn comes.
    ///
    /// # Errors
    /// What cannot be, and what can.
    fn check(&self, _case: &Case) -> Result<(), InputError> {
        Ok(())
    }
    /// Runs `case`, and tells `packets` of every packet.
    ///
    /// # Errors
    /// What the user gave cannot be run, or a fault.
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
    /// What comes of `scenario`, which errors call `place`; `packets` is told of every packet.
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

/// What cannot be built is the user's doing; what fails on the way is ours.
fn failure(place: &str, error: &RunError) -> EngineError {
    match error {
        RunError::Topology(_) => InputError::new(place, error).into(),
        _ => EngineError::Audit(format!("{place}: {error}; expected every packet to be accounted for")),
    }
}
