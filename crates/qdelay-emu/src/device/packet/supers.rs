//! Super-packets of an interface, which a ring cannot hold: its frames have the size of one packet, and no [`VirtioHeader`] that says how
//! to split a longer one.
//!
//! A second socket without a ring receives only the frames that are longer than `limit`, each behind its [`VirtioHeader`]
//! (`PACKET_VNET_HDR`). The ring has the first bytes of these frames too, with their time stamps, and so keeps all frames in order: when
//! the reader comes to one, it takes the whole frame from the second socket. The two are paired by length and first bytes; where they
//! differ, one of the sockets has lost its frame, and the time stamps say which.
//!
//! A ring with `PACKET_VNET_HDR` would need no second socket. But version 2 of the ring stays blocked for ever after a frame that has no
//! such header, such as SCTP's (Linux 6.18, `tpacket_rcv`): the mark of its slot stays set.

use super::ring::FrameHeader;
use super::{FrameTag, attach, bind, oversized, raw_socket, set};
use crate::device::{HEADER_MAX, Kind, Received};
use crate::frame;
use crate::gso::{HEADER_BYTES, Intake, NEEDS_CHECKSUM, VirtioHeader};
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Size of the socket's receive buffer, in bytes: some hundred super-packets.
const RECEIVE_BUFFER: c_int = 64 << 20;
/// Room for one control message with a time stamp.
const CONTROL_BYTES: usize = 64;

/// Frames longer than a packet, and the packets that they are split into.
#[derive(Debug)]
pub(super) struct Supers {
    socket: OwnedFd,
    /// Longest frame of a single packet in bytes, as the ring has it.
    limit: usize,
    intake: Intake,
    /// Frame in the intake's store that is not paired yet.
    pending: Option<Pending>,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    header: VirtioHeader,
    length: usize,
    /// Kernel time stamp in nanoseconds since 1970; 0 without one.
    stamp: u64,
}

impl Supers {
    /// Receives frames of the interface `index` that are longer than `limit` from now on. Call it when the ring's socket is bound: the
    /// kernel passes each frame to the socket that was bound last first, so that this one has a frame when the ring has it.
    ///
    /// # Errors
    /// No more files, or no permission.
    pub fn open(index: c_int, limit: usize) -> io::Result<Supers> {
        let socket = raw_socket()?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)?;
        let _ = set(&socket, libc::SOL_PACKET, super::PACKET_IGNORE_OUTGOING, &1_i32);
        // Without the permission the default buffer size stays.
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &RECEIVE_BUFFER);
        filter(&socket, limit)?;
        bind(&socket, index)?;
        Ok(Supers { socket, limit, intake: Intake::new(usize::from(HEADER_MAX)), pending: None })
    }

    /// True if a frame of this length is here.
    #[inline]
    pub const fn has(&self, header: &FrameHeader) -> bool {
        header.bytes as usize > self.limit
    }

    /// True if the next packet comes from a frame that is being split.
    #[inline]
    pub const fn has_more(&self) -> bool {
        self.intake.has_more()
    }

    /// The next packet of the frame that is being split.
    #[inline]
    pub fn next(&mut self, buffer: &mut [u8]) -> Received {
        self.intake.next(buffer)
    }

    /// Frames split so far, and the packets that they were split into.
    pub const fn split(&self) -> (u64, u64) {
        (self.intake.supers(), self.intake.parts())
    }

    /// Copies the first packet of the frame into `buffer`, of which the ring has `header` and the bytes `captured`.
    pub fn take(&mut self, header: &FrameHeader, captured: &[u8], buffer: &mut [u8]) -> Received {
        let tag = FrameTag::from_header(header);
        let lost = oversized(header.bytes as usize + tag.map_or(0, |_| FrameTag::BYTES));
        match self.pair(header, captured) {
            Some(Pending { header, length, .. }) => {
                first_packet(&mut self.intake, &header, length, tag, buffer).unwrap_or(lost)
            }
            None => lost,
        }
    }

    /// The frame of which the ring has `header` and the first bytes, now in the intake's store; `None` if it was lost, or if
    /// the kernel cannot describe it.
    fn pair(&mut self, header: &FrameHeader, captured: &[u8]) -> Option<Pending> {
        loop {
            let pending = match self.pending.take() {
                Some(pending) => pending,
                None => self.read()?,
            };
            let first = captured.len().min(header.bytes as usize);
            let is_it = pending.length == header.bytes as usize
                && self.intake.store().get(..first) == captured.get(..first);
            if is_it {
                return Some(pending);
            }
            // An older frame is one that the ring has lost.
            if pending.stamp >= header.stamp() {
                self.pending = Some(pending);
                return None;
            }
        }
    }

    /// Reads a frame into the intake's store.
    fn read(&mut self) -> Option<Pending> {
        let mut header = [0; HEADER_BYTES];
        let mut control = [0_u64; CONTROL_BYTES / 8];
        loop {
            let store = self.intake.store();
            let mut parts = [
                libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header.len() },
                libc::iovec { iov_base: store.as_mut_ptr().cast(), iov_len: store.len() },
            ];
            // SAFETY: a structure of integers and pointers, for which zero is a valid value.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len() as _;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = CONTROL_BYTES as _;
            // SAFETY: the message's pointers are to memory of the lengths given with them, which lives through the call.
            let result =
                unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
            let Ok(length) = usize::try_from(result) else {
                match io::Error::last_os_error().raw_os_error() {
                    // The interface was down for a while; the ring's socket reports it.
                    Some(libc::EINTR | libc::ENETDOWN) => continue,
                    // Also EINVAL: the kernel has discarded a frame that it cannot describe.
                    _ => return None,
                }
            };
            let length = length.saturating_sub(HEADER_BYTES);
            // A truncated frame is paired with none.
            let length = if message.msg_flags & libc::MSG_TRUNC == 0 { length } else { usize::MAX };
            return Some(Pending { header: VirtioHeader::parse(&header), length, stamp: stamp(&message) });
        }
    }
}

