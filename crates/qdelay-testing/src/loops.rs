//! The loops of a contributor, each a word of the command `qdelay-testing`:
//!
//! | word | make | runs |
//! | --- | --- | --- |
//! | `quick` | `make quick` | lints and tests of the crates that changed, and tests of the engine's crates above them; no command is linked |
//! | `test` | `make test` | every test that only needs a Rust toolchain |
//! | `test-all` | `make test-all` | every test |
//! | `ci` | `.ci/run` | `test`, and the parts that the landing's changes choose ([`crate::parts`]) |
//! | `parts` | `make parts` | prints the parts that `ci` would run, with reasons |
//! | `steady` | `make steady` | tests that depend on real time, many times beside busy processors |
//! | `suite` | | the programs that cargo builds with the given arguments: for tests of the suite |

mod quick;
mod steady;

use crate::parts::{self, Choice, Part};
use crate::suite::{self, BUILD, Selection};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Variables that a user may set for tests (CONTRIBUTING.md). The suite sets the project's other variables.
const VARIABLES: [&str; 22] = [
    "QDELAY_BROWSER",
    "QDELAY_COMMAND",
    "QDELAY_COMMIT",
    "QDELAY_DASH_CACHE",
    "QDELAY_DEB_COMPRESSION",
    "QDELAY_EFFORT",
    "QDELAY_FRESH",
    "QDELAY_INSIDE",
    "QDELAY_INSTALL",
    "QDELAY_LAB",
    "QDELAY_LINK",
    "QDELAY_OPTIMIZED",
    "QDELAY_OUTSIDE",
    "QDELAY_PYTHON",
    "QDELAY_RAY_CASES",
    "QDELAY_REGENERATE",
    "QDELAY_REQUIRE",
    "QDELAY_SCREENSHOTS",
    "QDELAY_SEED",
    "QDELAY_TEST_LIMIT",
    "QDELAY_TRACES",
    "QDELAY_WHEEL_PROFILE",
];

/// Runs the command with these words.
pub fn run(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((word, arguments)) = words.split_first() else {
        return refuse("expected quick, test, test-all, ci, parts, steady or suite");
    };
    if *word != "suite"
        && let Some(complaint) =
            unknown_variable(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))
    {
        return refuse(complaint);
    }
    match (*word, arguments) {
        ("test", options) => suite::run(&folder(), &workspace(options, all_parts())),
        ("test-all", options) => suite::run(&folder(), &workspace(options, Vec::new())),
        ("ci", options) => match choice() {
            Ok(choice) => {
                print!("{}", table(&choice));
                suite::run(&folder(), &workspace(options, choice.left_out))
            }
            Err(complaint) => refuse(complaint),
        },
        ("parts", []) => match choice() {
            Ok(choice) => {
                print!("{}", table(&choice));
                ExitCode::SUCCESS
            }
            Err(complaint) => refuse(complaint),
        },
        // One name a line, for scripts.
        ("parts", ["--names"]) => match choice() {
            Ok(choice) => {
                choice.run.iter().for_each(|(part, _)| println!("{}", part.rule().name));
                ExitCode::SUCCESS
            }
            Err(complaint) => refuse(complaint),
        },
        ("quick", arguments) => quick::run(arguments),
        ("steady", arguments) => steady::run(arguments),
        ("suite", arguments) => {
            let end = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
            let cargo = owned(&arguments[..end]);
            // Options select tests by name, and examples in documentation have no names.
            let options = owned(arguments.get(end + 1..).unwrap_or_default());
            let selection = Selection {
                build: BUILD.iter().map(ToString::to_string).chain(cargo.clone()).collect(),
                documentation: options.is_empty().then(|| [vec!["--workspace".to_string()], cargo].concat()),
                options,
                ..Selection::default()
            };
            suite::run(&folder(), &selection)
        }
        (word, arguments) => refuse(format_args!(
            "'{}': expected quick, test, test-all, ci, parts, steady or suite",
            [&[word], arguments].concat().join(" ")
        )),
    }
}

fn refuse(complaint: impl Display) -> ExitCode {
    eprintln!("qdelay-testing: {complaint}");
    ExitCode::from(2)
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into())).join("suite")
}

fn all_parts() -> Vec<Part> {
    Part::RULES.map(|rule| rule.part).to_vec()
}

/// All tests of the workspace without those of these parts.
fn workspace(options: &[&str], left_out: Vec<Part>) -> Selection {
    Selection {
        build: [&BUILD[..], &["--locked"]].concat().iter().map(ToString::to_string).collect(),
        documentation: Some(owned(&["--workspace", "--locked"])),
        options: owned(options),
        left_out,
        ..Selection::default()
    }
}

fn choice() -> Result<Choice, String> {
    parts::choose_for(Path::new("."))
}

/// Parts with the reason why each runs or is left out.
fn table(choice: &Choice) -> String {
    let mut text = format!("{}\n", choice.reason);
    for rule in &Part::RULES {
        let why = choice.run.iter().find(|(part, _)| *part == rule.part).map(|(_, why)| why.as_str());
        let (what, why) = why.map_or(("left out", "none of its paths changed"), |why| ("runs", why));
        text += &format!("  {:<13} {what:<9} {why}\n", rule.name);
    }
    text
}

/// Message about an unknown variable with the project's prefix.
fn unknown_variable(names: impl Iterator<Item = String>) -> Option<String> {
    let unknown =
        names.filter(|name| name.starts_with("QDELAY_")).find(|name| !VARIABLES.contains(&name.as_str()))?;
    let names = VARIABLES.map(|name| name.trim_start_matches("QDELAY_")).join(", ");
    Some(format!("unknown variable {unknown}; expected QDELAY_ with one of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_variable_is_named() {
        let complaint = |name: &str| unknown_variable(["PATH".to_string(), name.to_string()].into_iter());
        assert_eq!(complaint("QDELAY_EFFORT"), None);
        let found = complaint("QDELAY_EFORT").unwrap();
        assert!(
            found.starts_with("unknown variable QDELAY_EFORT; expected QDELAY_ with one of BROWSER, "),
            "{found}"
        );
    }

    #[test]
    fn variables_are_documented() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../CONTRIBUTING.md"));
        let page = page.expect("CONTRIBUTING.md");
        for name in VARIABLES {
            assert!(page.contains(&format!("`{name}`")), "{name} has no row in CONTRIBUTING.md");
        }
    }
}
