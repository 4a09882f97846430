//! Ethernet frames of real interfaces: veth pairs between namespaces, with real kernels on both sides. Skipped if they cannot
//! be created.

use crate::common::{checksum, direction};
use crate::net_support::{eventually, pause};
use qdelay_core::Span;
use qdelay_emu::audit::Audit;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::device::offload::{Offload, Offloads};
use qdelay_emu::device::packet::{PacketError, PacketOptions, PacketSocket};
use qdelay_emu::device::{Device, HEADER_MAX, Kind, Port, Received, Sent};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::netns::{Namespace, NamespaceError};
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{WaitOptions, Waiter};
use qdelay_path::Count;
use qdelay_path::stack::Plan;
use qdelay_testing::{Need, skip};
use rustix::io::Errno;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

/// Chain of namespaces a (a0) - middle (inside, outside) - b (b0), all up, without addresses or packets sent by the kernel.
struct Chain {
    a: Namespace,
    middle: Namespace,
    b: Namespace,
}

fn ip(namespace: &Namespace, line: &str) -> bool {
    let line = line.to_string();
    namespace.run(move || {
        let output = Command::new("ip").args(line.split(' ')).output();
        match output {
            Ok(output) if output.status.success() => true,
            Ok(output) => {
                println!("ip {line}: {}", String::from_utf8_lossy(&output.stderr).trim());
                false
            }
            Err(error) => {
                println!("ip: {error}");
                false
            }
        }
    })
}

fn chain(mtu: u32) -> Chain {
    let new = || match Namespace::new() {
        Ok(namespace) => {
            namespace.run(|| {
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
            });
            namespace
        }
        Err(error @ (NamespaceError::NotPermitted { .. } | NamespaceError::Unsupported { .. })) => {
            skip(Need::Net, error)
        }
        Err(error) => panic!("{error}"),
    };
    let (a, middle, b) = (new(), new(), new());
    for (host, name, port) in [(&a, "a0", "inside"), (&b, "b0", "outside")] {
        let thread = host.run(|| rustix::thread::gettid().as_raw_nonzero().get());
        let pair = format!("link add {port} mtu {mtu} type veth peer name {name} mtu {mtu} netns {thread}");
        if !ip(&middle, &pair) {
            skip(Need::Net, "no veth pair");
        }
        assert!(ip(host, &format!("link set {name} multicast off up")));
        assert!(ip(&middle, &format!("link set {port} multicast off up")));
    }
    match middle.run(|| PacketSocket::open("inside")) {
        Ok(_) => Chain { a, middle, b },
        Err(error @ PacketError::NotPermitted) => skip(Need::Net, error),
        Err(error) => panic!("{error}"),
    }
}

fn open(namespace: &Namespace, name: &'static str) -> PacketSocket {
    namespace.run(move || PacketSocket::open(name)).expect("a packet socket")
}

impl Chain {
    fn ports(&self) -> [PacketSocket; 2] {
        ["inside", "outside"].map(|name| open(&self.middle, name))
    }

    /// Gives both hosts addresses of both families.
    fn address(&self) {
        for (host, name, last) in [(&self.a, "a0", 1), (&self.b, "b0", 2)] {
            assert!(ip(host, &format!("addr add 192.0.2.{last}/24 dev {name}")));
            assert!(ip(host, &format!("link set {name} multicast on")));
            assert!(ip(host, &format!("addr add fd00::{last}/64 dev {name} nodad")));
        }
    }
}

/// A frame of 60 bytes, identified by its last four bytes.
fn frame(between: &[u8], ethertype: [u8; 2], number: u32) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 0xbb, 0x02, 0, 0, 0, 0, 0xaa];
    frame.extend_from_slice(between);
    frame.extend_from_slice(&ethertype);
    frame.resize(60, 0x11);
    frame.extend_from_slice(&number.to_be_bytes());
    frame
}

