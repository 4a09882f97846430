//! Where packets come from and go to: one device on each side of a link.
//!
//! A [`Device`] hands over whole IP packets and never blocks. [`fake`] is one for tests; the real one is a TUN device.

pub mod copy;
pub mod fake;
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

/// What became of a packet that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The device has it.
    Done,
    /// The device had no room for it: the packet is lost outside the path.
    Full,
}

/// A source and sink of IP packets that never blocks.
pub trait Device {
    /// Reads one IP packet into `buffer` and says how many bytes it has; `None` when nothing waits. A packet longer than
    /// `buffer` is cut.
    ///
    /// # Errors
    /// The device cannot be used any more.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes one IP packet.
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
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        (**self).receive(buffer)
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
