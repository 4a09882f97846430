//! ABE's duplicate scheduling: call by call against its slow model, and what the paper says of it against a plain queue that
//! is fed by the same arrivals and the same opportunities. A failure names its seed.

mod drive;
mod models;

use drive::{Call, Subject, compare, packet, within, workload};
use models::dsd::{Dsd, FcfsGreen, Loop, Refusals, Test};
use models::fifo::TailDrop;
use models::red::Red;
use models::{Fate, MS, Model, Ns, Pkt, Room};
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Packet, Random};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const SEQUENCES: u64 = 3_000;
const GREEN: u8 = 46;

/// The implementation and its model, called alike.
struct Pair {
    what: String,
    subject: Subject,
    model: Dsd,
    step: usize,
    marked: Vec<u64>,
    fates: Vec<(Ns, Fate)>,
}

impl Pair {
    fn new(what: String, text: &str, model: Dsd, seed: u64) -> Pair {
        let subject = Subject::new(text, seed);
        Pair { what, subject, model, step: 0, marked: Vec::new(), fates: Vec::new() }
    }

    fn enqueue(&mut self, now: Ns, pkt: Pkt) {
        let mut copy = self.subject.random.clone();
        let mut log = Vec::new();
        let arrival =
            Packet { dscp: pkt.dscp, class: pkt.class, ..packet(pkt.id, pkt.bytes, pkt.capable, pkt.flow) };
        self.subject.enqueue(now, arrival);
        self.model.enqueue(now, pkt, &mut || copy.unit(), &mut log);
        self.check(now, &log, None, None);
    }

    fn dequeue(&mut self, now: Ns) -> Option<Pkt> {
        let mut copy = self.subject.random.clone();
        let mut log = Vec::new();
        let ours = self.subject.dequeue(now);
        let theirs = self.model.dequeue(now, &mut || copy.unit(), &mut log);
        self.check(now, &log, ours, theirs);
        theirs
    }

    fn check(&mut self, now: Ns, log: &[Fate], ours: Option<Packet>, theirs: Option<Pkt>) {
        let backlog = self.subject.qdisc.backlog();
        let head = self.subject.qdisc.head().map(|p| p.handle);
        assert!(
            self.subject.ear.0 == log
                && ours.map(|p| p.handle) == theirs.map(|p| p.id)
                && (backlog.packets, backlog.bytes) == self.model.holds()
                && head == self.model.head().map(|p| p.id),
            "{}: step {} at {now} ns:\nimplementation: {:?} returned {ours:?} {backlog:?} head {head:?}\n\
             model:          {log:?} returned {theirs:?} backlog {:?} head {:?}",
            self.what,
            self.step,
            self.subject.ear.0,
            self.model.holds(),
            self.model.head(),
        );
        let g = green_bias(&self.subject.qdisc);
        assert!((g - self.model.g).abs() < 1e-9 && (0.0..=1.0).contains(&g), "{}: g {g}", self.what);
        let q = self.model.refusals.as_ref().map_or(0.0, |refusals| refusals.q);
        assert!((green_loss(&self.subject.qdisc) - q).abs() < 1e-9, "{}: refused {q}", self.what);
        self.marked.extend(log.iter().filter(|fate| fate.is_mark()).map(|fate| fate.id()));
        if let Some(p) = ours {
            assert_eq!(p.ecn == qdelay_core::Ecn::Ce, self.marked.contains(&p.handle), "{}", self.what);
        }
        self.fates.extend(self.subject.ear.0.drain(..).map(|fate| (now, fate)));
        self.step += 1;
    }
}

fn green_bias(qdisc: &AnyQdisc) -> f64 {
    match qdisc {
        AnyQdisc::Dsd(dsd) => dsd.green_bias(),
        other => panic!("{other:?}"),
    }
}

fn green_loss(qdisc: &AnyQdisc) -> f64 {
    match qdisc {
        AnyQdisc::Dsd(dsd) => dsd.green_loss(),
        other => panic!("{other:?}"),
    }
}

/// What a random case is to be.
#[derive(Clone, Copy, Default)]
struct Wish {
    rate: Option<u64>,
    /// No rate.
    by_service: bool,
    plain: bool,
}

struct Case {
    text: String,
    model: Dsd,
    room: Room,
    d: Ns,
}