/// Waits for the next frame.
fn next(socket: &mut PacketSocket) -> (Received, Vec<u8>) {
    let mut buffer = vec![0; 2048];
    for _ in 0..1200 {
        if let Some(received) = socket.receive(&mut buffer).expect("works") {
            buffer.truncate(received.bytes);
            return (received, buffer);
        }
        pause();
    }
    panic!("no frame has come");
}

fn nothing(socket: &mut PacketSocket) {
    assert_eq!(socket.receive(&mut [0; 2048]).expect("works"), None);
}

fn sent(socket: &mut PacketSocket, frame: &[u8]) {
    assert_eq!(socket.send(frame).expect("is sent"), Sent::Done);
}

#[test]
fn frames_are_read_as_on_the_wire() {
    let chain = chain(1500);
    let (mut a, [mut inside, mut outside], mut b) =
        (open(&chain.a, "a0"), chain.ports(), open(&chain.b, "b0"));
    assert_eq!((inside.mtu(), inside.name()), (1500, "inside"));
    let ip = [0x08, 0x00];
    let (one, two) = ([0x81, 0x00, 0x60, 0x07], [0x88, 0xa8, 0x00, 0x05, 0x81, 0x00, 0xe0, 0x07]);
    for (number, between, ethertype, header, kind) in [
        (1, &[][..], ip, 14, Kind::Ip),
        (2, &[][..], [0x86, 0xdd], 14, Kind::Ip),
        (3, &one[..], ip, 18, Kind::Ip),
        (4, &two[..4], [0x86, 0xdd], 18, Kind::Ip),
        (5, &two[..], ip, 22, Kind::Ip),
        (6, &one[..], [0x08, 0x06], 18, Kind::Other),
        (7, &[][..], [0x88, 0xcc], 14, Kind::Other),
    ] {
        let frame = frame(between, ethertype, number);
        sent(&mut a, &frame);
        let (received, bytes) = next(&mut inside);
        assert_eq!(
            (received, &bytes),
            (Received { header, kind, ..Received::ip(frame.len()) }, &frame),
            "{number}"
        );
        sent(&mut outside, &bytes);
        assert_eq!(next(&mut b), (received, frame), "{number}");
    }
    // Sent frames are neither received here a second time, nor sent back.
    nothing(&mut inside);
    nothing(&mut outside);
    nothing(&mut a);
    assert_eq!([&mut inside, &mut outside].map(Device::kernel_drops), [0, 0]);
}

#[test]
fn the_longest_frame_fits() {
    for mtu in [576, 1500, 9000] {
        let chain = chain(mtu);
        let (mut a, [mut inside, _]) = (open(&chain.a, "a0"), chain.ports());
        let mut longest = frame(&[0x81, 0x00, 0x00, 0x07], [0x08, 0x00], 1);
        longest.resize(mtu as usize + 18, 9);
        sent(&mut a, &longest);
        let mut buffer = vec![0; mtu as usize + usize::from(HEADER_MAX)];
        eventually("the frame comes", || match inside.receive(&mut buffer).expect("works") {
            Some(received) => received == Received { header: 18, ..Received::ip(longest.len()) },
            None => false,
        });
        longest.push(0);
        assert!(a.send(&longest).is_err(), "longer than the MTU");
    }
}

/// A ring of 32 frames that is not read.
#[test]
fn kernel_drops_are_counted() {
    let chain = chain(1500);
    let mut a = open(&chain.a, "a0");
    let small = PacketOptions { frames: 1, ..PacketOptions::default() };
    let mut inside = chain.middle.run(move || PacketSocket::open_with("inside", small)).expect("a socket");
    assert_eq!(inside.frames(), 32);
    for round in 1..=3 {
        (0..500).for_each(|number| sent(&mut a, &frame(&[], [0x08, 0x00], number)));
        let mut read = 0;
        eventually("all are accounted for", || {
            while inside.receive(&mut [0; 2048]).expect("works").is_some() {
                read += 1;
            }
            read + inside.kernel_drops() >= 500 * round - (round - 1) * 32
        });
        assert_eq!((read, inside.kernel_drops()), (32, round * 468), "the count goes on");
    }
}

