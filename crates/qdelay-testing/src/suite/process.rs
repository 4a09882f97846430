//! Program of the suite in its own process group, which is killed if one of its tests does not end.

use crate::report::unfinished;
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval of checks of a program: short compared with starting one.
const PAUSE: Duration = Duration::from_millis(20);
/// Time for a group to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// Time limits of a program; `None` is no limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Limit of a test that has begun.
    pub of_test: Option<Duration>,
    /// Limit of the time without a running test, since the last one ended.
    pub of_silence: Option<Duration>,
}

/// End of a program.
#[derive(Debug)]
pub(super) struct End {
    pub status: ExitStatus,
    pub time: Duration,
    /// Reason why the suite ended the program.
    pub reason: Option<String>,
    /// Tests that had begun and not ended, according to the program's list.
    pub unfinished: Vec<String>,
}

/// Runs a program to its end. `begun` is the list of tests that it writes; `interrupted` ends it.
pub(super) fn run(
    command: &mut Command,
    begun: &Path,
    limits: Limits,
    interrupted: &AtomicBool,
) -> io::Result<End> {
    let _ = fs::remove_file(begun);
    // A background process group may not read from the terminal.
    let mut child = command.process_group(0).stdin(Stdio::null()).spawn()?;
    #[allow(clippy::disallowed_methods, reason = "the limits, the order of the next run, and for the reader")]
    let begin = Instant::now();
    let list = || fs::read_to_string(begun).unwrap_or_default();
    let mut watch = Watch::default();
    let (status, reason) = loop {
        if let Some(status) = child.try_wait()? {
            break (status, None);
        }
        if interrupted.load(Ordering::Relaxed) {
            break (stop(&mut child, Signal::INT)?, Some("the suite was interrupted".to_string()));
        }
        if let Some(reason) = watch.overdue(&list(), begin.elapsed(), limits) {
            break (stop(&mut child, Signal::ABORT)?, Some(reason));
        }
        pause();
    };
    let unfinished = unfinished(&list()).into_iter().map(str::to_string).collect();
    let _ = fs::remove_file(begun);
    Ok(End { status, time: begin.elapsed(), reason, unfinished })
}

/// Ends a child's whole group: with `signal`, and after a while with SIGKILL.
fn stop(child: &mut Child, signal: Signal) -> io::Result<ExitStatus> {
    let group = Pid::from_child(child);
    let _ = kill_process_group(group, signal);
    #[allow(clippy::disallowed_methods, reason = "others are given time to end")]
    let begin = Instant::now();
    while child.try_wait()?.is_none() && begin.elapsed() < GRACE {
        pause();
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()
}

fn pause() {
    #[allow(clippy::disallowed_methods, reason = "waits for another process")]
    std::thread::sleep(PAUSE);
}

/// Start times of the running tests, relative to the program's start.
#[derive(Default)]
struct Watch {
    since: BTreeMap<String, Duration>,
    length: usize,
    changed: Duration,
}

impl Watch {
    /// Reason to end the program now, if there is one.
    fn overdue(&mut self, list: &str, now: Duration, limits: Limits) -> Option<String> {
        if self.length != list.len() {
            (self.length, self.changed) = (list.len(), now);
            let running = unfinished(list);
            self.since.retain(|test, _| running.contains(&test.as_str()));
            for test in running {
                self.since.entry(test.to_string()).or_insert(now);
            }
        }
        let is_over = |since: Duration, limit: Option<Duration>| {
            limit.filter(|&limit| now.saturating_sub(since) > limit).map(|limit| limit.as_secs_f64())
        };
        let (test, limit) = match self.since.iter().min_by_key(|(_, since)| **since) {
            Some((test, since)) => (format!("test {test} took"), is_over(*since, limits.of_test)),
            None => ("it ran without a test".to_string(), is_over(self.changed, limits.of_silence)),
        };
        limit.map(|limit| format!("{test} longer than {limit} s (QDELAY_TEST_LIMIT)"))
    }
}

/// End of a program in words.
pub(super) fn words(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match name(signal) {
            Some(name) => format!("ended by signal {signal} ({name})"),
            None => format!("ended by signal {signal}"),
        },
        (None, Some(code)) => format!("ended with exit status {code}"),
        (None, None) => format!("ended: {status}"),
    }
}

fn name(signal: i32) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::SYS, "SIGSYS"),
    ];
    names.into_iter().find_map(|(known, name)| (known.as_raw() == signal).then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_overdue_by_its_own_begin() {
        let seconds = Duration::from_secs;
        let limits = Limits { of_test: Some(seconds(10)), of_silence: Some(seconds(20)) };
        let mut watch = Watch::default();
        let mut at = |list: &str, now: u64| watch.overdue(list, seconds(now), limits);
        assert_eq!(at("", 20), None);
        assert_eq!(at("begun\ta\n", 25), None);
        assert_eq!(at("begun\ta\nbegun\tb\n", 34), None);
        assert_eq!(at("begun\ta\nbegun\tb\nended\ta\n", 36), None);
        assert_eq!(at("begun\ta\nbegun\tb\nended\ta\n", 44), None);
        let reason = at("begun\ta\nbegun\tb\nended\ta\n", 45).unwrap();
        assert_eq!(reason, "test b took longer than 10 s (QDELAY_TEST_LIMIT)");
        let ended = "begun\ta\nbegun\tb\nended\ta\nended\tb\n";
        assert_eq!(at(ended, 46), None);
        assert_eq!(at(ended, 66), None);
        assert_eq!(at(ended, 67).unwrap(), "it ran without a test longer than 20 s (QDELAY_TEST_LIMIT)");
    }

    #[test]
    fn no_limit_is_never() {
        let limits = Limits { of_test: None, of_silence: None };
        let mut watch = Watch::default();
        assert_eq!(watch.overdue("begun\ta\n", Duration::ZERO, limits), None);
        assert_eq!(watch.overdue("begun\ta\n", Duration::MAX, limits), None);
    }
}
