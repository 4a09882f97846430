//! The claims of papers: sound, about scenarios that exist, and judged on any machine.

use qdelay_core::Span;
use qdelay_papers::checks::Check;
use qdelay_papers::claims::{ClaimSource, Paper};
use qdelay_papers::{self as papers, PAPERS, Verdict};
use qdelay_study::expect::Selection;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use std::collections::{BTreeMap, BTreeSet};

fn study(name: &str) -> Study {
    let text = shipped::find(name).unwrap_or_else(|| panic!("{name} is shipped"));
    Study::parse(name, text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Every label that `check` names is one of its scenario.
fn is_of_its_scenario(check: &Check, text: &str) {
    let Some(scenario) = check.scenario() else { return };
    let study = study(scenario);
    let known = |axis: &str, label: &str| {
        let found = study.axes.iter().find(|known| known.name == axis);
        assert!(
            found.is_some_and(|axis| axis.labels.iter().any(|known| known == label)),
            "{text}: {axis} {label} in {}",
            scenario
        );
    };
    let all = |selection: &Selection| {
        for (axis, labels) in selection {
            labels.iter().for_each(|label| known(axis, label));
        }
    };
    all(&check.expect.select);
    all(&check.expect.alternatives);
    check.expect.normalise.iter().for_each(|(axis, label)| known(axis, label));
}

#[test]
fn every_claim_can_be_judged() {
    for (name, _) in PAPERS {
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        let mut seen = BTreeSet::new();
        for claim in &paper.claims {
            let text = &claim.claim;
            assert!(seen.insert((claim.figure.clone(), text.clone())), "{text}: twice");
            assert!(!claim.section.is_empty() && !text.is_empty(), "{text}");
            let Ok(check) = &claim.check else {
                assert!(
                    claim.check.as_ref().is_err_and(|reason| reason.len() > 10),
                    "{text}: why it is skipped"
                );
                continue;
            };
            assert!(claim.bound.len() > 5, "{text}: how its bound follows");
            is_of_its_scenario(check, text);
        }
    }
}

/// Where "or better" would make the bound of a figure one-sided, the claim has to have two bounds and a side that is better: what is
/// far from the paper's figure is no match.
#[test]
fn better_is_a_verdict_and_not_a_bound() {
    for (name, _) in PAPERS {
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        for (claim, check) in
            paper.claims.iter().filter_map(|claim| Some((claim, claim.check.as_ref().ok()?)))
        {
            let waived = [" or better", " or less", " or fewer", " or more"];
            assert!(
                waived.iter().all(|words| !claim.bound.contains(words)),
                "{}: {}",
                claim.claim,
                claim.bound
            );
            let says_so = claim.bound.ends_with(" is better");
            assert_eq!(check.better.is_some(), says_so, "{}: {}", claim.claim, claim.bound);
        }
    }
}

#[test]
fn every_table_is_of_cases_that_there_are() {
    for (name, _) in PAPERS {
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        for table in &paper.tables {
            assert!(table.least > 0.0 && !table.rows_are.is_empty(), "{}", table.title);
            let figure = Some(&table.figure);
            assert!(paper.claims.iter().any(|claim| claim.figure.as_ref() == figure), "{figure:?}: no claim");
            let mut studies = BTreeMap::new();
            for (scenario, axis, label) in table.labels() {
                let study = studies.entry(scenario).or_insert_with(|| study(scenario));
                let axis = study.axes.iter().find(|known| known.name == axis);
                let axis = axis.unwrap_or_else(|| panic!("{}: no axis for {label}", table.title));
                assert!(axis.labels.contains(&label), "{}: {} {label}", table.title, axis.name);
            }
        }
    }
}

#[test]
fn every_setting_can_be_run_for_its_whole_section() {
    for (name, _) in PAPERS {
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        let checks = || paper.claims.iter().filter_map(|claim| Some((claim, claim.check.as_ref().ok()?)));
        for setting in &paper.settings {
            assert!(setting.cause.len() > 40, "{}: a cause that can be checked", setting.name);
            let mut changed = 0;
            for (claim, check) in checks().filter(|(claim, _)| claim.section == setting.section) {
                let with = setting.apply(check);
                is_of_its_scenario(&with, &claim.claim);
                changed += usize::from(with != *check);
                let is_explained = check.explained.as_ref() == Some(&setting.name);
                assert!(!is_explained || with != *check, "{}: the setting does not touch it", claim.claim);
            }
            assert!(changed > 0, "{}: it changes nothing", setting.name);
            let is_named = checks().any(|(_, check)| check.explained.as_ref() == Some(&setting.name));
            assert!(is_named, "{}: no claim is explained by it", setting.name);
        }
        let explained = checks().filter(|(_, check)| check.explained.is_some()).count();
        assert!(explained * 5 <= checks().count(), "at most one in five of {name} is explained");
    }
}

/// A setting is run for all of its section, whatever figure was asked for: what a link without outages queues is in its bounds, and
/// no other row of the section is lost.
#[test]
fn an_explanation_is_run() {
    let paper = papers::find("bode").unwrap_or_else(|error| panic!("{error}"));
    let result = papers::reproduce("bode", Some("VII-E"), &Library::new(), 1, &(), None);
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    let row = result.rows.iter().find(|row| row.claim.contains("with outages")).expect("a row");
    assert_eq!((row.verdict, row.value), (Verdict::Explained, Some(400.0)), "{row:?}");
    let with = row.with_setting.expect("a figure with the setting");
    assert!(row.low <= Some(with) && Some(with) <= row.high, "{row:?}");
    let [setting] = &result.settings[..] else { panic!("one setting: {:?}", result.settings) };
    assert_eq!(row.setting.as_ref(), Some(&setting.name));
    assert_eq!((setting.rows, setting.without, setting.with), (5, 4, 5));
    assert!(setting.lost.is_empty());
    assert_eq!(paper.settings.len(), 8, "the others are of other sections, and were not run");
}

/// Verdicts on a page, by the author of the statement: as many rows of each as the page has.
fn by_source(paper: &Paper, page: &str) -> [(ClaimSource, [usize; 6]); 3] {
    ClaimSource::ALL.map(|source| {
        let mut counts = [0; 6];
        for claim in paper.claims.iter().filter(|claim| claim.source == source) {
            let cell = format!("| {} |", claim.claim);
            let line = page.lines().find(|line| line.contains(&cell));
            let line = line.unwrap_or_else(|| panic!("no row '{}'", claim.claim));
            let end = line.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default().trim();
            let verdict = end.split(" (").next().unwrap_or_default();
            let place = Verdict::ALL.iter().position(|one| one.name() == verdict);
            counts[place.unwrap_or_else(|| panic!("'{}': verdict '{verdict}'", claim.claim))] += 1;
        }
        (source, counts)
    })
}

/// The page of a paper lists every claim; it and the README count its verdicts as its rows have them.
#[test]
fn the_documentation_has_every_claim() {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    for (name, _) in PAPERS {
        // A study of our own is not a reproduction.
        let docs = std::path::Path::new(&crate_folder).join("../../docs");
        let pages = [docs.join(format!("reproduce-{name}.md")), docs.join(format!("{name}.md"))];
        let page = pages.iter().find_map(|page| std::fs::read_to_string(page).ok());
        let page = page.unwrap_or_else(|| panic!("{} or {}", pages[0].display(), pages[1].display()));
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        for claim in &paper.claims {
            assert!(page.contains(&claim.claim), "the page of {name} has no row '{}'", claim.claim);
        }
        // As the rows of the page have them; some have a figure in brackets behind.
        let counts = Verdict::ALL.map(|verdict| {
            let (ends, begins) = (format!("| {} |", verdict.name()), format!("| {} (", verdict.name()));
            page.lines().filter(|line| line.ends_with(&ends) || line.contains(&begins)).count()
        });
        assert_eq!(counts.iter().sum::<usize>(), paper.claims.len(), "{name}: rows with a verdict");
        for (verdict, count) in Verdict::ALL.iter().zip(counts) {
            let said = format!("| {} | {count} |", verdict.name());
            let is_said = page.contains(&said) || page.contains(&format!("{count} {}", verdict.name()));
            assert!(count == 0 || is_said, "{name}: the page does not say '{said}'");
        }
        let by_source = by_source(&paper, &page);
        let texts: Vec<String> = by_source
            .iter()
            .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
            .map(|(source, counts)| {
                let counts = Verdict::ALL.iter().zip(counts).filter(|(_, count)| **count > 0);
                let counts: Vec<String> =
                    counts.map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
                format!("{}: {}", source.name(), counts.join(", "))
            })
            .collect();
        let sentence = format!("By author of the statement: {}.", texts.join("; "));
        assert!(page.contains(&sentence), "the page of {name} does not say '{sentence}'");
        let readme = std::fs::read_to_string(docs.join("../README.md")).expect("the README");
        let line = readme.lines().find(|line| line.starts_with(&format!("| `{name}`")));
        let line = line.unwrap_or_else(|| panic!("README: no line for {name}"));
        let cells: Vec<usize> = line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        let [(_, own), others @ ..] = &by_source;
        assert_eq!(cells, own, "README, {name}: the paper's own statements");
        let number: usize = others.iter().flat_map(|(_, counts)| counts).sum();
        let matching: usize = others.iter().map(|(_, counts)| counts[0]).sum();
        let said = if number == 0 { "| |".to_string() } else { format!("| {matching} of {number} |") };
        assert!(line.ends_with(&said), "README, {name}: '{line}' does not end with '{said}'");
    }
}

#[test]
fn papers_and_figures_that_do_not_exist() {
    let error = papers::find("dobe").map(|_| ()).expect_err("no such paper");
    let names: Vec<&str> = PAPERS.iter().map(|(name, _)| *name).collect();
    assert!(error.to_string().ends_with(&format!("expected one of {}", names.join(", "))), "{error}");
    let error =
        papers::reproduce("bode", Some("2"), &Library::new(), 1, &(), None).expect_err("no such figure");
    assert!(error.to_string().contains("expected one of 1, 4, 5, 6, 7, 8, 9, 10, 11"), "{error}");
}

/// Without recorded traces: what is of them is skipped and says so, all else has a figure. Two seconds show no more.
#[test]
fn without_recorded_traces() {
    let paper = papers::find("bode").unwrap_or_else(|error| panic!("{error}"));
    let overrides =
        Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(2)), ..Overrides::default() };
    let library = Library::new();
    let result = papers::reproduce_with(&paper, None, &library, 2, &(), None, &overrides);
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.rows.len(), paper.claims.len());
    assert_eq!(result.stand_ins["mahimahi/ATT-LTE-driving.down"], "synth-lte-driving");
    for (row, claim) in result.rows.iter().zip(&paper.claims) {
        assert_eq!(row.claim, claim.claim);
        match &claim.check {
            Err(reason) => {
                assert_eq!((row.verdict, row.cause.as_ref()), (Verdict::Skipped, Some(reason)));
            }
            Ok(check) if !check.any_trace && row.verdict == Verdict::Skipped => {
                assert!(row.cause.as_ref().is_some_and(|cause| cause.contains("not at hand")), "{row:?}");
                assert_eq!(row.value, None);
            }
            // Two seconds end before these links slow down, so that nothing is lost and a ratio of losses has no figure.
            Ok(_) if matches!(row.scenario.as_deref(), Some("bode/adjust" | "bode/pelr")) => {}
            Ok(_) => assert!(row.value.is_some(), "{row:?}"),
        }
    }
    assert_eq!(Verdict::ALL.iter().map(|verdict| result.count(*verdict)).sum::<usize>(), result.rows.len());
    assert!(result.count(Verdict::Match) >= 10, "the bound and the buffer need no trace");
    let json = result.json();
    for key in [
        "\"schema_version\": 2",
        "\"paper\": \"bode\"",
        "\"verdict\": \"skipped\"",
        "\"figure\": \"7\"",
        "\"cause\"",
    ] {
        assert!(json.contains(key), "{key}");
    }
}

