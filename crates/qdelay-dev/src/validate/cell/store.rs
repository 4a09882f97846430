//! A stored run in real time.

use super::cases::Row;
use super::figures::CaseFigures;
use crate::validate::attempts::{self, Subject};
use crate::validate::store::Entry;
use qdelay_real::RealRun;
use qdelay_study::results::Audit;
use serde::{Deserialize, Serialize};

/// A run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// Its results.
    pub figures: CaseFigures,
    /// Its audit.
    pub audit: Audit,
}

impl attempts::Attempt for Attempt {
    fn is_trustworthy(&self) -> bool {
        self.audit.trustworthy
    }
}

/// The run of a row.
pub fn subject(row: &Row) -> Subject<'_, Attempt> {
    let name = row.name.replace(", ", "-").replace(' ', "-");
    let entry = Entry {
        name: row.name.clone(),
        file: format!("{name}-{}", row.case.scenario.duration),
        settings: row.settings.clone(),
    };
    let keep = |RealRun { ran, .. }: &RealRun| Attempt {
        figures: CaseFigures::of(&ran.outcome),
        audit: ran.audit.clone().unwrap_or_default(),
    };
    Subject { entry, case: &row.case, keep: Box::new(keep) }
}
