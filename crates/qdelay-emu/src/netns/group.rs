//! A program in a process group of its own, which is ended with all processes of the group.
//!
//! The terminal's signals do not reach the group: a server outlives the command in the foreground. After `kill -9` of this process
//! the kernel kills the program, and a small process (`netns/afterwards.rs`) the rest of the group.

use super::Namespace;
use super::afterwards::{Afterwards, has_ended};
use super::command::{self, Running};
use rustix::event::Timespec;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// A running group. Dropping it kills every process in it.
#[derive(Debug)]
pub struct Group {
    /// The group's first process, which is waited for last: until then no other group can have the same number.
    leader: Running,
    number: Pid,
    guard: Afterwards,
}

impl Group {
    /// Starts `command` in `namespace`, or in that of the calling thread.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(mut command: Command, namespace: Option<&Namespace>) -> io::Result<Self> {
        command.process_group(0);
        let leader = match namespace {
            Some(namespace) => namespace.spawn(command),
            None => command::spawn(command),
        }?;
        let number =
            i32::try_from(leader.id()).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
        let kill = |number| {
            let _ = kill_process_group(number, Signal::KILL);
            true
        };
        let guard = Afterwards::start(c"qdelay-reaper", &[], number, |_, _| {}, kill)?;
        Ok(Self { leader, number, guard })
    }

    /// The number of the group, which is the process ID of its first process.
    pub const fn number(&self) -> Pid {
        self.number
    }

    /// Status of the first process, if it has ended.
    pub fn status(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::Pid(self.number), options).ok()??;
        // The encoding of wait(2): the status in the second byte, or the signal in the first.
        let code = status.exit_status().map(|code| (code & 0xff) << 8);
        code.or_else(|| status.terminating_signal()).map(ExitStatus::from_raw)
    }

    /// Ends every process of the group: by `SIGTERM`, and by `SIGKILL` those that are left when the first has ended, or after `grace`.
    pub fn end(self, grace: &Timespec) {
        if self.status().is_none()
            && kill_process_group(self.number, Signal::TERM).is_ok()
            && let Ok(leader) = pidfd_open(self.number, PidfdFlags::empty())
        {
            has_ended(&leader, grace);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.guard.finish() {
            let _ = kill_process_group(self.number, Signal::KILL);
        }
        let _ = self.leader.wait();
    }
}
