//! Figures of a session: the quality of experience of the MPC paper (Yin et al., SIGCOMM 2015, section 3.2, eq. 5) and its terms.
//!
//! `QoE = sum R_k - sum |R_k+1 - R_k| - mu (stalls + startup)`. `R_k` is the bit rate of the k-th downloaded chunk, Mbit/s; times are in seconds.
//! The weights are those of the paper's balanced setting, except for mu, which the user sets. The default 4.3 is the highest bit rate of the
//! ladder, so that a second of stalling costs as much as a chunk at the highest bit rate gains (Pensieve; BoDe, section VI-B).

use super::Video;
use qdelay_core::Span;
use qdelay_core::component::Typed;

/// The weight mu, for the figures and for robustMPC, which plans by them.
pub(super) const PENALTY: Typed<f64> =
    Typed::new("penalty", "4.3", "Reduction of the quality of experience per second of waiting, Mbit/s")
        .within("0", "1000")
        .source("Pensieve; BoDe, section VI-B");

/// Outcome of a session from its start, warm-up included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamOutcome {
    /// Chunks downloaded.
    pub chunks: u64,
    /// Mean bit rate of the downloaded chunks, Mbit/s.
    pub bitrate_mbps: f64,
    /// Time from the start of the flow to the first picture, or to the end without one.
    pub startup: Span,
    /// Number of stalls.
    pub stalls: u64,
    /// Total duration of the stalls.
    pub stalled: Span,
    /// Chunks with another bit rate than the chunk before.
    pub switches: u64,
    /// Video played.
    pub played: Span,
    /// Quality of experience, summed over all chunks, Mbit/s.
    pub qoe: f64,
    /// Quality of experience per chunk, Mbit/s: at most the highest bit rate.
    pub qoe_per_chunk: f64,
}

impl StreamOutcome {
    /// Outcome of a session of any player. `rungs`: the rung of each downloaded chunk of `video`, from the first chunk on; `penalty`: reduction of the
    /// quality per second of waiting, Mbit/s; `startup`: time to the first picture; `stalls` and `stalled`: number and total duration of stalls.
    pub fn of_chunks(
        video: &Video,
        rungs: &[usize],
        penalty: f64,
        (startup, stalls): (Span, (u64, Span)),
        played: Span,
    ) -> StreamOutcome {
        let mut sums = Sums::default();
        let mut last = None;
        for &rung in rungs {
            sums.add(video, rung, last.replace(rung));
        }
        sums.outcome(penalty, startup, stalls, played)
    }
}

/// Sums over the chunks of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    chunks: u64,
    /// Sum of bit rates, Mbit/s.
    rates: f64,
    changes: f64,
    switches: u64,
}

impl Sums {
    /// Adds a chunk at `rung` after one at the rung `last`.
    pub fn add(&mut self, video: &Video, rung: usize, last: Option<usize>) {
        self.chunks += 1;
        self.rates += video.bps(rung) / 1e6;
        if let Some(last) = last.filter(|last| *last != rung) {
            self.switches += 1;
            self.changes += (video.bps(rung) - video.bps(last)).abs() / 1e6;
        }
    }

    /// Outcome of a session with these chunks; `penalty` is mu.
    pub fn outcome(
        &self,
        penalty: f64,
        startup: Span,
        (stalls, stalled): (u64, Span),
        played: Span,
    ) -> StreamOutcome {
        let waits = (startup + stalled).as_secs_f64();
        let qoe = self.rates - self.changes - penalty * waits;
        let chunks = self.chunks.max(1) as f64;
        StreamOutcome {
            chunks: self.chunks,
            bitrate_mbps: self.rates / chunks,
            startup,
            stalls,
            stalled,
            switches: self.switches,
            played,
            qoe,
            qoe_per_chunk: qoe / chunks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Rate;

    #[test]
    fn the_qoe_is_rates_less_changes_and_waits() {
        let ladder = [1, 3].map(|mbps| Rate::from_bps(mbps * 1_000_000));
        let video = Video::synthetic(&ladder, Span::from_secs(12), Span::from_secs(4), 0.0, 1);
        let mut sums = Sums::default();
        sums.add(&video, 0, None);
        sums.add(&video, 1, Some(0));
        sums.add(&video, 1, Some(1));
        let ms = Span::from_millis;
        let outcome = sums.outcome(4.0, ms(500), (1, ms(250)), ms(12_000));
        // 1 + 3 + 3 - 2 - 4 (0.5 + 0.25) = 2.
        assert_eq!((outcome.qoe, outcome.switches, outcome.chunks), (2.0, 1, 3));
        assert!((outcome.bitrate_mbps - 7.0 / 3.0).abs() < 1e-12);
        assert!((outcome.qoe_per_chunk - 2.0 / 3.0).abs() < 1e-12);
        let waits = (ms(500), (1, ms(250)));
        assert_eq!(StreamOutcome::of_chunks(&video, &[0, 1, 1], 4.0, waits, ms(12_000)), outcome);
    }
}
