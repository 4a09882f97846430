//! 5G-BDP: sends the capacity of one TTI, spread over the TTI.
//!
//! Source: 5G QoS thesis section 3.3, Algorithm 2. After each TTI the budget for the next is the capacity of
//! the TTI just served, less the backlog of the RLC buffer. At a fraction `e` of the TTI, `e + offset` of the
//! budget may have been sent.
//!
//! With time division duplex (TDD) a TTI is the time from one slot in which the bearer can be served to the
//! next: the report of an uplink slot changes nothing, and the capacity is scaled to that of the next such
//! slot, since a special slot carries less.
//!
//! A bearer with nothing to send has no report, where the thesis sets new values in every TTI: while the RLC
//! buffer is empty, the budget is set anew after every TTI without a report, to the capacity reported last
//! and at least an MTU.
//!
//! Differences from the reference:
//! * The capacity is the number of bytes that the bearer could have sent in the TTI with more data
//!   ([`Served::capacity_bytes`]). Section 3.3 converts the RBs that were used last, `capacity=used`: with a
//!   scheduler that grants no more than the data needs, the budget after a TTI with little data in the buffer
//!   is that little, and grows by no more than `offset` from one TTI to the next. There the bytes sent stand
//!   for the bytes of the RBs that carried them, so a last RB that was not full counts with its data only.
//!   The statement of section 3.4 about schedulers that are uneven, or that take the backlog into account,
//!   holds for both: a TTI without RBs for the bearer leaves no budget.
//! * With TDD the thesis's TTI would be a slot: the report of an uplink slot, which has no capacity, would
//!   leave no budget, and the next slot would have the budget of a special slot. With the pattern `DDDSU` 8%
//!   of the capacity would be lost.
//! * The time since the last report counts as at most one TTI, so that a late report does not increase the
//!   budget without bound. The emulator's budget grows until its MAC acts: `late=grow`.
//! * Above an empty RLC buffer a packet may be sent from the time on that the law has named for it, also if
//!   the law is called again in a later TTI. In the thesis each TTI begins anew: a caller that polls once per
//!   TTI, at its beginning, may never send.
//! * "No budget if the capacity is not above the backlog" (line 7) is kept, as such a buffer is served, and
//!   reported, in the next TTI; the thesis's emulator sends one packet then: `full=mtu`.
//! * A packet may be sent once its first byte may: section 3.4 says that the packet size is not considered.
//!   The emulator, which counts packets, rounds down: `fit=whole`, which in bytes leaves a part of most TTIs
//!   unused. With an empty RLC buffer, a packet larger than the budget is sent when all of the budget may
//!   have been sent.

use super::bearer::BearerLaw;
use super::below::Below;
use super::parameters::{FIT, Fit, MTU, PacerSetting, SILENCE, first_time};
use super::{Eligible, Served, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};

const OFFSET: Typed<f64> = Typed::new(
    "offset",
    "0.33",
    "part of the budget that may be sent at the beginning of the TTI; at the end, this part more than the budget",
)
.within("0.01", "1")
.source("5G QoS thesis section 3.6.1 (NORMALIZED_OFFSET)");
const FULL: Typed<str> =
    Typed::new("full", "none", "budget while the RLC buffer holds at least the capacity of a TTI")
        .unit(Unit::Choice(&["none", "mtu"]))
        .source("5G QoS thesis section 3.3, Algorithm 2, line 7; its emulator: one packet");

const CAPACITY: Typed<str> = Typed::new(
    "capacity",
    "offered",
    "capacity of the TTI just served: bytes that could have been sent (offered), or bytes that were (used)",
)
.unit(Unit::Choice(&["offered", "used"]))
.source("5G QoS thesis section 3.3: the resource blocks used last; its emulator: offered");

const PERIOD: Typed<Option<Span>> =
    Typed::new("period", "", "TTI over which the budget is spread; default: that of the cell")
        .within("1us", "1s")
        .source("5G QoS thesis section 3.3; its emulator: 10 ms, whenever its MAC acts");
