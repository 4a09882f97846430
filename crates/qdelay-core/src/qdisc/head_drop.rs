//! HeadDrop: first in, first out; an arrival at a full queue displaces the oldest packets.
//!
//! Source: BoDe paper section VI; Linux `pfifo_head_drop`; mahimahi `drop_head_packet_queue.hh`.
//!
//! Parameters: `limit` in packets (1000) and `limit_bytes` (none).
//!
//! Differences from the reference:
//! * A packet larger than the byte limit itself is refused; in mahimahi it would empty the queue and then be dropped.

use super::limits::{LIMIT, LIMIT_BYTES};
use super::{FifoLaw, Ring};
use crate::component::{Arguments, Component, ComponentError, Kind};
use crate::{Context, DropReason, MarkReason, Packet, Sink};

/// Declaration of `headdrop` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "headdrop",
    "first in, first out; drops the oldest packets to make room for an arrival",
)
.source("BoDe paper section VI; Linux pfifo_head_drop")
.with(&[LIMIT.parameter(), LIMIT_BYTES.parameter()]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT, DropReason::HEAD_LIMIT];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The law that drops packets at the head until an arrival has room.
#[derive(Clone, Copy, Debug)]
pub struct HeadDrop;

impl HeadDrop {
    /// The law itself: it has no parameters but the limits.
    pub(super) fn build(_: &Arguments) -> Result<HeadDrop, ComponentError> {
        Ok(HeadDrop)
    }
}

impl FifoLaw for HeadDrop {
    #[inline]
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if u64::from(packet.bytes) > ring.limit().bytes {
            return Err(DropReason::TAIL_LIMIT);
        }
        while !ring.has_room_for(packet) {
            let Some(oldest) = ring.pop() else { break };
            context.sink.dropped(&oldest, DropReason::HEAD_LIMIT);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;

    #[test]
    fn the_oldest_packet_is_dropped_for_an_arrival() {
        let mut bench = Bench::new("headdrop:limit=2");
        (0..4).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(0, DropReason::HEAD_LIMIT), (1, DropReason::HEAD_LIMIT)]);
        assert_eq!([bench.dequeue(1), bench.dequeue(1), bench.dequeue(1)], [Some(2), Some(3), None]);
    }

    #[test]
    fn enough_packets_are_dropped_for_a_large_arrival() {
        let mut bench = Bench::new("headdrop:limit_bytes=1000b");
        for bytes in [300, 300, 300, 900] {
            bench.enqueue(0, bytes);
        }
        assert_eq!(bench.drops(DropReason::HEAD_LIMIT), 3);
        assert_eq!(bench.dequeue(1), Some(3));
    }

    #[test]
    fn a_packet_above_the_byte_limit_is_refused() {
        let mut bench = Bench::new("headdrop:limit_bytes=1000b");
        bench.enqueue(0, 300);
        bench.enqueue(0, 1001);
        assert_eq!(bench.log.dropped, [(1, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.dequeue(1), Some(0));
    }
}
