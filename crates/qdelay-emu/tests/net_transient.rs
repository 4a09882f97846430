//! Links leave nothing behind: neither a dropped link, nor one after a panic or `kill -9`, nor any process that the command has
//! started.

use crate::net_support::{Carried, differences, eventually, host, is_alive, link, pause, snapshot};
use qdelay_emu::link_setup::{LinkSetup, Options};
use qdelay_emu::netns::Namespace;
use qdelay_testing::helper_arguments;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

/// Retries for a moment, because a process that another test has just forked may not have closed our files yet.
fn nothing_is_left(host: &Namespace, before: &BTreeMap<String, String>) {
    let mut left = Vec::new();
    let is_clean = (0..100).any(|tries| {
        if tries > 0 {
            pause();
        }
        left = differences(before, &host.run(snapshot));
        left.is_empty()
    });
    assert!(is_clean, "{left:#?}");
}

#[test]
fn a_dropped_link_leaves_nothing() {
    let host = host();
    let before = host.run(snapshot);
    let outer = Carried::new(link(&host).expect("a link"));
    let inner = Carried::new(link(&outer.namespace).expect("a link within"));
    let during = host.run(snapshot);
    // The comparison has to detect the link while it exists.
    assert!(during["devices"].contains("qdelay0") && !differences(&before, &during).is_empty());
    // While the link exists, only the state of the new device is added.
    for (name, value) in &before {
        let is_settings = name.starts_with("/proc/sys/");
        assert!(!is_settings || during.get(name) == Some(value), "{name} has changed");
    }
    assert_eq!(before["mounts"], during["mounts"]);
    drop(inner);
    drop(outer);
    nothing_is_left(&host, &before);
}

#[test]
fn a_panic_leaves_nothing() {
    let host = host();
    let before = host.run(snapshot);
    let result = host.run(|| {
        catch_unwind(AssertUnwindSafe(|| {
            let _link = LinkSetup::new(&Options::default()).expect("a link");
            panic!("as part of the test");
        }))
    });
    assert!(result.is_err());
    nothing_is_left(&host, &before);
}

#[test]
fn a_failed_setup_leaves_nothing() {
    let host = host();
    let before = host.run(snapshot);
    for name in ["lo", "bad name"] {
        let options = Options { name: name.into(), ..Options::default() };
        assert!(crate::net_support::link_with(&host, options).is_err());
    }
    nothing_is_left(&host, &before);
}

#[test]
fn background_processes_end_with_the_namespace() {
    let host = host();
    let link = link(&host).expect("a link");
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & echo $!"]).stdout(Stdio::piped());
    let mut shell = link.namespace.spawn(command).expect("started");
    let mut line = String::new();
    let mut output = BufReader::new(shell.child().stdout.take().expect("piped"));
    output.read_line(&mut line).expect("read");
    let pid: u32 = line.trim().parse().expect("a number");
    assert!(shell.wait().expect("ended").success());
    assert!(is_alive(pid));
    drop(link);
    assert!(!is_alive(pid));
}

/// A process that forks and exits again and again is killed, too, wherever it is at the time of a scan.
#[test]
fn a_forking_process_ends_with_the_namespace() {
    for _ in 0..20 {
        run_away();
    }
}

fn run_away() {
    let host = host();
    let mut command = Command::new("sh");
    // Each generation has a session of its own, and lives for a millisecond.
    let script =
        "step='sleep 0.001; echo $$ >&3; setsid sh -c \"$step\" &'; export step; exec 3>&1; eval \"$step\"";
    command.args(["-c", script]).stdout(Stdio::piped());
    let mut shell = host.spawn(command).expect("started");
    let mut lines = BufReader::new(shell.child().stdout.take().expect("piped")).lines();
    for _ in 0..20 {
        let line = lines.next().expect("another generation").expect("read");
        assert!(line.parse::<u32>().is_ok(), "{line:?}");
    }
    drop(shell);
    drop(host);
    // The pipe ends when all its writers have ended. Closing it earlier would end them.
    assert!(lines.take(2000).count() < 2000, "a process was left");
}

/// Child processes of this process with the reaper's name, with their states.
fn reapers() -> Vec<(u32, char)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") ")) else {
            continue;
        };
        let mut words = rest.split(' ');
        let (state, parent) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if name == "qdelay-reaper" && parent == std::process::id().to_string() {
            found.push((pid, state.chars().next().unwrap_or('?')));
        }
    }
    found
}

/// A field of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name}: {text}")).trim().to_string()
}

