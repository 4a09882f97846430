//! Cost of a packet in an emulator, without devices and system calls: `cargo bench -p qdelay-emu`. An argument scales the number
//! of packets.
//!
//! Each packet is written into its slot (the header only: the copy from a device is not measured), parsed, queued, sent over
//! the link, released and settled. `path` is the bare path with the same packets, for comparison; `turn` uses a driver with the
//! real clock and devices that generate packets.
#![allow(clippy::disallowed_methods, reason = "measures its own cost")]

use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Rate, Span, Time};
use qdelay_emu::clock::RealClock;
use qdelay_emu::device::{Device, Port, Received, Sent};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::frame::parse;
use qdelay_emu::pool::Pool;
use qdelay_path::stack::{Direction, Plan};
use qdelay_path::{AnyLink, Line, TraceLink};
use qdelay_trace::ScheduleBuilder;
use std::hint::black_box;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

const BYTES: usize = 1500;

fn header(flow: u8) -> [u8; 28] {
    let mut header = [0; 28];
    header[..4].copy_from_slice(&[0x45, 2, (BYTES >> 8) as u8, BYTES as u8]);
    header[8..10].copy_from_slice(&[64, 17]);
    header[15] = flow;
    header[23] = flow;
    header
}

fn plan(qdisc: &str, link: &AnyLink) -> Plan {
    let direction = || Direction {
        delay: Span::from_millis(1),
        ..Direction::new(AnyQdisc::parse(qdisc).expect("a discipline"), link.clone())
    };
    Plan { down: direction(), up: direction(), seed: 1 }
}

fn report(name: &str, start: Instant, packets: u64, rest: &str) {
    let seconds = start.elapsed().as_secs_f64();
    let (nanos, rate) = (seconds * 1e9 / packets as f64, packets as f64 / seconds / 1e6);
    println!("{name:<28} {nanos:>6.1} ns/packet {rate:>6.2} Mpackets/s  {rest}");
}

/// Sends one packet of 1500 bytes in each direction every `gap`, `ahead` of them at the start.
fn emulate(name: &str, plan: Plan, ahead: u64, gap: Span, packets: u64) {
    let mut emulator = Emulator::new(plan, Pool::new(1500, 4096), ()).expect("a path");
    let (mut now, mut released) = (Time::ZERO, 0_u64);
    let start = Instant::now();
    for number in 0..packets / 2 {
        if number >= ahead {
            now += gap;
        }
        emulator.advance(now);
        for port in Port::ALL {
            let Some(slot) = emulator.take_slot() else { continue };
            emulator.buffer(slot)[..28].copy_from_slice(&header(number as u8 & 15));
            let _ = emulator.arrive(now, port, slot, BYTES);
        }
        while let Some(release) = emulator.next_release() {
            black_box(emulator.bytes(&release));
            released += 1;
            emulator.settle(release.slot);
        }
    }
    report(name, start, packets, &format!("({released} out, {} slots)", emulator.pool().peak()));
    emulator.audit().expect("conservation");
}

/// Sends the same packets without bytes over the bare path.
fn bare(name: &str, plan: Plan, ahead: u64, gap: Span, packets: u64) {
    let (mut path, nodes) = plan.build().expect("a path");
    let frames: Vec<_> = (0..16)
        .map(|flow| {
            let mut packet = header(flow).to_vec();
            packet.resize(BYTES, 0);
            parse(&packet).expect("a packet")
        })
        .collect();
    let (mut now, mut out) = (Time::ZERO, Vec::with_capacity(1024));
    let start = Instant::now();
    for number in 0..packets / 2 {
        if number >= ahead {
            now += gap;
        }
        for port in Port::ALL {
            let packet = frames[number as usize & 15].packet(number);
            path.ingress(now, nodes.entry[port.index()], packet, &mut out).expect("time in order");
        }
        black_box(&out);
        out.clear();
    }
    report(name, start, packets, "");
}

/// Device that delivers a number of packets without waiting, and accepts all packets.
struct Source {
    left: u64,
    written: u64,
}

impl Device for Source {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        buffer[..28].copy_from_slice(&header(self.left as u8 & 15));
        Ok(Some(Received::ip(BYTES)))
    }
    fn send(&mut self, bytes: &[u8]) -> io::Result<Sent> {
        black_box(bytes);
        self.written += 1;
        Ok(Sent::Done)
    }
    fn kernel_drops(&mut self) -> u64 {
        0
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

fn turns(name: &str, plan: Plan, packets: u64) {
    let device = || Source { left: packets / 2, written: 0 };
    let emulator = Emulator::new(plan, Pool::new(1500, 16_384), ()).expect("a path");
    let mut driver =
        Driver::new(RealClock::start(), [device(), device()], emulator, [Span::from_millis(1); 2]);
    let start = Instant::now();
    while driver.turn([true; 2]).expect("devices").is_busy() {}
    let written = driver.devices()[0].written + driver.devices()[1].written;
    report(name, start, packets, &format!("({written} out)"));
}

fn main() {
    let packets = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(4_000_000);
    let rate = Rate::from_bps(1_000_000_000);
    let slot = rate.time_for(BYTES as u64);
    let line = AnyLink::from(Line::new(rate, 0));
    let mut trace = ScheduleBuilder::default();
    for ms in 1..=1000 {
        trace.push(ms, 83).expect("times in order");
    }
    let trace = AnyLink::from(TraceLink::new(&trace.finish().expect("a schedule"), 4, true));
    bare("path taildrop line", plan("taildrop", &line), 100, slot, packets);
    bare("path bode line", plan("bode", &line), 100, slot, packets);
    for (load, ahead, gap) in [("busy", 100, slot), ("idle", 0, slot * 2)] {
        emulate(&format!("{load} taildrop line"), plan("taildrop", &line), ahead, gap, packets);
        emulate(&format!("{load} bode line"), plan("bode", &line), ahead, gap, packets);
        emulate(&format!("{load} fq_codel line"), plan("fq_codel", &line), ahead, gap, packets);
        emulate(&format!("{load} bode trace"), plan("bode", &trace), ahead, gap, packets);
    }
    let fast = AnyLink::from(Line::new(Rate::from_bps(100_000_000_000), 0));
    turns("turn bode line", plan("bode", &fast), packets);
}
