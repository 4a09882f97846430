//! Cells, which are built as paths elsewhere, for those who describe a scenario.

pub use qdelay_path::stack::{Backhaul, BearerSpec, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec};

use qdelay_path::CellUsage;

/// What became of resource blocks between two looks.
pub fn cell_usage_between(before: CellUsage, now: CellUsage) -> CellUsage {
    CellUsage {
        offered_rbs: now.offered_rbs.saturating_sub(before.offered_rbs),
        used_rbs: now.used_rbs.saturating_sub(before.used_rbs),
        wasted_rbs: now.wasted_rbs.saturating_sub(before.wasted_rbs),
        unfit_rbs: now.unfit_rbs.saturating_sub(before.unfit_rbs),
        repeated_rbs: now.repeated_rbs.saturating_sub(before.repeated_rbs),
        offered_bytes: now.offered_bytes.saturating_sub(before.offered_bytes),
        sent_bytes: now.sent_bytes.saturating_sub(before.sent_bytes),
    }
}
