//! What a packet costs on its way through queues, gates and a cell: `cargo bench -p qdelay-path --bench hierarchy`. An argument
//! is the simulated seconds.
//!
//! `gate` is the bottleneck of `forward` with a gate and another queue before it. `cell` is 100 UEs of 4 bearers, each with a
//! queue, a pacer and another queue, on 100 PRBs: a bulk flow that always has something waiting and a call of 50 packets a
//! second for each UE.
#![allow(clippy::disallowed_methods, reason = "measures its own cost")]

use qdelay_core::pacer::PacerSetting;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_path::{AnyPacer, CellSetting, Key, Line, NodeId, NodeSpec, Observer, Path, PathBuilder, Rules};
use qdelay_ran::UeSetting;
use qdelay_ran::radio::{Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use std::hint::black_box;
use std::time::Instant;

const UES: u32 = 100;
const BEARERS: u32 = 4;

/// Counts what comes out, and remembers whose bulk packets those were.
#[derive(Default)]
struct Out {
    delivered: u64,
    sojourn: u64,
    bulk: Vec<u32>,
}

impl Observer for Out {
    #[inline]
    fn departed(&mut self, now: Time, _: NodeId, _: NodeId, packet: &Packet) {
        self.sojourn += now.since(packet.arrival).as_nanos();
    }
    #[inline]
    fn delivered(&mut self, _: Time, _: NodeId, packet: &Packet) {
        self.delivered += 1;
        if packet.bytes == 1500 {
            self.bulk.push(packet.flow);
        }
    }
}

fn queue(text: &str) -> NodeSpec {
    NodeSpec::Queue(AnyQdisc::parse(text).expect("a discipline"))
}

fn pacer(text: &str) -> AnyPacer {
    AnyPacer::parse(text, &PacerSetting::default()).expect("a pacer")
}

fn print(name: &str, seconds: f64, simulated: f64, out: &Out) {
    println!(
        "{name:<24} {:>7.1} simulated s/s {:>7.1} ns/packet  ({} out)",
        simulated / seconds,
        seconds * 1e9 / out.delivered as f64,
        out.delivered,
    );
    black_box(out.sojourn);
}

/// As `busy taildrop line` of `forward`, through a gate.
fn gate(law: &str, simulated: u64) {
    let rate = Rate::from_bps(100_000_000);
    let mut path: Path = PathBuilder::new()
        .node("upper", queue("taildrop"))
        .node("gate", NodeSpec::Gate(pacer(law)))
        .node("lower", queue("taildrop"))
        .node("link", NodeSpec::link(Line::new(rate, 0)))
        .node("out", NodeSpec::Exit)
        .chain(&["upper", "gate", "lower", "link", "out"])
        .feedback("lower", "gate", Span::ZERO)
        .build(1)
        .expect("a path");
    let entry = path.node("upper").expect("an entry");
    let (mut out, slot) = (Out::default(), rate.time_for(1500));
    let start = Instant::now();
    for handle in 0..simulated * 1_000_000_000 / slot.as_nanos() {
        let now = Time::from_nanos(handle.saturating_sub(100) * slot.as_nanos());
        while path.next_deadline() <= now {
            path.poll(path.next_deadline(), &mut out).expect("time in order");
        }
        out.bulk.clear();
        let packet = Packet { handle, bytes: 1500, ..Packet::default() };
        path.ingress(now, entry, black_box(packet), &mut out).expect("time in order");
    }
    path.audit().expect("conservation");
    print(&format!("gate {law}"), start.elapsed().as_secs_f64(), simulated as f64, &out);
}

fn cell(law: &str, rlc: RlcSetting, name: &str, delay: Span, simulated: u64) {
    let mut rules = Rules::by(Key::Flow);
    let mut setting = CellSetting::new(Carrier::lte(100).expect("a carrier"));
    let mut builder = PathBuilder::new();
    for ue in 0..UES {
        let mut of = UeSetting::new(Channel::Mcs(Mcs(10 + (ue % 19) as u8)));
        for bearer in 0..BEARERS {
            of = of.bearer(rlc, bearer as u8);
            let flow = ue * BEARERS + bearer;
            let name = |what: &str| format!("{what} {flow}");
            rules = rules.route(flow..=flow, &name("sdap"), None);
            builder = builder
                .node(&name("sdap"), queue("taildrop"))
                .node(&name("pacer"), NodeSpec::Gate(pacer(law)))
                .node(&name("rlc"), queue("taildrop"))
                .chain(&[&name("sdap"), &name("pacer"), &name("rlc"), "cell"])
                .feedback(&name("rlc"), &name("pacer"), delay);
        }
        setting = setting.ue(of);
    }
    let mut path: Path = builder
        .node("upf", NodeSpec::Classifier(rules))
        .node("cell", NodeSpec::cell(setting))
        .node("out", NodeSpec::Exit)
        .connect("cell", "out")
        .build(1)
        .expect("a path");
    let entry = path.node("upf").expect("an entry");
    let (mut out, mut handle) = (Out::default(), 0);
    let mut send = |path: &mut Path, now: Time, flow: u32, bytes: u32, out: &mut Out| {
        handle += 1;
        path.ingress(now, entry, Packet { handle, flow, bytes, ..Packet::default() }, out)
            .expect("time in order");
    };
    let start = Instant::now();
    for ue in 0..UES {
        for _ in 0..50 {
            send(&mut path, Time::ZERO, ue * BEARERS + 1, 1500, &mut out);
        }
    }
    let (end, mut call) = (Time::from_nanos(simulated * 1_000_000_000), 0);
    loop {
        // A call every 20 ms for each UE, spread evenly.
        let next_call = Time::from_nanos(call * 20_000_000 / u64::from(UES));
        let now = path.next_deadline().min(next_call);
        if now > end {
            break;
        }
        path.poll(now, &mut out).expect("time in order");
        if now == next_call {
            send(&mut path, now, (call % u64::from(UES)) as u32 * BEARERS, 200, &mut out);
            call += 1;
        }
        // One more for each bulk packet that came out.
        while let Some(flow) = out.bulk.pop() {
            send(&mut path, now, flow, 1500, &mut out);
        }
    }
    path.audit().expect("conservation");
    let name = format!("cell {name} {law} {}us", delay.as_nanos() / 1000);
    print(&name, start.elapsed().as_secs_f64(), simulated as f64, &out);
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(20);
    for law in ["vanilla", "credit:6000b"] {
        gate(law, seconds);
    }
    for law in ["vanilla", "drql", "e5g-bdp"] {
        cell(law, RlcSetting::lte_um(), "um", Span::ZERO, seconds);
    }
    cell("e5g-bdp", RlcSetting::lte_um(), "um", Span::from_micros(500), seconds);
    cell("e5g-bdp", RlcSetting::lte_am(), "am", Span::ZERO, seconds);
}
