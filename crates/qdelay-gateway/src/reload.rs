//! Reloading the configuration, completely or not at all.

use super::config::Config;
use super::notify::Notify;
use qdelay_emu::control::Control;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_terminal::error::{Failure, one_line};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// State for reloads, shared by the threads of signals and of the control socket.
#[derive(Debug)]
pub struct Reloader {
    path: PathBuf,
    /// The running configuration. Locked during a reload, so that there is one at a time.
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
    /// For a gateway that runs `running`, which was read from `path`.
    pub fn new(path: PathBuf, running: Config, control: Control, notify: Notify) -> Reloader {
        Reloader { path, running: Mutex::new(Running { config: running, reloads: 0 }), control, notify }
    }

    /// The service manager.
    pub fn notify(&self) -> &Notify {
        &self.notify
    }

    /// The current settings, and how often they were replaced. Waits for a reload in progress: to be called after the data
    /// thread has ended, or from another thread.
    pub fn running(&self) -> (LinkSettings, u64) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        (running.config.settings(), running.reloads)
    }

    /// Reads the whole configuration, and then replaces the current settings.
    ///
    /// # Errors
    /// File, line, key, the error and what was expected; the previous configuration stays in use.
    pub fn reload(&self) -> Result<String, String> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.notify.reloading();
        let result = self.replace(&mut running);
        self.notify.ready(&running.config.summary());
        result.map(|()| format!("reloaded: {}", running.config.summary()))
    }

    fn replace(&self, running: &mut Running) -> Result<(), String> {
        let keeps = |error: String| format!("{error}; the previous configuration stays in use");
        let new = running
            .config
            .read_again(&self.path)
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
