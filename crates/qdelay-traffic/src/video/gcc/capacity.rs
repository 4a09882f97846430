//! Estimate of the link's capacity: the acknowledged rate at overuses. Near the capacity the rate grows additively, elsewhere multiplicatively.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5, average and deviation of R_hat at decreases. The variance is relative
//! to the mean and clamped to 0.4 to 2.5 kbit/s, as in libwebrtc.

/// Weight of the latest overuse in the average.
const WEIGHT: f64 = 0.05;

/// Average capacity and its deviation.
#[derive(Clone, Copy, Debug)]
pub struct LinkCapacity {
    kbps: Option<f64>,
    /// Variance over the mean, kbit/s.
    deviation: f64,
}

impl Default for LinkCapacity {
    fn default() -> LinkCapacity {
        LinkCapacity { kbps: None, deviation: 0.4 }
    }
}

impl LinkCapacity {
    /// Records an overuse at the acknowledged rate `bps`, bit/s.
    pub fn overused(&mut self, bps: f64) {
        let sample = bps / 1000.0;
        let mean = self.kbps.map_or(sample, |mean| (1.0 - WEIGHT) * mean + WEIGHT * sample);
        let error = mean - sample;
        let deviation = (1.0 - WEIGHT) * self.deviation + WEIGHT * error * error / mean.max(1.0);
        (self.kbps, self.deviation) = (Some(mean), deviation.clamp(0.4, 2.5));
    }

    /// Discards the estimate.
    pub fn forget(&mut self) {
        self.kbps = None;
    }
    /// Estimated capacity, bit/s; `None` without one.
    pub fn estimate(&self) -> Option<f64> {
        self.kbps.map(|kbps| 1000.0 * kbps)
    }

    /// Range of rates near the capacity, bit/s: three deviations below and above the average; unbounded without an estimate.
    pub fn bounds(&self) -> (f64, f64) {
        self.kbps.map_or((0.0, f64::INFINITY), |kbps| {
            let deviation = 3.0 * libm::sqrt(self.deviation * kbps);
            (1000.0 * (kbps - deviation).max(0.0), 1000.0 * (kbps + deviation))
        })
    }
}
