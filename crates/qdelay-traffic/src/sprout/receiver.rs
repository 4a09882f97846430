//! The receiver: arrivals per tick, losses, and a report after each tick.
//!
//! Source: NSDI 2013, sections 3.2 to 3.4; Sprout-EWMA: section 5.3.

use super::{Belief, DataHeader, Report, SproutConfig, TICK, TICKS, Variant};
use alloc::collections::VecDeque;
use qdelay_core::Time;

/// The state of a receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    size: u32,
    risk: f64,
    gain: f64,
    estimate: Estimate,
    /// End of the current tick; [`Time::NEVER`] before the first packet.
    tick_end: Time,
    /// Bytes that arrived in the current tick.
    bytes: u64,
    /// End of the time in which the sender announced not to send.
    quiet_until: Time,
    /// Byte up to which all bytes have arrived or are lost.
    throwaway: u64,
    /// Packets received above `throwaway`, in order: first byte and size.
    beyond: VecDeque<(u64, u32)>,
}

#[derive(Clone, Debug)]
enum Estimate {
    Belief(alloc::boxed::Box<Belief>),
    /// Moving average, packets per tick.
    Average(f64),
}

impl Receiver {
    /// A receiver before the first packet, with which the ticks begin.
    pub fn new(config: &SproutConfig) -> Receiver {
        let estimate = match &config.variant {
            Variant::Sprout(model) => Estimate::Belief(Belief::new(model.clone()).into()),
            Variant::Ewma { .. } => Estimate::Average(0.0),
        };
        Receiver {
            size: config.bytes,
            risk: 1.0 - config.confidence,
            gain: if let Variant::Ewma { gain } = config.variant { gain } else { 0.0 },
            estimate,
            tick_end: Time::NEVER,
            bytes: 0,
            quiet_until: Time::ZERO,
            throwaway: 0,
            beyond: VecDeque::new(),
        }
    }

    /// Processes a packet of `bytes` IP bytes.
    pub fn on_data(&mut self, now: Time, header: &DataHeader, bytes: u32) {
        if self.tick_end == Time::NEVER {
            self.tick_end = now + TICK;
        }
        self.bytes += u64::from(bytes);
        self.quiet_until = now + header.time_to_next;
        self.throwaway = self.throwaway.max(header.throwaway);
        let known = self.beyond.partition_point(|&(seq, _)| seq < header.seq);
        let is_known = self.beyond.get(known).is_some_and(|&(seq, _)| seq == header.seq);
        if header.seq >= self.throwaway && !is_known {
            self.beyond.insert(known, (header.seq, bytes));
        }
        while self.beyond.front().is_some_and(|&(seq, _)| seq < self.throwaway) {
            self.beyond.pop_front();
        }
    }

    /// Ends the tick if it is due, and returns the report.
    pub fn on_deadline(&mut self, now: Time) -> Option<Report> {
        if now < self.tick_end {
            return None;
        }
        while now >= self.tick_end {
            self.end_tick();
            self.tick_end += TICK;
        }
        let beyond: u64 = self.beyond.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
        Some(Report { time: now, received_or_lost: self.throwaway + beyond, forecast: self.forecast() })
    }

    /// Time at which [`Receiver::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        self.tick_end
    }

    fn end_tick(&mut self) {
        let tick_begin = Time::from_nanos(self.tick_end.as_nanos() - TICK.as_nanos());
        let is_observed = self.bytes > 0 || tick_begin >= self.quiet_until;
        let packets = core::mem::take(&mut self.bytes) as f64 / f64::from(self.size);
        let packets = if packets > 0.0 { libm::round(packets).max(1.0) } else { 0.0 };
        match &mut self.estimate {
            Estimate::Belief(belief) => {
                belief.evolve();
                if is_observed {
                    belief.observe(packets);
                }
            }
            Estimate::Average(average) if is_observed => *average += self.gain * (packets - *average),
            Estimate::Average(_) => {}
        }
    }

    fn forecast(&self) -> [u16; TICKS] {
        match &self.estimate {
            Estimate::Belief(belief) => belief.forecast(self.risk),
            Estimate::Average(average) => core::array::from_fn(|tick| (average * (tick + 1) as f64) as u16),
        }
    }
}
