//! The air interface in cases with figures known without simulation: outer-loop link adaptation, combining,
//! HARQ processes, DRX, and guaranteed bit rates.

use crate::cell_common::*;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Random, Rate, Span, Time};
use qdelay_ran::cell::{DrxSetting, HandoverSetting, MOVES, SLEEPS};
use qdelay_ran::mac::{Edf, MaxThroughput, Service};
use qdelay_ran::radio::{
    ADAPTATIONS, Bler, Channel, Combining, CqiTrace, Decoding, Mcs, OllaSetting, Reported, Tdd,
};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, CqiToMcs, McsTable, Overhead};
use qdelay_ran::*;
use qdelay_trace::{CqiStep, CqiSteps};

fn lte(prbs: u16) -> CellSetting {
    CellSetting::new(Carrier::lte(prbs).unwrap())
}
fn snr(slope_db: f64, combining: Combining) -> HarqSetting {
    HarqSetting { decoding: Decoding::Snr { slope_db, combining }, ..HarqSetting::default() }
}
/// SNR at which one block in ten is lost, in dB: 0.75 of Shannon's bound.
fn threshold_db(mcs: u8) -> f64 {
    let efficiency = Carrier::lte(25).unwrap().mcs_efficiency(mcs);
    10.0 * (2_f64.powf(efficiency / 0.75) - 1.0).log10()
}

/// Queues that never run empty, and the number of bytes taken for each bearer.
struct Endless(Vec<u64>);

impl Source for Endless {
    fn backlog(&self, _: usize) -> Backlog {
        Backlog { packets: 100, bytes: 150_000 }
    }
    fn pull(&mut self, _: usize) -> Option<Packet> {
        Some(Packet { bytes: 1500, ..Packet::default() })
    }
    fn departed(&mut self, _: usize, _: &Packet) {}
    fn delivered(&mut self, _: usize, _: Packet, _: Split) {}
    fn dropped(&mut self, _: usize, _: &Packet, _: DropReason) {}
    fn served(&mut self, bearer: usize, served: Served) {
        self.0[bearer] += served.sent_bytes;
    }
}

/// Runs `setting` with endless queues for `until_ms` ms.
fn run_full(setting: CellSetting, until_ms: u64) -> (Cell, Endless) {
    let mut cell = Cell::new(setting, 3, "cell").unwrap();
    let mut host = Endless(vec![0; cell.bearers()]);
    (0..cell.bearers()).for_each(|bearer| cell.wake(Time::ZERO, bearer));
    let end = Time::ZERO + ms(until_ms);
    while cell.next_deadline() <= end {
        cell.run(cell.next_deadline(), &mut host);
    }
    (cell, host)
}

/// The steps up and down cancel at the target: the lost share differs from it by no more than the range of
/// the offset, for any channel, age of its reports and curve of losses.
#[test]
fn olla_loses_its_target_share() {
    let channels = ["mcs:14", "fading:snr=11:deviation=1:fast=none:block=3ms:memory=40ms"];
    for decoding in [Decoding::Steps, Decoding::Snr { slope_db: 2.2, combining: Combining::Chase }] {
        for channel in channels {
            for (target, step_db) in [(0.01, 0.1), (0.1, 0.5), (0.3, 1.0)] {
                let olla = format!("olla:target={}%:step={step_db}:limit=8", target * 100.0);
                let olla = OllaSetting::build(&Arguments::parse(ADAPTATIONS, &olla).unwrap());
                let reported = Reported { delay: ms(6), period: ms(20) };
                let ue = UeSetting::new(Channel::parse(channel).unwrap()).reported(reported).olla(Some(olla));
                let harq = HarqSetting { decoding, ..HarqSetting::default() };
                let setting = lte(25).harq(harq).ue(ue.bearer(RlcSetting::lte_um(), 1));
                let (cell, _) = run_full(setting, 60_000);
                let air = cell.air(Time::ZERO + ms(60_000))[0];
                let found = air.lost as f64 / air.blocks as f64;
                let bound = 8.0 * 2.0 * (1.0 - target) / (air.blocks as f64 * step_db);
                assert!(air.blocks > 30_000);
                assert!((found - target).abs() <= bound, "{channel} {target}: {found}, bound {bound}");
            }
        }
    }
}

