//! Super-packets: split and joined like in a slow model, refused if their headers are wrong, and without effect on the decisions
//! of a path.

use crate::common::{plan, us};
use crate::slow_gso::{Packet, Sum, Tcp, unpack};
use arbtest::arbitrary::{Result, Unstructured};
use qdelay_core::{Rate, Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::fake::{FakeDevice, Sending};
use qdelay_emu::device::{Kind, Port, Received};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog};
use qdelay_emu::frame::complete_checksum;
use qdelay_emu::gso::{Intake, Run};
use qdelay_emu::pool::Pool;
use std::io::IoSliceMut;

const MTU: usize = 1500;
type Script = Vec<(Time, Packet, Option<usize>)>;

fn fuzz(target: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    qdelay_testing::fuzz::fuzz(1.0, target);
}

/// A packet of `payload_bytes`, with the TCP flags of a data segment.
fn packet(u: &mut Unstructured<'_>, payload_bytes: usize) -> Result<Packet> {
    let version = *u.choose(&[4, 6])?;
    let options = |u: &mut Unstructured<'_>, most: usize| -> Result<Vec<u8>> {
        let words = u.int_in_range(0..=most)?;
        (0..words * 4).map(|_| u.arbitrary()).collect()
    };
    let tcp = match u.arbitrary()? {
        true => Some(Tcp {
            sequence: *u.choose(&[0, 1, 0xffff_fff0, 0x7fff_0000])?,
            acknowledgement: u.arbitrary()?,
            flags: 0x10 | u.int_in_range(0..=15)? << 4 & 0x40 | *u.choose(&[0, 1, 8, 9])?,
            window: u.arbitrary()?,
            options: options(u, 10)?,
        }),
        false => None,
    };
    let first: u8 = u.arbitrary()?;
    Ok(Packet {
        version,
        class: u.arbitrary()?,
        addresses: (0..if version == 4 { 8 } else { 32 }).map(|_| u.arbitrary()).collect::<Result<_>>()?,
        identification: if version == 4 { *u.choose(&[0, 7, 0xfffe])? } else { 0 },
        ip_options: if version == 4 { options(u, 10)? } else { Vec::new() },
        ports: u.arbitrary()?,
        tcp,
        payload: (0..payload_bytes).map(|at| first.wrapping_add((at * 7 + at / 251) as u8)).collect(),
    })
}

/// All packets from `bytes`, which begin with an offload header.
fn received(intake: &mut Intake, bytes: &[u8]) -> Vec<(Received, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let mut buffer = vec![0xee; MTU + 36];
        let read = |buffers: &mut [IoSliceMut<'_>]| {
            let mut rest = bytes;
            for buffer in buffers {
                let (now, later) = rest.split_at(buffer.len().min(rest.len()));
                buffer[..now.len()].copy_from_slice(now);
                rest = later;
            }
            Ok(Some(bytes.len() - rest.len()))
        };
        let received = intake.receive(&mut buffer, read).unwrap().unwrap();
        buffer.truncate(received.bytes);
        all.push((received, buffer));
        if !received.has_more {
            return all;
        }
    }
}

#[test]
fn split_and_join_match_the_slow_model() {
    let mut intake = Intake::new(MTU);
    let mut joined = 0;
    fuzz(|u| {
        let segment = u.int_in_range(1..=1340)?;
        let count = u.int_in_range(1..=46)?;
        let last = u.int_in_range(1..=segment)?;
        let payload_bytes = (segment * (count - 1) + last).min(65_000);
        let mut whole = packet(u, payload_bytes)?;
        while whole.payload_at() + segment > MTU {
            whole.ip_options.clear();
            whole.tcp.iter_mut().for_each(|tcp| tcp.options.clear());
        }
        let bytes = whole.with_header(Some(segment));
        let parts = received(&mut intake, &bytes);
        let expected = whole.split(segment);
        assert_eq!(parts.len(), expected.len());
        for ((received, bytes), expected) in parts.iter().zip(&expected) {
            assert_eq!((received.kind, received.is_unsummed), (Kind::Ip, true));
            assert_eq!(*bytes, expected.write(Sum::Pseudo));
            let mut bytes = bytes.clone();
            assert!(complete_checksum(&mut bytes));
            assert_eq!(bytes, expected.write(Sum::Whole));
        }
        let first = &parts[0].1;
        let mut run = Run::begin(first).unwrap();
        let added = parts[1..].iter().take_while(|(_, part)| run.add(first, part, true)).count();
        assert_eq!((added + 1, run.count()), (parts.len(), parts.len()));
        let mut again = run.headers(first).headers().to_vec();
        parts.iter().for_each(|(_, part)| again.extend(run.payload(part)));
        if parts.len() > 1 {
            joined += 1;
            assert_eq!(again, bytes);
        } else {
            assert_eq!(again, whole.with_header(None));
        }
        assert_eq!(unpack(&again), expected.iter().map(|part| part.write(Sum::Whole)).collect::<Vec<_>>());
        Ok(())
    });
    assert!(joined > 20, "{joined}");
}