const LATE: Typed<str> = Typed::new(
    "late",
    "hold",
    "budget after a TTI without a report: that of one TTI (hold), or growing with time (grow)",
)
.unit(Unit::Choice(&["hold", "grow"]))
.source("5G QoS thesis section 3.3 (normal_tti is 0 to 1); its emulator: growing");

/// Declaration of `5g-bdp` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "5g-bdp",
    "sends the capacity of one TTI, less the RLC backlog, spread over the TTI (bandwidth-delay product)",
)
.source("5G QoS thesis section 3.3, Algorithm 2")
.with(&[
    OFFSET.parameter(),
    FULL.parameter(),
    CAPACITY.parameter(),
    PERIOD.parameter(),
    LATE.parameter(),
    MTU.parameter(),
    FIT.source("5G QoS thesis section 3.4: the size of the packet is not considered").parameter(),
    SILENCE.parameter(),
]);

/// The budget when the backlog is at least the capacity of a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// No budget.
    Nothing,
    /// A budget of one full packet.
    Mtu,
}

/// The measure of the capacity of a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// Bytes that the bearer could have sent.
    Offered,
    /// Bytes that the bearer sent.
    Used,
}

/// The parameters of 5G-BDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BdpParameters {
    /// The TTI of the cell.
    pub tti: Span,
    /// The part of the budget that may be sent at the beginning of a TTI, 0.01 to 1.
    pub offset: f64,
    /// The budget when the backlog is at least the capacity of a TTI.
    pub full: WhenFull,
    /// The measure of the capacity of the TTI just served.
    pub capacity: Capacity,
    /// True if the budget grows beyond that of one TTI while the report is late.
    pub grows: bool,
    /// Size of a full packet, bytes.
    pub mtu_bytes: u64,
    /// Rule by which a packet fits into the budget.
    pub fit: Fit,
}

/// Smallest offset: with an offset of zero an idle bearer's whole budget would be allowed only when its next
/// TTI begins, thus never.
const LEAST_OFFSET: f64 = 0.01;

/// The law of 5G-BDP.
#[derive(Clone, Copy, Debug)]
pub struct Bdp {
    parameters: BdpParameters,
    capacity_bytes: u64,
    /// Bytes that may be sent in the current TTI (`bytes_to_send` of Algorithm 2).
    budget_bytes: u64,
    /// Bytes sent since `last`.
    sent_bytes: u64,
    /// Time at which the budget was last set.
    last: Time,
    /// Time from `last` to the next TTI in which the bearer can be served.
    length: Span,
}

impl Bdp {
    /// The law with `parameters`; an offset out of its range is clamped.
    pub fn new(parameters: BdpParameters) -> Bdp {
        let tti = parameters.tti.max(Span::from_nanos(1));
        let mtu_bytes = parameters.mtu_bytes.max(1);
        let offset = parameters.offset.clamp(LEAST_OFFSET, 1.0);
        Bdp {
            parameters: BdpParameters { tti, mtu_bytes, offset, ..parameters },
            capacity_bytes: 0,
            budget_bytes: mtu_bytes,
            sent_bytes: 0,
            last: Time::ZERO,
            length: tti,
        }
    }

    /// The law that `arguments` describe.
    pub(super) fn build(arguments: &Arguments, setting: &PacerSetting) -> Result<Bdp, ComponentError> {
        Ok(Bdp::new(BdpParameters {
            tti: arguments.get(&PERIOD).unwrap_or(setting.tti()),
            offset: arguments.get(&OFFSET),
            full: if arguments.get(&FULL) == "mtu" { WhenFull::Mtu } else { WhenFull::Nothing },
            capacity: if arguments.get(&CAPACITY) == "used" { Capacity::Used } else { Capacity::Offered },
            grows: arguments.get(&LATE) == "grow",
            mtu_bytes: setting.mtu(arguments),
            fit: Fit::from_arguments(arguments),
        }))
    }

