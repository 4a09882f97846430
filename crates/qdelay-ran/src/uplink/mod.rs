//! The uplink of a cell: UEs send only in grants of the base station.
//!
//! Like those of a [`Cell`](crate::Cell), waiting packets are in queues of the host, one for each bearer, here at the
//! UE; TTIs are those of the downlink, whose phase and carrier the uplink shares. In TTI number `k`, after
//! blocks are decoded and timers have expired,
//!
//! 1. UEs with a grant for this TTI send a block (`transmit`): a buffer status report where one is due
//!    (`bsr`), bytes of their bearers (`lcp`), and padding, with a report if it has room for one;
//! 2. UEs with a configured grant in this TTI do the same, if they have data;
//! 3. UEs with a report to send but no block for it send a scheduling request, if the TTI is one of their
//!    occasions;
//! 4. the base station grants the resource blocks of a later TTI (`plan`), from its knowledge (`station`):
//!    first of all repetitions ([`harq`](crate::harq)), beside the resource blocks reserved for configured
//!    grants.
//!
//! A regular report is due when data arrives at a UE without data, or at a bearer of higher priority than all
//! with data, and when retxBSR-Timer runs out; it triggers a request. A periodic report is due in a block
//! that is sent periodicBSR-Timer or more after the last report. A request is decoded as long after its TTI
//! as a block, and repeated at each occasion until a report is sent, subject to sr-ProhibitTimer.
//!
//! A packet that arrives at the time at which a TTI begins is too late for that TTI and its requests; a timer
//! that expires at that time is not.
//!
//! Source: TS 36.321 and TS 38.321 clauses 5.4.3 (prioritisation), 5.4.4 (requests), 5.4.5 (reports), 5.8.2
//! (configured grants); TS 36.213 clause 8, TS 38.214 clause 6.1.
//!
//! # Differences from the reference
//! * A UE fills a block as the TTI of its grant begins, and not some time before.
//! * All bearers of a UE are one logical channel group. A report counts the headers that the data will need
//!   as well.
//! * Requests are decoded always, in any number in a TTI; there is no random access and no limit of requests.
//!   A UE may have a grant in each TTI: the control channel has room for all.
//! * Resource blocks are granted in groups, as in the downlink; those of the control channel (PUCCH) are not
//!   subtracted.
//! * A UE with a grant and no data sends padding; with a configured grant it sends nothing.
//! * Status reports of an acknowledged mode travel the other way at their own times, and take no bytes.
//! * No power control: the channel of a UE has the same quality with any number of resource blocks.

mod bsr;
mod lcp;
mod plan;
mod setting;
mod station;
mod transmit;
mod waits;

pub use lcp::Prioritised;
pub use setting::{Configured, LTE_REQUESTS, NR_REQUESTS, Reports, Requests, UplinkError, UplinkSetting};

use crate::cell::account::{Account, Clock, Idle};
use crate::cell::host::Output;
use crate::cell::{CellUsage, Source};
use crate::harq::{Block, Blocks, HarqSetting};
use crate::mac::{Candidate, Grid, State, Turns};
use crate::pdcp::PdcpCounts;
use crate::radio::{Quality, Radio};
use crate::rlc::{self, Bearer, Receiver, Split};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use bsr::Levels;
use lcp::Bucket;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Span, Time};
use station::Station;
use waits::Waits;