/// A channel that has become worse since its only report: the loss of each transmission matches closed forms.
#[test]
fn combined_transmissions_are_as_strong_as_their_sum() {
    let (good, bad) = (9, 7);
    let step = |at, cqi| CqiStep { start: Time::ZERO + ms(at), cqi };
    let trace = CqiSteps::new(vec![step(0, good), step(1, bad)], Span::from_secs(100_000)).unwrap();
    let channel = Channel::CqiTrace(CqiTrace { trace, repeat: false, mapping: Some(CqiToMcs::Efficiency) });
    // By efficiency, CQI 9 is MCS 15 and CQI 7 is MCS 11.
    let (sent, heard) = (threshold_db(15), 10_f64.powf(threshold_db(11) / 10.0));
    for combining in [Combining::Chase, Combining::IncrementalRedundancy, Combining::None] {
        let slope = 0.7;
        let reported = Reported { delay: Span::from_secs(100_000), period: Span::ZERO };
        let ue = UeSetting::new(channel.clone()).reported(reported).bearer(RlcSetting::transparent(), 1);
        let mut cell = Cell::new(lte(25).harq(snr(slope, combining)).ue(ue), 7, "cell").unwrap();
        let packets = 20_000;
        let arrivals: Vec<Arrival> = (0..packets).map(|n| (n * 60 * MS + 2_300_000, 0, 200)).collect();
        let host = drive(&mut cell, &arrivals, (packets + 1) * 60 * MS);
        let mut counts = [0; 5];
        for (time, _, handle, _) in host.delivered() {
            counts[((time - arrivals[handle as usize].0 - 4_700_000) / (8 * MS)) as usize] += 1;
        }
        counts[4] = host.dropped().count();
        let lost = |transmissions: i32| {
            let together = match combining {
                Combining::Chase => heard * f64::from(transmissions),
                Combining::IncrementalRedundancy => (1.0 + heard).powi(transmissions) - 1.0,
                Combining::None => heard,
            };
            1.0 / (1.0 + 9.0 * (slope * (10.0 * together.log10() - sent)).exp())
        };
        let mut all_lost = 1.0;
        for (n, &count) in counts.iter().enumerate() {
            let decoded = if n < 4 { 1.0 - lost(n as i32 + 1) } else { 1.0 };
            let share = all_lost * decoded;
            all_lost *= 1.0 - decoded;
            let deviation = (packets as f64 * share * (1.0 - share)).sqrt();
            let expected = packets as f64 * share;
            assert!(
                (count as f64 - expected).abs() <= 4.0 * deviation.max(1.0),
                "{combining:?} {n}: {count}, expected {expected}"
            );
        }
        let air = cell.air(host.now)[0];
        assert_eq!((air.blocks, air.lost), (packets, packets - counts[0] as u64));
        audit(&cell, &host, &arrivals);
    }
}

/// A process is busy for a round trip of 8 TTIs: in 8 TTIs there are as many new blocks as processes, at most
/// 8.
#[test]
fn new_blocks_in_a_round_trip_equal_the_processes() {
    for processes in 1..=9 {
        let harq = HarqSetting { processes: Some(processes), ..HarqSetting::default() };
        let ue = UeSetting::new(Channel::Mcs(Mcs(10))).bearer(RlcSetting::lte_um(), 1);
        let (cell, _) = run_full(lte(25).harq(harq).ue(ue), 8_004);
        // Without losses; blocks on the air at the end are not counted.
        let blocks = cell.air(Time::ZERO + ms(8_004))[0].blocks;
        assert_eq!(blocks, 1000 * u64::from(processes.min(8)));
    }
}

