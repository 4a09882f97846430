//! The pages of `docs/algorithms`: one for each discipline, pacer, scheduler and partition of the registries, all with the same parts;
//! parameters as declared; commands whose output equals the text below them, and which make the page's picture.
//!
//! `make pictures` writes tables, outputs and pictures anew after a wanted change.

use crate::architecture::root;
use crate::common::{command, folder};
use crate::tutorial_support::{Place, follow_page};
use qdelay_core::component::Component;
use qdelay_papers::PAPERS;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_testing::{Need, skip};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Required parts of a page, in this order; others may stand between them.
const PARTS: [&str; 6] = ["Decision", "In a picture", "When to use it", "Parameters", "Validation", "Limits"];
/// Largest size of a picture in bytes, so that pages load quickly.
const PICTURE_BYTES_MAX: u64 = 60_000;

fn pages() -> PathBuf {
    root().join("docs/algorithms")
}

fn read(page: &str) -> String {
    let path = pages().join(format!("{page}.md"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every component that is on a page, by page.
fn on_pages() -> BTreeMap<&'static str, Vec<&'static Component>> {
    let mut found: BTreeMap<&str, Vec<&Component>> = BTreeMap::new();
    let disciplines = qdelay_core::qdisc::COMPONENTS.iter().chain(qdelay_core::pacer::COMPONENTS);
    let of_cells = qdelay_ran::mac::COMPONENTS.iter().chain(qdelay_ran::cell::PARTITIONS);
    for component in disciplines.chain(of_cells) {
        found.entry(component.name).or_default().push(component);
    }
    let jitters = qdelay_study::traces::jitter::components();
    found.insert("impairments", [qdelay_study::traces::loss::components(), jitters].concat());
    found
}

#[test]
fn every_algorithm_has_a_page_with_the_same_parts() {
    let list = read("README");
    for page in on_pages().keys() {
        let text = read(page);
        let mut headings = text.lines().filter_map(|line| line.strip_prefix("## "));
        for part in PARTS {
            assert!(
                headings.any(|heading| heading == part),
                "docs/algorithms/{page}.md lacks '## {part}', or has it too early: the order is {PARTS:?}"
            );
        }
        assert!(list.contains(&format!("]({page}.md)")), "docs/algorithms/README.md does not list {page}.md");
    }
}

/// The table of a component's parameters.
fn table(component: &Component) -> String {
    if component.parameters.is_empty() {
        return "None.\n".to_string();
    }
    let mut table =
        "| key | value | default | range | meaning | source |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_string();
    for parameter in component.parameters {
        let unit = parameter.unit.describe().replace('|', ", ");
        let default = if parameter.default.is_empty() { "none" } else { parameter.default };
        let (name, range) = (parameter.name, parameter.range());
        let (about, source) = (parameter.about.replace('|', ", "), parameter.source.replace('|', ", "));
        let _ = writeln!(table, "| `{name}` | {unit} | {default} | {range} | {about} | {source} |");
    }
    table
}

#[test]
fn parameters_are_as_declared() {
    const END: &str = "<!-- end of parameters -->";
    for (page, components) in on_pages() {
        let mut text = read(page);
        for component in components {
            let begin = format!("<!-- parameters of {} {} -->\n", component.kind.name(), component.name);
            let place = text.find(&begin).map(|at| at + begin.len());
            let first = place.unwrap_or_else(|| panic!("docs/algorithms/{page}.md lacks {begin}"));
            let end = text[first..].find(END).unwrap_or_else(|| panic!("{page}.md: {begin} has no end"));
            let (written, declared) = (&text[first..first + end], table(component));
            if written == declared {
                continue;
            }
            assert!(
                std::env::var_os("QDELAY_REGENERATE").is_some(),
                "docs/algorithms/{page}.md: the table of {} is not as declared; 'make pictures' writes it anew:\n{declared}",
                component.name
            );
            text.replace_range(first..first + end, &declared);
            fs::write(pages().join(format!("{page}.md")), &text).unwrap();
        }
    }
}

/// Follows pages in one folder, so that a scenario shown on several pages runs once.
fn follow_pages(name: &str, components: &[&'static Component], more: &[&str]) {
    let outer = folder(&format!("algorithms-{name}"));
    for page in components.iter().map(|component| component.name).chain(more.iter().copied()) {
        follow_page(&pages().join(format!("{page}.md")), &outer, Place::Folder, &[], &[]);
        let picture = format!("{page}.svg");
        assert!(outer.join("work").join(&picture).is_file(), "{page}.md has no command that makes {picture}");
        assert!(read(page).contains(&format!("]({picture})")), "{page}.md does not show {picture}");
        let bytes = fs::metadata(pages().join(&picture)).unwrap().len();
        assert!(bytes < PICTURE_BYTES_MAX, "{picture} has {bytes} bytes, {PICTURE_BYTES_MAX} or more");
    }
}

#[test]
fn pages_of_disciplines() {
    follow_pages("qdisc", qdelay_core::qdisc::COMPONENTS, &["impairments"]);
}

#[test]
fn pages_of_cells() {
    let of_cells = [qdelay_core::pacer::COMPONENTS, qdelay_ran::mac::COMPONENTS].concat();
    // A scheduler and a partition of the same name share a page.
    let partitions = qdelay_ran::cell::PARTITIONS.iter().map(|component| component.name);
    let more: Vec<&str> =
        partitions.filter(|name| of_cells.iter().all(|other| other.name != *name)).collect();
    follow_pages("cell", &of_cells, &more);
}

/// `docs/which.py` makes the tables of docs/which.md: it reads the command's results, and the held-out
/// scenarios are valid.
#[test]
fn the_tables_of_which_can_be_made_again() {
    if Command::new("python3").arg("--version").output().is_err() {
        skip(Need::Tools, "no python3");
    }
    let outer = folder("which");
    let python = |arguments: &[&str], input: Stdio| {
        let program = root().join("docs/which.py");
        Command::new("python3").arg(program).args(arguments).stdin(input).output().unwrap()
    };
    let text = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (study, names) in [("calls", 3), ("game", 1), ("ran", 1)] {
        let name = format!("which/{study}");
        let shipped = shipped::find(&name).expect("a shipped scenario");
        let file = outer.join(study);
        fs::write(&file, shipped).unwrap();
        let edited = text(python(&[study, "--held-out"], fs::File::open(&file).unwrap().into()));
        let parsed = Study::parse("held-out", &edited, &Overrides::default());
        let cases = parsed.unwrap_or_else(|error| panic!("{error}")).case_count();
        assert!(cases > 0 && edited.contains("11..13"), "{cases} cases");

        let results = outer.join("results").join(study).to_str().unwrap().to_string();
        let short = ["--seeds", "1", "--duration", "7s", "--no-report", "--out", &results];
        // A study this short meets no expectation.
        let status = command(&[&["run", &name][..], &short].concat()).output().unwrap().status;
        assert!(matches!(status.code(), Some(0 | 1)), "{status}");
        let tables = text(python(&[study, &results], Stdio::null()));
        assert_eq!(tables.lines().filter(|line| line.starts_with("## ")).count(), names, "{tables}");
    }
    let refused = python(&["calls", "nowhere"], Stdio::null());
    assert_eq!(String::from_utf8_lossy(&refused.stderr).lines().count(), 1);
    assert!(!refused.status.success());
}

/// A Python program of the documentation.
pub fn documented_program(name: &str, arguments: &[&str]) -> Output {
    if Command::new("python3").arg("--version").output().is_err() {
        skip(Need::Tools, "no python3");
    }
    Command::new("python3").arg(root().join("docs").join(name)).args(arguments).output().unwrap()
}

/// `docs/deploy.py` makes the tables of docs/deploy.md from the command's results.
#[test]
fn the_tables_of_deploy_can_be_made_again() {
    let outer = folder("deploy");
    let results = outer.join("results").to_str().unwrap().to_string();
    let short = ["--seeds", "51", "--duration", "7s", "--no-report", "--out", &results];
    // A study this short meets no expectation.
    let status = command(&[&["run", "5g/deploy-nr"][..], &short].concat()).output().unwrap().status;
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    let output = documented_program("deploy.py", &[&results]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(root().join("docs/deploy.md")).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings.len(), 11, "{text}");
    assert!(headings.iter().all(|heading| page.contains(&format!("## {heading}\n"))), "{text}");
    for (arguments, place) in [(["nowhere", ""], "nowhere"), ([&results, "--write"], "--write")] {
        let arguments: Vec<&str> = arguments.into_iter().filter(|word| !word.is_empty()).collect();
        let refused = documented_program("deploy.py", &arguments);
        let said = String::from_utf8_lossy(&refused.stderr).to_string();
        assert!(!refused.status.success() && said.lines().count() == 1 && said.contains(place), "{said}");
    }
    assert_eq!(fs::read_to_string(root().join("docs/deploy.md")).unwrap(), page);
}

/// `docs/rows.py` makes the rows of docs/reproduce-*.md, and `docs/lying.py` its own: each finds every claim of its paper on the page.
#[test]
fn the_rows_of_papers_can_be_made_again() {
    let outer = folder("rows");
    for (name, _) in PAPERS.iter().filter(|(name, _)| *name != "lying") {
        let paper = qdelay_papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        let row = |claim: &str| {
            serde_json::json!({
                "claim": claim, "value": 0.12345, "verdict": "better", "factor": 0.75, "with_setting": null
            })
        };
        let mut rows: Vec<serde_json::Value> = paper.claims.iter().map(|claim| row(&claim.claim)).collect();
        let json = outer.join(format!("{name}.json"));
        let printed = |rows: &[serde_json::Value]| {
            fs::write(&json, serde_json::json!({ "rows": rows }).to_string()).unwrap();
            documented_program("rows.py", &[name, json.to_str().unwrap()])
        };
        let output = printed(&rows);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let count = paper.claims.len();
        assert!(text.ends_with(&format!("{count} rows, {count} changed; better {count}\n")), "{text}");
        assert!(text.contains("| 0.123 |") && text.contains("| better (0.75x) |"), "{text}");
        rows.push(row("nobody claims this"));
        let refused = printed(&rows);
        assert_eq!(String::from_utf8_lossy(&refused.stderr).lines().count(), 1);
        assert!(!refused.status.success());
    }
}