/// Copies the first packet of the frame of `length` bytes in the intake's store into `buffer`; `None` if the frame cannot be split.
fn first_packet(
    intake: &mut Intake,
    header: &VirtioHeader,
    length: usize,
    tag: Option<FrameTag>,
    buffer: &mut [u8],
) -> Option<Received> {
    let frame = intake.store().get(..length)?;
    let (start, kind) = frame::link_layer(frame);
    let start = usize::from(start);
    let (headers, packet) = frame.split_at_checked(start).filter(|_| kind == Kind::Ip)?;
    let mut link = [0; HEADER_MAX as usize];
    let link_bytes = FrameTag::restore(tag, headers, &mut link)?;
    if !header.is_super() {
        // A single packet, longer than the interface's MTU.
        let place = buffer.get_mut(..link_bytes + packet.len())?;
        place[..link_bytes].copy_from_slice(&link[..link_bytes]);
        place[link_bytes..].copy_from_slice(packet);
        if header.flags & NEEDS_CHECKSUM != 0 {
            frame::complete_checksum(&mut place[link_bytes..]);
        }
        return Some(Received { header: link_bytes as u8, ..Received::ip(link_bytes + length - start) });
    }
    // Offsets count from the frame. Some kernels count a tag, too, that they have removed from it.
    let offsets = [start, start + FrameTag::BYTES];
    let offsets = if tag.is_some() { &offsets[..] } else { &offsets[..1] };
    offsets.iter().find_map(|offset| {
        let of_packet = VirtioHeader {
            header_bytes: header.header_bytes.saturating_sub(start as u16),
            checksum_start: header.checksum_start.wrapping_sub(*offset as u16),
            ..*header
        };
        let received = intake.split_frame(&of_packet, (start, length), &link[..link_bytes], buffer);
        (received.kind == Kind::Ip).then_some(received)
    })
}

/// Kernel time stamp of a message that was read; 0 without one.
fn stamp(message: &libc::msghdr) -> u64 {
    // SAFETY: the kernel has filled the control messages of `message`, whose buffer lives as long as it; the macros stay within them.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = control.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time: libc::timespec = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
                return time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            }
            control = libc::CMSG_NXTHDR(message, control);
        }
    }
    0
}

