//! LTE's unacknowledged mode: concatenation, segmentation, and a receiver that restores the order of PDUs.
//!
//! Source: TS 36.322 clauses 5.1.2 and 7.1. VT(US) is `next`; VR(UR) is `awaited`, VR(UH) `highest`, VR(UX) `trigger`.
//!
//! # Differences from the reference
//! A packet with a lost block, or refused by the receiver, is dropped as soon as that is known and the MAC has taken all of
//! it, not when the receiver gives up; the receiver's timers are not affected.

use super::blocks::Part;
use super::concatenation::{InSequence, PduId, Pdus};
use super::header::lte_um_bytes;
use super::intake::Intake;
use super::ledger::NONE;
use super::numbers::{START, at_or_above, on_the_air, window};
use super::prefixes::{self, Prefixes};
use super::setting::{LteUm, MacHeader, RlcSetting};
use super::{Common, Receiver, Supply, Transmitted};
use alloc::collections::VecDeque;
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

#[derive(Clone, Debug)]
pub(super) struct UmLte {
    um: LteUm,
    mac: MacHeader,
    pub intake: Intake,
    pdus: Pdus,
    next: u64,
    receiver: UmLteReceiver,
}

/// The receiver. It holds the PDUs that wait for an earlier one.
#[derive(Clone, Debug)]
struct UmLteReceiver {
    awaited: u64,
    /// PDUs from `awaited` to before `highest`; `NONE` for missing ones.
    waiting: VecDeque<PduId>,
    trigger: u64,
    timer: Time,
    in_sequence: InSequence,
}

impl UmLte {
    pub fn new(setting: &RlcSetting, um: LteUm) -> UmLte {
        UmLte {
            um,
            mac: setting.mac,
            intake: Intake::new(setting.sdu_overhead_bytes),
            pdus: Pdus::default(),
            next: START,
            receiver: UmLteReceiver {
                awaited: START,
                waiting: VecDeque::new(),
                trigger: START,
                timer: Time::NEVER,
                in_sequence: InSequence::default(),
            },
        }
    }

    /// Forwards [`super::Bearer::announce`] to the sender.
    pub fn announce(&mut self, packet_bytes: u32) {
        self.pdus.announce(self.intake.sdu_bytes(packet_bytes));
    }

    pub fn wanted_bytes(&self, common: &Common, queue: Backlog) -> u64 {
        self.pdus.wanted_bytes(&common.ledger, &self.intake, lte_um_bytes(self.um.sn_bits), self.mac, queue)
    }

    /// Computes [`super::Bearer::prefixes`].
    pub fn prefixes<N: FnMut() -> Option<u32>>(&self, common: &Common, prefixes: &mut Prefixes<'_, N>) {
        let shape = (lte_um_bytes(self.um.sn_bits), self.mac, self.intake.overhead_bytes());
        let rest = self.intake.rest_bytes(&common.ledger);
        prefixes::concatenated(shape, (0, rest, u64::MAX), prefixes);
    }

    pub fn transmit<S: Supply>(
        &mut self,
        common: &mut Common,
        now: Time,
        grant_bytes: u64,
        supply: &mut S,
    ) -> Transmitted {
        let mut done = Transmitted::default();
        loop {
            let limit = self.mac.fits(grant_bytes - done.used_bytes);
            let shape = (now, lte_um_bytes(self.um.sn_bits), limit);
            let Some((unit, bytes)) =
                self.pdus.fill(&mut common.ledger, &mut self.intake, shape, supply, &mut done)
            else {
                break;
            };
            let sn = on_the_air(self.next, self.um.sn_bits);
            self.next += 1;
            done.used_bytes += bytes + self.mac.bytes(bytes);
            let to = self.pdus.get(unit).bytes;
            common.parts.push(Part { unit, sn, from: 0, to, last: true, poll: false });
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
        let ledger = &mut common.ledger;
        for element in self.pdus.elements(part.unit) {
            if arrived {
                ledger.received(element.sdu, now);
            } else {
                ledger.doom(element.sdu, super::AIR);
            }
            ledger.bury(element.sdu, receiver);
        }
        if arrived {
            self.receiver.place(self.um, &mut self.pdus, common, now, part, receiver);
        } else {
            self.pdus.release(part.unit, &mut common.ledger, receiver);
        }
    }

    pub fn next_deadline(&self) -> Time {
        self.receiver.timer
    }

    pub fn poll<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        if self.receiver.timer <= now {
            self.receiver.timer = Time::NEVER;
            let until = self.receiver.trigger;
            self.receiver.advance(&mut self.pdus, common, now, until, receiver);
            self.receiver.wait(self.um, now);
        }
    }

