//! The server of `--serve`: a shell line in the namespace of the outer end, from before the command starts until the link ends.

use super::command_env;
use qdelay_emu::link_setup::LinkSetup;
use qdelay_emu::netns::command::exit_code;
use qdelay_emu::netns::group::Group;
use qdelay_study::cost::Stopwatch;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::eprintln_line;
use rustix::event::{Timespec, poll};
use rustix::process::Pid;
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};

const PLACE: &str = "--serve";
/// Longest wait for a port, in seconds.
const PATIENCE_SECONDS: f64 = 5.0;
/// Pause between two looks for a port.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Time that the server has to end after `SIGTERM`.
const GRACE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    group: Group,
    line: String,
}

impl Server {
    /// Starts the server, and waits until it listens at a TCP or UDP port, or [`PATIENCE_SECONDS`] have passed.
    ///
    /// # Errors
    /// The link is nested, or the server cannot be started, or ends at once.
    pub(super) fn start(line: &str, setup: &LinkSetup) -> Result<Self, Failure> {
        if setup.addresses.block.is_nested() {
            let message = "this link is inside another, whose other end cannot be entered from here; give --serve to the \
                           outermost link";
            return Err(Failure::input(PLACE, message));
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null());
        // Standard output is the command's.
        if let Ok(copy) = std::io::stderr().as_fd().try_clone_to_owned() {
            command.stdout(copy);
        }
        command_env::set(&mut command, &setup.addresses, setup.nat.is_some());
        let before = listening(setup);
        let group = Group::start(command, setup.outside_namespace.as_ref())
            .map_err(|error| Failure::input(PLACE, format!("/bin/sh: {error}; expected a shell")))?;
        let server = Self { group, line: one_line(line) };
        server.wait(setup, &before)?;
        Ok(server)
    }

    fn wait(&self, setup: &LinkSetup, before: &BTreeSet<u64>) -> Result<(), Failure> {
        let began = Stopwatch::start();
        loop {
            if let Some(status) = self.group.status() {
                let message = format!(
                    "'{}' ended before the command started, with {}; expected a server that stays in the foreground",
                    self.line,
                    described(status)
                );
                return Err(Failure::input(PLACE, message));
            }
            let new: BTreeSet<u64> = listening(setup).difference(before).copied().collect();
            // In a private namespace there are no other programs.
            let is_private = setup.outside_namespace.is_some();
            if !new.is_empty() && (is_private || has_socket(self.group.number(), &new)) {
                return Ok(());
            }
            if began.seconds() > PATIENCE_SECONDS {
                eprintln_line(&format!(
                    "{PLACE}: '{}' listens at no port after {PATIENCE_SECONDS} s; the command starts",
                    self.line
                ));
                return Ok(());
            }
            let _ = poll(&mut [], Some(&PAUSE));
        }
    }

    /// A message if the server has ended with an error.
    pub(super) fn failure(&self) -> Option<String> {
        let status = self.group.status().filter(|status| !status.success())?;
        Some(format!("{PLACE}: '{}' ended before the command, with {}", self.line, described(status)))
    }

    /// Ends the server.
    pub(super) fn end(self) {
        self.group.end(&GRACE);
    }
}

fn described(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("status {code}"),
        None => format!("status {} (a signal)", exit_code(status)),
    }
}

/// Inodes of the sockets of the outer end's namespace that accept connections or datagrams of any sender.
fn listening(setup: &LinkSetup) -> BTreeSet<u64> {
    setup.run_outside(|| {
        let file =
            |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        ["tcp", "tcp6", "udp", "udp6"]
            .into_iter()
            .flat_map(|name| sockets(&file(name), name.starts_with("tcp")).collect::<Vec<_>>())
            .collect()
    })
}

/// Inodes of these sockets in a table of `/proc/net` (proc_net_tcp in Linux, `Documentation/networking`).
fn sockets(table: &str, is_tcp: bool) -> impl Iterator<Item = u64> + '_ {
    table.lines().skip(1).filter_map(move |line| {
        let mut words = line.split_whitespace().skip(2);
        let (peer, state) = (words.next()?, words.next()?);
        let inode = words.nth(5)?.parse().ok()?;
        // State 10 is "listening"; a datagram socket without a peer has the peer's port 0.
        let is_open = if is_tcp { state == "0A" } else { peer.ends_with(":0000") };
        is_open.then_some(inode)
    })
}

/// True if a process of the group has one of the sockets open.
fn has_socket(group: Pid, sockets: &BTreeSet<u64>) -> bool {
    let group = group.as_raw_nonzero().get().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // Behind the name: state, parent, group.
        let of_group = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2));
        of_group == Some(group.as_str())
            && std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten().any(|file| {
                let target = std::fs::read_link(file.path()).unwrap_or_default();
                let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
                inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode| sockets.contains(&inode))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_are_found() {
        let tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x\n   \
                   1: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 x\n";
        assert_eq!(sockets(tcp, true).collect::<Vec<_>>(), [4711]);
        let udp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n  \
                   5: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 17 2 x\n  \
                   6: 0100007F:0035 0100007F:0036 01 00000000:00000000 00:00000000 00000000     0        0 18 2 x\n";
        assert_eq!(sockets(udp, false).collect::<Vec<_>>(), [17]);
    }
}
