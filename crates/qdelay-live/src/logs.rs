//! What a real link writes while it runs: mahimahi's logs of both directions, and a packet capture.

use qdelay_core::Time;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, Tap};
use qdelay_emu::log::{Layout, LogError, LogSummary, MahimahiLog, MahimahiOptions, PcapngLog, PcapngOptions};
use qdelay_emu::plan_kind::PlanKind;
use qdelay_study::InputError;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is to be written.
pub struct Wanted<'a> {
    /// The command, for headers and errors.
    pub command: &'static str,
    /// What mahimahi's logs begin with: `.down` and `.up` are added.
    pub mahimahi: Option<&'a Path>,
    /// The capture.
    pub capture: Option<&'a Path>,
    /// Whether files that exist may be replaced.
    pub force: bool,
    /// Link and discipline as they were typed, down and up.
    pub typed: [[&'a str; 2]; 2],
}

/// Which of the files could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of mahimahi's logs.
    Mahimahi,
    /// The capture.
    Capture,
}

/// What came of the logs.
#[derive(Debug, Default)]
pub struct Closed {
    /// Records that found no room in a log that is whole but for these.
    pub lost: u64,
    /// Logs that could not be written to their end: which, why, and what is in them.
    pub broken: Vec<String>,
}

/// The logs that were asked for.
#[derive(Default)]
pub struct Logs {
    mahimahi: [Option<(PathBuf, MahimahiLog)>; 2],
    capture: Option<(PathBuf, PcapngLog)>,
}

impl Tap for Logs {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        for (_, log) in self.mahimahi.iter_mut().flatten() {
            log.event(event, bytes);
        }
        if let Some((_, log)) = &mut self.capture {
            log.event(event, bytes);
        }
    }
}

impl Logs {
    /// Opens what is wanted. Each log has a thread of its own from then on, so this comes before the caller's becomes a real-time
    /// thread. `failure` says how the caller tells of a file that cannot be created.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(
        wanted: &Wanted,
        plan: &PlanKind,
        failure: impl Fn(Kind, InputError) -> Failure,
    ) -> Result<Logs, Failure> {
        if wanted.mahimahi.is_none() && wanted.capture.is_none() {
            return Ok(Logs::default());
        }
        let layout = Layout::of(plan).map_err(|error| Failure::input(wanted.command, error))?;
        let began = began();
        let mut logs = Logs::default();
        if let Some(prefix) = wanted.mahimahi {
            let ends = [(Port::Outside, "down"), (Port::Inside, "up")];
            for (place, ((port, ending), [link, qdisc])) in ends.into_iter().zip(wanted.typed).enumerate() {
                let path = with_ending(prefix, ending);
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
                    .map_err(|error| failure(Kind::Mahimahi, cannot_create(&path, &error)))?;
                logs.mahimahi[place] = Some((path, log));
            }
        }
        if let Some(path) = wanted.capture {
            let header = PcapngOptions { began, ..PcapngOptions::default() };
            let log = create(path, wanted.force)
                .and_then(|file| PcapngLog::to_file(file, &layout, &header))
                .map_err(|error| failure(Kind::Capture, cannot_create(path, &error)))?;
            logs.capture = Some((path.to_path_buf(), log));
        }
        Ok(logs)
    }

    /// Writes what is left.
    pub fn close(self, end: Time) -> Closed {
        let mahimahi = self.mahimahi.into_iter().flatten().map(|(path, log)| (path, log.close(end)));
        let capture = self.capture.into_iter().map(|(path, log)| (path, log.close(end)));
        mahimahi.chain(capture).fold(Closed::default(), |closed, (path, log)| closed.with(&path, log))
    }
}

impl Closed {
    fn with(mut self, path: &Path, closed: Result<LogSummary, LogError>) -> Closed {
        match closed {
            Ok(summary) => self.lost += summary.lost,
            Err(error) => self.broken.push(format!("{}: cannot be written: {error}", path.display())),
        }
        self
    }
}

/// The files of mahimahi's logs, down and up.
pub fn mahimahi_files(prefix: &Path) -> [PathBuf; 2] {
    ["down", "up"].map(|ending| with_ending(prefix, ending))
}

/// Refuses a file that exists, unless it may be replaced; a pipe or a device is written to as it is.
///
/// # Errors
/// It exists.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    match path.metadata() {
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => output::refuse_existing(path, force),
    }
}

/// An empty file of this name; one that exists is taken only where it may be replaced, or is no regular file.
///
/// # Errors
/// It exists, or cannot be made.
pub fn create(path: &Path, force: bool) -> io::Result<File> {
    let is_special = path.metadata().is_ok_and(|found| !found.is_file());
    let mut options = OpenOptions::new();
    options.write(true);
    match force || is_special {
        true => options.create(true).truncate(true).open(path),
        false => options.create_new(true).open(path),
    }
}

/// `path` cannot be made, and why.
pub fn cannot_create(path: &Path, error: &io::Error) -> InputError {
    let message = format!("cannot be written: {error}; expected a place that can be written to");
    InputError::new(path.display(), message)
}

fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

/// When the run begins, for headers that want a date.
#[allow(clippy::disallowed_methods, reason = "captures carry the time of day; nothing else does")]
fn began() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
