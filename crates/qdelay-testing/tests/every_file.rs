//! Test files that no program declares would be ignored silently, and tests with the standard library's `#[test]`
//! in a program without its harness too. This test reads every `Cargo.toml` and follows the `mod` lines.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Test program declared in a `Cargo.toml`.
struct Program {
    root: PathBuf,
    has_harness: bool,
}

/// Programs of a crate with `autotests = false`.
fn programs(folder: &Path, manifest: &str) -> Vec<Program> {
    let tables = manifest.split("\n[[test]]\n").skip(1);
    let tables = tables.map(|table| table.split("\n[").next().unwrap_or_default());
    let program = |table: &str| {
        let path = table.lines().find_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
        Program {
            root: folder.join(path.unwrap_or_else(|| panic!("{}: a test without a path", folder.display()))),
            has_harness: !table.lines().any(|line| line == "harness = false"),
        }
    };
    tables.map(program).collect()
}

/// Adds a file, and all files reached by its `mod` lines. `is_root`: its modules are beside it, as for a `mod.rs`.
fn follow(file: PathBuf, is_root: bool, reached: &mut BTreeSet<PathBuf>) {
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let beside = is_root || file.ends_with("mod.rs");
    let folder =
        if beside { file.parent().expect("a folder").to_path_buf() } else { file.with_extension("") };
    let mut elsewhere = None;
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches("pub ");
        if let Some(path) = line.strip_prefix("#[path = \"").and_then(|rest| rest.strip_suffix("\"]")) {
            elsewhere = Some(path);
            continue;
        }
        let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
        if let Some(path) = elsewhere.take() {
            follow(file.with_file_name("").join(path), false, reached);
            continue;
        }
        let choices = [folder.join(name).with_extension("rs"), folder.join(name).join("mod.rs")];
        let found = choices.into_iter().find(|choice| choice.is_file());
        follow(found.unwrap_or_else(|| panic!("{}: no module {name}", file.display())), false, reached);
    }
    reached.insert(file);
}

/// All Rust files below `folder`.
fn sources(folder: &Path, all: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.insert(path);
        }
    }
}

/// Reports every test file that is outside all programs, and every standard `#[test]` inside ours, since neither would ever fail.
#[test]
fn every_test_is_run_by_a_program() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut seen = 0;
    for entry in fs::read_dir(crates).expect("crates").flatten() {
        let folder = entry.path();
        let mut all = BTreeSet::new();
        sources(&folder.join("tests"), &mut all);
        if all.is_empty() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        assert!(
            manifest.contains("\nautotests = false\n"),
            "{}: each file of tests would be a program of its own; say autotests = false, and name them in tests/main.rs",
            folder.display()
        );
        let mut reached = BTreeSet::new();
        for program in programs(&folder, &manifest) {
            let text = fs::read_to_string(&program.root).expect("a program");
            let ends = ["\nmain!();\n", "\nmain!(waits);\n"];
            let takes_ours = text.contains("\n#[macro_use]\nextern crate qdelay_testing;\n");
            assert!(
                takes_ours != program.has_harness && takes_ours == ends.iter().any(|end| text.ends_with(end)),
                "{}: with 'harness = false' it begins with the macros of qdelay_testing and ends with main!(), else neither",
                program.root.display()
            );
            follow(program.root, true, &mut reached);
            seen += 1;
        }
        let lost: Vec<_> = all.difference(&reached).collect();
        assert!(lost.is_empty(), "no program of {} names {lost:?}", folder.display());
    }
    assert!(seen > 8, "{seen}");
}
