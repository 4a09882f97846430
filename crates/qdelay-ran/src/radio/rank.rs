//! Rank adaptation: the number of layers and the CQI that a UE reports for its SNR (RI and CQI, TS 38.214 clause 5.2.2).
//!
//! A carrier with rank adaptation sends a block over 1 to `N` layers. The UE has `N` receive antennas, as many as the carrier
//! has layers at most. The cell divides its power equally among `r` layers, each on an antenna of its own; the amplitudes
//! between all pairs of antennas are independent and complex normal (Rayleigh); the receiver is zero forcing. With `snr`, the
//! ratio of all power to noise at one receive antenna, a layer has the SNR `snr / r * G`, where `G` has a gamma distribution
//! of shape `N - r + 1` and scale 1: a zero forcing receiver spends `r - 1` antennas on the other layers, and has diversity of
//! the order of the rest (Winters, Salz and Gitlin, "The impact of antenna diversity on the capacity of wireless communication
//! systems", IEEE Transactions on Communications 42(2/3/4), 1994; the distribution in Gore, Heath and Paulraj, "On performance
//! of the zero forcing receiver in presence of transmit correlation", ISIT 2002). A block spans many frequencies, over which
//! `G` averages out. So each layer has the mean SNR
//!
//! `snr * (N - r + 1) / r`
//!
//! and a rung of rank `r` needs `r / (N - r + 1)` times the SNR that its MCS needs on one layer with one antenna.
//!
//! The UE reports, of all pairs of a rank and a CQI that it can receive, the one with the most bits: the rank times the
//! efficiency of the CQI. Of two equal pairs it reports the lower rank. CQI 1 goes with rank 1 only: no MCS is as robust, and
//! blocks of more layers at the lowest MCS would be lost nine times in ten. Below CQI 1 of rank 1 nothing is received. The
//! cell sends with the rank and, for the CQI, with the MCS of the mapping.
//!
//! # Differences from the reference
//! * The mean of the SNR over the frequencies overstates what a code that spans them receives. The mean of the logarithm of
//!   `G` is below the logarithm of its mean by 2.5 dB at shape 1, where all antennas carry layers, by 1.2 dB at shape 2, and
//!   by 0.3 dB at shape 8. High ranks are therefore chosen somewhat early.
//! * Antennas are not correlated. Correlation and a line of sight lower the rank.
//! * The cell does not precode by the channel (no gain from a codebook's PMI), has as many antennas as layers, and serves one
//!   UE on a resource block (no multi-user MIMO).
//! * All layers have the same SNR and MCS. From rank 5 on the standard has a CQI for each of the two codewords.
//! * The rank is reported with each CQI, in the same period and with the same delay.
//! * The reported pair follows from the CQI's efficiency alone: no UE implementation is modelled, nor RI restrictions.

use super::Quality;
use super::schemes::Schemes;
use crate::tables::Carrier;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Number of CQIs that a UE can receive.
const CQI_MAX: u8 = 15;

/// The SNR of a channel, as a ratio, at which each of `rank` layers has an SNR of 1. With a fixed number of layers the SNR of
/// the channel is that of a layer.
pub(super) fn snr_of_layers(carrier: &Carrier, rank: u8) -> f64 {
    match carrier.adapts_rank() {
        true => f64::from(rank) / f64::from(carrier.layers() - rank + 1),
        false => 1.0,
    }
}

/// The quality that a UE reports for each SNR. Cloning is cheap.
#[derive(Clone, Debug)]
pub(super) struct Reports(Arc<[Report]>);

/// A quality, and the lowest SNR (as a ratio) at which it is reported.
#[derive(Clone, Copy, Debug)]
struct Report {
    least_snr: f64,
    /// Bits of a resource element, over all layers.
    rate: f64,
    rank: u8,
    quality: Quality,
}

