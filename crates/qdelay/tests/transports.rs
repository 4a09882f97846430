//! Every transport over every discipline: no run ends early, no packet is unaccounted for, no flow is stuck, and the same command writes
//! the same bytes again, on one thread as on two.
//!
//! Components come from `qdelay list`, so that new ones are included. The audit at the end of each run checks the packets. A
//! few seconds of two links always run; `make matrix` runs a minute of each of twenty links, and prints the cost of a case.

use crate::common::{file, folder, json, read};
use qdelay_testing::{Need, skip};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of all components of a kind.
fn names(kind: &str) -> Vec<String> {
    let list = json(&["list", "--json"]);
    let components = list["components"].as_array().unwrap().iter();
    let names = components.filter(|component| component["kind"] == kind);
    names.map(|component| component["name"].as_str().unwrap().to_string()).collect()
}

/// Link of the matrix: key of `[path]` and its value.
type Link = (&'static str, String);

/// Links: recorded downlinks first, if any, then shipped and synthetic ones; twenty in all.
fn twenty_links() -> Vec<Link> {
    let mut links = Vec::new();
    if let Some(traces) = std::env::var_os("QDELAY_TRACES") {
        let index = fs::read_to_string(Path::new(&traces).join("INDEX.tsv")).unwrap_or_default();
        let rows = index.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let downlinks = rows.filter(|row| row.get(3) == Some(&"down"));
        links.extend(downlinks.map(|row| ("trace", row[0].to_string())));
    }
    let shipped = ["synth-lte-driving", "synth-lte-stationary", "synth-subway"];
    links.extend(shipped.map(|name| ("trace", name.to_string())));
    links.extend((1..).map(|seed| ("link", format!("synth:lte-driving:duration=60s:seed={seed}"))).take(20));
    links.truncate(20);
    links
}

/// One flow of the transport over every discipline and link, measured over the last third.
fn scenario(transport: &str, links: &[Link], seconds: u32) -> String {
    let disciplines: Vec<String> = names("qdisc").iter().map(|name| format!("\"{name}\"")).collect();
    let mut text = format!(
        "[path]\nrtt = \"20ms\"\n[[flow]]\nname = \"flow\"\ntransport = \"{transport}\"\n\
         [run]\nduration = \"{seconds}s\"\nwarmup = \"{}s\"\nseries = \"off\"\n\
         [matrix]\npath.qdisc = [{}]\n",
        seconds * 2 / 3,
        disciplines.join(", ")
    );
    for (key, value) in links {
        write!(text, "[[matrix.variant]]\nlabel = \"{value}\"\npath.{key} = \"{value}\"\n").unwrap();
    }
    text
}

/// Runs a study; returns its CPU time in seconds.
fn run(scenario: &str, out: &Path, jobs: &str) -> f64 {
    let before = children_seconds();
    let program = std::env::var_os("QDELAY_COMMAND").unwrap_or(env!("CARGO_BIN_EXE_qdelay").into());
    let arguments = ["run", scenario, "--jobs", jobs, "--no-report", "--out"];
    let output = Command::new(program).args(arguments).arg(out).output().unwrap();
    assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
    children_seconds() - before
}

/// CPU time of the processes that this one has waited for.
fn children_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // User and system time of children are the 16th and 17th field, in hundredths; the second, the name, may have spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
    fields.skip(14).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The files of the cases with their digests, in order.
fn digests(out: &Path) -> Vec<(PathBuf, String)> {
    let cases = fs::read_dir(out.join("cases")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = cases
        .map(|case| {
            let digests = fs::read_to_string(case.join("SHA256SUMS")).unwrap();
            (case.file_name().unwrap().into(), digests)
        })
        .collect();
    all.sort();
    all
}

/// Runs every transport on these links, and prints a line for each.
fn cross(name: &str, links: &[Link], seconds: u32) -> String {
    let folder = folder(name);
    let mut lines = String::from("transport\tcases\tms of CPU a case\n");
    for transport in names("transport") {
        let scenario = file(&folder, &format!("{transport}.toml"), scenario(&transport, links, seconds));
        let [one, two] = ["one", "two"].map(|jobs| folder.join(format!("{transport}-{jobs}")));
        let taken = run(&scenario, &one, "1");
        run(&scenario, &two, "2");
        assert!(digests(&one) == digests(&two), "{transport}: two runs differ");
        let summary = read(&one.join("summary.json"));
        let cases = summary["cases"].as_array().unwrap();
        assert_eq!(cases.len(), links.len() * names("qdisc").len());
        for case in cases {
            let goodput = case["groups"]["flow"]["goodput_mbps"].as_f64().unwrap_or(0.0);
            assert!(goodput > 0.0, "{transport}: {} stands still: {}", case["id"], case["labels"]);
        }
        writeln!(lines, "{transport}\t{}\t{:.1}", cases.len(), taken * 1000.0 / cases.len() as f64).unwrap();
        for out in [one, two] {
            fs::remove_dir_all(out).unwrap();
        }
    }
    lines
}

#[test]
fn every_one_over_every_discipline() {
    let links = [
        ("trace", "synth-subway".to_string()),
        ("link", "steps:0s@8mbit+2s@400kbit+3s@0+4s@20mbit".to_string()),
    ];
    cross("transports", &links, 6);
}

#[test]
#[ignore = "takes minutes: make matrix"]
fn every_one_over_every_discipline_on_twenty_links() {
    let links = twenty_links();
    if links.iter().all(|(_, name)| name.contains("synth")) {
        skip(Need::Traces, "QDELAY_TRACES names no folder with an INDEX.tsv");
    }
    print!("{}", cross("transports-twenty", &links, 60));
}
