//! Data that a pacer holds back above the bearers, and the resource blocks that it could have filled.
//!
//! In a TTI a bearer counts if its RLC has nothing to send while data waits above it. Its data could have filled the
//! resource blocks that carry it on the bearer's channel, headers not counted; all bearers together at most those that are left. Of
//! several carriers each one could have taken what the ones before it could not. A UE that could
//! not have got a block is not counted: in an outage, asleep, or repeating a block.
//!
//! In a TTI without data in the cell all resource blocks are left. Such TTIs create no events: they are counted before the data
//! above a bearer changes, one by one, since the data that counts is that of the TTI.

use super::account::Clock;
use super::component::{Component, RadioLink};
use super::{BearerState, Cell, Load, Ue};
use crate::mac::Frame;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::Time;

/// Data above each bearer.
#[derive(Clone, Debug)]
pub(super) struct HeldBack {
    /// Bytes above each bearer that its pacer holds back.
    bytes: Vec<u64>,
    /// Number of bearers with such bytes.
    bearers: usize,
    /// The bytes that the carriers of this TTI so far could not have taken; empty in a cell of one carrier.
    rest: Vec<u64>,
}

impl HeldBack {
    pub(super) fn new(bearers: usize, scells: usize) -> HeldBack {
        let rest = if scells > 0 { vec![0; bearers] } else { Vec::new() };
        HeldBack { bytes: vec![0; bearers], bearers: 0, rest }
    }
    /// Begins a TTI of a cell with several carriers.
    pub(super) fn begin(&mut self) {
        if !self.rest.is_empty() {
            self.rest.copy_from_slice(&self.bytes);
        }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bearers == 0
    }
    /// Resource blocks of the TTI `frame` at `now`, of `left` unused ones, that data above bearers could have filled. `can_send`:
    /// whether a bearer's RLC is empty, and its UE could have got a block.
    fn rbs(
        &mut self,
        (frame, now): (Frame<'_>, Time),
        links: &mut [RadioLink],
        states: &[BearerState],
        left: u64,
        mut can_send: impl FnMut(usize, &RadioLink) -> bool,
    ) -> u64 {
        let mut filled = 0;
        for bearer in 0..self.bytes.len() {
            let bytes = self.rest.get(bearer).copied().unwrap_or(self.bytes[bearer]);
            let link = &mut links[states[bearer].ue as usize];
            if bytes == 0 || !can_send(bearer, link) {
                continue;
            }
            let quality = link.radio.known(now);
            let most_bytes = frame.bytes(quality, frame.all());
            let groups = match most_bytes {
                0 => 0,
                _ if bytes > most_bytes => frame.groups(),
                _ => frame.groups_for(quality, 0, bytes),
            };
            filled += frame.count(frame.prbs(0, groups));
            if let Some(rest) = self.rest.get_mut(bearer) {
                *rest = bytes.saturating_sub(frame.bytes(quality, frame.prbs(0, groups)));
            }
            if filled >= left {
                return left;
            }
        }
        filled
    }

    /// Counts in `account` the idle TTIs before `until` one by one.
    pub(super) fn idle(
        &mut self,
        until: u64,
        (carrier, scells): (&mut Component, &mut [Component]),
        clock: Clock,
        (ues, states): (&[Ue], &[BearerState]),
    ) {
        for tti in carrier.account.next..until {
            self.begin();
            for carrier in core::iter::once(&mut *carrier).chain(&mut *scells) {
                // The channels are asked for one TTI after the other: none goes back in time.
                carrier.count_idle(tti + 1, clock);
                let Component { grid, links, account, .. } = carrier;
                let (frame, now) = (grid.frame(tti), clock.time(tti));
                let left = frame.count(frame.all());
                let can_send = |bearer: usize, link: &RadioLink| {
                    !ues[states[bearer].ue as usize].is_silent(link, tti, now)
                };
                account.usage.held_back_rbs += self.rbs((frame, now), links, states, left, can_send);
            }
        }
    }
}

impl Cell {
    /// From `now` on, `bytes` wait above `bearer` that a pacer holds back. TTIs that begin at `now` are not counted yet.
    pub fn hold_back(&mut self, now: Time, bearer: usize, bytes: u64) {
        let Some(before) = self.held_back.bytes.get(bearer).copied() else { return };
        // The resource blocks that a slice may not use would count as held back.
        if before == bytes || self.slicing.is_some() {
            return;
        }
        // The idle TTIs until now are of the data before.
        let until = self.clock.from(now).min(self.tti);
        if until > self.carrier.account.next {
            self.count_idle(until);
        }
        self.held_back.bytes[bearer] = bytes;
        match (before, bytes) {
            (0, _) => self.held_back.bearers += 1,
            (_, 0) => self.held_back.bearers -= 1,
            _ => {}
        }
    }

    /// Resource blocks of the current TTI, of `left` unused ones, that data above bearers could have filled.
    #[cold]
    pub(super) fn held_back_rbs(&mut self, frame: Frame<'_>, left: u64) -> u64 {
        let tti = self.carrier.account.next - 1;
        let now = self.clock.time(tti);
        let (activity, loads) = (&self.activity, &self.loads);
        let (states, ues) = (&self.bearers, &self.ues);
        let is_empty = |bearer: usize, ue: usize| {
            let of_bearer = |load: &&Load| load.bearer as usize == bearer;
            !activity.has(ue, bearer - ues[ue].first)
                || loads.iter().find(of_bearer).is_none_or(|load| load.remaining_packets == 0)
        };
        let can_send = |bearer: usize, link: &RadioLink| {
            let ue = states[bearer].ue as usize;
            !ues[ue].is_silent(link, tti, now) && is_empty(bearer, ue)
        };
        self.held_back.rbs((frame, now), &mut self.carrier.links, states, left, can_send)
    }
}
