//! `packaging/install.sh`: installed and removed files, and no change after a refusal or failure.

use crate::architecture::root;
use crate::common::{file, folder, tree};
use crate::packages::{complains, needs, printed, program, script};
use qdelay_testing::{Need, skip};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Archive as made by `packaging/tarball`, of a program that prints this version, with these lines of `REQUIRES` and these pages, and
/// `SHA256SUMS` beside it.
fn archive(folder: &Path, version: &str, requires: &str, pages: &[&str]) -> String {
    let name = format!("qdelay-{version}-{}-linux-gnu", std::env::consts::ARCH);
    let top = folder.join(&name);
    fs::create_dir_all(top.join("bin")).unwrap();
    fs::create_dir_all(top.join("share/man/man1")).unwrap();
    program(&top.join("bin"), "qdelay", &format!("echo qdelay {version}"));
    file(&top, "REQUIRES", format!("version {version}\n{requires}"));
    for page in pages {
        file(&top.join("share/man/man1"), page, "a page");
    }
    let packed = folder.join(format!("{name}.tar.gz"));
    printed(Command::new("tar").arg("-czf").arg(&packed).arg("-C").arg(folder).arg(&name));
    fs::remove_dir_all(&top).unwrap();
    let sums = printed(Command::new("sha256sum").arg(format!("{name}.tar.gz")).current_dir(folder));
    file(folder, "SHA256SUMS", sums);
    packed.to_str().unwrap().to_string()
}

/// Architecture and C library of this machine.
fn here() -> String {
    format!("machine {}\nglibc 2.17\n", std::env::consts::ARCH)
}

fn installer(arguments: &[&str]) -> Command {
    let mut install = Command::new(root().join("packaging/install.sh"));
    install.args(arguments);
    install
}

fn install(archive: &str, prefix: &Path) -> Output {
    installer(&["--archive", archive, "--prefix", prefix.to_str().unwrap()]).output().unwrap()
}

/// Output of the installed command, if there is one.
fn version_in(prefix: &Path) -> Option<String> {
    let output = Command::new(prefix.join("bin/qdelay")).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap().trim().to_string())
}

fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn tools() {
    needs(&["tar", "gzip", "sha256sum", "awk"]);
    if !Command::new("getconf").arg("GNU_LIBC_VERSION").output().is_ok_and(|output| output.status.success()) {
        skip(Need::Tools, "this system has another C library than glibc");
    }
}

#[test(Packages)]
fn the_archive_of_the_command() {
    tools();
    needs(&["make", "strip", "objdump", "python3"]);
    let folder = folder("installed");
    let made = printed(script(&root(), "tarball").arg(env!("CARGO_BIN_EXE_qdelay")).arg(&folder));
    let made = made.lines().last().unwrap().to_string();
    let name = Path::new(&made).file_name().unwrap();
    let sums = printed(Command::new("sha256sum").arg(name).current_dir(&folder));
    file(&folder, "SHA256SUMS", sums);

    // A name with a blank, below a folder that does not exist yet.
    let prefix = folder.join("a user/.local");
    let said = succeeds(&install(&made, &prefix));
    assert!(said.contains("is not in PATH"), "{said}");
    let expected = printed(Command::new(env!("CARGO_BIN_EXE_qdelay")).arg("--version"));
    assert_eq!(version_in(&prefix).as_deref(), Some(expected.trim()));
    let compared = ["compare", "--link", "10mbit", "--qdisc", "codel", "--duration", "2s"];
    let there = printed(Command::new(prefix.join("bin/qdelay")).args(compared));
    assert_eq!(there, printed(Command::new(env!("CARGO_BIN_EXE_qdelay")).args(compared)));
    for name in [
        "share/man/man1/qdelay-link.1",
        "share/bash-completion/completions/qdelay",
        "share/doc/qdelay/gateway.md",
        "share/doc/qdelay/THIRD-PARTY-NOTICES",
        "include/qdelay_component.h",
        "lib/qdelay/current/lib/qdelay/mahimahi/mm-link",
    ] {
        assert!(prefix.join(name).is_file(), "no {name}");
    }
    assert!(!prefix.join("bin/mm-link").exists());
    // A repeated installation changes nothing and leaves no files.
    let before = names(&prefix);
    succeeds(&install(&made, &prefix));
    assert_eq!(names(&prefix), before);
    succeeds(&installer(&["--uninstall", "--prefix", prefix.to_str().unwrap()]).output().unwrap());
    assert_eq!(names(&prefix), Vec::<PathBuf>::new());
}

/// Everything below a folder, links included.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all.sort();
    all
}

