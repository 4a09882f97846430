//! A small process that briefly outlives the creator of a namespace, and kills the processes left in the namespace.
//!
//! The kernel kills the command together with the thread that started it (`PR_SET_PDEATHSIG`), but not the command's own
//! children. Therefore each namespace has a reaper ([`super::afterwards`]), which kills every process in the namespace as soon as
//! the creator has ended, for whatever reason, or has dropped the namespace.
//!
//! The reaper keeps the namespace's file open, because the inode number that identifies processes of the namespace may be reused
//! as soon as the namespace is gone.

use super::afterwards::{Afterwards, has_ended};
use rustix::event::Timespec;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Maximum number of scans of all processes, about a millisecond each: the last two show that no process is left.
const PASSES: usize = 1000;
/// Number of successive scans without a process to kill that are enough if other processes end all the time. A process that forks
/// and exits again and again evades each scan only by chance.
const QUIET: usize = 50;
/// Maximum number of processes that may take longer than [`SECOND`] to die: they hang in a driver, and end when the driver returns.
const PATIENCE: u32 = 5;
const SECOND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Number of processes that are killed before the first of them is waited for.
const AT_ONCE: usize = 64;

/// The reaper of a namespace, as seen by its creator. Dropping it kills every process in the namespace.
#[derive(Debug)]
pub(super) struct Reaper {
    process: Afterwards,
    place: OwnedFd,
}

impl Reaper {
    /// Creates a reaper for the calling thread's namespace. Call it before anything is started there.
    ///
    /// # Errors
    /// `/proc` is missing, or too many files are open.
    pub(super) fn new() -> io::Result<Self> {
        let place = open(CWD, c"/proc/thread-self/ns/net", OFlags::empty())?;
        let work = |()| end_all_in(place.as_fd());
        let process = Afterwards::start(c"qdelay-reaper", &[place.as_fd()], (), |(), _| {}, work)?;
        Ok(Self { process, place })
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        // A reaper that was killed has not done its work, so the creator does it.
        if !self.process.finish() {
            end_all_in(self.place.as_fd());
        }
    }
}

/// Identity of a namespace while it exists: device and inode of its file.
type Identity = (u64, u64);

#[allow(clippy::unnecessary_cast, reason = "the types differ between machines")]
fn identity(stat: Stat) -> Identity {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// Kills every process in the namespace of the file `place` but the caller, and waits until they have ended. Returns true if all have
/// ended. Makes only system calls.
fn end_all_in(place: BorrowedFd<'_>) -> bool {
    let Ok(place) = fstat(place).map(identity) else { return false };
    let mut patience = PATIENCE;
    let (mut before, mut quiet) = (None, 0);
    for _ in 0..PASSES {
        let Ok(pass) = pass(place, &mut patience) else { return false };
        quiet = if pass.killed == 0 { quiet + 1 } else { 0 };
        if pass.shows_nothing_left(before) || quiet == QUIET {
            return true;
        }
        if patience == 0 {
            return false;
        }
        before = Some(pass);
    }
    false
}

/// The result of one scan of all processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pass {
    /// Number of processes found in the namespace and killed.
    killed: usize,
    /// Number of processes that ended between the listing of `/proc` and the check. Their namespace is unknown, and a process that
    /// they started may not be in the listing.
    gone: usize,
    /// Process IDs of zombies, whose namespaces are unknown, too, hashed and summed.
    zombies: u64,
}

impl Pass {
    /// True if no process can be left after this scan and the one before. Two scans are needed because a listing is in ascending
    /// order of process IDs: it misses a process whose parent forked it with a lower ID (IDs wrap) and exited. Zombies found by
    /// both scans were dead before the second began, and their children were in its listing.
    fn shows_nothing_left(self, before: Option<Self>) -> bool {
        let found_nothing = |pass: Self| pass.killed == 0 && pass.gone == 0;
        before.is_some_and(|before| found_nothing(before) && before == self)
    }

