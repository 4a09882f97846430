//! A cell: assigns resource blocks to UEs and their bearers, one TTI at a time.
//!
//! Waiting packets are not stored in the cell: they are in queues of the host, one for each bearer, and are
//! taken through [`Source`]. The cell stores packets that are partly sent, on the air or not yet reassembled.
//!
//! TTI number `k` begins at `phase + k tti`. Events at the same time run in this order: UEs change their
//! cells, blocks are decoded, timers of bearers expire, the TTI begins. A packet that arrives at the time at
//! which a TTI begins is too late for that TTI. In a TTI
//!
//! 1. blocks that were lost are repeated, oldest first ([`harq`](crate::harq));
//! 2. the scheduler shares the remaining resource blocks among the UEs with data, based on their reported
//!    channels ([`mac`](crate::mac)); resource blocks are assigned in contiguous groups (RBG), from the first
//!    on;
//! 3. a UE's bearers fill its block in the order of their priorities ([`Sharing`]), each through its RLC
//!    ([`rlc`]); the rest of the block is padding;
//! 4. every bearer that had data receives a report of the TTI ([`Source::served`]), and every resource block
//!    is counted ([`CellUsage`]).
//!
//! Blocks of fewer than [`LEAST_BYTES`] are not sent while a UE has more data than that: they would carry
//! little but headers. A UE that is not granted that much waits, and goes first in the next round of round
//! robin.
//!
//! A cell may be divided among slices ([`Partition`]), as described in `slicing`, or have several carriers ([`ScellSetting`]), as
//! described in `aggregation`.
//!
//! No work is done for UEs without data, and none at all in TTIs in which no UE has data.
//!
//! # The signal `Served`
//!
//! `capacity_bytes` is the size that the bearer's block would have had with unlimited data: the groups
//! assigned to its UE and the unused groups, less the bytes of the UE's other bearers. Headers of MAC, RLC
//! and PDCP are included, as in a block; `sent_bytes` and `remaining_bytes` are bytes of packets. The
//! capacity is zero in an outage, and if the UE repeated a block. With time division duplex a report has the
//! slot and the next slot with downlink data (`tdd`).
//!
//! # Differences from the reference
//! * One direction, and one block per UE, carrier and TTI. Uplink and control channels are only delays, and
//!   lose nothing.
//! * Every UE may be served in every TTI: the control channel has room for all of them (LTE has room for 5 to
//!   10).
//! * Bearers have no prioritised bit rate (TS 36.321 clause 5.4.3.1), which the standard requires for the
//!   uplink only.

pub(crate) mod account;
pub(crate) mod activity;
mod aggregation;
mod air;
mod answers;
mod build;
mod component;
mod demands;
mod drx;
mod duplex;
mod error;
mod guarantees;
mod handover;
mod held_back;
pub(crate) mod host;
pub(crate) mod partition;
mod reports;
mod setting;
mod slicing;
mod tti;

pub use crate::rlc::Split;
pub use air::AirUsage;
pub use drx::{DrxSetting, SLEEPS};
pub use error::CellError;
pub use handover::{HandoverSetting, MOVES};
pub use partition::{Agreed, CellSlice, Elastic, Fixed, PARTITIONS, Partition, Rrm};
pub use setting::{CellSetting, ScellSetting, UeSetting};
pub use slicing::{PolicyUsage, QuantumHistogram, SliceUsage};

use crate::harq::HarqSetting;
use crate::mac::{Candidate, Service, Sharing, Turns, Urgency};
use crate::pdcp::PdcpCounts;
use crate::rlc::{self, Bearer};
use account::Clock;
use activity::Activity;
use aggregation::Aggregation;
use air::Air;
use alloc::boxed::Box;
use alloc::vec::Vec;
use component::Component;
use duplex::Duplex;
use guarantees::Guarantees;
use held_back::HeldBack;
use host::Output;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::pacer::{Served, Waited};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, PduSet, Span, Time};
use slicing::Slicing;

/// The smallest block worth its headers, in bytes; for a bearer with less data than that, the data it has. It holds the
/// largest headers of all layers, an offset of a segment, and 16 bytes of a packet.
pub const LEAST_BYTES: u64 = 32;

/// The most data radio bearers of a UE: `maxDRB` is 29 in TS 38.331, and MAC has 32 identities.
pub const MAX_BEARERS: usize = 30;

