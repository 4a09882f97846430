//! Fate of each packet in the kernel's discipline, derived from arrivals and departures.
//!
//! A packet that did not leave, although a later packet of its flow did, was dropped: every discipline here keeps the order within a
//! flow. The time of the drop is not recorded. A discipline that drops arrivals dropped the packet on arrival; a discipline that
//! drops at dequeue dropped it before the next packet of its flow left. At the end, packets without a later departure in their flow
//! either still waited, as many as the queue held, or were dropped.

use super::capture::{Capture, RecordedPacket};
use qdelay_core::Time;
use std::collections::{BTreeMap, VecDeque};

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The packet left.
    Left,
    /// The packet was dropped on arrival.
    Refused,
    /// The packet was dropped before the departure with this number.
    DroppedBefore(usize),
    /// The packet was still queued at the end.
    Waiting,
}

/// A packet that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    /// Time of the departure.
    pub at: Time,
    /// Number of the packet's arrival.
    pub arrival: usize,
    /// True if the packet was marked.
    pub marked: bool,
}

/// Fates of all packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Fates {
    /// Fate of each packet, by number of arrival.
    pub by_arrival: Vec<Fate>,
    /// Departures in order of time.
    pub departures: Vec<Departure>,
    /// Numbers of the arrivals that were dropped before each departure, by number of departure.
    pub dropped: Vec<Vec<usize>>,
    /// Number of packets that left without having arrived: none, unless the capture is incomplete.
    pub unexplained: u64,
}

impl Fates {
    pub(super) fn new(capture: &Capture, drops_departures: bool, queued: u64) -> Fates {
        let mut there: BTreeMap<u64, VecDeque<usize>> = BTreeMap::new();
        for (index, seen) in capture.arrived.iter().enumerate() {
            there.entry(seen.key).or_default().push_back(index);
        }
        let mut fates = Fates { by_arrival: vec![Fate::Waiting; capture.arrived.len()], ..Fates::default() };
        for seen in &capture.left {
            let Some(arrival) = there.get_mut(&seen.key).and_then(VecDeque::pop_front) else {
                fates.unexplained += 1;
                continue;
            };
            let before = capture.arrived[arrival];
            let marked = seen.is_marked && !before.is_marked;
            fates.by_arrival[arrival] = Fate::Left;
            fates.departures.push(Departure { at: seen.at.max(before.at), arrival, marked });
        }
        fates.dropped = vec![Vec::new(); fates.departures.len()];
        fates.find_drops(&capture.arrived, drops_departures);
        let waiting = fates.by_arrival.iter_mut().rev().filter(|fate| **fate == Fate::Waiting);
        waiting.skip(queued as usize).for_each(|fate| *fate = Fate::Refused);
        fates
    }

    /// Goes through the arrivals backwards: a packet before a later packet of its flow that left was dropped.
    fn find_drops(&mut self, arrived: &[RecordedPacket], drops_departures: bool) {
        let mut number = vec![0; arrived.len()];
        for (position, departure) in self.departures.iter().enumerate() {
            number[departure.arrival] = position;
        }
        // Next departure of a packet of each flow.
        let mut next: BTreeMap<u32, usize> = BTreeMap::new();
        for (index, seen) in arrived.iter().enumerate().rev() {
            match (self.by_arrival[index], next.get(&seen.flow)) {
                (Fate::Left, _) => {
                    next.insert(seen.flow, number[index]);
                }
                (_, None) => {}
                (_, Some(_)) if !drops_departures => self.by_arrival[index] = Fate::Refused,
                (_, Some(before)) => {
                    self.by_arrival[index] = Fate::DroppedBefore(*before);
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

    fn seen(at: u64, key: u64, flow: u32) -> RecordedPacket {
        RecordedPacket {
            at: Time::from_nanos(at),
            key,
            flow,
            is_marked: false,
            bytes: 1500,
            head: [0; HEAD_BYTES],
        }
    }

    /// Flow 1 sends packets 1 to 4, flow 2 packet 5. Packets 2 and 4 do not leave; 3 does.
    fn capture() -> Capture {
        let arrived = [(10, 1, 1), (20, 2, 1), (30, 5, 2), (40, 3, 1), (50, 4, 1)];
        let mut left: Vec<RecordedPacket> =
            [(15, 1, 1), (35, 5, 2), (45, 3, 1)].map(|(at, key, flow)| seen(at, key, flow)).into();
        left[2].is_marked = true;
        Capture { arrived: arrived.map(|(at, key, flow)| seen(at, key, flow)).into(), left, lost: 0 }
    }

    #[test]
    fn packets_overtaken_in_their_flow_were_dropped() {
        let fates = Fates::new(&capture(), false, 1);
        assert_eq!(fates.by_arrival, [Fate::Left, Fate::Refused, Fate::Left, Fate::Left, Fate::Waiting]);
        let fates = Fates::new(&capture(), true, 1);
        assert_eq!(fates.by_arrival[1], Fate::DroppedBefore(2), "flow 2 left before");
        assert_eq!(
            Fates::new(&capture(), true, 0).by_arrival[4],
            Fate::Refused,
            "the queue was empty at the end"
        );
        assert_eq!(fates.dropped, [vec![], vec![], vec![1]]);
        let departures: Vec<(u64, usize, bool)> =
            fates.departures.iter().map(|gone| (gone.at.as_nanos(), gone.arrival, gone.marked)).collect();
        assert_eq!(departures, [(15, 0, false), (35, 2, false), (45, 3, true)]);
    }

    #[test]
    fn equal_packets_leave_in_order_and_unknown_ones_are_counted() {
        let mut capture = Capture { arrived: vec![seen(1, 7, 1), seen(2, 7, 1)], ..Capture::default() };
        capture.left = vec![seen(3, 7, 1), seen(4, 7, 1), seen(5, 7, 1), seen(6, 9, 1)];
        let fates = Fates::new(&capture, false, 0);
        assert_eq!(fates.departures.iter().map(|gone| gone.arrival).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(fates.unexplained, 2);
    }
}
