//! Sizes of pictures: the largest that the rate supports, with hysteresis.
//!
//! A size is left when the rate falls below its least, and taken when the rate is a quarter above that and has been so for 2 s. The least
//! rates are for 30 pictures a second, and proportional to that.
//!
//! Source: ours, near 0.03 bits a pixel; libwebrtc decides by the quantizer, which this model does not have.

use qdelay_core::{Span, Time};

/// A size of pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// The least rate for it at 30 pictures a second, bit/s.
    pub least: f64,
}

/// From small to large.
pub const SIZES: [Size; 6] = [
    Size { width: 320, height: 180, least: 0.0 },
    Size { width: 480, height: 270, least: 120e3 },
    Size { width: 640, height: 360, least: 200e3 },
    Size { width: 960, height: 540, least: 450e3 },
    Size { width: 1280, height: 720, least: 800e3 },
    Size { width: 1920, height: 1080, least: 1800e3 },
];

impl Size {
    /// Pixels of a picture.
    pub fn pixels(&self) -> f64 {
        f64::from(self.width) * f64::from(self.height)
    }
}

/// How much above the least of the next size the rate has to be.
const ABOVE: f64 = 1.25;
/// And for how long.
const STEADY: Span = Span::from_secs(2);

/// The present size.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    largest: usize,
    present: usize,
    /// Of the least rates.
    factor: f64,
    above_since: Option<Time>,
    steps: u64,
}

impl Ladder {
    /// Up to the size with this index in [`SIZES`], for `fps` pictures a second, from a rate of `start` on.
    pub fn new(largest: usize, fps: f64, start: f64) -> Ladder {
        let (largest, factor) = (largest.min(SIZES.len() - 1), fps / 30.0);
        let present = SIZES[..=largest].iter().rposition(|size| factor * size.least <= start).unwrap_or(0);
        Ladder { largest, present, factor, above_since: None, steps: 0 }
    }

    /// The encoder has this rate; the index of the size of the next picture.
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
    fn down_at_once_and_up_after_a_while() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut ladder = Ladder::new(4, 30.0, 1e6);
        assert_eq!(ladder.update(at(0), 1e6), 4);
        assert_eq!(ladder.update(at(33), 7.9e5), 3);
        // Within the hysteresis, for as long as it likes.
        assert_eq!(ladder.update(at(9000), 9.9e5), 3);
        assert_eq!(ladder.update(at(9033), 1.01e6), 3);
        assert_eq!(ladder.update(at(11_000), 1.01e6), 3);
        assert_eq!(ladder.update(at(11_033), 1.01e6), 4);
        assert_eq!(ladder.update(at(20_000), 9e9), 4);
    }
}
