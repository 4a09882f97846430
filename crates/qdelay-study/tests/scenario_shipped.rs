//! The shipped scenarios are listed, valid, and run.

use qdelay_core::Span;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped::SCENARIOS;
use qdelay_study::traces::Library;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn names_in(folder: &Path, prefix: &str, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder of scenarios") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            names_in(&entry.path(), &format!("{prefix}{name}/"), names);
        } else if let Some(stem) = name.strip_suffix(".toml") {
            names.insert(format!("{prefix}{stem}"));
        }
    }
}

#[test]
fn every_scenario_file_is_listed() {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let mut files = BTreeSet::new();
    names_in(&Path::new(&crate_folder).join("scenarios"), "", &mut files);
    let listed: BTreeSet<String> = SCENARIOS.iter().map(|(name, _)| (*name).to_string()).collect();
    assert_eq!(listed, files, "left: SCENARIOS, right: files");
    assert_eq!(listed.len(), SCENARIOS.len(), "each once");
    let place = |wanted: &str| SCENARIOS.iter().position(|(name, _)| *name == wanted);
    assert!(place("bode/fig7-wide") < place("bode/fig10"), "numbers by their value");
}

#[test]
fn shipped_scenarios_are_valid_and_described() {
    for (name, text) in SCENARIOS {
        let study = Study::parse(name, text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(study.name, *name);
        assert!(!study.title.is_empty(), "{name} has a title");
        assert!(text.starts_with('#'), "{name} begins with what it is for");
        study.check(&Library::new()).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// At 8 ms round trip a green download competes with a blue one. The default refusals cancel what the shorter queue would gain:
/// on average over a few seeds, marking a download as green does not pay.
#[test]
fn a_lying_download_does_not_gain_at_eight_milliseconds() {
    let text = qdelay_study::shipped::find("lying/rtt").expect("a shipped scenario");
    let overrides = Overrides { seeds: Some((61..65).collect()), ..Overrides::default() };
    let study = Study::parse("lying/rtt", text, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let library = Library::new();
    let goodputs = |variant: &str| -> Vec<f64> {
        let cases = (0..study.case_count()).map(|index| study.case(index, &library).expect("a case"));
        let meant = ["8ms", "DSD, refusals", variant];
        cases
            .filter(|case| meant.iter().all(|meant| case.labels.iter().any(|label| label == meant)))
            .map(|case| qdelay_sim::run(&case.scenario).expect("a run").flows[0].goodput_mbps)
            .collect()
    };
    let (honest, lies) = (goodputs("honest"), goodputs("a download lies"));
    assert_eq!((honest.len(), lies.len()), (4, 4));
    let changes: Vec<f64> = lies.iter().zip(&honest).map(|(lie, honest)| lie / honest - 1.0).collect();
    let mean = changes.iter().sum::<f64>() / 4.0;
    assert!(mean < 0.0, "{changes:?}");
}

/// Runs the demonstrations with one seed, for a tenth of their time.
#[test]
fn demonstrations_run() {
    let overrides =
        Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(7)), ..Overrides::default() };
    for (name, text) in SCENARIOS.iter().filter(|(name, _)| name.starts_with("demo/")) {
        let study = Study::parse(name, text, &overrides).unwrap_or_else(|error| panic!("{error}"));
        let library = Library::new();
        for index in 0..study.case_count() {
            let case = study.case(index, &library).unwrap_or_else(|error| panic!("{error}"));
            let outcome = qdelay_sim::run(&case.scenario);
            let outcome = outcome.unwrap_or_else(|error| panic!("{name} {}: {error}", case.id));
            assert!(outcome.flows.iter().all(|flow| flow.delivered_bytes > 0), "{name} {}", case.id);
        }
    }
}
