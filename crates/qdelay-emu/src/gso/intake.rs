//! Reader of a device whose packets have a [`VirtioHeader`]; returns one packet at a time. A frame with a link layer is split by
//! [`Intake::split_frame`], and each of its packets gets the link-layer header of the frame.

use super::header::{GSO_NONE, HEADER_BYTES, NEEDS_CHECKSUM, VirtioHeader};
use super::layout::Layout;
use super::split::{Refusal, Split};
use crate::device::{HEADER_MAX, Kind, Received};
use crate::frame::checksum::{folded, sum};
use std::io::{self, IoSliceMut};

/// Length of the longest IP packet in bytes: the length fields of IP have 16 bits, and the field of IPv6 excludes its own header.
const LONGEST: usize = 65_535 + 40;

/// Splits super-packets as they are read. A read goes straight into the caller's buffer, and what does not fit there into
/// `store`, from which the packets of a super-packet are copied out.
#[derive(Debug)]
pub struct Intake {
    /// The bytes of a super-packet, those read into the caller's buffer first.
    store: Box<[u8]>,
    /// Begin and end of the IP packet in `store`.
    start: usize,
    length: usize,
    /// Link-layer header of each packet.
    link: [u8; HEADER_MAX as usize],
    link_bytes: usize,
    split: Option<Split>,
    supers: u64,
    parts: u64,
}

impl Intake {
    /// Creates a reader for packets of up to `mtu` bytes.
    pub fn new(mtu: usize) -> Intake {
        let store = vec![0; mtu + LONGEST].into_boxed_slice();
        let link = [0; HEADER_MAX as usize];
        Intake { store, start: 0, length: 0, link, link_bytes: 0, split: None, supers: 0, parts: 0 }
    }

    /// True if the next packet comes from a super-packet that has been read.
    pub const fn has_more(&self) -> bool {
        self.split.is_some()
    }
    /// Super-packets split so far.
    pub const fn supers(&self) -> u64 {
        self.supers
    }
    /// Packets from split super-packets so far.
    pub const fn parts(&self) -> u64 {
        self.parts
    }

    /// Copies the next packet into `buffer`: of the super-packet that was read last, or else of a new read. `read` gets buffers for a
    /// packet with its header, and returns its length, or `None` if no packet is waiting.
    ///
    /// # Errors
    /// The error of `read`.
    #[inline]
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        read: impl FnOnce(&mut [IoSliceMut<'_>]) -> io::Result<Option<usize>>,
    ) -> io::Result<Option<Received>> {
        if self.split.is_some() {
            return Ok(Some(self.next(buffer)));
        }
        let mut header = [0; HEADER_BYTES];
        let room = buffer.len().min(self.store.len() - LONGEST);
        let buffers = &mut [
            IoSliceMut::new(&mut header),
            IoSliceMut::new(&mut buffer[..room]),
            IoSliceMut::new(&mut self.store[room..]),
        ];
        let Some(length) = read(buffers)? else { return Ok(None) };
        let header = VirtioHeader::parse(&header);
        let refused = |kind, bytes| Ok(Some(Received { kind, ..Received::ip(bytes) }));
        let Some(length) = length.checked_sub(HEADER_BYTES) else { return refused(Kind::Malformed, 0) };
        if header.gso_type == GSO_NONE {
            if length > room {
                return refused(Kind::Oversized, length);
            }
            let is_unsummed = header.flags & NEEDS_CHECKSUM != 0;
            return Ok(Some(match is_unsummed {
                true => unsummed(&header, &mut buffer[..length]),
                false => Received::ip(length),
            }));
        }
        // A super-packet is split from `store`, because `buffer` receives its first packet.
        self.length = length.min(self.store.len());
        let front = room.min(self.length);
        self.store[..front].copy_from_slice(&buffer[..front]);
        match Split::new(&header, &self.store[..self.length], room) {
            Ok(split) => {
                self.split = Some(split);
                self.supers += 1;
                Ok(Some(self.next(buffer)))
            }
            Err(Refusal::Malformed) => refused(Kind::Malformed, length),
            Err(Refusal::Oversized) => refused(Kind::Oversized, length),
        }
    }

    /// Memory for a frame that [`Intake::split_frame`] splits.
    pub fn store(&mut self) -> &mut [u8] {
        &mut self.store
    }

    /// Begins to split the frame of `length` bytes in the store, whose IP packet begins at `start`, and copies the first packet into
    /// `buffer`, behind the link-layer header `link`. Offsets of `header` count from the IP packet. A frame that cannot be split is
    /// oversized.
    pub fn split_frame(
        &mut self,
        header: &VirtioHeader,
        (start, length): (usize, usize),
        link: &[u8],
        buffer: &mut [u8],
    ) -> Received {
        let oversized = Received { kind: Kind::Oversized, ..Received::ip(length) };
        let (Some(packet), Some(place)) = (self.store.get(start..length), self.link.get_mut(..link.len()))
        else {
            return oversized;
        };
        let Ok(split) = Split::new(header, packet, buffer.len().saturating_sub(link.len())) else {
            return oversized;
        };
        place.copy_from_slice(link);
        (self.start, self.length, self.link_bytes) = (start, length, link.len());
        self.split = Some(split);
        self.supers += 1;
        self.next(buffer)
    }

    /// Copies the next packet of the super-packet into `buffer`.
    #[inline]
    pub fn next(&mut self, buffer: &mut [u8]) -> Received {
        let link_bytes = self.link_bytes;
        let is_fitting = |split: &&mut Split| link_bytes + split.longest() <= buffer.len();
        let Some(split) = self.split.as_mut().filter(is_fitting) else {
            // The buffer is shorter than that of the first packet.
            self.split = None;
            return Received { kind: Kind::Oversized, ..Received::ip(self.length) };
        };
        let (link, rest) = buffer.split_at_mut(link_bytes);
        link.copy_from_slice(&self.link[..link_bytes]);
        let (bytes, has_more) = split.next(&self.store[self.start..self.length], rest);
        self.parts += 1;
        if !has_more {
            self.split = None;
        }
        Received { has_more, is_unsummed: true, header: link_bytes as u8, ..Received::ip(link_bytes + bytes) }
    }
}

/// Describes a single packet whose checksum is incomplete. The checksum of a transport that can be joined stays incomplete; other
/// checksums, such as those of a tunnel's contents, are completed at once.
fn unsummed(header: &VirtioHeader, packet: &mut [u8]) -> Received {
    let start = usize::from(header.checksum_start);
    let field = start + usize::from(header.checksum_offset);
    let received = Received::ip(packet.len());
    if let Some(layout) = Layout::parse(packet)
        && (layout.transport_at, layout.checksum_at()) == (start, field)
    {
        return Received { is_unsummed: true, ..received };
    }
    if packet.get(field..field + 2).is_none() || field < start {
        return Received { kind: Kind::Malformed, ..received };
    }
    // The sender has put the sum of the pseudo-header into the field.
    let checksum = match !folded(sum(&packet[start..])) {
        0 => 0xffff,
        checksum => checksum,
    };
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    received
}
