//! A slow parser of IP packets, which reads bit by bit and shares no code with the crate's.

use qdelay_core::Ecn;

/// Reads bits from the front.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn left(&self) -> usize {
        self.data.len() * 8 - self.at
    }
    fn take(&mut self, count: usize) -> Option<u128> {
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

/// The fields found by the slow parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Length of the IP packet.
    pub bytes: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// ECN codepoint, as in the header.
    pub ecn: u8,
    /// Version, protocol, source, destination, ports.
    pub key: (u8, u8, u128, u128, Option<u32>),
}

/// Reads a packet.
pub fn slow(data: &[u8]) -> Option<Seen> {
    let mut bits = Bits { data, at: 0 };
    match bits.take(4)? {
        4 => slow_ipv4(data, bits),
        6 => slow_ipv6(data, bits),
        _ => None,
    }
}

fn slow_ipv4(data: &[u8], mut bits: Bits<'_>) -> Option<Seen> {
    let words = bits.take(4)? as usize;
    let (dscp, ecn) = (bits.take(6)? as u8, bits.take(2)? as u8);
    let total = bits.take(16)? as usize;
    let (_identification, _reserved, _dont) = (bits.take(16)?, bits.take(1)?, bits.take(1)?);
    let (more, offset) = (bits.take(1)?, bits.take(13)?);
    let (_ttl, protocol, _checksum) = (bits.take(8)?, bits.take(8)? as u8, bits.take(16)?);
    let (source, destination) = (bits.take(32)?, bits.take(32)?);
    if words < 5 || total < words * 4 || data.len() < total {
        return None;
    }
    let whole = more == 0 && offset == 0;
    let ports = if whole { slow_ports(protocol, &data[words * 4..total]) } else { None };
    Some(Seen { bytes: total as u32, dscp, ecn, key: (4, protocol, source, destination, ports) })
}

fn slow_ipv6(data: &[u8], mut bits: Bits<'_>) -> Option<Seen> {
    let (dscp, ecn, _label) = (bits.take(6)? as u8, bits.take(2)? as u8, bits.take(20)?);
    let total = bits.take(16)? as usize + 40;
    let (mut next, _hops) = (bits.take(8)? as u8, bits.take(8)?);
    let (source, destination) = (bits.take(128)?, bits.take(128)?);
    if data.len() < total {
        return None;
    }
    let mut rest = Bits { data: &data[..total], at: bits.at };
    let mut fragment = false;
    for _ in 0..8 {
        let mut header = Bits { data: rest.data, at: rest.at };
        let Some(following) = header.take(8) else { break };
        let length = match next {
            0 | 43 | 60 => header.take(8).map(|length| 8 + 8 * length as usize),
            51 => header.take(8).map(|length| 8 + 4 * length as usize),
            44 => header.take(8).and_then(|_| {
                let (offset, _reserved, more) = (header.take(13)?, header.take(2)?, header.take(1)?);
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
    Some(Seen { bytes: total as u32, dscp, ecn, key: (6, next, source, destination, ports) })
}

fn slow_ports(protocol: u8, transport: &[u8]) -> Option<u32> {
    let has_ports = [6, 17, 33, 132, 136].contains(&protocol);
    let ports = Bits { data: transport, at: 0 }.take(32)? as u32;
    // A packet from port 0 to port 0 is the same as one without ports.
    (has_ports && ports != 0).then_some(ports)
}

/// The codepoint as in the header.
pub fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
