//! The cell compared with a slow model that runs every TTI, with plain vectors, and shares no code with it.
//! Both use the same tables of the carrier, channels and random streams.
//!
//! Bearers are transparent here (a packet is sent whole), so that the model needs no RLC; `rlc_*.rs` compare
//! RLC with models.

mod model;
mod sharing;

use self::model::Model;
use crate::cell_common::*;
use proptest::prelude::*;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::{Rate, Span, Time};
use qdelay_ran::cell::{DrxSetting, SLEEPS};
use qdelay_ran::mac::{COMPONENTS, Service};
use qdelay_ran::radio::{
    Bler, Channel, Combining, Control, Decoding, Mcs, OllaSetting, Rates, Reported, Tdd,
};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{Cell, CellSetting, CellUsage, HarqSetting, Scheduler, Sharing, UeSetting};
use qdelay_trace::{RateStep, RateSteps};

/// A scheduler in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    RoundRobin,
    /// Time in nanoseconds after which the weight of earlier throughput is 1/e.
    ProportionalFair {
        window: u64,
    },
    MaxThroughput,
    /// M-LWDF: proportional fair, weighted by delay.
    Mlwdf,
    ExpPf,
    Edf,
}

/// Schedulers and their models.
const JUDGED: [(&str, Law); 6] = [
    ("mlwdf", Law::Mlwdf),
    ("exp_pf", Law::ExpPf),
    ("edf", Law::Edf),
    ("round_robin", Law::RoundRobin),
    ("proportional_fair", Law::ProportionalFair { window: 100 * MS }),
    ("max_throughput", Law::MaxThroughput),
];

