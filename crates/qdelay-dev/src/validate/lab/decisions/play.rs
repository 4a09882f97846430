//! Playback: our discipline receives recorded arrivals and is dequeued each time the recorded queue released a packet.

use super::recording::Recording;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Context, DropReason, MarkReason, Packet, Random, Sink, Span, Time};

/// Decisions of our queue for each packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Packet released by ours, by departure.
    pub gave: Vec<Option<usize>>,
    /// Time of our drop, by packet.
    pub dropped: Vec<Option<Time>>,
}

/// Shift of the recorded times, as an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// Delay of all arrivals, limited by the packet's departure.
    pub arrivals: Span,
    /// Offset of all clocks, which changes the phase of laws that count time in units.
    pub clock: Span,
}

/// Decisions of `qdisc` on the recording.
pub fn play(recording: &Recording, qdisc: AnyQdisc, shift: Shift) -> Played {
    let came = |place: usize| {
        (recording.packets[place].packet.arrival + shift.arrivals).min(recording.left_at(place))
    };
    let mut order: Vec<usize> = (0..recording.packets.len()).collect();
    order.sort_by_key(|place| came(*place));
    let mut bench = Bench::new(qdisc);
    let mut arriving = order.into_iter().peekable();
    let mut gave = Vec::new();
    for departure in &recording.departures {
        let now = recording.left_at(*departure);
        while let Some(place) = arriving.next_if(|place| came(*place) <= now) {
            bench.enqueue(recording, place, came(place) + shift.clock);
        }
        gave.push(bench.dequeue(now + shift.clock));
    }
    let mut dropped = vec![None; recording.packets.len()];
    for (place, at) in bench.drops() {
        dropped[place] = Some(Time::from_nanos(at.as_nanos() - shift.clock.as_nanos()));
    }
    Played { gave, dropped }
}

/// Discipline with its drops.
#[derive(Clone, Debug)]
pub struct Bench {
    qdisc: AnyQdisc,
    random: Random,
    sink: Drops,
}

/// Drops: packet and time.
#[derive(Clone, Debug, Default)]
struct Drops {
    all: Vec<(usize, Time)>,
    /// Time of the latest call.
    now: Time,
}

impl Sink for Drops {
    fn dropped(&mut self, packet: &Packet, _: DropReason) {
        self.all.push((packet.handle as usize, self.now));
    }
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
}

impl Bench {
    pub fn new(qdisc: AnyQdisc) -> Bench {
        Bench { qdisc, random: Random::derive(1, "validate-lab", "decisions"), sink: Drops::default() }
    }

    /// Takes the drops since the last call.
    pub fn drops(&mut self) -> Vec<(usize, Time)> {
        std::mem::take(&mut self.sink.all)
    }

    /// Enqueues the packet of this place; true if it is dropped at once.
    pub fn enqueue(&mut self, recording: &Recording, place: usize, now: Time) -> bool {
        let packet = Packet { arrival: self.at(now), ..recording.packets[place].packet };
        self.qdisc.enqueue(
            &mut Context { now: self.sink.now, random: &mut self.random, sink: &mut self.sink },
            packet,
        );
        self.sink.all.last().is_some_and(|(dropped, _)| *dropped == place)
    }

    /// Dequeues; returns the place of the packet that leaves.
    pub fn dequeue(&mut self, now: Time) -> Option<usize> {
        let now = self.at(now);
        let packet = self.qdisc.dequeue_if_queued(&mut Context {
            now,
            random: &mut self.random,
            sink: &mut self.sink,
        });
        packet.map(|packet| packet.handle as usize)
    }

    /// Time of a call, never before that of the last call.
    fn at(&mut self, now: Time) -> Time {
        self.sink.now = self.sink.now.max(now);
        self.sink.now
    }
}
