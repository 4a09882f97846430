//! BoDe: a first-in first-out queue that drops packets at dequeue that have waited too long.
//!
//! Source, parameters and differences: [`crate::aqm::Bode`]. An arrival at a full queue is dropped.

use super::limits::{self, LIMIT, LIMIT_BYTES};
use super::{FifoLaw, Ring};
use crate::aqm::{self, Verdict};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Context, DropReason, MarkReason, Packet, Sink, Span};
use alloc::format;

const TARGET: Typed<Span> = Typed::new("target", "20ms", "longest sojourn that is served (BoundedDelay, D)")
    .within("1us", "100s")
    .source("BoDe paper section VI: D is 20ms, 100ms for video calls");
const MIN_KEEP: Typed<u64> =
    Typed::new("min_keep", "2", "a packet with at most this many packets behind it is served at any sojourn")
        .unit(Unit::Count("packets"))
        .within("0", "10000000")
        .source("BoDe paper section V-C step 3: the last three, the one in hand included");
const MIN_KEEP_BYTES: Typed<u64> = Typed::new(
    "min_keep_bytes",
    "0",
    "a packet with at most this many bytes behind it is served at any sojourn; 0 disables the rule",
)
.unit(Unit::Bytes)
.within("0", "")
.source("the paper's published program has 1504b, the paper none");

/// Declaration of `bode` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "bode",
    "bounded delay: drops packets at dequeue that waited longer than target, but never the last ones",
)
.source("BoDe paper section V-C")
.with(&[
    TARGET.parameter(),
    MIN_KEEP.parameter(),
    MIN_KEEP_BYTES.parameter(),
    LIMIT.parameter(),
    LIMIT_BYTES.parameter(),
]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, aqm::Bode::SOJOURN_BOUND];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The law of BoDe over one queue.
#[derive(Clone, Copy, Debug)]
pub struct Bode(pub aqm::Bode);

impl Bode {
    /// The law that `arguments` describe.
    ///
    /// # Errors
    /// A `min_keep` or `min_keep_bytes` that spares every packet within the limit.
    pub(super) fn build(arguments: &Arguments) -> Result<Bode, ComponentError> {
        let limit = limits::limit(arguments);
        let law = aqm::Bode {
            target: arguments.get(&TARGET),
            min_keep: arguments.get(&MIN_KEEP),
            min_keep_bytes: arguments.get(&MIN_KEEP_BYTES),
        };
        if arguments.is_given(&MIN_KEEP) && law.min_keep >= limit.packets {
            let message = format!(
                "min_keep {} is not below limit {}: nothing would be dropped",
                law.min_keep, limit.packets
            );
            return Err(arguments.fail(message));
        }
        if law.min_keep_bytes >= limit.bytes {
            let message = format!(
                "min_keep_bytes {} is not below limit_bytes {}: nothing would be dropped",
                law.min_keep_bytes, limit.bytes
            );
            return Err(arguments.fail(message));
        }
        Ok(Bode(law))
    }
}

impl FifoLaw for Bode {
    #[inline]
    fn dequeue<S: Sink>(&mut self, ring: &mut Ring, context: &mut Context<'_, S>) -> Option<Packet> {
        loop {
            let packet = ring.pop()?;
            if self.0.decide(context.now.since(packet.arrival), ring.backlog()) == Verdict::Forward {
                return Some(packet);
            }
            context.sink.dropped(&packet, aqm::Bode::SOJOURN_BOUND);
        }
    }

    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        // The law has no state to keep.
        *self = Bode::build(arguments)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error};
    use super::*;

    #[test]
    fn late_packets_are_dropped_except_the_last_three() {
        let mut bench = Bench::new("bode:target=20ms");
        (0..10).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.dequeue(20), Some(0), "at the bound");
        assert_eq!(bench.dequeue(21), Some(7));
        assert_eq!(bench.drops(aqm::Bode::SOJOURN_BOUND), 6);
        assert_eq!([bench.dequeue(900), bench.dequeue(999), bench.dequeue(999)], [Some(8), Some(9), None]);
        assert_eq!(bench.log.dropped.len(), 6);
    }

    #[test]
    fn dropping_stops_at_the_first_timely_packet() {
        let mut bench = Bench::new("bode:target=20ms");
        (0..10).for_each(|ms| bench.enqueue(ms, 100));
        assert_eq!(bench.dequeue(24), Some(4));
        assert_eq!(bench.drops(aqm::Bode::SOJOURN_BOUND), 4);
    }

    #[test]
    fn served_packets_waited_at_most_target() {
        let mut bench = Bench::new("bode:target=20ms:limit=100");
        bench.overload(500, 3);
        assert!(bench.drops(aqm::Bode::SOJOURN_BOUND) > 0);
        assert_eq!(bench.drops(DropReason::TAIL_LIMIT), 0, "the 3 packets of 20 ms never fill it");
        (0..200).for_each(|_| bench.enqueue(501, 1500));
        assert!(bench.drops(DropReason::TAIL_LIMIT) > 0);
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("bode:min_keep=5:limit=5").contains("min_keep 5 is not below limit 5"));
        assert!(error("bode:min_keep_bytes=2kb:limit_bytes=1kb").contains("not below limit_bytes 1000"));
        Bench::new("bode:limit=1");
    }
}
