//! The Ethernet frames of a network interface: a packet socket with a ring (packet(7); Linux,
//! `Documentation/networking/packet_mmap.rst`, version 2 of the ring's frames).
//!
//! The socket receives every frame that arrives at the interface, whatever its destination address (promiscuous mode while the
//! socket is open), and none of the frames sent through it. The kernel's own stack receives these frames, too: the interface
//! should have no addresses, and forwarding must be off.
//!
//! * A VLAN tag that the kernel or the interface has removed is restored.
//! * A checksum that a sender on the same machine has left to its interface is completed.
//! * A frame that is longer than the reader's buffer is [`Kind::Oversized`]: see [`offload`](super::offload). With `splits` frames of
//!   several packets, which offloads of a sender on the same machine have joined, are split as a [super-packet](crate::gso) of a TUN
//!   device is.
//! * The kernel time-stamps each frame on arrival ([`Device::next_stamp`]), so a frame that is read late keeps its arrival
//!   time.
//! * Frames that the kernel drops because the ring is full are counted by [`Device::kernel_drops`].
//!
//! While the interface is down, reading fails with `ENETDOWN`, and works again when the interface is up. If the interface is
//! removed, this socket stays unusable even if an interface of the same name is created: open another socket.
//!
//! Parameters: the interface; `frames`, the number of frames in the ring ([`FRAMES`]); `bypass` (off): sent frames skip the
//! interface's queue discipline and go straight to its driver; `leaving` (off): the socket receives the frames that leave by the
//! interface instead of those that arrive; `head` (whole frames), number of bytes kept of each frame; `splits` (off): super-packets are
//! split.
#![allow(unsafe_code)] // Options of packet sockets and the ring in shared memory, which no safe library offers.

pub(crate) mod arrivals;
mod ring;
mod supers;

use super::offload::{control_socket, number};
use super::{Device, HEADER_MAX, Kind, Received, Sent};
use crate::frame;
use ring::{FrameHeader, Ring};
use rustix::io::Errno;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use supers::Supers;

/// Default number of frames that the kernel stores until they are read: 100 ms of 1500 bytes at 1.2 Gbit/s. A smaller ring is not faster.
pub const FRAMES: u32 = 10_240;
/// Successive reads of an empty ring after which the socket's pending error is queried. A loop that polls is woken by an error
/// repeatedly; a loop that spins cannot query each time.
const EMPTY_READS_MAX: u32 = 16;

/// Size of the socket's send buffer, which limits frames waiting to be sent, in bytes.
const SEND_BUFFER: c_int = 4 << 20;
/// Maximum MTU of an interface with a ring, in bytes.
const MTU_MAX: usize = 65_535;

/// Constants of `linux/if_packet.h` that libc lacks.
const TP_STATUS_CSUMNOTREADY: u32 = 1 << 3;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const TPACKET_V2: c_int = 1;
const PACKET_IGNORE_OUTGOING: c_int = 23;
const ETH_P_8021Q: u16 = 0x8100;

/// `struct packet_mreq`.
#[repr(C)]
struct Membership {
    interface: c_int,
    kind: u16,
    address_bytes: u16,
    address: [u8; 8],
}

/// `struct tpacket_stats`.
#[repr(C)]
#[derive(Default)]
struct Statistics {
    packets: u32,
    drops: u32,
}

/// Options for opening a [`PacketSocket`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// Frames in the ring; rounded up to whole blocks of memory, and limited to 64 MiB in total.
    pub frames: u32,
    /// Sends frames past the interface's queue discipline.
    pub bypass: bool,
    /// Receives the frames that leave by the interface, after its queue discipline, instead of those that arrive.
    pub leaving: bool,
    /// Number of bytes kept of each frame, from the link-layer header on; `None` for whole frames. Checksums are left as they are.
    pub head: Option<u16>,
    /// Splits super-packets; for whole frames.
    pub splits: bool,
}

impl Default for PacketOptions {
    fn default() -> Self {
        PacketOptions { frames: FRAMES, bypass: false, leaving: false, head: None, splits: false }
    }
}

/// Reason why a packet socket could not be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum PacketError {
    /// No interface of that name.
    NoInterface {
        /// The name.
        name: String,
    },
    /// The interface does not use Ethernet frames.
    NotEthernet {
        /// Name of the interface.
        name: String,
    },
    /// This user may not open packet sockets in this network namespace.
    NotPermitted,
    /// Any other failure.
    Failed {
        /// The operation that failed.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
    },
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketError::NoInterface { name } => {
                write!(f, "there is no network interface called {name}; expected one that `ip link` shows")
            }
            PacketError::NotEthernet { name } => {
                write!(f, "the network interface {name} does not use Ethernet frames; expected one that does")
            }
            PacketError::NotPermitted => f.write_str(
                "packet sockets are not permitted; run as root, or with the capabilities CAP_NET_RAW and CAP_NET_ADMIN",
            ),
            PacketError::Failed { what, error } => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for PacketError {}

