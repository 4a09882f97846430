//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation; Linux `tcp_rate.c`).

use super::scoreboard::{Record, state};
use qdelay_core::{Span, Time};

/// State between acknowledgements.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// Time of the latest delivery.
    pub delivered_time: Time,
    /// Send time of the segment most recently delivered.
    pub first_sent: Time,
    /// Value of `delivered` up to which samples count as application-limited; 0 for none.
    pub app_limited: u64,
}

/// Sample that accumulates over one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    prior_time: Option<Time>,
    /// Value of `delivered` at the transmission of the latest sent among the delivered segments.
    pub prior_delivered: u64,
    send_interval: Span,
    latest: (Time, u64),
    /// Whether that segment was sent while the sender was application-limited.
    pub is_app_limited: bool,
}

impl RateSampler {
    /// Stamps the record of a segment at its transmission; `idle`: nothing was in flight before.
    pub fn stamp(&mut self, record: &mut Record, idle: bool) {
        if idle {
            self.first_sent = record.sent;
            self.delivered_time = record.sent;
        }
        record.first_sent = self.first_sent;
        record.delivered_time = self.delivered_time;
        record.delivered = self.delivered;
        record.state &= !(state::APP_LIMITED | state::DELIVERED);
        if self.app_limited != 0 {
            record.state |= state::APP_LIMITED;
        }
    }

    /// Adds the record of a delivered segment to the acknowledgement's sample.
    pub fn deliver(&mut self, sample: &mut Sample, record: &Record) {
        if record.is(state::DELIVERED) {
            return;
        }
        let order = (record.sent, record.end());
        if sample.prior_time.is_none() || order > sample.latest {
            sample.prior_delivered = record.delivered;
            sample.prior_time = Some(record.delivered_time);
            sample.is_app_limited = record.is(state::APP_LIMITED);
            sample.latest = order;
            sample.send_interval = record.sent.since(record.first_sent);
            self.first_sent = record.sent;
        }
    }

    /// Ends an acknowledgement; `progress`: it has delivered a segment. Returns the segments delivered over the sample's interval, and the interval
    /// of a valid sample.
    pub fn finish(
        &mut self,
        now: Time,
        sample: &Sample,
        progress: bool,
        min_rtt: Span,
    ) -> (u32, Option<Span>) {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if progress {
            self.delivered_time = now;
        }
        let Some(prior_time) = sample.prior_time else { return (0, None) };
        let interval = sample.send_interval.max(now.since(prior_time));
        debug_assert!(sample.prior_delivered <= self.delivered, "deliveries decrease");
        let delivered = (self.delivered - sample.prior_delivered) as u32;
        (delivered, (interval >= min_rtt && !interval.is_zero()).then_some(interval))
    }
}
