//! Packet captures, read back by an independent reader, and by Wireshark's programs if they are installed.

use crate::common::{direction, number, script, us};
use qdelay_core::{Ecn, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog};
use qdelay_emu::log::{Layout, PcapngLog, PcapngOptions};
use qdelay_emu::pool::Pool;
use qdelay_path::stack::{Direction, Plan};
use qdelay_testing::{Need, skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BEGAN: Duration = Duration::new(1_700_000_000, 123_456_789);

/// A capture as read back.
#[derive(Debug, Default)]
struct Read {
    interfaces: Vec<(String, u16, u32, u8)>,
    packets: Vec<ReadPacket>,
    /// Interface, time, drops.
    statistics: Vec<(u32, u64, u64)>,
}

#[derive(Clone, Debug, PartialEq)]
struct ReadPacket {
    interface: u32,
    nanos: u64,
    size: u32,
    bytes: Vec<u8>,
    flags: Option<u32>,
    comment: Option<String>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}
/// A time stamp: two words, the upper one first.
fn time_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}

fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    while !bytes.is_empty() {
        let (code, length) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
        if code == 0 {
            assert_eq!((length, bytes.len()), (0, 4), "the end is the end");
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
    assert!(options.is_empty(), "options need an end");
    options
}

fn read(mut file: &[u8]) -> Read {
    let mut read = Read::default();
    assert_eq!((u32_at(file, 0), u32_at(file, 8)), (0x0a0d_0d0a, 0x1a2b_3c4d), "a section, little-endian");
    assert_eq!((u16_at(file, 12), u16_at(file, 14)), (1, 0), "the version");
    while !file.is_empty() {
        let (kind, length) = (u32_at(file, 0), u32_at(file, 4) as usize);
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(file, length - 4) as usize, length, "the length stands at both ends");
        let body = &file[8..length - 4];
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        match kind {
            0x0a0d_0d0a => assert!(text(&options(&body[16..])[0].1).starts_with("qdelay ")),
            1 => {
                let options = options(&body[8..]);
                let option = |code| &options.iter().find(|option| option.0 == code).unwrap().1;
                read.interfaces.push((text(option(2)), u16_at(body, 0), u32_at(body, 4), option(9)[0]));
            }
            6 => {
                let kept = u32_at(body, 12) as usize;
                let options = options(&body[20 + kept.next_multiple_of(4)..]);
                let option =
                    |code| options.iter().find(|option| option.0 == code).map(|option| &option.1[..]);
                read.packets.push(ReadPacket {
                    interface: u32_at(body, 0),
                    nanos: time_at(body, 4),
                    size: u32_at(body, 16),
                    bytes: body[20..20 + kept].to_vec(),
                    flags: option(2).map(|bytes| u32_at(bytes, 0)),
                    comment: option(1).map(text),
                });
            }
            5 => {
                let drops = options(&body[12..]).iter().find(|option| option.0 == 5).unwrap().1.clone();
                let drops = u64::from_le_bytes(drops.try_into().unwrap());
                read.statistics.push((u32_at(body, 0), time_at(body, 4), drops));
            }
            _ => panic!("block {kind:#x}"),
        }
        file = &file[length..];
    }
    read
}

fn temporary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn plan() -> Plan {
    Plan {
        down: Direction {
            impairment: qdelay_path::ImpairmentSpec { loss: 0.05.into(), ..Default::default() },
            ..direction("bode:target=20ms", "trace:3", 5)
        },
        up: direction("codel:ecn=on", "line:6mbit", 5),
        seed: 11,
    }
}

/// Sends packets from both sides; returns the capture, the expected events, and the bytes of each packet.
fn capture(name: &str, options: &PcapngOptions) -> (PathBuf, Read, EventLog, Vec<[Vec<u8>; 2]>) {
    let (path, plan, end) = (temporary(name), plan(), us(1_500_000));
    let log = PcapngLog::create(&path, &Layout::from_plan(&plan).unwrap(), options).unwrap();
    let mut emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), (log, EventLog::default())).unwrap();
    let mut arrivals: Vec<(Time, Port, Vec<u8>)> = Vec::new();
    for port in Port::ALL {
        arrivals.extend(script(5, port.name(), 1000).into_iter().map(|(time, bytes)| (time, port, bytes)));
    }
    arrivals.sort_by_key(|arrival| arrival.0);
    // The bytes of a packet on arrival, and on departure.
    let mut bytes = Vec::new();
    let mut numbers = [Vec::new(), Vec::new()];
    let settle =
        |emulator: &mut Emulator<(), _>, bytes: &mut Vec<[Vec<u8>; 2]>, numbers: &[Vec<usize>; 2]| {
            while let Some(release) = emulator.next_release() {
                let out = emulator.bytes(&release).to_vec();
                let at = numbers[release.port.other().index()][number(&out) as usize];
                bytes[at][1] = out;
                emulator.settle(release.slot);
            }
        };
    for (time, port, packet) in arrivals {
        let slot = emulator.take_slot().unwrap();
        emulator.buffer(slot)[..packet.len()].copy_from_slice(&packet);
        numbers[port.index()].push(bytes.len());
        emulator.arrive(time, port, slot, packet.len()).unwrap();
        bytes.push([packet, Vec::new()]);
        settle(&mut emulator, &mut bytes, &numbers);
    }
    emulator.advance(end);
    settle(&mut emulator, &mut bytes, &numbers);
    let (log, events) = emulator.into_parts().1;
    let summary = log.close(end).unwrap();
    let file = fs::read(&path).unwrap();
    let read = read(&file);
    assert_eq!((summary.records, summary.lost), (read.packets.len() as u64, 0));
    assert_eq!(summary.bytes, file.len() as u64);
    (path, read, events, bytes)
}