#[test]
fn another_version_takes_the_place_of_the_first() {
    tools();
    let folder = folder("upgrade");
    let prefix = folder.join("prefix");
    let old = archive(&folder, "1.0.0", &here(), &["qdelay.1", "qdelay-old.1"]);
    succeeds(&install(&old, &prefix));
    let theirs = file(&prefix.join("bin"), "theirs", "of somebody else");
    let new = archive(&folder, "1.1.0", &here(), &["qdelay.1", "qdelay-new.1"]);

    // The last step that can fail does: the old version stays whole.
    let fake = folder.join("fake");
    fs::create_dir(&fake).unwrap();
    program(&fake, "ln", "exit 1");
    let path = format!("{}:{}", fake.display(), std::env::var("PATH").unwrap());
    let mut failing = installer(&["--archive", &new, "--prefix", prefix.to_str().unwrap()]);
    complains(&failing.env("PATH", path).output().unwrap(), 1, &["lib/qdelay/current: cannot be replaced"]);
    assert_eq!(version_in(&prefix).as_deref(), Some("qdelay 1.0.0"));
    assert!(prefix.join("share/man/man1/qdelay-old.1").is_file());

    succeeds(&install(&new, &prefix));
    assert_eq!(version_in(&prefix).as_deref(), Some("qdelay 1.1.0"));
    let pages = prefix.join("share/man/man1");
    assert!(pages.join("qdelay-new.1").is_file());
    assert!(!pages.join("qdelay-old.1").is_symlink(), "a link that leads nowhere");
    let versions = fs::read_dir(prefix.join("lib/qdelay")).unwrap().count();
    assert_eq!(versions, 2, "the version and 'current'");

    succeeds(&installer(&["--uninstall", "--prefix", prefix.to_str().unwrap()]).output().unwrap());
    assert_eq!(names(&prefix), [prefix.join("bin"), PathBuf::from(&theirs)]);
    let again = installer(&["--uninstall", "--prefix", prefix.to_str().unwrap()]).output().unwrap();
    complains(&again, 1, &["lib/qdelay: not there; nothing of qdelay was installed below "]);
}

#[test]
fn archives_that_are_not_what_they_should_be() {
    tools();
    let folder = folder("not-installed");
    let prefix = folder.join("prefix");
    let good = archive(&folder, "1.0.0", &here(), &[]);
    let name = Path::new(&good).file_name().unwrap().to_str().unwrap().to_string();
    let refused = |archive: &str, parts: &[&str]| {
        complains(&install(archive, &prefix), 1, parts);
        assert!(!prefix.exists(), "something is left");
    };
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    file(&folder, "SHA256SUMS", sums.replace(&sums[..8], "01234567"));
    refused(&good, &["its SHA-256 is ", "SHA256SUMS has 01234567", "nothing was installed"]);
    file(&folder, "SHA256SUMS", sums.replace(&name, "another.tar.gz"));
    refused(&good, &[&format!("SHA256SUMS: has no line for {name}")]);
    fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    refused(&good, &["SHA256SUMS: no such file"]);
    refused(&format!("{good}/{name}"), &["no such file"]);
    refused(
        &format!("http://127.0.0.1/{name}"),
        &["expected a file, or an address that begins with https://"],
    );

    let requires = |lines: &str, parts: &[&str]| refused(&archive(&folder, "1.0.0", lines, &[]), parts);
    requires("machine riscv64\nglibc 2.17\n", &["is for riscv64, and this machine is "]);
    let newer = here().replace("2.17", "99.1");
    requires(&newer, &["needs the GNU C library 99.1 or newer, and this system has 2."]);
    // A valid checksum, but a missing file that every archive has.
    let text = file(&folder, &name, "no archive");
    let sums = printed(Command::new("sha256sum").arg(&name).current_dir(&folder));
    file(&folder, "SHA256SUMS", sums);
    refused(&text, &["/REQUIRES; expected an archive of 'make tarball'"]);
}

#[test]
fn prefixes_that_cannot_be_written_to() {
    tools();
    let folder = folder("prefixes");
    let good = archive(&folder, "1.0.0", &here(), &[]);
    let below_a_file = Path::new(&good).join("prefix");
    complains(&install(&good, &below_a_file), 1, &[&format!("{good} is no folder")]);

    let theirs = folder.join("theirs");
    fs::create_dir_all(theirs.join("bin")).unwrap();
    program(&theirs.join("bin"), "qdelay", "echo another");
    let before = tree(&theirs);
    complains(
        &install(&good, &theirs),
        1,
        &["bin/qdelay: is there, and not of this script", "nothing was installed"],
    );
    assert_eq!(tree(&theirs), before);
    assert!(!theirs.join("lib").exists());

    // A folder without write permission for its owner; root has to give up that privilege first.
    let closed = folder.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    needs(&["setpriv"]);
    let mut install = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        install.arg("--bounding-set=-dac_override,-dac_read_search");
    }
    install.arg(root().join("packaging/install.sh")).args(["--archive", &good, "--prefix"]).arg(&closed);
    complains(&install.output().unwrap(), 1, &["no permission to write to ", "/closed/; choose another"]);
}

