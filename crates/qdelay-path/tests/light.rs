//! Replay of two loads, beside a model that walks over packets and opportunities one by one.

use crate::common::{Event, Log, drain, ms, packet, queue};
use qdelay_core::{Random, Span, Time};
use qdelay_path::*;
use qdelay_trace::{SizeDelays, Trains, mahimahi, trains};
use std::fmt::Write;

/// Microseconds of a millisecond: the unit of the model.
const MS: i64 = 1000;

/// A train on its way: when it began, its base delay, its opportunities that are left as (offset, bytes), and its length.
type Way = (i64, i64, Vec<(i64, i64)>, i64);

#[derive(Clone, Debug)]
struct Case {
    /// Start, base delay and offsets of each train, in ms.
    trains: Vec<(i64, i64, Vec<i64>)>,
    /// Milliseconds of the opportunities of the heavy load.
    heavy: Vec<i64>,
    pause: i64,
    recorded: bool,
    slot: i64,
    /// Size and delay in ms.
    sizes: Vec<(i64, i64)>,
    place: i64,
    /// Time in us and IP bytes of each packet.
    packets: Vec<(i64, i64)>,
}

impl Case {
    fn draw(seed: u64) -> Case {
        let random = &mut Random::derive(seed, "light", "draws");
        let mut below = |most: i64| random.below(most as u64) as i64;
        let mut start = 0;
        let mut trains = Vec::new();
        for _ in 0..2 + below(6) {
            let (mut offset, mut offsets) = (0, vec![0]);
            for _ in 0..below(12) {
                offset += below(4);
                offsets.push(offset);
            }
            trains.push((start, below(40), offsets));
            start += 20 + below(200);
        }
        let mut heavy = Vec::new();
        for at in 0..1 + below(30) {
            (0..below(3)).for_each(|_| heavy.push(at * 3));
        }
        heavy.push(90 + below(20));
        let mut at = 0;
        let mut packets = Vec::new();
        for _ in 0..60 + below(100) {
            // Bursts, pauses, and a pace in between.
            at += match below(8) {
                0 => below(90 * MS),
                1..4 => below(3 * MS),
                4 => below(400),
                _ => 0,
            };
            packets.push((at, [36, 96, 496, 1396, 1496][below(5) as usize]));
        }
        let sizes = if below(2) == 0 { vec![] } else { vec![(100, below(6) - 4), (900, below(9) - 4)] };
        let (pause, place) = (below(2) * below(30), below(2) * below(300));
        let (recorded, slot) = (below(2) == 0, [1400, 1504][below(2) as usize]);
        Case { trains, heavy, pause, recorded, slot, sizes, place, packets }
    }

    fn link(&self) -> TraceLink {
        let mut text = String::new();
        for (start, base, offsets) in &self.trains {
            write!(text, "{start} {base}").unwrap();
            offsets.iter().for_each(|offset| write!(text, " {offset}").unwrap());
            text.push('\n');
        }
        let trains: Trains = trains::parse(text.as_bytes()).unwrap();
        let sizes: String = self.sizes.iter().map(|(size, delay)| format!("{size} {delay}\n")).collect();
        let sizes: Option<SizeDelays> = (!sizes.is_empty()).then(|| {
            let mut parser = trains::SizeParser::new();
            parser.feed(sizes.as_bytes()).unwrap();
            parser.finish().unwrap()
        });
        let heavy: String = self.heavy.iter().map(|at| format!("{at}\n")).collect();
        let pause = Span::from_millis(self.pause as u64);
        let light = LightSpec { trains, sizes, pause, beyond_recorded: self.recorded };
        let mut link = TraceLink::new(&mahimahi::parse(heavy.as_bytes()).unwrap(), 4, true)
            .with_slots(self.slot as u16)
            .with_light(light);
        link.start_from(Span::from_millis(self.place as u64));
        link
    }

    fn path(&self) -> Path {
        let link = AnyLink::from(self.link());
        let load = link.light().unwrap();
        PathBuilder::new()
            .node("light", NodeSpec::Light(load))
            .node("queue", queue("taildrop:limit=1000"))
            .node("link", NodeSpec::link(link))
            .node("out", NodeSpec::Exit)
            .chain(&["light", "queue", "link", "out"])
            .build(1)
            .unwrap()
    }

