//! What the kernel's discipline has done with each packet, from what arrived and what left.
//!
//! A packet that did not leave, while a later one of its flow did, was dropped: every discipline here keeps the order within a flow.
//! When it was dropped is not seen: an arrival at once, where the discipline drops arrivals; and where it drops when it dequeues,
//! before the next packet of its flow leaves. Of the packets at the end whose flow sent nothing later, as many as the queue still held
//! were waiting, and the others were dropped.

use super::capture::{Capture, Seen};
use qdelay_core::Time;
use std::collections::{BTreeMap, VecDeque};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It left.
    Left,
    /// It was dropped on arrival.
    Refused,
    /// It was dropped before the departure of this number.
    DroppedBefore(usize),
    /// It was still queued at the end.
    Waiting,
}

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// When.
    pub at: Time,
    /// Which of the arrivals.
    pub arrival: usize,
    /// Whether it was marked.
    pub marked: bool,
}

/// What became of all packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    /// By arrival.
    pub of: Vec<Fate>,
    /// In order of time.
    pub departures: Vec<Departure>,
    /// By departure: the arrivals that were dropped before it.
    pub dropped: Vec<Vec<usize>>,
    /// Packets that left and had not arrived: none, unless the capture is incomplete.
    pub unexplained: u64,
}

impl Fates {
    pub(super) fn new(capture: &Capture, drops_departures: bool, queued: u64) -> Fates {
        let mut there: BTreeMap<u64, VecDeque<usize>> = BTreeMap::new();
        for (index, seen) in capture.arrived.iter().enumerate() {
            there.entry(seen.key).or_default().push_back(index);
        }
        let mut fates = Fates { of: vec![Fate::Waiting; capture.arrived.len()], ..Fates::default() };
        for seen in &capture.left {
            let Some(arrival) = there.get_mut(&seen.key).and_then(VecDeque::pop_front) else {
                fates.unexplained += 1;
                continue;
            };
            let before = capture.arrived[arrival];
            let marked = seen.is_marked && !before.is_marked;
            fates.of[arrival] = Fate::Left;
            fates.departures.push(Departure { at: seen.at.max(before.at), arrival, marked });
        }
        fates.dropped = vec![Vec::new(); fates.departures.len()];
        fates.find_drops(&capture.arrived, drops_departures);
        let waiting = fates.of.iter_mut().rev().filter(|fate| **fate == Fate::Waiting);
        waiting.skip(queued as usize).for_each(|fate| *fate = Fate::Refused);
        fates
    }

    /// Goes back in time: a packet before one of its flow that left was dropped.
    fn find_drops(&mut self, arrived: &[Seen], drops_departures: bool) {
        let mut number = vec![0; arrived.len()];
        for (position, departure) in self.departures.iter().enumerate() {
            number[departure.arrival] = position;
        }
        // By flow: the next departure of one of its packets.
        let mut next: BTreeMap<u32, usize> = BTreeMap::new();
        for (index, seen) in arrived.iter().enumerate().rev() {
            match (self.of[index], next.get(&seen.flow)) {
                (Fate::Left, _) => {
                    next.insert(seen.flow, number[index]);
                }
                (_, None) => {}
                (_, Some(_)) if !drops_departures => self.of[index] = Fate::Refused,
                (_, Some(before)) => {
                    self.of[index] = Fate::DroppedBefore(*before);
                    self.dropped[*before].push(index);
                }
            }
        }
        self.dropped.iter_mut().for_each(|dropped| dropped.reverse());
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::HEAD_BYTES;
    use super::*;

    fn seen(at: u64, key: u64, flow: u32) -> Seen {
        Seen { at: Time::from_nanos(at), key, flow, is_marked: false, bytes: 1500, head: [0; HEAD_BYTES] }
    }

    /// Flow 1 sends packets 1 to 4, flow 2 packet 5. Packet 2 does not leave, though 3 does; 4 does not leave either.
    fn capture() -> Capture {
        let arrived = [(10, 1, 1), (20, 2, 1), (30, 5, 2), (40, 3, 1), (50, 4, 1)];
        let mut left: Vec<Seen> =
            [(15, 1, 1), (35, 5, 2), (45, 3, 1)].map(|(at, key, flow)| seen(at, key, flow)).into();
        left[2].is_marked = true;
        Capture { arrived: arrived.map(|(at, key, flow)| seen(at, key, flow)).into(), left, lost: 0 }
    }

    #[test]
    fn what_a_later_packet_of_the_flow_overtook_was_dropped() {
        let fates = Fates::new(&capture(), false, 1);
        assert_eq!(fates.of, [Fate::Left, Fate::Refused, Fate::Left, Fate::Left, Fate::Waiting]);
        let fates = Fates::new(&capture(), true, 1);
        assert_eq!(fates.of[1], Fate::DroppedBefore(2), "flow 2 has left before");
        assert_eq!(Fates::new(&capture(), true, 0).of[4], Fate::Refused, "the queue was empty at the end");
        assert_eq!(fates.dropped, [vec![], vec![], vec![1]]);
        let departures: Vec<(u64, usize, bool)> =
            fates.departures.iter().map(|gone| (gone.at.as_nanos(), gone.arrival, gone.marked)).collect();
        assert_eq!(departures, [(15, 0, false), (35, 2, false), (45, 3, true)]);
    }

    #[test]
    fn equal_packets_leave_in_their_order_and_strangers_are_counted() {
        let mut capture = Capture { arrived: vec![seen(1, 7, 1), seen(2, 7, 1)], ..Capture::default() };
        capture.left = vec![seen(3, 7, 1), seen(4, 7, 1), seen(5, 7, 1), seen(6, 9, 1)];
        let fates = Fates::new(&capture, false, 0);
        assert_eq!(fates.departures.iter().map(|gone| gone.arrival).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(fates.unexplained, 2);
    }
}
