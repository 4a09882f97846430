//! Each link against a slow model that shares no code with it.

use crate::common::{Log, Tell, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_path::*;
use qdelay_trace::{Schedule, ScheduleBuilder};
use std::collections::VecDeque;

fn single(discipline: &str, link: impl Into<AnyLink>) -> Path {
    PathBuilder::new()
        .node("queue", queue(discipline))
        .node("link", NodeSpec::link(link))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "link", "out"])
        .build(1)
        .unwrap()
}

/// Puts packets (time in ns, bytes) through a path and returns when each left: (time, handle).
fn run(path: &mut Path, arrivals: &[(u64, u32)], end: Time) -> Vec<(u64, u64)> {
    let (entry, mut log) = (path.node("queue").unwrap(), Log::default());
    for (handle, &(time, bytes)) in arrivals.iter().enumerate() {
        path.ingress(Time::from_nanos(time), entry, packet(handle as u64, bytes), &mut log).unwrap();
    }
    drain(path, end, &mut log);
    log.delivered()
}

fn schedule(times: &[u32]) -> Schedule {
    let mut builder = ScheduleBuilder::default();
    for &ms in times {
        builder.push(ms, 1).unwrap();
    }
    builder.finish().unwrap()
}

/// mahimahi's link queue, millisecond by millisecond, in whole packets with a tail-drop limit.
struct LinkQueue {
    times: Vec<u64>,
    repeat: bool,
    next: usize,
    base: u64,
    queue: VecDeque<(u64, i64)>,
    in_transit: Option<(u64, i64)>,
    limit: usize,
    out: Vec<(u64, u64)>,
    burnt: u64,
    used: u64,
}

impl LinkQueue {
    fn up_to(&mut self, now_ms: u64) {
        while self.next < self.times.len() && self.base + self.times[self.next] <= now_ms {
            let this = self.base + self.times[self.next];
            self.next += 1;
            if self.next == self.times.len() && self.repeat {
                self.next = 0;
                self.base += self.times[self.times.len() - 1];
            }
            self.burnt += 1;
            let mut bytes_left = 1504;
            while bytes_left > 0 {
                if self.in_transit.is_none() {
                    self.in_transit = self.queue.pop_front();
                }
                let Some((handle, bytes)) = self.in_transit else { break };
                let rest = bytes - bytes_left;
                self.used += bytes.min(bytes_left) as u64;
                bytes_left = 0;
                if rest <= 0 {
                    bytes_left = -rest;
                    self.out.push((this * 1_000_000, handle));
                    self.in_transit = None;
                } else {
                    self.in_transit = Some((handle, rest));
                }
            }
        }
    }
    fn arrive(&mut self, now_ns: u64, handle: u64, bytes: u32) {
        self.up_to(now_ns / 1_000_000);
        if self.queue.len() < self.limit {
            self.queue.push_back((handle, i64::from(bytes) + 4));
        }
    }
}

fn arrivals(gap_ns: u64) -> impl Strategy<Value = Vec<(u64, u32)>> {
    // Whole milliseconds are as likely as times between, and bursts as likely as gaps.
    let gap = prop_oneof![
        Just(0),
        Just(1_000_000),
        0..gap_ns,
        (0..gap_ns / 1_000_000 + 1).prop_map(|n| n * 1_000_000)
    ];
    let bytes = prop_oneof![Just(1500_u32), Just(40), 1_u32..1501];
    prop::collection::vec((gap, bytes), 0..120).prop_map(|items| {
        let mut now = 0;
        let later = |(gap, bytes): (u64, u32)| {
            now += gap;
            (now, bytes)
        };
        items.into_iter().map(later).collect()
    })
}

