//! Duplicate scheduling with deadlines (DSD), the router of ABE: green packets wait at most a bound or are
//! dropped, and blue packets fare as in one queue without colours, or better.
//!
//! Source: Hurley, Le Boudec, Thiran and Kara, "ABE: Providing a Low-Delay Service within Best Effort"
//! (2001): the section on DSD with its pseudo-code and table 1. The virtual queue is
//! [`crate::aqm::Duplicates`], the control of the green bias [`crate::aqm::GreenBias`], with their sources
//! and differences.
//!
//! The duplicate of each arrival is offered to the virtual queue. A blue packet is dropped if its duplicate
//! is; otherwise its transmission must begin no later than its duplicate's. A green packet is dropped if the
//! acceptance test finds that it would wait too long; otherwise it may wait until `bound` after its arrival,
//! and is dropped as soon as that time has passed (stale). At a departure with both colours queued: blue is
//! sent if green before it would make it late; else green if blue before it would make it stale; else green
//! with probability g.
//!
//! # With a rate and without
//!
//! With `rate` (c) positions are times, as in the paper, and the link must send at that rate. Without it
//! positions are bytes that the link has taken ([`crate::aqm::Pace::Service`]): duplicates advance with the
//! actual departures, over the very opportunities of the link. A blue packet then leaves no later than its
//! duplicate on *any* link, because it never has more bytes before it.
//!
//! No blue packet misses its deadline, in either form, for these reasons:
//! 1. The backlog and the packet being sent never exceed the units that precede the next duplicate (in units:
//!    `end` is at least `free` plus all that is queued). Arrivals add to both, or to the duplicates alone; a
//!    green packet whose duplicate was refused is accepted only if the inequality still holds. Departures and
//!    losses only reduce the real queue.
//! 2. If green goes first while a blue packet is queued, that blue packet can still begin at its deadline or
//!    before; the blue packets behind it have deadlines that are later by at least the units before them.
//! 3. If no blue packet is queued, one that arrives meanwhile has, by (1), a deadline after the green
//!    packet's end.
//!
//! These deadlines are relative to the duplicates. The duplicates accept exactly the packets that a single
//! queue would have accepted if all packets have one size and opportunities are for whole packets. Otherwise
//! two things are not observed: the link's position within a packet, so that a duplicate that begins anywhere
//! in it counts as begun; and opportunities that pass while our queue is empty (all packets that a single
//! queue would hold were green and dropped), so that all duplicates are discarded when a packet arrives at an
//! empty queue. Both make deadlines earlier and accept more packets. A packet accepted in this way can delay
//! those behind it beyond their time in a single queue, under a limit in bytes by at most three packets, and
//! take the room of another; more packets gain than lose their room. The rate is used only for the acceptance
//! test and for the rule about green packets that cannot wait, as an estimate; stale packets are found by the
//! clock.
//!
//! # The acceptance test
//!
//! * `test=printed`: green bytes, including this packet's, and blue bytes with a deadline before t + d + p (p
//!   its own transmission) are at most c(d + p).
//! * `test=residual`: as printed, plus the remainder of the packet being sent: without it, some accepted
//!   packets become stale even with g = 1.
//! * `test=exact`: with g = 1 the blue packets that must go before an arrival are known, by bisection;
//!   exactly those green packets are accepted whose transmission will begin in time. The paper claims this
//!   for its own test; but that test counts blue packets which could still go after the green one, so that it
//!   refuses some packets that would be in time, unless all sizes are equal and all times are multiples of
//!   one transmission.
//! * `test=off`: none.
//!
//! # Control of green's throughput
//!
//! `control=bias`, the paper's: a loop adjusts g ([`crate::aqm::GreenBias`]). `control=loss`, ours: g is 1,
//! and some green arrivals are refused ([`crate::aqm::GreenLoss`]) before they have a duplicate, or marked if
//! duplicates are marked and the packet is ECN-capable. Neither affects the argument above, for the arrivals
//! that are not refused.
//!
//! Parameters: `rate`, `overhead`, `bound` (d), `green`, `test`, `control`, `g` (set by the control unless
//! given), `period` (T), `alpha`, `k`, `gamma`, `base_rtt`, `weight`, `virtual` (the virtual queue:
//! `taildrop` or a `red`), `window`, `limit` and `limit_bytes` (Buff).
//!
//! A packet costs constant time, amortised, plus a bisection of the blue queue for the test.
//!
//! Differences from the reference:
//! * The pseudo-code compares with `c * d + pg`, which adds bits and seconds; here the comparison is with c(d
//!   + pg), as in the text.
//! * Deadlines at exactly t + d + p count by the paper's text, and do not count by its pseudo-code. Here they
//!   do not: such a packet can still begin in time after the green one.
//! * A green packet whose duplicate was refused is also refused if it would delay future blue packets (step
//!   1). With the paper's drop-tail, equal sizes and a bound well below the buffer that never happens; behind
//!   RED it does.
//! * The limits apply to all real packets together, at any packet size: green is refused at full queues, and
//!   a blue packet whose duplicate was admitted displaces the newest green one.
//! * Stale packets are removed at green arrivals too, so that the test does not count them.
//! * With `virtual=[red:ecn=on]` packets of both colours are marked if their duplicates are.
//! * Deadlines are in whole nanoseconds, which a blue packet may miss by one where the rate does not divide.
//! * [`Qdisc::head`] returns the older of both heads. The other may leave first, or neither if all queued
//!   packets are stale.

