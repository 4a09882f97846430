//! The detector of overuse: from the trend of the queue delay to a signal (overuse, underuse, normal).
//!
//! The trend times the number of groups (at most 60) and a gain is compared with a threshold. Overuse is signalled when the value has exceeded
//! the threshold for more than 10 ms and does not fall. The threshold follows the value, slowly upwards and faster downwards, so that a flow
//! beside TCP, whose queue oscillates, is not starved.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.4; Carlucci et al. 2017, Congestion Control for Web Real-Time Communication, section IV-C.
//!
//! # Differences from the reference
//! * Constants are those of libwebrtc for its trend line: gain 4; threshold initially 12.5, from 6 to 600; adaptation 0.0087 upwards and
//!   0.039 downwards per ms. The draft has 0.01 and 0.00018 for its filter.

use super::trendline::Trendline;
use qdelay_core::Time;

/// Signal of the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// The queue is stable.
    #[default]
    Normal,
    /// The queue grows.
    Over,
    /// The queue drains.
    Under,
}

/// Largest number of groups by which the trend is weighted.
const GROUPS: usize = 60;
const GAIN: f64 = 4.0;
/// Time above the threshold before overuse is signalled, ms.
const OVERUSE_MS: f64 = 10.0;
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
/// Largest distance between value and threshold at which the threshold adapts.
const FOLLOWED: f64 = 15.0;
/// Longest time step of the adaptation, ms.
const STEP_MS: f64 = 100.0;

/// State of a detector.
#[derive(Clone, Debug)]
pub struct Detector {
    usage: Usage,
    threshold: f64,
    /// Time above the threshold so far, ms; `None` below it.
    above_ms: Option<f64>,
    groups_above: u32,
    last_trend: f64,
    followed: Option<Time>,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector {
            usage: Usage::Normal,
            threshold: 12.5,
            above_ms: None,
            groups_above: 0,
            last_trend: 0.0,
            followed: None,
        }
    }
}

impl Detector {
    /// Updates the signal after a new group, sent `sent_ms` ms after the group before.
    pub fn update(&mut self, line: &Trendline, sent_ms: f64, now: Time) {
        if line.count() < 2 {
            return;
        }
        let trend = line.trend();
        let signal = line.count().min(GROUPS) as f64 * trend * GAIN;
        if signal > self.threshold {
            // The first group above the threshold counts with half of its time.
            let above = self.above_ms.map_or(sent_ms / 2.0, |above| above + sent_ms);
            self.above_ms = Some(above);
            self.groups_above += 1;
            if above > OVERUSE_MS && self.groups_above > 1 && trend >= self.last_trend {
                (self.above_ms, self.groups_above) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.above_ms, self.groups_above) = (None, 0);
            self.usage = if signal < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.last_trend = trend;
        self.follow(signal.abs(), now);
    }

    fn follow(&mut self, signal: f64, now: Time) {
        let last = self.followed.replace(now).unwrap_or(now);
        if signal > self.threshold + FOLLOWED {
            return;
        }
        let gain = if signal < self.threshold { DOWN } else { UP };
        let step_ms = now.since(last).as_millis_f64().min(STEP_MS);
        self.threshold = (self.threshold + gain * (signal - self.threshold) * step_ms).clamp(6.0, 600.0);
    }

    /// Current signal.
    pub fn usage(&self) -> Usage {
        self.usage
    }
}