fn case(random: &mut Random, wish: Wish) -> Case {
    let rate = match wish.rate {
        None if !wish.by_service && random.below(2) == 0 => {
            Some(within(random, 200, 20_000) * 1_000 + random.below(3))
        }
        rate => rate,
    };
    let mut packets = within(random, 5, 80);
    let mut bytes = if random.below(3) == 0 { within(random, 6_000, 60_000) } else { 0 };
    let d = within(random, 100, 60_000) * 1_000;
    let mut text = format!("dsd:bound={}us", d / 1_000);
    if let Some(rate) = rate {
        text += &format!(":rate={rate}bit");
        // A bound beyond the buffer is refused.
        let least = (u128::from(d) * u128::from(rate) / 8_000_000_000) as u64 + 1500;
        packets = packets.max(least.div_ceil(1500));
        bytes = if bytes > 0 { bytes.max(least) } else { 0 };
    }
    let room = Room { packets: packets as usize, bytes };
    text += &format!(":limit={packets}:limit_bytes={bytes}b");
    let mut marks = false;
    let virtual_queue: Box<dyn Model> = if !wish.plain && random.below(3) == 0 {
        let (min, max) = (within(random, 1, 10) as f64, within(random, 11, 40) as f64);
        let mut red = Red::new(room, min, max);
        (red.weight, red.max_p) =
            (within(random, 1, 500) as f64 / 1000.0, within(random, 1, 1000) as f64 / 1000.0);
        red.ecn = random.below(2) == 0;
        red.rate = rate.unwrap_or(10_000_000) as f64;
        marks = red.ecn;
        let ecn = if red.ecn { "on" } else { "off" };
        text += &format!(
            ":virtual=[red:min={min}:max={max}:weight={}:probability={}:ecn={ecn}]",
            red.weight, red.max_p
        );
        Box::new(red)
    } else {
        Box::new(TailDrop { room, queue: VecDeque::new() })
    };
    let mut model = Dsd::new(room, rate, d, virtual_queue);
    model.ecn = marks;
    (model.test, text) = match random.below(4) {
        0 => (Test::Off, text + ":test=off"),
        1 => (Test::Printed, text + ":test=printed"),
        2 => (Test::Exact, text + ":test=exact"),
        _ => (Test::Residual, text),
    };
    if !wish.plain && random.below(3) == 0 {
        model.overhead = within(random, 0, 40);
        text += &format!(":overhead={}b", model.overhead);
    }
    if rate.is_none() && random.below(2) == 0 {
        model.window = within(random, 1, 500) * MS;
        text += &format!(":window={}ms", model.window / MS);
    }
    if random.below(2) == 0 {
        text += ":green=ef/va/nqb/8-10/48";
        model.is_green = Box::new(|packet| matches!(packet.dscp, 8..=10 | 44..=46 | 48));
    }
    match random.below(6) {
        4 | 5 => {
            let mut refusals = Refusals::new(within(random, 5, 300) * MS);
            refusals.alpha = within(random, 1, 20) as f64 / 10.0;
            refusals.gamma = within(random, 8, 40) as f64 / 10.0;
            refusals.base_rtt_s = within(random, 1, 50) as f64 / 1e3;
            refusals.weight = within(random, 1, 10) as f64 / 10.0;
            text += &format!(
                ":control=loss:period={}ms:alpha={}:gamma={}:base_rtt={}us:weight={}",
                refusals.period / MS,
                refusals.alpha,
                refusals.gamma,
                refusals.base_rtt_s * 1e6,
                refusals.weight
            );
            if rate.is_none() {
                refusals.full = within(random, 100, 3000) as f64;
                text += &format!(":mtu={}b", refusals.full);
            }
            model.refusals = Some(refusals);
        }
        0 => text += ":g=1",
        1 => {
            model.g = within(random, 0, 10) as f64 / 10.0;
            text += &format!(":g={}", model.g);
        }
        _ => {
            let mut control = Loop::new(within(random, 5, 300) * MS);
            control.alpha = within(random, 1, 20) as f64 / 10.0;
            control.k = within(random, 1, 100) as f64 / 10.0;
            control.gamma = within(random, 8, 20) as f64 / 10.0;
            control.base_rtt_s = within(random, 1, 50) as f64 / 1e3;
            control.weight = within(random, 1, 10) as f64 / 10.0;
            text += &format!(
                ":period={}ms:alpha={}:k={}:gamma={}:base_rtt={}us:weight={}",
                control.period / MS,
                control.alpha,
                control.k,
                control.gamma,
                control.base_rtt_s * 1e6,
                control.weight
            );
            model.control = Some(control);
        }
    }
    Case { text, model, room, d }
}

