//! The receiver of acknowledged mode: window, gaps and status reports. Its sources are listed in [`super::am`].

use super::Common;
use super::Receiver;
use super::am_units::{Rat, Units};
use super::assembly::Assemblies;
use super::blocks::Part;
use super::concatenation::InSequence;
use super::ledger::NONE;
use super::numbers::{START, at_or_above, on_the_air, window};
use super::setting::Am;
use super::status::{Gap, Status};
use alloc::collections::VecDeque;
use qdelay_core::Time;

/// A sequence number of the window.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The unit, held until it is complete (NR) or next in order (LTE); `NONE` before its first part.
    unit: u32,
    /// The received ranges; `NONE` once it is complete.
    assembly: u32,
    whole: bool,
    /// True if a status report is due once this number counts as missing or has arrived.
    poll: bool,
    /// Bytes already passed to reassembly; LTE only.
    fed: u32,
}

const EMPTY: Slot = Slot { unit: NONE, assembly: NONE, whole: false, poll: false, fed: 0 };

#[derive(Clone, Debug)]
pub(super) struct AmReceiver {
    am: Am,
    /// RX_Next: the first number not received completely.
    next: u64,
    /// Numbers from `next` to before RX_Next_Highest.
    slots: VecDeque<Slot>,
    /// RX_Highest_Status: the first number that may not be reported as missing yet.
    highest_status: u64,
    /// RX_Next_Status_Trigger: the number after the one that started the timer.
    trigger: u64,
    /// Expiry of t-Reassembly (NR) or t-Reordering (LTE).
    timer: Time,
    assemblies: Assemblies,
    in_sequence: InSequence,
    /// Time at which the pending report is written.
    status_at: Time,
    /// Time at which t-StatusProhibit expires.
    prohibited_until: Time,
}

impl AmReceiver {
    pub fn new(am: Am) -> AmReceiver {
        AmReceiver {
            am,
            next: START,
            slots: VecDeque::new(),
            highest_status: START,
            trigger: START,
            timer: Time::NEVER,
            assemblies: Assemblies::default(),
            in_sequence: InSequence::default(),
            status_at: Time::NEVER,
            prohibited_until: Time::ZERO,
        }
    }

    /// RX_Next_Highest: the number after the highest received.
    fn highest(&self) -> u64 {
        self.next + self.slots.len() as u64
    }