/// Packet socket with a ring, for the Ethernet frames of one interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
    name: String,
    index: u32,
    mtu: u32,
    /// Receives leaving frames, see [`PacketOptions::leaving`].
    leaving: bool,
    /// Bytes kept of each frame, see [`PacketOptions::head`].
    head: Option<u16>,
    /// Frames of several packets, see [`PacketOptions::splits`].
    supers: Option<Supers>,
    /// Number of kernel drops up to the last query.
    drops: u64,
    /// Number of successive reads that found the ring empty.
    empty_reads: u32,
}

impl PacketSocket {
    /// Opens a socket for the frames of `interface`, in the network namespace of the calling thread, with the options' defaults.
    /// The interface may be down.
    ///
    /// # Errors
    /// A [`PacketError`], which names the cause.
    pub fn open(interface: &str) -> Result<PacketSocket, PacketError> {
        PacketSocket::open_with(interface, PacketOptions::default())
    }

    /// Opens a socket as [`PacketSocket::open`] does, with options.
    ///
    /// # Errors
    /// A [`PacketError`], which names the cause.
    pub fn open_with(interface: &str, options: PacketOptions) -> Result<PacketSocket, PacketError> {
        let failed = |what| move |error| PacketError::Failed { what, error };
        let control = control_socket().map_err(failed("opening a socket"))?;
        let about = |request| {
            number(&control, interface, request).map_err(|error| match error.raw_os_error() {
                Some(libc::ENODEV) => PacketError::NoInterface { name: interface.to_string() },
                _ => PacketError::Failed { what: "querying the network interface", error },
            })
        };
        let index = about(libc::SIOCGIFINDEX)?;
        // The type of the interface is given by the family of its hardware address.
        if about(libc::SIOCGIFHWADDR)? as u16 != libc::ARPHRD_ETHER {
            return Err(PacketError::NotEthernet { name: interface.to_string() });
        }
        let mtu = about(libc::SIOCGIFMTU)? as u32;
        let socket = raw_socket().map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => PacketError::NotPermitted,
            _ => PacketError::Failed { what: "opening a packet socket", error },
        })?;
        prepare(&socket, options).map_err(failed("preparing the packet socket"))?;
        let whole = (mtu as usize).min(MTU_MAX) + usize::from(HEADER_MAX);
        let request =
            Ring::request(options.head.map_or(whole, |head| whole.min(head.into())), options.frames);
        let ring = set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
            .and_then(|()| Ring::map(&socket, &request))
            .map_err(failed("creating the ring of the packet socket"))?;
        bind(&socket, index).map_err(failed("binding the packet socket"))?;
        let supers = options.splits.then(|| Supers::open(index, whole)).transpose();
        let supers = supers.map_err(failed("opening a packet socket for super-packets"))?;
        Ok(PacketSocket {
            socket,
            ring,
            name: interface.to_string(),
            index: index as u32,
            mtu,
            leaving: options.leaving,
            head: options.head,
            supers,
            drops: 0,
            empty_reads: 0,
        })
    }

    /// The interface's name when the socket was opened.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The interface's index in its namespace.
    pub const fn index(&self) -> u32 {
        self.index
    }
    /// The interface's MTU in bytes when the socket was opened: of the IP packet, without the Ethernet header.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }
    /// Number of frames in the ring.
    pub const fn frames(&self) -> usize {
        self.ring.frames
    }

    /// Returns the socket's pending error, if any.
    #[cold]
    fn check(&mut self) -> io::Result<()> {
        match rustix::net::sockopt::socket_error(&self.socket)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn raw_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed. Protocol 0 receives nothing before the socket is bound.
    let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

fn prepare(socket: &OwnedFd, options: PacketOptions) -> io::Result<()> {
    set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V2)?;
    // Kernels before 4.20 lack this option; there, sent frames are recognised by their packet type.
    if !options.leaving {
        let _ = set(socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32);
    }
    // Without the permission the default buffer size stays.
    let _ = set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
    if options.bypass {
        set(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)?;
    }
    Ok(())
}

