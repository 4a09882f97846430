//! Result folder from another user: no link in it may lead to a file of this user.

use crate::common::{command, file, folder, read, refused, succeed};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const STUDY: &str = r#"
title = "Two cases"
[path]
link = "10mbit"
[[flow]]
transport = "cubic"
[run]
duration = "2s"
seeds = "1..2"
"#;

/// A folder with a study, its results in `out`, and a file of the user's, `mine`, beside it.
struct Place {
    root: PathBuf,
    study: String,
    out: PathBuf,
    mine: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let root = folder(name);
        let (study, out) = (file(&root, "study.toml", STUDY), root.join("out"));
        let mine = PathBuf::from(file(&root, "mine", "mine"));
        let place = Place { root, study, out, mine };
        place.run(&[]);
        place
    }
    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        [&["run", &self.study, "--out", self.out.to_str().unwrap()], more].concat()
    }
    fn run(&self, more: &[&str]) {
        succeed(&self.arguments(more));
    }
    fn link(&self, name: &str) {
        self.link_to(name, &self.mine);
    }
    fn link_to(&self, name: &str, target: &Path) {
        let path = self.out.join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            let _ = fs::remove_file(&path);
        }
        symlink(target, path).unwrap();
    }
    fn assert_unharmed(&self) {
        assert_eq!(fs::read_to_string(&self.mine).unwrap(), "mine");
    }
}

#[test]
fn names_of_what_is_not_whole_yet() {
    let place = Place::new("foreign-partial");
    let theirs = place.root.join("theirs");
    fs::create_dir(&theirs).unwrap();
    let out = place.out.to_str().unwrap();
    let commands = [
        place.arguments(&[]),
        place.arguments(&["--fresh"]),
        vec!["report", out],
        vec!["report", out, "--svg", out],
    ];
    for command in commands {
        for name in ["report.html", "scenario.toml", "summary.json", "study.json", "plane.svg", "cdf.svg"] {
            place.link(&format!(".{name}.partial"));
        }
        for id in ["0-1", "1-2"] {
            place.link_to(&format!("cases/.{id}.partial"), &theirs);
        }
        succeed(&command);
        place.assert_unharmed();
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }
}

#[test]
fn names_of_files() {
    let place = Place::new("foreign-files");
    let others = place.root.join("others");
    for name in ["report.html", "scenario.toml", "summary.json"] {
        place.link(name);
        place.run(&[]);
        place.run(&["--fresh"]);
        place.assert_unharmed();
    }
    for target in [&place.mine, &others] {
        place.link_to("study.json", target);
        for more in [&[][..], &["--fresh"]] {
            refused(&place.arguments(more), &["study.json", "is a symbolic link"]);
        }
        place.assert_unharmed();
        assert!(!others.exists());
    }
    // A pipe without a writer is not waited for.
    fs::remove_file(place.out.join("study.json")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.out.join("study.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    refused(&place.arguments(&[]), &["study.json", "is no regular file"]);
}

/// Copy by hard links: writing in place would change the original too.
#[test]
fn a_file_with_two_names() {
    let place = Place::new("foreign-two-names");
    let copy = place.root.join("copy.json");
    fs::hard_link(place.out.join("study.json"), &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    refused(&place.arguments(&["--fresh", "--seeds", "3"]), &["study.json", "another hard link"]);
    assert_eq!(fs::read(&copy).unwrap(), before);
}

#[test]
fn folders() {
    let place = Place::new("foreign-folders");
    let theirs = place.root.join("theirs");
    fs::rename(place.out.join("cases"), &theirs).unwrap();
    file(&theirs, ".keep.partial", "kept");
    place.link_to("cases", &theirs);
    refused(&place.arguments(&[]), &["cases: is a symbolic link; expected a folder"]);
    let out = place.out.to_str().unwrap();
    refused(&["report", out], &["cases: is a symbolic link; expected a folder"]);
    place.run(&["--fresh"]);
    assert!(place.out.join("cases").symlink_metadata().unwrap().is_dir());
    assert!(theirs.join("0-1/summary.json").exists() && theirs.join(".keep.partial").exists());
    // A case that is a link to another place counts as missing.
    place.link_to("cases/0-1", &theirs.join("0-1"));
    refused(&["report", out], &["cases/0-1: is a symbolic link"]);
    fs::remove_file(theirs.join("0-1/run.json")).unwrap();
    place.run(&[]);
    assert!(place.out.join("cases/0-1").symlink_metadata().unwrap().is_dir());
    assert!(theirs.join("0-1/summary.json").exists() && !theirs.join("0-1/run.json").exists());
}

#[test]
fn reading_follows_no_links() {
    let place = Place::new("foreign-read");
    let out = place.out.to_str().unwrap();
    let elsewhere = place.root.join("elsewhere.json");
    for name in ["summary.json", "cases/0-1/summary.json", "cases/1-2/run.json"] {
        let path = place.out.join(name);
        fs::copy(&path, &elsewhere).unwrap();
        place.link_to(name, &elsewhere);
        refused(
            &["report", out],
            &["summary.json", "is a symbolic link"][usize::from(name.contains("run"))..],
        );
        fs::remove_file(&path).unwrap();
        fs::copy(&elsewhere, &path).unwrap();
    }
    succeed(&["report", out]);
    place.link_to("cases/0-1/run.json", Path::new("/dev/zero"));
    refused(&["report", out], &["run.json", "is a symbolic link"]);
    // A linked file is not accepted as a result: the case runs again.
    place.run(&[]);
    assert_eq!(read(&place.out.join("cases/0-1/run.json"))["id"], "0-1");
}

#[test]
fn scenarios_of_a_paper() {
    let root = folder("foreign-paper");
    let (out, theirs) = (root.join("out"), root.join("theirs"));
    for path in [&out, &theirs] {
        fs::create_dir(path).unwrap();
    }
    symlink(&theirs, out.join("bode")).unwrap();
    let output = command(&["reproduce", "bode", "--out", out.to_str().unwrap()]).output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && line.contains("is a symbolic link"), "{line}");
    assert_eq!(fs::read_dir(theirs).unwrap().count(), 0);
}
