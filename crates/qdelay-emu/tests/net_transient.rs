//! Nothing is left of a link: not when it is dropped, not after a panic, not after `kill -9`.

mod net_support;

use net_support::{Carried, differences, eventually, host, is_alive, link, snapshot};
use qdelay_emu::link_setup::{LinkSetup, Options};
use qdelay_emu::netns::Namespace;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

const HOLDER: &str = "QDELAY_TEST_HOLDS_A_LINK";

/// At once, but for a process that another test has just forked and that has not closed our files yet.
fn nothing_is_left(host: &Namespace, before: &BTreeMap<String, String>) {
    let mut left = Vec::new();
    let is_clean = (0..100).any(|_| {
        left = differences(before, &host.run(snapshot));
        left.is_empty() || net_support::pause()
    });
    assert!(is_clean, "{left:#?}");
}

#[test]
fn a_dropped_link_leaves_nothing() {
    let Some(host) = host() else { return };
    let before = host.run(snapshot);
    let outer = Carried::new(link(&host).expect("a link"));
    let inner = Carried::new(link(&outer.namespace).expect("a link within"));
    let during = host.run(snapshot);
    // The comparison sees something at all.
    assert!(during["devices"].contains("qdelay0") && !differences(&before, &during).is_empty());
    // While it is there, only what belongs to the device is new.
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
    let Some(host) = host() else { return };
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
    let Some(host) = host() else { return };
    let before = host.run(snapshot);
    for name in ["lo", "bad name"] {
        let options = Options { name: name.into(), ..Options::default() };
        assert!(net_support::link_with(&host, options).is_err());
    }
    nothing_is_left(&host, &before);
}

#[test]
fn background_processes_end_with_the_namespace() {
    let Some(host) = host() else { return };
    let link = link(&host).expect("a link");
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1000 & echo $!"]).stdout(Stdio::piped());
    let mut shell = link.namespace.spawn(command).expect("started");
    let mut line = String::new();
    let mut output = BufReader::new(shell.child().stdout.take().expect("piped"));
    output.read_line(&mut line).expect("read");
    let pid = line.trim().parse().expect("a number");
    assert!(shell.wait().expect("ended").success());
    assert!(is_alive(pid));
    drop(link);
    assert!(!is_alive(pid));
}

/// Not a test: what [`kill_9_leaves_nothing`] starts.
#[test]
fn holder() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    let outer = Carried::new(LinkSetup::new(&Options::default()).expect("a link"));
    let inner = Carried::new(link(&outer.namespace).expect("a link within"));
    let mut sleep = Command::new("sleep");
    sleep.arg("1000");
    let command = inner.namespace.spawn(sleep).expect("started");
    println!("\nready {}", command.id());
    std::io::stdout().flush().expect("written");
    loop {
        std::thread::park();
    }
}

#[test]
fn kill_9_leaves_nothing() {
    let Some(host) = host() else { return };
    let before = host.run(snapshot);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "holder", "--nocapture"]).env(HOLDER, "1").stdout(Stdio::piped());
    let mut holder = host.spawn(command).expect("started");
    let mut lines = BufReader::new(holder.child().stdout.take().expect("piped")).lines();
    let ready = lines
        .find_map(|line| line.expect("read").strip_prefix("ready ").map(str::to_string))
        .expect("the other process has a link");
    let sleeping = ready.parse().expect("a number");
    assert!(is_alive(sleeping));
    assert!(host.run(snapshot)["devices"].contains("qdelay0"));

    holder.signal(Signal::KILL).expect("killed");
    holder.wait().expect("ended");
    eventually("the command has died with it", || !is_alive(sleeping));
    eventually("the devices are gone", || !host.run(snapshot)["devices"].contains("qdelay"));
    nothing_is_left(&host, &before);
}
