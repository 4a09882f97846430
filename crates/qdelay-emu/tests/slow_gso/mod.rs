//! Slow model of super-packets, independent of the crate's code: packets are lists of fields, which are written out and summed byte
//! by byte.

use crate::common::checksum;

/// A flow's TCP segment or UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub version: u8,
    pub class: u8,
    /// Source and destination address, 4 or 16 bytes each.
    pub addresses: Vec<u8>,
    /// Identification, for IPv4 only.
    pub identification: u16,
    /// IPv4 options, a multiple of 4 bytes.
    pub ip_options: Vec<u8>,
    pub ports: [u8; 4],
    pub tcp: Option<Tcp>,
    pub payload: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    pub window: u16,
    /// TCP options, a multiple of 4 bytes.
    pub options: Vec<u8>,
}

/// Contents of the transport checksum field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// The sum of the pseudo-header.
    Pseudo,
    /// The checksum.
    Whole,
}

impl Packet {
    pub fn protocol(&self) -> u8 {
        if self.tcp.is_some() { 6 } else { 17 }
    }
    pub fn transport_at(&self) -> usize {
        if self.version == 4 { 20 + self.ip_options.len() } else { 40 }
    }
    pub fn payload_at(&self) -> usize {
        self.transport_at() + self.tcp.as_ref().map_or(8, |tcp| 20 + tcp.options.len())
    }
    pub fn bytes(&self) -> usize {
        self.payload_at() + self.payload.len()
    }

    fn transport(&self, field: u16) -> Vec<u8> {
        let field = field.to_be_bytes();
        let mut bytes = self.ports.to_vec();
        match &self.tcp {
            Some(tcp) => {
                bytes.extend(tcp.sequence.to_be_bytes());
                bytes.extend(tcp.acknowledgement.to_be_bytes());
                bytes.extend([((5 + tcp.options.len() / 4) << 4) as u8, tcp.flags]);
                bytes.extend(tcp.window.to_be_bytes());
                bytes.extend(field);
                bytes.extend([0, 0]);
                bytes.extend(&tcp.options);
            }
            None => {
                bytes.extend(((8 + self.payload.len()) as u16).to_be_bytes());
                bytes.extend(field);
            }
        }
        bytes.extend(&self.payload);
        bytes
    }

    /// Bytes as on a wire, or before the checksum is completed.
    pub fn write(&self, sum: Sum) -> Vec<u8> {
        let length = self.bytes() - self.transport_at();
        let mut pseudo = self.addresses.clone();
        pseudo.extend([0, 0, 0, self.protocol()]);
        pseudo.extend((length as u32).to_be_bytes());
        let field = match sum {
            Sum::Pseudo => !checksum(&pseudo),
            Sum::Whole => {
                pseudo.extend(self.transport(0));
                match (checksum(&pseudo), &self.tcp) {
                    (0, None) => 0xffff,
                    (field, _) => field,
                }
            }
        };
        let mut bytes = Vec::new();
        if self.version == 4 {
            bytes.extend([0x45 + (self.ip_options.len() / 4) as u8, self.class]);
            bytes.extend((self.bytes() as u16).to_be_bytes());
            bytes.extend(self.identification.to_be_bytes());
            bytes.extend([0x40, 0, 64, self.protocol(), 0, 0]);
            bytes.extend(&self.addresses);
            bytes.extend(&self.ip_options);
            let header = checksum(&bytes);
            bytes[10..12].copy_from_slice(&header.to_be_bytes());
        } else {
            bytes.extend([0x60 | self.class >> 4, self.class << 4, 0x12, 0x34]);
            bytes.extend((length as u16).to_be_bytes());
            bytes.extend([self.protocol(), 64]);
            bytes.extend(&self.addresses);
        }
        bytes.extend(self.transport(field));
        bytes
    }

    /// Splits the segment into packets of `segment` bytes of payload each.
    pub fn split(&self, segment: usize) -> Vec<Packet> {
        let count = self.payload.len().div_ceil(segment).max(1);
        let mut packets = Vec::new();
        for (number, payload) in self.payload.chunks(segment).enumerate() {
            let mut packet = Packet { payload: payload.to_vec(), ..self.clone() };
            packet.identification = ((u32::from(self.identification) + number as u32) % 65_536) as u16;
            if let Some(tcp) = &mut packet.tcp {
                tcp.sequence = ((u64::from(tcp.sequence) + (number * segment) as u64) % (1 << 32)) as u32;
                if number + 1 < count {
                    // FIN and PSH are cleared on all segments but the last.
                    tcp.flags &= !0b0000_1001;
                }
                if number > 0 {
                    // CWR is cleared on all segments but the first.
                    tcp.flags &= !0b1000_0000;
                }
            }
            packets.push(packet);
        }
        packets
    }

    /// Bytes with an offload header, as a kernel passes them: `segment` bytes of payload in each packet, or a single packet for `None`.
    pub fn with_header(&self, segment: Option<usize>) -> Vec<u8> {
        let kind = match (segment, self.protocol(), self.version) {
            (None, ..) => 0,
            (_, 6, 4) => 1,
            (_, 6, _) => 4,
            _ => 5,
        };
        let offset = if self.tcp.is_some() { 16 } else { 6 };
        let mut bytes = vec![1, kind];
        for word in [self.payload_at(), segment.unwrap_or(0), self.transport_at(), offset] {
            bytes.extend((word as u16).to_ne_bytes());
        }
        bytes.extend(self.write(Sum::Pseudo));
        bytes
    }
}

/// Packets, with complete checksums, that were written to a device with offload.
pub fn unpack(written: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| usize::from(u16::from_ne_bytes([written[at], written[at + 1]]));
    let (needs_checksum, kind, header, segment, start, offset) =
        (written[0] == 1, written[1], word(2), word(4), word(6), word(8));
    let packet = &written[10..];
    if kind == 0 {
        let mut packet = packet.to_vec();
        if needs_checksum {
            let field = checksum(&packet[start..]);
            let field = if field == 0 && offset == 6 { 0xffff } else { field };
            packet[start + offset..start + offset + 2].copy_from_slice(&field.to_be_bytes());
        }
        return vec![packet];
    }
    assert!(needs_checksum && segment > 0);
    let read = read(packet, start, header);
    assert_eq!(read.write(Sum::Pseudo), packet, "a super-packet that a kernel could have made");
    read.split(segment).iter().map(|packet| packet.write(Sum::Whole)).collect()
}

/// The fields of a packet whose transport begins at `start`, and its contents at `header`.
fn read(bytes: &[u8], start: usize, header: usize) -> Packet {
    let long = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let word = |at: usize| u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap());
    let version = bytes[0] >> 4;
    let is_tcp = (if version == 4 { bytes[9] } else { bytes[6] }) == 6;
    Packet {
        version,
        class: if version == 4 { bytes[1] } else { bytes[0] << 4 | bytes[1] >> 4 },
        addresses: if version == 4 { bytes[12..20].to_vec() } else { bytes[8..40].to_vec() },
        identification: if version == 4 { word(4) } else { 0 },
        ip_options: if version == 4 { bytes[20..start].to_vec() } else { Vec::new() },
        ports: bytes[start..start + 4].try_into().unwrap(),
        tcp: is_tcp.then(|| Tcp {
            sequence: long(start + 4),
            acknowledgement: long(start + 8),
            flags: bytes[start + 13],
            window: word(start + 14),
            options: bytes[start + 20..header].to_vec(),
        }),
        payload: bytes[header..].to_vec(),
    }
}
