//! Cells with slices. Elastic quantum partition is compared with a model that runs every TTI, tries every
//! choice, and is written from the text of the 5G QoS thesis (section 4.4); a slice of the fixed partition
//! with a cell of its own size; and properties are checked in any case.

use crate::cell_common::*;
use crate::slices_model::Model;
use proptest::prelude::*;
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_ran::cell::{Elastic, Fixed, Rrm};
use qdelay_ran::mac::Eqp;
use qdelay_ran::radio::{Bler, Channel, Control, Mcs, Tdd};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::slice::{Ratios, Share};
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{
    Cell, CellSetting, CellSlice, HarqSetting, Partition, Scheduler, Sharing, SliceUsage, UeSetting,
};

fn slice(percent: u32, bearers: Vec<usize>) -> CellSlice {
    let agreed = Share::from_percent(percent).unwrap().into();
    CellSlice { name: String::new(), agreed, scheduler: None, bearers }
}
fn lte() -> CellSetting {
    CellSetting::new(Carrier::lte(25).unwrap()).air(Span::ZERO)
}
fn ue(mcs: u8, rlc: RlcSetting, bearers: usize) -> UeSetting {
    (0..bearers).fold(UeSetting::new(Channel::Mcs(Mcs(mcs))), |ue, _| ue.bearer(rlc, 1))
}
/// Patterns of LTE's slots; the first is frequency division duplex.
const PATTERNS: [&str; 4] = ["", "DSUUD", "DSUDDDDDDD", "DDDSU"];

fn tdd(pattern: &str) -> Option<Tdd> {
    (!pattern.is_empty()).then(|| Tdd::new(pattern, 10).unwrap())
}
fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}
/// The host's log without reported capacities.
fn moves(host: &Host) -> Vec<Event> {
    host.log.iter().copied().filter(|event| !matches!(event.what, Notice::Served(_))).collect()
}

/// The example of the thesis in its testbed: 6 and 18 of 25 RBs; the last RB belongs to no slice.
#[test]
fn the_fixed_partition_gives_the_shares_of_the_testbed() {
    let carrier = Carrier::lte(25).unwrap();
    let rlc = RlcSetting::transparent();
    let setting = lte()
        .partition(Partition::Fixed(Fixed))
        .with_slice(slice(25, vec![0]))
        .with_slice(slice(75, vec![1]))
        .ue(ue(28, rlc, 1))
        .ue(ue(28, rlc, 1));
    let mut cell = Cell::new(setting, 1, "cell").unwrap();
    let arrivals: Vec<Arrival> = (0..200).map(|n| (0, n % 2, 100)).collect();
    let host = drive(&mut cell, &arrivals, 2 * MS + 1);
    let sent = |bearer: usize, ms: u64| {
        let departed = host.log.iter().filter(|event| event.bearer == bearer && event.time == ms * MS);
        departed.filter(|event| matches!(event.what, Notice::Departed(_))).count() as u32 * 100
    };
    let block = |prbs| carrier.block_bytes(28, prbs) / 100 * 100;
    for ms in 1..=2 {
        assert_eq!((sent(0, ms), sent(1, ms)), (block(6), block(18)), "{ms} ms");
    }
    let usage = cell.usage(at(2 * MS));
    assert_eq!((usage.used_rbs, usage.unfit_rbs, usage.wasted_rbs), (48, 2, 25));
    let got: Vec<(u64, u64, u64, u64)> = cell
        .slices(at(2 * MS))
        .iter()
        .map(|s| (s.granted_rbs, s.used_rbs, s.wasted_rbs, s.unfit_rbs))
        .collect();
    assert_eq!(got, [(18, 12, 6, 0), (54, 36, 18, 0)], "the first TTI had no data");
    audit(&cell, &host, &arrivals);
}

