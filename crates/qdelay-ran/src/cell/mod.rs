//! A cell: resource blocks to UEs and their bearers, a TTI at a time.
//!
//! The packets that wait are not the cell's: they stand in queues of the host's, one for each bearer, and are taken through
//! [`Source`]. The cell holds what is partly sent, on the air or not yet whole.
//!
//! TTI number `k` begins at `phase + k tti`. What happens at one time happens in this order: blocks are decoded, timers of
//! bearers run out, the TTI begins. A packet that comes at the time a TTI begins is too late for it. In a TTI
//!
//! 1. blocks that were lost are repeated, oldest first ([`harq`](crate::harq));
//! 2. the scheduler shares what is left among the UEs with data, by what it knows of their channels ([`mac`](crate::mac));
//!    resource blocks are given in groups (RBG), which stand one behind the other from the first on;
//! 3. a UE's bearers fill its block in the order of their priorities ([`Sharing`]), each through its
//!    RLC ([`rlc`](crate::rlc)); the rest of the block is padding;
//! 4. every bearer that had something to send is told what the TTI did for it ([`Source::served`]), and every resource
//!    block is counted ([`CellUsage`]).
//!
//! Blocks of fewer than [`LEAST_BYTES`] are not sent while there is more to send: a header would eat them up. A UE that does
//! not get that much waits, and its turn comes first in round robin.
//!
//! A cell may be divided among slices ([`Partition`]); `slicing` says how.
//!
//! Nothing is done for UEs without data, and nothing at all in TTIs in which nobody has any.
//!
//! # What `Served` says
//!
//! `capacity_bytes` is what the bearer's block would have held had it had as much data as it likes: the groups its UE got,
//! those nobody used, less what the UE's other bearers used. Headers of MAC, RLC and PDCP are part of it, as they are of a
//! block; `sent_bytes` and `remaining_bytes` are bytes of packets. It is zero in an outage, and where the UE repeated a
//! block.
//!
//! # Differences from the reference
//! * One carrier, one direction, one block a UE and TTI. Uplink and control channels are spans of time, and are not lost.
//! * Every UE may be served in every TTI: the control channel has room for all (LTE has room for 5 to 10 of them).
//! * Bearers have no prioritised bit rate (TS 36.321 clause 5.4.3.1), which the standard asks of the uplink only.

mod account;
mod activity;
mod host;
pub(crate) mod partition;
mod setting;
mod slicing;
mod tti;

pub use partition::{CellSlice, Elastic, Fixed, PARTITIONS, Partition};
pub use setting::{CellError, CellSetting, MAX_BEARERS, UeSetting};
pub use slicing::{Quanta, SliceUsage};

use crate::harq::{Blocks, HarqSetting};
use crate::mac::{Candidate, Grid, Sharing, State, Turns};
use crate::radio::{Quality, Radio};
use crate::rlc::{Bearer, Mode, RlcSetting};
use account::{Account, Clock, Idle};
use activity::Activity;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use host::Output;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Span, Time};
use slicing::Slicing;

/// The smallest block that is worth its headers, in bytes; where a bearer has less than that to send, as little as it has.
/// It holds the largest headers of all layers, an offset of a segment, and 16 bytes of a packet.
pub const LEAST_BYTES: u64 = 32;

pub use crate::rlc::Split;

/// What a cell takes packets from and tells what became of them. Bearers are numbered over all UEs, in the order they were
/// declared.
pub trait Source {
    /// What waits in the queue of `bearer`.
    fn backlog(&self, bearer: usize) -> Backlog;
    /// Writes the IP bytes of the packets from number `from` on in the queue of `bearer`, the next one to be pulled being
    /// number 0, into `sizes`, and returns how many it knows. Asked where packets decide who gets what
    /// ([`Partition::Elastic`]). They are a guess where the queue drops packets as they leave. Without more said, a single
    /// packet is known by the bytes that wait.
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
    /// Takes the next packet from the queue of `bearer`, which may drop others on the way. [`Packet::arrival`] is when it
    /// entered that queue.
    fn pull(&mut self, bearer: usize) -> Option<Packet>;
    /// The last byte of `packet` was taken by the MAC.
    fn departed(&mut self, bearer: usize, packet: &Packet);
    /// `packet` is whole at the UE and was handed up.
    fn delivered(&mut self, bearer: usize, packet: Packet, split: Split);
    /// `packet` is lost.
    fn dropped(&mut self, bearer: usize, packet: &Packet, reason: DropReason);
    /// What this TTI did for `bearer`. Told once for each TTI in which the bearer had something to send at its beginning.
    fn served(&mut self, bearer: usize, served: Served);
}

