//! All tests of the workspace by `cargo test`, and at the end what was skipped and how many passed, failed and were skipped.

use crate::report::{self, SKIPPED_FILE};
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Numbers of tests, as programs sum them up.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed, and one for each program that ended without a result.
    pub failed: u64,
    /// Those that something was missing for, or that are run on request.
    pub skipped: u64,
    /// Programs that have begun and have not come to a result.
    unfinished: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Counts {
    /// Takes a line of a test program into account.
    fn line(&mut self, line: &str) {
        if line.starts_with("running ") && (line.ends_with(" test") || line.ends_with(" tests")) {
            self.unfinished += 1;
        }
        let Some((_, sums)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        let number = |what: &str| {
            let sum = sums.split("; ").find_map(|sum| sum.strip_suffix(what));
            sum.and_then(|sum| sum.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        self.unfinished = self.unfinished.saturating_sub(1);
        self.passed += number("passed");
        self.failed += number("failed");
        self.skipped += number("ignored");
    }

    /// When all has ended: a program that was killed has failed.
    fn end(&mut self) {
        self.failed += std::mem::take(&mut self.unfinished);
    }
}

/// An empty list in `folder`. Its path holds in the folder of each crate, where cargo starts the crate's tests.
fn begun(folder: &Path) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let list = std::path::absolute(folder)?.join("skipped.tsv");
    std::fs::write(&list, "")?;
    Ok(list)
}

/// Runs `cargo test` with these arguments. The list stands in `folder` meanwhile.
///
/// The status is that of cargo, and 1 where cargo is content but a test has failed.
pub fn run(folder: &Path, arguments: &[String]) -> ExitCode {
    let list = match begun(folder) {
        Ok(list) => list,
        Err(error) => return refuse(format_args!("{}: {error}", folder.display())),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.arg("test").args(arguments).env(SKIPPED_FILE, &list).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return refuse(format_args!("cargo: {error}")),
    };
    let mut counts = Counts::default();
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let (mut line, mut has_begun) = (Vec::new(), false);
    while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        // Whoever reads may go away; the tests go on.
        let _ = std::io::stdout().write_all(&line);
        has_begun |= line.starts_with(b"running ");
        counts.line(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    let status = match child.wait() {
        Ok(status) => status,
        Err(error) => return refuse(format_args!("cargo: {error}")),
    };
    counts.end();
    if has_begun {
        println!("{}{counts}", report::grouped(&std::fs::read_to_string(&list).unwrap_or_default()));
    }
    match status.code() {
        Some(0) if counts.failed == 0 => ExitCode::SUCCESS,
        Some(0) => ExitCode::FAILURE,
        code => ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
    }
}

fn refuse(complaint: fmt::Arguments) -> ExitCode {
    eprintln!("qdelay-testing: {complaint}");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        let mut counts = Counts::default();
        text.lines().for_each(|line| counts.line(line));
        counts.end();
        counts
    }

    #[test]
    fn results_are_added_up() {
        let text = "running 3 tests\ntest a ... ok\n\
                    test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                    running 1 test\n\
                    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.00s\n";
        assert_eq!(counts(text).to_string(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_program_without_a_result_has_failed() {
        let text = "running 3 tests\ntest a ... ok\nrunning 1 test\n\
                    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(counts(text).to_string(), "1 passed, 1 failed, 0 skipped");
    }
}
