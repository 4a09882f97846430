//! `qdelay-testing quick`: checks for a contributor at each save.
//!
//! 1. Formatting of everything.
//! 2. Lints of the crates that changed: files that differ from `--base REV` (the last commit).
//! 3. Tests of these crates, and of the engine's crates that depend on them, with a tenth of the usual effort
//!    ([`crate::effort`]). Crates that link the command (its own and Python's) are left out.
//!
//! If nothing changed, the tests of all of the engine's crates run.

use super::{all_parts, owned, refuse};
use crate::parts;
use crate::suite::{self, Selection};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Crates tested when a crate below them changes: the pure ones, the virtual clock and studies.
const ENGINE: [&str; 8] = [
    "qdelay-config",
    "qdelay-core",
    "qdelay-path",
    "qdelay-ran",
    "qdelay-sim",
    "qdelay-study",
    "qdelay-trace",
    "qdelay-traffic",
];
/// Crates that are linted but not tested here, because their tests need the whole command or real packets.
const LINKS_COMMAND: [&str; 2] = ["qdelay", "qdelay-py"];
/// Effort, unless the environment sets one.
const USUAL_EFFORT: f64 = 0.1;

pub(super) fn run(arguments: &[&str]) -> ExitCode {
    let base = match arguments {
        [] => "HEAD",
        ["--base", base] => base,
        _ => return refuse(format_args!("quick: '{}': expected --base REV", arguments.join(" "))),
    };
    let root = Path::new(".");
    let Some(changed) = changed(root, base) else {
        return refuse(format_args!("quick: git diff against '{base}' failed; --base expects a commit"));
    };
    let dependencies = match dependencies() {
        Ok(dependencies) => dependencies,
        Err(complaint) => return refuse(complaint),
    };
    let plan = plan(&changed, &dependencies);
    println!("quick: changed: {}", list(&plan.linted));
    println!("quick: tests of {}", list(&plan.tested));
    for arguments in [Some(owned(&["fmt", "--all", "--check"])), lints(&plan.linted)].into_iter().flatten() {
        println!("quick: cargo {}", arguments.join(" "));
        let status =
            Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into())).args(&arguments).status();
        if !status.is_ok_and(|status| status.success()) {
            return ExitCode::FAILURE;
        }
    }
    if plan.tested.is_empty() {
        println!("quick: tests of these crates link the command; 'make test' runs them");
        return ExitCode::SUCCESS;
    }
    let mut build = owned(&["build", "--locked", "--tests"]);
    build.extend(packages(&plan.tested));
    let selection = Selection {
        build,
        left_out: all_parts(),
        effort: Some(USUAL_EFFORT),
        // Real packets of the emulator need root, and take seconds.
        without: owned(&["qdelay-emu net"]),
        ..Selection::default()
    };
    suite::run(&super::folder(), &selection)
}

/// Crates to lint and crates to test.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Plan {
    linted: BTreeSet<String>,
    tested: BTreeSet<String>,
}

fn plan(changed: &[String], dependencies: &BTreeMap<String, BTreeSet<String>>) -> Plan {
    let crates = changed.iter().filter_map(|path| path.strip_prefix("crates/")?.split('/').next());
    let linted: BTreeSet<String> =
        crates.filter(|name| dependencies.contains_key(*name)).map(str::to_string).collect();
    // Files that affect every crate count as below all of them.
    let shared = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml"];
    let is_all = linted.is_empty() || changed.iter().any(|path| shared.contains(&path.as_str()));
    let is_above = |name: &str| linted.iter().any(|below| reaches(name, below, dependencies));
    let engine = ENGINE.into_iter().filter(|name| is_all || is_above(name)).map(str::to_string);
    let own = linted.iter().filter(|name| !LINKS_COMMAND.contains(&name.as_str())).cloned();
    let tested = engine.chain(own).collect();
    Plan { linted, tested }
}

/// True if `name` is `below`, or depends on it.
fn reaches(name: &str, below: &str, dependencies: &BTreeMap<String, BTreeSet<String>>) -> bool {
    name == below
        || dependencies
            .get(name)
            .is_some_and(|direct| direct.iter().any(|next| reaches(next, below, dependencies)))
}

/// Paths that differ from a commit, new ones included.
fn changed(root: &Path, base: &str) -> Option<Vec<String>> {
    let differing = parts::git(root, &["diff", "--name-only", "--no-renames", base])?;
    let new = parts::git(root, &["ls-files", "--others", "--exclude-standard"])?;
    Some(differing.lines().chain(new.lines()).map(str::to_string).collect())
}

/// Crates of the workspace, each with its direct dependencies.
fn dependencies() -> Result<BTreeMap<String, BTreeSet<String>>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"]);
    let output = cargo.output().map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let names = |list: &Value| {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|entry| entry["name"].as_str().map(str::to_string)).collect::<BTreeSet<_>>()
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    Ok(packages
        .filter_map(|package| Some((package["name"].as_str()?.to_string(), names(&package["dependencies"]))))
        .collect())
}

fn packages(names: &BTreeSet<String>) -> Vec<String> {
    names.iter().flat_map(|name| ["--package".to_string(), name.clone()]).collect()
}

/// Arguments of cargo for the lints of these crates; empty without a crate.
fn lints(names: &BTreeSet<String>) -> Option<Vec<String>> {
    let mut arguments = owned(&["clippy", "--locked", "--all-targets", "--no-deps"]);
    arguments.extend(packages(names));
    arguments.extend(owned(&["--", "-D", "warnings"]));
    (!names.is_empty()).then_some(arguments)
}

fn list(names: &BTreeSet<String>) -> String {
    match names.is_empty() {
        true => "none".to_string(),
        false => names.iter().map(|name| name.trim_start_matches("qdelay-")).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(paths: &[&str]) -> (String, String) {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let found = dependencies().expect("a workspace");
        let plan = plan(&paths, &found);
        (list(&plan.linted), list(&plan.tested))
    }

    #[test]
    fn changes_choose_crates() {
        let all = "config, core, path, ran, sim, study, trace, traffic";
        let with_gateway = "config, core, gateway, path, ran, sim, study, trace, traffic";
        assert_eq!(planned(&[]), ("none".into(), all.into()));
        assert_eq!(planned(&["crates/qdelay-core/src/lib.rs"]).1, all);
        assert_eq!(
            planned(&["crates/qdelay-report/src/a.rs", "docs/x.md"]),
            ("report".into(), "report".into())
        );
        assert_eq!(planned(&["crates/qdelay/src/a.rs"]), ("qdelay".into(), "none".into()));
        assert_eq!(
            planned(&["Cargo.toml", "crates/qdelay-gateway/src/a.rs"]),
            ("gateway".into(), with_gateway.into())
        );
    }
}
