//! `cargo run --profile test -p qdelay-testing -- suite ARGUMENTS`: `cargo test` with these arguments, then the list of what was
//! skipped and the counts.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((word, arguments)) if word == "suite" => {
            let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or("target".into());
            qdelay_testing::suite::run(&PathBuf::from(target).join("suite"), arguments)
        }
        _ => {
            eprintln!("qdelay-testing: expected 'suite', and arguments for cargo test");
            ExitCode::from(2)
        }
    }
}
