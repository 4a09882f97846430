//! Cells with rank adaptation: blocks, losses and throughput against closed forms, and refused settings.

use crate::cell_common::*;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_ran::cell::CellError;
use qdelay_ran::radio::{
    ADAPTATIONS, Capacity, Channel, Combining, CqiTrace, Decoding, Fading, OllaSetting, Quality, RadioError,
    Reported, Tdd,
};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::slice::Share;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::*;
use qdelay_trace::{CapacitySteps, CqiStep, CqiSteps};

const SLOT_NS: u64 = 500_000;

fn nr(layers: u8) -> Carrier {
    Carrier::nr(1, 51, McsTable::Qam256, layers, Overhead::default()).unwrap()
}
fn steady(snr_db: f64) -> Fading {
    Fading { snr_db, deviation_db: 0.0, rayleigh: false, ..Fading::default() }
}
/// Loss by SNR that falls by `slope_db` for each dB.
fn by_snr(slope_db: f64) -> HarqSetting {
    let decoding = Decoding::Snr { slope_db, combining: Combining::None };
    HarqSetting { decoding, ..HarqSetting::default() }
}
fn ue(channel: impl Into<Channel>) -> UeSetting {
    UeSetting::new(channel.into()).bearer(RlcSetting::nr_um(), 1)
}
/// SNR in dB at which each of `rank` layers of `antennas` receives `efficiency` bits by 0.75 of Shannon's bound.
fn needed_db(antennas: u8, rank: u8, efficiency: f64) -> f64 {
    let layer = 2_f64.powf(efficiency / 0.75) - 1.0;
    10.0 * (layer * f64::from(rank) / f64::from(antennas - rank + 1)).log10()
}

/// Queues that never run empty, and the bytes taken for each bearer.
struct Endless(Vec<u64>);

