//! Two endpoints over a simple test link, and an oracle that checks every segment.
//!
//! The oracle (`oracle.rs`) counts sent, arrived and acknowledged data independently, in 64-bit sequence
//! numbers of its own, and checks after every event that the endpoints' counts agree. A rule per direction
//! (`link.rs`) determines the fate of each segment.

mod link;
mod oracle;

pub use link::{Fate, Rule, Transit, bottleneck, lose, wire};
use oracle::{Stream, widen};
use qdelay_core::{Ecn, Random, Rate, Span, Time};
use qdelay_traffic::control::{AnyController, Reno};
use qdelay_traffic::segment::{Segment, flag};
use qdelay_traffic::tcp::{Endpoint, LossDetection, Phase, Profile};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A span of `n` ms.
pub fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// The time `n` ms after the start of the run.
pub fn time_ms(n: u64) -> Time {
    Time::ZERO + ms(n)
}

/// Application bytes of a full segment in Linux's profile.
pub const MSS: u64 = 1448;

/// Sequence number of the first byte of segment `number`, from 0.
pub const fn seq(number: u64) -> u64 {
    1 + number * MSS
}

/// A segment on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    /// Side of the sender: 0 for the endpoint that connects, 1 for the one that listens.
    pub side: usize,
    pub segment: Segment,
    pub ecn: Ecn,
    pub seq: u64,
    pub attempt: u32,
    /// Congestion window right after the event that sent the segment.
    pub cwnd: u32,
    pub in_flight: u32,
}

impl Sent {
    pub fn is_data(&self) -> bool {
        self.segment.len > 0 || self.segment.has(flag::FIN)
    }
}

struct Arrival {
    at: Time,
    order: u64,
    side: usize,
    segment: Segment,
    ecn: Ecn,
    seq: u64,
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Arrival {}
impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Two endpoints and the link between them.
pub struct Net {
    pub ends: [Endpoint; 2],
    pub rules: [Rule; 2],
    pub now: Time,
    pub log: Vec<Sent>,
    pub keep_log: bool,
    /// Random stream of additional calls of `on_deadline`; `None` without such calls.
    pub spurious: Option<Random>,
    /// Whether segments may go beyond the right edge (a window smaller than a segment).
    pub edge_may_be_passed: bool,
    streams: [Stream; 2],
    flying: BinaryHeap<Reverse<Arrival>>,
    order: u64,
    out: Vec<Segment>,
    profile: Profile,
    /// Largest number of segments in flight that was seen, and bytes outstanding.
    pub peak_bytes: u64,
    pub wakeups: u64,
    /// Side and segment of the arrival in the last step.
    pub arrived: Option<(usize, Segment)>,
}

pub fn endpoint(profile: Profile, controller: AnyController, name: &str) -> Endpoint {
    Endpoint::new(profile, controller, Random::derive(1, name, "controller"))
}

impl Net {
    pub fn new(profile: Profile, controller: impl Into<AnyController>, forward: Rule, back: Rule) -> Net {
        let controller = controller.into();
        Net {
            ends: [endpoint(profile, controller.clone(), "a"), endpoint(profile, controller, "b")],
            rules: [forward, back],
            now: Time::ZERO,
            log: Vec::new(),
            keep_log: true,
            spurious: None,
            edge_may_be_passed: false,
            streams: [(); 2].map(|()| Stream { nxt: 1, una: 1, edge: 1, acked: 1, ..Stream::default() }),
            flying: BinaryHeap::new(),
            order: 0,
            out: Vec::new(),
            profile,
            peak_bytes: 0,
            wakeups: 0,
            arrived: None,
        }
    }

    /// A line of 10 Mbit/s with a long queue and a round trip of 40 ms; segments for which `drop` is true are lost.
    pub fn line(
        profile: Profile,
        controller: impl Into<AnyController>,
        mut drop: impl FnMut(&Transit) -> bool + 'static,
    ) -> Net {
        let mut queue = bottleneck(Rate::from_mbps(10.0), 1000, ms(20));
        let forward = Box::new(move |t: &Transit| if drop(t) { Fate::lost() } else { queue(t) });
        Net::new(profile, controller, forward, wire(ms(20)))
    }

    /// Reno over links with a delay of half of `rtt`; in the forward direction segments for which `drop` is true are lost.
    pub fn reno(profile: Profile, rtt: Span, mut drop: impl FnMut(&Transit) -> bool + 'static) -> Net {
        let one_way = rtt / 2;
        let forward = Box::new(move |t: &Transit| if drop(t) { Fate::lost() } else { Fate::after(one_way) });
        Net::new(profile, Reno, forward, wire(one_way))
    }

