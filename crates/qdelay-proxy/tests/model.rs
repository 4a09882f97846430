//! Random operations on an engine beside a slow model of what the programs at both ends must see.

use crate::common::{direction, ms, settings};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Random, Span, Time};
use qdelay_emu::device::Port;
use qdelay_path::LossModel;
use qdelay_path::stack::{Adjustment, DirectionAdjustment, Plan};
use qdelay_proxy::engine::{Action, Engine, Key};
use qdelay_testing::for_each_seed;
use std::collections::BTreeMap;

/// Byte `place` of the stream that comes from `port` of connection `number`.
fn byte(number: u32, port: Port, place: u64) -> u8 {
    let mixed =
        (place ^ u64::from(number) << 40 ^ (port.index() as u64) << 60).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

/// One direction as the programs see it.
#[derive(Debug, Default)]
struct Direction {
    sent: u64,
    received: u64,
    is_closed: bool,
    is_ended: bool,
}

#[derive(Debug, Default)]
struct Connection {
    /// By the port that the bytes come from.
    directions: [Direction; 2],
    /// Whether the target has accepted.
    is_open: bool,
    /// Whether a program, or the target's refusal, has reset it.
    is_reset: bool,
}

struct Model {
    engine: Engine,
    now: Time,
    window: usize,
    connections: BTreeMap<Key, Connection>,
    /// Connections that the target is asked for.
    asked: Vec<Key>,
    done: u32,
    resets: u32,
    changes: u32,
    random: Random,
}

impl Model {
    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn key(&mut self) -> Option<Key> {
        let count = self.connections.len() as u64;
        if count == 0 {
            return None;
        }
        let nth = self.below(count) as usize;
        self.connections.keys().nth(nth).copied()
    }

    fn port(&mut self) -> Port {
        Port::ALL[self.below(2) as usize]
    }

    /// A random operation of a program.
    fn step(&mut self) {
        match self.below(20) {
            0 | 1 => {
                if let Some(key) = self.engine.open(self.now) {
                    assert!(self.connections.insert(key, Connection::default()).is_none());
                } else {
                    assert_eq!(self.connections.len(), 16, "a connection was refused");
                }
            }
            2..=9 => self.send(),
            10 => self.close(),
            11 if self.below(4) == 0 => self.reset(),
            11 if self.below(4) == 0 => self.change(),
            11 if self.below(8) == 0 => self.abort(),
            12..=14 => self.answer(),
            _ => {
                let scale = [10, 300, 20_000, 300_000][self.below(4) as usize];
                let span = self.below(scale);
                self.now += Span::from_micros(span);
                self.engine.advance(self.now);
            }
        }
        self.serve(false);
    }

    fn send(&mut self) {
        let (Some(key), port) = (self.key(), self.port()) else { return };
        let most = [1, 100, 5_000, 100_000][self.below(4) as usize];
        let connection = &self.connections[&key];
        let direction = &connection.directions[port.index()];
        if direction.is_closed || connection.is_reset || (port == Port::Outside && !connection.is_open) {
            return;
        }
        let first = direction.sent;
        let room = self.engine.room(key, port);
        let count = room.len().min(most);
        for (place, to) in (first..).zip(&mut room[..count]) {
            *to = byte(key.number(), port, place);
        }
        if count > 0 {
            self.engine.received(self.now, key, port, count);
        }
        self.connections.get_mut(&key).unwrap().directions[port.index()].sent += count as u64;
        let held = self.engine.held_bytes(key, port);
        assert!(held <= self.window, "{held} bytes in a window of {}", self.window);
    }

    fn close(&mut self) {
        let (Some(key), port) = (self.key(), self.port()) else { return };
        let connection = self.connections.get_mut(&key).unwrap();
        if connection.is_reset || (port == Port::Outside && !connection.is_open) {
            return;
        }
        connection.directions[port.index()].is_closed = true;
        self.engine.closed(self.now, key, port);
    }

    fn reset(&mut self) {
        let (Some(key), port) = (self.key(), self.port()) else { return };
        let connection = self.connections.get_mut(&key).unwrap();
        if port == Port::Inside || connection.is_open {
            connection.is_reset = true;
            self.engine.reset(self.now, key, port);
        }
    }

    /// A change of the path, by another thread.
    fn change(&mut self) {
        let mut adjustment = Adjustment::default();
        let half = if self.below(2) == 0 { &mut adjustment.down } else { &mut adjustment.up };
        let other = direction(
            ["300kbit", "5mbit", "200mbit", "infinite"][self.random.below(4) as usize],
            [0, 1, 40][self.random.below(3) as usize],
            [0.0, 0.02, 0.3][self.random.below(3) as usize],
        );
        match self.random.below(6) {
            0 => half.link = Some(other.link),
            1 => half.delay = Some((other.delay, None)),
            2 => half.loss = Some(other.impairment.loss),
            3 => half.qdisc = Some(AnyQdisc::parse("fq_codel:limit=1000").unwrap()),
            4 => half.is_cut = Some(self.random.below(2) == 0),
            _ => half.is_held = Some(self.random.below(2) == 0),
        }
        let time = self.engine.adjust(self.now, &adjustment).unwrap();
        assert_eq!(time, self.now, "a change holds at once");
        self.changes += 1;
    }

    /// A connection is ended from outside: both of its sockets are reset.
    fn abort(&mut self) {
        let Some(key) = self.key() else { return };
        assert!(self.engine.abort(key) && !self.engine.abort(key));
        self.connections.remove(&key);
        self.resets += 1;
    }

    /// The target accepts or refuses.
    fn answer(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        let nth = self.below(self.asked.len() as u64) as usize;
        let key = self.asked.swap_remove(nth);
        let refuses = self.below(8) == 0;
        let Some(connection) = self.connections.get_mut(&key) else { return };
        if refuses {
            connection.is_reset = true;
            self.engine.refused(self.now, key);
        } else {
            connection.is_open = true;
            self.engine.connected(self.now, key);
        }
    }

    /// Does what the engine asks for; a slow receiver takes only some of its bytes.
    fn serve(&mut self, takes_all: bool) {
        while let Some(action) = self.engine.next_action() {
            match action {
                Action::Connect(key) => self.asked.push(key),
                Action::Write(key, port) => {
                    if takes_all || self.below(4) > 0 {
                        self.take(key, port);
                    }
                }
                Action::Reset(key, _) => {
                    let connection = self.connections.remove(&key).expect("a connection");
                    assert!(connection.is_reset, "a reset that nobody sent");
                    self.resets += 1;
                }
                Action::Done(key) => {
                    let connection = self.connections.remove(&key).expect("a connection");
                    for direction in &connection.directions {
                        assert!(direction.is_closed && direction.is_ended, "{connection:?}");
                        assert_eq!(direction.received, direction.sent);
                    }
                    self.done += 1;
                }
            }
        }
    }

    fn take(&mut self, key: Key, port: Port) {
        let whole = self.engine.ready(key, port).concat();
        let count = match self.below(3) {
            0 => self.below(whole.len() as u64 + 1) as usize,
            _ => whole.len(),
        };
        let connection = self.connections.get_mut(&key).expect("a connection");
        let direction = &mut connection.directions[port.other().index()];
        for (place, got) in (direction.received..).zip(&whole[..count]) {
            assert_eq!(*got, byte(key.number(), port.other(), place), "byte {place}");
        }
        direction.received += count as u64;
        assert!(direction.received <= direction.sent, "bytes that nobody sent");
        self.engine.written(key, port, count);
        let is_ended = self.engine.is_ended(key, port);
        assert!(!is_ended || direction.is_closed, "an end before the close");
        if count == whole.len() && is_ended {
            assert_eq!(direction.received, direction.sent, "an end before the last byte");
            direction.is_ended = true;
            self.engine.finished(key, port);
        }
    }

    /// Both programs of every connection close; all of them end.
    fn finish(&mut self) {
        let whole = DirectionAdjustment {
            is_cut: Some(false),
            is_held: Some(false),
            loss: Some(LossModel::Random(0.02)),
            ..DirectionAdjustment::default()
        };
        self.engine.adjust(self.now, &Adjustment { down: whole.clone(), up: whole }).unwrap();
        let deadline = self.now + Span::from_secs(100_000);
        while !self.connections.is_empty() || self.engine.packets_inside() > 0 {
            while !self.asked.is_empty() {
                self.answer();
            }
            let keys: Vec<Key> = self.connections.keys().copied().collect();
            for key in keys {
                for port in Port::ALL {
                    let connection = self.connections.get_mut(&key).unwrap();
                    if !connection.is_reset && (port == Port::Inside || connection.is_open) {
                        connection.directions[port.index()].is_closed = true;
                        self.engine.closed(self.now, key, port);
                    }
                }
                for port in Port::ALL {
                    if self.connections.get(&key).is_some_and(|connection| !connection.is_reset) {
                        self.take(key, port);
                    }
                }
            }
            self.serve(true);
            let next = self.engine.next_deadline();
            if next == Time::NEVER {
                continue;
            }
            assert!(next < deadline, "{} connections do not end", self.connections.len());
            self.now = self.now.max(next);
            self.engine.advance(self.now);
            self.engine.audit().unwrap();
        }
    }
}

#[test]
fn every_byte_arrives_once_and_in_order() {
    let (mut done, mut resets, mut retransmits, mut changes) = (0, 0, 0, 0);
    for_each_seed(150, |seed| {
        let mut random = Random::derive(seed, "model", "plan");
        let links = ["300kbit", "5mbit", "200mbit", "infinite"];
        let half = |random: &mut Random| {
            let link = links[random.below(4) as usize];
            let loss = [0.0, 0.0, 0.02, 0.3][random.below(4) as usize];
            let mut half = direction(link, [0, 1, 40][random.below(3) as usize], loss);
            half.jitter = ms([0, 0, 7][random.below(3) as usize]).into();
            let mut share = || LossModel::Random([0.0, 0.0, 0.05][random.below(3) as usize]);
            (half.impairment.corrupt, half.impairment.duplicate) = (share(), share());
            (half.impairment.reorder, half.impairment.reorder_delay) = (share(), ms(3));
            half
        };
        let plan = Plan { down: half(&mut random), up: half(&mut random), seed };
        let window = [1_000, 20_000, 300_000][random.below(3) as usize];
        let mut model = Model {
            engine: Engine::new(plan, settings(window)).unwrap(),
            now: Time::ZERO,
            window,
            connections: BTreeMap::new(),
            asked: Vec::new(),
            done: 0,
            resets: 0,
            changes: 0,
            random,
        };
        for _ in 0..600 {
            model.step();
        }
        model.engine.audit().unwrap();
        model.finish();
        model.engine.audit().unwrap();
        let counts = model.engine.counts();
        assert_eq!((counts.done, counts.resets), (model.done.into(), model.resets.into()));
        assert_eq!(counts.opened, counts.done + counts.resets);
        done += model.done;
        resets += model.resets;
        changes += model.changes;
        retransmits += counts.retransmits.iter().sum::<u64>();
    });
    assert!(done > qdelay_testing::least(300), "{done}");
    assert!(resets > qdelay_testing::least(50), "{resets}");
    assert!(changes > qdelay_testing::least(300), "{changes}");
    assert!(retransmits > qdelay_testing::least(100), "{retransmits}");
}
