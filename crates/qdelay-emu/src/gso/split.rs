//! Splits a super-packet into the packets of the wire.

use super::header::{GSO_ECN, GSO_TCPV4, GSO_TCPV6, GSO_UDP, NEEDS_CHECKSUM, VirtioHeader};
use super::layout::{CWR, FIN, FLAGS, Layout, PSH, Transport, long, word};

/// Reason why a super-packet cannot be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The headers contradict each other.
    Malformed,
    /// A packet of the super-packet exceeds the caller's limit.
    Oversized,
}

/// A super-packet that is being split. The caller keeps its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    layout: Layout,
    segment_bytes: usize,
    pseudo: u64,
    identification: u16,
    sequence: u32,
    flags: u8,
    /// Offset of the payload of the next packet.
    at: usize,
    /// Number of packets returned so far.
    count: u16,
}

impl Split {
    /// Prepares to split `packet`, which follows `header`; `room` is the maximum length of a packet in bytes.
    pub fn new(header: &VirtioHeader, packet: &[u8], room: usize) -> Result<Split, Refusal> {
        let layout = Layout::parse(packet).ok_or(Refusal::Malformed)?;
        let expected = match (layout.transport, layout.is_ipv4) {
            (Transport::Tcp, true) => GSO_TCPV4,
            (Transport::Tcp, false) => GSO_TCPV6,
            (Transport::Udp, _) => GSO_UDP,
        };
        let segment_bytes = usize::from(header.segment_bytes);
        // The kernel's header has to agree with the packet: its offsets are used without further checks.
        let is_sound = header.gso_type & !GSO_ECN == expected
            && header.flags & NEEDS_CHECKSUM != 0
            && segment_bytes > 0
            && usize::from(header.header_bytes) <= packet.len()
            && usize::from(header.checksum_start) == layout.transport_at
            && usize::from(header.checksum_offset) == layout.transport.checksum_offset();
        if !is_sound {
            return Err(Refusal::Malformed);
        }
        let is_tcp = layout.transport == Transport::Tcp;
        let split = Split {
            layout,
            segment_bytes,
            pseudo: layout.pseudo_sum(packet),
            identification: if layout.is_ipv4 { word(packet, 4) } else { 0 },
            sequence: if is_tcp { long(packet, layout.transport_at + 4) } else { 0 },
            flags: if is_tcp { packet[layout.transport_at + FLAGS] } else { 0 },
            at: layout.payload_at,
            count: 0,
        };
        if split.longest() > room { Err(Refusal::Oversized) } else { Ok(split) }
    }

    /// Length of the longest packet in bytes.
    #[inline]
    pub const fn longest(&self) -> usize {
        let Layout { payload_at, end, .. } = self.layout;
        let contents = end - payload_at;
        payload_at + if contents < self.segment_bytes { contents } else { self.segment_bytes }
    }

    /// Writes the next packet of `packet` into `buffer`, which has at least the `room` given to [`Split::new`]. Returns the packet's
    /// length, and true if more follow.
    #[inline]
    pub fn next(&mut self, packet: &[u8], buffer: &mut [u8]) -> (usize, bool) {
        let Layout { is_ipv4, transport, transport_at, payload_at, end } = self.layout;
        let until = (self.at + self.segment_bytes).min(end);
        let has_more = until < end;
        let length = payload_at + until - self.at;
        let (headers, contents) = buffer[..length].split_at_mut(payload_at);
        headers.copy_from_slice(&packet[..payload_at]);
        contents.copy_from_slice(&packet[self.at..until]);
        if is_ipv4 {
            headers[4..6].copy_from_slice(&self.identification.wrapping_add(self.count).to_be_bytes());
        }
        if transport == Transport::Tcp {
            let sequence = self.sequence.wrapping_add((self.at - payload_at) as u32);
            headers[transport_at + 4..transport_at + 8].copy_from_slice(&sequence.to_be_bytes());
            let mut flags = self.flags;
            // Flags of the whole super-packet: FIN and PSH belong to the last segment, CWR to the first.
            if has_more {
                flags &= !(FIN | PSH);
            }
            if self.count > 0 {
                flags &= !CWR;
            }
            headers[transport_at + FLAGS] = flags;
        }
        self.layout.write_lengths(headers, until - self.at, self.pseudo);
        self.at = until;
        self.count = self.count.wrapping_add(1);
        (length, has_more)
    }
}