/// Interfaces that go down and up again, and interfaces that are removed.
#[test]
fn reading_fails_while_the_interface_is_down() {
    let chain = chain(1500);
    let (mut a, [mut inside, _]) = (open(&chain.a, "a0"), chain.ports());
    assert!(ip(&chain.middle, "link set inside down"));
    let error = |socket: &mut PacketSocket| {
        socket.receive(&mut [0; 2048]).err().and_then(|error| error.raw_os_error())
    };
    eventually("it is told", || error(&mut inside) == Some(Errno::NETDOWN.raw_os_error()));
    assert!(inside.send(&frame(&[], [0x08, 0x00], 1)).is_err());
    nothing(&mut inside);
    assert!(ip(&chain.middle, "link set inside up"));
    // The carrier of a veth device comes after a while.
    eventually("it is back", || {
        let _ = a.send(&frame(&[], [0x08, 0x00], 2));
        matches!(inside.receive(&mut [0; 2048]), Ok(Some(_)))
    });
    assert!(ip(&chain.middle, "link del inside"));
    eventually("it is told", || error(&mut inside) == Some(Errno::NETDOWN.raw_os_error()));
    assert!(inside.send(&frame(&[], [0x08, 0x00], 1)).is_err());
    let again = chain.middle.run(|| PacketSocket::open("inside"));
    assert!(matches!(again, Err(PacketError::NoInterface { .. })));
}

#[test]
fn offloads_are_disabled_and_restored() {
    let chain = chain(1500);
    let mut offloads = chain.a.run(|| Offloads::switch_off("a0")).expect("permitted");
    assert_eq!((offloads.interface(), offloads.left_on()), ("a0", vec![]));
    let off = offloads.switched_off().to_vec();
    assert!(off.contains(&Offload::Tso) && off.contains(&Offload::TransmitChecksum), "{off:?}");
    // A second socket finds no enabled offload, and so restores none.
    assert_eq!(chain.a.run(|| Offloads::switch_off("a0")).expect("permitted").switched_off(), []);
    offloads.restore().expect("permitted");
    assert_eq!(offloads.left_on(), off);
    assert_eq!(offloads.switched_off(), []);
    drop(chain.a.run(|| Offloads::switch_off("a0")).expect("permitted"));
    assert_eq!(offloads.left_on(), off, "restored at the end of its life");
    let mut offloads = chain.a.run(|| Offloads::switch_off("a0")).expect("permitted");
    assert!(ip(&chain.a, "link del a0"));
    offloads.restore().expect("nothing to restore");
}

/// Driver of a gateway in the middle, which splits super-packets if `splits`. Its lateness does not matter here.
fn driver(chain: &Chain, link: &str, splits: bool) -> Driver<RealClock, PacketSocket> {
    let plan = Plan { down: direction("taildrop", link, 1), up: direction("taildrop", link, 1), seed: 1 };
    let emulator = Emulator::new(plan, Pool::new(1500 + HEADER_MAX, 4096), ()).expect("a link");
    let options = PacketOptions { splits, ..PacketOptions::default() };
    let open = |name| chain.middle.run(move || PacketSocket::open_with(name, options)).expect("a socket");
    Driver::new(RealClock::start(), ["inside", "outside"].map(open), emulator, [Span::from_secs(100); 2])
}

/// A gateway in a thread.
struct Gateway {
    stop: Option<OwnedFd>,
    thread: JoinHandle<(Audit, [Count; 2])>,
}

fn gateway(chain: &Chain, link: &str, splits: bool) -> Gateway {
    let (stopped, stop) = rustix::pipe::pipe().expect("a pipe");
    let mut driver = driver(chain, link, splits);
    let thread = std::thread::spawn(move || {
        driver.run(&mut Waiter::new(WaitOptions::default(), Some(stopped)), || false).expect("runs");
        let (emulator, _, audit) = driver.finish();
        assert_eq!(emulator.audit(), Ok(()));
        (audit, Port::ALL.map(|port| emulator.measures(port).delivered))
    });
    Gateway { stop: Some(stop), thread }
}

