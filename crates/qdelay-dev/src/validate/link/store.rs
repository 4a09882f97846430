//! A stored run in real time.

use super::cells::{LinkCell, Run};
use super::figures::LinkFigures;
use crate::validate::attempts::{self, Subject};
use crate::validate::store::Entry;
use qdelay_core::Time;
use qdelay_real::RealRun;
use qdelay_study::engine::CaseOutcome;
use qdelay_study::results::{Audit, round};
use serde::{Deserialize, Serialize};

/// A run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Results of the run.
    pub figures: LinkFigures,
    /// Arrival of the first whole segment at the bottleneck, since the trace began.
    pub begun_ms: Option<f64>,
    /// Audit of the run.
    pub audit: Audit,
}

impl Attempt {
    /// Extracts the results of a run.
    fn new(ran: &CaseOutcome, begun: Option<Time>, header_seconds: Option<u64>) -> Attempt {
        Attempt {
            figures: LinkFigures::from_outcome(&ran.outcome, header_seconds),
            begun_ms: begun.map(|time| time.since(Time::ZERO).as_millis_f64()),
            audit: ran.audit.clone().unwrap_or_default(),
        }
        .rounded()
    }

    fn rounded(self) -> Attempt {
        let LinkFigures { throughput_mbps, delay_mean_ms, delay_p99_ms } = self.figures;
        let figures = LinkFigures {
            throughput_mbps: round(throughput_mbps),
            delay_mean_ms: round(delay_mean_ms),
            delay_p99_ms: round(delay_p99_ms),
        };
        Attempt { figures, ..self }
    }

    /// Reason why the run cannot be judged.
    pub fn reasons(&self) -> String {
        let silent = self.begun_ms.is_none().then_some("no data came to the bottleneck");
        let reasons: Vec<&str> = self.audit.reasons.iter().map(String::as_str).chain(silent).collect();
        reasons.join("; ")
    }
}

impl attempts::Attempt for Attempt {
    fn is_trustworthy(&self) -> bool {
        self.audit.trustworthy && self.begun_ms.is_some()
    }
}

/// Run of a cell; `None` if it cannot be run.
pub fn subject(cell: &LinkCell) -> Option<Subject<'_, Attempt>> {
    let Run { case, settings, header_seconds } = cell.run.as_ref().ok()?;
    let file = format!("{}-{}", cell.name.replace(", ", "-"), case.scenario.duration);
    let entry = Entry { name: cell.name.clone(), file, settings: settings.clone() };
    let keep = |real: &RealRun| {
        Attempt::new(&real.ran, real.observed.begun.first().copied().flatten(), *header_seconds)
    };
    Some(Subject { entry, case, keep: Box::new(keep) })
}
