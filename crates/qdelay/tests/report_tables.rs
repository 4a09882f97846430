//! `qdelay report --table`, `--csv`, `--parquet`, `--flent`: figures of folders for readers and for programs.

use crate::common::{file, folder, json, refused, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const STUDY: &str = r#"
title = "Two disciplines"
[path]
trace = "synth-lte-stationary"
rtt = "40ms"
[[flow]]
name = "file"
[[flow]]
name = "call"
transport = "udp:100kbit"
[run]
duration = "4s"
warmup = "1s"
seeds = "1..3"
[matrix]
path.qdisc = ["taildrop", "codel"]
[[expect]]
claim = "CoDel drops"
measure = "drops_by_reason.codel"
low = 1
"#;

/// Study and its folder.
fn study(name: &str) -> (String, String, String) {
    let folder = folder(name);
    let scenario = file(&folder, "study.toml", STUDY);
    let out = folder.join("one").display().to_string();
    let arguments = ["run", &scenario, "--out", &out, "--no-report"];
    let printed = crate::common::run(&arguments);
    assert_eq!(printed.status.code(), Some(1), "the expectation has no figure for taildrop");
    (folder.display().to_string(), out, String::from_utf8(printed.stdout).unwrap())
}

#[test]
fn report_table_equals_the_table_of_the_run() {
    let (_, out, printed) = study("report-table");
    assert!(printed.contains(
        " miss: CoDel drops: nothing (case 0-taildrop-1 has no drops_by_reason.codel), expected at least 1"
    ), "{printed}");
    let again = succeed(&["report", &out, "--table"]);
    let of_run = printed.split("\nresults: ").next().unwrap();
    assert_eq!(again, of_run);
    assert!(again.contains("±") && again.contains("Differences from qdisc taildrop"), "{again}");
    assert!(!Path::new(&out).join("report.html").exists(), "no page was asked for");
    let summary = json(&["report", &out, "--json"]);
    let file: serde_json::Value =
        serde_json::from_slice(&fs::read(Path::new(&out).join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["summary"], file);
}

#[test]
fn differences_of_the_flows_of_one_entry() {
    let (_, out, printed) = study("report-differences");
    assert!(
        printed.contains("For one [[flow]] alone (call, file): qdelay report DIR --table --differences NAME"),
        "{printed}"
    );
    assert!(
        printed.contains("\nWith 3 seeds an interval reaches 4.3 standard errors to each side, with ten 2.3")
    );
    let table = succeed(&["report", &out, "--table", "--differences", "call"]);
    let (_, after) =
        table.split_once("\nDifferences from qdisc taildrop, of call, seed by seed, 3 pairs").unwrap();
    let row: Vec<&str> =
        after.lines().find(|line| line.starts_with("codel")).unwrap().split_whitespace().collect();
    // Datagrams alone have rate, delays and losses, but no download times.
    let head: Vec<&str> = after.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(head, ["qdisc", "rate", "mean", "p95", "p99", "lost"], "{after}");
    let summary = json(&["report", &out, "--json"])["summary"].clone();
    let cases = summary["cases"].as_array().unwrap();
    let delay = |case: &serde_json::Value| case["groups"]["call"]["queue_delay_ms"]["mean"].as_f64().unwrap();
    let (before, after): (f64, f64) =
        (cases[..3].iter().map(delay).sum(), cases[3..].iter().map(delay).sum());
    let printed: f64 = row[3].parse().unwrap();
    assert!((printed - (after - before) / 3.0).abs() < 0.0051, "{row:?}, {before}, {after}");
    refused(
        &["report", &out, "--table", "--differences", "cal"],
        &["--differences cal: no [[flow]] has this name; expected one of call, file"],
    );
    refused(&["report", &out, "--differences", "call"], &["--table"]);
}

#[test]
fn several_folders_are_one_table() {
    let (folder, out, _) = study("report-tables");
    let scenario = format!("{folder}/study.toml");
    let two = format!("{folder}/two");
    crate::common::run(&["run", &scenario, "--out", &two, "--no-report", "--duration", "5s"]);
    let table = succeed(&["report", &out, &two, "--table"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("one, two: 12 cases, rows are means of 3 seeds"), "{table}");
    assert!(lines.iter().any(|line| line.starts_with("two     taildrop ")), "{table}");
    assert!(table.contains("Differences from folder one, seed by seed, 3 pairs"), "{table}");
    assert!(table.contains("miss: two: CoDel drops: nothing (case 0-taildrop-1"), "{table}");
    // A folder without the other's axis, and with fewer seeds.
    let three =
        file(Path::new(&folder), "three.toml", STUDY.split("[matrix]").next().unwrap().replace("1..3", "1"));
    succeed(&["run", &three, "--no-report", "--out", &format!("{folder}/three")]);
    let table = succeed(&["report", &out, &format!("{folder}/three"), "--table"]);
    assert!(table.starts_with("one, three: 7 cases, rows are means of 1 to 3 seeds"), "{table}");
    assert!(!table.contains("Differences"), "{table}");
    refused(&["report", &out, &format!("{out}/../one"), "--table"], &["has the same name as"]);
}

/// Lines and fields of a table without quotes.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
    let names = lines.next().unwrap();
    lines
        .map(|fields| {
            assert_eq!(fields.len(), names.len());
            names.iter().cloned().zip(fields).collect()
        })
        .collect()
}

#[test]
fn tables_for_data_frames() {
    let (folder, out, _) = study("report-csv");
    let summary = json(&["report", &out, "--json"])["summary"].clone();
    let cases = rows(&succeed(&["report", &out, "--csv", "-"]));
    assert_eq!(cases.len(), 6);
    for (row, case) in cases.iter().zip(summary["cases"].as_array().unwrap()) {
        assert_eq!(row["case"], case["id"].as_str().unwrap());
        assert_eq!(
            (row["path.qdisc"].as_str(), row["seed"].as_str()),
            (case["labels"]["path.qdisc"].as_str().unwrap(), case["labels"]["seed"].as_str().unwrap())
        );
        for path in [
            "throughput_mbps",
            "queue_delay_ms.p99",
            "groups.call.loss_ratio",
            "nodes.link.forwarded_packets",
        ] {
            let figure = path.split('.').fold(case, |at, name| &at[name]).as_f64().unwrap();
            assert_eq!(row[path].parse::<f64>().unwrap(), figure, "{path}");
        }
    }
    assert_eq!(cases[0]["drops_by_reason.codel"], "", "taildrop has none");
    let groups = rows(&succeed(&["report", &out, "--csv", "-", "--rows", "groups"]));
    assert_eq!((groups.len(), groups[0]["group"].as_str()), (12, "call"));
    let flows = rows(&succeed(&["report", &out, "--csv", "-", "--rows", "flows"]));
    assert_eq!((flows.len(), flows[0]["transport"].as_str()), (12, "cubic"));
    let parquet = format!("{folder}/cases.parquet");
    let said = succeed(&["report", &out, "--parquet", &parquet]);
    assert!(said.starts_with("6 rows, ") && said.trim_end().ends_with("cases.parquet"), "{said}");
    let bytes = fs::read(&parquet).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    // Equal results make equal files, independent of the folder's name.
    let scenario = format!("{folder}/study.toml");
    let other = format!("{folder}/other");
    crate::common::run(&["run", &scenario, "--out", &other, "--no-report", "--jobs", "1"]);
    let again = format!("{folder}/again.parquet");
    succeed(&["report", &other, "--parquet", &again]);
    assert!(fs::read(&again).unwrap() == bytes);
    assert_eq!(succeed(&["report", &out, "--csv", "-"]), succeed(&["report", &other, "--csv", "-"]));
    refused(
        &["report", &out, "--rows", "flows"],
        &["--rows: is an option of table files; expected it with --csv or --parquet"],
    );
    refused(&["report", &out, "--parquet", &format!("{folder}/no/such/x.parquet")], &["cannot be written"]);
}

/// Contents of a gzip file with stored blocks.
fn stored(file: &[u8]) -> Vec<u8> {
    assert_eq!(file[..4], [0x1f, 0x8b, 8, 0]);
    let (mut at, mut text) = (10, Vec::new());
    loop {
        let length = usize::from(u16::from_le_bytes([file[at + 1], file[at + 2]]));
        text.extend(&file[at + 5..at + 5 + length]);
        let is_last = file[at] == 1;
        at += 5 + length;
        if is_last {
            assert_eq!(file.len(), at + 8);
            return text;
        }
    }
}

#[test]
fn files_of_flent() {
    let (folder, out, _) = study("report-flent");
    let into = format!("{folder}/flent");
    let said = succeed(&["report", &out, "--flent", &into]);
    assert!(said.starts_with("6 files of flent in "), "{said}");
    let text = stored(&fs::read(format!("{into}/3-codel-1.flent.gz")).unwrap());
    let data: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((data["version"].as_u64(), data["metadata"]["NAME"].as_str()), (Some(4), Some("tcp_ndown")));
    assert_eq!(data["metadata"]["TIME"], "1970-01-01T00:00:00.000000Z");
    assert_eq!(data["metadata"]["TEST_PARAMETERS"]["download_streams"], "1");
    let case: serde_json::Value =
        serde_json::from_slice(&fs::read(format!("{out}/cases/3-codel-1/summary.json")).unwrap()).unwrap();
    let series = &case["series"];
    let bins = data["x_values"].as_array().unwrap().len();
    assert_eq!(data["results"]["TCP download::1"], series["groups"]["file"]["throughput_mbps"]);
    let pings = data["results"]["Ping (ms) ICMP"].as_array().unwrap();
    assert_eq!((pings.len(), series["delay_mean_ms"].as_array().unwrap().len()), (bins, bins));
    for (ping, delay) in pings.iter().zip(series["delay_mean_ms"].as_array().unwrap()) {
        assert_eq!(ping.is_null(), delay.is_null());
        let is_near = |delay: f64| (ping.as_f64().unwrap() - 40.0 - delay).abs() < 1e-5;
        assert!(delay.as_f64().is_none_or(is_near), "{ping} {delay}");
    }
    let raw = data["raw_values"]["Ping (ms) ICMP"].as_array().unwrap();
    assert_eq!(raw.len(), pings.iter().filter(|ping| !ping.is_null()).count());
    assert_eq!(raw.last().unwrap()["t"], data["x_values"][bins - 1]);
    // A case without a series has no file.
    let scenario = file(Path::new(&folder), "off.toml", STUDY.replace("warmup", "series = \"off\"\nwarmup"));
    let off = format!("{folder}/off");
    crate::common::run(&["run", &scenario, "--out", &off, "--no-report"]);
    refused(&["report", &off, "--flent", &into], &["no case has time series; expected a run without series"]);
}

#[test]
fn equal_results_are_equal_pages() {
    let (folder, out, _) = study("report-equal");
    let other = format!("{folder}/another-name");
    crate::common::run(&["run", &format!("{folder}/study.toml"), "--out", &other]);
    succeed(&["report", &out]);
    let page = |folder: &str| fs::read(Path::new(folder).join("report.html")).unwrap();
    assert!(page(&out) == page(&other), "neither the folder's name nor a draw is in it");
}