    /// The budget of the current TTI, bytes.
    pub const fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// Sets the budget of the period of `length` that begins at `now`.
    fn set(&mut self, now: Time, length: Span, budget_bytes: u64) {
        self.budget_bytes = budget_bytes;
        self.sent_bytes = 0;
        (self.last, self.length) = (now, length);
    }

    /// The budget of a TTI that has no report.
    fn unreported_bytes(&self) -> u64 {
        self.capacity_bytes.max(self.parameters.mtu_bytes)
    }

    /// Bytes that may have been sent by `now` (the thesis's soll_tx).
    fn may_have_gone(&self, now: Time) -> f64 {
        let elapsed = now.since(self.last).as_nanos() as f64 / self.length.as_nanos() as f64;
        let elapsed = if self.parameters.grows { elapsed } else { elapsed.min(1.0) };
        (elapsed + self.parameters.offset) * self.budget_bytes as f64
    }
}

impl BearerLaw for Bdp {
    const EVERY_TTI: bool = true;

    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible {
        self.catch_up(below, now);
        let budget = self.budget_bytes as f64;
        // Bytes that must be allowed before the packet may be sent: at least `bytes`, or more than that where
        // `more` is set.
        let (bytes, more) = match self.parameters.fit {
            Fit::Begun => (self.sent_bytes as f64, true),
            Fit::Whole if below.is_empty() => (size_bytes.min(self.budget_bytes) as f64, false),
            Fit::Whole => (self.sent_bytes.saturating_add(size_bytes) as f64, false),
        };
        let is_allowed = |gone: f64| if more { gone > bytes } else { gone >= bytes };
        let is_allowed_now = self.budget_bytes > 0 && is_allowed(self.may_have_gone(now));
        if is_allowed_now || below.is_promised(now, size_bytes) {
            return Eligible::Now;
        }
        // Without a report the allowance stays constant after one TTI, unless an empty buffer starts another TTI.
        let end = self.last + self.length;
        let otherwise = if below.is_empty() { end } else { below.deadline() };
        let is_over = !self.parameters.grows && (now >= end || !is_allowed(self.may_have_gone(end)));
        if self.budget_bytes == 0 || is_over {
            return Eligible::At(otherwise);
        }
        let estimate = (bytes / budget - self.parameters.offset) * self.length.as_nanos() as f64;
        let allowed = first_time(self.last, estimate, |time| is_allowed(self.may_have_gone(time)));
        let allowed = allowed.min(otherwise);
        below.promise(allowed, size_bytes);
        Eligible::At(allowed)
    }
    /// Sets the budgets of the elapsed TTIs that had no report.
    fn catch_up(&mut self, below: &mut Below, now: Time) {
        let tti = self.parameters.tti;
        if below.forget(now) {
            self.set(now, tti, self.unreported_bytes());
        }
        let end = self.last + self.length;
        if below.is_empty() && now >= end {
            let further = now.since(end).as_nanos() / tti.as_nanos();
            self.set(end + tti * further, tti, self.unreported_bytes());
        }
    }
    fn forwarded(&mut self, _: &mut Below, _: Time, bytes: u64) {
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
    }
    fn served(&mut self, _: &mut Below, now: Time, served: &Served) {
        let capacity_bytes = match self.parameters.capacity {
            Capacity::Offered => served.capacity_bytes,
            Capacity::Used => served.sent_bytes,
        };
        let length = match served.tdd {
            None => {
                self.capacity_bytes = capacity_bytes;
                self.parameters.tti
            }
            Some(slot) if slot.is_downlink() => {
                self.capacity_bytes = slot.in_next(capacity_bytes);
                slot.next.max(Span::from_nanos(1))
            }
            Some(slot) => {
                // A TTI continues through an uplink slot.
                self.length = (now + slot.next).since(self.last);
                return;
            }
        };
        let budget = match self.capacity_bytes.saturating_sub(served.remaining_bytes) {
            0 if self.parameters.full == WhenFull::Mtu => self.parameters.mtu_bytes,
            budget => budget,
        };
        self.set(now, length, budget);
    }
    /// Reports may wait while the capacity is zero: there is no budget then.
    fn may_wait(&self, _: &Below, _: &Waited, _: u64) -> bool {
        self.parameters.full == WhenFull::Nothing
    }
    fn waited(&mut self, below: &mut Below, waited: &Waited, _: bool) -> u64 {
        if self.parameters.full != WhenFull::Nothing || waited.count == 0 {
            return 0;
        }
        self.served(below, waited.last(), &waited.report());
        waited.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, in_slot, ms, parse, refused, served, us};
    use super::super::{AnyPacer, OverBearer, Pacer};
    use super::*;
    use alloc::vec::Vec;