mod parameters;
mod queues;

pub use parameters::COMPONENT;
pub use parameters::{DsdControl, DsdParameters, GreenTest};

use super::colour::{Green, WOULD_BE_LATE};
use super::service_rate::ServiceRate;
use super::{Backlog, Limit, Qdisc};
use crate::aqm::{Arrival, Bode, Colour, Duplicate, Duplicates, GreenBias, GreenLoss, Pace, Red};
use crate::{Context, DropReason, MarkReason, Packet, Rate, Sink, Span, Time};
use queues::{BlueQueue, GreenQueue};

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] =
    &[DropReason::TAIL_LIMIT, Bode::SOJOURN_BOUND, WOULD_BE_LATE, Red::EARLY, Red::FORCED, GreenLoss::DROP];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[Red::MARK, GreenLoss::MARK];

/// The control that keeps green from gaining throughput.
#[derive(Clone, Debug)]
enum Control {
    /// No control: a fixed g.
    Fixed(f64),
    /// The control loop of g (`control=bias`).
    Bias(GreenBias),
    /// Refusals of green (`control=loss`); g is 1.
    Loss(GreenLoss),
}

/// The link's position and rate.
#[derive(Clone, Debug)]
enum Clock {
    /// The link sends at a known rate; `busy_until` is the end of the transmission of the last departure.
    Rate { pace: Pace, busy_until: Time },
    /// The link has taken `taken` bytes; its rate is estimated.
    Service { taken: u64, rate: ServiceRate },
}

/// The state at an arrival, in units.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// The position at which the link becomes free.
    free: u64,
    /// The remainder of the packet being sent.
    residual: u64,
    /// The distance that the link advances within the bound; `None` while its rate is unknown.
    budget: Option<u64>,
}

/// The DSD discipline.
#[derive(Clone, Debug)]
pub struct Dsd {
    duplicates: Duplicates,
    clock: Clock,
    blue: BlueQueue,
    green: GreenQueue,
    limit: Limit,
    bound: Span,
    overhead_bytes: u64,
    test: GreenTest,
    /// True if duplicates are marked instead of being dropped early.
    marks: bool,
    signs: Green,
    control: Control,
}

impl Dsd {
    /// Empty queues. `signs` is the marking that makes a packet green. `red` decides about duplicates before
    /// their limit is applied, and marks them if its flag is `true`.
    fn with(parameters: &DsdParameters, signs: Green, red: Option<(Red, bool)>) -> Dsd {
        let marks = red.as_ref().is_some_and(|(_, marks)| *marks);
        let red = red.map(|(law, _)| law);
        let (pace, clock) = match parameters.rate {
            Some(rate) => {
                let pace = Pace::Rate(rate);
                (pace, Clock::Rate { pace, busy_until: Time::ZERO })
            }
            None => {
                let rate = ServiceRate::new(parameters.window);
                (Pace::Service, Clock::Service { taken: 0, rate })
            }
        };
        Dsd {
            duplicates: Duplicates::new(pace, parameters.limit, red),
            clock,
            blue: BlueQueue::default(),
            green: GreenQueue::default(),
            limit: parameters.limit,
            bound: parameters.bound,
            overhead_bytes: parameters.overhead_bytes,
            test: parameters.test,
            marks,
            signs,
            control: match parameters.control {
                DsdControl::Fixed(g) => Control::Fixed(g),
                DsdControl::Bias(parameters) => Control::Bias(GreenBias::new(parameters)),
                DsdControl::Loss(parameters) => Control::Loss(GreenLoss::new(parameters)),
            },
        }
    }

