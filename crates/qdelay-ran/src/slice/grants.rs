//! Grant of each slice in a TTI: its share in whole RBs.
//!
//! Shares of RBs are seldom whole. Tenants have agreed on shares that are rounded down, and the remaining RBs
//! of the TTI are not assigned ([`Rounding::Down`], 5G QoS thesis, section 4.5.1). A scheduler that makes a
//! slice of each of a hundred UEs would then grant nothing at all: it instead accumulates the fractions owed
//! to each of them ([`Rounding::Carried`]), and grants every whole group of the TTI. Largest remainders go
//! first, and remainders are carried into the next TTI.

use super::Share;
use alloc::vec;
use alloc::vec::Vec;

/// The rounding of shares to whole RBs in a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// Round down; the remaining RBs are not assigned.
    #[default]
    Down,
    /// All whole groups of the TTI are granted, in the proportion of the shares; fractions owed to a slice are carried over.
    Carried,
}

/// The grants of a TTI.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    pub rounding: Rounding,
    /// Grant of each slice.
    rbs: Vec<u32>,
    /// Fractions owed to each slice; one RB equals the sum of all shares.
    owed: Vec<i64>,
    /// The slices, by descending amount owed.
    order: Vec<u32>,
}

impl Grants {
    pub fn new(slices: usize) -> Grants {
        Grants { rounding: Rounding::Down, rbs: vec![0; slices], owed: vec![0; slices], order: Vec::new() }
    }
    pub fn all(&self) -> &[u32] {
        &self.rbs
    }
    pub fn total(&self) -> u32 {
        self.rbs.iter().sum()
    }

    /// Computes the grants of slices with these shares out of `rbs` RBs, which are assigned in groups of `rbg_rbs`.
    pub fn set(&mut self, shares: &[Share], rbs: u32, rbg_rbs: u32) {
        if self.rounding == Rounding::Down {
            for (grant, share) in self.rbs.iter_mut().zip(shares) {
                *grant = share.rounded_down(rbs);
            }
            return;
        }
        let whole = rbs - rbs % rbg_rbs.max(1);
        let all: i64 = shares.iter().map(|share| i64::from(share.millionths())).sum::<i64>().max(1);
        let mut left = whole;
        for ((grant, owed), share) in self.rbs.iter_mut().zip(&mut self.owed).zip(shares) {
            let due = i64::from(whole) * i64::from(share.millionths());
            // The quotient is at most the number of RBs of the TTI.
            *grant = (due / all) as u32;
            *owed += due % all;
            left -= *grant;
        }
        self.order.clear();
        self.order.extend(0..shares.len() as u32);
        let owed = &mut self.owed;
        self.order.sort_unstable_by_key(|&slice| (-owed[slice as usize], slice));
        debug_assert!((left as usize) < shares.len().max(1), "rounding leaves less than an RB a slice");
        // The number of remaining RBs is below the number of slices.
        for &slice in self.order.iter().take(left as usize) {
            self.rbs[slice as usize] += 1;
            owed[slice as usize] -= all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(millionths: &[u32]) -> Vec<Share> {
        millionths.iter().map(|&share| Share::from_millionths(share).unwrap()).collect()
    }

    #[test]
    fn agreed_shares_are_rounded_down() {
        let mut grants = Grants::new(2);
        for _ in 0..3 {
            grants.set(&shares(&[250_000, 750_000]), 25, 2);
            assert_eq!((grants.all(), grants.total()), (&[6, 18][..], 24));
        }
    }

    #[test]
    fn a_hundred_equal_shares_take_turns() {
        let mut grants = Grants { rounding: Rounding::Carried, ..Grants::new(100) };
        let shares = shares(&[10_000; 100]);
        let mut sum = vec![0; 100];
        for tti in 1..=100 {
            grants.set(&shares, 25, 2);
            assert_eq!(grants.total(), 24);
            sum.iter_mut().zip(grants.all()).for_each(|(sum, grant)| *sum += grant);
            assert!(sum.iter().all(|&sum| (24 * tti / 100..=24 * tti / 100 + 1).contains(&sum)), "TTI {tti}");
        }
        assert_eq!(sum, [24; 100]);
    }

    proptest! {
        #[test]
        fn all_groups_are_granted_in_proportion(
            weights in prop::collection::vec(1_u32..20_000, 1..40), rbs in prop::collection::vec(0_u32..120, 1..60),
        ) {
            let (shares, all) = (shares(&weights), u64::from(weights.iter().sum::<u32>()));
            let mut grants = Grants { rounding: Rounding::Carried, ..Grants::new(weights.len()) };
            let (mut sums, mut total) = (vec![0_u64; weights.len()], 0);
            for rbs in rbs {
                grants.set(&shares, rbs, 4);
                total += u64::from(rbs / 4 * 4);
                prop_assert_eq!(grants.total(), rbs / 4 * 4);
                for ((sum, grant), weight) in sums.iter_mut().zip(grants.all()).zip(&weights) {
                    *sum += u64::from(*grant);
                    let due = (total * u64::from(*weight)) as f64 / all as f64;
                    prop_assert!((*sum as f64 - due).abs() < 2.0, "{} of {}", sum, due);
                }
            }
        }
    }
}
