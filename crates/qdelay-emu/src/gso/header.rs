//! The header in front of each packet of a device that was opened with `IFF_VNET_HDR` (virtio 1.2, section 5.1.6; Linux,
//! `linux/virtio_net.h`): 10 bytes, in the byte order of this machine.

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 10;

/// Flag: the checksum of the transport is to be completed.
pub const NEEDS_CHECKSUM: u8 = 1;

/// Type: one packet.
pub(super) const GSO_NONE: u8 = 0;
/// Type: TCP segments of IPv4.
pub const GSO_TCPV4: u8 = 1;
/// Type: TCP segments of IPv6.
pub const GSO_TCPV6: u8 = 4;
/// Type: UDP datagrams.
pub const GSO_UDP: u8 = 5;
/// Added to a type of TCP segments: the first segment has the flag CWR.
pub(super) const GSO_ECN: u8 = 0x80;

/// `struct virtio_net_hdr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioHeader {
    /// [`NEEDS_CHECKSUM`] or 0.
    pub flags: u8,
    /// [`GSO_TCPV4`] and so on; 0 for one packet.
    pub gso_type: u8,
    /// Bytes of the packet up to its contents, or more.
    pub header_bytes: u16,
    /// Contents of each segment in bytes.
    pub segment_bytes: u16,
    /// Where the transport's header begins.
    pub checksum_start: u16,
    /// Where its checksum is, from there.
    pub checksum_offset: u16,
}

impl VirtioHeader {
    /// Reads one.
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

    /// How many packets `bytes` with this header in front are, header included.
    #[inline]
    pub fn packets(&self, bytes: usize) -> u64 {
        let headers = HEADER_BYTES + usize::from(self.header_bytes);
        match self.segment_bytes {
            0 => 1,
            segment => (bytes.saturating_sub(headers).div_ceil(usize::from(segment)) as u64).max(1),
        }
    }

    /// Writes it.
    #[inline]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let [a, b] = self.header_bytes.to_ne_bytes();
        let [c, d] = self.segment_bytes.to_ne_bytes();
        let [e, f] = self.checksum_start.to_ne_bytes();
        let [g, h] = self.checksum_offset.to_ne_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h]
    }
}
