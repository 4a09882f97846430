//! `qdelay-dev bench dumbbell`.

use crate::common::{json, succeed};

#[test]
fn the_dumbbell_fills_its_bottleneck() {
    let report = json(&["bench", "dumbbell", "--duration", "5s", "--json"]);
    let forwarded = report["packets_forwarded"].as_u64().unwrap();
    // Full rate: 100 Mbit/s in packets of 1500 bytes is 8333 packets a second.
    assert!((33_000..=42_000).contains(&forwarded), "{forwarded}");
    let speed = report["packets_per_cpu_second"].as_f64().unwrap();
    assert!((speed * report["cpu_seconds"].as_f64().unwrap() / forwarded as f64 - 1.0).abs() < 0.01);
    assert_eq!(
        (&report["flows"], &report["qdisc"], &report["transport"]),
        (&20.into(), &"codel".into(), &"cubic".into())
    );
    assert!(report["jain"].as_f64().unwrap() > 0.5);
    if cfg!(target_os = "linux") {
        let most = report["max_rss_mb"].as_f64().unwrap();
        assert!((0.5..40.0).contains(&most), "{most}");
    }
}

#[test]
fn the_cell_is_busy() {
    let report = json(&["bench", "cell", "--ues", "10", "--duration", "3s", "--json"]);
    assert_eq!(
        (&report["ues"], &report["bearers"], &report["rbs_offered"]),
        (&10.into(), &40.into(), &300_000.into())
    );
    assert!(report["rbs_used"].as_u64().unwrap() > 200_000, "{report}");
    assert!(report["throughput_mbps"].as_f64().unwrap() > 10.0, "{report}");
    let speed = report["simulated_per_cpu_second"].as_f64().unwrap();
    assert!((speed * report["cpu_seconds"].as_f64().unwrap() / 3.0 - 1.0).abs() < 0.01);
    let text = succeed(&["bench", "cell", "--ues", "1", "--duration", "500ms", "--pacer", "vanilla"]);
    assert!(
        text.starts_with("1 UEs of 4 bearers for 0.5 s") && text.contains("simulated s per CPU-s"),
        "{text}"
    );
}

#[test]
fn runs_of_papers_are_judged() {
    let output = crate::common::command(&["bench", "papers", "--runs", "1", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let papers = report["papers"].as_array().unwrap();
    // Expected rate: 625 packets a second.
    let forwarded = papers[0]["packets_forwarded"].as_u64().unwrap();
    assert!((180_000..=187_500).contains(&forwarded), "{report}");
    // An unoptimized build may miss the target.
    let passed =
        |line: &serde_json::Value| line["cpu_s"].as_f64().unwrap() < line["target_s"].as_f64().unwrap();
    assert!(papers.iter().all(|line| line["pass"] == passed(line)), "{report}");
    assert_eq!(output.status.code(), Some(i32::from(!papers.iter().all(passed))));
}

#[test]
fn the_text_has_the_same_figures() {
    let text = succeed(&[
        "bench",
        "dumbbell",
        "--duration",
        "1s",
        "--flows",
        "2",
        "--qdisc",
        "bode",
        "--transport",
        "reno",
    ]);
    assert!(
        text.starts_with("2 flows of reno for 1 s through 100 Mbit/s with bode")
            && text.contains("packets per CPU-second")
    );
}

#[test]
fn the_dumbbell_knows_quic() {
    succeed(&["bench", "dumbbell", "--flows", "2", "--duration", "1s", "--transport", "quic"]);
}