    pub fn connect(&mut self) {
        self.ends[0].connect(self.now, &mut self.out);
        self.launch(0);
    }

    pub fn write(&mut self, side: usize, bytes: u64) {
        self.streams[side].written += bytes;
        self.ends[side].write(self.now, bytes, &mut self.out);
        self.launch(side);
    }

    pub fn close(&mut self, side: usize) {
        self.streams[side].closed = true;
        self.ends[side].close(self.now, &mut self.out);
        self.launch(side);
    }

    /// Opens the connection, and sends `bytes` bytes and a FIN.
    pub fn download(&mut self, bytes: u64) {
        self.connect();
        self.write(0, bytes);
        self.close(0);
    }

    pub fn next_event(&self) -> Time {
        let arrival = self.flying.peek().map_or(Time::NEVER, |Reverse(a)| a.at);
        arrival.min(self.ends[0].next_deadline()).min(self.ends[1].next_deadline())
    }

    /// Runs the events before `end`, and sets the clock to `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.next_event() < end {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Runs until both endpoints are idle. Panics if that takes longer than `bound`.
    pub fn finish(&mut self, bound: Span) {
        let end = self.now + bound;
        while !self.is_finished() {
            let next = self.next_event();
            assert!(next < end, "not finished by {end:?}: {}", self.describe());
            self.step();
        }
        self.check_end();
    }

    pub fn is_finished(&self) -> bool {
        (0..2).all(|side| {
            let stream = &self.streams[side];
            let fin = u64::from(stream.closed);
            self.ends[side].sender().is_done()
                && self.ends[1 - side].receiver().next() == 1 + stream.written + fin
        })
    }

    pub fn describe(&self) -> String {
        (0..2)
            .map(|side| {
                let sender = self.ends[side].sender();
                format!(
                    "side {side}: {:?} {:?} nxt {} in flight {} window {:?} {:?} received {} due {:?}; ",
                    self.ends[side].phase(),
                    sender.recovery_state(),
                    sender.next_sequence(),
                    sender.in_flight(),
                    sender.window(),
                    sender.counts(),
                    self.ends[side].bytes_received(),
                    self.ends[side].next_deadline()
                )
            })
            .collect()
    }

    /// Runs the next event.
    pub fn step(&mut self) {
        let due = self.next_event();
        if let Some(random) = &mut self.spurious
            && due > self.now
            && due != Time::NEVER
        {
            for _ in 0..random.below(3) {
                let width = due.since(self.now).as_nanos();
                let early = self.now + Span::from_nanos(random.below(width));
                self.now = early;
                for end in &mut self.ends {
                    let before = end.next_deadline();
                    end.on_deadline(early, &mut self.out);
                    assert!(self.out.is_empty(), "a call before the deadline sent something");
                    assert_eq!(end.next_deadline(), before);
                }
            }
        }
        assert!(due >= self.now);
        self.now = due;
        self.arrived = None;
        if self.flying.peek().is_some_and(|Reverse(a)| a.at <= due) {
            let Reverse(arrival) = self.flying.pop().unwrap();
            self.arrive(arrival);
            return;
        }
        let side = usize::from(self.ends[0].next_deadline() > due);
        self.wakeups += 1;
        self.ends[side].on_deadline(due, &mut self.out);
        let next = self.ends[side].next_deadline();
        assert!(next > due, "side {side} wants to be called again at once: {}", self.describe());
        self.launch(side);
    }

    fn arrive(&mut self, arrival: Arrival) {
        let (side, segment) = (arrival.side, arrival.segment);
        self.arrived = Some((side, segment));
        if !segment.has(flag::SYN) {
            let data = &mut self.streams[1 - side];
            if self.ends[side].phase() != Phase::SynSent && self.ends[side].phase() != Phase::Listen {
                data.arrive(arrival.seq, arrival.seq + u64::from(segment.len));
                if segment.has(flag::FIN) {
                    let end = arrival.seq + u64::from(segment.len);
                    data.arrive(end, end + 1);
                    data.fin_arrived = true;
                }
                if segment.len > 0 || segment.has(flag::FIN) {
                    let end = arrival.seq + u64::from(segment.len) + u64::from(segment.has(flag::FIN));
                    data.block_before = data.last_block.replace((arrival.seq, end));
                }
            }
        }
        if segment.has(flag::ACK) {
            let own = &mut self.streams[side];
            let ack = widen(segment.ack, own.una).max(1);
            own.una = own.una.max(ack);
            while let Some(oldest) = own.attempts.first_entry() {
                if *oldest.key() >= own.una {
                    break;
                }
                oldest.remove();
            }
            own.edge = own.edge.max(ack + u64::from(segment.window));
        }
        self.ends[side].on_segment(self.now, &segment, arrival.ecn, &mut self.out);
        let next = self.ends[side].next_deadline();
        assert!(next >= self.now, "a deadline in the past: {}", self.describe());
        self.launch(side);
    }

