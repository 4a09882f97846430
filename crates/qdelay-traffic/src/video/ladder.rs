//! Picture sizes: the largest size that the rate supports, with hysteresis.
//!
//! Each size has a lowest rate, for 30 pictures per second and proportional to the frame rate. The encoder leaves a size when the rate falls below
//! its lowest rate, and changes to a larger size when the rate has been 25% above that size's lowest rate for 2 s.
//!
//! Source: ours, about 0.03 bits per pixel; libwebrtc decides by the quantizer, which this model does not have.

use qdelay_core::{Span, Time};

/// A picture size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Lowest rate of this size at 30 pictures per second, bit/s.
    pub least: f64,
}

/// Picture sizes in ascending order.
pub const SIZES: [Size; 6] = [
    Size { width: 320, height: 180, least: 0.0 },
    Size { width: 480, height: 270, least: 120e3 },
    Size { width: 640, height: 360, least: 200e3 },
    Size { width: 960, height: 540, least: 450e3 },
    Size { width: 1280, height: 720, least: 800e3 },
    Size { width: 1920, height: 1080, least: 1800e3 },
];

impl Size {
    /// Number of pixels.
    pub fn pixels(&self) -> f64 {
        f64::from(self.width) * f64::from(self.height)
    }
}

/// Rate at which a larger size is taken, relative to that size's lowest rate.
const ABOVE: f64 = 1.25;
/// Time for which the rate must stay above that.
const STEADY: Span = Span::from_secs(2);

/// The current picture size with its hysteresis.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    largest: usize,
    present: usize,
    /// Factor on the lowest rates: frames per second over 30.
    factor: f64,
    above_since: Option<Time>,
    steps: u64,
}

impl Ladder {
    /// Initial size for a rate of `start` bit/s. `largest`: index of the largest size in [`SIZES`]; `fps`: pictures per second.
    pub fn new(largest: usize, fps: f64, start: f64) -> Ladder {
        let (largest, factor) = (largest.min(SIZES.len() - 1), fps / 30.0);
        let present = SIZES[..=largest].iter().rposition(|size| factor * size.least <= start).unwrap_or(0);
        Ladder { largest, present, factor, above_since: None, steps: 0 }
    }

    /// Updates the size for the encoder's rate `rate`, bit/s; returns its index in [`SIZES`].
    pub fn update(&mut self, now: Time, rate: f64) -> usize {
        let least = |index: usize| self.factor * SIZES[index].least;
        if rate < least(self.present) {
            self.present -= 1;
            (self.steps, self.above_since) = (self.steps + 1, None);
        } else if self.present < self.largest && rate >= ABOVE * least(self.present + 1) {
            let since = *self.above_since.get_or_insert(now);
            if now.since(since) >= STEADY {
                self.present += 1;
                (self.steps, self.above_since) = (self.steps + 1, None);
            }
        } else {
            self.above_since = None;
        }
        self.present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_falls_at_once_and_rises_after_two_seconds() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut ladder = Ladder::new(4, 30.0, 1e6);
        assert_eq!(ladder.update(at(0), 1e6), 4);
        assert_eq!(ladder.update(at(33), 7.9e5), 3);
        // Within the hysteresis the size stays at any time.
        assert_eq!(ladder.update(at(9000), 9.9e5), 3);
        assert_eq!(ladder.update(at(9033), 1.01e6), 3);
        assert_eq!(ladder.update(at(11_000), 1.01e6), 3);
        assert_eq!(ladder.update(at(11_033), 1.01e6), 4);
        assert_eq!(ladder.update(at(20_000), 9e9), 4);
    }
}
