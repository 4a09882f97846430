//! The simulator with flows that begin when the kernel's did.
//!
//! Programs agree on a test over a connection of their own first, which takes some five round trips, and then the flow's connection is
//! opened. A simulated flow begins with its SYN, so it begins a round trip before the kernel's first data came to the bottleneck.

use qdelay_core::Span;
use qdelay_study::engine::{EngineError, Recorded, Runner, Simulator};
use qdelay_study::results::Summary;
use qdelay_study::scenario::Case;
use qdelay_terminal::error::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The part of a laboratory's `run.json` that is needed.
#[derive(Deserialize)]
struct Run {
    laboratory: Starts,
}

#[derive(Deserialize)]
struct Starts {
    begun_s: Vec<Option<f64>>,
}

/// See the module.
pub struct Aligned {
    /// By case: when the first data of each flow came to the bottleneck, seconds.
    begun_s: BTreeMap<String, Vec<Option<f64>>>,
}

impl Aligned {
    /// With the beginnings of the cases in the folder `measured`.
    ///
    /// # Errors
    /// A case does not say when its flows began.
    pub fn new(folder: &Path, measured: &Summary) -> Result<Aligned, Failure> {
        let begun = |id: &str| -> Result<Vec<Option<f64>>, Failure> {
            let path = folder.join("cases").join(id).join("run.json");
            let unusable = |error: String| {
                Failure::input(path.display().to_string(), format!("{error}; --fresh runs the cells again"))
            };
            let text = fs::read(&path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            let run: Run = serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
            Ok(run.laboratory.begun_s)
        };
        let of = |id: &String| Ok((id.clone(), begun(id)?));
        let begun_s = measured.cases.iter().map(|case| of(&case.id)).collect::<Result<_, Failure>>()?;
        Ok(Aligned { begun_s })
    }
}

impl Runner for Aligned {
    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        let mut case = case.clone();
        let rtt = case.scenario.base_rtt;
        let begun = self.begun_s.get(&case.id).into_iter().flatten();
        for (flow, begun) in case.scenario.flows.iter_mut().zip(begun) {
            if let Some(seconds) = begun {
                flow.start = Span::from_secs_f64(*seconds).saturating_sub(rtt);
            }
        }
        Simulator.record(&case, labels, packets)
    }
}
