//! The log of `mm-link`: a small log written by hand, and many logs compared with a model of mahimahi's link in milliseconds.

use crate::common::{Make, direction, packet, script};
use proptest::prelude::*;
use qdelay_core::{Span, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Emulator, EventLog, Tap};
use qdelay_emu::log::{Layout, LogSummary, MahimahiLog, MahimahiOptions};
use qdelay_emu::pool::Pool;
use qdelay_path::TraceLink;
use qdelay_path::stack::{Adjustment, Direction, DirectionAdjustment, Plan};
use qdelay_trace::ScheduleBuilder;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Memory {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn trace(qdisc: &str, schedule: &[u32]) -> Direction {
    let mut builder = ScheduleBuilder::default();
    schedule.iter().for_each(|&ms| builder.push(ms, 1).unwrap());
    let link = TraceLink::new(&builder.finish().unwrap(), TraceLink::OVERHEAD_BYTES, true);
    Direction { link: link.into(), ..direction(qdisc, "1gbit", 3) }
}

fn plan(down: Direction) -> Plan {
    Plan { down, up: direction("taildrop", "line:100mbit", 0), seed: 1 }
}

/// Sends packets from one port, until `end`; returns the tap.
fn run<T: Tap>(plan: Plan, tap: T, port: Port, arrivals: &[(Time, Vec<u8>)], end: Time) -> T {
    let mut emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), tap).unwrap();
    let settle = |emulator: &mut Emulator<(), T>| {
        while let Some(release) = emulator.next_release() {
            emulator.settle(release.slot);
        }
    };
    for (time, bytes) in arrivals {
        let slot = emulator.take_slot().unwrap();
        emulator.buffer(slot)[..bytes.len()].copy_from_slice(bytes);
        emulator.arrive(*time, port, slot, bytes.len()).unwrap();
        settle(&mut emulator);
    }
    emulator.advance(end);
    settle(&mut emulator);
    emulator.audit().unwrap();
    emulator.into_parts().1
}

/// The log of packets that come from outside, without the head.
fn log(down: Direction, arrivals: &[(Time, Vec<u8>)], end: Time) -> (String, LogSummary) {
    let (plan, memory) = (plan(down), Memory::default());
    let layout = Layout::from_plan(&plan).unwrap();
    let options = MahimahiOptions::default();
    let log = MahimahiLog::new(memory.clone(), &layout, Port::Outside, options).unwrap();
    let summary = run(plan, log, Port::Outside, arrivals, end).close(end).unwrap();
    let text = memory.text();
    assert_eq!(summary.bytes, text.len() as u64);
    (text.lines().skip(5).map(|line| format!("{line}\n")).collect(), summary)
}

fn sized(bytes: usize) -> Vec<u8> {
    packet(Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes, number: 0 })
}

fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

/// A link that begins during the run has opportunities of its own from then on, also where it is the same again.
#[test]
fn a_new_link_has_its_own_opportunities() {
    let first = plan(trace("taildrop", &[4, 9]));
    let memory = Memory::default();
    let layout = Layout::from_plan(&first).unwrap();
    let log = MahimahiLog::new(memory.clone(), &layout, Port::Outside, MahimahiOptions::default()).unwrap();
    let mut emulator = Emulator::tapped(first, Pool::new(1500, 64), (), log).unwrap();
    let arrive = |emulator: &mut Emulator<(), MahimahiLog>, time| {
        let (slot, bytes) = (emulator.take_slot().unwrap(), sized(1000));
        emulator.buffer(slot)[..bytes.len()].copy_from_slice(&bytes);
        emulator.arrive(time, Port::Outside, slot, bytes.len()).unwrap();
    };
    let begin = |emulator: &mut Emulator<(), MahimahiLog>, time, direction: Direction| {
        let down = DirectionAdjustment { link: Some(direction.link), ..DirectionAdjustment::default() };
        emulator.adjust(time, &Adjustment { down, ..Adjustment::default() }).unwrap();
    };
    arrive(&mut emulator, us(3000));
    begin(&mut emulator, us(20_500), trace("taildrop", &[4, 9]));
    arrive(&mut emulator, us(21_000));
    begin(&mut emulator, us(30_000), direction("taildrop", "10mbit", 3));
    arrive(&mut emulator, us(31_000));
    begin(&mut emulator, us(33_000), trace("taildrop", &[2]));
    emulator.advance(us(38_000));
    while let Some(release) = emulator.next_release() {
        emulator.settle(release.slot);
    }
    emulator.into_parts().1.close(us(38_000)).unwrap();
    let text = memory.text();
    let lines: Vec<_> = text.lines().skip(5).collect();
    let expected = "3 + 1004;4 # 1504;4 - 1004 1;9 # 1504;13 # 1504;18 # 1504;21 + 1004;24 # 1504;24 - 1004 3;29 # 1504;\
                    31 # 1250;31 + 1000;31 - 1000 0;32 # 1250;33 # 1250;35 # 1504;37 # 1504";
    assert_eq!(lines, expected.split(';').collect::<Vec<_>>());
}

