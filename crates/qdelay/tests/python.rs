//! The Python package: `crates/qdelay-py/check` builds the wheel and installs it into a new environment, then checks its tests, types and
//! notebooks, the steps of a user from an empty environment, and sweeps over Ray.

use crate::architecture::root;
use qdelay_testing::{Need, skip};
use std::process::Command;

/// Prefix of the script's message about a missing program.
const LACKS: i32 = 77;

/// Runs these steps of the script; without any, all but `first` and `ray`. The script's output is in the test's output.
fn check(steps: &[&str], need: Need) {
    let output = Command::new(root().join("crates/qdelay-py/check"))
        .args(steps)
        .env("QDELAY_COMMAND", env!("CARGO_BIN_EXE_qdelay"))
        .output()
        .expect("bash runs");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(LACKS) {
        skip(need, said.lines().last().unwrap_or_default());
    }
    assert!(output.status.success(), "{said}\n{errors}");
    println!("{said}");
}

#[test(Python)]
fn the_package_is_tested_where_it_is_installed() {
    check(&[], Need::Python);
}

#[test(Python)]
fn an_empty_environment_leads_to_a_figure() {
    check(&["first"], Need::Python);
}

#[test(Python)]
fn sweeps_over_ray_leave_the_bytes_of_one_run() {
    check(&["ray"], Need::Ray);
}
