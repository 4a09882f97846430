//! A delay: each packet leaves some time after its arrival, in the order of arrival.
//!
//! Parameters: `span`; `curve`, a delay over time that is added to it ([`Curve`]); `jitter`, a random part ([`Jitter`]), drawn for each
//! packet from a stream of the node's own. Packets keep their order, so that one that drew less waits for the one before, unless the curve
//! or the jitter has `reorder`.

pub mod curve;
pub mod jitter;

use crate::NodeId;
use crate::schedule::Schedule;
use alloc::boxed::Box;
pub use curve::{Curve, Part};
use jitter::Draws;
pub use jitter::Jitter;
use qdelay_core::{Packet, Random, Span, Time};

/// The settings of a delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelaySpec {
    /// The delay of each packet.
    pub span: Span,
    /// A random part.
    pub jitter: Jitter,
    /// A delay over time, in addition to `span`.
    pub curve: Option<Box<Curve>>,
}

impl DelaySpec {
    /// A constant delay without jitter.
    pub const fn constant(span: Span) -> DelaySpec {
        DelaySpec { span, jitter: Jitter::NONE, curve: None }
    }
    /// A delay over time.
    pub fn over_time(curve: Curve) -> DelaySpec {
        DelaySpec { curve: Some(Box::new(curve)), ..DelaySpec::constant(Span::ZERO) }
    }
    /// The same delay with this jitter.
    #[must_use]
    pub fn with_jitter(self, jitter: impl Into<Jitter>) -> DelaySpec {
        DelaySpec { jitter: jitter.into(), ..self }
    }
}

/// The fate of an entering packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It goes on at once.
    Through,
    /// It waits, and it is the first to.
    First(Time),
    /// It waits behind others.
    Behind,
}

/// The state of a delay.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    pub(crate) next: NodeId,
    span: Span,
    /// `None` without jitter.
    jitter: Option<Box<Draws>>,
    curve: Option<Box<Curve>>,
    pub(crate) schedule: Schedule,
    /// True if the delay differs from packet to packet.
    moves: bool,
}

impl Delay {
    pub(crate) fn new(spec: DelaySpec, next: NodeId, seed: u64, name: &str) -> Delay {
        let DelaySpec { span, jitter, curve } = spec;
        let draws = || Box::new(Draws::new(jitter.clone(), Random::derive(seed, name, "jitter")));
        let jitter = (!jitter.is_none()).then(draws);
        let moves = jitter.is_some() || curve.is_some();
        Delay { next, span, jitter, curve, schedule: Schedule::default(), moves }
    }

    /// Does `spec` with the packets that enter from now on, and draws from the beginning of the streams of `seed`.
    pub(crate) fn replace(&mut self, spec: DelaySpec, seed: u64, name: &str) {
        let schedule = core::mem::take(&mut self.schedule);
        *self = Delay { schedule, ..Delay::new(spec, self.next, seed, name) };
    }

    #[inline]
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Entry {
        let mut leave = now + self.span;
        if self.moves {
            if self.reorders() {
                return self.enter_by_itself(now, packet);
            }
            leave = now + self.moving(now);
        }
        let before = self.schedule.last();
        if before.is_none() && leave == now {
            return Entry::Through;
        }
        let leave = leave.max(before.unwrap_or(Time::ZERO));
        debug_assert!(leave >= now, "a packet leaves before it comes");
        self.schedule.push(leave, packet);
        if before.is_none() { Entry::First(leave) } else { Entry::Behind }
    }

    /// The delay of a packet that enters at `now`.
    #[inline(never)]
    fn moving(&mut self, now: Time) -> Span {
        let delay = self.span + self.curve.as_mut().map_or(Span::ZERO, |curve| curve.at(now));
        match &mut self.jitter {
            None => delay,
            Some(draws) => Span::from_nanos(delay.as_nanos().saturating_add_signed(draws.draw())),
        }
    }

    /// Whether packets may overtake others.
    fn reorders(&self) -> bool {
        self.curve.as_ref().is_some_and(|curve| curve.reorder)
            || self.jitter.as_ref().is_some_and(|draws| draws.reorders())
    }

    /// Lets a packet wait for its own delay, whatever those before it do.
    #[inline(never)]
    fn enter_by_itself(&mut self, now: Time, packet: &Packet) -> Entry {
        let leave = now + self.moving(now);
        if leave == now {
            return Entry::Through;
        }
        let first = self.schedule.next_deadline();
        self.schedule.insert(leave, packet);
        if leave < first { Entry::First(leave) } else { Entry::Behind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use qdelay_trace::{DelayStep, DelaySteps};

    /// Random steps and arrivals: in order a packet leaves when its delay is over and the one before it has left; by themselves, when
    /// its delay is over. The delay is found by a walk over all steps.
    #[test]
    fn packets_leave_as_a_walk_over_the_steps_says() {
        for seed in 0..60 {
            let random = &mut Random::derive(seed, "delay", "draws");
            let ns = |random: &mut Random, most: u64| random.below(most);
            let mut start = 0;
            let mut steps = Vec::new();
            for _ in 0..1 + random.below(12) {
                steps.push(DelayStep {
                    start: Time::from_nanos(start),
                    value: Span::from_nanos(ns(random, 5_000_000)),
                });
                start += 1 + ns(random, 2_000_000);
            }
            let (repeat, place) = (random.below(2) == 0, Span::from_nanos(ns(random, start)));
            let (reorder, extra) = (random.below(2) == 0, Span::from_nanos(ns(random, 100_000)));
            let curve = DelaySteps::new(steps.clone(), Span::from_nanos(start)).unwrap();
            let curve = Curve::new(curve, repeat, reorder).starting_from(place);
            let spec = DelaySpec { span: extra, ..DelaySpec::over_time(curve) };
            let mut delay = Delay::new(spec, NodeId(0), seed, "delay");
            let (mut now, mut last, mut expected, mut found) =
                (Time::ZERO, Time::ZERO, Vec::new(), Vec::new());
            let mut leave = |delay: &mut Delay, until: Time| {
                while delay.schedule.next_deadline() <= until && delay.schedule.len() > 0 {
                    let at = delay.schedule.next_deadline();
                    found.extend(delay.schedule.leave().map(|packet| (at, packet.handle)));
                }
            };
            for handle in 0..200 {
                now += Span::from_nanos(ns(random, 400_000));
                leave(&mut delay, now);
                let place = (now + place).as_nanos();
                let within = if repeat { place % start } else { place };
                let holds = steps.iter().rfind(|step| step.start.as_nanos() <= within).unwrap();
                let due = now + extra + holds.value;
                let due = if reorder { due } else { due.max(last) };
                last = due;
                expected.push((due, handle));
                let packet = Packet { handle, bytes: 100, ..Packet::default() };
                if delay.enter(now, &packet) == Entry::Through {
                    leave(&mut delay, Time::ZERO);
                    assert_eq!(due, now);
                    expected.pop();
                }
            }
            leave(&mut delay, Time::NEVER);
            expected.sort_by_key(|(due, handle)| (*due, *handle));
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}
