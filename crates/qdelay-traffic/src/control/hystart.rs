//! HyStart: leaving slow start before the queue overflows (Ha and Rhee 2011; Linux `hystart_update` in `tcp_cubic.c`).
//!
//! Each of two signs that the window has reached the path's capacity ends slow start:
//! * *acknowledgement train*: acknowledgements with gaps of at most 2 ms have lasted for half of the smallest round trip (for a whole one
//!   if the sender paces), plus an allowance of up to 1 ms for segments sent in batches;
//! * *delay*: the smallest of the first 8 (or more) round trips of this round exceeds the smallest of the connection by an eighth, with bounds
//!   of 4 ms and 16 ms.
//!
//! HyStart is inactive below a window of 16 segments. Times are in whole microseconds.
//!
//! Differences from the reference, Linux 6.12: the correction of early 2025 ("fix incorrect HyStart round start
//! detection") is included, so rounds are counted from the first one at any window. The pacing rate for the allowance
//! is computed from window and smoothed round trip, two windows per round trip, as Linux does in slow start. RFC 9406 (HyStart++) is
//! another algorithm.

use super::{Connection, Window};

/// Window below which HyStart is inactive, segments.
const LOW_WINDOW: u32 = 16;
/// Largest gap between acknowledgements of a train, microseconds.
const TRAIN_GAP: u64 = 2_000;
/// Samples of a round before its smallest round trip is used.
const MIN_SAMPLES: u8 = 8;
/// Bounds of the tolerated growth of the round trip (microseconds).
const DELAY_BOUNDS: (u32, u32) = (4_000, 16_000);
/// Largest allowance for batches (microseconds).
const MAX_ALLOWANCE: u64 = 1_000;
/// Bytes in the four largest batches: Linux's `sk_gso_max_size` is 65,536 less 321 for headers.
const BATCH_BYTES: u64 = 4 * 65_215;

/// State of the current round of slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hystart {
    /// Whether the sender paces: departures are then spread over up to half a round trip.
    paced: bool,
    found: bool,
    samples: u8,
    /// Smallest round trip of the round, microseconds.
    round_rtt: u32,
    /// Start of the round, microseconds since the run began.
    round_start: u64,
    last_ack: u64,
    /// The round ends when this sequence number is acknowledged.
    end: u64,
}

impl Hystart {
    /// State before any sample.
    pub(super) fn new(paced: bool) -> Hystart {
        Hystart { paced, found: false, samples: 0, round_rtt: u32::MAX, round_start: 0, last_ack: 0, end: 0 }
    }

    /// Begins a new search, in a new round.
    pub(super) fn restart(&mut self, connection: &Connection) {
        self.found = false;
        self.begin_round(connection);
    }

    /// Whether HyStart has ended slow start since the last restart.
    pub(super) fn found(&self) -> bool {
        self.found
    }

    fn begin_round(&mut self, connection: &Connection) {
        self.round_start = micros(connection);
        self.last_ack = self.round_start;
        self.end = connection.nxt;
        self.round_rtt = u32::MAX;
        self.samples = 0;
    }

