//! The virtual clock: runs a path and the flows over it, event by event, as fast as it can.
//!
//! A [`Scenario`] says what to run; [`run`] runs it and returns an [`Outcome`]. Same scenario and seed: same outcome, to the
//! last bit, on every machine.

mod cell;
mod cell_series;
mod codepoints;
mod contents;
mod detail;
mod figures;
mod flow;
mod hops;
mod in_order;
mod measure;
mod measuring;
mod outcome;
mod passage;
mod queued;
mod rates;
pub mod results;
mod run;
mod scenario;
mod stages;
mod topology;
mod whole;

pub use cell::{Backhaul, BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec};
pub use measuring::Measuring;
pub use outcome::{Delays, FlowEnd, Outcome, Stage, Within};
pub use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
pub use run::{RunError, run, run_recorded};
pub use scenario::{Bottleneck, FlowSpec, HopSpec, LinkSpec, OtherMark, ProbeSpec, Scenario, Uplink};
