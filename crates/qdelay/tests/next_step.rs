//! Last line of a finished command: on a terminal the next command, elsewhere nothing more than before.

use crate::common::{command, folder, succeed};
use crate::terminal_support::terminal;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

/// Standard output of a command that succeeds with a terminal there.
fn on_terminal(arguments: &[&str]) -> String {
    let (mut ours, theirs) = terminal(40, 200);
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(theirs).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The terminal ends with an error when its last writer has closed it.
    drop(command);
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = ours.read(&mut buffer) {
        text.extend_from_slice(&buffer[..length]);
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

/// Checks the last line on a terminal, and that a pipe gets none.
fn ends_with_next(arguments: &[&str], next: &str) {
    let text = on_terminal(arguments);
    assert_eq!(text.lines().last(), Some(format!("next: {next}").as_str()), "{arguments:?}: {text}");
    assert_eq!(text.matches("next: ").count(), 1, "{arguments:?}: {text}");
    let piped = succeed(arguments);
    assert!(!piped.contains("next: "), "{arguments:?}: {piped}");
}

/// Checks that a terminal gets no line among data for programs.
fn ends_with_data(arguments: &[&str]) {
    let text = on_terminal(arguments);
    assert!(!text.contains("next: "), "{arguments:?}: {text}");
}

const COMPARE: &str =
    "compare --link 5mbit --qdisc codel --transport reno --duration 1s --warmup 0s --jobs 1";

#[test]
fn compare_names_more_seeds_and_then_a_study() {
    let words: Vec<&str> = COMPARE.split(' ').collect();
    ends_with_next(&words, "the same command with --seed 1..10, for intervals over seeds");
    let seeds = [&words[..], &["--seed", "1,2"]].concat();
    ends_with_next(&seeds, "qdelay run demo/first, a study that keeps its results and writes a report");
    ends_with_data(&[&words[..], &["--json"]].concat());
}

/// Results of a second of one case, in a folder whose name has a blank.
fn results(name: &str) -> String {
    let folder = folder(name);
    let out = folder.join("my results").to_str().unwrap().to_string();
    let scenario = crate::common::file(
        &folder,
        "one.toml",
        "[path]\nlink = \"5mbit\"\n[[flow]]\nname = \"a\"\n[run]\nduration = \"1s\"\nwarmup = \"0s\"\n",
    );
    succeed(&["run", &scenario, "--out", &out, "--no-report"]);
    out
}

#[test]
fn run_names_a_figure_or_the_report() {
    let out = results("next-run");
    let scenario = Path::new(&out).join("../one.toml");
    let run = ["run", scenario.to_str().unwrap(), "--out", &out];
    ends_with_next(&[&run[..], &["--no-report"]].concat(), &format!("qdelay report '{out}'"));
    ends_with_next(&run, &format!("qdelay plot '{out}' --figure cdf --out cdf.pdf"));
    ends_with_data(&[&run[..], &["--json"]].concat());
}

#[test]
fn report_names_a_figure_or_the_page() {
    let out = results("next-report");
    let plot = format!("qdelay plot '{out}' --figure cdf --out cdf.pdf");
    ends_with_next(&["report", &out], &plot);
    ends_with_next(&["report", &out, "--table"], &format!("qdelay report '{out}'"));
    let csv = format!("{out}/cases.csv");
    ends_with_next(&["report", &out, "--csv", &csv], &plot);
    ends_with_data(&["report", &out, "--csv", "-"]);
    ends_with_data(&["report", &out, "--json"]);
}

#[test]
fn plot_names_another_figure() {
    let out = results("next-plot");
    let next = |figure: &str| format!("qdelay plot '{out}' --figure {figure} --out {figure}.pdf");
    ends_with_next(&["plot", &out, "--figure", "cdf"], &next("plane"));
    ends_with_next(&["plot", &out, "--figure", "plane"], &next("cdf"));
}

#[test]
fn trace_names_the_use_of_a_trace() {
    let folder = folder("next-trace");
    let made = folder.join("made.down");
    let made = made.to_str().unwrap();
    let list = succeed(&["trace", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let first = list["traces"][0]["name"].as_str().unwrap();
    ends_with_next(&["trace", "list"], &format!("qdelay compare --trace {first}"));
    ends_with_data(&["trace", "list", "--json"]);
    ends_with_next(
        &["trace", "synth", "--duration", "2s", "--force", "-o", made],
        &format!("qdelay trace info {made}"),
    );
    ends_with_data(&["trace", "synth", "--duration", "2s"]);
    ends_with_next(&["trace", "info", made], &format!("qdelay compare --trace {made}"));
    ends_with_data(&["trace", "info", made, "--json"]);
    let rates = folder.join("rates.txt");
    let rates = rates.to_str().unwrap();
    ends_with_next(
        &["trace", "convert", made, rates, "--to", "mbps", "--force"],
        &format!("qdelay trace info {rates}"),
    );
}