/// Settings from which cell and model are built.
#[derive(Clone, Debug)]
struct Plan {
    prbs: u16,
    slots: u64,
    phase: u64,
    scheduler: Scheduler,
    law: Law,
    sharing: Sharing,
    control: Control,
    /// Slots of time division duplex, and downlink symbols of special ones.
    tdd: Option<(&'static str, u8)>,
    unit: SizeUnit,
    loss: f64,
    retransmissions: u8,
    rtt_ttis: u64,
    air: u64,
    combining_mcs: u8,
    decoding: Decoding,
    processes: Option<u8>,
    /// Outer-loop link adaptation of each UE; `drx`: DRX of each UE in ms: cycle, on, inactivity, short
    /// cycle, short cycles, offset.
    olla: Vec<Option<OllaSetting>>,
    drx: Vec<Option<[u64; 6]>>,
    /// Budget in ms and exponent of loss of each priority.
    classes: [(u64, u8); 3],
    /// For each UE: its channel, the reports of it, and the priorities of its bearers.
    ues: Vec<(Channel, Reported, Vec<u8>)>,
}

impl Plan {
    fn tti(&self) -> u64 {
        self.slots * MS
    }
    fn cell(&self) -> Cell {
        let harq = HarqSetting {
            bler: Bler::new(self.loss, Bler::SLOPE).unwrap(),
            rtt: Some(Span::from_nanos(self.tti() * self.rtt_ttis)),
            retransmissions: self.retransmissions,
            combining_mcs: self.combining_mcs,
            decoding: self.decoding,
            processes: self.processes,
        };
        let rlc = match self.unit {
            SizeUnit::Bytes => RlcSetting::transparent(),
            SizeUnit::Packets => RlcSetting::whole_packets(),
        };
        let mut setting = CellSetting::new(Carrier::lte(self.prbs).unwrap())
            .tti(Span::from_nanos(self.tti()))
            .phase(Span::from_nanos(self.phase))
            .scheduler(self.scheduler.clone())
            .sharing(self.sharing)
            .control(self.control)
            .tdd(self.tdd.map(|(slots, symbols)| Tdd::new(slots, symbols).unwrap()))
            .unit(self.unit)
            .harq(harq)
            .air(Span::from_nanos(self.air));
        for (number, (channel, reported, priorities)) in self.ues.iter().enumerate() {
            let drx = self.drx[number].map(|[cycle, on, inactivity, short, shorts, offset]| {
                let mut text =
                    format!("drx:cycle={cycle}ms:on={on}ms:inactivity={inactivity}ms:offset={offset}ms");
                if short > 0 {
                    text += &format!(":short={short}ms:shorts={shorts}");
                }
                DrxSetting::build(&Arguments::parse(SLEEPS, &text).unwrap()).unwrap()
            });
            let ue = UeSetting::new(channel.clone()).reported(*reported).olla(self.olla[number]).drx(drx);
            let bearer = |ue: UeSetting, &priority: &u8| {
                let (budget, loss_exponent) = self.classes[usize::from(priority)];
                ue.serving(rlc, Service { priority, budget: ms(budget), loss_exponent, guaranteed: None })
            };
            setting = setting.ue(priorities.iter().fold(ue, bearer));
        }
        Cell::new(setting, 1, "cell").unwrap()
    }
}

fn check(plan: &Plan, arrivals: &[Arrival], end: u64) -> (Host, CellUsage) {
    let mut model = Model::new(plan);
    model.run(arrivals, end);
    // Without time on the air, packets of the last TTI are received in it.
    model.decode(end);
    let mut cell = plan.cell();
    let host = drive(&mut cell, arrivals, end);
    for (ours, theirs) in host.log.iter().zip(&model.log) {
        assert_eq!(ours, theirs, "the cell's on the left, the model's on the right");
    }
    assert_eq!(host.log.len(), model.log.len());
    assert_eq!(cell.usage(Time::from_nanos(end)), model.usage);
    audit(&cell, &host, arrivals);
    let usage = cell.usage(host.now);
    (host, usage)
}

/// A scheduler without a model fails here, unless its file has a line `//! No model: ` with the reason.
#[test]
fn every_scheduler_has_a_model_or_a_stated_reason() {
    for name in COMPONENTS.iter().map(|component| component.name) {
        let path = format!("{}/src/mac/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let is_judged = JUDGED.iter().any(|judged| judged.0 == name);
        let is_excused = file.contains("\n//! No model: ");
        assert!(
            is_judged != is_excused,
            "{name} needs a line in JUDGED, or in {path} a line `//! No model: ...`"
        );
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let fading = (-5_i32..25, 1_u32..50)
        .prop_map(|(snr, block)| Channel::parse(&format!("fading:snr={snr}:block={block}ms")).unwrap());
    let rates = prop::collection::vec(0_u64..30_000_000, 1..9).prop_map(|rates| {
        let step =
            |(n, &rate)| RateStep { start: Time::ZERO + ms(37) * n as u64, rate: Rate::from_bps(rate) };
        let steps: Vec<RateStep> = rates.iter().enumerate().map(step).collect();
        Channel::Rates(Rates { trace: RateSteps::new(steps, ms(37 * 9)).unwrap(), repeat: true })
    });
    let channel =
        prop_oneof![4 => (0_u8..29).prop_map(|mcs| Channel::Mcs(Mcs(mcs))), 2 => fading, 1 => rates];
    let reported = (prop::sample::select(vec![0_u64, 0, 3, 20]), prop::sample::select(vec![0_u64, 0, 7, 20]))
        .prop_map(|(delay, period)| Reported { delay: ms(delay), period: ms(period) });
    let ue = (channel, reported, prop::collection::vec(0_u8..3, 1..4));
    let radio = (
        prop::sample::select(vec![6_u16, 15, 25, 50]),
        prop::sample::select(vec![1_u64, 1, 2, 10]),
        0..3 * MS,
        prop::sample::select(vec![SizeUnit::Bytes, SizeUnit::Packets]),
    );
    let law = prop_oneof![
        3 => prop::sample::select(&JUDGED[..]).prop_map(|(name, law)| (name.to_string(), law)),
        1 => (10_u64..200).prop_map(|n| {
            (format!("proportional_fair:window={n}ms"), Law::ProportionalFair { window: n * MS })
        }),
    ]
    .prop_map(|(text, law)| (Scheduler::parse(&text).unwrap(), law));
    let sharing = prop_oneof![Just(Sharing::Priority), Just(Sharing::EqualShare)];
    let control = (1_u32..12, 0_u32..12, 0_u32..3, 0_u16..6).prop_map(|(period, first, count, reserved)| {
        Control::new(period, first % period, count.min(period), reserved).unwrap()
    });
    let combining =
        prop::sample::select(vec![Combining::Chase, Combining::IncrementalRedundancy, Combining::None]);
    let decoding = prop_oneof![
        Just(Decoding::Steps),
        (0.3_f64..5.0, combining).prop_map(|(slope_db, combining)| Decoding::Snr { slope_db, combining }),
    ];
    let processes = prop::option::of(1_u8..5);
    let harq = (
        prop::sample::select(vec![0.0, 0.1, 0.6]),
        0_u8..4,
        1_u64..10,
        0..12 * MS,
        0_u8..4,
        decoding,
        processes,
    );
    let olla = prop::option::of((0.01_f64..0.7, 0.05_f64..3.0, 0.5_f64..9.0))
        .prop_map(|olla| olla.map(|(target, step_db, limit_db)| OllaSetting { target, step_db, limit_db }));
    let drx = prop::option::of((1_u64..4, 4_u64..9, 1_u64..4, 0_u64..12, any::<bool>(), 1_u64..4, 0_u64..40))
        .prop_map(|drx| {
            drx.map(|(times, short, on, inactivity, has_short, shorts, offset)| {
                let has_short = has_short && times > 1;
                let cycle = times * short;
                [cycle, on, inactivity, if has_short { short } else { 0 }, shorts, offset % cycle]
            })
        });
    let class = (1_u64..300, 1_u8..9);
    let tdd = prop::option::of((
        prop::sample::select(vec!["DDDSU", "DSUUDDSUUD", "DSUDDDSUDD", "UUUD"]),
        prop::sample::select(vec![3_u8, 6, 10]),
    ));
    let sharing = (sharing, tdd);
    let air = (prop::collection::vec((olla, drx), 6), (class.clone(), class.clone(), class));
    (radio, law, sharing, control, harq, prop::collection::vec(ue, 1..6), air).prop_map(
        |(
            (prbs, slots, phase, unit),
            (scheduler, law),
            (sharing, tdd),
            control,
            (loss, retransmissions, rtt_ttis, air, combining_mcs, decoding, processes),
            ues,
            (settings, classes),
        )| Plan {
            tdd: tdd.filter(|_| slots == 1),
            decoding,
            processes,
            olla: settings.iter().map(|both| both.0).collect(),
            drx: settings.iter().map(|both| both.1).collect(),
            classes: [classes.0, classes.1, classes.2],
            prbs,
            slots,
            phase,
            scheduler,
            law,
            sharing,
            control,
            unit,
            loss,
            retransmissions,
            rtt_ttis,
            // A block is decoded before it is repeated.
            air: air.min(rtt_ttis * slots * MS),
            combining_mcs,
            ues,
        },
    )
}

proptest! {
    #[test]
    fn the_cell_matches_the_model(
        plan in plans(),
        mut arrivals in prop::collection::vec((0..60 * MS, 0..100_usize, 40..1500_u32), 0..120),
        gap in 0..100 * MS,
        on_the_grid in any::<bool>(),
    ) {
        arrivals.sort();
        let bearers: usize = plan.ues.iter().map(|ue| ue.2.len()).sum();
        // A pause in the middle gives idle TTIs.
        let half = arrivals.len() / 2;
        for (n, arrival) in arrivals.iter_mut().enumerate() {
            arrival.0 += if n >= half { gap } else { 0 };
            arrival.1 %= bearers;
            if on_the_grid {
                arrival.0 = plan.phase + arrival.0 / plan.tti() * plan.tti();
            }
        }
        check(&plan, &arrivals, 300 * MS);
    }
}
