//! Allowed dependencies of crates: the dependencies of every crate, as reported by cargo, compared with the table in
//! `ARCHITECTURE.md`.
//!
//! Nothing is fetched. Where a target without an operating system is installed (`rustup target add x86_64-unknown-none`),
//! the pure crates are built for it too.

use qdelay_core::component::Component;
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crate, the crates that it may depend on, and whether it is pure: `no_std`, with time as an argument, without clock or files.
struct Crate {
    name: &'static str,
    depends_on: &'static [&'static str],
    is_pure: bool,
}

/// Every crate. A new one must be entered here and in `ARCHITECTURE.md`.
const CRATES: &[Crate] = &[
    Crate { name: "qdelay-core", depends_on: &[], is_pure: true },
    Crate { name: "qdelay-trace", depends_on: &["qdelay-core"], is_pure: true },
    Crate { name: "qdelay-ran", depends_on: &["qdelay-core", "qdelay-trace"], is_pure: true },
    Crate { name: "qdelay-path", depends_on: &["qdelay-core", "qdelay-trace", "qdelay-ran"], is_pure: true },
    Crate { name: "qdelay-traffic", depends_on: &["qdelay-core"], is_pure: true },
    Crate { name: "qdelay-record", depends_on: &["qdelay-core"], is_pure: false },
    Crate {
        name: "qdelay-sim",
        depends_on: &[
            "qdelay-core",
            "qdelay-trace",
            "qdelay-ran",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
        ],
        is_pure: false,
    },
    // Only its tests depend on path and sim.
    Crate {
        name: "qdelay-quic",
        depends_on: &["qdelay-core", "qdelay-path", "qdelay-traffic", "qdelay-sim"],
        is_pure: false,
    },
    Crate {
        name: "qdelay-emu",
        depends_on: &["qdelay-core", "qdelay-trace", "qdelay-ran", "qdelay-path", "qdelay-record"],
        is_pure: false,
    },
    Crate { name: "qdelay-config", depends_on: &["qdelay-core"], is_pure: false },
    Crate {
        name: "qdelay-study",
        depends_on: &[
            "qdelay-core",
            "qdelay-config",
            "qdelay-trace",
            "qdelay-ran",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
            "qdelay-sim",
        ],
        is_pure: false,
    },
    Crate {
        name: "qdelay-web",
        depends_on: &[
            "qdelay-core",
            "qdelay-trace",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
            "qdelay-sim",
            "qdelay-study",
        ],
        is_pure: false,
    },
    Crate { name: "qdelay-report", depends_on: &["qdelay-core", "qdelay-study"], is_pure: false },
    Crate {
        name: "qdelay-papers",
        depends_on: &["qdelay-core", "qdelay-ran", "qdelay-study", "qdelay-report"],
        is_pure: false,
    },
    Crate {
        name: "qdelay-terminal",
        depends_on: &["qdelay-core", "qdelay-config", "qdelay-path", "qdelay-emu", "qdelay-study"],
        is_pure: false,
    },
    Crate {
        name: "qdelay-real",
        depends_on: &[
            "qdelay-core",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
            "qdelay-sim",
            "qdelay-emu",
            "qdelay-study",
            "qdelay-terminal",
        ],
        is_pure: false,
    },
    Crate {
        name: "qdelay-lab",
        depends_on: &["qdelay-core", "qdelay-emu", "qdelay-study", "qdelay-terminal", "qdelay-real"],
        is_pure: false,
    },
    Crate {
        name: "qdelay-gateway",
        depends_on: &[
            "qdelay-core",
            "qdelay-config",
            "qdelay-path",
            "qdelay-record",
            "qdelay-emu",
            "qdelay-study",
            "qdelay-terminal",
        ],
        is_pure: false,
    },
    Crate {
        name: "qdelay-proxy",
        depends_on: &[
            "qdelay-core",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-emu",
            "qdelay-study",
            "qdelay-terminal",
        ],
        is_pure: false,
    },
    Crate { name: "qdelay-native", depends_on: &["qdelay-core", "qdelay-traffic"], is_pure: false },
    Crate {
        name: "qdelay",
        depends_on: &[
            "qdelay-core",
            "qdelay-config",
            "qdelay-trace",
            "qdelay-ran",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
            "qdelay-sim",
            "qdelay-quic",
            "qdelay-emu",
            "qdelay-study",
            "qdelay-report",
            "qdelay-papers",
            "qdelay-terminal",
            "qdelay-real",
            "qdelay-lab",
            "qdelay-gateway",
            "qdelay-proxy",
            "qdelay-native",
        ],
        is_pure: false,
    },
    Crate {
        name: "qdelay-dev",
        depends_on: &[
            "qdelay-core",
            "qdelay-trace",
            "qdelay-ran",
            "qdelay-path",
            "qdelay-traffic",
            "qdelay-record",
            "qdelay-sim",
            "qdelay-quic",
            "qdelay-emu",
            "qdelay-study",
            "qdelay-terminal",
            "qdelay-real",
            "qdelay-lab",
            "qdelay-proxy",
            "qdelay",
        ],
        is_pure: false,
    },
    Crate {
        name: "qdelay-py",
        depends_on: &[
            "qdelay-core",
            "qdelay-ran",
            "qdelay-traffic",
            "qdelay-sim",
            "qdelay-native",
            "qdelay-study",
            "qdelay-report",
            "qdelay-terminal",
            "qdelay",
        ],
        is_pure: false,
    },
];

