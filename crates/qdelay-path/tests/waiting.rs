//! Reports of TTIs in which a bearer waited come late, or in each TTI to pacers that do not let them wait: the same happens on the
//! path. The second kind is the same pacer from outside, which says nothing about waiting.

use crate::common::{Log, drain, ms, packet, queue};
use qdelay_core::pacer::{CustomPacer, PacerSetting};
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_path::*;
use qdelay_ran::mac::Scheduler;
use qdelay_ran::radio::{Bler, Channel, Fading};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{HarqSetting, UeSetting};

/// A pacer whose reports do not wait.
#[derive(Clone, Debug)]
struct Prompt(AnyPacer);

impl Pacer for Prompt {
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        self.0.next_eligible(now, size_bytes)
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        self.0.forwarded(now, bytes);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        self.0.on_signal(now, signal);
    }
    fn listens(&self) -> Signals {
        self.0.listens()
    }
}

const LAWS: [&str; 9] = [
    "e5g-bdp",
    "e5g-bdp:most=2000b:silence=3ms",
    "e5g-bdp:fill=0.8",
    "e5g-bdp:period=2500us",
    "drql",
    "drql:fit=begun:interval=7ms",
    "5g-bdp",
    "dynrlc",
    "vanilla",
];

fn pacer(law: &str, is_prompt: bool) -> NodeSpec {
    let law = AnyPacer::parse(law, &PacerSetting::default()).unwrap();
    NodeSpec::Gate(if is_prompt { AnyPacer::Custom(CustomPacer::new(Prompt(law))) } else { law })
}

/// UEs of two bearers, the first of which has two queues: a path, the same whether its pacers are prompt.
fn path(mut random: Random, ues: u64, scheduler: &str, is_prompt: bool) -> Path {
    let bler = Bler::new(0.2, Bler::SLOPE).unwrap();
    let mut cell = CellSetting::new(Carrier::lte(15).unwrap())
        .scheduler(Scheduler::parse(scheduler).unwrap())
        .harq(HarqSetting { bler, ..HarqSetting::default() });
    let (mut builder, mut rules) = (PathBuilder::new(), Rules::by(Key::Class));
    let mut chains = Vec::new();
    for ue in 0..ues as u16 {
        let mut setting = UeSetting::new(Channel::from(Fading::default()));
        for bearer in 0..2_u16 {
            let rlcs = [RlcSetting::lte_um(), RlcSetting::lte_am(), RlcSetting::transparent()];
            setting = setting.bearer(rlcs[random.below(3) as usize], 1 + random.below(2) as u8);
            let law = LAWS[random.below(LAWS.len() as u64) as usize];
            let [gate, rlc] = ["gate", "rlc"].map(|what| format!("{what} {ue} {bearer}"));
            let above = ["taildrop:limit=50", "codel:limit=50", "pie:limit=50", "red:limit=50"];
            for number in 0..=random.below(2) as u16 {
                let name = format!("queue {ue} {bearer} {number}");
                builder = builder.node(&name, queue(above[random.below(4) as usize]));
                let class = 4 * ue + 2 * bearer + number;
                rules = rules.route(u32::from(class)..=u32::from(class), &name, None);
                chains.push([name, gate.clone()]);
            }
            let limit = format!("taildrop:limit={}", 3 + random.below(40));
            let delay = if random.below(8) == 0 { Span::from_micros(700) } else { Span::ZERO };
            builder = builder
                .node(&gate, pacer(law, is_prompt))
                .node(&rlc, queue(&limit))
                .feedback(&rlc, &gate, delay);
            chains.push([gate, rlc.clone()]);
            chains.push([rlc, "cell".to_string()]);
        }
        cell = cell.ue(setting);
    }
    builder = builder
        .node("in", NodeSpec::Classifier(rules))
        .node("cell", NodeSpec::cell(cell))
        .node("out", NodeSpec::Exit)
        .chain(&["cell", "out"]);
    let built = chains.iter().fold(builder, |builder, [from, to]| builder.connect(from, to));
    built.build(1).unwrap()
}

/// Everything that is seen of the path under random load, which gets heavy and light.
fn run(seed: u64, is_prompt: bool) -> (Vec<String>, CellUsage) {
    let mut random = Random::derive(seed, "waiting", "load");
    let ues = 1 + random.below(40);
    let scheduler = ["round_robin", "round_robin", "proportional_fair"][random.below(3) as usize];
    let mut path = path(Random::derive(seed, "waiting", "path"), ues, scheduler, is_prompt);
    let (entry, mut log, mut now) = (path.node("in").unwrap(), Log::default(), 0);
    let mut gap = 100_000;
    for handle in 0..3000 {
        if random.below(200) == 0 {
            gap = [20_000, 100_000, 400_000, 2_000_000][random.below(4) as usize];
        }
        now += random.below(gap);
        if random.below(10) == 0 {
            now = now.next_multiple_of(1_000_000);
        }
        let bytes = [60, 200, 1400][random.below(3) as usize];
        // Some are of no queue.
        let class = (4 * random.below(ues) + random.below(4)) as u16;
        let packet = Packet { class, ..packet(handle, bytes) };
        path.ingress(Time::from_nanos(now), entry, packet, &mut log).unwrap();
        if handle == 1500 {
            let gate = path.node("gate 0 0").unwrap();
            let NodeSpec::Gate(law) = pacer("drql", is_prompt) else { unreachable!() };
            path.replace_gate(Time::from_nanos(now), gate, law, &mut log).unwrap();
        }
    }
    drain(&mut path, ms(60_000), &mut log);
    path.audit().unwrap();
    let usage = path.cell_usage(path.node("cell").unwrap(), ms(60_000)).unwrap();
    (log.events.iter().map(|event| format!("{event:?}")).collect(), usage)
}

#[test]
fn late_reports_change_nothing() {
    qdelay_testing::for_each_seed(15, |seed| {
        let (late, prompt) = (run(seed, false), run(seed, true));
        let differs = late.0.iter().zip(&prompt.0).find(|(late, prompt)| late != prompt);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!((late.0.len(), late.1), (prompt.0.len(), prompt.1), "seed {seed}");
    });
}
