//! The state of a gate: its law, its optional clock, and signals in transit to it.

use crate::inputs::Inputs;
use crate::{AnyPacer, NodeId, Pacer, Signal, SizeUnit};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::pacer::Waited;
use qdelay_core::{Packet, Span, Time};

/// Fields that every signal reads come before the law, in this order, because the law is large.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Gate {
    /// Signals on their way, in order of arrival.
    pub(crate) inbox: VecDeque<(Time, Signal)>,
    /// When the gate is to run.
    pub(crate) due: Time,
    /// When the path looks after it: at `due`, or earlier where that was put off. A signal in each TTI puts off what a law
    /// does without one, and to be looked after once too often costs less than to say so each time.
    pub(crate) alarm: Time,
    /// The time at which the law must be asked again.
    pub(crate) retry: Time,
    /// The input whose head was refused when the law was last asked, and its bytes; only where the head can change by
    /// nothing but an arrival, which runs the gate.
    pub(crate) held: Option<(usize, u64)>,
    pub(crate) clock: Option<Box<Clock>>,
    /// The refused packet; only if a gate listens for refusals.
    pub(crate) refused: Option<Box<Refused>>,
    /// The bearer of a cell whose reports are all that its law hears, each at once: they may come late.
    pub(crate) bearer: Option<(NodeId, u32)>,
    /// The bearer of a cell that the packets go to next, at once or over F1.
    pub(crate) below: Option<(NodeId, u32)>,
    pub(crate) next: NodeId,
    /// The next node is a link, which takes packets through the gate when it is free.
    pub(crate) pulled: bool,
    /// A packet stands at the head that was not let through when the gate was last asked. Without one, a signal changes
    /// nothing until a packet comes, which wakes the gate.
    pub(crate) is_blocked: bool,
    /// It is not due, though its law would be asked again: reports wait for it.
    pub(crate) rests: bool,
    /// The unit of the sizes that the law is given.
    pub(crate) unit: SizeUnit,
    pub(crate) law: AnyPacer,
    pub(crate) inputs: Inputs,
}

impl Gate {
    pub(crate) fn new(law: AnyPacer, inputs: Inputs, next: NodeId, pulled: bool) -> Gate {
        Gate {
            law,
            inputs,
            next,
            pulled,
            is_blocked: false,
            rests: false,
            unit: SizeUnit::Bytes,
            retry: Time::NEVER,
            due: Time::NEVER,
            alarm: Time::NEVER,
            held: None,
            inbox: VecDeque::new(),
            clock: None,
            refused: None,
            bearer: None,
            below: None,
        }
    }
    /// The head that is refused; `None` where it can change by more than an arrival.
    #[inline]
    fn refused_bytes(&self) -> Option<u64> {
        self.held.map(|(_, bytes)| self.unit.counted_bytes(bytes))
    }
    /// [`Pacer::may_wait`] of its law.
    #[inline]
    pub(crate) fn may_wait(&self, waited: &Waited) -> bool {
        let head = self.refused_bytes();
        (head.is_some() || !self.is_blocked) && self.law.may_wait(waited, head)
    }
    /// [`Pacer::waited`] of its law.
    pub(crate) fn waited(&mut self, waited: &Waited) {
        let head = self.refused_bytes();
        self.law.waited(waited, head);
    }
    /// Puts a signal on its way, behind those that arrive at the same time.
    pub(crate) fn post(&mut self, time: Time, signal: Signal) {
        let place = self.inbox.partition_point(|entry| entry.0 <= time);
        self.inbox.insert(place, (time, signal));
    }
    /// When the gate has something to do by itself.
    pub(crate) fn deadline(&self) -> Time {
        self.inbox.front().map_or(Time::NEVER, |entry| entry.0).min(self.retry)
    }
    /// The first time from `time` on at which its clock lets it ask its law.
    #[inline]
    pub(crate) fn opening(&self, time: Time) -> Time {
        self.clock.as_ref().map_or(time, |clock| clock.opening(time))
    }
}

/// Limits of a gate besides its law.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// It asks at multiples of this only; zero for any time.
    pub(crate) polling: Span,
    /// The most packets in each `period`, counted from multiples of it; zero for any number.
    pub(crate) packets: u32,
    pub(crate) period: Span,
    /// When the period of the last packet began, and how many it has had.
    since: Time,
    used: u32,
}

