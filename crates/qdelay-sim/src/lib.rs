//! The virtual clock: runs a path and the flows over it, event by event, as fast as it can.
//!
//! A [`Scenario`] says what to run; [`run`] runs it and returns an [`Outcome`]. Same scenario and seed: same outcome, to the
//! last bit, on every machine.

mod contents;
mod flow;
mod measure;
mod outcome;
mod run;
mod scenario;
mod topology;

pub use outcome::{FlowOutcome, NodeOutcome, Outcome, ReasonCount};
pub use run::{RunError, run};
pub use scenario::{FlowSpec, LinkSpec, ProbeSpec, Scenario, Uplink};
