//! Detection of token-bucket policers: BBR's long-term bandwidth (Linux `bbr_lt_bw_sampling`, `bbr_lt_bw_interval_done`).
//!
//! From the first loss on, BBR measures intervals of 4 to 16 round trips that end with a loss and in which the lost segments are at least 50/256 of
//! the delivered ones. If the rates of two consecutive intervals agree within an eighth or 4 kbit/s, BBR assumes a policer, and
//! uses their mean as the bandwidth for 48 round trips of ProbeBW.

use super::{AckSample, BW_BITS, Connection, MARGIN_PERCENT, UNIT, bytes_per_second};

const MIN_ROUNDS: u8 = 4;
const MAX_ROUNDS: u8 = 4 * MIN_ROUNDS;
/// Smallest ratio of lost to delivered segments in an interval, in 1/256.
const LOSS: u32 = 50;
/// Largest relative difference of two agreeing rates, in 1/256.
const RATIO: u32 = UNIT / 8;
/// Largest absolute difference of two agreeing rates, bytes/s.
const DIFFERENCE: u64 = 4_000 / 8;
/// Round trips for which the long-term bandwidth is used.
const USE_ROUNDS: u8 = 48;

/// The result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No change.
    Unchanged,
    /// A policer is detected: pace at the long-term bandwidth.
    Policed,
    /// The long-term bandwidth has been used for 48 round trips: probe again.
    Expired,
}

/// Sampler of the long-term bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    rounds: u8,
    in_use: bool,
    bandwidth: u32,
    start_millis: u64,
    start_delivered: u64,
    start_lost: u64,
}

impl Policer {
    /// Long-term bandwidth in scaled segments per microsecond; `None` unless it is in use.
    pub(super) fn bandwidth(&self) -> Option<u32> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Discards all state.
    pub(super) fn reset(&mut self, connection: &Connection) {
        *self = Policer::default();
        self.begin_interval(connection);
    }

    fn begin_interval(&mut self, connection: &Connection) {
        self.start_millis = millis(connection);
        self.start_delivered = connection.delivered;
        self.start_lost = connection.lost;
        self.rounds = 0;
    }

    /// Processes one acknowledgement.
    #[inline]
    pub(super) fn update(
        &mut self,
        connection: &Connection,
        sample: &AckSample,
        round_start: bool,
        probing_bandwidth: bool,
    ) -> Verdict {
        if self.in_use {
            return self.use_up(connection, round_start && probing_bandwidth);
        }
        if !self.sampling {
            // The policer's token bucket is empty from the first loss on.
            if sample.losses == 0 {
                return Verdict::Unchanged;
            }
            self.begin_interval(connection);
            self.sampling = true;
        }
        if sample.is_app_limited {
            self.reset(connection);
            return Verdict::Unchanged;
        }
        self.rounds += u8::from(round_start);
        if self.rounds > MAX_ROUNDS {
            self.reset(connection);
        } else if self.rounds >= MIN_ROUNDS && sample.losses > 0 {
            return self.end_interval(connection);
        }
        Verdict::Unchanged
    }

    fn use_up(&mut self, connection: &Connection, counts: bool) -> Verdict {
        self.rounds += u8::from(counts);
        if !counts || self.rounds < USE_ROUNDS {
            return Verdict::Unchanged;
        }
        self.reset(connection);
        Verdict::Expired
    }

    fn end_interval(&mut self, connection: &Connection) -> Verdict {
        let lost = connection.lost.saturating_sub(self.start_lost);
        let delivered = connection.delivered.saturating_sub(self.start_delivered);
        if delivered == 0 || lost * u64::from(UNIT) < u64::from(LOSS) * delivered {
            return Verdict::Unchanged;
        }
        let elapsed = millis(connection).saturating_sub(self.start_millis);
        if elapsed == 0 {
            return Verdict::Unchanged;
        }
        // Four round trips in more than 71 minutes are not a usable sample.
        if elapsed >= u64::from(u32::MAX) / 1_000 {
            self.reset(connection);
            return Verdict::Unchanged;
        }
        let bandwidth = ((delivered << BW_BITS) / (elapsed * 1_000)) as u32;
        self.compare(connection, bandwidth)
    }

