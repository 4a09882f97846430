//! The program that a proxy runs: the proxy ends with it, and it with the proxy.

use crate::serve::Proxy;
use qdelay_emu::control::Control;
use qdelay_terminal::error::Failure;
use qdelay_terminal::live::control_options::Places;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A running program.
pub struct Program(Child);

impl Program {
    /// The command `words`, which is told where `places` are; `None` without words.
    pub fn command(words: &[OsString], places: &Places) -> Option<Command> {
        let (name, arguments) = words.split_first()?;
        let mut command = Command::new(name);
        places.set_environment(command.args(arguments));
        Some(command)
    }

    /// Starts a command.
    ///
    /// # Errors
    /// No such program, or one that cannot be run.
    pub fn start(mut command: Command) -> Result<Program, Failure> {
        let child =
            command.spawn().map_err(|error| cannot_run(&command.get_program().to_string_lossy(), &error))?;
        Ok(Program(child))
    }

    /// Lets `proxy` end when the program has ended, and ends the program at a request to stop the proxy. The thread returns the exit
    /// status.
    pub fn end_with(mut self, proxy: &mut Proxy, control: Control) -> thread::JoinHandle<Option<ExitStatus>> {
        let has_ended = Arc::new(AtomicBool::new(false));
        proxy.stop_when(Arc::clone(&has_ended));
        // Only the control socket takes such requests, which is for Linux.
        #[cfg(target_os = "linux")]
        if let Some(mut end) = ending::of(&self.0) {
            proxy.at_stop(move || end.begin());
        }
        thread::spawn(move || {
            let status = self.0.wait().ok();
            has_ended.store(true, Ordering::Relaxed);
            control.wake();
            status
        })
    }
}

/// The exit status of a program, as a shell shows it.
pub fn status_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return u8::try_from(128 + signal).unwrap_or(u8::MAX);
        }
    }
    status.code().map_or(1, |code| u8::try_from(code).unwrap_or(1))
}

fn cannot_run(name: &str, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::input(name, "no such program; expected one that is installed"),
        _ => Failure::input(name, format!("cannot be run: {error}; expected a program")),
    }
}

/// The end of a program at a request.
#[cfg(target_os = "linux")]
mod ending {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    use std::os::fd::OwnedFd;
    use std::process::Child;
    use std::thread;

    /// Time that a program may take to end, in seconds: as long as a command behind a link.
    const GRACE_SECONDS: i64 = 2;

    pub struct Ending(Option<OwnedFd>);

    pub fn of(child: &Child) -> Option<Ending> {
        let descriptor = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        descriptor.ok().map(|descriptor| Ending(Some(descriptor)))
    }

    impl Ending {
        /// Asks the program to end, and kills it if it does not. Later calls have no effect.
        pub fn begin(&mut self) {
            let Some(descriptor) = self.0.take() else { return };
            // Shells end at SIGHUP, other programs at either signal. A program that has ended needs none.
            for signal in [Signal::HUP, Signal::TERM] {
                let _ = pidfd_send_signal(&descriptor, signal);
            }
            thread::spawn(move || {
                let grace = Timespec { tv_sec: GRACE_SECONDS, tv_nsec: 0 };
                let ended = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&grace));
                if ended.is_ok_and(|ready| ready == 0) {
                    let _ = pidfd_send_signal(&descriptor, Signal::KILL);
                }
            });
        }
    }
}