/// A packet is not joined if it differs in any field but those of its position, or follows a shorter packet or FIN.
#[test]
fn only_the_next_packet_is_joined() {
    fuzz(|u| {
        let mut whole = packet(u, 3000)?;
        whole.ip_options.truncate(8);
        whole.tcp.iter_mut().for_each(|tcp| {
            tcp.flags = 0x10;
            tcp.options.truncate(12);
        });
        let parts: Vec<_> = whole.split(1000).iter().map(|part| part.write(Sum::Pseudo)).collect();
        let run = || Run::begin(&parts[0]).unwrap();
        assert!(run().add(&parts[0], &parts[1], true));
        // UDP over IPv6 has no field that gives the order.
        let has_order = whole.version == 4 || whole.tcp.is_some();
        for other in [&parts[0], &parts[2]] {
            assert_eq!(run().add(&parts[0], other, true), !has_order);
        }
        assert_eq!(run().add(&parts[0], &parts[1], false), whole.tcp.is_some());
        // Any header byte is changed but the unsummed checksum, the flags FIN and PSH, and fields that follow from the length.
        let at = u.int_in_range(0..=whole.payload_at() - 1)?;
        let checksum_at = whole.transport_at() + if whole.tcp.is_some() { 16 } else { 6 };
        let mut other = parts[1].clone();
        let bit = 1 << u.int_in_range(0..=7)?;
        other[at] ^= bit;
        let is_flags = whole.tcp.is_some() && at == whole.transport_at() + 13 && bit & 9 != 0;
        // A shorter IPv6 length makes this packet the last one.
        let is_length = whole.version == 6 && (4..6).contains(&at);
        if !(checksum_at..checksum_at + 2).contains(&at) && !is_flags && !is_length {
            let (mut run, before) = (run(), run());
            assert!(!run.add(&parts[0], &other, true), "byte {at}, bit {bit}");
            assert_eq!(run.count(), before.count());
        }
        let mut short = whole.split(1000);
        short[1].payload.pop();
        let (mut run, short) = (run(), short[1].write(Sum::Pseudo));
        assert!(run.add(&parts[0], &short, true) && !run.add(&parts[0], &parts[2], true));
        Ok(())
    });
    let ack = Tcp { sequence: 1, acknowledgement: 2, flags: 0x10, window: 3, options: vec![] };
    let empty = Packet {
        version: 4,
        class: 0,
        addresses: vec![10; 8],
        identification: 1,
        ip_options: vec![],
        ports: [1; 4],
        tcp: Some(ack),
        payload: vec![],
    };
    let bytes = empty.write(Sum::Pseudo);
    assert!(!Run::begin(&bytes).unwrap().add(&bytes, &bytes, true), "acknowledgements stay apart");
    assert!(Run::begin(&[]).is_none() && Run::begin(&[0x45; 30]).is_none());
}

