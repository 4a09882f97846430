//! Steady state without allocation: after a warm-up the driver's turns make no call of the allocator.

use crate::common::{Make, cells, packet, plan};
use qdelay_core::Span;
use qdelay_core::qdisc::COMPONENTS;
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::{Device, HEADER_MAX, Received, Sent};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::frame::link_layer;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::pool::Pool;
use qdelay_ran::rlc::RlcSetting;
use qdelay_testing::allocations;
use std::io;
use std::os::fd::BorrowedFd;

/// Device that delivers bursts of packets of several flows, and accepts all packets.
struct Source {
    packets: Vec<Vec<u8>>,
    next: usize,
    /// True if the device delivers Ethernet frames.
    has_frames: bool,
}

impl Device for Source {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        self.next += 1;
        if self.next.is_multiple_of(20) {
            return Ok(None);
        }
        let packet = &self.packets[self.next % self.packets.len()];
        buffer[..packet.len()].copy_from_slice(packet);
        if self.has_frames {
            let (header, kind) = link_layer(packet);
            return Ok(Some(Received { header, kind, ..Received::ip(packet.len()) }));
        }
        Ok(Some(Received::ip(packet.len())))
    }
    fn send(&mut self, _: &[u8]) -> io::Result<Sent> {
        Ok(Sent::Done)
    }
    fn kernel_drops(&mut self) -> u64 {
        0
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// `packet` in a frame with or without a VLAN tag; every eleventh frame does not contain IP.
fn framed(number: u32, packet: &[u8]) -> Vec<u8> {
    let ethertype = if number.is_multiple_of(11) { [0x08, 0x06] } else { [0x08, 0x00] };
    let tag: &[u8] = if number.is_multiple_of(2) { &[0x81, 0x00, 0, 7] } else { &[] };
    [&[2; 12], tag, &ethertype, packet].concat()
}

#[test]
fn nothing_is_allocated_per_packet() {
    check(false);
}

#[test]
fn nothing_is_allocated_per_frame() {
    check(true);
}

#[test]
fn nothing_is_allocated_per_packet_of_a_cell() {
    let bdp = "5g-bdp:offset=0.33:full=mtu:fit=whole";
    steady(cells::like_the_emulator(bdp, "codel", Some("usp")).into(), false, "like the emulator");
    steady(cells::like_the_testbed("e5g-bdp", RlcSetting::lte_um()).into(), false, "like the testbed");
}

fn check(has_frames: bool) {
    for component in COMPONENTS {
        for link in ["line:12mbit", "trace:3"] {
            steady(
                plan(component.name, link, 5).into(),
                has_frames,
                &format!("{} over {link}", component.name),
            );
        }
    }
}

fn steady(plan: PlanKind, has_frames: bool, what: &str) {
    let clock = FakeClock::new();
    let make = |number: u32| {
        let (flow, dscp) = ((number % 16) as u8, [0, 46][number as usize % 2]);
        let bytes = 100 + 73 * (number as usize % 19);
        let packet = packet(Make { version: 4, flow, dscp, ecn: 2, bytes, number });
        if has_frames { framed(number, &packet) } else { packet }
    };
    let source = || Source { packets: (0..97).map(make).collect(), next: 0, has_frames };
    let pool = Pool::new(1500 + HEADER_MAX, 65_536);
    let emulator = Emulator::new(plan, pool, ()).unwrap();
    let devices = [source(), source()];
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_millis(1); 2]);
    let mut run = |turns: u64| {
        for _ in 0..turns {
            // The load exceeds the capacity of the link, so that queues are at their limits.
            clock.set(clock.peek() + Span::from_millis(5));
            driver.turn([true; 2]).unwrap();
        }
    };
    run(20_000);
    let before = allocations();
    run(1000);
    assert_eq!(allocations() - before, 0, "{what}");
}
