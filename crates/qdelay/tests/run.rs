//! `qdelay run`: files of the folder, continuing after `kill -9`, and refusals.

use crate::common::{assert_equal, file, folder, refused, succeed, tree};
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Two hundred cases that take a fraction of a second each.
const MATRIX: &str = r#"
title = "Two hundred cases"
[path]
trace = "synth-lte-driving"
[[flow]]
name = "file"
[[flow]]
name = "video"
transport = "udp:1mbit"
dscp = "af41"
[run]
duration = "6s"
seeds = "1..10"
[matrix]
path.qdisc = ["taildrop", "headdrop", "codel", "pie", "bode:target=20ms"]
flow.file.transport = ["cubic", "bbr"]
path.rtt = ["10ms", "40ms"]
"#;

fn command(folder: &Path, out: &str, jobs: &str) -> Command {
    let mut command =
        crate::common::command(&["run", "matrix.toml", "--out", out, "--jobs", jobs, "--series"]);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn finished(out: &Path) -> usize {
    let Ok(entries) = fs::read_dir(out.join("cases")) else { return 0 };
    entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
}

/// Runs until this many cases exist, then kills the process.
#[allow(clippy::disallowed_methods, reason = "nothing but time tells how far another process is")]
fn kill_at(folder: &Path, out: &str, jobs: &str, cases: usize) {
    let mut child = command(folder, out, jobs).spawn().unwrap();
    while finished(&folder.join(out)) < cases && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test(waits)]
fn killed_three_times_is_the_same_bytes() {
    let folder = folder("run-killed");
    file(&folder, "matrix.toml", MATRIX);
    assert!(command(&folder, "whole/out", "2").status().unwrap().success());
    assert_eq!(finished(&folder.join("whole/out")), 200);
    for jobs in ["1", "2"] {
        // The last part is in the report.
        let out = format!("killed-{jobs}/out");
        for cases in [0, 40, 130] {
            kill_at(&folder, &out, jobs, cases);
        }
        let before = finished(&folder.join(&out));
        assert!((130..200).contains(&before), "{before} cases are there after the last kill");
        assert!(command(&folder, &out, jobs).status().unwrap().success());
        assert_equal(&folder.join("whole/out"), &folder.join(&out));
    }
}

/// First case of a study of twenty that was run, with its folder.
fn first_case(folder: &Path) -> PathBuf {
    file(folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    assert!(command(folder, "out", "2").status().unwrap().success());
    fs::read_dir(folder.join("out/cases")).unwrap().flatten().map(|entry| entry.path()).min().unwrap()
}

#[test]
fn finished_cases_are_not_run_again() {
    let folder = folder("run-again");
    let case = first_case(&folder);
    let identity = || case.metadata().unwrap().ino();
    let there = identity();
    assert!(command(&folder, "out", "2").status().unwrap().success());
    assert_eq!(identity(), there);
    // A case with any changed file runs again.
    for name in ["summary.json", "run.json", "series.parquet", "SHA256SUMS"] {
        let path = case.join(name);
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() / 2] ^= 1;
        for broken in [Some(&changed[..]), Some(&whole[..whole.len() / 2]), Some(&[]), None] {
            match broken {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            assert!(command(&folder, "out", "2").status().unwrap().success());
            assert!(fs::read(&path).unwrap() == whole, "{name} {:?}", broken.map(<[u8]>::len));
        }
    }
}

/// Other programs can check a result: the digests are those of `sha256sum`.
#[test]
fn digests_are_those_of_every_file() {
    let case = first_case(&folder("run-digests"));
    let text = fs::read_to_string(case.join("SHA256SUMS")).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split_once("  ").unwrap().1).collect();
    assert_eq!(names, ["run.json", "series.parquet", "summary.json"]);
    assert!(text.lines().all(|line| line.split_once("  ").unwrap().0.len() == 64));
    match Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&case).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => skip(Need::Tools, "there is no sha256sum"),
    }
}

/// A damaged case, and one without its digests, runs again.
#[test]
fn a_damaged_case_runs_again() {
    let folder = folder("run-damaged");
    let case = first_case(&folder);
    let again = |name: &str| {
        assert!(command(&folder, "out", "2").status().unwrap().success());
        fs::read(case.join(name)).unwrap()
    };
    for name in ["summary.json", "series.parquet", "SHA256SUMS"] {
        let whole = fs::read(case.join(name)).unwrap();
        fs::write(case.join(name), &whole[..whole.len() / 2]).unwrap();
        assert!(again(name) == whole, "{name}");
    }
    let whole = fs::read(case.join("SHA256SUMS")).unwrap();
    fs::remove_file(case.join("SHA256SUMS")).unwrap();
    assert!(again("SHA256SUMS") == whole);
}

