//! The service rate of a link, estimated from the departures.
//!
//! Between two departures with a non-empty queue the link was busy with the first packet. Bytes and times of
//! such pairs are summed, each aged by exp(-t / window) with the pair's duration t; their ratio is the rate.
//! For departures at the same time (a burst in a slot) only the bytes are summed, so that bursts do not bias
//! the estimate.

use crate::{Span, Time};

/// Estimate of a link's service rate.
#[derive(Clone, Debug)]
pub(super) struct ServiceRate {
    window_nanos: f64,
    bytes: f64,
    nanos: f64,
    /// Time and size of the last departure.
    last: Option<(Time, u64)>,
    was_left: bool,
}

impl ServiceRate {
    /// An estimate without data. `window` is more than zero.
    pub(super) fn new(window: Span) -> ServiceRate {
        let window_nanos = window.as_nanos() as f64;
        ServiceRate { window_nanos, bytes: 0.0, nanos: 0.0, last: None, was_left: false }
    }

    /// Counts the departure of a packet of `bytes`; `is_left` is true if others remain.
    pub(super) fn departed(&mut self, now: Time, bytes: u64, is_left: bool) {
        if let (Some((then, sent)), true) = (self.last, self.was_left) {
            let took = now.since(then).as_nanos() as f64;
            let keep = libm::exp(-took / self.window_nanos);
            self.bytes = self.bytes * keep + sent as f64;
            self.nanos = self.nanos * keep + took;
        }
        self.last = Some((now, bytes));
        self.was_left = is_left;
    }

    /// Estimated rate in bytes per nanosecond; `None` while there is no estimate.
    pub(super) fn per_nano(&self) -> Option<f64> {
        (self.nanos > 0.0 && self.bytes > 0.0).then(|| self.bytes / self.nanos)
    }

    /// Bytes that the link takes in `span`; `None` while there is no estimate.
    pub(super) fn bytes_in(&self, span: Span) -> Option<u64> {
        self.per_nano().map(|rate| libm::round(rate * span.as_nanos() as f64) as u64)
    }

    /// The time that `bytes` take; zero while there is no estimate.
    pub(super) fn time_for(&self, bytes: u64) -> Span {
        self.per_nano().map_or(Span::ZERO, |rate| Span::from_nanos(libm::round(bytes as f64 / rate) as u64))
    }

    /// Estimated bytes of the last packet that the link has not sent yet.
    pub(super) fn residual(&self, now: Time) -> u64 {
        let (Some((then, bytes)), Some(rate)) = (self.last, self.per_nano()) else { return 0 };
        bytes.saturating_sub(libm::round(rate * now.since(then).as_nanos() as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn even_service_and_bursts_have_the_same_rate() {
        let (mut even, mut bursts) =
            (ServiceRate::new(Span::from_millis(100)), ServiceRate::new(Span::from_millis(100)));
        assert_eq!((even.per_nano(), even.residual(at(1)), even.time_for(9)), (None, 0, Span::ZERO));
        for n in 0..1000 {
            even.departed(at(n), 1000, true);
            bursts.departed(at(n / 10 * 10), 1000, true);
        }
        assert!((even.per_nano().unwrap() - 1e-3).abs() < 1e-9);
        // The durations of nine of the last ten packets of a burst are not counted yet.
        assert!((bursts.per_nano().unwrap() - 1e-3).abs() < 1.1e-4, "{:?}", bursts.per_nano());
        assert_eq!(even.residual(at(999)), 1000);
        assert_eq!(even.residual(at(1001)), 0);
    }

    #[test]
    fn idle_times_do_not_count() {
        let mut rate = ServiceRate::new(Span::from_millis(100));
        for n in 0..100 {
            rate.departed(at(50 * n), 1000, true);
            rate.departed(at(50 * n + 1), 1000, false);
        }
        assert!((rate.per_nano().unwrap() - 1e-3).abs() < 1e-9);
    }
}