impl Clock {
    fn opening(&self, time: Time) -> Time {
        let mut opening = multiple_from(time, self.polling);
        if self.packets > 0 && self.used >= self.packets {
            opening = opening.max(multiple_from(self.since + self.period, self.polling));
        }
        opening
    }
    /// A packet went through.
    pub(crate) fn forwarded(&mut self, now: Time) {
        if self.packets > 0 {
            if now >= self.since + self.period {
                let into = now.as_nanos() % self.period.as_nanos().max(1);
                (self.since, self.used) = (Time::from_nanos(now.as_nanos() - into), 0);
            }
            self.used += 1;
            debug_assert!(self.used <= self.packets, "{} packets in a period of {}", self.used, self.packets);
        }
    }
}

/// The first multiple of `period` that is not before `time`; `time` itself where the period is zero.
fn multiple_from(time: Time, period: Span) -> Time {
    let (nanos, period) = (time.as_nanos(), period.as_nanos());
    if period == 0 || time == Time::NEVER {
        return time;
    }
    nanos.div_ceil(period).checked_mul(period).map_or(Time::NEVER, Time::from_nanos)
}

/// The packet of each input that was refused last.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    heads: Vec<Option<Packet>>,
}

impl Refused {
    pub(crate) fn new(inputs: usize) -> Refused {
        Refused { heads: vec![None; inputs] }
    }
    /// Whether `packet` at the head of the input `index` is refused for the first time.
    pub(crate) fn is_news(&mut self, index: usize, packet: &Packet) -> bool {
        match self.heads.get_mut(index) {
            Some(head) if head.as_ref() == Some(packet) => false,
            Some(head) => {
                *head = Some(*packet);
                true
            }
            None => false,
        }
    }
    /// A packet of the input `index` went through.
    pub(crate) fn forwarded(&mut self, index: usize) {
        if let Some(head) = self.heads.get_mut(index) {
            *head = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PullOrder;

    #[test]
    fn signals_wait_in_order_of_time_then_of_sending() {
        let inputs = Inputs::new(Vec::new(), PullOrder::RoundRobin);
        let mut gate = Gate::new(AnyPacer::PASS_THROUGH, inputs, NodeId(0), false);
        for (time, bytes) in [(5, 1), (3, 2), (5, 3), (4, 4), (3, 5)] {
            gate.post(Time::from_nanos(time), Signal::Dequeued { bytes });
        }
        assert_eq!(gate.deadline(), Time::from_nanos(3));
        let order: Vec<Signal> = gate.inbox.iter().map(|entry| entry.1).collect();
        assert_eq!(order, [2, 5, 4, 1, 3].map(|bytes| Signal::Dequeued { bytes }));
    }

    #[test]
    fn a_clock_opens_at_multiples_and_closes_after_its_share() {
        let at = Time::from_nanos;
        let polled = Clock { polling: Span::from_nanos(10), ..Clock::default() };
        assert_eq!([0, 1, 10, 11].map(|n| polled.opening(at(n))), [0, 10, 10, 20].map(at));
        assert_eq!(polled.opening(Time::NEVER), Time::NEVER);
        assert_eq!(polled.opening(at(u64::MAX - 1)), Time::NEVER);

        let mut clock = Clock { packets: 2, period: Span::from_nanos(100), ..Clock::default() };
        for (now, opens) in [(5, 5), (50, 100), (100, 100), (199, 200), (350, 350), (350, 400)] {
            assert!(clock.opening(at(now)) == at(now), "{now}");
            clock.forwarded(at(now));
            assert_eq!(clock.opening(at(now)), at(opens), "{now}");
        }
        // Two in each hundred, and only at multiples of thirty.
        let mut both = Clock { polling: Span::from_nanos(30), ..clock };
        both.forwarded(at(420));
        both.forwarded(at(420));
        assert_eq!(both.opening(at(421)), at(510));
    }

    #[test]
    fn a_packet_is_refused_once() {
        let mut refused = Refused::new(2);
        let [one, two] = [1, 2].map(|handle| Packet { handle, ..Packet::default() });
        assert!(refused.is_news(0, &one) && !refused.is_news(0, &one));
        assert!(refused.is_news(1, &two) && !refused.is_news(0, &one), "each input has its own");
        assert!(refused.is_news(0, &two));
        refused.forwarded(0);
        assert!(refused.is_news(0, &two), "one that looks alike came after it");
    }
}
