//! The receiving PDCP entity.
//!
//! Source: TS 38.323 clauses 5.2.2.1, 5.2.2.2 and 7.1. RX_DELIV is `deliv`, RX_REORD `reord`; RX_NEXT is the
//! number after the last slot.

use super::setting::PdcpSetting;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Outcome of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered to upper layers.
    Delivered,
    /// Discarded: the number was delivered or given up before.
    Old,
    /// Discarded: a packet with the same number is held.
    Duplicate,
}

/// Statistics since the entity was established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PdcpCounts {
    /// Numbers given up: t-Reordering ran out before they came.
    pub holes: u64,
    /// Expiries of t-Reordering.
    pub expiries: u64,
    /// Packets discarded because their number had been delivered or given up.
    pub old: u64,
    /// Packets discarded because their number was held.
    pub duplicates: u64,
    /// Packets for which the receiver's COUNT is not the sender's.
    pub desynchronized: u64,
    /// Times at which a packet began to wait for an earlier one while no other did.
    pub stalls: u64,
    /// Time in which at least one packet waited.
    pub stalled: Span,
    /// Packets held, integrated over time, in packets times nanoseconds.
    pub held_packets: u128,
    /// Bytes held, integrated over time, in bytes times nanoseconds.
    pub held_bytes: u128,
    /// The most packets held at a time.
    pub most_packets: u64,
    /// The most bytes held at a time.
    pub most_bytes: u64,
}

impl PdcpCounts {
    /// The difference to `earlier`, an earlier value of the same entity; the most packets and bytes are those
    /// of the whole run.
    #[must_use]
    pub fn since(&self, earlier: &PdcpCounts) -> PdcpCounts {
        PdcpCounts {
            holes: self.holes - earlier.holes,
            expiries: self.expiries - earlier.expiries,
            old: self.old - earlier.old,
            duplicates: self.duplicates - earlier.duplicates,
            desynchronized: self.desynchronized - earlier.desynchronized,
            stalls: self.stalls - earlier.stalls,
            stalled: self.stalled - earlier.stalled,
            held_packets: self.held_packets - earlier.held_packets,
            held_bytes: self.held_bytes - earlier.held_bytes,
            ..*self
        }
    }
}

/// State of a number from RX_DELIV on.
#[derive(Clone, Copy, Debug)]
enum Slot<T> {
    /// No packet with this number has come.
    Missing,
    /// The packet is held, with its size in bytes.
    Held(T, u32),
    /// The packet was delivered out of order.
    Passed,
}

/// The receiving PDCP entity, which holds packets as `T`.
#[derive(Clone, Debug)]
pub struct Reception<T> {
    setting: PdcpSetting,
    deliv: u64,
    /// Slots of the numbers from `deliv` to before RX_NEXT.
    slots: VecDeque<Slot<T>>,
    reord: u64,
    /// Time at which t-Reordering runs out; [`Time::NEVER`] if it does not run.
    timer: Time,
    counts: PdcpCounts,
    /// Packets and bytes held now; `since`: the time up to which the integrals are computed.
    held: (u64, u64),
    since: Time,
}

impl<T: Copy> Reception<T> {
    /// An entity that expects number 0.
    pub fn new(setting: PdcpSetting) -> Reception<T> {
        Reception {
            setting,
            deliv: 0,
            slots: VecDeque::new(),
            reord: 0,
            timer: Time::NEVER,
            counts: PdcpCounts::default(),
            held: (0, 0),
            since: Time::ZERO,
        }
    }

    /// RX_DELIV: the first number not delivered yet.
    pub fn rx_deliv(&self) -> u64 {
        self.deliv
    }

    /// RX_NEXT: the number expected next.
    pub fn rx_next(&self) -> u64 {
        self.deliv + self.slots.len() as u64
    }

    /// COUNT of a received header's sequence number; `None` if it would be before the first.
    #[inline]
    pub fn count_of(&self, sn: u32) -> Option<u64> {
        let (bits, window) = (self.setting.sn_bits, self.setting.window());
        let (sn, hfn) = (u64::from(sn), self.deliv >> bits);
        let deliv_sn = self.deliv & ((1 << bits) - 1);
        let hfn = if sn + window < deliv_sn {
            hfn + 1
        } else if sn >= deliv_sn + window {
            hfn.checked_sub(1)?
        } else {
            hfn
        };
        Some(hfn << bits | sn)
    }

