//! `qdelay compare`: contents of its output, which except for the cost is independent of the number of jobs.

use crate::common::{file, folder, json, refused, succeed};
use qdelay_testing::{Need, skip};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::Command;

const SHORT: &[&str] = &["compare", "--trace", "synth-lte-driving", "--duration", "3s", "--json"];

/// Output without the cost of a run, which differs each time.
fn without_cost(mut report: Value) -> Value {
    for case in report["cases"].as_array_mut().unwrap() {
        let case = case.as_object_mut().unwrap();
        for key in ["cpu_seconds", "wall_seconds"] {
            assert!(case.remove(key).unwrap().as_f64().unwrap() >= 0.0);
        }
    }
    report
}

#[test]
fn shape_of_the_json() {
    let report =
        json(&[SHORT, &["--probe", "--qdisc", "codel:ecn=on,bode", "--transport", "cubic:ecn=on"]].concat());
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2);
    let axes = serde_json::json!({
        "trace": "synth-lte-driving", "qdisc": "codel:ecn=on", "transport": "cubic:ecn=on", "seed": 1
    });
    assert_eq!(cases[0]["axes"], axes);
    for case in cases {
        for key in ["throughput_mbps", "utilization", "jain", "cpu_seconds", "wall_seconds"] {
            assert!(case[key].is_f64(), "{key}");
        }
        for delay in ["queue_delay_ms", "sojourn_ms", "probe_ms"] {
            let figures = ["p50", "p95", "p99", "p999", "max"].map(|key| case[delay][key].as_f64().unwrap());
            assert!(figures.is_sorted(), "{delay}: {figures:?}");
            let mean = case[delay]["mean"].as_f64().unwrap();
            assert!(mean > 0.0 && mean <= figures[4], "{delay}");
        }
        for (total, reasons) in [("drops", "drops_by_reason"), ("marks", "marks_by_reason")] {
            let sum: u64 = case[reasons].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(case[total].as_u64(), Some(sum));
        }
        assert_eq!(case["flows"].as_array().unwrap().len(), 1);
        assert!(case["flows"][0]["goodput_mbps"].as_f64().unwrap() > 0.1);
        let link = &case["nodes"]["link"];
        assert_eq!(link["forwarded_packets"], case["packets_forwarded"]);
        assert!(case["probe_sent"].as_u64().unwrap() > 200);
        assert!(case["utilization"].as_f64().unwrap() <= 1.0);
    }
    assert!(cases[0]["marks"].as_u64().unwrap() > 0 && cases[1]["drops"].as_u64().unwrap() > 0);
}

/// Packet trains stand in front of the queue: a call that leaves the link idle waits for no opportunity.
#[test]
fn a_trace_of_two_loads_is_replayed() {
    let folder = folder("two-loads");
    let heavy = file(&folder, "heavy", (1..=50).map(|n| format!("{}\n", n * 20)).collect::<String>());
    let light = file(&folder, "light", "0 5 0 0 0 0\n1000 5 0\n");
    let waited = |trace: &str| {
        let options = ["compare", "--qdisc", "taildrop", "--transport", "voip", "--duration", "5s", "--json"];
        let report = json(&[&options[..], &["--trace", trace]].concat());
        report["cases"][0]["queue_delay_ms"]["mean"].as_f64().unwrap()
    };
    let both = format!("{heavy}:light={light}");
    assert!(waited(&heavy) > 5.0 && waited(&both) == 0.0);
    refused(&["compare", "--trace", &format!("{heavy}:light={light}-not")], &["light-not"]);
}

