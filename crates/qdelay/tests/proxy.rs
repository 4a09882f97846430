//! `qdelay proxy` from outside: lines at the start, results at the end, exit status, and errors.

use crate::common::{command, folder, read, refused, run};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
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
    fn interrupt(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
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
    let proxy = Running::start(&arguments);

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
