//! Shared helpers: packets built and parsed by code independent of the crate's.

pub mod cells;
pub mod watched;

use qdelay_core::{Random, Span, Time};
use qdelay_path::stack::{Direction, Plan};
use qdelay_path::{AnyLink, TraceLink, parse_link};
use qdelay_trace::ScheduleBuilder;

/// The fields of a packet to build.
#[derive(Clone, Copy, Debug)]
pub struct Make {
    pub version: u8,
    pub flow: u8,
    pub dscp: u8,
    pub ecn: u8,
    /// Length with all headers in bytes; at least 48.
    pub bytes: usize,
    /// Number written behind the ports, by which a test recognises its packets.
    pub number: u32,
}

pub const NUMBER_IPV4: usize = 24;
pub const NUMBER_IPV6: usize = 44;

pub fn packet(make: Make) -> Vec<u8> {
    let bytes = make.bytes.max(48);
    let class = make.dscp << 2 | make.ecn;
    let mut packet = Vec::new();
    if make.version == 4 {
        packet.extend_from_slice(&[0x45, class]);
        packet.extend_from_slice(&(bytes as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 17, 0, 0, 100, 64, 0, 2, 192, 0, 2, make.flow]);
        let sum = checksum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        packet.extend_from_slice(&[0x60 | class >> 4, class << 4, 0, 0]);
        packet.extend_from_slice(&(bytes as u16 - 40).to_be_bytes());
        packet.extend_from_slice(&[17, 64]);
        packet.extend_from_slice(&[0xfd; 16]);
        packet.extend_from_slice(&[0x20; 15]);
        packet.push(make.flow);
    }
    packet.extend_from_slice(&[0x9c, make.flow, 0x13, 0x88]);
    packet.extend_from_slice(&make.number.to_be_bytes());
    packet.resize(bytes, make.number as u8);
    packet
}

/// The checksum of a header (RFC 1071), computed from scratch: with a zero checksum field, the value of the field; of a complete
/// header, 0.
pub fn checksum(header: &[u8]) -> u16 {
    let mut sum = 0_u64;
    for pair in header.chunks(2) {
        sum += u64::from(pair[0]) * 256 + u64::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = sum % 0x1_0000 + sum / 0x1_0000;
    }
    0xffff - sum as u16
}

/// The number in a packet built by [`packet`].
pub fn number(packet: &[u8]) -> u32 {
    let at = if packet[0] >> 4 == 4 { NUMBER_IPV4 } else { NUMBER_IPV6 };
    u32::from_be_bytes(packet[at..at + 4].try_into().unwrap())
}

pub fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

pub fn link(text: &str) -> AnyLink {
    if let Some(per_ms) = text.strip_prefix("trace:") {
        // The schedule has gaps, single opportunities and many at a time.
        let mut builder = ScheduleBuilder::default();
        for ms in (0..=200).filter(|ms| !(60..110).contains(ms) && ms % 7 != 3) {
            builder.push(ms, 1 + u64::from(ms) % per_ms.parse::<u64>().unwrap()).unwrap();
        }
        return TraceLink::new(&builder.finish().unwrap(), 4, true).into();
    }
    AnyLink::build(&parse_link(text).unwrap()).unwrap()
}

pub fn direction(qdisc: &str, text: &str, delay_ms: u64) -> Direction {
    Direction {
        delay: Span::from_millis(delay_ms),
        ..Direction::new(qdelay_core::qdisc::AnyQdisc::parse(qdisc).unwrap(), link(text))
    }
}

pub fn plan(qdisc: &str, text: &str, delay_ms: u64) -> Plan {
    Plan { down: direction(qdisc, text, delay_ms), up: direction(qdisc, text, delay_ms), seed: 7 }
}

/// Packets of several flows, sizes and codepoints in bursts and pauses, up to about `end_ms`.
pub fn script(seed: u64, name: &str, end_ms: u64) -> Vec<(Time, Vec<u8>)> {
    let mut random = Random::derive(seed, name, "script");
    let (mut now, mut packets, mut number) = (0_u64, Vec::new(), 0);
    while now < end_ms * 1_000_000 {
        // One phase: a burst at once, a train, a pause, or silence.
        let (count, gap) = match random.below(20) {
            0..=4 => (1 + random.below(40), 0),
            5..=15 => (1 + random.below(30), 100_000 + random.below(900_000)),
            16..=18 => (1, random.below(5_000_000)),
            _ => (1, 40_000_000 + random.below(60_000_000)),
        };
        for _ in 0..count {
            now += gap;
            let bytes = [40, 64, 576, 1200, 1500, 1500, 1500][random.below(7) as usize];
            let make = Make {
                version: if random.below(3) == 0 { 6 } else { 4 },
                flow: random.below(6) as u8,
                dscp: [0, 0, 46, 8, 34][random.below(5) as usize],
                ecn: random.below(4) as u8,
                bytes,
                number,
            };
            number += 1;
            packets.push((Time::from_nanos(now), packet(make)));
        }
        now += random.below(3_000_000);
    }
    packets
}
