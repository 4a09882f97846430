//! The kernel's netem in the laboratory beside its stored figures.

use crate::common::lab::{needs_lab, with_images};
use crate::common::{folder, json};
use serde_json::Value;
use std::path::Path;

/// One cell, which is rare enough that a wrong correlation shows.
const CELL: [&str; 4] = ["validate", "netem", "--only", "loss,10%,25%"];

/// The kernel's figure of a measure: the middle of its runs.
fn kernel(report: &Value, measure: &str) -> f64 {
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(1), "{report}");
    let measures = report["cells"][0]["measures"].as_array().expect("measures");
    let own = measures.iter().find(|own| own["measure"] == measure).expect("the measure");
    let [low, high] = ["reference_low", "reference_high"].map(|name| own[name].as_f64().expect("a number"));
    (low + high) / 2.0
}

/// One machine: its figures are near the stored ones of eight. Its run has some 7000 losses, so 8% are six standard errors.
#[test(Lab, waits)]
fn a_machine_measures_what_is_stored() {
    needs_lab();
    let out = folder("netem").display().to_string();
    let stored = json(&[&CELL[..], &["--json"]].concat());
    let measure = ["--json", "--measure", "--machines", "1", "--out", &out];
    let output = with_images(&[&CELL[..], &measure].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let measured: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(measured["against"].as_str().is_some_and(|against| against.starts_with("Linux ")), "{measured}");
    for measure in ["share %", "mean run"] {
        let [stored, measured] = [&stored, &measured].map(|report| kernel(report, measure));
        assert!((measured / stored - 1.0).abs() < 0.08, "{measure}: {measured} for {stored}");
    }
    let table = std::fs::read_to_string(Path::new(&out).join("netem.tsv")).unwrap();
    assert!(table.starts_with("# Linux ") && table.contains("\nloss 10% 25%\tshare %\t"), "{table}");
}
