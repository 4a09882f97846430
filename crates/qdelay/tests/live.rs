//! Views of a link while it runs: the control socket, `qdelay live`, and the foot of the terminal. Real links; no result depends
//! on timing. Without permission to make namespaces the tests are skipped.

use crate::common::{command, folder};
use crate::link_support::machine;
use crate::terminal_support::terminal;
use qdelay_emu::netns::Namespace;
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStdin, Command, Stdio};

/// A link whose command says `ready` and ends when it reads a line.
struct Running {
    child: Child,
    input: Option<ChildStdin>,
}

const COMMAND: [&str; 4] = ["--", "sh", "-c", "echo ready; read line; exit 0"];

impl Running {
    fn start(machine: &Namespace, options: &[&str]) -> Running {
        let words: Vec<&str> = ["link"].into_iter().chain(options.iter().copied()).chain(COMMAND).collect();
        let mut command = command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = machine.run(move || command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Running { input: child.stdin.take(), child }
    }

    /// Lets the command end; the link's status and what it wrote to standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

/// A connection to a control socket.
struct Client {
    reader: BufReader<UnixStream>,
}

impl Client {
    fn connect(path: &str) -> Client {
        Client { reader: BufReader::new(UnixStream::connect(path).unwrap()) }
    }
    fn send(&mut self, line: &[u8]) {
        self.reader.get_mut().write_all(line).unwrap();
    }
    /// The next line; `None` at the end.
    fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line).unwrap_or(0);
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }
    fn ask(&mut self, line: &str) -> Value {
        self.send(format!("{line}\n").as_bytes());
        self.line().unwrap()
    }
}

fn name(test: &str, file: &str) -> String {
    folder(test).join(file).to_str().unwrap().to_string()
}

