//! Program with tests that end their process or never end: for `tests/ends.rs`.

use qdelay_testing::{pause, test};
use std::process::{Command, exit};

#[test]
fn exits_badly() {
    exit(3);
}

#[test]
fn exits_well() {
    exit(0);
}

/// Test with a child process, whose ID it writes into the file that `ENDING_CHILD` names.
#[test]
fn hangs() {
    let mut child = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let file = std::env::var_os("ENDING_CHILD").expect("a file");
    std::fs::write(file, child.id().to_string()).expect("a file");
    let _ = child.wait();
    loop {
        pause();
    }
}

#[test]
fn is_killed() {
    let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    loop {
        pause();
    }
}

qdelay_testing::main!();
