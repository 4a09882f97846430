//! Seeds of random cases: fixed ones, and new ones in each run.

use crate::effort;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Variable that replays one case.
const SEED: &str = "QDELAY_SEED";
/// Variable whose value `no` leaves out new seeds, so that every run is equal.
const FRESH: &str = "QDELAY_FRESH";
/// Number of new seeds per hundred fixed ones.
const FRESH_OF_HUNDRED: u64 = 5;

/// Runs a case for each seed: 0 to `fixed` exclusive, times `QDELAY_EFFORT`, then new ones, 5 for a hundred and at least one.
/// With `QDELAY_SEED` only that seed runs. The seed of a case that panics is printed.
///
/// # Panics
///
/// If a variable is no number, and if `case` panics.
pub fn for_each_seed(fixed: u64, mut case: impl FnMut(u64)) {
    let fixed = effort::scaled(fixed, effort::factor());
    let has_fresh = std::env::var(FRESH).as_deref() != Ok("no");
    for seed in seeds(fixed, number(SEED), has_fresh, || RandomState::new().build_hasher().finish()) {
        let _guard = FailedSeed(seed);
        case(seed);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a whole number")))
}

fn seeds(fixed: u64, only: Option<u64>, has_fresh: bool, mut new: impl FnMut() -> u64) -> Vec<u64> {
    if let Some(seed) = only {
        return vec![seed];
    }
    let count = (fixed.saturating_mul(FRESH_OF_HUNDRED) / 100).max(1) * u64::from(has_fresh);
    (0..fixed).chain((0..count).map(|_| new())).collect()
}

/// Guard that prints the seed of a case that panics.
struct FailedSeed(u64);

impl Drop for FailedSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{SEED}={} replays this case", self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_ones_then_fresh_ones_or_only_one() {
        let mut next = 1000;
        let mut new = || {
            next += 1;
            next
        };
        assert_eq!(seeds(3, None, true, &mut new), [0, 1, 2, 1001]);
        assert_eq!(seeds(3, None, false, &mut new), [0, 1, 2]);
        assert_eq!(seeds(3000, None, true, &mut new).len(), 3150);
        assert_eq!(seeds(3, Some(77), true, &mut new), [77]);
    }

    #[test]
    fn fresh_seeds_differ() {
        let draw = || RandomState::new().build_hasher().finish();
        assert_ne!(draw(), draw());
    }
}
