//! Guaranteed bit rates: bearers that are served before the scheduler decides, each as far as its tokens
//! reach.
//!
//! A bearer with a guaranteed bit rate (GBR) has a token bucket, filled at that rate, whose depth is
//! [`WINDOW`] at that rate, the averaging window of TS 23.501 clause 5.7.3.6 (table 5.7.4-1). Every packet
//! byte carried in the groups granted for it costs a token; bytes carried in groups from the scheduler cost
//! none.
//!
//! In each TTI, UEs with such bearers take turns to be granted the groups for the bytes that their tokens
//! allow. The scheduler shares the remaining groups among all UEs by their remaining demand. Within the block
//! of a UE, bearers of higher priority leave as many bytes as were granted for the guarantees of those behind
//! them.
//!
//! # Differences from the reference
//! * The standard leaves to the base station how a guarantee is met, and admission control refuses bearers
//!   that do not fit. Here a cell whose guarantees need more than its capacity is refused
//!   ([`CellError::Guaranteed`]).
//! * Tokens are bytes of packets; headers are sent in addition.

use super::activity::ones;
use super::tti::Radios;
use super::{Cell, CellError, CellSetting, Source};
use crate::mac::{Candidate, CandidateSource, Frame, Law as _};
use crate::radio::{Quality, Reported};
use alloc::vec::Vec;
use qdelay_core::{Rate, Span, Time};

/// Depth of a bucket, as time at its rate.
const WINDOW: Span = Span::from_millis(2000);
/// Bytes assumed for headers of MAC, RLC and PDCP in each grant of a guarantee.
const HEADER_BYTES: u64 = 16;
/// Nanobits (10^-9 bits) in a byte.
const NANOBITS: i128 = 8_000_000_000;

/// The token bucket of a bearer, in nanobits: exact at any rate.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: Rate,
    tokens: i128,
    /// Time up to which the bucket is filled.
    at: Time,
    /// Bytes of the UE's block that are reserved for the bearer in this TTI.
    reserved: u64,
}

impl Bucket {
    fn new(rate: Rate) -> Bucket {
        Bucket { rate, tokens: 0, at: Time::ZERO, reserved: 0 }
    }
    /// The tokens at `now`, in whole bytes.
    fn bytes(&mut self, now: Time) -> u64 {
        let rate = i128::from(self.rate.as_bps());
        let most = rate * i128::from(WINDOW.as_nanos());
        self.tokens = (self.tokens + rate * i128::from(now.since(self.at).as_nanos())).min(most);
        self.at = self.at.max(now);
        (self.tokens / NANOBITS).max(0) as u64
    }
    fn spend(&mut self, bytes: u64) {
        self.tokens -= i128::from(bytes) * NANOBITS;
    }
}

/// The guarantees of a cell.
#[derive(Clone, Debug)]
pub(super) struct Guarantees {
    /// Bucket of each bearer; `None` without a guarantee.
    buckets: Vec<Option<Bucket>>,
    /// For each UE: the bearers with a guarantee, one bit each, and its first bearer.
    ues: Vec<(u32, usize)>,
    /// Bearers of each UE in the order of service, as indices within the UE; taken at the TTI's beginning.
    orders: Vec<Vec<u8>>,
    /// The UE whose turn it is.
    next: u32,
    /// Groups granted for guarantees, by candidate of the TTI.
    granted: Vec<u16>,
    /// Bytes of these groups that no packet has used yet, by UE.
    credits: Vec<u64>,
}

/// Candidates that are complete: no channel is queried.
struct Complete;

impl CandidateSource for Complete {
    fn query_channel(&mut self, _: &mut Candidate) {}
}

impl Guarantees {
    /// The guarantees of `setting`; `None` if it has none.
    ///
    /// # Errors
    /// The guarantees need more than the cell has.
    pub fn new(setting: &CellSetting) -> Result<Option<Guarantees>, CellError> {
        let (mut buckets, mut ues, mut load) = (Vec::new(), Vec::new(), 0.0);
        let carrier = &setting.carrier;
        for (number, ue) in setting.ues.iter().enumerate() {
            let (first, mut bits) = (buckets.len(), 0);
            let mcs = match ue.channel.start(carrier, setting.tti, Reported::default(), 0, "") {
                Ok(mut radio) if ue.channel.is_constant() => match radio.quality(Time::ZERO) {
                    Quality::Rung(rung) => carrier.mcs_of(rung),
                    Quality::Bytes(_) | Quality::Outage => carrier.mcs_max(),
                },
                _ => carrier.mcs_max(),
            };
            let slot_bits = 8.0 * f64::from(carrier.block_bytes(mcs, carrier.prbs()));
            for (place, bearer) in ue.bearers.iter().enumerate() {
                let Some(rate) = bearer.service.guaranteed else {
                    buckets.push(None);
                    continue;
                };
                load += rate.as_bps() as f64 * carrier.slot().as_secs_f64() / slot_bits.max(1.0);
                if load > 1.0 {
                    return Err(CellError::Guaranteed { ue: number, bearer: place, load });
                }
                bits |= 1 << place;
                buckets.push(Some(Bucket::new(rate)));
            }
            ues.push((bits, first));
        }
        let has_any = buckets.iter().any(Option::is_some);
        let credits = ues.iter().map(|_| 0).collect();
        let orders = ues.iter().map(|_| Vec::new()).collect();
        Ok(has_any.then(|| Guarantees { buckets, ues, orders, next: 0, granted: Vec::new(), credits }))
    }