/// Cases are made one at a time: a list of a thousand million would not fit into memory.
#[test]
#[allow(clippy::disallowed_methods, reason = "nothing but time tells how far another process is")]
fn a_matrix_of_a_thousand_million_costs_nothing_until_it_runs() {
    let folder = folder("run-huge");
    let numbers = |unit: &str| (1..=1000).map(|n| format!("\"{n}{unit}\"")).collect::<Vec<_>>().join(", ");
    let axes = format!(
        "[matrix]\npath.link = [{}]\npath.rtt = [{}]\npath.jitter = [{}]\n",
        numbers("mbit"),
        numbers("ms"),
        numbers("us")
    );
    let text = "[path]\n[[flow]]\n[run]\nduration = \"2s\"\n".to_string() + &axes;
    file(&folder, "huge.toml", text);
    let script = "ulimit -v 2000000; exec \"$0\" run huge.toml --out out --jobs 1 --yes";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_qdelay")])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while finished(&folder.join("out")) < 2 && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert!(finished(&folder.join("out")) >= 2, "{}", String::from_utf8_lossy(&output.stderr));
}

/// The running process would lose its results.
#[test]
#[allow(clippy::disallowed_methods, reason = "nothing but time tells how far another process is")]
fn a_folder_that_is_written_to_is_left_alone() {
    let folder = folder("run-held");
    file(&folder, "matrix.toml", MATRIX.replace("6s", "300s"));
    let mut child = command(&folder, "out", "1").spawn().unwrap();
    while finished(&folder.join("out")) < 1 && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(1));
    }
    for more in [&[][..], &["--fresh"]] {
        let mut other = command(&folder, "out", "1");
        let output = other.args(more).stderr(Stdio::piped()).output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(
            line,
            "qdelay: out: another run is writing to it; expected that one to end first, or another folder\n"
        );
    }
    assert!(finished(&folder.join("out")) >= 1, "nothing was deleted");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn two_that_begin_together_are_one_run() {
    let folder = folder("run-together");
    file(&folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    for round in 0..20 {
        let out = format!("out-{round}");
        let mut both: Vec<_> = (0..2).map(|_| command(&folder, &out, "1").spawn().unwrap()).collect();
        let codes: Vec<_> = both.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 2].contains(code)), "{codes:?}");
        assert_eq!(finished(&folder.join(&out)), 20);
        if round > 0 {
            let (one, other) = (tree(&folder.join("out-0/cases")), tree(&folder.join(&out).join("cases")));
            assert!(one == other);
        }
    }
}

