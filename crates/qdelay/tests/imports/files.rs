//! Writes captures of packets, as programs write them.

use qdelay_record::drop_comment;

/// Format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pcap with microseconds, in this machine's order.
    Micros,
    /// pcap with nanoseconds, in the other order.
    NanosSwapped,
    /// pcapng with nanoseconds.
    Pcapng,
    /// pcapng in the other order with units of 2^-20 s, and its times 1000 s early.
    PcapngSwapped,
}

pub const KINDS: [Kind; 4] = [Kind::Micros, Kind::NanosSwapped, Kind::Pcapng, Kind::PcapngSwapped];

/// Capture of raw IP packets: time in nanoseconds and bytes of each.
pub fn capture(kind: Kind, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let is_big = matches!(kind, Kind::NanosSwapped | Kind::PcapngSwapped);
    let u32s = |numbers: &[u32]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| if is_big { number.to_be_bytes() } else { number.to_le_bytes() })
            .collect()
    };
    let u16s = |numbers: &[u16]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| if is_big { number.to_be_bytes() } else { number.to_le_bytes() })
            .collect()
    };
    let mut file = Vec::new();
    match kind {
        Kind::Micros | Kind::NanosSwapped => {
            let (magic, unit) = if kind == Kind::Micros { (0xa1b2_c3d4, 1_000) } else { (0xa1b2_3c4d, 1) };
            file.extend(u32s(&[magic]));
            file.extend(u16s(&[2, 4]));
            file.extend(u32s(&[0, 0, 65_535, 101]));
            for (nanos, bytes) in packets {
                let (seconds, rest) = ((nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000 / unit) as u32);
                file.extend(u32s(&[seconds, rest, bytes.len() as u32, bytes.len() as u32]));
                file.extend(bytes);
            }
        }
        Kind::Pcapng | Kind::PcapngSwapped => {
            let mut block = |kind: u32, body: Vec<u8>| {
                let length = body.len() as u32 + 12;
                file.extend(u32s(&[kind, length]));
                file.extend(body);
                file.extend(u32s(&[length]));
            };
            let section = [u32s(&[0x1a2b_3c4d]), u16s(&[1, 0]), u32s(&[u32::MAX, u32::MAX])].concat();
            block(0x0a0d_0d0a, section);
            let (resolution, offset) = if kind == Kind::Pcapng { (9, 0) } else { (0x80 | 20, 1_000_u64) };
            let mut interface =
                [u16s(&[101, 0]), u32s(&[0]), u16s(&[9, 1]), vec![resolution, 0, 0, 0]].concat();
            interface.extend(u16s(&[14, 8]));
            interface.extend(if is_big { offset.to_be_bytes() } else { offset.to_le_bytes() });
            interface.extend(u32s(&[0]));
            block(1, interface);
            // A block that no reader needs to know.
            block(0x0bad_cafe, vec![1, 2, 3, 4]);
            for (nanos, bytes) in packets {
                let nanos = nanos - offset * 1_000_000_000;
                let units = match kind {
                    Kind::Pcapng => nanos,
                    _ => (u128::from(nanos) * (1 << 20) / 1_000_000_000) as u64,
                };
                let numbers = [0, (units >> 32) as u32, units as u32, bytes.len() as u32, bytes.len() as u32];
                let mut body = [u32s(&numbers), bytes.clone()].concat();
                body.resize(body.len().next_multiple_of(4), 0);
                block(6, body);
            }
        }
    }
    file
}

/// An IPv4 packet of UDP, whose payload begins with `number`.
pub fn udp(id: u16, number: u32, dscp: u8) -> Vec<u8> {
    let mut packet = vec![0x45, dscp << 2, 0, 60, 0, 0, 0x40, 0, 64 - dscp, 17, 1, 2];
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x13, 0x88, 0x13, 0x89, 0, 40, 9, 9]);
    packet.extend(number.to_be_bytes());
    packet.resize(60, 7);
    packet
}

/// An IPv6 packet of TCP from port 443, with this sequence number.
pub fn tcp6(sequence: u32) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 1, 0, 32, 6, 60];
    packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    packet.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([0x01, 0xbb, 0x80, 0x00]);
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 9, 0x80, 0x10, 1, 0, 3, 3, 0, 0]);
    packet.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
    packet
}

/// A capture (pcapng, microseconds) of raw IP packets at two interfaces, with the options of a drop where a packet is dropped.
pub fn two_interfaces(packets: &[(u32, u64, Vec<u8>, bool)]) -> Vec<u8> {
    let drop = options(&drop_comment("up", "codel"), Some(0));
    let packet = |(interface, nanos, bytes, is_dropped): &(u32, u64, Vec<u8>, bool)| {
        (*interface, *nanos, bytes.clone(), if *is_dropped { drop.clone() } else { Vec::new() })
    };
    capture_with_options(2, &packets.iter().map(packet).collect::<Vec<_>>())
}

/// Options of a packet's block (pcapng, this machine's order): a comment, flags, and the end of options.
pub fn options(comment: &str, flags: Option<u32>) -> Vec<u8> {
    let mut options = [&[1, 0][..], &(comment.len() as u16).to_le_bytes(), comment.as_bytes()].concat();
    options.resize(options.len().next_multiple_of(4), 0);
    if let Some(flags) = flags {
        options.extend([2, 0, 4, 0]);
        options.extend(flags.to_le_bytes());
    }
    options.extend([0; 4]);
    options
}

/// The packet with its addresses and ports exchanged (IPv4 without options).
pub fn reversed(mut packet: Vec<u8>) -> Vec<u8> {
    let (one, other) = packet.split_at_mut(16);
    one[12..].swap_with_slice(&mut other[..4]);
    packet.swap(20, 22);
    packet.swap(21, 23);
    packet
}

/// A capture (pcap, microseconds) of raw IP packets that keeps `snap` bytes of each.
pub fn capture_cut(snap: usize, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, snap as u32, 101];
    let mut file: Vec<u8> = head.iter().flat_map(|field: &u32| field.to_le_bytes()).collect();
    for (nanos, bytes) in packets {
        let kept = &bytes[..snap.min(bytes.len())];
        let time = [(nanos / 1_000_000_000) as u32, (nanos % 1_000_000_000 / 1_000) as u32];
        let fields = [time[0], time[1], kept.len() as u32, bytes.len() as u32];
        file.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        file.extend(kept);
    }
    file
}

/// A capture (pcapng, microseconds) of raw IP packets: interface, time, bytes and options of each.
pub fn capture_with_options(interfaces: u32, packets: &[(u32, u64, Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        file.extend([&kind.to_le_bytes()[..], &length, body, &length].concat());
    };
    block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    (0..interfaces).for_each(|_| block(1, &[101, 0, 0, 0, 0, 0, 0, 0]));
    for (interface, nanos, bytes, options) in packets {
        block(6, &packet_block(*interface, *nanos, bytes, options));
    }
    file
}

/// Body of a block with a packet.
fn packet_block(interface: u32, nanos: u64, bytes: &[u8], options: &[u8]) -> Vec<u8> {
    let (micros, length) = (nanos / 1_000, bytes.len() as u32);
    let head = [interface, (micros >> 32) as u32, micros as u32, length, length];
    let mut body: Vec<u8> =
        head.iter().flat_map(|number| number.to_le_bytes()).chain(bytes.iter().copied()).collect();
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    body
}