    fn law(text: &str) -> OverBearer<Bdp> {
        match parse(text) {
            AnyPacer::Bdp(law) => law,
            other => panic!("{other:?}"),
        }
    }
    /// Calls the law at the times it names, up to `end`, for packets of `size` bytes; returns the times of
    /// sending, in microseconds rounded up.
    fn drain(law: &mut OverBearer<Bdp>, mut now: Time, end: Time, size: u64) -> Vec<u64> {
        let mut went = Vec::new();
        while now < end {
            match law.ask(now, size) {
                Eligible::Now => {
                    went.push(now.as_nanos().div_ceil(1000));
                    law.forwarded(now, size);
                }
                Eligible::At(time) => {
                    assert!(time > now);
                    now = time;
                }
                Eligible::OnSignal => break,
            }
        }
        went
    }

    #[test]
    fn the_budget_is_the_capacity_less_the_backlog() {
        let mut law = law("5g-bdp");
        law.on_signal(ms(5), served(2289, 2289, 711));
        assert_eq!(law.budget_bytes(), 1578);
        law.on_signal(ms(6), served(2289, 2289, 2288));
        assert_eq!(law.budget_bytes(), 1);
        law.on_signal(ms(7), served(2289, 2289, 2289));
        assert_eq!(law.budget_bytes(), 0);
        assert_eq!(law.ask(ms(7), 40), Eligible::At(ms(27)), "its silence");
        law.on_signal(ms(8), served(900, 900, 5000));
        assert_eq!(law.budget_bytes(), 0);
        let mut law = self::law("5g-bdp:full=mtu");
        law.on_signal(ms(7), served(2289, 2289, 2289));
        assert_eq!(law.budget_bytes(), 1500);
        assert_eq!(law.ask(ms(7), 40), Eligible::Now);
    }

    /// The share of the granted RBs that a bearer with a backlog of small packets uses if the scheduler
    /// grants `rbs` in turn, each of 88 bytes.
    fn used(rbs: [u64; 5]) -> f64 {
        let mut law = law("5g-bdp");
        let (mut buffer, mut used, mut given) = (0, 0, 0);
        for tti in 1..=1000 {
            buffer += drain(&mut law, ms(tti), ms(tti + 1), 100).len() as u64 * 100;
            let room = rbs[tti as usize % 5] * 88;
            let sent = room.min(buffer);
            buffer -= sent;
            (used, given) = (used + sent, given + room);
            law.on_signal(ms(tti + 1), served(room, sent, buffer));
        }
        used as f64 / given as f64
    }

    /// The two cases of section 3.4: the law does well with an even share of RBs in each TTI, and less well with an uneven
    /// one.
    #[test]
    fn an_even_scheduler_loses_less_than_an_uneven_one() {
        let (even, uneven) = (used([6, 7, 6, 6, 5]), used([0, 12, 0, 0, 18]));
        assert!(even > 0.99 && uneven < 0.85, "{even} {uneven}");
    }