/// Two bearers of one UE in two slices: one block, which holds exactly the grants of both.
#[test]
fn one_block_holds_the_grants_of_two_slices() {
    let rlc = RlcSetting::transparent();
    for (partition, both) in
        [(Partition::Fixed(Fixed), true), (Partition::Elastic(Elastic { limit_rbs: 100 }), true)]
    {
        let setting = lte()
            .partition(partition)
            .with_slice(slice(25, vec![0]))
            .with_slice(slice(75, vec![1]))
            .ue(ue(20, rlc, 2));
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let arrivals: Vec<Arrival> = (0..400).map(|n| (0, n % 2, 50)).collect();
        let host = drive(&mut cell, &arrivals, MS + 1);
        let sent = |bearer: usize| host.log.iter().filter(|event| event.bearer == bearer).count();
        assert_eq!(sent(0) > 0 && sent(1) > 0, both);
        let carrier = Carrier::lte(25).unwrap();
        let departed =
            host.log.iter().filter(|event| matches!(event.what, Notice::Departed(_))).count() as u32;
        assert!(departed * 50 <= carrier.block_bytes(20, 24));
        if partition == Partition::Fixed(Fixed) {
            let first =
                host.log.iter().filter(|e| e.bearer == 0 && matches!(e.what, Notice::Departed(_))).count();
            assert_eq!(first as u32, carrier.block_bytes(20, 6) / 50, "nothing is lent");
        }
        let slices = cell.slices(at(MS));
        assert_eq!(slices.iter().map(|slice| slice.used_rbs).sum::<u64>(), 24);
    }
}

/// Packets chosen by elastic quantum partition are whole in that TTI, with all headers that RLC adds.
#[test]
fn large_packets_are_sent_whole_one_after_the_other() {
    for rlc in [RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::lte_am(), RlcSetting::nr_am()] {
        let run = |partition| {
            let mut setting = lte().partition(partition);
            for n in 0..4 {
                setting = setting.with_slice(slice(25, vec![n])).ue(ue(28, rlc, 1));
            }
            let mut cell = Cell::new(setting, 1, "cell").unwrap();
            // Each packet takes most of a TTI.
            let arrivals: Vec<Arrival> = (0..4).map(|n| (0, n, 2040)).collect();
            let host = drive(&mut cell, &arrivals, 20 * MS);
            audit(&cell, &host, &arrivals);
            host.delivered().map(|(time, ..)| time / MS).collect::<Vec<_>>()
        };
        assert_eq!(run(Partition::Elastic(Elastic { limit_rbs: 100 })), [1, 2, 3, 4], "{rlc:?}");
        assert_eq!(run(Partition::Fixed(Fixed)), [4, 4, 4, 4], "{rlc:?}");
    }
}

#[test]
fn invalid_slices_are_refused_with_a_reason() {
    let rlc = RlcSetting::transparent();
    let error = |setting: CellSetting| Cell::new(setting, 1, "cell").unwrap_err().to_string();
    let eqp = |limit_rbs| lte().partition(Partition::Elastic(Elastic { limit_rbs })).ue(ue(28, rlc, 2));
    assert_eq!(error(eqp(100)), "0 slices; expected 1 to 1024");
    assert_eq!(error(eqp(100).with_slice(slice(50, vec![0]))), "bearer 1 is in no slice; expected one");
    let two = |setting: CellSetting, percent| {
        setting.with_slice(slice(50, vec![0])).with_slice(slice(percent, vec![1]))
    };
    assert_eq!(error(two(eqp(100), 51)), "shares of 101% in all; expected at most 100");
    assert!(
        error(two(eqp(1), 50)).contains("a quantum limit of 1 resource blocks; expected 2, which is a group")
    );
    let control = Control::new(10, 0, 1, 8).unwrap();
    assert!(
        error(two(eqp(100), 50).tti(ms(2)).control(control))
            .contains("expected TTIs of one slot, or no control")
    );
    assert!(Cell::new(two(eqp(100), 50).tti(ms(2)), 1, "cell").is_ok());
    assert!(Cell::new(two(eqp(100), 50).control(control), 1, "cell").is_ok());
    let nested = two(eqp(100), 50).scheduler(Eqp { limit_rbs: 100 });
    assert!(error(nested).contains("makes each UE a slice"));
}

