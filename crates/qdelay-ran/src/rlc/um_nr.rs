//! NR's unacknowledged mode: whole packets without a number, and segments with one.
//!
//! Source: TS 38.322 clauses 5.2.2 and 7.1. TX_Next is `next`; RX_Next_Reassembly is `awaited`, RX_Next_Highest `highest`,
//! RX_Timer_Trigger `trigger`.
//!
//! # Differences from the reference
//! A packet with a lost block, or refused by the receiver, is dropped as soon as that is known and the MAC has taken all of
//! it, not when the receiver gives up; the receiver's timers are not affected.

use super::assembly::Assemblies;
use super::blocks::Part;
use super::header::nr_um_bytes;
use super::intake::Intake;
use super::ledger::{Ledger, NONE, SduId};
use super::numbers::{START, at_or_above, on_the_air, window};
use super::prefixes::{self, Prefixes};
use super::setting::{MacHeader, NrUm, RlcSetting};
use super::{Common, Receiver, Supply, Transmitted};
use alloc::collections::VecDeque;
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

#[derive(Clone, Debug)]
pub(super) struct UmNr {
    um: NrUm,
    mac: MacHeader,
    pub intake: Intake,
    next: u64,
    receiver: UmNrReceiver,
}

/// A sequence number whose segments are arriving.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The packet, held; `NONE` before the first segment and after completion.
    sdu: SduId,
    assembly: u32,
    whole: bool,
}

const EMPTY: Slot = Slot { sdu: NONE, assembly: NONE, whole: false };

#[derive(Clone, Debug)]
struct UmNrReceiver {
    awaited: u64,
    /// Slots of the numbers from `awaited` to before `highest`.
    slots: VecDeque<Slot>,
    trigger: u64,
    timer: Time,
    assemblies: Assemblies,
}

impl UmNr {
    pub fn new(setting: &RlcSetting, um: NrUm) -> UmNr {
        UmNr {
            um,
            mac: setting.mac,
            intake: Intake::new(setting.sdu_overhead_bytes),
            next: START,
            receiver: UmNrReceiver {
                awaited: START,
                slots: VecDeque::new(),
                trigger: START,
                timer: Time::NEVER,
                assemblies: Assemblies::default(),
            },
        }
    }

    pub fn wanted_bytes(&self, common: &Common, queue: Backlog) -> u64 {
        let mut wanted = 0;
        if self.intake.is_open() {
            let pdu = nr_um_bytes(self.um.sn_bits, 1, true) + self.intake.rest_bytes(&common.ledger);
            wanted += pdu + self.mac.bytes(pdu);
        }
        if queue.packets > 0 {
            let data = self.intake.queued_bytes(queue) + queue.packets;
            wanted += data + queue.packets * self.mac.bytes(data);
        }
        wanted
    }

    /// Computes [`super::Bearer::prefixes`].
    pub fn prefixes<N: FnMut() -> Option<u32>>(&self, common: &Common, prefixes: &mut Prefixes<'_, N>) {
        let bits = self.um.sn_bits;
        let rest = self.intake.rest_bytes(&common.ledger);
        prefixes::apart(
            (self.mac, self.intake.overhead_bytes()),
            (0, rest, u64::MAX),
            |from| nr_um_bytes(bits, from, true),
            |from| nr_um_bytes(bits, from, false),
            prefixes,
        );
    }

    pub fn transmit<S: Supply>(
        &mut self,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
    ) -> Transmitted {
        let mut done = Transmitted::default();
        let bits = self.um.sn_bits;
        loop {
            let limit = self.mac.fits(grant_bytes - done.used_bytes);
            // There must be room for a byte of a segment, so that no packet is pulled in vain.
            if limit <= nr_um_bytes(bits, u32::from(self.intake.is_open()), false) {
                break;
            }
            let Some((from, end)) = self.intake.open(&mut common.ledger, supply) else { break };
            let rest = u64::from(end - from);
            let all = nr_um_bytes(bits, from, true) + rest;
            let bytes = if all <= limit { rest } else { limit - nr_um_bytes(bits, from, false) };
            let bite = self.intake.take_segment(&mut common.ledger, now, bytes, supply, &mut done);
            let Some(bite) = bite else { break };
            let pdu = nr_um_bytes(bits, bite.from, bite.last) + u64::from(bite.to - bite.from);
            done.used_bytes += pdu + self.mac.bytes(pdu);
            common.parts.push(Part {
                unit: bite.sdu,
                sn: on_the_air(self.next, bits),
                from: bite.from,
                to: bite.to,
                last: bite.last,
                poll: false,
            });
            if bite.last && bite.from > 0 {
                self.next += 1;
            }
        }
        done
    }

