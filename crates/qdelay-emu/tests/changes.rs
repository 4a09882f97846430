//! Changes while packets are carried: each packet shows the setting that was in force when it reached the link, by the times in the log,
//! however late the loop comes.

use crate::common::{Make, packet, plan};
use qdelay_core::{Random, Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::pool::Pool;
use qdelay_path::stack::{Adjustment, DirectionAdjustment};
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
use qdelay_testing::changes::{largest_distance, shown_delays};
use qdelay_testing::{for_each_seed, least};
use std::cell::RefCell;
use std::rc::Rc;

/// The delays between which the way up changes, in ms.
const DELAYS_MS: [u64; 2] = [0, 50];
const END: Time = Time::from_nanos(1_000_000_000);

/// Keeps all records.
#[derive(Clone, Default)]
struct Rows(Rc<RefCell<Vec<PacketRecord>>>);

impl Recorder for Rows {
    fn packet(&mut self, record: &PacketRecord) {
        self.0.borrow_mut().push(*record);
    }
}

/// Packets from `port`, up to a millisecond apart.
fn script(random: &mut Random, port: Port) -> Vec<(Time, Vec<u8>)> {
    let (mut now, mut number) = (Time::ZERO, 0);
    let mut packets = Vec::new();
    while now < END {
        now += Span::from_nanos(random.below(1_000_000));
        let make = Make { version: 4, flow: port.index() as u8, dscp: 0, ecn: 0, bytes: 100, number };
        packets.push((now, packet(make)));
        number += 1;
    }
    packets
}

/// Packets that came from `port`, in the order in which they reached the link: the times at which they reached it and ended, and the fate.
fn ended(rows: &Rows, direction: Direction) -> Vec<(u64, u64, Fate)> {
    let rows = rows.0.borrow();
    let mut all: Vec<_> = rows
        .iter()
        .filter(|row| row.direction == direction)
        .map(|row| (row.departed.unwrap().as_nanos(), row.ended.as_nanos(), row.fate))
        .collect();
    all.sort_by_key(|(met, ended, _)| (*met, *ended));
    all
}

/// Runs changes of the delay up and of a cut down, on a loop that comes up to `step` late; returns how many.
fn run(seed: u64, step: Span, has_stamps: bool) -> usize {
    let random = &mut Random::derive(seed, "changes", "driver");
    let clock = FakeClock::new();
    let scripts = Port::ALL.map(|port| script(random, port));
    let mut devices = scripts.clone().map(|script| FakeDevice::new(&clock, script));
    if has_stamps {
        devices.iter_mut().for_each(|device| device.stamps = Some(0));
    }
    let rows = Rows::default();
    let plan = plan("taildrop:limit=100000", "infinite", 0);
    let emulator = Emulator::new(plan, Pool::new(1500, 65_536), rows.clone()).unwrap();
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_millis(1); 2]);
    let (mut delays, mut cuts) = (Vec::new(), Vec::new());
    while clock.peek() < END {
        clock.set(clock.peek() + Span::from_nanos(1 + random.below(step.as_nanos())));
        // A change may come before the loop has read what arrived meanwhile.
        if random.below(3) == 0 {
            let mut adjustment = Adjustment::default();
            let is_delay = random.below(2) == 0;
            let log = if is_delay { &mut delays } else { &mut cuts };
            let next = (log.len() + 1) % 2;
            match is_delay {
                true => adjustment.up.delay = Some((Span::from_millis(DELAYS_MS[next]), None)),
                false => {
                    let part = DirectionAdjustment { is_cut: Some(next == 1), ..Default::default() };
                    adjustment.down = part;
                }
            }
            let (time, _) = driver.adjust(&adjustment).unwrap();
            assert!(time >= clock.peek(), "a change holds from the request on");
            log.push((time.as_nanos(), next));
        }
        while driver.turn([true; 2]).unwrap().is_busy() {}
    }
    // What is read after the end takes its delay from then on.
    for seconds in [1, 2] {
        clock.set(END + Span::from_secs(seconds));
        while driver.turn([true; 2]).unwrap().is_busy() {}
    }
    driver.emulator().audit().unwrap();

    let [up, down] = [Direction::Acknowledgement, Direction::Data].map(|direction| ended(&rows, direction));
    for (port, packets) in [(Port::Inside, &up), (Port::Outside, &down)] {
        let script = &scripts[port.index()];
        assert_eq!(packets.len(), script.len(), "no packet is lost but by the cut");
        for ((came, _), (met, ..)) in script.iter().zip(packets) {
            assert!(*met >= came.as_nanos() && (!has_stamps || *met == came.as_nanos()), "{met} {came:?}");
        }
    }
    assert!(up.iter().all(|(.., fate)| *fate == Fate::Delivered));
    let times: Vec<(u64, u64)> = up.iter().map(|(met, left, _)| (*met, *left)).collect();
    let shown = shown_delays(&times, &DELAYS_MS.map(|ms| ms * 1_000_000));
    assert_eq!(largest_distance(0, &delays, shown), 0, "a delay");
    let shown = down.iter().map(|(met, _, fate)| (*met, usize::from(*fate != Fate::Delivered)));
    assert_eq!(largest_distance(0, &cuts, shown), 0, "a cut");
    delays.len() + cuts.len()
}

#[test]
fn packets_show_the_setting_of_their_own_time() {
    let mut changes = 0;
    for_each_seed(12, |seed| {
        let step = [Span::from_micros(300), Span::from_millis(4), Span::from_millis(90)][seed as usize % 3];
        changes += run(seed, step, seed % 2 == 0);
    });
    assert!(changes > least::<usize>(1000), "{changes}");
}
