//! Resets of TCP connections that cross the link: the connections seen, and the segments that end them.
//!
//! Each side of a connection accepts a reset only with the sequence number that it expects next (RFC 5961 section 3.2), which is the
//! acknowledgement number of its own latest segment. [`Connections`] keeps that number for both sides. A reset connection stays
//! marked: further segments of it do not enter the path, and each is answered with a reset that has the number of that segment, so that a
//! side that has meanwhile received more is ended by its next segment (a challenge acknowledgement, RFC 5961 section 3.2). A new SYN
//! between the same ports is a new connection.
//!
//! Source: RFC 9293 section 3.10.7.1 (the reset in answer to a segment).

use crate::device::{HEADER_MAX, Port};
use crate::frame::{complete_checksum, last_header};
use std::collections::BTreeMap;

/// Maximum number of connections; beyond that, the one that is first by its addresses is forgotten.
const CONNECTIONS_MAX: usize = 65_536;
const TCP: u8 = 6;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
/// TCP header without options, in bytes.
const TCP_HEADER: usize = 20;
/// Hop limit of a reset.
const HOPS: u8 = 64;

/// Addresses and ports of the inside end, then of the outside end; IPv4 addresses fill the first four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_ipv4: bool,
    ports: [u16; 2],
    addresses: [[u8; 16]; 2],
}

/// One side of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// The sequence number that it expects next; `None` before its first acknowledgement.
    expects: Option<u32>,
    has_finished: bool,
    /// Link-layer header of its latest packet.
    header: [u8; HEADER_MAX as usize],
    header_bytes: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    sides: [Side; 2],
    is_reset: bool,
}

/// A reset segment with the link-layer header in front of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The side that it goes to.
    pub port: Port,
    /// Bytes of the link-layer header.
    pub header: u8,
    /// Header and IP packet.
    pub bytes: Vec<u8>,
}

/// Fate of an arriving packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It enters the path.
    Enters,
    /// It belongs to a connection that was reset, and is answered.
    Answered(Option<Reset>),
}

/// The TCP connections that cross the link.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    table: BTreeMap<Key, Connection>,
}

/// The fields of a segment.
struct Segment {
    key: Key,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: u32,
}

impl Connections {
    /// Number of connections known.
    pub fn len(&self) -> usize {
        self.table.len()
    }
    /// True if no connection is known.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Notes a packet that comes from `port`: `header` bytes of its link layer, then an IP packet.
    pub fn arrive(&mut self, port: Port, header: u8, data: &[u8]) -> Arrival {
        let (link, packet) = data.split_at(usize::from(header).min(data.len()));
        let Some(segment) = Segment::parse(port, packet) else { return Arrival::Enters };
        let Segment { key, flags, acknowledged, .. } = segment;
        if flags & (SYN | ACK) == SYN {
            self.table.remove(&key);
        }
        if self.table.len() >= CONNECTIONS_MAX && !self.table.contains_key(&key) {
            self.table.pop_first();
        }
        let connection = self.table.entry(key).or_default();
        let side = &mut connection.sides[port.index()];
        side.header_bytes = link.len().min(side.header.len()) as u8;
        side.header.iter_mut().zip(link).for_each(|(kept, byte)| *kept = *byte);
        if flags & ACK != 0 {
            side.expects = Some(acknowledged);
        }
        if connection.is_reset {
            let answer = (flags & RST == 0).then(|| answer(&segment, port, &connection.sides[port.index()]));
            return Arrival::Answered(answer);
        }
        connection.sides[port.index()].has_finished |= flags & FIN != 0;
        let is_over =
            flags & RST != 0 || connection.sides.iter().all(|side| side.has_finished) && flags & FIN == 0;
        if is_over {
            self.table.remove(&key);
        }
        Arrival::Enters
    }

    /// Resets the connections with `port` at either end, or all; returns the segments that end them.
    pub fn reset(&mut self, port: Option<u16>) -> (usize, Vec<Reset>) {
        let (mut count, mut resets) = (0, Vec::new());
        for (key, connection) in &mut self.table {
            if connection.is_reset || port.is_some_and(|port| !key.ports.contains(&port)) {
                continue;
            }
            connection.is_reset = true;
            count += 1;
            for to in Port::ALL {
                let side = &connection.sides[to.index()];
                if let Some(sequence) = side.expects {
                    resets.push(segment(key, to, side, sequence, None));
                }
            }
        }
        (count, resets)
    }
}

