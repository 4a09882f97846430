//! Refuses packets of the command to hosts beyond this machine, where nothing forwards them.
//!
//! The kernel drops such packets without an answer, and a program that connects would wait for minutes. A thread receives them
//! from a packet socket at the outer device, whose filter passes only packets to addresses that are neither the machine's nor
//! the link's, and answers with ICMP "administratively prohibited" (RFC 1812, section 5.2.7.1; RFC 4443, section 3.1), which
//! travels back through the link. The data thread is not involved.
//!
//! No error is answered that RFC 1122, section 3.2.2, and RFC 4443, section 2.4, exclude: ICMP errors, fragments but the first,
//! and packets to groups. At most [`ANSWERS`] packets are answered in a second.
//!
//! Where the machine forwards packets of the device (`net.ipv4.ip_forward`), they are not refused: their destination may answer,
//! although their source address is the link's.
#![allow(unsafe_code)] // A packet socket with a filter, which no safe library offers.

use super::block::Block;
use super::nat::Family;
use super::netlink::{Netlink, Network};
use crate::frame::checksum::{folded, sum};
use crate::frame::{IPV4_HEADER, IPV6_HEADER};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, socket_with};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread::JoinHandle;

/// Maximum number of answers in a second.
pub const ANSWERS: u32 = 1000;
/// Bytes of a refused packet that are returned: an IPv4 error has at most 576 bytes (RFC 1812, section 4.3.2.3).
const RETURNED: usize = 576 - IPV4_HEADER - ICMP_HEADER;
const ICMP_HEADER: usize = 8;
/// Maximum number of the machine's addresses of each family in the filter: a filter has at most 4096 instructions.
const ADDRESSES: usize = 200;
/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`, which libc lacks.
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// First packet to a host beyond this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It was refused.
    Refused(IpAddr),
    /// The machine forwarded it with the address of the link as its source.
    Forwarded(IpAddr),
}

/// The refusal of packets, until dropped.
#[derive(Debug)]
pub struct Refusal {
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Refusal {
    /// Refuses packets from the outer device with this name and index to addresses beyond its namespace, which is that of the
    /// calling thread. `report` is called once.
    ///
    /// # Errors
    /// Packet sockets are not permitted.
    pub(super) fn start(
        (name, index): (&str, u32),
        block: Block,
        report: impl FnOnce(Beyond) + Send + 'static,
    ) -> io::Result<Self> {
        let mut netlink = Netlink::open()?;
        let socket = packet_socket()?;
        // The filter precedes the device, so that no other packet is queued.
        filter(&socket, block, &netlink.addresses()?)?;
        bind(&socket, index)?;
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut refuser = Refuser {
            device: name.to_string(),
            block,
            netlink,
            socket,
            answers: Answers::open(),
            report: Some(report),
        };
        let thread =
            std::thread::Builder::new().name("refusal".into()).spawn(move || refuser.serve(&stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Refusal {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the thread.
struct Refuser<F> {
    device: String,
    block: Block,
    netlink: Netlink,
    socket: OwnedFd,
    answers: Answers,
    report: Option<F>,
}

impl<F: FnOnce(Beyond)> Refuser<F> {
    /// Serves until the other end of `stopped` is closed.
    fn serve(&mut self, stopped: &OwnedFd) {
        let mut buffer = [0; 2048];
        loop {
            let mut fds = [PollFd::new(stopped, PollFlags::IN), PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) if fds[0].revents().is_empty() => {}
                Err(rustix::io::Errno::INTR) => continue,
                _ => return,
            }
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => self.take(&buffer[..length]),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                // The device is gone.
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, packet: &[u8]) {
        let Some((source, destination)) = refusable(packet) else { return };
        if !self.answers.may_send() {
            return;
        }
        // An address that the machine got after the filter was made.
        let known = self.netlink.addresses().unwrap_or_default();
        if known.iter().any(|(_, network)| network.address == destination) {
            let _ = filter(&self.socket, self.block, &known);
            return;
        }
        let family = if destination.is_ipv4() { Family::Ipv4 } else { Family::Ipv6 };
        let is_forwarded = family.is_forwarding(&self.device);
        if !is_forwarded {
            self.answers.send(source, packet);
        }
        if let Some(report) = self.report.take() {
            report(if is_forwarded { Beyond::Forwarded(destination) } else { Beyond::Refused(destination) });
        }
    }
}

/// Sockets for the answers, and the number of answers in the current second.
struct Answers {
    /// IPv4 and IPv6; `None` if the kernel has no such family.
    sockets: [Option<OwnedFd>; 2],
    second: i64,
    sent: u32,
}

impl Answers {
    fn open() -> Self {
        let open = |family, protocol| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(family, SocketType::RAW, flags, Some(protocol)).ok()
        };
        let sockets = [open(AddressFamily::INET, ipproto::ICMP), open(AddressFamily::INET6, ipproto::ICMPV6)];
        Self { sockets, second: 0, sent: 0 }
    }

    fn may_send(&mut self) -> bool {
        let now = clock_gettime(ClockId::Monotonic).tv_sec;
        if now != self.second {
            (self.second, self.sent) = (now, 0);
        }
        self.sent += 1;
        self.sent <= ANSWERS
    }

    fn send(&self, source: IpAddr, packet: &[u8]) {
        let socket = &self.sockets[usize::from(source.is_ipv6())];
        if let Some(socket) = socket {
            let message = error(source.is_ipv6(), &packet[..packet.len().min(RETURNED)]);
            // A full queue loses the answer, as the network may.
            let _ = rustix::net::sendto(socket, &message, SendFlags::empty(), &SocketAddr::new(source, 0));
        }
    }
}

/// The ICMP error "administratively prohibited" about a packet.
fn error(is_ipv6: bool, packet: &[u8]) -> Vec<u8> {
    // Type and code. The kernel fills in the checksum of ICMPv6.
    let (kind, code) = if is_ipv6 { (1, 1) } else { (3, 13) };
    let mut message = vec![kind, code, 0, 0, 0, 0, 0, 0];
    message.extend(packet);
    if !is_ipv6 {
        let checksum = !folded(sum(&message));
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    message
}

/// Source and destination of a packet that may be answered by an ICMP error.
fn refusable(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let header: &[u8; IPV4_HEADER] = packet.first_chunk()?;
            let is_later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
            let kind = packet.get(usize::from(header[0] & 0x0f) * 4);
            let is_error = header[9] == 1 && !matches!(kind, Some(0 | 8..=10 | 13..=18));
            let address = |from: usize| Some(Ipv4Addr::from(*header.get(from..)?.first_chunk::<4>()?));
            let (source, destination) = (address(12)?, address(16)?);
            let is_one = !destination.is_multicast() && !destination.is_broadcast();
            (!is_later_fragment && !is_error && is_one).then_some((source.into(), destination.into()))
        }
        6 => {
            let header: &[u8; IPV6_HEADER] = packet.first_chunk()?;
            let is_error = header[6] == 58 && packet.get(IPV6_HEADER).is_none_or(|kind| *kind < 128);
            let address = |from: usize| Some(Ipv6Addr::from(*header.get(from..)?.first_chunk::<16>()?));
            let (source, destination) = (address(8)?, address(24)?);
            let is_one = !destination.is_multicast() && !destination.is_unicast_link_local();
            (!is_error && is_one).then_some((source.into(), destination.into()))
        }
        _ => None,
    }
}

/// A socket for the IP packets of a device, without their link-layer header.
fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed. Protocol 0 receives nothing before the socket is bound.
    let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // Kernels before 4.20 lack the option; there, packets to the command are filtered by their addresses only.
    let _ = set(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32);
    Ok(socket)
}

fn bind(socket: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: a structure of integers, for which zero is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    // SAFETY: the address has the length that is passed, and lives through the call.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as u32)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value has the length that is passed, and lives through the call. Each caller passes the type of its option.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const *value).cast(), size_of::<T>() as u32)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the socket receive only packets to addresses that are neither in the block nor among these.
fn filter(socket: &OwnedFd, block: Block, addresses: &[(u32, Network)]) -> io::Result<()> {
    let mut program = program(block, addresses);
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // The kernel copies the program.
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
}

// Instructions of the classic BPF (Linux, `Documentation/networking/filter.rst`).
const LOAD_WORD: u16 = 0x20;
const LOAD_BYTE: u16 = 0x30;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const fn step(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips as many instructions as given: if the comparison holds, and if not.
const fn test(code: u16, k: u32, if_true: u8, if_false: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: if_true, jf: if_false, k }
}

/// The filter's program. A packet that is too short for a load is not passed.
fn program(block: Block, addresses: &[(u32, Network)]) -> Vec<libc::sock_filter> {
    let (pass, ignore) = (step(RETURN, u32::MAX), step(RETURN, 0));
    let mut four = vec![step(LOAD_WORD, 16), test(JUMP_AT_LEAST, 0xe000_0000, 0, 1), ignore];
    let mut six = vec![step(LOAD_BYTE, 24), test(JUMP_EQUAL, 0xff, 0, 1), ignore];
    let own = addresses.iter().map(|(_, network)| network.address);
    for address in own.clone().filter_map(four_of).take(ADDRESSES) {
        four.extend([test(JUMP_EQUAL, address, 0, 1), ignore]);
    }
    for words in own.filter_map(six_of).take(ADDRESSES) {
        let compare = |word: usize, if_false| {
            [step(LOAD_WORD, 24 + 4 * word as u32), test(JUMP_EQUAL, words[word], 0, if_false)]
        };
        let all = [compare(0, 7), compare(1, 5), compare(2, 3), compare(3, 1)];
        six.extend(all.into_iter().flatten().chain([ignore]));
    }
    if let Some(network) = four_of(block.ipv4.address) {
        let mask = u32::MAX << (32 - u32::from(block.ipv4.prefix));
        four.extend([step(AND, mask), test(JUMP_EQUAL, network, 0, 1), ignore]);
    }
    if let Some(words) = block.ipv6.and_then(|network| six_of(network.address)) {
        // The prefix is that of an outermost link: 48 bits.
        six.extend([step(LOAD_WORD, 24), test(JUMP_EQUAL, words[0], 0, 4)]);
        six.extend([step(LOAD_WORD, 28), step(AND, 0xffff_0000), test(JUMP_EQUAL, words[1], 0, 1), ignore]);
    }
    four.push(pass);
    six.push(pass);
    let version = [step(LOAD_BYTE, 0), step(AND, 0xf0)];
    let over_four = [test(JUMP_EQUAL, 0x40, 1, 0), step(JUMP, four.len() as u32)];
    let other = [test(JUMP_EQUAL, 0x60, 1, 0), ignore];
    [&version[..], &over_four, &four, &version, &other, &six].concat()
}

fn four_of(address: IpAddr) -> Option<u32> {
    match address {
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(_) => None,
    }
}

fn six_of(address: IpAddr) -> Option<[u32; 4]> {
    match address {
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            Some([96, 64, 32, 0].map(|shift| (bits >> shift) as u32))
        }
        IpAddr::V4(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, fragment: u16, destination: [u8; 4], payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 100, 64, 0, 2];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.extend(destination);
        packet.extend(payload);
        packet
    }

    #[test]
    fn errors_and_later_fragments_are_not_answered() {
        let to = [192, 0, 2, 1];
        let ends = Some((IpAddr::from([100, 64, 0, 2]), IpAddr::from(to)));
        assert_eq!(refusable(&ipv4(6, 0x4000, to, &[0; 8])), ends);
        assert_eq!(refusable(&ipv4(1, 0, to, &[8, 0])), ends, "an echo request");
        assert_eq!(refusable(&ipv4(17, 0x2000, to, &[0; 8])), ends, "the first fragment");
        for packet in [
            ipv4(1, 0, to, &[3, 1]),
            ipv4(1, 0, to, &[]),
            ipv4(17, 0x2001, to, &[0; 8]),
            ipv4(17, 0, [224, 0, 0, 251], &[0; 8]),
            ipv4(17, 0, [255; 4], &[0; 8]),
            ipv4(17, 0, to, &[])[..19].to_vec(),
            vec![0x60; 39],
            vec![],
        ] {
            assert_eq!(refusable(&packet), None, "{packet:?}");
        }
    }

    #[test]
    fn ipv6_errors_are_not_answered() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 1, 58, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0x20; 16]);
        packet.push(128);
        assert!(refusable(&packet).is_some(), "an echo request");
        packet[40] = 1;
        assert_eq!(refusable(&packet), None);
        packet[6] = 6;
        assert!(refusable(&packet).is_some());
        packet[24] = 0xff;
        assert_eq!(refusable(&packet), None, "a group");
    }

    #[test]
    fn answer_contains_the_packet_and_a_valid_checksum() {
        let message = error(false, &[1, 2, 3]);
        assert_eq!((&message[..2], &message[4..]), (&[3, 13][..], &[0, 0, 0, 0, 1, 2, 3][..]));
        assert_eq!(folded(sum(&message)), 0xffff);
        assert_eq!(error(true, &[9])[..4], [1, 1, 0, 0]);
    }
}