/// Sparse packets wait for the next on-duration: with TTIs of 1 ms, `(cycle - on) (cycle - on + 1) / (2
/// cycle)` on average, and half a TTI as without DRX.
#[test]
fn a_sleeping_ue_is_reached_in_its_next_on_duration() {
    for (cycle, on) in [(160_u64, 8_u64), (40, 10), (320, 2)] {
        let text = format!("drx:cycle={cycle}ms:on={on}ms:inactivity=0ms");
        let drx = DrxSetting::build(&Arguments::parse(SLEEPS, &text).unwrap()).unwrap();
        let ue = UeSetting::new(Channel::Mcs(Mcs(20))).drx(Some(drx)).bearer(RlcSetting::transparent(), 1);
        let mut cell = Cell::new(lte(25).ue(ue), 7, "cell").unwrap();
        let (mut random, mut at) = (Random::derive(5, "drx", "arrivals"), 0);
        let arrivals: Vec<Arrival> = (0..20_000)
            .map(|_| {
                at += cycle * MS + random.below(10 * cycle * MS);
                (at, 0, 200)
            })
            .collect();
        let host = drive(&mut cell, &arrivals, at + 1000 * MS);
        let waits: Vec<f64> = host
            .delivered()
            .map(|(time, _, handle, split)| {
                (time - arrivals[handle as usize].0 - split.air.as_nanos()) as f64 / MS as f64
            })
            .collect();
        assert_eq!(waits.len(), arrivals.len());
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / waits.len() as f64;
        let off = (cycle - on) as f64;
        let expected = 0.5 + off * (off + 1.0) / (2.0 * cycle as f64);
        let deviation = (variance / waits.len() as f64).sqrt();
        assert!((mean - expected).abs() < 4.0 * deviation, "{cycle} {on}: {mean}, expected {expected}");
        // A block does not keep the UE awake here.
        let asleep = cell.air(host.now)[0].asleep.as_secs_f64() / host.now.since(Time::ZERO).as_secs_f64();
        assert!((asleep - off / cycle as f64).abs() < 0.001, "{asleep}");
    }
}

/// A UE with a guarantee gets it beside a UE that gets all other resource blocks by its channel; one without
/// a guarantee gets nothing.
#[test]
fn a_guarantee_is_kept_with_any_scheduler() {
    for kbps in [64, 1_000, 3_000] {
        let rate = Rate::from_bps(kbps * 1000);
        let service = Service { guaranteed: Some(rate), ..Service::usual(1) };
        let ue = |mcs| UeSetting::new(Channel::Mcs(Mcs(mcs)));
        let setting = lte(25)
            .scheduler(MaxThroughput)
            .ue(ue(26).bearer(RlcSetting::lte_um(), 1))
            .ue(ue(8).serving(RlcSetting::lte_um(), service))
            .ue(ue(8).bearer(RlcSetting::lte_um(), 1));
        let (_, host) = run_full(setting, 10_000);
        let found = host.0[1] as f64 * 8.0 / 10.0;
        let expected = rate.as_bps() as f64;
        // Tolerance: the tokens of the last TTI, and the groups of one grant, of 25 PRBs at most.
        let block = 8.0 * f64::from(Carrier::lte(25).unwrap().block_bytes(8, 25)) / 10.0;
        assert!((found - expected).abs() <= block + expected / 1e4, "{found}, expected {expected}");
        assert_eq!(host.0[2], 0);
        assert!(host.0[0] > 0);
    }
}

/// Within a UE, the guarantee of a bearer of low priority is kept as well.
#[test]
fn a_guarantee_is_kept_behind_a_bearer_of_higher_priority() {
    let rate = Rate::from_bps(500_000);
    let service = Service { guaranteed: Some(rate), ..Service::usual(9) };
    let ue = UeSetting::new(Channel::Mcs(Mcs(12)))
        .bearer(RlcSetting::lte_um(), 1)
        .serving(RlcSetting::lte_um(), service);
    let (_, host) = run_full(lte(25).ue(ue), 10_000);
    let found = host.0[1] as f64 * 8.0 / 10.0;
    assert!((found - 500_000.0).abs() < 5_000.0, "{found}");
    assert!(host.0[0] > host.0[1]);
}

