//! Sums of the results that test programs print at their end.

use std::fmt;

/// Numbers of tests in the programs' summaries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counts {
    /// Passed tests.
    pub passed: u64,
    /// Failed tests, plus one for each program that ended without a result.
    pub failed: u64,
    /// Tests that lack something, or that run on request only.
    pub skipped: u64,
    /// Programs that have begun and not printed a result.
    unfinished: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl Counts {
    /// Counts a line of a test program.
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

    /// Counts a program's complete output. A program that failed without a failed test, for example because it was killed,
    /// counts as one failure. Returns whether it printed a result.
    pub fn add(&mut self, output: &str, is_passed: bool) -> bool {
        let before = self.failed;
        output.lines().for_each(|line| self.line(line));
        let unfinished = std::mem::take(&mut self.unfinished);
        self.failed += unfinished;
        let is_silent = !is_passed && self.failed == before;
        self.failed += u64::from(is_silent);
        unfinished == 0 && !is_silent
    }
}

/// Number of lines of a complaint that are repeated at the end.
const COMPLAINT_LINES: usize = 40;

/// Failed tests in a program's output, each with the first lines of its complaint.
pub(super) fn complaints(output: &str) -> Vec<(String, String)> {
    let failed = output.lines().filter_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix("FAILED")?.trim_end().strip_suffix("...")?;
        Some(name.trim_end().to_string())
    });
    failed
        .map(|name| {
            let said = complaint(output, &name);
            (name, said)
        })
        .collect()
}

/// Message of a test's panic, without the backtrace.
fn complaint(output: &str, name: &str) -> String {
    let thread = format!("thread '{name}'");
    let lines =
        output.lines().skip_while(|line| !(line.starts_with(&thread) && line.contains("panicked at")));
    let is_end = |line: &str| {
        ["stack backtrace:", "note: ", "test ", "test result: "].iter().any(|end| line.starts_with(end))
    };
    let said = lines.take_while(|line| !is_end(line)).take(COMPLAINT_LINES);
    said.map(|line| format!("    {line}\n")).collect()
}

/// Test that was running in the standard library's harness, which runs one test at a time and prints its name before.
pub(super) fn unfinished(output: &str) -> Option<&str> {
    let begins = |line: &&str| line.starts_with("test ") && line.contains(" ... ");
    let (name, rest) = output.lines().rfind(begins)?["test ".len()..].split_once(" ... ")?;
    // Text printed by a test past the harness precedes its result.
    let after = output.rsplit_once(&format!("test {name} ... "))?.1;
    let has_end = rest.starts_with("ignored") || after.lines().any(|line| matches!(line, "ok" | "FAILED"));
    (!has_end).then_some(name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        let mut counts = Counts::default();
        counts.add(text, true);
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

    #[test]
    fn a_program_that_fails_without_a_word_has_failed() {
        let mut counts = Counts::default();
        counts.add("", false);
        assert_eq!(counts.to_string(), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn a_failed_test_and_what_it_said() {
        let text = "running 3 tests\ntest inner::a ... ok\n\nthread 'inner::b' (12) panicked at a.rs:1:2:\nleft: 1\nright: 2\n\
                    stack backtrace:\n   0: begin\ntest inner::b   ... FAILED\ntest c ... FAILED\n";
        let said = "    thread 'inner::b' (12) panicked at a.rs:1:2:\n    left: 1\n    right: 2\n";
        let expected = [("inner::b".to_string(), said.to_string()), ("c".to_string(), String::new())];
        assert_eq!(complaints(text), expected);
    }

    #[test]
    fn the_test_that_a_harness_was_in() {
        assert_eq!(unfinished("running 2 tests\ntest a ... ok\ntest b ... "), Some("b"));
        assert_eq!(
            unfinished("running 2 tests\ntest a ... ok\ntest b - should panic ... said\nthis"),
            Some("b - should panic")
        );
        assert_eq!(unfinished("running 2 tests\ntest a ... ok\ntest b ... said\nok\n"), None);
        assert_eq!(unfinished("running 1 test\ntest a ... ignored, for a reason\n"), None);
        assert_eq!(unfinished("text"), None);
    }
}
