//! Types that describe cells in a scenario.

pub use qdelay_path::stack::{
    Backhaul, BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
};
