//! A bearer for the tests of pacers: an upper queue, the pacer, an RLC buffer, and a MAC that serves it every TTI.

use qdelay_core::pacer::{AnyPacer, Eligible, Pacer, PacerSetting, Served, Signal, TddSlot};
use qdelay_core::{Span, Time};
use std::collections::VecDeque;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;

pub fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

pub fn build(text: &str, tti: u64) -> AnyPacer {
    build_in(text, tti, false)
}

/// The pacer `text` in a cell with a TTI of `tti` ns, with time division duplex if `has_tdd`.
pub fn build_in(text: &str, tti: u64, has_tdd: bool) -> AnyPacer {
    let tdd_opportunity = has_tdd.then(|| Span::from_nanos(tti));
    let setting = PacerSetting { tti: Span::from_nanos(tti), tdd_opportunity, ..PacerSetting::default() };
    AnyPacer::parse(text, &setting).unwrap_or_else(|e| panic!("{e}"))
}

/// Slots of a TDD pattern: capacity of a whole carrier in each.
#[derive(Clone, Debug)]
pub struct Pattern(pub Vec<u32>);

impl Pattern {
    /// Slot number `number`, each of which lasts `tti` ns.
    pub fn slot(&self, number: u64, tti: u64) -> TddSlot {
        let carries = |number: u64| self.0[(number % self.0.len() as u64) as usize];
        let next = (number + 1..).find(|&next| carries(next) > 0).unwrap();
        TddSlot {
            carries: carries(number),
            next_carries: carries(next),
            next: Span::from_nanos((next - number) * tti),
        }
    }
    /// Capacity of slot `number`, if a whole slot has `capacity`.
    pub fn capacity(&self, number: u64, capacity: u64) -> u64 {
        let whole = u64::from(self.0.iter().copied().max().unwrap_or(1));
        capacity * u64::from(self.slot(number, 1).carries) / whole
    }
}

/// An RLC buffer that segments.
#[derive(Default)]
pub struct Rlc {
    /// Bytes left of each packet, and its arrival time in ns.
    pub packets: VecDeque<(u64, u64)>,
}

impl Rlc {
    pub fn push(&mut self, now: u64, bytes: u64) {
        self.packets.push_back((bytes, now));
    }
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| packet.0).sum()
    }
    /// Serves a TTI that can carry `capacity` bytes.
    pub fn serve(&mut self, now: u64, capacity: u64) -> Served {
        let mut served = Served { capacity_bytes: capacity, ..Served::default() };
        let mut room = capacity;
        while room > 0
            && let Some((bytes, came)) = self.packets.front_mut()
        {
            let taken = room.min(*bytes);
            *bytes -= taken;
            room -= taken;
            served.sent_bytes += taken;
            if *bytes == 0 {
                served.left_packets += 1;
                served.left_sojourn += Span::from_nanos(now - *came);
                self.packets.pop_front();
            }
        }
        served.remaining_bytes = self.bytes();
        served.remaining_packets = self.packets.len() as u64;
        served
    }
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Bytes sent over bytes that could have been sent.
    pub utilization: f64,
    /// Mean bytes in the RLC buffer right before it is served.
    pub mean_before: f64,
    /// Mean sojourn of a packet in the RLC buffer, in TTIs.
    pub sojourn: f64,
}

/// Runs a full upper queue of packets of `size` above a channel of `capacity(tti)` bytes, for `ttis`; a
/// report arrives `delay` after its TTI. The pacer is asked at the time it named, and after each signal, as a
/// gate does.
pub fn saturate(
    text: &str,
    tti: u64,
    ttis: u64,
    delay: u64,
    size: u64,
    capacity: impl Fn(u64) -> u64,
) -> Outcome {
    let mut pacer = build(text, tti);
    let mut rlc = Rlc::default();
    let mut reports: VecDeque<(u64, Served)> = VecDeque::new();
    let (mut ask, mut tick) = (0, 1);
    let (mut offered, mut sent, mut before, mut left, mut sojourn) = (0, 0, 0, 0, Span::ZERO);
    while tick <= ttis {
        let report = reports.front().map_or(u64::MAX, |report| report.0);
        let now = (tick * tti).min(report).min(ask);
        if now == tick * tti {
            if !rlc.packets.is_empty() {
                before += rlc.bytes();
                let served = rlc.serve(now, capacity(tick));
                sent += served.sent_bytes;
                left += u64::from(served.left_packets);
                sojourn += served.left_sojourn;
                reports.push_back((now + delay, served));
            }
            offered += capacity(tick);
            tick += 1;
        }
        while let Some(&(time, served)) = reports.front()
            && time <= now
        {
            pacer.on_signal(at(now), Signal::Served(served));
            reports.pop_front();
        }
        ask = loop {
            match pacer.next_eligible(at(now), size) {
                Eligible::Now => {
                    pacer.forwarded(at(now), size);
                    rlc.push(now, size);
                }
                Eligible::At(time) => {
                    assert!(time.as_nanos() > now, "{text} asks at {now} to be asked at {time:?}");
                    break time.as_nanos();
                }
                Eligible::OnSignal => break u64::MAX,
            }
            if rlc.packets.len() > 100_000 {
                break u64::MAX;
            }
        };
    }
    Outcome {
        utilization: sent as f64 / offered as f64,
        mean_before: before as f64 / ttis as f64,
        sojourn: sojourn.as_nanos() as f64 / (left * tti) as f64,
    }
}
