//! `qdelay proxy` from outside: lines at the start, results at the end, exit status, and errors.

use crate::common::{command, folder, read, refused, run};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Stdio};
use std::thread;
use std::time::Duration;

/// Longest wait for anything: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that answers with what it has read, and then closes.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut all = Vec::new();
                if stream.read_to_end(&mut all).is_ok() {
                    let _ = stream.write_all(&all);
                }
            });
        }
    });
    address
}

/// A running proxy, and what is left of its standard error.
struct Running {
    child: Child,
    output: BufReader<ChildStderr>,
    addresses: Vec<SocketAddr>,
}

impl Running {
    /// Starts a proxy and reads a line for each of its ports.
    fn start(arguments: &[&str]) -> Running {
        let mut child = command(&["proxy"]).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let ports = arguments.iter().filter(|argument| **argument == "--listen").count();
        let mut address = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let (_, rest) = line.split_once("127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
            format!("127.0.0.1:{}", rest.split(' ').next().unwrap()).parse().unwrap()
        };
        let addresses = (0..ports).map(|_| address()).collect();
        Running { child, output, addresses }
    }

    /// Interrupts the proxy. Returns its exit status and the rest of its standard error.
    fn interrupt(&mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }
}

/// A failed test leaves no proxy behind, which would keep the output of the tests open.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test(waits)]
fn connections_and_datagrams_share_a_link() {
    let folder = folder("proxy");
    let json = folder.join("figures.json");
    let echo = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp, udp) = (server().to_string(), echo.local_addr().unwrap().to_string());
    let mut arguments = vec!["--listen", "0", "--to", &tcp, "--listen", "udp:0", "--to", &udp];
    arguments.extend(["--down", "20mbit", "--up", "20mbit", "--qdisc", "codel", "--delay", "5ms"]);
    arguments.extend(["--json", json.to_str().unwrap()]);
    let mut proxy = Running::start(&arguments);

    let sent: Vec<u8> = (0..100_000_u32).map(|number| number.wrapping_mul(number) as u8).collect();
    let mut stream = TcpStream::connect(proxy.addresses[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert!(got == sent);

    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(b"datagram", proxy.addresses[1]).unwrap();
    echo.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut buffer = [0; 100];
    let (count, _) = echo.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"datagram");

    let (status, text) = proxy.interrupt();
    assert_eq!(status, Some(0), "{text}");
    for part in ["\ndown ", "\nup ", "releases late by", "\nverdict ", "1 connections: ", "a proxy ends TCP"]
    {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    let figures = read(&json);
    assert_eq!((&figures["schema_version"], &figures["status"]), (&2.into(), &0.into()));
    assert_eq!(figures["mappings"][1]["to"], udp);
    assert_eq!(figures["links"]["down"]["qdisc"], "codel");
    assert_eq!((&figures["connections"]["opened"], &figures["connections"]["reset"]), (&1.into(), &0.into()));
    // 100,000 bytes are 70 segments each way, and the datagram is one packet more.
    for direction in ["down", "up"] {
        assert!(figures[direction]["packets_delivered"].as_u64().unwrap() >= 70, "{figures}");
        assert!(figures[direction]["throughput_mbps"].as_f64().unwrap() > 0.0);
    }
}

#[test(waits)]
fn proxy_ends_with_its_command() {
    let target = server().to_string();
    let output = run(&["proxy", "--listen", "0", "--to", &target, "--", "sh", "-c", "echo out; exit 7"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(7), b"out\n".as_slice()));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("qdelay: tcp:127.0.0.1:") && text.contains("0 connections: "), "{text}");
    let quiet = ["proxy", "--listen", "0", "--to", &target, "--quiet", "--", "true"];
    let output = run(&quiet);
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test(waits)]
fn refused_target_is_one_line() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut proxy = Running::start(&["--listen", "0", "--to", &nobody]);
    let mut stream = TcpStream::connect(proxy.addresses[0]).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
    let mut line = String::new();
    proxy.output.read_line(&mut line).unwrap();
    assert!(line.contains(&nobody) && line.contains("the client's connection is reset"), "{line}");
    let (status, text) = proxy.interrupt();
    assert_eq!(status, Some(0));
    assert!(text.contains("1 connections: 0 closed, 1 reset (1 of them refused by the target)"), "{text}");
}

