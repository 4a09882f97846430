//! Commands in the namespace: exit status, signals and terminal.

use crate::net_support::{eventually, host, is_alive};
use qdelay_emu::netns::Namespace;
use qdelay_emu::netns::command::exit_code;
use qdelay_testing::{Need, helper_arguments, skip};
use rustix::process::Signal;
use rustix::pty::OpenptFlags;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn output(namespace: &Namespace, script: &str) -> String {
    let mut command = shell(script);
    command.stdout(Stdio::piped());
    let mut running = namespace.spawn(command).expect("started");
    let mut text = String::new();
    running.child().stdout.take().expect("piped").read_to_string(&mut text).expect("read");
    text
}

#[test]
fn the_exit_status_is_passed_on() {
    let namespace = host();
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let mut running = namespace.spawn(shell(script)).expect("started");
        assert_eq!(exit_code(running.wait().expect("ended")), code, "{script}");
        assert_eq!(exit_code(running.try_wait().expect("known").expect("ended")), code, "{script}");
    }
    let error = namespace.spawn(Command::new("/no/such/command")).expect_err("not found");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn the_command_runs_in_the_namespace_without_our_files() {
    let namespace = host();
    let devices = output(&namespace, "cat /proc/self/net/dev");
    assert!(devices.contains("lo:") && !devices.contains("eth"), "{devices}");
    // A device that a command kept open would outlive this process.
    let files = namespace.run(|| {
        let _tun =
            qdelay_emu::device::tun::Tun::open("kept%d", 1500, qdelay_emu::device::tun::OffloadMode::Off)
                .expect("a device");
        Command::new("sh").args(["-c", "ls -l /proc/self/fd"]).output().expect("run").stdout
    });
    assert!(!String::from_utf8_lossy(&files).contains("net/tun"));
}

#[test]
fn a_dropped_command_is_killed() {
    let namespace = host();
    let mut sleep = Command::new("sleep");
    sleep.arg("1000");
    let running = namespace.spawn(sleep).expect("started");
    let pid = running.id();
    assert!(is_alive(pid));
    drop(running);
    assert!(!is_alive(pid));
}

/// Arguments that run this program again, as the helper `name`.
fn again(name: &str) -> Vec<String> {
    let exe = std::env::current_exe().expect("this program").display().to_string();
    [exe.as_str()].into_iter().chain(helper_arguments(name)).map(String::from).collect()
}

/// Runs a command in the foreground, for [`signals_are_forwarded`].
#[helper]
fn forwarder() {
    let namespace = host();
    let script = "trap 'exit 7' TERM; trap 'exit 8' INT; echo begun; while :; do sleep 0.05; done";
    let mut running = namespace.spawn_foreground(shell(script)).expect("started");
    assert!(namespace.spawn_foreground(shell("true")).is_err(), "only one has the foreground");
    println!("code {}", exit_code(running.wait().expect("ended")));
    // The foreground is free for the next command.
    namespace.spawn_foreground(shell("true")).expect("started").wait().expect("ended");
}

#[test]
fn signals_are_forwarded() {
    drop(host());
    for (signal, code) in [(Signal::TERM, "code 7"), (Signal::INT, "code 8")] {
        let words = again("forwarder");
        let mut child =
            Command::new(&words[0]).args(&words[1..]).stdout(Stdio::piped()).spawn().expect("started");
        let mut lines =
            BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("read"));
        assert!(lines.any(|line| line.ends_with("begun")));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).expect("sent");
        assert!(lines.any(|line| line == code), "{code}");
        child.wait().expect("ended");
    }
}

/// An interactive shell, for [`an_interactive_shell_has_the_terminal`].
#[helper]
fn terminal() {
    let namespace = host();
    let mut command = Command::new("sh");
    command.arg("-i").env("PS1", "prompt> ");
    let mut running = namespace.spawn_foreground(command).expect("started");
    let code = exit_code(running.wait().expect("ended"));
    let group = rustix::termios::tcgetpgrp(std::io::stdin()).expect("a terminal");
    println!("code {code} foreground {}", group == rustix::process::getpgrp());
}

#[test]
fn an_interactive_shell_has_the_terminal() {
    drop(host());
    if Command::new("setsid").arg("--version").output().is_err() {
        skip(Need::Tools, "no setsid command");
    }
    for (end, expected) in
        [("exit 3\n", "code 3 foreground true"), ("kill -9 $$\n", "code 137 foreground true")]
    {
        let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        rustix::pty::grantpt(&ours).expect("granted");
        rustix::pty::unlockpt(&ours).expect("unlocked");
        let name = rustix::pty::ptsname(&ours, Vec::new()).expect("a name").into_string().expect("text");
        let theirs = || File::options().read(true).write(true).open(&name).expect("opened");
        let mut child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .args(again("terminal"))
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs())
            .spawn()
            .expect("started");
        let mut screen = Screen::of(File::from(ours));
        screen.expect("prompt> ");
        // Ctrl-C ends the program that runs in the shell, but neither the shell nor this process. The quotes make the echo of
        // the typed command differ from its output.
        screen.type_in("sh -c 'echo be\"\"gun; exec sleep 1000'\n");
        screen.expect("begun");
        screen.type_in("\x03");
        screen.expect("prompt> ");
        screen.type_in("echo still-$((40 + 2))\n");
        screen.expect("still-42");
        screen.type_in(end);
        screen.expect(expected);
        let pid = child.id();
        eventually("it ends", || !is_alive(pid));
        child.wait().expect("ended");
    }
}

/// The test's side of a terminal.
struct Screen {
    file: File,
    unread: String,
}

impl Screen {
    fn of(file: File) -> Self {
        Self { file, unread: String::new() }
    }

    fn type_in(&mut self, text: &str) {
        self.file.write_all(text.as_bytes()).expect("typed");
    }

    /// Reads up to and including `text`.
    fn expect(&mut self, text: &str) {
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.unread.find(text) {
                self.unread.drain(..at + text.len());
                return;
            }
            match self.file.read(&mut buffer) {
                Ok(length) if length > 0 => {
                    self.unread.push_str(&String::from_utf8_lossy(&buffer[..length]));
                }
                end => panic!("{text:?} did not appear ({end:?}): {}", self.unread),
            }
        }
    }
}