#[test]
fn every_packet_is_captured_on_arrival_and_departure() {
    let (_, read, log, bytes) =
        capture("every.pcapng", &PcapngOptions { began: BEGAN, ..Default::default() });
    assert_eq!(read.interfaces, [("inside".into(), 101, 0, 9), ("outside".into(), 101, 0, 9)]);
    let began = BEGAN.as_nanos() as u64;
    let end = began + 1_500_000_000;
    assert_eq!(read.statistics, [(0, end, 0), (1, end, 0)]);
    let (path_nodes, nodes) = plan().build().unwrap();
    let down: Vec<_> = path_nodes.nodes().take(5).collect();
    let mut expected = Vec::new();
    let (mut drops, mut marks) = (0, 0);
    for event in &log.events {
        let from = if down.contains(&event.node) { 1 } else { 0 };
        let (interface, flags, comment, out) = match event.kind {
            EventKind::Enqueued => (from, 1, None, 0),
            EventKind::Delivered => (1 - from, 2, None, 1),
            EventKind::Dropped(reason) => {
                drops += 1;
                let name = path_nodes.name(event.node);
                (from, 0, Some(format!("dropped by {name}: {}", reason.name())), 0)
            }
            _ => continue,
        };
        let bytes = &bytes[event.sequence as usize];
        marks += u64::from(out == 1 && bytes[0] != bytes[1]);
        assert!(out == 0 || bytes[0] == bytes[1] || event.ecn == Ecn::Ce);
        expected.push(ReadPacket {
            interface,
            nanos: began + event.time.as_nanos(),
            size: event.bytes,
            bytes: bytes[out].clone(),
            flags: Some(flags),
            comment,
        });
    }
    assert_eq!(nodes.exit[0], down[4]);
    assert!(drops > 20 && marks > 10, "{drops} dropped, {marks} marked");
    for (got, expected) in read.packets.iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    assert_eq!(read.packets.len(), expected.len());
    let comments: Vec<&str> = read.packets.iter().filter_map(|packet| packet.comment.as_deref()).collect();
    for comment in
        ["dropped by down: sojourn_bound", "dropped by down-impairment: loss", "dropped by up: codel"]
    {
        assert!(comments.contains(&comment), "{comment}");
    }
}

#[test]
fn snapped_packets_keep_their_size() {
    let options = PcapngOptions { snap: 61, ..Default::default() };
    let (_, read, _, _) = capture("snapped.pcapng", &options);
    assert!(read.interfaces.iter().all(|interface| interface.2 == 61));
    assert!(read.packets.iter().all(|packet| packet.bytes.len() == packet.size.min(61) as usize));
    assert!(read.packets.iter().any(|packet| packet.size == 1500));
}

/// A capture of whole packets, and one of truncated packets.
fn for_wireshark(name: &str) -> [(PathBuf, Read); 2] {
    [PcapngOptions { began: BEGAN, ..Default::default() }, PcapngOptions { snap: 61, ..Default::default() }]
        .map(|options| {
            let (path, read, _, _) = capture(&format!("{name}-{}.pcapng", options.snap), &options);
            (path, read)
        })
}

/// The output of one of Wireshark's programs for a file. Skips the test if it is not installed.
fn wireshark(program: &str, arguments: &[&str], path: &Path) -> String {
    let Ok(output) = Command::new(program).args(arguments).arg(path).output() else {
        skip(Need::Tools, format_args!("no {program} command"));
    };
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn capinfos_counts_the_packets() {
    for (path, read) in for_wireshark("capinfos") {
        let text = wireshark("capinfos", &["-M", "-c"], &path);
        assert!(text.contains(&read.packets.len().to_string()), "{text}");
    }
}

#[test]
fn tshark_reads_the_same_packets() {
    for (path, read) in for_wireshark("tshark") {
        compare_with_tshark(&path, &read);
    }
}

fn compare_with_tshark(path: &Path, read: &Read) {
    let fields = ["-r", "-e", "frame.interface_name", "-e", "frame.time_epoch", "-e", "frame.len"];
    let more = ["-e", "frame.cap_len", "-e", "frame.packet_flags_direction", "-e", "frame.comment"];
    let arguments = [&["-n", "-T", "fields"], &fields[1..], &more, &fields[..1]].concat();
    let text = wireshark("tshark", &arguments, path);
    let names = ["inside", "outside"];
    for (line, packet) in text.lines().zip(&read.packets) {
        let expected = format!(
            "{}\t{}.{:09}\t{}\t{}\t0x{:08x}\t{}",
            names[packet.interface as usize],
            packet.nanos / 1_000_000_000,
            packet.nanos % 1_000_000_000,
            packet.size,
            packet.bytes.len(),
            packet.flags.unwrap(),
            packet.comment.as_deref().unwrap_or("")
        );
        assert_eq!(line, expected);
    }
    assert_eq!(text.lines().count(), read.packets.len());
}
