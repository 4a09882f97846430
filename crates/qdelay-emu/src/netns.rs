//! A network namespace for the command, and threads and processes in it.
//!
//! A namespace is created by a thread that stays in it (network_namespaces(7)). Everything done inside, from opening a device
//! to starting the command, is a closure that this thread runs. The namespace has no name in the file system: it ends with the
//! last thread and process in it. A small separate process, `qdelay-reaper`, kills the remaining processes in the namespace as
//! soon as this process has ended, also after `kill -9`.
//!
//! * [`command`]: the command, its terminal and its exit status.
//! * [`group`]: a server beside the command, with all processes that it starts.
//! * [`signals`]: forwards signals sent to this process to the command.
//! * [`user`], [`restriction`]: namespaces for a user who is not root, and the reason why there are none.
#![allow(unsafe_code)] // unshare(2): none of the namespaces used here takes file descriptors from another thread.

pub(crate) mod afterwards;
pub mod command;
pub mod group;
mod reaper;
pub mod restriction;
pub mod signals;
pub mod user;

use crate::link_setup::netlink::Netlink;
use command::Running;
use reaper::Reaper;
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::thread::UnshareFlags;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Reason why a namespace could not be created.
#[derive(Debug)]
#[non_exhaustive]
pub enum NamespaceError {
    /// This user may not create namespaces.
    NotPermitted {
        /// The likely restriction, and the remedy.
        hint: String,
    },
    /// The kernel was built without such namespaces.
    Unsupported {
        /// The kind of namespace.
        what: &'static str,
    },
    /// The system's limit of namespaces is reached.
    TooMany {
        /// The file with the limit.
        limit: &'static str,
    },
    /// A user namespace can only be created by a process with a single thread.
    Threads,
    /// Any other failure.
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl fmt::Display for NamespaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamespaceError::NotPermitted { hint } => {
                write!(f, "this user may not create a namespace: {hint}")
            }
            NamespaceError::Unsupported { what } => {
                write!(f, "this kernel has no {what} namespaces; use a kernel that is built with them")
            }
            NamespaceError::TooMany { limit } => {
                write!(f, "the limit of namespaces in {limit} is reached; raise the limit, or end programs that use namespaces")
            }
            NamespaceError::Threads => f.write_str(
                "a user namespace can only be entered before other threads are started; this is a fault of the program",
            ),
            NamespaceError::Failed { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for NamespaceError {}

type Task = Box<dyn FnOnce() + Send>;

/// A network namespace with its loopback device up, and a thread in it. Dropping it kills every process that is left in the
/// namespace.
#[derive(Debug)]
pub struct Namespace {
    /// Queue of closures for the thread; `None` only while the namespace is dropped.
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
    has_own_mounts: bool,
    /// Killer of the remaining processes. The last field, so that it is dropped after the thread has ended.
    _reaper: Reaper,
}

impl Namespace {
    /// Creates a namespace, from the user namespace of the calling thread, with mounts of its own if that is permitted.
    ///
    /// # Errors
    /// A [`NamespaceError`], which names the cause.
    pub fn new() -> Result<Self, NamespaceError> {
        let (tasks, queue) = channel::<Task>();
        let (report, made) = channel();
        let thread = std::thread::Builder::new()
            .name("namespace".into())
            .spawn(move || {
                let is_made = enter();
                let stays = is_made.is_ok();
                if report.send(is_made).is_err() || !stays {
                    return;
                }
                // The loop ends when the namespace is dropped.
                while let Ok(task) = queue.recv() {
                    task();
                }
            })
            .map_err(|error| NamespaceError::Failed { what: "starting a thread", error })?;
        let gone = || NamespaceError::Failed {
            what: "starting a thread",
            error: io::Error::other("it ended at once"),
        };
        match made.recv().unwrap_or_else(|_| Err(gone())) {
            Ok((has_own_mounts, reaper)) => {
                Ok(Self { tasks: Some(tasks), thread: Some(thread), has_own_mounts, _reaper: reaper })
            }
            Err(error) => {
                // The caller may then create a user namespace, which requires that no other thread exists.
                let _ = thread.join();
                Err(error)
            }
        }
    }

    /// Runs `work` on the thread in the namespace and waits for the result. Objects that `work` opens belong to the namespace, and can
    /// be used anywhere. Closures run one after another; a panic propagates to the caller.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (report, done) = channel();
        let task: Task = Box::new(move || {
            // The receiver is missing only if the caller is gone.
            let _ = report.send(catch_unwind(AssertUnwindSafe(work)));
        });
        let is_sent = self.tasks.as_ref().is_some_and(|tasks| tasks.send(task).is_ok());
        match (is_sent, done.recv()) {
            (true, Ok(Ok(result))) => result,
            (true, Ok(Err(panic))) => resume_unwind(panic),
            // The thread ends only when the namespace is dropped, and this call borrows the namespace.
            _ => unreachable!("the thread of a namespace ended before it"),
        }
    }

    /// Starts a command inside, with the input, output and environment of `command`. The command is killed when this process or the
    /// namespace ends.
    ///
    /// # Errors
    /// The command cannot be started: not found, not executable...
    pub fn spawn(&self, command: Command) -> io::Result<Running> {
        self.run(move || command::start(command, None))
    }

    /// Like [`Namespace::spawn`], for the one command in the terminal's foreground: while it runs, `SIGINT`, `SIGTERM`,
    /// `SIGHUP` and `SIGQUIT` end the command and not this process ([`signals`]); afterwards this process takes the terminal
    /// back.
    ///
    /// # Errors
    /// The command cannot be started, or there is a foreground command already.
    pub fn spawn_foreground(&self, command: Command) -> io::Result<Running> {
        let foreground = command::Foreground::new()?;
        self.run(move || command::start(command, Some(foreground)))
    }

    /// True if mounts inside are invisible outside, which replacing files requires.
    pub const fn has_own_mounts(&self) -> bool {
        self.has_own_mounts
    }

    /// Lets processes inside read `contents` under the path of the file `path`. Nothing is written to any disk.
    ///
    /// # Errors
    /// The file does not exist, or mounting is not permitted.
    pub fn replace_file(&self, path: &'static str, contents: String) -> io::Result<()> {
        if !self.has_own_mounts {
            return Err(Errno::PERM.into());
        }
        self.run(move || bind_over(path, &contents))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.tasks.take());
        if let Some(thread) = self.thread.take() {
            // Commands die with the thread that started them (`PR_SET_PDEATHSIG`).
            let _ = thread.join();
        }
    }
}

