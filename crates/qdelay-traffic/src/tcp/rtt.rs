//! Round-trip estimation and the retransmission timeout (RFC 6298), with the refinements of Linux.

use crate::profile::{Profile, TimeoutRule};
use qdelay_core::{Span, Time};

/// Smoothed round trip, variation, smallest round trip, and the retransmission timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    rule: TimeoutRule,
    min_rto: u64,
    max_rto: u64,
    initial_rto: u64,
    /// Smoothed round trip in ns; 0 before the first sample.
    srtt: u64,
    /// Latest sample in ns.
    latest: u64,
    /// Four mean deviations, smoothed over a window, in ns.
    variation: u64,
    /// Four mean deviations as of the latest sample, ns.
    deviation: u64,
    /// Largest of `deviation` in the current window.
    deviation_max: u64,
    /// Sequence number whose acknowledgement ends the window.
    window_end: u64,
    min: WindowedMin,
    timeout: u64,
}

/// The smallest round trip in a window of five minutes (Linux `tcp_min_rtt_wlen`), kept as the best of the current and of
/// the previous window.
#[derive(Clone, Debug)]
struct WindowedMin {
    current: u64,
    previous: u64,
    started: Time,
}

const MIN_WINDOW: Span = Span::from_secs(300);

impl RttEstimator {
    /// An estimator without samples.
    pub fn new(profile: &Profile) -> RttEstimator {
        debug_assert!(profile.min_rto <= profile.max_rto, "{profile:?}");
        RttEstimator {
            rule: profile.timeout_rule,
            min_rto: profile.min_rto.as_nanos(),
            max_rto: profile.max_rto.as_nanos(),
            initial_rto: profile.initial_rto.as_nanos(),
            srtt: 0,
            latest: 0,
            variation: 0,
            deviation: 0,
            deviation_max: 0,
            window_end: 0,
            min: WindowedMin { current: u64::MAX, previous: u64::MAX, started: Time::ZERO },
            timeout: profile.initial_rto.as_nanos(),
        }
    }

    /// Adds a sample. `una` and `nxt`: range of the data in flight, which separates windows of the variation.
    pub fn sample(&mut self, rtt: Span, una: u64, nxt: u64) {
        let sample = rtt.as_nanos().max(1);
        self.latest = sample;
        match self.rule {
            TimeoutRule::FlooredVariation => self.sample_windowed(sample, una, nxt),
            TimeoutRule::FlooredSum => self.sample_plain(sample),
        }
        let sum = self.srtt + self.variation;
        let floor = if self.rule == TimeoutRule::FlooredSum { self.min_rto } else { 0 };
        self.timeout = sum.clamp(floor, self.max_rto.max(floor));
    }

    /// Updates round trip and variation by RFC 6298 section 2.3.
    fn sample_plain(&mut self, sample: u64) {
        if self.srtt == 0 {
            self.srtt = sample;
            self.deviation = sample / 2 * 4;
        } else {
            let error = self.srtt.abs_diff(sample);
            self.deviation = self.deviation - self.deviation / 4 + error;
            self.srtt = self.srtt - self.srtt / 8 + sample / 8;
        }
        self.variation = self.deviation;
    }

    /// Updates round trip and variation as Linux `tcp_rtt_estimator`: the variation follows the largest deviation of each window, falls slowly, is at
    /// least the minimum timeout, and grows little when the round trip becomes shorter.
    fn sample_windowed(&mut self, sample: u64, una: u64, nxt: u64) {
        if self.srtt == 0 {
            self.srtt = sample;
            self.deviation = sample * 2;
            self.variation = self.deviation.max(self.min_rto);
            self.deviation_max = self.variation;
            self.window_end = nxt;
            return;
        }
        let error = sample as i64 - self.srtt as i64;
        self.srtt = (self.srtt as i64 + error / 8) as u64;
        let mut change = error.unsigned_abs() as i64 - (self.deviation / 4) as i64;
        if error < 0 && change > 0 {
            change /= 8;
        }
        self.deviation = (self.deviation as i64 + change).max(0) as u64;
        if self.deviation > self.deviation_max {
            self.deviation_max = self.deviation;
            self.variation = self.variation.max(self.deviation_max);
        }
        if una > self.window_end {
            if self.deviation_max < self.variation {
                self.variation -= (self.variation - self.deviation_max) / 4;
            }
            self.window_end = nxt;
            self.deviation_max = self.min_rto;
        }
    }

    /// Adds a sample for the smallest round trip only.
    pub fn sample_min(&mut self, now: Time, rtt: Span) {
        let min = &mut self.min;
        if now.since(min.started) >= MIN_WINDOW {
            min.previous = min.current;
            min.current = u64::MAX;
            min.started = now;
        }
        min.current = min.current.min(rtt.as_nanos().max(1));
    }

    /// Smoothed round trip; zero before the first sample.
    pub fn smoothed(&self) -> Span {
        Span::from_nanos(self.srtt)
    }
    /// Latest sample; zero before the first.
    pub fn latest(&self) -> Span {
        Span::from_nanos(self.latest)
    }
    /// Smallest round trip; [`Span::MAX`] before the first sample.
    pub fn min(&self) -> Span {
        Span::from_nanos(self.min.current.min(self.min.previous))
    }
    /// Retransmission timeout without backoff.
    pub fn timeout(&self) -> Span {
        if self.srtt == 0 { Span::from_nanos(self.initial_rto) } else { Span::from_nanos(self.timeout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(profile: &Profile, rtt_ms: u64) -> Span {
        let mut estimator = RttEstimator::new(profile);
        for i in 0..500 {
            estimator.sample(Span::from_millis(rtt_ms), i * 1000, i * 1000 + 500);
        }
        estimator.timeout()
    }

    #[test]
    fn each_timeout_rule_has_its_floor() {
        assert_eq!(steady(&Profile::linux(), 50), Span::from_millis(250));
        assert_eq!(steady(&Profile::ns3(), 50), Span::from_secs(1));
        assert_eq!(RttEstimator::new(&Profile::linux()).timeout(), Span::from_secs(1));
    }

    #[test]
    fn first_sample_follows_the_rfc() {
        let mut estimator = RttEstimator::new(&Profile { min_rto: Span::from_millis(1), ..Profile::ns3() });
        estimator.sample(Span::from_millis(100), 0, 1);
        assert_eq!(estimator.timeout(), Span::from_millis(300));
        estimator.sample(Span::from_millis(180), 1, 2);
        // srtt 110, deviation 4 * (0.75 * 50 + 0.25 * 80) = 230
        assert_eq!(
            (estimator.smoothed(), estimator.latest()),
            (Span::from_millis(110), Span::from_millis(180))
        );
        assert_eq!(estimator.timeout(), Span::from_millis(340));
    }

    #[test]
    fn the_smallest_round_trip_expires_after_its_window() {
        let mut estimator = RttEstimator::new(&Profile::linux());
        estimator.sample_min(Time::ZERO, Span::from_millis(10));
        for s in [100, 310, 500, 620] {
            estimator.sample_min(Time::ZERO + Span::from_secs(s), Span::from_millis(20));
        }
        assert_eq!(estimator.min(), Span::from_millis(20));
    }
}
