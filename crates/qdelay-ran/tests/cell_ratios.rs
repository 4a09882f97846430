//! Cells whose slices have policy ratios (3GPP TS 28.541 clause 4.3.36), in frequency and in time division duplex: what their
//! resource blocks carried is compared with the ratios, by the cell's accounts alone.

use crate::cell_common::*;
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_ran::cell::Rrm;
use qdelay_ran::radio::{Bler, Channel, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::slice::Ratios;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{Cell, CellError, CellSetting, CellSlice, HarqSetting, UeSetting};
use qdelay_testing::for_each_seed;

/// Duration of a slot: half a millisecond.
const SLOT: u64 = MS / 2;
/// Patterns of slots; the first is frequency division duplex.
const PATTERNS: [&str; 4] = ["", "DDDSU", "DSUUD", "DDDDDDDSUU"];

fn at(slot: u64) -> Time {
    Time::from_nanos(slot * SLOT)
}
/// NR with slots of 0.5 ms.
fn nr(prbs: u16, window_slots: u64, pattern: &str) -> CellSetting {
    let carrier = Carrier::nr(1, prbs, McsTable::Qam256, 2, Overhead::default()).unwrap();
    let tdd = (!pattern.is_empty()).then(|| Tdd::new(pattern, 10).unwrap());
    let window = Span::from_nanos(window_slots * SLOT);
    CellSetting::new(carrier).tdd(tdd).partition(Rrm { window }.into())
}
fn slice((dedicated, min, max): (u32, u32, u32), bearers: Vec<usize>) -> CellSlice {
    let agreed = Ratios::from_percent(dedicated, min, max).unwrap().into();
    CellSlice { name: String::new(), agreed, scheduler: None, bearers }
}
fn ue(mcs: u8, bearers: usize) -> UeSetting {
    let ue = UeSetting::new(Channel::Mcs(Mcs(mcs)));
    (0..bearers).fold(ue, |ue, _| ue.bearer(RlcSetting::nr_um(), 1))
}
fn is_uplink(pattern: &str, tti: u64) -> bool {
    !pattern.is_empty() && pattern.as_bytes()[(tti % pattern.len() as u64) as usize] == b'U'
}

/// Slices of random ratios with random loads, among them UEs with bearers in two slices.
#[test]
fn cells_keep_the_ratios_of_their_slices() {
    let (mut windows, mut full, mut idle_dedicated, mut at_min) = (0, 0, 0, 0);
    for_each_seed(120, |seed| {
        let mut random = Random::derive(seed, "ratios", "cell");
        let prbs = [51, 106, 273][random.below(3) as usize];
        let pattern = PATTERNS[random.below(4) as usize];
        let window_ttis = 10 * (1 + random.below(4));
        let bler = if random.below(2) == 0 { 0.0 } else { 0.2 };
        let harq = HarqSetting { bler: Bler::new(bler, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
        let mut setting = nr(prbs, window_ttis, pattern).harq(harq);
        let group = u64::from(setting.carrier().rbg_prbs());
        // Two bearers of each UE, in one slice or in two.
        let count = 2 + random.below(3) as usize;
        let mut of_slice = vec![Vec::new(); count];
        for number in 0..count + random.below(3) as usize {
            setting = setting.ue(ue(5 + random.below(20) as u8, 2));
            of_slice[number % count].push(2 * number);
            of_slice[random.below(count as u64) as usize].push(2 * number + 1);
        }
        let mut left = 100;
        let mut ratios = Vec::new();
        let mut loads = Vec::new();
        for bearers in &of_slice {
            let min = [0, 20.min(left), random.below(u64::from(left) + 1) as u32][random.below(3) as usize];
            left -= min;
            let min = if min < 10 { 0 } else { min };
            let dedicated = if random.below(2) == 0 || min < 20 { 0 } else { min / 2 };
            let max = if random.below(2) == 0 { 100 } else { min.max(30) };
            ratios.push((dedicated, min, max));
            loads.push(random.below(3));
            setting = setting.with_slice(slice((dedicated, min, max), bearers.clone()));
        }
        let mut cell = Cell::new(setting, seed, "cell").unwrap();
        let mut host = Host::new(cell.bearers());
        let mut handle = 0;
        let (mut rbs, mut got, mut steady) = (0, vec![0; count], vec![true; count]);
        let mut before = cell.slices(Time::ZERO);
        let mut usage_before = cell.usage(Time::ZERO);
        // The first TTI comes with the first packets, which it is too early for.
        for tti in 1..10 * window_ttis {
            if tti % window_ttis == 0 || tti == 1 {
                (rbs, got, steady) = (0, vec![0; count], vec![true; count]);
            }
            for (slice, bearers) in of_slice.iter().enumerate() {
                // Always much, a packet now and then, or bursts.
                let is_on = match loads[slice] {
                    0 => true,
                    1 => random.below(8) == 0,
                    _ => tti / 37 % 2 == slice as u64 % 2,
                };
                let want = if loads[slice] == 1 { 1 } else { 60 };
                for &bearer in bearers.iter().filter(|_| is_on) {
                    while host.queues[bearer].len() < want {
                        let packet = Packet { handle, bytes: 1400, ..Packet::default() };
                        arrive(&mut cell, &mut host, bearer, packet);
                        handle += 1;
                    }
                }
            }
            advance(&mut cell, &mut host, at(tti));
            let (now, usage) = (cell.slices(at(tti)), cell.usage(at(tti)));
            let repeated = usage.repeated_rbs - usage_before.repeated_rbs;
            let offered = usage.offered_rbs - usage_before.offered_rbs;
            assert_eq!(usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
            assert_eq!(offered == 0, is_uplink(pattern, tti), "seed {seed}: {tti}");
            let whole = (offered - repeated) / group * group;
            if tti == 1 {
                // The RBs of TTI 0 belong to the window.
                rbs += u64::from(prbs) / group * group;
            }
            rbs += whole;
            let used: Vec<u64> =
                now.iter().zip(&before).map(|(now, before)| now.used_rbs - before.used_rbs).collect();
            assert_eq!(used.iter().sum::<u64>(), usage.used_rbs - usage_before.used_rbs - repeated);
            let policy = |slice: usize| now[slice].policy.unwrap_or_default();
            let withheld: u64 = (0..count)
                .map(|slice| {
                    policy(slice).idle_dedicated_rbs
                        - before[slice].policy.unwrap_or_default().idle_dedicated_rbs
                })
                .sum();
            idle_dedicated += withheld;
            for slice in 0..count {
                got[slice] += used[slice];
                assert_eq!(policy(slice).idle_granted_rbs, 0, "seed {seed}: whatever is granted is used");
                // Packets wait that came before the TTI, and their UE repeats no block.
                let waits: usize = of_slice[slice].iter().map(|&bearer| host.queues[bearer].len()).sum();
                steady[slice] &= loads[slice] == 0 && waits > 20 && bler == 0.0;
                let (dedicated, min, max) = ratios[slice];
                let place = format!("seed {seed}, TTI {tti}, slice {slice} of {ratios:?}: {got:?} of {rbs}");
                assert!(
                    100 * got[slice] <= u64::from(max) * rbs
                        || 100 * got[slice] < u64::from(min) * rbs + 100 * group,
                    "above the maximum: {place}"
                );
                let others = 100 * (got.iter().sum::<u64>() - got[slice]);
                let waking = ratios.iter().filter(|ratios| ratios.0 > 0).count() as u64;
                assert!(
                    others < u64::from(100 - dedicated) * rbs + 100 * group * (1 + waking),
                    "dedicated: {place}"
                );
                if tti >= window_ttis && steady[slice] && whole > 0 {
                    let least = u64::from(min) * rbs;
                    assert!(100 * (got[slice] + group * (1 + waking)) > least, "below the minimum: {place}");
                    at_min += u64::from(min > 0);
                }
                let has_room = 100 * (got[slice] + group) <= u64::from(max) * rbs;
                if steady[slice] && has_room && whole > 0 {
                    assert_eq!(
                        used.iter().sum::<u64>() + withheld,
                        whole,
                        "idle beside a slice with data: {place}"
                    );
                    full += 1;
                }
            }
            windows += u64::from((tti + 1) % window_ttis == 0);
            (before, usage_before) = (now, usage);
        }
        // Lent is what is left: nothing is charged twice, and what is charged to no slice is idle.
        let charged: u64 =
            before.iter().map(|slice| slice.used_rbs + slice.wasted_rbs + slice.unfit_rbs).sum();
        assert!(charged <= usage_before.offered_rbs - usage_before.repeated_rbs, "seed {seed}");
    });
    assert!(
        windows > 500 && full > 5000 && idle_dedicated > 1000 && at_min > 1000,
        "{windows} {full} {idle_dedicated} {at_min}"
    );
}

/// Two bearers of one UE in two slices: one block, of which each has its part.
#[test]
fn a_ue_with_two_bearers_in_two_slices() {
    for pattern in PATTERNS {
        let setting = nr(106, 20, pattern)
            .ue(ue(20, 2))
            .with_slice(slice((0, 25, 25), vec![0]))
            .with_slice(slice((0, 0, 100), vec![1]));
        let group = u64::from(setting.carrier().rbg_prbs());
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let arrivals: Vec<Arrival> = (0..4000).map(|n| (0, n % 2, 1000)).collect();
        let host = drive(&mut cell, &arrivals, 20 * SLOT * 4 - 1);
        audit(&cell, &host, &arrivals);
        let slices = cell.slices(at(79));
        let usage = cell.usage(at(79));
        // All but the first TTI, which came with the packets, and a last group that is not whole.
        let (first, last) = (106 / group * group, 106 % group);
        let offered = usage.offered_rbs - (usage.offered_rbs / 106 * last);
        assert_eq!(slices[0].used_rbs + slices[1].used_rbs, offered - first, "{pattern}");
        let due = offered / 4;
        assert!(slices[0].used_rbs.abs_diff(due) <= 4 * group, "{pattern}: {} of {due}", slices[0].used_rbs);
        assert_eq!(slices[0].granted_rbs, due);
    }
}

/// A special slot carries what its symbols carry, and an uplink slot nothing.
#[test]
fn special_slots_carry_less_and_uplink_slots_nothing() {
    let setting = nr(51, 20, "DDDSU").ue(ue(20, 1)).with_slice(slice((0, 0, 100), vec![0]));
    let carrier = setting.carrier().clone();
    let special = Tdd::new("DDDSU", 10).unwrap().special(&carrier).unwrap().unwrap();
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let arrivals: Vec<Arrival> = (0..4000).map(|_| (0, 0, 1000)).collect();
    let host = drive(&mut cell, &arrivals, 20 * SLOT);
    let whole = 51 / carrier.rbg_prbs() * carrier.rbg_prbs();
    let slots: Vec<u64> = host
        .served(0)
        .map(|(time, served)| {
            let slot = time / SLOT;
            let bytes = match slot % 5 {
                4 => 0,
                3 => special.block_bytes(20, whole),
                _ => carrier.block_bytes(20, whole),
            };
            assert_eq!(served.capacity_bytes, u64::from(bytes), "slot {slot}");
            slot
        })
        .collect();
    assert_eq!(slots, (1..=20).collect::<Vec<u64>>());
}

/// The capacity that a pacer hears of: what the bearer's slice could have had, up to its maximum, and less what others used.
#[test]
fn the_capacity_is_what_the_slice_could_have_had() {
    // Windows of a slot with twelve groups of four RBs: at most half of them, and others' dedicated groups are no one else's.
    let capacity = |other: (u32, u32, u32), load: usize| {
        let setting = nr(51, 1, "").ue(ue(20, 1)).ue(ue(20, 1));
        let setting = setting.with_slice(slice((0, 10, 50), vec![0])).with_slice(slice(other, vec![1]));
        let carrier = setting.carrier().clone();
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let mut arrivals: Vec<Arrival> = vec![(0, 0, 100)];
        arrivals.extend(vec![(0, 1, 1000); load]);
        let host = drive(&mut cell, &arrivals, SLOT);
        let (_, served) = host.served(0).next().unwrap();
        (0..=12).find(|&groups| u64::from(carrier.block_bytes(20, 4 * groups)) == served.capacity_bytes)
    };
    assert_eq!(capacity((0, 0, 100), 0), Some(6), "up to its maximum");
    assert_eq!(capacity((75, 75, 100), 0), Some(3), "nine groups are dedicated to the other");
    assert_eq!(capacity((0, 0, 100), 100), Some(1), "the other uses the rest");
}

#[test]
fn ratios_of_less_than_a_group_are_refused() {
    let cell = |ratios, window_slots, pattern| {
        let setting = nr(273, window_slots, pattern).ue(ue(20, 2));
        let setting = setting.with_slice(slice(ratios, vec![0])).with_slice(slice((0, 0, 100), vec![1]));
        Cell::new(setting, 1, "cell").map(|_| ())
    };
    assert_eq!(cell((1, 1, 100), 20, ""), Ok(()));
    let error = cell((0, 5, 100), 1, "").unwrap_err();
    assert!(matches!(
        error,
        CellError::RatioOfNothing { slice: 0, key: "min", window_rbs: 272, rbg_rbs: 16, .. }
    ));
    let message = "5% of the 272 resource blocks of an averaging window is less than a group of 16; expected at least 5.89%, or 0%, or a longer window";
    assert_eq!(error.to_string(), message);
    assert_eq!(cell((0, 6, 100), 1, ""), Ok(()));
    // A window of two slots of DDDSU may be a special slot and an uplink slot, or an uplink slot and a whole one.
    assert_eq!(cell((0, 6, 100), 2, "DDDSU"), Ok(()));
    assert!(matches!(cell((0, 3, 100), 2, "DDDSU"), Err(CellError::RatioOfNothing { window_rbs: 272, .. })));
    let message = cell((0, 50, 100), 1, "DDDSU").unwrap_err().to_string();
    assert!(message.contains("an averaging window without a slot that carries downlink data"), "{message}");
    assert!(matches!(cell((0, 0, 1), 2, ""), Err(CellError::RatioOfNothing { slice: 0, key: "max", .. })));
    let short = nr(273, 20, "").partition(Rrm { window: Span::from_micros(400) }.into()).ue(ue(20, 1));
    let message =
        Cell::new(short.with_slice(slice((0, 0, 100), vec![0])), 1, "cell").unwrap_err().to_string();
    assert_eq!(message, "an averaging window of 400us; expected at least the TTI, 500us");
    let full = nr(273, 20, "")
        .ue(ue(20, 2))
        .with_slice(slice((0, 60, 60), vec![0]))
        .with_slice(slice((0, 50, 50), vec![1]));
    assert_eq!(
        Cell::new(full, 1, "cell").unwrap_err().to_string(),
        "minima of 110% in all; expected at most 100"
    );
}
