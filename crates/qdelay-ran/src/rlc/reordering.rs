//! PDCP above RLC: the ideal one, which restores the order in which packets were sent, and that of
//! [`crate::pdcp`].
//!
//! Source: TS 38.323 clauses 5.2.2.1 and 5.2.2.2. RX_DELIV is `deliver`, RX_NEXT `next`, RX_REORD `reorder`.
//!
//! # Differences of the ideal one from the reference
//! * A packet is numbered when it leaves the queue of its bearer, not when it enters: packets dropped by the
//!   queue leave no gap.
//! * Numbers are not sent: the receiver has the full COUNT, so more than half of all numbers in transit cause
//!   no ambiguity.

use super::Receiver;
use super::ledger::{Ledger, NONE, SduId};
use super::setting::PdcpReordering;
use crate::pdcp::{DESYNCHRONIZED, OLD, Outcome, PdcpCounts, PdcpSetting, Reception};
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// The receiving PDCP entity of a bearer.
#[derive(Clone, Debug)]
pub(super) enum Pdcp {
    Ideal(Ideal),
    Standard(Standard),
}

impl Pdcp {
    /// Handles expiries.
    pub fn poll<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, receiver: &mut R) {
        match self {
            Pdcp::Ideal(ideal) => ideal.poll(ledger, now, receiver),
            Pdcp::Standard(standard) => standard.poll(ledger, now, receiver),
        }
    }

    #[inline]
    pub fn next_deadline(&self) -> Time {
        match self {
            Pdcp::Ideal(ideal) => ideal.next_deadline(),
            Pdcp::Standard(standard) => standard.reception.next_deadline(),
        }
    }
}

/// The entity of TS 38.323: packets have the numbers with which they entered the queue of the bearer.
#[derive(Clone, Debug)]
pub(super) struct Standard {
    sn_mask: u32,
    reception: Reception<SduId>,
    desynchronized: u64,
}

impl Standard {
    pub fn new(setting: PdcpSetting) -> Standard {
        let sn_mask = (1 << setting.sn_bits) - 1;
        Standard { sn_mask, reception: Reception::new(setting), desynchronized: 0 }
    }

    /// Receives `sdu` from RLC, complete and held for this entity.
    pub fn received<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, sdu: SduId, receiver: &mut R) {
        let packet = ledger.get(sdu).packet;
        let sn = packet.count & self.sn_mask;
        let taken_for = self.reception.count_of(sn).filter(|count| *count >= self.reception.rx_deliv());
        if taken_for.is_some_and(|count| count as u32 != packet.count) {
            // The packet takes the place of another number, but cannot be deciphered.
            self.desynchronized += 1;
            ledger.end(sdu, DESYNCHRONIZED, receiver);
        }
        self.reception.receive(now, sn, sdu, packet.bytes, |sdu, outcome| {
            end(ledger, now, (sdu, outcome), receiver);
        });
    }

    fn poll<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, receiver: &mut R) {
        self.reception.poll(now, |sdu, outcome| end(ledger, now, (sdu, outcome), receiver));
    }

    /// Statistics up to `now`.
    pub fn counts(&self, now: Time) -> PdcpCounts {
        PdcpCounts { desynchronized: self.desynchronized, ..self.reception.counts(now) }
    }
}

/// Releases a packet with its outcome.
fn end<R: Receiver>(ledger: &mut Ledger, now: Time, (sdu, outcome): (SduId, Outcome), receiver: &mut R) {
    match outcome {
        Outcome::Delivered => ledger.deliver(sdu, now, receiver),
        Outcome::Old | Outcome::Duplicate => ledger.end(sdu, OLD, receiver),
    }
    ledger.release(sdu, receiver);
}

/// The ideal entity. Holds the packets that wait for an earlier one.
#[derive(Clone, Debug)]
pub(super) struct Ideal {
    t_reordering: Span,
    /// The first packet not delivered yet.
    deliver: u64,
    /// Packets from `deliver` on; `NONE` for those that have not arrived.
    waiting: VecDeque<SduId>,
    /// The packet after the one that started the timer.
    reorder: u64,
    timer: Time,
}

impl Ideal {
    pub fn new(setting: PdcpReordering) -> Ideal {
        Ideal {
            t_reordering: setting.t_reordering,
            deliver: 0,
            waiting: VecDeque::new(),
            reorder: 0,
            timer: Time::NEVER,
        }
    }

    /// Receives `sdu` from RLC, complete and held for this entity.
    pub fn received<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, sdu: SduId, receiver: &mut R) {
        let count = ledger.get(sdu).count;
        let Some(place) = count.checked_sub(self.deliver) else {
            // The number was given up before.
            ledger.release(sdu, receiver);
            return;
        };
        let place = place as usize;
        if place == 0 && self.waiting.len() <= 1 {
            // The usual case: no packet waits.
            self.waiting.clear();
            self.deliver += 1;
            ledger.deliver(sdu, now, receiver);
            ledger.release(sdu, receiver);
        } else {
            if place >= self.waiting.len() {
                self.waiting.resize(place + 1, NONE);
            }
            self.waiting[place] = sdu;
            self.advance(ledger, now, 0, receiver);
        }
        if self.deliver >= self.reorder {
            self.timer = Time::NEVER;
        }
        self.wait(now);
    }

    /// Handles an expiry of t-Reordering.
    pub fn poll<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, receiver: &mut R) {
        if self.timer <= now {
            self.timer = Time::NEVER;
            self.advance(ledger, now, self.reorder - self.deliver, receiver);
            self.wait(now);
        }
    }

    /// Delivers those of the first `given_up` packets that are present, and those that follow without a gap.
    fn advance<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, given_up: u64, receiver: &mut R) {
        let until = self.deliver + given_up;
        while let Some(&sdu) = self.waiting.front() {
            if sdu == NONE && self.deliver >= until {
                break;
            }
            self.waiting.pop_front();
            self.deliver += 1;
            if sdu != NONE {
                ledger.deliver(sdu, now, receiver);
                ledger.release(sdu, receiver);
            }
        }
    }

    fn wait(&mut self, now: Time) {
        if self.timer == Time::NEVER && !self.waiting.is_empty() {
            self.reorder = self.deliver + self.waiting.len() as u64;
            self.timer = now + self.t_reordering;
        }
    }

    pub fn next_deadline(&self) -> Time {
        self.timer
    }
}
