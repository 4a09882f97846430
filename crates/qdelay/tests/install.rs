//! `make install`: the command, a manual page for each of its commands, and completions.

use crate::architecture::root;
use crate::common::{file, folder, refused, succeed, tree};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn into_a_folder_for_packages() {
    let folder = folder("install");
    let make = |target: &str| {
        let command = env!("CARGO_BIN_EXE_qdelay");
        let made = Command::new("make")
            .args([target, "PREFIX=/usr", &format!("DESTDIR={}", folder.display())])
            .arg(format!("QDELAY={command}"))
            .current_dir(root())
            .output()
            .expect("make runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    make("install");
    for name in ["mm-link", "mm-delay", "mm-loss"] {
        assert_eq!(fs::read_link(folder.join("usr/bin").join(name)).unwrap(), Path::new("qdelay"));
    }
    let share = folder.join("usr/share");
    let pages = names(&share.join("man/man1"));
    assert!(
        ["qdelay.1", "qdelay-link.1", "qdelay-trace-convert.1"]
            .iter()
            .all(|page| pages.iter().any(|name| name == page))
    );
    assert!(!pages.iter().any(|page| page.contains("help")), "{pages:?}");
    let page = fs::read_to_string(share.join("man/man1/qdelay-link.1")).unwrap();
    assert!(
        page.contains("qdelay\\-link \\- ")
            && page.contains("\\-\\-qdisc")
            && page.contains("QDELAY_OUTSIDE")
    );
    let shells = [
        ("bash", "bash-completion/completions/qdelay"),
        ("zsh", "zsh/site-functions/_qdelay"),
        ("fish", "fish/vendor_completions.d/qdelay.fish"),
    ];
    for (shell, path) in shells {
        let installed = fs::read_to_string(share.join(path)).unwrap();
        assert!(installed.contains("reproduce") && installed.contains("up-qdisc"), "{shell}");
        assert_eq!(installed, succeed(&["completions", shell]), "{shell}");
    }
    let installed = Command::new(folder.join("usr/bin/qdelay")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(installed.stdout).unwrap(), succeed(&["--version"]));

    // Only installed files are removed again.
    fs::remove_file(folder.join("usr/bin/mm-loss")).unwrap();
    let theirs = [file(&folder.join("usr/bin"), "mm-loss", "mahimahi's own")];
    make("uninstall");
    assert_eq!(
        tree(&folder).keys().map(|path| folder.join(path)).collect::<Vec<_>>(),
        theirs.map(PathBuf::from)
    );
}

#[test]
fn folders_and_shells_that_are_none() {
    refused(&["man", "/nowhere/at/all"], &["/nowhere/at/all: no such folder; expected one for the pages"]);
    refused(&["completions", "tcsh"], &["'tcsh' is not known; expected one of bash, elvish, fish"]);
    refused(&["completions"], &["completions: ", "is missing"]);
}