    fn compare(&mut self, connection: &Connection, bandwidth: u32) -> Verdict {
        if self.bandwidth != 0 && agree(connection, bandwidth, self.bandwidth) {
            self.bandwidth = ((u64::from(bandwidth) + u64::from(self.bandwidth)) / 2) as u32;
            self.in_use = true;
            self.rounds = 0;
            return Verdict::Policed;
        }
        self.bandwidth = bandwidth;
        self.begin_interval(connection);
        Verdict::Unchanged
    }
}

fn agree(connection: &Connection, new: u32, old: u32) -> bool {
    let difference = new.abs_diff(old);
    u64::from(difference) * u64::from(UNIT) <= u64::from(RATIO) * u64::from(old)
        // Linux 4.19 has no margin here either: 1% of a bound of 4 kbit/s.
        || bytes_per_second(connection.mss, difference, UNIT, MARGIN_PERCENT) <= DIFFERENCE
}

fn millis(connection: &Connection) -> u64 {
    connection.delivered_time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::super::super::minimal::{connection, sample};
    use super::*;
    use qdelay_core::{Span, Time};

    /// One round trip of 100 ms with `delivered` delivered and `lost` lost segments, in one acknowledgement.
    fn round(policer: &mut Policer, c: &mut Connection, delivered: u64, lost: u32) -> Verdict {
        c.delivered_time += Span::from_millis(100);
        c.now = c.delivered_time;
        c.delivered += delivered;
        c.lost += u64::from(lost);
        policer.update(c, &AckSample { losses: lost, ..sample(delivered as u32) }, true, true)
    }

    fn verdicts(rates: [u64; 2]) -> (Option<u32>, Policer, Connection) {
        let (mut policer, mut c) = (Policer::default(), connection(Time::ZERO));
        policer.reset(&c);
        assert_eq!(round(&mut policer, &mut c, 100, 0), Verdict::Unchanged);
        // The first loss begins the first interval; its own round counts as one.
        round(&mut policer, &mut c, 100, 30);
        for rate in rates {
            for _ in 0..4 {
                if round(&mut policer, &mut c, rate, rate as u32 / 4) == Verdict::Policed {
                    return (policer.bandwidth(), policer, c);
                }
            }
        }
        (None, policer, c)
    }

    #[test]
    fn two_lossy_intervals_that_agree_are_a_policer() {
        let (bandwidth, mut policer, mut c) = verdicts([100, 105]);
        // About 100 segments in 100 ms, as 2^24 segments per microsecond.
        let expected = (1 << BW_BITS) / 1_000;
        assert!(bandwidth.is_some_and(|b| b.abs_diff(expected) < expected / 20), "{bandwidth:?}");
        let rounds = (1..100).find(|_| round(&mut policer, &mut c, 100, 0) == Verdict::Expired);
        assert_eq!((rounds, policer.bandwidth()), (Some(48), None));
    }

    #[test]
    fn intervals_that_disagree_or_lose_little_are_no_policer() {
        assert_eq!(verdicts([100, 150]).0, None);
        let (mut policer, mut c) = (Policer::default(), connection(Time::ZERO));
        for _ in 0..100 {
            assert_eq!(round(&mut policer, &mut c, 100, 19), Verdict::Unchanged); // 19% < 50/256
        }
    }

    #[test]
    fn an_application_limit_starts_over() {
        let (mut policer, mut c) = (Policer::default(), connection(Time::ZERO));
        for _ in 0..3 {
            round(&mut policer, &mut c, 100, 30);
        }
        assert!(policer.sampling);
        policer.update(&c, &AckSample { is_app_limited: true, ..sample(1) }, false, false);
        assert!(!policer.sampling && policer.rounds == 0);
    }
}
