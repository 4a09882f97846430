//! The scenarios that are built in: listed, sound, and they run.

use qdelay_core::Span;
use qdelay_experiment::scenario::{Overrides, Study};
use qdelay_experiment::shipped::SCENARIOS;
use qdelay_experiment::traces::Library;
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
fn every_file_is_listed() {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let mut files = BTreeSet::new();
    names_in(&Path::new(&crate_folder).join("scenarios"), "", &mut files);
    let listed: BTreeSet<String> = SCENARIOS.iter().map(|(name, _)| (*name).to_string()).collect();
    assert_eq!(listed, files, "left: shipped.rs, right: files");
    assert_eq!(listed.len(), SCENARIOS.len(), "each once");
}

#[test]
fn all_are_sound_and_explained() {
    for (name, text) in SCENARIOS {
        let study = Study::parse(name, text, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(study.name, *name);
        assert!(!study.title.is_empty(), "{name} has a title");
        assert!(text.starts_with('#'), "{name} begins with what it is for");
        study.check(&Library::new()).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// The demonstrations, with one seed and a tenth of their time.
#[test]
fn the_demonstrations_run() {
    let overrides = Overrides { seeds: Some(vec![1]), duration: Some(Span::from_secs(7)) };
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
