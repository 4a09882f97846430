//! `qdelay link` for a user other than root: it works through a user namespace, with a private network at the other end;
//! if that is forbidden, one line names the remedy.
//!
//! The program is copied to a place that any user may read, and a `/dev/net` visible only to the test holds a driver of
//! network devices that users may open, or may not. No result depends on timing.

use crate::link_support::{LONG, Running, eventually, is_alive, machine, output};
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, helper_arguments, skip};
use rustix::fs::{CWD, FileType, Mode};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};
use rustix::process::Signal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// "nobody", on every distribution.
const NOBODY: u32 = 65_534;
/// Paths of program and test for the user, and of the driver of network devices in this namespace.
const PROGRAM: &str = "/dev/net/qdelay";
const TEST: &str = "/dev/net/test";
const PRIVATE: &str =
    "qdelay: without root the link connects to a private network: hosts outside cannot be reached\n";

/// A machine on which a user may open the driver, or may not.
fn machine_with_driver(mode: u32) -> Namespace {
    let machine = machine();
    if !machine.has_own_mounts() {
        skip(Need::Net, "no mounts of its own");
    }
    let test = std::env::current_exe().unwrap();
    machine.run(move || {
        Command::new("mount").args(["-t", "tmpfs", "none", "/dev/net"]).status().unwrap();
        let place = |path: &str, mode| rustix::fs::chmod(path, Mode::from_raw_mode(mode)).unwrap();
        for (path, from) in [(PROGRAM, env!("CARGO_BIN_EXE_qdelay").as_ref()), (TEST, test.as_path())] {
            std::fs::copy(from, path).unwrap();
            place(path, 0o755);
        }
        let device = rustix::fs::makedev(10, 200);
        let driver = "/dev/net/tun";
        rustix::fs::mknodat(CWD, driver, FileType::CharacterDevice, Mode::from_raw_mode(0o600), device)
            .unwrap();
        place(driver, mode);
        place("/dev/net", 0o755);
    });
    machine
}

/// `qdelay link` of that user.
fn link(options: &str, script: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("link").args(options.split_whitespace()).args(["--", "sh", "-c", script]);
    command.current_dir("/").uid(NOBODY).gid(NOBODY);
    command
}

fn run(machine: &Namespace, options: &str, script: &str) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = output(machine, link(options, script));
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Skips the test where users may not make user namespaces; the refusal gives the reason in one line.
fn needs_permission(machine: &Namespace) {
    let (status, _, complaint) = run(machine, "--quiet", "exit 0");
    if status == Some(0) {
        return;
    }
    assert_eq!((status, complaint.lines().count()), (Some(2), 1), "{complaint}");
    assert!(complaint.starts_with("qdelay: qdelay link: ") && complaint.contains("root"), "{complaint}");
    skip(Need::Net, complaint);
}

/// Command behind a link.
#[helper]
fn reaches() {
    let outside: IpAddr = std::env::var("QDELAY_OUTSIDE").unwrap().parse().unwrap();
    // A ping is answered by the private network.
    let raw = rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).unwrap();
    let limit = rustix::net::sockopt::Timeout::Recv;
    rustix::net::sockopt::set_socket_timeout(&raw, limit, Some(LONG)).unwrap();
    // An echo request without contents: type 8, identifier 1, number 1, and the sum of that.
    let request = [8, 0, 0xf7, 0xfd, 0, 1, 0, 1];
    rustix::net::sendto(&raw, &request, SendFlags::empty(), &SocketAddr::new(outside, 0)).unwrap();
    let mut reply = [0; 100];
    let (_, length) = rustix::net::recv(&raw, &mut reply, RecvFlags::empty()).unwrap();
    assert_eq!(&reply[20..length], [0, 0, 0xff, 0xfd, 0, 1, 0, 1]);
    // No program listens there, and the answer says so.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    socket.connect((outside, 9)).unwrap();
    socket.send(b"anybody?").unwrap();
    let refused = socket.recv(&mut reply).expect_err("nobody");
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    // Features for tests of networks: low ports, and devices.
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, 80)).unwrap();
    println!("\nreached {outside}");
}

