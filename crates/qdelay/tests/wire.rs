//! Bytes on the wire that no kernel would send: both devices of a link receive frames with impossible headers, truncated,
//! too long, fragmented, and random, from the command's side and from the machine's, with every discipline. Afterwards the
//! link still carries a connection, every packet is accounted for, and the link's memory has not grown.
//!
//! The frames are equal in every run. Real packets, in a namespace that stands for the machine; without permission to make
//! namespaces the tests are skipped.

#![allow(unsafe_code)] // The address of a packet socket (packet(7)), which rustix has not.

use crate::link_support::{
    Running, TASK, assert_accounted, converse, json, link, machine, name, resident, talking_task,
};
use qdelay_core::qdisc;
use qdelay_emu::netns::Namespace;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::Stdio;

/// Numbers of frames from each side before the first memory reading, and after it.
const WARM_UP: u32 = 3_000;
const FRAMES: u32 = 12_000;
/// Packet limit of the link, whose memory is allocated at the start.
const HOLD: u64 = 4096;
/// Allowed growth of the link's memory in KiB: 40 bytes per frame, for program pages read for the
/// first time and for queues that grew; a leaked packet takes a slot of 1536 bytes.
const GROWTH: u64 = 1024;

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// Random number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
    fn byte(&mut self) -> u8 {
        self.next() as u8
    }
    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = self.byte());
    }
    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes);
        bytes
    }
}

/// Both ends of a link, from the view of the sender of frames.
#[derive(Clone, Copy)]
struct Ends {
    from: Ipv4Addr,
    to: Ipv4Addr,
    from6: Ipv6Addr,
    to6: Ipv6Addr,
}

/// Checksum of RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = pairs.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// IPv4 packet with a valid header.
fn ipv4(random: &mut Random, ends: Ends, options: usize, fragment: u16, payload: usize) -> Vec<u8> {
    let header = 20 + options * 4;
    let mut packet = random.bytes(header + payload);
    packet[0] = 0x40 | (header / 4) as u8;
    packet[2..4].copy_from_slice(&((header + payload) as u16).to_be_bytes());
    // Few values, so that fragments meet.
    packet[4..6].copy_from_slice(&[0, random.byte() % 16]);
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = [17, 6, 1, 33, 132, 136, 47, 255][random.below(8)];
    packet[12..16].copy_from_slice(&ends.from.octets());
    packet[16..20].copy_from_slice(&ends.to.octets());
    mend(&mut packet);
    packet
}

