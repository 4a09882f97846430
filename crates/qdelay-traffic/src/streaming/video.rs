//! A video in chunks; each chunk exists at every bit rate of a ladder.
//!
//! The encoder has a variable bit rate: a chunk with much motion is larger than the mean at every bit rate. Sizes come from a random stream
//! that depends on the video's number only, so that a video is the same in every run. The mean size at each bit rate is exact.

use alloc::vec::Vec;
use qdelay_core::{Random, Rate, Span};

/// Chunk sizes of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    ladder: Vec<Rate>,
    chunk: Span,
    /// Bytes of each chunk at each bit rate; the bit rates of a chunk are adjacent.
    bytes: Vec<u64>,
}

impl Video {
    /// Generates a video of length `length` at the ascending bit rates `ladder`. All chunks have one length, the nearest to `chunk` that divides
    /// `length`. Sizes are uniform within `variation` (share of the mean, 0 to 1); `number` seeds them.
    pub fn synthetic(ladder: &[Rate], length: Span, chunk: Span, variation: f64, number: u64) -> Video {
        let chunk_nanos = chunk.as_nanos().max(1);
        let count = ((length.as_nanos() + chunk_nanos / 2) / chunk_nanos).max(1);
        let chunk = length / count;
        let mut random = Random::derive(number, "video", "sizes");
        let factors: Vec<f64> = (0..count).map(|_| 1.0 + variation * (2.0 * random.unit() - 1.0)).collect();
        let mean = factors.iter().sum::<f64>() / count as f64;
        let seconds = chunk.as_secs_f64();
        let size = |factor: f64, rate: &Rate| {
            let bytes = rate.as_bps() as f64 * seconds / 8.0 * factor / mean;
            (libm::round(bytes) as u64).max(1)
        };
        let bytes = factors.iter().flat_map(|factor| ladder.iter().map(move |rate| size(*factor, rate)));
        Video { ladder: ladder.to_vec(), chunk, bytes: bytes.collect() }
    }

    /// A video of given sizes. `chunk`: length of a chunk; `sizes`: for each chunk, its bytes at each bit rate of `ladder`. `None` without chunks or
    /// bit rates, or if a chunk has not one size per bit rate.
    pub fn of_sizes(ladder: &[Rate], chunk: Span, sizes: &[Vec<u64>]) -> Option<Video> {
        let is_whole = sizes.iter().all(|chunk| chunk.len() == ladder.len());
        (is_whole && !ladder.is_empty() && !sizes.is_empty()).then(|| Video {
            ladder: ladder.to_vec(),
            chunk,
            bytes: sizes.concat(),
        })
    }

    /// Number of bit rates.
    pub fn rungs(&self) -> usize {
        self.ladder.len()
    }
    /// Length of a chunk.
    pub fn chunk(&self) -> Span {
        self.chunk
    }
    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.bytes.len() / self.ladder.len().max(1)
    }
    /// Bytes of chunk `chunk` at rung `rung`; 0 if either does not exist.
    pub fn bytes(&self, chunk: usize, rung: usize) -> u64 {
        if rung < self.rungs() {
            self.bytes.get(chunk * self.rungs() + rung).copied().unwrap_or(0)
        } else {
            0
        }
    }
    /// Bit rate of a rung, bit/s; the highest bit rate for a rung above the ladder.
    pub fn bps(&self, rung: usize) -> f64 {
        self.ladder[rung.min(self.rungs() - 1)].as_bps() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder() -> Vec<Rate> {
        [300_000, 750_000, 4_300_000].map(Rate::from_bps).to_vec()
    }

    #[test]
    fn chunks_have_one_length_and_their_rates_as_means() {
        let video = Video::synthetic(&ladder(), Span::from_secs(193), Span::from_secs(4), 0.2, 1);
        assert_eq!((video.chunks(), video.rungs()), (48, 3));
        assert_eq!(video.chunk(), Span::from_secs(193) / 48);
        for rung in 0..3 {
            let all: u64 = (0..48).map(|chunk| video.bytes(chunk, rung)).sum();
            let expected = video.bps(rung) * 193.0 / 8.0;
            assert!((all as f64 - expected).abs() < 48.0, "{all} {expected}");
        }
        // A chunk that is larger at one bit rate is larger at all.
        let larger = |rung| video.bytes(0, rung) > video.bytes(1, rung);
        assert!((0..3).all(|rung| larger(rung) == larger(0)));
        assert_ne!(video, Video::synthetic(&ladder(), Span::from_secs(193), Span::from_secs(4), 0.2, 2));
        assert_eq!((video.bytes(48, 0), video.bytes(0, 3)), (0, 0));
    }

    #[test]
    fn given_sizes_need_one_per_bit_rate() {
        let video = Video::synthetic(&ladder(), Span::from_secs(8), Span::from_secs(4), 0.0, 1);
        assert_eq!(video.bytes(0, 0), 150_000);
        assert!(Video::of_sizes(&ladder(), Span::from_secs(4), &[alloc::vec![1, 2]]).is_none());
    }
}