impl Source for Endless {
    fn backlog(&self, _: usize) -> Backlog {
        Backlog { packets: 1000, bytes: 1_500_000 }
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

/// Runs `slots` slots of `setting` with endless queues; returns the cell and the bytes taken for each bearer.
fn run_full(setting: CellSetting, slots: u64) -> (Cell, Vec<u64>) {
    let mut cell = Cell::new(setting, 3, "cell").unwrap();
    let mut host = Endless(vec![0; cell.bearers()]);
    (0..cell.bearers()).for_each(|bearer| cell.wake(Time::ZERO, bearer));
    while cell.next_deadline() < Time::from_nanos(slots * SLOT_NS) {
        cell.run(cell.next_deadline(), &mut host);
    }
    (cell, host.0)
}

/// TS 38.214 5.1.3.2, steps 2 to 4, for one codeword of more than 3824 bits at a code rate above 1/4.
fn large_block_bytes(elements: f64, rate: f64, modulation: f64, layers: f64) -> f64 {
    let info = elements * rate * modulation * layers;
    let step = 2_f64.powf((info - 24.0).log2().floor() - 5.0);
    let quantized = (step * ((info - 24.0) / step).round()).max(3840.0);
    let blocks = if quantized > 8424.0 { ((quantized + 24.0) / 8424.0).ceil() } else { 1.0 };
    (8.0 * blocks * ((quantized + 24.0) / (8.0 * blocks)).ceil() - 24.0) / 8.0
}

/// The cell offers in each slot the block of the reported rank and MCS, computed by hand. Rows: layers, SNR, rank, code rate in
/// 1/1024 and modulation of the CQI.
#[test]
fn a_steady_cell_carries_the_blocks_of_its_rank() {
    let rows = [
        // Layers have 4 / 1, 3 / 2, 2 / 3 and 1 / 4 of 5 dB: 0.75 of Shannon's bound is 2.82, 1.89, 1.22 and 0.63 bits.
        // CQI 7 (2.7305) on one layer, CQI 4 (1.4766) on two, CQI 3 (0.8770) on three, CQI 2 (0.3770) on four.
        (4, 5.0, 2, 378.0, 4.0),
        // 15 dB: 5.25, 4.20, 3.35 and 2.38 bits: 5.1152, 2 * 3.9023, 3 * 3.3223 and 4 * 1.9141.
        (4, 15.0, 3, 567.0, 6.0),
        // 30 dB: 8.98, 7.92, 7.04 and 5.98 bits: 4 * 5.5547 is the most.
        (4, 30.0, 4, 711.0, 8.0),
        // 2 layers, 10 dB: 3.29 and 1.94 bits: 2.7305 and 2 * 1.9141.
        (2, 10.0, 2, 490.0, 4.0),
    ];
    for (layers, snr_db, rank, rate, modulation) in rows {
        let setting = CellSetting::new(nr(layers).adapt_rank()).harq(by_snr(1000.0)).ue(ue(steady(snr_db)));
        let (cell, _) = run_full(setting, 100);
        // 12 subcarriers on 13 symbols less one of reference signals, 51 resource blocks.
        let bytes = large_block_bytes(144.0 * 51.0, rate / 1024.0, modulation, f64::from(rank));
        let now = Time::from_nanos(99 * SLOT_NS);
        assert_eq!(cell.usage(now).offered_bytes as f64, 100.0 * bytes, "{layers} {snr_db}");
        assert_eq!(cell.rank(now), Some(f64::from(rank)));
        let efficiency = rate * modulation / 1024.0;
        let mcs = (0..=27).find(|&mcs| (nr(1).mcs_efficiency(mcs) - efficiency).abs() < 1e-9);
        assert_eq!(cell.mcs(now), mcs.map(f64::from), "a mean MCS, not a rung");
    }
}

/// With one antenna, rank adaptation changes nothing.
#[test]
fn one_layer_is_the_same_with_adaptation() {
    let fading = Fading { block: ms(3), coherence: ms(20), ..Fading::default() };
    let run = |carrier| {
        let reported = Reported { delay: ms(6), period: ms(20) };
        let olla = OllaSetting::build(&Arguments::parse(ADAPTATIONS, "olla").unwrap());
        let ue = ue(fading).reported(reported).olla(Some(olla));
        let (cell, bytes) = run_full(CellSetting::new(carrier).harq(by_snr(2.2)).ue(ue), 20_000);
        let air = cell.air(Time::from_nanos(20_000 * SLOT_NS))[0];
        (bytes, air.lost, air.blocks, air.offsets_db, cell.mcs(Time::from_nanos(20_000 * SLOT_NS)))
    };
    assert_eq!(run(nr(1)), run(nr(1).adapt_rank()));
}

/// At the SNR at which a pair of a rank and a CQI is reported first, one block in ten is lost.
#[test]
fn one_block_in_ten_is_lost_at_the_threshold() {
    for (antennas, rank, cqi) in [(2, 2, 7), (4, 2, 5), (4, 3, 9), (8, 4, 6), (8, 8, 12)] {
        let carrier = nr(antennas).adapt_rank();
        let at = needed_db(antennas, rank, carrier.cqi_efficiency(cqi)) + 1e-9;
        let setting = CellSetting::new(carrier.clone()).harq(by_snr(2.2)).ue(ue(steady(at)));
        let (cell, _) = run_full(setting, 40_000);
        let now = Time::from_nanos(40_000 * SLOT_NS);
        let air = cell.air(now)[0];
        assert_eq!((air.layers, cell.rank(now)), (air.blocks * u64::from(rank), Some(f64::from(rank))));
        assert_eq!(cell.mcs(now), carrier.mcs(carrier.usual_mapping(), cqi).map(f64::from));
        let share = air.lost as f64 / air.blocks as f64;
        let deviation = (0.1 * 0.9 / air.blocks as f64).sqrt();
        assert!(air.blocks > 30_000 && (share - 0.1).abs() < 4.0 * deviation, "{rank} {cqi}: {share}");
    }
}

/// The steps of the offset cancel at the target, as on one layer, while reports change the rank.
#[test]
fn olla_loses_its_target_share_with_late_reports() {
    let channel = "fading:snr=12:deviation=2:fast=none:block=3ms:memory=40ms";
    for (target, step_db) in [(0.05, 0.2), (0.1, 0.5), (0.3, 1.0)] {
        let olla = format!("olla:target={}%:step={step_db}:limit=8", target * 100.0);
        let olla = OllaSetting::build(&Arguments::parse(ADAPTATIONS, &olla).unwrap());
        let reported = Reported { delay: ms(6), period: ms(20) };
        let ue = ue(Channel::parse(channel).unwrap()).reported(reported).olla(Some(olla));
        let (cell, _) = run_full(CellSetting::new(nr(4).adapt_rank()).harq(by_snr(2.2)).ue(ue), 100_000);
        let air = cell.air(Time::from_nanos(100_000 * SLOT_NS))[0];
        let found = air.lost as f64 / air.blocks as f64;
        let bound = 8.0 * 2.0 * (1.0 - target) / (air.blocks as f64 * step_db);
        assert!((found - target).abs() <= bound, "{target}: {found}, bound {bound}");
        let rank = air.layers as f64 / air.blocks as f64;
        assert!(
            air.blocks > 50_000 && (1.5..3.5).contains(&rank) && (rank - rank.round()).abs() > 0.001,
            "{rank}"
        );
    }
}

/// Rungs of special slots are the blocks of their layers on fewer symbols, and a pattern offers the sum of its slots.
#[test]
fn special_slots_carry_each_rank() {
    let tdd = Tdd::new("DDDSU", 10).unwrap();
    for layers in [1, 2, 4, 8] {
        let carrier = nr(layers).adapt_rank();
        let special = tdd.special(&carrier).unwrap().unwrap();
        for rank in 1..=layers {
            let overhead = Overhead { symbols: 9, ..Overhead::default() };
            let short = Carrier::nr(1, 51, McsTable::Qam256, rank, overhead).unwrap();
            for mcs in 0..=27 {
                let rung = carrier.rung(rank, mcs);
                for prbs in [0, 1, 17, 51] {
                    assert_eq!(special.rung_bytes(rung, prbs), short.block_bytes(mcs, prbs));
                    assert_eq!(carrier.rung_bytes(rung, prbs), nr(rank).block_bytes(mcs, prbs));
                }
            }
            assert_eq!(carrier.clone().of_uplink().block_bytes(20, 51), nr(layers).block_bytes(20, 51));
        }
        let snr_db = 18.0;
        let setting = CellSetting::new(carrier.clone()).tdd(Some(tdd.clone())).harq(by_snr(1000.0));
        let (cell, _) = run_full(setting.ue(ue(steady(snr_db))), 500);
        let mut radio = Channel::from(steady(snr_db))
            .start(&carrier, carrier.slot(), Reported::default(), 1, "ue")
            .unwrap();
        let Quality::Rung(rung) = radio.quality(Time::ZERO) else { panic!() };
        let expected = 100 * (3 * carrier.rung_bytes(rung, 51) + special.rung_bytes(rung, 51));
        assert_eq!(cell.usage(Time::from_nanos(499 * SLOT_NS)).offered_bytes, u64::from(expected));
    }
}

/// Taken bytes of a hundred slots on this carrier, almost without losses.
fn carried(carrier: Carrier, snr_db: f64) -> u64 {
    let setting = CellSetting::new(carrier).harq(by_snr(1000.0)).ue(ue(steady(snr_db)));
    run_full(setting, 100).1[0]
}

/// More SNR never carries less, and no fixed rank carries more at the SNR of its layers.
#[test]
fn throughput_grows_with_the_snr_and_is_that_of_the_best_rank() {
    for layers in [1, 2, 4, 8] {
        let mut before = 0;
        for step in 0..=135 {
            let snr_db = -10.0 + 0.37 * f64::from(step) + 0.011;
            let bytes = carried(nr(layers).adapt_rank(), snr_db);
            // Sizes of blocks are quantized: pairs of nearly equal rates may differ by some bytes the other way.
            assert!(bytes as f64 >= 0.99 * before as f64, "{layers} {snr_db}: {bytes} after {before}");
            before = bytes.max(before);
            for rank in 1..=layers {
                let gain_db = 10.0 * (f64::from(layers - rank + 1) / f64::from(rank)).log10();
                // A fixed rank at CQI 1 sends MCS 0, which is faster than CQI 1: a step of the CQI beyond its report.
                if snr_db + gain_db < needed_db(1, 1, nr(1).cqi_efficiency(2)) {
                    continue;
                }
                let fixed = carried(nr(rank), snr_db + gain_db);
                assert!(bytes as f64 >= 0.99 * fixed as f64, "{layers} {snr_db} {rank}: {bytes} of {fixed}");
            }
        }
    }
}

/// With losses by the default slope, more SNR costs at most the one block in ten that a pair loses where it begins.
#[test]
fn losses_at_thresholds_cost_at_most_one_block_in_ten() {
    let mut most = 0.0_f64;
    for step in 0..=200 {
        let snr_db = -10.0 + 0.25 * f64::from(step);
        let harq = HarqSetting { retransmissions: 0, ..by_snr(2.2) };
        let setting = CellSetting::new(nr(4).adapt_rank()).harq(harq).ue(ue(steady(snr_db)));
        let (cell, bytes) = run_full(setting, 2000);
        let air = cell.air(Time::from_nanos(2000 * SLOT_NS))[0];
        let decoded = bytes[0] as f64 * (1.0 - air.lost as f64 / air.blocks.max(1) as f64);
        assert!(decoded >= 0.87 * most, "{snr_db}: {decoded} after {most}");
        most = most.max(decoded);
    }
}

/// A slice of the whole cell carries what the cell carries, to the part that its tables round away.
#[test]
fn slices_carry_every_rank() {
    for (layers, snr_db) in [(2, 3.0), (4, 15.0), (8, 25.0)] {
        let partition = Partition::parse("fp").unwrap();
        let agreed = Share::from_percent(100).unwrap().into();
        let slice = CellSlice { name: String::new(), agreed, scheduler: None, bearers: vec![0] };
        let setting = CellSetting::new(nr(layers).adapt_rank()).harq(by_snr(1000.0)).ue(ue(steady(snr_db)));
        let (_, divided) = run_full(setting.clone().partition(partition).with_slice(slice), 100);
        let (_, whole) = run_full(setting, 100);
        assert!(divided[0] as f64 > 0.9 * whole[0] as f64, "{layers}: {divided:?} of {whole:?}");
    }
}

#[test]
fn what_has_no_snr_is_refused() {
    let step = CqiStep { start: Time::ZERO, cqi: 9 };
    let trace = CqiSteps::new(vec![step], Span::from_secs(9)).unwrap();
    let values = CapacitySteps::new(vec![6, 3]).unwrap();
    let channels = [
        Channel::parse("mcs:9").unwrap(),
        Channel::parse("cqi:9").unwrap(),
        Channel::CqiTrace(CqiTrace { trace, repeat: true, mapping: None }),
        Channel::Capacity(Capacity { trace: values, tick: ms(10), spread: true, repeat: true }),
    ];
    for channel in channels {
        let started = channel.start(&nr(2).adapt_rank(), ms(1), Reported::default(), 1, "ue");
        assert_eq!(started.err(), Some(RadioError::Rank), "{channel:?}");
        assert!(channel.start(&nr(2), ms(1), Reported::default(), 1, "ue").is_ok());
        let setting = CellSetting::new(nr(2).adapt_rank()).harq(by_snr(2.2)).ue(ue(channel));
        let refused = Cell::new(setting, 1, "cell").unwrap_err();
        assert_eq!(refused, CellError::Radio { ue: 0, error: RadioError::Rank });
        assert!(refused.to_string().contains("expected fading"), "{refused}");
    }
    let steps = CellSetting::new(nr(2).adapt_rank()).ue(ue(steady(9.0)));
    let refused = Cell::new(steps, 1, "cell").unwrap_err();
    assert_eq!(refused, CellError::RankBySteps);
    assert!(refused.to_string().contains("expected the decoding snr"), "{refused}");
    let lte = Carrier::lte(25).unwrap().adapt_rank();
    assert!(!lte.adapts_rank() && lte.block_bytes(28, 25) == 2292, "LTE has none");
}
