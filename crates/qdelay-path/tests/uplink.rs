//! The uplink of a UE against a model that looks at every slot.

use crate::common::{Log, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::{Random, Span, Time};
use qdelay_path::*;
use std::collections::VecDeque;

fn path(text: &str, discipline: &str) -> Path {
    PathBuilder::new()
        .node("queue", queue(discipline))
        .node("link", NodeSpec::Link(AnyLink::build(&parse_link(text).unwrap()).unwrap()))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "link", "out"])
        .build(1)
        .unwrap()
}

fn run(path: &mut Path, arrivals: &[(u64, u32)], end: Time) -> Vec<(u64, u64)> {
    let (entry, mut log) = (path.node("queue").unwrap(), Log::default());
    for (handle, &(time, bytes)) in arrivals.iter().enumerate() {
        path.ingress(Time::from_nanos(time), entry, packet(handle as u64, bytes), &mut log).unwrap();
    }
    drain(path, end, &mut log);
    log.delivered()
}

/// A UE and a base station, slot by slot: what each of them knows and when. Times in nanoseconds.
struct Slow {
    request: u64,
    grant: u64,
    slot: u64,
    slot_bytes: u64,
    overhead: u64,
    /// Packets that wait: what is left of each on the link, and its handle.
    buffer: VecDeque<(u64, u64)>,
    /// A request that was heard allows one slot, from this time on.
    requested: Option<u64>,
    /// Reports that have not been heard yet: when they will be, and how much the UE had sent and had waiting altogether.
    reports: Vec<(u64, u64)>,
    told: u64,
    sent: u64,
    out: Vec<(u64, u64)>,
}

impl Slow {
    fn slot(&mut self, now: u64) {
        for &(heard, demand) in &self.reports {
            if heard <= now {
                self.told = demand;
            }
        }
        self.reports.retain(|report| report.0 > now);
        let by_request = self.requested.is_some_and(|from| from <= now);
        if !by_request && self.told <= self.sent {
            return;
        }
        self.requested = self.requested.filter(|_| !by_request);
        let mut room = self.slot_bytes;
        while room > 0
            && let Some((left, handle)) = self.buffer.front_mut()
        {
            let part = room.min(*left);
            (room, *left, self.sent) = (room - part, *left - part, self.sent + part);
            if *left == 0 {
                self.out.push((now, *handle));
                self.buffer.pop_front();
            }
        }
        if room > 0 {
            self.told = self.told.min(self.sent);
        }
        let waiting: u64 = self.buffer.iter().map(|packet| packet.0).sum();
        self.reports.push((now + self.grant, self.sent + waiting));
    }
    fn arrive(&mut self, now: u64, handle: u64, bytes: u32) {
        self.buffer.push_back((u64::from(bytes) + self.overhead, handle));
        let more_to_come = self.told > self.sent || self.reports.iter().any(|report| report.1 > self.sent);
        if self.requested.is_none() && !more_to_come {
            let occasion = (now / self.request + 1) * self.request;
            self.requested = Some(occasion + self.grant);
        }
    }
}

proptest! {
    #[test]
    fn uplink_is_requests_and_reports(
        request_us in prop_oneof![Just(10_000_u64), Just(5000), 125_u64..20_000],
        grant_us in prop_oneof![Just(8000_u64), Just(0), 0_u64..12_000],
        slot_us in prop_oneof![Just(1000_u64), Just(125), 63_u64..3000],
        slot_bytes in prop_oneof![Just(1000_u64), 1_u64..4000],
        overhead in 0_u64..30,
        gaps in prop::collection::vec(
            (prop_oneof![Just(0_u64), Just(1_000_000), 0_u64..3_000_000, 0_u64..40_000_000], 40_u32..1501), 1..60),
    ) {
        let mut slow = Slow {
            request: request_us * 1000, grant: grant_us * 1000, slot: slot_us * 1000, slot_bytes, overhead,
            buffer: VecDeque::new(), requested: None, reports: Vec::new(), told: 0, sent: 0, out: Vec::new(),
        };
        let (mut arrivals, mut now, mut next_slot) = (Vec::new(), 0, 0);
        for (handle, &(gap, bytes)) in gaps.iter().enumerate() {
            now += gap;
            arrivals.push((now, bytes));
            while next_slot <= now {
                slow.slot(next_slot);
                next_slot += slow.slot;
            }
            slow.arrive(now, handle as u64, bytes);
        }
        while !slow.buffer.is_empty() {
            slow.slot(next_slot);
            next_slot += slow.slot;
        }
        let text = format!(
            "uplink:sr={request_us}us:grant={grant_us}us:slot={slot_us}us:bytes={slot_bytes}:overhead={overhead}"
        );
        let mut path = path(&text, "taildrop:limit=1000");
        prop_assert_eq!(run(&mut path, &arrivals, Time::NEVER), slow.out);
        prop_assert_eq!(path.next_deadline(), Time::NEVER);
        let usage = path.link_usage(path.node("link").unwrap(), Time::from_nanos(next_slot)).unwrap();
        prop_assert_eq!(usage.sent_bytes, slow.sent);
    }
}

