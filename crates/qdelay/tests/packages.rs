//! Packages of the command made by the scripts of `packaging/`: contents, equal bytes when made twice, and
//! refusals; and manifests for registries.

use crate::architecture::root;
use crate::common::{file, folder, tree};
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const COMMAND: &str = env!("CARGO_BIN_EXE_qdelay");

/// Skips the test where one of these programs is missing.
pub fn needs(programs: &[&str]) {
    let is_there = |program: &&&str| {
        let found = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&found).any(|folder| folder.join(program).is_file())
    };
    if let Some(missing) = programs.iter().find(|program| !is_there(program)) {
        skip(Need::Tools, format!("no {missing} command"));
    }
}

/// Script of `packaging/` of the checkout `root`, with the settings that its result depends on.
pub fn script(root: &Path, name: &str) -> Command {
    let mut command = Command::new(root.join("packaging").join(name));
    command.env("DEBFULLNAME", "A packager").env("DEBEMAIL", "packager@debian.org");
    command.env("SOURCE_DATE_EPOCH", "1750000000").env("QDELAY_DEB_COMPRESSION", "gzip");
    command
}

/// Output of a command that must succeed.
pub fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}{complaint}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts that the command ends with this status, and prints each of `parts` on standard error.
pub fn complains(output: &Output, status: i32, parts: &[&str]) {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{complaint}");
    for part in parts {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

/// A program of one line of shell.
pub fn program(folder: &Path, name: &str, line: &str) -> String {
    let path = file(folder, name, format!("#!/bin/sh\n{line}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn last_line(text: &str) -> &str {
    text.lines().last().expect("a line")
}

#[test(Packages)]
fn a_debian_package_has_all_of_the_command() {
    needs(&["dpkg-deb", "dpkg-shlibdeps", "strip", "python3"]);
    let folder = folder("deb");
    let make = |name: &str| {
        let said = printed(script(&root(), "deb").arg(COMMAND).arg(folder.join(name)));
        PathBuf::from(last_line(&said))
    };
    let (package, again) = (make("one"), make("other"));
    assert!(fs::read(&package).unwrap() == fs::read(&again).unwrap(), "made twice, other bytes");

    let version = env!("CARGO_PKG_VERSION");
    let field = |name: &str| printed(Command::new("dpkg-deb").arg("--field").arg(&package).arg(name));
    assert_eq!(field("Maintainer").trim(), "A packager <packager@debian.org>");
    assert!(field("Version").starts_with(version), "{}", field("Version"));
    assert!(field("Depends").contains("libc6 (>= 2."), "{}", field("Depends"));
    let listed = printed(Command::new("dpkg-deb").arg("--contents").arg(&package));
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");

    let unpacked = folder.join("unpacked");
    printed(Command::new("dpkg-deb").arg("--raw-extract").arg(&package).arg(&unpacked));
    for name in [
        "usr/share/man/man1/qdelay.1.gz",
        "usr/share/man/man1/qdelay-link.1.gz",
        "usr/share/bash-completion/completions/qdelay",
        "usr/share/zsh/vendor-completions/_qdelay",
        "usr/share/fish/vendor_completions.d/qdelay.fish",
        "usr/include/qdelay_component.h",
        "usr/share/doc/qdelay/copyright",
        "usr/share/doc/qdelay/changelog.gz",
        "usr/share/doc/qdelay/changelog.Debian.gz",
        "usr/share/doc/qdelay/THIRD-PARTY-NOTICES.gz",
        "usr/share/doc/qdelay/qdelay.cdx.json",
        "usr/share/doc/qdelay/examples/gateway.toml",
        "usr/share/doc/qdelay/examples/prometheus/qdelay-gateway.rules.yml",
        "usr/share/doc/qdelay/examples/grafana/qdelay-gateway.json",
    ] {
        assert!(unpacked.join(name).is_file(), "no {name} in: {listed}");
    }
    // The files that its unit names are in the package.
    let unit = fs::read_to_string(unpacked.join("usr/lib/systemd/system/qdelay-gateway@.service")).unwrap();
    let named = |key: &str| {
        let value = unit.lines().find_map(|line| line.strip_prefix(key)).expect("a line of this key");
        value.split(' ').next().expect("a word").trim_start_matches("file://").to_string()
    };
    for key in ["ExecStart=", "Documentation="] {
        assert!(unpacked.join(named(key).trim_start_matches('/')).is_file(), "{key}{}", named(key));
    }
    // Installed beside mahimahi: mahimahi's names are nowhere in PATH.
    assert!(!listed.contains("./usr/bin/mm-"), "{listed}");
    for name in ["mm-link", "mm-delay", "mm-loss"] {
        let link = unpacked.join("usr/lib/qdelay/mahimahi").join(name);
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("../../../bin/qdelay"));
        assert!(link.exists(), "{name} leads nowhere");
    }
    let installed = printed(Command::new(unpacked.join("usr/bin/qdelay")).arg("--version"));
    assert_eq!(installed, printed(Command::new(COMMAND).arg("--version")));

    needs(&["lintian"]);
    let judged = Command::new("lintian").args(["--allow-root", "--no-cfg"]).arg(&package).output().unwrap();
    let judged =
        format!("{}{}", String::from_utf8_lossy(&judged.stdout), String::from_utf8_lossy(&judged.stderr));
    let found: Vec<&str> = judged.lines().filter(|line| line.starts_with("E: ")).collect();
    assert!(found.is_empty(), "lintian: {judged}");
}

#[test(Packages)]
fn notices_and_a_bill_of_what_is_linked() {
    needs(&["python3"]);
    let folder = folder("dependencies");
    let (notices, bill) = (folder.join("notices"), folder.join("bill"));
    let mut made = script(&root(), "dependencies");
    printed(made.arg("--notices").arg(&notices).arg("--sbom").arg(&bill));
    let bill: Value = serde_json::from_slice(&fs::read(&bill).unwrap()).unwrap();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    assert_eq!(bill["metadata"]["timestamp"], "2025-06-15T15:06:40Z");
    assert_eq!(bill["metadata"]["component"]["name"], "qdelay");
    let components = bill["components"].as_array().unwrap();
    let has = |name: &str| components.iter().any(|component| component["name"] == name);
    assert!(["clap", "parquet", "qdelay-core", "uPlot", "notosans"].iter().all(|name| has(name)));
    // Crates used only by tests and build scripts are not linked.
    assert!(!["proptest", "qdelay-testing", "qdelay-dev"].iter().any(|name| has(name)));
    let licensed = |component: &Value| component["licenses"][0]["expression"].as_str().map(str::len);
    assert!(components.iter().all(|component| licensed(component) > Some(2)));
    let notices = fs::read_to_string(&notices).unwrap();
    assert!(notices.contains("SIL OPEN FONT LICENSE") && notices.contains("uPlot, plots over time"));
    assert!(notices.lines().any(|line| line.starts_with("tiny-skia 0") && line.contains("BSD-3-Clause")));
}

#[test(Packages)]
fn packages_of_what_is_no_command_of_this_version() {
    needs(&["dpkg-deb", "dpkg-shlibdeps", "strip", "python3"]);
    let folder = folder("deb-refused");
    let made = |command: &str| script(&root(), "deb").arg(command).arg(folder.join("out")).output().unwrap();
    complains(&made("/nowhere/qdelay"), 1, &["deb: /nowhere/qdelay: no such command", "make build"]);
    let other = program(&folder, "other", "echo qdelay 99.0.0");
    complains(&made(&other), 1, &["is 'qdelay 99.0.0'; expected qdelay ", "Cargo.toml"]);
    let broken = program(&folder, "broken", "echo no such library >&2; exit 127");
    complains(&made(&broken), 1, &["does not run here: no such library"]);
    assert_eq!(tree(&folder).len(), 2, "nothing is left");
}

#[test(Packages)]
fn scripts_are_clean() {
    needs(&["shellcheck"]);
    let scripts = fs::read_dir(root().join("packaging")).unwrap().map(|entry| entry.unwrap().path());
    let scripts: Vec<PathBuf> = scripts
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "sh")
                || path.is_file() && fs::read(path).unwrap().starts_with(b"#!/bin/sh")
        })
        .collect();
    assert!(scripts.len() > 5, "{scripts:?}");
    printed(Command::new("shellcheck").arg("--external-sources").args(&scripts).current_dir(root()));
}