/// A scheduler that makes each UE a slice: each gets as many resource blocks, and none are left over by
/// rounding.
#[test]
fn the_scheduler_eqp_shares_equally() {
    for ues in [3_u32, 10, 40] {
        let rlc = RlcSetting::lte_um();
        let mut setting = lte().scheduler(Eqp { limit_rbs: 50 });
        for n in 0..ues {
            setting = setting.ue(ue(if n % 2 == 0 { 28 } else { 10 }, rlc, 1));
        }
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let arrivals: Vec<Arrival> = (0..ues as usize * 1500).map(|n| (0, n % ues as usize, 1000)).collect();
        let host = drive(&mut cell, &arrivals, 1000 * MS);
        let slices = cell.slices(at(1000 * MS));
        assert_eq!(slices.iter().map(|slice| slice.granted_rbs).sum::<u64>(), 24 * 1001);
        let used: Vec<u64> = slices.iter().map(|slice| slice.used_rbs).collect();
        let fair = 24 * 1000 / u64::from(ues);
        // No UE borrows more than the limit; one may have lent to all others, and the last of each has no
        // data.
        let most = |used: &u64| (fair.saturating_sub(50 * u64::from(ues))..=fair + 52).contains(used);
        assert!(used.iter().all(most), "{fair} {used:?}");
        audit(&cell, &host, &arrivals);
    }
}

/// Settings of both cells below.
#[derive(Clone, Debug)]
struct Half {
    ues: Vec<(u8, Vec<u8>)>,
    scheduler: Scheduler,
}

fn nr(prbs: u16) -> CellSetting {
    CellSetting::new(Carrier::nr(0, prbs, McsTable::Qam64, 1, Overhead::default()).unwrap()).air(ms(2))
}
fn rlc_of(which: usize) -> RlcSetting {
    [RlcSetting::transparent(), RlcSetting::nr_um(), RlcSetting::lte_um(), RlcSetting::nr_am()][which]
}