    /// The probability that green goes first if both colours can wait (g).
    fn bias(&self) -> f64 {
        match &self.control {
            Control::Fixed(g) => *g,
            Control::Bias(bias) => bias.g(),
            Control::Loss(_) => 1.0,
        }
    }
    /// The probability that a full green packet is refused on arrival; 0 unless `control=loss`.
    pub fn green_loss(&self) -> f64 {
        match &self.control {
            Control::Loss(law) => law.probability(),
            Control::Fixed(_) | Control::Bias(_) => 0.0,
        }
    }

    fn wire(&self, packet: &Packet) -> u64 {
        u64::from(packet.bytes) + self.overhead_bytes
    }
    fn units(&self, packet: &Packet) -> u64 {
        self.duplicates.pace().units(self.wire(packet))
    }

    fn is_full_for(&self, packet: &Packet) -> bool {
        let Backlog { packets, bytes } = self.backlog();
        packets >= self.limit.packets || bytes.saturating_add(u64::from(packet.bytes)) > self.limit.bytes
    }

    fn standing(&self, now: Time) -> Standing {
        match &self.clock {
            Clock::Rate { busy_until, .. } => Standing {
                free: now.max(*busy_until).as_nanos(),
                residual: busy_until.since(now).as_nanos(),
                budget: Some(self.bound.as_nanos()),
            },
            Clock::Service { taken, rate } => {
                Standing { free: *taken, residual: rate.residual(now), budget: rate.bytes_in(self.bound) }
            }
        }
    }

    /// Advances the duplicates to the link's position.
    fn advance(&mut self, now: Time) {
        // By service the duplicates were advanced at the last departure.
        if let Clock::Rate { .. } = self.clock {
            self.duplicates.advance(now.as_nanos().saturating_add(1), now);
        }
        match &mut self.control {
            Control::Fixed(_) => {}
            Control::Bias(bias) => bias.advance(now),
            Control::Loss(law) => law.advance(now),
        }
    }

