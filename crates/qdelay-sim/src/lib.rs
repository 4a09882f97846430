//! The virtual clock: runs a path and the flows over it, event by event, as fast as it can.
//!
//! A [`Scenario`] says what to run; [`run`] runs it and returns an [`Outcome`]. Same scenario and seed: same outcome, to the
//! last bit, on every machine.

mod contents;
mod detail;
mod figures;
mod flow;
mod measure;
mod outcome;
mod passage;
mod run;
mod scenario;
mod topology;

pub use figures::{Figures, Totals};
pub use outcome::{
    Detail, FlowOutcome, GroupOutcome, GroupSeries, NodeOutcome, Outcome, ReasonCount, Series,
};
pub use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
pub use run::{RunError, run, run_recorded};
pub use scenario::{FlowSpec, LinkSpec, ProbeSpec, Scenario, Uplink};
