//! Forwards signals to the command that arrive at this process while the command runs.
//!
//! The terminal sends `SIGINT` and `SIGQUIT` to the command too; signals from other processes (`kill`, `timeout`, a service
//! manager) are forwarded. In both cases this process lives until the command has ended, and can report. A signal that was
//! ignored when this process was started (`nohup`) stays ignored.
#![allow(unsafe_code)] // sigaction(2) and a handler, which rustix does not offer.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// The signals that are forwarded.
const FORWARDED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Process ID of the receiver of signals; 0 before it is known, and after it has ended.
static RECEIVER: AtomicI32 = AtomicI32::new(0);
/// Signals received before the process was known, one bit each.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// True while a receiver exists; the handler supports only one.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// The installed handlers; dropping this value restores the previous ones.
#[derive(Debug)]
pub(super) struct Forwarding {
    before: Vec<(i32, Action)>,
}

/// The action of a signal, as the kernel stores it.
struct Action(libc::sigaction);

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Action")
    }
}

impl Forwarding {
    /// Installs the handlers; signals are kept until [`Forwarding::set_receiver`] names a process.
    ///
    /// # Errors
    /// The handlers are installed already.
    pub(super) fn new() -> io::Result<Self> {
        if IS_USED.swap(true, Ordering::SeqCst) {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another command is in the foreground already",
            ));
        }
        RECEIVER.store(0, Ordering::SeqCst);
        PENDING.store(0, Ordering::SeqCst);
        let mut forwarding = Self { before: Vec::new() };
        for signal in FORWARDED {
            if action_of(signal)?.0.sa_sigaction != libc::SIG_IGN {
                let before = set_action(signal, &handler())?;
                forwarding.before.push((signal, before));
            }
        }
        Ok(forwarding)
    }

    /// Forwards signals to the process `id`, first those received already.
    pub(super) fn set_receiver(&self, id: u32) {
        let Ok(id) = i32::try_from(id) else { return };
        RECEIVER.store(id, Ordering::SeqCst);
        let pending = PENDING.swap(0, Ordering::SeqCst);
        for signal in FORWARDED {
            if pending & (1 << signal) != 0 {
                // SAFETY: kill(2) touches no memory.
                unsafe { libc::kill(id, signal) };
            }
        }
    }

    /// Stops forwarding: the process is about to be reaped, and its ID may be reused.
    pub(super) fn clear_receiver(&self) {
        RECEIVER.store(0, Ordering::SeqCst);
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            let _ = set_action(*signal, before);
        }
        RECEIVER.store(0, Ordering::SeqCst);
        IS_USED.store(false, Ordering::SeqCst);
    }
}

/// Runs `work` such that writing to a terminal from the background does not stop this process.
pub(super) fn without_stopping(work: impl FnOnce()) {
    let ignore = Action(plain(libc::SIG_IGN, 0));
    let before = set_action(libc::SIGTTOU, &ignore);
    work();
    if let Ok(before) = before {
        let _ = set_action(libc::SIGTTOU, &before);
    }
}

/// The signal handler. Restricted to async-signal-safe operations: atomics and kill(2).
extern "C" fn forward(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid `siginfo_t` to a handler with SA_SIGINFO, and `errno` is this thread's own.
    unsafe {
        // A signal from the terminal has reached the command already, which is in the same process group.
        if (*info).si_code == libc::SI_KERNEL && signal != libc::SIGTERM {
            return;
        }
        let errno = *libc::__errno_location();
        match RECEIVER.load(Ordering::SeqCst) {
            0 => drop(PENDING.fetch_or(1 << signal, Ordering::SeqCst)),
            id => drop(libc::kill(id, signal)),
        }
        *libc::__errno_location() = errno;
    }
}

fn handler() -> Action {
    let function: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = forward;
    Action(plain(function as usize, libc::SA_SIGINFO | libc::SA_RESTART))
}

fn plain(function: usize, flags: i32) -> libc::sigaction {
    // SAFETY: all zeroes is a valid `sigaction`: the default action, an empty mask, no flags.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = function;
    action.sa_flags = flags;
    action
}

fn action_of(signal: i32) -> io::Result<Action> {
    exchange(signal, std::ptr::null())
}

fn set_action(signal: i32, action: &Action) -> io::Result<Action> {
    exchange(signal, &action.0)
}

/// Reads the action of `signal`, and sets it if `new` is not null.
fn exchange(signal: i32, new: *const libc::sigaction) -> io::Result<Action> {
    let mut old = MaybeUninit::zeroed();
    // SAFETY: `new` is null or valid, `old` has space for one; a handler set here is async-signal-safe.
    if unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: written by the call that succeeded, and zeroes are valid.
    Ok(Action(unsafe { old.assume_init() }))
}
