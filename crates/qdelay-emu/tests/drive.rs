//! The driver and the emulator under faults: malformed packets, no free slots, full devices, oversized packets.

use crate::common::{Make, direction, number, packet, plan, us};
use qdelay_core::{DropReason, Ecn, Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::fake::{FakeDevice, Sending};
use qdelay_emu::device::{Device, HEADER_MAX, Port};
use qdelay_emu::drive::{BATCH, Driver};
use qdelay_emu::emulator::Emulator;
use qdelay_emu::frame::{Malformed, parse};
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{WaitOptions, Waiter};
use qdelay_path::stack::Plan;
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};

type Fake = Driver<FakeClock, FakeDevice>;

fn make(number: u32, bytes: usize) -> Vec<u8> {
    packet(Make { version: 4, flow: (number % 3) as u8, dscp: 0, ecn: 2, bytes, number })
}

fn driver(plan: Plan, pool: Pool, inside: Vec<(Time, Vec<u8>)>, outside: Vec<(Time, Vec<u8>)>) -> Fake {
    let clock = FakeClock::new();
    let devices = [FakeDevice::new(&clock, inside), FakeDevice::new(&clock, outside)];
    let emulator = Emulator::new(plan, pool, ()).unwrap();
    Driver::new(clock, devices, emulator, [Span::from_micros(100); 2])
}

/// Takes turns at `now` until nothing is left to read.
fn turn_at(driver: &mut Fake, now: Time) {
    driver.clock().set(now);
    while driver.turn([true; 2]).unwrap().is_busy() {}
    assert_eq!(driver.emulator().audit(), Ok(()));
}

#[test]
fn malformed_packets_are_counted_and_their_slots_freed() {
    let good = make(1, 100);
    let mut bad = vec![vec![], vec![0x45], vec![0xff; 60], good[..99].to_vec(), vec![0x60; 39]];
    bad.push(good.clone());
    bad.push(good.iter().copied().chain([9; 50]).collect());
    let script = bad.into_iter().map(|bytes| (us(0), bytes)).collect();
    let mut driver = driver(plan("taildrop", "line:infinite", 0), Pool::new(1500, 256), script, vec![]);
    turn_at(&mut driver, us(10));
    assert_eq!(driver.emulator().measures(Port::Inside).malformed, 5);
    assert_eq!(driver.emulator().pool().in_use(), 0);
    let written: Vec<_> = driver.devices()[1].written.iter().map(|(_, bytes)| bytes.clone()).collect();
    assert_eq!(written, [good.clone(), good], "trailing bytes are cut");
    let audit = driver.audit();
    assert_eq!((audit.malformed, audit.verdict().trustworthy), (5, true));
}

/// A packet longer than a slot is truncated by the device, and then shorter than its header says.
#[test]
fn oversized_packets_are_counted() {
    let script = vec![(us(0), make(1, 9000)), (us(0), make(2, 1536)), (us(0), make(3, 1537))];
    let mut small =
        driver(plan("taildrop", "line:infinite", 0), Pool::new(1500, 256), script.clone(), vec![]);
    turn_at(&mut small, us(10));
    assert_eq!(small.emulator().measures(Port::Inside).malformed, 2);
    assert_eq!(number(&small.devices()[1].written[0].1), 2);
    let mut jumbo = driver(plan("bode", "line:1gbit", 1), Pool::new(9000, 256), script.clone(), script);
    turn_at(&mut jumbo, us(0));
    turn_at(&mut jumbo, us(10_000));
    for device in jumbo.devices() {
        assert_eq!(
            device.written.iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>(),
            [9000, 1536, 1537]
        );
    }
    let emulator = jumbo.emulator();
    let (measures, drops) =
        (emulator.measures(Port::Outside), emulator.drops(Port::Outside, DropReason::TAIL_LIMIT));
    assert_eq!((measures.arrived.bytes, measures.delivered.bytes, drops.packets), (12_073, 12_073, 0));
}

#[test]
fn without_memory_packets_are_counted_and_the_device_is_emptied() {
    let script = (0..700).map(|number| (us(0), make(number, 1500))).collect();
    let mut driver =
        driver(plan("taildrop:limit=10000", "line:1mbit", 0), Pool::new(1500, 256), script, vec![]);
    turn_at(&mut driver, us(1));
    assert_eq!((driver.emulator().pool().in_use(), driver.emulator().inside()), (256, 256));
    assert_eq!(driver.devices()[0].next(), Time::NEVER);
    let audit = driver.audit();
    assert_eq!((audit.pool_empty, audit.lost()), (700 - 256, 444));
    assert!(!audit.verdict().trustworthy);
    turn_at(&mut driver, us(4_000_000));
    assert_eq!((driver.devices()[1].written.len(), driver.emulator().pool().in_use()), (256, 0));
}