#[test]
fn a_full_disk() {
    tools();
    let folder = folder("full");
    let good = archive(&folder, "1.0.0", &here(), &[]);
    let prefix = folder.join("prefix");
    fs::create_dir(&prefix).unwrap();
    // A private namespace: the mount ends with it. All blocks but a few are used.
    let line = r#"mount -t tmpfs -o size=64k tmpfs "$2" && head -c 53248 /dev/zero > "$2/taken" && "$0" --archive "$1" --prefix "$2"
        echo "status $?"; ls -A "$2""#;
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", line]).arg(root().join("packaging/install.sh"));
    let output = unshare.arg(&good).arg(&prefix).output();
    let Some(output) = output.ok().filter(|output| !output.stdout.is_empty()) else {
        skip(Need::Net, "no mount namespaces here");
    };
    complains(&output, 0, &["prefix/lib/qdelay: ", " KiB are free there, and ", "nothing was installed"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "status 1\ntaken\n");
}

#[test]
fn an_address_is_fetched_with_what_there_is() {
    tools();
    let folder = folder("fetched");
    let good = archive(&folder, "1.0.0", &here(), &[]);
    let fake = folder.join("fake");
    fs::create_dir(&fake).unwrap();
    // Replacement of curl: serves files by the last part of their address, without a network.
    let line = format!(
        r#"while [ $# -gt 1 ]; do [ "$1" = --output ] && out=$2; shift; done; cp "{}/$(basename "$1")" "$out""#,
        folder.display()
    );
    program(&fake, "curl", &line);
    let path = format!("{}:{}", fake.display(), std::env::var("PATH").unwrap());
    let name = Path::new(&good).file_name().unwrap().to_str().unwrap().to_string();
    let prefix = folder.join("prefix");
    let fetched = |address: &str| {
        let mut install = installer(&["--archive", address, "--prefix", prefix.to_str().unwrap()]);
        install.env("PATH", &path).output().unwrap()
    };
    let absent = fetched("https://downloads.example/qdelay-9.9.9-x86_64-linux-gnu.tar.gz");
    complains(&absent, 1, &["qdelay-9.9.9-x86_64-linux-gnu.tar.gz: cannot be had"]);
    succeeds(&fetched(&format!("https://downloads.example/{name}")));
    assert_eq!(version_in(&prefix).as_deref(), Some("qdelay 1.0.0"));
}

#[test]
fn options_that_are_none() {
    let ends = |arguments: &[&str], part: &str| {
        complains(&installer(arguments).output().unwrap(), 2, &[part, "--help"]);
    };
    ends(&[], "--archive is missing");
    ends(&["--archive"], "--archive: a value is missing");
    ends(&["--archive", "qdelay.zip"], "'qdelay.zip'; expected qdelay-VERSION-MACHINE-linux-gnu.tar.gz");
    ends(&["--global"], "'--global' is not known");
    ends(&["--uninstall", "--archive", "a"], "--uninstall takes no --archive");
    let help = printed(&mut installer(&["--help"]));
    assert!(help.starts_with("usage: install.sh --archive FILE|URL") && help.contains("--uninstall"));
}

/// A prefix with . and .. is resolved: an installation is replaced and removed under any spelling.
#[test]
fn install_dotdot() {
    tools();
    let folder = folder("installed-dotdot");
    let [first, second] = ["1", "2"].map(|version| {
        let place = folder.join(version);
        fs::create_dir(&place).unwrap();
        archive(&place, version, &here(), &[])
    });
    for (number, (typed, meant)) in
        [("rel/./x", "rel/x"), ("none/../y", "y"), ("deep/a/../../z/.", "z"), ("1/../w/b//c/..", "w/b")]
            .into_iter()
            .enumerate()
    {
        let (typed, meant) = (folder.join(typed), folder.join(meant));
        succeeds(&install(&first, &typed));
        // Installed under one spelling, removed under the other.
        succeeds(&install(&second, if number % 2 == 0 { &typed } else { &meant }));
        assert_eq!(version_in(&meant).as_deref(), Some("qdelay 2"), "{}", meant.display());
        succeeds(&installer(&["--uninstall", "--prefix", typed.to_str().unwrap()]).output().unwrap());
        assert!(!meant.join("bin").exists() && !meant.join("lib").exists(), "{}", meant.display());
    }
    assert!(!folder.join("none").exists() && !folder.join("deep").exists());
}

/// Leftovers of a killed installer are removed by the next one; files of a running one are not.
#[test]
fn leftovers_of_a_killed_installer_are_removed() {
    tools();
    let folder = folder("installed-killed");
    let archive = archive(&folder, "1", &here(), &[]);
    let prefix = folder.join("prefix");
    succeeds(&install(&archive, &prefix));
    let lib = prefix.join("lib/qdelay");
    // Process numbers end before this one.
    let [left, running] =
        ["4999999", &std::process::id().to_string()].map(|id| lib.join(format!(".new.{id}.abcdef")));
    for folder in [&left, &running] {
        fs::create_dir(folder).unwrap();
        file(folder, "archive", "half");
    }
    succeeds(&install(&archive, &prefix));
    assert!(!left.exists() && running.exists());
}
