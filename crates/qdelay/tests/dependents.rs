//! Guarantees for dependents of the crates: builds with fewer features and without an allocator, and packaging.
//!
//! Nothing is fetched.

use crate::architecture::{bare_targets, root};
use qdelay_testing::{Need, skip};
use std::path::Path;
use std::process::Command;

/// Runs cargo with `arguments` in `folder` of the workspace, with a separate target folder, because the one in use is locked by
/// the process that runs this test.
fn cargo(folder: &str, arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).args(["--offline", "--locked"]);
    cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("dependents"));
    let output = cargo.current_dir(root().join(folder)).output().expect("cargo runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "in {folder}: cargo {}: {complaint}", arguments.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test(Targets)]
fn a_law_runs_without_an_allocator() {
    const TARGET: &str = "thumbv7em-none-eabihf";
    let folder = "examples/bare-metal";
    cargo(folder, &["test", "--quiet", "--lib"]);
    if !bare_targets().iter().any(|target| target == TARGET) {
        skip(Need::Tools, format!("the target {TARGET} is not installed"));
    }
    cargo(folder, &["build", "--quiet", "--release", "--target", TARGET]);
}

/// Dependencies of `package` without its default features, one name a line.
fn dependencies(package: &str) -> String {
    let tree = ["tree", "--package", package, "--no-default-features", "--edges", "normal,build"];
    cargo("", &[&tree[..], &["--prefix", "none", "--format", "{p}"]].concat())
}

#[test]
fn records_need_no_parquet() {
    for package in ["qdelay-record", "qdelay-sim", "qdelay-emu"] {
        let found = dependencies(package);
        assert!(found.starts_with(package) && found.contains("serde v"), "{package}: {found}");
        assert!(!found.contains("parquet v"), "{package} depends on parquet: {found}");
    }
}

#[test(Targets)]
fn crates_build_without_their_features() {
    let check = ["check", "--quiet", "--no-default-features"];
    let packages = ["--package", "qdelay-core", "--package", "qdelay-record"];
    cargo("", &[&check[..], &packages].concat());
}

/// Each package has the files of its crate, and depends on the others by version. `make package` builds
/// from the packages.
#[test(Targets)]
fn every_crate_can_be_packaged() {
    let package = ["package", "--workspace", "--quiet", "--no-verify", "--allow-dirty"];
    cargo(
        "",
        &[
            &package[..],
            &["--exclude", "qdelay-testing", "--exclude", "qdelay-testing-macros", "--exclude", "own-*"],
        ]
        .concat(),
    );
}
