//! A command in a namespace: started, waited for, and killed when this process ends.
//!
//! The command stays in our process group, as with `time` and `env`: Ctrl-C and Ctrl-Z reach both processes, and scripts that
//! run qdelay keep working. An interactive shell creates a group of its own, takes the terminal, and gives it back when it
//! exits; if the shell was killed first, this process takes the terminal back.
#![allow(unsafe_code)] // A closure between fork and exec: the only place from which PR_SET_PDEATHSIG can be set.

use super::signals::Forwarding;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

/// The state of the command in the terminal's foreground.
#[derive(Debug)]
pub(super) struct Foreground {
    forwarding: Forwarding,
    terminal: Option<Terminal>,
}

impl Foreground {
    /// # Errors
    /// There is a foreground command already.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { forwarding: Forwarding::new()?, terminal: Terminal::ours() })
    }
}

/// A command that has been started. Dropping it kills the command if it has not ended.
#[derive(Debug)]
pub struct Running {
    child: Child,
    foreground: Option<Foreground>,
    status: Option<ExitStatus>,
}

/// Starts `command` outside any new namespace, from the calling thread: the command is killed when the thread ends.
///
/// # Errors
/// The command cannot be started.
pub fn spawn(command: Command) -> io::Result<Running> {
    start(command, None)
}

/// Starts the command as [`spawn`] does, in the foreground of a terminal if `foreground` is given.
pub(super) fn start(mut command: Command, foreground: Option<Foreground>) -> io::Result<Running> {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // This process may have ended before the call above.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(rustix::io::Errno::SRCH.into())
            }
        });
    }
    let child = command.spawn()?;
    if let Some(foreground) = &foreground {
        foreground.forwarding.set_receiver(child.id());
    }
    Ok(Running { child, foreground, status: None })
}

impl Running {
    /// The process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The process as a standard library type, for its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Sends a signal, unless the command has been waited for.
    ///
    /// # Errors
    /// The signal is not permitted: the command now runs as another user.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match (self.status, pid(&self.child)) {
            (None, Some(pid)) => Ok(rustix::process::kill_process(pid, signal)?),
            _ => Ok(()),
        }
    }

    /// Waits for the command to end, and takes the terminal back.
    ///
    /// # Errors
    /// The command cannot be waited for.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // The process ID stays allocated until no more signals are sent to it.
        let pid = pid(&self.child).ok_or(rustix::io::Errno::SRCH)?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = rustix::process::waitid(WaitId::Pid(pid), options) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        self.finish()
    }

    /// The exit status, if the command has ended.
    ///
    /// # Errors
    /// The command cannot be waited for.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_some() {
            return Ok(self.status);
        }
        let pid = pid(&self.child).ok_or(rustix::io::Errno::SRCH)?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match rustix::process::waitid(WaitId::Pid(pid), options)? {
            Some(_) => self.finish().map(Some),
            None => Ok(None),
        }
    }

    /// Reaps the command.
    fn finish(&mut self) -> io::Result<ExitStatus> {
        let foreground = self.foreground.take();
        if let Some(foreground) = &foreground {
            foreground.forwarding.clear_receiver();
        }
        let status = self.child.wait()?;
        self.status = Some(status);
        if let Some(terminal) = foreground.and_then(|foreground| foreground.terminal) {
            terminal.take_back(status.signal().is_some());
        }
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.signal(Signal::KILL);
            let _ = self.wait();
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Converts `status` to the exit code of a shell: the command's exit code, or 128 plus the number of the signal.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// The terminal in which our process group is in the foreground.
#[derive(Debug)]
struct Terminal {
    file: OwnedFd,
    group: Pid,
    modes: Termios,
}

impl Terminal {
    /// The controlling terminal, if there is one and our process group is in its foreground.
    fn ours() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
        let group = rustix::process::getpgrp();
        let modes = tcgetattr(&file).ok()?;
        (tcgetpgrp(&file).ok()? == group).then_some(Self { file, group, modes })
    }

    /// Makes our process group the foreground again. A command that was killed had no time to restore the terminal modes.
    fn take_back(self, was_killed: bool) {
        let is_ours = tcgetpgrp(&self.file).is_ok_and(|group| group == self.group);
        if is_ours && !was_killed {
            return;
        }
        // Either call would stop a background process.
        super::signals::without_stopping(|| {
            let _ = tcsetpgrp(&self.file, self.group);
            if was_killed {
                let _ = tcsetattr(&self.file, OptionalActions::Now, &self.modes);
            }
        });
    }
}
