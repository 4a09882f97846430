//! The light load of a two-load replay (CellReplay, Sentosa et al., NSDI 2025): what a link does with short bursts, in front of the queue
//! and the link that replay its capacity under saturation, the heavy load.
//!
//! A packet that comes when every packet before it has left, or will have by the time it could, begins a train: it takes the base delay
//! that the recording has then. The packets behind it take the opportunities of the recorded train, each of which carries as many bytes as
//! one of the heavy load; a packet that does not fit into the rest of one takes the next. A packet leaves at the time of its
//! opportunity, so that a packet that comes later than it waits for the one after. A packet of a train that finds the queue and the link behind
//! empty goes past them. Packets beyond the end of the train take the base delay, or the time from the first to the last packet of the
//! recorded train if that is longer, and then the queue; with `beyond=base` the base delay alone.
//!
//! Source: the program (`src/frontend/cellular_queue.cc`; the paper was not at hand). Differences from it:
//!
//! * The program's times are whole milliseconds, and so are the times here by which a packet belongs to a train and takes its opportunities: packets
//!   of the same millisecond are one burst. When a packet leaves is exact here: its own arrival, or that of the first of its train, and a base delay
//!   with fractions.
//! * The recording begins with the run; the program's begins with the first packet.
//! * A packet larger than an opportunity takes as many as it needs; the program ends at one above 1400 bytes.
//! * The program takes the longer of the two times beyond the end of a train; `beyond=base` is not in it.

use crate::NodeId;
use crate::schedule::Schedule;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use qdelay_core::{Packet, Span, Time};
use qdelay_trace::{SizeDelays, Trains};

/// Recording and settings of a light load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightSpec {
    /// Recorded trains.
    pub trains: Trains,
    /// Delays of packets by size, overhead included.
    pub sizes: Option<SizeDelays>,
    /// How long the last packet must have left before a packet can for that to begin a train.
    pub pause: Span,
    /// True if a packet beyond the end of a train takes no less than the time between the first and the last packet of the train.
    pub beyond_recorded: bool,
}

/// End of errors about changing a link that replays two loads.
pub(crate) const FIXED: &str = "cannot be put in or taken out while packets are on the path; expected another link of one load, or a new start";

/// The light load of a link.
#[derive(Clone, Debug)]
pub struct LightLoad {
    /// Shared by all links of the recording.
    pub spec: Arc<LightSpec>,
    /// Bytes that an opportunity carries.
    pub slot_bytes: u32,
    /// Bytes that each packet counts besides its own.
    pub overhead_bytes: u32,
    /// Place of the recording when the run begins.
    pub place: Span,
}

/// The state of a light load.
#[derive(Clone, Debug)]
pub(crate) struct Light {
    /// The queue of the heavy load.
    pub(crate) next: NodeId,
    pub(crate) schedule: Schedule,
    /// For each packet of the schedule, whether it belongs to a train.
    in_train: VecDeque<bool>,
    load: LightLoad,
    /// The present train.
    train: Option<Train>,
    /// The end of the last packet by its train.
    trained: Time,
    /// The end of the last packet, with its delay by size and in order.
    last: Moment,
}

/// A time, and the same in the whole milliseconds of the program.
#[derive(Clone, Copy, Debug)]
struct Moment {
    exact: Time,
    whole: Time,
}

impl Moment {
    const ZERO: Moment = Moment { exact: Time::ZERO, whole: Time::ZERO };

    fn new(now: Time) -> Moment {
        Moment { exact: now, whole: Time::from_nanos(now.as_nanos() / NANOS_PER_MS * NANOS_PER_MS) }
    }
    fn plus(self, exact: Span, whole: Span) -> Moment {
        Moment { exact: self.exact + exact, whole: self.whole + whole }
    }
}

/// Nanoseconds of a millisecond.
const NANOS_PER_MS: u64 = 1_000_000;

/// A train on its way.
#[derive(Clone, Copy, Debug)]
struct Train {
    index: usize,
    base: Span,
    /// The base delay in whole milliseconds.
    whole_base: Span,
    began: Moment,
    /// The opportunity of the last packet, and the bytes that it has left.
    opportunity: usize,
    left: u64,
}