    /// Puts the segments that `side` has sent on the link.
    fn launch(&mut self, side: usize) {
        let out = std::mem::take(&mut self.out);
        for segment in &out {
            self.check_sent(side, segment);
            if segment.has(flag::ACK) && !segment.has(flag::SYN) {
                let other = &mut self.streams[1 - side];
                other.acked = other.acked.max(widen(segment.ack, other.acked));
            }
            let seq = widen(segment.seq, self.streams[side].nxt);
            let stream = &mut self.streams[side];
            let carries = segment.len > 0 || segment.has(flag::FIN);
            let mut transit = Transit { now: self.now, segment: *segment, seq, index: 0, attempt: 0 };
            if carries && !segment.has(flag::SYN) {
                let attempts = stream.attempts.entry(seq).or_default();
                transit.attempt = *attempts;
                transit.index = stream.data_segments;
                *attempts += 1;
                stream.data_segments += 1;
                stream.again += u64::from(seq < stream.nxt);
                stream.nxt = stream.nxt.max(seq + u64::from(segment.len) + u64::from(segment.has(flag::FIN)));
                self.peak_bytes = self.peak_bytes.max(stream.nxt - stream.una);
            }
            let mut ecn = self.ends[side].ecn(segment);
            let fate = (self.rules[side])(&transit);
            if self.keep_log {
                let sender = self.ends[side].sender();
                self.log.push(Sent {
                    at: self.now,
                    side,
                    segment: *segment,
                    ecn,
                    seq,
                    attempt: transit.attempt,
                    cwnd: sender.window().cwnd,
                    in_flight: sender.in_flight(),
                });
            }
            if fate.mark && ecn.is_capable() {
                ecn = Ecn::Ce;
            }
            for delay in fate.copies.into_iter().flatten() {
                self.order += 1;
                self.flying.push(Reverse(Arrival {
                    at: self.now + delay,
                    order: self.order,
                    side: 1 - side,
                    segment: *segment,
                    ecn,
                    seq,
                }));
            }
        }
        self.out = out;
        self.out.clear();
        self.check_state();
    }

    /// Data segments of `side` in sending order.
    pub fn data(&self, side: usize) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log.iter().filter(move |sent| sent.side == side && sent.is_data())
    }
    /// Retransmissions of `side`.
    pub fn again(&self, side: usize) -> Vec<Sent> {
        self.data(side).filter(|sent| sent.attempt > 0).copied().collect()
    }
    /// Segments of `side` without data.
    pub fn pure(&self, side: usize) -> impl DoubleEndedIterator<Item = &Sent> {
        self.log.iter().filter(move |s| s.side == side && !s.is_data() && !s.segment.has(flag::SYN))
    }
    /// Bytes written by `side` and delivered to the peer's application.
    pub fn delivered(&self, side: usize) -> u64 {
        self.ends[1 - side].bytes_received()
    }
}

/// Linux's profile with exact timers and a receive window of at most 200 kB, so that no queue overflows.
pub fn exact() -> Profile {
    Profile { tick: Span::ZERO, receive_buffer: 400_000, receive_buffer_max: 400_000, ..Profile::linux() }
}

/// All combinations of profile and loss detection.
pub fn profiles() -> [Profile; 4] {
    let linux = Profile::linux();
    [
        linux,
        Profile::ns3(),
        Profile { loss_detection: LossDetection::DuplicateAcks, ..linux },
        Profile { undo: true, loss_detection: LossDetection::Rack, ..Profile::ns3() },
    ]
}

/// [`exact`] with the loss detection `loss_detection`.
pub fn found_by(loss_detection: LossDetection) -> Profile {
    Profile { loss_detection, ..exact() }
}

pub const BOTH: [LossDetection; 2] = [LossDetection::Rack, LossDetection::DuplicateAcks];
