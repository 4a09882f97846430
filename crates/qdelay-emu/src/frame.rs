//! Reads the fields of an IP packet that a path needs from its bytes, and writes ECN marks into them.
//!
//! Source: RFC 791 section 3.1 (IPv4), RFC 8200 sections 3 and 4 (IPv6 and its extension headers), RFC 4302 section 2 (the
//! length of an authentication header), RFC 2474 and RFC 3168 section 5 (the two fields of the traffic class), RFC 1624 section
//! 3 (incremental checksum update).
//!
//! Flows are defined as in Linux's flow dissector: version, protocol, addresses and, for transports that begin with them, both
//! ports. All fragments of a packet, the first included, are one flow without ports, so that a queue that separates flows keeps
//! the fragments together. Checksums are not verified: a router would, but packets from a device come from a kernel.

pub(crate) mod checksum;

pub use checksum::complete_checksum;

use crate::device::Kind;
use qdelay_core::{Ecn, Packet};
use std::fmt;

/// The fields of an IP packet's header that a path needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Size of the IP packet in bytes, its header included. Trailing bytes after the packet are not counted.
    pub bytes: u32,
    /// Hash of version, protocol, addresses and ports.
    pub flow: u32,
    /// Differentiated services codepoint, 0 to 63.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// The IP protocol; for IPv6, the protocol behind the extension headers.
    pub protocol: u8,
    /// Source and destination port, if the packet has ports and is not a fragment.
    pub ports: Option<[u16; 2]>,
}

impl Frame {
    /// The [`Packet`] that represents this packet on a path.
    #[inline]
    pub fn packet(&self, handle: u64) -> Packet {
        let Frame { bytes, flow, dscp, ecn, .. } = *self;
        Packet { handle, bytes, flow, dscp, ecn, ..Packet::default() }
    }
}

/// Reason why bytes are not an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes end before the header does.
    Short,
    /// The version is neither 4 nor 6.
    Version,
    /// The header length field is less than the minimum, or more than the packet's length.
    HeaderLength,
    /// The total length field exceeds the number of bytes read.
    TotalLength,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Short => "it ends within its header",
            Malformed::Version => "it is neither IPv4 nor IPv6",
            Malformed::HeaderLength => "its header length is impossible",
            Malformed::TotalLength => "it is shorter than its header says",
        })
    }
}
impl std::error::Error for Malformed {}

pub(crate) const IPV4_HEADER: usize = 20;
pub(crate) const IPV6_HEADER: usize = 40;
/// Maximum number of extension headers that are walked in the search for ports.
const EXTENSIONS_MAX: usize = 8;

/// Reads the header of the IP packet at the beginning of `data`.
///
/// # Errors
/// The bytes are not a whole IP packet.
#[inline]
pub fn parse(data: &[u8]) -> Result<Frame, Malformed> {
    match data.first().ok_or(Malformed::Short)? >> 4 {
        4 => parse_ipv4(data),
        6 => parse_ipv6(data),
        _ => Err(Malformed::Version),
    }
}

fn parse_ipv4(data: &[u8]) -> Result<Frame, Malformed> {
    let header: &[u8; IPV4_HEADER] = data.first_chunk().ok_or(Malformed::Short)?;
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header_bytes < IPV4_HEADER || header_bytes > bytes {
        return Err(Malformed::HeaderLength);
    }
    let packet = data.get(..bytes).ok_or(Malformed::TotalLength)?;
    // Nonzero more-fragments flag or fragment offset (mask 0x3fff).
    let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    let protocol = header[9];
    let ports = if is_fragment { None } else { ports(protocol, &packet[header_bytes..]) };
    let addresses = word(&header[12..20]);
    let flow = hash(&[4 << 8 | u64::from(protocol), addresses, ports.map_or(0, u64::from)]);
    Ok(frame(bytes, flow, header[1], protocol, ports))
}

fn parse_ipv6(data: &[u8]) -> Result<Frame, Malformed> {
    let header: &[u8; IPV6_HEADER] = data.first_chunk().ok_or(Malformed::Short)?;
    let bytes = IPV6_HEADER + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let packet = data.get(..bytes).ok_or(Malformed::TotalLength)?;
    let (protocol, ports) = transport(header[6], &packet[IPV6_HEADER..]);
    let flow = hash(&[
        6 << 8 | u64::from(protocol),
        word(&header[8..16]),
        word(&header[16..24]),
        word(&header[24..32]),
        word(&header[32..40]),
        ports.map_or(0, u64::from),
    ]);
    Ok(frame(bytes, flow, header[0] << 4 | header[1] >> 4, protocol, ports))
}

