//! Data that the laboratory passes to its machine, and receives back.

use qdelay_study::results::{Audit, CaseSummary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Path of the job in the machine.
pub const FILE: &str = "/job/job.json";
/// Name of the report in the result archive.
pub const REPORT: &str = "report.json";
/// Name of the file of packets in the result archive, if packets were requested.
pub const PACKETS: &str = "packets.parquet";

/// A case to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the scenario.
    pub name: String,
    /// Text of the scenario.
    pub text: String,
    /// Seeds given on the command line.
    pub seeds: Option<Vec<u64>>,
    /// Duration of a case given on the command line, in ns.
    pub duration_ns: Option<u64>,
    /// Start positions on traces given on the command line, by keyword.
    pub starts: Option<String>,
    /// True if results contain connections over time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connections: bool,
    /// Number of the case.
    pub index: u64,
    /// Id of the case.
    pub id: String,
    /// True if the kernel's own queue is the bottleneck.
    pub over_kernel: bool,
    /// True if packets are recorded.
    pub packets: bool,
    /// Paths of trace files in the machine, by the names of the traces.
    pub traces: BTreeMap<String, String>,
}

/// Outcome of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Report {
    /// The case was run.
    Done(Box<Done>),
    /// The case cannot be run: place and message of the error.
    Refused(String, String),
    /// The run failed, with this message.
    Fault(String),
}

/// Results of a case that was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// Release of the machine's kernel.
    pub kernel: String,
    /// The kernel's counters at its queue, by their names in `tc`.
    pub counters: BTreeMap<String, u64>,
    /// Start time of each flow in s.
    pub starts_s: Vec<f64>,
    /// Time at which the first packet of each flow's connection arrived at the bottleneck, in s.
    pub opened_s: Vec<Option<f64>>,
    /// Time at which the first data of each flow arrived at the bottleneck, in s.
    pub begun_s: Vec<Option<f64>>,
    /// Figures of the case.
    pub summary: CaseSummary,
    /// Verdict on the validity of the case.
    pub audit: Option<Audit>,
}