#[test]
fn every_call_is_the_models_under_any_service() {
    let mut seen = BTreeMap::new();
    let mut evicted = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "differential");
        let Case { text, model, .. } = case(&mut random, Wish::default());
        let unit = if random.below(2) == 0 { MS } else { 1 };
        let mut pair = Pair::new(format!("seed {seed}: {text}"), &text, model, seed);
        for (id, (now, call)) in workload(&mut random, unit).into_iter().enumerate() {
            match call {
                Call::Arrive { bytes, capable, flow, dscp, class } => {
                    let before = pair.fates.len();
                    pair.enqueue(now, Pkt { id: id as u64, arrival: now, bytes, capable, flow, dscp, class });
                    let told = pair.fates[before..].iter();
                    evicted += told
                        .filter(|(_, fate)| matches!(fate, Fate::Tail(other) if *other != id as u64))
                        .count();
                }
                Call::Serve => {
                    pair.dequeue(now);
                }
            }
        }
        for (_, fate) in pair.fates {
            let name = format!("{fate:?}").split('(').next().map(str::to_string);
            *seen.entry(name).or_insert(0_u64) += 1;
        }
    }
    assert!(evicted > 100, "green made room for blue {evicted} times");
    for name in ["Tail", "Sojourn", "Late", "Green", "Red", "RedForced", "MarkRed", "MarkGreen"] {
        assert!(seen.get(&Some(name.to_string())).is_some_and(|count| *count > 1_000), "{seen:?}");
    }
}

#[test]
fn the_threshold_in_one_queue_is_the_models() {
    let mut late = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "fcfs_green", "differential");
        let rate = within(&mut random, 200, 20_000) * 1_000;
        let d = within(&mut random, 100, 60_000) * 1_000;
        let (packets, overhead) = (within(&mut random, 5, 200), within(&mut random, 0, 40));
        let text =
            format!("fcfs_green:rate={rate}bit:bound={}us:limit={packets}:overhead={overhead}b", d / 1_000);
        let room = Room { packets: packets as usize, bytes: 0 };
        let mut model = FcfsGreen { room, rate, overhead, d, queue: VecDeque::new(), busy_until: 0 };
        let calls = workload(&mut random, 1);
        late += compare(&format!("seed {seed}: {text}"), &mut Subject::new(&text, seed), &mut model, &calls);
    }
    assert!(late > 10_000, "{late}");
}

/// A link.
#[derive(Clone, Debug)]
enum Link {
    /// Bits per second.
    Line(u64),
    /// So many bytes at these times; what nobody takes is lost.
    Opportunities(Vec<(Ns, u64)>),
}

/// What became of a packet: when it began, and its last byte left.
type Left = BTreeMap<u64, (Ns, Ns)>;

/// A queue above a link.
trait Above {
    fn come(&mut self, now: Ns, packet: Pkt);
    fn take(&mut self, now: Ns) -> Option<Pkt>;
}

struct Flat {
    queue: TailDrop,
    dropped: Vec<u64>,
}
impl Above for Flat {
    fn come(&mut self, now: Ns, packet: Pkt) {
        let mut log = Vec::new();
        self.queue.enqueue(now, packet, &mut || 0.0, &mut log);
        self.dropped.extend(log.into_iter().map(Fate::id));
    }
    fn take(&mut self, now: Ns) -> Option<Pkt> {
        self.queue.dequeue(now, &mut Vec::new())
    }
}
impl Above for Pair {
    fn come(&mut self, now: Ns, packet: Pkt) {
        self.enqueue(now, packet);
    }
    fn take(&mut self, now: Ns) -> Option<Pkt> {
        let deadline = self.model.blue.front().copied();
        let place = self.model.rate.map(|_| now);
        let packet = self.dequeue(now);
        if let (Some(packet), Some((blue, begins)), Some(place)) = (packet, deadline, place)
            && packet.id == blue.id
        {
            assert!(place <= begins, "{}: blue {} at {place}, deadline {begins}", self.what, blue.id);
        }
        packet
    }
}

