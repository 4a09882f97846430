//! Queue disciplines: a class decides on arrivals, on departures and at timers; the queue is first in, first out.

use super::Role;
use super::call::{Class, Input, Instance, Number};
use pyo3::prelude::*;
use qdelay_core::component::{Arguments, Component, Custom, Kind};
use qdelay_core::qdisc::{self, Backlog, Fifo, FifoLaw, LIMIT, Ring, limit};
use qdelay_core::{Context, DropReason, MarkReason, Packet, Random, Sink, Span, Time};
use std::sync::Arc;

pub const ROLE: Role = Role {
    name: "aqm",
    kind: Kind::Qdisc,
    common: |own| own.iter().copied().chain([LIMIT.parameter()]).collect(),
    methods: &[
        (
            "admit",
            &[
                Input::Now,
                Input::Size,
                Input::Flow,
                Input::Dscp,
                Input::Ecn,
                Input::Packets,
                Input::Bytes,
                Input::Random,
            ],
        ),
        (
            "dequeue",
            &[
                Input::Now,
                Input::Wait,
                Input::Size,
                Input::Flow,
                Input::Dscp,
                Input::Ecn,
                Input::Packets,
                Input::Bytes,
                Input::Random,
            ],
        ),
        ("timer", &[Input::Now, Input::Packets, Input::Bytes]),
    ],
    custom,
};
const ADMIT: usize = 0;
const DEQUEUE: usize = 1;
const TIMER: usize = 2;

fn custom(component: &'static Component, class: Arc<Class>) -> Custom {
    let reason = component.name;
    qdisc::custom(component, move |arguments: &Arguments| {
        let law = Aqm {
            instance: class.instance(arguments)?,
            has_timer: class.has("timer"),
            next: Time::ZERO,
            drop: DropReason::new(reason),
            mark: MarkReason::new(reason),
        };
        Ok(Fifo::new(limit(arguments), law))
    })
}

#[derive(Clone, Debug)]
struct Aqm {
    instance: Instance,
    has_timer: bool,
    /// Time of the next timer call.
    next: Time,
    drop: DropReason,
    mark: MarkReason,
}

/// Decision of a class on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Pass,
    Drop,
    Mark,
}

const EXPECTED: &str = "qdelay.PASS, DROP or MARK, or None for PASS";

impl Aqm {
    /// Decision of the method at `place` on `packet`, with `backlog` in the queue besides.
    #[inline]
    fn decide(
        &self,
        place: usize,
        now: Time,
        packet: &Packet,
        backlog: Backlog,
        random: &mut Random,
    ) -> Decision {
        let value = |input| number(input, now, packet, backlog, random);
        self.instance.call(place, now, value, decision).unwrap_or(Decision::Pass)
    }
}

#[inline]
fn number(input: Input, now: Time, packet: &Packet, backlog: Backlog, random: &mut Random) -> Number {
    match input {
        Input::Now => Number::seconds(now),
        Input::Wait => Number::Float(now.since(packet.arrival).as_secs_f64()),
        Input::Size => packet.bytes.into(),
        Input::Flow => packet.flow.into(),
        Input::Dscp => u32::from(packet.dscp).into(),
        Input::Ecn => Number::Switch(packet.ecn.is_capable()),
        Input::Packets => Number::Whole(backlog.packets),
        Input::Bytes => Number::Whole(backlog.bytes),
        Input::Random => Number::Float(random.unit()),
        _ => Number::Unknown,
    }
}

#[inline]
fn decision(answer: &Bound<'_, PyAny>) -> Result<Decision, &'static str> {
    if answer.is_none() {
        return Ok(Decision::Pass);
    }
    // Only words are accepted: True or 1 may be a mistake.
    match answer.extract::<&str>() {
        Ok("pass") => Ok(Decision::Pass),
        Ok("drop") => Ok(Decision::Drop),
        Ok("mark") => Ok(Decision::Mark),
        _ => Err(EXPECTED),
    }
}

impl FifoLaw for Aqm {
    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        ring.check_room(packet)?;
        match self.decide(ADMIT, context.now, packet, ring.backlog(), context.random) {
            Decision::Pass => Ok(()),
            Decision::Mark if packet.ecn.is_capable() => {
                context.mark(packet, self.mark);
                Ok(())
            }
            Decision::Drop | Decision::Mark => Err(self.drop),
        }
    }

    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        loop {
            let mut packet = ring.pop()?;
            match self.decide(DEQUEUE, context.now, &packet, ring.backlog(), context.random) {
                Decision::Pass => return Some(packet),
                Decision::Mark if packet.ecn.is_capable() => {
                    context.mark(&mut packet, self.mark);
                    return Some(packet);
                }
                Decision::Drop | Decision::Mark => context.sink.dropped(&packet, self.drop),
            }
        }
    }

    fn has_timer(&self) -> bool {
        self.has_timer
    }

    #[inline]
    fn next_deadline(&self, _: Backlog) -> Time {
        if self.has_timer { self.next } else { Time::NEVER }
    }

    fn poll(&mut self, now: Time, backlog: Backlog) {
        if !self.has_timer || now < self.next {
            return;
        }
        let value = |input| match input {
            Input::Now => Number::seconds(now),
            Input::Packets => Number::Whole(backlog.packets),
            Input::Bytes => Number::Whole(backlog.bytes),
            _ => Number::Unknown,
        };
        let wait = self.instance.call(TIMER, now, value, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            let seconds =
                answer.extract::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 1e-9);
            seconds.map(Some).ok_or("the seconds until it is called again, above 0, or None for never")
        });
        self.next = wait.flatten().map_or(Time::NEVER, |seconds| now + Span::from_secs_f64(seconds));
    }
}