/// Headers that contradict the packet: the packet is only counted, and the next packet is whole.
#[test]
fn contradictory_super_packets_are_refused() {
    let mut intake = Intake::new(MTU);
    let word = |bytes: &mut [u8], at: usize, value: usize| {
        bytes[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
    };
    fuzz(|u| {
        let mut whole = packet(u, 5000)?;
        whole.ip_options.clear();
        whole.tcp.iter_mut().for_each(|tcp| tcp.options.clear());
        let good = whole.with_header(Some(1200));
        let mut bad = good.clone();
        let start = 10 + whole.transport_at();
        match u.int_in_range(0..=10)? {
            0 => word(&mut bad, 4, 0),
            1 => word(&mut bad, 2, good.len() - 9),
            2 => word(&mut bad, 6, *u.choose(&[0, 5, 21, 65_535])?),
            3 => word(&mut bad, 8, *u.choose(&[0, 4, 65_535])?),
            4 => bad[0] = 0,
            5 => bad[1] = *u.choose(&[2, 3, 6, 7, 0x7f, 0xff])?,
            6 => bad[1] = if whole.tcp.is_none() { 1 } else { 5 },
            // The packet is a fragment, or has an invalid extension header.
            7 if whole.version == 4 => bad[10 + 6] |= 0x20,
            7 => bad[10 + 6] = 44,
            8 => bad[10] = *u.choose(&[0x00, 0x44, 0x50, 0x4f])?,
            9 if whole.tcp.is_some() => bad[start + 12] = *u.choose(&[0x00, 0x40])?,
            9 => bad[start + 4] ^= 1,
            _ => bad.truncate(u.int_in_range(0..=good.len() - 1)?),
        }
        let parts = received(&mut intake, &bad);
        assert_eq!((parts.len(), parts[0].0.kind), (1, Kind::Malformed), "{:x?}", &bad[..bad.len().min(80)]);
        assert_eq!(received(&mut intake, &good).len(), 5);
        Ok(())
    });
    // Random bytes.
    fuzz(|u| {
        let mut bytes = vec![0; u.int_in_range(0..=3000)?];
        u.fill_buffer(&mut bytes)?;
        if bytes.len() > 30 && u.arbitrary()? {
            (bytes[0], bytes[10]) = (1, *u.choose(&[0x45, 0x60])?);
        }
        for (received, part) in received(&mut intake, &bytes) {
            assert!(received.kind != Kind::Ip || part.len() <= MTU);
            if received.is_unsummed {
                let run = Run::begin(&part);
                assert!(run.is_some());
                assert!(complete_checksum(&mut part.clone()));
            }
        }
        Ok(())
    });
}

#[test]
fn packets_longer_than_the_mtu_are_oversized() {
    let mut intake = Intake::new(MTU);
    let mut u = Unstructured::new(&[4; 200]);
    let mut whole = packet(&mut u, 5000).unwrap();
    whole.ip_options.clear();
    let parts = received(&mut intake, &whole.with_header(Some(1600)));
    assert_eq!((parts.len(), parts[0].0.kind), (1, Kind::Oversized));
    let parts = received(&mut intake, &whole.with_header(None));
    assert_eq!((parts.len(), parts[0].0.kind), (1, Kind::Oversized));
}

/// Checksums of a tunnel's contents are completed at once.
#[test]
fn checksums_of_other_transports_are_completed() {
    let mut intake = Intake::new(MTU);
    let mut u = Unstructured::new(&[9; 200]);
    let mut inner = packet(&mut u, 500).unwrap();
    inner.ip_options.clear();
    let mut bytes = inner.with_header(None);
    let whole = inner.write(Sum::Whole);
    // IP in IP is protocol 4.
    let mut outer = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    outer[2..4].copy_from_slice(&((20 + whole.len()) as u16).to_be_bytes());
    bytes.splice(10..10, outer.iter().copied());
    bytes[6..8].copy_from_slice(&((20 + inner.transport_at()) as u16).to_ne_bytes());
    let parts = received(&mut intake, &bytes);
    assert_eq!((parts[0].0.is_unsummed, &parts[0].1[20..]), (false, &whole[..]));
    bytes[8..10].copy_from_slice(&60_000_u16.to_ne_bytes());
    assert_eq!(received(&mut intake, &bytes)[0].0.kind, Kind::Malformed);
}

/// Script of several flows, in bursts of super-packets and of single packets.
fn script(seed: u64) -> Script {
    let mut random = qdelay_core::Random::derive(seed, "gso", "script");
    let mut sequences = [0_u32; 4];
    let (mut now, mut script) = (0, Vec::new());
    for number in 0..120_u16 {
        now += random.below(4000);
        let flow = random.below(4) as usize;
        let is_tcp = flow < 3;
        let count = [1, 1, 2, 7, 45][random.below(5) as usize];
        let segment = if is_tcp { 1448 } else { 1200 };
        let payload_bytes = (segment * count).min(64_000) - random.below(100) as usize;
        let version = if flow == 1 { 6 } else { 4 };
        let packet = Packet {
            version,
            class: [0, 1, 2, 0xb8][flow],
            addresses: vec![flow as u8 + 1; if version == 4 { 8 } else { 32 }],
            identification: if version == 4 { number * 50 } else { 0 },
            ip_options: vec![],
            ports: [flow as u8; 4],
            tcp: is_tcp.then(|| Tcp {
                sequence: sequences[flow],
                acknowledgement: 5,
                flags: 0x18,
                window: 500,
                options: if flow == 1 { vec![1; 12] } else { vec![] },
            }),
            payload: vec![number as u8; payload_bytes],
        };
        let mut segment = segment;
        if flow == 1 {
            segment = 1428;
        }
        sequences[flow] = sequences[flow].wrapping_add(payload_bytes as u32);
        script.push((us(now), packet, (payload_bytes > segment).then_some(segment)));
    }
    script
}

/// Runs until nothing is left, and stops at every arrival and deadline.
fn run(qdisc: &str, link: &str, device: impl Fn(&FakeClock) -> FakeDevice, access: Option<Rate>) -> Fakes {
    let clock = FakeClock::new();
    let devices = [FakeDevice::offloading(&clock, MTU, []), device(&clock)];
    let emulator = Emulator::tapped(plan(qdisc, link, 3), Pool::new(1500, 8192), (), EventLog::default());
    let mut driver = Driver::new(clock.clone(), devices, emulator.unwrap(), [Span::from_micros(100); 2]);
    driver.set_access_rate(access);
    loop {
        let turn = driver.turn([true; 2]).unwrap();
        assert_eq!(driver.emulator().audit(), Ok(()));
        let next = driver.devices()[1].next().min(turn.deadline);
        match next {
            _ if turn.is_busy() => {}
            Time::NEVER => return driver,
            next => clock.set(next),
        }
    }
}
type Fakes = Driver<FakeClock, FakeDevice, (), EventLog>;

/// The packets of the script one by one, as on a wire.
fn one_by_one(script: &Script, access: Option<Rate>) -> Vec<(Time, Vec<u8>)> {
    let mut free = Time::ZERO;
    let mut all = Vec::new();
    for (at, packet, segment) in script {
        for part in packet.split(segment.unwrap_or(packet.payload.len())) {
            let at = match access {
                Some(rate) => {
                    let at = free.max(*at);
                    free = at + Span::from_nanos(part.bytes() as u64 * 8_000_000_000 / rate.as_bps());
                    at
                }
                None => *at,
            };
            all.push((at, part.write(Sum::Whole)));
        }
    }
    all
}

#[test]
fn super_packets_get_the_same_decisions_as_single_packets() {
    let (mut marks, mut drops, mut joins) = (0, 0, 0);
    for (seed, qdisc) in
        ["bode", "taildrop:limit=20", "codel:ecn=on", "fq_codel", "pie"].into_iter().enumerate()
    {
        for (link, access) in [
            ("line:10mbit", None),
            ("line:10gbit", None),
            ("htb:200mbit:burst=30kb", None),
            ("trace:3", None),
            ("line:10mbit", Some(Rate::from_bps(1_000_000_000))),
            ("line:200mbit", Some(Rate::from_bps(100_000_000))),
        ] {
            let script = script(seed as u64);
            let whole =
                |(at, packet, segment): &(Time, Packet, Option<usize>)| (*at, packet.with_header(*segment));
            let supers = script.iter().map(whole).collect::<Vec<_>>();
            let mut split =
                run(qdisc, link, |clock| FakeDevice::offloading(clock, MTU, supers.clone()), access);
            let singles = one_by_one(&script, access);
            let mut plain = run(qdisc, link, |clock| FakeDevice::new(clock, singles.clone()), None);
            let name = format!("{qdisc} on {link}, access {access:?}");
            assert!(split.emulator().tap().events == plain.emulator().tap().events, "{name}");
            let out = |driver: &mut Fakes| {
                let written = driver.devices()[0].written.clone();
                written
                    .into_iter()
                    .flat_map(|(at, bytes)| unpack(&bytes).into_iter().map(move |one| (at, one)))
                    .collect::<Vec<_>>()
            };
            assert!(out(&mut split) == out(&mut plain), "{name}: the same bytes at the same times");
            let counts = split.audit().super_packets;
            assert_eq!(counts.read, script.iter().filter(|(.., segment)| segment.is_some()).count() as u64);
            let measures = split.emulator().measures(Port::Outside).clone();
            let dropped = split.emulator().drops_by_reason(Port::Outside).total().packets;
            assert_eq!(measures.arrived.packets, singles.len() as u64);
            assert_eq!(measures.arrived.packets, measures.delivered.packets + dropped, "{name}");
            let marked =
                |event: &&qdelay_emu::emulator::LoggedEvent| matches!(event.kind, EventKind::Marked(_));
            marks += split.emulator().tap().events.iter().filter(marked).count();
            drops += dropped;
            joins += counts.written;
        }
    }
    assert!(marks > 10 && drops > 1000 && joins > 100, "{marks} marks, {drops} drops, {joins} joined");
}

#[test]
fn packets_of_lost_super_packets_are_counted() {
    let script = script(9);
    let packets = one_by_one(&script, None).len() as u64;
    let supers: Vec<_> =
        script.iter().map(|(_, packet, segment)| (us(0), packet.with_header(*segment))).collect();
    let device = |clock: &FakeClock| FakeDevice::offloading(clock, MTU, supers.clone());
    // The pool has no free slot.
    let clock = FakeClock::new();
    let devices = [FakeDevice::offloading(&clock, MTU, []), device(&clock)];
    let plan = plan("taildrop:limit=100000", "line:10gbit", 0);
    let emulator = Emulator::new(plan, Pool::new(1500, 256), ()).unwrap();
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_micros(100); 2]);
    driver.devices()[0].sending = Sending::FullEvery(2);
    while driver.turn([true; 2]).unwrap().is_busy() {}
    clock.set(us(100_000));
    while driver.turn([true; 2]).unwrap().is_busy() {}
    assert_eq!(driver.emulator().audit(), Ok(()));
    assert_eq!(driver.inside(), 0);
    let written: usize = driver.devices()[0].written.iter().map(|(_, bytes)| unpack(bytes).len()).sum();
    let audit = driver.audit();
    assert!(audit.pool_empty > 500 && audit.send_full > 50);
    assert_eq!(audit.pool_empty + audit.send_full + written as u64, packets);
}

/// A device without offload gets packets with complete checksums, and so does a tap that reads bytes.
#[test]
fn a_device_without_offload_gets_whole_packets() {
    let script: Script = script(3).into_iter().take(30).collect();
    let supers: Vec<_> =
        script.iter().map(|(at, packet, segment)| (*at, packet.with_header(*segment))).collect();
    let clock = FakeClock::new();
    let devices = [FakeDevice::new(&clock, []), FakeDevice::offloading(&clock, MTU, supers)];
    let emulator = Emulator::new(plan("taildrop:limit=100000", "line:10gbit", 0), Pool::new(1500, 8192), ());
    let mut driver = Driver::new(clock.clone(), devices, emulator.unwrap(), [Span::from_micros(100); 2]);
    clock.set(us(1_000_000));
    while driver.turn([true; 2]).unwrap().is_busy() {}
    clock.set(us(2_000_000));
    driver.turn([true; 2]).unwrap();
    let written: Vec<_> = driver.devices()[0].written.iter().map(|(_, bytes)| bytes.clone()).collect();
    let expected: Vec<_> = one_by_one(&script, None).into_iter().map(|(_, bytes)| bytes).collect();
    assert!(written == expected);
}
