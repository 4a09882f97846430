//! Confidence of the mean of a few figures: Student's t distribution, and Holm's correction for several tests.
//!
//! Source: Student, "The probable error of a mean" (1908); the probabilities in closed form for whole degrees of freedom are
//! equations 26.7.3 and 26.7.4 of Abramowitz and Stegun, "Handbook of Mathematical Functions"; Holm, "A simple sequentially
//! rejective multiple test procedure" (1979).

use std::f64::consts::FRAC_2_PI;

/// Probability that the true mean is within the interval.
const CONFIDENCE: f64 = 0.95;
/// Upper bound of the quantile, in standard errors: the largest, at one degree of freedom, is 12.706.
const WIDEST: f64 = 13.0;

/// Half the width of the 95% confidence interval of the mean. `figures` are treated as independent draws from one normal
/// distribution, so each run may occur only once. `None` for fewer than two figures.
pub fn half_width(figures: &[f64]) -> Option<f64> {
    let (_, error, degrees) = estimate(figures)?;
    Some(quantile(degrees) * error)
}

/// Probability of a mean at least as far from 0 as that of `figures` if the true mean is 0: the two-sided test that belongs to
/// the interval of [`half_width`]. `None` for fewer than two figures.
pub fn p_value(figures: &[f64]) -> Option<f64> {
    let (mean, error, degrees) = estimate(figures)?;
    Some(match (mean == 0.0, error == 0.0) {
        (true, _) => 1.0,
        (false, true) => 0.0,
        (false, false) => (1.0 - probability((mean / error).abs(), degrees)).clamp(0.0, 1.0),
    })
}

/// For each test, true if it is significant after Holm's correction: the probability of any false positive among all tests is at
/// most 5%.
pub fn beyond_chance(p_values: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut beyond = vec![false; p_values.len()];
    for (rank, test) in order.into_iter().enumerate() {
        // Holm's step-down procedure: the smallest of n probabilities is compared with 5% / n, the next one with 5% / (n - 1)...
        if p_values[test] * (p_values.len() - rank) as f64 > 1.0 - CONFIDENCE {
            break;
        }
        beyond[test] = true;
    }
    beyond
}

/// The mean, its standard error, and the degrees of freedom.
fn estimate(figures: &[f64]) -> Option<(f64, f64, usize)> {
    let degrees = figures.len().checked_sub(1).filter(|degrees| *degrees > 0)?;
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let squares: f64 = figures.iter().map(|figure| (figure - mean) * (figure - mean)).sum();
    Some((mean, (squares / degrees as f64 / count).sqrt(), degrees))
}

/// Half the width of the 95% interval of a mean, in standard errors: the two-sided quantile of Student's t distribution.
/// `degrees` of freedom are the number of figures less one, at least 1.
pub fn quantile(degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, WIDEST);
    // Each step of the bisection halves the interval; 54 steps reach the precision of a float.
    for _ in 0..54 {
        let middle = f64::midpoint(low, high);
        if probability(middle, degrees) < CONFIDENCE {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Probability that |t| is at most `t`.
fn probability(t: f64, degrees: usize) -> f64 {
    let freedom = degrees as f64;
    let cosine_squared = freedom / (freedom + t * t);
    let sine = t / (freedom + t * t).sqrt();
    // The sum of every other power of the cosine, up to the number of degrees less two.
    let series = |first: f64, from: usize| {
        let mut term = first;
        let mut sum = first;
        for power in (from..degrees).step_by(2) {
            term *= cosine_squared * (power as f64 - 1.0) / power as f64;
            sum += term;
        }
        sum
    };
    match (degrees, degrees % 2) {
        (_, 0) => sine * series(1.0, 2),
        (1, _) => FRAC_2_PI * t.atan(),
        _ => FRAC_2_PI * ((t / freedom.sqrt()).atan() + sine * series(cosine_squared.sqrt(), 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles from the tables of textbooks.
    #[test]
    fn quantiles_agree_with_textbook_tables() {
        for (degrees, wanted) in [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (4, 2.776_445),
            (5, 2.570_582),
            (9, 2.262_157),
            (19, 2.093_024),
            (30, 2.042_272),
            (120, 1.979_930),
        ] {
            let ours = quantile(degrees);
            assert!((ours - wanted).abs() < 1e-6, "{degrees}: {ours}, expected {wanted}");
        }
        // With many degrees of freedom the quantile approaches that of the normal distribution.
        assert!((quantile(9_999) - 1.960_201).abs() < 1e-5, "{}", quantile(9_999));
    }

    #[test]
    fn p_values_agree_with_textbook_tables() {
        // Figures with mean 1 and standard errors such that t is a quantile from the tables.
        for (t, degrees, wanted) in
            [(12.706_205, 1, 0.05), (4.302_653, 2, 0.05), (2.262_157, 9, 0.05), (3.249_836, 9, 0.01)]
        {
            let ours = 1.0 - probability(t, degrees);
            assert!((ours - wanted).abs() < 1e-6, "{t}, {degrees}: {ours}");
        }
        // 2, 1, 3: mean 2, standard error 1 / sqrt(3), t = 3.4641; by the closed form for two degrees p = 1 - t / sqrt(2 + t^2).
        let ours = p_value(&[2.0, 1.0, 3.0]).unwrap_or_default();
        assert!((ours - 0.074_180).abs() < 1e-6, "{ours}");
        assert_eq!(
            (p_value(&[0.0, 0.0]), p_value(&[1.0, 1.0]), p_value(&[1.0])),
            (Some(1.0), Some(0.0), None)
        );
    }

    /// The textbook example with 0.01, 0.04, 0.03, 0.005 at 5%: only the first and the last are significant.
    #[test]
    fn holm_correction_agrees_with_the_textbook_example() {
        assert_eq!(beyond_chance(&[0.01, 0.04, 0.03, 0.005]), [true, false, false, true]);
        assert_eq!(beyond_chance(&[0.04, 0.04]), [false, false]);
        assert_eq!(beyond_chance(&[0.04, 0.02]), [true, true]);
        assert!(beyond_chance(&[]).is_empty());
    }

    /// By hand: 1, 2, 3, 4 have mean 2.5 and sum of squares 5; the standard error sqrt(5 / 3 / 4) = 0.645497, times 3.182446.
    #[test]
    fn half_width_agrees_with_a_hand_computation() {
        let ours = half_width(&[1.0, 2.0, 3.0, 4.0]).unwrap_or_default();
        assert!((ours - 2.054_260).abs() < 1e-5, "{ours}");
        assert_eq!(half_width(&[3.0, 3.0]), Some(0.0));
        assert_eq!((half_width(&[3.0]), half_width(&[])), (None, None));
    }
}