#[test]
fn defaults_are_ten_cases_in_order() {
    let report = json(&[SHORT, &["--jobs", "2"]].concat());
    let typed = |key: &str| -> Vec<String> {
        report["cases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|case| case["axes"][key].as_str().unwrap().to_string())
            .collect()
    };
    let qdiscs = ["taildrop", "headdrop", "codel", "pie", "bode"];
    assert!(typed("qdisc").iter().eq(qdiscs.iter().flat_map(|name| [*name, *name]).collect::<Vec<_>>()));
    assert!(typed("transport").chunks(2).all(|pair| pair == ["cubic", "bbr"]));
    assert_eq!(report["cases"][0]["probe_ms"], Value::Null);
}

#[test]
fn any_number_of_jobs_gives_the_same() {
    let arguments =
        [SHORT, &["--flows", "3", "--seed", "1..2", "--probe", "--qdisc", "taildrop,pie,bode"]].concat();
    let one = json(&[&arguments[..], &["--jobs", "1"]].concat());
    let two = json(&[&arguments[..], &["--jobs", "2"]].concat());
    assert_eq!(one["cases"].as_array().unwrap().len(), 12);
    assert_eq!(without_cost(one), without_cost(two));
    let table = |jobs: &str| {
        succeed(&["compare", "--link", "10mbit", "--duration", "2s", "--seed", "1..3", "--jobs", jobs])
    };
    assert_eq!(table("1"), table("2"));
}

#[test]
fn seeds_matter_and_links_are_crossed() {
    let report = json(&[
        "compare",
        "--link",
        "10mbit:overhead=14",
        "--link",
        "synth:subway:seed=3",
        "--duration",
        "3s",
        "--qdisc",
        "pie",
        "--transport",
        "cubic",
        "--seed",
        "1,7",
        "--flows",
        "2",
        "--json",
    ]);
    let cases = report["cases"].as_array().unwrap();
    let axes: Vec<(&str, u64)> = cases
        .iter()
        .map(|case| (case["axes"]["trace"].as_str().unwrap(), case["axes"]["seed"].as_u64().unwrap()))
        .collect();
    let (first, second) = ("10mbit:overhead=14", "synth:subway:seed=3");
    assert_eq!(axes, [(first, 1), (first, 7), (second, 1), (second, 7)]);
    assert_ne!(cases[0]["queue_delay_ms"], cases[1]["queue_delay_ms"]);
    // A full link of 10 Mbit/s carries 9.908 Mbit/s, since 1500 of 1514 bytes are IP's.
    let rate = cases[0]["throughput_mbps"].as_f64().unwrap();
    assert!((9.0..9.92).contains(&rate), "{rate}");
}

#[test]
fn the_limit_is_a_default_and_no_more() {
    let most = |qdisc: &str, limit: &str| -> f64 {
        let report = json(&[
            "compare",
            "--link",
            "10mbit",
            "--duration",
            "5s",
            "--qdisc",
            qdisc,
            "--transport",
            "cubic:hystart=off",
            "--limit",
            limit,
            "--json",
        ]);
        report["cases"][0]["queue_delay_ms"]["max"].as_f64().unwrap()
    };
    // Transmission of a full packet takes 1.2 ms.
    assert!((10.0..13.0).contains(&most("taildrop", "10")));
    assert!((58.0..62.0).contains(&most("taildrop:limit=50", "10")));
}

#[test]
fn options_reach_the_run() {
    let base = [
        "compare",
        "--link",
        "line:8mbit",
        "--qdisc",
        "taildrop",
        "--transport",
        "udp:2mbit:size=1000b",
        "--json",
    ];
    let report = json(
        &[&base[..], &["--duration", "4s", "--warmup", "1s", "--rtt", "40ms", "--uplink", "none"]].concat(),
    );
    let case = &report["cases"][0];
    // A packet of 1000 bytes takes 1 ms on the line, and there is never a queue.
    assert_eq!(case["queue_delay_ms"]["max"], 1.0);
    assert!((case["throughput_mbps"].as_f64().unwrap() - 2.0).abs() < 0.01);
    assert!((case["utilization"].as_f64().unwrap() - 0.25).abs() < 0.01);
    // Counts cover the whole run: 250 packets a second.
    assert!(case["packets_forwarded"].as_u64().unwrap().abs_diff(1000) <= 2);
    assert!(case["nodes"].get("uplink").is_none());
    let report = json(&[&base[..], &["--duration", "2s", "--min-packet-bytes", "1001"]].concat());
    assert_eq!(report["cases"][0]["queue_delay_ms"]["count"], 0);
}

#[test]
fn formats_of_traces_are_told_apart() {
    let folder = folder("compare-formats");
    let ms: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let table = "dl,other\n12.032,x\n12.032,y\n";
    let traces = [
        (file(&folder, "a.down", ms), None),
        (file(&folder, "b.txt", "0 12.032\n1 12.032\n"), None),
        (file(&folder, "c.csv", table), Some("csv:column=dl")),
        (format!("{}:format=[csv:column=dl]", file(&folder, "d.csv", table)), None),
    ];
    for (name, format) in &traces {
        let mut arguments =
            vec!["compare", "--trace", name, "--duration", "5s", "--qdisc", "taildrop", "--transport"];
        arguments.extend(["cubic", "--json"]);
        arguments.extend(format.iter().flat_map(|format| ["--trace-format", format]));
        let report = json(&arguments);
        assert_eq!(report["cases"][0]["axes"]["trace"], name.as_str());
        let rate = report["cases"][0]["throughput_mbps"].as_f64().unwrap();
        assert!((11.0..12.04).contains(&rate), "{name}: {rate}");
    }
    refused(
        &["compare", "--trace", &traces[2].0],
        &["c.csv: line 1: ", "header of a table", "FILE:format=[csv:column=NAME]"],
    );
    refused(
        &["compare", "--trace", &traces[3].0, "--trace-format", "csv:other"],
        &["the name has a format and --trace-format gives another; expected one of the two"],
    );
}

/// A name found in a folder of traces is that file, also for the uplink.
#[test]
fn traces_of_a_folder() {
    let folder = folder("compare-traces");
    let path = file(&folder, "far.down", (1..=1000).map(|ms| format!("{ms}\n")).collect::<String>());
    let dir = folder.to_str().unwrap().to_string();
    let throughput = |arguments: &[&str]| {
        let base: &[&str] =
            &["compare", "--qdisc", "bode", "--transport", "cubic", "--duration", "2s", "--json"];
        let report = json(&[base, arguments].concat());
        report["cases"][0]["throughput_mbps"].as_f64().unwrap()
    };
    let by_path = throughput(&["--trace", &path]);
    assert_eq!(throughput(&["--trace", "far.down", "--traces", &dir]), by_path);
    assert!(throughput(&["--link", "100mbit", "--uplink", "far.down", "--traces", &dir]) > by_path);
}

#[test]
fn once_ends_the_trace() {
    let folder = folder("compare-once");
    let name = file(&folder, "second.down", (1..=1000).map(|ms| format!("{ms}\n")).collect::<String>());
    let forwarded = |more: &[&str]| {
        let base = [
            "compare",
            "--trace",
            &name,
            "--duration",
            "3s",
            "--qdisc",
            "taildrop",
            "--transport",
            "bbr",
            "--json",
        ];
        json(&[&base[..], more].concat())["cases"][0]["packets_forwarded"].as_u64().unwrap()
    };
    assert!(forwarded(&["--no-repeat"]) <= 1000 && forwarded(&[]) > 2000);
}

#[test]
fn the_table_names_the_settings_of_the_run() {
    let text = succeed(&[
        "compare",
        "--trace",
        "synth-subway",
        "--duration",
        "2s",
        "--qdisc",
        "bode:target=20ms",
        "--probe",
    ]);
    for part in [
        "2 cases of one flow for 2s",
        "\nsynth-subway\n",
        "bode:target=20ms  cubic ",
        "Mbit/s",
        "mean",
        "probe",
    ] {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

#[test]
fn alone_it_says_what_to_try_first() {
    assert!(succeed(&[]).contains("qdelay compare --trace synth-lte-driving"));
    for command in [&["compare"][..], &["list"], &["trace"], &["trace", "synth"]] {
        let help = succeed(&[command, &["--help"]].concat());
        assert!(help.contains("Usage: qdelay"), "{command:?}");
    }
    for command in [&["compare"][..], &["list"], &["trace", "info"], &["trace", "convert"]] {
        assert!(succeed(&[command, &["--help"]].concat()).contains("Examples:\n"), "{command:?}");
    }
}

/// A single flow that starts at the beginning draws no random number: three seeds are one observation.
#[test]
fn seeds_that_change_nothing_are_one_run() {
    let alone = ["compare", "--link", "10mbit", "--qdisc", "taildrop,codel", "--transport", "cubic"];
    let three = [&alone[..], &["--duration", "3s", "--seed", "1..3", "--starts", "fixed"]].concat();
    let text = succeed(&three);
    assert!(text.contains("6 cases, 2 distinct runs: the same came of seeds 1, 2, 3.\n"), "{text}");
    assert!(text.contains("--jitter"), "{text}");
    let report = json(&[&three[..], &["--json"]].concat());
    let same: Vec<Option<u64>> =
        report["cases"].as_array().unwrap().iter().map(|case| case["same_run_as_seed"].as_u64()).collect();
    assert_eq!(same, [None, Some(1), Some(1), None, Some(1), Some(1)]);
    assert_eq!(report["distinct_runs"], 2);
    let rate = &report["differences"][0]["measures"]["throughput_mbps"];
    assert_eq!(
        (&rate["half_width"], &rate["significant"]),
        (&Value::Null, &json!(false)),
        "one pair is no evidence"
    );

    let drawn = [&three[..], &["--jitter", "1ms"]].concat();
    assert!(!succeed(&drawn).contains("distinct"), "each seed has its own jitter");
    let report = json(&[&drawn[..], &["--json"]].concat());
    assert_eq!(report["distinct_runs"], 6);
}

/// Several seeds: a row a case with its interval, differences seed by seed, and the start of each seed.
#[test]
fn several_seeds_have_intervals_and_paired_differences() {
    let four = [
        "compare",
        "--trace",
        "synth-subway",
        "--qdisc",
        "taildrop,codel",
        "--transport",
        "cubic",
        "--duration",
        "5s",
        "--seed",
        "1..4",
    ];
    let text = succeed(&four);
    let rows = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    // The note appears in the table of cases and in that of differences.
    assert_eq!((rows("taildrop "), rows("codel ")), (1, 2), "{text}");
    assert!(
        text.contains("means of 4 seeds")
            && text.contains(" ±")
            && text.contains("4 pairs (places on the traces"),
        "{text}"
    );
    let report = json(&[&four[..], &["--json"]].concat());
    let [taildrop, codel] = report["points"].as_array().unwrap().as_slice() else { panic!("{report}") };
    let cases = report["cases"].as_array().unwrap();
    let rates: Vec<f64> = cases.iter().map(|case| case["throughput_mbps"].as_f64().unwrap()).collect();
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / 4.0;
    for (point, rates) in [(taildrop, &rates[..4]), (codel, &rates[4..])] {
        let interval = &point["figures"]["throughput_mbps"];
        assert!((interval["mean"].as_f64().unwrap() - mean(rates)).abs() < 1e-5, "{interval}");
        assert!(interval["half_width"].as_f64().unwrap() > 0.0);
        assert_eq!((&point["seeds"], &point["distinct_runs"]), (&json!(4), &json!(4)));
    }
    let [difference] = report["differences"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(
        (&difference["baseline"], &difference["labels"]["path.qdisc"]),
        (&json!("taildrop"), &json!("codel"))
    );
    let of_rate = difference["measures"]["throughput_mbps"]["mean"].as_f64().unwrap();
    assert!((of_rate - (mean(&rates[4..]) - mean(&rates[..4]))).abs() < 1e-5, "{difference}");
    let one = succeed(&four[..9]);
    assert!(!one.contains('±') && !one.contains("Differences"), "{one}");
}

/// If the machine grants no further thread, cases run on the existing ones, and nothing panics.
#[test]
fn thread_limit_panic() {
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -u 1 && exec \"$@\"", "bash", env!("CARGO_BIN_EXE_qdelay")]);
    shell.args(["compare", "--link", "5mbit", "--duration", "1s", "--jobs", "8", "--json"]).current_dir("/");
    if rustix::process::geteuid().is_root() {
        // Root has no limit of threads; no other process has this user number.
        shell.uid(65_533);
    }
    let Ok(output) = shell.output() else { skip(Need::Tools, "no bash") };
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("Permission denied") {
        skip(Need::Tools, "other users may not run the command where it lies");
    }
    assert_eq!((output.status.code(), complaint.as_ref()), (Some(0), ""));
    let alone = json(&["compare", "--link", "5mbit", "--duration", "1s", "--jobs", "1", "--json"]);
    let limited = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(without_cost(limited), without_cost(alone));
}