/// The source of a cell's packets, which is also notified of each packet's fate. Bearers are numbered over
/// all UEs, in the order of their declaration.
pub trait Source {
    /// The backlog of the queue of `bearer`.
    fn backlog(&self, bearer: usize) -> Backlog;
    /// Writes the IP bytes of the packets from index `from` on in the queue of `bearer` into `sizes`, where index 0 is the
    /// next packet to be pulled, and returns how many sizes are known. Called by partitions that decide by packets
    /// ([`Partition::Elastic`]). The sizes are estimates if the queue drops packets at dequeue. The default returns the size
    /// of a single packet, as the bytes of the backlog.
    fn sizes(&self, bearer: usize, from: usize, sizes: &mut [u32]) -> usize {
        let queue = self.backlog(bearer);
        match (queue.packets, from, sizes.first_mut()) {
            (1, 0, Some(size)) => {
                *size = u32::try_from(queue.bytes).unwrap_or(u32::MAX);
                1
            }
            _ => 0,
        }
    }
    /// Arrival time of the next packet to be pulled from the queue of `bearer`, for schedulers that decide by
    /// delay; `None` for an empty queue. The default is `None`.
    fn head(&self, bearer: usize) -> Option<Time> {
        let _ = bearer;
        None
    }
    /// The next packet to be pulled from the queue of `bearer`, for a scheduler that decides by the deadlines of packets; `None` for an
    /// empty queue. The default is `None`.
    fn next_packet(&self, bearer: usize) -> Option<Packet> {
        let _ = bearer;
        None
    }
    /// The PDU set of a packet of a bearer; the default is `None`: it belongs to none.
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        let _ = packet;
        None
    }
    /// Takes the next packet from the queue of `bearer`, which may drop others before it. [`Packet::arrival`] is the time at
    /// which it entered that queue.
    fn pull(&mut self, bearer: usize) -> Option<Packet>;
    /// Reports that the MAC took the last byte of `packet`.
    fn departed(&mut self, bearer: usize, packet: &Packet);
    /// Reports that `packet` was reassembled at the UE and delivered to its upper layers.
    fn delivered(&mut self, bearer: usize, packet: Packet, split: Split);
    /// Reports that `packet` is lost.
    fn dropped(&mut self, bearer: usize, packet: &Packet, reason: DropReason);
    /// Reports the service of `bearer` in this TTI. Called once for each TTI at whose beginning the bearer
    /// had data.
    fn served(&mut self, bearer: usize, served: Served);
    /// Returns true if reports such as `waited`, from the next TTI on, may be delayed. If so, they are passed
    /// by [`Source::waited`] before the next other report of `bearer`, and the host calls [`Cell::recall`]
    /// before the backlog of the queue changes. Not called in a cell with slices. The default is false.
    fn may_wait(&self, bearer: usize, waited: &Waited) -> bool {
        let _ = (bearer, waited);
        false
    }
    /// Passes the delayed reports of `bearer`.
    fn waited(&mut self, bearer: usize, waited: &Waited) {
        let _ = (bearer, waited);
    }
}

/// Usage of the resource blocks: `used + wasted + unfit = offered`, in every TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellUsage {
    /// Resource blocks that could carry data.
    pub offered_rbs: u64,
    /// Resource blocks that carried data, retransmissions and padding within a granted block included.
    pub used_rbs: u64,
    /// Resource blocks that were unused because no UE had data for them.
    pub wasted_rbs: u64,
    /// Resource blocks that were unused while a UE had data, because no whole group or whole header fitted, because its
    /// channel was in outage, or because it repeated a block.
    pub unfit_rbs: u64,
    /// Used resource blocks that repeated an earlier transport block.
    pub repeated_rbs: u64,
    /// Unused resource blocks, wasted or unfit, that data above the bearers could have filled, which a pacer held back
    /// ([`Cell::hold_back`]). Not counted in a cell with slices.
    pub held_back_rbs: u64,
    /// Bytes that the offered resource blocks would have carried for the served UEs, weighted by the resource blocks of each
    /// (in a TTI without served UEs: for the UE served last). Based on the channel known to the scheduler.
    pub offered_bytes: u64,
    /// Bytes of packets that were taken from the queues, in the cell's unit.
    pub sent_bytes: u64,
}

