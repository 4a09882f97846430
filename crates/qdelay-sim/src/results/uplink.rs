//! Results of the uplink of a cell.

use qdelay_path::CellUsage;
use qdelay_record::{DelaySummary, entity};
use std::collections::BTreeMap;

entity! {
    /// The uplink of a cell.
    pub struct CellUplinkFigures {
        /// Delay by stage: `request` and `grant` (waits for a scheduling request and for what it brings), `queue` (the rest until the first
        /// byte is sent), `air`, `reassembly`, `reordering`.
        pub stages: BTreeMap<String, DelaySummary>,
        /// From arrival at the UE's queue until the base station handed the packet up: all stages together.
        pub total_ms: DelaySummary,
        /// Resource blocks that could carry data.
        pub rbs_offered: u64,
        /// Resource blocks that carried data.
        pub rbs_used: u64,
        /// Resource blocks without a grant, and those of a configured grant of a UE without data.
        pub rbs_wasted: u64,
        /// Used resource blocks that retransmitted a lost block.
        pub rbs_repeated: u64,
        /// Wasted over offered.
        pub rbs_unused_share: f64,
    }
}

entity! {
    /// Delay of a group's packets in the uplink of a cell, data or acknowledgements.
    pub struct UplinkPathFigures {
        /// Delay by stage, as of the whole uplink.
        pub stages: BTreeMap<String, DelaySummary>,
        /// All stages together.
        pub total_ms: DelaySummary,
    }
}

impl CellUplinkFigures {
    /// The usage of its resource blocks, and what its packets took.
    pub(crate) fn from_usage(
        usage: CellUsage,
        UplinkPathFigures { stages, total_ms }: UplinkPathFigures,
    ) -> Self {
        let (wasted, offered) = (usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
        CellUplinkFigures {
            stages,
            total_ms,
            rbs_offered: offered,
            rbs_used: usage.used_rbs,
            rbs_wasted: wasted,
            rbs_repeated: usage.repeated_rbs,
            rbs_unused_share: if offered == 0 { 0.0 } else { wasted as f64 / offered as f64 },
        }
    }
}
