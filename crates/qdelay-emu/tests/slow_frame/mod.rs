//! A slow parser of IP packets, which reads bit by bit and shares no code with the crate's.

use qdelay_core::Ecn;

/// Reader of bits from the front.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn left(&self) -> usize {
        self.data.len() * 8 - self.at
    }
    fn read(&mut self, count: usize) -> Option<u128> {
        if self.left() < count {
            return None;
        }
        let mut value = 0;
        for _ in 0..count {
            value = value * 2 + u128::from(self.data[self.at / 8] >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
    fn skip(&mut self, bytes: usize) -> Option<()> {
        if self.left() < bytes * 8 {
            return None;
        }
        self.at += bytes * 8;
        Some(())
    }
}

/// Fields read by the slow parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowFrame {
    /// Length of the IP packet.
    pub bytes: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// ECN codepoint, as in the header.
    pub ecn: u8,
    /// Flow key: version, protocol, source, destination, ports.
    pub key: (u8, u8, u128, u128, Option<u32>),
}

/// Reads a packet.
pub fn slow(data: &[u8]) -> Option<SlowFrame> {
    let mut bits = Bits { data, at: 0 };
    match bits.read(4)? {
        4 => slow_ipv4(data, bits),
        6 => slow_ipv6(data, bits),
        _ => None,
    }
}

fn slow_ipv4(data: &[u8], mut bits: Bits<'_>) -> Option<SlowFrame> {
    let words = bits.read(4)? as usize;
    let (dscp, ecn) = (bits.read(6)? as u8, bits.read(2)? as u8);
    let total = bits.read(16)? as usize;
    let (_identification, _reserved, _dont) = (bits.read(16)?, bits.read(1)?, bits.read(1)?);
    let (more, offset) = (bits.read(1)?, bits.read(13)?);
    let (_ttl, protocol, _checksum) = (bits.read(8)?, bits.read(8)? as u8, bits.read(16)?);
    let (source, destination) = (bits.read(32)?, bits.read(32)?);
    if words < 5 || total < words * 4 || data.len() < total {
        return None;
    }
    let whole = more == 0 && offset == 0;
    let ports = if whole { slow_ports(protocol, &data[words * 4..total]) } else { None };
    Some(SlowFrame { bytes: total as u32, dscp, ecn, key: (4, protocol, source, destination, ports) })
}

fn slow_ipv6(data: &[u8], mut bits: Bits<'_>) -> Option<SlowFrame> {
    let (dscp, ecn, _label) = (bits.read(6)? as u8, bits.read(2)? as u8, bits.read(20)?);
    let total = bits.read(16)? as usize + 40;
    let (mut next, _hops) = (bits.read(8)? as u8, bits.read(8)?);
    let (source, destination) = (bits.read(128)?, bits.read(128)?);
    if data.len() < total {
        return None;
    }
    let mut rest = Bits { data: &data[..total], at: bits.at };
    let mut fragment = false;
    for _ in 0..8 {
        let mut header = Bits { data: rest.data, at: rest.at };
        let Some(following) = header.read(8) else { break };
        let length = match next {
            0 | 43 | 60 => header.read(8).map(|length| 8 + 8 * length as usize),
            51 => header.read(8).map(|length| 8 + 4 * length as usize),
            44 => header.read(8).and_then(|_| {
                let (offset, _reserved, more) = (header.read(13)?, header.read(2)?, header.read(1)?);
                fragment |= offset != 0 || more != 0;
                Some(8)
            }),
            _ => break,
        };
        let Some(length) = length else { break };
        if rest.skip(length).is_none() {
            break;
        }
        next = following as u8;
        if fragment {
            break;
        }
    }
    let ports = if fragment { None } else { slow_ports(next, &rest.data[rest.at / 8..]) };
    Some(SlowFrame { bytes: total as u32, dscp, ecn, key: (6, next, source, destination, ports) })
}

fn slow_ports(protocol: u8, transport: &[u8]) -> Option<u32> {
    let has_ports = [6, 17, 33, 132, 136].contains(&protocol);
    let ports = Bits { data: transport, at: 0 }.read(32)? as u32;
    // Ports 0 and 0 are treated like a packet without ports.
    (has_ports && ports != 0).then_some(ports)
}

/// ECN codepoint as the two bits in the header.
pub fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
