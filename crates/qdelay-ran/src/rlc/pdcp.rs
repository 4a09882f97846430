//! Reordering at PDCP: packets that RLC hands up on completion are delivered in the order in which they were sent.
//!
//! Source: TS 38.323 clauses 5.2.2.1 and 5.2.2.2. RX_DELIV is `deliver`, RX_NEXT `next`, RX_REORD `reorder`.
//!
//! # Differences from the reference
//! * A packet is numbered when it leaves the queue of its bearer, not when it enters: packets dropped by the queue leave no
//!   gap.
//! * Numbers are not sent: the receiver has the full COUNT, so more than half of all numbers in transit cause no ambiguity.

use super::Receiver;
use super::ledger::{Ledger, NONE, SduId};
use super::setting::PdcpReordering;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// The receiving PDCP entity. Holds the packets that wait for an earlier one.
#[derive(Clone, Debug)]
pub(super) struct Pdcp {
    t_reordering: Span,
    /// The first packet not delivered yet.
    deliver: u64,
    /// The packets from `deliver` on: `NONE` for those that have not arrived.
    waiting: VecDeque<SduId>,
    /// The packet after the one that started the timer.
    reorder: u64,
    timer: Time,
}

impl Pdcp {
    pub fn new(setting: PdcpReordering) -> Pdcp {
        Pdcp {
            t_reordering: setting.t_reordering,
            deliver: 0,
            waiting: VecDeque::new(),
            reorder: 0,
            timer: Time::NEVER,
        }
    }

    /// RLC has received all of `sdu`, held for this entity.
    pub fn received<R: Receiver>(&mut self, ledger: &mut Ledger, now: Time, sdu: SduId, receiver: &mut R) {
        let count = ledger.get(sdu).count;
        let Some(place) = count.checked_sub(self.deliver) else {
            // It was given up before.
            ledger.release(sdu, receiver);
            return;
        };
        let place = place as usize;
        if place == 0 && self.waiting.len() <= 1 {
            // The usual case: nothing waits.
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

    /// Delivers the available ones of the first `given_up` packets, and those that follow without a gap.
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
