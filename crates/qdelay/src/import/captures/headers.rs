//! Identity of a packet at both ends of a link: the header fields that a link leaves unchanged.
//!
//! Link layers: Ethernet with any number of VLAN tags, Linux cooked capture (SLL, SLL2), BSD loopback, and raw IP. IPv4 and IPv6 fields
//! left out:
//! DSCP, ECN, hop limit and checksums, which change on the path or, with offloading, are not filled in yet at the sender.

use super::reader::Captured;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes after the IP header that are compared; captures usually keep more.
const COMPARED: usize = 24;

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Ends of a flow, in the direction of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address.
    pub source: IpAddr,
    /// Source port; 0 where the protocol has no ports.
    pub source_port: u16,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination port.
    pub destination_port: u16,
}

/// Identity of a packet: equal only for the same packet or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Flow of the packet.
    pub ends: Ends,
    /// Identification and fragment fields of IPv4, flow label of IPv6.
    network: u64,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// TCP: sequence number, acknowledgement, flags, window, options. Other protocols: the first bytes of the payload.
    transport: [u8; COMPARED],
}

impl Identity {
    /// Identity without the transport fields after their first `kept` bytes.
    pub fn cut(mut self, kept: u8) -> Identity {
        self.transport.iter_mut().skip(kept.into()).for_each(|byte| *byte = 0);
        self
    }
}

/// Packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Fields that identify the packet in the other capture.
    pub identity: Identity,
    /// Time of capture, in nanoseconds since 1970.
    pub nanos: i64,
    /// Hop limit (TTL of IPv4) in this capture.
    pub hop_limit: u8,
    /// Number of captured bytes of the transport fields; below [`Seen::WHOLE`] where the capture cut the packet within them.
    pub kept: u8,
}

impl Seen {
    /// Number of bytes of complete transport fields.
    pub const WHOLE: u8 = COMPARED as u8;
}

/// Reason why a packet has no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unidentified {
    /// A protocol other than IP.
    NotIp,
    /// An IP packet that the capture cut before the identifying fields.
    TooShort,
}

/// Reads the fields of a packet that a link leaves unchanged.
pub fn identify(packet: &Captured) -> Result<Seen, Unidentified> {
    let ip = network_layer(packet.link_type, &packet.bytes).ok_or(Unidentified::NotIp)?;
    let fields = match ip.first().map(|first| first >> 4) {
        Some(4) => of_ipv4(ip),
        Some(6) => of_ipv6(ip),
        _ => return Err(Unidentified::NotIp),
    };
    let is_cut = packet.bytes.len() < packet.length as usize;
    let (identity, hop_limit, kept) =
        fields.ok_or(if is_cut { Unidentified::TooShort } else { Unidentified::NotIp })?;
    Ok(Seen { identity, nanos: packet.nanos, hop_limit, kept })
}

/// Identity, hop limit, and number of captured bytes of the transport fields.
type Fields = (Identity, u8, u8);

/// Network protocol and payload after the header of the link layer.
fn network_layer(link_type: u32, bytes: &[u8]) -> Option<&[u8]> {
    let ethernet = |mut at: usize| {
        // VLAN tags: 802.1Q, 802.1ad and the older tag.
        while matches!(bytes.get(at..at + 2)?, [0x81 | 0x91, 0x00] | [0x88, 0xa8]) {
            at += 4;
        }
        match bytes.get(at..at + 2)? {
            [0x08, 0x00] | [0x86, 0xdd] => bytes.get(at + 2..),
            _ => None,
        }
    };
    match link_type {
        0 | 108 => bytes.get(4..),
        1 => ethernet(12),
        12 | 14 | 101 | 228 | 229 => Some(bytes),
        113 => ethernet(14),
        276 => match bytes.get(..2)? {
            [0x08, 0x00] | [0x86, 0xdd] => bytes.get(20..),
            _ => None,
        },
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk::<2>().map(|two| u16::from_be_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|four| u32::from_be_bytes(*four))
}

fn of_ipv4(ip: &[u8]) -> Option<Fields> {
    let header = usize::from(ip.first()? & 0x0f) * 4;
    if header < 20 {
        return None;
    }
    let address = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(u32_at(ip, at)?)));
    let addresses = (address(12)?, address(16)?);
    let fragment = u16_at(ip, 6)?;
    // Only the first fragment has ports.
    let is_first = fragment & 0x1fff == 0;
    let network = u64::from(u16_at(ip, 4)?) << 16 | u64::from(fragment);
    let bytes = u32::from(u16_at(ip, 2)?);
    let (identity, kept) =
        of_transport(*ip.get(9)?, addresses, network, bytes, payload(ip, header, bytes)?, is_first)?;
    Some((identity, *ip.get(8)?, kept))
}