#[inline]
fn frame(bytes: usize, flow: u32, traffic_class: u8, protocol: u8, ports: Option<u32>) -> Frame {
    let ecn = match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    // The sum is at most 65535 + 40 bytes.
    let ports = ports.map(|both| [(both >> 16) as u16, both as u16]);
    Frame { bytes: bytes as u32, flow, dscp: traffic_class >> 2, ecn, protocol, ports }
}

/// Returns the protocol behind the extension headers of `rest`, which begins with a header of type `next`; and the packet's ports, or
/// `None` if the protocol has none, the packet is a fragment, or the chain of headers is truncated or too long.
fn transport(next: u8, rest: &[u8]) -> (u8, Option<u32>) {
    let (protocol, behind) = last_header(next, rest);
    (protocol, behind.and_then(|behind| ports(protocol, behind)))
}

/// Returns the type of the last header that can be found in `rest`, which begins with a header of type `next`; and the bytes
/// from there on, or `None` in a fragment.
pub(crate) fn last_header(mut next: u8, mut rest: &[u8]) -> (u8, Option<&[u8]>) {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const DESTINATION: u8 = 60;
    let mut is_fragment = false;
    for _ in 0..EXTENSIONS_MAX {
        let (length, following) = match (next, rest) {
            (HOP_BY_HOP | ROUTING | DESTINATION, &[following, length, ..]) => {
                ((usize::from(length) + 1) * 8, following)
            }
            (AUTHENTICATION, &[following, length, ..]) => ((usize::from(length) + 2) * 4, following),
            (FRAGMENT, &[following, _, high, low, ..]) => {
                // An offset, or more fragments follow; an atomic fragment has neither (RFC 6946).
                is_fragment |= u16::from_be_bytes([high, low]) & 0xfff9 != 0;
                (8, following)
            }
            _ => break,
        };
        let Some(behind) = rest.get(length..) else { break };
        (next, rest) = (following, behind);
        if is_fragment {
            break;
        }
    }
    (next, (!is_fragment).then_some(rest))
}

/// Source and destination port of a transport that begins with both.
#[inline]
fn ports(protocol: u8, transport: &[u8]) -> Option<u32> {
    // TCP, UDP, DCCP, SCTP and UDP-Lite.
    match (protocol, transport) {
        (6 | 17 | 33 | 132 | 136, &[a, b, c, d, ..]) => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    }
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_be_bytes(*word))
}