impl CellUsage {
    /// The sum with the usage of another carrier.
    #[must_use]
    fn plus(&self, other: &CellUsage) -> CellUsage {
        CellUsage {
            offered_rbs: self.offered_rbs.saturating_add(other.offered_rbs),
            used_rbs: self.used_rbs + other.used_rbs,
            wasted_rbs: self.wasted_rbs.saturating_add(other.wasted_rbs),
            unfit_rbs: self.unfit_rbs + other.unfit_rbs,
            repeated_rbs: self.repeated_rbs + other.repeated_rbs,
            held_back_rbs: self.held_back_rbs + other.held_back_rbs,
            offered_bytes: self.offered_bytes.saturating_add(other.offered_bytes),
            sent_bytes: self.sent_bytes + other.sent_bytes,
        }
    }
    /// The difference to `earlier`, an earlier value of the same account.
    #[must_use]
    pub const fn since(&self, earlier: &CellUsage) -> CellUsage {
        CellUsage {
            offered_rbs: self.offered_rbs.saturating_sub(earlier.offered_rbs),
            used_rbs: self.used_rbs.saturating_sub(earlier.used_rbs),
            wasted_rbs: self.wasted_rbs.saturating_sub(earlier.wasted_rbs),
            unfit_rbs: self.unfit_rbs.saturating_sub(earlier.unfit_rbs),
            repeated_rbs: self.repeated_rbs.saturating_sub(earlier.repeated_rbs),
            held_back_rbs: self.held_back_rbs.saturating_sub(earlier.held_back_rbs),
            offered_bytes: self.offered_bytes.saturating_sub(earlier.offered_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
        }
    }
}

/// A cell. The host passes the time, as with a path: [`Cell::next_deadline`] may be early, never late.
#[derive(Clone, Debug)]
pub struct Cell {
    clock: Clock,
    /// The component carrier in turn: the primary cell, but while a TTI runs on a secondary one.
    carrier: Component,
    /// The secondary cells.
    scells: Vec<Component>,
    duplex: Duplex,
    harq: HarqSetting,
    sharing: Sharing,
    /// Quality of service of each bearer; `urgency`: the measure by which the scheduler decides by delay, if
    /// it does.
    services: Vec<Service>,
    /// The packet delay budgets of the QoS flows of each bearer, by QFI.
    budgets: Vec<Vec<(u16, Span)>>,
    urgency: Option<Urgency>,
    /// Guaranteed bit rates, if any bearer has one.
    guarantees: Option<Box<Guarantees>>,
    /// Time from the beginning of a block to its decoding.
    air: Span,
    /// TTIs from a block to its repetition.
    harq_ttis: u64,
    /// Slots that either side takes to decode; with time division duplex, unless the time until repetition is
    /// given.
    tdd_decoding: Option<u64>,
    ues: Vec<Ue>,
    bearers: Vec<BearerState>,
    rlcs: Vec<Bearer>,
    activity: Activity,
    /// TTI of the first delayed report, for each bearer with delayed reports.
    told: Vec<u64>,
    /// True if the cell keeps statistics of the air interface of UEs.
    has_air: bool,
    /// Time of the next handover of any UE.
    next_handover: Time,
    timers: Deadlines,
    /// The next TTI with work to do; the highest number if there is none.
    tti: u64,
    next: Time,
    /// Lists of the current TTI, kept for their allocations.
    candidates: Vec<Candidate>,
    /// Loads, in the order of the candidates.
    loads: Vec<Load>,
    plan: Vec<u32>,
    order: Vec<u32>,
    /// The slices, if the cell is divided.
    slicing: Option<Box<Slicing>>,
    held_back: HeldBack,
    aggregation: Aggregation,
}

#[derive(Clone, Debug)]
struct Ue {
    /// The UE's first bearer.
    first: usize,
    turns: Turns,
    /// State and statistics of the air interface; in cells that keep any.
    air: Option<Box<Air>>,
}

/// The state of a bearer that every TTI reads, kept compact: one cache line each.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct BearerState {
    ue: u32,
    /// Smallest useful block, in bytes.
    least_bytes: u32,
    /// Remainder of a packet that is partly taken, as RLC reports it.
    partly: Backlog,
    /// The backlog for which RLC's `wanted_bytes` were last computed, and the result, which stays valid until RLC sends data
    /// or one of its timers expires.
    asked: Option<Backlog>,
    wanted_bytes: u64,
    /// Deadline of RLC's timers.
    deadline: Time,
}

/// A bearer that had data at the beginning of the current TTI.
#[derive(Clone, Copy, Debug)]
struct Load {
    bearer: u32,
    /// Index of the bearer within its UE.
    local: u8,
    /// Bytes of the block that the bearer used.
    used_bytes: u64,
    /// Bytes of packets sent, as in [`Served`].
    sent_bytes: u64,
    remaining_bytes: u64,
    remaining_packets: u64,
    left_packets: u32,
    left_sojourn: Span,
}