/// Sets the checksum if the packet is long enough for a header.
fn mend(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 15) * 4;
    if (20..=packet.len()).contains(&header) {
        packet[10..12].fill(0);
        let sum = checksum(&packet[..header]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// IPv6 packet with a valid first header.
fn ipv6(random: &mut Random, ends: Ends, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = random.bytes(40);
    packet[0] = 0x60 | packet[0] & 15;
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet[6] = next;
    packet[8..24].copy_from_slice(&ends.from6.octets());
    packet[24..40].copy_from_slice(&ends.to6.octets());
    packet.extend_from_slice(payload);
    packet
}

/// Chain of extension headers; the last one has an excessive length, or an arbitrary next header.
fn chain(random: &mut Random, space: usize) -> (u8, Vec<u8>) {
    const KINDS: [u8; 7] = [0, 43, 44, 51, 60, 135, 59];
    let first = KINDS[random.below(KINDS.len())];
    let mut bytes = Vec::new();
    for _ in 0..=random.below(30) {
        let units = random.below(3);
        let mut header = random.bytes(8 + units * 8);
        header[0] = KINDS[random.below(KINDS.len())];
        header[1] = if random.below(16) == 0 { random.byte() } else { units as u8 };
        bytes.extend(header);
    }
    bytes.truncate(random.below(space + 1).max(8));
    (first, bytes)
}

/// One frame of every kind in turn, at most `mtu` bytes long.
fn frame(random: &mut Random, number: u32, ends: Ends, mtu: usize) -> Vec<u8> {
    let space = mtu - 60;
    // Short frames are cheap, long ones can overflow buffers.
    let payload = if number.is_multiple_of(8) { space } else { random.below(space.min(600)) };
    let plain = |random: &mut Random, fragment| ipv4(random, ends, 0, fragment, payload.max(8));
    let mut packet = match number % 17 {
        0 => {
            let length = random.below(mtu) + 1;
            random.bytes(length)
        }
        1 => plain(random, 0),
        2 => {
            // Header length 0 to 4 words.
            let mut packet = plain(random, 0);
            packet[0] = 0x40 | (random.byte() % 5);
            packet
        }
        3 => {
            // Header longer than the packet.
            let mut packet = plain(random, 0);
            packet[0] = 0x4f;
            packet.truncate(20 + random.below(40));
            packet
        }
        4 => {
            // Total length larger than the frame: slightly, or the maximum.
            let mut packet = plain(random, 0);
            let more = [packet.len() + 1 + random.below(100), 65_535][random.below(2)];
            packet[2..4].copy_from_slice(&(more.min(65_535) as u16).to_be_bytes());
            packet
        }
        5 => {
            // Smaller than the frame, and than the header.
            let mut packet = plain(random, 0);
            let less = random.below(packet.len()) as u16;
            packet[2..4].copy_from_slice(&less.to_be_bytes());
            packet
        }
        6 => {
            let mut packet = plain(random, 0);
            packet.truncate(1 + random.below(27));
            packet
        }
        // Fragments that overlap, leave holes, and end beyond 65535 bytes.
        7 => plain(random, random_fragment(number)),
        8 => {
            let options = random.below(11);
            ipv4(random, ends, options, 0, payload)
        }
        9 => {
            let next = random.byte();
            let payload = random.bytes(payload);
            ipv6(random, ends, next, &payload)
        }
        10 => {
            let payload = random.bytes(payload);
            let mut packet = ipv6(random, ends, 17, &payload);
            packet.truncate(1 + random.below(47));
            packet
        }
        11 => {
            // Payload length 0 (a jumbogram's), too large, too small.
            let bytes = random.bytes(payload);
            let mut packet = ipv6(random, ends, 17, &bytes);
            let length = [0, 65_535, random.below(mtu) as u16][random.below(3)];
            packet[4..6].copy_from_slice(&length.to_be_bytes());
            packet
        }
        12 | 13 => {
            let (first, bytes) = chain(random, space);
            ipv6(random, ends, first, &bytes)
        }
        14 => {
            // Fragments of version 6: next header, reserved, offset and flags, one of few identifiers.
            let mut bytes = random.bytes(payload.max(8));
            bytes[2..4].copy_from_slice(&random_fragment(number).rotate_left(3).to_be_bytes());
            bytes[4..8].copy_from_slice(&[0, 0, 0, random.byte() % 16]);
            ipv6(random, ends, 44, &bytes)
        }
        15 => {
            // Valid packet with a few flipped bits.
            let mut packet = plain(random, 0);
            for _ in 0..3 {
                let place = random.below(packet.len().min(40));
                packet[place] ^= 1 << random.below(8);
            }
            packet
        }
        _ => {
            // One byte, or a version that does not exist with a good rest.
            let mut packet = plain(random, 0);
            packet[0] = random.byte() & 0xaf;
            packet.truncate([1, payload.max(8)][random.below(2)]);
            packet
        }
    };
    // Half of the changed packets get a valid checksum anyway, so that the kernel inspects them further.
    if packet[0] >> 4 == 4 && packet.len() >= 20 && random.below(2) == 0 {
        mend(&mut packet);
    }
    packet.truncate(mtu);
    packet
}

/// Offset and flags of a fragment.
fn random_fragment(number: u32) -> u16 {
    let mut random = Random(u64::from(number));
    [0x2000, 0x2001, 0x1fff, 0x3fff, 0x2000 | random.next() as u16 & 0x1fff, random.next() as u16 & 0x1fff]
        [random.below(6)]
}

/// The address of a device for whole frames (packet(7), `struct sockaddr_ll`).
#[repr(C)]
struct DeviceAddress {
    family: u16,
    /// In network order.
    protocol: u16,
    index: i32,
    rest: [u8; 12],
}

impl DeviceAddress {
    fn new(index: u32, protocol: u16) -> Self {
        let family = AddressFamily::PACKET.as_raw();
        Self { family, protocol: protocol.to_be(), index: index.try_into().unwrap(), rest: [0; 12] }
    }
}

// SAFETY: the pointer is to a whole `struct sockaddr_ll`, 20 bytes long, which lives through the call.
unsafe impl SocketAddrArg for DeviceAddress {
    unsafe fn with_sockaddr<R>(&self, f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R) -> R {
        f(std::ptr::from_ref(self).cast(), size_of::<Self>() as SocketAddrLen)
    }
}

fn raw(family: AddressFamily, protocol: Option<rustix::net::Protocol>) -> OwnedFd {
    socket(family, SocketType::RAW, protocol).expect("a raw socket")
}

/// Puts frames on the device, and packets through raw sockets; returns the number sent unchanged.
fn send(seed: u64, frames: u32, device: u32, ends: Ends, mtu: usize) -> u64 {
    let mut random = Random(seed);
    // A socket that receives nothing, but may send anything.
    let wire = raw(AddressFamily::PACKET, None);
    let four = raw(AddressFamily::INET, Some(ipproto::RAW));
    let six = raw(AddressFamily::INET6, Some(ipproto::RAW));
    let datagrams = [(IpAddr::V4(ends.from), IpAddr::V4(ends.to)), (ends.from6.into(), ends.to6.into())]
        .map(|(from, to)| (UdpSocket::bind((from, 0)).expect("a port"), to));
    let mut sent = 0;
    for number in 0..frames {
        let packet = frame(&mut random, number, ends, mtu);
        let protocol = [0x0800, 0x86dd, 0, random.next() as u16][random.below(4)];
        if sendto(&wire, &packet, SendFlags::empty(), &DeviceAddress::new(device, protocol)).is_ok() {
            sent += 1;
        }
        // The kernel corrects some packets, and refuses others.
        match number % 16 {
            0 => drop(sendto(&four, &packet, SendFlags::empty(), &SocketAddr::from((ends.to, 0)))),
            1 => drop(sendto(&six, &packet, SendFlags::empty(), &SocketAddr::from((ends.to6, 0)))),
            _ => {}
        }
        if number % 512 == 0 {
            let giant = random.bytes(mtu + 1 + random.0 as usize % 100);
            let sent = sendto(&wire, &giant, SendFlags::empty(), &DeviceAddress::new(device, 0x0800));
            assert!(sent.is_err(), "a frame that is longer than the MTU");
            let _ = sendto(&wire, &[], SendFlags::empty(), &DeviceAddress::new(device, 0x0800));
            for (socket, to) in &datagrams {
                // No program listens, and after a while the kernel reports this.
                for length in [60_000, 0] {
                    let _ = socket.send_to(&vec![7; length], (*to, 9));
                }
            }
        }
    }
    sent
}

/// The number of a device in the namespace of the calling thread.
fn device(name: &str) -> u32 {
    let text = std::fs::read_to_string("/proc/thread-self/net/if_inet6").expect("/proc");
    let line = text.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("a device with IPv6");
    u32::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
}

/// Inner address of a link, whose ends differ in the last bits only.
fn inner(outer: IpAddr) -> IpAddr {
    match outer {
        IpAddr::V4(outer) => Ipv4Addr::from_bits(outer.to_bits() + 1).into(),
        IpAddr::V6(outer) => Ipv6Addr::from_bits(outer.to_bits() + 1).into(),
    }
}

/// Command behind a link.
#[helper]
fn exchanges() {
    let task = std::env::var(TASK).expect("a task");
    let [port, mtu] = [0, 1].map(|index| task.split(' ').nth(index).unwrap().parse::<u16>().unwrap());
    let outside = |name: &str| std::env::var(name).unwrap().parse::<IpAddr>().unwrap();
    let addresses = ["QDELAY_OUTSIDE", "QDELAY_OUTSIDE6"].map(outside);
    let [(IpAddr::V4(to), IpAddr::V6(to6)), (IpAddr::V4(from), IpAddr::V6(from6))] =
        [addresses.into(), addresses.map(inner).into()]
    else {
        panic!("{addresses:?}")
    };
    let ends = Ends { from, to, from6, to6 };
    let device = device("qdelay0");
    let told = || std::io::stdin().read_line(&mut String::new()).expect("a line");
    println!("\nwire: {from} {to} {from6} {to6}");
    converse((to, port).into(), 200_000);
    send(1, WARM_UP, device, ends, mtu.into());
    println!("\nwire: warm");
    told();
    let sent = send(2, FRAMES, device, ends, mtu.into());
    println!("\nwire: {sent}");
    told();
    converse((to, port).into(), 500_000);
    converse((to6, port).into(), 100_000);
}

/// Puts frames on the outer device of the only link on `machine`.
fn send_from(machine: &Namespace, seed: u64, frames: u32, ends: Ends, mtu: usize) -> u64 {
    machine.run(move || send(seed, frames, device("qdelay0"), ends, mtu))
}

fn attack(machine: &Namespace, port: u16, options: &str, mtu: u16) {
    let file = name(&format!("wire-{mtu}"), "figures.json");
    let options = format!("{options} --mtu {mtu} --hold {HOLD} --quiet --json {file}");
    let mut command = link(&options, &talking_task("exchanges", &format!("{port} {mtu}")));
    command.stdin(Stdio::piped());
    let mut running = Running::start(machine, command);
    let addresses = running.line_after("wire: ");
    let mut words = addresses.split(' ');
    let mut word = || words.next().expect("four addresses");
    // Packets from the view of the outer end.
    let (to, from) = (word().parse().unwrap(), word().parse().unwrap());
    let ends = Ends { from, to, to6: word().parse().unwrap(), from6: word().parse().unwrap() };
    send_from(machine, 3, WARM_UP, ends, mtu.into());
    assert_eq!(running.line_after("wire: "), "warm");
    let before = resident(running.id());
    running.tell("");
    let sent_down = send_from(machine, 4, FRAMES, ends, mtu.into());
    let sent_up: u64 = running.line_after("wire: ").parse().unwrap();
    let after = resident(running.id());
    running.tell("");
    let (status, complaint) = running.end();
    // Some of the frames have the address of another host.
    let complaint: Vec<&str> = complaint
        .lines()
        .filter(|line| !line.starts_with("qdelay: without --nat only this machine"))
        .collect();
    assert_eq!((status.code(), complaint), (Some(0), Vec::new()), "{options}");
    println!("{options}: {before} KiB, then {after} KiB");
    assert!(after <= before + GROWTH, "{options}: from {before} to {after} KiB");
    let value = json(&file);
    let lost = value["audit"]["lost_outside"].as_u64().unwrap();
    let mut malformed = 0;
    for (direction, sent) in [("down", sent_down), ("up", sent_up)] {
        let figures = &value[direction];
        assert_accounted(figures, HOLD);
        let count = |name: &str| figures[name].as_u64().unwrap();
        // Every frame was seen, or is counted by the audit as unseen.
        assert!(sent > u64::from(FRAMES) * 9 / 10, "{options}: {sent}");
        let seen = count("packets_arrived") + count("malformed") + lost;
        assert!(seen >= sent, "{options}: {seen} of {sent}: {value}");
        malformed += count("malformed");
    }
    assert_eq!(value["audit"]["malformed"], malformed);
    assert!(malformed + lost > u64::from(FRAMES) / 4, "{options}: {value}");
}

#[test]
fn every_discipline() {
    let machine = machine();
    let port = dual_echo_server(&machine);
    for qdisc in qdisc::COMPONENTS {
        let name = qdisc.name;
        // Slow enough for the discipline to have something to do.
        let options = format!("--down 200mbit --up 200mbit --qdisc {name} --up-qdisc {name}");
        attack(&machine, port, &options, 1500);
    }
}

#[test]
fn jumbo_frames_and_no_bound() {
    let machine = machine();
    let port = dual_echo_server(&machine);
    for qdisc in ["taildrop", "bode", "fq_codel"] {
        attack(&machine, port, &format!("--qdisc {qdisc} --up-qdisc {qdisc}"), 9000);
    }
    attack(&machine, port, "--down synth-lte-driving --qdisc bode --up 1gbit --delay 2ms --jitter 1ms", 1280);
}

/// A server for both versions of IP; its port.
fn dual_echo_server(machine: &Namespace) -> u16 {
    let listener = machine.run(|| std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    port
}
