//! Carrier aggregation: closed forms, and equality with cells of one carrier where the carriers have no common effect.

use crate::cell_common::*;
use qdelay_core::{Random, Span, Time};
use qdelay_ran::radio::{Bler, Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{Cell, CellError, CellSetting, HarqSetting, ScellSetting, UeSetting};
use qdelay_testing::effort;

fn mcs(mcs: u8) -> Channel {
    Channel::Mcs(Mcs(mcs))
}

fn lte(prbs: u16) -> Carrier {
    Carrier::lte(prbs).unwrap()
}

fn nr(prbs: u16, layers: u8) -> Carrier {
    Carrier::nr(1, prbs, McsTable::Qam256, layers, Overhead::default()).unwrap()
}

fn full_queue(bytes: u32, packets: usize) -> Vec<Arrival> {
    vec![(0, 0, bytes); packets]
}

/// A full queue of one UE gets the blocks of both carriers in every TTI, and every report has the sum of their sizes.
#[test]
fn a_full_queue_has_the_capacity_of_all_carriers() {
    let setting = CellSetting::new(lte(25))
        .scell(ScellSetting::new(lte(50)))
        .scell(ScellSetting::new(lte(100)).channel(mcs(10), Span::ZERO))
        .ue(UeSetting::new(mcs(28)).bearer(RlcSetting::lte_um(), 1));
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let host = drive(&mut cell, &full_queue(1500, 5_000), 500 * MS);
    let sizes = [(25, 28), (50, 28), (100, 10)];
    let whole: u64 = sizes.iter().map(|&(prbs, mcs)| u64::from(lte(prbs).block_bytes(mcs, prbs))).sum();
    let all: Vec<_> = host.served(0).map(|(_, served)| served).collect();
    assert_eq!(all.len(), 500, "one report in each TTI from the second on");
    for served in &all[1..] {
        assert_eq!(served.capacity_bytes, whole);
        // Headers of RLC and MAC take a little of each block.
        assert!(served.sent_bytes <= whole && whole - served.sent_bytes < 60, "{served:?} of {whole}");
    }
    let handles: Vec<u64> = host.delivered().map(|(_, _, handle, _)| handle).collect();
    assert!(handles.is_sorted() && handles.len() > 2_900);
    let usage = cell.usage(host.now);
    assert_eq!(usage.offered_rbs, 501 * 175);
    assert_eq!((usage.wasted_rbs + usage.unfit_rbs, usage.used_rbs), (175, 500 * 175));
}

/// Two UEs with full queues share both carriers; one that is configured with the primary cell alone gets half of that.
#[test]
fn a_ue_without_the_secondary_cell_has_the_primary_one_alone() {
    let setting = CellSetting::new(nr(51, 2))
        .scell(ScellSetting::new(nr(106, 4)))
        .ue(UeSetting::new(mcs(20)).bearer(RlcSetting::nr_um(), 1))
        .ue(UeSetting::new(mcs(20)).bearer(RlcSetting::nr_um(), 1).scells(0));
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let arrivals: Vec<Arrival> = (0..80_000).map(|n| (0, n % 2, 1400)).collect();
    let host = drive(&mut cell, &arrivals, 400 * MS);
    let sum = |bearer| host.served(bearer).map(|(_, served)| served.sent_bytes).sum::<u64>() as f64;
    let slots = 800.0;
    let (primary, secondary) = (
        slots * f64::from(nr(51, 2).block_bytes(20, 51)),
        slots * f64::from(nr(106, 4).block_bytes(20, 106)),
    );
    assert!((sum(1) / (primary / 2.0) - 1.0).abs() < 0.03, "{} of {}", sum(1), primary / 2.0);
    assert!((sum(0) / (primary / 2.0 + secondary) - 1.0).abs() < 0.03, "{}", sum(0));
}

/// With a secondary cell that no UE has, all events equal those of a cell of one carrier.
#[test]
fn a_carrier_of_no_ue_changes_nothing() {
    for seed in 0..u64::from(effort::cases(40)) {
        let random = &mut Random::derive(seed, "aggregation", "draws");
        let ues = 1 + random.below(4) as usize;
        let bler = Bler::new(0.2, Bler::SLOPE).unwrap();
        let channels: Vec<Channel> =
            (0..ues).map(|_| Channel::parse(&format!("fading:snr={}", random.below(25))).unwrap()).collect();
        let build = |scells: usize| {
            let mut setting = CellSetting::new(lte(50)).harq(HarqSetting { bler, ..HarqSetting::default() });
            for _ in 0..scells {
                setting = setting.scell(ScellSetting::new(lte(25)));
            }
            for channel in &channels {
                let ue = UeSetting::new(channel.clone()).scells(0);
                setting = setting.ue(ue.bearer(RlcSetting::lte_am(), 1).bearer(RlcSetting::lte_um(), 2));
            }
            Cell::new(setting, seed, "cell").unwrap()
        };
        let mut arrivals: Vec<Arrival> = (0..400)
            .map(|_| {
                (
                    random.below(200 * MS),
                    random.below(2 * ues as u64) as usize,
                    40 + random.below(1400) as u32,
                )
            })
            .collect();
        arrivals.sort_unstable();
        let (mut one, mut several) = (build(0), build(2));
        let (expected, found) =
            (drive(&mut one, &arrivals, 900 * MS), drive(&mut several, &arrivals, 900 * MS));
        // A cell of one carrier delays reports of bearers that get nothing; here the host allows no delay.
        assert_eq!(found.log, expected.log, "seed {seed}");
        let (alone, together) = (one.usage(one_time()), several.usage(one_time()));
        assert_eq!(alone.used_rbs, together.used_rbs);
        assert_eq!(together.offered_rbs, 2 * alone.offered_rbs, "50 of 100 resource blocks");
    }
}

fn one_time() -> Time {
    Time::from_nanos(900 * MS)
}

/// Two equal carriers whose blocks are lost at random: acknowledged mode delivers everything in order, and a UE may repeat a block
/// on one carrier while it gets a new one on the other.
#[test]
fn losses_on_one_carrier_do_not_stop_the_other() {
    let harq = HarqSetting { bler: Bler::new(0.3, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
    let setting = CellSetting::new(nr(51, 1))
        .harq(harq)
        .scell(ScellSetting::new(nr(51, 1)).tdd(Some(Tdd::new("DDDSU", 10).unwrap())))
        .ue(UeSetting::new(mcs(15)).bearer(RlcSetting::nr_am(), 1));
    let mut cell = Cell::new(setting, 3, "cell").unwrap();
    let arrivals = full_queue(1200, 3_000);
    let host = drive(&mut cell, &arrivals, 4_000 * MS);
    audit(&cell, &host, &arrivals);
    let handles: Vec<u64> = host.delivered().map(|(_, _, handle, _)| handle).collect();
    assert_eq!(handles.len(), 3_000, "acknowledged mode loses nothing");
    // Three of ten transmissions are lost, so that as many slots of a carrier have a repetition. Nothing is sent in slots that
    // have one on both carriers, or one on the first while the second has an uplink slot: 0.3 (0.2 + 0.8 * 0.3).
    let served: Vec<_> =
        host.served(0).map(|(_, served)| served).filter(|served| served.remaining_packets > 100).collect();
    let starved = served.iter().filter(|served| served.sent_bytes == 0).count();
    let share = starved as f64 / served.len() as f64;
    assert!((share - 0.132).abs() < 0.03, "{starved} of {}", served.len());
}

/// Data that the primary cell alone can carry leaves the secondary cell idle.
#[test]
fn the_primary_cell_is_first() {
    let setting = CellSetting::new(lte(25))
        .scell(ScellSetting::new(lte(25)))
        .ue(UeSetting::new(mcs(28)).bearer(RlcSetting::lte_um(), 1));
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let arrivals: Vec<Arrival> = (0..100).map(|n| (n * 5 * MS + 1, 0, 1000)).collect();
    let host = drive(&mut cell, &arrivals, 600 * MS);
    assert_eq!(host.delivered().count(), 100);
    // A packet of 1000 bytes needs part of one carrier: as many resource blocks as in a cell of one carrier.
    let mut alone = Cell::new(
        CellSetting::new(lte(25)).ue(UeSetting::new(mcs(28)).bearer(RlcSetting::lte_um(), 1)),
        1,
        "cell",
    )
    .unwrap();
    let single = drive(&mut alone, &arrivals, 600 * MS);
    assert_eq!(cell.usage(host.now).used_rbs, alone.usage(single.now).used_rbs);
    assert_eq!(host.delivered().collect::<Vec<_>>(), single.delivered().collect::<Vec<_>>());
}

#[test]
fn impossible_carriers_are_refused() {
    let ue = || UeSetting::new(mcs(20)).bearer(RlcSetting::nr_um(), 1);
    let build = |setting: CellSetting| Cell::new(setting, 1, "cell").err();
    let other = Carrier::nr(0, 51, McsTable::Qam64, 1, Overhead::default()).unwrap();
    let slots = build(CellSetting::new(nr(51, 1)).scell(ScellSetting::new(other)).ue(ue()));
    assert!(matches!(slots, Some(CellError::SlotOfScell { scell: 0, .. })), "{slots:?}");
    let mixed = build(CellSetting::new(nr(51, 1)).scell(ScellSetting::new(lte(50))).ue(ue()));
    assert!(matches!(mixed, Some(CellError::SlotOfScell { .. })), "{mixed:?}");
    let high = build(
        CellSetting::new(nr(51, 1)).scell(ScellSetting::new(nr(51, 1)).channel(mcs(28), Span::ZERO)).ue(ue()),
    );
    assert!(matches!(high, Some(CellError::RadioOfScell { scell: 0, ue: 0, .. })), "{high:?}");
}