/// The uplink of a cell. The host passes the time, as with a cell: [`UplinkCell::next_deadline`] may be early, never late.
#[derive(Clone, Debug)]
pub struct UplinkCell {
    clock: Clock,
    grid: Grid,
    harq: HarqSetting,
    /// Time from the beginning of a block or request to its decoding.
    air: Span,
    /// TTIs from a block to its repetition.
    harq_ttis: u64,
    /// TTIs from a grant to its transmission.
    grant_ttis: u64,
    first_bytes: u64,
    requests: Option<Requests>,
    configured: Option<Configured>,
    reports: Reports,
    levels: Levels,
    scheduler: State,
    ues: Vec<Ue>,
    bearers: Vec<BearerState>,
    rlcs: Vec<Bearer>,
    blocks: Blocks,
    /// Data of each block of [`UplinkCell::blocks`].
    sent: Vec<Sent>,
    /// Grants of later TTIs, in the order of TTIs.
    grants: VecDeque<Grant>,
    /// Requests on their way: time of decoding, UE and TTI.
    heard: VecDeque<(Time, u32, u64)>,
    /// UEs with a demand for grants, one bit each.
    demanding: Vec<u64>,
    /// Beginnings of TTIs in which a UE acts without a grant: in slots [`UplinkCell::place_configured`] and
    /// [`UplinkCell::place_request`].
    occasions: Deadlines,
    /// Expiry of retxBSR-Timer of each UE.
    retries: Deadlines,
    /// Timers of the RLC of each bearer.
    timers: Deadlines,
    account: Account,
    /// The first TTI whose resource blocks have not been granted.
    planned: u64,
    next: Time,
    candidates: Vec<Candidate>,
    plan: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Ue {
    radio: Radio,
    is_constant: bool,
    random: Random,
    /// Index of the UE's first bearer.
    first: usize,
    turns: Turns,
    priorities: Vec<u8>,
    /// Bearers of the UE with data, one bit each, as of the last check.
    with_data: u32,
    /// True if a regular report is due.
    reports: bool,
    /// Time from which on a block has a periodic report.
    periodic: Time,
    /// Time at which sr-ProhibitTimer expires.
    may_request: Time,
    waits: Waits,
    station: Station,
    /// The TTI after the last one in which the UE is to repeat a block; 0 if there is none.
    repeats: u64,
    /// The TTI after the last one in which the UE has repeated a block; 0 if there is none.
    repeated: u64,
}

#[derive(Clone, Copy, Debug)]
struct BearerState {
    ue: u32,
    partly: Backlog,
    deadline: Time,
    bucket: Bucket,
}

/// Properties of a block at its first transmission.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    tti: u64,
    /// Level of its report; `None` without a report.
    level: Option<u8>,
    /// True for a configured grant, which [`Station`] does not count.
    is_configured: bool,
}

/// Resource block groups granted in a TTI.
#[derive(Clone, Copy, Debug)]
struct Grant {
    tti: u64,
    groups: u16,
    what: Content,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    /// A new block of this UE: its bytes, and the quality assumed for its channel.
    New { ue: u32, bytes: u64, quality: Quality },
    /// A repetition of the block with this number.
    Again(u32),
}

/// The destination of the packets of one bearer, which adds the waiting times of the UE.
struct Up<'a, S> {
    output: Output<'a, S>,
    waits: &'a Waits,
    now: Time,
}

impl<S: Source> Receiver for Up<'_, S> {
    #[inline]
    fn delivered(&mut self, packet: Packet, split: Split) {
        let since = split.air + split.reassembly + split.reordering;
        let taken = Time::ZERO + self.now.since(Time::ZERO).saturating_sub(since);
        let (request, grant) = self.waits.split(packet.arrival, taken);
        self.output.delivered(packet, Split { request, grant, ..split });
    }
    #[inline]
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.output.dropped(packet, reason);
    }
}

