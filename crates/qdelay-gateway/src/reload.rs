//! Reloads of the configuration, completely or not at all.
//!
//! Reading a file may take any time (for example from a network file system without its server), so a thread of its own reads it, and
//! a reload waits for that thread no longer than [`PATIENCE`]. Stopping the gateway never waits for a reload.

use super::config::Config;
use super::notify::Notify;
use qdelay_emu::control::Control;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_terminal::error::{Failure, one_line};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum time for reading the configuration and its traces.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of threads that wait for files at the same time.
const READERS_MAX: usize = 4;

/// State for reloads, shared by the threads of signals and of the control socket.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    /// Lock held during a reload, so that there is one at a time.
    turn: Mutex<()>,
    /// The running configuration. Its lock is held only while it is copied.
    running: Mutex<Running>,
    /// Number of threads that still read.
    readers: Arc<AtomicUsize>,
    control: Control,
    notify: Notify,
}

#[derive(Clone, Debug)]
struct Running {
    config: Config,
    reloads: u64,
}

impl Reloader {
    /// Creates the state for a gateway that runs `running`, which was read from `path`.
    pub fn new(path: PathBuf, running: Config, control: Control, notify: Notify) -> Reloader {
        let running = Mutex::new(Running { config: running, reloads: 0 });
        Reloader { path, turn: Mutex::new(()), running, readers: Arc::default(), control, notify }
    }

    /// The service manager's socket.
    pub fn notify(&self) -> &Notify {
        &self.notify
    }

    /// The current settings, and the number of their replacements. Does not wait for a reload in progress.
    pub fn running(&self) -> (LinkSettings, u64) {
        let running = lock(&self.running);
        (running.config.settings(), running.reloads)
    }

    /// Reads the whole configuration, and then replaces the current settings.
    ///
    /// # Errors
    /// File, line, key, the error and what was expected; the previous configuration stays in use.
    pub fn reload(&self) -> Result<String, String> {
        let _turn = lock(&self.turn);
        self.notify.reloading();
        let result = self.replace();
        let summary = lock(&self.running).config.summary();
        self.notify.ready(&summary);
        result.map(|()| format!("reloaded: {summary}"))
    }

    fn replace(&self) -> Result<(), String> {
        let keeps = |error: String| format!("{error}; the previous configuration stays in use");
        let Running { config, reloads } = lock(&self.running).clone();
        let new = self.read(config).map_err(keeps)?;
        self.control
            .replace(new.plan.clone(), new.settings())
            .map_err(|gone| gone.to_string())?
            .map_err(|error| keeps(format!("{}: {}", self.path.display(), one_line(&error))))?;
        *lock(&self.running) = Running { config: new, reloads: reloads + 1 };
        Ok(())
    }

    /// Reads the configuration in a thread of its own. A thread that takes too long continues without being waited for.
    fn read(&self, before: Config) -> Result<Config, String> {
        let fail = |message: String| format!("{}: {message}", self.path.display());
        if self.readers.fetch_add(1, Ordering::Relaxed) >= READERS_MAX {
            self.readers.fetch_sub(1, Ordering::Relaxed);
            return Err(fail(format!(
                "{READERS_MAX} earlier reloads still wait for their files; expected files that can be read"
            )));
        }
        let (answer, answered) = channel();
        let (path, readers) = (self.path.clone(), Arc::clone(&self.readers));
        let work = move || {
            let new = before.read_again(&path).and_then(|new| before.check_reload(&new).map(|()| new));
            // A late answer has no receiver, so sending it may fail.
            let _ = answer.send(new.map_err(line));
            readers.fetch_sub(1, Ordering::Relaxed);
        };
        if let Err(error) = thread::Builder::new().name("reading".into()).spawn(work) {
            self.readers.fetch_sub(1, Ordering::Relaxed);
            return Err(fail(format!(
                "no thread can be started to read it: {error}; expected fewer threads on this machine"
            )));
        }
        answered.recv_timeout(PATIENCE).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(fail(format!(
                "reading it or a trace that it names took more than {} s; expected files that can be read at once",
                PATIENCE.as_secs()
            ))),
            RecvTimeoutError::Disconnected => Err(fail("cannot be read; this is a fault of the program".to_string())),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(failure: Failure) -> String {
    match failure {
        Failure::Input { place, message } => format!("{place}: {message}"),
        Failure::Check(message) => message,
        Failure::Status(status) => format!("status {status}"),
    }
}
