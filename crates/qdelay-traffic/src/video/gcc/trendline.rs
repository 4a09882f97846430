//! The trend of the queue: the slope of the smoothed delay over the last groups of packets.
//!
//! The differences of the one-way delays between groups are summed up and smoothed exponentially. The slope of the least-squares line through
//! the last 20 values, in ms of queue delay per ms, is near `(rate - capacity) / capacity` while a queue builds up.
//!
//! Source: the estimator of libwebrtc since 2016; draft-ietf-rmcat-gcc-02 section 5.3 has a Kalman filter for the same purpose.
//!
//! | parameter | value | unit |
//! | --- | --- | --- |
//! | window | 20 | groups |
//! | smoothing | 0.9 | weight of the past |

use super::arrival::Delta;
use qdelay_core::Time;

/// Number of groups in the line.
const WINDOW: usize = 20;
/// Weight of the past in the smoothed delay.
const SMOOTHING: f64 = 0.9;

/// Smoothed delays of the last groups of a flow.
#[derive(Clone, Debug)]
pub struct Trendline {
    first: Option<Time>,
    /// Sum of the delay differences so far, ms.
    delay_ms: f64,
    smoothed_ms: f64,
    /// Ring buffer of points: arrival time since the first group and smoothed delay, both ms.
    points: [(f64, f64); WINDOW],
    count: usize,
    trend: f64,
}

impl Default for Trendline {
    fn default() -> Trendline {
        Trendline {
            first: None,
            delay_ms: 0.0,
            smoothed_ms: 0.0,
            points: [(0.0, 0.0); WINDOW],
            count: 0,
            trend: 0.0,
        }
    }
}

impl Trendline {
    /// Adds a group that arrived at `arrived`.
    pub fn add(&mut self, delta: Delta, arrived: Time) {
        let first = *self.first.get_or_insert(arrived);
        self.delay_ms += delta.arrived_ms - delta.sent_ms;
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.delay_ms;
        self.points[self.count % WINDOW] = (arrived.since(first).as_millis_f64(), self.smoothed_ms);
        self.count += 1;
        if self.count >= WINDOW
            && let Some(slope) = slope(&self.points)
        {
            self.trend = slope;
        }
    }

    /// Number of groups so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Slope of the queue delay, ms per ms; zero before the window is full.
    pub fn trend(&self) -> f64 {
        self.trend
    }
}

/// Slope of the least-squares line; `None` if all points have the same time.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let number = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (x / number, y / number);
    let (mut above, mut below) = (0.0, 0.0);
    for point in points {
        above += (point.0 - x) * (point.1 - y);
        below += (point.0 - x) * (point.0 - x);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Span;

    /// A queue that grows by 1 ms per 20 ms of sending has the slope 1/21 over arrival times.
    #[test]
    fn the_trend_is_the_slope_of_a_growing_queue() {
        let mut line = Trendline::default();
        for n in 1..=400_u64 {
            let delta = Delta { sent_ms: 20.0, arrived_ms: 21.0 };
            line.add(delta, Time::ZERO + Span::from_millis(21 * n));
            assert!(n >= 20 || line.trend() == 0.0);
        }
        assert!((line.trend() - 1.0 / 21.0).abs() < 1e-6, "{}", line.trend());
    }
}
