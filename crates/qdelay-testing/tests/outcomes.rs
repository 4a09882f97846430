//! Outcomes of tests of this crate: `src/bin/sample.rs` has tests that pass, fail and are skipped.

use qdelay_testing::parts::LEFT_OUT;
use qdelay_testing::{BEGUN_FILE, Folder, SKIPPED_FILE, TIMES_FILE, TURNS, helper_arguments, suite};
use std::path::Path;
use std::process::{Command, Output};

/// Variables that the suite running these tests sets.
const OF_A_SUITE: [&str; 7] =
    [BEGUN_FILE, LEFT_OUT, SKIPPED_FILE, TIMES_FILE, TURNS, suite::BUILT, suite::ONLY_WAITING];

/// Sample program, without requirements and lists of the enclosing suite.
fn sample(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sample"));
    command.args(arguments).env_remove("QDELAY_REQUIRE");
    OF_A_SUITE.iter().for_each(|variable| _ = command.env_remove(variable));
    command.envs(environment.iter().copied()).output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_skip_counts_as_one_and_is_listed() {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outcomes.tsv");
    let _ = std::fs::remove_file(&list);
    let output = sample(&["--skip", "fails"], &[(SKIPPED_FILE, list.to_str().unwrap())]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("test inner::skipped ... ignored (needs traces: none here)"), "{said}");
    assert!(said.contains("test result: ok. 2 passed; 0 failed; 2 ignored"), "{said}");
    let listed = std::fs::read_to_string(&list).unwrap();
    let mut lines: Vec<&str> = listed.lines().collect();
    lines.sort_unstable();
    let place = "qdelay-testing::sample\t";
    let expected = [
        format!("needs traces\tnone here\t{place}inner::skipped"),
        format!("only on request\tfor a reason\t{place}on_request"),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_part_that_is_left_out_is_skipped_and_listed() {
    let list = Path::new(env!("CARGO_TARGET_TMPDIR")).join("left-out.tsv");
    let _ = std::fs::remove_file(&list);
    let environment = [(LEFT_OUT, "lab,browser"), (SKIPPED_FILE, list.to_str().unwrap())];
    let said = text(&sample(&["of_a_part"], &environment));
    assert!(said.contains("0 passed; 0 failed; 1 ignored"), "{said}");
    let said = text(&sample(&["of_a_part", "--include-ignored"], &environment));
    assert!(said.contains("0 passed; 0 failed; 1 ignored"), "{said}");
    let listed = std::fs::read_to_string(&list).unwrap();
    let line =
        "part lab\tleft out; it needs QEMU, Debian packages of its image\tqdelay-testing::sample\tof_a_part";
    assert!(listed.lines().any(|listed| listed == line), "{listed}");
    assert_eq!(sample(&[], &[(LEFT_OUT, "lap")]).status.code(), Some(2));
}

#[test]
fn a_required_need_that_is_missing_fails() {
    let output = sample(&["inner::skipped"], &[("QDELAY_REQUIRE", "net,traces")]);
    assert_eq!(output.status.code(), Some(101));
    assert!(
        text(&output).contains("QDELAY_REQUIRE has traces, and it is missing: none here"),
        "{}",
        text(&output)
    );
    // Requiring another need changes nothing.
    assert_eq!(sample(&["inner::skipped"], &[("QDELAY_REQUIRE", "net")]).status.code(), Some(0));
    let output = sample(&[], &[("QDELAY_REQUIRE", "root")]);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(2), ""));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("there is no 'root'; expected some of net, browser,"), "{complaint}");
}

#[test]
fn a_failure_says_where_and_why() {
    let output = sample(&["fails"], &[]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101));
    assert!(text(&output).contains("0 passed; 1 failed; 0 ignored"), "{}", text(&output));
    assert!(complaint.contains("thread 'fails'") && complaint.contains("sample.rs"), "{complaint}");
    assert!(complaint.contains("on purpose"), "{complaint}");
}

#[test]
fn names_and_filters_are_those_of_cargo_test() {
    let list = text(&sample(&["--list"], &[]));
    assert!(list.contains("inner::skipped: test\n") && !list.contains("answers"), "{list}");
    let one = text(&sample(&["--exact", "passes"], &[]));
    assert!(one.contains("1 passed; 0 failed; 0 ignored"), "{one}");
    let asked = text(&sample(&["--ignored"], &[]));
    assert!(asked.contains("1 passed; 0 failed; 0 ignored"), "{asked}");
}

#[test]
fn a_helper_is_a_process_and_no_test() {
    let output = sample(&helper_arguments("answers"), &[]);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), "the helper\n"));
    assert_eq!(sample(&helper_arguments("breaks_off"), &[]).status.code(), Some(101));
}

/// Suite in a folder whose only program is `executable`, without examples in documentation.
pub(crate) fn suite(folder: &Path, name: &str, executable: &str, arguments: &[&str]) -> Command {
    use std::os::unix::fs::PermissionsExt;
    let cargo = folder.join("cargo");
    // Script that prints cargo's messages about built programs.
    let message = format!(
        r#"{{"reason":"compiler-artifact","manifest_path":"{}/Cargo.toml","profile":{{"test":true}},
            "target":{{"kind":["test"],"name":"{name}"}},"executable":"{executable}"}}"#,
        env!("CARGO_MANIFEST_DIR"),
    );
    let message = message.replace('\n', "");
    let script = format!("#!/bin/sh\ncase \"$*\" in build*) echo '{message}' ;; esac\n");
    std::fs::write(&cargo, script).unwrap();
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_qdelay-testing"));
    command.args(["suite", "--"]).args(arguments).current_dir(folder).env("CARGO", &cargo);
    for variable in OF_A_SUITE.into_iter().chain(["QDELAY_REQUIRE", "CARGO_TARGET_DIR", suite::LIMIT]) {
        command.env_remove(variable);
    }
    command
}

/// Cargo starts each program in the folder of its crate, not where the suite was started.
#[test]
fn the_suite_ends_with_its_list_wherever_its_programs_run() {
    let folder = Folder::new("suite");
    let mut command = suite(folder.path(), "sample", env!("CARGO_BIN_EXE_sample"), &["--skip", "fails"]);
    let output = command.output().unwrap();
    let said = text(&output);
    let end = "skipped, needs traces: 1\n  none here: 1\n    qdelay-testing::sample\n      inner::skipped\n\
               skipped, only on request: 1\n  for a reason: 1\n    qdelay-testing::sample\n      on_request\n\
               2 passed, 0 failed, 2 skipped\n";
    assert!(said.ends_with(end), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
}
