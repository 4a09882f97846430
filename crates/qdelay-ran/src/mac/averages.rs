//! Recent throughput of each UE, used by proportional fair and related schedulers.
//!
//! The average decays with a window and grows with the bytes of new blocks. All averages decay by the same
//! factor. Instead of applying the factor, added bytes are multiplied by a weight that grows from TTI to TTI,
//! so that UEs that are not served cost nothing.

use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::Typed;

/// Parameter `window`, of every scheduler that has one.
pub(super) const WINDOW: Typed<Span> =
    Typed::new("window", "100ms", "Time constant of the average throughput; at least a TTI.")
        .within("125us", "1000s")
        .source("ns-3 lte: 99 TTIs of 1 ms");

/// Exponent of e at which the weights restart, far below their overflow.
const HIGHEST_EXPONENT: f64 = 300.0;

#[derive(Clone, Debug)]
pub(super) struct Averages {
    /// The average of each UE, times the current weight.
    weighted: Vec<f64>,
    /// Exponent of e by which averages decay in a TTI.
    decay: f64,
    /// The TTI whose weight is 1.
    base: u64,
    /// Weight of the current TTI.
    weight: f64,
}

impl Averages {
    pub fn new(ues: usize, tti: Span, window: Span) -> Averages {
        let decay = tti.as_secs_f64() / window.as_secs_f64();
        Averages { weighted: vec![0.0; ues], decay, base: 0, weight: 1.0 }
    }

    /// Begins TTI number `tti`.
    pub fn begin(&mut self, tti: u64) {
        let mut exponent = self.decay * tti.saturating_sub(self.base) as f64;
        if exponent > HIGHEST_EXPONENT {
            let factor = libm::exp(-exponent);
            self.weighted.iter_mut().for_each(|weighted| *weighted *= factor);
            (self.base, exponent) = (tti, 0.0);
        }
        self.weight = libm::exp(exponent);
    }

    /// A value proportional to the throughput of `ue` plus one byte, so that a UE that was never served has a
    /// finite metric.
    #[inline]
    pub fn throughput(&self, ue: u32) -> f64 {
        self.weighted.get(ue as usize).copied().unwrap_or(0.0) + self.weight
    }

    /// Records that a new block of `bytes` was sent to `ue`.
    pub fn carried(&mut self, ue: u32, bytes: u64) {
        if let Some(weighted) = self.weighted.get_mut(ue as usize) {
            *weighted += (1.0 - libm::exp(-self.decay)) * bytes as f64 * self.weight;
        }
    }
}