/// Hash of `words`: the finaliser of SplitMix64 (Steele, Lea and Flood 2014, figure 16) after each word.
#[inline]
fn hash(words: &[u64]) -> u32 {
    let mut x = 0_u64;
    for word in words {
        x = (x ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
    }
    (x >> 32) as u32
}

const ETHERNET_HEADER: usize = 14;
const TAG: usize = 4;
const TAGS_MAX: usize = 2;

/// Length of the Ethernet header at the beginning of `data`, with up to two tags of IEEE 802.1Q or 802.1ad; and whether an IP
/// packet follows, by its EtherType.
#[inline]
pub fn link_layer(data: &[u8]) -> (u8, Kind) {
    let mut at = ETHERNET_HEADER - 2;
    for _ in 0..=TAGS_MAX {
        let header = (at + 2) as u8;
        match data.get(at..at + 2) {
            Some([0x08, 0x00] | [0x86, 0xdd]) => return (header, Kind::Ip),
            Some([0x81, 0x00] | [0x88, 0xa8]) => at += TAG,
            _ => return (header, Kind::Other),
        }
    }
    (ETHERNET_HEADER as u8, Kind::Other)
}

/// Writes CE (congestion experienced) into the header of the IP packet at the beginning of `data`, and updates the checksum of an
/// IPv4 header. Returns whether the packet carries CE now: packets without ECN support are not changed.
#[inline]
pub fn set_ce(data: &mut [u8]) -> bool {
    match data {
        [first, class, rest @ ..] if *first >> 4 == 4 => {
            let Some(checksum) = rest.get_mut(8..10) else { return false };
            if *class & 3 == 0 {
                return false;
            }
            let before = u16::from_be_bytes([*first, *class]);
            *class |= 3;
            let after = u16::from_be_bytes([*first, *class]);
            let old = u16::from_be_bytes([checksum[0], checksum[1]]);
            checksum.copy_from_slice(&mended(old, before, after).to_be_bytes());
            true
        }
        [first, class, ..] if *first >> 4 == 6 => {
            if *class & 0x30 == 0 {
                return false;
            }
            *class |= 0x30;
            true
        }
        _ => false,
    }
}

/// Changes one bit of the IP packet in `data`, behind its IP header, so that the checksum of its transport no longer holds; of a packet
/// without anything behind it, one of its header. `draw` is given a number of bits and chooses one of them. A sum of 16-bit words that
/// differs in one bit is another one, so that no change goes unseen; UDP over IPv4 without a checksum is the exception.
#[cold]
pub fn corrupt(data: &mut [u8], draw: impl FnOnce(u64) -> u64) {
    let header = match data.first() {
        Some(first) if first >> 4 == 4 => usize::from(first & 0x0f) * 4,
        Some(_) => IPV6_HEADER,
        None => return,
    };
    let start = if header < data.len() { header } else { 0 };
    let Some(behind) = data.get_mut(start..) else { return };
    let bit = draw(behind.len() as u64 * 8);
    if let Some(byte) = behind.get_mut((bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
}

/// The checksum after the word `before` was replaced by `after` (RFC 1624 equation 3).
#[inline]
fn mended(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, fragment: u16, ports: [u8; 4]) -> Vec<u8> {
        let mut packet =
            vec![0x45, 46 << 2 | 2, 0, 28, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(&ports);
        packet.extend_from_slice(&[0; 4]);
        packet
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x6b, 0x91, 2, 3, 0, payload.len() as u8, next, 64];
        packet.extend_from_slice(&[0x20; 32]);
        packet.extend_from_slice(payload);
        packet
    }

    #[test]
    fn fields_of_ipv4_and_ipv6_are_read() {
        let four = parse(&ipv4(17, 0, [1, 2, 3, 4])).unwrap();
        assert_eq!((four.bytes, four.dscp, four.ecn), (28, 46, Ecn::Ect0));
        let six = parse(&ipv6(17, &[1, 2, 3, 4, 0, 8, 0, 0])).unwrap();
        assert_eq!((six.bytes, six.dscp, six.ecn), (48, 46, Ecn::Ect1));
        assert_ne!(four.flow, six.flow);
    }

    #[test]
    fn flows_differ_by_ports_only_where_there_are_ports() {
        let flow = |protocol, fragment, last| parse(&ipv4(protocol, fragment, [1, 2, 3, last])).unwrap().flow;
        for protocol in [6, 17, 33, 132, 136] {
            assert_ne!(flow(protocol, 0, 1), flow(protocol, 0, 2), "{protocol}");
            assert_eq!(flow(protocol, 0x2000, 1), flow(protocol, 0x00ff, 2), "fragments of one packet");
            assert_ne!(
                flow(protocol, 0x4000, 1),
                flow(protocol, 0x4000, 2),
                "the don't-fragment flag alone is not a fragment"
            );
        }
        assert_eq!(flow(1, 0, 1), flow(1, 0, 2));
        assert_ne!(flow(1, 0, 1), flow(47, 0, 1));
    }

    #[test]
    fn extension_headers_are_walked() {
        let ports = [0xab, 0xcd, 0, 80, 0, 8, 0, 0];
        let plain = parse(&ipv6(17, &ports)).unwrap();
        let mut options = vec![43, 0, 0, 0, 0, 0, 0, 0];
        options.extend_from_slice(&[51, 1, 0, 0, 0, 0, 0, 0]);
        options.extend_from_slice(&[9; 8]);
        // The length of an authentication header counts words of four bytes, less two.
        options.extend_from_slice(&[60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        options.extend_from_slice(&[17, 0, 0, 0, 0, 0, 0, 0]);
        options.extend_from_slice(&ports);
        let walked = parse(&ipv6(0, &options)).unwrap();
        assert_eq!(walked.flow, plain.flow);
        assert_eq!(walked.bytes, 40 + options.len() as u32);
    }

    #[test]
    fn ipv6_fragments_are_one_flow_without_ports() {
        let fragment = |field: u16, last: u8| {
            let [high, low] = field.to_be_bytes();
            parse(&ipv6(44, &[17, 0, high, low, 0, 0, 0, 1, 1, 2, 3, last])).unwrap().flow
        };
        assert_eq!(fragment(1, 1), fragment(1 << 3, 2), "first and second fragment");
        assert_ne!(fragment(0, 1), fragment(0, 2), "atomic fragment");
    }

    #[test]
    fn truncated_extension_headers_are_accepted_without_ports() {
        let endless: Vec<u8> = std::iter::repeat_n([60, 0, 0, 0, 0, 0, 0, 0], 12).flatten().collect();
        assert!(parse(&ipv6(60, &endless)).is_ok());
        assert!(parse(&ipv6(60, &[17, 200, 0, 0])).is_ok(), "the option is longer than the packet");
    }

    #[test]
    fn malformed_packets_are_refused_with_their_reason() {
        let good = ipv4(17, 0, [1, 2, 3, 4]);
        assert_eq!(parse(&[]), Err(Malformed::Short));
        assert_eq!(parse(&good[..19]), Err(Malformed::Short));
        assert_eq!(parse(&good[..27]), Err(Malformed::TotalLength));
        assert_eq!(parse(&ipv6(17, &[0; 8])[..47]), Err(Malformed::TotalLength));
        assert_eq!(parse(&[0x50; 40]), Err(Malformed::Version));
        let with = |index: usize, value: u8| {
            let mut packet = good.clone();
            packet[index] = value;
            parse(&packet)
        };
        assert_eq!(with(0, 0x44), Err(Malformed::HeaderLength));
        assert_eq!(with(0, 0x48), Err(Malformed::HeaderLength));
        assert_eq!(with(3, 19), Err(Malformed::HeaderLength));
        let longer: Vec<u8> = good.iter().copied().chain([7; 100]).collect();
        assert_eq!(parse(&longer), parse(&good), "trailing bytes are ignored");
    }

    /// Whatever bit is drawn, the checksum of a UDP datagram does not hold any more, and its IP header stays.
    #[test]
    fn every_corrupted_bit_breaks_the_checksum() {
        for mut packet in [ipv4(17, 0, [1, 2, 3, 4]), ipv6(17, &[1, 2, 3, 4, 0, 8, 0, 0])] {
            assert!(complete_checksum(&mut packet));
            let header = if packet[0] >> 4 == 4 { IPV4_HEADER } else { IPV6_HEADER };
            let (addresses, bits) = (if header == IPV4_HEADER { 12..20 } else { 8..40 }, 64);
            for bit in 0..bits {
                let mut other = packet.clone();
                corrupt(&mut other, |most| {
                    assert_eq!(most, bits);
                    bit
                });
                assert_eq!(other[..header], packet[..header]);
                // The length in the pseudo-header is that of the IP header, which is not changed.
                let total =
                    checksum::sum(&other[addresses.clone()]) + 17 + 8 + checksum::sum(&other[header..]);
                assert_ne!(checksum::folded(total), 0xffff, "bit {bit}");
            }
        }
        let mut bare = ipv4(6, 0, [0; 4])[..20].to_vec();
        bare[3] = 20;
        let before = bare.clone();
        corrupt(&mut bare, |bits| bits - 1);
        assert_ne!(bare, before);
        corrupt(&mut [], |_| 0);
    }

    #[test]
    fn marks_change_only_ecn_and_checksum() {
        let mut deaf = ipv4(17, 0, [1, 2, 3, 4]);
        deaf[1] &= !3;
        let before = deaf.clone();
        assert!(!set_ce(&mut deaf) && deaf == before);
        assert!(!set_ce(&mut []) && !set_ce(&mut [0x45, 2]) && !set_ce(&mut [0; 20]));
        let mut six = ipv6(17, &[0; 8]);
        assert!(set_ce(&mut six));
        let marked = parse(&six).unwrap();
        assert_eq!((marked.dscp, marked.ecn), (46, Ecn::Ce));
        assert_eq!(six[1] & 0x0f, 1, "the flow label stays");
        // RFC 1624 section 4: the example for which the equation of RFC 1141 gives a wrong result.
        assert_eq!(mended(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
