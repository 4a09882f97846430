//! `qdelay-dev bench link`: structure only, since speed and lateness depend on the machine.

use crate::common::{command, needs_real_packets, refused};
use serde_json::Value;

#[test(Tools)]
fn punctual_reports_every_load_and_mode() {
    needs_real_packets();
    let output = command(&["bench", "link", "--punctual", "--seconds", "5", "--json"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6, "{report}");
    assert_eq!(output.status.code(), Some(i32::from(report["reached"] == false)));
    for run in runs {
        assert!(run["releases"].as_u64().unwrap() > 1000, "{run}");
        let late = |of: &str| run["lateness_us"][of].as_f64().unwrap();
        assert!(
            late("p50") <= late("p99") && late("p99") <= late("p999") && late("p999") <= late("max") * 1.01,
            "{run}"
        );
        assert_eq!(run["trustworthy"], run["reasons"].as_array().unwrap().is_empty());
    }
    refused(&["bench", "link", "--punctual", "--link", "infinite"], &["--link", "no one rate"]);
}