fn half() -> impl Strategy<Value = Half> {
    let ue = (0_u8..28, prop::collection::vec(1_u8..4, 1..4));
    let of_slices: Vec<Scheduler> = schedulers().filter(Scheduler::fits_slices).collect();
    let scheduler = prop::sample::select(of_slices);
    (prop::collection::vec(ue, 1..6), scheduler).prop_map(|(ues, scheduler)| Half { ues, scheduler })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(qdelay_testing::effort::cases(60)))]
    /// Half of 24 RBs in groups of two is compared with 12 RBs, which have groups of two as well.
    #[test]
    fn a_slice_of_the_fixed_partition_equals_a_separate_cell(
        halves in prop::collection::vec(half(), 2),
        rlc in 0_usize..4, equal: bool, seed: u64, load in 1_u64..6, pattern in prop::sample::select(&PATTERNS[..]),
    ) {
        let nr = |prbs| nr(prbs).tdd(tdd(pattern));
        let sharing = if equal { Sharing::EqualShare } else { Sharing::Priority };
        let with_ues = |setting: CellSetting, half: &Half| {
            half.ues.iter().fold(setting, |setting, (mcs, priorities)| {
                let ue = UeSetting::new(Channel::Mcs(Mcs(*mcs)));
                setting.ue(priorities.iter().fold(ue, |ue, &priority| ue.bearer(rlc_of(rlc), priority)))
            })
        };
        let counts: Vec<usize> = halves.iter().map(|half| half.ues.iter().map(|ue| ue.1.len()).sum()).collect();
        let mut whole = nr(24).partition(Partition::Fixed(Fixed)).sharing(sharing);
        let mut first = 0;
        for (half, count) in halves.iter().zip(&counts) {
            let bearers = (first..first + count).collect();
            whole = with_ues(whole, half).with_slice(CellSlice { scheduler: Some(half.scheduler.clone()), ..slice(50, bearers) });
            first += count;
        }
        let mut random = Random::derive(seed, "slices", "traffic");
        let mut arrivals: Vec<Arrival> = (0..load * 60)
            .map(|_| (random.below(100 * MS), random.below(first as u64) as usize, 40 + random.below(1460) as u32))
            .collect();
        arrivals.sort_unstable();
        let mut cell = Cell::new(whole, 1, "cell").unwrap();
        let host = drive(&mut cell, &arrivals, 300 * MS);
        audit(&cell, &host, &arrivals);
        let mut first = 0;
        for (number, (half, count)) in halves.iter().zip(&counts).enumerate() {
            let setting = with_ues(nr(12).sharing(sharing).scheduler(half.scheduler.clone()), half);
            let own: Vec<(usize, Arrival)> = arrivals
                .iter()
                .enumerate()
                .filter(|(_, arrival)| (first..first + count).contains(&arrival.1))
                .map(|(handle, &(time, bearer, bytes))| (handle, (time, bearer - first, bytes)))
                .collect();
            let mut alone = Cell::new(setting, 1, "cell").unwrap();
            let mut expected = drive(&mut alone, &own.iter().map(|own| own.1).collect::<Vec<_>>(), 300 * MS);
            for event in &mut expected.log {
                event.bearer += first;
                if let Notice::Departed(handle) | Notice::Delivered(handle, _) | Notice::Dropped(handle, _) = &mut event.what {
                    *handle = own[*handle as usize].0 as u64;
                }
            }
            let by_bearer = |log: &[Event]| {
                let mut log: Vec<Event> = log.iter().copied().filter(|e| (first..first + count).contains(&e.bearer)).collect();
                for event in &mut log {
                    // The slots of a pattern are those of the whole carrier.
                    if let Notice::Served(served) = &mut event.what {
                        served.tdd = None;
                    }
                }
                log.sort_by_key(|event| (event.time, event.bearer));
                log
            };
            let (log, expected) = (by_bearer(&host.log), by_bearer(&expected.log));
            let first_other = log.iter().zip(&expected).find(|(one, other)| one != other);
            prop_assert_eq!(first_other, None, "slice {}", number);
            prop_assert_eq!(log.len(), expected.len());
            let (usage, slice) = (alone.usage(at(300 * MS)), &cell.slices(at(300 * MS))[number]);
            prop_assert_eq!(slice.used_rbs, usage.used_rbs);
            prop_assert_eq!((slice.granted_rbs, slice.sent_bytes), (usage.offered_rbs, usage.sent_bytes));
            first += count;
        }
    }

    #[test]
    fn elastic_partition_matches_the_model(
        slices in prop::collection::vec((5_u32..60, 1_usize..3), 1..4),
        limit_rbs in prop::sample::select(vec![2_u32, 10, 25, 100]),
        mcs in prop::collection::vec(0_u8..28, 6), seed: u64, load in 1_u64..5,
        pattern in prop::sample::select(&PATTERNS[..]),
    ) {
        let total: u32 = slices.iter().map(|slice| slice.0).sum();
        let shares: Vec<u32> = slices.iter().map(|slice| (slice.0 * 100 / total.max(100)).max(1)).collect();
        let (mut setting, mut first) = (lte().partition(Partition::Elastic(Elastic { limit_rbs })).tdd(tdd(pattern)), 0);
        let mut of_bearer = Vec::new();
        for (number, &(_, bearers)) in slices.iter().enumerate() {
            setting = setting.with_slice(slice(shares[number], (first..first + bearers).collect()));
            of_bearer.extend((0..bearers).map(|_| number));
            first += bearers;
        }
        for &mcs in &mcs[..first] {
            setting = setting.ue(ue(mcs, RlcSetting::transparent(), 1));
        }
        let mut random = Random::derive(seed, "slices", "traffic");
        let mut arrivals: Vec<Arrival> = (0..load * 15)
            .map(|_| {
                let bytes = if random.below(2) == 0 { 20 + random.below(200) } else { 500 + random.below(1000) };
                (random.below(40 * MS), random.below(first as u64) as usize, bytes as u32)
            })
            .collect();
        arrivals.sort_unstable();
        let mut cell = Cell::new(setting, 1, "cell").unwrap();
        let mut host = Host::new(cell.bearers());
        let mut model = Model::new(&shares, &of_bearer, limit_rbs, &mcs[..first], pattern);
        let mut before = vec![SliceUsage::default(); shares.len()];
        let mut next = 0;
        for tti in 0..120 {
            // Packets that arrive as the TTI begins are too late.
            let mut new = Vec::new();
            while let Some(&(time, bearer, bytes)) = arrivals.get(next).filter(|arrival| arrival.0 < tti * MS) {
                advance(&mut cell, &mut host, at(time));
                arrive(&mut cell, &mut host, bearer, Packet { handle: next as u64, bytes, ..Packet::default() });
                new.push((bearer, next as u64, u64::from(bytes)));
                next += 1;
            }
            let logged = host.log.len();
            advance(&mut cell, &mut host, at(tti * MS));
            let mut departed: Vec<(u64, usize, u64)> = host.log[logged..]
                .iter()
                .filter_map(|event| match event.what {
                    Notice::Departed(handle) => Some((event.time / MS, event.bearer, handle)),
                    _ => None,
                })
                .collect();
            departed.sort_unstable();
            let now = cell.slices(at(tti * MS));
            let quanta: Vec<i64> =
                now.iter().zip(&before).map(|(now, before)| now.quanta.since(&before.quanta).percentile(50.0)).collect();
            let known = model.log.len();
            model.tick(tti, &new);
            let mut expected = model.log[known..].to_vec();
            expected.sort_unstable();
            prop_assert_eq!(departed, expected, "TTI {}", tti);
            prop_assert_eq!(quanta, model.slices.iter().map(|slice| slice.quantum).collect::<Vec<_>>(), "TTI {}", tti);
            for (slice, expected) in now.iter().zip(&model.slices) {
                prop_assert_eq!(
                    (slice.granted_rbs, slice.used_rbs, slice.wasted_rbs, slice.unfit_rbs),
                    (expected.granted, expected.used, expected.wasted, expected.unfit)
                );
            }
            before = now;
        }
        for (number, slice) in cell.slices(at(119 * MS)).iter().enumerate() {
            let mut quanta = model.slices[number].quanta.clone();
            quanta.sort_unstable();
            prop_assert_eq!(slice.quanta.ttis(), quanta.len() as u64);
            prop_assert_eq!(slice.quanta.percentile(0.0), quanta[0]);
            prop_assert_eq!(slice.quanta.percentile(50.0), quanta[quanta.len().div_ceil(2) - 1]);
            prop_assert_eq!(slice.quanta.percentile(100.0), quanta[quanta.len() - 1]);
        }
    }

    /// In any case every resource block is counted, quanta sum to zero, a slice stays within its limit over
    /// any window, idle TTIs equal those that are run, and queries change nothing.
    #[test]
    fn slices_keep_their_invariants(
        shares in prop::collection::vec(8_u32..40, 1..4), law in 0_usize..3, limit_rbs in 8_u32..120, seed: u64,
        bearers in prop::collection::vec((0_usize..4, 0_usize..4, 0_u8..28), 1..6), bler in prop::sample::select(vec![0.0, 0.3]),
        rlc in 0_usize..4, control: bool, pattern in prop::sample::select(&PATTERNS[..]), window_ms in 4_u64..30,
    ) {
        let (fixed, by_ratios) = (law == 0, law == 2);
        let partition = match law {
            0 => Partition::Fixed(Fixed),
            1 => Partition::Elastic(Elastic { limit_rbs }),
            _ => Partition::Rrm(Rrm { window: ms(window_ms) }),
        };
        let rlc = [RlcSetting::transparent(), RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::lte_am()][rlc];
        let mut ues = vec![0; bearers.len()];
        let mut of_slice = vec![Vec::new(); shares.len()];
        let mut number = 0;
        let harq = HarqSetting { bler: Bler::new(bler, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
        let mut setting = lte().partition(partition).harq(harq).tdd(tdd(pattern));
        if control {
            setting = setting.control(Control::TESTBED);
        }
        for (at, &(one, other, mcs)) in bearers.iter().enumerate() {
            for slice in [one, other] {
                of_slice[slice % shares.len()].push(number);
                number += 1;
            }
            ues[at] = 2;
            setting = setting.ue(ue(mcs, rlc, 2));
        }
        // Every slice has a bearer.
        for bearers in &mut of_slice {
            if bearers.is_empty() {
                setting = setting.ue(ue(28, rlc, 1));
                bearers.push(number);
                number += 1;
            }
        }
        for (share, bearers) in shares.iter().zip(&of_slice) {
            let percent = (*share).min(100 / shares.len() as u32);
            let slice = slice(percent, bearers.clone());
            setting = setting.with_slice(match by_ratios {
                true => CellSlice { agreed: Ratios::from_percent(8, percent, 50).unwrap().into(), ..slice },
                false => slice,
            });
        }
        let mut random = Random::derive(seed, "slices", "traffic");
        let mut arrivals: Vec<Arrival> = (0..80)
            .map(|_| (random.below(60 * MS), random.below(number as u64) as usize, 30 + random.below(1470) as u32))
            .collect();
        arrivals.sort_unstable();
        let mut cell = Cell::new(setting.clone(), 1, "cell").unwrap();
        let host = drive(&mut cell, &arrivals, 200 * MS);
        audit(&cell, &host, &arrivals);
        // The same cell, queried and woken in every TTI.
        let mut other = Cell::new(setting, 1, "cell").unwrap();
        let mut busy = Host::new(other.bearers());
        let mut next = 0;
        let mut most: Vec<(i64, i64)> = vec![(0, 0); shares.len()];
        for tti in 0..=200 {
            let end = at(tti * MS);
            while let Some(&(time, bearer, bytes)) = arrivals.get(next).filter(|arrival| at(arrival.0) <= end) {
                advance(&mut other, &mut busy, at(time));
                arrive(&mut other, &mut busy, bearer, Packet { handle: next as u64, bytes, ..Packet::default() });
                next += 1;
            }
            advance(&mut other, &mut busy, end);
            other.wake(end, tti as usize % number);
            let usage = other.usage(end);
            prop_assert_eq!(usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
            let got = other.slices(end);
            let sum = |part: fn(&SliceUsage) -> u64| got.iter().map(part).sum::<u64>();
            let charged = sum(|s| s.used_rbs) + sum(|s| s.wasted_rbs) + sum(|s| s.unfit_rbs);
            if by_ratios {
                // Some are in the minimum of no slice.
                prop_assert!(charged <= usage.offered_rbs - usage.repeated_rbs);
            } else {
                prop_assert_eq!(charged, sum(|s| s.granted_rbs), "lent and borrowed resource blocks are equal");
            }
            prop_assert_eq!(sum(|s| s.used_rbs), usage.used_rbs - usage.repeated_rbs);
            prop_assert_eq!(sum(|s| s.sent_bytes), usage.sent_bytes);
            for (slice, (least, surplus)) in got.iter().zip(&mut most) {
                let more = slice.used_rbs as i64 - slice.granted_rbs as i64;
                *least = (*least).min(more);
                *surplus = (*surplus).max(more - *least);
                let limit = if fixed { 0 } else { 2 * i64::from(limit_rbs) };
                if by_ratios {
                    let policy = slice.policy.unwrap();
                    let charged = slice.used_rbs + slice.wasted_rbs + slice.unfit_rbs;
                    prop_assert!(slice.granted_rbs + policy.borrowed_rbs >= charged, "{:?}", slice);
                } else if fixed {
                    prop_assert!(slice.used_rbs + slice.wasted_rbs + slice.unfit_rbs == slice.granted_rbs);
                } else {
                    prop_assert!(*surplus <= limit, "{} RBs more than agreed", surplus);
                }
            }
        }
        prop_assert_eq!(moves(&host), moves(&busy));
        prop_assert_eq!(cell.slices(at(200 * MS)), other.slices(at(200 * MS)));
        prop_assert_eq!(cell.usage(at(200 * MS)), other.usage(at(200 * MS)));
    }
}
