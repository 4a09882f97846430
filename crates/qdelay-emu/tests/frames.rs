//! Headers of packets under arbitrary and mutated input, compared with a slow parser that reads bit by bit and shares no code
//! with the crate's; ECN marks compared with a checksum computed from scratch.
//!
//! Each target runs for 1 s, times `QDELAY_EFFORT`. A failure prints a seed, which
//! `ARBTEST_SEED=0x... cargo test -p qdelay-emu --test main frames::NAME` replays.

use crate::common::{Make, checksum, packet};
use crate::slow_frame::{SlowFrame, codepoint, slow};
use arbtest::arbitrary::{Result, Unstructured};
use qdelay_emu::device::Kind;
use qdelay_emu::frame::{complete_checksum, link_layer, parse, set_ce};

fn fuzz(target: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    qdelay_testing::fuzz::fuzz(1.0, target);
}

/// A packet that is nearly valid, or random bytes.
fn input(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.ratio(1, 8)? {
        let count = u.arbitrary_len::<u8>()?.min(200);
        return Ok(u.bytes(count)?.to_vec());
    }
    let version = if u.arbitrary()? { 4 } else { 6 };
    let bytes = u.int_in_range(48..=300)?;
    let mut data = packet(Make {
        version,
        flow: u.arbitrary()?,
        dscp: u.int_in_range(0..=63)?,
        ecn: u.int_in_range(0..=3)?,
        bytes,
        number: u.arbitrary()?,
    });
    let protocols = [0, 1, 6, 17, 33, 43, 44, 47, 50, 51, 58, 60, 132, 136];
    let protocol = *u.choose(&protocols)?;
    if version == 4 {
        data[9] = protocol;
        if u.ratio(1, 4)? {
            data[0] = 0x40 | u.int_in_range(0..=15)?;
        }
        if u.ratio(1, 4)? {
            data[6..8].copy_from_slice(&u.arbitrary::<u16>()?.to_be_bytes());
        }
    } else {
        data[6] = protocol;
        let mut at = 40;
        while u.ratio(4, 5)? && at + 8 <= data.len() {
            data[at] = *u.choose(&protocols)?;
            data[at + 1] = u.int_in_range(0..=3)?;
            data[at + 2..at + 4].copy_from_slice(&u.int_in_range(0..=9_u16)?.to_be_bytes());
            at += 8;
        }
    }
    for _ in 0..u.int_in_range(0..=2)? {
        let at = u.choose_index(data.len())?;
        data[at] = u.arbitrary()?;
    }
    match u.int_in_range(0..=5)? {
        0 => data.truncate(u.int_in_range(0..=data.len())?),
        1 => {
            let count = u.arbitrary_len::<u8>()?.min(64);
            data.extend_from_slice(u.bytes(count)?);
        }
        _ => {}
    }
    Ok(data)
}

#[test]
fn parser_agrees_with_the_slow_parser() {
    let (mut good, mut bad, mut alike, mut last) = (0, 0, 0, None::<(SlowFrame, u32)>);
    fuzz(|u| {
        let data = input(u)?;
        let (fast, slow) = (parse(&data), slow(&data));
        assert_eq!(fast.is_ok(), slow.is_some(), "{fast:?} {slow:?} {data:02x?}");
        let (Ok(fast), Some(slow)) = (fast, slow) else {
            bad += 1;
            return Ok(());
        };
        good += 1;
        let seen = (fast.bytes, fast.dscp, codepoint(fast.ecn));
        assert_eq!(seen, (slow.bytes, slow.dscp, slow.ecn), "{data:02x?}");
        // The same packet with one byte changed, and the packet before: the same flow exactly if the keys are equal.
        let mut other = data.clone();
        let at = u.choose_index(other.len())?;
        other[at] ^= 1 << u.int_in_range(0..=7)?;
        if let (Ok(fast_other), Some(slow_other)) = (parse(&other), crate::slow_frame::slow(&other)) {
            assert_eq!(fast.flow == fast_other.flow, slow.key == slow_other.key, "{data:02x?} {at}");
            alike += u32::from(slow.key == slow_other.key);
        }
        if let Some((key, flow)) = last.replace((slow.clone(), fast.flow)) {
            assert_eq!(flow == fast.flow, key.key == slow.key, "{data:02x?}");
        }
        Ok(())
    });
    assert!(good > 1000 && bad > 100 && alike > 100, "{good} {bad} {alike}");
}

