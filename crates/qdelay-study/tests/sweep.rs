//! Merged shards of any study, in any number, have the bytes of a single run.

use qdelay_core::component::Registry;
use qdelay_study::engine::{self, Shard, Simulator};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Studies of 1 to 12 cases, with and without axes; one has an axis with as many points as there are shards.
const STUDIES: [(&str, &str, u64); 5] = [
    ("", "1", 1),
    ("", "1..7", 7),
    ("path.qdisc = [\"taildrop\", \"codel\"]", "3", 2),
    ("path.qdisc = [\"taildrop\", \"codel\"]\npath.rtt = [\"10ms\", \"20ms\", \"30ms\"]", "1..2", 12),
    ("path.rtt = [\"10ms\", \"20ms\", \"30ms\", \"40ms\"]\npath.qdisc = [\"taildrop\", \"pie\"]", "5", 8),
];

fn options(out: PathBuf) -> engine::Options {
    engine::Options { out, jobs: 2, fresh: false, packets: false, series: true, commit: None }
}

fn study(matrix: &str, seeds: &[u64]) -> Study {
    let text = format!(
        "[path]\nlink = \"1mbit\"\n[[flow]]\n[run]\nduration = \"200ms\"\nwarmup = \"0s\"\n[matrix]\n{matrix}\n[[expect]]\n\
         claim = \"some\"\nmeasure = \"throughput_mbps\"\nlow = 0.0\n"
    );
    let overrides = Overrides { seeds: Some(seeds.to_vec()), ..Overrides::default() };
    Study::parse("tiny.toml", &text, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

/// Contents of all files below `folder`, by path.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    contents(folder)
        .into_iter()
        .map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_path_buf(), bytes))
        .collect()
}

#[test]
fn merged_shards_equal_a_single_run() {
    let library = Library::new();
    for (number, (matrix, seeds, cases)) in STUDIES.iter().enumerate() {
        let seeds = qdelay_study::scenario::parse_seeds(seeds).unwrap();
        let study = study(matrix, &seeds);
        assert_eq!(study.case_count(), *cases);
        let folder = Folder::new("sweep");
        let place = |name: String| folder.path().join(name);
        let whole = engine::run(&study, &library, &options(place("whole".into())), &()).unwrap();
        let expected = tree(&place("whole".into()));
        for of in 1..=*cases {
            // Two shards share a folder.
            let mut parts = Vec::new();
            for index in 1..=of {
                let out = place(format!("{of}-{}", index / 2));
                let shard = Shard::new(index, of).unwrap();
                let done =
                    engine::run_shard_by(&Simulator, &study, &library, &options(out.clone()), shard, &())
                        .unwrap();
                assert_eq!(done.len() as u64, shard.count(*cases));
                if parts.last() != Some(&out) {
                    parts.push(out);
                }
            }
            let out = place(format!("merged-{of}"));
            let options = engine::MergeOptions { registry: Registry::new(), jobs: 2, is_unverified: false };
            let merged = engine::merge(&parts, &out, &options, &()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(merged.path().file_name(), out.file_name());
            assert!(merged.finish().unwrap() == whole);
            assert!(tree(&out) == expected, "study {number}, {of} shards");
        }
        let more = Shard::new(1, cases + 1).unwrap();
        let error =
            engine::run_shard_by(&Simulator, &study, &library, &options(place("more".into())), more, &());
        assert!(error.unwrap_err().to_string().contains(&format!("expected at most {cases} shards")));
    }
}

/// Ids computed without traces equal those of the cases.
#[test]
fn ids_are_known_without_traces() {
    for (matrix, seeds, _) in STUDIES {
        let study = study(matrix, &qdelay_study::scenario::parse_seeds(seeds).unwrap());
        for index in 0..study.case_count() {
            assert_eq!(study.case_id(index), study.case(index, &Library::new()).unwrap().id);
        }
    }
}
