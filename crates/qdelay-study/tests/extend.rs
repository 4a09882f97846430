//! Extension of a result folder with some seeds by a run with more seeds.

use qdelay_study::engine::{self, EngineError, Progress};
use qdelay_study::results::Summary;
use qdelay_study::scenario::{Overrides, Starts, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const TEXT: &str = r#"
    [path]
    trace = "synth-subway"
    [[flow]]
    [run]
    duration = "2s"
    [matrix]
    path.qdisc = ["taildrop", "codel"]
"#;

/// Counts the cases that existed before the run.
#[derive(Default)]
struct ExistingCases(AtomicU64);

impl Progress for ExistingCases {
    fn begins(&self, _: &str, _: u64, there: u64) {
        self.0.store(there, Ordering::Relaxed);
    }
    fn case_done(&self) {}
}

/// Runs the study; returns the result, and the number of cases that were not run again.
fn run(out: &Path, seeds: &[u64], starts: Option<Starts>) -> Result<(Summary, u64), EngineError> {
    let overrides = Overrides { seeds: Some(seeds.to_vec()), starts, ..Overrides::default() };
    let study = Study::parse("my.toml", TEXT, &overrides).unwrap();
    let options = engine::Options {
        out: out.to_path_buf(),
        jobs: 2,
        fresh: false,
        packets: true,
        series: true,
        commit: None,
    };
    let there = ExistingCases::default();
    let summary = engine::run(&study, &Library::new(), &options, &there)?;
    Ok((summary, there.0.into_inner()))
}

/// Contents of all files in the folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            files.extend(contents(&path).into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

#[test]
fn more_seeds_run_only_new_cases() {
    let folder = Folder::new("extend");
    let (out, fresh) = (folder.path().join("out"), folder.path().join("fresh"));
    assert_eq!(run(&out, &[2, 5], None).unwrap().1, 0);
    // Seeds in another order, and so many that ids have one more digit.
    let more: Vec<u64> = [7, 5].into_iter().chain(1..5).collect();
    let (summary, there) = run(&out, &more, None).unwrap();
    assert_eq!((summary.cases.len(), there), (12, 4));
    run(&fresh, &more, None).unwrap();
    assert!(contents(&out) == contents(&fresh), "the bytes of one run");
    assert_eq!(run(&out, &more, None).unwrap().1, 12);
}

/// With a single seed a run begins at the start of the trace, with several seeds at random places, so the case is run again.
#[test]
fn changed_or_damaged_cases_run_again() {
    let folder = Folder::new("extend-starts");
    let out = folder.path().join("out");
    run(&out, &[1], None).unwrap();
    assert_eq!(run(&out, &[1, 2], None).unwrap().1, 0);
    let fixed = folder.path().join("fixed");
    run(&fixed, &[1], Some(Starts::Fixed)).unwrap();
    assert_eq!(run(&fixed, &[1, 2], Some(Starts::Fixed)).unwrap().1, 2);
    let error = run(&fixed, &[1, 2], None).unwrap_err().to_string();
    assert!(
        error.contains("holds results with starts = fixed, but this run has that of the scenario"),
        "{error}"
    );
    let error = run(&fixed, &[2, 3], Some(Starts::Fixed)).unwrap_err().to_string();
    assert!(error.contains("holds results for seed 1, which is not among those of this run"), "{error}");
    // A case with a damaged file is run again.
    let case = fs::read_dir(fixed.join("cases")).unwrap().next().unwrap().unwrap().path();
    fs::write(case.join("summary.json"), "{}").unwrap();
    assert_eq!(run(&fixed, &[1, 2, 3], Some(Starts::Fixed)).unwrap().1, 3);
}
