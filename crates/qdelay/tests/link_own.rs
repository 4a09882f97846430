//! Program of `examples/` in place of the command: packets of real programs through a user-defined queue discipline.

use crate::common::example;
use crate::link_support::{assert_accounted, json, machine, name, output, task};
use std::process::Command;

#[test]
fn an_own_discipline_behind_a_link() {
    let (machine, program) = (machine(), example("own-aqm"));
    let file = name("link-own", "figures.json");
    let options = format!("link --up 8mbit --up-qdisc random_early:full=50 --json {file} -- sh -c");
    let mut command = Command::new(program);
    command.args(options.split_whitespace()).arg(task("inside", "flood 600"));
    let output = output(&machine, command);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let up = json(&file)["up"].clone();
    assert_accounted(&up, 0);
    // 600 packets come at once, and the link sends one each millisecond.
    assert!(up["drops_by_reason"]["early"].as_u64().unwrap() > 400, "{up}");
}