/// Crates that only tests may depend on.
const FOR_TESTS: [&str; 2] = ["qdelay-testing", "qdelay-testing-macros"];

/// External crates allowed for the pure crates; none needs the standard library.
const PURE_DEPENDENCIES: &[&str] = &["libm", "csv-core"];

/// Workspace of the run, not of the build: clones may share a target folder.
pub(crate) fn root() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&crate_folder).join("../..").canonicalize().expect("the workspace is two folders up")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One dependency of one crate.
#[derive(Debug)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or empty.
    kind: String,
}

/// The crates by name, with their dependencies of every kind.
fn crates_of_cargo() -> BTreeMap<String, Vec<Dependency>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let dependency = |entry: &Value| Dependency {
        name: text(&entry["name"]),
        kind: entry["kind"].as_str().unwrap_or_default().to_string(),
    };
    // Examples are workspace members too, and may depend on any crate.
    let is_crate = |package: &&Value| {
        package["manifest_path"].as_str().is_some_and(|path| path.contains("/crates/qdelay"))
    };
    list(&metadata["packages"])
        .iter()
        .filter(is_crate)
        .map(|package| {
            let dependencies = list(&package["dependencies"]).iter().map(dependency).collect();
            (text(&package["name"]), dependencies)
        })
        .collect()
}

fn is_member(name: &str) -> bool {
    CRATES.iter().any(|member| member.name == name)
}

/// Crates that are in no program: only development dependencies on them are allowed.
fn is_beside(name: &str) -> Option<&'static str> {
    FOR_TESTS.contains(&name).then_some("dev")
}

#[test]
fn crates_depend_only_on_those_below_them() {
    let found = crates_of_cargo();
    let declared: Vec<&str> = CRATES.iter().map(|member| member.name).collect();
    for name in found.keys().filter(|name| is_beside(name).is_none()) {
        assert!(is_member(name), "the crate {name} is not in the table of crates: {declared:?}");
    }
    for member in CRATES {
        let dependencies =
            found.get(member.name).unwrap_or_else(|| panic!("there is no crate {}", member.name));
        // Tests too: a test that needs a higher crate belongs there.
        for known in dependencies.iter().filter(|dependency| found.contains_key(&dependency.name)) {
            if let Some(kind) = is_beside(&known.name) {
                assert_eq!(known.kind, kind, "{} depends on {}", member.name, known.name);
                continue;
            }
            assert!(
                member.depends_on.contains(&known.name.as_str()),
                "{} depends on {}, but may only on {:?}",
                member.name,
                known.name,
                member.depends_on
            );
        }
    }
}

/// The table is acyclic: no crate may depend on one that depends on it through others.
#[test]
fn the_table_has_no_cycle() {
    for (index, member) in CRATES.iter().enumerate() {
        for known in member.depends_on {
            let below = CRATES.iter().position(|other| other.name == *known);
            assert!(
                below.is_some_and(|below| below < index),
                "{} may depend on {known}, which does not stand before it",
                member.name
            );
        }
    }
}

