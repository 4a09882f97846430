//! Real programs over a link that copies packets between its devices: addresses, routes, nesting, name resolution.

use crate::net_support::{Carried, host, link, link_with};
use qdelay_emu::device::tun::{QUEUE, TunError};
use qdelay_emu::device::{Device, Sent};
use qdelay_emu::link_setup::{LinkSetup, Options, SetupError};
use qdelay_emu::netns::Namespace;
use qdelay_testing::{Need, skip};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Timeout of a test; only a failing test waits so long.
const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// A server in `place` that echoes its input, on one connection.
fn echo_server(place: &Namespace, any: IpAddr) -> u16 {
    let listener = place.run(move || TcpListener::bind((any, 0)).expect("a port"));
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut copy = stream.try_clone().expect("a second handle");
        std::io::copy(&mut stream, &mut copy).expect("copied");
    });
    port
}

/// Sends 300 kB from `place` to the server and back.
fn converse(place: &Namespace, server: SocketAddr) {
    let mut stream =
        place.run(move || TcpStream::connect_timeout(&server, LONG.expect("some")).expect("connected"));
    stream.set_read_timeout(LONG).expect("set");
    let sent: Vec<u8> = (0..300_000u32).map(|number| (number % 251) as u8).collect();
    let mut writer = stream.try_clone().expect("a second handle");
    let to_send = sent.clone();
    let writing = std::thread::spawn(move || {
        writer.write_all(&to_send).expect("sent");
        writer.shutdown(std::net::Shutdown::Write).expect("shut");
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).expect("received");
    writing.join().expect("no panic");
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

#[test]
fn programs_inside_reach_servers_outside() {
    let host = host();
    let link = Carried::new(link(&host).expect("a link"));
    assert_eq!(link.notes, [""; 0]);
    assert_eq!(
        (link.addresses.inside, link.addresses.outside),
        ([100, 64, 0, 2].into(), [100, 64, 0, 1].into())
    );
    let port = echo_server(&host, Ipv4Addr::UNSPECIFIED.into());
    converse(&link.namespace, (link.addresses.outside, port).into());
    let (_, outside6) = link.addresses.ipv6.expect("IPv6");
    let port = echo_server(&host, Ipv6Addr::UNSPECIFIED.into());
    converse(&link.namespace, (outside6, port).into());
    let copied = link.end();
    assert!(copied.packets > 400 && copied.lost == 0, "{copied:?}");
}

#[test]
fn programs_outside_reach_servers_inside() {
    let host = host();
    let link = Carried::new(link(&host).expect("a link"));
    let port = echo_server(&link.namespace, Ipv4Addr::UNSPECIFIED.into());
    converse(&host, (link.addresses.inside, port).into());
    let (inside6, _) = link.addresses.ipv6.expect("IPv6");
    let port = echo_server(&link.namespace, Ipv6Addr::UNSPECIFIED.into());
    converse(&host, (inside6, port).into());
}

/// The sum of RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[test]
fn ping_is_answered() {
    let host = host();
    let link = Carried::new(link(&host).expect("a link"));
    let socket = link.namespace.run(|| {
        rustix::net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)).expect("a raw socket")
    });
    rustix::net::sockopt::set_socket_timeout(&socket, rustix::net::sockopt::Timeout::Recv, LONG)
        .expect("set");
    let mut request = vec![8, 0, 0, 0, 0x71, 0x64, 0, 1, b'q', b'd', b'e', b'l'];
    let sum = checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    let to = SocketAddr::from((link.addresses.outside, 0));
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &to).expect("sent");
    let mut packet = [0u8; 100];
    let (_, length) = rustix::net::recv(&socket, &mut packet, RecvFlags::empty()).expect("a reply");
    // An echo reply with the same payload follows the IP header.
    assert_eq!((packet[20], &packet[24..length]), (0, &request[4..]));
}

/// As deep as addresses allow: connections cross every link in both directions, and the next link is refused.
#[test]
fn links_nest_eleven_deep() {
    let host = host();
    let mut links = vec![Carried::new(link(&host).expect("a link"))];
    for depth in 2..=11 {
        let around = &links.last().expect("a link").namespace;
        links.push(Carried::new(link(around).unwrap_or_else(|error| panic!("link {depth}: {error}"))));
    }
    let (first, third, last) = (&links[0], &links[2], &links[10]);
    let outermost = (first.addresses.outside, first.addresses.ipv6.map(|ends| ends.1));
    for link in &links {
        assert_eq!(link.notes, [""; 0]);
        assert_eq!(link.addresses.outermost(), outermost);
    }
    // Connections go through all links, and to the hosts in between.
    let ends = |link: &Carried| (link.addresses, link.addresses.ipv6.expect("IPv6"));
    for (from, to, address, address6) in [
        (&last.namespace, &host, ends(first).0.outside, ends(first).1.1),
        (&host, &last.namespace, ends(last).0.inside, ends(last).1.0),
        (&last.namespace, &first.namespace, ends(&links[1]).0.outside, ends(&links[1]).1.1),
        (&third.namespace, &host, ends(first).0.outside, ends(first).1.1),
    ] {
        converse(from, (address, echo_server(to, Ipv4Addr::UNSPECIFIED.into())).into());
        converse(from, (address6, echo_server(to, Ipv6Addr::UNSPECIFIED.into())).into());
    }
    let error = link(&last.namespace).expect_err("no addresses");
    assert!(matches!(error, SetupError::TooDeep), "{error}");
    while let Some(link) = links.pop() {
        assert!(link.end().packets > 0);
    }
}