    fn offer<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: &Packet) -> Duplicate {
        let arrival = Arrival {
            bytes: packet.bytes,
            wire_bytes: self.wire(packet),
            is_capable: self.marks && packet.ecn.is_capable(),
            now: context.now,
        };
        let place = match &self.clock {
            Clock::Rate { .. } => context.now.as_nanos(),
            Clock::Service { taken, .. } => *taken,
        };
        self.duplicates.offer(&arrival, place, context.random)
    }

    /// Returns true if the acceptance test accepts a green packet of `units`.
    fn passes(&self, standing: &Standing, units: u64) -> bool {
        let Standing { free, residual, budget: Some(budget) } = *standing else { return true };
        let ahead = self.green.units();
        if self.test == GreenTest::Exact {
            let latest = free.saturating_add(ahead).saturating_add(units);
            let before = ahead.saturating_add(self.blue.units_forced_before(latest));
            return before.saturating_add(residual) <= budget;
        }
        let room = budget.saturating_add(units);
        let origin = free.saturating_sub(residual);
        let before = ahead.saturating_add(self.blue.units_due_before(origin.saturating_add(room)));
        let total = before.saturating_add(units);
        match self.test {
            GreenTest::Off => true,
            GreenTest::Printed => total <= room,
            GreenTest::Residual | GreenTest::Exact => total.saturating_add(residual) <= room,
        }
    }

    /// Returns true if a green packet without a duplicate leaves enough of the virtual queue for future blue
    /// packets.
    fn fits_below_duplicates(&self, standing: &Standing, units: u64) -> bool {
        let queued = self.green.units().saturating_add(self.blue.units());
        standing.free.saturating_add(queued).saturating_add(units) <= self.duplicates.end()
    }

    fn drop<S: Sink>(
        &mut self,
        context: &mut Context<'_, S>,
        colour: Colour,
        packet: &Packet,
        why: DropReason,
    ) {
        self.tell_lost(colour, packet.bytes);
        context.sink.dropped(packet, why);
    }

    fn tell_lost(&mut self, colour: Colour, bytes: u32) {
        match &mut self.control {
            Control::Fixed(_) => {}
            Control::Bias(bias) => bias.lost(colour),
            Control::Loss(law) => law.lost(colour, bytes),
        }
    }

    fn tell_refused(&mut self) {
        if let Control::Loss(law) = &mut self.control {
            law.refused();
        }
    }

    fn drop_stale<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        while let Some(head) = self.green.head() {
            if context.now.since(head.arrival) <= self.bound {
                break;
            }
            if let Some(stale) = self.green.pop() {
                self.drop(context, Colour::Green, &stale, Bode::SOJOURN_BOUND);
            }
        }
    }

    fn mark<S: Sink>(
        &mut self,
        context: &mut Context<'_, S>,
        colour: Colour,
        packet: &mut Packet,
        is_marked: bool,
    ) {
        if is_marked {
            self.tell_lost(colour, packet.bytes);
            context.mark(packet, Red::MARK);
        }
    }

    fn enqueue_blue<S: Sink>(&mut self, context: &mut Context<'_, S>, mut packet: Packet) {
        let (begins, is_marked) = match self.offer(context, &packet) {
            Duplicate::Accepted { begins, is_marked } => (begins, is_marked),
            Duplicate::Refused(reason) => return self.drop(context, Colour::Blue, &packet, reason),
        };
        while self.is_full_for(&packet) {
            let Some(newest) = self.green.pop_newest() else {
                // Reached only with a link slower than `rate`, or with a link that counts sizes differently.
                return self.drop(context, Colour::Blue, &packet, DropReason::TAIL_LIMIT);
            };
            self.drop(context, Colour::Green, &newest, DropReason::TAIL_LIMIT);
        }
        self.mark(context, Colour::Blue, &mut packet, is_marked);
        let units = self.units(&packet);
        self.blue.push(packet, begins, units);
    }

    fn enqueue_green<S: Sink>(&mut self, context: &mut Context<'_, S>, mut packet: Packet) {
        let is_chosen = match &self.control {
            Control::Loss(law) => law.chooses(packet.bytes, context.random),
            Control::Fixed(_) | Control::Bias(_) => false,
        };
        if is_chosen && !(self.marks && packet.ecn.is_capable()) {
            self.tell_refused();
            return context.sink.dropped(&packet, GreenLoss::DROP);
        }
        let duplicate = self.offer(context, &packet);
        self.drop_stale(context);
        let standing = self.standing(context.now);
        let units = self.units(&packet);
        let refused = match duplicate {
            Duplicate::Refused(reason) if !self.fits_below_duplicates(&standing, units) => Some(reason),
            _ if !self.passes(&standing, units) => Some(WOULD_BE_LATE),
            _ if self.is_full_for(&packet) => Some(DropReason::TAIL_LIMIT),
            _ => None,
        };
        if let Some(reason) = refused {
            return self.drop(context, Colour::Green, &packet, reason);
        }
        let is_marked = matches!(duplicate, Duplicate::Accepted { is_marked: true, .. });
        self.mark(context, Colour::Green, &mut packet, is_marked);
        if is_chosen && !is_marked {
            self.tell_refused();
            context.mark(&mut packet, GreenLoss::MARK);
        }
        self.green.push(packet, units);
    }

    /// The colour whose head is sent now (table 1 of the paper).
    fn choose<S: Sink>(&self, context: &mut Context<'_, S>) -> Option<Colour> {
        let (blue, green) = match (self.blue.head(), self.green.head()) {
            (None, None) => return None,
            (None, Some(_)) => return Some(Colour::Green),
            (Some(_), None) => return Some(Colour::Blue),
            (Some(blue), Some(green)) => (blue, green),
        };
        let (place, blue_time) = match &self.clock {
            Clock::Rate { pace, .. } => {
                (context.now.as_nanos(), Span::from_nanos(pace.units(self.wire(&blue.packet))))
            }
            Clock::Service { taken, rate } => (*taken, rate.time_for(self.wire(&blue.packet))),
        };
        let is_blue_late = place.saturating_add(self.units(green)) > blue.begins;
        let is_green_late = context.now + blue_time > green.arrival + self.bound;
        Some(if is_blue_late || (!is_green_late && context.random.unit() >= self.bias()) {
            Colour::Blue
        } else {
            Colour::Green
        })
    }

    /// Records that the transmission of `packet`, of this colour, begins.
    fn departs(&mut self, now: Time, colour: Colour, packet: &Packet) {
        let wire = self.wire(packet);
        let is_left = self.backlog().packets > 0;
        match &mut self.clock {
            Clock::Rate { pace, busy_until } => *busy_until = now + Span::from_nanos(pace.units(wire)),
            Clock::Service { taken, rate } => {
                rate.departed(now, wire, is_left);
                *taken = taken.saturating_add(wire);
                self.duplicates.advance(*taken, now);
            }
        }
        let delay = now.since(packet.arrival);
        match &mut self.control {
            Control::Fixed(_) => {}
            Control::Bias(bias) => bias.served(colour, delay),
            Control::Loss(law) => law.served(colour, packet.bytes, delay),
        }
    }
}