/// Helper process of [`a_reaper_has_little_and_goes_with_the_namespace`], which inspects a whole process.
#[helper]
fn counter() {
    let files = || std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT).ok();
    let before = files();
    let namespaces = [Namespace::new().expect("made"), Namespace::new().expect("made")];
    eventually("both have a reaper", || reapers().len() == 2);
    let own = std::fs::read_link("/proc/self/ns/net").expect("/proc");
    for (pid, state) in reapers() {
        // The child waits in a read, which only the end of the pipe wakes.
        eventually("it has closed what it does not need", || {
            std::fs::read_dir(format!("/proc/{pid}/fd")).expect("alive").count() == 2
        });
        assert!(matches!(state, 'S' | 'R'), "{state}");
        assert_eq!(status(pid, "VmLck"), "0 kB");
        let blocked = u64::from_str_radix(&status(pid, "SigBlk"), 16).expect("a number");
        for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
            assert_ne!(blocked & 1 << (signal.as_raw() - 1), 0, "{signal:?}");
            let pid = rustix::process::Pid::from_raw(pid as i32).expect("not 0");
            rustix::process::kill_process(pid, signal).expect("sent");
        }
        eventually("it is in a namespace of its own", || {
            let place = std::fs::read_link(format!("/proc/{pid}/ns/net")).expect("alive");
            let inside = namespaces.each_ref().map(|namespace| {
                namespace.run(|| std::fs::read_link("/proc/thread-self/ns/net").expect("/proc"))
            });
            place != own && !inside.contains(&place)
        });
    }
    assert_eq!(reapers().len(), 2);
    drop(namespaces);
    assert_eq!(reapers(), [], "neither a process nor a zombie");
    for _ in 0..50 {
        drop(Namespace::new().expect("made"));
    }
    assert_eq!((reapers(), files()), (vec![], before));
    // This process does the work of a reaper that was killed.
    let namespace = Namespace::new().expect("made");
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & echo $!"]).stdout(Stdio::piped());
    let mut shell = namespace.spawn(command).expect("started");
    let mut line = String::new();
    BufReader::new(shell.child().stdout.take().expect("piped")).read_line(&mut line).expect("read");
    // The reaper is recognised by the name that it sets for itself.
    eventually("it has a reaper", || reapers().len() == 1);
    let reaper = rustix::process::Pid::from_raw(reapers()[0].0 as i32).expect("not 0");
    rustix::process::kill_process(reaper, Signal::KILL).expect("killed");
    drop((shell, namespace));
    assert!(!is_alive(line.trim()));
    assert_eq!((reapers(), files()), (vec![], before));
    println!("\nall is well");
}

#[test]
fn a_reaper_has_little_and_goes_with_the_namespace() {
    drop(host());
    let output = again("counter").output().expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all is well"), "{text}");
}

/// A command that runs this program again, as the helper `name`.
fn again(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(helper_arguments(name)).stdout(Stdio::piped());
    command
}

/// Helper process of [`kill_9_leaves_nothing`].
#[helper]
fn holder() {
    let outer = Carried::new(LinkSetup::new(&Options::default()).expect("a link"));
    let inner = Carried::new(link(&outer.namespace).expect("a link within"));
    let mut started = Vec::new();
    let mut running = Vec::new();
    for namespace in [&outer.namespace, &inner.namespace] {
        // The kernel kills a child together with this process, but not a grandchild.
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sleep 1000 & echo $!; wait"]).stdout(Stdio::piped());
        let mut shell = namespace.spawn(command).expect("started");
        let mut line = String::new();
        BufReader::new(shell.child().stdout.take().expect("piped")).read_line(&mut line).expect("read");
        started.extend([shell.id().to_string(), line.trim().to_string()]);
        running.push(shell);
    }
    println!("\nready {}", started.join(" "));
    std::io::stdout().flush().expect("written");
    loop {
        std::thread::park();
    }
}

#[test]
fn kill_9_leaves_nothing() {
    let host = host();
    let before = host.run(snapshot);
    let mut holder = host.spawn(again("holder")).expect("started");
    let mut lines = BufReader::new(holder.child().stdout.take().expect("piped")).lines();
    let ready = lines
        .find_map(|line| line.expect("read").strip_prefix("ready ").map(str::to_string))
        .expect("the other process has a link");
    let started: Vec<u32> = ready.split(' ').map(|word| word.parse().expect("a number")).collect();
    assert!(started.len() == 4 && started.iter().all(|pid| is_alive(*pid)), "{started:?}");
    assert!(host.run(snapshot)["devices"].contains("qdelay0"));

    holder.signal(Signal::KILL).expect("killed");
    holder.wait().expect("ended");
    eventually("all have died with it", || !started.iter().any(|pid| is_alive(*pid)));
    eventually("the devices are gone", || !host.run(snapshot)["devices"].contains("qdelay"));
    nothing_is_left(&host, &before);
}
