//! Joins successive packets of a flow into a super-packet: the inverse of splitting.

use super::header::{GSO_TCPV4, GSO_TCPV6, GSO_UDP, HEADER_BYTES, NEEDS_CHECKSUM, VirtioHeader};
use super::layout::{CWR, FIN, FLAGS, HEADERS_MAX, Layout, PSH, RST, SYN, Transport, URG, long, word};
use crate::frame::checksum::{folded, sum};

/// Maximum number of packets in a super-packet, above the 45 packets of 1500 bytes that fit. Linux accepts up to 128 UDP datagrams.
pub const JOINED_MAX: usize = 64;
/// Length of the longest IP packet in bytes.
const LONGEST: usize = 65_535;

/// Successive packets that are written as one. Every packet in a run is unsummed: joining would hide a wrong checksum.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    layout: Layout,
    /// Payload of each packet but the last, in bytes.
    segment_bytes: usize,
    payload_bytes: usize,
    count: usize,
    /// TCP flags of the last packet.
    flags: u8,
    sequence: u32,
    is_closed: bool,
}

/// The beginning of a super-packet as written: a [`VirtioHeader`] and the headers of IP and transport. The payloads of its
/// packets follow, each from offset [`Joined::payload_at`] on.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    bytes: [u8; HEADER_BYTES + HEADERS_MAX],
    /// Offset of the payload in each packet.
    pub payload_at: usize,
}

impl Joined {
    /// The bytes of both headers.
    #[inline]
    pub fn headers(&self) -> &[u8] {
        &self.bytes[..HEADER_BYTES + self.payload_at]
    }
}

impl Run {
    /// Begins a run with one unsummed packet; `None` if the transport is neither TCP nor UDP.
    #[inline]
    pub fn begin(packet: &[u8]) -> Option<Run> {
        let layout = Layout::parse(packet)?;
        let payload_bytes = layout.end - layout.payload_at;
        let (flags, sequence) = match layout.transport {
            Transport::Tcp => {
                let sequence = long(packet, layout.transport_at + 4);
                (packet[layout.transport_at + FLAGS], sequence.wrapping_add(payload_bytes as u32))
            }
            Transport::Udp => (0, 0),
        };
        let is_closed = payload_bytes == 0
            || flags & (FIN | SYN | RST | PSH | URG | CWR) != 0
            || !has_good_header(&layout, packet);
        Some(Run {
            layout,
            segment_bytes: payload_bytes,
            payload_bytes,
            count: 1,
            flags,
            sequence,
            is_closed,
        })
    }

    /// Number of packets in the run.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Adds an unsummed `packet` if it continues the run that begins with `first`. UDP datagrams are only joined with `udp`.
    #[inline]
    pub fn add(&mut self, first: &[u8], packet: &[u8], udp: bool) -> bool {
        let own = &self.layout;
        if self.is_closed || self.count >= JOINED_MAX || (own.transport == Transport::Udp && !udp) {
            return false;
        }
        let Some(layout) = Layout::parse(packet) else { return false };
        let payload_bytes = layout.end - layout.payload_at;
        let is_like = (layout.is_ipv4, layout.transport, layout.transport_at, layout.payload_at)
            == (own.is_ipv4, own.transport, own.transport_at, own.payload_at)
            && payload_bytes > 0
            && payload_bytes <= self.segment_bytes
            && own.payload_at + self.payload_bytes + payload_bytes <= LONGEST;
        if !is_like || !self.follows(first, packet) || !has_good_header(&layout, packet) {
            return false;
        }
        if own.transport == Transport::Tcp {
            self.flags = packet[own.transport_at + FLAGS];
            self.sequence = self.sequence.wrapping_add(payload_bytes as u32);
        }
        self.is_closed = payload_bytes < self.segment_bytes || self.flags & (FIN | PSH) != 0;
        self.payload_bytes += payload_bytes;
        self.count += 1;
        true
    }

    /// True if the headers of `packet`, which has the layout of `first`, are those of the next packet of the run.
    #[inline]
    fn follows(&self, first: &[u8], packet: &[u8]) -> bool {
        let Layout { is_ipv4, transport, transport_at: at, payload_at, .. } = self.layout;
        let same = |range: std::ops::Range<usize>| first[range.clone()] == packet[range];
        // All fields but length, identification and checksum have to be equal.
        let is_ip = match is_ipv4 {
            true => {
                let next = word(first, 4).wrapping_add(self.count as u16);
                word(packet, 4) == next && same(0..2) && same(6..10) && same(12..at)
            }
            false => same(0..4) && same(6..at),
        };
        // All fields but sequence number, FIN and PSH of TCP, the length of UDP and the checksum have to be equal.
        is_ip
            && match transport {
                Transport::Tcp => {
                    let difference = first[at + FLAGS] ^ packet[at + FLAGS];
                    long(packet, at + 4) == self.sequence
                        && difference & !(FIN | PSH) == 0
                        && same(at..at + 4)
                        && same(at + 8..at + FLAGS)
                        && same(at + 14..at + 16)
                        && same(at + 18..payload_at)
                }
                Transport::Udp => same(at..at + 4),
            }
    }

    /// The headers of the super-packet, or of the only packet; `first` is the first packet of the run.
    #[inline]
    pub fn headers(&self, first: &[u8]) -> Joined {
        let layout = &self.layout;
        let mut bytes = [0; HEADER_BYTES + HEADERS_MAX];
        let headers = &mut bytes[HEADER_BYTES..HEADER_BYTES + layout.payload_at];
        headers.copy_from_slice(&first[..layout.payload_at]);
        let pseudo = layout.pseudo_sum(first);
        let mut header = VirtioHeader {
            flags: NEEDS_CHECKSUM,
            header_bytes: layout.payload_at as u16,
            checksum_start: layout.transport_at as u16,
            checksum_offset: layout.transport.checksum_offset() as u16,
            ..VirtioHeader::default()
        };
        // A single packet keeps its lengths; only its checksum field has to hold the sum of the pseudo-header.
        if self.count == 1 {
            layout.write_pseudo_sum(headers, self.payload_bytes, pseudo);
        } else {
            if layout.transport == Transport::Tcp {
                headers[layout.transport_at + FLAGS] |= self.flags & (FIN | PSH);
            }
            layout.write_lengths(headers, self.payload_bytes, pseudo);
            header.gso_type = match (layout.transport, layout.is_ipv4) {
                (Transport::Tcp, true) => GSO_TCPV4,
                (Transport::Tcp, false) => GSO_TCPV6,
                (Transport::Udp, _) => GSO_UDP,
            };
            header.segment_bytes = self.segment_bytes as u16;
        }
        bytes[..HEADER_BYTES].copy_from_slice(&header.bytes());
        Joined { bytes, payload_at: layout.payload_at }
    }

    /// The payload of a packet of the run.
    #[inline]
    pub fn payload<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        packet.get(self.layout.payload_at..).unwrap_or(&[])
    }
}

/// True if the checksum of an IPv4 header is right. Joining replaces the checksum, so it would hide a wrong one.
#[inline]
fn has_good_header(layout: &Layout, packet: &[u8]) -> bool {
    !layout.is_ipv4 || folded(sum(&packet[..layout.transport_at])) == 0xffff
}