/// What the module says of its defaults: 8 to 18 ms for an idle packet, uniformly; with 12 ms elsewhere the round trip is 20
/// to 30 ms.
#[test]
fn an_idle_packet_waits_for_request_and_grant() {
    let mut path = path("uplink", "taildrop");
    let mut random = Random::derive(3, "source", "gaps");
    let (mut now, mut arrivals) = (0, Vec::new());
    for _ in 0..20_000 {
        now += 30_000_000 + random.below(40_000_000);
        arrivals.push((now, 60));
    }
    let out = run(&mut path, &arrivals, Time::NEVER);
    let waits: Vec<f64> =
        out.iter().map(|(time, handle)| (time - arrivals[*handle as usize].0) as f64 / 1e6).collect();
    assert!(waits.iter().all(|wait| *wait > 8.0 && *wait <= 18.0));
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - 13.0).abs() < 0.06, "{mean}");
    let early = waits.iter().filter(|wait| **wait < 10.5).count() as f64 / waits.len() as f64;
    assert!((early - 0.25).abs() < 0.01, "{early}");
}

/// A bulk transfer asks once, waits for its first report to be answered, and then has every slot.
#[test]
fn a_busy_bearer_goes_on_by_its_reports() {
    let mut path = path("uplink", "taildrop:limit=1000");
    let arrivals: Vec<(u64, u32)> = (0..100).map(|_| (100, 1000)).collect();
    let out = run(&mut path, &arrivals, Time::NEVER);
    let times: Vec<u64> = out.iter().map(|(time, _)| time / 1_000_000).collect();
    // Requested at 10, granted at 18; reported then, granted from 26 on.
    let expected: Vec<u64> = std::iter::once(18).chain(26..125).collect();
    assert_eq!(times, expected);
    let usage = path.link_usage(path.node("link").unwrap(), ms(200)).unwrap();
    assert_eq!(usage, LinkUsage { sent_bytes: 100_000, offered_bytes: 200_000 });
}

/// What a discipline drops was reported and is granted for nothing: slots go empty, and nothing else happens.
#[test]
fn grants_for_what_was_dropped_are_wasted() {
    // Half of what waits is too old by the time the grants come.
    let mut path = path("uplink:bytes=500", "codel:target=1ms:interval=10ms");
    let arrivals: Vec<(u64, u32)> = (0..400).map(|n| (n * 500_000, 500)).collect();
    let out = run(&mut path, &arrivals, Time::NEVER);
    let dropped = path.counters(path.node("queue").unwrap()).unwrap().dropped_total().packets;
    assert!(dropped > 0 && out.len() as u64 + dropped == 400, "{dropped}");
    assert_eq!(path.next_deadline(), Time::NEVER);
}

/// Another link in the place of one that has half a packet through, and the other way round.
#[test]
fn an_uplink_can_be_replaced() {
    let mut log = Log::default();
    let mut path = path("uplink:bytes=400", "taildrop");
    let [entry, node] = ["queue", "link"].map(|name| path.node(name).unwrap());
    for handle in 0..2 {
        path.ingress(Time::from_nanos(1), entry, packet(handle, 1000), &mut log).unwrap();
    }
    path.poll(ms(20), &mut log).unwrap();
    let line = Line::new(qdelay_core::Rate::from_bps(8_000_000), 0);
    path.replace_link(ms(20), node, line.into(), &mut log).unwrap();
    path.audit().unwrap();
    path.poll(ms(40), &mut log).unwrap();
    // 400 bytes at 18, 26 and what is left at 27; then the line takes the second one.
    assert_eq!(log.delivered(), [(27_000_000, 0), (28_000_000, 1)]);
    let uplink = AnyLink::build(&parse_link("uplink").unwrap()).unwrap();
    path.replace_link(ms(41), node, uplink, &mut log).unwrap();
    path.ingress(ms(41) + Span::from_micros(1), entry, packet(2, 100), &mut log).unwrap();
    drain(&mut path, ms(100), &mut log);
    assert_eq!(log.delivered().last(), Some(&(58_000_000, 2)));
}
