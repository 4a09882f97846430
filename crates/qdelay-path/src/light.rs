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
//! * Times are exact. The program's arrivals, base delays and delays by size are whole milliseconds.
//! * The recording begins with the run; the program's begins with the first packet.
//! * A packet larger than an opportunity takes as many as it needs; the program ends at one above 1400 bytes.
//! * The program takes the longer of the two times beyond the end of a train; `beyond=base` is not in it.

use crate::NodeId;
use crate::schedule::Schedule;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use qdelay_core::{Packet, Span, Time};
use qdelay_trace::{SizeDelays, Trains};

/// What replays the light load.
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

/// What cannot be done with a link that replays two loads, in errors.
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
    /// The end of the last packet by its train, and with its delay by size and in order.
    trained: Time,
    last: Time,
}

/// A train on its way.
#[derive(Clone, Copy, Debug)]
struct Train {
    index: usize,
    base: Span,
    began: Time,
    /// The opportunity of the last packet, and the bytes that it has left.
    opportunity: usize,
    left: u64,
}

impl Light {
    pub(crate) fn new(load: LightLoad, next: NodeId) -> Light {
        let (schedule, in_train) = (Schedule::default(), VecDeque::new());
        Light { next, schedule, in_train, load, train: None, trained: Time::ZERO, last: Time::ZERO }
    }

    /// Takes a packet in; returns its end if it is the first that waits.
    pub(crate) fn enter(&mut self, now: Time, packet: &Packet) -> Option<Time> {
        let spec = &*self.load.spec;
        let bytes = packet.bytes.saturating_add(self.load.overhead_bytes);
        let (leave, mut in_train) = match &mut self.train {
            Some(train) if now + train.base <= self.trained + spec.pause => {
                train.follow(now, bytes, &self.load)
            }
            _ => {
                let train = Train::begin(now, bytes, &self.load);
                self.train = Some(train);
                (now + train.base, true)
            }
        };
        self.trained = leave;
        let by_size = spec.sizes.as_ref().map_or(0, |sizes| sizes.at(bytes));
        let sized = Time::from_nanos(leave.as_nanos().saturating_add_signed(by_size));
        let mut leave = if sized >= self.last { sized } else { leave };
        if leave < self.last {
            (leave, in_train) = (self.last, false);
        }
        let leave = leave.max(now);
        self.last = leave;
        let is_first = self.schedule.len() == 0;
        self.schedule.push(leave, packet);
        self.in_train.push_back(in_train);
        is_first.then_some(leave)
    }

    /// Takes out the packet that goes on, and whether it belongs to a train.
    pub(crate) fn leave(&mut self) -> Option<(Packet, bool)> {
        Some((self.schedule.leave()?, self.in_train.pop_front()?))
    }
}

impl Train {
    /// The train of a first packet of `bytes`.
    fn begin(now: Time, bytes: u32, load: &LightLoad) -> Train {
        let trains = &load.spec.trains;
        let place = load.place + now.since(Time::ZERO);
        let index = trains.find(place);
        let (opportunity, left) = whole(bytes, load.slot_bytes);
        Train { index, base: trains.base(index, place), began: now, opportunity, left }
    }

    /// The end of a further packet, and whether it belongs to the train.
    fn follow(&mut self, now: Time, bytes: u32, load: &LightLoad) -> (Time, bool) {
        let trains = &load.spec.trains;
        let (packets, passed) = (trains.packets(self.index), now.since(self.began));
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
            return (self.began + self.base + trains.offset(self.index, self.opportunity), true);
        }
        let length = trains.offset(self.index, packets - 1);
        (now + if load.spec.beyond_recorded { self.base.max(length) } else { self.base }, false)
    }
}

/// The opportunities that a packet takes beyond its first, which is unused before, and the bytes that the last one has left.
fn whole(bytes: u32, slot_bytes: u32) -> (usize, u64) {
    let (bytes, slot) = (u64::from(bytes.max(1)), u64::from(slot_bytes));
    let more = (bytes - 1) / slot;
    (more as usize, (more + 1) * slot - bytes)
}
