//! Relays of ports between namespaces, the refusal of packets to other hosts, and groups of processes.

use crate::net_support::{Carried, eventually, host, is_alive, link};
use qdelay_emu::link_setup::netlink::{Netlink, Network};
use qdelay_emu::link_setup::{Beyond, LinkSetup, Refusal};
use qdelay_emu::netns::Namespace;
use qdelay_emu::netns::group::Group;
use qdelay_emu::relay::{Listening, MAX_CLIENTS, Protocol, Relay, Service};
use rustix::event::Timespec;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Timeout of a test; only a failing test waits so long.
const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// A relay between two namespaces, and its address in the second.
fn relay(
    servers: &Namespace,
    clients: &Namespace,
    protocol: Protocol,
    targets: Vec<SocketAddr>,
) -> (Relay, SocketAddr) {
    relay_for(servers, clients, protocol, targets, Vec::new())
}

/// Same as [`relay`], for clients of these networks.
fn relay_for(
    servers: &Namespace,
    place: &Namespace,
    protocol: Protocol,
    targets: Vec<SocketAddr>,
    clients: Vec<Network>,
) -> (Relay, SocketAddr) {
    let listening =
        place.run(move || Listening::bind(protocol, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port"));
    let address = listening.local_addr().expect("an address");
    let relay =
        servers.run(move || Relay::start(vec![Service { listening, clients, targets }]).expect("a relay"));
    (relay, address)
}

fn connect(place: &Namespace, address: SocketAddr) -> TcpStream {
    let stream = place.run(move || TcpStream::connect(address).expect("connected"));
    stream.set_read_timeout(LONG).expect("set");
    stream.set_write_timeout(LONG).expect("set");
    stream
}

/// A server of `place` with one connection: it reads to the end, and then answers.
fn server(place: &Namespace) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = place.run(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let address = listener.local_addr().expect("an address");
    let (read, received) = channel();
    std::thread::spawn(move || {
        let mut stream = listener.accept().expect("a client").0;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("read");
        stream.write_all(&bytes).expect("written");
        let _ = read.send(bytes);
    });
    (address, received)
}

#[test]
fn a_relay_joins_namespaces_and_passes_ends_on() {
    let (servers, clients) = (host(), host());
    let (server, received) = server(&servers);
    // The first target refuses.
    let closed = servers.run(|| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.local_addr().expect("an address")
    });
    let (relay, address) = relay(&servers, &clients, Protocol::Tcp, vec![closed, server]);
    let mut stream = connect(&clients, address);
    let sent: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    stream.write_all(&sent).expect("sent");
    // The server answers after the end of the data only.
    stream.shutdown(Shutdown::Write).expect("shut");
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("read");
    assert!(back == sent && received.recv().expect("read") == sent);
    // A second client finds no server.
    let error = connect(&clients, address).read(&mut [0; 9]).expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    drop(relay);
    assert!(clients.run(move || TcpStream::connect(address)).is_err());
}

#[test]
fn a_relay_keeps_the_datagrams_of_clients_apart() {
    let (servers, clients) = (host(), host());
    let echo = servers.run(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let target = echo.local_addr().expect("an address");
    std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((length, client)) = echo.recv_from(&mut buffer) {
            let _ = echo.send_to(&buffer[..length], client);
        }
    });
    let (_relay, address) = relay(&servers, &clients, Protocol::Udp, vec![target]);
    // More clients than a relay keeps.
    let sockets: Vec<UdpSocket> = clients.run(move || {
        let socket = |_| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            socket.connect(address).expect("connected");
            socket.set_read_timeout(LONG).expect("set");
            socket
        };
        (0..MAX_CLIENTS + 10).map(socket).collect()
    });
    for round in 0..2 {
        for (number, socket) in sockets.iter().enumerate() {
            let message = format!("{round} {number}");
            socket.send(message.as_bytes()).expect("sent");
            let mut buffer = [0; 100];
            let length = socket.recv(&mut buffer).expect("an answer");
            assert_eq!(&buffer[..length], message.as_bytes());
        }
    }
}

#[test]
fn a_relay_serves_its_clients_only() {
    let (servers, clients) = (host(), host());
    let (server, _received) = server(&servers);
    let served = vec![Network::new(Ipv4Addr::new(127, 0, 0, 2).into(), 32)];
    let (_relay, address) = relay_for(&servers, &clients, Protocol::Tcp, vec![server], served.clone());
    let mut stream = connect(&clients, address);
    assert_eq!(stream.read(&mut [0; 9]).expect("an end"), 0);
    let echo = servers.run(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    echo.set_read_timeout(LONG).expect("set");
    let target = echo.local_addr().expect("an address");
    let (_relay, address) = relay_for(&servers, &clients, Protocol::Udp, vec![target], served);
    clients.run(move || {
        for last in [1, 2] {
            let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, last), 0)).expect("a port");
            socket.send_to(&[last], address).expect("sent");
        }
    });
    let mut buffer = [0; 9];
    assert_eq!(echo.recv(&mut buffer).map(|length| buffer[..length].to_vec()).expect("one"), [2]);
}