    /// Handles a handover: the receiver delivers its complete packets, and the rest is lost.
    #[cold]
    #[inline(never)]
    pub fn hand_over<R: Receiver>(&mut self, common: &mut Common, now: Time, receiver: &mut R) {
        let UmLte { receiver: entity, pdus, intake, .. } = self;
        entity.advance(pdus, common, now, entity.highest(), receiver);
        entity.in_sequence.gap(&mut common.ledger, receiver);
        (entity.awaited, entity.trigger, entity.timer) = (START, START, Time::NEVER);
        if let Some(sdu) = intake.reset() {
            common.ledger.release(sdu, receiver);
        }
        self.next = START;
    }

    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.pdus.held()
    }
}

impl UmLteReceiver {
    fn highest(&self) -> u64 {
        self.awaited + self.waiting.len() as u64
    }

    fn place<R: Receiver>(
        &mut self,
        um: LteUm,
        pdus: &mut Pdus,
        common: &mut Common,
        now: Time,
        part: Part,
        receiver: &mut R,
    ) {
        let window = window(um.sn_bits);
        let number = at_or_above(self.highest() - window, part.sn, um.sn_bits);
        let before = number < self.awaited;
        let place = number.saturating_sub(self.awaited) as usize;
        if before || self.waiting.get(place).is_some_and(|&pdu| pdu != NONE) {
            for element in pdus.elements(part.unit) {
                common.ledger.doom(element.sdu, super::REASSEMBLY);
                common.ledger.bury(element.sdu, receiver);
            }
            pdus.release(part.unit, &mut common.ledger, receiver);
            return;
        }
        if place == 0 && self.waiting.is_empty() {
            // The usual case: nothing is missing, so no PDU waits, and no timer runs.
            self.awaited += 1;
            let all = (0, pdus.get(part.unit).bytes);
            self.in_sequence.feed((pdus, &mut *common), now, part.unit, all, receiver);
            pdus.release(part.unit, &mut common.ledger, receiver);
            return;
        }
        if place >= self.waiting.len() {
            self.waiting.resize(place + 1, NONE);
        }
        self.waiting[place] = part.unit;
        // PDUs below the window are not awaited.
        let below = self.highest() - window;
        self.advance(pdus, common, now, below, receiver);
        let outside = self.trigger < self.highest() - window && self.trigger != self.highest();
        if self.trigger <= self.awaited || outside {
            self.timer = Time::NEVER;
        }
        self.wait(um, now);
    }

    /// Reassembles the available PDUs before `until`, and those that follow without a gap.
    fn advance<R: Receiver>(
        &mut self,
        pdus: &mut Pdus,
        common: &mut Common,
        now: Time,
        until: u64,
        receiver: &mut R,
    ) {
        while let Some(&pdu) = self.waiting.front() {
            if pdu == NONE && self.awaited >= until {
                break;
            }
            self.waiting.pop_front();
            self.awaited += 1;
            if pdu == NONE {
                self.in_sequence.gap(&mut common.ledger, receiver);
            } else {
                let all = (0, pdus.get(pdu).bytes);
                self.in_sequence.feed((pdus, &mut *common), now, pdu, all, receiver);
                pdus.release(pdu, &mut common.ledger, receiver);
            }
        }
    }

    fn wait(&mut self, um: LteUm, now: Time) {
        if self.timer == Time::NEVER && !self.waiting.is_empty() {
            self.trigger = self.highest();
            self.timer = now + um.t_reordering;
        }
    }
}