#[test]
fn manifests_tell_registries_what_they_ask_for() {
    let metadata = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata = printed(Command::new(env!("CARGO")).args(metadata).current_dir(root()));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let mut published = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        published += 1;
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"), "{name}");
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        for key in ["description", "readme", "rust_version", "edition"] {
            assert!(package[key].as_str().is_some_and(|text| text.len() > 1), "{name}: no {key}");
        }
        for (key, most) in [("keywords", 5), ("categories", 5)] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=most).contains(&count), "{name}: {count} {key}");
        }
        // Both licences require their text in distributions, and a crate is distributed alone.
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(
                fs::read(folder.join(licence)).unwrap(),
                fs::read(root().join(licence)).unwrap(),
                "{name}"
            );
        }
    }
    assert!(published >= 20, "{published}");

    let python = root().join("crates/qdelay-py");
    let project = fs::read_to_string(python.join("pyproject.toml")).unwrap();
    for key in
        ["description", "readme", "requires-python", "license", "license-files", "authors", "classifiers"]
    {
        assert!(
            project.lines().any(|line| line.starts_with(&format!("{key} = "))),
            "pyproject.toml: no {key}"
        );
    }
    assert!(python.join("LICENSE-MIT").is_file() && python.join("LICENSE-APACHE").is_file());
}
