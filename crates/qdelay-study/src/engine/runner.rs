//! Runners of cases: the interface, and the simulator.

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

/// Outcome of a case.
#[derive(Clone, Debug)]
pub struct CaseOutcome {
    /// Measures, curves and series.
    pub outcome: Outcome,
    /// Audit of the timing; `None` for the simulator.
    pub audit: Option<Audit>,
}

/// Runs cases, called on [`Options::jobs`](super::Options::jobs) threads.
pub trait Runner: Sync {
    /// Name of the clock in results; `None` for the simulator.
    fn clock(&self) -> Option<&'static str> {
        None
    }
    /// Checks that the runner supports `case`. Called for the first 10,000 cases before any case runs, and for each further case
    /// directly before its run.
    ///
    /// # Errors
    /// The unsupported setting, and the supported ones.
    fn check(&self, _case: &Case) -> Result<(), InputError> {
        Ok(())
    }
    /// Runs `case`, whose labels by axis are `labels`; records every packet in the new file `packets`.
    ///
    /// # Errors
    /// The case cannot be run, or its run fails.
    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError>;
}

/// Results that a case leaves in its folder.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Figures and curves.
    pub summary: CaseSummary,
    /// Audit of the timing; `None` for the simulator.
    pub audit: Option<Audit>,
    /// In the laboratory: environment of the run and counters of its kernel.
    pub laboratory: Option<Laboratory>,
}

/// Records a case that `run` executes in this process; `run` receives the packet file, if one is requested.
///
/// # Errors
/// Errors of `run`; the file cannot be written.
pub fn recorded(
    case: &Case,
    labels: BTreeMap<String, String>,
    packets: Option<&Path>,
    run: impl FnOnce(Option<&mut PacketFile>) -> Result<CaseOutcome, EngineError>,
) -> Result<Recorded, EngineError> {
    let CaseOutcome { outcome, audit } = match packets {
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
    let changes = audit.as_ref().map_or(0, |audit| audit.changes.len() as u64);
    let summary = CaseSummary { trustworthy, changes, ..figures::summary(&case.id, labels, &outcome) };
    Ok(Recorded { summary, audit, laboratory: None })
}

/// The simulator, which runs cases in virtual time as fast as possible.
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
    /// Errors of [`Simulator::outcome`].
    pub fn run(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<CaseOutcome, EngineError> {
        let outcome = Simulator::outcome(&format!("case {}", case.id), &case.scenario, packets)?;
        Ok(CaseOutcome { outcome, audit: None })
    }

    /// Runs `scenario`, called `place` in errors; records every packet in `packets`.
    ///
    /// # Errors
    /// The scenario cannot be built, or the run fails its audit.
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

/// Converts the error of a run. A scenario that cannot be built, or a faulty discipline from outside, is an input error; any
/// other failure is an error of the program. `place` names the scenario.
pub fn failure(place: &str, error: &RunError) -> EngineError {
    match error {
        RunError::Topology(_) => InputError::new(place, error).into(),
        RunError::Audit(fault @ AuditError::Discipline { .. }) => InputError::new(place, fault).into(),
        _ => EngineError::Audit(format!("{place}: {error}; expected every packet to be accounted for")),
    }
}
