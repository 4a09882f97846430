//! Percentiles by the nearest-rank method.

/// Percentile of `sorted` (ascending) by nearest rank: always one of the values, the lowest for 0. `percent`: 0 to 100. The default value if
/// `sorted` is empty.
pub(crate) fn nearest_rank<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    debug_assert!(percent <= 100, "percentile {percent}");
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let twenty: Vec<u32> = (1..=20).collect();
        assert_eq!(
            [0, 5, 6, 50, 95, 96, 100].map(|percent| nearest_rank(&twenty, percent)),
            [1, 1, 2, 10, 19, 20, 20]
        );
        assert_eq!([0, 50, 100].map(|percent| nearest_rank(&[7.5], percent)), [7.5; 3]);
        assert_eq!(nearest_rank::<f64>(&[], 50), 0.0);
    }
}
