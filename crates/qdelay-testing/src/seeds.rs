//! Seeds of random cases: the same in every run, and some that no run has had.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// The variable that replays one case.
const SEED: &str = "QDELAY_SEED";
/// The variable that says how many new seeds there are for a hundred fixed ones.
const FRESH: &str = "QDELAY_FRESH";
/// Unless it says so.
const FRESH_OF_HUNDRED: u64 = 5;

/// Runs a case for each seed: 0 to `fixed` exclusive, then fresh ones, 5 for a hundred or as many as `QDELAY_FRESH` says, and at
/// least one unless it says 0. With `QDELAY_SEED` only that one. Where a case panics, its seed is printed.
///
/// # Panics
///
/// Where a variable is no whole number, and as `case` does.
pub fn for_each_seed(fixed: u64, mut case: impl FnMut(u64)) {
    for seed in seeds(fixed, number(SEED), number(FRESH), || RandomState::new().build_hasher().finish()) {
        let _told = Told(seed);
        case(seed);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a whole number")))
}

fn seeds(fixed: u64, only: Option<u64>, fresh: Option<u64>, mut new: impl FnMut() -> u64) -> Vec<u64> {
    if let Some(seed) = only {
        return vec![seed];
    }
    let of_hundred = fresh.unwrap_or(FRESH_OF_HUNDRED);
    let count = (fixed.saturating_mul(of_hundred) / 100).max(u64::from(of_hundred > 0));
    (0..fixed).chain((0..count).map(|_| new())).collect()
}

/// Says which case it was, if it ends in a panic.
struct Told(u64);

impl Drop for Told {
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
        assert_eq!(seeds(3, None, None, &mut new), [0, 1, 2, 1001]);
        assert_eq!(seeds(2, None, Some(150), &mut new), [0, 1, 1002, 1003, 1004]);
        assert_eq!(seeds(2, None, Some(0), &mut new), [0, 1]);
        assert_eq!(seeds(3000, None, None, &mut new).len(), 3150);
        assert_eq!(seeds(3, Some(77), Some(9), &mut new), [77]);
    }

    #[test]
    fn fresh_seeds_differ() {
        let draw = || RandomState::new().build_hasher().finish();
        assert_ne!(draw(), draw());
    }
}
