//! Averages of the throughput of past downloads.

use super::Download;
use alloc::vec::Vec;

/// Moving averages of throughput and latency with two half-lives; the estimate is the more cautious of the two (dash.js; Spiteri, Sitaraman and
/// Sparacio, MMSys 2018).
#[derive(Clone, Debug, Default)]
pub(super) struct Ewma {
    /// Average throughput for each half-life, kbit/s.
    throughput: [f64; HALF_LIVES_MS.len()],
    latency: [f64; HALF_LIVES_MS.len()],
    /// Total transfer time so far, ms.
    time: f64,
    count: f64,
}

/// Transfer times after which a sample's weight is halved, ms.
const HALF_LIVES_MS: [f64; 2] = [3000.0, 8000.0];

impl Ewma {
    /// Adds a download of a chunk of length `chunk_ms`, ms.
    pub fn add(&mut self, download: &Download, chunk_ms: f64) {
        let time = download.transfer.as_millis_f64().max(1e-3);
        let throughput = download.bytes as f64 * 8.0 / time;
        for (index, half_life) in HALF_LIVES_MS.into_iter().enumerate() {
            let old = libm::pow(0.5, time / half_life);
            self.throughput[index] = old * self.throughput[index] + (1.0 - old) * throughput;
            let old = libm::pow(0.5, chunk_ms / half_life);
            self.latency[index] = old * self.latency[index] + (1.0 - old) * download.wait.as_millis_f64();
        }
        self.time += time;
        self.count += 1.0;
    }

    /// Estimated throughput, kbit/s, and latency, ms; `None` before the first download.
    pub fn estimate(&self, chunk_ms: f64) -> Option<(f64, f64)> {
        if self.count == 0.0 {
            return None;
        }
        let (mut throughput, mut latency) = (f64::INFINITY, 0.0_f64);
        for (index, half_life) in HALF_LIVES_MS.into_iter().enumerate() {
            // Corrects for the initial value of zero.
            let weight = 1.0 - libm::pow(0.5, self.time / half_life);
            throughput = throughput.min(self.throughput[index] / weight);
            let weight = 1.0 - libm::pow(0.5, self.count * chunk_ms / half_life);
            latency = latency.max(self.latency[index] / weight);
        }
        Some((throughput, latency))
    }
}

/// The last `N` samples.
#[derive(Clone, Debug)]
pub(super) struct Last<const N: usize>(Vec<f64>);

impl<const N: usize> Default for Last<N> {
    fn default() -> Self {
        Last(Vec::with_capacity(N))
    }
}

impl<const N: usize> Last<N> {
    pub fn push(&mut self, sample: f64) {
        if self.0.len() == N {
            self.0.remove(0);
        }
        self.0.push(sample);
    }
    /// Harmonic mean of the last `count` samples; `None` without samples.
    pub fn harmonic_mean(&self, count: usize) -> Option<f64> {
        let last = &self.0[self.0.len().saturating_sub(count)..];
        let inverse: f64 = last.iter().map(|sample| 1.0 / sample).sum();
        (!last.is_empty()).then(|| 1.0 / (inverse / last.len() as f64))
    }
    /// Largest sample; 0 without samples.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}
