//! Shared code of the tests of `qdelay link`: a namespace that stands for the machine, commands in it, and helpers behind a link.
//! Every wait has a limit, after which the process is killed.

use crate::common::{command, folder};
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, helper_arguments, skip};
pub use qdelay_testing::{eventually, is_alive, pause};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Task of a helper that is started behind a link as an ordinary command: this program.
pub const TASK: &str = "QDELAY_TEST_TASK";
/// Longest wait, reached by failing tests only.
pub const LONG: Duration = Duration::from_secs(60);
const LIMIT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// Namespace that stands for the machine. Skips the test where none can be made.
pub fn machine() -> Namespace {
    if !rustix::process::geteuid().is_root() {
        skip(Need::Net, "not root");
    }
    crate::machine::machine()
}

/// `qdelay link` with these arguments, split at blanks; the text after `--` is a shell script.
pub fn link(options: &str, script: &str) -> Command {
    let mut words = vec!["link"];
    words.extend(options.split_whitespace());
    words.extend(["--", "sh", "-c", script]);
    command(&words)
}

/// Script that lets this program's helper do `task`.
pub fn task(helper: &str, task: &str) -> String {
    talking_task(helper, task) + " >/dev/null"
}

/// Same as [`task`], with output that is read.
pub fn talking_task(helper: &str, task: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("{TASK}='{task}' '{}' {}", program.display(), helper_arguments(helper).join(" "))
}

/// Runs a command to its end on `machine`, without input.
pub fn output(machine: &Namespace, mut command: Command) -> Output {
    command.stdin(Stdio::null());
    let (status, stdout, stderr) = Running::start(machine, command).all();
    Output { status, stdout: stdout.into_bytes(), stderr: stderr.into_bytes() }
}

/// Runs a command to its end on `machine`; returns status and standard error.
pub fn run(machine: &Namespace, options: &str, script: &str) -> (Option<i32>, String) {
    let output = output(machine, link(options, script));
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Running command with the lines of its output. Killed on drop.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    complaint: Receiver<String>,
}

impl Running {
    /// Starts the command; the input is as `command` sets it.
    pub fn start(machine: &Namespace, mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = machine.run(move || command.spawn().unwrap());
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (line, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|text| line.send(text))
        });
        let (whole, complaint) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            whole.send(String::from_utf8_lossy(&bytes).into_owned())
        });
        Running { child, lines, complaint }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of its output.
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(LONG).unwrap_or_else(|error| {
            let _ = self.child.kill();
            panic!("a line: {error}: {:?}", self.complaint.recv_timeout(LONG))
        })
    }

    /// Text after `start` in the next line that begins with it.
    pub fn line_after(&mut self, start: &str) -> String {
        loop {
            // The harness prints the name of its test without ending the line.
            let line = self.line();
            if let Some((_, rest)) = line.split_once(start) {
                return rest.to_string();
            }
        }
    }

    /// Writes a line to its input.
    pub fn tell(&mut self, line: &str) {
        self.child.stdin.as_mut().expect("a pipe").write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Exit status and standard error.
    pub fn end(self) -> (ExitStatus, String) {
        let (status, _, complaint) = self.all();
        (status, complaint)
    }

    /// Exit status, the rest of the output, and standard error. Waits for every process that holds one of them open.
    pub fn all(mut self) -> (ExitStatus, String, String) {
        drop(self.child.stdin.take());
        let complaint = self.complaint.recv_timeout(LONG).expect("standard error is closed at the end");
        let mut output = String::new();
        while let Ok(line) = self.lines.recv_timeout(LONG) {
            output += &(line + "\n");
        }
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty()).unwrap();
        let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LIMIT)).unwrap();
        assert_eq!(ended, 1, "it ends: {complaint}");
        (self.child.wait().unwrap(), output, complaint)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The network of a machine: devices, addresses, routes.
pub fn network(machine: &Namespace) -> Vec<String> {
    machine.run(|| {
        let file =
            |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        let names = file("dev")
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()))
            .collect::<Vec<_>>();
        let mut all = vec![names.join(" ")];
        all.extend(["route", "fib_trie", "if_inet6"].map(file));
        for arguments in ["link", "addr", "route show table all", "-6 route show table all", "rule"] {
            let words = std::iter::once("-j").chain(arguments.split(' '));
            if let Ok(output) = Command::new("ip").args(words).output() {
                all.push(String::from_utf8_lossy(&output.stdout).into_owned());
            }
        }
        all
    })
}

#[allow(clippy::disallowed_methods, reason = "waits for others; no result depends on how long")]
pub fn pause_of(time: Duration) {
    std::thread::sleep(time);
}

/// Memory of the process, in KiB.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is alive");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process with memory");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Number of files that the process has open.
pub fn files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it is alive").count()
}

pub fn json(path: &str) -> Value {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(value["schema_version"], 2);
    value
}

/// Checks a direction's figures: arrived packets are delivered, dropped, or among the few that were in
/// flight at the end.
pub fn assert_accounted(figures: &Value, under_way: u64) {
    let count = |name: &str| figures[name].as_u64().unwrap();
    let accounted = count("packets_delivered") + count("drops");
    assert!((accounted..=accounted + under_way).contains(&count("packets_arrived")), "{figures}");
    let reasons = figures["drops_by_reason"].as_object().unwrap();
    assert_eq!(reasons.values().map(|drops| drops.as_u64().unwrap()).sum::<u64>(), count("drops"));
}

/// A name in the folder of a test.
pub fn name(test: &str, file: &str) -> String {
    folder(test).join(file).to_str().unwrap().to_string()
}

/// Echo server on `machine`, for any number of connections; returns its port.
pub fn echo_server(machine: &Namespace) -> u16 {
    echo_server_at(machine, Ipv4Addr::UNSPECIFIED.into())
}

/// Same as [`echo_server`], at an address.
pub fn echo_server_at(machine: &Namespace, address: IpAddr) -> u16 {
    let listener = machine.run(move || TcpListener::bind((address, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    port
}

/// Sends this many bytes to an [`echo_server`] and checks the returned bytes.
pub fn converse(server: SocketAddr, bytes: u32) {
    try_converse(server, bytes).unwrap();
}

/// Same as [`converse`], but TCP may give up or wait for longer than [`LONG`]; returned bytes must still be correct.
pub fn try_converse(server: SocketAddr, bytes: u32) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&server, LONG)?;
    stream.set_read_timeout(Some(LONG))?;
    stream.set_write_timeout(Some(LONG))?;
    let sent: Vec<u8> = (0..bytes).map(|number| (number % 251) as u8).collect();
    let (mut writer, to_send) = (stream.try_clone()?, sent.clone());
    let writing = std::thread::spawn(move || {
        writer.write_all(&to_send)?;
        writer.shutdown(std::net::Shutdown::Write)
    });
    let mut received = Vec::new();
    let read = stream.read_to_end(&mut received);
    assert!(sent.starts_with(&received), "{} of {} bytes", received.len(), sent.len());
    writing.join().unwrap()?;
    read?;
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    Ok(())
}
