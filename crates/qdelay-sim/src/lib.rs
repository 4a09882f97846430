//! The virtual clock: runs a path and the flows over it, event by event, as fast as it can.
//!
//! A [`Scenario`] says what to run; [`run`] runs it and returns an [`Outcome`]. Same scenario and seed: same outcome, to the
//! last bit, on every machine.

mod cell;
mod cell_series;
mod contents;
mod detail;
mod figures;
mod flow;
mod measure;
mod outcome;
mod passage;
mod run;
mod scenario;
mod stages;
mod topology;

pub use cell::{
    Backhaul, BearerSpec, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec, cell_usage_between,
};
pub use figures::{Figures, Totals};
pub use outcome::{
    BearerOutcome, CellGroup, CellOutcome, CellSeries, Detail, FlowOutcome, GroupOutcome, GroupSeries,
    NodeOutcome, Outcome, ReasonCount, Series, SliceOutcome, Stage, VoiceOutcome, Within,
};
pub use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
pub use run::{RunError, run, run_recorded};
pub use scenario::{Bottleneck, FlowSpec, LinkSpec, ProbeSpec, Scenario, Uplink};
pub use stages::CellWatch;
pub use topology::Place;