#[test]
fn pure_crates_take_little_from_outside() {
    let found = crates_of_cargo();
    for member in CRATES.iter().filter(|member| member.is_pure) {
        for dependency in found[member.name].iter().filter(|dependency| dependency.kind != "dev") {
            assert!(
                is_member(&dependency.name) || PURE_DEPENDENCIES.contains(&dependency.name.as_str()),
                "{} depends on {}; a pure crate may only on {PURE_DEPENDENCIES:?}",
                member.name,
                dependency.name
            );
        }
        for below in member.depends_on {
            let is_pure = CRATES.iter().any(|other| other.name == *below && other.is_pure);
            assert!(is_pure, "{} is pure, but may depend on {below}, which is not", member.name);
        }
    }
}

fn is_no_std(source: &str) -> bool {
    source.lines().any(|line| line.trim() == "#![no_std]")
}

/// True if the standard library is linked outside of tests.
fn links_std(source: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    (0..lines.len()).any(|i| {
        let is_for_tests = i > 0 && lines[i - 1] == "#[cfg(test)]";
        lines[i].starts_with("extern crate std") && !is_for_tests
    })
}

#[test]
fn pure_crates_are_no_std() {
    for member in CRATES.iter().filter(|member| member.is_pure) {
        let source = read(&root().join("crates").join(member.name).join("src/lib.rs"));
        assert!(is_no_std(&source), "{} has no #![no_std]", member.name);
        assert!(!links_std(&source), "{} links the standard library", member.name);
    }
    assert!(!is_no_std("// #![no_std]") && links_std("x\nextern crate std;"));
    assert!(!links_std("#[cfg(test)]\nextern crate std;"));
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for member in CRATES {
        let manifest = read(&root().join("crates").join(member.name).join("Cargo.toml"));
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} has no [lints] workspace = true",
            member.name
        );
        for key in ["version", "edition", "rust-version", "license"] {
            let line = format!("{key}.workspace = true");
            assert!(manifest.contains(&line), "{} has no {line}", member.name);
        }
    }
}

/// Each external dependency has its reason in a table row of CONTRIBUTING.md.
#[test]
fn every_outside_dependency_is_explained() {
    let explained = read(&root().join("CONTRIBUTING.md"));
    for (name, dependencies) in crates_of_cargo() {
        let is_outside = |name: &str| !is_member(name) && is_beside(name).is_none();
        for dependency in dependencies.iter().filter(|dependency| is_outside(&dependency.name)) {
            let row = format!("| `{}` |", dependency.name);
            assert!(
                explained.contains(&row),
                "{name} depends on {}; CONTRIBUTING.md does not say why",
                dependency.name
            );
        }
    }
    // A separate workspace, which this cargo may not be able to build.
    let fuzz = read(&root().join("fuzz/Cargo.toml"));
    let (_, fuzz) = fuzz.split_once("\n[dependencies]\n").expect("a table of dependencies");
    let lines = fuzz.lines().take_while(|line| !line.is_empty());
    for name in lines.filter_map(|line| line.split(' ').next()).filter(|name| !is_member(name)) {
        let row = format!("| `{name}` |");
        assert!(explained.contains(&row), "fuzz depends on {name}; CONTRIBUTING.md does not say why");
    }
}

#[test]
fn every_crate_is_described() {
    let described = read(&root().join("ARCHITECTURE.md"));
    for member in CRATES {
        assert!(
            described.contains(&format!("| `{}` |", member.name)),
            "ARCHITECTURE.md has no row for {}",
            member.name
        );
    }
}

/// Every declared reason of a drop or a mark is explained.
#[test]
fn every_reason_is_in_the_documentation() {
    let text = read(&root().join("docs/measures.md"));
    let drops = qdelay_path::drop_reasons().map(|reason| reason.name());
    for name in drops.chain(qdelay_path::mark_reasons().map(|reason| reason.name())) {
        assert!(text.contains(&format!("`{name}`")), "docs/measures.md does not say what {name} is");
    }
}

