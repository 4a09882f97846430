//! Completes transport checksums that a sender has left to its interface (checksum offload).

use super::{IPV4_HEADER, IPV6_HEADER, last_header};

/// Computes the checksum of the TCP segment or UDP datagram in the IP packet at the beginning of `data`, which its sender has
/// left to its interface. Returns false for fragments and other transports, which are not changed.
///
/// Source: RFC 1071; RFC 9293 section 3.1 and RFC 768 (the pseudo-headers), RFC 8200 section 8.1 (those of IPv6).
pub fn complete_checksum(data: &mut [u8]) -> bool {
    complete(data).is_some()
}

fn complete(data: &mut [u8]) -> Option<()> {
    let (start, end, protocol, addresses) = match data.first()? >> 4 {
        4 => {
            let header: &[u8; IPV4_HEADER] = data.first_chunk()?;
            let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
            let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let start = usize::from(header[0] & 0x0f) * 4;
            // With a header shorter than the minimum, the addresses would be taken for the transport header.
            (!is_fragment && start >= IPV4_HEADER).then_some((start, end, header[9], 12..20))?
        }
        6 => {
            let header: &[u8; IPV6_HEADER] = data.first_chunk()?;
            let end = IPV6_HEADER + usize::from(u16::from_be_bytes([header[4], header[5]]));
            let (protocol, behind) = last_header(header[6], data.get(IPV6_HEADER..end)?);
            (end - behind?.len(), end, protocol, 8..40)
        }
        _ => return None,
    };
    let field = match protocol {
        6 => 16,
        17 => 6,
        _ => return None,
    };
    let addresses = sum(data.get(addresses)?);
    let transport = data.get_mut(start..end)?;
    transport.get_mut(field..field + 2)?.fill(0);
    let total = addresses + u64::from(protocol) + transport.len() as u64 + sum(transport);
    let checksum = match (!folded(total), protocol) {
        // A UDP checksum of zero would mean that there is no checksum (RFC 768).
        (0, 17) => 0xffff,
        (checksum, _) => checksum,
    };
    transport[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// The sum of the 16-bit words in `bytes`; an odd byte at the end is the upper half of a word.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    sum + rest.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// Folds the carries of a sum back into 16 bits.
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