#[test]
fn packets_refused_by_a_device_are_counted() {
    for (sending, full, failed) in [(Sending::FullEvery(4), 25, 0), (Sending::FailsBut(4), 0, 75)] {
        let script = (0..100).map(|number| (us(0), make(number, 100))).collect();
        let mut driver = driver(plan("taildrop", "line:1gbit", 0), Pool::new(1500, 256), vec![], script);
        driver.devices()[0].sending = sending;
        turn_at(&mut driver, us(0));
        turn_at(&mut driver, us(1000));
        driver.devices()[1].drops = 3;
        let (emulator, devices, audit) = driver.finish();
        assert_eq!((audit.send_full, audit.send_failed, audit.kernel_drops), (full, failed, 3));
        assert_eq!(devices[0].written.len() as u64, 100 - full - failed);
        assert_eq!((emulator.pool().in_use(), emulator.inside()), (0, 0));
        assert_eq!(audit.verdict().reasons.len(), 3, "late, lost at our side, lost by the kernel");
    }
}

/// A side with packets at all times does not starve the other, and releases are written between its batches.
#[test]
fn a_flood_does_not_starve_the_other_side() {
    let flood = (0..5000).map(|number| (us(0), make(number, 1500))).collect();
    let few = (0..5).map(|number| (us(0), make(number, 100))).collect();
    let mut driver = driver(plan("taildrop:limit=10", "line:12mbit", 0), Pool::new(1500, 1024), flood, few);
    driver.clock().set_tick(Span::from_micros(20));
    let mut more = [true; 2];
    while driver.emulator().measures(Port::Inside).arrived.packets < BATCH as u64 {
        more = driver.turn(more).unwrap().more;
    }
    assert_eq!(more, [true, false]);
    assert_eq!(driver.emulator().measures(Port::Outside).arrived.packets, 5);
    assert!(driver.devices()[0].written.len() >= 4, "out of the other side, while it goes on");
    let worst = driver.audit().lateness.summary().max;
    assert!(worst < 0.1, "{worst} ms");
}

/// Lateness counts from the release by the path, however many turns were missed.
#[test]
fn lateness_counts_from_the_paths_own_time() {
    // 1500 bytes take 12 ms on 1 Mbit/s; then 5 ms of delay.
    let script = (0..3).map(|number| (us(0), make(number, 1500))).collect();
    let mut driver = driver(plan("taildrop", "line:1mbit", 5), Pool::new(1500, 256), script, vec![]);
    turn_at(&mut driver, us(0));
    assert_eq!(driver.emulator().next_deadline(), us(12_000));
    turn_at(&mut driver, us(18_000));
    turn_at(&mut driver, us(41_050));
    let lateness = &driver.audit().lateness;
    // 1 ms after 17, 12.05 ms after 29, 50 us after 41 ms.
    assert_eq!((lateness.count(), lateness.percentile(1.0), lateness.summary().max), (3, 0.05, 12.05));
    assert_eq!(driver.audit().late, 2);
    let mut emulator = driver.finish().0;
    assert_eq!(emulator.measures(Port::Inside).queue_delay.summary().max, 36.0);
    assert_eq!(emulator.measures(Port::Inside).sojourn.summary().max, 24.0);
    let usage = emulator.link_usage(Port::Inside, us(36_000));
    assert_eq!((usage.sent_bytes, usage.offered_bytes), (4500, 4500));
    assert_eq!(emulator.next_release(), None);
}

/// Without delay a packet is due when it leaves the link, and is written in the turn in which it arrived.
#[test]
fn packets_due_at_once_leave_in_the_same_turn() {
    let script = vec![(us(7), make(1, 100))];
    let mut driver = driver(plan("bode", "htb:10mbit", 0), Pool::new(1500, 256), script, vec![]);
    driver.clock().set(us(7));
    let turn = driver.turn([true; 2]).unwrap();
    assert_eq!(turn.more, [false; 2]);
    if driver.devices()[1].written.is_empty() {
        turn_at(&mut driver, turn.deadline);
    }
    assert_eq!(driver.devices()[1].written, [(us(7), make(1, 100))]);
}