#[test]
fn links_beside_each_other_have_networks_of_their_own() {
    let host = host();
    let links: Vec<Carried> = (0..4).map(|_| Carried::new(link(&host).expect("a link"))).collect();
    for (index, link) in links.iter().enumerate() {
        assert_eq!(link.addresses.outside, Ipv4Addr::new(100, 64, 16 * index as u8, 1));
        let port = echo_server(&host, Ipv4Addr::UNSPECIFIED.into());
        converse(&link.namespace, (link.addresses.outside, port).into());
    }
    // Two links within the same link have networks of their own, too.
    let one = Carried::new(link(&links[0].namespace).expect("a link"));
    let two = Carried::new(link(&links[0].namespace).expect("a link"));
    for link in [&one, &two] {
        let port = echo_server(&host, Ipv4Addr::UNSPECIFIED.into());
        converse(&link.namespace, (links[0].addresses.outside, port).into());
    }
}

#[test]
fn concurrent_links_choose_different_networks() {
    let host = host();
    // Threads started in the namespace belong to it. All of them try number 0 first.
    let threads = host.run(|| {
        let start = |letter: char| {
            let options = Options { resolver: false, name: format!("{letter}0"), ..Options::default() };
            std::thread::spawn(move || LinkSetup::new(&options).expect("a link"))
        };
        ('a'..='g').map(start).collect::<Vec<_>>()
    });
    let links: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    let mut outside: Vec<Ipv4Addr> = links.iter().map(|link| link.addresses.outside).collect();
    outside.sort();
    outside.dedup();
    assert_eq!(outside.len(), links.len());
}

#[test]
fn networks_of_the_host_are_avoided() {
    let host = host();
    // `ip`, if installed, creates a device of the host with the network that would be chosen first.
    let is_made = host.run(|| {
        let ip = |arguments: &str| Command::new("ip").args(arguments.split(' ')).status();
        ip("addr add 100.64.0.9/29 dev lo").is_ok_and(|status| status.success())
            && ip("-6 addr add fd71:de1a:1:5::1/64 dev lo").is_ok_and(|status| status.success())
            && ip("route add 100.64.34.128/25 dev lo").is_ok_and(|status| status.success())
            && ip("route add blackhole 100.64.60.0/24 table 77").is_ok_and(|status| status.success())
    });
    if !is_made {
        skip(Need::Tools, "no ip command that can set this up");
    }
    let link = link(&host).expect("a link");
    assert_eq!(link.addresses.outside, Ipv4Addr::new(100, 64, 64, 1));
}

#[test]
fn the_kernel_sends_nothing_by_itself() {
    let host = host();
    let mut link = link(&host).expect("a link");
    let mut buffer = [0; 1500];
    let to = link.addresses.outside;
    link.namespace.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
        socket.send_to(b"first", (to, 9)).expect("sent");
    });
    let length = link.inside.receive(&mut buffer).expect("works").expect("a packet").bytes;
    assert_eq!((length, &buffer[28..length]), (33, &b"first"[..]));
    assert_eq!(link.inside.receive(&mut buffer).expect("works"), None);
    assert_eq!(link.outside.receive(&mut buffer).expect("works"), None);
}

#[test]
fn packets_are_whole_and_no_longer_than_the_mtu() {
    let host = host();
    for mtu in [576, 1280, 1500, 9000] {
        let options = Options { resolver: false, mtu, ..Options::default() };
        let mut link = link_with(&host, options).expect("a link");
        assert_eq!(link.addresses.ipv6.is_some(), mtu >= 1280);
        let to = link.addresses.outside;
        link.namespace.run(move || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
            socket.send_to(&vec![7; mtu as usize - 28], (to, 9)).expect("sent");
        });
        let mut buffer = [0; 20_000];
        assert_eq!(link.inside.receive(&mut buffer).expect("works"), Some((mtu as usize).into()));
        // Header and payload already have valid checksums, because there is no offload.
        assert_eq!(checksum(&buffer[..20]), 0);
        let pseudo = [&buffer[12..20], &[0, 17], &buffer[24..26], &buffer[20..mtu as usize]].concat();
        assert_eq!(checksum(&pseudo), 0);
        assert!(matches!(link.outside.send(&buffer[..mtu as usize]), Ok(Sent::Done)));
    }
}

