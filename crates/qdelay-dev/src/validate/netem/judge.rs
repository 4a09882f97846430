//! Bounds, fixed before the first look at the kernel's figures, and verdicts.
//!
//! The kernel's figure is its mean over the machine's seeds, and its half-width half of the 95% interval of that mean (Student's t). Our
//! figure is the mean over our seeds. It matches if it differs by at most
//!
//! | figure | bound |
//! | --- | --- |
//! | a share, the length of runs | the larger of 2% of the kernel's figure and the kernel's half-width |
//! | mean and quantiles of a delay, less the given delay; the time between a packet and its copy | 2% of the given jitter, and the kernel's half-width |
//! | correlation of the delays of neighbours | 0.02, and the kernel's half-width |
//!
//! The kernel's delays count from the median of the control cell, which has no jitter. The lateness of that cell is not added to a bound.

use super::cells::{Cell, Group};
use super::figures::{CORRELATION, Figures};
use crate::validate::verdict::{Measure, ReferenceCell};

/// Relative bound of shares and runs, and of delays as a part of the jitter.
const RELATIVE: f64 = 0.02;
/// Bound of a correlation.
const CORRELATION_BOUND: f64 = 0.02;
/// Quantile 0.975 of Student's t, by degrees of freedom from 1 on.
const STUDENT: [f64; 15] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
];

/// Judges a cell by the figures of each of the machine's seeds and of ours. `control_us` is the median lateness of the control cell, by the
/// machine's seed.
pub fn judge(cell: &Cell, kernel: &[Figures], ours: &[Figures], control_us: &[f64]) -> ReferenceCell {
    let measure = |(place, name): (usize, &&'static str)| {
        let column = |runs: &[Figures]| -> Vec<f64> {
            runs.iter().map(|figures| figures.get(place).copied().unwrap_or(f64::NAN)).collect()
        };
        let mut theirs = column(kernel);
        if is_delay(cell, name) {
            for (ms, us) in theirs.iter_mut().zip(control_us) {
                *ms -= us / 1000.0;
            }
        }
        Measure::around(name, &theirs, &column(ours), bound(cell, name, &theirs))
    };
    let measures = cell.group.measures().iter().enumerate().map(measure).collect();
    ReferenceCell::judge("netem", cell.netem.to_string(), measures)
}

/// Largest difference that matches.
fn bound(cell: &Cell, measure: &str, theirs: &[f64]) -> f64 {
    let half_width = half_width(theirs);
    match cell.group {
        Group::Jitter if measure == CORRELATION => CORRELATION_BOUND + half_width,
        Group::Jitter | Group::Apart if measure.ends_with(" ms") => RELATIVE * cell.jitter_ms + half_width,
        _ => (RELATIVE * mean(theirs).abs()).max(half_width),
    }
}

/// True for a delay that counts from the control cell.
fn is_delay(cell: &Cell, measure: &str) -> bool {
    cell.group == Group::Jitter && measure.ends_with(" ms")
}
/// Half of the 95% interval of the mean.
fn half_width(values: &[f64]) -> f64 {
    let Some(student) = STUDENT.get(values.len().wrapping_sub(2)) else { return f64::INFINITY };
    let mean = mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    student * (variance / values.len() as f64).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;

    fn cell(group: Group) -> &'static Cell {
        CELLS.iter().find(|cell| cell.group == group).unwrap()
    }

    #[test]
    fn bounds_are_those_that_were_fixed() {
        // Deviation 1, so the half-width is 4.303 / sqrt(3).
        let theirs = [99.0, 100.0, 101.0];
        let half = 4.303 / 3.0_f64.sqrt();
        let is = |group, measure: &str, expected: f64| {
            let found = bound(cell(group), measure, &theirs);
            assert!((found - expected).abs() < 1e-9, "{group:?} {measure}: {found} for {expected}");
        };
        is(Group::Loss, "share %", half);
        is(Group::Jitter, "p50 ms", 1.0 + half);
        is(Group::Jitter, "correlation", 0.02 + half);
        is(Group::Jitter, "overtaken %", half);
        is(Group::Apart, "apart mean ms", 1.0 + half);
        assert!((bound(cell(Group::Loss), "share %", &[100.0; 3]) - 2.0).abs() < 1e-12);
        assert!(half_width(&[1.0]).is_infinite());
    }

    #[test]
    fn delays_count_from_the_control() {
        let (kernel, ours) = ([vec![3.5], vec![3.5]], [vec![2.0]]);
        let with = |control_us: f64| {
            judge(cell(Group::Jitter), &kernel, &ours, &[control_us; 2]).measures[0].matches()
        };
        assert!(!with(0.0) && with(600.0));
    }
}
