//! A small process that sleeps until its creator has ended, for whatever reason, and then undoes settings that the kernel would
//! not undo.
//!
//! The process holds the read end of a pipe of which only its creator has the write end: the pipe reaches its end after `kill -9`
//! of the creator, too. The process is in an empty network namespace of its own: in the creator's namespace it could be killed with
//! the programs there before its work is done. It has no open files but those it needs, so that it keeps no pipes of other
//! processes open, and it ignores all signals but `SIGKILL` and `SIGSTOP`.
#![allow(unsafe_code)] // fork(2); the child makes only system calls, since other threads may have held any lock.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};
use rustix::thread::UnshareFlags;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Timeout for the process's work. After this long the process itself hangs, or has been stopped.
const LIMIT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// The sleeping process, as seen by its creator.
#[derive(Debug)]
pub(crate) struct Afterwards {
    /// The write end of the pipe, which no other process has. `None` only after the process was told to finish.
    end: Option<OwnedFd>,
    /// The process ID. `None` if the process could not be created: then the creator does the work, but not after `kill -9`.
    process: Option<Pid>,
}

impl Afterwards {
    /// Creates a process called `name` (at most 15 bytes), which keeps `files` open. The process calls `on_message` with each byte that its
    /// creator sends, at first with `None`, and `work` once the creator has ended or calls [`Afterwards::finish`]; `work` returns
    /// true if it is done. Both may only make system calls, and may not allocate.
    ///
    /// # Errors
    /// Too many files are open.
    pub(crate) fn start<T>(
        name: &CStr,
        files: &[BorrowedFd<'_>],
        state: T,
        on_message: impl Fn(&mut T, Option<u8>),
        work: impl FnOnce(T) -> bool,
    ) -> rustix::io::Result<Self> {
        let (asleep, end) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut kept: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).chain([asleep.as_raw_fd()]).collect();
        kept.sort_unstable();
        let process = fork(|| {
            close_all_but(&kept);
            sleep(name, &asleep, state, on_message, work)
        });
        Ok(Self { end: Some(end), process })
    }

    /// Sends the process a byte; no effect if the process has been killed.
    pub(crate) fn tell(&self, byte: u8) {
        if let (Some(end), Some(_)) = (&self.end, self.process) {
            // Rust programs ignore `SIGPIPE`, so writing to a dead process is safe.
            let _ = rustix::io::retry_on_intr(|| rustix::io::write(end, &[byte]));
        }
    }

    /// Makes the process do its work, and returns true if the work is done. Otherwise, or if the process was killed before, the
    /// caller has to do the work.
    pub(crate) fn finish(&mut self) -> bool {
        drop(self.end.take());
        self.process.take().is_some_and(has_succeeded)
    }
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Waits for the process and returns true if it has done its work.
fn has_succeeded(process: Pid) -> bool {
    if let Ok(handle) = pidfd_open(process, PidfdFlags::empty())
        && !has_ended(&handle, &LIMIT)
    {
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
    loop {
        match waitpid(Some(process), WaitOptions::empty()) {
            Ok(Some((_, status))) => return status.exit_status() == Some(0),
            Err(Errno::INTR) => {}
            _ => return false,
        }
    }
}

/// Waits for the process to end, at most `limit` unless signals arrive. Returns false if the process is still running, or may not
/// be waited for.
pub(super) fn has_ended(process: &OwnedFd, limit: &Timespec) -> bool {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(limit)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            _ => return true,
        }
    }
}

/// Forks a process that runs `life`, with every signal blocked from the start: the creator's signal handlers must not run in the child.
fn fork(life: impl FnOnce() -> bool) -> Option<Pid> {
    let mut every = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are written before they are read. The child leaves `fork` for a function that never returns and makes
    // only system calls, as is needed if other threads held locks.
    let number = unsafe {
        libc::sigfillset(every.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, every.as_ptr(), before.as_mut_ptr());
        let number = libc::fork();
        if number == 0 {
            live(life);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        number
    };
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

/// The main function of the process. `extern "C"`, so that a panic cannot unwind into frames of its creator.
extern "C" fn live<F: FnOnce() -> bool>(life: F) -> ! {
    let is_done = life();
    // SAFETY: ends the process without running exit handlers of its creator.
    unsafe { libc::_exit(i32::from(!is_done)) }
}

fn sleep<T>(
    name: &CStr,
    asleep: &OwnedFd,
    mut state: T,
    on_message: impl Fn(&mut T, Option<u8>),
    work: impl FnOnce(T) -> bool,
) -> bool {
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(name);
    // An open working directory would keep its file system from being unmounted.
    let _ = rustix::process::chdir(c"/");
    // Without this permission the process stays in the namespace, whose reaper kills every process but itself.
    // SAFETY: the network namespace takes no file descriptors from other threads.
    let _ = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
    on_message(&mut state, None);
    let mut byte = [0];
    loop {
        match rustix::io::read(asleep, &mut byte) {
            Ok(1..) => on_message(&mut state, Some(byte[0])),
            Err(Errno::INTR) => {}
            _ => return work(state),
        }
    }
}

/// Closes all files of the process but these, which are in ascending order.
fn close_all_but(kept: &[RawFd]) {
    let close = |first: u32, last: u32| {
        // SAFETY: this process uses no file other than those kept.
        first > last || unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    let mut next = 0;
    let mut is_closed = true;
    for file in kept {
        // A file descriptor is not negative.
        let number = file.unsigned_abs();
        is_closed &= number == 0 || close(next, number - 1);
        next = number.saturating_add(1);
    }
    if !(is_closed && close(next, u32::MAX)) {
        // Kernels before Linux 5.9 have no close_range(2).
        for other in (0..65_536).filter(|other| !kept.contains(other)) {
            // SAFETY: this process uses no file other than those kept.
            unsafe { libc::close(other) };
        }
    }
}