/// What became of the resource blocks: `used + wasted + unfit = offered`, in every TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellUsage {
    /// Resource blocks that could carry data.
    pub offered_rbs: u64,
    /// Resource blocks that carried data, retransmissions and padding within a granted block included.
    pub used_rbs: u64,
    /// Resource blocks that nobody had data for.
    pub wasted_rbs: u64,
    /// Resource blocks left while somebody had data, because no whole group or whole header fitted, because its channel was
    /// out, or because it repeated a block.
    pub unfit_rbs: u64,
    /// Of the used: those that repeated an earlier transport block.
    pub repeated_rbs: u64,
    /// Bytes that the offered resource blocks would have carried for the UEs that were served, each weighted by what it was
    /// served (in a TTI without any: for the one served last). By the channel as the scheduler knew it.
    pub offered_bytes: u64,
    /// Bytes of packets that were taken, in the cell's unit.
    pub sent_bytes: u64,
}

impl CellUsage {
    /// Without what `earlier` has, which is what this was at some time before.
    #[must_use]
    pub const fn since(&self, earlier: &CellUsage) -> CellUsage {
        CellUsage {
            offered_rbs: self.offered_rbs.saturating_sub(earlier.offered_rbs),
            used_rbs: self.used_rbs.saturating_sub(earlier.used_rbs),
            wasted_rbs: self.wasted_rbs.saturating_sub(earlier.wasted_rbs),
            unfit_rbs: self.unfit_rbs.saturating_sub(earlier.unfit_rbs),
            repeated_rbs: self.repeated_rbs.saturating_sub(earlier.repeated_rbs),
            offered_bytes: self.offered_bytes.saturating_sub(earlier.offered_bytes),
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
        }
    }
}

/// A cell. Told the time by its host, as a path is: [`Cell::next_deadline`] may be early, never late.
#[derive(Clone, Debug)]
pub struct Cell {
    clock: Clock,
    grid: Grid,
    harq: HarqSetting,
    sharing: Sharing,
    /// From the beginning of a block to when it is decoded.
    air: Span,
    /// TTIs from a block to its repetition.
    harq_ttis: u64,
    scheduler: State,
    ues: Vec<Ue>,
    bearers: Vec<BearerState>,
    rlcs: Vec<Bearer>,
    activity: Activity,
    blocks: Blocks,
    timers: Deadlines,
    account: Account,
    /// The next TTI that has something to do; the highest number for none.
    tti: u64,
    next: Time,
    /// Of the TTI in hand, kept for what they have allocated.
    candidates: Vec<Candidate>,
    /// In the order of the candidates.
    loads: Vec<Load>,
    plan: Vec<u32>,
    /// Where it is divided among slices.
    slicing: Option<Box<Slicing>>,
}

#[derive(Clone, Debug)]
struct Ue {
    radio: Radio,
    /// Its channel never changes.
    is_constant: bool,
    random: Random,
    /// Its first bearer.
    first: usize,
    turns: Turns,
    /// The TTI after the one in which it last repeated a block; 0 for none.
    repeated: u64,
}

/// What every TTI asks of all bearers with data, close together: a line of a cache each.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct BearerState {
    ue: u32,
    /// Smaller blocks are of no use.
    least_bytes: u32,
    /// What is left of a packet that is partly taken, as RLC says.
    partly: Backlog,
    /// What waited when RLC was last asked what it wants, and its answer, which stays the same until RLC sends something or
    /// one of its timers runs out.
    asked: Option<Backlog>,
    wanted_bytes: u64,
    /// When RLC has something to do by itself.
    deadline: Time,
}

/// A bearer that had something to send at the beginning of the TTI in hand.
#[derive(Clone, Copy, Debug)]
struct Load {
    bearer: u32,
    /// Its number within its UE.
    local: u8,
    /// What of its block it used.
    used_bytes: u64,
    /// As in [`Served`].
    sent_bytes: u64,
    remaining_bytes: u64,
    remaining_packets: u64,
    left_packets: u32,
    left_sojourn: Span,
}

