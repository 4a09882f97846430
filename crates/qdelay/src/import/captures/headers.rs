//! What tells a packet from others on both ends of a link: the fields that a link leaves as they are.
//!
//! Link layers: Ethernet with any number of VLAN tags, Linux's "cooked" ones (SLL, SLL2), BSD loopback, and raw IP. Of IPv4 and IPv6 not:
//! codepoint, ECN, hop limit and checksums, which change on the way or, at a sender with offloading, are not there yet.

use super::reader::Captured;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes behind the IP header that are compared; captures keep more.
const COMPARED: usize = 24;

/// Protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The two ends of a flow, in the direction of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ends {
    /// IP protocol number.
    pub protocol: u8,
    /// From where.
    pub source: IpAddr,
    /// Its port; 0 where the protocol has none.
    pub source_port: u16,
    /// To where.
    pub destination: IpAddr,
    /// Its port.
    pub destination_port: u16,
}

/// A packet, so that another one is equal only if it is the same, or a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Its flow.
    pub ends: Ends,
    /// Identification and fragment of IPv4, flow label of IPv6.
    network: u64,
    /// IP bytes.
    pub bytes: u32,
    /// Of TCP: sequence number, acknowledgement, flags, window, options. Of others: the first bytes of the payload.
    transport: [u8; COMPARED],
}

impl Identity {
    /// The same without what stands behind the first `kept` bytes of the transport fields.
    pub fn cut(mut self, kept: u8) -> Identity {
        self.transport.iter_mut().skip(kept.into()).for_each(|byte| *byte = 0);
        self
    }
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Fields by which the packet is recognised in the other capture.
    pub identity: Identity,
    /// When it was seen, in nanoseconds since 1970.
    pub nanos: i64,
    /// Hop limit (TTL of IPv4) in this capture.
    pub hop_limit: u8,
    /// Bytes of the transport fields that the capture kept: fewer than [`Seen::WHOLE`] where it cut the packet within them.
    pub kept: u8,
}

impl Seen {
    /// All bytes of the transport fields.
    pub const WHOLE: u8 = COMPARED as u8;
}

/// Why a packet cannot be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unidentified {
    /// Not IP.
    NotIp,
    /// IP, and the capture cut it before the fields that tell packets apart.
    TooShort,
}

/// Reads the fields of a packet that a link leaves as they are.
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

/// Identity, hop limit, and the bytes of the transport fields that were kept.
type Fields = (Identity, u8, u8);

/// What is behind the header of the link layer.
fn network_layer(link_type: u32, bytes: &[u8]) -> Option<&[u8]> {
    let ethernet = |mut at: usize| {
        // 802.1Q, 802.1ad and the older tag.
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
    // Behind the first fragment there are no ports.
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
    // Hop-by-hop options, routing, destination options; fragments. A chain ends with the packet.
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

/// Payload of a packet of `bytes` bytes, behind the headers, and whether all of it was kept. Trailers of the link layer (the padding of
/// Ethernet) are cut off; a length of 0 is that of a packet which the network card will cut.
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
    // Copies to a place, and returns where it ended.
    let mut fill = |at: usize, from: &[u8]| {
        transport[at..].iter_mut().zip(from).map(|(to, from)| *to = *from).count() + at
    };
    let (kept, wanted) = match (protocol, is_first) {
        (TCP, true) => {
            // Sequence number to window, and of the options the first 12 bytes, where time stamps are.
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
