//! A rate by the share of lost packets alone, for a call that does not react to delay.
//!
//! Each second of feedback is judged: below 2% lost the rate grows by 5%, from 2 to 10% it stays, and above 10% it falls by half of the share
//! lost. The rate is at most 1.5 times the acknowledged rate.
//!
//! Stands for calls like Skype's, which hardly reacted to propagation delay and to mild losses when they were measured (Zhang et al., "Profiling
//! Skype Video Calls: Rate Control and Video Quality", INFOCOM 2012).
//!
//! Source: draft-ietf-rmcat-gcc-02 section 6 for the thresholds and factors, section 5.5 for the upper bound.
//!
//! # Differences from the reference
//! * The draft judges each report of the receiver and leaves their interval open; here it is a second.

use super::PacketResult;
use qdelay_core::{Span, Time};

/// Time of feedback that is judged together.
const OBSERVED: Span = Span::from_secs(1);
/// Share of lost packets below which the rate grows.
const FEW: f64 = 0.02;
/// Share of lost packets above which the rate falls.
const MANY: f64 = 0.1;
const GROWTH: f64 = 1.05;
/// Weight of the share lost in a decrease.
const WEIGHT: f64 = 0.5;
/// Highest rate relative to the acknowledged rate.
const CEILING: f64 = 1.5;

/// State of the rate.
#[derive(Clone, Debug)]
pub struct LossRule {
    least: f64,
    rate: f64,
    since: Option<Time>,
    packets: u64,
    lost: u64,
}

impl LossRule {
    /// Initial state with the rate `start` and the minimum `least`, bit/s.
    pub fn new(least: f64, start: f64) -> LossRule {
        LossRule { least, rate: start.max(least), since: None, packets: 0, lost: 0 }
    }

    /// Current rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Processes feedback on `packets`; `acknowledged`: the acknowledged rate, bit/s.
    pub fn update(&mut self, now: Time, packets: &[PacketResult], acknowledged: Option<f64>) {
        let since = *self.since.get_or_insert(now);
        self.packets += packets.len() as u64;
        self.lost += packets.iter().filter(|packet| packet.arrived.is_none()).count() as u64;
        if now.since(since) < OBSERVED || self.packets == 0 {
            return;
        }
        let share = self.lost as f64 / self.packets as f64;
        if share > MANY {
            self.rate *= 1.0 - WEIGHT * share;
        } else if share < FEW {
            let ceiling = acknowledged.map_or(f64::INFINITY, |bps| CEILING * bps);
            self.rate = (GROWTH * self.rate).min(ceiling.max(self.rate));
        }
        self.rate = self.rate.max(self.least);
        (self.since, self.packets, self.lost) = (Some(now), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rate after a second in which `lost` of 100 packets did not arrive, from 1 Mbit/s.
    fn after(lost: usize, acknowledged: Option<f64>) -> f64 {
        let mut rule = LossRule::new(30_000.0, 1_000_000.0);
        let packet = |number: u64, arrived: usize| PacketResult {
            number,
            sent: Time::ZERO,
            arrived: (arrived >= lost).then_some(Time::ZERO),
            bytes: 1200,
            probe: 0,
        };
        rule.update(Time::ZERO, &[], acknowledged);
        let packets: [PacketResult; 100] = core::array::from_fn(|number| packet(number as u64, number));
        rule.update(Time::ZERO + Span::from_secs(1), &packets, acknowledged);
        rule.rate()
    }

    #[test]
    fn few_losses_raise_the_rate_and_many_reduce_it() {
        assert_eq!(after(1, None), 1_050_000.0);
        assert_eq!(after(2, None), 1_000_000.0);
        assert_eq!(after(10, None), 1_000_000.0);
        assert_eq!(after(20, None), 900_000.0);
    }

    #[test]
    fn the_acknowledged_rate_bounds_growth_but_reduces_nothing() {
        assert_eq!(after(0, Some(680_000.0)), 1_020_000.0);
        assert_eq!(after(0, Some(100_000.0)), 1_000_000.0);
    }
}
