//! Arrival times of the packets of a super-packet: all at once, or one after another over an access line.

use crate::device::{Port, Received};
use crate::pool::Slot;
use qdelay_core::{Rate, Time};
use std::collections::VecDeque;

/// A packet that was read and has not arrived yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    pub at: Time,
    pub slot: Slot,
    pub received: Received,
}

/// The access line of one side: its packets, in super-packets or not, arrive in order and no closer than its rate permits.
/// The first packet on an idle line arrives at once.
#[derive(Debug, Default)]
struct Line {
    /// Earliest arrival time of the next packet.
    free: Time,
    coming: VecDeque<Coming>,
}

/// The access lines of both sides; without a rate every packet arrives when it is read.
#[derive(Debug, Default)]
pub(super) struct Access {
    rate: Option<Rate>,
    lines: [Line; 2],
}

impl Access {
    /// Sets the rate of both lines. Call it before the first packet.
    pub fn set_rate(&mut self, rate: Option<Rate>) {
        self.rate = rate;
    }

    /// Adds a packet that came from `port` at `now`. Returns true if it arrives at once; otherwise [`Access::next`] returns it later.
    #[inline]
    pub fn arrives(&mut self, now: Time, port: Port, slot: Slot, received: Received) -> bool {
        let Some(rate) = self.rate else { return true };
        let line = &mut self.lines[port.index()];
        let at = line.free.max(now);
        let bytes = received.bytes.saturating_sub(usize::from(received.header)) as u64;
        line.free = at + rate.time_for(bytes);
        if at == now && line.coming.is_empty() {
            return true;
        }
        line.coming.push_back(Coming { at, slot, received });
        false
    }

    /// Arrival time of the next packet; [`Time::NEVER`] if none is pending.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        self.front().map_or(Time::NEVER, |(_, at)| at)
    }

    /// Removes the next packet that arrives by `until`, in order of time; at equal times, the packet from inside first.
    #[inline]
    pub fn next(&mut self, until: Time) -> Option<(Port, Coming)> {
        let (port, _) = self.front().filter(|(_, at)| *at <= until)?;
        self.lines[port.index()].coming.pop_front().map(|coming| (port, coming))
    }

    /// Number of packets that were read and have not arrived.
    pub fn packets(&self) -> u64 {
        self.lines.iter().map(|line| line.coming.len() as u64).sum()
    }

    #[inline]
    fn front(&self) -> Option<(Port, Time)> {
        self.rate?;
        let of = |port: Port| self.lines[port.index()].coming.front().map(|coming| (port, coming.at));
        Port::ALL.into_iter().filter_map(of).min_by_key(|(_, at)| *at)
    }
}
