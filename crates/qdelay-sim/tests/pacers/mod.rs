//! Every pacer by its defaults on carriers of all widths, in frequency and in time division duplex (TDD): it uses the channel, and keeps
//! the RLC buffer as short as the 5G QoS thesis's setting does in its testbed.
//!
//! Bounds: at least 0.9 of the throughput without a pacer, and a 95th percentile of the sojourn in the RLC buffer of at most 1.2 times that
//! of the testbed. Sojourns are counted in service opportunities, slots that could have served the bearer: a packet that goes in the next
//! such slot has waited for one, however many uplink slots are before it. A special slot counts as the part of a whole slot that it carries.

mod drawn;

use crate::cell::{cell_of, discipline, gate, play, scenario};
use crate::common::{flow, ms};
use qdelay_core::component::{Arguments, Component, Kind, Registry};
use qdelay_core::pacer::{self, AnyPacer, Eligible, Pacer, Signal, Signals};
use qdelay_core::{Span, Time};
use qdelay_path::{F1_COMPONENTS, F1Spec};
use qdelay_ran::pdcp::{self, PdcpSetting};
use qdelay_ran::radio::{Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{CellSetting, UeSetting};
use qdelay_sim::{FlowSpec, GateSpec, Scenario, UpfSpec};
use qdelay_testing::side_by_side;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Least throughput, of that without a pacer.
const THROUGHPUT: f64 = 0.9;
/// Steps in which sojourns are counted, in a slot.
const TENTHS: f64 = 10.0;
/// Longest sojourn, of that in the testbed.
const SOJOURN: f64 = 1.2;

/// Each pacer between SDAP and RLC, and the thesis's setting of it for its testbed.
const PACERS: [(&str, &str); 5] = [
    ("dynrlc", "dynrlc:interval=10ms:target=3ms:alpha=0.05:min=1:max=10"),
    ("drql", "drql:interval=10ms:increase=1.2"),
    ("5g-bdp", "5g-bdp:offset=0.33"),
    ("e5g-bdp", "e5g-bdp:period=1ms:capacity=last"),
    // Of no paper: ten full packets.
    ("credit", "credit:15kb"),
];

/// The thesis's testbed, of section 3.6.4: LTE with 5 MHz at its best, 18 Mbit/s.
fn testbed() -> CellSetting {
    CellSetting::new(Carrier::lte(25).unwrap())
}

static COUNTED: Component =
    Component::new(Kind::Pacer, "counted", "another pacer, with the sojourns below it counted");

/// How many packets waited for so many tenths of a slot.
type Waits = Arc<Mutex<Vec<u64>>>;

/// A pacer above a bearer in one unit, and the slots that its packets wait for.
#[derive(Clone, Debug)]
struct Counted {
    law: AnyPacer,
    /// Slots that could have served the bearer while it had data; bytes of a whole one.
    slots: f64,
    whole: u32,
    /// Of each packet below, how many there had been when it came.
    below: VecDeque<f64>,
    warmup: Span,
    waits: Waits,
}

impl Pacer for Counted {
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        self.law.next_eligible(now, size_bytes)
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        self.below.push_back(self.slots);
        self.law.forwarded(now, bytes);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        if let Signal::Served(served) = signal {
            self.slots += served.tdd.map_or(1.0, |slot| {
                self.whole = self.whole.max(slot.carries).max(slot.next_carries);
                f64::from(slot.carries) / f64::from(self.whole)
            });
            let mut waits = self.waits.lock().unwrap();
            for _ in 0..served.left_packets {
                let waited = (self.slots - self.below.pop_front().unwrap()) * TENTHS;
                let waited = waited.round() as usize;
                if waits.len() <= waited {
                    waits.resize(waited + 1, 0);
                }
                waits[waited] += u64::from(now >= Time::ZERO + self.warmup);
            }
        }
        self.law.on_signal(now, signal);
    }
    fn listens(&self) -> Signals {
        Signals { served: true, ..self.law.listens() }
    }
}

/// The gate of `law`, which counts after `warmup`.
fn counted(law: &str, warmup: Span, waits: &Waits) -> GateSpec {
    let (text, waits) = (law.to_string(), Arc::clone(waits));
    let made = pacer::custom(&COUNTED, move |_, setting| {
        let law = AnyPacer::parse(&text, setting)?;
        Ok(Counted { law, slots: 0.0, whole: 1, below: VecDeque::new(), warmup, waits: Arc::clone(&waits) })
    });
    let law = Registry::new().with(made).parse(pacer::COMPONENTS, COUNTED.name).unwrap();
    GateSpec { law, ..gate("vanilla") }
}

