//! Programs in `examples/`: user-defined components beside the built-in ones, with the whole command around them.

use crate::architecture::root;
use crate::common::{example, folder, read};
use qdelay_testing::Folder;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

fn start(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

/// Runs `program`, which must succeed without a message; returns its output.
fn succeed(program: &Path, arguments: &[&str]) -> String {
    let output = start(program, arguments);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), messages.as_ref()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs `program`, which must refuse its input; returns the message.
fn refused(program: &Path, arguments: &[&str]) -> String {
    let output = start(program, arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    message
}

/// The results of `compare --json`.
fn compare(program: &Path, options: &str) -> Vec<Value> {
    let mut arguments = vec!["compare", "--json"];
    arguments.extend(options.split_whitespace());
    let mut value: Value = serde_json::from_str(&succeed(program, &arguments)).unwrap();
    match value["cases"].take() {
        Value::Array(cases) => cases,
        other => panic!("no cases: {other}"),
    }
}

/// Mean of a figure over the cases that have `value` on an axis; `figure` is a JSON pointer.
fn mean(cases: &[Value], axis: &str, value: &str, figure: &str) -> f64 {
    let chosen = cases.iter().filter(|case| case["axes"][axis] == value);
    let chosen: Vec<f64> = chosen.map(|case| case.pointer(figure).unwrap().as_f64().unwrap()).collect();
    assert!(!chosen.is_empty(), "no case with {axis} = {value}");
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

/// Lines of a program's source, its `Cargo.toml` included.
fn lines(name: &str) -> usize {
    let folder = root().join("examples").join(name);
    let count = |file: &str| fs::read_to_string(folder.join(file)).unwrap().lines().count();
    count("src/main.rs") + count("Cargo.toml")
}

#[test]
fn programs_of_their_own_are_short() {
    assert!(lines("own-aqm") <= 60, "{}", lines("own-aqm"));
    for name in ["own-control", "own-source", "own-scheduler", "own-stepper"] {
        assert!(lines(name) <= 120, "{name}: {}", lines(name));
    }
}

/// Steps of `docs/library.md`, done within the workspace as in the tutorial.
#[test]
fn a_copy_of_an_example_is_a_package() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("\"examples/own-*\""), "a copy beside the examples belongs to the workspace");
    let (from, to) = (root().join("examples/own-aqm"), Folder::new("examples-copied"));
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let crates = root().join("crates");
    let manifest = manifest.replace("own-aqm", "own-idea").replace("../../crates", crates.to_str().unwrap());
    to.write("own-idea/Cargo.toml", manifest);
    to.write("own-idea/src/main.rs", fs::read(from.join("src/main.rs")).unwrap());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = cargo.current_dir(to.path().join("own-idea")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metadata["packages"][0]["name"], "own-idea");
}

#[test]
fn an_own_discipline_in_a_scenario() {
    let (program, out) = (example("own-aqm"), folder("own-aqm"));
    let scenario = root().join("examples/own-aqm/scenario.toml");
    let results = out.join("results");
    let (scenario, out) = (scenario.to_str().unwrap(), results.to_str().unwrap());
    succeed(&program, &["run", scenario, "--seeds", "1..5", "--duration", "2s", "--out", out]);
    let cases = read(&results.join("summary.json"))["cases"].as_array().unwrap().clone();
    assert_eq!(cases.len(), 4 * 5);
    for case in cases {
        let qdisc = case["labels"]["path.qdisc"].as_str().unwrap();
        assert_eq!(case["drops_by_reason"]["early"].is_u64(), qdisc.contains("random_early"), "{qdisc}");
    }
    assert!(fs::read_to_string(results.join("report.html")).unwrap().contains("random_early:full=40"));
}

/// A rebuilt program may have another law under the same name.
#[test]
fn changed_component_of_a_program_is_refused() {
    let (program, out) = (example("own-aqm"), folder("own-aqm-changed"));
    let scenario = root().join("examples/own-aqm/scenario.toml");
    let results = out.join("results");
    let options = [
        "run",
        scenario.to_str().unwrap(),
        "--seeds",
        "1",
        "--duration",
        "2s",
        "--out",
        results.to_str().unwrap(),
    ];
    succeed(&program, &options);
    succeed(&program, &options);
    let changed = out.join("own-aqm");
    fs::copy(&program, &changed).unwrap();
    // The loader does not read beyond the parts named by the file's headers.
    fs::OpenOptions::new().append(true).open(&changed).unwrap().write_all(b"\0").unwrap();
    let message = refused(&changed, &options);
    assert!(
        message.contains("holds results of 'random_early' before 'program own-aqm' was changed"),
        "{message}"
    );
    // The command itself names the missing component.
    let kept = results.join("scenario.toml");
    let arguments =
        ["run", kept.to_str().unwrap(), "--out", out.join("again").to_str().unwrap()].map(str::to_string);
    let arguments = arguments.each_ref().map(String::as_str);
    crate::common::refused(&arguments, &["'random_early' is a component of the program 'own-aqm'"]);
}

#[test]
fn an_own_discipline_beside_those_built_in() {
    let program = example("own-aqm");
    let options = "--qdisc random_early,codel,taildrop --trace synth-lte-driving --seed 1..5 --duration 3s";
    let cases = compare(&program, options);
    assert_eq!(cases.len(), 15 * 2, "three disciplines, five seeds, two transports");
    let delay = |qdisc| mean(&cases, "qdisc", qdisc, "/queue_delay_ms/mean");
    assert!(delay("random_early") < delay("taildrop"));
}

#[test]
fn an_own_discipline_is_listed_and_its_mistakes_are_told() {
    let program = example("own-aqm");
    assert!(succeed(&program, &["list"]).contains("random_early"));
    let listed = succeed(&program, &["list", "random_early"]);
    assert!(
        listed.contains("full   packets  100      1 to 10000000  packets at which every arrival is"),
        "{listed}"
    );
    let message = refused(&program, &["compare", "--link", "10mbit", "--qdisc", "random_early:full=0"]);
    assert!(message.contains("full=0: out of range; expected 1 to 10000000"), "{message}");
    let message = refused(&program, &["compare", "--link", "10mbit", "--qdisc", "random_late"]);
    assert!(
        message.contains("unknown qdisc 'random_late'") && message.contains(", random_early"),
        "{message}"
    );
}

#[test]
fn an_own_congestion_control() {
    let program = example("own-control");
    let options = "--transport short_queue,cubic --qdisc taildrop --link 10mbit --seed 1..2 --duration 10s";
    let cases = compare(&program, options);
    // Claim of the authors: the rate of the link, and a queue of a few packets.
    let (own, cubic) = (
        mean(&cases, "transport", "short_queue", "/queue_delay_ms/mean"),
        mean(&cases, "transport", "cubic", "/queue_delay_ms/mean"),
    );
    assert!(own < 10.0 && cubic > 50.0, "{own} {cubic}");
    let message = refused(
        &program,
        &["compare", "--link", "10mbit", "--transport", "short_queue:alpha=9", "--qdisc", "codel"],
    );
    assert!(message.contains("alpha 9 is above beta 4"), "{message}");
}

#[test]
fn an_own_source_of_datagrams() {
    let cases = compare(
        &example("own-source"),
        "--transport camera:2mbit --qdisc taildrop --link 10mbit --duration 10s",
    );
    let rate = mean(&cases, "transport", "camera:2mbit", "/throughput_mbps");
    assert!((1.8..2.2).contains(&rate), "{rate}");
}

#[test]
fn an_own_scheduler_over_an_own_channel() {
    let (program, out) = (example("own-scheduler"), folder("own-scheduler"));
    let scenario = root().join("examples/own-scheduler/cell.toml");
    let results = out.join("results");
    succeed(&program, &["run", scenario.to_str().unwrap(), "--out", results.to_str().unwrap()]);
    let cases = read(&results.join("summary.json"))["cases"].as_array().unwrap().clone();
    // UEs with a good and a bad channel receive nearly the same, unlike under any other scheduler.
    let inequality = |case: &Value| {
        let rate = |ue: &str| case["groups"][ue]["throughput_mbps"].as_f64().unwrap();
        rate("near") / rate("far")
    };
    let found: Vec<f64> = cases.iter().map(inequality).collect();
    assert!(found[2] < 1.2 && found[0] > 2.0, "{found:?}");
}

#[test]
fn a_run_in_steps() {
    let printed = succeed(&example("own-stepper"), &[]);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 1 + 60 + 1, "a heading, a line for each step of half a second, a sum: {printed}");
    assert!(lines[61].starts_with("mean delay "), "{printed}");
}
