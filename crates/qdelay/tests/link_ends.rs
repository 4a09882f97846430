//! End of `qdelay link`: by signals, killed processes and removed devices, always without remains. Setup as in `link.rs`.

use crate::link::SERVER;
use crate::link_support::{
    Running, assert_accounted, echo_server, eventually, is_alive, json, link, machine, name, network, run,
    task,
};
use qdelay_testing::{Need, skip};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Command, Stdio};

#[test]
fn kill_9_leaves_nothing() {
    let machine = machine();
    let before = network(&machine);
    // A new session, so that only the namespace ties the process to the link.
    let background = "setsid sleep 1000 & echo $! $$; exec sleep 1000";
    let program = env!("CARGO_BIN_EXE_qdelay");
    let nested = format!("'{program}' link --down 10mbit -- sh -c '{background}'");
    let thrice = format!("'{program}' link -- '{program}' link --up 10mbit -- sh -c '{background}'");
    for script in [background, &nested, &thrice] {
        let mut running = Running::start(&machine, link("--down synth-lte-driving --up 1mbit", script));
        let line = running.line();
        let all: Vec<&str> = line.split(' ').collect();
        assert!(all.len() == 2 && all.iter().all(is_alive), "{line}");
        assert_ne!(network(&machine), before, "there is something to be left");
        running.signal(Signal::KILL);
        // A process that holds standard error open was left behind.
        let (status, _) = running.end();
        assert_eq!(status.code(), None);
        eventually("all have died with it", || !all.iter().any(is_alive));
        eventually("the network is what it was", || network(&machine) == before);
    }
}

/// Killing an inner link affects no other process, and the outer one continues.
#[test]
fn kill_9_of_an_inner_link() {
    let machine = machine();
    let port = echo_server(&machine);
    let program = env!("CARGO_BIN_EXE_qdelay");
    let script = format!(
        "sleep 1000 & '{program}' link --quiet -- sh -c 'setsid sleep 1000 & echo $!; kill -9 $PPID; sleep 1000'; \
         echo $?; kill -0 $! && {}; exit $(($? + 8))",
        task("inside", &format!("echo {port}"))
    );
    let mut running = Running::start(&machine, link("--quiet", &script));
    let (inner, status) = (running.line(), running.line());
    assert_eq!(status, "137");
    eventually("what was in the inner one has ended", || !is_alive(&inner));
    let (status, complaint) = running.end();
    // The shell may or may not print "Killed".
    assert_eq!(status.code(), Some(8), "{complaint}");
}

#[test]
fn a_command_that_is_killed_ends_the_link() {
    let machine = machine();
    let before = network(&machine);
    // Background processes of the command end with the link.
    let mut running = Running::start(&machine, link("--quiet", "sleep 1000 & echo $!; echo $$; wait"));
    let (background, pid) = (running.line(), running.line());
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let (status, complaint) = running.end();
    assert_eq!((status.code(), complaint.as_str()), (Some(137), ""));
    assert!(!is_alive(&background));
    assert_eq!(network(&machine), before);
}

#[test]
fn signals_are_the_commands() {
    let machine = machine();
    let before = network(&machine);
    let file = name("link-signals", "figures.json");
    for (signal, name, default) in
        [(Signal::INT, "INT", 130), (Signal::TERM, "TERM", 143), (Signal::HUP, "HUP", 129)]
    {
        // One command that ends at the signal, and one that ignores it at first.
        let mut running = Running::start(&machine, link("--quiet", "echo $$; exec sleep 1000"));
        running.line();
        running.signal(signal);
        let (status, complaint) = running.end();
        assert_eq!((status.code(), complaint.as_str()), (Some(default), ""), "{name}");
        let script = format!("trap 'echo caught; exit 9' {name}; echo ready; while :; do sleep 0.05; done");
        let mut running = Running::start(&machine, link(&format!("--json {file}"), &script));
        assert_eq!(running.line(), "ready");
        running.signal(signal);
        assert_eq!(running.line(), "caught");
        let (status, complaint) = running.end();
        assert_eq!(status.code(), Some(9), "{name}: {complaint}");
        // The link lives until it has reported.
        assert!(complaint.contains("verdict ") && json(&file)["status"] == 9, "{complaint}");
        std::fs::remove_file(&file).unwrap();
    }
    assert_eq!(network(&machine), before);
}