/// Runs until all is sent. What is due on the link comes before an arrival of the same time.
fn run(queue: &mut impl Above, arrivals: &[Pkt], link: &Link) -> Left {
    let mut left = Left::new();
    let mut arrivals = arrivals.iter().copied().peekable();
    match link {
        Link::Line(rate) => {
            let mut free = None;
            loop {
                let next = arrivals.peek().map(|packet| packet.arrival);
                let now = match (free, next) {
                    (Some(free), Some(next)) => next.min(free),
                    (free, next) => match free.or(next) {
                        Some(now) => now,
                        None => return left,
                    },
                };
                if free == Some(now) {
                    free = None;
                } else if let Some(packet) = arrivals.next() {
                    queue.come(now, packet);
                }
                if free.is_none()
                    && let Some(packet) = queue.take(now)
                {
                    let end = now + u64::from(packet.bytes) * 8_000_000_000 / rate;
                    left.insert(packet.id, (now, end));
                    free = Some(end);
                }
            }
        }
        Link::Opportunities(opportunities) => {
            let mut sending: Option<(Pkt, u64)> = None;
            for &(now, mut bytes) in opportunities {
                while let Some(packet) = arrivals.next_if(|packet| packet.arrival < now) {
                    queue.come(packet.arrival, packet);
                }
                while bytes > 0 {
                    let (packet, rest) = match sending.take() {
                        Some(sending) => sending,
                        None => match queue.take(now) {
                            Some(packet) => {
                                left.insert(packet.id, (now, Ns::MAX));
                                (packet, u64::from(packet.bytes))
                            }
                            None => break,
                        },
                    };
                    let part = rest.min(bytes);
                    bytes -= part;
                    if part == rest {
                        left.entry(packet.id).and_modify(|(_, end)| *end = now);
                    } else {
                        sending = Some((packet, rest - part));
                    }
                }
            }
            left
        }
    }
}

/// How arrivals are to be.
#[derive(Clone, Copy)]
struct Traffic {
    /// Mean time between packets.
    gap: Ns,
    /// All packets of 1000 bytes.
    equal: bool,
    /// All times are multiples of this.
    grid: Ns,
}

fn arrivals(random: &mut Random, traffic: Traffic) -> Vec<Pkt> {
    let share = random.unit();
    let bursts = random.below(2) == 0;
    let mut now = 0.0;
    let count = within(random, 50, 400);
    let one = |id| {
        let burst = if bursts { within(random, 0, 12) == 0 } else { true };
        let mean = traffic.gap as f64 * if bursts { 13.0 } else { 1.0 };
        now += if burst { mean * random.exponential() } else { 0.0 };
        let bytes =
            if traffic.equal { 1000 } else { [40, 200, 576, 1000, 1500, 1500][random.below(6) as usize] };
        let dscp = if random.unit() < share { GREEN } else { 0 };
        let arrival = now as Ns / traffic.grid * traffic.grid;
        Pkt { id, arrival, bytes, capable: random.below(2) == 0, flow: 0, dscp, class: 0 }
    };
    (0..count).map(one).collect()
}

/// What is promised on every link: order within a colour, the bound, the buffer, and that nothing is lost unseen.
fn check_promises(pair: &Pair, arrivals: &[Pkt], left: &Left, d: Ns) {
    let what = &pair.what;
    let mut dropped = BTreeMap::new();
    for (now, fate) in pair.fates.iter().filter(|(_, fate)| !fate.is_mark()) {
        assert!(dropped.insert(fate.id(), (*now, *fate)).is_none(), "{what}: {fate:?} twice");
    }
    let inside = pair.model.holds().0 as usize;
    assert_eq!(left.len() + dropped.len() + inside, arrivals.len(), "{what}");
    for is_green in [false, true] {
        let mut last = 0;
        for packet in arrivals.iter().filter(|packet| (pair.model.is_green)(packet) == is_green) {
            let Some((begin, _)) = left.get(&packet.id).copied() else { continue };
            assert!(begin >= last, "{what}: {} before its turn", packet.id);
            last = begin;
            assert!(!is_green || begin - packet.arrival <= d, "{what}: green {} waited too long", packet.id);
        }
    }
    let occupied = |at: Ns| {
        let waits = |p: &&Pkt| {
            p.arrival <= at
                && left.get(&p.id).is_none_or(|(begin, _)| *begin > at)
                && dropped.get(&p.id).is_none_or(|(when, _)| *when > at)
        };
        let waiting: Vec<u64> = arrivals.iter().filter(waits).map(|p| u64::from(p.bytes)).collect();
        (waiting.len(), waiting.iter().sum::<u64>())
    };
    for packet in arrivals.iter().step_by(7) {
        let (packets, bytes) = occupied(packet.arrival);
        assert!(pair.model.room.allows(packets, bytes), "{what}: {packets} packets, {bytes} bytes");
    }
}

fn flat(room: Room, arrivals: &[Pkt], link: &Link) -> (Left, Vec<u64>) {
    let mut flat = Flat { queue: TailDrop { room, queue: VecDeque::new() }, dropped: Vec::new() };
    let left = run(&mut flat, arrivals, link);
    (left, flat.dropped)
}

