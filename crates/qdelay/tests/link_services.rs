//! `qdelay link` with servers at either end: `--serve`, `--forward`, `--loopback`, names, and hosts that cannot be reached. Setup as in
//! `link.rs`; each machine is a namespace of its own, so that ports can be fixed.

use crate::common::command;
use crate::link_support::{
    LONG, Running, TASK, converse, echo_server_at, eventually, is_alive, machine, network, output,
    talking_task, task,
};
use qdelay_emu::netns::Namespace;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::process::{Command, Stdio};

/// Bytes that are sent to a server and back.
const BYTES: u32 = 50_000;

/// Servers, and clients behind a link.
#[helper]
fn services() {
    let task = std::env::var(TASK).expect("a task");
    let (verb, place) = task.split_once(' ').expect("a verb and a place");
    match verb {
        // Echoes TCP and UDP at this port, until it is killed.
        "serve" => {
            let port: u16 = place.parse().unwrap();
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 2000];
                while let Ok((length, client)) = socket.recv_from(&mut buffer) {
                    socket.send_to(&buffer[..length], client).unwrap();
                }
            });
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).unwrap();
            println!("\nserver {} for {}", std::process::id(), std::env::var("QDELAY_INSIDE").unwrap());
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
            }
        }
        // Fails after the first connection.
        "serve-once" => {
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, place.parse().unwrap())).unwrap();
            let _ = listener.accept().unwrap().0.read_to_end(&mut Vec::new());
            panic!("as part of the test");
        }
        // Waits until the server has failed.
        "last" => {
            let mut stream = TcpStream::connect(place).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        }
        // Talks to a TCP server at each address of a name.
        "talk" => {
            let servers: Vec<SocketAddr> = place.to_socket_addrs().expect("a name").collect();
            servers.iter().for_each(|server| converse(*server, BYTES));
            println!("\ntalked to {}", servers.len());
        }
        // Answers datagrams with the time, until it is killed.
        "clock" => {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, place.parse().unwrap())).unwrap();
            while let Ok((_, client)) = socket.recv_from(&mut [0; 100]) {
                socket.send_to(&now_ns().to_be_bytes(), client).unwrap();
            }
        }
        // The delay in both directions is at least this many ms; the clock is the same for all processes.
        "delayed" => {
            let (server, least_ms) = place.split_once(' ').unwrap();
            let least = least_ms.parse::<u64>().unwrap() * 1_000_000;
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            socket.connect(server).unwrap();
            let sent = now_ns();
            socket.send(b"what time is it?").unwrap();
            let mut answer = [0; 8];
            socket.recv(&mut answer).unwrap();
            let delays = [u64::from_be_bytes(answer) - sent, now_ns() - u64::from_be_bytes(answer)];
            assert!(delays.iter().all(|delay| *delay >= least), "{delays:?}");
            println!("\ndelayed");
        }
        // Gets a datagram back.
        "ask" => println!("\ngot {}", ask(place)),
        // Cannot connect to hosts beyond the machine, and learns so at once.
        "refused" => {
            for address in place.split(',') {
                let error = TcpStream::connect(address).expect_err("no such host");
                println!("\n{address}: {}", error.kind());
            }
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
            socket.set_read_timeout(Some(LONG)).unwrap();
            socket.connect("192.0.2.7:9").unwrap();
            socket.send(b"anybody?").unwrap();
            println!("\nudp: {}", socket.recv(&mut [0; 9]).expect_err("nobody").kind());
        }
        _ => panic!("{task}"),
    }
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sends a datagram to a server and returns the answer.
pub fn ask(server: &str) -> String {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket.connect(server).unwrap();
    socket.send(b"a question").unwrap();
    let mut buffer = [0; 100];
    let length = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// `qdelay link --quiet` with these options, whose values may have blanks.
fn link(options: &[&str], script: &str) -> Command {
    command(&[&["link", "--quiet"], options, &["--", "sh", "-c", script]].concat())
}

/// Status, standard output and standard error.
fn run(machine: &Namespace, options: &[&str], script: &str) -> (Option<i32>, String, String) {
    let ended = output(machine, link(options, script));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ended.status.code(), text(ended.stdout), text(ended.stderr))
}

#[test]
fn a_server_is_ready_before_the_command_and_ends_after_it() {
    let machine = machine();
    let before = network(&machine);
    let server = talking_task("services", "serve 7777");
    let talk = talking_task("services", "talk outside:7777")
        + " && "
        + &talking_task("services", "ask outside:7777");
    let (status, said, complaint) =
        run(&machine, &["--delay", "5ms", "--serve", &server], &(talk + "; exit $(($? + 6))"));
    assert_eq!(status, Some(6), "{said}{complaint}");
    // Names have the addresses of both families.
    assert!(said.contains("\ntalked to 2\n") && said.contains("\ngot a question\n"), "{said}");
    // Its output is on standard error, and has the address of the command's device.
    let line = complaint.lines().find_map(|line| line.strip_prefix("server ")).expect("a line");
    let (pid, inside) = line.split_once(" for ").expect("both");
    assert_eq!(inside, "100.64.0.2");
    assert!(!is_alive(pid));
    assert_eq!(network(&machine), before);
}