#[test]
fn kernel_drops_are_counted() {
    let host = host();
    let mut link = link(&host).expect("a link");
    let to = link.addresses.outside;
    const SENT: u64 = QUEUE as u64 + 2000;
    link.namespace.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
        for _ in 0..SENT {
            socket.send_to(b"", (to, 9)).expect("sent");
        }
    });
    let mut buffer = [0; 1500];
    let mut received = 0;
    while link.inside.receive(&mut buffer).expect("works").is_some() {
        received += 1;
    }
    let drops = link.inside.kernel_drops();
    assert!(drops > 0 && received >= u64::from(QUEUE), "{drops} dropped, {received} received");
    assert_eq!(received + drops, SENT);
    assert_eq!(link.outside.kernel_drops(), 0);
    // A write that the kernel cannot accept as a packet returns an error, so it is not lost silently.
    assert!(link.outside.send(&[0xff; 40]).is_err() || link.outside.kernel_drops() > 0);
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let host = host();
    let named = |name: &str| Options { resolver: false, name: name.into(), ..Options::default() };
    let _first = link_with(&host, named("radio")).expect("a link");
    for name in ["radio", "lo"] {
        let error = link_with(&host, named(name)).expect_err("the name is taken");
        assert!(matches!(error, SetupError::Tun(TunError::NameTaken { .. })), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let error = link_with(&host, named("no good")).expect_err("a bad name");
    assert!(matches!(error, SetupError::Tun(TunError::BadName { .. })), "{error}");
}

#[test]
fn a_missing_driver_is_reported() {
    let host = host();
    if !host.has_own_mounts() {
        skip(Need::Net, "no mounts of its own");
    }
    host.run(|| {
        rustix::mount::mount("test", "/dev/net", "tmpfs", rustix::mount::MountFlags::empty(), None)
            .expect("mounted");
    });
    let error = link(&host).expect_err("no driver");
    assert!(matches!(error, SetupError::Tun(TunError::NoDriver)), "{error}");
}

/// Answers every query for an IPv4 address with 10.1.2.3, and others with an empty answer.
fn answer(question: &[u8]) -> Vec<u8> {
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).expect("a name") + 5;
    let is_ipv4 = question[end - 3] == 1;
    let mut answer = question[..end].to_vec();
    answer[2..12].copy_from_slice(&[0x85, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
    if is_ipv4 {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 10, 1, 2, 3]);
    }
    answer
}

#[test]
fn names_are_looked_up_through_the_link() {
    let host = host();
    let file = "nameserver 127.0.0.1\nsearch qdelay.test\n";
    if let Err(error) = host.replace_file("/etc/resolv.conf", file.into()) {
        skip(Need::Net, format_args!("/etc/resolv.conf: {error}"));
    }
    let socket = host.run(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 53)).expect("port 53"));
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&answer(&buffer[..length]), client);
        }
    });

    let first = Carried::new(link_with(&host, Options::default()).expect("a link"));
    let second = Carried::new(link_with(&first.namespace, Options::default()).expect("a link within"));
    for link in [&first, &second] {
        assert_eq!(link.notes, [""; 0]);
        let text = link.namespace.run(|| std::fs::read_to_string("/etc/resolv.conf").expect("read"));
        assert_eq!(text, format!("nameserver {}\nsearch qdelay.test\n", link.addresses.outside));
        let server = link.addresses.outside;
        let socket = link.namespace.run(move || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("a port");
            socket.connect((server, 53)).expect("connected");
            socket
        });
        socket.set_read_timeout(LONG).expect("set");
        socket.send(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01").expect("sent");
        let mut buffer = [0; 512];
        let length = socket.recv(&mut buffer).expect("an answer");
        assert_eq!(buffer[length - 4..length], [10, 1, 2, 3]);

        // The C library resolves names as programs do.
        let mut command = Command::new("getent");
        command.args(["ahostsv4", "somewhere"]).stdout(Stdio::piped());
        match link.namespace.spawn(command) {
            Ok(mut running) => {
                let mut text = String::new();
                running.child().stdout.take().expect("piped").read_to_string(&mut text).expect("read");
                assert!(text.contains("10.1.2.3"), "{text:?}");
            }
            Err(error) => println!("without getent: {error}"),
        }
    }
    // The host's file has not changed.
    assert_eq!(host.run(|| std::fs::read_to_string("/etc/resolv.conf").expect("read")), file);
}

#[test]
fn a_resolver_at_every_address_of_the_host_is_enough() {
    let host = host();
    if host.replace_file("/etc/resolv.conf", "nameserver 127.0.0.1\n".into()).is_err() {
        skip(Need::Net, "/etc/resolv.conf cannot be replaced");
    }
    let _socket = host.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 53)).expect("port 53"));
    let link = link_with(&host, Options::default()).expect("a link");
    assert!(link.relay.is_none());
    let text = link.namespace.run(|| std::fs::read_to_string("/etc/resolv.conf").expect("read"));
    assert_eq!(text, format!("nameserver {}\n", link.addresses.outside));
}
