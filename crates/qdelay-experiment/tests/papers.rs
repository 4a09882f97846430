//! The claims of papers: sound, about scenarios that exist, and judged on any machine.

use qdelay_core::Span;
use qdelay_experiment::expect::Selection;
use qdelay_experiment::papers::{self, PAPERS, Verdict};
use qdelay_experiment::scenario::{Overrides, Study};
use qdelay_experiment::shipped;
use qdelay_experiment::traces::Library;
use std::collections::{BTreeMap, BTreeSet};

fn study(name: &str) -> Study {
    let text = shipped::find(name).unwrap_or_else(|| panic!("{name} is shipped"));
    Study::parse(name, text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"))
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
            let study = study(&check.scenario);
            let known = |axis: &str, label: &str| {
                let found = study.axes.iter().find(|known| known.name == axis);
                assert!(
                    found.is_some_and(|axis| axis.labels.iter().any(|known| known == label)),
                    "{text}: {axis} {label}"
                );
            };
            let all = |selection: &Selection| {
                for (axis, labels) in selection {
                    labels.iter().for_each(|label| known(axis, label));
                }
            };
            all(&check.expect.select);
            all(&check.expect.versus);
            check.expect.normalise.iter().for_each(|(axis, label)| known(axis, label));
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
fn every_explanation_has_a_cause_and_a_range_out_of_bounds() {
    for (name, _) in PAPERS {
        let paper = papers::find(name).unwrap_or_else(|error| panic!("{error}"));
        let checks = || paper.claims.iter().filter_map(|claim| Some((claim, claim.check.as_ref().ok()?)));
        for (claim, check) in checks() {
            let Some(explained) = &check.explained else { continue };
            let text = &claim.claim;
            assert!(explained.cause.len() > 40, "{text}: a cause that can be checked");
            assert!(explained.low <= explained.high, "{text}");
            let middle = f64::midpoint(explained.low, explained.high);
            assert!(!check.expect.accepts(middle), "{text}: the range is of figures that are out of bounds");
        }
        let explained = checks().filter(|(_, check)| check.explained.is_some()).count();
        assert!(explained * 5 <= checks().count(), "at most one in five of {name} is explained");
    }
}

/// The page of a paper lists every claim.
#[test]
fn the_documentation_has_every_claim() {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    for (name, _) in PAPERS {
        // A study of our own is not a reproduction.
        let docs = std::path::Path::new(&crate_folder).join("../../docs");
        let pages = [docs.join(format!("reproduce-{name}.md")), docs.join(format!("{name}.md"))];
        let page = pages.iter().find_map(|page| std::fs::read_to_string(page).ok());
        let page = page.unwrap_or_else(|| panic!("{} or {}", pages[0].display(), pages[1].display()));
        for claim in papers::find(name).unwrap_or_else(|error| panic!("{error}")).claims {
            assert!(page.contains(&claim.claim), "the page of {name} has no row '{}'", claim.claim);
        }
    }
}

#[test]
fn papers_and_figures_that_do_not_exist() {
    let error = papers::find("dobe").map(|_| ()).expect_err("no such paper");
    assert!(error.to_string().contains("expected one of bode"), "{error}");
    let error =
        papers::reproduce("bode", Some("2"), &Library::new(), 1, &(), None).expect_err("no such figure");
    assert!(error.to_string().contains("expected one of 1, 4, 5, 6, 7, 8, 9, 10, 11"), "{error}");
}

/// Without recorded traces: what is of them is skipped and says so, all else has a figure. Two seconds show no more.
#[test]
fn without_recorded_traces() {
    let paper = papers::find("bode").unwrap_or_else(|error| panic!("{error}"));
    let overrides = Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(2)) };
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
                assert_eq!(row.ours, None);
            }
            Ok(_) => assert!(row.ours.is_some(), "{row:?}"),
        }
    }
    let verdicts = [Verdict::Match, Verdict::Explained, Verdict::Miss, Verdict::Skipped];
    assert_eq!(verdicts.iter().map(|verdict| result.count(*verdict)).sum::<usize>(), result.rows.len());
    assert!(result.count(Verdict::Match) >= 10, "the bound and the buffer need no trace");
    let json = result.json();
    for key in [
        "\"schema_version\": 1",
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
    let out = std::env::temp_dir().join(format!("qdelay-papers-{}", std::process::id()));
    let paper = papers::find("bode").unwrap_or_else(|error| panic!("{error}"));
    let overrides = Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(2)) };
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
    assert_eq!((eight.rows.len(), eight.count(Verdict::Skipped)), (4, 4));
    std::fs::remove_dir_all(&out).expect("our own folder");
}

/// A table of changes comes into what is written and onto the page. A few seconds of a short queue show who gains most.
#[test]
fn a_table_of_changes() {
    let out = std::env::temp_dir().join(format!("qdelay-changes-{}", std::process::id()));
    let paper = papers::find("lying").unwrap_or_else(|error| panic!("{error}"));
    let overrides = Overrides { seeds: Some(vec![1, 2]), duration: Some(Span::from_secs(20)) };
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
    let page = qdelay_experiment::report::paper(&out).unwrap_or_else(|error| panic!("{error}"));
    assert!(page.contains(&table.title) && page.contains(&priority.own.text()));
    std::fs::remove_dir_all(&out).expect("our own folder");
}
