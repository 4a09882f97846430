//! One first-in first-out queue in which green packets are accepted only if they will wait no longer than a
//! bound: the baseline for ABE's duplicate scheduling ([`super::Dsd`]).
//!
//! Source: Hurley, Le Boudec, Thiran and Kara, "ABE: Providing a Low-Delay Service within Best Effort"
//! (2001), the section on implementation: a first-come first-served queue with a threshold for green. A blue
//! packet is accepted if there is room; a green one if the whole backlog, and the remainder of the packet
//! being sent, will be sent within `bound`. Blue loses nothing by the threshold, and green gets only the
//! capacity that blue leaves: none, while the queue is longer than the bound.
//!
//! Parameters: `rate` and `overhead` of the link, or `window` of the estimate used without a rate, `bound`
//! (20 ms), `green`, `limit` and `limit_bytes`.
//!
//! Differences from the reference:
//! * The paper gives no details. As nothing is reordered and nothing that was accepted is dropped, the bound
//!   is kept exactly at a constant rate; without `rate` the wait is estimated, and green packets that wait
//!   longer are served all the same.

use super::colour::{BOUND, GREEN, Green, OVERHEAD, RATE, WINDOW, WOULD_BE_LATE};
use super::limits::{LIMIT, LIMIT_BYTES};
use super::service_rate::ServiceRate;
use super::{Backlog, FifoLaw, Ring};
use crate::aqm::Colour;
use crate::component::{Arguments, Component, ComponentError, Kind};
use crate::{Context, DropReason, MarkReason, Packet, Rate, Sink, Span, Time};

/// Declaration of `fcfs_green` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "fcfs_green",
    "one queue that accepts green packets only if they will wait at most bound; the baseline of dsd",
)
.source("ABE paper (Hurley, Le Boudec, Thiran, Kara 2001), implementation")
.classifies("colour")
.with(&[
    RATE.parameter(),
    OVERHEAD.parameter(),
    BOUND.parameter(),
    GREEN.parameter(),
    WINDOW.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, WOULD_BE_LATE];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

#[derive(Clone, Debug)]
enum Clock {
    /// The link's rate, and the end of the last departure's transmission.
    Rate(Rate, Time),
    Service(ServiceRate),
}

/// The threshold for green of a first-come first-served queue.
#[derive(Clone, Debug)]
pub struct FcfsGreen {
    clock: Clock,
    bound: Span,
    overhead_bytes: u64,
    signs: Green,
}

impl FcfsGreen {
    /// The discipline that `arguments` describe.
    ///
    /// # Errors
    /// An invalid marking of green; `window` beside `rate`.
    pub(super) fn build(arguments: &Arguments) -> Result<FcfsGreen, ComponentError> {
        let green = Green::parse(arguments.get(&GREEN));
        let window = arguments.get(&WINDOW);
        let clock = match arguments.get(&RATE) {
            Some(_) if arguments.is_given(&WINDOW) => {
                let message =
                    "window is the time constant of an estimated rate; expected rate or window, not both";
                return Err(arguments.fail(message));
            }
            Some(rate) => Clock::Rate(rate, Time::ZERO),
            None => Clock::Service(ServiceRate::new(window)),
        };
        Ok(FcfsGreen {
            clock,
            bound: arguments.get(&BOUND),
            overhead_bytes: arguments.get(&OVERHEAD),
            signs: green.map_err(|message| arguments.fail(message))?,
        })
    }

    /// Time that an arrival would wait behind `backlog`.
    fn wait(&self, now: Time, backlog: Backlog) -> Span {
        let Backlog { packets, bytes } = backlog;
        let wire = bytes + packets * self.overhead_bytes;
        match &self.clock {
            Clock::Rate(rate, busy_until) => busy_until.since(now) + rate.time_for(wire),
            Clock::Service(rate) => rate.time_for(wire + rate.residual(now)),
        }
    }
}

impl FifoLaw for FcfsGreen {
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        ring.check_room(packet)?;
        let is_green = self.signs.colour_of(packet) == Colour::Green;
        if is_green && self.wait(context.now, ring.backlog()) > self.bound {
            return Err(WOULD_BE_LATE);
        }
        Ok(())
    }
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        let packet = ring.pop()?;
        let wire = u64::from(packet.bytes) + self.overhead_bytes;
        match &mut self.clock {
            Clock::Rate(rate, busy_until) => *busy_until = context.now + rate.time_for(wire),
            Clock::Service(rate) => rate.departed(context.now, wire, !ring.is_empty()),
        }
        Some(packet)
    }
    fn promised_rate(&self) -> Option<Rate> {
        match self.clock {
            Clock::Rate(rate, _) => Some(rate),
            Clock::Service(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Qdisc;
    use super::super::testing::{Bench, error};
    use super::*;

    /// A line of 8 Mbit/s: 1000 bytes take 1 ms.
    const LINE: &str = "fcfs_green:rate=8mbit:bound=3ms:limit=10";

    #[test]
    fn green_is_accepted_within_the_bound() {
        let mut bench = Bench::new(LINE);
        bench.enqueue(0, 1000);
        bench.dequeue(0);
        (0..2).for_each(|_| bench.enqueue(0, 1000));
        bench.dscp = 46;
        bench.enqueue(0, 1000);
        bench.enqueue(0, 1000);
        assert_eq!(bench.log.dropped, [(4, WOULD_BE_LATE)], "3 ms is in time, 4 ms is not");
        assert_eq!([1, 2, 3, 4].map(|ms| bench.dequeue(ms)), [Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn blue_is_accepted_up_to_the_limit() {
        let mut bench = Bench::new(LINE);
        (0..12).for_each(|_| bench.enqueue(0, 1000));
        bench.dscp = 46;
        bench.enqueue(0, 1000);
        assert_eq!(bench.drops(DropReason::TAIL_LIMIT), 3);
        assert_eq!(bench.drops(WOULD_BE_LATE), 0);
    }

    #[test]
    fn without_a_rate_the_rate_is_estimated() {
        let mut bench = Bench::new("fcfs_green:bound=3ms:green=ef");
        bench.dscp = 46;
        bench.overload(1000, 2);
        assert!(bench.drops(WOULD_BE_LATE) > 900);
        assert!(bench.qdisc.backlog().packets <= 5, "{:?}", bench.qdisc.backlog());
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(
            error("fcfs_green:rate=1mbit:window=1s")
                .contains("window is the time constant of an estimated rate")
        );
        assert!(error("fcfs_green:green=1-0").contains("1-0 is empty"));
        assert!(error("fcfs_green:bound=0").contains("expected 1us to 100s"));
    }
}
