//! Jain's fairness index (Jain, Chiu, Hawe: DEC-TR-301, 1984).

/// Jain's index, (Σx)² / (n Σx²): 1 where all are equal, 1/n where one has everything. 1 for
/// no flows and for flows that all got nothing.
pub fn jain_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests {
    use super::jain_index;

    #[test]
    fn bounds() {
        assert_eq!(jain_index(&[]), 1.0);
        assert_eq!(jain_index(&[0.0, 0.0]), 1.0);
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), 0.25);
    }
}