    /// The vicious cycle at the end of section 3.4: a bearer whose backlog is too small to be scheduled gets no further
    /// packets.
    #[test]
    fn without_rbs_nothing_is_sent() {
        let mut law = law("5g-bdp");
        for tti in 1..100 {
            law.on_signal(ms(tti), served(0, 0, 400));
            assert_eq!(drain(&mut law, ms(tti), ms(tti + 1), 100), []);
        }
    }

    /// The capacity of a TTI is available at once; the bytes used in a TTI would grow by the offset.
    #[test]
    fn a_tti_with_little_data_leaves_the_whole_capacity_as_budget() {
        let mut law = law("5g-bdp");
        law.on_signal(ms(1), served(2200, 100, 0));
        assert_eq!(drain(&mut law, ms(1), ms(2), 100).len(), 30);
        law.on_signal(ms(2), served(100, 100, 0));
        assert_eq!(drain(&mut law, ms(2), ms(3), 100).len(), 2);
        // Budgets with the bytes used: 100 and a third, then 200 and a third.
        let mut law = self::law("5g-bdp:capacity=used");
        law.on_signal(ms(1), served(2200, 100, 0));
        assert_eq!(drain(&mut law, ms(1), ms(2), 100).len(), 2);
        law.on_signal(ms(2), served(2200, 200, 0));
        assert_eq!((drain(&mut law, ms(2), ms(3), 100).len(), law.budget_bytes()), (3, 200));
    }

    #[test]
    fn whole_packets_are_spread_over_the_tti() {
        // Four packets a TTI of 10 ms: sent at soll = 1, 2, 3, 4, 5 packets, thus at 0, 0.17, 0.42, 0.67, 0.92 of the TTI.
        let setting = PacerSetting { tti: Span::from_millis(10), ..PacerSetting::default() };
        let Ok(AnyPacer::Bdp(mut law)) = AnyPacer::parse("5g-bdp:fit=whole", &setting) else { panic!() };
        law.on_signal(ms(100), served(6000, 6000, 0));
        assert_eq!(drain(&mut law, ms(100), ms(110), 1500), [100_000, 101_700, 104_200, 106_700, 109_200]);
        law.on_signal(ms(110), served(6000, 6000, 1500));
        assert_eq!(drain(&mut law, ms(110), ms(120), 1500), [110_034, 113_367, 116_700]);
    }

    #[test]
    fn with_fit_begun_packets_are_sent_while_budget_is_left() {
        let mut law = law("5g-bdp");
        law.on_signal(ms(1), served(2289, 2289, 289));
        // (e + 0.33) x 2000 > 0, 1500; 3000 is beyond 2660.
        assert_eq!(drain(&mut law, ms(1), ms(2), 1500), [1000, 1421]);
        law.on_signal(ms(2), served(2289, 2289, 1000));
        assert_eq!(
            drain(&mut law, ms(2), ms(3), 200),
            [2000, 2000, 2000, 2136, 2291, 2446, 2601, 2757, 2912]
        );
    }

    /// Four packets a TTI of 10 ms, and a MAC that acts after 12.5 ms: the fifth and the sixth packet at 0.92 and 1.17 of the TTI.
    #[test]
    fn with_late_grow_the_budget_grows_until_the_report() {
        let setting = PacerSetting { tti: Span::from_micros(12_500), ..PacerSetting::default() };
        let law = |text: &str| match AnyPacer::parse(text, &setting) {
            Ok(AnyPacer::Bdp(law)) => law,
            other => panic!("{other:?}"),
        };
        let sent = |mut law: OverBearer<Bdp>| {
            law.on_signal(ms(100), served(6000, 6000, 0));
            drain(&mut law, ms(100), us(112_500), 1500)
        };
        let grown = sent(law("5g-bdp:fit=whole:full=mtu:period=10ms:late=grow"));
        assert_eq!(grown, [100_000, 101_700, 104_200, 106_700, 109_200, 111_700]);
        assert_eq!(sent(law("5g-bdp:fit=whole:full=mtu:period=10ms")), grown[..5]);
    }