impl BearerState {
    /// Result of [`Bearer::wanted_bytes`] of the bearer's `rlc`, which is called only if its result may have changed.
    #[inline]
    fn wanted_bytes(&mut self, rlc: &Bearer, queue: Backlog) -> u64 {
        if self.asked != Some(queue) {
            (self.asked, self.wanted_bytes) = (Some(queue), rlc.wanted_bytes(queue));
        }
        self.wanted_bytes
    }
}

impl Cell {
    /// Number of bearers: the host connects as many queues, in their order.
    pub fn bearers(&self) -> usize {
        self.bearers.len()
    }
    /// Returns true if the carrier is downlink in some slots only.
    pub fn has_tdd(&self) -> bool {
        self.duplex.is_tdd()
    }
    /// Notifies the cell that a packet has arrived at the empty queue of `bearer`. A call for a non-empty
    /// queue has no effect.
    pub fn wake(&mut self, now: Time, bearer: usize) {
        let Some(state) = self.bearers.get(bearer) else { return };
        let ue = state.ue as usize;
        self.activity.begin(ue, bearer - self.ues[ue].first);
        let after = self.clock.after(now);
        if self.tti >= after {
            // A TTI that begins exactly now cannot serve this packet.
            self.count_idle(after);
            self.tti = self.carrier.account.next;
            self.next = self.next.min(self.clock.time(self.tti));
        }
    }
    /// Forwards to [`Bearer::announce`]: a packet of `packet_bytes` IP bytes has arrived at the queue of
    /// `bearer`, empty or not.
    pub fn announce(&mut self, bearer: usize, packet_bytes: u32) {
        if let (Some(rlc), Some(state)) = (self.rlcs.get_mut(bearer), self.bearers.get_mut(bearer)) {
            rlc.announce(packet_bytes);
            state.asked = None;
        }
    }
    /// The time of the next event.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Runs the events due at `now`: receptions, timers, a TTI. Does nothing at any other time.
    pub fn run<S: Source>(&mut self, now: Time, source: &mut S) {
        while self.next <= now && self.next < Time::NEVER {
            let at = self.next;
            // The order of events at the same time is part of the contract: handovers, decoding, timers, the
            // TTI.
            if self.next_handover <= at {
                self.hand_over(at, source);
            }
            self.decode(at, source);
            while self.timers.next() <= at {
                let bearer = self.timers.first();
                if let Some(waited) = self.recall(bearer, source.backlog(bearer)) {
                    source.waited(bearer, &waited);
                }
                self.rlcs[bearer].poll(at, &mut Output { source, bearer });
                self.set_timer(bearer);
                self.follow(bearer, source);
            }
            self.find_tti(at);
            if self.tti < u64::MAX && self.clock.time(self.tti) <= at {
                self.run_tti(at, source);
                self.find_tti(at);
            }
            let tti = if self.tti < u64::MAX { self.clock.time(self.tti) } else { Time::NEVER };
            self.next = tti.min(self.next_decoded()).min(self.timers.next()).min(self.next_handover);
        }
    }
    /// Packets in the cell: partly sent, on the air, not yet reassembled, or kept for retransmission and not yet delivered.
    pub fn inside(&self) -> Backlog {
        rlc::inside(&self.rlcs)
    }
    /// Remainder of the packet of `bearer` that is partly taken; zero if there is none, or no such bearer.
    #[inline]
    pub fn partly(&self, bearer: usize) -> Backlog {
        self.bearers.get(bearer).map_or(Backlog::default(), |state| state.partly)
    }
    /// Statistics of the PDCP of `bearer` up to `now`; `None` where that is ideal, and if there is no such bearer.
    pub fn pdcp(&self, bearer: usize, now: Time) -> Option<PdcpCounts> {
        self.rlcs.get(bearer)?.pdcp(now)
    }
    /// Usage of the resource blocks from the beginning of the run to `now`, including idle TTIs and the TTI that begins at
    /// `now`. The cost grows with the time since the last TTI with data.
    pub fn usage(&self, now: Time) -> CellUsage {
        let until = self.clock.after(now);
        if !self.held_back.is_empty() {
            let (mut carrier, mut scells) = (self.carrier.clone(), self.scells.clone());
            let (mut held_back, host) = (self.held_back.clone(), (&self.ues[..], &self.bearers[..]));
            held_back.idle(until, (&mut carrier, &mut scells), self.clock, host);
            let usages = scells.iter().map(|carrier| carrier.account.usage);
            return usages.fold(carrier.account.usage, |sum, usage| sum.plus(&usage));
        }
        let usages = self.scells.iter().map(|carrier| carrier.usage(until, self.clock));
        usages.fold(self.carrier.usage(until, self.clock), |sum, usage| sum.plus(&usage))
    }

