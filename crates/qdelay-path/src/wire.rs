//! A wire: packets are sent on it one after the other at a constant rate, and each arrives a fixed time after its last bit.
//!
//! A plain queue, the [`Line`] that it feeds and the delay behind it are one node where nothing is decided while packets wait: when a
//! packet arrives is known as it comes. The times are those of the three. Parameters: `rate`; `delay`; `limit`, the most
//! packets besides the first one, in transmission and on their way: a packet that comes to more is dropped.

use crate::NodeId;
use crate::link::{Line, Serial};
use crate::schedule::Schedule;
use qdelay_core::{Packet, Rate, Span, Time};

/// The settings of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireSpec {
    /// The rate at which packets are sent. At rate zero none ever leaves; at [`Rate::INFINITE`] sending takes no time.
    pub rate: Rate,
    /// From the last bit of a packet to its arrival.
    pub delay: Span,
    /// Most packets on it besides the first one.
    pub limit: u64,
}

/// Fate of an entering packet.
pub(crate) enum Entered {
    /// It is alone, and arrives at that time.
    First(Time),
    /// It is behind others.
    Behind,
    /// It is dropped.
    NoRoom,
}

/// The state of a wire.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) next: NodeId,
    line: Line,
    delay: Span,
    limit: u64,
    /// When the last bit of all is sent.
    last: Time,
    /// Packets, by their arrival.
    pub(crate) schedule: Schedule,
}

impl Wire {
    pub(crate) fn new(spec: WireSpec, next: NodeId) -> Wire {
        let WireSpec { rate, delay, limit } = spec;
        let (line, schedule) = (Line::new(rate, 0), Schedule::default());
        Wire { next, line, delay, limit, last: Time::ZERO, schedule }
    }

    /// `packet` comes at `now`.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Entered {
        let others = self.schedule.len();
        if others as u64 > self.limit {
            return Entered::NoRoom;
        }
        if self.last < Time::NEVER {
            self.last = self.line.begin(self.last.max(now), packet.bytes);
        }
        let arrival = self.last + self.delay;
        debug_assert!(arrival >= now, "a packet arrives before it is sent");
        self.schedule.push(arrival, packet);
        // The limit does not count the packet in transmission.
        debug_assert!(
            self.schedule.len() as u64 <= self.limit.saturating_add(1),
            "{} packets",
            self.schedule.len()
        );
        if others == 0 { Entered::First(arrival) } else { Entered::Behind }
    }
}
