//! Runners of cases: the simulator, or another implementation.

use super::EngineError;
use crate::InputError;
use crate::figures;
use crate::files::{self, cannot_write};
use crate::results::{Audit, CaseSummary, Laboratory};
use crate::scenario::Case;
use qdelay_path::AuditError;
use qdelay_record::PacketFile;
use qdelay_sim::{Outcome, RunError, Scenario};
use std::collections::BTreeMap;
use std::path::Path;

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
    /// Runs `case`, and writes every packet into the new file `packets`. `labels` are the case's points.
    ///
    /// # Errors
    /// The case cannot be run, or a fault.
    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError>;
}

/// What a case leaves in its folder.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its figures and curves.
    pub summary: CaseSummary,
    /// Whether to believe them; `None` where that is out of the question.
    pub audit: Option<Audit>,
    /// In the laboratory: what ran it, and what its kernel counted.
    pub laboratory: Option<Laboratory>,
}

/// Records a case that `run` runs in this process: it is given the file for packets, if there is to be one.
///
/// # Errors
/// Those of `run`; the file cannot be written.
pub fn recorded(
    case: &Case,
    labels: BTreeMap<String, String>,
    packets: Option<&Path>,
    run: impl FnOnce(Option<&mut PacketFile>) -> Result<Ran, EngineError>,
) -> Result<Recorded, EngineError> {
    let Ran { outcome, audit } = match packets {
        None => run(None)?,
        Some(path) => {
            let cannot_write = |error| cannot_write(path, &error);
            let mut file = files::create(path).and_then(PacketFile::new).map_err(cannot_write)?;
            let ran = run(Some(&mut file))?;
            file.close().map_err(cannot_write)?;
            ran
        }
    };
    let trustworthy = audit.as_ref().map(|audit| audit.trustworthy);
    let summary = CaseSummary { trustworthy, ..figures::summary(case, labels, &outcome) };
    Ok(Recorded { summary, audit, laboratory: None })
}

/// Runs cases as fast as it can, in simulated time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Runner for Simulator {
    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        recorded(case, labels, packets, |packets| self.run(case, packets))
    }
}

impl Simulator {
    /// Runs `case`, and records every packet in `packets`.
    ///
    /// # Errors
    /// As [`Simulator::outcome`].
    pub fn run(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<Ran, EngineError> {
        let outcome = Simulator::outcome(&format!("case {}", case.id), &case.scenario, packets)?;
        Ok(Ran { outcome, audit: None })
    }

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

/// A scenario that cannot be built, or a discipline from outside that is at fault, is a mistake of the input; any other failure of the
/// run is a fault of the program. `place` is its name.
pub fn failure(place: &str, error: &RunError) -> EngineError {
    match error {
        RunError::Topology(_) => InputError::new(place, error).into(),
        RunError::Audit(fault @ AuditError::Discipline { .. }) => InputError::new(place, fault).into(),
        _ => EngineError::Audit(format!("{place}: {error}; expected every packet to be accounted for")),
    }
}