#[test]
fn a_small_log_matches_the_expected_lines() {
    let plan = plan(trace("taildrop:limit=2", &[1, 2, 2, 5]));
    let arrivals = [
        (us(300), sized(1500)),
        (us(999), sized(496)),
        // The opportunity precedes an arrival at the same time.
        (us(2000), sized(1500)),
        (us(5100), sized(1500)),
        (us(5200), sized(1500)),
        (us(5300), sized(100)),
    ];
    let memory = Memory::default();
    let options = MahimahiOptions {
        trace: "TMobile-LTE-driving.down".into(),
        file: "down\n.log".into(),
        command_line: "qdelay link --down TMobile-LTE-driving.down".into(),
        queue: "taildrop:limit=2".into(),
        began: Duration::from_micros(1_700_000_000_123_456),
        ..MahimahiOptions::default()
    };
    let log =
        MahimahiLog::new(memory.clone(), &Layout::from_plan(&plan).unwrap(), Port::Outside, options).unwrap();
    let log = run(plan, log, Port::Outside, &arrivals, us(8000));
    assert!(!log.has_stopped() && log.lost() == 0);
    log.close(us(8000)).unwrap();
    let expected = "\
# mahimahi mm-link (Downlink) [TMobile-LTE-driving.down] > down .log
# command line: qdelay link --down TMobile-LTE-driving.down
# queue: taildrop:limit=2
# init timestamp: 1700000000123
# base timestamp: 0
0 + 1504
0 + 500
1 # 1504
1 - 1504 1
2 # 1504
2 - 500 2
2 # 1504
2 + 1504
5 # 1504
5 - 1504 3
5 + 1504
5 + 1504
5 + 104
5 d 1 104
6 # 1504
6 - 1504 1
7 # 1504
7 - 1504 2
7 # 1504
";
    assert_eq!(memory.text(), expected);
}

/// `LinkQueue` of mahimahi, in whole milliseconds: one packet in transit besides a queue of `limit` packets.
struct Model {
    schedule: Vec<u64>,
    limit: usize,
    next: usize,
    base: u64,
    queue: VecDeque<(u64, u64)>,
    transit: Option<(u64, u64, u64)>,
    text: String,
}

