//! BBR's estimate of acknowledgement aggregation: segments acknowledged at once beyond the estimated bandwidth (Linux
//! `bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`, from 5.1 on).
//!
//! Over an epoch that restarts whenever acknowledgements fall behind the estimated bandwidth, the excess of acknowledged
//! segments is measured; its maximum over the last 5 to 10 round trips is added to the window, so that the sender keeps
//! sending while acknowledgements are withheld. At most 100 ms worth of bandwidth is added.

use super::BW_BITS;

/// Round trips after which the older of the two maxima is discarded.
const WINDOW_ROUNDS: u8 = 5;
/// Number of acknowledged segments that ends an epoch.
const MAX_EPOCH_ACKED: u32 = 1 << 20;
/// Largest addition to the window, as time at the estimated bandwidth, microseconds.
const MAX_MICROS: u64 = 100_000;

/// The estimate. Times are in microseconds since the run began; bandwidth is in segments per microsecond, scaled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch_start: u64,
    epoch_acked: u32,
    /// Largest excess in this and in the previous window, segments. 16 bits, as the kernel has them.
    excess: [u16; 2],
    current: usize,
    window_rounds: u8,
}

impl Aggregation {
    /// Restarts the measurement at `now`, keeping the maxima.
    pub(super) fn restart_epoch(&mut self, now: u64) {
        self.epoch_start = now;
        self.epoch_acked = 0;
    }

    /// Processes `acked` segments delivered at `now`, with the expected `bandwidth`; `cwnd` bounds the excess.
    pub(super) fn update(&mut self, now: u64, acked: u32, bandwidth: u32, cwnd: u32, round_start: bool) {
        if round_start {
            self.age();
        }
        let elapsed = now.saturating_sub(self.epoch_start) as u32;
        let mut expected = ((u64::from(bandwidth) * u64::from(elapsed)) >> BW_BITS) as u32;
        if self.epoch_acked <= expected || self.epoch_acked.saturating_add(acked) >= MAX_EPOCH_ACKED {
            self.restart_epoch(now);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked.saturating_add(acked)).min(MAX_EPOCH_ACKED - 1);
        let excess = self.epoch_acked.saturating_sub(expected).min(cwnd);
        if excess > u32::from(self.excess[self.current]) {
            self.excess[self.current] = excess as u16;
        }
    }

    fn age(&mut self) {
        self.window_rounds += 1;
        if self.window_rounds >= WINDOW_ROUNDS {
            self.window_rounds = 0;
            self.current = 1 - self.current;
            self.excess[self.current] = 0;
        }
    }

    /// Segments to add to the window.
    pub(super) fn addition(&self, bandwidth: u32) -> u32 {
        let bound = ((u64::from(bandwidth) * MAX_MICROS) >> BW_BITS) as u32;
        u32::from(self.excess[0].max(self.excess[1])).min(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment per millisecond.
    const BANDWIDTH: u32 = (1 << BW_BITS) / 1_000 + 1;

    #[test]
    fn a_steady_stream_has_an_excess_of_one_acknowledgement() {
        let mut aggregation = Aggregation::default();
        (1..200).for_each(|ms| aggregation.update(ms * 1_000, 1, BANDWIDTH, 1_000, false));
        assert_eq!(aggregation.addition(BANDWIDTH), 1);
    }

    #[test]
    fn the_excess_of_a_burst_lasts_for_two_windows() {
        let mut aggregation = Aggregation::default();
        (1..20).for_each(|n| aggregation.update(n * 30_000, 30, BANDWIDTH, 1_000, false));
        assert_eq!(aggregation.addition(BANDWIDTH), 30);
        assert_eq!(aggregation.addition(BANDWIDTH / 10 + 1), 10); // 100 ms of a tenth
        for round in 1..=10 {
            assert_eq!(aggregation.addition(BANDWIDTH), 30, "{round}");
            aggregation.update(600_000 + round * 1_000, 1, BANDWIDTH, 1_000, true);
        }
        assert!(aggregation.addition(BANDWIDTH) < 5);
    }
}