#[test]
fn a_device_that_disappears_ends_the_link() {
    let machine = machine();
    let before = network(&machine);
    if machine.run(|| Command::new("ip").arg("-V").output()).is_err() {
        skip(Need::Tools, "no ip command");
    }
    let (status, text) = run(&machine, "--quiet", "ip link del qdelay0; exit 0");
    assert!(
        status == Some(1) && text.starts_with("qdelay: the link failed: ") && text.lines().count() == 1,
        "{status:?}: {text}"
    );
    assert_eq!(network(&machine), before);
}

/// A device that is down carries nothing until it is up again; the link neither hangs nor ends.
#[test]
fn a_device_that_is_down_carries_nothing() {
    let machine = machine();
    let before = network(&machine);
    if machine.run(|| Command::new("ip").arg("-V").output()).is_err() {
        skip(Need::Tools, "no ip command");
    }
    let port = echo_server(&machine);
    let file = name("link-down", "figures.json");
    let echo = task("inside", &format!("echo {port}"));
    // The default route goes with it.
    let script = format!(
        "{echo} && ip link set qdelay0 down && {}; echo $?; ip link set qdelay0 up && \
         ip route add default via $QDELAY_OUTSIDE dev qdelay0 && {echo}; exit $(($? + 20))",
        task("inside", "flood 10") + " 2>/dev/null"
    );
    let mut running = Running::start(&machine, link(&format!("--up 50mbit --quiet --json {file}"), &script));
    assert_ne!(running.line(), "0", "nothing can be sent");
    let (status, complaint) = running.end();
    assert_eq!((status.code(), complaint.as_str()), (Some(20), ""));
    let value = json(&file);
    for direction in ["down", "up"] {
        assert_accounted(&value[direction], 100);
        assert!(value[direction]["packets_delivered"].as_u64().unwrap() > 260, "{value}");
    }
    // The other end goes down too; packets that cannot be delivered meanwhile are counted by the audit.
    let mut running = {
        let mut command = link(
            &format!("--quiet --json {file}"),
            &format!("echo; read go; {}", task("inside", "flood 300")),
        );
        command.stdin(Stdio::piped());
        Running::start(&machine, command)
    };
    running.line();
    let is_down = machine.run(|| {
        let words = ["link", "set", "qdelay0", "down"];
        Command::new("ip").args(words).status().is_ok_and(|status| status.success())
    });
    assert!(is_down);
    running.tell("go");
    let (status, complaint) = running.end();
    assert_eq!((status.code(), complaint.as_str()), (Some(0), ""));
    let value = json(&file);
    let audit = &value["audit"];
    assert!(
        audit["trustworthy"] == false && audit["lost_outside"].as_u64().unwrap() >= 300,
        "nobody got them: {value}"
    );
    assert_eq!(network(&machine), before);
}

/// All processes inside are killed repeatedly while packets flow.
#[test]
fn a_namespace_that_is_killed_ends_the_link() {
    let machine = machine();
    let before = network(&machine);
    let port = echo_server(&machine);
    let program = env!("CARGO_BIN_EXE_qdelay");
    let load = task("inside", &format!("endless {port}"));
    let nested =
        format!("{SERVER}=$QDELAY_OUTSIDE '{program}' link --down 20mbit --quiet -- sh -c \"{load}\"");
    for inner in [load.clone(), nested] {
        let file = name("link-killed", "figures.json");
        let script = format!(
            "sh -c '{}' 2>/dev/null & echo $$; sleep 0.3; echo on; wait",
            inner.replace('\'', "'\\''")
        );
        let options = format!("--down 50mbit --qdisc bode --quiet --json {file}");
        let mut running = Running::start(&machine, link(&options, &script));
        let place = format!("/proc/{}/ns/net", running.line());
        let place = std::fs::read_link(place).unwrap();
        assert_eq!(running.line(), "on");
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let pid = entry.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            let is_there = std::fs::read_link(entry.path().join("ns/net")).is_ok_and(|found| found == place);
            if let Some(pid) = pid.filter(|_| is_there) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let (status, complaint) = running.end();
        assert_eq!((status.code(), complaint.as_str()), (Some(137), ""));
        let value = json(&file);
        assert_eq!(value["status"], 137);
        for direction in ["down", "up"] {
            assert_accounted(&value[direction], 5000);
        }
        eventually("the network is what it was", || network(&machine) == before);
    }
}
