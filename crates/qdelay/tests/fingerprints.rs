//! What every figure of the command is, by digest: a refactoring moves none, and a change that does says which.
//!
//! The digests stand in `fingerprints/*.tsv`; `qdelay_testing::fingerprints` says how to read them. `make fingerprints` writes all of
//! them anew, those of minutes included, which are compared on request only:
//! `cargo test -p qdelay --test main fingerprints:: -- --include-ignored`. `QDELAY_COMMAND` names another build of the command to take the
//! figures from, such as that of an older version.

mod compare;
mod figures;

use figures::Figure;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_testing::fingerprints::Fingerprints;
use qdelay_testing::{Need, side_by_side, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is in clear of cases of `compare` and `run`.
const OF_RUNS: &[&str] = &["throughput_mbps", "queue_delay_ms.p99", "drops"];

fn prints(name: &str, headlines: &'static [&'static str]) -> Fingerprints {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let file = Path::new(&folder).join("tests/fingerprints").join(name);
    Fingerprints::new(file, "make fingerprints", headlines)
}

/// Where every figure stands in clear.
fn clear() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures")
}

fn command(arguments: &[&str], traces: Option<&Path>) -> Command {
    let program = std::env::var_os("QDELAY_COMMAND").unwrap_or(env!("CARGO_BIN_EXE_qdelay").into());
    let mut command = Command::new(program);
    command.args(arguments).env_remove("QDELAY_TRACES");
    if let Some(traces) = traces {
        command.env("QDELAY_TRACES", traces);
    }
    command
}

/// What the command prints. Status 1 is that of an expectation that is missed, which is none of ours.
fn output(arguments: &[&str], traces: Option<&Path>) -> String {
    let output = command(arguments, traces).output().expect("the command runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {complaint}");
    String::from_utf8(output.stdout).expect("text")
}

fn json(arguments: &[&str], traces: Option<&Path>) -> Value {
    serde_json::from_str(&output(arguments, traces)).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is no list"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("-")
}

/// The folder of recorded traces.
fn recorded() -> PathBuf {
    match std::env::var_os("QDELAY_TRACES") {
        Some(folder) => folder.into(),
        None => skip(Need::Traces, "QDELAY_TRACES names no folder"),
    }
}

#[test]
fn of_compare() {
    let mut prints = prints("compare.tsv", OF_RUNS);
    for (label, set) in compare::sets() {
        let words: Vec<&str> = ["compare", "--json"].into_iter().chain(set.split(' ')).collect();
        for case in list(&json(&words, None), "cases") {
            let axes = &case["axes"];
            let axis = |name| text(axes, name);
            let (trace, qdisc, transport) = (axis("trace"), axis("qdisc"), axis("transport"));
            let name = format!("{label} {trace} {qdisc} {transport} {}", axes["seed"]);
            prints.case(&name, &figures::of(case));
        }
    }
    prints.check(&clear());
}

/// How long its cases are run: until what starts late has begun.
fn duration(scenario: &str) -> &'static str {
    match scenario.split('/').next() {
        _ if scenario == "abe/fig1" => "61s",
        Some("rfc8867") => "61s",
        Some("5g" | "eqp") => "5500ms",
        Some("lying") => "11s",
        Some("rd") => "4s",
        Some("algorithms" | "demo" | "rfc8869" | "video" | "which") => "6s",
        _ => "2500ms",
    }
}

/// A study of hundreds of cases is stood for by a part of them.
fn part(scenario: &str) -> Option<&'static str> {
    scenario.starts_with("which/").then_some("1/16")
}

/// The cases in a folder of results, in their order.
fn case_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder of cases");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// One seed of every case of a shipped scenario, or of a part of them. Traces are stood in for.
fn of_scenario(name: &str) -> Vec<(String, Vec<Figure>)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fingerprints").join(name);
    let out = folder.to_str().expect("a name that is text");
    let _ = fs::remove_dir_all(&folder);
    let scenario = shipped::find(name).expect("a shipped one");
    let study = Study::parse(name, scenario, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    // Where the matrix varies it, it is what it is.
    let short = ["--duration", duration(name)];
    let short = if study.varies_duration() { &[][..] } else { &short };
    let limits = ["--seeds", "1", "--jobs", "1"];
    let part = part(name).map(|part| ["--shard", part]);
    let words = [
        &["run", name][..],
        &limits,
        short,
        part.as_ref().map_or(&[], |part| &part[..]),
        &["--no-report", "--json", "--out", out],
    ]
    .concat();
    let report = json(&words, None);
    let summary = &report["summary"];
    let ids: Vec<String> = match part {
        None => list(summary, "cases").iter().map(|case| text(case, "id").to_string()).collect(),
        Some(_) => case_names(&folder.join("cases")),
    };
    let mut cases = Vec::new();
    for id in &ids {
        // With curves and series.
        let whole = fs::read_to_string(folder.join("cases").join(id).join("summary.json")).expect("a case");
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        cases.push((format!("{name} {id}"), figures::of(&whole)));
    }
    // Those of a part are judged by nobody.
    let mut judged = if part.is_none() { figures::of(&summary["expects"]) } else { Vec::new() };
    judged.push(("cases".to_string(), ids.len().to_string()));
    cases.push((format!("{name} expectations"), judged));
    let _ = fs::remove_dir_all(&folder);
    cases
}

