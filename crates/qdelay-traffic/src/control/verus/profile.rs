//! The delay profile: the mean delay of each window, and a curve through the means.

use alloc::vec::Vec;

/// Weight of the past in a window's mean delay.
const PAST: f32 = 0.875;
/// Largest window with a mean of its own, segments.
const LARGEST: usize = 40_000;
/// Smallest distance of two knots of the curve, segments.
const SPACING: usize = 15;
/// Most knots of the curve.
const KNOTS: usize = 64;
/// Smallest slope, ms per segment: a falling or level curve is noise, and would have no window for a delay.
const LEAST_SLOPE: f64 = 1e-3;

/// Mean delay of each window, and a curve of straight lines between knots. Each knot is the mean over the windows around it, and at least as high as
/// the knot before. Beyond the last knot the delay grows in proportion to the window, as on a saturated link: a
/// window never tried is at most as large as the delay allows at the rate of the last knot.
///
/// The authors' program fits a penalized spline with a knot each 15 segments; for small windows the result is nearly the same.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Mean delay by window, ms; negative for a window never seen.
    means: Vec<f32>,
    /// Knots of the curve: window and delay, ms, both ascending.
    knots: Vec<(f64, f64)>,
}

impl Profile {
    /// Records the round trip `delay`, ms, of a segment that was sent with the window `window`.
    pub fn learn(&mut self, window: u32, delay: f64) {
        let window = (window as usize).min(LARGEST);
        if window >= self.means.len() {
            self.means.resize(window + 1, -1.0);
        }
        let mean = &mut self.means[window];
        *mean = if *mean < 0.0 { delay as f32 } else { PAST * *mean + (1.0 - PAST) * delay as f32 };
    }

    /// Fits the curve to the means.
    pub fn draw(&mut self) {
        let Profile { means, knots } = self;
        knots.clear();
        let spacing = SPACING.max(means.len().div_ceil(KNOTS));
        for (bin, delays) in means.chunks(spacing).enumerate() {
            let (mut count, mut windows, mut sum) = (0.0, 0.0, 0.0);
            for (index, &delay) in delays.iter().enumerate().filter(|(_, delay)| **delay >= 0.0) {
                count += 1.0;
                windows += (bin * spacing + index) as f64;
                sum += f64::from(delay);
            }
            if count > 0.0 {
                let (window, delay) = (windows / count, sum / count);
                let least = knots.last().map_or(0.0, |&(last, delay)| delay + (window - last) * LEAST_SLOPE);
                knots.push((window, delay.max(least)));
            }
        }
    }

    /// Line of the curve in front of the first knot for which `beyond` is true, or beyond the last knot: a point and the slope.
    fn line(&self, beyond: impl Fn(&(f64, f64)) -> bool) -> ((f64, f64), f64) {
        let knots = &self.knots;
        let end = knots.iter().position(beyond).map_or(knots.len(), |index| index.max(1));
        match (knots.get(end.saturating_sub(1)), knots.get(end)) {
            (Some(&from), Some(&to)) => (from, (to.1 - from.1) / (to.0 - from.0)),
            (Some(&last), None) => (last, (last.1 / last.0.max(1.0)).max(LEAST_SLOPE)),
            _ => ((1.0, 0.0), 1.0),
        }
    }

    /// Delay of a window on the curve, ms.
    pub fn delay(&self, window: f64) -> f64 {
        let ((at, delay), slope) = self.line(|knot| knot.0 >= window);
        (delay + (window - at) * slope).max(0.0)
    }

    /// Largest window whose delay on the curve is at most `delay`, ms.
    pub fn window(&self, delay: f64) -> f64 {
        let ((window, at), slope) = self.line(|knot| knot.1 >= delay);
        (window + (delay - at) / slope).clamp(0.0, LARGEST as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_curve_is_reproduced_and_extended_at_the_last_rate() {
        let mut profile = Profile::default();
        for window in 1..=120 {
            profile.learn(window, 20.0 + f64::from(window) * 0.5);
        }
        profile.draw();
        for window in [1.0, 30.0, 77.0, 112.0, 200.0] {
            let last = 120.0;
            let rate = last / (20.0 + last * 0.5);
            let delay = if window < last { 20.0 + window * 0.5 } else { window / rate };
            assert!((profile.delay(window) - delay).abs() < 0.01, "{window}: {}", profile.delay(window));
            assert!((profile.window(delay) - window).abs() < 0.1, "{delay}: {}", profile.window(delay));
        }
    }

    #[test]
    fn a_level_or_falling_curve_still_has_a_window_for_each_delay() {
        let mut profile = Profile::default();
        profile.draw();
        assert!(profile.window(10.0) >= 1.0);
        for window in 1..=100_000 {
            profile.learn(window, 50.0 - f64::from(window.min(40_000)) * 1e-4);
        }
        profile.draw();
        let mut last = 0.0;
        for step in 0..200 {
            let window = profile.window(f64::from(step));
            assert!(window >= last && window <= 40_000.0, "{step} {window}");
            last = window;
        }
    }
}
