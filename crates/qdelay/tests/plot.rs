//! `qdelay plot` as a program: paths of its files, and errors.

use crate::common::{command, folder, refused, succeed};
use std::fs;
use std::os::unix::fs::symlink;

const STUDY: &str = r#"
title = "Two queues"
[path]
link = "10mbit"
[[flow]]
transport = "cubic"
[run]
duration = "2s"
[matrix]
path.qdisc = ["taildrop", "bode"]
"#;

#[test]
fn a_figure_and_its_data_stand_side_by_side() {
    let root = folder("plot");
    fs::write(root.join("study.toml"), STUDY).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_string();
    succeed(&["run", &at("study.toml"), "--out", &at("results"), "--no-report"]);
    let printed = succeed(&["plot", &at("results"), "--figure", "cdf"]);
    assert_eq!(printed, format!("{0}/cdf.svg: 2 lines\n{0}/cdf.csv: the data\n", at("results")));
    assert!(
        fs::read_to_string(at("results/cdf.csv")).unwrap().starts_with("path.qdisc,runs,percent,delay_ms,")
    );
    let pdf = at("delay.pdf");
    let bars = ["plot", &at("results"), "--figure", "bars", "--measure", "p95", "--out", &pdf];
    succeed(&bars);
    let first = fs::read(&pdf).unwrap();
    assert!(first.starts_with(b"%PDF-") && root.join("delay.csv").is_file());
    succeed(&bars);
    assert_eq!(fs::read(&pdf).unwrap(), first, "the same again takes its place");
    // A file name in foreign results may be a link to a file of the user.
    fs::write(root.join("mine"), "mine").unwrap();
    symlink(root.join("mine"), root.join("results/plane.svg")).unwrap();
    succeed(&["plot", &at("results"), "--figure", "plane"]);
    assert_eq!(fs::read_to_string(root.join("mine")).unwrap(), "mine");
    assert!(root.join("results/plane.svg").symlink_metadata().unwrap().is_file());
    // Several folders: the figure is written to the current one.
    let status = command(&["plot", "results", "../plot/results"])
        .current_dir(&root)
        .args(["--figure", "box"])
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(2), "two of one name");
}

const CONTROLS: &str = r#"
[path]
link = "10mbit"
rtt = "40ms"
qdisc = "taildrop:limit=60"
[[flow]]
name = "cubic"
count = 2
[[flow]]
name = "bbr"
transport = "bbr"
[[flow]]
name = "call"
transport = "voip"
[run]
duration = "4s"
series = "50ms"
"#;

/// A line for each flow, also of an entry with several flows; values are states at the end of a bin.
#[test]
fn windows_are_drawn_by_flow() {
    let root = folder("plot-cwnd");
    fs::write(root.join("controls.toml"), CONTROLS).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_string();
    // A blank, which has to be quoted for the shell.
    let out = at("their results");
    let printed = succeed(&["run", &at("controls.toml"), "--connections", "--no-report", "--out", &out]);
    let named = printed.lines().find_map(|line| line.strip_prefix("windows: qdelay ")).expect(&printed);
    assert_eq!(named, format!("plot '{out}' --figure time --measure cwnd --out cwnd.pdf"));
    let script = format!("cd '{}' && '{}' {named}", root.display(), env!("CARGO_BIN_EXE_qdelay"));
    assert!(std::process::Command::new("sh").args(["-c", &script]).status().unwrap().success());
    assert!(fs::read(root.join("cwnd.pdf")).unwrap().starts_with(b"%PDF"));
    fs::rename(&out, at("results")).unwrap();
    let results = at("results");
    let plot = |measure: &str, more: &[&str]| {
        let printed =
            succeed(&[&["plot", &results, "--figure", "time", "--measure", measure], more].concat());
        (printed, fs::read_to_string(at("results/time.csv")).unwrap())
    };
    let (printed, csv) = plot("cwnd", &[]);
    assert!(printed.contains("time.svg: 3 lines\n"), "{printed}");
    assert!(csv.starts_with("flows,runs,time_s,cwnd,half_of_95_interval\n"), "{csv}");
    let of = |csv: &str, flow: &str| -> Vec<(f64, f64)> {
        let rows = csv.lines().filter(|row| row.starts_with(&format!("{flow},")));
        let number = |row: &str, at: usize| row.split(',').nth(at).unwrap().parse().unwrap();
        rows.map(|row| (number(row, 2), number(row, 3))).collect()
    };
    let first = of(&csv, "cubic-1");
    // Ten segments of 1448 bytes are there before anything is acknowledged, 40 ms after the first.
    assert_eq!(first[0], (0.05, 14.48), "{first:?}");
    assert_eq!((first.len(), first.last().unwrap().0), (80, 4.0));
    assert_ne!(of(&csv, "cubic-2"), first);
    let (printed, csv) = plot("pacing", &[]);
    assert!(printed.contains("1 lines; 2 without this measure are left out"), "{printed}");
    assert!(of(&csv, "cubic-1").is_empty() && of(&csv, "bbr").len() > 70);
    let (printed, csv) = plot("srtt", &["--flows", "cubic-2,bbr"]);
    assert!(printed.contains("2 lines") && of(&csv, "cubic-1").is_empty(), "{printed}");
    assert!(of(&csv, "bbr").iter().all(|(_, ms)| (40.0..40.0 + 80.0).contains(ms)), "{csv}");
    assert!(plot("rtt", &["--flows", "cubic"]).0.contains("2 lines"));
    let time = ["plot", &results, "--figure", "time", "--measure", "cwnd"];
    refused(
        &[&time[..], &["--flows", "call"]].concat(),
        &["--flows: no connection 'call'; expected one of cubic-1, cubic-2, bbr, or an entry of [[flow]]"],
    );
    let printed = succeed(&["run", &at("controls.toml"), "--out", &at("without"), "--no-report"]);
    assert!(!printed.contains("qdelay plot"), "{printed}");
    refused(
        &["plot", &at("without"), "--figure", "time", "--measure", "cwnd"],
        &[
            "--measure: these cases have no connections over time",
            "qdelay run --connections",
            "connections=True",
        ],
    );
}

