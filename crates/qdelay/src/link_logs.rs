//! What `qdelay link` writes while it runs: mahimahi's logs of both directions, and a packet capture.

use crate::cli::Link;
use crate::error::Failure;
use crate::run::eprintln_line;
use qdelay_core::Time;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, Tap};
use qdelay_emu::log::{Layout, LogSummary, MahimahiLog, MahimahiOptions, PcapngLog, PcapngOptions};
use qdelay_emu::plan::Plan;
use qdelay_experiment::engine::cannot_write;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    /// Opens what `options` ask for. Their threads must be there before this one becomes a real-time thread.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(options: &Link, plan: &Plan) -> Result<Logs, Failure> {
        if options.log.is_none() && options.pcap.is_none() {
            return Ok(Logs::default());
        }
        let layout = Layout::of(plan).map_err(|error| Failure::input("qdelay link", error))?;
        let began = began();
        let mut logs = Logs::default();
        if let Some(prefix) = &options.log {
            let down = (Port::Outside, "down", &options.down, &options.qdisc);
            let up = (Port::Inside, "up", &options.up, &options.up_qdisc);
            for (place, (port, ending, link, qdisc)) in [down, up].into_iter().enumerate() {
                let path = with_ending(prefix, ending);
                let header = MahimahiOptions {
                    trace: link.clone(),
                    file: path.display().to_string(),
                    command_line: "qdelay link".to_string(),
                    queue: qdisc.clone(),
                    began,
                    ..MahimahiOptions::default()
                };
                let log = MahimahiLog::create(&path, &layout, port, header);
                logs.mahimahi[place] =
                    Some((path.clone(), log.map_err(|error| cannot_write(&path, &error))?));
            }
        }
        if let Some(path) = &options.pcap {
            let header = PcapngOptions { began, ..PcapngOptions::default() };
            let log =
                PcapngLog::create(path, &layout, &header).map_err(|error| cannot_write(path, &error))?;
            logs.capture = Some((path.clone(), log));
        }
        Ok(logs)
    }

    /// Writes what is left; returns how many records are missing. A file that could not be written is told, and counts as one.
    pub fn close(self, end: Time) -> u64 {
        let mahimahi = self.mahimahi.into_iter().flatten().map(|(path, log)| (path, log.close(end)));
        let capture = self.capture.into_iter().map(|(path, log)| (path, log.close(end)));
        mahimahi.chain(capture).map(|(path, closed)| missing(&path, closed)).sum()
    }
}

fn missing(path: &Path, closed: io::Result<LogSummary>) -> u64 {
    match closed {
        Ok(summary) => summary.lost,
        Err(error) => {
            eprintln_line(&cannot_write(path, &error).to_string());
            1
        }
    }
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