/// Lets only frames that are longer than `limit` reach the socket.
fn filter(socket: &OwnedFd, limit: usize) -> io::Result<()> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 0, 1, limit as u32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    attach(socket, &mut program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gso::GSO_TCPV4;

    /// Header of a frame of TCP segments of 1000 bytes.
    const HEADER: VirtioHeader = VirtioHeader {
        flags: NEEDS_CHECKSUM,
        gso_type: GSO_TCPV4,
        header_bytes: 54,
        segment_bytes: 1000,
        checksum_start: 34,
        checksum_offset: 16,
    };

    /// Frame of a TCP segment with `payload` bytes, without the tag that the kernel has removed.
    fn frame(payload: usize) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend_from_slice(&[0x08, 0x00]);
        let mut packet = vec![0; 40];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(40 + payload as u16).to_be_bytes());
        packet[9] = 6;
        // Sequence number 1000, and a header of 20 bytes.
        packet[24..28].copy_from_slice(&1000_u32.to_be_bytes());
        packet[32] = 0x50;
        packet.extend((0..payload).map(|at| at as u8));
        frame.extend(packet);
        frame
    }

    #[test]
    fn each_packet_has_the_tag_of_the_frame() {
        let frame = frame(2500);
        for (tag, counted) in [(None, 0), (Some(7), 0), (Some(7), 4)] {
            let tag = tag.map(|tag| FrameTag { protocol: 0x8100, tag });
            let mut intake = Intake::new(usize::from(HEADER_MAX));
            intake.store()[..frame.len()].copy_from_slice(&frame);
            let header = VirtioHeader { checksum_start: HEADER.checksum_start + counted, ..HEADER };
            let mut buffer = [0; 1522];
            let mut received = first_packet(&mut intake, &header, frame.len(), tag, &mut buffer);
            let link = if tag.is_some() { 18 } else { 14 };
            for (number, payload) in [(0, 1000), (1, 1000), (2, 500)] {
                let has_more = number < 2;
                let expected = Received {
                    header: link as u8,
                    has_more,
                    is_unsummed: true,
                    ..Received::ip(link + 40 + payload)
                };
                assert_eq!(received, Some(expected), "{tag:?} {number}");
                let (frame_header, packet) = buffer[..link + 40 + payload].split_at(link);
                assert_eq!(
                    (&frame_header[..12], &frame_header[link - 2..]),
                    (&[2; 12][..], &[0x08, 0x00][..])
                );
                assert!(tag.is_none() || frame_header[12..16] == [0x81, 0x00, 0, 7]);
                assert_eq!(packet[2..4], (40 + payload as u16).to_be_bytes());
                assert_eq!(packet[24..28], (1000 + 1000 * number as u32).to_be_bytes());
                assert_eq!(packet[40], (1000 * number) as u8);
                received = has_more.then(|| intake.next(&mut buffer));
            }
            assert_eq!((intake.supers(), intake.parts(), intake.has_more()), (1, 3, false));
        }
    }

    #[test]
    fn frames_that_cannot_be_split_are_refused() {
        let frame = frame(2500);
        let mut intake = Intake::new(usize::from(HEADER_MAX));
        intake.store()[..frame.len()].copy_from_slice(&frame);
        let mut refused = |header: VirtioHeader, length| {
            first_packet(&mut intake, &header, length, None, &mut [0; 1522]).is_none()
        };
        assert!(!refused(HEADER, frame.len()));
        // Segments longer than a packet, the checksum of another header (a tunnel), another transport, a truncated frame.
        assert!(refused(VirtioHeader { segment_bytes: 1500, ..HEADER }, frame.len()));
        assert!(refused(VirtioHeader { checksum_start: 84, ..HEADER }, frame.len()));
        assert!(refused(VirtioHeader { gso_type: 3, ..HEADER }, frame.len()));
        assert!(refused(HEADER, 20));
        assert!(refused(HEADER, usize::MAX));
        // One packet of 2540 bytes.
        assert!(refused(VirtioHeader::default(), frame.len()));
    }
}