/// A link out of `place` that refuses packets to other hosts, and its report.
fn refusing(place: &Namespace) -> (Carried, Refusal, Receiver<Beyond>) {
    let (report, reported) = channel();
    let setup: LinkSetup = link(place).expect("a link");
    let (setup, refusal) = place.run(move || {
        let refusal = setup.refuse_beyond(move |beyond| report.send(beyond).expect("the test listens"));
        (setup, refusal.expect("permitted"))
    });
    (Carried::new(setup), refusal, reported)
}

fn with_address(place: &Namespace, address: Ipv4Addr) {
    place.run(move || {
        let mut netlink = Netlink::open().expect("rtnetlink");
        let lo = netlink.index("lo").expect("an answer").expect("a device");
        netlink.add_address(lo, Network::new(address.into(), 32)).expect("added");
    });
}

#[test]
fn packets_to_other_hosts_are_refused() {
    let host = host();
    let (before, after) = (Ipv4Addr::new(192, 0, 2, 10), Ipv4Addr::new(192, 0, 2, 11));
    with_address(&host, before);
    let (link, refusal, reported) = refusing(&host);
    with_address(&host, after);
    // Servers at every address of the machine, also at one that it got later.
    let listener = host.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port"));
    let port = listener.local_addr().expect("an address").port();
    for address in [link.addresses.outside, before, after] {
        connect(&link.namespace, (address, port).into());
    }
    assert!(reported.try_recv().is_err());
    let refused = link.namespace.run(|| {
        ["192.0.2.1:9", "[2001:db8::1]:9"]
            .map(|address| TcpStream::connect(address).expect_err("refused").kind())
    });
    assert_eq!(refused[0], ErrorKind::HostUnreachable);
    assert!(matches!(refused[1], ErrorKind::PermissionDenied | ErrorKind::NetworkUnreachable), "{refused:?}");
    assert_eq!(reported.recv(), Ok(Beyond::Refused(Ipv4Addr::new(192, 0, 2, 1).into())));
    assert!(reported.recv().is_err(), "one report");
    drop(refusal);
    // IPv6 with a route: the kernel alone gives no answer.
    let (link, _refusal, reported) = refusing(&host);
    host.run(|| {
        let mut netlink = Netlink::open().expect("rtnetlink");
        let lo = netlink.index("lo").expect("an answer").expect("a device");
        let any = Network::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        netlink.add_route(lo, any, Ipv6Addr::LOCALHOST.into()).ok()
    });
    let error = link.namespace.run(|| TcpStream::connect("[2001:db8::2]:9").expect_err("refused"));
    let kinds = [ErrorKind::PermissionDenied, ErrorKind::NetworkUnreachable];
    assert!(kinds.contains(&error.kind()), "{error}");
    let address: Ipv6Addr = "2001:db8::2".parse().expect("an address");
    assert_eq!(reported.recv(), Ok(Beyond::Refused(address.into())));
}

#[test]
fn a_machine_that_forwards_refuses_nothing() {
    let host = host();
    let is_written = host.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").is_ok());
    assert!(is_written);
    let (link, _refusal, reported) = refusing(&host);
    link.namespace.run(|| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
        socket.send_to(b"anybody?", "192.0.2.1:9").expect("sent");
    });
    assert_eq!(reported.recv(), Ok(Beyond::Forwarded(Ipv4Addr::new(192, 0, 2, 1).into())));
}

#[test]
fn a_group_ends_with_all_its_processes() {
    let host = host();
    let script = "sleep 1000 & echo $!; (trap '' TERM; sleep 1000) & echo $!; wait";
    for is_ended in [true, false] {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (input, output) = std::io::pipe().expect("a pipe");
        command.stdout(output).stdin(Stdio::null());
        let group = Group::start(command, Some(&host)).expect("started");
        let mut lines = BufReader::new(input).lines();
        let all: Vec<u32> =
            (0..2).map(|_| lines.next().expect("a line").expect("read").parse().expect("a number")).collect();
        assert!(all.iter().all(is_alive) && group.status().is_none());
        if is_ended {
            group.end(&Timespec { tv_sec: 60, tv_nsec: 0 });
        } else {
            drop(group);
        }
        eventually("all have ended", || !all.iter().any(is_alive));
    }
    let mut command = Command::new("sh");
    command.args(["-c", "exit 5"]);
    let group = Group::start(command, Some(&host)).expect("started");
    eventually("it has ended", || group.status().is_some());
    assert_eq!(group.status().and_then(|status| status.code()), Some(5));
    let mut command = Command::new("sh");
    command.args(["-c", "kill -9 $$"]);
    let group = Group::start(command, None).expect("started");
    eventually("it has ended", || group.status().is_some());
    let status = group.status().expect("ended");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}