impl Gateway {
    fn end(mut self) -> (Audit, [Count; 2]) {
        drop(self.stop.take());
        self.thread.join().expect("no panic")
    }
}

const ADDRESSES: [[&str; 2]; 2] = [["192.0.2.1", "192.0.2.2"], ["fd00::1", "fd00::2"]];
const STUCK: Duration = Duration::from_secs(60);

/// Two kernels communicate through a gateway unknown to them: addresses are resolved, datagrams and connections of both families
/// are delivered, and checksums that the sender has left to its interface are valid.
#[test]
fn kernels_communicate_through_the_gateway() {
    let chain = chain(1500);
    chain.address();
    let off = |namespace: &Namespace, name: &'static str| {
        let mut offloads = namespace.run(move || Offloads::switch_off(name)).expect("permitted");
        // Senders leave checksums to the interface, so the gateway has to complete them.
        let has = offloads.switched_off().contains(&Offload::TransmitChecksum);
        offloads.restore().expect("permitted");
        has
    };
    assert!(off(&chain.a, "a0") && off(&chain.b, "b0"), "checksums are left to the interface");
    let gateway = gateway(&chain, "line:100mbit", false);
    for [one, two] in ADDRESSES {
        let (one, two): (IpAddr, IpAddr) = (one.parse().unwrap(), two.parse().unwrap());
        let receiver = chain.b.run(move || UdpSocket::bind((two, 0))).expect("bound");
        receiver.set_read_timeout(Some(STUCK)).expect("set");
        let sender = chain.a.run(move || UdpSocket::bind((one, 0))).expect("bound");
        sender.set_read_timeout(Some(STUCK)).expect("set");
        let mut buffer = [0; 2000];
        for bytes in [1, 18, 999, 1452] {
            let contents: Vec<u8> = (0..bytes).map(|n| n as u8).collect();
            sender.send_to(&contents, receiver.local_addr().unwrap()).expect("sent");
            let (length, from) = receiver.recv_from(&mut buffer).expect("comes");
            assert_eq!((&buffer[..length], from.ip()), (&contents[..], one));
            receiver.send_to(&contents, from).expect("sent");
            assert_eq!(sender.recv(&mut buffer).expect("comes back"), bytes);
        }
        // Small writes avoid aggregated packets, whatever the interface supports.
        let listener = chain.b.run(move || TcpListener::bind((two, 0))).expect("bound");
        let to = listener.local_addr().unwrap();
        let mut client = chain.a.run(move || TcpStream::connect_timeout(&to, STUCK)).expect("connected");
        let mut server = listener.accept().expect("accepted").0;
        client.set_nodelay(true).expect("set");
        server.set_read_timeout(Some(STUCK)).expect("set");
        for size in 1..200 {
            client.write_all(&vec![size as u8; size]).expect("sent");
            server.read_exact(&mut buffer[..size]).expect("comes");
            assert!(buffer[..size].iter().all(|byte| *byte == size as u8));
        }
    }
    let (audit, delivered) = gateway.end();
    assert_eq!((audit.oversized, audit.malformed, audit.lost()), (0, 0, 0));
    assert!(audit.passed[0] > 0 && audit.passed[1] > 0, "requests and answers of ARP: {:?}", audit.passed);
    assert!(delivered.iter().all(|delivered| delivered.packets > 200), "{delivered:?}");
    no_wrong_checksums(&chain);
}

/// Checks that both kernels have seen no wrong checksum.
fn no_wrong_checksums(chain: &Chain) {
    for namespace in [&chain.a, &chain.b] {
        let snmp = namespace.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp")).expect("counters");
        let errors = |protocol: &str, name: &str| {
            let mut lines = snmp.lines().filter(|line| line.starts_with(protocol)).map(str::split_whitespace);
            let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
            names.zip(values).find(|entry| entry.0 == name).map(|entry| entry.1.to_string())
        };
        assert_eq!(errors("Udp:", "InCsumErrors").as_deref(), Some("0"));
        assert_eq!(errors("Tcp:", "InCsumErrors").as_deref(), Some("0"));
    }
}

