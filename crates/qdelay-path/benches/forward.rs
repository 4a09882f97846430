//! Packets per second through queue, link, delay and exit: `cargo bench -p qdelay-path`. An argument scales the packets.
//!
//! `busy` keeps a backlog of 100 packets; `idle` lets the link run dry between packets.
#![allow(clippy::disallowed_methods, reason = "measures its own cost")]

use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_path::{AnyLink, Count, Line, NodeId, NodeSpec, Observer, Path, PathBuilder, Shaper, TraceLink};
use qdelay_trace::ScheduleBuilder;
use std::hint::black_box;
use std::time::Instant;

/// Counts what comes out, as the least a host does.
#[derive(Default)]
struct Out {
    delivered: u64,
    sojourn: u64,
}

impl Observer for Out {
    #[inline]
    fn departed(&mut self, now: Time, _: NodeId, _: NodeId, packet: &Packet) {
        self.sojourn += now.since(packet.arrival).as_nanos();
    }
    #[inline]
    fn delivered(&mut self, _: Time, _: NodeId, _: &Packet) {
        self.delivered += 1;
    }
}

fn path(qdisc: &str, link: AnyLink) -> Path {
    PathBuilder::new()
        .node("bottleneck", NodeSpec::Queue(AnyQdisc::parse(qdisc).expect("a discipline")))
        .node("link", NodeSpec::Link(link))
        .node("delay", NodeSpec::delay(Span::from_millis(20)))
        .node("out", NodeSpec::Exit)
        .chain(&["bottleneck", "link", "delay", "out"])
        .build(1)
        .expect("a path")
}

/// One packet of 1500 bytes every `gap`, polled at each deadline as a simulator does, `ahead` packets at the start.
fn forward(name: &str, mut path: Path, ahead: u64, gap: Span, packets: u64) {
    let entry = path.node("bottleneck").expect("an entry");
    let (mut out, mut now, mut polls) = (Out::default(), Time::ZERO, 0_u64);
    let start = Instant::now();
    for handle in 0..packets {
        if handle >= ahead {
            now += gap;
        }
        while path.next_deadline() <= now {
            polls += 1;
            path.poll(path.next_deadline(), &mut out).expect("time in order");
        }
        let packet = Packet { handle, bytes: 1500, ..Packet::default() };
        path.ingress(now, entry, black_box(packet), &mut out).expect("time in order");
    }
    let seconds = start.elapsed().as_secs_f64();
    black_box(out.sojourn);
    path.audit().expect("conservation");
    let dropped: Count = path.counters(entry).expect("a node").dropped_total();
    println!(
        "{name:<24} {:>6.1} ns/packet {:>6.2} Mpackets/s  ({} out, {} dropped, {polls} polls)",
        seconds * 1e9 / packets as f64,
        packets as f64 / seconds / 1e6,
        out.delivered,
        dropped.packets,
    );
}

fn main() {
    let packets = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(5_000_000);
    let rate = Rate::from_bps(100_000_000);
    let slot = rate.time_for(1500);
    let mut trace = ScheduleBuilder::default();
    for ms in 1..=1000 {
        trace.push(ms, 8).expect("times in order");
    }
    let trace = trace.finish().expect("a schedule");
    for (load, ahead, gap) in [("busy", 100, slot), ("idle", 0, slot * 2)] {
        for (name, link) in [
            ("line", AnyLink::from(Line::new(rate, 0))),
            ("shaper", Shaper::new(rate, 0, 1540).into()),
            ("trace", TraceLink::new(&trace, 4, true).into()),
        ] {
            forward(&format!("{load} taildrop {name}"), path("taildrop", link), ahead, gap, packets);
        }
    }
    forward("busy codel line", path("codel", Line::new(rate, 0).into()), 30, slot, packets);
}