impl Light {
    pub(crate) fn new(load: LightLoad, next: NodeId) -> Light {
        let (schedule, in_train) = (Schedule::default(), VecDeque::new());
        Light { next, schedule, in_train, load, train: None, trained: Time::ZERO, last: Moment::ZERO }
    }

    /// Takes a packet in; returns its end if it is the first that waits.
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        let spec = &*self.load.spec;
        let bytes = packet.bytes.saturating_add(self.load.overhead_bytes);
        let arrival = Moment::new(now);
        let (mut leave, mut in_train) = match &mut self.train {
            Some(train) if arrival.whole + train.whole_base <= self.trained + spec.pause => {
                train.follow(arrival, bytes, &self.load)
            }
            _ => {
                let train = Train::begin(arrival, bytes, &self.load);
                self.train = Some(train);
                (arrival.plus(train.base, train.whole_base), true)
            }
        };
        self.trained = leave.whole;
        let by_size = spec.sizes.as_ref().map_or(0, |sizes| sizes.at(bytes));
        let later = |time: Time, nanos: i64| Time::from_nanos(time.as_nanos().saturating_add_signed(nanos));
        let sized = later(leave.whole, whole_ms(by_size));
        if sized >= self.last.whole {
            leave = Moment { exact: later(leave.exact, by_size), whole: sized };
        }
        in_train &= leave.whole >= self.last.whole;
        self.last = Moment {
            exact: leave.exact.max(self.last.exact).max(now),
            whole: leave.whole.max(self.last.whole),
        };
        let is_first = self.schedule.len() == 0;
        self.schedule.push(self.last.exact, packet);
        self.in_train.push_back(in_train);
        is_first.then_some(self.last.exact)
    }

    /// Takes out the packet that goes on, and whether it belongs to a train.
    pub(crate) fn leave(&mut self) -> Option<(Packet, bool)> {
        Some((self.schedule.leave()?, self.in_train.pop_front()?))
    }
}

impl Train {
    /// The train of a first packet of `bytes`.
    fn begin(began: Moment, bytes: u32, load: &LightLoad) -> Train {
        let trains = &load.spec.trains;
        let place = load.place + began.exact.since(Time::ZERO);
        let index = trains.find(place);
        let base = trains.base(index, place);
        let (opportunity, left) = whole(bytes, load.slot_bytes);
        Train { index, base, whole_base: Span::from_millis(base.as_millis()), began, opportunity, left }
    }

    /// The end of a further packet, and whether it belongs to the train.
    fn follow(&mut self, arrival: Moment, bytes: u32, load: &LightLoad) -> (Moment, bool) {
        let trains = &load.spec.trains;
        let (packets, passed) = (trains.packets(self.index), arrival.whole.since(self.began.whole));
        while self.opportunity < packets && trains.offset(self.index, self.opportunity) < passed {
            (self.opportunity, self.left) = (self.opportunity + 1, u64::from(load.slot_bytes));
        }
        if self.left >= u64::from(bytes) {
            self.left -= u64::from(bytes);
        } else {
            // An opportunity that nothing has used is the first one of a packet that is larger than it.
            let used = usize::from(self.left < u64::from(load.slot_bytes));
            let (more, left) = whole(bytes, load.slot_bytes);
            (self.opportunity, self.left) = (self.opportunity + used + more, left);
        }
        if self.opportunity < packets {
            let offset = trains.offset(self.index, self.opportunity);
            return (self.began.plus(self.base + offset, self.whole_base + offset), true);
        }
        let least = match load.spec.beyond_recorded {
            true => trains.offset(self.index, packets - 1),
            false => Span::ZERO,
        };
        (arrival.plus(self.base.max(least), self.whole_base.max(least)), false)
    }
}

/// `nanos` in whole milliseconds, rounded to the nearest, halves away from 0.
fn whole_ms(nanos: i64) -> i64 {
    const MS: i64 = NANOS_PER_MS as i64;
    (nanos + nanos.signum() * MS / 2) / MS * MS
}

/// The opportunities that a packet takes beyond its first, which is unused before, and the bytes that the last one has left.
fn whole(bytes: u32, slot_bytes: u32) -> (usize, u64) {
    let (bytes, slot) = (u64::from(bytes.max(1)), u64::from(slot_bytes));
    let more = (bytes - 1) / slot;
    (more as usize, (more + 1) * slot - bytes)
}