/// Checksum over a pseudo-header and its segment, computed from scratch: 0 if valid.
fn verify(packet: &[u8]) -> u16 {
    let (mut all, start) = match packet[0] >> 4 {
        4 => ([&packet[12..20], &[0, packet[9]]].concat(), 20),
        _ => ([&packet[8..40], &[0, packet[6]]].concat(), 40),
    };
    let end = if start == 20 {
        u16::from_be_bytes([packet[2], packet[3]]) as usize
    } else {
        40 + u16::from_be_bytes([packet[4], packet[5]]) as usize
    };
    all.extend_from_slice(&((end - start) as u16).to_be_bytes());
    all.extend_from_slice(&packet[start..end]);
    checksum(&all)
}

#[test]
fn checksums_are_completed() {
    let chain = chain(1500);
    chain.address();
    let [mut inside, _] = chain.ports();
    for [one, two] in ADDRESSES {
        let (one, two): (IpAddr, IpAddr) = (one.parse().unwrap(), two.parse().unwrap());
        // No host answers address resolution for this address.
        assert!(ip(&chain.a, &format!("neigh replace {two} lladdr 02:00:00:00:00:bb dev a0")));
        let sender = chain.a.run(move || UdpSocket::bind((one, 0))).expect("bound");
        for bytes in [0, 1, 7, 8, 1400] {
            sender.send_to(&vec![0xa5; bytes], (two, 9)).expect("sent");
        }
        let connection = chain.a.run(move || {
            let to = (two, 9).into();
            TcpStream::connect_timeout(&to, Duration::from_millis(20)).is_ok()
        });
        assert!(!connection);
        let mut kinds = [0, 0];
        while kinds[0] < 5 || kinds[1] < 1 {
            let (received, frame) = next(&mut inside);
            let packet = &frame[usize::from(received.header)..];
            let protocol = if one.is_ipv4() { packet[9] } else { packet[6] };
            if received.kind != Kind::Ip || ![6, 17].contains(&protocol) {
                continue;
            }
            assert_eq!(verify(packet), 0, "{packet:?}");
            kinds[usize::from(protocol == 6)] += 1;
        }
    }
}

/// A frame that is read late has the time stamp of its arrival.
#[test]
fn frames_have_their_arrival_time() {
    let chain = chain(1500);
    let (mut a, mut inside) = (open(&chain.a, "a0"), open(&chain.middle, "inside"));
    let mut clock = RealClock::start();
    assert_eq!(inside.next_stamp(), None);
    let mut came = Vec::new();
    for number in 0..3 {
        let before = clock.now();
        sent(&mut a, &frame(&[], [0x08, 0x00], number));
        let mut stamp = None;
        eventually("a frame with a stamp", || {
            stamp = inside.next_stamp();
            stamp.is_some()
        });
        let after = clock.now();
        (0..6).for_each(|_| pause());
        let late = clock.now();
        // The slack covers the comparison of two clocks on a busy machine.
        let (time, slack) =
            (clock.convert_wall_clock(stamp.expect("there is"), late), Span::from_millis(100));
        assert!(before <= time + slack && time <= after + slack, "{before:?} {time:?} {after:?}");
        assert_eq!(inside.next_stamp(), stamp, "nothing was read by looking");
        next(&mut inside);
        came.push(time);
    }
    assert!(came.is_sorted());
}

