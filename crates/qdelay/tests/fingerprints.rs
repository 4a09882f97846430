//! Digests of every figure of the command: a refactoring changes none, and any other change shows which figures it moved.
//!
//! The digests are in `fingerprints/*.tsv`; `qdelay_testing::fingerprints` explains their form. `make fingerprints` writes all of
//! them again, including those that take minutes, which are compared on request only:
//! `cargo test -p qdelay --test main fingerprints:: -- --include-ignored`. `QDELAY_COMMAND` names another build of the command to
//! measure instead, such as an older version.

mod compare;
mod figures;

use crate::algorithms::documented_program;
use crate::architecture::root;
use crate::common::folder;
use figures::Figure;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_testing::fingerprints::{Fingerprints, with_former_names};
use qdelay_testing::{Need, side_by_side, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Figures of `compare` and `run` that are stored as numbers.
const OF_RUNS: &[&str] = &["throughput_mbps", "queue_delay_ms.p99", "drops"];

fn prints(name: &str, headlines: &'static [&'static str]) -> Fingerprints {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let file = Path::new(&folder).join("tests/fingerprints").join(name);
    Fingerprints::new(file, "make fingerprints", headlines)
}

/// Folder with every figure as a number.
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

/// Output of the command. Status 1 means a missed expectation, which is not checked here.
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
fn figures_of_compare_are_as_before() {
    let mut prints = prints("compare.tsv", OF_RUNS);
    for (label, set) in compare::sets() {
        let words: Vec<&str> = ["compare", "--json"].into_iter().chain(set.split(' ')).collect();
        for case in list(&json(&words, None), "cases") {
            let axes = &case["axes"];
            let axis = |name| text(axes, name);
            let (trace, qdisc, transport) = (axis("trace"), axis("qdisc"), axis("transport"));
            let name = format!("{label} {trace} {qdisc} {transport} {}", axes["seed"]);
            prints.case(&name, &figures::from_json(case));
        }
    }
    prints.check(&clear());
}

/// Duration of the scenario's cases: until late flows have started.
fn duration(scenario: &str) -> &'static str {
    match scenario.split('/').next() {
        _ if matches!(scenario, "abe/fig1" | "abe/fig1-budget") => "61s",
        Some("rfc8867") => "61s",
        Some("5g" | "eqp") => "5500ms",
        Some("lying") => "11s",
        Some("rd") => "4s",
        Some("algorithms" | "demo" | "rfc8869" | "video" | "which") => "6s",
        _ => "2500ms",
    }
}

/// A part of a study of hundreds of cases represents the study.
fn part(scenario: &str) -> Option<&'static str> {
    ["which/", "5g/n78-call"].iter().any(|large| scenario.starts_with(large)).then_some("1/16")
}

/// Cases in a folder of results, in order.
fn case_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder of cases");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// One seed of every case of a shipped scenario, or of a part of the cases. Shipped traces replace missing ones.
fn of_scenario(name: &str) -> Vec<(String, Vec<Figure>)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fingerprints").join(name);
    let out = folder.to_str().expect("a name that is text");
    let _ = fs::remove_dir_all(&folder);
    let scenario = shipped::find(name).expect("a shipped one");
    let study = Study::parse(name, scenario, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
    // A duration that the matrix varies stays unchanged.
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
        // The cases include curves and series.
        let whole = fs::read_to_string(folder.join("cases").join(id).join("summary.json")).expect("a case");
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        cases.push((format!("{name} {id}"), figures::from_json(&whole)));
    }
    // Expectations about a part of the cases have no verdict.
    let mut judged =
        if part.is_none() { figures::from_json(&with_former_names(&summary["expects"])) } else { Vec::new() };
    judged.push(("cases".to_string(), ids.len().to_string()));
    cases.push((format!("{name} expectations"), judged));
    let _ = fs::remove_dir_all(&folder);
    cases
}

#[test]
fn figures_of_shipped_scenarios_are_as_before() {
    let mut prints = prints("scenarios.tsv", OF_RUNS);
    let listed = output(&["run", "--list"], None);
    let mut names: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    // The digest of a figure covers all cases in this order.
    names.sort_by_key(|name| (name.starts_with("lab/"), name.starts_with("lying/")));
    side_by_side(
        &names,
        |name| of_scenario(name),
        |cases| cases.iter().for_each(|(name, figures)| prints.case(name, figures)),
    );
    prints.check(&clear());
}

/// Figures of a claim that are stored as numbers. Digests keep the name `ours`, which is now `value` in the output.
const OF_CLAIMS: &[&str] = &["ours", "with_setting", "verdict"];

/// Values of a row that are computed, not stated by the paper.
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
        let row = with_former_names(row);
        prints.case(&name, &computed(&row, &["ours", "with_setting", "factor", "verdict"]));
    }
    for (kind, named) in [("settings", "name"), ("tables", "title")] {
        for entry in report[kind].as_array().into_iter().flatten() {
            prints.case(&format!("{paper} {kind} {}", text(entry, named)), &figures::from_json(entry));
        }
    }
}

/// Figures and sections of papers that run within seconds. Shipped traces replace missing ones.
#[test]
fn figures_of_papers_are_as_before() {
    let mut prints = prints("papers.tsv", OF_CLAIMS);
    for (paper, figure) in CHEAP {
        add_claims(&mut prints, paper, Some(figure), None);
    }
    prints.check(&clear());
}

const CHEAP: [(&str, &str); 6] =
    [("bode", "VII-E"), ("bode", "VII-G"), ("rd", "2"), ("rd", "T2"), ("rd", "T4"), ("5g", "3.6")];
