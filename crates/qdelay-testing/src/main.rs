//! `qdelay-testing suite PACKAGES [-- OPTIONS]`: runs all tests of these packages, which are named as for cargo, then prints
//! the list of skipped tests and the counts. The options are those of a test program.

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
            eprintln!("qdelay-testing: expected 'suite', and for cargo which packages, such as --workspace");
            ExitCode::from(2)
        }
    }
}
