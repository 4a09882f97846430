//! Spans of time from the milliseconds in bins; `assets/js/viewers.js` of the report has the same for its page.

/// Spans in seconds of the milliseconds in each bin. A bin that is not full has them at its end where they go on in the next bin, else at its
/// beginning.
pub fn spans(milliseconds: &[f64], bin_s: f64) -> Vec<(f64, f64)> {
    let has_any = |at: usize| milliseconds.get(at).is_some_and(|ms| *ms > 0.0);
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for (at, ms) in milliseconds.iter().enumerate().filter(|(_, ms)| **ms > 0.0) {
        let length = (ms / 1e3).min(bin_s);
        let begins = has_any(at + 1) && !at.checked_sub(1).is_some_and(has_any);
        let from = at as f64 * bin_s + if begins { bin_s - length } else { 0.0 };
        match spans.last_mut() {
            Some((_, to)) if from - *to < 1e-6 * bin_s => *to = from + length,
            _ => spans.push((from, from + length)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_that_follow_each_other_are_one_span() {
        assert_eq!(spans(&[0.0, 400.0, 1000.0, 250.0, 0.0], 1.0), [(1.6, 3.25)]);
        assert_eq!(spans(&[200.0, 0.0, 300.0], 1.0), [(0.0, 0.2), (2.0, 2.3)]);
        assert!(spans(&[0.0, 0.0], 1.0).is_empty() && spans(&[], 1.0).is_empty());
    }
}
