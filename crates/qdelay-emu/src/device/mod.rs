//! Where packets come from and go to: one device on each side of a link.
//!
//! A [`Device`] hands over whole IP packets, or frames that carry them, and never blocks. [`tun`] is a device of its own for
//! IP packets, [`packet`] the Ethernet frames of an interface, and [`fake`] one for tests.

pub mod copy;
pub mod fake;
pub mod offload;
pub mod packet;
pub mod tun;

use std::io;
use std::os::fd::BorrowedFd;

/// A side of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Port {
    /// Where the command runs: what it sends goes up.
    Inside = 0,
    /// The rest of the world: what it sends goes down.
    Outside = 1,
}

impl Port {
    /// Both, in the order in which they are served.
    pub const ALL: [Port; 2] = [Port::Inside, Port::Outside];

    /// An index for arrays with one place for each port.
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The other side.
    #[inline]
    pub const fn other(self) -> Port {
        match self {
            Port::Inside => Port::Outside,
            Port::Outside => Port::Inside,
        }
    }
    /// As it is printed: `inside`, `outside`.
    pub const fn name(self) -> &'static str {
        match self {
            Port::Inside => "inside",
            Port::Outside => "outside",
        }
    }
}

/// The most link-layer bytes in front of an IP packet: an Ethernet header with two tags.
pub const HEADER_MAX: u16 = 22;

/// What a [`Received`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An IP packet, or what claims to be one.
    Ip,
    /// A frame that carries something else (ARP, LLDP): it goes around the path.
    Other,
    /// A frame that is longer than the buffer: what was read is of no use.
    Oversized,
}

/// What was read from a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes in the buffer from its beginning, the link layer's included; of an oversized frame, how many it has.
    pub bytes: usize,
    /// Of these, link-layer bytes in front of the IP packet: 0 for IP packets alone; for Ethernet 14, and 4 for each tag.
    pub header: u8,
    /// What it is.
    pub kind: Kind,
}

impl Received {
    /// An IP packet of `bytes` without a link layer.
    #[inline]
    pub const fn ip(bytes: usize) -> Received {
        Received { bytes, header: 0, kind: Kind::Ip }
    }
}

/// An IP packet of so many bytes without a link layer.
impl From<usize> for Received {
    #[inline]
    fn from(bytes: usize) -> Received {
        Received::ip(bytes)
    }
}

/// What became of a packet that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The device has it.
    Done,
    /// The device had no room for it: the packet is lost outside the path.
    Full,
}

/// A source and sink of packets that never blocks.
pub trait Device {
    /// Reads one packet into `buffer` and says what it is; `None` when nothing waits. An IP packet without a link layer that is
    /// longer than `buffer` is cut.
    ///
    /// # Errors
    /// The device cannot be used any more, or not now: its interface is down or gone.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>>;

    /// When the packet that [`Device::receive`] hands over next came, by the kernel's clock of the day (`CLOCK_REALTIME`) in
    /// nanoseconds since 1970; `None` where nothing waits, or the device does not know. Nothing is read by it.
    #[inline]
    fn next_stamp(&mut self) -> Option<u64> {
        None
    }

    /// Writes one packet, with the link layer's header if this device has one.
    ///
    /// # Errors
    /// The packet was refused and is lost; the device may still take others.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent>;

    /// Packets that the kernel has dropped at this device, in either direction, since the device was made.
    fn kernel_drops(&mut self) -> u64;

    /// What to poll for packets; `None` for a device that only tests know.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
}

/// A device that the host keeps.
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
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        (**self).send(bytes)
    }
    fn kernel_drops(&mut self) -> u64 {
        (**self).kernel_drops()
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        (**self).fd()
    }
}