impl Reports {
    /// The reports of a UE that reaches `share` of Shannon's bound on each layer.
    pub fn new(carrier: &Carrier, share: f64, schemes: &Schemes) -> Reports {
        let mut pairs = Vec::new();
        for rank in carrier.ranks() {
            for cqi in 1..=CQI_MAX {
                let Some(mcs) = schemes[usize::from(cqi)] else { continue };
                let efficiency = carrier.cqi_efficiency(cqi);
                if carrier.adapts_rank() && rank > 1 && carrier.mcs_efficiency(mcs) > efficiency {
                    continue;
                }
                let layer_snr = libm::exp2(efficiency / share) - 1.0;
                pairs.push(Report {
                    least_snr: layer_snr * snr_of_layers(carrier, rank),
                    rate: f64::from(rank) * efficiency,
                    rank,
                    quality: Quality::Rung(carrier.rung(rank, mcs)),
                });
            }
        }
        pairs.sort_by(|a, b| a.least_snr.total_cmp(&b.least_snr));
        let mut best: Option<Report> = None;
        pairs.retain(|pair| {
            let is_better = best.is_none_or(|best| pair.is_better(&best));
            if is_better {
                best = Some(*pair);
            }
            is_better
        });
        Reports(pairs.into())
    }

    /// The quality that is reported at this SNR, a ratio.
    pub fn at(&self, snr: f64) -> Quality {
        let count = self.0.partition_point(|report| report.least_snr <= snr);
        count
            .checked_sub(1)
            .and_then(|last| self.0.get(last))
            .map_or(Quality::Outage, |report| report.quality)
    }
}

