//! A small process that outlives the maker of a namespace for a moment, and ends what is left in the namespace.
//!
//! The kernel kills the command together with the thread that started it (`PR_SET_PDEATHSIG`), but not what the command has
//! started in its turn. So each namespace has a keeper: a child that holds the read end of a pipe and sleeps. When the maker
//! has ended, for whatever reason, or has dropped the namespace, the pipe is at its end; then the keeper kills every process in
//! the namespace, and ends.
//!
//! The keeper lives in an empty network namespace of its own: were it in that of its maker, the keeper around *that* one would
//! kill it before its work is done, and what is in the inner of two nested namespaces would be left.
//!
//! It holds the namespace's file, because the number by which processes are recognised may pass to a new namespace as soon as
//! the old one is gone. It has no other file, so that no reader waits for it, and hears no signal but `SIGKILL` and `SIGSTOP`.
#![allow(unsafe_code)] // fork(2); in the child, where other threads may have held any lock, only system calls.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid};
use rustix::thread::UnshareFlags;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Looks over all processes. Those that are started meanwhile are found by the next; no process starts others faster for ever.
const PASSES: usize = 1000;
/// Processes that may take longer than [`SECOND`] to die, in sum: they hang in a driver, and end when that lets them.
const PATIENCE: u32 = 5;
const SECOND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// After this the keeper itself hangs, or somebody has stopped it.
const KEEPER_LIMIT: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
/// Processes that are killed before the first of them is waited for.
const AT_ONCE: usize = 64;

/// The keeper of a namespace, from its maker's side. Dropped, it has ended every process in the namespace.
#[derive(Debug)]
pub(super) struct Keeper {
    /// The write end; nobody else has it. `None` only while it is dropped.
    end: Option<OwnedFd>,
    /// `None` if there can be no process more: then what is left is ended when this is dropped, and not after `kill -9`.
    process: Option<Pid>,
    place: OwnedFd,
}

impl Keeper {
    /// One for the namespace that the calling thread is in. To be made before anything is started there.
    ///
    /// # Errors
    /// `/proc` is missing, or there are too many open files.
    pub(super) fn new() -> io::Result<Self> {
        let place = open(CWD, c"/proc/thread-self/ns/net", OFlags::empty())?;
        let (asleep, end) = pipe_with(PipeFlags::CLOEXEC)?;
        let process = start(&asleep);
        Ok(Self { end: Some(end), process, place })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        // A keeper that was killed has done nothing.
        if !self.process.take().is_some_and(has_done_it) {
            end_all_in(self.place.as_fd());
        }
    }
}

/// Reaps the keeper and says whether it has found its work done.
fn has_done_it(keeper: Pid) -> bool {
    if let Ok(process) = pidfd_open(keeper, PidfdFlags::empty())
        && !has_ended(&process, &KEEPER_LIMIT)
    {
        let _ = rustix::process::kill_process(keeper, Signal::KILL);
    }
    loop {
        match waitpid(Some(keeper), WaitOptions::empty()) {
            Ok(Some((_, status))) => return status.exit_status() == Some(0),
            Err(Errno::INTR) => {}
            _ => return false,
        }
    }
}