    /// Places a part that has arrived, held for this entity.
    pub fn place<R: Receiver>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        now: Time,
        part: Part,
        receiver: &mut R,
    ) {
        let number = at_or_above(self.next, part.sn, self.am.sn_bits);
        let place = (number - self.next) as usize;
        if place as u64 >= window(self.am.sn_bits)
            || self.slots.get(place).is_some_and(|slot| slot.whole)
            || !self.add(units, common, (place, part), receiver)
        {
            // The part is outside the window, or a duplicate: its poll is answered all the same.
            units.release(common, part.unit, receiver);
            if part.poll {
                self.want_status(now);
            }
            return;
        }
        let slot = &mut self.slots[place];
        if part.poll && number < self.highest_status {
            self.want_status(now);
        } else {
            slot.poll |= part.poll;
        }
        let slot = &mut self.slots[place];
        if self.assemblies.get(slot.assembly).is_whole() {
            self.assemblies.remove(slot.assembly);
            (slot.assembly, slot.whole) = (NONE, true);
            if units.rat == Rat::Nr {
                let unit = core::mem::replace(&mut slot.unit, NONE);
                common.hand_up(unit, now, receiver);
                common.ledger.release(unit, receiver);
            }
            self.report_to(self.highest_status, now);
            self.move_on(units, common, now, receiver);
        }
        if units.rat == Rat::Lte {
            self.feed_front(units, common, now, receiver);
        }
        debug_assert!(self.highest_status >= self.next, "RX_Highest_Status is not below RX_Next");
        debug_assert!(self.slots.len() as u64 <= window(self.am.sn_bits), "the slots are the window");
        self.stop_timer(units.rat);
        self.start_timer(units.rat, self.next, now);
    }

    /// Records a part in its slot. Returns false for a complete duplicate.
    fn add<R: Receiver>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        (place, part): (usize, Part),
        receiver: &mut R,
    ) -> bool {
        if place >= self.slots.len() {
            self.slots.resize(place + 1, EMPTY);
        }
        let slot = &mut self.slots[place];
        if slot.unit == NONE {
            slot.unit = part.unit;
            slot.assembly = self.assemblies.add();
            return self.assemblies.get_mut(slot.assembly).add(part.from, part.to, part.last);
        }
        let is_new = self.assemblies.get_mut(slot.assembly).add(part.from, part.to, part.last);
        if is_new {
            units.release(common, part.unit, receiver);
        }
        is_new
    }

    /// Advances RX_Highest_Status to at least `from`, and past complete numbers. Answers polls that waited for it.
    fn report_to(&mut self, from: u64, now: Time) {
        let mut to = from.max(self.next);
        while to < self.highest() && self.slots[(to - self.next) as usize].whole {
            to += 1;
        }
        while self.highest_status < to {
            let slot = &mut self.slots[(self.highest_status - self.next) as usize];
            self.highest_status += 1;
            if core::mem::take(&mut slot.poll) {
                self.want_status(now);
            }
        }
    }

    /// Advances RX_Next past complete numbers; delivers LTE's packets.
    fn move_on<R: Receiver>(&mut self, units: &mut Units, common: &mut Common, now: Time, receiver: &mut R) {
        while let Some(&slot) = self.slots.front().filter(|slot| slot.whole) {
            if slot.unit != NONE {
                let rest = (slot.fed, units.pdus.get(slot.unit).bytes);
                debug_assert!(rest.0 <= rest.1, "no byte is passed to reassembly twice");
                let store = (&units.pdus, &mut *common);
                self.in_sequence.feed(store, now, slot.unit, rest, receiver);
                units.release(common, slot.unit, receiver);
            }
            self.slots.pop_front();
            self.next += 1;
        }
    }

    /// Passes the gapless bytes of the first incomplete PDU to reassembly; LTE only.
    fn feed_front<R: Receiver>(&mut self, units: &Units, common: &mut Common, now: Time, receiver: &mut R) {
        let Some(slot) = self.slots.front_mut().filter(|slot| slot.assembly != NONE) else { return };
        let prefix = self.assemblies.get(slot.assembly).prefix();
        if prefix > slot.fed {
            let store = (&units.pdus, &mut *common);
            self.in_sequence.feed(store, now, slot.unit, (slot.fed, prefix), receiver);
            slot.fed = prefix;
        }
    }

    /// Returns true if bytes are missing before the last received byte of `number`, the highest number
    /// received; NR only.
    fn has_hole(&self, number: u64) -> bool {
        number
            .checked_sub(self.next)
            .and_then(|place| self.slots.get(place as usize))
            .is_some_and(|slot| slot.assembly != NONE && self.assemblies.get(slot.assembly).has_hole())
    }

    fn stop_timer(&mut self, rat: Rat) {
        let end = self.next + window(self.am.sn_bits);
        let reached = match rat {
            Rat::Lte => self.trigger == self.next,
            Rat::Nr => {
                self.trigger == self.next || self.trigger == self.next + 1 && !self.has_hole(self.next)
            }
        };
        if reached || self.trigger < self.next || self.trigger > end {
            self.timer = Time::NEVER;
        }
    }

    /// Starts the timer if data is missing from number `from` on.
    fn start_timer(&mut self, rat: Rat, from: u64, now: Time) {
        let missing = match rat {
            Rat::Lte => self.highest() > from,
            Rat::Nr => self.highest() > from + 1 || self.highest() == from + 1 && self.has_hole(from),
        };
        if self.timer == Time::NEVER && missing {
            self.trigger = self.highest();
            self.timer = now + self.am.t_reassembly;
        }
    }

    fn want_status(&mut self, now: Time) {
        if self.status_at == Time::NEVER {
            self.status_at = now.max(self.prohibited_until) + self.am.uplink.grant;
        }
    }

    pub fn next_deadline(&self) -> Time {
        self.timer.min(self.status_at)
    }

    /// Handles an expiry of t-Reassembly (t-Reordering).
    pub fn poll(&mut self, rat: Rat, now: Time) {
        if self.timer <= now {
            self.timer = Time::NEVER;
            self.report_to(self.trigger, now);
            self.start_timer(rat, self.highest_status, now);
            self.want_status(now);
        }
    }

    /// Returns true if a report is to be written now.
    pub fn status_is_due(&self, now: Time) -> bool {
        self.status_at <= now
    }

    /// Writes a report.
    pub fn write_status(&mut self, rat: Rat, now: Time, status: &mut Status) {
        self.status_at = Time::NEVER;
        self.prohibited_until = now + self.am.t_status_prohibit;
        let bits = self.am.sn_bits;
        status.clear(rat == Rat::Lte, bits);
        let mut ack = self.highest_status;
        'all: for number in self.next..self.highest_status {
            let Some(slot) = self.slots.get((number - self.next) as usize) else { break };
            if slot.whole {
                continue;
            }
            let sn = on_the_air(number, bits);
            let limit = self.am.uplink.limit_bytes;
            if slot.assembly == NONE {
                if !status.add(Gap { sn, count: 1, from: 0, to: None }, limit) {
                    ack = number;
                    break;
                }
                continue;
            }
            for (place, (from, to)) in self.assemblies.get(slot.assembly).gaps().enumerate() {
                if !status.add(Gap { sn, count: 1, from, to }, limit) {
                    // If a gap of this number was reported, the whole number counts as missing.
                    ack = number + u64::from(place > 0);
                    break 'all;
                }
            }
        }
        status.ack_sn = on_the_air(ack, bits);
    }

    /// Re-establishes the entity. LTE first reassembles the complete PDUs.
    pub fn reset<R: Receiver>(
        &mut self,
        units: &mut Units,
        common: &mut Common,
        now: Time,
        receiver: &mut R,
    ) {
        // Complete PDUs are reassembled before the rest is dropped (TS 36.322 clause 5.4).
        for slot in self.slots.drain(..) {
            if slot.whole && slot.unit != NONE {
                let rest = (slot.fed, units.pdus.get(slot.unit).bytes);
                let store = (&units.pdus, &mut *common);
                self.in_sequence.feed(store, now, slot.unit, rest, receiver);
            } else {
                self.in_sequence.gap(&mut common.ledger, receiver);
            }
            if slot.assembly != NONE {
                self.assemblies.remove(slot.assembly);
            }
            if slot.unit != NONE {
                units.release(common, slot.unit, receiver);
            }
        }
        self.in_sequence.gap(&mut common.ledger, receiver);
        self.next = START;
        self.highest_status = START;
        self.trigger = START;
        self.timer = Time::NEVER;
        self.status_at = Time::NEVER;
        self.prohibited_until = now;
    }
}
