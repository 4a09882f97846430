//! Devices that packets are read from and written to, one on each side of a link.
//!
//! A [`Device`] reads and writes whole IP packets, or frames that contain them, and never blocks. [`tun`] creates a device for
//! IP packets, [`packet`] uses the Ethernet frames of an existing interface, and [`fake`] is for tests.

#[cfg(target_os = "linux")]
pub mod copy;
#[cfg(target_os = "linux")]
pub mod fake;
#[cfg(target_os = "linux")]
pub mod offload;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(target_os = "linux")]
pub mod tun;

#[cfg(target_os = "linux")]
use crate::gso::Offload;
pub use qdelay_path::stack::Port;
#[cfg(target_os = "linux")]
use std::io::{self, IoSlice};
#[cfg(target_os = "linux")]
use std::os::fd::BorrowedFd;

/// Maximum number of link-layer bytes in front of an IP packet: an Ethernet header with two VLAN tags.
pub const HEADER_MAX: u16 = 22;

/// The kind of a [`Received`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An IP packet, by the frame's EtherType or the device's type; its header is not checked yet.
    Ip,
    /// A frame with other contents (ARP, LLDP), which bypasses the path.
    Other,
    /// A frame that is longer than the buffer; the bytes read are not usable.
    Oversized,
    /// A packet whose offload header contradicts its contents; the bytes read are not usable.
    Malformed,
}

/// A packet or frame read from a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes used from the start of the buffer, including the link-layer header; for an oversized frame, the frame's length.
    pub bytes: usize,
    /// Link-layer header bytes among `bytes`: 0 for devices without a link layer; 14 for Ethernet, and 4 more for each VLAN tag.
    pub header: u8,
    /// Kind of the packet or frame.
    pub kind: Kind,
    /// True if the sender left the transport checksum to the interface (see [`gso`](crate::gso)).
    pub is_unsummed: bool,
    /// True if the next packet of the device comes from the same super-packet and therefore arrives at the same time.
    pub has_more: bool,
}

impl Received {
    /// Describes an IP packet of `bytes` bytes without a link layer.
    #[inline]
    pub const fn ip(bytes: usize) -> Received {
        Received { bytes, header: 0, kind: Kind::Ip, is_unsummed: false, has_more: false }
    }
}

/// Describes an IP packet of this many bytes without a link layer.
impl From<usize> for Received {
    #[inline]
    fn from(bytes: usize) -> Received {
        Received::ip(bytes)
    }
}

/// Result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The device has accepted the packet.
    Done,
    /// The device's queue was full: the packet is lost outside the path.
    Full,
}

/// A source and sink of packets that never blocks.
#[cfg(target_os = "linux")]
pub trait Device {
    /// Reads one packet into `buffer`; `None` when no packet is waiting. An IP packet without a link layer that is longer than
    /// `buffer` is truncated.
    ///
    /// # Errors
    /// The device is unusable, permanently or for now: its interface is down or removed.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>>;

    /// Kernel time stamp of the packet that [`Device::receive`] returns next, from `CLOCK_REALTIME` in nanoseconds since 1970;
    /// `None` if no packet is waiting or it has no time stamp. The packet stays unread.
    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        None
    }

    /// True if a packet that arrives at the empty device has a time stamp. Packets of a backlog need not have one.
    #[inline]
    fn is_stamped(&self) -> bool {
        false
    }

    /// Writes one packet with complete checksums, including the link-layer header if this device has a link layer.
    ///
    /// # Errors
    /// The device refused the packet, which is lost; it may still accept others.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent>;

    /// Super-packets that this device supports; `None` if it passes only packets of the wire.
    #[inline]
    fn offload(&self) -> Option<Offload> {
        None
    }

    /// Writes a packet or super-packet in parts, of which the first begins with a [`VirtioHeader`](crate::gso::VirtioHeader).
    ///
    /// # Errors
    /// The errors of [`Device::send`]; always fails for a device without [`Device::offload`].
    fn send_joined(&mut self, _parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Super-packets read so far, and the packets that they were split into.
    #[inline]
    fn split(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Packets that the kernel has dropped at this device, in either direction, since the device was made.
    fn kernel_drops(&mut self) -> u64;

    /// The descriptor to poll for packets; `None` for devices of tests.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
}

/// A borrowed device.
#[cfg(target_os = "linux")]
impl<D: Device> Device for &mut D {
    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        (**self).receive(buffer)
    }
    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        (**self).next_stamp()
    }
    #[inline]
    fn is_stamped(&self) -> bool {
        (**self).is_stamped()
    }
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        (**self).send(bytes)
    }
    #[inline]
    fn offload(&self) -> Option<Offload> {
        (**self).offload()
    }
    #[inline]
    fn send_joined(&mut self, parts: &[IoSlice<'_>]) -> io::Result<Sent> {
        (**self).send_joined(parts)
    }
    fn split(&self) -> (u64, u64) {
        (**self).split()
    }
    fn kernel_drops(&mut self) -> u64 {
        (**self).kernel_drops()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        (**self).fd()
    }
}