#[test]
fn a_server_dies_with_the_link() {
    let machine = machine();
    let server =
        format!("{} & {} & wait", talking_task("services", "serve 7001"), "echo started; sleep 1000");
    let mut running = Running::start(&machine, link(&["--serve", &server], "echo $$; exec sleep 1000"));
    let command = running.line();
    let children = |parent: &str| {
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default()
    };
    let all: Vec<String> = children(&running.id().to_string())
        .split_whitespace()
        .flat_map(|child| {
            let grandchildren = children(child);
            grandchildren.split_whitespace().map(str::to_string).collect::<Vec<_>>()
        })
        .collect();
    assert!(all.len() >= 2 && is_alive(&command), "{all:?}");
    running.signal(rustix::process::Signal::KILL);
    // A process that holds standard error open was left behind.
    assert_eq!(running.end().0.code(), None);
    eventually("all have died with it", || !all.iter().any(is_alive));
}

#[test]
fn a_server_that_ends_is_an_error() {
    let machine = machine();
    for (server, part) in
        [("exit 3", "with status 3"), ("kill -9 $$", "with status 137"), ("true", "with status 0")]
    {
        let (status, said, complaint) = run(&machine, &["--serve", server], "echo started");
        assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
        assert!(complaint.contains("before the command started") && complaint.contains(part), "{complaint}");
    }
    // It fails while the command runs, which keeps its own status.
    let server = talking_task("services", "serve-once 7002");
    for (own, expected) in [(0, 1), (9, 9)] {
        let script = format!("{}; sleep 1; exit {own}", talking_task("services", "last outside:7002"));
        let (status, _, complaint) = run(&machine, &["--serve", &server], &script);
        assert_eq!(status, Some(expected), "{complaint}");
        assert!(complaint.contains("ended before the command, with status 101"), "{complaint}");
    }
}

#[test]
fn a_server_belongs_to_the_outermost_link() {
    let machine = machine();
    let program = env!("CARGO_BIN_EXE_qdelay");
    let inner = format!("'{program}' link --quiet --serve true -- echo never");
    let (status, said, complaint) = run(&machine, &[], &inner);
    assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    assert!(complaint.contains("--serve") && complaint.contains("outermost link"), "{complaint}");
    // The outermost link's server is reached through all of them.
    let server = talking_task("services", "serve 7003");
    let inner = format!("'{program}' link --quiet -- '{program}' link --quiet -- sh -c '{}'", {
        talking_task("services", "talk outside:7003").replace('\'', "'\\''")
    });
    let (status, said, complaint) = run(&machine, &["--serve", &server], &inner);
    assert_eq!(status, Some(0), "{complaint}");
    assert!(said.contains("\ntalked to 2\n"), "{said}");
}

/// Packets to the outermost end are delayed by every link, in both directions.
#[test]
fn delays_of_nested_links_add_up() {
    let machine = machine();
    let program = env!("CARGO_BIN_EXE_qdelay");
    let server = talking_task("services", "clock 7004");
    let delayed = talking_task("services", "delayed outside:7004 35");
    let inner =
        format!("'{program}' link --quiet --delay 15ms -- sh -c '{}'", delayed.replace('\'', "'\\''"));
    let (status, said, complaint) = run(&machine, &["--delay", "20ms", "--serve", &server], &inner);
    assert!(status == Some(0) && said.contains("\ndelayed\n"), "{said}{complaint}");
}

#[test]
fn ports_are_forwarded_to_the_command() {
    let machine = machine();
    let before = network(&machine);
    let options = ["--forward", "8080:7777", "--forward", "0.0.0.0:8081:7777", "--forward", "5000:7777/udp"];
    let mut running = Running::start(&machine, link(&options, &talking_task("services", "serve 7777")));
    running.line_after("server ");
    machine.run(|| {
        converse((Ipv4Addr::LOCALHOST, 8080).into(), BYTES);
        converse((Ipv6Addr::LOCALHOST, 8080).into(), BYTES);
        // Another address of the machine.
        converse((Ipv4Addr::new(127, 0, 0, 2), 8081).into(), BYTES);
        assert!(TcpStream::connect((Ipv4Addr::new(127, 0, 0, 2), 8080)).is_err(), "loopback only");
        assert_eq!(ask("127.0.0.1:5000"), "a question");
    });
    running.signal(rustix::process::Signal::TERM);
    running.end();
    machine.run(|| assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, 8080)).is_err()));
    assert_eq!(network(&machine), before);
}