#[test]
fn labels_with_equal_results_are_noted_once() {
    let root = folder("plot-same");
    let text = STUDY.replace("\"taildrop\", \"bode\"", "\"taildrop\", \"codel\", \"fq_codel\"");
    fs::write(root.join("study.toml"), text).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_string();
    let notes = [
        "codel and fq_codel have equal results: every figure is equal, and their curves coincide.",
        "With one flow, the sharing between flows has no effect; with several flows the results may differ.",
    ];
    let run = succeed(&["run", &at("study.toml"), "--out", &at("results")]);
    let plot = succeed(&["plot", &at("results"), "--figure", "cdf"]);
    let compare =
        succeed(&["compare", "--link", "10mbit", "--qdisc", "taildrop,codel,fq_codel", "--duration", "2s"]);
    for printed in [&run, &plot, &compare] {
        assert!(notes.iter().all(|note| printed.matches(note).count() == 1), "{printed}");
    }
    assert!(fs::read_to_string(at("results/report.html")).unwrap().contains(&notes.join(" ")));
    let several = succeed(&[
        "compare",
        "--link",
        "10mbit",
        "--qdisc",
        "codel,fq_codel",
        "--duration",
        "2s",
        "--flows",
        "2",
    ]);
    assert!(!several.contains("have equal results"), "{several}");
}

#[test]
fn impossible_options_are_refused_in_one_line() {
    let root = folder("plot-refused");
    fs::write(root.join("study.toml"), STUDY).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_string();
    let results = at("results");
    succeed(&["run", &at("study.toml"), "--out", &results, "--no-report"]);
    let plot = |more: &[&str], parts: &[&str]| refused(&[&["plot", &results], more].concat(), parts);
    plot(&[], &["--figure", "missing"]);
    plot(&["--figure", "pie"], &["--figure: 'pie': not known; expected one of cdf, plane, time, bars, box"]);
    plot(
        &["--figure", "cdf", "--format", "jpg"],
        &["--format: 'jpg': not known; expected one of svg, pdf, pgf, png"],
    );
    plot(
        &["--figure", "cdf", "--size", "big"],
        &["--size: 'big': no size; expected WIDTHxHEIGHT", "3.5x2.2in"],
    );
    plot(
        &["--figure", "bars", "--over", "path.road"],
        &["--over: no axis 'path.road'; expected one of path.qdisc"],
    );
    plot(&["--figure", "bars", "--over", "seed"], &["--over: means are over the seeds anyway"]);
    plot(&["--figure", "cdf", "--size", "99x99in"], &["--size: '99x99in': out of range; expected 1 to 40"]);
    plot(&["--figure", "cdf", "--size", "1x1in"], &["--size: 1.0 x 1.0 in leaves", "between the axes"]);
    plot(
        &["--figure", "cdf", "--out", &at("a.jpg")],
        &["a.jpg: has no known extension; expected .svg, .pdf, .pgf or .png"],
    );
    plot(&["--figure", "cdf", "--out", &at("a.csv")], &["a.csv: is the name of the data file"]);
    plot(
        &["--figure", "cdf", "--out", &at("a.pdf"), "--format", "svg"],
        &["a.pdf: has another extension than --format svg"],
    );
    plot(
        &["--figure", "cdf", "--select", "path.qdisc=red"],
        &["no label 'red' on it; expected one of taildrop, bode"],
    );
    plot(
        &["--figure", "bars", "--measure", "nothing"],
        &["--measure: 'nothing' is no figure of these cases", "p95", "utilization"],
    );
    plot(&["--figure", "cdf", "--out", &at("no/such/a.pdf")], &["a.pdf: cannot be written"]);
    plot(&["--figure", "cdf", "--format", "pdf", "--out", "/dev/null"], &["/dev/null: is no regular file"]);
    refused(&["plot", &at("nowhere"), "--figure", "cdf"], &["nowhere: no such folder"]);
}
