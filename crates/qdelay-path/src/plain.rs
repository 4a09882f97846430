//! A plain queue in front of a line of its own: the time at which a packet leaves the line is known as it comes.
//!
//! Where a queue has tail drop and nothing else, and a [`Line`] takes from it alone, only two events of a packet matter: its arrival, and its
//! departure from the line. That it is taken from the queue in between decides nothing. So the packet joins the line's schedule at once, with the
//! same arithmetic, and no discipline is called: counters, limits and times are those of the two nodes. What is not told is when a packet was dequeued: only queues
//! that nobody asks about that ([`PathBuilder::unobserved`](crate::PathBuilder::unobserved)) are made so.

use crate::NodeId;
use crate::link::{AnyLink, AnySerial, Line, Serial};
use crate::node::{Link, Queue, Sending};
use alloc::collections::VecDeque;
use qdelay_core::qdisc::Limit;
use qdelay_core::{Packet, Time};

/// The queue. Its packets are at the line.
#[derive(Clone, Debug)]
pub(crate) struct PlainQueue<Q> {
    /// Always empty.
    pub(crate) queue: Queue<Q>,
    /// The line.
    pub(crate) line: NodeId,
}

/// What happens to a packet that comes.
pub(crate) enum Entered {
    /// Its transmission begins; the value is the time of its last bit.
    First(Time),
    /// It waits.
    Behind,
    /// It is dropped.
    NoRoom,
}

/// The line, with the packet in transmission and those behind it.
#[derive(Clone, Debug)]
pub(crate) struct PlainLine {
    /// Of the node; it has no packet.
    pub(crate) link: Link,
    pub(crate) queue: NodeId,
    line: Line,
    limit: Limit,
    /// Packets and the time of their last bit.
    schedule: VecDeque<(Time, Packet)>,
    /// Their bytes.
    bytes: u64,
    /// The time of the last one's last bit.
    last: Time,
}

impl PlainLine {
    /// The line of `link`, an idle one that takes from `queue`, a queue with this limit; the link as it is if it is of another kind.
    #[expect(
        clippy::result_large_err,
        reason = "a path is being built, and the link goes back to where it was"
    )]
    pub(crate) fn new(link: Link, queue: NodeId, limit: Limit) -> Result<PlainLine, Link> {
        match &link.model {
            AnyLink::Serial(AnySerial::Line(line)) if link.sending.is_none() => {
                let line = line.clone();
                let (schedule, last) = (VecDeque::new(), Time::ZERO);
                Ok(PlainLine { link, queue, line, limit, schedule, bytes: 0, last })
            }
            _ => Err(link),
        }
    }

    /// `packet` comes at `now`.
    #[inline]
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Entered {
        let Some((_, first)) = self.schedule.front() else {
            // Not even an empty queue takes a packet larger than all it may hold.
            if u64::from(packet.bytes) > self.limit.bytes || self.limit.packets == 0 {
                return Entered::NoRoom;
            }
            self.last = self.line.begin(now, packet.bytes);
            self.join(packet);
            return Entered::First(self.last);
        };
        let waiting_bytes = self.bytes - u64::from(first.bytes);
        if self.schedule.len() as u64 > self.limit.packets
            || waiting_bytes + u64::from(packet.bytes) > self.limit.bytes
        {
            return Entered::NoRoom;
        }
        if self.last < Time::NEVER {
            self.last = self.line.begin(self.last, packet.bytes);
        }
        self.join(packet);
        Entered::Behind
    }

    #[inline]
    fn join(&mut self, packet: &Packet) {
        self.bytes += u64::from(packet.bytes);
        self.schedule.push_back((self.last, *packet));
    }

    /// Takes the packet whose last bit is sent.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Packet> {
        let packet = self.schedule.front()?.1;
        self.schedule.pop_front();
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The packet in transmission, and the time of its last bit.
    #[inline]
    pub(crate) fn first(&self) -> Option<&(Time, Packet)> {
        self.schedule.front()
    }

    /// Packets and bytes in the queue, and on the line.
    pub(crate) fn inside(&self) -> [crate::Count; 2] {
        let sent = self.first().map_or(crate::Count::default(), |(_, packet)| crate::Count::of(packet));
        let packets = self.schedule.len() as u64 - sent.packets;
        [crate::Count { packets, bytes: self.bytes - sent.bytes }, sent]
    }

    /// The link as it would be by itself, and the packets of its queue. The part of a nanosecond that rounding has left over is
    /// dropped.
    pub(crate) fn into_parts(self) -> (Link, impl Iterator<Item = Packet>) {
        let PlainLine { mut link, queue, schedule, .. } = self;
        let mut packets = schedule.into_iter().map(|(_, packet)| packet);
        link.sending = packets.next().map(|packet| Sending { packet, queue, sent_bytes: 0 });
        (link, packets)
    }
}