#[test]
fn a_broken_device_ends_the_run_and_leaks_nothing() {
    let mut driver =
        driver(plan("bode", "10mbit", 0), Pool::new(1500, 256), vec![(us(0), make(1, 100))], vec![]);
    driver.devices()[0].breaks = true;
    assert!(driver.turn([true; 2]).is_err());
    assert_eq!(driver.emulator().audit(), Ok(()));
    let mut waiter = Waiter::new(WaitOptions::default(), None);
    assert!(driver.run(&mut waiter, || false).is_err());
}

#[test]
fn earlier_times_are_treated_as_the_latest() {
    let mut emulator = Emulator::new(plan("bode", "line:10mbit", 0), Pool::new(1500, 256), ()).unwrap();
    emulator.advance(us(500));
    let slot = emulator.take_slot().unwrap();
    let bytes = make(1, 100);
    emulator.buffer(slot)[..100].copy_from_slice(&bytes);
    assert_eq!(emulator.arrive(us(100), Port::Outside, slot, 100), Ok(()));
    emulator.advance(us(400));
    assert_eq!(emulator.next_deadline(), us(580));
    let slot = emulator.take_slot().unwrap();
    assert_eq!(emulator.audit(), Ok(()), "the host's slots count, too");
    emulator.buffer(slot).fill(0);
    assert_eq!(emulator.arrive(us(0), Port::Outside, slot, usize::MAX), Err(Malformed::Version));
    emulator.advance(us(1000));
    let release = emulator.next_release().unwrap();
    assert_eq!((release.port, release.due, release.bytes), (Port::Inside, us(580), 100));
    assert_eq!(emulator.bytes(&release), bytes);
    emulator.settle(release.slot);
    emulator.settle(release.slot);
    assert_eq!(emulator.audit(), Ok(()), "giving a slot back twice changes nothing");
}

/// Recorder that keeps all records.
#[derive(Default)]
struct Keep(Vec<PacketRecord>);

impl Recorder for Keep {
    fn packet(&mut self, record: &PacketRecord) {
        self.0.push(*record);
    }
}

#[test]
fn records_have_all_times() {
    let plan = Plan {
        down: direction("taildrop:limit=1", "line:1mbit", 5),
        up: direction("codel:ecn=on:target=1us:interval=1us", "line:1mbit", 5),
        seed: 1,
    };
    let clock = FakeClock::new();
    let script = |count| (0..count).map(|number| (us(100), make(number, 1500)));
    let devices = [FakeDevice::new(&clock, script(20)), FakeDevice::new(&clock, script(3))];
    let emulator = Emulator::new(plan, Pool::new(1500, 256), Keep::default()).unwrap();
    let mut driver = Driver::new(clock, devices, emulator, [Span::from_micros(100); 2]);
    for now in [100, 1_000_000] {
        driver.clock().set(us(now));
        while driver.turn([true; 2]).unwrap().is_busy() {}
    }
    let records = std::mem::take(&mut driver.emulator().recorder().0);
    assert_eq!(records.len(), 23);
    let down: Vec<_> = records.iter().filter(|record| record.direction == Direction::Data).collect();
    // One packet is on the link, one in the queue, and the third is dropped.
    assert_eq!(down[0].fate, Fate::Dropped(DropReason::TAIL_LIMIT));
    assert_eq!((down[0].dequeued, down[0].departed, down[0].ended), (None, None, us(100)));
    let last = down[2];
    assert_eq!((last.arrival, last.dequeued), (Some(us(100)), Some(us(12_100))));
    assert_eq!((last.departed, last.ended, last.fate), (Some(us(24_100)), us(29_100), Fate::Delivered));
    let up: Vec<_> = records.iter().filter(|record| record.direction == Direction::Acknowledgement).collect();
    assert_eq!(up.iter().filter(|record| record.fate == Fate::Delivered).count(), 20);
    let marks = driver.emulator().marks(Port::Inside).packets;
    let marked = up.iter().filter(|record| record.ecn == Ecn::Ce).count() as u64;
    let written =
        driver.devices()[1].written.iter().filter(|(_, bytes)| parse(bytes).unwrap().ecn == Ecn::Ce);
    assert!(marks > 0 && marks == marked && marks == written.count() as u64, "{marks}");
    assert_eq!(driver.devices()[0].kernel_drops(), 0);
}

