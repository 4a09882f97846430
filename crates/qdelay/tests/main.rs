//! Tests of the command as a program (output, errors, exit status) and of the workspace. `net.rs` has the tests with real packets.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
mod common;

mod again;
mod algorithms;
mod architecture;
mod bad_input;
mod compare;
mod defaults;
mod dependents;
mod examples;
mod file_cycles;
mod fingerprints;
mod foreign_results;
mod guide;
mod help;
mod import;
mod imports;
mod install;
mod installer;
mod interrupt;
mod lab;
mod language;
mod list;
mod native;
mod next_step;
mod packages;
mod plot;
mod progress;
mod proxy;
mod python;
mod quic;
mod release;
mod report_tables;
mod run;
mod site;
mod sweep;
mod terminal_support;
mod trace;
mod transports;
mod tutorial_support;
mod tutorials;

main!();