    #[test]
    fn a_late_report_adds_no_budget() {
        let mut law = law("5g-bdp:fit=whole");
        law.on_signal(ms(1), served(2289, 2289, 289));
        assert_eq!(
            drain(&mut law, ms(1), ms(1) + Span::from_millis(15), 1500),
            [1420],
            "2660 at the end of the TTI"
        );
    }

    #[test]
    fn an_idle_bearer_has_the_last_capacity_in_every_tti() {
        let mut law = law("5g-bdp");
        assert_eq!((law.ask(us(2500), 1500), law.budget_bytes()), (Eligible::Now, 1500));
        law.on_signal(ms(3), served(4000, 1500, 0));
        law.on_signal(ms(4), served(3000, 10, 0));
        assert_eq!(law.ask(us(7250), 1500), Eligible::Now);
        assert_eq!((law.last, law.budget_bytes()), (ms(7), 3000));
        law.on_signal(ms(8), served(0, 0, 0));
        assert_eq!(law.ask(us(8999), 40), Eligible::At(ms(9)), "an outage");
        assert_eq!(law.ask(ms(9), 40), Eligible::Now);
    }

    #[test]
    fn an_empty_buffer_takes_a_packet_larger_than_the_budget() {
        let mut law = law("5g-bdp:fit=whole");
        law.on_signal(ms(3), served(549, 100, 0));
        assert_eq!(law.ask(ms(3), 1500), Eligible::At(us(3670)));
        assert_eq!(law.ask(us(3670), 1500), Eligible::Now);
        law.forwarded(us(3670), 1500);
        assert_eq!(law.ask(us(3670), 1500), Eligible::At(us(23_670)));
        assert_eq!(law.ask(us(23_670), 60_000), Eligible::At(us(24_340)), "a new TTI after the silence");
    }

    /// The last slots of `DDDSU`; the special slot carries 0.7 of a whole slot. The smaller capacity reduces
    /// the budget of the special slot alone, and the uplink slot behind it changes nothing.
    #[test]
    fn an_uplink_slot_keeps_the_budget() {
        let mut law = law("5g-bdp");
        law.on_signal(ms(2), in_slot(served(1000, 1000, 0), 10, 7, 1000));
        assert_eq!(law.budget_bytes(), 700, "for the special slot");
        law.on_signal(ms(3), in_slot(served(700, 700, 100), 7, 10, 2000));
        assert_eq!(law.budget_bytes(), 900, "for the next whole one");
        // Over 2 ms: more than 0, 300 and 600 of (e + 0.33) x 900, then 900.
        assert_eq!(drain(&mut law, ms(3), ms(4), 300), [3000, 3007, 3674]);
        law.on_signal(ms(4), in_slot(served(0, 0, 1000), 0, 10, 1000));
        assert_eq!(drain(&mut law, ms(4), ms(5), 300), [4341]);
        law.on_signal(ms(5), in_slot(served(1000, 1000, 300), 10, 10, 1000));
        assert_eq!(law.budget_bytes(), 700);
    }

    /// A packet that comes into the empty buffer in the slot before an uplink slot: the TTI ends after the
    /// uplink slot.
    #[test]
    fn a_tti_of_an_idle_bearer_goes_on_through_an_uplink_slot() {
        let mut law = law("5g-bdp:fit=whole");
        law.on_signal(ms(1), in_slot(served(9000, 100, 0), 10, 10, 1000));
        assert_eq!(law.ask(us(3200), 1500), Eligible::Now);
        law.forwarded(us(3200), 1500);
        law.on_signal(ms(4), in_slot(served(0, 0, 1500), 0, 10, 1000));
        assert_eq!((law.last, law.length), (ms(3), Span::from_millis(2)));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("5g-bdp:offset=1.1").contains("0.01 to 1"));
        assert!(refused("5g-bdp:full=two").contains("expected one of none, mtu"));
        assert!(refused("5g-bdp:capacity=cqi").contains("expected one of offered, used"));
    }
}