impl Cell {
    /// The cell that `setting` describes. Random streams are derived from `seed` and `name`, for each UE its own.
    ///
    /// # Errors
    /// The first thing wrong with the setting, with what was expected.
    pub fn new(setting: CellSetting, seed: u64, name: &str) -> Result<Cell, CellError> {
        setting.check()?;
        let slicing = Slicing::new(&setting)?.map(Box::new);
        let (mut ues, mut bearers, mut rlcs) = (Vec::new(), Vec::new(), Vec::new());
        for (ue, of) in setting.ues.iter().enumerate() {
            let name = format!("{name} UE {ue}");
            let radio = of.channel.start(&setting.carrier, setting.tti, of.reported, seed, &name);
            ues.push(Ue {
                radio: radio.map_err(|error| CellError::Radio { ue, error })?,
                is_constant: of.channel.is_constant(),
                random: Random::derive(seed, &name, "harq"),
                first: bearers.len(),
                turns: Turns::new(of.bearers.iter().map(|bearer| bearer.priority).collect()),
                repeated: 0,
            });
            for (bearer, &setting::BearerSetting { rlc, .. }) in of.bearers.iter().enumerate() {
                rlcs.push(Bearer::new(rlc).map_err(|error| CellError::Rlc { ue, bearer, error })?);
                bearers.push(BearerState {
                    ue: ue as u32,
                    least_bytes: least_bytes(&rlc),
                    partly: Backlog::default(),
                    asked: None,
                    wanted_bytes: 0,
                    deadline: Time::NEVER,
                });
            }
        }
        Ok(Cell {
            clock: Clock { phase: setting.phase, tti: setting.tti },
            harq: setting.harq,
            sharing: setting.sharing,
            air: setting.air_span(),
            harq_ttis: setting.harq_ttis(),
            scheduler: State::new(setting.scheduler, ues.len(), setting.tti),
            activity: Activity::new(ues.len()),
            blocks: Blocks::default(),
            timers: Deadlines::new(bearers.len()),
            account: Account::default(),
            tti: u64::MAX,
            next: Time::NEVER,
            candidates: Vec::new(),
            loads: Vec::new(),
            plan: Vec::new(),
            slicing,
            ues,
            bearers,
            rlcs,
            grid: Grid {
                slots: setting.slots(),
                carrier: setting.carrier,
                control: setting.control,
                unit: setting.unit,
            },
        })
    }
    /// How many bearers it has: the host connects as many queues, in their order.
    pub fn bearers(&self) -> usize {
        self.bearers.len()
    }
    /// A packet has come into the empty queue of `bearer`. To say so of a queue that is not empty does no harm.
    pub fn wake(&mut self, now: Time, bearer: usize) {
        let Some(state) = self.bearers.get(bearer) else { return };
        let ue = state.ue as usize;
        self.activity.begin(ue, bearer - self.ues[ue].first);
        let after = self.clock.after(now);
        if self.tti >= after {
            // The TTI that begins now, if one does, is over for this packet.
            self.count_idle(after);
            self.tti = self.account.next;
            self.next = self.next.min(self.clock.time(self.tti));
        }
    }
    /// As [`Bearer::announce`]: a packet of `packet_bytes` IP bytes has come into the queue of `bearer`, empty or not.
    pub fn announce(&mut self, bearer: usize, packet_bytes: u32) {
        if let (Some(rlc), Some(state)) = (self.rlcs.get_mut(bearer), self.bearers.get_mut(bearer)) {
            rlc.announce(packet_bytes);
            state.asked = None;
        }
    }
    /// When there is something to do next.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Does what is due at `now`: receptions, timers, a TTI. At any other time it does nothing.
    pub fn run<S: Source>(&mut self, now: Time, source: &mut S) {
        while self.next <= now && self.next < Time::NEVER {
            let at = self.next;
            self.decode(at, source);
            while self.timers.next() <= at {
                let bearer = self.timers.first();
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
            self.next = tti.min(self.blocks.next_decoded()).min(self.timers.next());
        }
    }
    /// Packets it holds: partly sent, on the air, not yet whole, or kept until they are acknowledged and not yet delivered.
    pub fn inside(&self) -> Backlog {
        self.rlcs.iter().map(Bearer::inside).fold(Backlog::default(), |all, one| Backlog {
            packets: all.packets + one.packets,
            bytes: all.bytes + one.bytes,
        })
    }
    /// What is left of the packet of `bearer` that is partly taken; nothing where none is, and for a bearer that there is not.
    #[inline]
    pub fn partly(&self, bearer: usize) -> Backlog {
        self.bearers.get(bearer).map_or(Backlog::default(), |state| state.partly)
    }
    /// What became of the resource blocks from the beginning of the run to `now`, TTIs without anything to send included,
    /// and the one that begins at `now` too. Its cost grows with the time since the last TTI with data.
    pub fn usage(&self, now: Time) -> CellUsage {
        let mut account = self.account.clone();
        if let Some(ue) = self.ues.get(account.last_ue as usize) {
            let idle = Idle { radio: &mut ue.radio.clone(), is_constant: ue.is_constant };
            account.idle(self.clock.after(now), &self.grid, self.clock, idle);
        }
        account.usage
    }

    /// What each slice got until `now`, as [`Cell::usage`] counts; none where the cell is not divided.
    pub fn slices(&self, now: Time) -> Vec<SliceUsage> {
        let Some(mut slicing) = self.slicing.clone() else { return Vec::new() };
        slicing.idle(self.account.next, self.clock.after(now), &self.grid);
        slicing.usages()
    }

    /// The MCS that the scheduler takes the channels of UEs for at `now`, their mean; without those in an outage, and `None`
    /// where no channel has an MCS. `now` is not before what the cell was told last.
    pub fn mcs(&self, now: Time) -> Option<f64> {
        let known = self.ues.iter().filter_map(|ue| match ue.radio.clone().known(now) {
            Quality::Mcs(mcs) => Some(f64::from(mcs)),
            Quality::Bytes(_) | Quality::Outage => None,
        });
        let (sum, count) = known.fold((0.0, 0_u32), |(sum, count), mcs| (sum + mcs, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Counts TTIs before `until` that are not counted: nobody had anything to send in them.
    fn count_idle(&mut self, until: u64) {
        if let Some(slicing) = &mut self.slicing {
            slicing.idle(self.account.next, until, &self.grid);
        }
        if let Some(ue) = self.ues.get_mut(self.account.last_ue as usize) {
            let idle = Idle { radio: &mut ue.radio, is_constant: ue.is_constant };
            self.account.idle(until, &self.grid, self.clock, idle);
        }
    }

    /// Blocks whose time on the air is over.
    fn decode<S: Source>(&mut self, now: Time, source: &mut S) {
        while let Some(number) = self.blocks.decoded(now) {
            let block = self.blocks.get(number);
            if block.is_lost && block.repeated < self.harq.retransmissions {
                let tti = block.tti + self.harq_ttis;
                self.blocks.repeat(number, tti);
                continue;
            }
            let (is_lost, parts) = (block.is_lost, core::mem::take(&mut block.parts));
            for &(bearer, id) in &parts {
                let bearer = bearer as usize;
                let (rlc, mut output) = (&mut self.rlcs[bearer], Output { source, bearer });
                if is_lost {
                    rlc.lost(now, id, &mut output);
                } else {
                    rlc.received(now, id, &mut output);
                }
                // What it has to send is the same as before.
                self.set_timer(bearer);
            }
            self.blocks.get(number).parts = parts;
            self.blocks.close(number);
        }
    }

    /// A timer of the RLC of `bearer` has run out: it may have something to send.
    fn follow<S: Source>(&mut self, bearer: usize, source: &S) {
        let state = &mut self.bearers[bearer];
        (state.partly, state.asked) = (self.rlcs[bearer].remaining(), None);
        let ue = state.ue as usize;
        let first = self.ues[ue].first;
        if !self.activity.has(ue, bearer - first) && self.wanted_bytes(bearer, source.backlog(bearer)) > 0 {
            self.activity.begin(ue, bearer - first);
        }
    }

    /// As [`Bearer::wanted_bytes`], which is asked only where the answer may be another one.
    #[inline]
    fn wanted_bytes(&mut self, bearer: usize, queue: Backlog) -> u64 {
        let state = &mut self.bearers[bearer];
        if state.asked != Some(queue) {
            (state.asked, state.wanted_bytes) = (Some(queue), self.rlcs[bearer].wanted_bytes(queue));
        }
        state.wanted_bytes
    }

    #[inline]
    fn set_timer(&mut self, bearer: usize) {
        let (deadline, state) = (self.rlcs[bearer].next_deadline(), &mut self.bearers[bearer]);
        if deadline != state.deadline {
            state.deadline = deadline;
            self.timers.set(bearer, deadline);
        }
    }

    /// The next TTI that has something to do, from `now` on.
    fn find_tti(&mut self, now: Time) {
        let least = self.account.next.max(self.clock.from(now));
        let repetition = self.blocks.next_repetition().map_or(u64::MAX, |tti| tti.max(least));
        self.tti = if self.activity.is_empty() { repetition } else { least };
    }
}

/// The smallest block that is of use to a bearer that has as much to send.
fn least_bytes(rlc: &RlcSetting) -> u32 {
    match rlc.mode {
        // A packet goes whole: any but the largest fits, and those need more.
        Mode::Transparent { counted_bytes } => counted_bytes.unwrap_or(1500),
        Mode::LteUm(_) | Mode::NrUm(_) | Mode::LteAm(_) | Mode::NrAm(_) => LEAST_BYTES as u32,
    }
}