#[test]
fn a_socket_is_ours_alone_and_gone_at_the_end() {
    let machine = machine();
    let path = name("live-socket", "link.sock");
    // State that a killed process leaves.
    drop(UnixListener::bind(&path).unwrap());
    let link = Running::start(&machine, &["--down", "10mbit", "--delay", "5ms", "--control", &path]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);

    let status = Client::connect(&path).ask(r#"{"command":"status"}"#);
    assert_eq!(status["schema_version"], 1);
    assert_eq!(status["down"]["setting"]["link"], "10mbit");
    assert_eq!(status["down"]["setting"]["delay_ms"], 5.0);
    let capacity = status["down"]["capacity_mbps"].as_f64().unwrap();
    assert!((9.5..10.5).contains(&capacity), "{capacity}, to within a packet");
    assert_eq!((status["up"]["capacity_mbps"].clone(), status["reloads"].clone()), (Value::Null, 0.into()));

    // Another link is refused the socket before its command starts.
    let started = name("live-other", "started");
    let mut other = command(&["link", "--control", &path, "--", "touch", &started]);
    let output = machine.run(move || other.output().unwrap());
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("another process serves this socket"), "{complaint}");
    assert!(!std::path::Path::new(&started).exists());
    assert_eq!(Client::connect(&path).ask(r#"{"command":"status"}"#)["schema_version"], 1, "still served");

    let (code, text) = link.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(!std::path::Path::new(&path).exists());
}

#[test]
fn a_socket_takes_no_other_place() {
    let machine = machine();
    let file = name("live-place", "file");
    std::fs::write(&file, "mine").unwrap();
    let folder = name("live-place-folder", "none/link.sock");
    let long = name("live-place-long", &"x".repeat(120));
    for (path, part) in [(&file, "is not a socket"), (&folder, "folder does not exist"), (&long, "107 bytes")]
    {
        let mut command = command(&["link", "--control", path, "--", "true"]);
        let output = machine.run(move || command.output().unwrap());
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(part) && complaint.lines().count() == 1, "{complaint}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

/// A process that does not answer blocks no client for ever, whether it accepts connections or not.
#[test(waits)]
fn a_silent_socket_is_told() {
    let path = name("live-silent", "link.sock");
    let listener = UnixListener::bind(&path).unwrap();
    for _ in 0..2 {
        let output = command(&["live", &path]).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), complaint.lines().count()), (Some(2), 1), "{complaint}");
        assert!(complaint.contains("its process does not answer; expected"), "{complaint}");
        // The connection that was not accepted fills the queue from now on.
        rustix::net::listen(&listener, 0).unwrap();
    }
}

#[test]
fn garbage_is_answered_and_a_long_line_refused() {
    let machine = machine();
    let path = name("live-garbage", "link.sock");
    let link = Running::start(&machine, &["--control", &path]);
    let mut client = Client::connect(&path);
    for line in
        ["hello", "{}", "", "[1]", r#"{"command":"fly"}"#, r#"{"command":"watch","interval_ms":1}"#, "\u{0}"]
    {
        let answer = client.ask(line);
        assert!(answer["error"].as_str().unwrap().contains("expected"), "{line}: {answer}");
    }
    client.send(b"\xff\xfe\n");
    assert!(client.line().unwrap()["error"].is_string());
    assert!(client.ask(r#"{"command":"reload"}"#)["error"].as_str().unwrap().contains("no configuration"));
    assert_eq!(client.ask(r#"{"command":"status"}"#)["schema_version"], 1, "the connection goes on");

    let mut client = Client::connect(&path);
    client.send(&[b' '; 5000]);
    assert!(client.line().unwrap()["error"].as_str().unwrap().contains("longer than 4096 bytes"));
    assert_eq!(client.line(), None, "closed");

    // A request without an end of line, from a client that sends no more.
    let mut client = Client::connect(&path);
    client.send(br#"{"command":"status"}"#);
    client.reader.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.line().unwrap()["schema_version"], 1);

    assert_eq!(link.end().0, Some(0));
}

#[test]
fn idle_connections_make_way_and_a_full_socket_says_so() {
    let machine = machine();
    let path = name("live-full", "link.sock");
    let link = Running::start(&machine, &["--down", "10mbit", "--control", &path]);
    let status = r#"{"command":"status"}"#;
    // Clients that have said nothing, and clients that are done.
    let mut idle: Vec<Client> = (0..40).map(|_| Client::connect(&path)).collect();
    idle.iter_mut().rev().take(8).for_each(|client| assert_eq!(client.ask(status)["schema_version"], 1));
    let watch = |_| {
        let mut client = Client::connect(&path);
        assert_eq!(client.ask(r#"{"command":"watch","interval_ms":60000}"#)["schema_version"], 1);
        client
    };
    let watchers: Vec<Client> = (0..16).map(watch).collect();
    assert!(idle.iter_mut().all(|client| client.line().is_none()), "all have made way");
    for arguments in [&["live", &path, "--json"][..], &["gateway", "--reload", &path]] {
        let output = command(arguments).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains("too many connections are served; expected"), "{complaint}");
    }
    drop(watchers);
    assert_eq!(link.end().0, Some(0));
}

#[test]
fn a_watch_streams_and_a_stop_ends_the_link_with_the_verdict() {
    let machine = machine();
    let path = name("live-watch", "link.sock");
    let link = Running::start(&machine, &["--down", "10mbit", "--control", &path]);
    let mut watcher = Client::connect(&path);
    watcher.send(b"{\"command\":\"watch\",\"interval_ms\":50}\n");
    let mut before = 0.0;
    for _ in 0..5 {
        let snapshot = watcher.line().unwrap();
        let (time, interval) =
            (snapshot["time_s"].as_f64().unwrap(), snapshot["interval_s"].as_f64().unwrap());
        assert!((time - before - interval).abs() < 1e-5, "{time} {before} {interval}");
        before = time;
    }
    // `qdelay live` sees the same.
    let run = |arguments: &[&str]| {
        let mut words = vec!["live", path.as_str()];
        words.extend(arguments);
        let output = crate::common::run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let once: Value = serde_json::from_str(&run(&["--once", "--json", "--interval", "50ms"])).unwrap();
    assert_eq!(once["down"]["setting"]["link"], "10mbit");
    assert!(run(&["--once", "--interval", "50ms"]).contains("down 10mbit taildrop"));
    let mut lines =
        command(&["live", &path, "--json", "--interval", "50ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(lines.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&reader.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["schema_version"], 1);

    let answer = Client::connect(&path).ask(r#"{"command":"stop"}"#);
    assert_eq!((answer["ok"].clone(), answer["message"].clone()), (true.into(), "stopping".into()));
    while watcher.line().is_some() {}
    for line in reader {
        assert!(serde_json::from_str::<Value>(&line.unwrap()).is_ok());
    }
    assert_eq!(lines.wait().unwrap().code(), Some(0));
    let (code, text) = link.end();
    assert!(text.contains("verdict "), "the verdict: {text}");
    assert!(code.is_some_and(|code| code > 128), "{code:?}: the command's status: {text}");
    crate::common::refused(&["live", &path], &["the socket does not exist"]);
}

/// Command that ignores the request to end.
#[test]
fn a_stop_is_a_stop() {
    let machine = machine();
    let path = name("live-stop", "link.sock");
    let script = "trap '' HUP TERM; echo ready; while read line; do :; done; sleep 1000";
    let mut command = command(&["link", "--control", &path, "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = machine.run(move || command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(Client::connect(&path).ask(r#"{"command":"stop"}"#)["ok"], true);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(137), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_a_terminal_there_are_lines() {
    let machine = machine();
    let mut link = Running::start(&machine, &["--live", "--down", "10mbit"]);
    let mut line = String::new();
    let mut reader = BufReader::new(link.child.stderr.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("qdelay: ") && line.contains(" s: down ") && line.ends_with("trustworthy\n"),
        "{line}"
    );
    assert!(!line.contains('\u{1b}'), "{line:?}");
    drop(link.input.take());
    assert_eq!(link.child.wait().unwrap().code(), Some(0));
}

/// Reads the terminal until it has shown `part`, and appends to `seen`.
fn read_until(terminal: &mut File, seen: &mut String, part: &str) {
    let mut buffer = [0; 4096];
    while !seen.contains(part) {
        let length = terminal.read(&mut buffer).unwrap_or_else(|error| panic!("{error}: {seen:?}"));
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
}

fn on_terminal(machine: &Namespace, mut command: Command, theirs: &File) -> Child {
    command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs.try_clone().unwrap());
    machine.run(move || command.spawn().unwrap())
}

/// The command has the upper rows and the link the foot; afterwards the terminal is as before. In between the window
/// is resized.
#[test]
fn the_foot_of_the_terminal_is_taken_and_given_back() {
    let machine = machine();
    let (mut ours, theirs) = terminal(24, 80);
    let script = "stty size; read line; stty size; read line; exit 3";
    let command = command(&["link", "--live", "--down", "10mbit", "--", "sh", "-c", script]);
    let mut child = on_terminal(&machine, command, &theirs);
    let mut seen = String::new();
    read_until(&mut ours, &mut seen, "16 80");
    read_until(&mut ours, &mut seen, "lost outside");
    assert!(
        seen.contains("\x1b[1;16r") && seen.contains("\x1b[17;1H") && seen.contains("\x1b[24;1H"),
        "{seen:?}"
    );
    assert!(seen.contains("10mbit taildrop"), "{seen:?}");

    seen.clear();
    tcsetwinsize(&ours, Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    read_until(&mut ours, &mut seen, "\x1b[40;1H");
    ours.write_all(b"\n").unwrap();
    read_until(&mut ours, &mut seen, "32 100");
    assert!(seen.contains("\x1b[1;32r"), "{seen:?}");

    seen.clear();
    ours.write_all(b"\n").unwrap();
    read_until(&mut ours, &mut seen, "verdict ");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let given_back = seen.rfind("\x1b[r").expect("the whole terminal");
    assert!(!seen[given_back..].contains("\x1b[1;"), "{seen:?}");
    let size = tcgetwinsize(&theirs).unwrap();
    assert_eq!((size.ws_row, size.ws_col), (40, 100));
}

/// A terminal that is too small is left alone.
#[test]
fn a_tiny_terminal_is_left_alone() {
    let machine = machine();
    let (mut ours, theirs) = terminal(5, 80);
    let command = command(&["link", "--live", "--quiet", "--", "sh", "-c", "stty size; read line; echo end"]);
    let mut child = on_terminal(&machine, command, &theirs);
    let mut seen = String::new();
    read_until(&mut ours, &mut seen, "5 80");
    ours.write_all(b"\n").unwrap();
    read_until(&mut ours, &mut seen, "end");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
}

/// `qdelay live` on a terminal: the alternate screen, until `q` is pressed; the modes of the terminal are as before.
#[test]
fn the_whole_terminal() {
    let machine = machine();
    let path = name("live-whole", "link.sock");
    let link = Running::start(&machine, &["--down", "10mbit", "--qdisc", "codel", "--control", &path]);
    for (key, status) in [("q", 0), ("\x03", 130)] {
        let (mut ours, theirs) = terminal(30, 90);
        let before = rustix::termios::tcgetattr(&theirs).unwrap();
        let mut child = on_terminal(&machine, command(&["live", &path]), &theirs);
        let mut seen = String::new();
        read_until(&mut ours, &mut seen, "q quit");
        assert!(seen.contains("\x1b[?1049h") && seen.contains("10mbit codel"), "{seen:?}");
        ours.write_all(key.as_bytes()).unwrap();
        read_until(&mut ours, &mut seen, "\x1b[?1049l");
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert!(seen.contains("\x1b[?25h"), "{seen:?}");
        let after = rustix::termios::tcgetattr(&theirs).unwrap();
        assert_eq!((before.local_modes, before.input_modes), (after.local_modes, after.input_modes));
    }
    assert_eq!(link.end().0, Some(0));
}
