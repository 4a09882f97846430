//! Detector of an application-limited (idle) sender, whose feedback does not show the capacity of the link.
//!
//! A budget of bytes fills at 80% of the target rate, up to 500 ms of it, and each packet reduces it, down to -500 ms. The
//! application becomes idle when the budget exceeds 40% of its maximum, and active again below -60%.
//!
//! Source: libwebrtc (June 2025), the detector of application-limited regions. The settings are those for screen sharing,
//! which libwebrtc uses for all calls.

use qdelay_core::Time;

const SHARE: f64 = 0.8;
const FROM: f64 = 0.4;
const UNTIL: f64 = -0.6;
const WINDOW_S: f64 = 0.5;

/// State of the detector.
#[derive(Clone, Debug, Default)]
pub struct Alr {
    /// Budget, bytes: -500 to 500 ms of 80% of the target rate.
    budget: f64,
    updated: Option<Time>,
    since: Option<Time>,
    ended: Option<Time>,
}

impl Alr {
    /// Records that a packet leaves; `target`: target rate, bit/s.
    pub fn sent(&mut self, now: Time, bytes: u32, target: f64) {
        let seconds = self.updated.map_or(0.0, |last| now.since(last).as_secs_f64());
        self.updated = Some(now);
        let rate = SHARE * target / 8.0;
        let most = rate * WINDOW_S;
        self.budget = (self.budget - f64::from(bytes)).max(-most);
        self.budget = (self.budget + rate * seconds).min(most);
        if self.budget > FROM * most {
            self.since = self.since.or(Some(now));
        } else if self.budget < UNTIL * most && self.since.take().is_some() {
            self.ended = Some(now);
        }
    }

    /// Start of the idle time; `None` while active.
    pub fn since(&self) -> Option<Time> {
        self.since
    }
    /// End of the latest idle time; `None` before the first.
    pub fn ended(&self) -> Option<Time> {
        self.ended
    }
}
