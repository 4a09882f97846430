//! The version that `qdelay --version` prints: the package's, with the commit where this is a checkout. Results have both too
//! (`study.json`).

use std::path::Path;
use std::process::Command;

/// This folder as seen from the root of a checkout. Elsewhere it is a package, or a copy within another repository, whose commits
/// say nothing about it.
const FOLDER: &str = "crates/qdelay/";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let commit = commit();
    if let Some(commit) = &commit {
        println!("cargo::rustc-env=QDELAY_COMMIT={commit}");
    }
    let version = commit.map_or(version.to_string(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=QDELAY_VERSION={version}");
}

/// The short hash of the commit that is checked out; none without git.
fn commit() -> Option<String> {
    if git(&["rev-parse", "--show-prefix"])? != FOLDER {
        return None;
    }
    // The log of HEAD grows with each commit, also where branches are packed into one file. A file that does not exist would count
    // as changed in every build.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", "logs/HEAD", "packed-refs", branch.as_str()] {
        let path = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).is_file());
        path.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

/// The first line that git prints, in this folder. A hook of git sets `GIT_DIR`, which would be relative to another folder.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).env_remove("GIT_DIR").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().unwrap_or_default().to_string();
    (output.status.success() && !line.is_empty()).then_some(line)
}
