//! The suite's reports on programs that end without a result: `src/bin/ending.rs` has tests that end it, or never end.

use crate::outcomes::{suite, text};
use qdelay_testing::{Folder, eventually, is_alive};
use std::fs;
use std::process::{Command, Stdio};

/// Suite with this test alone, and with threads, so that a harness prints nothing before a test has ended. The file `child` of
/// the folder contains the ID of the process that `hangs` starts.
fn ending(folder: &Folder, test: &str) -> Command {
    let mut arguments = vec!["--test-threads=2"];
    let others = ["exits_badly", "exits_well", "hangs", "is_killed"].into_iter().filter(|name| *name != test);
    arguments.extend(others.flat_map(|other| ["--skip", other]));
    let mut command = suite(folder.path(), "ending", env!("CARGO_BIN_EXE_ending"), &arguments);
    command.env("ENDING_CHILD", folder.path().join("child"));
    command
}

/// Asserts that the suite fails, and that its report contains this text.
fn says(test: &str, how: &str) {
    let folder = Folder::new(test);
    let output = ending(&folder, test).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let end = format!(
        "failed: cargo test -p qdelay-testing --test ending\n  {how}\n0 passed, 1 failed, 0 skipped\n"
    );
    assert!(said.ends_with(&end), "{said}\nexpected: {end}");
    assert!(said.contains(&format!("\nqdelay-testing ending: {how}\n")), "{said}");
}

#[test]
fn a_signal_has_its_name() {
    says("is_killed", "ended by signal 9 (SIGKILL) without a result; begun and not ended: is_killed");
}

#[test]
fn an_exit_is_no_result() {
    says("exits_badly", "ended with exit status 3 without a result; begun and not ended: exits_badly");
    says("exits_well", "ended with exit status 0 without a result; begun and not ended: exits_well");
}

fn child(folder: &Folder) -> Option<u32> {
    fs::read_to_string(folder.path().join("child")).ok()?.parse().ok()
}

#[test]
fn a_test_that_hangs_is_ended_with_its_processes() {
    let folder = Folder::new("hangs");
    let output = ending(&folder, "hangs").env("QDELAY_TEST_LIMIT", "3").output().unwrap();
    let said = text(&output);
    let end = "ended by signal 6 (SIGABRT) without a result, because test hangs took longer than 3 s \
               (QDELAY_TEST_LIMIT); begun and not ended: hangs\n0 passed, 1 failed, 0 skipped\n";
    assert!(said.ends_with(end), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    let child = child(&folder).expect("it has begun");
    eventually("its child ends", || !is_alive(child));
}

#[test]
fn an_interrupt_ends_programs_too() {
    let folder = Folder::new("interrupted");
    let suite = ending(&folder, "hangs").stdout(Stdio::piped()).spawn().unwrap();
    eventually("the test has begun", || child(&folder).is_some());
    let status = Command::new("kill").args(["-INT", &suite.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = suite.wait_with_output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("because the suite was interrupted; begun and not ended: hangs\n"), "{said}");
    assert!(said.contains("\ninterrupted: not everything was run\n"), "{said}");
    eventually("its child ends", || !is_alive(child(&folder).unwrap()));
}

#[test]
fn a_limit_is_a_number() {
    let folder = Folder::new("limit");
    let output = ending(&folder, "hangs").env("QDELAY_TEST_LIMIT", "long").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("QDELAY_TEST_LIMIT: expected whole seconds"), "{complaint}");
}