/// A sender with segmentation offload sends aggregated packets: they are counted, and none is taken for a single packet.
#[test]
fn several_packets_in_one_are_counted() {
    let chain = chain(1500);
    chain.address();
    let listen = || {
        let listener = chain.b.run(|| TcpListener::bind(("192.0.2.2", 0))).expect("bound");
        (listener.local_addr().unwrap(), listener)
    };
    // Writes once and keeps the connection open; reports how many bytes the kernel accepted.
    let write = |to: SocketAddr| {
        let mut client = TcpStream::connect_timeout(&to, STUCK).expect("connected");
        client.set_nonblocking(true).expect("set");
        let taken = client.write(&[1; 60_000]).expect("some is taken");
        (client, taken)
    };
    let mut driver = driver(&chain, "line:1gbit", false);
    let (to, listener) = listen();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| chain.a.run(move || write(to)));
        eventually("they are counted", || {
            driver.turn([true; 2]).expect("works");
            driver.audit().oversized > 0
        });
        drop(writing.join());
    });
    let verdict = driver.audit().verdict();
    assert!(!verdict.trustworthy && verdict.reasons[0].contains("offloads"), "{verdict:?}");
    assert_eq!(driver.emulator().audit(), Ok(()));
    drop((driver, listener));

    let (to, listener) = listen();
    let gateway = gateway(&chain, "line:1gbit", false);
    let _offloads = chain.a.run(|| Offloads::switch_off("a0")).expect("permitted");
    let (_client, taken) = chain.a.run(move || write(to));
    let mut server = listener.accept().expect("accepted").0;
    server.set_read_timeout(Some(STUCK)).expect("set");
    server.read_exact(&mut vec![0; taken]).expect("comes");
    assert_eq!(gateway.end().0.oversized, 0);
}

/// Bytes of a transfer between two hosts.
const TRANSFER: usize = 3_000_000;

/// Sends `TRANSFER` bytes from `one` to `two`, which have these addresses, and compares what arrives.
fn transfer(one: &Namespace, two: &Namespace, from: IpAddr, to: IpAddr) {
    let byte = |at: usize| (at % 251 + at / 65_536) as u8;
    let listener = two.run(move || TcpListener::bind((to, 0))).expect("bound");
    let to = listener.local_addr().unwrap();
    let mut client = one.run(move || TcpStream::connect_timeout(&to, STUCK)).expect("connected");
    assert_eq!(client.local_addr().unwrap().ip(), from);
    let mut server = listener.accept().expect("accepted").0;
    server.set_read_timeout(Some(STUCK)).expect("set");
    let writing = std::thread::spawn(move || {
        let contents: Vec<u8> = (0..TRANSFER).map(byte).collect();
        client.write_all(&contents).expect("sent");
    });
    let mut contents = vec![0; TRANSFER];
    server.read_exact(&mut contents).expect("comes");
    writing.join().expect("no panic");
    assert!(contents.iter().enumerate().all(|(at, found)| *found == byte(at)));
}

/// Senders with all offloads on: TCP of both families, and datagrams that are segmented by the interface. Each packet of a super-packet is queued and counted on its own, and the receiving kernels find no wrong checksum.
#[test]
fn super_packets_of_senders_are_split() {
    let chain = chain(1500);
    chain.address();
    let gateway = gateway(&chain, "line:400mbit", true);
    for [one, two] in ADDRESSES {
        let [one, two]: [IpAddr; 2] = [one.parse().unwrap(), two.parse().unwrap()];
        transfer(&chain.a, &chain.b, one, two);
        transfer(&chain.b, &chain.a, two, one);
    }
    let datagrams = segmented_datagrams(&chain);
    let (audit, delivered) = gateway.end();
    assert_eq!((audit.oversized, audit.malformed, audit.lost()), (0, 0, 0));
    let split = audit.super_packets;
    // Most data comes in super-packets; some segments, such as the first, come alone.
    let segments = 4 * TRANSFER as u64 / 1448;
    assert!(split.read > 50 && split.split > segments / 2 && split.split >= 2 * split.read, "{split:?}");
    for delivered in delivered {
        // Packets of the wire: a data segment of TCP carries at most 1460 bytes.
        assert!(delivered.packets >= 2 * TRANSFER as u64 / 1460, "{delivered:?}");
        assert!(delivered.bytes <= 1500 * delivered.packets, "{delivered:?}");
    }
    assert!(datagrams > 0 || !has_segmented_datagrams(&chain), "{split:?}");
    no_wrong_checksums(&chain);
}

