//! Lists of a suite: skipped tests and durations, one line for each test, appended by test programs and sorted by the suite.

use crate::{Need, Part};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::OpenOptions;
use std::io::Write as _;

/// Variable with the file to which programs append skipped tests. Set by the suite.
pub const SKIPPED_FILE: &str = "QDELAY_SKIPPED";

/// Variable with the file to which programs append the duration of their tests. Set by the suite.
pub const TIMES_FILE: &str = "QDELAY_TEST_TIMES";

/// Variable with the file to which a program appends the begin and end of each test. Set by the suite, with a different
/// file for each program.
pub const BEGUN_FILE: &str = "QDELAY_TESTS_BEGUN";

/// Reason why a test was not run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Skipped {
    /// Cause, by which lists are grouped.
    pub cause: Cause,
    /// Reason in words.
    pub reason: String,
}

/// Kind of reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// The machine lacks something.
    Need(Need),
    /// The test only runs on request.
    Request,
    /// The part of the tests was left out.
    Part(Part),
}

impl Skipped {
    /// Entry for a test whose part was left out.
    pub fn left_out(part: Part) -> Self {
        Self { cause: Cause::Part(part), reason: format!("left out; it needs {}", part.rule().needs) }
    }

    fn title(&self) -> String {
        match self.cause {
            Cause::Need(need) => format!("needs {}", need.name()),
            Cause::Request => "only on request".to_string(),
            Cause::Part(part) => format!("part {}", part.rule().name),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.title(), self.reason)
    }
}

/// Appends a skipped test to the list, if there is one. Errors are ignored: the counts do not depend on the list.
pub(crate) fn append(package: &str, program: &str, test: &str, skipped: &Skipped) {
    let reason = &skipped.reason;
    append_line(SKIPPED_FILE, &format!("{}\t{reason}\t{package}::{program}\t{test}\n", skipped.title()));
}

/// Appends the duration of a test in seconds, if there is a list.
pub(crate) fn append_time(package: &str, program: &str, test: &str, seconds: f64) {
    append_line(TIMES_FILE, &format!("{seconds:.2}\t{package}::{program}\t{test}\n"));
}

/// Appends the begin of a test, if there is a list.
pub(crate) fn append_begin(test: &str) {
    append_line(BEGUN_FILE, &format!("begun\t{test}\n"));
}

/// Appends the end of a test, if there is a list.
pub(crate) fn append_end(test: &str) {
    append_line(BEGUN_FILE, &format!("ended\t{test}\n"));
}

/// Tests of a list that have begun and not ended.
pub(crate) fn unfinished(list: &str) -> Vec<&str> {
    let mut running = Vec::new();
    for line in list.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match line.split_once('\t') {
            Some(("begun", test)) => running.push(test),
            Some(("ended", test)) => running.retain(|running| *running != test),
            _ => {}
        }
    }
    running
}

fn append_line(variable: &str, line: &str) {
    let Some(path) = std::env::var_os(variable) else { return };
    // A single write, because programs and threads append at the same time.
    let file = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("{}: {error}", path.display());
    }
}

/// Lines of a list of durations, longest first.
pub(crate) fn longest_first(list: &str) -> String {
    let seconds = |line: &&str| line.split('\t').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let mut lines: Vec<&str> = list.lines().collect();
    lines.sort_by(|a, b| f64::total_cmp(&seconds(b), &seconds(a)));
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// Tests of the list by need, reason and program. Incomplete lines are omitted.
pub(crate) fn grouped(list: &str) -> String {
    type Programs<'a> = BTreeMap<&'a str, Vec<&'a str>>;
    let mut needs: BTreeMap<&str, BTreeMap<&str, Programs>> = BTreeMap::new();
    for line in list.lines() {
        if let [need, reason, program, test] = line.split('\t').collect::<Vec<_>>()[..] {
            let reasons = needs.entry(need).or_default().entry(reason).or_default();
            reasons.entry(program).or_default().push(test);
        }
    }
    let count = |programs: &Programs| programs.values().map(Vec::len).sum::<usize>();
    let mut text = String::new();
    for (need, reasons) in &needs {
        let all: usize = reasons.values().map(count).sum();
        let _ = writeln!(text, "skipped, {need}: {all}");
        for (reason, programs) in reasons {
            let _ = writeln!(text, "  {reason}: {}", count(programs));
            for (program, tests) in programs {
                let _ = writeln!(text, "    {program}");
                let mut tests = tests.clone();
                tests.sort_unstable();
                tests.iter().for_each(|test| _ = writeln!(text, "      {test}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_need_reason_and_program() {
        let list = "needs net\tnot root\tqdelay::link\tb\nneeds tools\tno ip\tqdelay::link\tc\n\
                    needs net\tnot root\tqdelay::link\ta\nhalf";
        let expected = "skipped, needs net: 2\n  not root: 2\n    qdelay::link\n      a\n      b\n\
                        skipped, needs tools: 1\n  no ip: 1\n    qdelay::link\n      c\n";
        assert_eq!(grouped(list), expected);
        assert_eq!(grouped(""), "");
    }

    #[test]
    fn tests_without_an_end_are_found() {
        let list = "begun\ta\nbegun\tb\nended\ta\nbegun\tc\nbegun\thalf";
        assert_eq!(unfinished(list), ["b", "c"]);
    }

    #[test]
    fn times_in_order() {
        assert_eq!(
            longest_first("0.50\ta\tx\n12.00\tb\ty\n1.00\ta\tz\n"),
            "12.00\tb\ty\n1.00\ta\tz\n0.50\ta\tx\n"
        );
    }
}
