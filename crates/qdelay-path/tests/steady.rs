//! Nothing is allocated for a packet: once its queues have grown, a path runs without a call of the allocator.

use crate::common::{Tell, packet, queue};
use qdelay_core::pacer::PacerSetting;
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_path::*;
use qdelay_ran::cell::{Elastic, Fixed, Rrm};
use qdelay_ran::radio::{Bler, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::slice::{Ratios, Share};
use qdelay_ran::tables::Carrier;
use qdelay_ran::{CellSlice, HarqSetting, Partition, UeSetting};
use qdelay_testing::allocations;

/// Two ways at once: classifier, queue, gate, queue, gate, queue, cell; and queue, gate, line, delay, queue, uplink.
fn path(law: &str, rlc: RlcSetting, partition: Option<Partition>) -> Path {
    let pacer = |text: &str| {
        let setting = PacerSetting::default();
        NodeSpec::Gate(AnyPacer::parse(text, &setting).unwrap())
    };
    let harq = HarqSetting { bler: Bler::new(0.1, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
    let ue = || UeSetting::new(Channel::Mcs(Mcs(20))).bearer(rlc, 1);
    let mut cell = CellSetting::new(Carrier::lte(25).unwrap()).harq(harq).ue(ue()).ue(ue());
    if let Some(partition) = partition {
        let slice = |percent, bearer| CellSlice {
            name: String::new(),
            agreed: match partition.by_ratios() {
                true => Ratios::from_percent(10, percent, 80).unwrap().into(),
                false => Share::from_percent(percent).unwrap().into(),
            },
            scheduler: None,
            bearers: vec![bearer],
        };
        cell = cell.partition(partition).with_slice(slice(25, 0)).with_slice(slice(75, 1));
    }
    let rules = Rules::by(Key::Flow).route(0..=3, "a", None).route(4..=7, "b", None);
    let uplink = AnyLink::build(&parse_link("uplink:bytes=3kb").unwrap()).unwrap();
    let mut builder = PathBuilder::new().node("entry", NodeSpec::Classifier(rules.otherwise("plain", None)));
    for way in ["a", "b"] {
        let name = |what: &str| format!("{way} {what}");
        builder = builder
            .node(way, queue("sfq"))
            .node(&name("usp"), pacer("usp"))
            .node(&name("sdap"), queue("taildrop:limit=100"))
            .node(&name("pacer"), pacer(law))
            .node(&name("rlc"), queue("codel"))
            .chain(&[way, &name("usp"), &name("sdap"), &name("pacer"), &name("rlc"), "cell"])
            .feedback(&name("rlc"), &name("pacer"), Span::from_micros(300))
            .feedback(&name("pacer"), &name("usp"), Span::ZERO)
            .polling(&name("usp"), Span::from_micros(100))
            .opportunities(&name("pacer"), 10, Span::from_millis(1));
    }
    builder
        .node("cell", NodeSpec::cell(cell))
        .node("plain", queue("taildrop:limit=100"))
        .node("gate", pacer("credit:6000b"))
        .node("line", NodeSpec::link(Line::new(Rate::from_bps(20_000_000), 0)))
        .node("delay", NodeSpec::delay(Span::from_millis(2)))
        .node("up", queue("taildrop:limit=100"))
        .node("uplink", NodeSpec::Link(uplink))
        .node("out", NodeSpec::Exit)
        .connect("cell", "out")
        .chain(&["plain", "gate", "line", "delay", "up", "uplink", "out"])
        .feedback("delay", "gate", Span::from_micros(100))
        .build(1)
        .unwrap()
}

/// Counts what comes out.
#[derive(Default)]
struct Out {
    delivered: u64,
}
impl Observer for Out {
    fn delivered(&mut self, _: Time, _: NodeId, _: &Packet) {
        self.delivered += 1;
    }
}

fn judge(law: &str, rlc: RlcSetting, partition: Option<Partition>) {
    let mut path = path(law, rlc, partition);
    let (entry, mut out, mut handle) = (path.node("entry").unwrap(), Out::default(), 0);
    let mut turn = |path: &mut Path, out: &mut Out, from_ms: u64, to_ms: u64| {
        for step in from_ms * 4..to_ms * 4 {
            let now = Time::from_nanos(step * 250_000);
            // More than anything carries for half a second, less for the next.
            let burst = if step % 4000 < 2000 { 3 } else { 1 };
            for flow in 0..burst {
                let flow = (step as u32).wrapping_mul(7).wrapping_add(flow) % 12;
                let packet = Packet { flow, ..packet(handle, 1200) };
                path.ingress(now, entry, packet, &mut Tell(out)).unwrap();
                handle += 1;
            }
        }
    };
    turn(&mut path, &mut out, 0, 20_000);
    let (calls, before) = (allocations(), out.delivered);
    turn(&mut path, &mut out, 20_000, 40_000);
    let calls = allocations() - calls;
    // Where packets are sent in parts, the stores of a bearer grow when they hold more than ever before: a handful of times,
    // however many packets there are.
    let most = if rlc == RlcSetting::transparent() { 0 } else { 10 };
    assert!(calls <= most, "{law}: {calls} for {} packets", out.delivered - before);
    assert!(out.delivered - before > 30_000, "{law}: {}", out.delivered - before);
    path.audit().unwrap();
}

const ELASTIC: Option<Partition> = Some(Partition::Elastic(Elastic { limit_rbs: 100 }));

/// A test for each, because each takes a while.
macro_rules! cases {
    ($($name:ident: $law:literal, $rlc:ident, $partition:expr;)*) => {
        mod nothing_is_allocated_for_a_packet {
            use super::*;
            $(
                #[test]
                fn $name() {
                    judge($law, RlcSetting::$rlc(), $partition);
                }
            )*
        }
    };
}

cases! {
    transparent: "vanilla", transparent, None;
    e5g_bdp_over_lte_um: "e5g-bdp", lte_um, None;
    drql_over_lte_am: "drql", lte_am, None;
    dynrlc_over_nr_um: "dynrlc", nr_um, None;
    bdp_over_nr_am: "5g-bdp", nr_am, None;
    fixed_partition: "vanilla", transparent, Some(Partition::Fixed(Fixed));
    elastic_partition_over_lte_um: "e5g-bdp", lte_um, ELASTIC;
    elastic_partition_over_nr_um: "vanilla", nr_um, ELASTIC;
    policy_ratios: "vanilla", transparent, Some(Partition::Rrm(Rrm { window: Span::from_millis(10) }));
    policy_ratios_over_nr_um: "e5g-bdp", nr_um, Some(Partition::Rrm(Rrm { window: Span::from_millis(10) }));
}