#[test]
fn a_link_to_a_private_network() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let test = format!("'{TEST}' {}", helper_arguments("reaches").join(" "));
    let script = format!("id -u; echo $QDELAY_OUTSIDE $QDELAY_OUTSIDE6; {test} && {test}; exit $(($? + 6))");
    let (status, said, complaint) = run(&machine, "--down 20mbit --up 20mbit --delay 1ms --quiet", &script);
    assert_eq!((status, complaint.as_str()), (Some(6), PRIVATE), "{said}");
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("65534"));
    assert_eq!(lines.next(), Some("100.64.0.1 fd71:de1a::1"));
    assert_eq!(said.matches("\nreached 100.64.0.1\n").count(), 2, "{said}");
    // Figures, from their own packets.
    let (status, _, complaint) = run(&machine, "", &format!("{test} >/dev/null"));
    assert_eq!(status, Some(0), "{complaint}");
    assert!(complaint.starts_with(PRIVATE) && complaint.contains("verdict "), "{complaint}");
}

#[test]
fn beyond_the_machine_is_for_root() {
    let machine = machine_with_driver(0o666);
    let (status, said, complaint) = run(&machine, "--nat", "echo never");
    assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    assert!(complaint.starts_with("qdelay: --nat: needs root"), "{complaint}");
    assert!(complaint.contains("or without --nat"), "{complaint}");
}

#[test]
fn links_of_a_user_nest_and_are_killed_together() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let test = format!("'{TEST}' {}", helper_arguments("reaches").join(" "));
    // The inner link uses the privileges of the outer namespace, and leads to the inside of the outer link.
    let script = format!("'{PROGRAM}' link --quiet -- sh -c \"{test}\"");
    let (status, said, complaint) = run(&machine, "--quiet", &script);
    assert_eq!((status, complaint.as_str()), (Some(0), PRIVATE), "{said}");
    assert!(said.contains("\nreached 100.64.0."), "{said}");
    let background = "setsid sleep 1000 & echo $! $$; exec sleep 1000";
    let nested = format!("'{PROGRAM}' link --quiet -- sh -c '{background}'");
    for script in [background, &nested] {
        let mut running = Running::start(&machine, link("--quiet", script));
        let line = running.line();
        let all: Vec<&str> = line.split(' ').collect();
        assert!(all.len() == 2 && all.iter().all(is_alive), "{line}");
        running.signal(Signal::KILL);
        let (status, _) = running.end();
        assert_eq!(status.code(), None);
        eventually("all have died with it", || !all.iter().any(is_alive));
    }
    // A regular end cleans up too.
    let mut running = Running::start(&machine, link("--quiet", "setsid sleep 1000 & echo $!"));
    let background = running.line();
    assert_eq!(running.end().0.code(), Some(0));
    assert!(!is_alive(&background));
}

#[test]
fn a_refusal_says_what_to_do() {
    // The driver is there, but not for users.
    let machine = machine_with_driver(0o600);
    let (status, said, complaint) = run(&machine, "", "echo started");
    assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    assert!(
        complaint.starts_with("qdelay: qdelay link: ") && complaint.contains("run as root"),
        "{complaint}"
    );
    // The driver is missing.
    machine.run(|| std::fs::remove_file("/dev/net/tun").unwrap());
    let (status, said, complaint) = run(&machine, "", "echo started");
    assert_eq!((status, said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    let parts = ["modprobe tun", "--device /dev/net/tun"];
    // Before that, users may be kept from namespaces at all.
    let is_about_driver = complaint.contains("/dev/net/tun");
    assert!(!is_about_driver || parts.iter().all(|part| complaint.contains(part)), "{complaint}");
}

/// A process that may gain no privileges by executing a program keeps those of the user namespace.
#[test]
fn without_new_privileges() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs", PROGRAM]);
    command.args(["link", "--quiet", "--", "true"]).current_dir("/").stdin(Stdio::null());
    if machine.run(|| Command::new("setpriv").arg("--version").output()).is_err() {
        skip(Need::Tools, "no setpriv command");
    }
    let output = output(&machine, command);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
