//! What a gateway writes while it runs: mahimahi's logs of both directions, and a packet capture.

use super::config::Config;
use crate::error::Failure;
use crate::run::eprintln_line;
use qdelay_core::Time;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, Tap};
use qdelay_emu::log::{Layout, LogSummary, MahimahiLog, MahimahiOptions, PcapngLog, PcapngOptions};
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
    /// Opens what `config` asks for. Each has a thread of its own from then on.
    ///
    /// # Errors
    /// A file that cannot be created.
    pub fn open(config: &Config) -> Result<Logs, Failure> {
        let (prefix, capture) = (config.log("mahimahi"), config.log("pcap"));
        if prefix.is_none() && capture.is_none() {
            return Ok(Logs::default());
        }
        let layout = Layout::of(&config.plan).map_err(|error| Failure::input("qdelay gateway", error))?;
        let began = began();
        let mut logs = Logs::default();
        if let Some(prefix) = prefix {
            for (place, (port, ending)) in
                [(Port::Outside, "down"), (Port::Inside, "up")].into_iter().enumerate()
            {
                let mut path = prefix.as_os_str().to_os_string();
                path.push(format!(".{ending}"));
                let path = PathBuf::from(path);
                let [link, qdisc] = config.written(ending);
                let header = MahimahiOptions {
                    trace: link.to_string(),
                    file: path.display().to_string(),
                    command_line: "qdelay gateway".to_string(),
                    queue: qdisc.to_string(),
                    began,
                    ..MahimahiOptions::default()
                };
                let log = MahimahiLog::create(&path, &layout, port, header)
                    .map_err(|error| config.failure("log", "mahimahi", cannot_write(&path, &error)))?;
                logs.mahimahi[place] = Some((path, log));
            }
        }
        if let Some(path) = capture {
            let header = PcapngOptions { began, ..PcapngOptions::default() };
            let log = PcapngLog::create(path, &layout, &header)
                .map_err(|error| config.failure("log", "pcap", cannot_write(path, &error)))?;
            logs.capture = Some((path.to_path_buf(), log));
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

/// When the run begins, for headers that want a date.
#[allow(clippy::disallowed_methods, reason = "captures carry the time of day; nothing else does")]
fn began() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
