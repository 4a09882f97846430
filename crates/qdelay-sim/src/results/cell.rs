//! Results of cells only.

use super::TrafficFigures;
use qdelay_core::Span;
use qdelay_path::{AirUsage, CellUsage, PdcpCounts, SliceUsage};
use qdelay_ran::UeSetting;
use qdelay_record::{DelaySummary, OccupancySummary, entity};
use std::collections::BTreeMap;

entity! {
    /// Results of cells only.
    pub struct CellFigures {
        /// Transmission time interval.
        pub tti_ms: f64,
        /// Delay by stage: `n3`, `upf`, `sdap`, `rlc`, `air`, `reassembly`, `reordering`, of those that there are.
        pub stages: BTreeMap<String, DelaySummary>,
        /// Share of packets whose last byte was taken at most a TTI after they came to the node; null without any.
        pub within_tti: Option<f64>,
        /// Resource blocks that could carry data.
        pub rbs_offered: u64,
        /// Resource blocks that carried data.
        pub rbs_used: u64,
        /// Resource blocks for which no UE had data.
        pub rbs_wasted: u64,
        /// Resource blocks that were left although UEs had data, because nothing fitted.
        pub rbs_unfit: u64,
        /// Used resource blocks that retransmitted a lost block.
        pub rbs_repeated: u64,
        /// Wasted and unfit over offered.
        pub rbs_unused_share: f64,
        /// Unused resource blocks that data above the RLC could have filled, which a pacer held back, over offered; null with slices.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rbs_held_back_share: Option<f64>,
        /// Number of bearers with the ideal PDCP, which no stack has; null without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub ideal_pdcp_bearers: Option<u64>,
        /// How full each bearer was, by `UE/bearer`.
        pub bearers: BTreeMap<String, BearerFigures>,
        /// From arrival at the node until the UE handed the packet up: all stages but `n3` together.
        #[serde(default)]
        pub total_ms: DelaySummary,
        /// Share of the packets handed up that were so within a time of their arrival at the node: `500us`, `1ms`... and `1tti`...
        #[serde(default)]
        pub delivered_within: BTreeMap<String, f64>,
        /// The usage of each slice, by its name, if the cell has slices.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub slices: BTreeMap<String, SliceFigures>,
        /// Transport blocks and time of each UE, by its name; where any of `decoding`, `harq_processes`, `olla`, `drx` and
        /// `handover` is set.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub air: BTreeMap<String, AirFigures>,
        /// The flows to each UE together, by its name; of 2 to 256 flows.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub by_ue: BTreeMap<String, TrafficFigures>,
        /// The flows of each slice together, by its name; of 2 to 256 flows.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub by_slice: BTreeMap<String, TrafficFigures>,
        /// The flows of each 5QI together, `5qi-7`, in LTE of each QCI, `qci-7`; of 2 to 256 flows.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub by_class: BTreeMap<String, TrafficFigures>,
    }
}

entity! {
    /// Transport blocks and time of a UE.
    #[derive(Copy)]
    pub struct AirFigures {
        /// Transport blocks whose first transmission was decoded or lost.
        pub blocks: u64,
        /// Share of these first transmissions that were lost; null without any.
        pub bler: Option<f64>,
        /// Mean over them of the offset of outer-loop link adaptation, dB; null without it.
        pub olla_offset_db: Option<f64>,
        /// Mean over them of the number of layers; with rank adaptation only.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rank: Option<f64>,
        /// Share of the time asleep by DRX; null without it.
        pub asleep_share: Option<f64>,
        /// Handovers that began.
        pub handovers: u64,
        /// Time in handovers.
        pub interrupted_ms: f64,
    }
}

impl AirFigures {
    /// Figures of a UE of `setting` in the time `measured`.
    pub(crate) fn from_usage(air: &AirUsage, setting: &UeSetting, measured: Span) -> AirFigures {
        let per_block = |sum: f64| (air.blocks > 0).then(|| sum / air.blocks as f64);
        let share = air.asleep.as_nanos() as f64 / measured.as_nanos().max(1) as f64;
        AirFigures {
            blocks: air.blocks,
            bler: per_block(air.lost as f64),
            olla_offset_db: per_block(air.offsets_db).filter(|_| setting.has_olla()),
            rank: (air.layers > 0).then(|| air.layers as f64 / air.blocks as f64),
            asleep_share: setting.has_drx().then_some(share),
            handovers: air.handovers,
            interrupted_ms: air.interrupted.as_millis_f64(),
        }
    }
}

entity! {
    /// The usage of a slice: `rbs_granted = rbs_used + rbs_wasted + rbs_unfit + rbs_lent`.
    pub struct SliceFigures {
        /// The agreed share of all resource blocks that carry new data; with policy ratios the minimum.
        pub share: f64,
        /// Resource blocks that were agreed, rounded as the partition does.
        pub rbs_granted: u64,
        /// Resource blocks that carried its data.
        pub rbs_used: u64,
        /// Unused resource blocks that were charged to it while it had no more data.
        pub rbs_wasted: u64,
        /// Unused resource blocks that were charged to it while it had data.
        pub rbs_unfit: u64,
        /// Resource blocks that it lent, less those that it borrowed, over the measured time; negative if it borrowed more.
        pub rbs_lent: i64,
        /// Used over granted.
        pub rbs_used_share: f64,
        /// Bytes of packets taken, Mbit/s.
        pub throughput_mbps: f64,
        /// Quantum of the slice over time; null without one.
        pub quantum_rbs: Option<QuantumFigures>,
        /// Policy ratios only: resource blocks granted to it beyond its minimum, over the averaging windows. Those that it lent to
        /// others are `rbs_lent` and these together.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rbs_borrowed: Option<u64>,
        /// Policy ratios only: resource blocks dedicated to it that were idle while another slice below its maximum had data for
        /// them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rbs_idle_dedicated: Option<u64>,
        /// Policy ratios only: resource blocks granted to it that it could not use, because nothing fitted, while another slice below
        /// its maximum had data for them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rbs_idle_granted: Option<u64>,
    }
}

