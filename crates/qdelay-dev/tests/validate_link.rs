//! `qdelay-dev validate link`: structure only, on a made-up trace. The distance of real packets from the simulator depends on the load of
//! the machine, and so does the verdict. Without root, iperf3 or namespaces each test is skipped.

use crate::common::{command, folder, needs_real_packets};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Trace of 6 Mbit/s: an opportunity every other millisecond, for a second.
fn traces(folder: &Path) {
    let mut text = String::new();
    for ms in (2..=1000).step_by(2) {
        let _ = writeln!(text, "{ms}");
    }
    std::fs::create_dir_all(folder.join("mahimahi")).unwrap();
    std::fs::write(folder.join("mahimahi/ATT-LTE-driving.down"), text).unwrap();
}

fn validate(folder: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let out = folder.join("runs");
    let mut arguments =
        vec!["validate", "link", "--traces", folder.to_str().unwrap(), "--out", out.to_str().unwrap()];
    arguments.extend(more);
    let output = command(&arguments).env_remove("QDELAY_TRACES").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test(Tools)]
fn a_cell_in_real_time() {
    needs_real_packets();
    let folder = folder("validate-link");
    traces(&folder);
    let only = ["--only", "att,cubic,bode", "--seconds", "3"];
    let (code, text, error) = validate(&folder, &[&only[..], &["--retries", "1", "--json"]].concat());
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{error}"));
    let cell = &report["cells"][0];
    assert_eq!(
        (&report["against"], report["cells"].as_array().unwrap().len()),
        (&Value::from("simulator"), 1)
    );
    assert_eq!(code == Some(0), report["reached"] == true, "{report}");
    assert_eq!(cell["audit"]["trustworthy"] == true, cell["not_judged"].is_null(), "{cell}");
    assert_eq!(report["counts"]["judged"], u64::from(cell["not_judged"].is_null()));
    assert!((1..=2).contains(&cell["runs"].as_u64().unwrap()), "{cell}");
    for who in ["real", "simulated", "simulated_low", "simulated_high"] {
        let throughput = cell[who]["throughput_mbps"].as_f64().unwrap();
        assert!(throughput > 1.0 && throughput < 6.1, "{who}: {cell}");
        assert!(cell[who]["delay_p99_ms"].as_f64().unwrap() > 0.0, "{who}: {cell}");
    }
    // The simulated flow begins when the real one did: here at most two opportunities later.
    let begun = |key: &str| cell[key].as_f64().unwrap();
    assert!((begun("begun_ms") - begun("simulated_begun_ms")).abs() < 5.0, "{cell}");

    // Trustworthy runs are not repeated; the others are, and their runs add up.
    let before = cell["runs"].as_u64().unwrap();
    let (_, text, _) = validate(&folder, &[&only[..], &["--retries", "0", "--json"]].concat());
    let after: Value = serde_json::from_str(&text).unwrap();
    let more = u64::from(!cell["not_judged"].is_null());
    assert_eq!(after["cells"][0]["runs"].as_u64().unwrap(), before + more);
}

#[test(Tools)]
fn beside_mahimahi_what_is_not_there_is_not_judged() {
    needs_real_packets();
    let folder = folder("validate-link-missing");
    traces(&folder);
    let (code, text, _) =
        validate(&folder, &["--only", "verizon,bbr,pie", "--only", "att,bbr,pie", "--seconds", "2"]);
    assert!(matches!(code, Some(0 | 1)), "{text}");
    assert!(text.contains("Verizon-LTE-short.down, bbr, pie: not judged: no trace"), "{text}");
    for words in [&["--mahimahi", "--only", "timessquare"][..], &["--only", "verizon"]] {
        let (code, _, error) = validate(&folder, words);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("none of the traces is available"), "{error}");
    }
}