#[test]
fn bad_options_are_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let listen = |more: &[&str], parts: &[&str]| {
        let mut arguments = vec!["proxy"];
        arguments.extend(more);
        refused(&arguments, parts);
    };
    let one = ["--listen", "0", "--to", "127.0.0.1:9"];
    let with = |more: &[&str], parts: &[&str]| listen(&[&one[..], more].concat(), parts);
    listen(&[], &["--listen", "is missing"]);
    listen(&["--listen", "x", "--to", "127.0.0.1:9"], &["--listen: 'x': expected [tcp:|udp:][ADDRESS:]PORT"]);
    listen(&["--listen", "0", "--to", "nowhere"], &["--to: 'nowhere'", "expected HOST:PORT"]);
    listen(
        &["--listen", &port, "--to", "127.0.0.1:9"],
        &["--listen: tcp:127.0.0.1:", "expected a port", "free"],
    );
    with(&["--listen", "1"], &["2 --listen and 1 --to", "expected one --to for each --listen"]);
    with(&["--down", "10mbyte"], &["--down", "10mbyte"]);
    with(&["--tcp", "cubik"], &["--tcp", "cubik", "cubic"]);
    with(&["--tcp", "cubic:bytes=5kb"], &["--tcp: has the key bytes"]);
    with(&["--window", "1b"], &["--window: '1b'", "expected 8kb to 1000mb"]);
    with(&["--connections", "0"], &["--connections: '0'", "from 1 to 30000"]);
    with(&["--json", "/no/such/folder/x"], &["/no/such/folder/x", "the folder does not exist"]);
    // The line of the port comes first.
    let output = run(&[&["proxy"], &one[..], &["--", "no-such-program"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("no-such-program: no such program; expected one that is installed"), "{text}");
}

/// A request of one byte over `stream`; what came of it within `patience`.
fn say(stream: &mut TcpStream, patience: Duration) -> String {
    stream.set_read_timeout(Some(patience)).unwrap();
    let said = stream.write_all(b"x").and_then(|()| stream.read(&mut [0; 1]));
    match said {
        Ok(count) => format!("{count} bytes"),
        Err(error) if error.kind() == ErrorKind::WouldBlock => "silence".to_string(),
        Err(error) => error.kind().to_string(),
    }
}

/// A server that sends back each piece that it reads.
fn echo_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut piece = [0; 100];
                while let Ok(count @ 1..) = stream.read(&mut piece) {
                    let _ = stream.write_all(&piece[..count]);
                }
            });
        }
    });
    address
}

/// Longest silence that counts as an answer that is still to come.
const SILENCE: Duration = Duration::from_millis(400);