    /// Base delay and offsets, in us, of the train that the recording has at `at`.
    fn train(&self, at: i64) -> (i64, Vec<i64>) {
        let period = self.trains.last().unwrap().0 * MS;
        let within = (at + self.place * MS).rem_euclid(period);
        let index = (0..self.trains.len() - 1).rfind(|&i| self.trains[i].0 * MS <= within).unwrap();
        let (this, next) = (&self.trains[index], &self.trains[index + 1]);
        let (passed, length) = (within - this.0 * MS, (next.0 - this.0) * MS);
        // Divided in nanoseconds, towards the earlier of the two.
        let moved = (next.1 - this.1) * MS * 1000 * passed / length;
        (this.1 * MS * 1000 + moved, this.2.iter().map(|ms| ms * MS * 1000).collect())
    }

    /// When each packet leaves the light load, in ns, and whether it belongs to a train. Decisions are made in whole milliseconds.
    fn light(&self) -> Vec<(i64, bool)> {
        let mut ends: Vec<(i64, bool)> = Vec::new();
        let mut train: Option<Way> = None;
        // In whole milliseconds: the end of the last packet by its train, and with all else.
        let (mut trained, mut last) = (0, 0);
        for &(at_us, bytes) in &self.packets {
            let (at, tick, bytes) = (at_us * 1000, at_us / MS, bytes + 4);
            let ms = |ns: i64| ns / 1_000_000;
            let begins = train.as_ref().is_none_or(|(_, base, ..)| tick + ms(*base) > trained + self.pause);
            let (end, whole, is_of_train) = if begins {
                let (base, offsets) = self.train(at_us);
                let length = *offsets.last().unwrap();
                let mut left = offsets.into_iter().map(|offset| (offset, self.slot)).collect();
                take(&mut left, bytes, self.slot);
                train = Some((at, base, left, length));
                (at + base, tick + ms(base), true)
            } else {
                let (began, base, left, length) = train.as_mut().unwrap();
                left.retain(|(offset, _)| ms(*began) + ms(*offset) >= tick);
                match take(left, bytes, self.slot) {
                    Some(offset) => (*began + *base + offset, ms(*began) + ms(*base) + ms(offset), true),
                    None => {
                        let least = if self.recorded { *length } else { 0 };
                        (at + least.max(*base), tick + ms(least).max(ms(*base)), false)
                    }
                }
            };
            trained = whole;
            let by_size = self.by_size(bytes);
            let rounded = (by_size as f64 / 1e6).round() as i64;
            // A run has no time before its beginning.
            let sized = (whole + rounded).max(0);
            let (end, whole) = if sized >= last { (end + by_size, sized) } else { (end, whole) };
            let before = ends.last().map_or(0, |end| end.0);
            ends.push((end.max(before).max(at), is_of_train && whole >= last));
            last = last.max(whole);
        }
        ends
    }

    /// Delay by size, in ns.
    fn by_size(&self, bytes: i64) -> i64 {
        let ns = |delay: i64| delay * MS * 1000;
        match self.sizes[..] {
            [(low, first), (high, second)] => {
                let share = (bytes.clamp(low, high) - low) * ns(second - first) / (high - low);
                ns(first) + share
            }
            _ => 0,
        }
    }

    /// When each packet is delivered, in ns.
    fn delivered(&self) -> Vec<(u64, u64)> {
        let period = *self.heavy.last().unwrap();
        let opportunities: Vec<i64> = (0..2000)
            .flat_map(|round| self.heavy.iter().map(move |at| (round * period + at - self.place) * MS * 1000))
            .filter(|at| *at >= 0)
            .collect();
        let (mut place, mut left, mut busy) = (0, self.slot, i64::MIN);
        let mut delivered = Vec::new();
        for ((end, in_train), (handle, (_, bytes))) in
            self.light().into_iter().zip(self.packets.iter().enumerate())
        {
            if in_train && busy <= end {
                delivered.push((end as u64, handle as u64));
                continue;
            }
            // What an opportunity has left is for those that waited when it came.
            while opportunities[place] <= end {
                (place, left) = (place + 1, self.slot);
            }
            let mut missing = bytes + 4;
            loop {
                if left == 0 {
                    (place, left) = (place + 1, self.slot);
                }
                let sent = missing.min(left);
                (missing, left) = (missing - sent, left - sent);
                if missing == 0 {
                    break;
                }
            }
            busy = opportunities[place];
            delivered.push((busy as u64, handle as u64));
        }
        delivered.sort_by_key(|&(at, handle)| (at, handle));
        delivered
    }
}