impl Model {
    fn new(schedule: Vec<u64>, limit: usize) -> Model {
        Model {
            schedule,
            limit,
            next: 0,
            base: 0,
            queue: VecDeque::new(),
            transit: None,
            text: String::new(),
        }
    }
    fn until(&mut self, now: u64) {
        while self.base + self.schedule[self.next] <= now {
            let ms = self.base + self.schedule[self.next];
            self.text += &format!("{ms} # 1504\n");
            self.next += 1;
            if self.next == self.schedule.len() {
                self.next = 0;
                self.base += self.schedule.last().unwrap();
            }
            let mut room = 1504;
            while room > 0 {
                let Some((arrival, size, left)) =
                    self.transit.take().or_else(|| self.queue.pop_front().map(|(at, size)| (at, size, size)))
                else {
                    break;
                };
                if left > room {
                    self.transit = Some((arrival, size, left - room));
                    room = 0;
                } else {
                    room -= left;
                    self.text += &format!("{ms} - {size} {}\n", ms - arrival);
                }
            }
        }
    }
    fn arrive(&mut self, now: u64, size: u64) {
        self.until(now);
        self.text += &format!("{now} + {size}\n");
        if self.queue.len() == self.limit {
            self.text += &format!("{now} d 1 {size}\n");
        } else {
            self.queue.push_back((now, size));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    /// The log is line by line the one that mahimahi would have written for the same arrivals.
    #[test]
    fn equals_mahimahi(
        gaps in prop::collection::vec(prop_oneof![3 => 0_u64..3, 1 => 0_u64..40], 1..40),
        last in 1_u64..5,
        arrivals in prop::collection::vec((prop_oneof![0_u64..300, 0_u64..5000, Just(1000)], 48_u64..=1500), 0..120),
        limit in 1_usize..20,
    ) {
        let mut schedule: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        schedule.push(schedule.last().unwrap() + last);
        let (mut now, mut packets, mut model) = (0, Vec::new(), Model::new(schedule.clone(), limit));
        for (gap, bytes) in arrivals {
            now += gap;
            packets.push((us(now), sized(bytes as usize)));
            model.arrive(now / 1000, bytes + 4);
        }
        let end = now / 1000 + 50;
        model.until(end);
        let schedule: Vec<u32> = schedule.into_iter().map(|ms| ms as u32).collect();
        let (text, summary) = log(trace(&format!("taildrop:limit={limit}"), &schedule), &packets, us(end * 1000));
        prop_assert_eq!(text, model.text);
        prop_assert_eq!(summary.lost, 0);
    }
}

/// Sums computed by a reader of the log.
#[derive(Debug, Default, PartialEq)]
struct Figures {
    arrived: (u64, u64),
    departed: (u64, u64),
    dropped: (u64, u64),
    offered: u64,
    delays_ms: Vec<u64>,
}

fn read(text: &str) -> Figures {
    let (mut figures, mut last) = (Figures::default(), 0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        assert!(number(0) >= last, "in order of time: {line}");
        last = number(0);
        let add = |sum: &mut (u64, u64), packets, bytes| *sum = (sum.0 + packets, sum.1 + bytes);
        match (words[1], words.len()) {
            ("+", 3) => add(&mut figures.arrived, 1, number(2)),
            ("#", 3) => figures.offered += number(2),
            ("-", 4) => {
                add(&mut figures.departed, 1, number(2));
                figures.delays_ms.push(number(3));
            }
            ("d", 4) => add(&mut figures.dropped, number(2), number(3)),
            _ => panic!("{line}"),
        }
    }
    figures
}

/// Sums of the log equal sums of the events, for disciplines that drop at dequeue and links without a trace.
#[test]
fn log_sums_equal_event_sums() {
    use qdelay_emu::emulator::EventKind;
    use qdelay_path::LinkModel;
    let schedule: Vec<u32> = (1..400).filter(|ms| ms % 9 < 6).collect();
    let steps = direction("bode:target=20ms", "steps:0s@6mbit+1s@600kbit:repeat=2s:overhead=4", 3);
    let shaper = direction("codel", "8mbit:overhead=14", 3);
    let lossy = Direction {
        impairment: qdelay_path::ImpairmentSpec { loss: 0.2.into(), ..Default::default() },
        jitter: Span::from_millis(4).into(),
        ..trace("codel", &schedule)
    };
    let line = direction("taildrop:limit=20", "line:5mbit", 3);
    for (down, overhead) in
        [(trace("bode:target=20ms", &schedule), 4), (lossy, 4), (steps, 4), (shaper, 14), (line, 0)]
    {
        let end = us(4_000_000);
        let offered = down.link.offered_bytes(end);
        let arrivals = script(3, "log", 3500);
        let (text, summary) = log(down.clone(), &arrivals, end);
        let figures = read(&text);
        let plan = plan(down);
        let [queue, link] = [plan.clone().build().unwrap().1].map(|nodes| [nodes.queue[1], nodes.link[1]])[0];
        let mut expected = Figures { offered, ..Figures::default() };
        for event in run(plan, EventLog::default(), Port::Outside, &arrivals, end).events {
            let size = u64::from(event.bytes) + overhead;
            let sum = match event.kind {
                EventKind::Enqueued => &mut expected.arrived,
                EventKind::Departed if event.node == link => {
                    let delay = event.time.as_nanos() / 1_000_000 - event.arrival.as_nanos() / 1_000_000;
                    expected.delays_ms.push(delay);
                    &mut expected.departed
                }
                // Losses of the delay node happen behind the link, so the link's log omits them.
                EventKind::Dropped(_) if event.node == queue => &mut expected.dropped,
                _ => continue,
            };
            *sum = (sum.0 + 1, sum.1 + size);
        }
        assert!(expected.dropped.0 > 0 && expected.departed.0 > 100, "{expected:?}");
        assert_eq!(figures, expected);
        assert_eq!(summary.lost, 0);
    }
}

/// The uplink's log contains the packets of the uplink only.
#[test]
fn each_log_has_one_direction() {
    let plan = plan(trace("taildrop", &[1]));
    let layout = Layout::from_plan(&plan).unwrap();
    let (up, down) = (Memory::default(), Memory::default());
    let logs = (
        MahimahiLog::new(up.clone(), &layout, Port::Inside, MahimahiOptions::default()).unwrap(),
        MahimahiLog::new(down.clone(), &layout, Port::Outside, MahimahiOptions::default()).unwrap(),
    );
    let logs = run(plan, logs, Port::Inside, &[(us(10), sized(1250))], us(1000));
    let summaries = [logs.0.close(us(1000)).unwrap(), logs.1.close(us(1000)).unwrap()];
    assert_eq!(summaries.map(|summary| summary.records), [2, 0]);
    assert!(up.text().starts_with("# mahimahi mm-link (Uplink)"));
    assert!(up.text().ends_with("# base timestamp: 0\n0 + 1250\n0 - 1250 0\n1 # 12500\n"));
    assert!(down.text().ends_with("# base timestamp: 0\n1 # 1504\n"));
}