/// Frames of an Ethernet interface are classified by their EtherType and header.
#[test]
fn ethernet() {
    const MAC: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let frame = |rest: &[&[u8]]| [&[&MAC[..]], rest].concat().concat();
    let tag = [0x81, 0x00, 0x20, 0x07];
    let arp = frame(&[&[0x08, 0x06], &[9; 28]]);
    let tagged_arp = frame(&[&tag, &[0x08, 0x06], &[8; 28]]);
    let bode = |number| frame(&[&[0x08, 0x00], &make(number, 1500)]);
    let script = vec![
        (us(0), bode(1)),
        (us(0), frame(&[&tag, &[0x08, 0x00], &make(2, 1500)])),
        // The queue is two packets long at this time, and still these frames are not late.
        (us(0), arp.clone()),
        (us(0), tagged_arp.clone()),
        // A frame of three packets.
        (us(0), frame(&[&[0x08, 0x00], &make(3, 4500)])),
        // The EtherType says IP, the contents do not.
        (us(0), frame(&[&[0x08, 0x00], &[0x55; 40]])),
        // Ethernet frames have at least 60 bytes: the padding does not count as a part of the packet.
        (us(0), frame(&[&tag, &tag, &[0x08, 0x00], &make(4, 48), &[0; 6]])),
    ];
    let plan = plan("codel:ecn=on:ce_threshold=1us", "line:12mbit", 0);
    let clock = FakeClock::new();
    let devices = [FakeDevice::new(&clock, []), FakeDevice::ethernet(&clock, script)];
    let emulator = Emulator::new(plan, Pool::new(1500 + HEADER_MAX, 256), ()).unwrap();
    let mut driver = Driver::new(clock, devices, emulator, [Span::from_micros(100); 2]);
    let (report, reports) = std::sync::mpsc::channel();
    driver.at_oversized(move || report.send(()).unwrap());
    turn_at(&mut driver, us(0));
    assert_eq!(driver.devices()[0].written, [(us(0), arp), (us(0), tagged_arp)]);
    assert_eq!(reports.iter().count(), 1, "reported once, and then forgotten");
    turn_at(&mut driver, us(1000));
    turn_at(&mut driver, us(2000));
    turn_at(&mut driver, us(2032));
    let audit = driver.audit();
    assert_eq!((audit.passed, audit.oversized, audit.malformed, audit.lost()), ([0, 2], 1, 1, 1));
    assert!(!audit.verdict().trustworthy);
    let measures = driver.emulator().measures(Port::Outside);
    assert_eq!(measures.delivered.bytes, 1500 + 1500 + 48, "the link carries IP bytes");
    let marks = driver.emulator().marks(Port::Outside).packets;
    let written = &driver.devices()[0].written[2..];
    let headers =
        [frame(&[&[0x08, 0x00]]), frame(&[&tag, &[0x08, 0x00]]), frame(&[&tag, &tag, &[0x08, 0x00]])];
    let mut marked = 0;
    for ((time, bytes), (header, number, due)) in
        written.iter().zip([(&headers[0], 1, 1000), (&headers[1], 2, 2000), (&headers[2], 4, 2032)])
    {
        let (link, packet) = bytes.split_at(header.len());
        assert_eq!((*time, link, crate::common::number(packet)), (us(due), &header[..], number));
        assert_eq!(crate::common::checksum(&packet[..20]), 0);
        assert_eq!(packet.len(), parse(packet).unwrap().bytes as usize);
        marked += u64::from(parse(packet).unwrap().ecn == Ecn::Ce);
    }
    assert_eq!((written.len(), marked), (3, marks));
    assert!(marks > 0);
}

/// Frames without IP are forwarded even if the pool has no free slot.
#[test]
fn frames_without_ip_need_no_memory() {
    let frame = |ethertype: [u8; 2], number| [&[2; 12][..], &ethertype, &make(number, 1500)].concat();
    let script = (0..300).map(|number| (us(0), frame([0x08, 0x00], number))).collect::<Vec<_>>();
    let arp = frame([0x08, 0x06], 300);
    let clock = FakeClock::new();
    let script = script.into_iter().chain([(us(0), arp.clone())]);
    let devices = [FakeDevice::ethernet(&clock, script), FakeDevice::new(&clock, [])];
    let plan = plan("taildrop:limit=1000", "line:1mbit", 0);
    let emulator = Emulator::new(plan, Pool::new(1500 + HEADER_MAX, 256), ()).unwrap();
    let mut driver = Driver::new(clock, devices, emulator, [Span::from_micros(100); 2]);
    turn_at(&mut driver, us(0));
    assert_eq!(driver.devices()[1].written, [(us(0), arp)]);
    assert_eq!((driver.audit().pool_empty, driver.audit().passed), (44, [1, 0]));
}