impl Qdisc for Dsd {
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        self.advance(context.now);
        if let (Clock::Service { taken, .. }, 0) = (&self.clock, self.backlog().packets) {
            self.duplicates.restart(*taken, context.now);
        }
        match self.signs.colour_of(&packet) {
            Colour::Blue => self.enqueue_blue(context, packet),
            Colour::Green => self.enqueue_green(context, packet),
        }
    }

    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.advance(context.now);
        self.drop_stale(context);
        let colour = self.choose(context)?;
        let packet = match colour {
            Colour::Blue => self.blue.pop(),
            Colour::Green => self.green.pop(),
        }?;
        self.departs(context.now, colour, &packet);
        Some(packet)
    }

    fn head(&self) -> Option<&Packet> {
        match (self.blue.head(), self.green.head()) {
            (Some(blue), Some(green)) if green.arrival < blue.packet.arrival => Some(green),
            (Some(blue), _) => Some(&blue.packet),
            (None, green) => green,
        }
    }

    fn backlog(&self) -> Backlog {
        let (blue, green) = (self.blue.backlog(), self.green.backlog());
        Backlog { packets: blue.packets + green.packets, bytes: blue.bytes + green.bytes }
    }

    /// The control loop is updated at every call, so no timer is needed.
    fn has_timer(&self) -> bool {
        false
    }
    fn green_bias(&self) -> Option<f64> {
        Some(self.bias())
    }
    fn promised_rate(&self) -> Option<Rate> {
        match self.clock {
            Clock::Rate { pace: Pace::Rate(rate), .. } => Some(rate),
            Clock::Rate { pace: Pace::Service, .. } | Clock::Service { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error};
    use super::*;
    use crate::Ecn;

    const LINE: &str = "dsd:rate=8mbit:bound=3ms:limit=10:green=1";

    /// Blue and green packets of 1 ms each arrive at 0, while another is being sent.
    fn waiting(text: &str, colours: &[Colour]) -> Bench {
        let mut bench = Bench::new(text);
        bench.enqueue(0, 1000);
        assert_eq!(bench.dequeue(0), Some(0));
        for colour in colours {
            bench.dscp = u8::from(*colour == Colour::Green);
            bench.enqueue(0, 1000);
        }
        bench
    }

    #[test]
    fn every_row_of_table_1_holds() {
        use Colour::{Blue, Green};
        assert_eq!(waiting(LINE, &[]).dequeue(1), None);
        assert_eq!(waiting(LINE, &[Blue, Blue]).dequeue_many(1, 2), [1, 2]);
        assert_eq!(waiting(LINE, &[Green, Green]).dequeue_many(1, 2), [1, 2]);
        let text = |g| alloc::format!("{LINE}:g={g}");
        assert_eq!(waiting(&text(1), &[Blue, Green]).dequeue(1), Some(1), "blue cannot wait");
        assert_eq!(waiting(&text(0), &[Green, Blue]).dequeue(1), Some(2), "both can: blue");
        assert_eq!(waiting(&text(1), &[Green, Blue]).dequeue(1), Some(1), "both can: green");
        let mut bench = waiting(&text(0), &[Green, Green, Green, Blue, Blue]);
        assert_eq!(bench.dequeue_many(3, 1), [1], "green cannot wait, blue can");
    }

    #[test]
    fn green_leaves_within_the_bound_or_is_dropped() {
        let mut bench = waiting(LINE, &[Colour::Green, Colour::Green, Colour::Green, Colour::Green]);
        assert_eq!(bench.log.dropped, [(4, WOULD_BE_LATE)], "it would wait 4 ms");
        assert_eq!(bench.dequeue_many(3, 1), [1]);
        assert_eq!(bench.dequeue(4), None);
        assert_eq!(bench.drops(Bode::SOJOURN_BOUND), 2);
        assert_eq!(bench.qdisc.backlog(), Backlog::default());
    }

    #[test]
    fn overload_of_both_colours_is_fully_accounted_for() {
        for (text, flat) in [
            ("dsd:rate=12mbit:limit=50:green=1", "taildrop:limit=50"),
            ("dsd:limit=50:green=1", "taildrop:limit=50"),
            ("dsd:limit=50:virtual=[red:min=5:max=15]:green=1", "red:limit=50:min=5:max=15"),
        ] {
            let (mut blue, mut flat) = (Bench::new(text), Bench::new(flat));
            assert_eq!(blue.overload(500, 3), flat.overload(500, 3), "{text}");
            assert_eq!(blue.log.dropped, flat.log.dropped, "{text}: blue alone is one queue");
            let mut green = Bench::new(text);
            green.dscp = 1;
            assert!(green.overload(500, 3) >= 490, "{text}");
        }
    }

    #[test]
    fn marks_of_duplicates_are_those_of_packets() {
        let red = "dsd:green=1:g=1:virtual=[red:weight=1:min=0:max=2:probability=1:ecn=on]";
        let mut bench = Bench::new(red);
        bench.ecn = Ecn::Ect0;
        bench.enqueue(0, 100);
        bench.enqueue(0, 100);
        bench.dscp = 1;
        bench.enqueue(0, 100);
        bench.dscp = 0;
        bench.enqueue(0, 100);
        assert_eq!(bench.log.marked, [1, 2, 3].map(|handle| (handle, Red::MARK)));
        bench.ecn = Ecn::NotEct;
        bench.enqueue(0, 100);
        assert_eq!(bench.log.dropped.len(), 1);
        let mut bench = Bench::new(&red.replace(":ecn=on", ""));
        bench.ecn = Ecn::Ect0;
        (0..2).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(1, Red::EARLY)], "capable, but ecn is off");
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(
            error("dsd:rate=5mbit:bound=200ms:limit=60").contains("longer than a full buffer lasts at 5mbit")
        );
        assert!(error("dsd:rate=5mbit:bound=40ms:limit_bytes=20kb").contains("(32ms)"));
        Bench::new("dsd:rate=5mbit:bound=40ms:limit=60:mtu=1000b");
        assert!(error("dsd:g=1.01").contains("out of range; expected 0 to 1"));
        assert!(error("dsd:g=-0.1").contains("out of range; expected 0 to 1"));
        assert!(error("dsd:gamma=0").contains("out of range; expected 0.000001 to 1000"));
        assert!(error("dsd:k=0").contains("out of range"));
        assert!(error("dsd:alpha=2.1").contains("expected 0.000001 to 2"));
        assert!(error("dsd:bound=0").contains("expected 1us to 100s"));
        assert!(error("dsd:rate=0").contains("expected 1bit to 100gbit"));
        assert!(error("dsd:rate=infinite").contains("expected 1bit to 100gbit"));
        assert!(error("dsd:g=1:gamma=2").contains("gamma and g exclude each other"));
        assert!(error("dsd:g=1:control=loss").contains("control and g exclude each other"));
        assert!(error("dsd:control=loss:k=3").contains("k belongs to control=bias; expected no k"));
        assert!(error("dsd:control=ecn").contains("bias"));
        assert!(
            error("dsd:rate=1mbit:window=1s").contains("window is the time constant of an estimated rate")
        );
        assert!(error("dsd:green=blue").contains("unknown codepoint 'blue'"));
        assert!(error("dsd:virtual=codel").contains("expected taildrop or red, not 'codel'"));
        assert!(error("dsd:virtual=[red:limit=5]").contains("expected limit on dsd itself"));
        assert!(error("dsd:virtual=[red:min=15]").contains("min 15 is not below max 15"));
        assert!(error("dsd:virtual=blue").contains("unknown qdisc 'blue'"));
    }
}
