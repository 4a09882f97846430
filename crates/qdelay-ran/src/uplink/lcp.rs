//! Logical channel prioritisation: the sharing of a UE's block among its bearers.
//!
//! A bearer with a prioritised bit rate (PBR) has a bucket that fills at this rate, up to the bytes of the
//! bucket size duration. The block first serves bearers with a positive bucket, in the order of priority and
//! up to the bucket's level; then all bearers in the order of priority, as long as they have data. Bytes that
//! are sent leave the bucket, whose level may become negative. A bearer without PBR counts as one with
//! infinite PBR: it is served completely before those of lower priority. Without any PBR the result is strict
//! priority.
//!
//! Source: TS 36.321 and TS 38.321 clause 5.4.3.1.
//!
//! # Differences from the reference
//! * The share of a bearer with a positive bucket is never below [`LEAST_BYTES`](crate::cell::LEAST_BYTES),
//!   so that the first round does not send headers only.

use crate::cell::LEAST_BYTES;
use qdelay_core::{Rate, Span, Time};

/// A prioritised bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prioritised {
    /// The rate.
    pub rate: Rate,
    /// Bucket size duration: the bucket holds the bytes of this time at the rate.
    pub bucket: Span,
}

/// The bucket of a bearer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    setting: Option<Prioritised>,
    /// Level of the bucket, in nanobits.
    fill: i64,
    since: Time,
}

/// Nanobits in a byte.
const BYTE: i64 = 8_000_000_000;

impl Bucket {
    pub fn new(setting: Option<Prioritised>) -> Bucket {
        Bucket { setting, fill: 0, since: Time::ZERO }
    }
    /// Most bytes for this bearer in the first round at `now`.
    pub fn first_round(&mut self, now: Time) -> u64 {
        let Some(Prioritised { rate, bucket }) = self.setting else { return u64::MAX };
        let billionths = |span: Span| {
            let product = u128::from(rate.as_bps()) * u128::from(span.as_nanos());
            i64::try_from(product).unwrap_or(i64::MAX)
        };
        self.fill = self.fill.saturating_add(billionths(now.since(self.since))).min(billionths(bucket));
        self.since = now;
        if self.fill > 0 { LEAST_BYTES.max((self.fill / BYTE) as u64) } else { 0 }
    }
    /// Subtracts `bytes` sent.
    pub fn sent(&mut self, bytes: u64) {
        if self.setting.is_some() {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            self.fill = self.fill.saturating_sub(bytes.saturating_mul(BYTE));
        }
    }
}

/// Shares `bytes` among bearers in the order of priority: `wanted` is the demand of each, `first` the most of
/// it in the first round, and the result is written to `shares`.
pub(super) fn share(bytes: u64, wanted: &[u64], first: &[u64], shares: &mut [u64]) {
    let mut left = bytes;
    for ((share, wanted), first) in shares.iter_mut().zip(wanted).zip(first) {
        *share = left.min(*wanted).min(*first);
        left -= *share;
    }
    for (share, wanted) in shares.iter_mut().zip(wanted) {
        let more = left.min(*wanted - *share);
        *share += more;
        left -= more;
    }
    debug_assert!(shares.iter().sum::<u64>() <= bytes, "shares fit the block");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(bytes: u64, wanted: [u64; 3], first: [u64; 3]) -> [u64; 3] {
        let mut shares = [0; 3];
        share(bytes, &wanted, &first, &mut shares);
        shares
    }

    #[test]
    fn without_rates_priority_is_strict() {
        assert_eq!(shared(1000, [400, 700, 50], [u64::MAX; 3]), [400, 600, 0]);
        assert_eq!(shared(1000, [100, 200, 50], [u64::MAX; 3]), [100, 200, 50]);
    }

    #[test]
    fn rates_are_served_before_the_rest() {
        assert_eq!(shared(1000, [5000, 5000, 5000], [300, 200, 100]), [700, 200, 100]);
        assert_eq!(shared(1000, [5000, 5000, 5000], [0, 200, 0]), [800, 200, 0]);
        assert_eq!(shared(250, [5000, 5000, 5000], [100, 200, 300]), [100, 150, 0]);
    }

    #[test]
    fn a_bucket_fills_at_its_rate_and_holds_its_duration() {
        let rate = Prioritised { rate: Rate::from_bps(800_000), bucket: Span::from_millis(50) };
        let mut bucket = Bucket::new(Some(rate));
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        assert_eq!(bucket.first_round(at(0)), 0);
        assert_eq!(bucket.first_round(at(10)), 1000);
        bucket.sent(1500);
        assert_eq!((bucket.first_round(at(10)), bucket.first_round(at(15))), (0, 0));
        assert_eq!(bucket.first_round(at(20)), 500);
        assert_eq!(bucket.first_round(at(10_000)), 5000);
        assert_eq!(Bucket::new(None).first_round(at(0)), u64::MAX);
    }
}