/// Rates at which every byte takes whole nanoseconds.
const WHOLE: [u64; 5] = [1_000_000, 2_000_000, 5_000_000, 8_000_000, 10_000_000];

/// With a rate, on a line: definition 1 of the paper, to the nanosecond, for packets of any sizes. What `control=loss` refuses is as if it
/// had not come.
#[test]
fn on_a_line_blue_fares_no_worse_than_in_one_queue() {
    let (mut earlier, mut greens, mut refusals) = (0_u64, 0_u64, 0_u64);
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "line");
        let rate = WHOLE[random.below(5) as usize];
        let Case { text, model, room, d } =
            case(&mut random, Wish { rate: Some(rate), plain: true, by_service: false });
        let what = format!("seed {seed}: {text}");
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let traffic =
            Traffic { gap, equal: random.below(3) == 0, grid: [1, 100_000][random.below(2) as usize] };
        let arrivals = arrivals(&mut random, traffic);
        let link = Link::Line(rate);
        let mut pair = Pair::new(what.clone(), &text, model, seed);
        let left = run(&mut pair, &arrivals, &link);
        check_promises(&pair, &arrivals, &left, d);
        let refused: BTreeSet<u64> = (pair.fates.iter())
            .filter(|(_, fate)| matches!(fate, Fate::Green(_)))
            .map(|(_, fate)| fate.id())
            .collect();
        refusals += refused.len() as u64;
        let others: Vec<Pkt> = arrivals.iter().filter(|p| !refused.contains(&p.id)).copied().collect();
        let (flat_left, flat_dropped) = flat(room, &others, &link);
        for packet in &arrivals {
            if (pair.model.is_green)(packet) {
                greens += u64::from(left.contains_key(&packet.id));
                continue;
            }
            let is_dropped = pair.fates.iter().any(|(_, fate)| fate.id() == packet.id);
            assert_eq!(is_dropped, flat_dropped.contains(&packet.id), "{what}: blue {}", packet.id);
            if !is_dropped {
                let (ours, theirs) = (left[&packet.id], flat_left[&packet.id]);
                assert!(ours <= theirs, "{what}: blue {}: {ours:?}, in one queue {theirs:?}", packet.id);
                earlier += u64::from(ours < theirs);
            }
        }
    }
    assert!(earlier > 10_000 && greens > 50_000 && refusals > 1_000, "{earlier} {greens} {refusals}");
}

/// With RED in front of the duplicates no blue packet misses its deadline either; [`Pair::take`] looks.
#[test]
fn on_a_line_with_red_deadlines_are_kept() {
    let mut red = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "red");
        let rate = WHOLE[random.below(5) as usize];
        let Case { text, mut model, d, .. } = case(&mut random, Wish { rate: Some(rate), ..Wish::default() });
        model.overhead = 0;
        let text: Vec<&str> = text.split(':').filter(|part| !part.starts_with("overhead")).collect();
        let text = text.join(":");
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let mut pair = Pair::new(format!("seed {seed}: {text}"), &text, model, seed);
        let left = run(&mut pair, &arrivals, &Link::Line(rate));
        check_promises(&pair, &arrivals, &left, d);
        red +=
            pair.fates.iter().filter(|(_, fate)| matches!(fate, Fate::Red(_) | Fate::RedForced(_))).count();
    }
    assert!(red > 10_000, "{red}");
}

/// With g = 1 nothing goes stale behind the test with the residual, and the exact one; as printed, it does.
#[test]
fn with_a_bias_of_one_what_is_accepted_makes_it() {
    let (mut stale, mut late) = (BTreeMap::new(), BTreeMap::new());
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "stale");
        let rate = WHOLE[random.below(5) as usize];
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let traffic = Traffic { gap, equal: random.below(2) == 0, grid: 1 };
        let arrivals = arrivals(&mut random, traffic);
        for test in ["printed", "residual", "exact"] {
            let mut line =
                Plain(Subject::new(&format!("dsd:rate={rate}bit:bound=20ms:limit=60:g=1:test={test}"), seed));
            run(&mut line, &arrivals, &Link::Line(rate));
            let fates = line.0.ear.0;
            let count = fates.iter().filter(|fate| matches!(fate, Fate::Sojourn(_))).count();
            *stale.entry(test).or_insert(0) += count;
            *late.entry(test).or_insert(0) +=
                fates.iter().filter(|fate| matches!(fate, Fate::Late(_))).count();
        }
    }
    assert_eq!((stale["residual"], stale["exact"]), (0, 0), "{stale:?}");
    assert!(stale["printed"] > 1_000, "{stale:?}");
    println!("{stale:?} {late:?}");
    assert!(
        late["exact"] < late["residual"],
        "{late:?}: some that make it are refused unless the test is exact"
    );
}