fn of_ipv6(ip: &[u8]) -> Option<Fields> {
    let address = |at: usize| {
        let sixteen = ip.get(at..)?.first_chunk::<16>()?;
        Some(IpAddr::V6(Ipv6Addr::from(*sixteen)))
    };
    let addresses = (address(8)?, address(24)?);
    let mut network = u64::from(u32_at(ip, 0)? & 0x000f_ffff);
    let bytes = u32::from(u16_at(ip, 4)?) + 40;
    let (mut next, mut at, mut is_first) = (*ip.get(6)?, 40_usize, true);
    // Extension headers: hop-by-hop options, routing, destination options, fragments. The loop ends at the latest with the packet.
    while matches!(next, 0 | 43 | 44 | 60) {
        let length = if next == 44 { 8 } else { (usize::from(*ip.get(at + 1)?) + 1) * 8 };
        if next == 44 {
            is_first = u16_at(ip, at + 2)? & 0xfff8 == 0;
            network ^= u64::from(u32_at(ip, at + 4)?) << 32 | u64::from(u16_at(ip, at + 2)?);
        }
        next = *ip.get(at)?;
        at += length;
    }
    let (identity, kept) = of_transport(next, addresses, network, bytes, payload(ip, at, bytes)?, is_first)?;
    Some((identity, *ip.get(7)?, kept))
}

/// Payload of a packet of `bytes` bytes after its headers, and whether it is complete. Trailers of the link layer (the padding of
/// Ethernet) are cut off. A length of 0 means that the network card will segment the packet.
fn payload(ip: &[u8], header: usize, bytes: u32) -> Option<(&[u8], bool)> {
    let end = bytes as usize;
    let whole = ip.get(..end).filter(|whole| whole.len() > header);
    Some((whole.unwrap_or(ip).get(header..)?, ip.len() >= end))
}

fn of_transport(
    protocol: u8,
    (source, destination): (IpAddr, IpAddr),
    network: u64,
    bytes: u32,
    (payload, is_whole): (&[u8], bool),
    is_first: bool,
) -> Option<(Identity, u8)> {
    let has_ports = is_first && matches!(protocol, TCP | UDP | 33 | 132 | 136);
    let port = |at: usize| if has_ports { u16_at(payload, at) } else { Some(0) };
    let ends = Ends { protocol, source, source_port: port(0)?, destination, destination_port: port(2)? };
    let mut transport = [0; COMPARED];
    // Copies bytes to a place in the identity; returns the end of the copy.
    let mut fill = |at: usize, from: &[u8]| {
        transport[at..].iter_mut().zip(from).map(|(to, from)| *to = *from).count() + at
    };
    let (kept, wanted) = match (protocol, is_first) {
        (TCP, true) => {
            // Sequence number to window, and the first 12 bytes of the options, which hold the time stamps.
            fill(0, payload.get(4..16)?);
            let options = (usize::from(payload.get(12)? >> 4) * 4).clamp(20, 32);
            let end = options.min(payload.len());
            (fill(12, payload.get(20..end).unwrap_or_default()), options - 8)
        }
        (UDP, true) => (fill(0, payload.get(8..)?), COMPARED),
        _ => (fill(0, payload), COMPARED),
    };
    let kept = if is_whole || kept >= wanted { Seen::WHOLE } else { kept as u8 };
    Some((Identity { ends, network, bytes, transport }, kept))
}