/// Forks the keeper, with every signal blocked from its first moment on: handlers are ours, and not for it.
fn start(asleep: &OwnedFd) -> Option<Pid> {
    let mut every = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are written before they are read. The child leaves `fork` for a function that never returns and
    // makes only system calls, as is needed where other threads may have held locks.
    let number = unsafe {
        libc::sigfillset(every.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, every.as_ptr(), before.as_mut_ptr());
        let number = libc::fork();
        if number == 0 {
            keep(asleep.as_raw_fd());
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        number
    };
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

/// The keeper's life. Not of Rust's calling convention, so that a panic could not unwind into what belongs to its maker.
extern "C" fn keep(asleep: RawFd) -> ! {
    close_all_but(asleep);
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(c"qdelay-keeper");
    // Keeps no file system from being unmounted.
    let _ = rustix::process::chdir(c"/");
    let place = open(CWD, c"/proc/self/ns/net", OFlags::empty());
    // If that is not permitted it stays in the namespace, and passes itself over.
    // SAFETY: the network namespace takes no file descriptors from anybody.
    let _ = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
    // SAFETY: the one file that was left open.
    let asleep = unsafe { BorrowedFd::borrow_raw(asleep) };
    let mut byte = [0];
    while matches!(rustix::io::read(asleep, &mut byte), Ok(1..) | Err(Errno::INTR)) {}
    let is_done = place.is_ok_and(|place| end_all_in(place.as_fd()));
    // SAFETY: ends the process without running anything of its maker's.
    unsafe { libc::_exit(i32::from(!is_done)) }
}

fn close_all_but(file: RawFd) {
    let close = |first: u32, last: u32| {
        // SAFETY: nothing is used in this process but `file`.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    // A file descriptor is not negative, and zero is excluded.
    let number = file.unsigned_abs();
    let is_closed = (number == 0 || close(0, number - 1)) && close(number.saturating_add(1), u32::MAX);
    if !is_closed {
        // Before Linux 5.9.
        for other in (0..65_536).filter(|other| *other != file) {
            // SAFETY: as above.
            unsafe { libc::close(other) };
        }
    }
}

/// What tells one namespace from another, as long as it exists: device and inode of its file.
type Identity = (u64, u64);

#[allow(clippy::unnecessary_cast, reason = "the types differ between machines")]
fn identity(stat: Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Kills every process in the namespace of this file but the caller, and waits until they have ended. Says whether that is so.
/// Only system calls are made.
fn end_all_in(place: BorrowedFd<'_>) -> bool {
    let Ok(place) = fstat(place).map(identity) else { return false };
    let mut patience = PATIENCE;
    for _ in 0..PASSES {
        match pass(place, &mut patience) {
            Ok(0) => return true,
            Ok(_) if patience > 0 => {}
            _ => return false,
        }
    }
    false
}

/// Kills those that are there now, and says how many they were.
fn pass(place: Identity, patience: &mut u32) -> rustix::io::Result<usize> {
    let all = open(CWD, c"/proc", OFlags::DIRECTORY)?;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&all, &mut buffer);
    let mut killed = [const { None }; AT_ONCE];
    let (mut found, mut waiting) = (0, 0);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Some(number) = number(entry.file_name()) else { continue };
        if number == rustix::process::getpid() {
            continue;
        }
        // Opened before it is looked at: it stays this process's, whoever gets the number next.
        let Ok(process) = open(&all, entry.file_name(), OFlags::DIRECTORY) else { continue };
        if !is_in(&process, place) {
            continue;
        }
        found += 1;
        let ending = pidfd_open(number, PidfdFlags::empty()).ok();
        // A process directory stands for its process here.
        let _ = pidfd_send_signal(&process, Signal::KILL);
        if let Some(free) = killed.get_mut(waiting) {
            *free = ending;
            waiting += 1;
        }
        if waiting == AT_ONCE {
            wait_for(&mut killed, patience);
            waiting = 0;
        }
    }
    wait_for(&mut killed, patience);
    Ok(found)
}

fn wait_for(killed: &mut [Option<OwnedFd>], patience: &mut u32) {
    for process in killed.iter_mut().filter_map(Option::take) {
        if *patience > 0 && !has_ended(&process, &SECOND) {
            *patience -= 1;
        }
    }
}

/// Waits for it, not longer than `limit` unless signals come. Of what may not be waited for nothing is known.
fn has_ended(process: &OwnedFd, limit: &Timespec) -> bool {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(limit)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            _ => return true,
        }
    }
}

/// Whether the process of this directory is in the namespace. One whose first thread has ended is where another is.
fn is_in(process: &OwnedFd, place: Identity) -> bool {
    match statat(process, c"ns/net", AtFlags::empty()).map(identity) {
        Ok(found) => found == place,
        Err(Errno::NOENT) => has_thread_in(process, place).unwrap_or(false),
        // What may not be looked at is another user's.
        Err(_) => false,
    }
}

fn has_thread_in(process: &OwnedFd, place: Identity) -> rustix::io::Result<bool> {
    let all = open(process, c"task", OFlags::DIRECTORY)?;
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(&all, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if number(entry.file_name()).is_none() {
            continue;
        }
        let Ok(thread) = open(&all, entry.file_name(), OFlags::DIRECTORY) else { continue };
        if statat(&thread, c"ns/net", AtFlags::empty()).is_ok_and(|stat| identity(stat) == place) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn open(folder: impl AsFd, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat(folder, name, flags | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The process that a name in `/proc` stands for.
fn number(name: &CStr) -> Option<Pid> {
    name.to_str().ok()?.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes() {
        assert_eq!(number(c"17"), Pid::from_raw(17));
        for name in [c"", c"self", c"0", c"99999999999", c"1a", c".."] {
            assert_eq!(number(name), None, "{name:?}");
        }
    }

    /// Beside it there may be anything in this namespace: looked at, not touched.
    #[test]
    fn who_is_where() {
        let ours =
            open(CWD, c"/proc/self/ns/net", OFlags::empty()).and_then(fstat).map(identity).expect("ours");
        let process = open(CWD, c"/proc/self", OFlags::DIRECTORY).expect("this process");
        assert!(is_in(&process, ours) && !is_in(&process, (ours.0, ours.1 ^ 1)));
        assert_eq!(has_thread_in(&process, ours), Ok(true));
        assert_eq!(has_thread_in(&process, (ours.0, ours.1 ^ 1)), Ok(false));
    }
}
