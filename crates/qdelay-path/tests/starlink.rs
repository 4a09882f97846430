//! The satellite link beside a model that looks at every frame.

use crate::common::{Log, drain, packet, queue};
use qdelay_core::{Random, Time};
use qdelay_path::*;
use std::collections::VecDeque;

const FRAME: u64 = 1_333_333;
const SECOND: u64 = 1_000_000_000;

struct Case {
    rate_mbps: u64,
    ramp: f64,
    ramp_ms: u64,
    period_ms: u64,
    first_ms: u64,
    idle_ms: u64,
    overhead: u64,
}

impl Case {
    fn text(&self) -> String {
        let Case { rate_mbps, ramp, ramp_ms, period_ms, first_ms, idle_ms, overhead } = self;
        format!(
            "starlink:{rate_mbps}mbit:ramp={ramp}:ramp_time={ramp_ms}ms:period={period_ms}ms:first={first_ms}ms:idle={idle_ms}ms:overhead={overhead}"
        )
    }

    /// Walks over all frames up to `end`: deliveries, and the bytes that were offered.
    fn walk(&self, arrivals: &[(u64, u64)], end: u64) -> (Vec<(u64, u64)>, u64) {
        let full = self.rate_mbps as f64 * 1e6 / 8.0 * FRAME as f64 / 1e9;
        let steps = (self.ramp_ms as f64 / 1e3 / (FRAME as f64 / 1e9)).max(1.0);
        let (mut waiting, mut next): (VecDeque<(u64, u64)>, usize) = (VecDeque::new(), 0);
        let (mut pressed, mut last, mut resets) = (0_u64, 0, 0);
        let (mut out, mut offered) = (Vec::new(), 0);
        for now in (1..).map(|frame| frame * FRAME).take_while(|now| *now <= end) {
            while let Some(&(at, bytes)) = arrivals.get(next).filter(|(at, _)| *at < now) {
                let _ = at;
                waiting.push_back((bytes + self.overhead, next as u64));
                next += 1;
            }
            let count = (now + self.period_ms * 1_000_000).saturating_sub(self.first_ms * 1_000_000)
                / (self.period_ms * 1_000_000);
            if count != resets || now - last >= self.idle_ms * 1_000_000 {
                pressed = 0;
            }
            resets = count;
            let share = (pressed as f64 / steps).min(1.0);
            let mut room = (full * ((1.0 + (self.ramp - 1.0) * share) / self.ramp) + 0.5).floor() as u64;
            offered += room;
            if waiting.is_empty() {
                continue;
            }
            last = now;
            while room > 0
                && let Some(front) = waiting.front_mut()
            {
                let sent = room.min(front.0);
                (front.0, room) = (front.0 - sent, room - sent);
                if front.0 == 0 {
                    out.push((now, front.1));
                    waiting.pop_front();
                }
            }
            if !waiting.is_empty() {
                pressed += 1;
            }
        }
        (out, offered)
    }
}

fn path(link: &str) -> Path {
    PathBuilder::new()
        .node("queue", queue("taildrop:limit=100000"))
        .node("link", NodeSpec::Link(AnyLink::build(&parse_link(link).unwrap()).unwrap()))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "link", "out"])
        .build(1)
        .unwrap()
}

#[test]
fn packets_leave_as_a_walk_over_all_frames_says() {
    for seed in 0..60 {
        let random = &mut Random::derive(seed, "starlink", "draws");
        let case = Case {
            rate_mbps: 1 + random.below(60),
            ramp: [1.0, 2.0, 3.4][random.below(3) as usize],
            ramp_ms: 1 + random.below(600),
            period_ms: 100 + random.below(2000),
            first_ms: random.below(2000),
            idle_ms: 1 + random.below(500),
            overhead: random.below(30),
        };
        let (mut at, mut arrivals) = (0, Vec::new());
        while at < 6 * SECOND {
            at += match random.below(60) {
                0 => random.below(SECOND),
                1..20 => random.below(3_000_000),
                _ => random.below(200_000),
            };
            arrivals.push((at, 40 + random.below(1460)));
        }
        let (mut path, mut log) = (path(&case.text()), Log::default());
        let (entry, link) = (path.node("queue").unwrap(), path.node("link").unwrap());
        let end = 20 * SECOND;
        let (expected, offered) = case.walk(&arrivals, end);
        for (handle, &(at, bytes)) in arrivals.iter().enumerate() {
            path.ingress(Time::from_nanos(at), entry, packet(handle as u64, bytes as u32), &mut log).unwrap();
            // A question in between changes nothing.
            path.link_usage(link, Time::from_nanos(at)).unwrap();
        }
        drain(&mut path, Time::from_nanos(end), &mut log);
        assert_eq!(log.delivered(), expected, "seed {seed}: {}", case.text());
        let usage = path.link_usage(link, Time::from_nanos(end)).unwrap();
        assert_eq!(usage.offered_bytes, offered, "seed {seed}: {}", case.text());
    }
}

/// A busy link: a third of the rate after a reset, the whole after the ramp.
#[test]
fn the_rate_grows_under_pressure_and_falls_at_a_reset() {
    let (mut path, mut log) =
        (path("starlink:120mbit:ramp=3:ramp_time=400ms:first=2s:period=15s"), Log::default());
    let entry = path.node("queue").unwrap();
    (0..40_000).for_each(|handle| path.ingress(Time::ZERO, entry, packet(handle, 1500), &mut log).unwrap());
    drain(&mut path, Time::from_nanos(3 * SECOND), &mut log);
    let mbps = |from: u64, to: u64| {
        let within = |at: &u64| (from * 1_000_000..to * 1_000_000).contains(at);
        let packets = log.delivered().iter().filter(|(at, _)| within(at)).count();
        packets as f64 * 1500.0 * 8.0 / ((to - from) as f64 * 1e3)
    };
    for (from, to, expected) in
        [(0, 40, 44.0), (0, 400, 80.0), (500, 2000, 120.0), (2000, 2040, 44.0), (2410, 3000, 120.0)]
    {
        let found = mbps(from, to);
        assert!((found / expected - 1.0).abs() < 0.03, "{from} to {to} ms: {found} for {expected}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (text, expected) in [
        ("starlink", "such as 10mbit"),
        ("starlink:1kbit", "1 byte or more"),
        ("starlink:infinite", "below infinite"),
        ("starlink:10mbit:ramp=0.5", "1 to 100"),
    ] {
        let error =
            parse_link(text).and_then(|arguments| AnyLink::build(&arguments)).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