#[test]
fn of_shipped_scenarios() {
    let mut prints = prints("scenarios.tsv", OF_RUNS);
    let listed = output(&["run", "--list"], None);
    let mut names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    // Digests of one figure are of all cases in this order.
    names.sort_by_key(|name| (name.starts_with("lab/"), name.starts_with("lying/")));
    side_by_side(
        &names,
        |name| of_scenario(name),
        |cases| cases.iter().for_each(|(name, figures)| prints.case(name, figures)),
    );
    prints.check(&clear());
}

/// Figures of a claim that are in clear.
const OF_CLAIMS: &[&str] = &["ours", "with_setting", "verdict"];

/// What a row has that is computed, and not stated by the paper.
fn computed(row: &Value, names: &[&str]) -> Vec<Figure> {
    let value = |name: &&str| (name.to_string(), row[*name].to_string().replace('"', ""));
    names.iter().map(value).collect()
}

/// Adds the claims of a paper, or of one figure or section of it.
fn add_claims(prints: &mut Fingerprints, paper: &str, figure: Option<&str>, traces: Option<&Path>) {
    let mut words = vec!["reproduce", paper, "--json"];
    words.extend(figure.iter().flat_map(|figure| ["--figure", figure]));
    let report = json(&words, traces);
    for (number, row) in list(&report, "rows").iter().enumerate() {
        let (figure, section, claim) = (text(row, "figure"), text(row, "section"), text(row, "claim"));
        let name = format!("{paper} {figure} {section} {:03}: {claim}", number + 1);
        prints.case(&name, &computed(row, &["ours", "with_setting", "factor", "verdict"]));
    }
    for (kind, named) in [("settings", "name"), ("tables", "title")] {
        for entry in report[kind].as_array().into_iter().flatten() {
            prints.case(&format!("{paper} {kind} {}", text(entry, named)), &figures::of(entry));
        }
    }
}

/// The figures and sections of papers that are run within seconds. Traces are stood in for.
#[test]
fn of_papers() {
    let mut prints = prints("papers.tsv", OF_CLAIMS);
    for (paper, figure) in CHEAP {
        add_claims(&mut prints, paper, Some(figure), None);
    }
    prints.check(&clear());
}

const CHEAP: [(&str, &str); 6] =
    [("bode", "VII-E"), ("bode", "VII-G"), ("rd", "2"), ("rd", "T2"), ("rd", "T4"), ("5g", "3.6")];
/// A whole paper, into a file of its own.
fn whole(paper: &str, traces: Option<&Path>) {
    let kind = if traces.is_some() { "-recorded" } else { "" };
    let mut prints = prints(&format!("paper-{paper}{kind}.tsv"), OF_CLAIMS);
    add_claims(&mut prints, paper, None, traces);
    prints.check(&clear());
}

macro_rules! whole_papers {
    ($($test:ident $paper:literal $traces:expr),* $(,)?) => {
        $(#[test]
        #[ignore = "takes minutes: make fingerprints-check"]
        fn $test() {
            whole($paper, $traces);
        })*
        const WHOLE: &[&str] = &[$($paper),*];
    };
}

whole_papers! {
    whole_paper_5g "5g" None,
    whole_paper_abe "abe" None,
    whole_paper_bode "bode" None,
    whole_paper_eqp "eqp" None,
    whole_paper_lying "lying" None,
    whole_paper_rd "rd" None,
    whole_paper_abe_on_recorded_traces "abe" Some(&recorded()),
    whole_paper_bode_on_recorded_traces "bode" Some(&recorded()),
    whole_paper_lying_on_recorded_traces "lying" Some(&recorded()),
}

/// A paper that is new has a line above.
#[test]
fn every_paper_has_a_file() {
    let refused = command(&["reproduce", "none"], None).output().expect("the command runs");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    let known = told.trim_end().split_once("expected one of ").expect("the names of papers").1.split(", ");
    for paper in known {
        assert!(WHOLE.contains(&paper), "{paper} is in no list of fingerprints.rs: {WHOLE:?}");
    }
}
