//! Tutorials with real packets.

use crate::common::needs_real_packets;
use crate::tutorial_support::{Place, follow};
use qdelay_testing::{Need, skip};
use std::process::Command;

fn needs_tools(tools: &[&str]) {
    needs_real_packets();
    for tool in tools {
        let which = Command::new("sh").args(["-c", "command -v $0", tool]).output().unwrap();
        if !which.status.success() {
            skip(Need::Tools, format!("no {tool} command"));
        }
    }
}

#[test(Tools)]
fn a_program_behind_a_link() {
    needs_tools(&["ip", "ping"]);
    follow("tutorials/program-behind-a-link", Place::Namespace, &[], &[]);
}

#[test(Tools)]
fn a_gateway() {
    needs_tools(&["ip", "curl", "xargs"]);
    follow("tutorials/gateway", Place::Namespace, &[], &[]);
}
