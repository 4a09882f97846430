//! Stored run in real time.

use super::cases::Row;
use super::figures::CaseFigures;
use crate::validate::attempts::{self, Subject};
use crate::validate::store::Entry;
use qdelay_real::RealRun;
use qdelay_study::results::Audit;
use serde::{Deserialize, Serialize};

/// Run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Figures of the run.
    pub figures: CaseFigures,
    /// Audit of the run.
    pub audit: Audit,
}

impl attempts::Attempt for Attempt {
    fn is_trustworthy(&self) -> bool {
        self.audit.trustworthy
    }
}

/// Run of a table row.
pub fn subject(row: &Row) -> Subject<'_, Attempt> {
    let name = row.name.replace(", ", "-").replace(' ', "-");
    let entry = Entry {
        name: row.name.clone(),
        file: format!("{name}-{}", row.case.scenario.duration),
        settings: row.settings.clone(),
    };
    let keep = |RealRun { ran, .. }: &RealRun| Attempt {
        figures: CaseFigures::from_outcome(&ran.outcome),
        audit: ran.audit.clone().unwrap_or_default(),
    };
    Subject { entry, case: &row.case, keep: Box::new(keep) }
}