#[test]
fn a_mark_changes_the_codepoint_and_the_checksum_only() {
    let mut marked = 0;
    fuzz(|u| {
        let mut data = input(u)?;
        let header = usize::from(data.first().copied().unwrap_or(0) & 15) * 4;
        let is_ipv4 = slow(&data).is_some_and(|seen| seen.key.0 == 4);
        if is_ipv4 {
            data[10..12].fill(0);
            let sum = checksum(&data[..header]);
            data[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let before = data.clone();
        let is_marked = set_ce(&mut data);
        let Some(seen) = slow(&before) else { return Ok(()) };
        assert_eq!(is_marked, seen.ecn != 0);
        if !is_marked {
            assert_eq!(data, before);
            return Ok(());
        }
        marked += 1;
        assert_eq!(slow(&data), Some(SlowFrame { ecn: 3, ..seen }));
        if is_ipv4 {
            let written = [data[10], data[11]];
            data[10..12].fill(0);
            assert_eq!(checksum(&data[..header]).to_be_bytes(), written, "computed from scratch");
            data[10..12].copy_from_slice(&before[10..12]);
            data[1] = before[1];
        } else {
            data[1] = before[1];
        }
        assert_eq!(data, before, "other bytes are unchanged");
        Ok(())
    });
    assert!(marked > 1000, "{marked}");
}

/// A TCP or UDP packet, perhaps with options or an extension header, with an arbitrary checksum.
fn segment(u: &mut Unstructured<'_>) -> Result<(Vec<u8>, usize, Vec<u8>)> {
    let protocol = *u.choose(&[6, 17])?;
    let length = u.int_in_range(20..=1460_usize)?;
    let mut transport = Vec::new();
    (0..length).try_for_each(|_| u.arbitrary().map(|byte| transport.push(byte)))?;
    let extra = *u.choose(&[0, 8])?;
    let mut packet;
    let pseudo;
    if u.arbitrary()? {
        packet = vec![0x45 + extra as u8 / 4, 0];
        packet.extend_from_slice(&((20 + extra + length) as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
        let addresses: [u8; 8] = u.arbitrary()?;
        packet.extend_from_slice(&addresses);
        packet.extend_from_slice(&vec![1; extra]);
        pseudo = [&addresses[..], &[0, protocol]].concat();
    } else {
        let next = if extra > 0 { 60 } else { protocol };
        packet = vec![0x60, 0, 0, 0];
        packet.extend_from_slice(&((extra + length) as u16).to_be_bytes());
        packet.extend_from_slice(&[next, 64]);
        let addresses: [u8; 32] = u.arbitrary()?;
        packet.extend_from_slice(&addresses);
        packet.extend_from_slice(&[protocol, 0, 1, 4, 0, 0, 0, 0][..extra]);
        pseudo = [&addresses[..], &[0, protocol]].concat();
    }
    let start = packet.len();
    packet.extend_from_slice(&transport);
    Ok((packet, start, pseudo))
}

#[test]
fn completed_checksums_are_right() {
    fuzz(|u| {
        let (mut data, start, pseudo) = segment(u)?;
        let end = data.len();
        data.extend_from_slice(&[0x77; 7][..u.int_in_range(0..=7)?]);
        let before = data.clone();
        assert!(complete_checksum(&mut data));
        let field = start + if pseudo[pseudo.len() - 1] == 6 { 16 } else { 6 };
        let length = ((end - start) as u16).to_be_bytes();
        assert_eq!(checksum(&[&pseudo, &length[..], &data[start..end]].concat()), 0);
        assert!(pseudo[pseudo.len() - 1] == 6 || data[field..field + 2] != [0, 0]);
        data[field..field + 2].copy_from_slice(&before[field..field + 2]);
        assert_eq!(data, before, "other bytes are unchanged");
        Ok(())
    });
    fuzz(|u| {
        let mut data = input(u)?;
        let before = data.clone();
        if !complete_checksum(&mut data) {
            assert_eq!(data, before);
        }
        Ok(())
    });
    // Fragments and other transports are unchanged: a fragment contains only a part of the segment.
    let mut fragment = packet(Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes: 100, number: 1 });
    fragment[6] = 0x20;
    assert!(!complete_checksum(&mut fragment));
    (fragment[6], fragment[9]) = (0, 1);
    assert!(!complete_checksum(&mut fragment));
    // A header length below the minimum leaves no transport header.
    let mut short = packet(Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes: 100, number: 1 });
    (short[0], short[9]) = (0x40, 17);
    let before = short.clone();
    assert!(!complete_checksum(&mut short) && short == before);
}

/// Compares with a list of all possible headers.
#[test]
fn link_layer_headers_are_recognised() {
    let mut known = vec![(Vec::new(), 14)];
    for one in [[0x81, 0x00], [0x88, 0xa8]] {
        known.push(([&one[..], &[0x12, 0x34]].concat(), 18));
        for two in [[0x81, 0x00], [0x88, 0xa8]] {
            known.push(([&one[..], &[0x12, 0x34], &two[..], &[0x08, 0x00]].concat(), 22));
        }
    }
    for (tags, header) in known {
        for (ethertype, kind) in [
            ([0x08, 0x00], Kind::Ip),
            ([0x86, 0xdd], Kind::Ip),
            ([0x08, 0x06], Kind::Other),
            ([0x00, 0x2a], Kind::Other),
            ([0x88, 0xcc], Kind::Other),
        ] {
            let frame = [&[7; 12][..], &tags, &ethertype, &[0x45; 30]].concat();
            assert_eq!(link_layer(&frame), (header, kind), "{frame:x?}");
            for cut in 0..usize::from(header) {
                assert_eq!(link_layer(&frame[..cut]).1, Kind::Other, "{cut} bytes of {frame:x?}");
            }
        }
    }
    let tag = [0x81, 0x00, 0, 1];
    let three = [&[7; 12][..], &tag, &tag, &tag, &[0x08, 0x00, 0x45]].concat();
    assert_eq!(link_layer(&three).1, Kind::Other);
}
