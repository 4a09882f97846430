//! `qdelay link` for a user other than root: it works through a user namespace, with a private network at the other end;
//! if that is forbidden, one line names the remedy.
//!
//! The program is copied to a place that any user may read, and a `/dev/net` visible only to the test holds a driver of
//! network devices that users may open, or may not. No result depends on timing.

use crate::link_services::ask;
use crate::link_support::{
    LONG, Running, TASK, converse, echo_server_at, eventually, is_alive, machine, output,
};
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

/// Line that lets the user's copy of this program do a task of `link_services`.
fn service(task: &str) -> String {
    format!("{TASK}=\"{task}\" {TEST} {}", helper_arguments("services").join(" "))
}

/// Nested links of a user, under mahimahi's names, with a server at the outermost end.
#[test]
fn a_users_nested_links_reach_a_server() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    machine.run(|| {
        for name in ["mm-delay", "mm-link", "mm-loss"] {
            std::os::unix::fs::symlink("qdelay", format!("/dev/net/{name}")).unwrap();
        }
        // 12 packets of 1500 bytes in each 12 ms.
        std::fs::write("/dev/net/trace", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n").unwrap();
    });
    let script = format!(
        "cd /dev/net && PATH=/dev/net:$PATH && mm-delay 5 mm-link trace trace mm-loss uplink 0.01 sh -c \
         'echo $MAHIMAHI_BASE $QDELAY_OUTSIDE; {}' 2>&1",
        service("talk outside:7777")
    );
    let mut command = Command::new(PROGRAM);
    command.args(["link", "--quiet", "--serve", &service("serve 7777"), "--", "sh", "-c", &script]);
    command.current_dir("/").uid(NOBODY).gid(NOBODY);
    let ended = output(&machine, command);
    let (said, complaint) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(0), "{said}{complaint}");
    assert!(said.starts_with("100.64.0.1 100.64.0.1\n") && said.contains("\ntalked to 2\n"), "{said}");
    assert!(complaint.starts_with(PRIVATE), "{complaint}");
}

/// Ports cross from the machine into the user's private networks, and back.
#[test]
fn a_users_ports_are_forwarded() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let port = echo_server_at(&machine, Ipv4Addr::LOCALHOST.into());
    let options = format!("--quiet --forward 8080:7777 --forward 5000:7777/udp --loopback {port}");
    let script = format!("{} && {}", service(&format!("talk localhost:{port}")), service("serve 7777"));
    let mut running = Running::start(&machine, link(&options, &script));
    assert!(running.line_after("talked to ").parse::<usize>().is_ok());
    running.line_after("server ");
    machine.run(|| {
        converse((Ipv4Addr::LOCALHOST, 8080).into(), 50_000);
        assert_eq!(ask("127.0.0.1:5000"), "a question");
    });
    running.signal(Signal::TERM);
    running.end();
}

#[test]
fn a_users_hosts_beyond_are_refused() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let (status, said, complaint) = run(&machine, "--quiet", &service("refused 192.0.2.1:9"));
    assert_eq!(status, Some(0), "{complaint}");
    assert!(said.contains("192.0.2.1:9: host unreachable"), "{said}");
    let line = "qdelay: without root only the private network is reachable: 192.0.2.1 was refused\n";
    assert_eq!(complaint, format!("{PRIVATE}{line}"));
}

/// `user.max_user_namespaces` is 0, in a user namespace in which the test is root.
#[test]
fn switched_off_user_namespaces_are_named() {
    let machine = machine_with_driver(0o666);
    needs_permission(&machine);
    let script = format!(
        "echo ready; read go; echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec setpriv --reuid {NOBODY} \
         --regid {NOBODY} --clear-groups {PROGRAM} link -- echo never"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--keep-caps", "sh", "-c", &script]).stdin(Stdio::piped()).current_dir("/");
    if machine.run(|| Command::new("unshare").arg("--version").output()).is_err() {
        skip(Need::Tools, "no unshare command");
    }
    let mut running = Running::start(&machine, command);
    assert_eq!(running.line(), "ready");
    for map in ["uid_map", "gid_map"] {
        std::fs::write(format!("/proc/{}/{map}", running.id()), "0 0 65536").unwrap();
    }
    running.tell("go");
    let (status, said, complaint) = running.all();
    if status.code() == Some(77) {
        skip(Need::Net, "the limit cannot be written");
    }
    assert_eq!((status.code(), said.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    for part in ["user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces", "qdelay proxy"] {
        assert!(complaint.contains(part), "{complaint}");
    }
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
