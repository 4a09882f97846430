//! The signal-to-noise ratio (SNR) at which each rung is received with one block in ten lost.
//!
//! The threshold is that of the attenuated Shannon bound by which a fading channel chooses its CQI (TR 36.942
//! Annex A): `share * log2(1 + SNR)` is the spectral efficiency of the MCS. With rank adaptation it is the SNR of the channel at
//! which the layers of the rung have that SNR ([`rank`](super::rank)). A channel without an SNR, such as `mcs:20` or a drive
//! test, has the threshold of its MCS as SNR.

use super::rank::snr_of_layers;
use crate::tables::{Carrier, Rung};

/// Number of rungs of the longest table: 29 MCS on 1 to 8 layers.
const COUNT: usize = 8 * 29;

/// Default share of Shannon's bound, for channels that name none.
pub(super) const SHARE: f64 = 0.75;

/// Thresholds in dB, for every rung of a carrier.
#[derive(Clone, Debug)]
pub(super) struct Thresholds {
    db: [f64; COUNT],
    row_max: u8,
    /// Rungs of a rank.
    of_rank: u8,
}

/// The rungs of a rank with the lowest and with the highest MCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub lowest: Rung,
    pub highest: Rung,
}

impl Thresholds {
    pub fn new(carrier: &Carrier, share: f64) -> Thresholds {
        let db = core::array::from_fn(|row| {
            let rung = Rung::of_row(row as u8);
            let layer_snr = libm::exp2(carrier.mcs_efficiency(carrier.mcs_of(rung)) / share) - 1.0;
            10.0 * libm::log10(layer_snr * snr_of_layers(carrier, carrier.rank_of(rung)))
        });
        Thresholds { db, row_max: (carrier.rungs() - 1) as u8, of_rank: carrier.mcs_max() + 1 }
    }

    /// The threshold of `rung`, dB.
    pub fn db(&self, rung: Rung) -> f64 {
        self.db[usize::from(rung.row().min(self.row_max))]
    }

    /// The ends of the rank of `rung`.
    pub fn ends(&self, rung: Rung) -> Ends {
        let row = rung.row().min(self.row_max);
        let lowest = row - row % self.of_rank;
        Ends { lowest: Rung::of_row(lowest), highest: Rung::of_row(lowest + self.of_rank - 1) }
    }

    /// The highest MCS on the layers of `rung` whose threshold is not above `snr_db`; the lowest if all are.
    pub fn highest(&self, rung: Rung, snr_db: f64) -> Rung {
        let Ends { lowest, highest } = self.ends(rung);
        let mut rows = (lowest.row()..=highest.row()).rev().map(Rung::of_row);
        rows.find(|&rung| self.db(rung) <= snr_db).unwrap_or(lowest)
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
        let highest = |snr_db| carrier.mcs_of(thresholds.highest(Rung::of_mcs(3), snr_db));
        for mcs in 0..=28 {
            let at = thresholds.db(Rung::of_mcs(mcs));
            // Tables of 64QAM decrease slightly where 16QAM ends: MCS 17 has the lower threshold of the two.
            let (here, below) = match mcs {
                16 => (17, 17),
                17 => (17, 15),
                _ => (mcs, mcs.max(1) - 1),
            };
            assert_eq!((highest(at), highest(at - 0.001)), (here, below));
        }
        assert_eq!((highest(-50.0), highest(50.0)), (0, 28));
        let nr = Carrier::nr(1, 51, McsTable::Qam256, 1, Overhead::default()).unwrap();
        assert_eq!(nr.mcs_of(Thresholds::new(&nr, SHARE).highest(Rung::of_mcs(0), 99.0)), 27);
    }

    /// With N antennas, rank r needs r / (N - r + 1) times the SNR of one layer with one antenna.
    #[test]
    fn thresholds_of_a_rank_and_its_ends() {
        let nr = |layers| Carrier::nr(1, 51, McsTable::Qam256, layers, Overhead::default()).unwrap();
        let single = Thresholds::new(&nr(1), SHARE);
        for layers in 1..=8 {
            let carrier = nr(layers).adapt_rank();
            let thresholds = Thresholds::new(&carrier, SHARE);
            for rank in 1..=layers {
                let factor_db = 10.0 * (f64::from(rank) / f64::from(layers - rank + 1)).log10();
                for mcs in 0..=27 {
                    let rung = carrier.rung(rank, mcs);
                    assert_eq!((carrier.rank_of(rung), carrier.mcs_of(rung)), (rank, mcs));
                    let expected = single.db(Rung::of_mcs(mcs)) + factor_db;
                    assert!((thresholds.db(rung) - expected).abs() < 1e-9);
                    let ends = Ends { lowest: carrier.rung(rank, 0), highest: carrier.rung(rank, 27) };
                    assert_eq!(thresholds.ends(rung), ends);
                    assert_eq!(thresholds.highest(rung, -99.0), ends.lowest);
                    assert_eq!(thresholds.highest(rung, 99.0), ends.highest);
                }
            }
        }
        // A fixed number of layers counts the SNR per layer.
        assert_eq!(Thresholds::new(&nr(4), SHARE).db, single.db);
    }
}
