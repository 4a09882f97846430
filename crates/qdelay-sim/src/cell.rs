//! Cells, which are built as paths elsewhere, for those who describe a scenario.

pub use qdelay_path::stack::{
    Backhaul, BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
};