    /// Receives a data PDU from RLC: `sdu`, of `bytes`. The outcomes of this packet, and of those that waited
    /// for it, are passed to `upper`, in the order of delivery.
    #[inline]
    pub fn receive(&mut self, now: Time, sn: u32, sdu: T, bytes: u32, mut upper: impl FnMut(T, Outcome)) {
        let place = self.count_of(sn).and_then(|count| count.checked_sub(self.deliv));
        let Some(place) = place else {
            self.counts.old += 1;
            return upper(sdu, Outcome::Old);
        };
        if place == 0 && self.slots.is_empty() {
            // The usual case: no packet waits, and the timer does not run.
            self.deliv += 1;
            return upper(sdu, Outcome::Delivered);
        }
        debug_assert!(place < self.setting.window(), "a COUNT is interpreted within the window");
        let place = place as usize;
        if place >= self.slots.len() {
            self.slots.resize(place + 1, Slot::Missing);
        } else if !matches!(self.slots[place], Slot::Missing) {
            self.counts.duplicates += 1;
            return upper(sdu, Outcome::Duplicate);
        }
        if place == 0 || self.setting.out_of_order_delivery {
            self.slots[place] = Slot::Passed;
            upper(sdu, Outcome::Delivered);
        } else {
            self.hold(now, bytes);
            self.slots[place] = Slot::Held(sdu, bytes);
        }
        if place == 0 {
            self.deliver(now, 0, &mut upper);
        }
        if self.deliv >= self.reord {
            self.timer = Time::NEVER;
        }
        self.start_timer(now);
    }

    /// Handles an expiry of t-Reordering; no effect at another time.
    pub fn poll(&mut self, now: Time, mut upper: impl FnMut(T, Outcome)) {
        // With a t-Reordering of 0 the next one runs out at once.
        while self.timer <= now {
            self.timer = Time::NEVER;
            self.counts.expiries += 1;
            self.deliver(now, self.reord, &mut upper);
            self.start_timer(now);
        }
    }

    /// Time at which [`Reception::poll`] has to be called; possibly in the past.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.timer
    }

    /// Packets and bytes that wait for an earlier number.
    pub fn held(&self) -> (u64, u64) {
        self.held
    }

    /// Statistics up to `now`.
    pub fn counts(&self, now: Time) -> PdcpCounts {
        let mut counts = self.counts;
        integrate(&mut counts, self.held, now.since(self.since));
        counts
    }

    /// Delivers the packets that are present with numbers before `until`, and those that follow without a
    /// gap.
    fn deliver(&mut self, now: Time, until: u64, upper: &mut impl FnMut(T, Outcome)) {
        while let Some(&slot) = self.slots.front() {
            match slot {
                Slot::Missing if self.deliv >= until => break,
                Slot::Missing => self.counts.holes += 1,
                Slot::Held(sdu, bytes) => {
                    self.bring_forward(now);
                    debug_assert!(self.held.0 > 0, "a packet in a slot is held");
                    self.held.0 -= 1;
                    self.held.1 -= u64::from(bytes);
                    upper(sdu, Outcome::Delivered);
                }
                Slot::Passed => {}
            }
            self.slots.pop_front();
            self.deliv += 1;
        }
    }

    fn start_timer(&mut self, now: Time) {
        let front = self.slots.front();
        debug_assert!(front.is_none_or(|slot| matches!(slot, Slot::Missing)), "RX_DELIV has not come");
        if self.timer == Time::NEVER && !self.slots.is_empty() {
            self.reord = self.rx_next();
            self.timer = now + self.setting.t_reordering;
        }
    }

    fn hold(&mut self, now: Time, bytes: u32) {
        self.bring_forward(now);
        self.counts.stalls += u64::from(self.held.0 == 0);
        self.held.0 += 1;
        self.held.1 += u64::from(bytes);
        self.counts.most_packets = self.counts.most_packets.max(self.held.0);
        self.counts.most_bytes = self.counts.most_bytes.max(self.held.1);
    }

    fn bring_forward(&mut self, now: Time) {
        integrate(&mut self.counts, self.held, now.since(self.since));
        self.since = now;
    }
}

/// Adds a span in which this many packets and bytes were held.
fn integrate(counts: &mut PdcpCounts, (packets, bytes): (u64, u64), span: Span) {
    if packets > 0 {
        counts.stalled += span;
    }
    let nanos = u128::from(span.as_nanos());
    counts.held_packets += u128::from(packets) * nanos;
    counts.held_bytes += u128::from(bytes) * nanos;
}
