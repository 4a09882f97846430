//! Logs of a link in real time: mahimahi's logs of both directions, and a packet capture.

use crate::error::Failure;
use crate::output;
use qdelay_core::Time;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, Tap};
use qdelay_emu::log::{Layout, LogError, LogSummary, MahimahiLog, MahimahiOptions, PcapngLog, PcapngOptions};
use qdelay_emu::plan_kind::PlanKind;
use qdelay_path::AnyLink;
use qdelay_study::InputError;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Logs to be written.
pub struct LogOptions<'a> {
    /// Name of the command, for headers and errors.
    pub command: &'static str,
    /// Paths of mahimahi's logs, down and up; [`mahimahi_files`] derives them from a prefix.
    pub mahimahi: [Option<PathBuf>; 2],
    /// Path of the packet capture.
    pub capture: Option<&'a Path>,
    /// Permits replacing existing files.
    pub force: bool,
    /// Link and discipline as the user wrote them, down and up.
    pub typed: [[&'a str; 2]; 2],
}

/// The kind of a file that could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// One of mahimahi's logs.
    Mahimahi,
    /// The packet capture.
    Capture,
}

/// Result of closing the logs.
#[derive(Debug, Default)]
pub struct LogResults {
    /// Number of lost records in logs that are otherwise complete.
    pub lost: u64,
    /// Messages about logs that could not be written to their end: file, error, and the number of records in the file.
    pub broken: Vec<String>,
}

/// The open logs.
#[derive(Default)]
pub struct Logs {
    mahimahi: [Option<(PathBuf, MahimahiLog)>; 2],
    capture: Option<(PathBuf, PcapngLog)>,
}

impl Tap for Logs {
    #[inline]
    fn reads_bytes(&self) -> bool {
        self.capture.is_some()
    }
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        for (_, log) in self.mahimahi.iter_mut().flatten() {
            log.event(event, bytes);
        }
        if let Some((_, log)) = &mut self.capture {
            log.event(event, bytes);
        }
    }
    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        for (_, log) in self.mahimahi.iter_mut().flatten() {
            log.link_replaced(now, port, link);
        }
    }
}

impl Logs {
    /// Opens the requested logs. Each log starts a thread, so call this before the caller's thread takes real-time priority. `failure`
    /// converts the error of a file that cannot be created.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(
        wanted: &LogOptions,
        plan: &PlanKind,
        failure: impl Fn(LogKind, InputError) -> Failure,
    ) -> Result<Logs, Failure> {
        if wanted.mahimahi.iter().all(Option::is_none) && wanted.capture.is_none() {
            return Ok(Logs::default());
        }
        let layout = Layout::from_plan(plan).map_err(|error| Failure::input(wanted.command, error))?;
        // All logs have the same start time, so that their times can be compared.
        let began = began();
        let mut logs = Logs::default();
        let ends = [Port::Outside, Port::Inside];
        for (place, (port, [link, qdisc])) in ends.into_iter().zip(wanted.typed).enumerate() {
            if let Some(path) = wanted.mahimahi[place].clone() {
                let header = MahimahiOptions {
                    trace: link.to_string(),
                    file: path.display().to_string(),
                    command_line: wanted.command.to_string(),
                    queue: qdisc.to_string(),
                    began,
                    ..MahimahiOptions::default()
                };
                let log = create(&path, wanted.force)
                    .and_then(|file| MahimahiLog::to_file(file, &layout, port, header))
                    .map_err(|error| failure(LogKind::Mahimahi, cannot_create(&path, &error)))?;
                logs.mahimahi[place] = Some((path, log));
            }
        }
        if let Some(path) = wanted.capture {
            let header = PcapngOptions { began, ..PcapngOptions::default() };
            let log = create(path, wanted.force)
                .and_then(|file| PcapngLog::to_file(file, &layout, &header))
                .map_err(|error| failure(LogKind::Capture, cannot_create(path, &error)))?;
            logs.capture = Some((path.to_path_buf(), log));
        }
        Ok(logs)
    }

    /// Writes the remaining records and closes the logs.
    pub fn close(self, end: Time) -> LogResults {
        let mahimahi = self.mahimahi.into_iter().flatten().map(|(path, log)| (path, log.close(end)));
        let capture = self.capture.into_iter().map(|(path, log)| (path, log.close(end)));
        mahimahi.chain(capture).fold(LogResults::default(), |closed, (path, log)| closed.with(&path, log))
    }
}

impl LogResults {
    fn with(mut self, path: &Path, closed: Result<LogSummary, LogError>) -> LogResults {
        match closed {
            Ok(summary) => self.lost += summary.lost,
            Err(error) => self.broken.push(format!("{}: cannot be written: {error}", path.display())),
        }
        self
    }
}

/// Paths of mahimahi's logs, down and up.
pub fn mahimahi_files(prefix: &Path) -> [PathBuf; 2] {
    ["down", "up"].map(|ending| with_ending(prefix, ending))
}

/// Refuses an existing file, unless it may be replaced; pipes and devices are accepted.
///
/// # Errors
/// The file exists.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => output::refuse_existing(path, force),
    }
}

/// Creates an empty file of this name. An existing file is opened only if it may be replaced, or is not a regular file.
///
/// # Errors
/// The file exists, or cannot be created.
pub fn create(path: &Path, force: bool) -> io::Result<File> {
    let is_special = path.metadata().is_ok_and(|found| !found.is_file());
    let mut options = OpenOptions::new();
    options.write(true);
    match force || is_special {
        true => options.create(true).truncate(true).open(path),
        false => options.create_new(true).open(path),
    }
}

/// Error for a file that cannot be created.
pub fn cannot_create(path: &Path, error: &io::Error) -> InputError {
    let message = format!("cannot be written: {error}; expected a writable place");
    InputError::new(path.display(), message)
}

fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Wall clock time at the start of the run, for headers that need a date.
#[allow(clippy::disallowed_methods, reason = "captures contain wall clock times; no other output does")]
fn began() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