#[test]
fn a_forwarded_port_without_a_server_is_reset() {
    let machine = machine();
    let mut running = Running::start(&machine, link(&["--forward", "8080:7777"], "echo up; exec sleep 1000"));
    running.line();
    machine.run(|| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, 8080)).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let error = stream.read(&mut [0; 9]).expect_err("no server");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
    running.signal(rustix::process::Signal::TERM);
    running.end();
}

#[test]
fn servers_of_the_loopback_device_are_reached_through_the_link() {
    let machine = machine();
    for server in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        let port = echo_server_at(&machine, server);
        let talk = |host: &str| talking_task("services", &format!("talk {host}:{port}"));
        let file = crate::link_support::name("link-loopback", &format!("{port}.json"));
        let options = ["--loopback", &format!("{port},9999"), "--json", &file];
        let script = format!("{} && {} && {}", talk("127.0.0.1"), talk("[::1]"), talk("outside"));
        let (status, said, complaint) = run(&machine, &options, &script);
        assert_eq!(status, Some(0), "{complaint}");
        assert_eq!(said.matches("\ntalked to ").count(), 3, "{said}");
        // Every byte has crossed the link, of four conversations.
        let value = crate::link_support::json(&file);
        let packets = value["down"]["packets_delivered"].as_u64().unwrap();
        assert!(packets > 4 * u64::from(BYTES / 1500), "{value}");
    }
    // Without the option the port is closed.
    let port = echo_server_at(&machine, Ipv4Addr::LOCALHOST.into());
    let (status, ..) = run(&machine, &[], &task("services", &format!("talk outside:{port}")));
    assert_ne!(status, Some(0));
    // A server at every address is reached without a relay.
    let port = echo_server_at(&machine, Ipv4Addr::UNSPECIFIED.into());
    let talk = talking_task("services", &format!("talk localhost:{port}"));
    let (status, said, complaint) = run(&machine, &["--loopback", &port.to_string()], &talk);
    assert!(status == Some(0) && said.contains("\ntalked to "), "{said}{complaint}");
}

#[test]
fn ports_that_are_taken_are_refused() {
    let machine = machine();
    let port = echo_server_at(&machine, Ipv4Addr::LOCALHOST.into());
    for (option, value) in [
        ("--forward", format!("{port}:80")),
        ("--forward", "192.0.2.1:80:80".to_string()),
        ("--forward", "80".to_string()),
        ("--forward", "0:80".to_string()),
        ("--forward", "80:80/icmp".to_string()),
        ("--loopback", "http".to_string()),
    ] {
        let (status, said, complaint) = run(&machine, &[option, &value], "echo started");
        assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
        assert!(complaint.contains(option) && complaint.contains("expected"), "{complaint}");
    }
}

#[test]
fn hosts_beyond_the_machine_are_refused_at_once() {
    let machine = machine();
    let program = env!("CARGO_BIN_EXE_qdelay");
    let refused = talking_task("services", "refused 192.0.2.1:9,192.0.2.2:9,[2001:db8::1]:9");
    let nested = format!("'{program}' link --quiet -- sh -c '{}'", refused.replace('\'', "'\\''"));
    for script in [&refused, &nested] {
        let (status, said, complaint) = run(&machine, &["--delay", "1ms"], script);
        assert_eq!(status, Some(0), "{complaint}");
        for line in
            ["192.0.2.1:9: host unreachable", "192.0.2.2:9: host unreachable", "udp: host unreachable"]
        {
            assert!(said.contains(line), "{said}");
        }
        // Without an IPv6 route the machine's kernel answers first.
        let six = ["permission denied", "network unreachable"];
        assert!(six.iter().any(|kind| said.contains(&format!("[2001:db8::1]:9: {kind}"))), "{said}");
        assert_eq!(
            complaint,
            "qdelay: without --nat only this machine is reachable: 192.0.2.1 was refused\n"
        );
    }
}

/// Programs inside find the ends of the links by name.
#[test]
fn ends_of_links_have_names() {
    let machine = machine();
    let program = env!("CARGO_BIN_EXE_qdelay");
    let print = "for name in outside nearest inside; do echo $(getent ahostsv4 $name | head -1); done; \
                 echo $QDELAY_OUTSIDE $QDELAY_NEAREST $QDELAY_INSIDE; echo $QDELAY_INSIDE6";
    let inner = format!("{print}; '{program}' link --quiet -- sh -c '{print}'");
    let mut command = link(&[], &inner);
    command.stdin(Stdio::null());
    let ended = output(&machine, command);
    let said = String::from_utf8(ended.stdout).unwrap();
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 10, "{said}");
    for lines in lines.chunks(5) {
        let names: Vec<String> = lines[..3].iter().map(|line| first(line)).collect();
        assert_eq!(names.join(" "), lines[3], "{said}");
    }
    assert_eq!((lines[3], lines[4]), ("100.64.0.1 100.64.0.1 100.64.0.2", "fd71:de1a::2"));
    assert_eq!((lines[8], lines[9]), ("100.64.0.1 100.64.8.1 100.64.8.2", "fd71:de1a:0:8000::2"));
}