/// A VLAN interface on top of each host's; the tag is not among the bytes of a frame.
#[test]
fn super_packets_with_a_tag_are_split() {
    let chain = chain(1500);
    for (host, name, last) in [(&chain.a, "a0", 1), (&chain.b, "b0", 2)] {
        if !ip(host, &format!("link add link {name} name v7 type vlan id 7")) {
            skip(Need::Tools, "ip makes no VLAN interfaces with this kernel");
        }
        assert!(ip(host, "link set v7 up"));
        assert!(ip(host, &format!("addr add 198.51.100.{last}/24 dev v7")));
    }
    let gateway = gateway(&chain, "line:400mbit", true);
    let [one, two]: [IpAddr; 2] = ["198.51.100.1", "198.51.100.2"].map(|address| address.parse().unwrap());
    transfer(&chain.a, &chain.b, one, two);
    transfer(&chain.b, &chain.a, two, one);
    let (audit, _) = gateway.end();
    assert_eq!((audit.oversized, audit.malformed, audit.lost()), (0, 0, 0));
    assert!(audit.super_packets.split > 1000, "{:?}", audit.super_packets);
    no_wrong_checksums(&chain);
}

/// Option of UDP sockets (`linux/udp.h`) and its level: bytes of each datagram that a write is segmented into.
const UDP_SEGMENT: (i32, i32) = (17, 103);

/// A socket whose writes are segmented; `None` on kernels that cannot.
fn segmenting(chain: &Chain) -> Option<UdpSocket> {
    let socket = chain.a.run(|| UdpSocket::bind("192.0.2.1:0")).expect("bound");
    let output = chain.a.run(|| std::fs::read_to_string("/proc/sys/kernel/osrelease")).expect("a kernel");
    let mut numbers = output.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    // Super-packets of datagrams have a header since Linux 6.2.
    let is_new = (numbers.next(), numbers.next()) >= (Some(6), Some(2));
    let (level, option) = UDP_SEGMENT;
    (is_new && set_option(&socket, level, option, 1000)).then_some(socket)
}

fn has_segmented_datagrams(chain: &Chain) -> bool {
    segmenting(chain).is_some()
}

#[allow(unsafe_code, reason = "an option that rustix lacks")]
fn set_option(socket: &UdpSocket, level: i32, option: i32, value: i32) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: the value has the length that is passed, and lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as u32,
        )
    };
    result == 0
}

/// Writes 20 datagrams as one, and reads them one by one; returns their number, 0 where the kernel cannot.
fn segmented_datagrams(chain: &Chain) -> usize {
    let Some(sender) = segmenting(chain) else { return 0 };
    let receiver = chain.b.run(|| UdpSocket::bind("192.0.2.2:0")).expect("bound");
    receiver.set_read_timeout(Some(STUCK)).expect("set");
    let contents: Vec<u8> = (0..20_000).map(|at| (at / 1000 + at % 7) as u8).collect();
    sender.send_to(&contents, receiver.local_addr().unwrap()).expect("sent");
    let mut buffer = [0; 2000];
    for part in contents.chunks(1000) {
        assert_eq!(receiver.recv(&mut buffer).expect("comes"), part.len());
        assert_eq!(&buffer[..part.len()], part);
    }
    20
}

/// Frames longer than the reader's packets that are no super-packets stay oversized, in their order.
#[test]
fn long_single_frames_are_not_split() {
    let chain = chain(4000);
    let options = PacketOptions { splits: true, ..PacketOptions::default() };
    let mut inside = chain.middle.run(move || PacketSocket::open_with("inside", options)).expect("a socket");
    let mut a = open(&chain.a, "a0");
    for (number, length) in [(1, 64), (2, 3000), (3, 1536), (4, 4014), (5, 64)] {
        let mut frame = frame(&[], [0x08, 0x00], number);
        frame.resize(length, 7);
        sent(&mut a, &frame);
        let (received, bytes) = next(&mut inside);
        let kind = if length > 2048 { Kind::Oversized } else { Kind::Ip };
        assert_eq!((received.kind, received.bytes), (kind, length), "{number}");
        assert!(kind == Kind::Oversized || bytes == frame, "{number}");
    }
    assert_eq!((inside.split(), inside.kernel_drops()), ((0, 0), 0));
}