/// Moves the calling thread into namespaces of its own. Returns true if they include a mount namespace, and the reaper.
fn enter() -> Result<(bool, Reaper), NamespaceError> {
    // SAFETY: the network namespace takes no file descriptors from other threads.
    let made = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
    made.map_err(|error| match error {
        Errno::PERM | Errno::ACCESS => user::not_permitted(rustix::process::geteuid().is_root()),
        Errno::INVAL | Errno::NOSYS => NamespaceError::Unsupported { what: "network" },
        Errno::NOSPC | Errno::USERS => NamespaceError::TooMany { limit: "/proc/sys/user/max_net_namespaces" },
        error => NamespaceError::Failed { what: "creating a network namespace", error: error.into() },
    })?;
    let failed = |what| move |error| NamespaceError::Failed { what, error };
    let reaper = Reaper::new().map_err(failed("looking for the network namespace in /proc"))?;
    loopback_up().map_err(failed("switching the loopback device on"))?;
    Ok((has_own_mounts(), reaper))
}

fn loopback_up() -> io::Result<()> {
    let mut netlink = Netlink::open()?;
    let index = netlink.index("lo")?.ok_or(Errno::NODEV)?;
    netlink.set_up(index)
}

/// Tries to create a private mount namespace, to which later mounts of the host still propagate.
fn has_own_mounts() -> bool {
    // SAFETY: the mount namespace takes no file descriptors from other threads.
    let is_made = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.is_ok();
    let flow = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    is_made && rustix::mount::mount_change("/", flow).is_ok()
}

/// Directories that a file system in memory can be mounted over for a moment, in a private mount namespace.
const SCRATCH: [&str; 4] = ["/tmp", "/run", "/mnt", "/dev/shm"];

/// Mounts a file with `contents` over `path`. The file is in memory and has no other name after this call.
fn bind_over(path: &str, contents: &str) -> io::Result<()> {
    let target = std::fs::canonicalize(path)?;
    let is_free = |folder: &&&str| Path::new(folder).is_dir() && !target.starts_with(folder);
    let scratch = SCRATCH.iter().find(is_free).ok_or(Errno::NOTDIR)?;
    rustix::mount::mount(
        "qdelay",
        *scratch,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=755,size=1m",
    )?;
    let file = Path::new(scratch).join("file");
    let is_bound = std::fs::write(&file, contents).and_then(|()| {
        use std::os::unix::fs::PermissionsExt;
        // Every user of the namespace may read the file, whatever the umask is.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
        Ok(rustix::mount::mount_bind(&file, &target)?)
    });
    rustix::mount::unmount(*scratch, UnmountFlags::DETACH)?;
    is_bound
}
