//! TailDrop: first in, first out; an arrival at a full queue is dropped.
//!
//! Source: BoDe paper section VI; Linux `pfifo` and `bfifo`.
//!
//! Parameters: `limit` in packets (1000) and `limit_bytes` (none).
//!
//! Differences from the reference: none. Both limits hold at once, where Linux has one discipline for each.

use super::FifoLaw;
use super::limits::{LIMIT, LIMIT_BYTES};
use crate::component::{Arguments, Component, ComponentError, Kind};
use crate::{DropReason, MarkReason};

/// Declaration of `taildrop` and its parameters.
pub static COMPONENT: Component =
    Component::new(Kind::Qdisc, "taildrop", "first in, first out; drops an arrival at a full queue")
        .source("BoDe paper section VI; Linux pfifo, bfifo")
        .with(&[LIMIT.parameter(), LIMIT_BYTES.parameter()]);

/// Drop reasons of this discipline.
pub(super) const DROPS: &[DropReason] = &[DropReason::TAIL_LIMIT];
/// Mark reasons of this discipline.
pub(super) const MARKS: &[MarkReason] = &[];

/// The law that drops an arrival for which there is no room.
#[derive(Clone, Copy, Debug)]
pub struct TailDrop;

impl TailDrop {
    /// The law itself: it has no parameters but the limits.
    pub(super) fn build(_: &Arguments) -> Result<TailDrop, ComponentError> {
        Ok(TailDrop)
    }
}

impl FifoLaw for TailDrop {
    fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
        let _ = arguments;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::super::{Backlog, Qdisc};
    use super::*;

    #[test]
    fn keeps_order_and_drops_arrivals_at_a_full_queue() {
        let mut bench = Bench::new("taildrop:limit=2");
        (0..4).for_each(|_| bench.enqueue(0, 100));
        assert_eq!(bench.log.dropped, [(2, DropReason::TAIL_LIMIT), (3, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.qdisc.backlog(), Backlog { packets: 2, bytes: 200 });
        assert_eq!(bench.qdisc.head().map(|packet| packet.handle), Some(0));
        assert_eq!([bench.dequeue(1), bench.dequeue(1), bench.dequeue(1)], [Some(0), Some(1), None]);
    }

    #[test]
    fn sizes_are_announced_in_order_and_remove_nothing() {
        let mut bench = Bench::new("taildrop");
        [100, 200, 300].into_iter().for_each(|bytes| bench.enqueue(0, bytes));
        bench.dequeue(1);
        let mut sizes = [0; 4];
        assert_eq!((bench.qdisc.sizes(0, &mut sizes), sizes), (2, [200, 300, 0, 0]));
        assert_eq!((bench.qdisc.sizes(1, &mut sizes[..1]), sizes[0]), (1, 300));
        assert_eq!((bench.qdisc.sizes(2, &mut sizes), bench.qdisc.sizes(9, &mut sizes)), (0, 0));
        // A discipline that serves flows in turns reports only the next packet.
        let mut bench = Bench::new("drr");
        [100, 200].into_iter().for_each(|bytes| bench.enqueue(0, bytes));
        assert_eq!((bench.qdisc.sizes(0, &mut sizes), sizes[0]), (1, 100));
        assert_eq!(bench.qdisc.sizes(1, &mut sizes), 0);
    }

    #[test]
    fn the_byte_limit_is_inclusive_and_a_smaller_packet_may_follow() {
        let mut bench = Bench::new("taildrop:limit_bytes=1000b");
        for bytes in [600, 500, 400, 1] {
            bench.enqueue(0, bytes);
        }
        assert_eq!(bench.log.dropped, [(1, DropReason::TAIL_LIMIT), (3, DropReason::TAIL_LIMIT)]);
        assert_eq!(bench.qdisc.backlog().bytes, 1000);
    }
}
