//! `qdelay plot` from outside: where its files go, and its errors.

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
    // A place in results of somebody else may be a link to a file of the user's.
    fs::write(root.join("mine"), "mine").unwrap();
    symlink(root.join("mine"), root.join("results/plane.svg")).unwrap();
    succeed(&["plot", &at("results"), "--figure", "plane"]);
    assert_eq!(fs::read_to_string(root.join("mine")).unwrap(), "mine");
    assert!(root.join("results/plane.svg").symlink_metadata().unwrap().is_file());
    // Of several folders: in the current one.
    let status = command(&["plot", "results", "../plot/results"])
        .current_dir(&root)
        .args(["--figure", "box"])
        .output()
        .unwrap();
    assert_eq!(status.status.code(), Some(2), "two of one name");
}

#[test]
fn labels_with_equal_results_are_said_once() {
    let root = folder("plot-same");
    let text = STUDY.replace("\"taildrop\", \"bode\"", "\"taildrop\", \"codel\", \"fq_codel\"");
    fs::write(root.join("study.toml"), text).unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_string();
    let notes = [
        "codel and fq_codel are the same here: every figure is equal, and their curves lie on one another.",
        "With one flow, what a discipline does between flows does not show; several flows may tell them apart.",
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
    assert!(!several.contains("are the same here"), "{several}");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
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
        &["a.jpg: has no known ending; expected .svg, .pdf, .pgf or .png"],
    );
    plot(&["--figure", "cdf", "--out", &at("a.csv")], &["a.csv: is where the data would stand"]);
    plot(
        &["--figure", "cdf", "--out", &at("a.pdf"), "--format", "svg"],
        &["a.pdf: ends otherwise than --format svg says"],
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
