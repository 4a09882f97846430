//! What the laboratory passes to its machine, and what comes back.

use qdelay_study::results::{Audit, CaseSummary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file with the job, in the machine.
pub const FILE: &str = "/job/job.json";
/// Names of the entries of a result.
pub const REPORT: &str = "report.json";
/// The file of packets, if they were requested.
pub const PACKETS: &str = "packets.parquet";

/// A case to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the scenario.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What the command line changed: seeds.
    pub seeds: Option<Vec<u64>>,
    /// And the duration of a case, nanoseconds.
    pub duration_ns: Option<u64>,
    /// And where runs begin on traces, by its word.
    pub starts: Option<String>,
    /// And whether results have connections over time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connections: bool,
    /// Number of the case.
    pub index: u64,
    /// Its id.
    pub id: String,
    /// Whether the kernel's own queue is the bottleneck.
    pub over_kernel: bool,
    /// Whether to record packets.
    pub packets: bool,
    /// Trace files: by name, their places in the machine.
    pub traces: BTreeMap<String, String>,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Report {
    /// It was run.
    Done(Box<Done>),
    /// It cannot be run: the place of the error and the message.
    Refused(String, String),
    /// A fault.
    Fault(String),
}

/// A case that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The kernel's release.
    pub kernel: String,
    /// What the kernel has counted at its queue.
    pub counters: BTreeMap<String, u64>,
    /// When each flow began, seconds.
    pub starts_s: Vec<f64>,
    /// When the first packet of each flow's connection came to the bottleneck.
    pub opened_s: Vec<Option<f64>>,
    /// When the first data of each came to the bottleneck, seconds.
    pub begun_s: Vec<Option<f64>>,
    /// The figures.
    pub summary: CaseSummary,
    /// Whether to believe them.
    pub audit: Option<Audit>,
}
