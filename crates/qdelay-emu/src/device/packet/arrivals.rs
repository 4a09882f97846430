//! The arrival times of packets of a device that has no time stamps of its own.
//!
//! A thread that sleeps until a packet arrives runs only some time after that: a processor leaves its idle state first, is busy with another
//! thread, or belongs to a virtual machine that has none. A packet socket beside the device sees each packet when the kernel hands it over.
//! The socket's ring keeps the time stamps of the first [`FRAMES`] packets after the device was read empty, in the order in which the device
//! delivers them. The kernel only counts the packets behind them, so that a busy device costs little.

use super::ring::Ring;
use super::{TPACKET_V2, attach, receive_from, set};
use std::io;
use std::os::fd::OwnedFd;

/// Offset of the packet type in a filter of a socket.
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;

/// Minimum number of packets with time stamps after the device was read empty.
pub(crate) const FRAMES: u32 = 256;

/// Time stamps of the packets that left by an interface since the device behind it was read empty.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// The ring, whose next frame is that of the next packet.
    ring: Ring,
    /// Packets read since the device was read empty.
    read: usize,
    /// True if the next frame may be that of another packet than the next, until the device is read empty.
    is_unknown: bool,
    _socket: OwnedFd,
}

impl Arrivals {
    /// Follows the packets that leave by the interface `index`, which may be down, from the first [`Arrivals::clear`] on.
    ///
    /// # Errors
    /// Packet sockets are missing in this kernel, or not permitted.
    pub fn open(index: u32) -> io::Result<Arrivals> {
        let socket = super::raw_socket()?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &TPACKET_V2)?;
        let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        attach(
            &socket,
            &mut [
                instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, 0, 0, PACKET_TYPE),
                instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::PACKET_OUTGOING.into()),
                // One byte of each packet, none of those that the device's owner writes.
                instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 1),
                instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
            ],
        )?;
        let request = Ring::request(1, FRAMES);
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring = Ring::map(&socket, &request)?;
        receive_from(&socket, index as i32)?;
        Ok(Arrivals { ring, read: 0, is_unknown: true, _socket: socket })
    }

    /// Kernel time stamp of the first unread packet, from `CLOCK_REALTIME` in nanoseconds since 1970, if it is known.
    #[inline]
    pub fn stamp(&self) -> Option<u64> {
        if self.is_unknown { None } else { self.ring.stamp().map(|(stamp, _)| stamp) }
    }

    /// Records that a packet, or a whole super-packet, was read.
    #[inline]
    pub fn read(&mut self) {
        if self.is_unknown {
            return;
        }
        if self.ring.stamp().is_none() {
            self.is_unknown = true;
            return;
        }
        self.ring.skip();
        self.read += 1;
        self.is_unknown = self.read == self.ring.frames;
    }

    /// Records that the device was read empty; returns whether frames were in use. Then a packet may have arrived meanwhile, and the device
    /// has to be read once more before it counts as empty; if there is a packet, its time stamp is not known.
    #[inline]
    pub fn clear(&mut self) -> bool {
        self.ring.rewind(self.read);
        self.read = 0;
        let mut is_used = false;
        for _ in 0..self.ring.frames {
            if self.ring.stamp().is_none() {
                break;
            }
            self.ring.give_back();
            is_used = true;
        }
        // So many new packets that the ring is full again.
        self.is_unknown = self.ring.stamp().is_some();
        is_used
    }

    /// Records that a packet was read although the device had been read empty.
    pub fn forget(&mut self) {
        self.is_unknown = true;
    }
}