/// The implementation alone.
struct Plain(Subject);
impl Above for Plain {
    fn come(&mut self, now: Ns, p: Pkt) {
        self.0.enqueue(now, Packet { dscp: p.dscp, ..packet(p.id, p.bytes, p.capable, p.flow) });
    }
    fn take(&mut self, now: Ns) -> Option<Pkt> {
        let p = self.0.dequeue(now)?;
        let arrival = p.arrival.as_nanos();
        Some(Pkt { id: p.handle, arrival, bytes: p.bytes, capable: false, flow: 0, dscp: p.dscp, class: 0 })
    }
}

/// Where all packets are equal, and all times multiples of one transmission, the paper's claim of its test holds: it
/// accepts exactly those that make it.
#[test]
fn in_packet_time_the_test_with_the_residual_is_exact() {
    let mut accepted = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "grid");
        let d = within(&mut random, 1, 20);
        let limit = within(&mut random, d.max(5), 60);
        let gap = (1e6 * (0.5 + random.unit())) as Ns;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: true, grid: MS });
        let outcome = |test| {
            let text = format!("dsd:rate=8mbit:bound={d}ms:limit={limit}:g=1:test={test}");
            let mut line = Plain(Subject::new(&text, seed));
            (run(&mut line, &arrivals, &Link::Line(8_000_000)), line.0.ear.0)
        };
        let (residual, exact) = (outcome("residual"), outcome("exact"));
        assert_eq!(residual, exact, "seed {seed}");
        accepted += arrivals.iter().filter(|p| p.dscp == GREEN && exact.0.contains_key(&p.id)).count();
    }
    assert!(accepted > 10_000, "{accepted}");
}

fn opportunities(random: &mut Random, until: Ns, gap: Ns, whole: bool) -> Vec<(Ns, u64)> {
    let mut now = 0;
    let mut all = Vec::new();
    let mut factor = 1.0;
    while now < until {
        if random.below(50) == 0 {
            factor = 0.2 + 2.0 * random.unit();
            // An outage.
            now += if random.below(4) == 0 { random.below(200 * MS) } else { 0 };
        }
        now += (gap as f64 * factor * random.exponential()) as Ns;
        let bytes = if whole { 1000 * within(random, 1, 3) } else { within(random, 1, 2500) };
        all.push((now, bytes));
    }
    // Enough at the end for what is left.
    all.extend((0..2000).map(|n| (now + n * MS, 1000)));
    all
}

/// Without a rate: packets of one size, and opportunities for whole packets at random times.
#[test]
fn by_service_blue_fares_no_worse_on_the_same_opportunities() {
    let (mut earlier, mut greens, mut drops) = (0_u64, 0_u64, 0_u64);
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "opportunities");
        let Case { text, model, room, d } =
            case(&mut random, Wish { by_service: true, plain: true, rate: None });
        let what = format!("seed {seed}: {text}");
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: true, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 3.0 * random.unit())) as Ns;
        let link = Link::Opportunities(opportunities(&mut random, until, slow, true));
        let (flat_left, flat_dropped) = flat(room, &arrivals, &link);
        let mut pair = Pair::new(what.clone(), &text, model, seed);
        let left = run(&mut pair, &arrivals, &link);
        check_promises(&pair, &arrivals, &left, d);
        drops += flat_dropped.len() as u64;
        for packet in &arrivals {
            if (pair.model.is_green)(packet) {
                greens += u64::from(left.contains_key(&packet.id));
            } else if let Some(theirs) = flat_left.get(&packet.id) {
                let ours = left.get(&packet.id);
                assert!(
                    ours.is_some_and(|ours| ours <= theirs),
                    "{what}: blue {}: {ours:?} {theirs:?}",
                    packet.id
                );
                earlier += u64::from(ours != Some(theirs));
            }
        }
    }
    assert!(earlier > 10_000 && greens > 50_000 && drops > 10_000, "{earlier} {greens} {drops}");
}

