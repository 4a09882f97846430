//! The part of the page about the slices of a cell.

use super::short::{FIGURE_DIGITS, Short};
use qdelay_study::results::{QuantumFigures, SliceFigures};
use serde::Serialize;
use std::collections::BTreeMap;

type Figure = Short<FIGURE_DIGITS>;

/// A slice: rates, and where the resource blocks went that it was granted, as parts of these.
#[derive(Serialize)]
pub(super) struct SlicePart {
    share: Figure,
    throughput: Figure,
    used: Figure,
    wasted: Figure,
    unfit: Figure,
    /// Below zero where it borrowed more than it lent.
    lent: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantum: Option<QuantumPart>,
    /// With policy ratios: beyond its minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    borrowed: Option<Figure>,
    /// With policy ratios: dedicated, and idle beside a slice with data.
    #[serde(skip_serializing_if = "Option::is_none")]
    dedicated: Option<Figure>,
}

/// In resource blocks.
#[derive(Serialize)]
struct QuantumPart {
    min: Figure,
    p25: Figure,
    p50: Figure,
    p75: Figure,
    max: Figure,
}

/// The slices of a cell, by name.
pub(super) fn parts(slices: &BTreeMap<String, SliceFigures>) -> BTreeMap<&str, SlicePart> {
    slices.iter().map(|(name, slice)| (name.as_str(), part(slice))).collect()
}

fn part(slice: &SliceFigures) -> SlicePart {
    let of_granted = |rbs: f64| Short(rbs / slice.rbs_granted.max(1) as f64);
    let quantum = |quantum: QuantumFigures| QuantumPart {
        min: Short(quantum.min),
        p25: Short(quantum.p25),
        p50: Short(quantum.p50),
        p75: Short(quantum.p75),
        max: Short(quantum.max),
    };
    SlicePart {
        share: Short(slice.share),
        throughput: Short(slice.throughput_mbps),
        used: of_granted(slice.rbs_used as f64),
        wasted: of_granted(slice.rbs_wasted as f64),
        unfit: of_granted(slice.rbs_unfit as f64),
        lent: of_granted(slice.rbs_lent as f64),
        quantum: slice.quantum_rbs.map(quantum),
        borrowed: slice.rbs_borrowed.map(|rbs| of_granted(rbs as f64)),
        dedicated: slice.rbs_idle_dedicated.map(|rbs| of_granted(rbs as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_of_what_was_granted() {
        let slice = SliceFigures {
            share: 0.25,
            rbs_granted: 1000,
            rbs_used: 1100,
            rbs_wasted: 20,
            rbs_unfit: 30,
            rbs_lent: -150,
            throughput_mbps: 4.5,
            quantum_rbs: Some(QuantumFigures {
                min: -72.0,
                p25: -25.0,
                p50: -13.5,
                p75: -2.0,
                max: 7.0,
                mean: -14.0,
            }),
            ..SliceFigures::default()
        };
        let fixed = SliceFigures { rbs_granted: 0, quantum_rbs: None, ..slice.clone() };
        let ratios = SliceFigures { rbs_borrowed: Some(200), rbs_idle_dedicated: Some(50), ..slice.clone() };
        let slices = [("a", slice), ("b", fixed), ("c", ratios)];
        let slices = slices.into_iter().map(|(name, slice)| (name.to_string(), slice)).collect();
        let shown = serde_json::to_value(parts(&slices)).unwrap();
        let quantum = json!({ "min": -72, "p25": -25, "p50": -13.5, "p75": -2, "max": 7 });
        let expected = json!({
            "share": 0.25, "throughput": 4.5, "used": 1.1, "wasted": 0.02, "unfit": 0.03, "lent": -0.15, "quantum": quantum
        });
        assert_eq!(shown["a"], expected);
        assert_eq!((&shown["c"]["borrowed"], &shown["c"]["dedicated"]), (&json!(0.2), &json!(0.05)));
        assert_eq!((&shown["b"]["used"], shown["b"].get("quantum")), (&json!(1100), None));
    }
}
