//! Declarations of channels that define how many bytes a TTI carries; `capacity` counts them.

use super::capacity::Bytes;
use qdelay_core::Span;
use qdelay_trace::capacity::{HOLD, TICK};
use qdelay_trace::{CapacitySteps, RateSteps, Schedule};

/// A channel that carries a number of packets of 1500 bytes in each tick of 10 ms.
#[derive(Clone, Debug)]
pub struct Capacity {
    /// Number of packets of each tick.
    pub trace: CapacitySteps,
    /// Time from one tick to the next: 10 ms in the files. A value of the file holds for 100 ticks of any length.
    pub tick: Span,
    /// True if a tick's packets are spread evenly over its 10 ms; otherwise all are carried in the TTI in
    /// which the tick begins. With TTIs of 10 ms there is no difference.
    pub spread: bool,
    /// True if the trace restarts at its end; otherwise nothing is carried after it.
    pub repeat: bool,
}

impl Capacity {
    /// Duration of one pass through the file.
    pub fn period(&self) -> Span {
        let ticks = self.trace.values().len() as u64 * (HOLD.as_nanos() / TICK.as_nanos());
        if self.spread { self.trace.period() } else { self.tick * ticks }
    }

    pub(super) fn start(&self) -> Bytes {
        match self.spread {
            false => Bytes::of_ticks(&self.trace, self.tick, self.repeat),
            true => Bytes::of_spread_ticks(&self.trace, self.repeat),
        }
    }
}

/// A rate that changes in steps: a TTI carries the rate's integral over it.
#[derive(Clone, Debug)]
pub struct Rates {
    /// The rates.
    pub trace: RateSteps,
    /// True if the trace restarts at its end, as in [`Capacity`].
    pub repeat: bool,
}

impl Rates {
    pub(super) fn start(&self) -> Bytes {
        Bytes::of_rates(&self.trace, self.repeat)
    }
}

/// Opportunities of a link's trace: a TTI carries the bytes of those that fall in it.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// The opportunities.
    pub trace: Schedule,
    /// True if the trace restarts at its end, as in [`Capacity`].
    pub repeat: bool,
}

impl Opportunities {
    pub(super) fn start(&self) -> Bytes {
        Bytes::of_opportunities(&self.trace, self.repeat)
    }
}
