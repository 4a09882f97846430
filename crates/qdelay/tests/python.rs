//! The Python package: `crates/qdelay-py/check` builds its wheel and installs it into an environment of its own, where its tests, the types and the
//! notebooks are checked.

use crate::architecture::root;
use qdelay_testing::{Need, skip};
use std::process::Command;

/// How the script says that the machine lacks something.
const LACKS: i32 = 77;

#[test]
fn the_package_is_tested_where_it_is_installed() {
    let output = Command::new(root().join("crates/qdelay-py/check"))
        .env("QDELAY_COMMAND", env!("CARGO_BIN_EXE_qdelay"))
        .output()
        .expect("bash runs");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(LACKS) {
        skip(Need::Python, said.lines().last().unwrap_or_default());
    }
    assert!(output.status.success(), "{said}\n{errors}");
}