#[test]
fn guarantees_above_the_cell_are_refused() {
    let service = |mbps| Service { guaranteed: Some(Rate::from_mbps(mbps)), ..Service::usual(1) };
    // 25 PRBs at MCS 28 carry 18.3 Mbit/s, at MCS 10 4.0 Mbit/s.
    let setting = |mcs, mbps| {
        let ue = UeSetting::new(Channel::Mcs(Mcs(mcs)));
        lte(25)
            .ue(ue.serving(RlcSetting::lte_um(), service(1.0)).serving(RlcSetting::lte_um(), service(mbps)))
    };
    assert!(Cell::new(setting(28, 17.0), 1, "cell").is_ok());
    let error = Cell::new(setting(28, 18.0), 1, "cell").unwrap_err();
    assert!(matches!(error, CellError::Guaranteed { ue: 0, bearer: 1, load } if (1.0..1.1).contains(&load)));
    assert!(Cell::new(setting(10, 3.5), 1, "cell").is_err());
}

/// Earliest deadline first: of two packets that came together, the one with the shorter budget leaves first,
/// at any channel.
#[test]
fn the_packet_with_the_shorter_budget_is_sent_first() {
    let service = |budget| Service { budget: ms(budget), ..Service::usual(1) };
    let ue =
        |mcs, budget| UeSetting::new(Channel::Mcs(Mcs(mcs))).serving(RlcSetting::lte_um(), service(budget));
    let setting = lte(25).scheduler(Edf { by_packet: false }).ue(ue(28, 300)).ue(ue(3, 50));
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let arrivals: Vec<Arrival> = [(MS, 0, 1500), (MS, 1, 1500)].repeat(4);
    let host = drive(&mut cell, &arrivals, 500 * MS);
    let ends = |bearer| host.delivered().filter(|one| one.1 == bearer).map(|one| one.0).collect::<Vec<_>>();
    assert!(ends(1).last().unwrap() <= ends(0).first().unwrap());
}

/// The capacity is the share of downlink symbols that carry data, and a packet waits for the next downlink
/// slot.
#[test]
fn time_division_duplex_has_the_share_of_its_downlink() {
    let overhead = Overhead { other_elements: 0, reference_elements: 0, ..Overhead::default() };
    let carrier = Carrier::nr(1, 51, McsTable::Qam64, 1, overhead).unwrap();
    let run = |tdd: Option<Tdd>| {
        let ue = UeSetting::new(Channel::Mcs(Mcs(12))).bearer(RlcSetting::nr_um(), 1);
        let (cell, host) = run_full(CellSetting::new(carrier.clone()).tdd(tdd).ue(ue), 5_000);
        // The packets come too late for the first slot.
        assert_eq!(cell.usage(Time::ZERO + ms(5_000)).wasted_rbs, 51);
        host.0[0] as f64
    };
    let whole = run(None);
    for (pattern, special, symbols) in
        [("DDDSU", 10, 13 * 3 + 9), ("DSUUU", 4, 13 + 3), ("DU", 0, 13), ("DDSU", 2, 26)]
    {
        let share = f64::from(symbols) / (13 * pattern.len()) as f64;
        let found = run(Some(Tdd::new(pattern, special).unwrap())) / whole;
        // Block sizes are discrete, and headers are the same in short blocks.
        assert!((found / share - 1.0).abs() < 0.01, "{pattern}: {found}, expected {share}");
    }
}

#[test]
fn packets_wait_for_a_downlink_slot() {
    for (pattern, expected) in
        [("DDDDU", 0.5 + 1.0 / 5.0), ("DDUUU", 0.5 + (3.0 + 2.0 + 1.0) / 5.0), ("DUDU", 0.5 + 0.5)]
    {
        let tdd = Tdd::new(pattern, 10).unwrap();
        let ue = UeSetting::new(Channel::Mcs(Mcs(20))).bearer(RlcSetting::transparent(), 1);
        let mut cell = Cell::new(lte(25).tdd(Some(tdd)).ue(ue), 7, "cell").unwrap();
        let (mut random, mut at) = (Random::derive(5, "tdd", "arrivals"), 0);
        let arrivals: Vec<Arrival> = (0..20_000)
            .map(|_| {
                at += 5 * MS + random.below(20 * MS);
                (at, 0, 200)
            })
            .collect();
        let host = drive(&mut cell, &arrivals, at + 100 * MS);
        let waits = host.delivered().map(|(time, _, handle, split)| {
            (time - arrivals[handle as usize].0 - split.air.as_nanos()) as f64 / MS as f64
        });
        let mean = waits.sum::<f64>() / arrivals.len() as f64;
        // No wait is longer than 4 ms, so the standard deviation is at most 2 ms.
        assert!(
            (mean - expected).abs() < 4.0 * 2.0 / (arrivals.len() as f64).sqrt(),
            "{pattern}: {mean}, {expected}"
        );
    }
}