/// The reset that answers `segment`, which came from `port`.
fn answer(segment: &Segment, port: Port, side: &Side) -> Reset {
    match segment.flags & ACK {
        0 => {
            let length =
                segment.payload + u32::from(segment.flags & SYN != 0) + u32::from(segment.flags & FIN != 0);
            self::segment(&segment.key, port, side, 0, Some(segment.sequence.wrapping_add(length)))
        }
        _ => self::segment(&segment.key, port, side, segment.acknowledged, None),
    }
}

/// A reset to the side `to`, as from the other.
fn segment(key: &Key, to: Port, side: &Side, sequence: u32, acknowledged: Option<u32>) -> Reset {
    let (own, other) = (to.index(), to.other().index());
    let mut bytes = Vec::with_capacity(usize::from(side.header_bytes) + 60);
    bytes.extend_from_slice(&side.header[..usize::from(side.header_bytes)]);
    // The answer to a frame goes back where it came from.
    if side.header_bytes >= 12 {
        bytes[..6].copy_from_slice(&side.header[6..12]);
        bytes[6..12].copy_from_slice(&side.header[..6]);
    }
    let start = bytes.len();
    if key.is_ipv4 {
        bytes.extend_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, HOPS, TCP, 0, 0]);
        bytes.extend_from_slice(&key.addresses[other][..4]);
        bytes.extend_from_slice(&key.addresses[own][..4]);
        let sum = crate::frame::checksum::sum(&bytes[start..]);
        let checksum = !crate::frame::checksum::folded(sum);
        bytes[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
    } else {
        bytes.extend_from_slice(&[0x60, 0, 0, 0, 0, TCP_HEADER as u8, TCP, HOPS]);
        bytes.extend_from_slice(&key.addresses[other]);
        bytes.extend_from_slice(&key.addresses[own]);
    }
    let flags = if acknowledged.is_some() { RST | ACK } else { RST };
    bytes.extend_from_slice(&key.ports[other].to_be_bytes());
    bytes.extend_from_slice(&key.ports[own].to_be_bytes());
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(&acknowledged.unwrap_or(0).to_be_bytes());
    bytes.extend_from_slice(&[(TCP_HEADER as u8 / 4) << 4, flags, 0, 0, 0, 0, 0, 0]);
    complete_checksum(&mut bytes[start..]);
    Reset { port: to, header: side.header_bytes, bytes }
}

