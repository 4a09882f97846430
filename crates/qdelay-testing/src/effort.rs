//! Effort of random tests: one factor for seeds, cases of properties, and seconds of fuzz targets.

use std::time::Duration;

/// Variable with the factor (1): 0.1 is a tenth of the usual effort, 40 is forty times as much.
pub const EFFORT: &str = "QDELAY_EFFORT";

/// Variable with proptest's default number of cases.
pub const PROPTEST_CASES: &str = "PROPTEST_CASES";

/// Default number of cases of proptest.
const PROPTEST_DEFAULT: u32 = 256;

/// Parses the factor.
///
/// # Errors
/// A line with the expected form.
pub fn parse(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| (1e-3..=1e6).contains(factor));
    factor.ok_or_else(|| format!("{EFFORT}={text}: expected a factor from 0.001 to 1000000"))
}

/// Factor of the environment.
///
/// # Panics
/// If the variable is no factor.
pub fn factor() -> f64 {
    let text = std::env::var(EFFORT).ok();
    text.map_or(1.0, |text| parse(&text).unwrap_or_else(|complaint| panic!("{complaint}")))
}

/// Cases of a property test that usually tries this many; at least one.
pub fn cases(usual: u32) -> u32 {
    scaled(u64::from(usual), factor()).try_into().unwrap_or(u32::MAX)
}

/// Value of [`PROPTEST_CASES`] for tests with proptest's default.
pub(crate) fn proptest_default(factor: f64) -> String {
    scaled(PROPTEST_DEFAULT.into(), factor).to_string()
}

/// Smallest count by which a test proves that it has seen enough, where it usually sees more than `usual`: scaled down with less effort,
/// never
/// scaled up.
pub fn least<T: TryFrom<u64>>(usual: u64) -> T {
    let least = scaled(usual, factor().min(1.0));
    T::try_from(least).unwrap_or_else(|_| panic!("{least} is too large for the count"))
}

/// Duration of a fuzz target that usually takes this many seconds.
pub fn duration(usual_seconds: f64) -> Duration {
    Duration::from_secs_f64(usual_seconds * factor())
}

/// Scales a number by the factor; at least one.
pub(crate) fn scaled(usual: u64, factor: f64) -> u64 {
    ((usual as f64 * factor).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_scales() {
        assert_eq!((scaled(100_000, 0.1), scaled(4, 0.1), scaled(6, 2.5)), (10_000, 1, 15));
        assert_eq!(proptest_default(0.5), "128");
        assert_eq!(parse("0.25"), Ok(0.25));
        for wrong in ["", "x", "0", "-1", "nan", "1e9"] {
            assert!(parse(wrong).unwrap_err().starts_with(&format!("QDELAY_EFFORT={wrong}: expected")));
        }
    }
}
