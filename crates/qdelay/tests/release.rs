//! `packaging/release`: the files that it makes, and refusals before it makes any. It uploads nothing.

use crate::architecture::root;
use crate::common::{file, folder};
use crate::packages::{complains, needs, printed, program, script};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Git in a folder, for a user without settings.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@debian.org"];
    let mut git = Command::new("git");
    git.env_remove("GIT_DIR").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    printed(git.args(identity).args(arguments).current_dir(folder)).trim().to_string()
}

/// Checkout with the files that the script reads, and this changelog.
fn checkout(name: &str, changelog: &str) -> PathBuf {
    let checkout = folder(name).join("checkout");
    fs::create_dir_all(checkout.join("packaging")).unwrap();
    for entry in fs::read_dir(root().join("packaging")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, checkout.join("packaging").join(path.file_name().unwrap())).unwrap();
        }
    }
    for name in ["Cargo.toml", "Makefile"] {
        fs::copy(root().join(name), checkout.join(name)).unwrap();
    }
    file(&checkout, ".gitignore", "/target\n");
    file(&checkout, "CHANGELOG.md", changelog);
    git(&checkout, &["init", "--quiet"]);
    git(&checkout, &["add", "--all"]);
    git(&checkout, &["commit", "--quiet", "--message", "all of it"]);
    checkout
}

/// Program that prints the version of a command of this commit.
fn command_of(checkout: &Path, name: &str, commit: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    program(checkout.parent().unwrap(), name, &format!("echo 'qdelay {version} ({commit})'"))
}

/// Runs the script there, for the parts that need only git.
fn release(checkout: &Path, command: &str, more: &[&str]) -> Command {
    let mut release = script(checkout, "release");
    release.args(["--command", command, "--without", "tarball,deb,sbom,wheel,crates,playground,site"]);
    release.env_remove("GIT_DIR").env_remove("CARGO_TARGET_DIR").args(more);
    release
}

fn released() -> String {
    format!("# Changelog\n\n## {} - 2026-11-26\n\n### Added\n", env!("CARGO_PKG_VERSION"))
}

#[test]
fn a_release_of_a_committed_tree() {
    needs(&["git", "sha256sum"]);
    let checkout = checkout("release", &released());
    let command = command_of(&checkout, "command", &git(&checkout, &["rev-parse", "--short=10", "HEAD"]));
    let said = printed(&mut release(&checkout, &command, &[]));
    assert!(said.contains("Nothing was uploaded") && said.contains("git tag --annotate v"), "{said}");
    assert!(!said.contains("cargo publish") && !said.contains("dry run"), "{said}");
    let made = checkout.join("target/dist").join(env!("CARGO_PKG_VERSION"));
    printed(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&made));
    let source = format!("qdelay-{}-source.tar.gz", env!("CARGO_PKG_VERSION"));
    let listed = printed(Command::new("tar").arg("-tzf").arg(made.join(&source)));
    assert!(listed.lines().any(|line| line.ends_with("/packaging/release")), "{listed}");
    // The same again, byte for byte, in the same place.
    let sums = fs::read(made.join("SHA256SUMS")).unwrap();
    printed(&mut release(&checkout, &command, &[]));
    assert!(fs::read(made.join("SHA256SUMS")).unwrap() == sums);
    assert_eq!(fs::read_dir(checkout.join("target/dist")).unwrap().count(), 1, "nothing half-made is left");
}

/// Results of other Makefile targets, here from a stand-in for make, are all included, and listed with the command that uploads them.
#[test]
fn parts_of_other_targets() {
    needs(&["git", "sha256sum"]);
    let checkout = checkout("release-parts", &released());
    let version = env!("CARGO_PKG_VERSION");
    let makefile = fs::read_to_string(checkout.join("Makefile")).unwrap();
    file(&checkout, "Makefile", makefile + "\ndocs:\n");
    git(&checkout, &["commit", "--quiet", "--all", "--message", "a site"]);
    let command = command_of(&checkout, "command", &git(&checkout, &["rev-parse", "--short=10", "HEAD"]));
    let fake = folder("release-parts-programs");
    program(&fake, "maturin", "exit 1");
    let line = format!(
        "case $1 in wheel) set wheels qdelay-{version}-py3.whl qdelay-{version}.tar.gz;; package) set package qdelay-core-{version}.crate;; \
         playground) set playground index.html;; docs) set site index.html;; esac; mkdir -p target/$1; cd target/$1; shift; touch \"$@\""
    );
    program(&fake, "make", &line);
    let mut release = script(&checkout, "release");
    release.args(["--command", &command, "--without", "source,tarball,deb,sbom"]);
    release.env_remove("GIT_DIR").env_remove("CARGO_TARGET_DIR");
    release.env("PATH", format!("{}:{}", fake.display(), std::env::var("PATH").unwrap()));
    let said = printed(&mut release);
    let made = checkout.join("target/dist").join(version);
    for name in [
        format!("qdelay-{version}-py3.whl"),
        format!("qdelay-{version}.tar.gz"),
        format!("crates/qdelay-core-{version}.crate"),
        format!("qdelay-playground-{version}.html"),
        format!("qdelay-site-{version}.tar.gz"),
    ] {
        assert!(made.join(&name).is_file() && said.contains(&name), "{name}: {said}");
    }
    for upload in ["cargo publish --workspace --exclude qdelay-testing ", "maturin upload "] {
        assert!(said.contains(upload), "{upload}: {said}");
    }
}

#[test]
fn incomplete_releases_are_refused() {
    needs(&["git"]);
    let checkout = checkout("release-refused", "# Changelog\n\n## Unreleased\n");
    let commit = git(&checkout, &["rev-parse", "--short=10", "HEAD"]);
    let command = command_of(&checkout, "command", &commit);
    let refused = |checkout: &Path, command: &str, parts: &[&str]| {
        complains(&release(checkout, command, &[]).output().unwrap(), 1, parts);
        assert!(!checkout.join("target").exists(), "nothing is made");
    };
    refused(&checkout, &command, &["CHANGELOG.md has no heading '## ", "Cargo.toml has version "]);
    // A dry run prints the same message and continues.
    let out = checkout.parent().unwrap().join("dry");
    let dry = ["--dry-run", "--out", out.to_str().unwrap()];
    let said = printed(&mut release(&checkout, &command, &dry));
    assert!(
        said.contains("dry run goes on: CHANGELOG.md") && said.contains("none of this is a release"),
        "{said}"
    );
    assert!(out.join("SHA256SUMS").is_file());

    file(&checkout, "CHANGELOG.md", released());
    refused(&checkout, &command, &["changes that are not committed:  M CHANGELOG.md"]);
    git(&checkout, &["commit", "--quiet", "--all", "--message", "released"]);
    refused(&checkout, &command, &[&format!("({commit})'; expected one of the commit ")]);
    let tag = format!("v{}", env!("CARGO_PKG_VERSION"));
    git(&checkout, &["tag", &tag, "HEAD~1"]);
    refused(&checkout, &command, &[&format!("the tag {tag} is another commit")]);
}

#[test]
fn options_that_are_none() {
    needs(&["git"]);
    let ends = |arguments: &[&str], part: &str| {
        complains(&script(&root(), "release").args(arguments).output().unwrap(), 2, &[part, "--help"]);
    };
    ends(&["--without", "wheel,rpm"], "there is no part 'rpm'; expected some of source tarball");
    ends(&["--upload"], "'--upload' is not known");
    ends(&["--out"], "--out: a value is missing");
}
