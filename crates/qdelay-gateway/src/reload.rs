//! Reading the configuration again: all of it or nothing.

use super::config::Config;
use super::notify::Notify;
use qdelay_emu::control::Control;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_terminal::error::{Failure, one_line};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What a reload needs; shared by the thread of signals and that of the control socket.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    /// What runs. Held while a reload lasts, so that there is one at a time.
    running: Mutex<Running>,
    control: Control,
    notify: Notify,
}

#[derive(Debug)]
struct Running {
    config: Config,
    reloads: u64,
}

impl Reloader {
    /// Of a gateway that runs `running`, which was read from `path`.
    pub fn new(path: PathBuf, running: Config, control: Control, notify: Notify) -> Reloader {
        Reloader { path, running: Mutex::new(Running { config: running, reloads: 0 }), control, notify }
    }

    /// Who is told how things are.
    pub fn notify(&self) -> &Notify {
        &self.notify
    }

    /// What runs, and how often it was replaced. Waits for a reload that goes on: once the data thread has ended, or from another.
    pub fn running(&self) -> (LinkSettings, u64) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        (running.config.settings(), running.reloads)
    }

    /// Reads everything, and only then replaces what runs.
    ///
    /// # Errors
    /// File, line, key, what was wrong and what was expected; what ran goes on.
    pub fn reload(&self) -> Result<String, String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.notify.reloading();
        let result = self.replace(&mut running);
        self.notify.ready(&running.config.summary());
        result.map(|()| format!("reloaded: {}", running.config.summary()))
    }

    fn replace(&self, running: &mut Running) -> Result<(), String> {
        let keeps = |error: String| format!("{error}; what ran before goes on");
        let new = Config::read(&self.path)
            .and_then(|new| running.config.check_reload(&new).map(|()| new))
            .map_err(|failure| keeps(line(failure)))?;
        self.control
            .replace(new.plan.clone(), new.settings())
            .map_err(|gone| gone.to_string())?
            .map_err(|error| keeps(format!("{}: {}", self.path.display(), one_line(&error))))?;
        *running = Running { config: new, reloads: running.reloads + 1 };
        Ok(())
    }
}

fn line(failure: Failure) -> String {
    match failure {
        Failure::Input { place, message } => format!("{place}: {message}"),
        Failure::Check(message) => message,
        Failure::Status(status) => format!("status {status}"),
    }
}