/// How long a pacer has to settle, and then is watched.
const HALF: Span = Span::from_millis(1000);

/// A carrier of NR in slots of 0.5 ms.
#[derive(Clone, Copy, Debug)]
struct Case {
    duplex: &'static str,
    prbs: u16,
    layers: u8,
}

impl Case {
    fn setting(self) -> CellSetting {
        let overhead = Overhead::default();
        let carrier = Carrier::nr(1, self.prbs, McsTable::Qam256, self.layers, overhead).unwrap();
        let tdd = (self.duplex != "FDD").then(|| Tdd::new(self.duplex, 10).unwrap());
        CellSetting::new(carrier).tdd(tdd)
    }
}

/// Twice `half` of more packets than the cell carries; the second half counts.
fn saturated(setting: CellSetting, mcs: u8, gate: GateSpec, rate: &str, half: Span) -> Scenario {
    let mut scenario = scenario("vanilla", &[&format!("udp:{rate}")]);
    (scenario.duration, scenario.warmup) = (half * 2, half);
    scenario.flows[0].qfi = 1;
    let cell = cell_of(&mut scenario);
    let is_lte = setting.carrier().is_lte();
    (cell.tti, cell.setting) = (setting.carrier().slot(), setting);
    let ue = &mut cell.ues[0];
    ue.setting = UeSetting::new(Channel::Mcs(Mcs(mcs)));
    let bearer = &mut ue.bearers[0];
    bearer.rlc = if is_lte { RlcSetting::lte_um() } else { RlcSetting::nr_um() };
    bearer.gate = gate;
    bearer.queue = discipline("taildrop:limit=1000000:limit_bytes=5mb");
    for qos_flow in &mut bearer.qos_flows {
        qos_flow.sdap = discipline("taildrop:limit=20000");
    }
    scenario
}

/// Throughput in Mbit/s, and the 95th percentile of the service opportunities that packets waited for in the RLC buffer.
fn figures(setting: CellSetting, mcs: u8, law: &str, rate: &str, half: Span) -> (f64, f64) {
    let waits = Waits::default();
    let outcome = play(&saturated(setting, mcs, counted(law, half, &waits), rate, half));
    let waits = waits.lock().unwrap();
    let all: u64 = waits.iter().sum();
    let within = |slots: usize| waits[..=slots].iter().sum::<u64>() as f64 >= 0.95 * all as f64;
    let p95 = (0..waits.len()).find(|slots| within(*slots)).unwrap();
    (outcome.measures.flows[0].goodput_mbps, p95 as f64 / TENTHS)
}

/// The longest sojourn that each pacer may have, in slots.
fn longest_sojourns() -> Vec<f64> {
    let usual = |thesis: &str| SOJOURN * figures(testbed(), 28, thesis, "30mbit", HALF).1;
    PACERS.iter().map(|(_, thesis)| usual(thesis)).collect()
}

