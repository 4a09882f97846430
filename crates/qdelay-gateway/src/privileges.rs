//! Drops privileges once everything is open: to an ordinary user, or to root without its capabilities (capabilities(7),
//! credentials(7)).
//!
//! Two capabilities are kept, and only as *permitted*: `CAP_NET_RAW`, to open an interface again after it was removed, and
//! `CAP_NET_ADMIN`, to restore its offloads. They are made *effective* only for such a call ([`with`]); programs started from
//! here never get them.
//!
//! Users are those of `/etc/passwd`.

use rustix::fs::{Gid, Uid};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{self, CapabilitySet};
use std::fmt;
use std::io;

/// Capabilities kept as permitted.
const KEPT: CapabilitySet = CapabilitySet::NET_RAW.union(CapabilitySet::NET_ADMIN);

/// A user with the primary group of that user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name as written.
    pub name: String,
    uid: u32,
    gid: u32,
}

impl User {
    /// Looks up `name`: a user name or a user ID.
    ///
    /// # Errors
    /// There is no such user; the message says what was expected.
    pub fn find(name: &str) -> Result<User, String> {
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let user = find_user(&passwd, name)
            .ok_or_else(|| format!("'{name}': expected a user of /etc/passwd, by name or number"))?;
        match user.uid {
            0 => Err(format!("'{name}' is root; expected another user, or the key left out")),
            _ => Ok(user),
        }
    }
    /// The user ID, for files that the user will own.
    pub fn uid(&self) -> Uid {
        Uid::from_raw(self.uid)
    }
    /// The group ID.
    pub fn gid(&self) -> Gid {
        Gid::from_raw(self.gid)
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.name, self.uid, self.gid)
    }
}

/// Parses a user or group ID. The largest number is not an ID: the kernel interprets it as "unchanged".
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number != u32::MAX)
}

fn find_user(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (found, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
        let (uid, gid) = (number(uid)?, number(gid)?);
        let is_meant = found == name || number(name) == Some(uid);
        is_meant.then(|| User { name: found.to_string(), uid, gid })
    })
}

/// Changes to `user`, if one is given, and drops every capability but [`KEPT`]. Call it while there is a single thread, because
/// other threads would keep their privileges. With locked memory, the memory lock limit is raised first; if that fails, the
/// capability to exceed the limit is kept, too.
///
/// # Errors
/// The kernel's error, and the operation that failed.
pub fn drop_to(user: Option<&User>, has_locked_memory: bool) -> Result<(), (&'static str, io::Error)> {
    if std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() > 1) {
        return Err((
            "changing the user",
            io::Error::other("other threads run already; this is a fault of the program"),
        ));
    }
    let what = |what: &'static str| move |error: rustix::io::Errno| (what, io::Error::from(error));
    let mut kept = KEPT;
    if has_locked_memory && !lift_memory_limit() {
        kept |= CapabilitySet::IPC_LOCK;
    }
    shrink_bounding_set();
    if let Some(user) = user {
        thread::set_keep_capabilities(true).map_err(what("keeping capabilities"))?;
        thread::set_thread_groups(&[]).map_err(what("setting supplementary groups"))?;
        let (uid, gid) = (user.uid(), user.gid());
        thread::set_thread_res_gid(gid, gid, gid).map_err(what("setting the group"))?;
        thread::set_thread_res_uid(uid, uid, uid).map_err(what("setting the user"))?;
    }
    let mut sets = thread::capabilities(None).map_err(what("reading capabilities"))?;
    sets.permitted &= kept;
    sets.effective = sets.permitted & CapabilitySet::IPC_LOCK;
    sets.inheritable = CapabilitySet::empty();
    thread::set_capabilities(None, sets).map_err(what("giving up capabilities"))?;
    // Kernels before 4.3 have no ambient set, so nothing has to be cleared.
    let _ = thread::clear_ambient_capability_set();
    thread::set_no_new_privs(true).map_err(what("setting no_new_privs"))
}

/// Removes the limit on locked memory; returns true if that succeeded.
fn lift_memory_limit() -> bool {
    let lifted = setrlimit(Resource::Memlock, Rlimit { current: None, maximum: None }).is_ok();
    lifted || getrlimit(Resource::Memlock).current.is_none()
}

/// Removes capabilities from the bounding set. Those that may not be removed stay; `no_new_privs` makes them unusable.
fn shrink_bounding_set() {
    for capability in CapabilitySet::all().iter() {
        let _ = thread::remove_capability_from_bounding_set(capability);
    }
}

/// True if this process has the privileges of root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs `work` on this thread while the kept capabilities are effective.
pub fn with<T>(work: impl FnOnce() -> T) -> T {
    let before = thread::capabilities(None).ok();
    if let Some(mut sets) = before {
        sets.effective |= sets.permitted & KEPT;
        // A refusal makes `work` fail, which reports it.
        let _ = thread::set_capabilities(None, sets);
    }
    let result = work();
    if let Some(sets) = before {
        let _ = thread::set_capabilities(None, sets);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/sh\nbroken\nq:x:977:978::/:/bin/false\n1000:x:5:6::/:/bin/false\n";

    #[test]
    fn users_are_found_by_name_and_number() {
        let q = Some(User { name: "q".to_string(), uid: 977, gid: 978 });
        assert_eq!((find_user(PASSWD, "q"), find_user(PASSWD, "977")), (q.clone(), q));
        assert_eq!(
            find_user(PASSWD, "1000").map(|user| user.uid),
            Some(5),
            "a name that looks like a number"
        );
        assert_eq!((find_user(PASSWD, "978"), find_user(PASSWD, "broken")), (None, None));
        assert!(User::find("root").unwrap_err().contains("'root' is root; expected another user"));
        assert!(User::find("no such user").unwrap_err().contains("expected a user of /etc/passwd"));
    }
}