impl UplinkCell {
    /// Builds the uplink of `setting`. Random streams are derived from `seed` and `name`, one for each UE.
    ///
    /// # Errors
    /// The first invalid setting, with the expected value.
    pub fn new(setting: UplinkSetting, seed: u64, name: &str) -> Result<UplinkCell, UplinkError> {
        setting.check()?;
        let grant_ttis = setting.grant_ttis();
        let UplinkSetting { cell, requests, configured, reports, first_bytes, rates, .. } = setting;
        let (mut ues, mut bearers, mut rlcs) = (Vec::new(), Vec::new(), Vec::new());
        let fail = |error| Err(UplinkError::Cell(error));
        for (ue, of) in cell.ues.iter().enumerate() {
            let name = format!("{name} UE {ue}");
            let radio = match of.channel.start(&cell.carrier, cell.tti, of.reported, seed, &name) {
                Ok(radio) => radio.starting_from(of.place),
                Err(error) => return fail(crate::CellError::Radio { ue, error }),
            };
            let priorities: Vec<u8> = of.bearers.iter().map(|bearer| bearer.service.priority).collect();
            ues.push(Ue {
                radio,
                is_constant: of.channel.is_constant(),
                random: Random::derive(seed, &name, "harq"),
                first: bearers.len(),
                turns: Turns::new(priorities.clone()),
                priorities,
                with_data: 0,
                reports: false,
                periodic: Time::ZERO,
                may_request: Time::ZERO,
                waits: Waits::new(),
                station: Station::default(),
                repeats: 0,
                repeated: 0,
            });
            for (bearer, setting) in of.bearers.iter().enumerate() {
                rlcs.push(match Bearer::new(setting.rlc) {
                    Ok(rlc) => rlc,
                    Err(error) => return fail(crate::CellError::Rlc { ue, bearer, error }),
                });
                let bucket = Bucket::new(rates.get(bearers.len()).copied().flatten());
                let partly = Backlog::default();
                bearers.push(BearerState { ue: ue as u32, partly, deadline: Time::NEVER, bucket });
            }
        }
        Ok(UplinkCell {
            clock: Clock { phase: cell.phase, tti: cell.tti },
            harq: cell.harq,
            air: cell.air_span(),
            harq_ttis: cell.harq_ttis(),
            grant_ttis,
            first_bytes: u64::from(first_bytes),
            requests,
            configured,
            reports,
            levels: Levels::for_technology(cell.carrier.is_lte()),
            scheduler: State::new(&cell.scheduler, ues.len(), cell.tti),
            blocks: Blocks::default(),
            sent: Vec::new(),
            grants: VecDeque::new(),
            heard: VecDeque::new(),
            demanding: vec![0; ues.len().div_ceil(64)],
            occasions: Deadlines::new(2 * ues.len()),
            retries: Deadlines::new(ues.len()),
            timers: Deadlines::new(bearers.len()),
            account: Account::default(),
            planned: 0,
            next: Time::NEVER,
            candidates: Vec::new(),
            plan: Vec::new(),
            ues,
            bearers,
            rlcs,
            grid: Grid {
                slots: cell.slots(),
                carrier: cell.carrier,
                control: cell.control,
                unit: cell.unit,
                tdd: cell.tdd.map(|tdd| (tdd.reversed(), None)),
            },
        })
    }
    /// Number of bearers: the host connects as many queues, in their order.
    pub fn bearers(&self) -> usize {
        self.bearers.len()
    }
    /// Notifies the uplink that a packet has arrived at the empty queue of `bearer`. A call for a non-empty
    /// queue has no effect.
    pub fn wake(&mut self, now: Time, bearer: usize) {
        self.has_data(now, bearer, self.clock.after(now));
        self.find_next(now);
    }
    /// Forwards to [`Bearer::announce`]: a packet of `packet_bytes` IP bytes has arrived at the queue of
    /// `bearer`, empty or not.
    pub fn announce(&mut self, bearer: usize, packet_bytes: u32) {
        if let Some(rlc) = self.rlcs.get_mut(bearer) {
            rlc.announce(packet_bytes);
        }
    }
    /// The time of the next event.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Runs the events due at `now`: receptions, requests, timers, a TTI. Does nothing at any other time.
    /// [`Source::served`] is not called, since no pacer is above the queue of a UE.
    pub fn run<S: Source>(&mut self, now: Time, source: &mut S) {
        while self.next <= now && self.next < Time::NEVER {
            let at = self.next;
            self.decode(at, source);
            while let Some((_, ue, tti)) = self.heard.pop_front_if(|&mut (time, ..)| time <= at) {
                self.ues[ue as usize].station.requested(tti, self.first_bytes);
                self.demand(ue);
            }
            while self.timers.next() <= at {
                let bearer = self.timers.first();
                self.end_parts(bearer, at, source, |rlc, receiver| rlc.poll(at, receiver));
                self.follow(bearer, at, source);
            }
            while self.retries.next() <= at {
                let ue = self.retries.first();
                self.retries.set(ue, Time::NEVER);
                if self.ues[ue].with_data != 0 {
                    self.report(at, ue, self.clock.from(at).max(self.account.next));
                }
            }
            let tti = self.next_tti(at);
            if tti < u64::MAX && self.clock.time(tti) <= at {
                self.run_tti(tti, at, source);
            }
            self.find_next(at);
        }
    }
    /// Packets in the uplink: partly sent, on the air, not yet reassembled, or kept for retransmission and not yet delivered.
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
    /// Usage of the resource blocks from the beginning of the run to `now`, the TTI that begins at `now`
    /// included. Wasted resource blocks are those granted to no UE, or reserved for a configured grant
    /// without data; none is unfit.
    pub fn usage(&self, now: Time) -> CellUsage {
        let last = self.ues.get(self.account.last_ue as usize).map(|ue| (&ue.radio, ue.is_constant));
        self.account.until(self.clock.after(now), &self.grid, self.clock, last)
    }