impl Segment {
    /// The TCP segment in an IP packet that comes from `port`; `None` for fragments and other transports.
    fn parse(port: Port, packet: &[u8]) -> Option<Segment> {
        let mut addresses = [[0; 16]; 2];
        let (source, destination) = (port.index(), port.other().index());
        let (is_ipv4, transport) = match packet.first()? >> 4 {
            4 => {
                let end = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
                let is_fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
                if is_fragment || *packet.get(9)? != TCP {
                    return None;
                }
                addresses[source][..4].copy_from_slice(packet.get(12..16)?);
                addresses[destination][..4].copy_from_slice(packet.get(16..20)?);
                (true, packet.get(usize::from(packet[0] & 0x0f) * 4..end)?)
            }
            6 => {
                let end = 40 + usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
                let (protocol, behind) = last_header(*packet.get(6)?, packet.get(40..end)?);
                if protocol != TCP {
                    return None;
                }
                addresses[source].copy_from_slice(packet.get(8..24)?);
                addresses[destination].copy_from_slice(packet.get(24..40)?);
                (false, behind?)
            }
            _ => return None,
        };
        let header: &[u8; TCP_HEADER] = transport.first_chunk()?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let mut ports = [0; 2];
        (ports[source], ports[destination]) = (word(0), word(2));
        let payload = transport.len().checked_sub(usize::from(header[12] >> 4) * 4)?;
        Some(Segment {
            key: Key { is_ipv4, ports, addresses },
            sequence: long(4),
            acknowledged: long(8),
            flags: header[13],
            payload: payload as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;

    /// A segment from 10.0.0.2:1000 inside to 10.0.0.1:80 outside, or back.
    fn tcp(from: Port, sequence: u32, acknowledged: u32, flags: u8, payload: usize) -> Vec<u8> {
        let key = Key {
            is_ipv4: true,
            ports: [1000, 80],
            addresses: [
                [10, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                [10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            ],
        };
        let mut bytes = segment(&key, from.other(), &Side::default(), sequence, Some(acknowledged)).bytes;
        bytes[33] = flags;
        bytes.extend(vec![7; payload]);
        let total = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&total);
        bytes
    }

    fn number(bytes: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn both_sides_are_ended_with_the_numbers_that_they_expect() {
        let mut connections = Connections::default();
        for (from, sequence, acknowledged, flags, payload) in [
            (Port::Inside, 100, 0, SYN, 0),
            (Port::Outside, 500, 101, SYN | ACK, 0),
            (Port::Inside, 101, 501, ACK, 0),
            (Port::Inside, 101, 501, ACK, 200),
            (Port::Outside, 501, 301, ACK, 700),
        ] {
            let packet = tcp(from, sequence, acknowledged, flags, payload);
            assert_eq!(connections.arrive(from, 0, &packet), Arrival::Enters);
        }
        assert_eq!((connections.len(), connections.reset(Some(81)).0), (1, 0));
        let (count, resets) = connections.reset(Some(80));
        assert_eq!(count, 1);
        let sent: Vec<(Port, u32, u8)> =
            resets.iter().map(|reset| (reset.port, number(&reset.bytes, 24), reset.bytes[33])).collect();
        assert_eq!(sent, [(Port::Inside, 501, RST), (Port::Outside, 301, RST)]);
        let inside = frame::parse(&resets[0].bytes).unwrap();
        assert_eq!(inside.ports, Some([80, 1000]), "as from the server");
        let mut again = resets[0].bytes.clone();
        complete_checksum(&mut again);
        assert_eq!(again, resets[0].bytes);
        // The client had received 700 bytes that were on the path: its challenge acknowledgement is answered with their number.
        let challenge = tcp(Port::Inside, 301, 1201, ACK, 0);
        let Arrival::Answered(Some(answer)) = connections.arrive(Port::Inside, 0, &challenge) else {
            panic!()
        };
        assert_eq!((answer.port, number(&answer.bytes, 24), answer.bytes[33]), (Port::Inside, 1201, RST));
        assert_eq!(
            connections.arrive(Port::Inside, 0, &tcp(Port::Inside, 301, 0, RST, 0)),
            Arrival::Answered(None)
        );
        // Reset once; a new connection between the same ports lives.
        assert_eq!(connections.reset(None), (0, Vec::new()));
        assert_eq!(connections.arrive(Port::Inside, 0, &tcp(Port::Inside, 9, 0, SYN, 0)), Arrival::Enters);
        assert_eq!(connections.reset(None).0, 1);
    }

    #[test]
    fn ended_connections_are_forgotten() {
        let mut connections = Connections::default();
        let all = [
            (Port::Inside, SYN),
            (Port::Outside, SYN | ACK),
            (Port::Inside, FIN | ACK),
            (Port::Outside, FIN | ACK),
            (Port::Inside, ACK),
        ];
        for (from, flags) in all {
            assert_eq!(connections.arrive(from, 0, &tcp(from, 1, 1, flags, 0)), Arrival::Enters);
        }
        assert!(connections.is_empty());
        connections.arrive(Port::Inside, 0, &tcp(Port::Inside, 1, 0, SYN, 0));
        connections.arrive(Port::Outside, 0, &tcp(Port::Outside, 0, 2, RST | ACK, 0));
        assert!(connections.is_empty());
        // Anything else is not followed, and nothing of it panics.
        let packet = tcp(Port::Inside, 1, 1, ACK, 30);
        for end in 0..packet.len() {
            connections.arrive(Port::Inside, 0, &packet[..end]);
        }
        for at in 0..packet.len() {
            let mut other = packet.clone();
            other[at] ^= 0xff;
            connections.arrive(Port::Inside, 0, &other);
        }
    }

    #[test]
    fn frames_go_back_where_they_came_from() {
        let mut connections = Connections::default();
        let ethernet: Vec<u8> = (0..14).collect();
        let frame = [ethernet, tcp(Port::Inside, 1, 77, ACK, 0)].concat();
        connections.arrive(Port::Inside, 14, &frame);
        let (_, resets) = connections.reset(None);
        assert_eq!(resets.len(), 1);
        assert_eq!(
            (resets[0].header, &resets[0].bytes[..14]),
            (14, &[6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13][..])
        );
        assert_eq!(number(&resets[0].bytes, 14 + 24), 77);
    }
}
