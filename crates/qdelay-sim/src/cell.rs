//! Cells, which are built as paths elsewhere, for those who describe a scenario.

pub use qdelay_path::stack::{
    Backhaul, BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
};

use crate::outcome::SliceOutcome;
use qdelay_path::{CellUsage, SliceUsage};
use qdelay_ran::CellSlice;

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

/// What slices got between two looks; the first may have been before there was anything.
pub fn slice_outcomes(slices: &[CellSlice], before: &[SliceUsage], now: &[SliceUsage]) -> Vec<SliceOutcome> {
    let nothing = SliceUsage::default();
    let outcome = |(number, (slice, now)): (usize, (&CellSlice, &SliceUsage))| {
        let before = before.get(number).unwrap_or(&nothing);
        SliceOutcome {
            name: slice.name.clone(),
            share_millionths: slice.share.millionths(),
            usage: SliceUsage {
                granted_rbs: now.granted_rbs.saturating_sub(before.granted_rbs),
                used_rbs: now.used_rbs.saturating_sub(before.used_rbs),
                wasted_rbs: now.wasted_rbs.saturating_sub(before.wasted_rbs),
                unfit_rbs: now.unfit_rbs.saturating_sub(before.unfit_rbs),
                sent_bytes: now.sent_bytes.saturating_sub(before.sent_bytes),
                quanta: now.quanta.since(&before.quanta),
            },
        }
    };
    slices.iter().zip(now).enumerate().map(outcome).collect()
}