    /// Records that bearer `bearer` has data that can be sent from TTI number `tti` on.
    fn has_data(&mut self, now: Time, bearer: usize, tti: u64) {
        let Some(state) = self.bearers.get(bearer) else { return };
        let number = state.ue as usize;
        let ue = &mut self.ues[number];
        let local = bearer - ue.first;
        let before = ue.with_data;
        if before & 1 << local != 0 {
            return;
        }
        ue.with_data |= 1 << local;
        let others = crate::cell::activity::ones(before);
        let is_first = others.map(|other| ue.priorities[other]).all(|other| ue.priorities[local] < other);
        if is_first {
            self.report(now, number, tti);
        }
        if before == 0
            && let Some(Configured { period, .. }) = self.configured
        {
            let tti = self.occasion(tti, period, Span::ZERO, number);
            self.occasions.set(self.place_configured(number), self.clock.time(tti));
        }
    }

    /// Records that a regular report of `ue` is due, and a request for it from TTI number `tti` on.
    fn report(&mut self, now: Time, number: usize, tti: u64) {
        let ue = &mut self.ues[number];
        ue.waits.begin(now);
        if !ue.reports {
            ue.reports = true;
            self.await_request(tti, number);
        }
    }

    /// Sets the next occasion of a request of `ue` from TTI number `tti` on.
    fn await_request(&mut self, tti: u64, ue: usize) {
        let Some(Requests { period, offset, .. }) = self.requests else { return };
        let allowed = self.clock.from(self.ues[ue].may_request);
        let tti = self.occasion(tti.max(allowed), period, offset, ue);
        self.occasions.set(self.place_request(ue), self.clock.time(tti));
    }

    /// The first TTI from number `from` on that is an occasion of `ue`: every `period`, from `offset` on for
    /// the first UE, and a TTI later for each further UE; if that TTI is not of the uplink, the next one that
    /// is.
    fn occasion(&self, from: u64, period: Span, offset: Span, ue: usize) -> u64 {
        let tti = self.clock.tti.as_nanos().max(1);
        let (period, offset) = ((period.as_nanos() / tti).max(1), offset.as_nanos() / tti);
        let first = (offset + ue as u64) % period;
        let due = from + (first + period - from % period) % period;
        // The previous occasion may have been postponed until now.
        match due.checked_sub(period).map(|before| self.uplink_from(before)) {
            Some(tti) if tti >= from => tti,
            _ => self.uplink_from(due),
        }
    }

    fn place_configured(&self, ue: usize) -> usize {
        ue
    }
    fn place_request(&self, ue: usize) -> usize {
        self.ues.len() + ue
    }

    /// Updates the bit that records if `ue` has a demand for grants.
    fn demand(&mut self, ue: u32) {
        let (word, bit) = (ue as usize / 64, 1 << (ue % 64));
        if self.ues[ue as usize].station.demand > 0 {
            self.demanding[word] |= bit;
        } else {
            self.demanding[word] &= !bit;
        }
    }