    /// Handles a part that has arrived or is lost.
    pub fn ended<R: Receiver>(
        &mut self,
        common: &mut Common,
        now: Time,
        part: Part,
        arrived: bool,
        receiver: &mut R,
    ) {
        if !arrived {
            common.ledger.doom(part.unit, super::AIR);
            common.ledger.bury(part.unit, receiver);
            common.ledger.release(part.unit, receiver);
            return;
        }
        common.ledger.received(part.unit, now);
        common.ledger.bury(part.unit, receiver);
        if part.from == 0 && part.last {
            common.hand_up(part.unit, now, receiver);
            common.ledger.release(part.unit, receiver);
        } else {
            self.receiver.place(self.um, common, now, part, receiver);
        }
    }

    /// Handles a handover: packets that the UE has not received completely are lost.
    #[cold]
    #[inline(never)]
    pub fn hand_over<R: Receiver>(&mut self, common: &mut Common, receiver: &mut R) {
        let entity = &mut self.receiver;
        entity.advance(&mut common.ledger, entity.highest(), receiver);
        (entity.awaited, entity.trigger, entity.timer) = (START, START, Time::NEVER);
        if let Some(sdu) = self.intake.reset() {
            common.ledger.release(sdu, receiver);
        }
        self.next = START;
    }

    pub fn next_deadline(&self) -> Time {
        self.receiver.timer
    }

    pub fn poll<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        if self.receiver.timer <= now {
            self.receiver.timer = Time::NEVER;
            let until = self.receiver.trigger;
            self.receiver.advance(&mut common.ledger, until, receiver);
            self.receiver.wait(self.um, now);
        }
    }
}

impl UmNrReceiver {
    fn highest(&self) -> u64 {
        self.awaited + self.slots.len() as u64
    }

    fn place<R: Receiver>(&mut self, um: NrUm, common: &mut Common, now: Time, part: Part, receiver: &mut R) {
        let window = window(um.sn_bits);
        let number = at_or_above(self.highest() - window, part.sn, um.sn_bits);
        let place = number.saturating_sub(self.awaited) as usize;
        if number < self.awaited || self.slots.get(place).is_some_and(|slot| slot.whole) {
            refuse(&mut common.ledger, part.unit, receiver);
            return;
        }
        if place >= self.slots.len() {
            self.slots.resize(place + 1, EMPTY);
        }
        let slot = &mut self.slots[place];
        if slot.sdu == part.unit {
            common.ledger.release(part.unit, receiver);
        } else {
            // Sequence numbers that wrapped around unnoticed would merge two packets into one: upper layers would refuse it.
            if slot.sdu != NONE {
                refuse(&mut common.ledger, slot.sdu, receiver);
                self.assemblies.remove(slot.assembly);
            }
            *slot = Slot { sdu: part.unit, assembly: self.assemblies.add(), whole: false };
        }
        let assembly = self.assemblies.get_mut(slot.assembly);
        assembly.add(part.from, part.to, part.last);
        if assembly.is_whole() {
            self.assemblies.remove(slot.assembly);
            *slot = Slot { whole: true, ..EMPTY };
            common.hand_up(part.unit, now, receiver);
            common.ledger.release(part.unit, receiver);
        }
        // Numbers below the window are not awaited.
        let below = self.highest() - window;
        self.advance(&mut common.ledger, below, receiver);
        let outside = self.trigger < self.highest() - window && self.trigger != self.highest();
        if self.trigger <= self.awaited || outside || !self.is_missing() {
            self.timer = Time::NEVER;
        }
        self.wait(um, now);
    }

    /// Returns true if a segment is missing before one that has arrived.
    fn is_missing(&self) -> bool {
        match self.slots.front() {
            None => false,
            Some(slot) if self.slots.len() == 1 => {
                slot.sdu != NONE && self.assemblies.get(slot.assembly).has_hole()
            }
            Some(_) => true,
        }
    }

    /// Gives up the incomplete numbers before `until`, and advances past the complete ones after that.
    fn advance<R: Receiver>(&mut self, ledger: &mut Ledger, until: u64, receiver: &mut R) {
        while let Some(&slot) = self.slots.front() {
            if !slot.whole && self.awaited >= until {
                break;
            }
            self.slots.pop_front();
            self.awaited += 1;
            if slot.sdu != NONE {
                self.assemblies.remove(slot.assembly);
                refuse(ledger, slot.sdu, receiver);
            }
        }
    }

    fn wait(&mut self, um: NrUm, now: Time) {
        if self.timer == Time::NEVER && self.is_missing() {
            self.trigger = self.highest();
            self.timer = now + um.t_reassembly;
        }
    }
}

/// Releases an incomplete SDU that the receiver gives up.
fn refuse<R: Receiver>(ledger: &mut Ledger, sdu: SduId, receiver: &mut R) {
    ledger.doom(sdu, super::REASSEMBLY);
    ledger.bury(sdu, receiver);
    ledger.release(sdu, receiver);
}
