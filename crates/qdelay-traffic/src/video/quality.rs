//! Quality of a second of video by rate, picture size and frame rate: a mean opinion score of 1 to 5.
//!
//! Source: ITU-T P.1203.1 (2019), mode 0: clause 8.1 (coding, upscaling, frame rate) with the coefficients of its tables, and the scales of
//! ITU-T P.1203 for R and MOS.
//!
//! # Differences from the reference
//! * The Recommendation is for H.264 in streaming; for the encoder of a call the score is an orientation only.

use libm::{exp, log, log10};

/// A second of video.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    /// Rate of the encoder, kbit/s.
    pub kbps: f64,
    /// Number of pixels of a coded picture.
    pub coded: f64,
    /// Number of pixels of the display.
    pub displayed: f64,
    /// Pictures shown in the second.
    pub fps: f64,
}

impl Second {
    /// Mean opinion score, 1 to 5; 1 without a picture shown.
    pub fn mos(&self) -> f64 {
        if self.fps <= 0.0 || self.kbps <= 0.0 || self.coded <= 0.0 {
            return 1.0;
        }
        let per_pixel = self.kbps * self.kbps / (self.coded * self.fps);
        let quantized = 11.998_351_9
            - 2.999_918_47 * log(41.247_507_400_1 + log(self.kbps) + log(per_pixel + 0.131_831_659_61));
        let coded_mos = (4.66 - 0.07 * exp(4.06 * quantized)).clamp(1.0, 5.0);
        let coding = (100.0 - rating(coded_mos)).clamp(0.0, 100.0);
        let scale = (self.displayed / self.coded).max(1.0);
        let upscaling = (72.61 * log10(0.32 * (scale - 1.0) + 1.0)).clamp(0.0, 100.0);
        let slow = if self.fps < 24.0 {
            ((100.0 - coding - upscaling) * (30.98 - 1.29 * self.fps) / (self.fps + 64.65)).clamp(0.0, 100.0)
        } else {
            0.0
        };
        score(100.0 - (coding + upscaling + slow).clamp(0.0, 100.0))
    }
}

const MOST: f64 = 4.9;
const LEAST: f64 = 1.05;

/// Mean opinion score of a rating from 0 to 100.
fn score(rating: f64) -> f64 {
    let curve = rating * (rating - 60.0) * (100.0 - rating) * 7e-6;
    if rating <= 0.0 {
        LEAST
    } else if rating >= 100.0 {
        MOST
    } else {
        LEAST + (MOST - LEAST) * rating / 100.0 + curve
    }
}

/// Inverse of [`score`], by bisection over ratings above 6.5, where the score rises.
fn rating(mos: f64) -> f64 {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if score(middle) < mos { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HD: f64 = 1280.0 * 720.0;

    #[test]
    fn scores_rise_with_the_rate_and_fall_with_fewer_pictures() {
        let second = |kbps, coded, fps| Second { kbps, coded, displayed: HD, fps }.mos();
        let mut last = 1.0;
        for kbps in [100.0, 300.0, 1000.0, 2500.0, 5000.0] {
            let mos = second(kbps, HD, 30.0);
            assert!(mos > last && mos < 5.0, "{kbps}: {mos}");
            last = mos;
        }
        assert!(second(2500.0, HD, 30.0) > 4.0);
        assert!(second(1000.0, HD, 10.0) < second(1000.0, HD, 30.0) - 0.3);
        assert!(second(1000.0, 320.0 * 180.0, 30.0) < 3.0);
        assert_eq!(second(0.0, HD, 30.0), 1.0);
    }

    #[test]
    fn ratings_and_scores_are_inverse() {
        for mos in [1.2, 2.0, 3.0, 4.0, 4.8] {
            assert!((score(rating(mos)) - mos).abs() < 1e-9, "{mos}");
        }
    }
}
