//! Command with the loops of a contributor: see [`qdelay_testing::loops`].

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    qdelay_testing::loops::run(&words)
}
