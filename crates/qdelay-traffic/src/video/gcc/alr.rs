//! Whether the application sends less than it may: then feedback does not say that the link would carry more.
//!
//! A budget fills at 80% of the target rate up to 500 ms of it, and empties with each packet, as far as 500 ms below nothing. The
//! application is idle from 40% on, and no longer below -60%.
//!
//! Source: libwebrtc (June 2025), the detector of application-limited regions. Its settings are those that were made for screen sharing,
//! which it takes for all calls.

use qdelay_core::Time;

const SHARE: f64 = 0.8;
const FROM: f64 = 0.4;
const UNTIL: f64 = -0.6;
const WINDOW_S: f64 = 0.5;

/// The budget.
#[derive(Clone, Debug, Default)]
pub struct Alr {
    /// Bytes, of -500 to 500 ms.
    budget: f64,
    updated: Option<Time>,
    since: Option<Time>,
    ended: Option<Time>,
}

impl Alr {
    /// A packet leaves.
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

    /// Since when it is idle; `None` if it is not.
    pub fn since(&self) -> Option<Time> {
        self.since
    }
    /// When it was last no longer idle.
    pub fn ended(&self) -> Option<Time> {
        self.ended
    }
}
