//! Links of a user who is not root: two private namespaces. A user namespace is entered before a second thread exists, hence in helpers.

use crate::net_support::{Carried, host, link, pause};
use qdelay_emu::device::tun::{OffloadMode, Tun, TunError};
use qdelay_emu::link_setup::{LinkSetup, Options, Outside, SetupError};
use qdelay_emu::netns::command::exit_code;
use qdelay_emu::netns::{Namespace, NamespaceError, user};
use qdelay_testing::{Need, helper_arguments, skip};
use rustix::fs::{CWD, FileType, Mode};
use rustix::mount::MountFlags;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// User ID of "nobody", on every distribution.
const NOBODY: u32 = 65_534;
/// Exit status of a helper that cannot run on this system.
const SKIPPED: i32 = 77;

/// Runs a helper as an ordinary user, with a TUN driver of this mode.
fn as_user(helper: &str, mode: u32) {
    let host = host();
    if !rustix::process::geteuid().is_root() || !host.has_own_mounts() {
        skip(Need::Net, "only root can become another user");
    }
    let exe = std::fs::read("/proc/self/exe").expect("this program");
    host.run(move || lay_out(&exe));
    host.run(move || set_mode(mode));
    let start = || {
        let mut command = Command::new("/dev/net/program");
        command.args(helper_arguments(helper)).current_dir("/").uid(NOBODY).gid(NOBODY);
        host.spawn(command)
    };
    // A process that another test forked while the program was being written keeps it open until it calls exec.
    let is_busy = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
    let mut started = start();
    for _ in 0..100 {
        if !started.as_ref().is_err_and(is_busy) {
            break;
        }
        pause();
        started = start();
    }
    let mut running = started.expect("started");
    match i32::from(exit_code(running.wait().expect("ended"))) {
        0 => {}
        SKIPPED => skip(Need::Net, "users may make no namespaces"),
        code => panic!("{helper}: exit status {code}"),
    }
}

#[test]
fn a_user_has_a_private_network() {
    as_user("links", 0o666);
}

#[test]
fn a_user_with_threads_is_refused() {
    as_user("with_threads", 0o666);
}

#[test]
fn a_user_without_access_to_the_driver_gets_an_error() {
    as_user("without_access", 0o600);
}

/// A `/dev/net` that only this namespace sees, with a driver whose mode can be changed, and a copy of this program that any
/// user can read.
fn lay_out(exe: &[u8]) {
    rustix::mount::mount("test", "/dev/net", "tmpfs", MountFlags::empty(), None).expect("mounted");
    let device = rustix::fs::makedev(10, 200);
    rustix::fs::mknodat(CWD, "/dev/net/tun", FileType::CharacterDevice, Mode::from_raw_mode(0o600), device)
        .expect("made");
    std::fs::write("/dev/net/program", exe).expect("written");
    for (path, mode) in [("/dev/net", 0o755), ("/dev/net/program", 0o755)] {
        rustix::fs::chmod(path, Mode::from_raw_mode(mode)).expect("set");
    }
}

fn set_mode(mode: u32) {
    rustix::fs::chmod("/dev/net/tun", Mode::from_raw_mode(mode)).expect("set");
}

/// Enters a user namespace, or ends the helper if this system does not permit it.
fn enter_or_skip() {
    match user::enter() {
        Ok(()) => {}
        Err(error @ (NamespaceError::NotPermitted { .. } | NamespaceError::Unsupported { .. }))
        | Err(error @ NamespaceError::TooMany { .. }) => {
            eprintln!("{error}");
            std::process::exit(SKIPPED);
        }
        Err(error) => panic!("{error}"),
    }
}

fn private() -> Options {
    Options { outside: Outside::Private, ..Options::default() }
}

#[helper]
fn links() {
    assert!(!user::is_administrator());
    // Without a user namespace the error names the remedy.
    let error = LinkSetup::new(&private()).expect_err("not permitted");
    assert!(matches!(error, SetupError::Namespace(NamespaceError::NotPermitted { .. })), "{error}");
    assert!(error.to_string().contains("root"), "{error}");

    enter_or_skip();
    assert!(user::is_administrator());
    let outer = Carried::new(LinkSetup::new(&private()).expect("a link"));
    assert_eq!(outer.notes, [""; 0]);
    let server = outer.outside_namespace.as_ref().expect("a namespace");
    talk(&outer.namespace, server, outer.addresses.outside);
    talk(server, &outer.namespace, outer.addresses.inside);

    // A nested link reaches the outermost namespace.
    let inner = Carried::new(link(&outer.namespace).expect("a link within"));
    talk(&inner.namespace, server, outer.addresses.outside);

    commands(&inner.namespace);
}

/// Checks that commands have the same user ID, and the network capabilities of root.
fn commands(namespace: &Namespace) {
    let script = "id -u; grep CapAmb /proc/self/status";
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let mut running = namespace.spawn(command).expect("started");
    let mut text = String::new();
    running.child().stdout.take().expect("piped").read_to_string(&mut text).expect("read");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("65534"));
    let rights = lines.next().and_then(|line| line.split_whitespace().nth(1)).expect("a line");
    let rights = u64::from_str_radix(rights, 16).expect("a number");
    // Bits of linux/capability.h: NET_BIND_SERVICE, NET_ADMIN, NET_RAW, SYS_ADMIN.
    assert_eq!(rights, 1 << 10 | 1 << 12 | 1 << 13 | 1 << 21);
    assert!(namespace.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 80)).is_ok()));
}

/// Connects from `client` to a server in `place`.
fn talk(client: &Namespace, place: &Namespace, address: Ipv4Addr) {
    let listener = place.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port"));
    let port = listener.local_addr().expect("an address").port();
    let accepting = std::thread::spawn(move || {
        let mut text = String::new();
        listener.accept().expect("a client").0.read_to_string(&mut text).expect("read");
        text
    });
    let mut stream = client.run(move || TcpStream::connect((address, port)).expect("connected"));
    stream.write_all(b"through the link").expect("sent");
    drop(stream);
    assert_eq!(accepting.join().expect("no panic"), "through the link");
}

#[helper]
fn with_threads() {
    let (_stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || stopped.recv());
    let error = user::enter().expect_err("there are two threads");
    let is_right = matches!(error, NamespaceError::Threads | NamespaceError::NotPermitted { .. });
    assert!(is_right || matches!(error, NamespaceError::TooMany { .. }), "{error}");
}

#[helper]
fn without_access() {
    enter_or_skip();
    assert!(Path::new("/dev/net/tun").exists());
    let error = LinkSetup::new(&private()).expect_err("no access");
    assert!(matches!(error, SetupError::Tun(TunError::NoAccess)), "{error}");
    assert!(matches!(Tun::open("qdelay%d", 1500, OffloadMode::Off), Err(TunError::NoAccess)));
}
