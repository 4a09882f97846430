//! Shared helpers of tests with real devices. Each test runs in namespaces of its own, so that the machine's network is not changed,
//! and is skipped if they cannot be created.

mod machine;

use qdelay_emu::device::copy::{Copied, copy};
use qdelay_emu::link_setup::{Addresses, LinkSetup, Options, SetupError};
use qdelay_emu::netns::Namespace;
pub use qdelay_testing::{eventually, is_alive, pause};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread::JoinHandle;

/// A namespace that represents the machine. Skips the test if it cannot be created.
pub fn host() -> Namespace {
    limit();
    machine::machine()
}

/// Kills this process by a signal when a test hangs. A thread cannot do so: a user namespace requires a single thread.
#[allow(unsafe_code)]
fn limit() {
    // SAFETY: alarm(2) touches no memory. Each test sets it again; child processes do not inherit it.
    unsafe { libc::alarm(300) };
}

/// A link out of `place`, without name resolution.
pub fn link(place: &Namespace) -> Result<LinkSetup, SetupError> {
    link_with(place, Options { resolver: false, ..Options::default() })
}

pub fn link_with(place: &Namespace, options: Options) -> Result<LinkSetup, SetupError> {
    place.run(move || LinkSetup::new(&options))
}

/// A link whose packets are copied by a thread.
pub struct Carried {
    pub namespace: Namespace,
    pub outside_namespace: Option<Namespace>,
    pub addresses: Addresses,
    pub notes: Vec<String>,
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<Copied>>,
    _relay: Option<qdelay_emu::dns::Relay>,
    _nat: Option<qdelay_emu::link_setup::nat::Nat>,
}

impl Carried {
    pub fn new(setup: LinkSetup) -> Self {
        let LinkSetup { inside, outside, addresses, relay, notes, namespace, outside_namespace, nat } = setup;
        let (stopped, stop) = rustix::pipe::pipe().expect("a pipe");
        let mtu = inside.mtu() as usize;
        let thread =
            std::thread::spawn(move || copy(inside, outside, mtu, &stopped).expect("packets are copied"));
        Self {
            namespace,
            outside_namespace,
            addresses,
            notes,
            stop: Some(stop),
            thread: Some(thread),
            _relay: relay,
            _nat: nat,
        }
    }

    /// Stops copying and returns the counts.
    pub fn end(mut self) -> Copied {
        drop(self.stop.take());
        self.thread.take().expect("runs").join().expect("no panic")
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// All state of the calling thread's namespaces that a link must not change permanently.
pub fn snapshot() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for file in ["route", "if_inet6", "fib_trie", "igmp", "igmp6", "packet"] {
        let path = format!("/proc/thread-self/net/{file}");
        all.insert(path.clone(), std::fs::read_to_string(path).unwrap_or_default());
    }
    // Usage counters change by themselves, so they are left out.
    let six = std::fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap_or_default();
    let columns = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        [&words[..6], &words[8..]].concat().join(" ")
    };
    all.insert("ipv6_route".into(), six.lines().map(|line| columns(line) + "\n").collect());
    let devices = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let name = |line: &str| line.split_once(':').map(|(name, _)| name.trim().to_string() + "\n");
    all.insert("devices".into(), devices.lines().filter_map(name).collect());
    all.insert("mounts".into(), std::fs::read_to_string("/proc/thread-self/mountinfo").unwrap_or_default());
    for folder in ["/proc/sys/net/ipv4", "/proc/sys/net/ipv6", "/proc/sys/net/core"] {
        settings(folder.as_ref(), &mut all);
    }
    for command in [
        "ip -j addr",
        "ip -j link",
        "ip -j rule",
        "ip -j -6 rule",
        "ip -j route show table all",
        "ip -j -6 route show table all",
        "nft list ruleset",
        "iptables-save",
        "ip6tables-save",
    ] {
        let mut words = command.split(' ');
        if let Ok(output) = Command::new(words.next().expect("a word")).args(words).output() {
            all.insert(command.into(), String::from_utf8_lossy(&output.stdout).into_owned());
        }
    }
    all
}

fn settings(folder: &std::path::Path, all: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            settings(&path, all);
        } else if let Ok(value) = std::fs::read_to_string(&path) {
            all.insert(path.display().to_string(), value);
        }
    }
}

/// The differences between two snapshots, for messages.
pub fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let differ = names.filter(|name| before.get(*name) != after.get(*name));
    let mut lines: Vec<String> =
        differ.map(|name| format!("{name}: {:?} -> {:?}", before.get(name), after.get(name))).collect();
    lines.sort();
    lines.dedup();
    lines
}