    fn add(&mut self, number: Pid, found: Membership) {
        match found {
            Membership::Inside => self.killed += 1,
            Membership::Gone => self.gone += 1,
            Membership::Zombie => {
                let number = u64::from(number.as_raw_nonzero().get().unsigned_abs());
                self.zombies = self.zombies.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            Membership::Elsewhere => {}
        }
    }
}

/// Kills the processes that are in the namespace now.
fn pass(place: Identity, patience: &mut u32) -> rustix::io::Result<Pass> {
    let all = open(CWD, c"/proc", OFlags::DIRECTORY)?;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(&all, &mut buffer);
    let mut killed = [const { None }; AT_ONCE];
    let mut waiting = 0;
    let mut pass = Pass { killed: 0, gone: 0, zombies: 0 };
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Some(number) = number(entry.file_name()) else { continue };
        if number == rustix::process::getpid() {
            continue;
        }
        // The process is opened before it is checked: the descriptor refers to the same process even if the ID is reused.
        let process = match open(&all, entry.file_name(), OFlags::DIRECTORY) {
            Ok(process) => process,
            Err(Errno::NOENT | Errno::SRCH) => {
                pass.add(number, Membership::Gone);
                continue;
            }
            Err(_) => continue,
        };
        let found = membership(&process, place);
        pass.add(number, found);
        if found != Membership::Inside {
            continue;
        }
        let ending = pidfd_open(number, PidfdFlags::empty()).ok();
        // A directory of `/proc` serves as a pidfd here.
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
    Ok(pass)
}

fn wait_for(killed: &mut [Option<OwnedFd>], patience: &mut u32) {
    for process in killed.iter_mut().filter_map(Option::take) {
        if *patience > 0 && !has_ended(&process, &SECOND) {
            *patience -= 1;
        }
    }
}

/// Relation of a process to the namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Membership {
    /// The process is in the namespace.
    Inside,
    /// The process is in another namespace, or belongs to another user, which makes its namespace unreadable.
    Elsewhere,
    /// The process has ended and has not been waited for: its namespace is unknown.
    Zombie,
    /// The process does not exist any more.
    Gone,
}

/// Checks the process of the `/proc` directory `process`. If its first thread has ended, its other threads are checked.
fn membership(process: &OwnedFd, place: Identity) -> Membership {
    match statat(process, c"ns/net", AtFlags::empty()).map(identity) {
        Ok(found) if found == place => Membership::Inside,
        Ok(_) => Membership::Elsewhere,
        Err(Errno::NOENT) => match has_thread_in(process, place) {
            Ok(true) => Membership::Inside,
            // The process still has a status, so it is a zombie.
            Ok(false) if statat(process, c"stat", AtFlags::empty()).is_ok() => Membership::Zombie,
            _ => Membership::Gone,
        },
        // "Not permitted" is also the error if the process ended in between.
        Err(_) if statat(process, c"stat", AtFlags::empty()).is_err() => Membership::Gone,
        Err(_) => Membership::Elsewhere,
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

/// The process ID for a name in `/proc`.
fn number(name: &CStr) -> Option<Pid> {
    name.to_str().ok()?.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_process_ids() {
        assert_eq!(number(c"17"), Pid::from_raw(17));
        for name in [c"", c"self", c"0", c"99999999999", c"1a", c".."] {
            assert_eq!(number(name), None, "{name:?}");
        }
    }

    #[test]
    fn two_scans_show_that_no_process_is_left() {
        let none = Pass { killed: 0, gone: 0, zombies: 0 };
        assert!(!none.shows_nothing_left(None) && none.shows_nothing_left(Some(none)));
        // Processes that ended meanwhile may have started others.
        let gone = Pass { gone: 1, ..none };
        assert!(!gone.shows_nothing_left(Some(none)) && !none.shows_nothing_left(Some(gone)));
        assert!(!gone.shows_nothing_left(Some(gone)));
        let mut zombie = none;
        zombie.add(Pid::INIT, Membership::Zombie);
        assert!(!zombie.shows_nothing_left(Some(none)) && zombie.shows_nothing_left(Some(zombie)));
        let mut other = none;
        other.add(Pid::from_raw(2).unwrap(), Membership::Zombie);
        assert!(!other.shows_nothing_left(Some(zombie)));
        let killed = Pass { killed: 1, ..none };
        assert!(!killed.shows_nothing_left(Some(killed)) && !none.shows_nothing_left(Some(killed)));
    }

    /// Checks other processes of this namespace without killing them.
    #[test]
    fn processes_are_assigned_to_their_namespaces() {
        let ours =
            open(CWD, c"/proc/self/ns/net", OFlags::empty()).and_then(fstat).map(identity).expect("ours");
        let process = open(CWD, c"/proc/self", OFlags::DIRECTORY).expect("this process");
        assert_eq!(membership(&process, ours), Membership::Inside);
        assert_eq!(membership(&process, (ours.0, ours.1 ^ 1)), Membership::Elsewhere);
        assert_eq!(has_thread_in(&process, ours), Ok(true));
        assert_eq!(has_thread_in(&process, (ours.0, ours.1 ^ 1)), Ok(false));
    }
}
