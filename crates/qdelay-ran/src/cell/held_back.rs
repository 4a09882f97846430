//! Data that a pacer holds back above the bearers, and the resource blocks that it could have filled.
//!
//! In a TTI a bearer counts if its RLC has nothing to send while data waits above it. Its data could have filled the
//! resource blocks that carry it on the bearer's channel, headers not counted; all bearers together at most those that are left. A UE that could
//! not have got a block is not counted: in an outage, asleep, or repeating a block.
//!
//! In a TTI without data in the cell all resource blocks are left. Such TTIs create no events: they are counted before the data
//! above a bearer changes, one by one, since the data that counts is that of the TTI.

use super::account::{Account, Clock, Idle};
use super::{BearerState, Cell, Load, Ue};
use crate::mac::{Frame, Grid};
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
}

impl HeldBack {
    pub(super) fn new(bearers: usize) -> HeldBack {
        HeldBack { bytes: vec![0; bearers], bearers: 0 }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bearers == 0
    }
    /// Resource blocks of the TTI `frame` at `now`, of `left` unused ones, that data above bearers could have filled. `can_send`:
    /// whether a bearer's RLC is empty, and its UE could have got a block.
    fn rbs(
        &self,
        (frame, now): (Frame<'_>, Time),
        ues: &mut [Ue],
        states: &[BearerState],
        left: u64,
        mut can_send: impl FnMut(usize, &Ue) -> bool,
    ) -> u64 {
        let mut filled = 0;
        for (bearer, &bytes) in self.bytes.iter().enumerate() {
            let ue = &mut ues[states[bearer].ue as usize];
            if bytes == 0 || !can_send(bearer, ue) {
                continue;
            }
            let quality = ue.radio.known(now);
            let most_bytes = frame.bytes(quality, frame.all());
            let groups = match most_bytes {
                0 => 0,
                _ if bytes > most_bytes => frame.groups(),
                _ => frame.groups_for(quality, 0, bytes),
            };
            filled += frame.count(frame.prbs(0, groups));
            if filled >= left {
                return left;
            }
        }
        filled
    }

    /// Counts in `account` the idle TTIs before `until` one by one.
    pub(super) fn idle(
        &self,
        until: u64,
        (account, ues): (&mut Account, &mut [Ue]),
        grid: &Grid,
        clock: Clock,
        states: &[BearerState],
    ) {
        for tti in account.next..until {
            // The channels are asked for one TTI after the other: none goes back in time.
            if let Some(ue) = ues.get_mut(account.last_ue as usize) {
                let idle = Idle { radio: &mut ue.radio, is_constant: ue.is_constant };
                account.idle(tti + 1, grid, clock, idle);
            }
            let (frame, now) = (grid.frame(tti), clock.time(tti));
            let left = frame.count(frame.all());
            let can_send = |_: usize, ue: &Ue| !ue.air.as_ref().is_some_and(|air| air.is_silent(now));
            account.usage.held_back_rbs += self.rbs((frame, now), ues, states, left, can_send);
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
        if until > self.account.next {
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
        let tti = self.account.next - 1;
        let now = self.clock.time(tti);
        let (activity, loads) = (&self.activity, &self.loads);
        let is_empty = |bearer: usize, ue: &Ue, number: usize| {
            let of_bearer = |load: &&Load| load.bearer as usize == bearer;
            !activity.has(number, bearer - ue.first)
                || loads.iter().find(of_bearer).is_none_or(|load| load.remaining_packets == 0)
        };
        let states = &self.bearers;
        let can_send = |bearer: usize, ue: &Ue| {
            let is_silent = ue.air.as_ref().is_some_and(|air| air.is_silent(now));
            ue.repeated != tti + 1 && !is_silent && is_empty(bearer, ue, states[bearer].ue as usize)
        };
        self.held_back.rbs((frame, now), &mut self.ues, states, left, can_send)
    }
}