/// Digests of a whole paper, in a separate file.
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

/// A new paper needs a line above.
#[test]
fn every_paper_has_a_file() {
    let refused = command(&["reproduce", "none"], None).output().expect("the command runs");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    let known = told.trim_end().split_once("expected one of ").expect("the names of papers").1.split(", ");
    for paper in known {
        assert!(WHOLE.contains(&paper), "{paper} is in no list of fingerprints.rs: {WHOLE:?}");
    }
}

/// Rows about the thesis's drives, which have no digest.
const OF_DRIVES: [&str; 1] = ["No scheme's mean delay is below half of the MAC's period"];

/// Figure and verdict by claim, from the numbers in a paper's digests; on recorded traces if there is such a file.
fn claims_in_clear(paper: &str) -> BTreeMap<String, (f64, String)> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let file = |name: String| fs::read_to_string(Path::new(&folder).join("tests/fingerprints").join(name));
    let text = file(format!("paper-{paper}-recorded.tsv")).or_else(|_| file(format!("paper-{paper}.tsv")));
    let mut claims = BTreeMap::new();
    for line in text.unwrap().lines().filter(|line| line.starts_with("case\t")) {
        let [_, name, _, ours, _, verdict] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        // "bode 6 VI-B 046: the claim"; other lines are of settings and tables.
        let claim =
            name.split_once(": ").filter(|(before, _)| before.ends_with(|last: char| last.is_ascii_digit()));
        if let (Some((_, claim)), Ok(ours)) = (claim, ours.parse()) {
            claims.insert(claim.to_string(), (ours, verdict.to_string()));
        }
    }
    claims
}

/// Compares a printed figure with this one: equal within half of the last digit.
fn is_printed(printed: &str, figure: f64) -> bool {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let of_decimals = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    printed.parse::<f64>().is_ok_and(|number| (number - figure).abs() <= 0.501 * of_decimals)
}

/// Column of the first of these headings that a table has.
fn column(header: &[&str], names: &[&str]) -> Option<usize> {
    header.iter().position(|heading| names.contains(heading))
}

/// Rows of the pages about papers equal the digests: our figure with the printed precision, and the verdict. Pages therefore show
/// the same figures as the digests, which are compared with the command. `docs/rows.py` and `docs/lying.py` write the rows.
#[test]
fn pages_have_the_rows_of_the_digests() {
    let mut wrong = Vec::new();
    for (paper, _) in qdelay_papers::PAPERS {
        let mut claims = claims_in_clear(paper);
        claims.retain(|claim, _| !OF_DRIVES.iter().any(|of_drives| claim.starts_with(of_drives)));
        let pages = [format!("docs/reproduce-{paper}.md"), format!("docs/{paper}.md")];
        let page = pages.iter().find_map(|page| fs::read_to_string(root().join(page)).ok()).unwrap();
        let mut places = None;
        for line in page.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            places = places.filter(|_| line.starts_with('|')).or_else(|| {
                Some((
                    column(&cells, &["claim", "expectation"])?,
                    column(&cells, &["ours", "seen"])?,
                    column(&cells, &["verdict"])?,
                ))
            });
            let Some((claim, ours, verdict)) = places else { continue };
            let Some((figure, said)) = cells.get(claim).and_then(|claim| claims.remove(*claim)) else {
                continue;
            };
            let first =
                |place: usize| cells.get(place).map_or("", |cell| cell.split(" (").next().unwrap_or(""));
            if !is_printed(first(ours), figure) || first(verdict) != said {
                wrong.push(format!("{paper}: {figure} {said}: {line}"));
            }
        }
        wrong.extend(claims.keys().map(|claim| format!("{paper}: no row '{claim}'")));
    }
    assert!(wrong.is_empty(), "rows that are not those of the digests:\n{}", wrong.join("\n"));
}

/// Tables made by a documentation program equal those of its page; the page is written again with the digests.
fn page_has_tables_of(program: &str, page: &str, inputs: &[&str]) {
    let is_renewed = std::env::var_os("QDELAY_REGENERATE").is_some();
    let more = if is_renewed { &["--write"][..] } else { &[] };
    let output = documented_program(program, &[inputs, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(root().join("docs").join(page)).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let tables: Vec<&str> = text.split("\n\n").filter(|part| part.starts_with('|')).collect();
    assert!(is_renewed || !tables.is_empty(), "{text}");
    for table in tables {
        assert!(
            page.contains(table),
            "{program} makes another table now; 'make fingerprints' writes it:\n{table}"
        );
    }
}

#[test]
#[ignore = "takes minutes: make fingerprints-check"]
fn tables_of_deploy() {
    let (outer, traces) = (folder("tables-of-deploy"), recorded());
    let studies = ["5g/deploy", "5g/deploy-nr", "5g/deploy-ideal"];
    let folders = studies.map(|study| outer.join(study).to_str().unwrap().to_string());
    for (study, results) in studies.iter().zip(&folders) {
        output(&["run", study, "--no-report", "--out", results], Some(&traces));
    }
    page_has_tables_of("deploy.py", "deploy.md", &folders.each_ref().map(String::as_str));
}

#[test]
#[ignore = "takes minutes: make fingerprints-check"]
fn tables_of_lying() {
    let (outer, traces) = (folder("tables-of-lying"), recorded());
    let at = |name: &str| outer.join(name).to_str().unwrap().to_string();
    let (json, results) = (at("lying.json"), at("results"));
    fs::write(&json, output(&["reproduce", "lying", "--json", "--out", &results], Some(&traces))).unwrap();
    page_has_tables_of("lying.py", "lying.md", &[&json, &results]);
}