/// Every format of traces, with its keys.
#[test]
fn every_format_of_traces_is_in_the_documentation() {
    let text = read(&root().join("docs/scenarios.md"));
    for format in qdelay_trace::format::FORMATS {
        let begins = format!("| `{}` | {}", format.usage, format.component.about);
        let row = text.lines().find(|line| line.starts_with(&begins));
        let row = row.unwrap_or_else(|| panic!("docs/scenarios.md has no row that begins with: {begins}"));
        for parameter in format.component.parameters {
            assert!(row.contains(parameter.name), "{row}: it does not say what {} is", parameter.name);
        }
    }
    for program in qdelay_study::traces::programs::PROGRAMS {
        let begins = format!("| `{}` | ", program.usage);
        let row = text.lines().find(|line| line.starts_with(&begins));
        let row = row.unwrap_or_else(|| panic!("docs/scenarios.md has no row that begins with: {begins}"));
        for parameter in program.component.parameters {
            assert!(row.contains(parameter.name), "{row}: it does not say what {} is", parameter.name);
        }
    }
}

/// A row for each link, but for a rate, which needs no name.
#[test]
fn every_link_is_in_the_documentation() {
    let text = read(&root().join("docs/compare.md"));
    for name in qdelay_path::LINKS.iter().map(|link| link.name).filter(|name| *name != "rate") {
        assert!(
            text.contains(&format!("| `--link {name}")),
            "docs/compare.md has no row for the link {name}"
        );
    }
}

/// A row for each transport with its own page.
#[test]
fn sources_that_adapt_have_their_parameters_on_a_page() {
    const ADAPTING: &[&str] = &[
        "tfrc", "audio", "sprout", "dash", "web", "webrtc", "scream", "frames", "vivace", "c2tcp", "copa",
        "ledbat", "verus",
    ];
    // Keys of all TCP transports are in the listing.
    let of_every_tcp = qdelay_traffic::tcp::KNOBS.map(|knob| knob.name);
    let has = |component: &Component, name: &str| component.parameters.iter().any(|own| own.name == name);
    let built_in = qdelay_traffic::transport::COMPONENTS.iter();
    let rules = qdelay_traffic::streaming::abr::COMPONENTS.iter();
    let of_sources = built_in.filter(|component| ADAPTING.contains(&component.name)).chain(rules);
    let of_quic = qdelay_quic::component::COMPONENTS.iter().map(|component| (component, "quic"));
    for (component, page) in of_sources.map(|component| (component, "sources")).chain(of_quic) {
        let text = read(&root().join("docs").join(format!("{page}.md")));
        let is_tcp = of_every_tcp.iter().all(|name| has(component, name));
        let own = component.parameters.iter();
        for parameter in own.filter(|parameter| !is_tcp || !of_every_tcp.contains(&parameter.name)) {
            let unit = parameter.unit.describe().replace('|', ", ");
            let row = format!(
                "| `{}` | {unit} | {} | {} | {} | {} |",
                parameter.name,
                parameter.default,
                parameter.range(),
                parameter.about,
                parameter.source
            );
            assert!(text.contains(&row), "docs/{page}.md has no row: {row}");
        }
    }
}

/// The installed targets that have no operating system, such as `x86_64-unknown-none`, `thumbv7em-none-eabihf`.
pub(crate) fn bare_targets() -> Vec<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()).output();
    let Ok(output) = output else { return Vec::new() };
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let Ok(entries) = fs::read_dir(Path::new(&sysroot).join("lib/rustlib")) else { return Vec::new() };
    // Beside the folders of targets lie lists of files with similar names.
    let folders = entries.flatten().filter(|entry| entry.path().join("lib").is_dir());
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    let mut targets: Vec<String> = names.filter(|name| name.split('-').any(|part| part == "none")).collect();
    targets.sort();
    targets
}

#[test(Targets)]
fn pure_crates_build_without_an_operating_system() {
    let targets = bare_targets();
    let Some(target) = targets.first() else {
        skip(Need::Tools, "no target without an operating system is installed");
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--locked", "--target", target]);
    // A separate target folder, because the one in use is locked by the process that runs this test.
    cargo.arg("--target-dir").arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("bare"));
    for member in CRATES.iter().filter(|member| member.is_pure) {
        cargo.args(["--package", member.name]);
    }
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "for {target}: {}", String::from_utf8_lossy(&output.stderr));
}