fn handover(text: &str) -> Option<HandoverSetting> {
    Some(HandoverSetting::build(&Arguments::parse(MOVES, text).unwrap()).unwrap())
}

/// Packets delivered and dropped in each mode, at 5 Mbit/s over ten seconds with a handover every 800 ms, and
/// losses on the air.
fn through_handovers(carrier: Carrier, rlc: RlcSetting) -> (Vec<u64>, Vec<(u64, u64, DropReason)>) {
    let harq = HarqSetting { bler: Bler::new(0.1, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
    let ue = UeSetting::new(Channel::Mcs(Mcs(18)))
        .handover(handover("handover:every=800ms:interruption=45ms"), Some(Channel::Mcs(Mcs(9))))
        .bearer(rlc, 1);
    let mut cell = Cell::new(CellSetting::new(carrier).harq(harq).ue(ue), 7, "cell").unwrap();
    let arrivals: Vec<Arrival> = (0..4_000).map(|n| (n * 2_400_000 + 77_777, 0, 1400)).collect();
    let host = drive(&mut cell, &arrivals, 30_000 * MS);
    audit(&cell, &host, &arrivals);
    let air = cell.air(host.now)[0];
    assert_eq!((air.handovers, air.interrupted), (37, ms(37 * 45)));
    let inside = |time: u64| time % (800 * MS) < 45 * MS && time >= 800 * MS;
    let sends = host.log.iter().filter(|event| matches!(event.what, Notice::Departed(_)));
    assert!(
        sends.clone().count() > 3_000 && sends.clone().all(|event| !inside(event.time)),
        "nothing is sent in between"
    );
    (
        host.delivered().map(|one| one.2).collect(),
        host.dropped().map(|(time, _, handle, reason)| (time, handle, reason)).collect(),
    )
}

fn nr() -> Carrier {
    Carrier::nr(1, 25, McsTable::Qam64, 1, Overhead::default()).unwrap()
}

#[test]
fn acknowledged_mode_loses_nothing_in_a_handover_and_keeps_the_order() {
    for (carrier, rlc) in [(Carrier::lte(50).unwrap(), RlcSetting::lte_am()), (nr(), RlcSetting::nr_am())] {
        let (delivered, dropped) = through_handovers(carrier, rlc);
        assert_eq!(dropped, []);
        assert_eq!(delivered, (0..4_000).collect::<Vec<u64>>());
    }
}

#[test]
fn unacknowledged_mode_loses_partly_sent_packets() {
    for (carrier, rlc) in [(Carrier::lte(50).unwrap(), RlcSetting::lte_um()), (nr(), RlcSetting::nr_um())] {
        let (delivered, dropped) = through_handovers(carrier, rlc);
        assert_eq!(delivered.len() + dropped.len(), 4_000);
        let by_handover: Vec<_> = dropped.iter().filter(|drop| drop.2 == qdelay_ran::rlc::HANDOVER).collect();
        assert!(!by_handover.is_empty());
        assert!(by_handover.iter().all(|drop| drop.0 % (800 * MS) == 0), "at the time of a handover");
        // Blocks of at most 4 ms are on the air, some of them repeated: at 5 Mbit/s a few packets of 1400
        // bytes each time.
        for time in by_handover.iter().map(|drop| drop.0) {
            assert!(by_handover.iter().filter(|drop| drop.0 == time).count() <= 12);
        }
    }
}
