//! Types that describe cells in a scenario.

pub use qdelay_path::stack::{
    Backhaul, BearerSpec, ByDscp, CellScenario, CellUplink, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
    UplinkBearerSpec,
};
