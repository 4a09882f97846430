//! Comparison decision by decision: after each decision our queue is set to the recorded one, so that a difference has no consequences.
//!
//! If our decision differs at the recorded time, the nearest time is searched at which it is equal: the time of the dequeue
//! (for CoDel's sojourn), or the time of the latest arrivals (for the presence of a packet). The shift measures the distance of the
//! decision from its
//! threshold, unless the difference is in the state: CoDel's knowledge of when sojourn times rose shows its effect much later. Without
//! such a time, our queue continues unchanged.

use super::play::Bench;
use super::recording::Recording;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Span, Time};
use serde::Serialize;

/// Shifts of a dequeue or an arrival, in nanoseconds.
const STEPS: [u64; 20] = [
    512, 1000, 2000, 3000, 4000, 5000, 6000, 8000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000, 96_000,
    128_000, 192_000, 256_000, 1_000_000, 4_000_000,
];

/// Decisions of our queue, each from a state that follows the recorded queue's decisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// Number of decisions at departures and arrivals.
    pub decisions: u64,
    /// Decisions equal at the recorded times.
    pub equal: u64,
    /// Decisions equal with an earlier dequeue; with the largest shift, in nanoseconds.
    pub earlier: Moved,
    /// Decisions equal with a later dequeue.
    pub later: Moved,
    /// Decisions equal with a later arrival.
    pub arrivals: Moved,
    /// Decisions equal at none of these times.
    pub apart: u64,
}

/// Decisions that are equal at another time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub count: u64,
    /// Largest shift, in nanoseconds.
    pub most_ns: u64,
}

impl Moved {
    fn add(&mut self, by: Span) {
        self.count += 1;
        self.most_ns = self.most_ns.max(by.as_nanos());
    }
}

/// Shift that leads to the recorded decision.
#[derive(Clone, Copy, Debug)]
enum Way {
    Earlier,
    Later,
    Arrivals,
}

/// Our queue: state after the latest departure, and arrivals since.
struct Follower<'a> {
    recording: &'a Recording,
    bench: Bench,
    base: Bench,
    since: Vec<usize>,
    /// Packets that ours refused and the recorded queue took: they arrive after the next departure.
    deferred: Vec<usize>,
    followed: Followed,
}

/// Follows the recording with `qdisc`.
pub fn follow(recording: &Recording, qdisc: AnyQdisc) -> Followed {
    let bench = Bench::new(qdisc);
    let mut follower = Follower {
        recording,
        base: bench.clone(),
        bench,
        since: Vec::new(),
        deferred: Vec::new(),
        followed: Followed::default(),
    };
    let mut arriving = (0..recording.packets.len()).peekable();
    let came = |place: usize| recording.packets[place].packet.arrival;
    for departure in &recording.departures {
        let now = recording.left_at(*departure);
        while let Some(place) = arriving.next_if(|place| came(*place) <= now) {
            follower.arrive(place, now);
        }
        follower.depart(*departure, now);
    }
    follower.followed
}

impl Follower<'_> {
    fn arrive(&mut self, place: usize, next: Time) {
        let row = &self.recording.packets[place];
        let at = row.packet.arrival;
        let before = self.bench.clone();
        self.followed.decisions += 1;
        match (row.is_refused(), self.bench.enqueue(self.recording, place, at)) {
            (true, true) => self.followed.equal += 1,
            (false, false) => {
                self.followed.equal += 1;
                self.since.push(place);
            }
            (true, false) => {
                self.followed.apart += 1;
                self.bench = before;
            }
            (false, true) => {
                // The packet is taken after the next departure: if that is near, only the order of the two differed.
                self.followed.arrivals.add(next.since(at));
                self.bench = before;
                self.deferred.push(place);
            }
        }
    }

    fn depart(&mut self, departure: usize, now: Time) {
        self.followed.decisions += 1;
        let before = self.bench.clone();
        if self.bench.dequeue(now) == Some(departure) {
            self.followed.equal += 1;
        } else if let Some((way, by, bench, late)) = self.find(departure, now, &before) {
            match way {
                Way::Earlier => self.followed.earlier.add(by),
                Way::Later => self.followed.later.add(by),
                Way::Arrivals => self.followed.arrivals.add(by),
            }
            self.bench = bench;
            self.deferred.extend(late);
        } else {
            self.followed.apart += 1;
        }
        self.deferred.sort_unstable();
        for place in std::mem::take(&mut self.deferred) {
            self.bench.enqueue(self.recording, place, now);
        }
        self.bench.drops();
        self.base.clone_from(&self.bench);
        self.since.clear();
    }

    /// Nearest shift to the recorded departure, the state after it, and the packets still to arrive.
    fn find(&self, departure: usize, now: Time, before: &Bench) -> Option<(Way, Span, Bench, Vec<usize>)> {
        for by in STEPS.map(Span::from_nanos) {
            let times = [
                (Way::Earlier, Time::from_nanos(now.as_nanos().saturating_sub(by.as_nanos()))),
                (Way::Later, now + by),
            ];
            for (way, at) in times {
                let mut bench = before.clone();
                if bench.dequeue(at) == Some(departure) {
                    return Some((way, by, bench, Vec::new()));
                }
            }
            let mut bench = self.base.clone();
            let is_late = |place: &usize| self.recording.packets[*place].packet.arrival + by > now;
            let (late, early): (Vec<usize>, Vec<usize>) = self.since.iter().partition(|place| is_late(place));
            for place in early {
                bench.enqueue(self.recording, place, self.recording.packets[place].packet.arrival + by);
            }
            if !late.contains(&departure) && bench.dequeue(now) == Some(departure) {
                return Some((Way::Arrivals, by, bench, late));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::play::{Shift, play};
    use super::super::recording::Recorded;
    use super::super::recording::made::{dropped, packet};
    use super::*;

    fn followed(rows: Vec<Recorded>, qdisc: &str) -> Followed {
        follow(&Recording::new(rows), AnyQdisc::parse(qdisc).unwrap())
    }

    #[test]
    fn an_arrival_just_before_a_departure() {
        let rows = vec![packet(0, 10, Some(20)), packet(0, 11, Some(30)), packet(0, 19, Some(40))];
        let followed = followed(rows, "taildrop:limit=2");
        assert_eq!((followed.decisions, followed.equal, followed.apart), (6, 5, 0));
        assert_eq!(followed.arrivals, Moved { count: 1, most_ns: 1000 });
    }

    #[test]
    fn a_sojourn_just_above_the_target() {
        // A packet each millisecond, which waits for 6 ms; packet 60 only for 5.002 ms, and the kernel saw it below 5 ms: it drops none.
        let left = |number: u64| number * 1000 + if number == 60 { 5002 } else { 6000 };
        let rows: Vec<Recorded> =
            (1..150).map(|number| packet(0, number * 1000, Some(left(number)))).collect();
        let recording = Recording::new(rows);
        let qdisc = AnyQdisc::parse("codel:variant=linux").unwrap();
        let late = Shift { arrivals: Span::from_micros(4), ..Shift::default() };
        let drops = |shift: Shift| play(&recording, qdisc.clone(), shift).dropped.iter().flatten().count();
        assert_eq!([drops(Shift::default()), drops(late)], [1, 0]);
    }

    #[test]
    fn what_no_time_explains() {
        let rows = vec![
            packet(0, 10, Some(20)),
            dropped(0, 11, 30),
            packet(0, 12, Some(30)),
            packet(0, 13, Some(40)),
        ];
        let followed = followed(rows, "taildrop");
        assert_eq!((followed.decisions, followed.equal, followed.apart), (7, 5, 2));
    }
}