    /// Decodes the blocks whose time on the air is over.
    fn decode<S: Source>(&mut self, now: Time, source: &mut S) {
        while let Some(number) = self.blocks.decoded(now) {
            let &mut Block { ue, is_lost, repeated, tti, .. } = self.blocks.get(number);
            if is_lost && repeated < self.harq.retransmissions {
                let tti = self.repetition(tti);
                self.blocks.repeat(number, tti);
                continue;
            }
            let parts = core::mem::take(&mut self.blocks.get(number).parts);
            for &(bearer, id) in &parts {
                self.end_parts(bearer as usize, now, source, |rlc, receiver| match is_lost {
                    true => rlc.lost(now, id, receiver),
                    false => rlc.received(now, id, receiver),
                });
            }
            self.blocks.get(number).parts = parts;
            self.blocks.close(number);
            let Sent { tti, level, is_configured } = self.sent[number as usize];
            // A configured grant is not among the grants of the station: without a report it changes nothing
            // there.
            let report = level.filter(|_| !is_lost).map(|level| self.levels.bytes(level));
            if report.is_some() || !is_configured {
                self.ues[ue as usize].station.ended(tti, report, self.first_bytes);
                self.demand(ue);
            }
        }
    }

    /// Handles an event of the RLC of a bearer that may hand packets up or lose them.
    fn end_parts<S: Source>(
        &mut self,
        bearer: usize,
        now: Time,
        source: &mut S,
        what: impl FnOnce(&mut Bearer, &mut Up<'_, S>),
    ) {
        let ue = self.bearers[bearer].ue as usize;
        let output = Output { source, bearer };
        what(&mut self.rlcs[bearer], &mut Up { output, waits: &self.ues[ue].waits, now });
        self.set_timer(bearer);
    }

    /// Handles an expired timer of the RLC of `bearer`: the bearer may have data to send.
    fn follow<S: Source>(&mut self, bearer: usize, now: Time, source: &S) {
        self.bearers[bearer].partly = self.rlcs[bearer].remaining();
        if self.rlcs[bearer].wanted_bytes(source.backlog(bearer)) > 0 {
            self.has_data(now, bearer, self.clock.from(now).max(self.account.next));
        }
    }

    #[inline]
    fn set_timer(&mut self, bearer: usize) {
        let (deadline, state) = (self.rlcs[bearer].next_deadline(), &mut self.bearers[bearer]);
        if deadline != state.deadline {
            state.deadline = deadline;
            self.timers.set(bearer, deadline);
        }
    }

    /// The next TTI with work to do, from `now` on.
    fn next_tti(&self, now: Time) -> u64 {
        let least = self.account.next.max(self.clock.from(now));
        let granted = self.grants.front().map_or(u64::MAX, |grant| grant.tti);
        let repeats = self.blocks.next_repetition().map_or(u64::MAX, |tti| self.granting(tti));
        let occasion = self.occasions.next();
        let occasion = if occasion < Time::NEVER { self.clock.from(occasion) } else { u64::MAX };
        let plans = if self.demanding.iter().any(|&word| word != 0) { least } else { u64::MAX };
        let tti = granted.min(repeats).min(occasion).min(plans);
        if tti < u64::MAX { tti.max(least) } else { tti }
    }

    fn find_next(&mut self, now: Time) {
        let tti = self.next_tti(now);
        let tti = if tti < u64::MAX { self.clock.time(tti) } else { Time::NEVER };
        let heard = self.heard.front().map_or(Time::NEVER, |&(time, ..)| time);
        let timers = self.timers.next().min(self.retries.next());
        self.next = tti.min(heard).min(timers).min(self.blocks.next_decoded());
    }

    /// Counts the TTIs before `until` that have not been counted; no UE sent in them.
    fn count_idle(&mut self, until: u64) {
        if let Some(ue) = self.ues.get_mut(self.account.last_ue as usize) {
            let idle = Idle { radio: &mut ue.radio, is_constant: ue.is_constant };
            self.account.idle(until, &self.grid, self.clock, idle);
        }
    }
}