/// Without a rate and without losses: packets of any sizes, over opportunities of any bytes.
#[test]
fn by_service_sizes_do_not_matter() {
    let (mut earlier, mut greens, mut lost) = (0_u64, 0_u64, 0_u64);
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "bytes");
        let d = within(&mut random, 500, 60_000) * 1_000;
        let g = within(&mut random, 0, 10) as f64 / 10.0;
        let test = ["off", "printed", "residual", "exact"][random.below(4) as usize];
        let text = format!("dsd:bound={}us:g={g}:limit=100000:test={test}", d / 1_000);
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 2.0 * random.unit())) as Ns;
        let link = Link::Opportunities(opportunities(&mut random, until, slow, false));
        let room = Room { packets: 100_000, bytes: 0 };
        let (flat_left, _) = flat(room, &arrivals, &link);
        let mut line = Plain(Subject::new(&text, seed));
        let left = run(&mut line, &arrivals, &link);
        lost += line.0.ear.0.len() as u64;
        for packet in &arrivals {
            if packet.dscp == GREEN {
                greens += u64::from(left.contains_key(&packet.id));
                continue;
            }
            let (ours, theirs) = (left.get(&packet.id), flat_left.get(&packet.id));
            let ends = (ours.map_or(Ns::MAX, |left| left.1), theirs.map_or(Ns::MAX, |left| left.1));
            assert!(ends.0 <= ends.1, "seed {seed}: {text}: blue {}: {ours:?} {theirs:?}", packet.id);
            earlier += u64::from(ends.0 < ends.1);
        }
    }
    assert!(earlier > 10_000 && greens > 50_000 && lost > 50_000, "{earlier} {greens} {lost}");
}

/// Without a rate, with losses, packets of any sizes and a limit in bytes: some that one queue refuses are accepted, which is
/// at most three packets for those behind: the one accepted, and the parts of one that is being sent and of one that begins in it.
#[test]
fn by_service_blue_is_later_by_three_packets_at_most_and_rarely() {
    let (mut compared, mut later, mut dropped, mut gained) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, "dsd", "grace");
        let d = within(&mut random, 500, 30_000) * 1_000;
        let limit = within(&mut random, 3_000, 40_000);
        let g = within(&mut random, 0, 10) as f64 / 10.0;
        let text = format!("dsd:bound={}us:g={g}:limit=100000:limit_bytes={limit}b", d / 1_000);
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 2.0 * random.unit())) as Ns;
        let opportunities = opportunities(&mut random, until, slow, false);
        let (room, link) =
            (Room { packets: 100_000, bytes: limit }, Link::Opportunities(opportunities.clone()));
        let (flat_left, _) = flat(room, &arrivals, &link);
        let mut line = Plain(Subject::new(&text, seed));
        let left = run(&mut line, &arrivals, &link);
        // Bytes offered before a time, and at it too.
        let offered = |end: Ns| {
            let upto = |is_in: &dyn Fn(Ns) -> bool| -> u64 {
                opportunities.iter().take_while(|(at, _)| is_in(*at)).map(|(_, bytes)| bytes).sum()
            };
            (upto(&|at| at < end), upto(&|at| at <= end))
        };
        for packet in arrivals.iter().filter(|packet| packet.dscp != GREEN) {
            let Some(theirs) = flat_left.get(&packet.id) else {
                gained += u64::from(left.contains_key(&packet.id));
                continue;
            };
            compared += 1;
            let Some(ours) = left.get(&packet.id) else {
                dropped += 1;
                continue;
            };
            later += u64::from(ours.1 > theirs.1);
            assert!(
                offered(ours.1).0 <= offered(theirs.1).1 + 3 * 1500,
                "seed {seed}: {text}: blue {}: {ours:?} {theirs:?}",
                packet.id
            );
        }
    }
    println!(
        "of {compared} blue packets that one queue sends, {later} later, {dropped} dropped; {gained} others sent"
    );
    assert!(
        compared > 100_000 && later * 100 < compared && dropped < gained,
        "{compared} {later} {dropped} {gained}"
    );
}

/// Why the paper wants more than a threshold: at a queue that is longer than the bound, green gets next to nothing there.
#[test]
fn a_threshold_alone_starves_green() {
    let mut random = Random::derive(1, "dsd", "foil");
    let mut arrivals = Vec::new();
    let mut now = 0;
    for id in 0..40_000 {
        now += (0.8e6 * random.exponential()) as Ns;
        let dscp = if random.below(2) == 0 { GREEN } else { 0 };
        arrivals.push(Pkt { id, arrival: now, bytes: 1000, capable: false, flow: 0, dscp, class: 0 });
    }
    let greens = |text: &str| {
        let mut line = Plain(Subject::new(text, 1));
        let left = run(&mut line, &arrivals, &Link::Line(8_000_000));
        let greens: Vec<&Pkt> = arrivals.iter().filter(|p| p.dscp == GREEN).collect();
        greens.iter().filter(|p| left.contains_key(&p.id)).count() as f64 / greens.len() as f64
    };
    let (one, two) = (
        greens("fcfs_green:rate=8mbit:bound=20ms:limit=60"),
        greens("dsd:rate=8mbit:bound=20ms:limit=60:g=1"),
    );
    println!("green served: {one:.3} with a threshold, {two:.3} with duplicates");
    assert!(two > one + 0.05, "{one} {two}");
}

