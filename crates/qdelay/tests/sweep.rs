//! `qdelay run --shard` and `qdelay merge`: bytes equal to a single run under any failure of workers, and refusals.

use crate::common::{assert_equal, file, folder, refused, run, succeed, tree};
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Eighty cases that take some milliseconds each.
const MATRIX: &str = r#"
title = "Eighty cases"
[path]
trace = "synth-lte-driving"
[[flow]]
name = "file"
[run]
duration = "1s"
seeds = "1..4"
[matrix]
path.qdisc = ["taildrop", "headdrop", "codel", "pie", "bode:target=20ms"]
flow.file.transport = ["cubic", "bbr"]
path.rtt = ["10ms", "40ms"]
[[expect]]
claim = "something comes through"
measure = "throughput_mbps"
low = 0.01
"#;

/// `qdelay run matrix.toml` in `folder`.
fn command(folder: &Path, more: &[&str]) -> Command {
    let mut command = crate::common::command(&["run", "matrix.toml", "--series", "--packets"]);
    command.args(more).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn done(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Folder with the scenario, and the results of a single run in `whole/out`.
fn study(name: &str, text: &str) -> PathBuf {
    let folder = folder(name);
    file(&folder, "matrix.toml", text);
    done(command(&folder, &["--out", "whole/out"]));
    folder
}

fn merge(folder: &Path, parts: &[&str], out: &str) -> Output {
    let mut merge = crate::common::command(&[&["merge"], parts, &["-o", out]].concat());
    merge.current_dir(folder).output().unwrap()
}

fn merged(folder: &Path, parts: &[&str]) {
    fs::create_dir_all(folder.join("merged")).unwrap();
    let output = merge(folder, parts, "merged/out");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_equal(&folder.join("whole/out"), &folder.join("merged/out"));
    assert_eq!(fs::read_dir(folder.join("merged")).unwrap().count(), 1, "nothing else is left");
}

/// Asserts that merging refuses with one line that contains all of `parts`, and leaves no folder.
fn not_merged(folder: &Path, folders: &[&str], parts: &[&str]) {
    let output = merge(folder, folders, "refused");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{line}");
    parts.iter().for_each(|part| assert!(line.contains(part), "'{part}' is not in: {line}"));
    let left: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("refused")), "{left:?}");
}

fn finished(out: &Path) -> usize {
    let Ok(entries) = fs::read_dir(out.join("cases")) else { return 0 };
    entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
}