#[test(waits)]
fn proxy_is_changed_while_it_runs() {
    let folder = folder("proxy-changes");
    let (socket, json) = (folder.join("proxy.sock"), folder.join("figures.json"));
    let (socket, target) = (socket.to_str().unwrap(), echo_server());
    let place = target.to_string();
    let mut arguments = vec!["--listen", "0", "--to", &place, "--qdisc", "codel"];
    arguments.extend(["--control", socket, "--json", json.to_str().unwrap()]);
    let mut proxy = Running::start(&arguments);
    let mut stream = TcpStream::connect(proxy.addresses[0]).unwrap();
    let tell = |words: &[&str]| {
        let output = run(words);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {text}");
        text
    };
    assert_eq!(say(&mut stream, PATIENCE), "1 bytes");
    let whole = "1 bytes";
    tell(&["pause", socket, "down"]);
    assert_eq!(say(&mut stream, SILENCE), "silence");
    tell(&["restore", socket]);
    assert_eq!(say(&mut stream, PATIENCE), whole, "the answer that had waited");
    tell(&["cut", socket, "up"]);
    // The answer to the request before.
    assert_eq!(say(&mut stream, PATIENCE), whole);
    assert_eq!(say(&mut stream, SILENCE), "silence");
    tell(&["restore", socket, "up"]);
    assert_eq!(say(&mut stream, PATIENCE), whole, "TCP repeats what was cut");
    tell(&["set", socket, "down=2mbit", "up-delay=5ms", "loss=0.5%", "down-cut=off", "qdisc=bode"]);
    assert_eq!(say(&mut stream, PATIENCE), whole);
    let wrong = run(&["set", socket, "dwn=1mbit"]);
    let complaint = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.status.code() == Some(1) && complaint.contains("did you mean 'down'?"), "{complaint}");
    let shown = tell(&["live", socket, "--once", "--json", "--interval", "50ms"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&shown["down"]["setting"]["link"], &shown["down"]["setting"]["qdisc"]),
        (&"2mbit".into(), &"bode".into())
    );
    assert!(shown["up"]["total"]["delivered"]["packets"].as_u64().unwrap() > 3, "{shown}");
    assert!(tell(&["reset", socket, "--port", "1"]).contains(", 0 connections"));
    let port = target.port().to_string();
    assert!(tell(&["reset", socket, "--port", &port]).contains(", 1 connections"));
    assert_eq!(say(&mut stream, PATIENCE), "connection reset");
    let (status, text) = proxy.interrupt();
    assert_eq!(status, Some(0), "{text}");
    let figures = read(&json);
    let changes = figures["changes"].as_array().unwrap();
    let whats: Vec<&str> = changes.iter().map(|change| change["what"].as_str().unwrap()).collect();
    assert_eq!(whats[..4], ["pause down", "restore both", "cut up", "restore up"]);
    assert_eq!((whats.len(), whats[6]), (7, format!("reset port {port}: 1 connections").as_str()));
    assert!(changes.iter().map(|change| change["time_s"].as_f64().unwrap()).is_sorted(), "{changes:?}");
    assert!(figures["up"]["drops_by_reason"]["cut"].as_u64().unwrap() > 0, "{figures}");
    assert_eq!(figures["connections"]["reset"], 1);
}

#[test(waits)]
fn http_changes_a_proxy() {
    let place = echo_server().to_string();
    let mut child = command(&["proxy", "--listen", "0", "--to", &place, "--http", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let (address, token) = line
        .trim()
        .strip_prefix("qdelay: control: http://")
        .and_then(|rest| rest.split_once(", Authorization: Bearer "))
        .unwrap_or_else(|| panic!("{line}"));
    let request = |line: &str, token: &str, body: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let set = request("POST /set", token, r#"{"down":"3mbit","up-loss":"1%"}"#);
    assert!(set.starts_with("HTTP/1.1 200 ") && set.contains("set down=3mbit up-loss=1%"), "{set}");
    assert!(request("GET /status", token, "").contains(r#""link":"3mbit""#));
    assert!(request("GET /changes", token, "").contains(r#""what":"set down=3mbit up-loss=1%""#));
    assert!(request("POST /reset", token, "").contains(r#""connections":0"#));
    assert!(request("POST /cut", "guess", "").starts_with("HTTP/1.1 401 "));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A request to stop ends the program, and the proxy with it.
#[test(waits)]
fn stop_ends_the_program_of_a_proxy() {
    let socket = folder("proxy-stop").join("proxy.sock");
    let mut arguments = vec!["proxy", "--listen", "0", "--to", "127.0.0.1:9", "--control"];
    arguments.extend([socket.to_str().unwrap(), "--", "sh", "-c", "echo $QDELAY_CONTROL; read line"]);
    let mut child = command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), socket.to_str().unwrap());
    // The program would end at the end of its input.
    let _input = child.stdin.take();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"{\"command\":\"stop\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(129 | 143)), "{text}");
    assert!(text.contains("verdict ") && !socket.exists(), "{text}");
}