#[test]
fn no_default_stands_still_or_paces_nothing() {
    let mut cases = Vec::new();
    for duplex in ["FDD", "DDDSU", "DDDDDDDSUU"] {
        for (prbs, rate) in [(51, "200mbit"), (106, "400mbit"), (273, "1000mbit")] {
            cases.push((Case { duplex, prbs, layers: 1 }, rate));
        }
        for (prbs, rate) in [(51, "700mbit"), (106, "1400mbit"), (273, "3500mbit")] {
            cases.push((Case { duplex, prbs, layers: 4 }, rate));
        }
    }
    let longest = longest_sojourns();
    let mut wrong = Vec::new();
    let judge = |&(case, rate): &(Case, &str)| {
        let (most, unpaced) = figures(case.setting(), 20, "vanilla", rate, HALF);
        let judged = |((law, _), longest): (&(&str, &str), &f64)| {
            assert!(unpaced > *longest, "no pacer would be right: {case:?}");
            let (mbps, slots) = figures(case.setting(), 20, law, rate, HALF);
            let is_right = mbps >= THROUGHPUT * most && slots <= *longest;
            (
                is_right,
                format!("{case:?} {law}: {mbps:.0} of {most:.0} Mbit/s, {slots} of {longest:.1} slots"),
            )
        };
        PACERS.iter().zip(&longest).map(judged).collect::<Vec<_>>()
    };
    side_by_side(&cases, judge, |lines| {
        for (is_right, line) in lines {
            println!("{line}");
            if !is_right {
                wrong.push(line);
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A sender that its window limits sends in bursts, between which a pacer of the bandwidth forgets: it is as fast as without one.
#[test]
fn no_default_slows_a_sender_that_its_window_limits() {
    let mut cases = Vec::new();
    for duplex in ["FDD", "DDDSU", "DDDDDDDSUU"] {
        for (prbs, layers) in [(51, 1), (106, 4), (273, 4)] {
            cases.push(Case { duplex, prbs, layers });
        }
    }
    let mbps = |case: Case, law: &str| {
        let mut scenario = Scenario {
            base_rtt: ms(20),
            flows: vec![FlowSpec { qfi: 1, ..flow("cubic") }],
            groups: vec!["cubic".to_string()],
            ..saturated(case.setting(), 20, gate(law), "1mbit", HALF)
        };
        (scenario.duration, scenario.warmup) = (ms(5000), ms(3000));
        play(&scenario).measures.flows[0].goodput_mbps
    };
    let judge = |&case: &Case| {
        let most = mbps(case, "vanilla");
        for (law, _) in PACERS {
            let mbps = mbps(case, law);
            assert!(mbps >= THROUGHPUT * most, "{case:?} {law}: {mbps:.0} of {most:.0} Mbit/s");
        }
    };
    side_by_side(&cases, judge, |()| {});
}

/// USP above a pacer: the SDAP always has what that lets through.
#[test]
fn usp_leaves_the_throughput_of_the_pacer_below() {
    for duplex in ["FDD", "DDDSU", "DDDDDDDSUU"] {
        let setting = || Case { duplex, prbs: 106, layers: 4 }.setting();
        for law in ["drql", "e5g-bdp"] {
            let mbps = |usp: Option<&str>| {
                let mut scenario = saturated(setting(), 20, gate(law), "1400mbit", HALF);
                for qos_flow in &mut cell_of(&mut scenario).ues[0].bearers[0].qos_flows {
                    let upf = |usp| UpfSpec { qdisc: discipline("taildrop:limit=20000"), gate: gate(usp) };
                    qos_flow.upf = usp.map(upf);
                }
                play(&scenario).measures.flows[0].goodput_mbps
            };
            let (with, without) = (mbps(Some("usp")), mbps(None));
            assert!(with >= THROUGHPUT * without, "{duplex} {law}: {with:.0} of {without:.0} Mbit/s");
        }
    }
}

/// Reports over F1-U come rarely, and late: of LTE with 5, 10 and 20 MHz, and of slots of 0.5 ms with and without TDD.
#[test]
fn no_default_stands_still_over_f1() {
    let lte = [(25, "30mbit"), (50, "60mbit"), (100, "120mbit")];
    let lte = lte.map(|(prbs, rate)| (CellSetting::new(Carrier::lte(prbs).unwrap()), 28, rate));
    let nr = ["FDD", "DDDSU", "DDDDDDDSUU"].into_iter().flat_map(|duplex| {
        let widths = [(51, 1, "200mbit"), (273, 4, "3500mbit")];
        widths.map(|(prbs, layers, rate)| (Case { duplex, prbs, layers }.setting(), 20, rate))
    });
    let cases: Vec<_> = lte.into_iter().chain(nr).collect();
    let f1 = |text: &str| F1Spec::build(&Arguments::parse(F1_COMPONENTS, text).unwrap());
    let judge = |(setting, mcs, rate): &(CellSetting, u8, &str)| {
        for text in ["standard:delay=1ms", "standard:delay=2ms", "standard:delay=2ms:period=1ms"] {
            let mbps = |law: &str| {
                let mut scenario = saturated(setting.clone(), *mcs, gate(law), rate, HALF);
                let bearer = &mut cell_of(&mut scenario).ues[0].bearers[0];
                bearer.f1 = f1(text);
                let standard = Arguments::parse(pdcp::COMPONENTS, "standard:sn_bits=18").unwrap();
                bearer.rlc.pdcp = PdcpSetting::build(&standard, &bearer.rlc.mode).unwrap();
                play(&scenario).measures.flows[0].goodput_mbps
            };
            let most = mbps("vanilla");
            for (law, _) in PACERS {
                let mbps = mbps(law);
                let prbs = setting.carrier().prbs();
                assert!(mbps >= THROUGHPUT * most, "{prbs} {text} {law}: {mbps:.0} of {most:.0} Mbit/s");
            }
        }
    };
    side_by_side(&cases, judge, |()| {});
}

#[test]
fn every_pacer_is_judged_or_excused() {
    // The first holds nothing back; the last but one is above another pacer; the last hears nothing without F1-U.
    let excused = ["vanilla", "usp", "ddds"];
    for component in pacer::COMPONENTS {
        let is_judged = PACERS.iter().any(|(law, _)| *law == component.name);
        assert!(is_judged != excused.contains(&component.name), "{}", component.name);
    }
}
