//! The header in front of each packet of a device that was opened with `IFF_VNET_HDR` (virtio 1.2, section 5.1.6; Linux,
//! `linux/virtio_net.h`): 10 bytes, in the byte order of this machine.

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 10;

/// Flag: the transport checksum is not complete yet.
pub const NEEDS_CHECKSUM: u8 = 1;

/// Type: a single packet.
pub(super) const GSO_NONE: u8 = 0;
/// Type: TCP segments over IPv4.
pub const GSO_TCPV4: u8 = 1;
/// Type: TCP segments over IPv6.
pub const GSO_TCPV6: u8 = 4;
/// Type: UDP datagrams.
pub const GSO_UDP: u8 = 5;
/// Bit added to a type of TCP segments: the first segment has the flag CWR.
pub(super) const GSO_ECN: u8 = 0x80;

/// `struct virtio_net_hdr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioHeader {
    /// [`NEEDS_CHECKSUM`] or 0.
    pub flags: u8,
    /// [`GSO_TCPV4`], [`GSO_TCPV6`] or [`GSO_UDP`]; 0 for one packet.
    pub gso_type: u8,
    /// Length of the packet's headers in bytes, or more.
    pub header_bytes: u16,
    /// Payload of each segment in bytes.
    pub segment_bytes: u16,
    /// Offset of the transport header in bytes.
    pub checksum_start: u16,
    /// Offset of the transport checksum from the start of the transport header, in bytes.
    pub checksum_offset: u16,
}

impl VirtioHeader {
    /// Reads a header.
    #[inline]
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> VirtioHeader {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        VirtioHeader {
            flags: bytes[0],
            gso_type: bytes[1],
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        }
    }

    /// True if several packets follow, in place of one.
    #[inline]
    pub const fn is_super(&self) -> bool {
        self.gso_type != GSO_NONE
    }

    /// Number of packets in `bytes` bytes that begin with this header, header included.
    #[inline]
    pub fn packets(&self, bytes: usize) -> u64 {
        let headers = HEADER_BYTES + usize::from(self.header_bytes);
        match self.segment_bytes {
            0 => 1,
            segment => (bytes.saturating_sub(headers).div_ceil(usize::from(segment)) as u64).max(1),
        }
    }

    /// Encodes the header.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let [a, b] = self.header_bytes.to_ne_bytes();
        let [c, d] = self.segment_bytes.to_ne_bytes();
        let [e, f] = self.checksum_start.to_ne_bytes();
        let [g, h] = self.checksum_offset.to_ne_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h]
    }
}
