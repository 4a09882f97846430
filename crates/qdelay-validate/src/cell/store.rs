//! A run in real time, as it is kept.

use super::cases::Row;
use super::figures::Figures;
use crate::store::Entry;
use qdelay_study::engine::Ran;
use qdelay_study::results::Audit;
use serde::{Deserialize, Serialize};

/// A run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// What was measured.
    pub figures: Figures,
    /// Whether to believe it.
    pub audit: Audit,
}

impl Attempt {
    /// What came of a run.
    pub fn new(ran: &Ran) -> Attempt {
        Attempt { figures: Figures::of(&ran.outcome), audit: ran.audit.clone().unwrap_or_default() }
    }
}

/// Where the runs of a case are kept.
pub fn entry(row: &Row) -> Entry {
    let name = row.name.replace(", ", "-").replace(' ', "-");
    Entry {
        name: row.name.clone(),
        file: format!("{name}-{}", row.case.scenario.duration),
        settings: row.settings.clone(),
    }
}
