//! Rules for links: delay, loss, copies and marks of segments.

use super::seq;
use qdelay_core::{Rate, Span, Time};
use qdelay_traffic::segment::{Segment, flag};
use std::collections::BTreeSet;

/// Fate of a segment on the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    /// One-way delay of each copy; both `None` for a lost segment.
    pub copies: [Option<Span>; 2],
    /// Whether the link marks the packet if it is ECN-capable.
    pub mark: bool,
}

impl Fate {
    pub fn after(delay: Span) -> Fate {
        Fate { copies: [Some(delay), None], mark: false }
    }
    pub fn lost() -> Fate {
        Fate::default()
    }
    pub fn twice(first: Span, second: Span) -> Fate {
        Fate { copies: [Some(first), Some(second)], mark: false }
    }
}

/// A segment as it enters the link.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    pub now: Time,
    pub segment: Segment,
    /// First sequence number, 64 bits wide; the first data byte is 1.
    pub seq: u64,
    /// Number of earlier segments with data or FIN in this direction.
    pub index: u64,
    /// Number of earlier transmissions of this sequence number.
    pub attempt: u32,
}

impl Transit {
    pub fn is_data(&self) -> bool {
        self.segment.len > 0 || self.segment.has(flag::FIN)
    }
    pub fn is_syn(&self) -> bool {
        self.segment.has(flag::SYN)
    }
}

pub type Rule = Box<dyn FnMut(&Transit) -> Fate>;

/// A link with a delay only.
pub fn wire(delay: Span) -> Rule {
    Box::new(move |_| Fate::after(delay))
}

/// A queue of bounded length served at a constant rate, then a delay.
pub fn bottleneck(rate: Rate, limit: u64, delay: Span) -> Rule {
    let mut free = Time::ZERO;
    Box::new(move |transit| {
        let one = rate.time_for(u64::from(transit.segment.ip_bytes()));
        if free.since(transit.now) > rate.time_for(1500 * limit) {
            return Fate::lost();
        }
        free = free.max(transit.now) + one;
        Fate::after(free.since(transit.now) + delay)
    })
}

/// A rule that loses the first `times` transmissions of each of the segments `numbers`.
pub fn lose(numbers: &[u64], times: u32) -> impl FnMut(&Transit) -> bool + 'static {
    let numbers: BTreeSet<u64> = numbers.iter().map(|n| seq(*n)).collect();
    move |t| t.is_data() && t.attempt < times && numbers.contains(&t.seq)
}