/// Receives every frame of the interface `index` from now on.
fn bind(socket: &OwnedFd, index: c_int) -> io::Result<()> {
    let all = Membership {
        interface: index,
        kind: libc::PACKET_MR_PROMISC as u16,
        address_bytes: 0,
        address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
    receive_from(socket, index)
}

/// Receives the frames of the interface `index` that are addressed to this machine or leave it, from now on.
fn receive_from(socket: &OwnedFd, index: c_int) -> io::Result<()> {
    // SAFETY: a structure of integers, for which zero is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    // SAFETY: the address has the length that is passed, and lives through the call.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as u32)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets only frames that `program` accepts reach the socket.
fn attach(socket: &OwnedFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // The kernel copies the program.
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let data: *const c_void = (&raw const *value).cast();
    // SAFETY: the value has the length that is passed, and lives through the call. Each caller passes the type of its option.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, data, size_of::<T>() as u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// VLAN tag that the kernel or the interface has removed from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameTag {
    protocol: u16,
    tag: u16,
}

impl FrameTag {
    /// Length of a tag with its protocol.
    const BYTES: usize = 4;

    #[inline]
    fn from_header(header: &FrameHeader) -> Option<FrameTag> {
        if header.status & TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let has_protocol = header.status & TP_STATUS_VLAN_TPID_VALID != 0;
        let protocol = if has_protocol { header.tag_protocol } else { ETH_P_8021Q };
        Some(FrameTag { protocol, tag: header.tag })
    }

    /// Copies `bytes`, which begin with a frame or its header, into the beginning of `to`, with the tag restored; returns the length. `None`
    /// if `to` is too short.
    #[inline]
    fn restore(tag: Option<FrameTag>, bytes: &[u8], to: &mut [u8]) -> Option<usize> {
        let added = if tag.is_some() { FrameTag::BYTES } else { 0 };
        let to = to.get_mut(..bytes.len() + added)?;
        match (tag, bytes.split_at_checked(12)) {
            // The tag belongs behind the two addresses (IEEE 802.1Q).
            (Some(FrameTag { protocol, tag }), Some((addresses, rest))) => {
                to[..12].copy_from_slice(addresses);
                to[12..14].copy_from_slice(&protocol.to_be_bytes());
                to[14..16].copy_from_slice(&tag.to_be_bytes());
                to[16..].copy_from_slice(rest);
            }
            _ => to[..bytes.len()].copy_from_slice(bytes),
        }
        Some(to.len())
    }
}

/// A frame of this length that cannot be read.
#[inline]
fn oversized(bytes: usize) -> Received {
    Received { kind: Kind::Oversized, ..Received::ip(bytes) }
}

/// Copies the frame into `buffer` as it was on the wire, and returns its length and kind.
#[inline]
fn copy_out(header: &FrameHeader, bytes: &[u8], buffer: &mut [u8]) -> Received {
    let tag = FrameTag::from_header(header);
    let whole = header.bytes as usize + tag.map_or(0, |_| FrameTag::BYTES);
    // The kernel truncated a frame that did not fit into its slot of the ring.
    if bytes.len() < header.bytes as usize {
        return oversized(whole);
    }
    let Some(length) = FrameTag::restore(tag, bytes, buffer) else { return oversized(whole) };
    let frame = &mut buffer[..length];
    let (link, kind) = frame::link_layer(frame);
    if header.status & TP_STATUS_CSUMNOTREADY != 0 && kind == Kind::Ip {
        frame::complete_checksum(frame.get_mut(usize::from(link)..).unwrap_or(&mut []));
    }
    Received { header: link, kind, ..Received::ip(whole) }
}

/// Copies the first bytes of the frame into `buffer`, and returns their number and kind.
#[inline]
fn copy_head(bytes: &[u8], head: usize, buffer: &mut [u8]) -> Received {
    let kept = bytes.len().min(head).min(buffer.len());
    buffer[..kept].copy_from_slice(&bytes[..kept]);
    let (header, kind) = frame::link_layer(&buffer[..kept]);
    Received { header, kind, ..Received::ip(kept) }
}

impl Device for PacketSocket {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if let Some(supers) = &mut self.supers
            && supers.has_more()
        {
            return Ok(Some(supers.next(buffer)));
        }
        while let Some(waiting) = self.ring.first() {
            let received =
                (waiting.is_outgoing == self.leaving).then(|| match (self.head, &mut self.supers) {
                    (Some(head), _) => copy_head(waiting.bytes, head.into(), buffer),
                    (None, Some(supers)) if supers.has(&waiting.header) => {
                        supers.take(&waiting.header, waiting.bytes, buffer)
                    }
                    (None, _) => copy_out(&waiting.header, waiting.bytes, buffer),
                });
            self.ring.give_back();
            if received.is_some() {
                self.empty_reads = 0;
                return Ok(received);
            }
        }
        self.empty_reads += 1;
        if self.empty_reads >= EMPTY_READS_MAX {
            self.empty_reads = 0;
            self.check()?;
        }
        Ok(None)
    }

    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        loop {
            match self.ring.stamp()? {
                (stamp, is_outgoing) if is_outgoing == self.leaving => return Some(stamp),
                _ => self.ring.give_back(),
            }
        }
    }

    #[inline]
    fn is_stamped(&self) -> bool {
        true
    }

    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        loop {
            match rustix::net::send(&self.socket, bytes, rustix::net::SendFlags::DONTWAIT) {
                Ok(_) => return Ok(Sent::Done),
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(Sent::Full),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn split(&self) -> (u64, u64) {
        self.supers.as_ref().map_or((0, 0), Supers::split)
    }

    fn kernel_drops(&mut self) -> u64 {
        let mut statistics = Statistics::default();
        let mut length = size_of::<Statistics>() as u32;
        // SAFETY: the kernel writes at most `length` bytes, which the structure has.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        // The kernel resets its counter with each query.
        if result == 0 {
            self.drops += u64::from(statistics.drops);
        }
        self.drops
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(status: u32, bytes: usize, tag: u16, tag_protocol: u16) -> FrameHeader {
        let bytes = bytes as u32;
        FrameHeader {
            status,
            bytes,
            captured: bytes,
            link: 0,
            network: 0,
            seconds: 0,
            nanos: 0,
            tag,
            tag_protocol,
            padding: [0; 4],
        }
    }

    #[test]
    fn structures_have_the_sizes_that_the_kernel_copies() {
        assert_eq!((size_of::<Membership>(), size_of::<Statistics>()), (16, 8));
    }

    #[test]
    fn vlan_tags_are_restored() {
        let mut plain = vec![1; 12];
        plain.extend_from_slice(&[0x08, 0x00, 0x45]);
        plain.resize(60, 7);
        let mut buffer = [0; 64];
        let received = copy_out(&header(0, 60, 5, 6), &plain, &mut buffer);
        assert_eq!(received, Received { header: 14, ..Received::ip(60) });
        assert_eq!(buffer[..60], plain);
        for (status, protocol) in [
            (TP_STATUS_VLAN_VALID, [0x81, 0x00]),
            (TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID, [0x88, 0xa8]),
        ] {
            let received = copy_out(&header(status, 60, 0x2005, 0x88a8), &plain, &mut buffer);
            assert_eq!(received, Received { header: 18, ..Received::ip(64) });
            assert_eq!((&buffer[..12], &buffer[16..]), (&plain[..12], &plain[12..]));
            assert_eq!((&buffer[12..14], &buffer[14..16]), (&protocol[..], &[0x20, 0x05][..]));
        }
    }

    #[test]
    fn frames_longer_than_the_buffer_are_oversized() {
        let bytes = [0; 65];
        let mut buffer = [0; 64];
        assert_eq!(copy_out(&header(0, 65, 0, 0), &bytes, &mut buffer).kind, Kind::Oversized);
        let tagged = header(TP_STATUS_VLAN_VALID, 64, 0, 0);
        let expected = Received { kind: Kind::Oversized, ..Received::ip(68) };
        assert_eq!(copy_out(&tagged, &bytes[..64], &mut buffer), expected);
        // Truncated by the kernel because it did not fit into its slot of the ring.
        assert_eq!(copy_out(&header(0, 9000, 0, 0), &bytes[..60], &mut buffer).kind, Kind::Oversized);
        assert_eq!(copy_out(&header(0, 5, 0, 0), &bytes[..5], &mut buffer).kind, Kind::Other);
    }

    #[test]
    fn heads_are_cut_to_their_length() {
        let mut bytes = [7; 60];
        bytes[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        let mut buffer = [0; 64];
        let received = copy_head(&bytes, 40, &mut buffer);
        assert_eq!(received, Received { header: 14, ..Received::ip(40) });
        assert_eq!((&buffer[..40], buffer[40]), (&bytes[..40], 0));
        assert_eq!(copy_head(&bytes, 90, &mut buffer).bytes, 60, "a short frame");
        assert_eq!(copy_head(&bytes[..5], 40, &mut buffer).kind, Kind::Other);
    }

    #[test]
    fn unusable_interfaces_are_named_in_the_error() {
        let error = PacketSocket::open("no-such-one").expect_err("none");
        assert!(error.to_string().contains("no network interface called no-such-one"), "{error}");
        let error = PacketSocket::open("lo").expect_err("no Ethernet");
        assert!(matches!(error, PacketError::NotEthernet { .. }), "{error}");
    }
}
