//! Parts of the page that need no browser, in Node.js: `page.test.mjs`.

use qdelay_testing::{Need, skip};
use std::process::Command;

#[test(Browser)]
fn points_addresses_and_scenarios() {
    if !Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip(Need::Stream, "no node in PATH");
    }
    for seed in ["1", "2", "3", "4"] {
        let output = Command::new("node").args(["tests/page.test.mjs", seed]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("all as expected"), "{text}");
    }
}
