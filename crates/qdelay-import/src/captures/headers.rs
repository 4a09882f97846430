//! What tells a packet from others on both ends of a link: the fields that a link leaves as they are.
//!
//! Link layers: Ethernet with any number of VLAN tags, Linux's "cooked" ones (SLL, SLL2), BSD loopback, and raw IP. Of IPv4 and IPv6 not:
//! codepoint, ECN, hop limit and checksums, which change on the way or, at a sender with offloading, are not there yet.

use super::reader::Captured;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Payload bytes of datagrams that are compared; captures keep more.
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

/// The packet's identity; `None` for what is no IP, or was kept too short.
pub fn identity(packet: &Captured) -> Option<Identity> {
    let ip = network_layer(packet.link_type, &packet.bytes)?;
    match ip.first()? >> 4 {
        4 => of_ipv4(ip),
        6 => of_ipv6(ip),
        _ => None,
    }
}

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

fn of_ipv4(ip: &[u8]) -> Option<Identity> {
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
    of_transport(*ip.get(9)?, addresses, network, bytes, ip.get(header..)?, is_first)
}

fn of_ipv6(ip: &[u8]) -> Option<Identity> {
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
    of_transport(next, addresses, network, bytes, ip.get(at..)?, is_first)
}

fn of_transport(
    protocol: u8,
    (source, destination): (IpAddr, IpAddr),
    network: u64,
    bytes: u32,
    payload: &[u8],
    is_first: bool,
) -> Option<Identity> {
    let has_ports = is_first && matches!(protocol, TCP | UDP | 33 | 132 | 136);
    let port = |at: usize| if has_ports { u16_at(payload, at) } else { Some(0) };
    let ends = Ends { protocol, source, source_port: port(0)?, destination, destination_port: port(2)? };
    let mut transport = [0; COMPARED];
    let mut fill = |at: usize, from: &[u8]| {
        transport[at..].iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    };
    match (protocol, is_first) {
        (TCP, true) => {
            // Sequence number to window, and of the options the first 12 bytes, where time stamps are.
            fill(0, payload.get(4..16)?);
            let header = usize::from(payload.get(12)? >> 4) * 4;
            fill(12, payload.get(20..header.min(32)).unwrap_or_default());
        }
        (UDP, true) => fill(0, payload.get(8..)?),
        _ => fill(0, payload),
    }
    Some(Identity { ends, network, bytes, transport })
}
