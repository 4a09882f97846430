//! Equal cases of several studies, run only once.

use super::{EngineError, Recorded, Runner, Simulator};
use crate::results::CaseSummary;
use crate::scenario::Case;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The simulator for several studies. Of cases with equal settings and traces, the first is run and the others copy its figures;
/// names may differ between studies.
#[derive(Debug, Default)]
pub struct SharedSimulator {
    /// Number of cases with the same settings and traces.
    counts: BTreeMap<String, u32>,
    /// Figures of settings that occur several times.
    kept: Mutex<BTreeMap<String, CaseSummary>>,
}

impl SharedSimulator {
    /// Announces a case that will be run.
    pub fn announce(&mut self, case: &Case) {
        *self.counts.entry(key(case)).or_default() += 1;
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, CaseSummary>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that the figures of a case depend on.
fn key(case: &Case) -> String {
    json!([case.settings, case.traces]).to_string()
}

impl Runner for SharedSimulator {
    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        let key = key(case);
        if packets.is_some() || self.counts.get(&key).is_none_or(|count| *count < 2) {
            return Simulator.record(case, labels, packets);
        }
        let known = self.kept().get(&key).cloned();
        if let Some(known) = known {
            let summary = CaseSummary { id: case.id.clone(), labels, ..known };
            return Ok(Recorded { summary, audit: None, laboratory: None });
        }
        let recorded = Simulator.record(case, labels, packets)?;
        self.kept().insert(key, recorded.summary.clone());
        Ok(recorded)
    }
}
