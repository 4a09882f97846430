//! The unit in which packet sizes are counted when they are compared with a capacity.

/// The unit of sizes and capacities. Both are passed in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// A packet counts as its own size.
    #[default]
    Bytes,
    /// A packet counts as [`PACKET_BYTES`], whatever its size, as in an emulator that counts packets.
    Packets,
}

/// Size of a packet where packets are the unit, in bytes: an Ethernet payload.
pub const PACKET_BYTES: u64 = 1500;

impl SizeUnit {
    /// The size, in bytes, with which one packet of `bytes` IP bytes counts.
    #[inline]
    pub const fn counted_bytes(self, bytes: u64) -> u64 {
        self.counted_bytes_of(1, bytes)
    }
    /// The size, in bytes, with which `packets` packets of `bytes` IP bytes in total count.
    #[inline]
    pub const fn counted_bytes_of(self, packets: u64, bytes: u64) -> u64 {
        match self {
            SizeUnit::Bytes => bytes,
            SizeUnit::Packets => packets.saturating_mul(PACKET_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_its_bytes_or_one_full_packet() {
        assert_eq!([40, 1500, 9000].map(|bytes| SizeUnit::Bytes.counted_bytes(bytes)), [40, 1500, 9000]);
        assert_eq!([40, 1500, 9000].map(|bytes| SizeUnit::Packets.counted_bytes(bytes)), [1500; 3]);
        assert_eq!(
            (SizeUnit::Bytes.counted_bytes_of(3, 77), SizeUnit::Packets.counted_bytes_of(3, 77)),
            (77, 4500)
        );
        assert_eq!(SizeUnit::Packets.counted_bytes_of(u64::MAX, 0), u64::MAX);
    }
}