/// One figure runs its scenarios only, and leaves their folders.
#[test]
fn one_figure_into_a_folder() {
    let folder = Folder::new("papers");
    let out = folder.path().to_path_buf();
    let paper = papers::find("bode").unwrap_or_else(|error| panic!("{error}"));
    let overrides =
        Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(2)), ..Overrides::default() };
    let library = Library::new();
    let run = || papers::reproduce_with(&paper, Some("10"), &library, 1, &(), Some(out.clone()), &overrides);
    let first = run().unwrap_or_else(|error| panic!("{error}"));
    assert!(
        first.rows.iter().all(|row| row.figure.as_deref() == Some("10") && row.verdict == Verdict::Skipped)
    );
    let text = std::fs::read_to_string(out.join("reproduction.json")).expect("what came of it");
    assert_eq!(text, first.json());
    let again = run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(first, again);
    let eight = papers::reproduce_with(&paper, Some("8"), &library, 1, &(), Some(out.clone()), &overrides);
    let eight = eight.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((eight.rows.len(), eight.count(Verdict::Skipped)), (8, 8));
}

/// A table of changes comes into what is written and onto the page. A few seconds of a short queue show who gains most.
#[test]
fn a_table_of_changes() {
    let folder = Folder::new("changes");
    let out = folder.path().to_path_buf();
    let paper = papers::find("lying").unwrap_or_else(|error| panic!("{error}"));
    let overrides =
        Overrides { seeds: Some(vec![1, 2]), duration: Some(Span::from_secs(20)), ..Overrides::default() };
    let result =
        papers::reproduce_with(&paper, Some("trace"), &Library::new(), 2, &(), Some(out.clone()), &overrides);
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.stand_ins["mahimahi/ATT-LTE-driving.down"], "synth-lte-driving");
    assert_eq!(result.tables.len(), 1, "the others are of other figures");
    let table = &result.tables[0];
    let cell = |queue: &str| {
        let row = table.rows.iter().find(|row| row.name == queue).expect("a row");
        row.cells[0].as_ref().expect("a figure")
    };
    let flat = cell("one queue");
    assert!(std::iter::once(&flat.own).chain(&flat.others).all(|change| change.mean == 0.0), "{flat:?}");
    let priority = cell("strict priority");
    assert!(priority.own.mean > 1.0 && priority.others.iter().any(|other| other.mean < -0.3), "{priority:?}");
    assert!(result.json().contains("\"rows_are\": \"queue\""));
    let page = papers::page::from_folder(&out).unwrap_or_else(|error| panic!("{error}"));
    assert!(page.contains(&table.title) && page.contains(&priority.own.text()));
}
