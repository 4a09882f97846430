//! The figures are held against the references: what matches today goes on matching.

use std::process::Command;

fn status(arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_qdelay")).arg("validate").args(arguments).output().expect("runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_kernel_at_rates_that_nothing_was_tuned_on() {
    let (code, text) = status(&["rates"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_kernel_at_ten_megabits() {
    let (code, text) = status(&["kernel", "--variant", "rfc"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn ns3() {
    let (code, text) = status(&["ns3"]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn options_of_another_reference_are_refused() {
    for arguments in [
        &["ns3", "--rtt", "5ms"][..],
        &["kernel", "--traces", "."],
        &["mahimahi", "--variant", "rfc"],
        &["mahimahi", "--seconds", "5"],
        &["ns3", "--only", "cubic"],
        &["link", "--jitter", "1ms"],
        &["link", "--mahimahi", "--seconds", "20"],
        &["link", "--only", "sfq"],
    ] {
        assert_eq!(status(arguments).0, Some(2), "{arguments:?}");
    }
    assert_eq!(status(&["mahimahi", "--traces", "/no/such/folder"]).0, Some(2));
}
