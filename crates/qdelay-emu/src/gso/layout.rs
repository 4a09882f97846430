//! Offsets of the parts of a TCP segment or UDP datagram in an IP packet.

use crate::frame::checksum::{folded, sum};
use crate::frame::{IPV4_HEADER, IPV6_HEADER, last_header};

/// Maximum length of the headers, from IP to transport, of a packet that is split or joined, in bytes: IPv4 and TCP with all
/// their options, or IPv6 with some extension headers.
pub const HEADERS_MAX: usize = 192;

/// The transports that are split and joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    /// Offset of the checksum in the transport header.
    #[inline]
    pub const fn checksum_offset(self) -> usize {
        match self {
            Transport::Tcp => 16,
            Transport::Udp => 6,
        }
    }
    const fn protocol(self) -> u64 {
        match self {
            Transport::Tcp => 6,
            Transport::Udp => 17,
        }
    }
}

/// Offsets in bytes, with `transport_at <= payload_at <= end`, and `end` at most the length of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub is_ipv4: bool,
    pub transport: Transport,
    /// Offset of the transport header.
    pub transport_at: usize,
    /// Offset of the payload.
    pub payload_at: usize,
    /// Offset of the end of the IP packet.
    pub end: usize,
}

impl Layout {
    /// Finds the offsets in `data`; `None` for fragments, other transports, datagrams shorter than their IP packet, and headers
    /// that do not fit or are longer than [`HEADERS_MAX`].
    #[inline]
    pub fn parse(data: &[u8]) -> Option<Layout> {
        let (is_ipv4, transport_at, end, protocol) = match data.first()? >> 4 {
            4 => {
                let header: &[u8; IPV4_HEADER] = data.first_chunk()?;
                let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
                let start = usize::from(header[0] & 0x0f) * 4;
                if is_fragment || start < IPV4_HEADER {
                    return None;
                }
                (true, start, usize::from(u16::from_be_bytes([header[2], header[3]])), header[9])
            }
            6 => {
                let header: &[u8; IPV6_HEADER] = data.first_chunk()?;
                let end = IPV6_HEADER + usize::from(u16::from_be_bytes([header[4], header[5]]));
                let (protocol, behind) = last_header(header[6], data.get(IPV6_HEADER..end)?);
                (false, end - behind?.len(), end, protocol)
            }
            _ => return None,
        };
        let rest = data.get(transport_at..end)?;
        let (transport, header_bytes) = match protocol {
            6 => (Transport::Tcp, usize::from(*rest.get(12)? >> 4) * 4),
            // UDP datagrams shorter than their IP packet have bytes behind them, which splitting would lose.
            17 if usize::from(word(rest.get(4..6)?, 0)) == rest.len() => (Transport::Udp, 8),
            _ => return None,
        };
        let least = if transport == Transport::Tcp { 20 } else { 8 };
        let payload_at = transport_at + header_bytes;
        let fits = header_bytes >= least && payload_at <= end && payload_at <= HEADERS_MAX;
        fits.then_some(Layout { is_ipv4, transport, transport_at, payload_at, end })
    }

    /// Offset of the transport checksum.
    #[inline]
    pub const fn checksum_at(&self) -> usize {
        self.transport_at + self.transport.checksum_offset()
    }

    /// The sum of the pseudo-header without the length (RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1).
    #[inline]
    pub fn pseudo_sum(&self, headers: &[u8]) -> u64 {
        let addresses = if self.is_ipv4 { headers.get(12..20) } else { headers.get(8..40) };
        sum(addresses.unwrap_or(&[])) + self.transport.protocol()
    }

    /// Writes the lengths of a packet with `payload_bytes` of payload, the IPv4 header checksum, and the sum of the
    /// pseudo-header. `pseudo` is [`Layout::pseudo_sum`].
    #[inline]
    pub fn write_lengths(&self, headers: &mut [u8], payload_bytes: usize, pseudo: u64) {
        // The packet has at most 65535 (IPv4) or 65575 (IPv6) bytes, because it was read, or was limited when it was joined.
        if self.is_ipv4 {
            let total = (self.payload_at + payload_bytes) as u16;
            headers[2..4].copy_from_slice(&total.to_be_bytes());
            headers[10..12].fill(0);
            let checksum = !folded(sum(&headers[..self.transport_at]));
            headers[10..12].copy_from_slice(&checksum.to_be_bytes());
        } else {
            let length = (self.payload_at - IPV6_HEADER + payload_bytes) as u16;
            headers[4..6].copy_from_slice(&length.to_be_bytes());
        }
        if self.transport == Transport::Udp {
            let length = (self.payload_at - self.transport_at + payload_bytes) as u16;
            headers[self.transport_at + 4..self.transport_at + 6].copy_from_slice(&length.to_be_bytes());
        }
        self.write_pseudo_sum(headers, payload_bytes, pseudo);
    }

    /// Writes the sum of the pseudo-header in place of the transport checksum.
    #[inline]
    pub fn write_pseudo_sum(&self, headers: &mut [u8], payload_bytes: usize, pseudo: u64) {
        let partial = folded(pseudo + (self.payload_at - self.transport_at + payload_bytes) as u64);
        headers[self.checksum_at()..self.checksum_at() + 2].copy_from_slice(&partial.to_be_bytes());
    }
}

/// The 16-bit word at offset `at`.
#[inline]
pub(super) fn word(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}
/// The 32-bit word at offset `at`.
#[inline]
pub(super) fn long(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

/// Offset of the flags byte in a TCP header.
pub(super) const FLAGS: usize = 13;
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const PSH: u8 = 0x08;
pub(super) const URG: u8 = 0x20;
pub(super) const CWR: u8 = 0x80;
