//! The signal-to-noise ratio (SNR) at which each MCS is received with one block in ten lost.
//!
//! The threshold is that of the attenuated Shannon bound by which a fading channel chooses its CQI (TR 36.942
//! Annex A): `share * log2(1 + SNR)` is the spectral efficiency of the MCS. A channel without an SNR, such as
//! `mcs:20` or a drive test, has the threshold of its MCS as SNR.

use crate::tables::Carrier;

/// Number of MCS of the longest table.
const COUNT: usize = 29;

/// Default share of Shannon's bound, for channels that name none.
pub(super) const SHARE: f64 = 0.75;

/// Thresholds in dB, for every MCS of a carrier.
#[derive(Clone, Debug)]
pub(super) struct Thresholds {
    db: [f64; COUNT],
    mcs_max: u8,
}

impl Thresholds {
    pub fn new(carrier: &Carrier, share: f64) -> Thresholds {
        let db = core::array::from_fn(|mcs| {
            10.0 * libm::log10(libm::exp2(carrier.mcs_efficiency(mcs as u8) / share) - 1.0)
        });
        Thresholds { db, mcs_max: carrier.mcs_max() }
    }

    /// The threshold of `mcs`, dB.
    pub fn db(&self, mcs: u8) -> f64 {
        self.db[usize::from(mcs.min(self.mcs_max))]
    }

    /// The highest MCS whose threshold is not above `snr_db`; 0 if all are.
    pub fn highest(&self, snr_db: f64) -> u8 {
        (0..=self.mcs_max).rev().find(|&mcs| self.db(mcs) <= snr_db).unwrap_or(0)
    }

    /// The highest MCS.
    pub fn mcs_max(&self) -> u8 {
        self.mcs_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{McsTable, Overhead};

    #[test]
    fn the_highest_mcs_at_an_snr() {
        let carrier = Carrier::lte(25).unwrap();
        let thresholds = Thresholds::new(&carrier, SHARE);
        assert_eq!(thresholds.mcs_max(), 28);
        for mcs in 0..=28 {
            let at = thresholds.db(mcs);
            // Tables of 64QAM decrease slightly where 16QAM ends: MCS 17 has the lower threshold of the two.
            let (here, below) = match mcs {
                16 => (17, 17),
                17 => (17, 15),
                _ => (mcs, mcs.max(1) - 1),
            };
            assert_eq!((thresholds.highest(at), thresholds.highest(at - 0.001)), (here, below));
        }
        assert_eq!((thresholds.highest(-50.0), thresholds.highest(50.0)), (0, 28));
        let nr = Carrier::nr(1, 51, McsTable::Qam256, 1, Overhead::default()).unwrap();
        assert_eq!(Thresholds::new(&nr, SHARE).highest(99.0), 27);
    }
}
