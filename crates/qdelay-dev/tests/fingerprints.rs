//! Digests of the figures compared with references (`qdelay-dev validate`), as in `crates/qdelay/tests/fingerprints.rs` for the command.

use crate::common;
use qdelay_testing::fingerprints::{Fingerprints, with_former_names};
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Figures of a cell that are stored as numbers.
const CLEAR: &[&str] = &["ours", "verdict"];
/// Figures of a measure that are computed, not stated by the reference. Digests keep the names `ours...`, which are now `value...` in
/// the output.
const COMPUTED: [&str; 3] = ["ours", "ours_low", "ours_high"];

fn fingerprints(name: &str) -> Fingerprints {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let file = Path::new(&folder).join("tests/fingerprints").join(name);
    Fingerprints::new(file, "make fingerprints", CLEAR)
}

/// Folder with every figure as a number.
fn clear() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures")
}

/// Adds each measure of each cell of a reference.
fn add_cells(prints: &mut Fingerprints, arguments: &[&str], traces: Option<&Path>) {
    let program = std::env::var_os("QDELAY_COMMAND").unwrap_or(common::PROGRAM.into());
    let mut command = std::process::Command::new(program);
    command.args(["validate", "--json"]).args(arguments).env_remove("QDELAY_TRACES");
    if let Some(traces) = traces {
        command.env("QDELAY_TRACES", traces);
    }
    let output = command.output().expect("the command runs");
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let figure = |value: &Value, name: &str| (name.to_string(), value[name].to_string().replace('"', ""));
    for cell in report["cells"].as_array().expect("cells") {
        for measure in cell["measures"].as_array().expect("measures") {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_string();
            let name =
                format!("{} {}: {}", arguments.join(" "), text(&cell["cell"]), text(&measure["measure"]));
            let measure = &with_former_names(measure);
            let mut figures: Vec<_> = COMPUTED.iter().map(|name| figure(measure, name)).collect();
            figures.push(figure(cell, "verdict"));
            prints.case(&name, &figures);
        }
    }
}

/// References that need neither root nor recorded traces.
#[test]
fn figures_beside_references_are_as_before() {
    let mut prints = fingerprints("references.tsv");
    for arguments in [&["kernel"][..], &["kernel", "--variant", "rfc"], &["rates"], &["fq"], &["ns3"]] {
        add_cells(&mut prints, arguments, None);
    }
    prints.check(&clear());
}

#[test]
fn figures_beside_references_on_recorded_traces_are_as_before() {
    let Some(traces) = std::env::var_os("QDELAY_TRACES").map(PathBuf::from) else {
        skip(Need::Traces, "QDELAY_TRACES names no folder");
    };
    let mut prints = fingerprints("references-recorded.tsv");
    add_cells(&mut prints, &["mahimahi"], Some(&traces));
    prints.check(&clear());
}