/// Takes `bytes` from the first opportunities that have room; the offset of the last of them.
fn take(left: &mut Vec<(i64, i64)>, bytes: i64, slot: i64) -> Option<i64> {
    match left.first_mut() {
        // Not all is used of what the first one has left.
        Some(first) if first.1 < bytes && first.1 < slot => {
            left.remove(0);
            return take(left, bytes, slot);
        }
        Some(first) if first.1 >= bytes => {
            first.1 -= bytes;
            return Some(first.0);
        }
        Some(_) => {}
        None => return None,
    }
    left.remove(0);
    take(left, bytes - slot, slot)
}

#[test]
fn packets_leave_as_the_model_says() {
    let (mut past, mut queued) = (0, 0);
    for seed in 0..400 {
        let case = Case::draw(seed);
        let (mut path, mut log) = (case.path(), Log::default());
        let entry = path.node("light").unwrap();
        for (handle, &(at, bytes)) in case.packets.iter().enumerate() {
            let at = Time::from_nanos(at as u64 * 1000);
            path.ingress(at, entry, packet(handle as u64, bytes as u32), &mut log).unwrap();
        }
        drain(&mut path, ms(1_000_000), &mut log);
        assert_eq!(log.delivered(), case.delivered(), "seed {seed}: {case:?}");
        for event in &log.events {
            if let Event::Departed { now, arrival, .. } = event {
                *(if now == arrival { &mut past } else { &mut queued }) += 1;
            }
        }
        let counters = |name: &str| path.counters(path.node(name).unwrap()).unwrap().forwarded.packets;
        for node in ["light", "queue", "link", "out"] {
            assert_eq!(counters(node), case.packets.len() as u64, "{node}");
        }
    }
    assert!(past > 3000 && queued > 3000, "{past} past the queue, {queued} through it");
}

/// A burst of five into a train of three: the first three take the recorded times; the others the queue.
#[test]
fn a_burst_longer_than_the_train_ends_in_the_queue() {
    let case = Case {
        trains: vec![(0, 10, vec![0, 1, 4]), (1000, 10, vec![0])],
        heavy: vec![7],
        pause: 0,
        recorded: true,
        slot: 1400,
        sizes: vec![],
        place: 0,
        packets: vec![(0, 1396); 5],
    };
    let (mut path, mut log) = (case.path(), Log::default());
    let entry = path.node("light").unwrap();
    for handle in 0..5 {
        path.ingress(ms(0), entry, packet(handle, 1396), &mut log).unwrap();
    }
    drain(&mut path, ms(100), &mut log);
    let at = |ms: u64, handle| (ms * 1_000_000, handle);
    assert_eq!(log.delivered(), [at(10, 0), at(11, 1), at(14, 2), at(21, 3), at(28, 4)]);
}

#[test]
fn a_link_of_two_loads_stays_where_it_is() {
    let case = Case::draw(1);
    let mut path = case.path();
    let link = path.node("link").unwrap();
    let other = AnyLink::build(&parse_link("10mbit").unwrap()).unwrap();
    let error = path.replace_link(ms(1), link, other, &mut ()).unwrap_err();
    assert!(error.to_string().contains("replays two loads"), "{error}");
    let alone = PathBuilder::new()
        .node("light", NodeSpec::Light(AnyLink::from(case.link()).light().unwrap()))
        .node("out", NodeSpec::<qdelay_core::qdisc::AnyQdisc>::Exit)
        .chain(&["light", "out"])
        .build(1)
        .unwrap_err();
    assert!(alone.to_string().contains("expected a queue behind it"), "{alone}");
}