#[test]
fn fresh_keeps_what_is_not_of_a_run() {
    let folder = folder("run-fresh");
    let matrix = file(&folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    let out = folder.join("out");
    let run = ["run", &matrix, "--out", out.to_str().unwrap(), "--no-report"];
    succeed(&run);
    file(&out, "notes.txt", "mine");
    succeed(&[&run[..], &["--fresh", "--seeds", "2"]].concat());
    assert_eq!(finished(&out), 20);
    assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    // Killed before it could note the owner of the folder.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    file(&out, "study.json", "");
    succeed(&run);
    assert_eq!(finished(&out), 20);
}

#[test]
fn another_folder_is_refused() {
    let folder = folder("run-refused");
    let small = MATRIX.replace("1..10", "1").replace("6s", "1s");
    let matrix = file(&folder, "matrix.toml", &small);
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    let run = ["run", &matrix, "--out", out, "--no-report"];
    succeed(&run);
    let with = |more: &[&'static str]| [&run[..], more].concat();
    let same = "expected a folder of the same study, a new name for one, or --fresh";
    refused(
        &with(&["--seeds", "2"]),
        &[out, "holds results for seed 1, which is not among those of this run"],
    );
    let duration = "holds results with duration = that of the scenario, but this run has 2s";
    refused(&with(&["--duration", "2s"]), &[out, duration, same]);
    refused(&with(&["--packets"]), &["holds results with records of [], and this is with [packets]", same]);
    let study = Path::new(out).join("study.json");
    let text = fs::read_to_string(&study).unwrap();
    if let Some(commit) = qdelay::commit() {
        assert_eq!(text.matches(&format!("\"commit\": \"{commit}\"")).count(), 1, "{text}");
        fs::write(&study, text.replace(&commit, "0123456789")).unwrap();
        let differs = format!("holds results of commit 0123456789, and this is {commit}");
        refused(&run, &[out, &differs, same]);
        // A build without a known commit.
        fs::write(&study, text.replace(&format!("  \"commit\": \"{commit}\",\n"), "")).unwrap();
        succeed(&run);
        fs::write(&study, text).unwrap();
    }
    file(&folder, "matrix.toml", small.replace("40ms", "50ms"));
    refused(&run, &["holds results of 'matrix' before it was changed", same]);
    let other = file(&folder, "other.toml", &small);
    refused(&["run", &other, "--out", out], &["holds results of the scenario 'matrix'", same]);
    assert!(out_cases(out) == 20);
    succeed(&["run", &other, "--out", out, "--no-report", "--fresh", "--duration", "2s"]);
    assert!(out_cases(out) == 20);
    let taken = crate::common::folder("run-taken");
    file(&taken, "letter.txt", "dear");
    let taken = taken.to_str().unwrap();
    refused(&["run", &other, "--out", taken, "--fresh"], &[taken, "holds 'letter.txt' and no results"]);
    refused(&["run", &other, "--out", &matrix], &[&matrix, "is a file; expected a folder"]);
}

/// Fields of schema 1 have other names. Every command that reads folders refuses them, because such fields would count as missing.
#[test]
fn folders_of_the_first_schema_are_refused() {
    let folder = folder("run-schema");
    let expect = "[[expect]]\nclaim = \"short\"\nmeasure = \"drops\"\nhigh = 1e9\n";
    let small = MATRIX.replace("1..10", "1").replace("6s", "1s") + expect;
    let matrix = file(&folder, "matrix.toml", small);
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    let run = ["run", &matrix, "--out", out, "--no-report"];
    succeed(&run);
    for name in
        tree(Path::new(out)).into_keys().filter(|name| name.extension().is_some_and(|end| end == "json"))
    {
        let path = Path::new(out).join(name);
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("\"schema_version\": 2", "\"schema_version\": 1");
        fs::write(path, text.replace("\"settings\":", "\"resolved\":").replace("\"value\":", "\"ours\":"))
            .unwrap();
    }
    let holds = "holds results of schema_version 1, whose fields have other names, and this is 2";
    refused(&run, &[out, holds, "expected a folder of the same study, a new name for one, or --fresh"]);
    let older = "schema_version is 1; expected 2: an older qdelay wrote this";
    let again = folder.join("again");
    let again = again.to_str().unwrap();
    refused(&["report", out], &[out, older, "the same command into a new folder writes it anew"]);
    refused(&["report", out, "--json"], &[out, older]);
    refused(&["plot", out, "--figure", "cdf"], &[out, older]);
    refused(&["pack", out, "-o", again], &[out, older]);
    refused(&["merge", out, "-o", again], &[out, older]);
    succeed(&[&run[..], &["--fresh"]].concat());
    assert!(crate::common::read(&Path::new(out).join("summary.json"))["expects"][0]["value"].is_number());
    succeed(&["report", out]);
}

fn out_cases(out: &str) -> usize {
    finished(Path::new(out))
}

/// As root, a rename over `/dev/null` would succeed.
#[test]
#[cfg(unix)]
fn a_device_is_neither_replaced_nor_read_for_ever() {
    let folder = folder("run-device");
    let matrix = file(&folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    let out = folder.join("out");
    let out = out.to_str().unwrap();
    succeed(&["run", &matrix, "--out", out, "--no-report"]);
    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    refused(&["report", out, "-o", pipe], &[pipe, "is no regular file; expected the name of a file"]);
    assert!(!Path::new(pipe).is_file());
    refused(&["run", "/dev/zero", "--out", out], &["/dev/zero: has more bytes than 10000000"]);
}

/// Root may write anywhere, except to some places of the kernel.
#[test]
fn a_place_that_cannot_be_written_to() {
    let folder = folder("run-unwritable");
    let matrix = file(&folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    refused(
        &["run", &matrix, "--out", "/proc/nowhere"],
        &["/proc/nowhere: cannot be written", "expected a place"],
    );
}

/// Linux has a device that is always full, but no folder can be on it: a small file system in memory replaces it.
#[test]
fn a_full_disk_keeps_finished_cases() {
    let folder = folder("run-full");
    let matrix = file(&folder, "matrix.toml", MATRIX.replace("6s", "1s"));
    let small = file(&folder, "small.toml", "[path]\nlink = \"5mbit\"\n[[flow]]\n[run]\nduration = \"1s\"\n");
    let results = folder.join("small").display().to_string();
    succeed(&["run", &small, "--out", &results]);
    let disk = folder.join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        skip(Need::Net, "nothing can be mounted");
    }
    let out = disk.join("out");
    let output = crate::common::run(&["run", &matrix, "--out", out.to_str().unwrap(), "--jobs", "2"]);
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    let there = finished(&out);
    // A report without space leaves no file, and the error says so.
    let _ = fs::write(disk.join("filler"), vec![0; 4 << 20]);
    let page = disk.join("page.html");
    let report = crate::common::run(&["report", &results, "-o", page.to_str().unwrap()]);
    let of_report = String::from_utf8_lossy(&report.stderr).into_owned();
    let is_page_left = page.exists();
    let whole = there > 0
        && fs::read_dir(out.join("cases")).unwrap().flatten().all(|entry| {
            entry.file_name().to_string_lossy().starts_with('.')
                || entry.path().join("summary.json").is_file()
        });
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(output.status.code(), Some(2), "{line}");
    assert!(
        line.contains("No space left on device") && line.contains("the same command goes on from there"),
        "{line}"
    );
    assert!(whole && (1..200).contains(&there), "{there} cases");
    assert_eq!((report.status.code(), is_page_left), (Some(2), false), "{of_report}");
    assert!(of_report.contains("expected room for it") && !of_report.contains("goes on"), "{of_report}");
}

#[test]
fn many_cases_are_asked_about() {
    let folder = folder("run-million");
    let list = |n: u32| (0..n).map(|i| format!("{}us", i + 100)).collect::<Vec<_>>().join("\", \"");
    let text = format!(
        "[path]\nlink = \"10mbit\"\n[[flow]]\n[run]\nseeds = \"1..1000\"\n[matrix]\npath.rtt = [\"{}\"]\n",
        list(1000)
    );
    let matrix = file(&folder, "million.toml", text);
    let out = folder.join("out");
    refused(
        &["run", &matrix, "--out", out.to_str().unwrap()],
        &["matrix: 1000000 cases; expected fewer, or --yes to run them all"],
    );
    assert!(!out.exists());
}

#[test]
fn records_on_request() {
    let folder = folder("run-records");
    let matrix = file(&folder, "matrix.toml", MATRIX.replace("1..10", "1").replace("6s", "1s"));
    let out = folder.join("out");
    succeed(&["run", &matrix, "--out", out.to_str().unwrap(), "--packets", "--series", "--no-report"]);
    for case in fs::read_dir(out.join("cases")).unwrap().flatten() {
        for name in ["packets.parquet", "series.parquet"] {
            let bytes = fs::read(case.path().join(name)).unwrap();
            assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
        }
    }
}

/// Two slices with datagrams only: the expected shares are known.
#[test]
fn slices_have_a_table() {
    let slices = r#"
[cell]
decoding_delay = "0s"
rlc_limit = 10
[[cell.slice]]
name = "small"
share = "25%"
[[cell.slice]]
name = "large"
share = "75%"
[[cell.ue]]
name = "one"
slice = "small"
[[cell.ue]]
name = "two"
slice = "large"
[[flow]]
name = "full"
transport = "udp:40mbit"
ue = "each"
[run]
duration = "2s"
warmup = "1s"
[matrix]
cell.partition = ["fp", "eqp:limit=100"]
"#;
    let folder = folder("slices");
    let scenario = file(&folder, "slices.toml", slices);
    let out = folder.join("out");
    let text = succeed(&["run", &scenario, "--out", out.to_str().unwrap()]);
    let table: Vec<Vec<&str>> = (text.lines().skip_while(|line| !line.contains("slice  share")))
        .map(|line| line.split_whitespace().collect())
        .take(7)
        .collect();
    assert_eq!(table[0][..5], ["partition", "slice", "share", "rate", "used"], "{text}");
    let rows: Vec<(&str, &str, &str)> = table[3..7].iter().map(|row| (row[0], row[1], row[2])).collect();
    let (fixed, elastic) = ("fp", "eqp:limit=100");
    let expected = [
        (fixed, "large", "75.0"),
        (fixed, "small", "25.0"),
        (elastic, "large", "75.0"),
        (elastic, "small", "25.0"),
    ];
    assert_eq!(rows, expected, "{text}");
    assert_eq!((table[3].len(), table[5].len()), (7, 10), "the fixed partition has no quantum: {text}");
    // Used, idle and lent blocks add up to the granted ones.
    for row in &table[3..7] {
        let sum: f64 = row[4..7].iter().map(|percent| percent.parse::<f64>().unwrap()).sum();
        assert!((sum - 100.0).abs() < 0.2, "{text}");
    }
}

/// Seeds that change nothing are one run: the table says so, the summary names them, and no interval is computed.
#[test]
fn seeds_that_change_nothing_are_one_run() {
    let folder = folder("run-same-seeds");
    let scenario = |jitter: &str| {
        format!(
            "[path]\nlink = \"10mbit\"\njitter = \"{jitter}\"\n[[flow]]\n[run]\nduration = \"3s\"\nseeds = \"1..3\"\nstarts = \"fixed\"\n\
             [[expect]]\nclaim = \"sure\"\nmeasure = \"utilization\"\naggregate = \"ci95_low\"\nlow = 0.1\n"
        )
    };
    let run = |name: &str, jitter: &str| -> (String, Value) {
        let path = file(&folder, &format!("{name}.toml"), scenario(jitter));
        let out = folder.join(name);
        let out = out.to_str().unwrap();
        let arguments = ["run", path.as_str(), "--out", out, "--no-report"];
        let output = crate::common::command(&arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let summary = fs::read_to_string(Path::new(out).join("summary.json")).unwrap();
        (text, serde_json::from_str(&summary).unwrap())
    };
    let (text, summary) = run("alike", "0s");
    assert!(text.contains("3 cases, 1 distinct run: the same came of seeds 1, 2, 3.\n"), "{text}");
    assert_eq!(summary["same_runs"].as_array().unwrap().len(), 1);
    assert_eq!(summary["same_runs"][0].as_array().unwrap().len(), 3);
    assert_eq!(
        (&summary["expects"][0]["value"], &summary["expects"][0]["verdict"]),
        (&Value::Null, &"miss".into())
    );
    let (text, summary) = run("drawn", "1ms");
    assert!(!text.contains("distinct"), "{text}");
    assert_eq!((summary.get("same_runs"), &summary["expects"][0]["verdict"]), (None, &"match".into()));
}

#[test]
fn tables_by_group_ue_slice_and_class() {
    let folder = folder("by");
    let out = folder.join("out").display().to_string();
    let by = |scenario: &str, part: &str| {
        let options = ["--duration", "7s", "--no-report", "--out", out.as_str(), "--fresh"];
        // The expectations are about the whole duration.
        let output = crate::common::run(&[&["run", scenario, "--by", part], options.as_slice()].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let ues = by("demo/ues", "ue");
    for part in
        ["phone-8", "console-4", "laptop-1", "in budget", "MOS", "done", "packet delay budget of their 5QI"]
    {
        assert!(ues.contains(part), "{part}: {ues}");
    }
    let rows = ues.lines().filter(|line| line.starts_with("deep buffers")).count();
    assert_eq!(rows, 1 + 20, "the case, and each UE");
    let classes = by("demo/ues", "5qi");
    assert_eq!((classes.matches("5qi-").count(), classes.matches("reasm.").count()), (3 * 4, 0), "{classes}");
    let pings = by("demo/ping", "flow");
    assert!(pings.contains("download") && !pings.contains("in budget"), "{pings}");
    let groups = by("demo/ping", "group");
    for part in ["again", "in order", "of the segments that TCP sent"] {
        assert!(groups.contains(part) && !ues.contains(part), "{part}: {groups}{ues}");
    }
    let link = by("demo/ping", "qci");
    assert!(link.contains("no table by 5QI: the table needs a cell"), "{link}");
    refused(&["run", "demo/ping", "--by", "flows"], &["--by", "flow"]);
}