proptest! {
    #[test]
    fn trace_link_is_mahimahi(
        gaps in prop::collection::vec(0_u32..6, 1..40),
        first in 0_u32..4,
        arrivals in arrivals(8_000_000),
        repeat: bool,
        limit in 1_usize..60,
    ) {
        let mut times: Vec<u32> = gaps.iter().scan(first, |at, gap| { *at += gap; Some(*at) }).collect();
        if times.last() == Some(&0) { times.push(1); }
        let mut oracle = LinkQueue {
            times: times.iter().map(|&t| u64::from(t)).collect(), repeat, next: 0, base: 0, queue: VecDeque::new(),
            in_transit: None, limit, out: Vec::new(), burnt: 0, used: 0,
        };
        for (handle, &(time, bytes)) in arrivals.iter().enumerate() {
            oracle.arrive(time, handle as u64, bytes);
        }
        oracle.up_to(20_000);
        let mut path = single(&format!("taildrop:limit={limit}"), TraceLink::new(&schedule(&times), 4, repeat));
        prop_assert_eq!(run(&mut path, &arrivals, ms(20_000)), oracle.out);
        let usage = path.link_usage(path.node("link").unwrap(), ms(20_000)).unwrap();
        prop_assert_eq!(usage, LinkUsage { sent_bytes: oracle.used, offered_bytes: oracle.burnt * 1504 });
    }

    /// Tokens in whole bits, one nanosecond at a time being too slow: at each event the tokens are what the rate brought since
    /// the last, capped; the next packet goes when they are not negative.
    #[test]
    fn shaper_is_a_token_bucket(
        mbps in 1_i128..40,
        overhead in 0_u32..30,
        burst in prop_oneof![Just(1540_u64), 0_u64..20_000],
        arrivals in arrivals(3_000_000),
    ) {
        let rate = mbps * 1_000_000;
        // In units of 1e-9 bit.
        let cap = i128::from(burst) * 8_000_000_000;
        let (mut tokens, mut checked, mut expected) = (cap, 0_i128, Vec::new());
        for (handle, &(arrival, bytes)) in arrivals.iter().enumerate() {
            let mut now = checked.max(i128::from(arrival));
            tokens = (tokens + (now - checked) * rate).min(cap);
            if tokens < 0 {
                // Rounded down to a nanosecond, as the shaper's clock is.
                let wait = -tokens / rate;
                now += wait;
                tokens += wait * rate;
            }
            checked = now;
            tokens -= i128::from(bytes + overhead) * 8_000_000_000;
            expected.push((now as u64, handle as u64));
        }
        let link = Shaper::new(Rate::from_bps(rate as u64), overhead, burst);
        let got = run(&mut single("taildrop:limit=1000", link), &arrivals, ms(20_000));
        prop_assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert!(got.1 == expected.1 && got.0.abs_diff(expected.0) <= 1, "{:?} {:?}", got, expected);
        }
    }

    /// A packet starts when it is there and the one before is through, and takes its bits' time, in exact fractions.
    #[test]
    fn line_is_a_line(bps in 100_000_u64..2_000_000_000, overhead in 0_u32..30, arrivals in arrivals(3_000_000)) {
        let rate = u128::from(bps);
        let mut through = 0_u128; // in units of 1/rate ns
        let mut expected = Vec::new();
        for (handle, &(arrival, bytes)) in arrivals.iter().enumerate() {
            let start = through.max(u128::from(arrival) * rate);
            through = start + u128::from(bytes + overhead) * 8_000_000_000;
            expected.push(((through / rate) as u64, handle as u64));
        }
        let got = run(&mut single("taildrop:limit=1000", Line::new(Rate::from_bps(bps), overhead)), &arrivals, ms(2_000_000));
        prop_assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            // One that starts within the last packet's last nanosecond may lose that fraction.
            prop_assert!(got.1 == expected.1 && got.0.abs_diff(expected.0) <= 1, "{:?} {:?}", got, expected);
        }
    }
}

