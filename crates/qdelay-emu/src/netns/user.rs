//! Namespaces for a user who is not root (user_namespaces(7)).
//!
//! In a user namespace of its own the process has all capabilities over network namespaces that are created from there, and
//! none over the host's. A link then connects two private namespaces, neither of which reaches the host; servers for the
//! command have to be started in the outer one.
//!
//! The user ID stays the same inside (files belong to the user, `whoami` is right), and commands get the capabilities that
//! network tests need: ping, ports below 1024, changing devices and routes, and nested links.
#![allow(unsafe_code)] // unshare(2) of the user namespace, which takes no file descriptors from another thread.

use super::NamespaceError;
use super::restriction::Restriction;
use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, UnshareFlags};
use std::io;
use std::path::Path;

/// Capabilities of commands in their namespaces.
const CAPABILITIES: [CapabilitySet; 4] = [
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::SYS_ADMIN,
];

/// Limit of user namespaces of the current one.
const LIMIT: &str = "/proc/sys/user/max_user_namespaces";

/// True if this thread may create network namespaces and devices: as root, or in a user namespace of its own.
pub fn is_administrator() -> bool {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Moves the process into a user namespace of its own. Call it before any other thread is started.
///
/// # Errors
/// This system does not permit it; the error names the restriction.
pub fn enter() -> Result<(), NamespaceError> {
    // Before the mapping every user has the ID of nobody.
    let is_root = rustix::process::geteuid().is_root();
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    unshare_user().map_err(|error| match error {
        Errno::PERM | Errno::ACCESS => not_permitted(is_root),
        Errno::NOSPC | Errno::USERS => too_many(),
        Errno::INVAL if has_threads() => NamespaceError::Threads,
        Errno::INVAL | Errno::NOSYS => NamespaceError::Unsupported { what: "user" },
        error => NamespaceError::Failed { what: "creating a user namespace", error: error.into() },
    })?;
    map_user(user, group).map_err(|error| match error.kind() {
        // AppArmor permits the namespace, and takes the rights in it away.
        io::ErrorKind::PermissionDenied => not_permitted(is_root),
        _ => NamespaceError::Failed { what: "mapping the user into a user namespace", error },
    })?;
    grant().map_err(|_| not_permitted(is_root))
}

/// Creates the user namespace. A thread that has been joined is still counted for a moment, so a refusal is retried.
fn unshare_user() -> rustix::io::Result<()> {
    let pause = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    for _ in 0..100 {
        // SAFETY: the user namespace takes no file descriptors from other threads.
        match unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) } {
            Err(Errno::INVAL) if has_threads() => {}
            result => return result,
        }
        let _ = poll(&mut [], Some(&pause));
    }
    Err(Errno::INVAL)
}

/// The limit of user namespaces is reached, or is 0, which is how they are switched off.
fn too_many() -> NamespaceError {
    let is_zero = std::fs::read_to_string(LIMIT).is_ok_and(|text| text.trim() == "0");
    match is_zero {
        true => not_permitted(rustix::process::geteuid().is_root()),
        false => NamespaceError::TooMany { limit: LIMIT },
    }
}

fn has_threads() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1)
}

fn map_user(user: u32, group: u32) -> io::Result<()> {
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    // The kernel refuses a group mapping of a user who is not root unless setgroups(2) is denied first.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets programs that are started from now on keep [`CAPABILITIES`], although their user is not root.
fn grant() -> rustix::io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    for right in CAPABILITIES {
        sets.inheritable |= right;
    }
    rustix::thread::set_capabilities(None, sets)?;
    CAPABILITIES
        .into_iter()
        .try_for_each(|right| rustix::thread::configure_capability_in_ambient_set(right, true))
}

/// The error of a user, with the likely restriction of this system and the remedy.
pub(super) fn not_permitted(is_root: bool) -> NamespaceError {
    NamespaceError::NotPermitted { hint: Restriction::detect(Path::new("/proc"), is_root).remedy().into() }
}
