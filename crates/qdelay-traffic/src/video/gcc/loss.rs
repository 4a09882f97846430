//! The loss-based bound: above 10% of packets lost the rate falls by half of the share, below 2% it may grow by 5% each time.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 6.
//!
//! # Differences from the reference
//! * The bound does not fall below the rate at which packets arrive, as in libwebrtc's model of losses: a full queue loses the rest only.
//! * There is no bound before the first reduction, nor after it has grown beyond the delay-based rate.
//! * Shares are of at least 20 packets, growth is once a second, and a reduction once in 300 ms and a round trip, as in libwebrtc before
//!   its estimate by a model of losses.

use qdelay_core::{Span, Time};

const PACKETS: u32 = 20;
const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
const GROWTH: f64 = 1.05;

/// The state of the bound.
#[derive(Clone, Debug, Default)]
pub struct LossBound {
    limit: Option<f64>,
    packets: u32,
    lost: u32,
    reduced: Option<Time>,
    grown: Option<Time>,
}

impl LossBound {
    /// A feedback tells of so many packets, at this rate in force, while so much arrives.
    pub fn update(&mut self, now: Time, told: (u32, u32), rate: f64, arrives: Option<f64>, rtt: Span) {
        let (packets, lost) = told;
        (self.packets, self.lost) = (self.packets + packets, self.lost + lost);
        if self.packets < PACKETS {
            return;
        }
        let share = f64::from(self.lost) / f64::from(self.packets);
        (self.packets, self.lost) = (0, 0);
        let is_due = |last: Option<Time>, span| last.is_none_or(|last| now.since(last) >= span);
        if share > HIGH && is_due(self.reduced, Span::from_millis(300) + rtt) {
            self.limit = Some((rate * (1.0 - 0.5 * share)).max(arrives.unwrap_or(0.0).min(rate)));
            (self.reduced, self.grown) = (Some(now), Some(now));
        } else if share < LOW
            && let Some(limit) = &mut self.limit
            && is_due(self.grown, Span::from_secs(1))
        {
            *limit = *limit * GROWTH + 1000.0;
            self.grown = Some(now);
        }
    }

    /// The lower one of the delay-based rate and the bound.
    pub fn apply(&mut self, rate: f64) -> f64 {
        if self.limit.is_some_and(|limit| limit >= rate) {
            self.limit = None;
        }
        self.limit.unwrap_or(rate)
    }

    /// A probe has arrived: what was lost before does not count.
    pub fn forget(&mut self) {
        self.limit = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_draft_has_it() {
        let (mut bound, rtt) = (LossBound::default(), Span::from_millis(100));
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        bound.update(at(0), (20, 1), 1e6, None, rtt);
        assert_eq!(bound.apply(1e6), 1e6);
        bound.update(at(100), (20, 4), 1e6, None, rtt);
        assert_eq!(bound.apply(1e6), 9e5);
        // Again only after 400 ms.
        bound.update(at(400), (20, 4), 9e5, None, rtt);
        assert_eq!(bound.apply(1e6), 9e5);
        bound.update(at(1200), (20, 0), 9e5, None, rtt);
        assert_eq!(bound.apply(1e6), 946_000.0);
        assert_eq!(bound.apply(9e5), 9e5);
        bound.update(at(9000), (20, 10), 1e6, Some(8e5), rtt);
        assert_eq!(bound.apply(1e6), 8e5);
        bound.forget();
        assert_eq!(bound.apply(1e6), 1e6);
    }
}