/// Poisson arrivals of packets of one size at a line: the mean wait is rho / (2 (1 - rho)) of a slot (Pollaczek-Khinchine).
#[test]
fn mean_wait_of_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let rate = Rate::from_bps(100_000_000);
        let slot = rate.time_for(1250).as_nanos() as f64;
        let mut path = single("taildrop:limit=100000", Line::new(rate, 0));
        let (entry, mut random, mut now) =
            (path.node("queue").unwrap(), Random::derive(7, "source", "gaps"), 0.0);
        let mut wait = Waits::default();
        for handle in 0..400_000 {
            now += random.exponential() * slot / load;
            path.ingress(Time::from_nanos(now as u64), entry, packet(handle, 1250), &mut Tell(&mut wait))
                .unwrap();
        }
        let (mean, expected) = (wait.total / wait.count / slot, load / (2.0 * (1.0 - load)));
        assert!((mean / expected - 1.0).abs() < 0.03, "load {load}: {mean} slots, expected {expected}");
    }
}

#[derive(Default)]
struct Waits {
    total: f64,
    count: f64,
}
impl Observer for Waits {
    fn dequeued(&mut self, now: Time, _: NodeId, packet: &qdelay_core::Packet) {
        self.total += now.since(packet.arrival).as_nanos() as f64;
        self.count += 1.0;
    }
}

/// A minute without arrivals, or a thousand seconds, makes no events.
#[test]
fn idle_links_have_no_events() {
    let dense: Vec<u32> = (1..=1000).collect();
    for link in [
        AnyLink::from(TraceLink::new(&schedule(&dense), 4, true)),
        Line::new(Rate::from_bps(10_000_000), 0).into(),
        Shaper::new(Rate::from_bps(10_000_000), 0, 1540).into(),
    ] {
        let mut path = single("taildrop", link);
        let entry = path.node("queue").unwrap();
        let (mut polls, mut out) = (0, Vec::<Delivered>::new());
        for second in [0, 60, 1060, 1_000_000] {
            path.ingress(ms(second * 1000), entry, packet(second, 1500), &mut Tell(&mut out)).unwrap();
            while path.next_deadline() < Time::NEVER {
                path.poll(path.next_deadline(), &mut Tell(&mut out)).unwrap();
                polls += 1;
            }
        }
        assert_eq!(out.len(), 4);
        assert!(polls <= 8, "{polls} polls");
        assert!(out.iter().all(|d| d.time.since(ms(d.packet.handle * 1000)) <= Span::from_millis(2)));
    }
}

/// An arrival from inside the path at the very time of an opportunity comes too late for it, however the nodes are declared,
/// even where the opportunity has bytes left; so does what another trace link lets go at that time.
#[test]
fn the_opportunity_comes_first() {
    for forwards in [true, false] {
        let mut nodes = vec![
            ("delay", NodeSpec::delay(Span::from_millis(5))),
            ("queue", queue("taildrop")),
            ("first", NodeSpec::link(TraceLink::new(&schedule(&[1, 1]), 4, true))),
            ("second queue", queue("taildrop")),
            ("second", NodeSpec::link(TraceLink::new(&schedule(&[1]), 4, true))),
            ("out", NodeSpec::Exit),
        ];
        if !forwards {
            nodes.reverse();
        }
        let mut path = nodes
            .into_iter()
            .fold(PathBuilder::new(), |builder, (name, spec)| builder.node(name, spec))
            .chain(&["delay", "queue", "first", "second queue", "second", "out"])
            .build(1)
            .unwrap();
        let [delay, queue, second] = ["delay", "queue", "second queue"].map(|name| path.node(name).unwrap());
        let mut log = Log::default();
        // Through the delay: there at 6 ms, when both links have a small packet to send and bytes to spare.
        path.ingress(ms(1), delay, packet(0, 100), &mut log).unwrap();
        path.ingress(Time::from_nanos(5_500_000), queue, packet(1, 100), &mut log).unwrap();
        path.ingress(Time::from_nanos(5_500_000), second, packet(2, 100), &mut log).unwrap();
        drain(&mut path, ms(100), &mut log);
        assert_eq!(log.delivered(), [(6_000_000, 2), (7_000_000, 1), (8_000_000, 0)]);
    }
}