/// Waits until this many cases are in `out`, or the process has ended.
#[allow(clippy::disallowed_methods, reason = "nothing but time tells how far another process is")]
fn wait_for(child: &mut Child, out: &Path, cases: usize) {
    while finished(out) < cases && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn folders_of_their_own_become_one() {
    let folder = study("sweep-own", MATRIX);
    for of in [1, 3, 8] {
        let parts: Vec<String> = (1..=of).map(|index| format!("part-{index}-of-{of}")).collect();
        for (index, part) in (1..).zip(&parts) {
            let shard = format!("{index}/{of}");
            done(command(&folder, &["--shard", &shard, "--out", part, "--jobs", "1"]));
            let (cases, least) = (finished(&folder.join(part)), 80 / of);
            assert!((least..=least + 1).contains(&cases), "{shard}: {cases}");
            assert!(!folder.join(part).join("summary.json").exists());
        }
        // Folders may be given in any order.
        let parts: Vec<&str> = parts.iter().rev().map(String::as_str).collect();
        merged(&folder, &parts);
        fs::remove_dir_all(folder.join("merged")).unwrap();
    }
}

#[test]
fn one_folder_for_all_at_once() {
    let folder = study("sweep-shared", MATRIX);
    let mut all: Vec<Child> = (1..=4)
        .map(|index| {
            command(&folder, &["--shard", &format!("{index}/4"), "--out", "shared/out", "--jobs", "1"])
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut all {
        assert!(child.wait().unwrap().success());
    }
    let shared = folder.join("shared/out");
    let mut names: Vec<_> = fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["cases", "scenario.toml", "shards", "study.json"]);
    merged(&folder, &["shared/out"]);
    // A run of all cases in a complete folder writes the summary and runs no case.
    let before = fs::read_dir(shared.join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap())
        .max();
    done(command(&folder, &["--out", "shared/out"]));
    let after = fs::read_dir(shared.join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap())
        .max();
    assert_eq!(before, after);
    assert_equal(&folder.join("whole/out"), &shared);
}

#[test(waits)]
fn killed_workers_go_on() {
    let folder = study("sweep-killed", &MATRIX.replace("1s", "4s"));
    for shard in ["1/2", "2/2"] {
        let arguments = ["--shard", shard, "--out", "shared", "--jobs", "2"];
        for more in [0, 5, 15] {
            let there = finished(&folder.join("shared"));
            let mut child = command(&folder, &arguments).spawn().unwrap();
            wait_for(&mut child, &folder.join("shared"), there + more);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        done(command(&folder, &arguments));
        let partial = |entry: fs::DirEntry| entry.file_name().to_string_lossy().ends_with(".partial");
        assert!(!fs::read_dir(folder.join("shared/cases")).unwrap().flatten().any(partial));
    }
    merged(&folder, &["shared"]);
}

/// A killed merge leaves no folder of the new name, and the next merge removes its temporary files.
#[test]
fn a_killed_merge_leaves_nothing() {
    let folder = study("sweep-merge-killed", MATRIX);
    done(command(&folder, &["--shard", "1/1", "--out", "part"]));
    fs::create_dir(folder.join("merged")).unwrap();
    let mut merge = crate::common::command(&["merge", "part", "-o", "merged/out", "--jobs", "1"]);
    let mut child = merge.current_dir(&folder).stdout(Stdio::null()).spawn().unwrap();
    while fs::read_dir(folder.join("merged")).unwrap().count() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if folder.join("merged/out").exists() {
        // The merge ended before the signal.
        fs::remove_dir_all(folder.join("merged/out")).unwrap();
    }
    merged(&folder, &["part"]);
}

/// Files that other workers are writing are left alone, whether their lock is visible here or not.
#[test]
fn partial_files_of_other_shards_stay() {
    let folder = folder("sweep-partial");
    file(&folder, "matrix.toml", MATRIX);
    done(command(&folder, &["--shard", "1/2", "--out", "shared"]));
    let cases = folder.join("shared/cases");
    let name = fs::read_dir(&cases).unwrap().flatten().next().unwrap().file_name().into_string().unwrap();
    // A case of the first shard, not locked: a worker on another machine may be writing it.
    let partial = cases.join(format!(".{name}.0123456789abcdef0123456789abcdef.partial"));
    fs::create_dir(&partial).unwrap();
    done(command(&folder, &["--shard", "2/2", "--out", "shared"]));
    assert!(partial.exists());
    done(command(&folder, &["--shard", "1/2", "--out", "shared"]));
    assert!(!partial.exists(), "its own shard is held by one process");
}

#[test]
fn shards_that_cannot_be() {
    let folder = folder("sweep-shards");
    let matrix = file(&folder, "matrix.toml", MATRIX);
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    for (shard, part) in [
        ("9/8", "there is no shard 9 of 8; expected 1/8 to 8/8"),
        ("0/8", "there is no shard 0 of 8"),
        ("1/0", "there are no shards"),
        ("3", "such as 3/8"),
        ("81/81", "81/81 of 80 cases leaves shards without a case; expected at most 80 shards"),
    ] {
        refused(&["run", &matrix, "--out", out, "--shard", shard], &["--shard", part]);
    }
    refused(
        &["run", &matrix, "--out", out, "--shard", "1/2", "--fresh"],
        &["--fresh", "results of other shards"],
    );
    assert!(!Path::new(out).exists());
    let shard = ["run", &matrix, "--out", out, "--shard", "1/2"];
    let text = succeed(&shard);
    assert!(text.starts_with("Shard 1/2 of matrix: 40 of 80 cases."), "{text}");
    let value: Value = serde_json::from_str(&succeed(&[&shard[..], &["--json"]].concat())).unwrap();
    assert_eq!((&value["shard"]["index"], &value["shard"]["cases"]), (&Value::from(1), &Value::from(40)));
    refused(
        &["run", &matrix, "--out", out, "--shard", "1/3"],
        &[out, "holds shards of a study cut into 2, but this is one of 3"],
    );
    assert_eq!(fs::read_dir(Path::new(out).join("shards")).unwrap().count(), 1);
    refused(
        &[&shard[..], &["--duration", "2s"]].concat(),
        &[out, "holds results with duration = that of the scenario"],
    );
    refused(&[&shard[..], &["--seeds", "1..5"]].concat(), &[out, "holds results for fewer seeds"]);
    refused(&["report", out], &[out]);
}

/// A shard is run by one process only, and a run of all cases waits for no shard in progress.
#[test(waits)]
fn a_shard_that_is_run_is_left_alone() {
    let folder = folder("sweep-held");
    file(&folder, "matrix.toml", MATRIX.replace("1s", "300s"));
    let mut child = command(&folder, &["--shard", "1/2", "--out", "out", "--jobs", "1"]).spawn().unwrap();
    wait_for(&mut child, &folder.join("out"), 1);
    for (arguments, line) in [
        (&["--shard", "1/2"][..], "shard 1/2 is being run by another process"),
        (&[], "another run is writing to it"),
        (&["--fresh"], "another run is writing to it"),
    ] {
        let output = command(&folder, &[arguments, &["--out", "out"]].concat()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.starts_with("qdelay: out: ") && error.contains(line), "{error}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_cannot_be_merged() {
    let folder = folder("sweep-refused");
    let small = MATRIX.replace("1..4", "1");
    file(&folder, "matrix.toml", &small);
    let part = |shard: &str, out: &str, more: &[&str]| {
        done(command(&folder, &[&["--shard", shard, "--out", out], more].concat()));
    };
    part("1/4", "one", &[]);
    part("2/4", "two", &[]);
    part("3/4", "three", &[]);
    part("4/4", "four", &[]);
    let all = ["one", "two", "three", "four"];
    // Folders.
    fs::create_dir(folder.join("empty")).unwrap();
    not_merged(&folder, &["one", "empty"], &["empty: has no study.json; expected a folder of 'qdelay run'"]);
    not_merged(&folder, &["one", "nothing"], &["nothing: does not exist"]);
    not_merged(&folder, &["one", "matrix.toml"], &["matrix.toml: is no folder"]);
    for (out, line) in
        [("one", "one: exists already"), ("no/where", "no: is not a folder"), ("..", "exists already")]
    {
        let output = merge(&folder, &all, out);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(line));
    }
    // Other studies.
    part("1/4", "longer", &["--duration", "2s"]);
    not_merged(
        &folder,
        &["two", "longer"],
        &["longer: holds results with duration = 2s, but two has that of the scenario"],
    );
    part("1/4", "seeds", &["--seeds", "2"]);
    not_merged(&folder, &["two", "seeds"], &["seeds: holds results for the seeds 2, and two for 1"]);
    file(&folder, "matrix.toml", small.replace("40ms", "50ms"));
    part("1/4", "changed", &[]);
    not_merged(
        &folder,
        &["two", "changed"],
        &["changed: holds results of another text of the scenario 'matrix' than two"],
    );
    file(&folder, "matrix.toml", &small);
    let edit = |name: &str, from: &str, to: &str| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replace(from, to)).unwrap();
        text
    };
    let version = format!("\"qdelay\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let study = edit("two/study.json", &version, "\"qdelay\": \"0.0.0\"");
    not_merged(&folder, &all, &["two: holds results of version 0.0.0, and one is"]);
    not_merged(&folder, &["two"], &["two: holds results of version 0.0.0, and this is"]);
    fs::write(folder.join("two/study.json"), "{").unwrap();
    not_merged(&folder, &all, &["two: has an invalid study.json"]);
    fs::write(folder.join("two/study.json"), study).unwrap();
    let scenario = edit("one/scenario.toml", "Eighty", "Twenty");
    not_merged(&folder, &all, &["one: scenario.toml was changed"]);
    fs::write(folder.join("one/scenario.toml"), scenario).unwrap();
    // Cases.
    not_merged(
        &folder,
        &["one", "two", "four"],
        &["merge: 5 of 20 cases are missing: shards 3/4 (not among these folders)"],
    );
    let case = fs::read_dir(folder.join("two/cases")).unwrap().flatten().next().unwrap().path();
    let summary = case.join("summary.json");
    let whole = fs::read(&summary).unwrap();
    fs::write(&summary, [&whole[..], b" "].concat()).unwrap();
    not_merged(&folder, &all, &["1 of 20 cases are damaged: shards 2/4 (in two)"]);
    fs::write(&summary, whole).unwrap();
    let moved = folder.join("moved");
    fs::rename(&case, &moved).unwrap();
    not_merged(
        &folder,
        &all,
        &["1 of 20 cases are missing: shards 2/4 (in two); expected each to be run to its end"],
    );
    part("2/4", "two", &[]);
    // The same case twice: with equal bytes, and with others.
    let twin = folder.join("one/cases").join(case.file_name().unwrap());
    fs::rename(&moved, &twin).unwrap();
    let output = merge(&folder, &all, "twice");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run_json = twin.join("run.json");
    fs::write(&run_json, [fs::read(&run_json).unwrap(), b"\n".to_vec()].concat()).unwrap();
    // A damaged copy: the intact one is taken.
    let output = merge(&folder, &all, "damaged");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(tree(&folder.join("twice/cases")) == tree(&folder.join("damaged/cases")));
    let sums = Command::new("sha256sum").args(["run.json", "summary.json"]).current_dir(&twin).output();
    let Ok(sums) = sums else { skip(Need::Tools, "there is no sha256sum") };
    fs::write(twin.join("SHA256SUMS"), sums.stdout).unwrap();
    not_merged(&folder, &all, &["two/cases/", "differs from one/cases/"]);
}

/// A symbolic link leads out of the folder, for example to a private file of the user.
#[test]
fn merge_follows_no_link_in_place_of_a_case() {
    let folder = folder("sweep-link");
    file(&folder, "matrix.toml", MATRIX.replace("1..4", "1"));
    for (shard, out) in [("1/2", "one"), ("2/2", "two")] {
        done(command(&folder, &["--shard", shard, "--out", out]));
    }
    let case = fs::read_dir(folder.join("one/cases")).unwrap().flatten().next().unwrap().path();
    let elsewhere = folder.join("elsewhere");
    fs::rename(&case, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &case).unwrap();
    not_merged(&folder, &["one", "two"], &["one/cases/", "is a symbolic link; expected a folder"]);
    // A link in place of a case's file counts as a missing file.
    fs::remove_file(&case).unwrap();
    fs::rename(&elsewhere, &case).unwrap();
    fs::rename(case.join("summary.json"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, case.join("summary.json")).unwrap();
    not_merged(&folder, &["one", "two"], &["1 of 20 cases are damaged"]);
}

/// Runs the command with `arguments` in `folder` under `strace`, which injects `injected` into the system calls `calls`.
fn strace(folder: &Path, calls: &str, injected: &str, arguments: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    let (trace, inject) = (format!("trace={calls}"), format!("inject={calls}:{injected}"));
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
    strace.arg(env!("CARGO_BIN_EXE_qdelay")).args(arguments);
    strace.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    strace
}

/// Shards that start at the same time in a new folder all succeed, even if creating the folder takes long: `strace` delays the first
/// right after the new `study.json` has its final name, while it still has the temporary one.
#[test(waits)]
fn shard_start_race_all_begin() {
    let folder = folder("sweep-start");
    file(&folder, "matrix.toml", MATRIX.replace("1..4", "1"));
    let arguments = ["run", "matrix.toml", "--series", "--packets", "--shard", "1/3", "--out", "out"];
    let mut strace = strace(&folder, "link,linkat", "delay_exit=800000", &arguments);
    let Ok(mut first) = strace.spawn() else { skip(Need::Tools, "there is no strace") };
    let study = folder.join("out/study.json");
    while !study.exists() && first.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let others =
        ["2/3", "3/3"].map(|shard| command(&folder, &["--shard", shard, "--out", "out"]).spawn().unwrap());
    for other in others {
        let output = other.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let output = first.wait_with_output().unwrap();
    let line = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && !line.contains("qdelay:") {
        skip(Need::Tools, "strace may not trace here");
    }
    assert!(output.status.success(), "{line}");
    done(command(&folder, &["--out", "out"]));
}

/// A file system without locks gives a warning, and failing locks are an error; `strace` simulates both.
#[test]
fn locks_that_fail() {
    let folder = folder("sweep-locks");
    file(&folder, "matrix.toml", MATRIX.replace("1..4", "1"));
    let traced = |error: &str, arguments: &[&str]| {
        let arguments = [&["run", "matrix.toml", "--no-report"], arguments].concat();
        strace(&folder, "flock", &format!("error={error}"), &arguments).output()
    };
    match traced("ENOLCK", &["--out", "none"]) {
        Ok(output) if output.status.success() => {
            let line = String::from_utf8(output.stderr).unwrap();
            assert!(
                line.starts_with("qdelay: none: the file system has no locks (") && line.lines().count() == 1,
                "{line}"
            );
        }
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("qdelay:") => {
            skip(Need::Tools, "strace may not trace here")
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => skip(Need::Tools, "there is no strace"),
    }
    // Files that may belong to another process are not removed.
    let partial = folder.join("none/cases/.00.0123456789abcdef0123456789abcdef.partial");
    fs::create_dir(&partial).unwrap();
    assert!(traced("ENOLCK", &["--out", "none"]).unwrap().status.success());
    assert!(partial.exists());
    assert!(traced("ENOLCK", &["--out", "shard", "--shard", "1/2"]).unwrap().status.success());
    let output = traced("EIO", &["--out", "broken"]).unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(
        line.starts_with("qdelay: broken: cannot be locked: ")
            && line.contains("expected a working file system"),
        "{line}"
    );
}

/// Runs the commands of `docs/sweeps.md` for a shell and for GNU parallel as printed on the page.
#[test]
fn recipes() {
    let folder = study("sweep-recipes", MATRIX);
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweeps.md")).unwrap();
    let has_parallel = Command::new("parallel")
        .arg("--version")
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("GNU parallel"));
    for (heading, out) in [("## A shell", "all"), ("## GNU parallel", "shared")] {
        if heading == "## GNU parallel" && !has_parallel {
            skip(Need::Tools, "there is no GNU parallel");
        }
        let section = page.split_once(heading).unwrap_or_else(|| panic!("no {heading}")).1;
        let recipe = section.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
        let program = Path::new(env!("CARGO_BIN_EXE_qdelay")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let place = folder.join("recipe");
        fs::create_dir(&place).unwrap();
        fs::copy(folder.join("matrix.toml"), place.join("sweep.toml")).unwrap();
        let output =
            Command::new("sh").args(["-euc", recipe]).env("PATH", path).current_dir(&place).output().unwrap();
        assert!(output.status.success(), "{recipe}: {}", String::from_utf8_lossy(&output.stderr));
        let out = place.join(out);
        assert_eq!(finished(&out), 80);
        assert!(out.join("summary.json").exists() && out.join("report.html").exists());
        fs::remove_dir_all(&place).unwrap();
    }
    assert!(run(&["help", "merge"]).status.success());
}
