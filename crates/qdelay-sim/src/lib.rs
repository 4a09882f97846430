//! The virtual clock: runs a path and the flows over it, event by event, as fast as it can.
//!
//! A [`Scenario`] says what to run; [`run`] runs it and returns an [`Outcome`]. Same scenario and seed: same outcome, to the
//! last bit, on every machine.

mod bin_clock;
mod bottleneck_meter;
mod cell;
mod cell_bins;
mod codepoint_meter;
mod contents;
mod delay_breakdown;
mod flow;
mod flow_meter;
mod group_meter;
mod held;
mod hop_meter;
mod measurement;
mod meter;
mod outcome;
mod packet_timestamps;
mod queue_sample;
mod rates;
pub mod results;
mod run;
mod scenario;
mod sent_data;
mod set_meter;
mod simulation;
mod topology;
mod traffic;
mod uplink_breakdown;
mod whole_milliseconds;

pub use cell::{
    Backhaul, BearerSpec, ByDscp, CellScenario, CellUplink, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
    UplinkBearerSpec,
};
pub use flow_meter::FlowDelays;
pub use held::Held;
pub use measurement::Measurement;
pub use outcome::{DelayBound, DelayStage, Delays, FlowOutcome, Outcome, Parts};
pub use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
pub use run::RunError;
pub use scenario::{
    Bottleneck, FlowSets, FlowSpec, HopSpec, Impairments, Jitter, LinkSpec, ProbeSpec, Scenario,
    SecondCodepoint, Uplink,
};
pub use simulation::{FlowProgress, Simulation, Sums, run, run_recorded};