impl Report {
    /// Returns true if a UE that can receive both reports this one.
    fn is_better(&self, other: &Report) -> bool {
        match self.rate.total_cmp(&other.rate) {
            Ordering::Greater => true,
            Ordering::Equal => self.rank < other.rank,
            Ordering::Less => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schemes::schemes;
    use super::*;
    use crate::tables::{CqiToMcs, McsTable, Overhead};
    use qdelay_core::Random;

    /// TS 38.214 Tables 5.2.2.1-2 and -3 as printed: efficiency of CQI 1 to 15.
    const PRINTED: [(McsTable, [f64; 15]); 2] = [
        (
            McsTable::Qam64,
            [
                0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223,
                3.9023, 4.5234, 5.1152, 5.5547,
            ],
        ),
        (
            McsTable::Qam256,
            [
                0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152,
                5.5547, 6.2266, 6.9141, 7.4063,
            ],
        ),
    ];

    fn carrier(table: McsTable, layers: u8) -> Carrier {
        Carrier::nr(1, 51, table, layers, Overhead::default()).unwrap()
    }

    /// Rank and CQI with the most bits of all that are received at `snr_db`, by search; `None` in an outage.
    fn best(printed: &[f64; 15], antennas: u8, snr_db: f64) -> Option<(u8, u8)> {
        let mut best: Option<(u8, u8, i64)> = None;
        for rank in 1..=antennas {
            let mean_gain = f64::from(antennas - rank + 1) / f64::from(rank);
            let bound = 0.75 * (1.0 + 10_f64.powf(snr_db / 10.0) * mean_gain).log2();
            for (cqi, efficiency) in (1_u8..).zip(printed) {
                // Printed values are rounded, so equal rates are those within a rounding.
                let rate = (f64::from(rank) * efficiency * 1000.0).round() as i64;
                let is_received = *efficiency <= bound && (cqi > 1 || rank == 1);
                if is_received && best.is_none_or(|(.., most)| rate > most + 1) {
                    best = Some((rank, cqi, rate));
                }
            }
        }
        best.map(|(rank, cqi, _)| (rank, cqi))
    }

    #[test]
    fn reports_are_the_pairs_with_the_most_bits() {
        for (table, printed) in PRINTED {
            for layers in 1..=8 {
                let carrier = carrier(table, layers).adapt_rank();
                let reports = Reports::new(&carrier, 0.75, &schemes(&carrier, None).unwrap());
                let mut ranks = Vec::new();
                for step in 0..7282 {
                    let snr_db = -25.0 + f64::from(step) * 0.0103;
                    let expected = best(&printed, layers, snr_db);
                    // Printed efficiencies are rounded, so beside a threshold both sides are right.
                    let near =
                        best(&printed, layers, snr_db - 0.005) != best(&printed, layers, snr_db + 0.005);
                    let found = match reports.at(libm::exp10(snr_db / 10.0)) {
                        Quality::Rung(rung) => Some((carrier.rank_of(rung), carrier.mcs_of(rung))),
                        _ => None,
                    };
                    let expected =
                        expected.map(|(rank, cqi)| (rank, carrier.mcs(CqiToMcs::Efficiency, cqi).unwrap()));
                    assert!(near || found == expected, "{table:?} {layers} {snr_db}: {found:?} {expected:?}");
                    ranks.extend(found.map(|(rank, _)| rank));
                }
                assert_eq!(ranks.first(), Some(&1), "{table:?}");
                assert!((1..=layers).all(|rank| ranks.contains(&rank)), "{table:?} {layers}");
            }
        }
    }

    #[test]
    fn one_antenna_is_a_fixed_layer() {
        for (table, _) in PRINTED {
            let fixed = carrier(table, 1);
            let adapted = fixed.clone().adapt_rank();
            let reports = |carrier: &Carrier| Reports::new(carrier, 0.6, &schemes(carrier, None).unwrap());
            for step in 0..8000 {
                let snr = libm::exp10(f64::from(step - 3000) / 1000.0);
                assert_eq!(reports(&fixed).at(snr), reports(&adapted).at(snr), "{snr}");
            }
        }
    }

    /// A complex number as (real, imaginary).
    type Complex = (f64, f64);

    fn times(a: Complex, b: Complex) -> Complex {
        (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
    }
    fn less(a: Complex, b: Complex) -> Complex {
        (a.0 - b.0, a.1 - b.1)
    }
    fn over(a: Complex, b: Complex) -> Complex {
        let power = b.0 * b.0 + b.1 * b.1;
        let (real, imaginary) = times(a, (b.0, -b.1));
        (real / power, imaginary / power)
    }

    /// The first element of the inverse of a Hermitian matrix, by Gaussian elimination of `matrix x = (1, 0, ...)` from the
    /// last row up.
    fn first_of_inverse(mut matrix: Vec<Vec<Complex>>) -> f64 {
        for pivot in (1..matrix.len()).rev() {
            let below = matrix[pivot].clone();
            for row in matrix.iter_mut().take(pivot) {
                let factor = over(row[pivot], below[pivot]);
                for (value, part) in row.iter_mut().zip(&below) {
                    *value = less(*value, times(factor, *part));
                }
            }
        }
        over((1.0, 0.0), matrix[0][0]).0
    }

    /// SNR of a layer over that of the channel: one draw of the amplitudes, power over `rank` layers, zero forcing.
    fn drawn_gain(antennas: usize, rank: usize, random: &mut Random) -> f64 {
        let part = f64::sqrt(0.5);
        let mut amplitude = || (part * random.normal(), part * random.normal());
        let channel: Vec<Vec<Complex>> =
            (0..antennas).map(|_| (0..rank).map(|_| amplitude()).collect()).collect();
        let product = |a: usize, b: usize| {
            channel.iter().fold((0.0, 0.0), |sum: Complex, row| {
                let (real, imaginary) = times((row[a].0, -row[a].1), row[b]);
                (sum.0 + real, sum.1 + imaginary)
            })
        };
        let gram = (0..rank).map(|a| (0..rank).map(|b| product(a, b)).collect()).collect();
        1.0 / (rank as f64 * first_of_inverse(gram))
    }

    #[test]
    fn layers_have_the_mean_snr_of_zero_forcing() {
        let mut random = Random::derive(1, "zero forcing", "amplitudes");
        for antennas in [2, 4, 8] {
            let carrier = carrier(McsTable::Qam64, antennas).adapt_rank();
            for rank in 1..=antennas {
                let draws = 20_000;
                let drawn = |_| drawn_gain(antennas.into(), rank.into(), &mut random);
                let mean = (0..draws).map(drawn).sum::<f64>() / f64::from(draws);
                let ratio = mean * snr_of_layers(&carrier, rank);
                assert!((ratio - 1.0).abs() < 0.03, "{antennas} {rank}: {ratio}");
            }
        }
    }
}