/// Figure 2 of the paper: packets of 1 ms, a bound of 3, a buffer of 7. One packet is on the line when the first seven come, just
/// before time 0, which is 10 ms here.
fn figure_2(g: u32, test: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    const FIRST: [(&str, u8); 8] =
        [("B1", 0), ("G1", 1), ("B2", 0), ("B3", 0), ("G2", 1), ("B4", 0), ("B5", 0), ("B6", 0)];
    let mut subject = Subject::new(&format!("dsd:rate=8mbit:bound=3ms:limit=7:g={g}:test={test}:green=1"), 1);
    let zero = 10 * MS;
    let mut names = vec!["before"];
    let mut served = Vec::new();
    subject.enqueue(zero - MS, packet(0, 1000, false, 0));
    subject.dequeue(zero - MS);
    let mut come = |subject: &mut Subject, at: Ns, name, dscp| {
        subject.enqueue(at, Packet { dscp, ..packet(names.len() as u64, 1000, false, 0) });
        names.push(name);
    };
    FIRST.into_iter().for_each(|(name, dscp)| come(&mut subject, zero - 1, name, dscp));
    for at in 0..=10 {
        if at == 5 {
            let half = zero + 4 * MS + MS / 2;
            [("B7", 0), ("G3", 1)].into_iter().for_each(|(name, dscp)| come(&mut subject, half, name, dscp));
            let five = zero + 5 * MS;
            [("G4", 1), ("B8", 0), ("B9", 0)]
                .into_iter()
                .for_each(|(name, dscp)| come(&mut subject, five, name, dscp));
        }
        served.extend(subject.dequeue(zero + at * MS).map(|p| p.handle as usize));
    }
    let dropped = subject.ear.0.iter().map(|fate| fate.id() as usize);
    let dropped = dropped.map(|id| names[id]).collect();
    (served.into_iter().map(|id| names[id]).collect(), dropped)
}

#[test]
fn figure_2_with_all_bias_to_green() {
    let served = vec!["B1", "G1", "B2", "B3", "B4", "G3", "B5", "B7", "G4", "B8", "B9"];
    assert_eq!(figure_2(1, "off"), (served.clone(), vec!["B6", "G2"]), "G2 goes stale");
    for test in ["printed", "residual", "exact"] {
        assert_eq!(figure_2(1, test), (served.clone(), vec!["G2", "B6"]), "{test}: G2 is refused");
    }
}

#[test]
fn figure_2_with_all_bias_to_blue() {
    let served = vec!["B1", "B2", "G1", "B3", "B4", "B5", "B7", "G3", "G4", "B8", "B9"];
    assert_eq!(figure_2(0, "off"), (served.clone(), vec!["B6", "G2"]));
    assert_eq!(figure_2(0, "printed"), (served, vec!["G2", "B6"]));
}

/// Limits are in packets and sizes differ: the duplicate of a large packet has room where the real queue is full of small
/// ones, and the newest green one makes room.
#[test]
fn green_makes_room_for_blue() {
    let mut subject = Subject::new("dsd:rate=8mbit:bound=3ms:limit=3:g=0:test=off", 1);
    let green = |id| Packet { dscp: GREEN, ..packet(id, 40, false, 0) };
    // Duplicates 0 and 1 are 1 ms each; both originals wait, because nobody takes them.
    subject.enqueue(0, packet(0, 1000, false, 0));
    subject.enqueue(0, packet(1, 1000, false, 0));
    subject.enqueue(0, green(2));
    subject.enqueue(1_010_000, packet(3, 1000, false, 0));
    assert_eq!(subject.ear.0, [Fate::Tail(2)], "its duplicate has room");
    subject.enqueue(3_000_000, packet(4, 1000, false, 0));
    assert_eq!(
        subject.ear.0,
        [Fate::Tail(2), Fate::Tail(4)],
        "the link is slower than its rate: blue alone fills the queue"
    );
    assert_eq!(drive::drain(&mut subject, 3_000_000), [0, 1, 3]);
}