    /// Bytes of the block of `ue` that are reserved for guarantees of bearers from position `place` on in the
    /// order of service.
    pub fn reserved(&self, ue: usize, place: usize) -> u64 {
        let (bits, first) = self.ues[ue];
        if bits == 0 {
            return 0;
        }
        let behind = self.orders[ue].iter().skip(place);
        behind
            .filter_map(|&local| self.buckets[first + usize::from(local)].as_ref())
            .map(|bucket| bucket.reserved)
            .sum()
    }

    /// Records that `bytes` of packets of `bearer` of `ue` were taken.
    pub fn sent(&mut self, ue: usize, bearer: usize, bytes: u64) {
        if let Some(bucket) = &mut self.buckets[bearer] {
            let spent = bytes.min(self.credits[ue]);
            self.credits[ue] -= spent;
            bucket.spend(spent);
        }
    }
}

impl Cell {
    /// Plans a TTI of a cell with guarantees, whose candidates are all collected: first as far as tokens
    /// reach, then by the scheduler.
    #[inline(never)]
    pub(super) fn plan_guaranteed<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        free: u16,
        source: &S,
    ) {
        let Some(mut guarantees) = self.guarantees.take() else { return };
        let Guarantees { buckets, ues, orders, next, granted, credits } = &mut *guarantees;
        let mut left = free;
        granted.clear();
        granted.resize(self.candidates.len(), 0);
        self.candidates.iter_mut().for_each(|candidate| {
            Radios { links: &mut self.carrier.links, frame, now }.query_channel(candidate)
        });
        let start = self.candidates.partition_point(|candidate| candidate.ue < *next);
        let mut order: Option<u32> = None;
        for number in (start..self.candidates.len()).chain(0..start) {
            let candidate = &mut self.candidates[number];
            let (bits, first) = ues[candidate.ue as usize];
            let mut wanted = 0;
            credits[candidate.ue as usize] = 0;
            for local in ones(bits) {
                let bearer = first + local;
                let Some(bucket) = &mut buckets[bearer] else { continue };
                let has_data = self.activity.has(candidate.ue as usize, local);
                let wish = self.bearers[bearer].wanted_bytes(&self.rlcs[bearer], source.backlog(bearer));
                let tokens = bucket.bytes(now);
                bucket.reserved = if has_data && tokens > 0 { wish.min(tokens + HEADER_BYTES) } else { 0 };
                wanted += bucket.reserved;
            }
            if wanted == 0 || candidate.need == 0 || left == 0 {
                ones(bits).for_each(|local| {
                    if let Some(bucket) = &mut buckets[first + local] {
                        bucket.reserved = 0;
                    }
                });
                continue;
            }
            let turns = &self.ues[candidate.ue as usize].turns;
            let places = &mut orders[candidate.ue as usize];
            places.clear();
            places.extend((0..turns.len()).map(|place| turns.bearer_at(place) as u8));
            let groups = frame.groups_for(candidate.quality, 0, wanted).max(candidate.least);
            if groups > left {
                // The first UE without a whole grant is first in the next TTI.
                order = order.or(Some(candidate.ue));
                if left < candidate.least {
                    continue;
                }
            }
            granted[number] = groups.min(left).min(candidate.need);
            left -= granted[number];
            credits[candidate.ue as usize] = frame.bytes(candidate.quality, frame.prbs(0, granted[number]));
            candidate.need -= granted[number];
            candidate.least = candidate.least.min(candidate.need).min(1);
        }
        debug_assert!(granted.iter().sum::<u16>() <= free, "guarantees fit the free groups");
        *next = order.unwrap_or(*next + 1) % (ues.len() as u32).max(1);
        self.carrier.scheduler.plan(tti, &mut self.candidates, left, &mut Complete, &mut self.plan);
        for (number, &groups) in granted.iter().enumerate().filter(|(_, groups)| **groups > 0) {
            let candidate = &mut self.candidates[number];
            if candidate.groups == 0 {
                self.plan.push(number as u32);
            }
            candidate.groups += groups;
        }
        self.guarantees = Some(guarantees);
    }
}