    /// Statistics of the blocks of each UE, and of its time, until `now`; empty in a cell whose settings need
    /// none ([`CellSetting::has_air`]).
    pub fn air(&self, now: Time) -> Vec<AirUsage> {
        self.ues.iter().filter_map(|ue| Some(ue.air.as_ref()?.usage(now))).collect()
    }

    /// Usage of each slice until `now`, counted as in [`Cell::usage`]; empty if the cell is not divided.
    pub fn slices(&self, now: Time) -> Vec<SliceUsage> {
        let Some(mut slicing) = self.slicing.clone() else { return Vec::new() };
        slicing.idle(self.carrier.account.next, self.clock.after(now), &self.carrier.grid);
        slicing.usages()
    }

    /// Mean over the UEs of the MCS by which the scheduler assesses their channels at `now`; UEs in outage are excluded, and
    /// `None` if no channel has an MCS. `now` must not precede the time of the last call.
    pub fn mcs(&self, now: Time) -> Option<f64> {
        self.carrier.mcs(now)
    }

    /// Mean over the UEs of the rank, which is the number of layers, with which the scheduler sends to them at `now`, as in
    /// [`Cell::mcs`]; `None` without rank adaptation.
    pub fn rank(&self, now: Time) -> Option<f64> {
        self.carrier.rank(now)
    }

    /// Returns true if the carrier has rank adaptation.
    pub fn adapts_rank(&self) -> bool {
        self.carrier.grid.carrier.adapts_rank()
    }

    /// Counts the TTIs before `until` that have not been counted, in which no UE had data.
    fn count_idle(&mut self, until: u64) {
        if let Some(slicing) = &mut self.slicing {
            slicing.idle(self.carrier.account.next, until, &self.carrier.grid);
        } else if !self.held_back.is_empty() {
            let Cell { carrier, scells, clock, ues, bearers, held_back, .. } = self;
            return held_back.idle(until, (carrier, scells), *clock, (ues, bearers));
        }
        self.carrier.count_idle(until, self.clock);
        self.scells.iter_mut().for_each(|carrier| carrier.count_idle(until, self.clock));
    }

    /// Handles an expired timer of the RLC of `bearer`: the bearer may have data to send.
    #[inline(always)]
    fn follow<S: Source>(&mut self, bearer: usize, source: &S) {
        let state = &mut self.bearers[bearer];
        (state.partly, state.asked) = (self.rlcs[bearer].remaining(), None);
        let ue = state.ue as usize;
        let first = self.ues[ue].first;
        if !self.activity.has(ue, bearer - first) && self.wanted_bytes(bearer, source.backlog(bearer)) > 0 {
            self.activity.begin(ue, bearer - first);
        }
    }

    /// See [`BearerState::wanted_bytes`].
    #[inline]
    fn wanted_bytes(&mut self, bearer: usize, queue: Backlog) -> u64 {
        self.bearers[bearer].wanted_bytes(&self.rlcs[bearer], queue)
    }

    #[inline(always)]
    fn set_timer(&mut self, bearer: usize) {
        let (deadline, state) = (self.rlcs[bearer].next_deadline(), &mut self.bearers[bearer]);
        if deadline != state.deadline {
            state.deadline = deadline;
            self.timers.set(bearer, deadline);
        }
    }

    /// The time at which the next block is decoded, on any carrier.
    #[inline]
    fn next_decoded(&self) -> Time {
        let first = self.carrier.blocks.next_decoded();
        self.scells.iter().map(|carrier| carrier.blocks.next_decoded()).fold(first, Time::min)
    }

    /// The next TTI in which a block may be repeated, on any carrier.
    #[inline]
    fn next_repetition(&self) -> Option<u64> {
        let of_scells = self.scells.iter().filter_map(|carrier| carrier.blocks.next_repetition());
        of_scells.chain(self.carrier.blocks.next_repetition()).min()
    }

    /// Finds the next TTI with work to do, from `now` on.
    fn find_tti(&mut self, now: Time) {
        let least = self.carrier.account.next.max(self.clock.from(now));
        let repetition = self.next_repetition().map_or(u64::MAX, |tti| tti.max(least));
        self.tti = if self.activity.is_empty() { repetition } else { least };
    }
}
