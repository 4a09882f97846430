//! Cost of a packet in each discipline: nanoseconds per enqueue and dequeue, as the median of several rounds.
//!
//! `cargo bench -p qdelay-core --bench qdisc`. `calm`: 32 packets are queued and wait 32 us. `late`: 200 are
//! queued and wait 100 ms, so that the laws drop; the queue is filled up again and the cost is per packet
//! that arrives. Both have 20 flows. `wide`: 900 of 1000 flows are queued or, where the limit is below, every
//! arrival has to displace a packet.
//!
//! The benchmark prints and sets no bound: figures of a shared machine vary by a factor of two.

use qdelay_core::qdisc::{AnyQdisc, COMPONENTS, Qdisc};
use qdelay_core::{Context, DropReason, MarkReason, Packet, Random, Sink, Span, Time};

const PACKETS: u64 = 2_000_000;
const ROUNDS: usize = 7;

/// Load offered to a discipline.
struct Case {
    name: &'static str,
    queued: u64,
    gap: Span,
    flows: u32,
}

#[derive(Default)]
struct Count {
    drops: u64,
}
impl Sink for Count {
    fn dropped(&mut self, _: &Packet, _: DropReason) {
        self.drops += 1;
    }
    fn marked(&mut self, _: &Packet, _: MarkReason) {}
}

/// Nanoseconds per arrival, and drops per arrival.
fn round(qdisc: &mut AnyQdisc, case: &Case) -> (f64, f64) {
    let mut random = Random::derive(1, "bench", "qdisc");
    let mut sink = Count::default();
    let mut now = Time::ZERO;
    let (mut arrived, mut flow) = (0, 0);
    #[allow(clippy::disallowed_methods)]
    let start = std::time::Instant::now();
    while arrived < PACKETS {
        now += case.gap;
        let mut context = Context { now, random: &mut random, sink: &mut sink };
        let arrival = Packet { handle: arrived, arrival: now, bytes: 1500, flow, ..Packet::default() };
        qdisc.enqueue(&mut context, arrival);
        arrived += 1;
        flow = if flow + 1 < case.flows { flow + 1 } else { 0 };
        if qdisc.backlog().packets > case.queued {
            std::hint::black_box(qdisc.dequeue(&mut context));
        }
    }
    let nanos = start.elapsed().as_nanos() as f64;
    (nanos / PACKETS as f64, sink.drops as f64 / PACKETS as f64)
}

fn main() {
    let cases = [
        Case { name: "calm", queued: 32, gap: Span::from_micros(1), flows: 20 },
        Case { name: "late", queued: 200, gap: Span::from_micros(500), flows: 20 },
        Case { name: "wide", queued: 900, gap: Span::from_micros(1), flows: 1000 },
    ];
    println!("{:28} {:6} {:>10} {:>10} {:>8}", "qdisc", "case", "median ns", "best ns", "drops");
    let texts = [
        "taildrop",
        "headdrop:limit=100",
        "bode",
        "codel",
        "codel:variant=linux",
        "codel:variant=mahimahi",
        "pie",
        "pie:estimator=rate",
        "pie:variant=linux",
        "pie:variant=mahimahi",
        "fq_codel",
        "fq_codel:limit=100",
        "drr",
        "drr:limit=100",
        "drr:limit=800",
        "sfq:limit=1000",
        "sfq:limit=100",
        "sfq:limit=800",
        "red:min=50:max=1000",
        "priority",
        "priority:ef@bode+rest@bode",
        "dsd",
        "dsd:rate=100gbit:bound=50us",
        "fcfs_green",
    ];
    let is_there = |name: &str| texts.iter().any(|text| text.split(':').next() == Some(name));
    let others = COMPONENTS.iter().map(|component| component.name).filter(|name| !is_there(name));
    for text in texts.into_iter().chain(others) {
        for case in &cases {
            let qdisc = match AnyQdisc::parse(text) {
                Ok(qdisc) => qdisc,
                Err(error) => {
                    eprintln!("{error}");
                    std::process::exit(1);
                }
            };
            let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| round(&mut qdisc.clone(), case)).collect();
            rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (median, drops) = rounds[ROUNDS / 2];
            println!("{text:28} {:6} {median:10.1} {:10.1} {drops:8.4}", case.name, rounds[0].0);
        }
    }
}
