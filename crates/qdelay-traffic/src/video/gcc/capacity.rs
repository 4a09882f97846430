//! What the link gave when it was last overused: near it the rate grows by addition, elsewhere by multiplication.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5, the average and the deviation of R_hat when it was decreased. The variance is relative
//! to the mean and kept within 0.4 and 2.5 (kbit/s), as in libwebrtc.

/// Weight of an overuse in the average.
const WEIGHT: f64 = 0.05;

/// The average and its deviation.
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
    /// The link was overused while so many bits a second arrived.
    pub fn overused(&mut self, bps: f64) {
        let sample = bps / 1000.0;
        let mean = self.kbps.map_or(sample, |mean| (1.0 - WEIGHT) * mean + WEIGHT * sample);
        let error = mean - sample;
        let deviation = (1.0 - WEIGHT) * self.deviation + WEIGHT * error * error / mean.max(1.0);
        (self.kbps, self.deviation) = (Some(mean), deviation.clamp(0.4, 2.5));
    }

    /// Nothing is known.
    pub fn forget(&mut self) {
        self.kbps = None;
    }
    /// Bits a second.
    pub fn estimate(&self) -> Option<f64> {
        self.kbps.map(|kbps| 1000.0 * kbps)
    }

    /// Three deviations below and above the average; no bounds where nothing is known.
    pub fn bounds(&self) -> (f64, f64) {
        self.kbps.map_or((0.0, f64::INFINITY), |kbps| {
            let deviation = 3.0 * libm::sqrt(self.deviation * kbps);
            (1000.0 * (kbps - deviation).max(0.0), 1000.0 * (kbps + deviation))
        })
    }
}
