//! `qdelay-dev validate cell`: structure only, since results with real packets depend on the load of the machine.

use crate::common::{command, folder, needs_real_packets, refused};
use serde_json::Value;

#[test(Tools)]
fn validation_of_cells() {
    needs_real_packets();
    let folder = folder("cell-validate");
    let out = folder.join("runs");
    let validate = |more: &[&str]| {
        let fixed = ["validate", "cell", "--seconds", "7", "--retries", "0", "--out", out.to_str().unwrap()];
        let output = command(&[&fixed[..], more].concat()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let only = ["--only", "2,usp@drql", "--only", "2,usp@5g"];
    let (code, text, error) = validate(&[&only[..], &["--jobs", "2", "--json"]].concat());
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}{error}"));
    let cases = report["cases"].as_array().unwrap();
    assert_eq!((cases.len(), &report["against"]), (2, &Value::from("cell")));
    assert_eq!(code == Some(0), report["matches"] == 2, "{report}");
    for case in cases {
        let judged = case["verdict"] != "not_judged";
        assert_eq!(case["audit"]["trustworthy"] == true, judged, "{case}");
        assert!(case["real"]["game_mean_ms"].as_f64().unwrap() > 0.0, "{case}");
        assert!(case["real"]["utilization"].as_f64().unwrap() > 0.5, "{case}");
        assert!(case["simulated"]["game_mean_ms"].as_f64().unwrap() > 0.0, "{case}");
    }
    let asked = cases[0]["asked"].as_array().unwrap();
    assert_eq!((asked[0].as_f64(), asked[1].as_f64()), (Some(0.975), Some(1.625)));

    // Trustworthy runs are not repeated.
    let (_, text, _) = validate(&[&only[..], &["--json"]].concat());
    let again: Value = serde_json::from_str(&text).unwrap();
    for (case, before) in again["cases"].as_array().unwrap().iter().zip(cases) {
        let more = u64::from(before["audit"]["trustworthy"] != true);
        assert_eq!(case["runs"].as_u64().unwrap(), before["runs"].as_u64().unwrap() + more);
    }
    let (code, _, error) = validate(&["--only", "sfq"]);
    assert!(code == Some(2) && error.contains("--only"), "{error}");
    refused(&["validate", "kernel", "--retries", "1"], &["--retries"]);
}
