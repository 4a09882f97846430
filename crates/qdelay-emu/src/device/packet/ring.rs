//! The ring of a packet socket: memory that is shared with the kernel, in frames of equal size (Linux,
//! `Documentation/networking/packet_mmap.rst`, version 2).
//!
//! The kernel fills one frame after the other and sets the frame's status; the reader sets the status back when it has read the
//! frame. If no frame is free, the kernel drops and counts the packet.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes that the kernel puts in front of a frame: `TPACKET2_HDRLEN` and the longest link-layer header, rounded up to a multiple of 16.
const FRAME_OVERHEAD: usize = 96;
/// Minimum size of a ring's frames in bytes.
const FRAME_MIN: usize = 256;
/// Minimum size of a memory block in bytes.
const BLOCK: usize = 1 << 16;
/// Maximum memory of a ring in bytes.
const RING_MAX: usize = 64 << 20;

/// `struct tpacket2_hdr`; behind it, at the next multiple of 16, is a `struct sockaddr_ll`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) status: u32,
    pub(super) bytes: u32,
    pub(super) captured: u32,
    pub(super) link: u16,
    pub(super) network: u16,
    pub(super) seconds: u32,
    pub(super) nanos: u32,
    pub(super) tag: u16,
    pub(super) tag_protocol: u16,
    pub(super) padding: [u8; 4],
}

impl FrameHeader {
    /// Kernel time stamp, from `CLOCK_REALTIME` in nanoseconds since 1970.
    #[inline]
    pub(super) const fn stamp(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.nanos as u64
    }
}

/// `struct tpacket_req`.
#[repr(C)]
pub(super) struct RingRequest {
    block_bytes: u32,
    blocks: u32,
    frame_bytes: u32,
    pub(super) frames: u32,
}

/// The ring: frames of equal size in memory that is shared with the kernel.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    length: usize,
    frame_bytes: usize,
    pub(super) frames: usize,
    /// Index of the next frame to read.
    next: usize,
}

// SAFETY: the mapping belongs to this ring alone and is unmapped with it; the kernel does not depend on which thread reads it.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and there are no references into it.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.length) };
    }
}

/// A filled frame of the ring, owned by the reader until it is given back.
pub(super) struct Waiting<'a> {
    pub(super) header: FrameHeader,
    /// Captured bytes from the link-layer header on.
    pub(super) bytes: &'a [u8],
    pub(super) is_outgoing: bool,
}

impl Ring {
    /// Computes the sizes for `frames` frames of up to `bytes` bytes: more frames to fill whole blocks, or fewer to stay within
    /// [`RING_MAX`].
    pub(super) fn request(bytes: usize, frames: u32) -> RingRequest {
        let frame_bytes = (bytes + FRAME_OVERHEAD).next_power_of_two().max(FRAME_MIN);
        let block_bytes = frame_bytes.max(BLOCK);
        let per_block = block_bytes / frame_bytes;
        let blocks = (frames.max(1) as usize).div_ceil(per_block).min(RING_MAX / block_bytes);
        RingRequest {
            block_bytes: block_bytes as u32,
            blocks: blocks as u32,
            frame_bytes: frame_bytes as u32,
            frames: (blocks * per_block) as u32,
        }
    }

    pub(super) fn map(socket: &OwnedFd, request: &RingRequest) -> io::Result<Ring> {
        let length = request.block_bytes as usize * request.blocks as usize;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let memory = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                socket,
                0,
            )
        }?;
        let memory = NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("no memory was mapped"))?;
        let (frame_bytes, frames) = (request.frame_bytes as usize, request.frames as usize);
        Ok(Ring { memory, length, frame_bytes, frames, next: 0 })
    }

    fn frame(&self) -> NonNull<u8> {
        // SAFETY: `next` is less than `frames`, which all lie within the mapping: blocks are filled with frames.
        unsafe { self.memory.add(self.next * self.frame_bytes) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: each frame begins with its status, aligned to 16 bytes, which both sides use as an atomic word.
        unsafe { AtomicU32::from_ptr(self.frame().as_ptr().cast()) }
    }

    /// The next frame, if the kernel has filled it.
    #[inline]
    pub(super) fn first(&self) -> Option<Waiting<'_>> {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let frame = self.frame();
        // SAFETY: the kernel has filled the header and the address behind it, both within the frame, and does not touch them
        // before the frame is given back. Every bit pattern is valid for either type.
        let (header, address) = unsafe {
            let header: FrameHeader = frame.cast().read();
            let address: libc::sockaddr_ll = frame.add(size_of::<FrameHeader>()).cast().read();
            (header, address)
        };
        let start = usize::from(header.link).min(self.frame_bytes);
        let length = (header.captured as usize).min(self.frame_bytes - start);
        // SAFETY: within the frame, which is the reader's for as long as this borrow of the ring lasts: giving it back needs a
        // mutable borrow.
        let bytes = unsafe { std::slice::from_raw_parts(frame.add(start).as_ptr(), length) };
        Some(Waiting { header, bytes, is_outgoing: address.sll_pkttype == libc::PACKET_OUTGOING })
    }

    /// Kernel time stamp of the next frame, from `CLOCK_REALTIME` in nanoseconds since 1970, and whether the frame was sent
    /// from this machine; `None` if there is no frame.
    #[inline]
    pub(super) fn stamp(&self) -> Option<(u64, bool)> {
        let waiting = self.first()?;
        Some((waiting.header.stamp(), waiting.is_outgoing))
    }

    /// Gives the next frame back to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.skip();
    }

    /// Goes back by `count` frames, at most all.
    #[inline]
    pub(super) fn rewind(&mut self, count: usize) {
        self.next = if count <= self.next { self.next - count } else { self.next + self.frames - count };
    }

    /// Goes on to the next frame, and keeps this one.
    #[inline]
    pub(super) fn skip(&mut self) {
        self.next = if self.next + 1 < self.frames { self.next + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::packet::{HEADER_MAX, MTU_MAX};

    #[test]
    fn structures_have_the_sizes_that_the_kernel_copies() {
        // TPACKET2_HDRLEN is the header, aligned to 16, and the address.
        assert_eq!((size_of::<FrameHeader>(), size_of::<libc::sockaddr_ll>()), (32, 20));
        assert_eq!(size_of::<RingRequest>(), 16);
    }

    #[test]
    fn ring_size_is_a_multiple_of_the_block_size() {
        for (bytes, frames, frame_bytes, made) in [
            (1522, 4096, 2048, 4096),
            (1522, 1, 2048, 32),
            (9022, 33, 16_384, 36),
            (MTU_MAX + usize::from(HEADER_MAX), 10, 131_072, 10),
            (90, 0, 256, 256),
            (161, 40_960, 512, 40_960),
            (MTU_MAX, u32::MAX, 131_072, 512),
        ] {
            let request = Ring::request(bytes, frames);
            assert_eq!((request.frame_bytes, request.frames), (frame_bytes, made));
            assert_eq!(request.blocks * request.block_bytes, request.frames * request.frame_bytes);
            assert!(request.block_bytes.is_power_of_two() && request.block_bytes >= 4096);
        }
    }
}
