//! What every call into a discipline, a gate or a path is given.

use crate::{Packet, Random, Time};

/// Why a packet was dropped. Every packet that is not delivered has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// It arrived at a full queue.
    TailLimit,
    /// It was the oldest of a full queue and made room for an arrival.
    HeadLimit,
    /// It had waited longer than the queue's bound when its turn came (BoDe), or before (green packets of ABE).
    SojournBound,
    /// CoDel's control law chose it as it left the queue.
    Codel,
    /// PIE's drop probability chose it as it arrived.
    Pie,
    /// RED's drop probability chose it as it arrived.
    Red,
    /// It arrived while RED's average was above the upper threshold.
    RedForced,
    /// The queue was full and it stood in the flow that held the most.
    LongestFlow,
    /// The path lost it (random loss configured on a node).
    Loss,
    /// No output of a classifier takes it.
    Unroutable,
    /// All transmissions of a transport block with a part of it failed, and nothing repeats it (HARQ under RLC UM or TM).
    Air,
    /// The receiver gave up waiting for the missing parts (RLC t-Reassembly, LTE t-Reordering).
    Reassembly,
    /// RLC AM repeated a part of it as often as it may.
    RlcMaxRetransmissions,
    /// The RLC entity was established anew while it held the packet.
    RlcReestablished,
    /// It would not have been served within the bound that it asked for (ABE's acceptance test of green packets).
    WouldBeLate,
    /// It asked for low delay, and was refused so that asking brings no more throughput (DSD with `control=loss`).
    GreenLoss,
}

impl DropReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [DropReason; 16] = [
        DropReason::TailLimit,
        DropReason::HeadLimit,
        DropReason::SojournBound,
        DropReason::Codel,
        DropReason::Pie,
        DropReason::Red,
        DropReason::RedForced,
        DropReason::LongestFlow,
        DropReason::Loss,
        DropReason::Unroutable,
        DropReason::Air,
        DropReason::Reassembly,
        DropReason::RlcMaxRetransmissions,
        DropReason::RlcReestablished,
        DropReason::WouldBeLate,
        DropReason::GreenLoss,
    ];
    /// The name used in results: `tail_limit`, `sojourn_bound`...
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::TailLimit => "tail_limit",
            DropReason::HeadLimit => "head_limit",
            DropReason::SojournBound => "sojourn_bound",
            DropReason::Codel => "codel",
            DropReason::Pie => "pie",
            DropReason::Red => "red",
            DropReason::RedForced => "red_forced",
            DropReason::LongestFlow => "longest_flow",
            DropReason::Loss => "loss",
            DropReason::Unroutable => "unroutable",
            DropReason::Air => "air",
            DropReason::Reassembly => "reassembly",
            DropReason::RlcMaxRetransmissions => "rlc_max_retransmissions",
            DropReason::RlcReestablished => "rlc_reestablished",
            DropReason::WouldBeLate => "would_be_late",
            DropReason::GreenLoss => "green_loss",
        }
    }
}

/// Why a packet was marked "congestion experienced".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MarkReason {
    /// CoDel's control law chose it.
    Codel,
    /// It had waited longer than CoDel's `ce_threshold`.
    CeThreshold,
    /// PIE's drop probability chose it.
    Pie,
    /// RED's drop probability chose it.
    Red,
    /// It asked for low delay, and was marked so that asking brings no more throughput (DSD with `control=loss`).
    GreenLoss,
}

impl MarkReason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [MarkReason; 5] =
        [MarkReason::Codel, MarkReason::CeThreshold, MarkReason::Pie, MarkReason::Red, MarkReason::GreenLoss];
    /// The name used in results: `codel`, `ce_threshold`, `pie`, `red`, `green_loss`.
    pub const fn name(self) -> &'static str {
        match self {
            MarkReason::Codel => "codel",
            MarkReason::CeThreshold => "ce_threshold",
            MarkReason::Pie => "pie",
            MarkReason::Red => "red",
            MarkReason::GreenLoss => "green_loss",
        }
    }
}

/// Hears of what happens to packets inside a discipline. The host frees a dropped packet's contents here.
pub trait Sink {
    /// `packet` is gone.
    fn dropped(&mut self, packet: &Packet, reason: DropReason);
    /// `packet` carries a mark now and goes on.
    fn marked(&mut self, packet: &Packet, reason: MarkReason);
}

/// Hears nothing: for benchmarks and for callers that look at counts alone.
impl Sink for () {
    fn dropped(&mut self, _: &Packet, _: DropReason) {}
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
}

/// One call's surroundings: the time it is, the random stream of the node that is called, and where drops are told.
pub struct Context<'a, S: Sink> {
    /// The time. Never earlier than at the call before.
    pub now: Time,
    /// The node's own random stream.
    pub random: &'a mut Random,
    /// Hears of drops and marks.
    pub sink: &'a mut S,
}
