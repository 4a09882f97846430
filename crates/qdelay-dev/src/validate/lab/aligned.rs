//! Simulator runs whose flows start when the kernel's flows did.
//!
//! Programs first agree on a test over a control connection; then the flow's connection is opened, and data follows some round trips
//! later. Meanwhile other flows may fill the queue, so that the round trip of the handshake, which BBR and Vegas remember, differs
//! from that of a connection opened right before its data. A simulated connection is therefore opened when the kernel's SYN came to the
//! bottleneck,
//! and its first data arrives there when the kernel's did.

use qdelay_core::Span;
use qdelay_study::engine::{EngineError, Recorded, Runner, Simulator};
use qdelay_study::results::Summary;
use qdelay_study::scenario::Case;
use qdelay_terminal::error::Failure;
use qdelay_traffic::tcp::Prelude;
use qdelay_traffic::transport::TransportConfig;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Bytes that iperf3 sends on its data connection before the data.
const COOKIE_BYTES: u64 = 37;

/// Part of a laboratory's `run.json` that is needed here.
#[derive(Deserialize)]
struct Run {
    laboratory: Starts,
}

#[derive(Deserialize)]
struct Starts {
    opened_s: Vec<Option<f64>>,
    begun_s: Vec<Option<f64>>,
}

/// Measured starts of flows; see the module.
pub struct Aligned {
    starts: BTreeMap<String, Starts>,
}

impl Aligned {
    /// Reads the starts of the cases in the folder `measured`.
    ///
    /// # Errors
    /// A case without the start times of its flows.
    pub fn new(folder: &Path, measured: &Summary) -> Result<Aligned, Failure> {
        let starts = |id: &str| -> Result<Starts, Failure> {
            let path = folder.join("cases").join(id).join("run.json");
            let unusable = |error: String| {
                Failure::input(path.display().to_string(), format!("{error}; --fresh runs the cells again"))
            };
            let text = fs::read(&path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            let run: Run = serde_json::from_slice(&text).map_err(|error| unusable(error.to_string()))?;
            Ok(run.laboratory)
        };
        let of = |id: &String| Ok((id.clone(), starts(id)?));
        let starts = measured.cases.iter().map(|case| of(&case.id)).collect::<Result<_, Failure>>()?;
        Ok(Aligned { starts })
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
        let starts = self.starts.get(&case.id);
        let times = starts.into_iter().flat_map(|starts| starts.opened_s.iter().zip(&starts.begun_s));
        for (flow, times) in case.scenario.flows.iter_mut().zip(times) {
            let (Some(opened), Some(begun)) = times else { continue };
            let (opened, begun) = (Span::from_secs_f64(*opened), Span::from_secs_f64(*begun));
            flow.start = opened;
            if let TransportConfig::Tcp(tcp) = &mut flow.transport {
                tcp.prelude = Some(Prelude { lead: begun.saturating_sub(opened), greeting: COOKIE_BYTES });
            }
        }
        Simulator.record(&case, labels, packets)
    }
}