entity! {
    /// A quantum over time, in resource blocks: lent by the slice, or borrowed if negative.
    #[derive(Copy)]
    pub struct QuantumFigures {
        /// The least.
        pub min: f64,
        /// The lower quartile over the TTIs.
        pub p25: f64,
        /// Median.
        pub p50: f64,
        /// The upper quartile over the TTIs.
        pub p75: f64,
        /// The most.
        pub max: f64,
        /// Mean.
        pub mean: f64,
    }
}

entity! {
    /// The backlog of a bearer: data that its RLC has received and the MAC has not taken.
    #[derive(Copy)]
    pub struct BearerFigures {
        /// IP bytes.
        pub bytes: OccupancySummary,
        /// Packets.
        pub packets: OccupancySummary,
        /// The packet delay budget of its QCI or 5QI; of several QoS flows the shortest.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub budget_ms: Option<f64>,
        /// Share of the packets handed up that were so within their budget, since they came to the far end of N3; null without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_budget: Option<f64>,
        /// The receiving PDCP of the UE, where it is that of the standard.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub pdcp: Option<PdcpFigures>,
    }
}

entity! {
    /// A receiving PDCP of the standard, over the measured time.
    #[derive(Copy)]
    pub struct PdcpFigures {
        /// Numbers that never came in time: t-Reordering ran out.
        pub holes: u64,
        /// Packets that came after their number was given up, and were discarded.
        pub old: u64,
        /// Packets that could not be deciphered, because COUNT was not the sender's.
        pub desynchronized: u64,
        /// Times at which packets began to wait for an earlier number.
        pub stalls: u64,
        /// How long packets waited so, together over all stalls.
        pub stalled_ms: f64,
        /// The same over the measured time.
        pub stalled_share: f64,
        /// Mean of the packets that wait so.
        pub held_packets_mean: f64,
        /// The most of them at a time, of the whole run.
        pub held_packets_max: u64,
        /// Mean of their bytes.
        pub held_bytes_mean: f64,
        /// The most bytes at a time, of the whole run.
        pub held_bytes_max: u64,
    }
}

impl PdcpFigures {
    /// Figures of one bearer in the time `measured`.
    pub(crate) fn from_counts(counts: &PdcpCounts, measured: Span) -> PdcpFigures {
        let nanos = measured.as_nanos() as f64;
        PdcpFigures {
            holes: counts.holes,
            old: counts.old,
            desynchronized: counts.desynchronized,
            stalls: counts.stalls,
            stalled_ms: counts.stalled.as_millis_f64(),
            stalled_share: counts.stalled.as_nanos() as f64 / nanos,
            held_packets_mean: counts.held_packets as f64 / nanos,
            held_packets_max: counts.most_packets,
            held_bytes_mean: counts.held_bytes as f64 / nanos,
            held_bytes_max: counts.most_bytes,
        }
    }
}

impl CellFigures {
    /// The usage of its resource blocks; other fields stay empty.
    pub(crate) fn from_usage(usage: CellUsage) -> CellFigures {
        let share =
            |rbs: u64| if usage.offered_rbs == 0 { 0.0 } else { rbs as f64 / usage.offered_rbs as f64 };
        CellFigures {
            rbs_offered: usage.offered_rbs,
            rbs_used: usage.used_rbs,
            rbs_wasted: usage.wasted_rbs,
            rbs_unfit: usage.unfit_rbs,
            rbs_repeated: usage.repeated_rbs,
            rbs_unused_share: share(usage.wasted_rbs + usage.unfit_rbs),
            rbs_held_back_share: Some(share(usage.held_back_rbs)),
            ..CellFigures::default()
        }
    }
}

impl SliceFigures {
    /// Usage of a slice beside its agreed share, in the time `measured`.
    pub(crate) fn from_usage(share_millionths: u32, usage: &SliceUsage, measured: Span) -> SliceFigures {
        let charged = usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs;
        let quantum = || {
            let at = |percent| usage.quanta.percentile(percent) as f64;
            let (min, p25, p50, p75, max) = (at(0.0), at(25.0), at(50.0), at(75.0), at(100.0));
            QuantumFigures { min, p25, p50, p75, max, mean: usage.quanta.mean() }
        };
        SliceFigures {
            share: f64::from(share_millionths) / 1e6,
            rbs_granted: usage.granted_rbs,
            rbs_used: usage.used_rbs,
            rbs_wasted: usage.wasted_rbs,
            rbs_unfit: usage.unfit_rbs,
            rbs_lent: usage.granted_rbs as i64 - charged as i64,
            rbs_used_share: usage.used_rbs as f64 / usage.granted_rbs.max(1) as f64,
            throughput_mbps: usage.sent_bytes as f64 * 8.0 / measured.as_secs_f64() / 1e6,
            quantum_rbs: (usage.quanta.ttis() > 0).then(quantum),
            rbs_borrowed: usage.policy.map(|policy| policy.borrowed_rbs),
            rbs_idle_dedicated: usage.policy.map(|policy| policy.idle_dedicated_rbs),
            rbs_idle_granted: usage.policy.map(|policy| policy.idle_granted_rbs),
        }
    }
}