    /// Processes a round trip of `rtt` microseconds during slow start, `min_rtt` being the smallest. When slow start should
    /// end, sets the threshold to the window.
    pub(super) fn sample(&mut self, connection: &Connection, window: &mut Window, rtt: u32, min_rtt: u32) {
        if connection.una > self.end {
            self.begin_round(connection);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        // Both detectors must process every sample: the first must not hide it from the second.
        let train = self.long_train(connection, window, min_rtt);
        let delay = self.long_delay(rtt, min_rtt);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    fn long_train(&mut self, connection: &Connection, window: &Window, min_rtt: u32) -> bool {
        let now = micros(connection);
        if now.saturating_sub(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        let threshold = (u64::from(min_rtt) + allowance(connection, window)) >> u8::from(!self.paced);
        now.saturating_sub(self.round_start) > threshold
    }

    fn long_delay(&mut self, rtt: u32, min_rtt: u32) -> bool {
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let tolerated = (min_rtt / 8).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1);
        self.round_rtt > min_rtt.saturating_add(tolerated)
    }
}

/// Time of four of the largest batches at the rate of slow start, two windows per round trip, microseconds.
fn allowance(connection: &Connection, window: &Window) -> u64 {
    let twice_window = 2 * u64::from(window.cwnd) * u64::from(connection.mss);
    let batches = BATCH_BYTES.saturating_mul(connection.srtt.as_micros());
    // The division is rare: below about 2 Gbit/s the result is the bound.
    if batches >= MAX_ALLOWANCE.saturating_mul(twice_window) {
        return MAX_ALLOWANCE;
    }
    batches / twice_window.max(1)
}

fn micros(connection: &Connection) -> u64 {
    connection.now.as_nanos() / 1_000
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{connection, window};
    use super::*;
    use qdelay_core::{Span, Time};

    /// A connection at `micros` with a smoothed round trip of 40 ms.
    fn connection_at_us(micros: u64) -> Connection {
        let now = Time::ZERO + Span::from_micros(micros);
        Connection { srtt: Span::from_millis(40), una: 1, nxt: 1_000_000, ..connection(now) }
    }

    /// Feeds acknowledgements every `gap` microseconds, all of the same round trip, and returns when slow start ends.
    fn exit_after(paced: bool, cwnd: u32, gap: u64, rtt: u32) -> Option<u64> {
        let mut hystart = Hystart::new(paced);
        let mut w = window(cwnd, u32::MAX);
        hystart.restart(&connection_at_us(0));
        (1..100_000 / gap).map(|n| n * gap).find(|now| {
            hystart.sample(&connection_at_us(*now), &mut w, rtt, 40_000);
            assert_eq!(hystart.found(), w.ssthresh == cwnd);
            hystart.found()
        })
    }

    #[test]
    fn a_train_of_half_the_round_trip_ends_slow_start() {
        assert_eq!(exit_after(false, 20, 100, 40_000), Some(20_600)); // past (40 ms + 1 ms) / 2
        assert_eq!(exit_after(true, 20, 100, 40_000), Some(41_100)); // past 40 ms + 1 ms
        assert_eq!(exit_after(false, 20, 2_000, 40_000), Some(22_000));
        assert_eq!(exit_after(false, 20, 2_001, 40_000), None);
        assert_eq!(exit_after(false, 15, 100, 60_000), None);
    }

    #[test]
    fn allowance_shrinks_at_high_rates() {
        let fast = Connection { srtt: Span::from_millis(1), mss: 1448, ..connection_at_us(0) };
        // 2 * 2000 * 1448 bytes per ms: 260,860 bytes take 45 us.
        assert_eq!(allowance(&fast, &window(2_000, u32::MAX)), 45);
        assert_eq!(allowance(&fast, &window(10, u32::MAX)), 1_000);
    }

    #[test]
    fn delay_ends_slow_start_after_eight_samples() {
        // Sparse acknowledgements, so that no train forms; the ninth sample decides.
        assert_eq!(exit_after(false, 20, 3_000, 45_001), Some(27_000));
        assert_eq!(exit_after(false, 20, 3_000, 45_000), None);
        let exits = |rtt, min_rtt| {
            let mut hystart = Hystart::new(false);
            (0..9).any(|_| hystart.long_delay(rtt, min_rtt))
        };
        assert!(exits(8_001, 4_000) && !exits(8_000, 4_000)); // at least 4 ms
        assert!(exits(316_001, 300_000) && !exits(316_000, 300_000)); // at most 16 ms
    }

    #[test]
    fn a_round_ends_when_its_end_is_acknowledged() {
        let mut hystart = Hystart::new(false);
        let mut w = window(20, u32::MAX);
        hystart.restart(&connection_at_us(0));
        (1..=8).for_each(|n| hystart.sample(&connection_at_us(n * 3_000), &mut w, 60_000, 40_000));
        let next = Connection { una: 1_000_001, nxt: 2_000_000, ..connection_at_us(27_000) };
        hystart.sample(&next, &mut w, 60_000, 40_000);
        assert!(!hystart.found() && hystart.samples == 1 && hystart.end == 2_000_000);
    }
}
