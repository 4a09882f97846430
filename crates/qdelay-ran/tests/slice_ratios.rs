//! Policy ratios (3GPP TS 28.541 clause 4.3.36): the law compared with a model that counts every group, and its promises, which are
//! checked by what was granted alone.

use crate::ratios_model::{Group, Model};
use qdelay_core::Random;
use qdelay_ran::slice::{Ratios, RrmPolicy, SliceDemand, SliceError};
use qdelay_testing::for_each_seed;

type Percents = (u32, u32, u32);

/// Ratios in percent: minima of at most 100% in all, often exactly so.
fn ratios(random: &mut Random) -> Vec<Percents> {
    let mut left = 100;
    let count = 1 + random.below(5);
    let is_full = random.below(2) == 0;
    (0..count)
        .map(|slice| {
            let min = match slice + 1 == count && is_full {
                true => left,
                false => random.below(left + 1),
            };
            left -= min;
            let dedicated = if random.below(2) == 0 { 0 } else { random.below(min + 1) };
            let max = match random.below(3) {
                0 => 100,
                1 => min.max(1),
                _ => min.max(1) + random.below(100 - min.max(1) + 1),
            };
            (dedicated as u32, min as u32, max as u32)
        })
        .collect()
}

/// Slots of a pattern: whole, special and uplink ones.
const PATTERNS: [&str; 4] = ["D", "DDDSU", "DSUUD", "DDDDDDDSUU"];

/// How much a slice wants.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Always,
    Never,
    /// Some groups now and then.
    Light,
    /// Much for a while, nothing for a while.
    Bursts {
        is_on: bool,
    },
}

struct Case {
    ratios: Vec<Percents>,
    loads: Vec<Load>,
    policy: RrmPolicy,
    model: Model,
    group: u32,
    window_ttis: u64,
    groups: u32,
    pattern: &'static str,
    /// Smallest useful grants above one group.
    has_least: bool,
    /// Retransmissions take a part of some TTIs.
    repeats: bool,
}

impl Case {
    fn random(random: &mut Random) -> Case {
        let ratios = ratios(random);
        let load = |_: &Percents| match random.below(4) {
            0 | 1 => Load::Always,
            2 => Load::Light,
            _ if random.below(2) == 0 => Load::Never,
            _ => Load::Bursts { is_on: false },
        };
        let loads = ratios.iter().map(load).collect();
        let group = [1, 2, 4, 16][random.below(4) as usize];
        let window_ttis = [1, 2, 5, 10, 20, 40][random.below(6) as usize];
        let shares: Vec<Ratios> = ratios
            .iter()
            .map(|&(dedicated, min, max)| Ratios::from_percent(dedicated, min, max).unwrap())
            .collect();
        Case {
            policy: RrmPolicy::new(&shares, group, window_ttis).unwrap(),
            model: Model::new(&ratios, group, window_ttis),
            ratios,
            loads,
            group,
            window_ttis,
            groups: 6 + random.below(20) as u32,
            pattern: PATTERNS[random.below(4) as usize],
            has_least: random.below(4) == 0,
            repeats: random.below(2) == 0,
        }
    }

    /// RBs of a TTI: a smaller last group is not used, and six groups are left by retransmissions.
    fn rbs(&self, random: &mut Random, tti: u64) -> u32 {
        let slot = self.pattern.as_bytes()[(tti % self.pattern.len() as u64) as usize];
        if slot == b'U' {
            return 0;
        }
        let repeated = match self.repeats && random.below(4) == 0 {
            true => random.below(u64::from(self.groups - 5)) as u32,
            false => 0,
        };
        (self.groups - repeated) * self.group + random.below(self.group.into()) as u32
    }

    fn wants(&mut self, random: &mut Random) -> Vec<(usize, usize)> {
        let has_least = self.has_least;
        let want = |load: &mut Load| {
            let wanted = match load {
                Load::Always => 1000,
                Load::Never => 0,
                Load::Light => [0, 0, 1, 3][random.below(4) as usize],
                Load::Bursts { is_on } => {
                    if random.below(12) == 0 {
                        *is_on = !*is_on;
                    }
                    if *is_on { 1000 } else { 0 }
                }
            };
            let least = if has_least { 1 + random.below(3) as usize } else { 1 };
            (wanted, least.min(wanted))
        };
        self.loads.iter_mut().map(want).collect()
    }
}

#[test]
fn the_law_of_ratios_matches_its_model() {
    let mut granted = 0;
    for_each_seed(1_000, |seed| {
        let mut random = Random::derive(seed, "ratios", "model");
        let mut case = Case::random(&mut random);
        let ttis = 60 + 2 * case.window_ttis;
        for tti in 0..ttis {
            let (rbs, wants) = (case.rbs(&mut random, tti), case.wants(&mut random));
            case.policy.begin(tti, rbs);
            let demands: Vec<SliceDemand> = wants
                .iter()
                .map(|&(wanted, least)| SliceDemand { wanted: wanted as u16, least: least as u16 })
                .collect();
            case.policy.share_out(&demands);
            case.model.tick(tti, (rbs / case.group) as usize, &wants);
            for slice in 0..wants.len() {
                let (now, kept) = (case.policy.groups(slice), case.policy.kept_rbs(slice) / case.group);
                assert_eq!(
                    (usize::from(now), kept as usize),
                    (case.model.granted(slice), case.model.kept(slice)),
                    "seed {seed}, TTI {tti}, slice {slice}: {:?}",
                    case.ratios
                );
                granted += u64::from(now);
            }
            let accounts: Vec<[i128; 3]> = case
                .policy
                .accounts()
                .iter()
                .map(|account| [account.granted, account.wasted, account.borrowed].map(i128::from))
                .collect();
            assert_eq!(accounts, case.model.balanced(), "seed {seed}, TTI {tti}");
        }
    });
    assert!(granted > 10_000, "{granted}");
}

/// Resource blocks (RBs) of a slice in the present window, and all RBs of the window.
#[derive(Default)]
struct Window {
    total: u64,
    got: Vec<u64>,
    kept: Vec<u64>,
    /// True if the slice wanted more in every TTI with RBs.
    is_backlogged: Vec<bool>,
}

#[test]
fn ratios_keep_their_promises() {
    let (mut at_min, mut beyond, mut at_max, mut withheld, mut lent) = (0, 0_u64, 0, 0, 0_u64);
    for_each_seed(3_000, |seed| {
        let mut random = Random::derive(seed, "ratios", "promises");
        let mut case = Case { has_least: false, ..Case::random(&mut random) };
        let count = case.ratios.len();
        let mut window = Window::default();
        let (mut used, mut idle, mut offered) = (vec![0; count], 0, 0);
        for tti in 0..4 * case.window_ttis.max(10) {
            if tti % case.window_ttis == 0 {
                window = Window {
                    total: 0,
                    got: vec![0; count],
                    kept: vec![0; count],
                    is_backlogged: vec![true; count],
                };
            }
            let (rbs, wants) = (case.rbs(&mut random, tti), case.wants(&mut random));
            let (group, groups) = (u64::from(case.group), rbs / case.group);
            window.total += u64::from(groups) * group;
            case.policy.begin(tti, rbs);
            let demand = |&(wanted, least): &(usize, usize)| SliceDemand {
                wanted: wanted as u16,
                least: least as u16,
            };
            case.policy.share_out(&wants.iter().map(demand).collect::<Vec<_>>());
            let now: Vec<u64> = (0..count).map(|slice| case.policy.groups(slice).into()).collect();
            let kept: Vec<u64> =
                (0..count).map(|slice| u64::from(case.policy.kept_rbs(slice)) / group).collect();
            let taken = now.iter().chain(&kept).sum::<u64>();
            assert!(taken <= groups.into(), "seed {seed}: each group is given once");
            let left = u64::from(groups) - taken;
            offered += u64::from(groups) * group;
            idle += left * group;
            for slice in 0..count {
                window.got[slice] += now[slice] * group;
                window.kept[slice] += kept[slice] * group;
                used[slice] += now[slice] * group;
                window.is_backlogged[slice] &= groups == 0 || wants[slice].0 as u64 > now[slice];
            }
            let all: u64 = window.got.iter().sum();
            for (slice, &(dedicated, min, max)) in case.ratios.iter().enumerate() {
                let (got, total) = (100 * window.got[slice], window.total);
                let place = format!("seed {seed}, TTI {tti}, slice {slice}: {:?}", case.ratios);
                let is_completed = got < u64::from(min) * total + 100 * group;
                assert!(got <= u64::from(max) * total || is_completed, "above the maximum: {place}");
                let wants_more = wants[slice].0 as u64 > now[slice];
                let has_room = got + 100 * group <= u64::from(max) * total;
                assert!(
                    !(left > 0 && wants_more && has_room && groups > 0),
                    "idle beside a slice with data: {place}"
                );
                assert!(kept[slice] == 0 || !wants_more, "withheld from its own slice: {place}");
                // A slice with a dedicated ratio that wakes may cost the others a group, each.
                let wakes = |other: &usize| {
                    let load = case.loads[*other];
                    *other != slice
                        && case.ratios[*other].0 > 0
                        && !matches!(load, Load::Always | Load::Never)
                };
                let most = 1 + (0..count).filter(wakes).count() as u64;
                if window.is_backlogged[slice] && total > 0 {
                    let below = (u64::from(min) * total).saturating_sub(got);
                    assert!(below < 100 * group * most, "{most} groups below the minimum: {place}");
                    beyond += u64::from(below >= 100 * group);
                    at_min += u64::from(min > 0 && got < u64::from(min) * total + 100 * group);
                }
                at_max += u64::from(wants_more && !has_room);
                // Others never had more than what is not dedicated, to a group.
                let of_others = 100 * (all - window.got[slice]);
                assert!(
                    of_others < u64::from(100 - dedicated) * total + 100 * group * most,
                    "dedicated RBs used by others: {place}"
                );
                let most_kept = u64::from(dedicated) * total + 100 * group;
                assert!(
                    kept[slice] == 0 || 100 * window.kept[slice] < most_kept,
                    "withheld too much: {place}"
                );
                withheld += kept[slice];
            }
        }
        // RBs are accounted for once: used, or idle and charged to at most one slice.
        let accounts = case.policy.accounts();
        let wasted: u64 = accounts.iter().map(|account| account.wasted).sum();
        let kept_of_all: u64 = offered - idle - used.iter().sum::<u64>();
        assert!(wasted <= kept_of_all + idle, "seed {seed}");
        for (account, used) in accounts.iter().zip(&used) {
            // What was lent to others is never negative.
            let given = (account.granted + account.borrowed).checked_sub(used + account.wasted);
            lent += given.unwrap_or_else(|| panic!("seed {seed}: {account:?} {used}"));
        }
    });
    assert!(beyond < at_min / 1000, "{beyond} of {at_min}");
    assert!(
        at_min > 1000 && at_max > 1000 && withheld > 1000 && lent > 1000,
        "{at_min} {at_max} {withheld} {lent}"
    );
}

/// Whole idle windows are skipped, and leave the accounts of windows whose TTIs were passed one by one.
#[test]
fn skipped_windows_leave_the_same_accounts() {
    for_each_seed(500, |seed| {
        let mut random = Random::derive(seed, "ratios", "idle");
        let mut case = Case { repeats: false, ..Case::random(&mut random) };
        let mut skipping = case.policy.clone();
        let (first, last) = (1 + random.below(3), 4 + random.below(3));
        for tti in 0..(last + 1) * case.window_ttis {
            let rbs = case.rbs(&mut random, tti) / case.group * case.group;
            let window = tti / case.window_ttis;
            let wants = if (first..last).contains(&window) { Vec::new() } else { case.wants(&mut random) };
            let demand = |&(wanted, least): &(usize, usize)| SliceDemand {
                wanted: wanted as u16,
                least: least as u16,
            };
            let demands: Vec<SliceDemand> = wants.iter().map(demand).collect();
            case.policy.begin(tti, rbs);
            case.policy.share_out(&demands);
            if tti == first * case.window_ttis {
                let totals: Vec<u64> = (first..last)
                    .map(|window| {
                        let ttis = window * case.window_ttis..(window + 1) * case.window_ttis;
                        ttis.map(|tti| u64::from(case.rbs(&mut random, tti) / case.group * case.group)).sum()
                    })
                    .collect();
                skipping.skip(last, |ratios| {
                    totals.iter().map(|total| u64::from(ratios.min()) * total / 1_000_000).sum()
                });
            }
            if !(first..last).contains(&window) {
                skipping.begin(tti, rbs);
                skipping.share_out(&demands);
            }
        }
        assert_eq!(skipping.accounts(), case.policy.accounts(), "seed {seed}: {:?}", case.ratios);
    });
}

fn share(policy: &mut RrmPolicy, tti: u64, rbs: u32, wants: &[u16]) -> Vec<u16> {
    policy.begin(tti, rbs);
    let demand = |&wanted: &u16| SliceDemand { wanted, least: wanted.min(1) };
    policy.share_out(&wants.iter().map(demand).collect::<Vec<_>>());
    (0..wants.len()).map(|slice| policy.groups(slice)).collect()
}
fn policy(ratios: &[Percents], rbg_rbs: u32, window_ttis: u64) -> RrmPolicy {
    let of = |&(dedicated, min, max): &Percents| Ratios::from_percent(dedicated, min, max).unwrap();
    RrmPolicy::new(&ratios.iter().map(of).collect::<Vec<_>>(), rbg_rbs, window_ttis).unwrap()
}

/// The three kinds of resource blocks of clause 4.3.36, in a TTI of 20 groups.
#[test]
fn dedicated_prioritised_and_shared() {
    let ratios = [(10, 30, 60), (0, 20, 100)];
    let all = |wants: &[u16]| share(&mut policy(&ratios, 1, 1), 0, 20, wants);
    assert_eq!(all(&[0, 99]), [0, 18], "dedicated groups stay idle, prioritised ones are lent");
    assert_eq!(all(&[99, 0]), [12, 0], "no more than the maximum");
    assert_eq!(all(&[4, 99]), [4, 16], "what the slice does not want beyond its dedicated groups is lent");
    // Beyond the minima both have the same part of their maxima: 7.5 of 12 and 12.5 of 20.
    assert_eq!(all(&[99, 99]), [8, 12]);
    assert_eq!(
        share(&mut policy(&[(0, 50, 50), (0, 50, 50)], 1, 2), 0, 7, &[99, 99]),
        [4, 3],
        "half a group above"
    );
    assert_eq!(all(&[0, 0]), [0, 0]);
}

/// A slice that wakes within a window: what is due is shared first, then its arrears, and none of an earlier window.
#[test]
fn an_idle_slice_regains_within_its_window_only() {
    // The second has its minimum in each TTI, although the first is 20 groups behind.
    let mut law = policy(&[(0, 50, 100), (0, 50, 100)], 1, 10);
    for tti in 0..4 {
        assert_eq!(share(&mut law, tti, 10, &[0, 99]), [0, 10]);
    }
    assert_eq!(share(&mut law, 4, 10, &[99, 99]), [10, 0], "the second is 20 groups above its minimum");
    for tti in 5..8 {
        share(&mut law, tti, 10, &[99, 99]);
    }
    assert_eq!(share(&mut law, 8, 10, &[99, 99]), [5, 5]);
    for tti in 10..20 {
        share(&mut law, tti, 10, &[0, 99]);
    }
    assert_eq!(share(&mut law, 20, 10, &[99, 99]), [5, 5], "a new window");
    // A third slice without a minimum has taken the share of the first: the second loses nothing when the first wakes.
    let mut law = policy(&[(0, 50, 100), (0, 50, 100), (0, 0, 100)], 1, 20);
    for tti in 0..4 {
        assert_eq!(share(&mut law, tti, 10, &[0, 5, 99]), [0, 5, 5]);
    }
    for tti in 4..8 {
        assert_eq!(share(&mut law, tti, 10, &[99, 99, 99]), [5, 5, 0], "what is due, to both");
    }
    assert_eq!(share(&mut law, 8, 10, &[99, 2, 99]), [8, 2, 0], "arrears before what is shared");
}

#[test]
fn a_ratio_is_held_to_a_group_over_a_window() {
    // A tenth of 17 groups is 1.7: over ten TTIs 17 groups of 170, and 13.6 of 136 where the last slot of five has none.
    for pattern in ["D", "DDDSU"] {
        let mut law = policy(&[(0, 10, 10), (0, 0, 100)], 16, 10);
        let (mut got, mut all) = (0, 0);
        for tti in 0..10_u64 {
            let rbs = if pattern.as_bytes()[(tti % pattern.len() as u64) as usize] == b'U' { 0 } else { 273 };
            let groups = share(&mut law, tti, rbs, &[99, 99]);
            (got, all) = (got + groups[0], all + groups[0] + groups[1]);
        }
        assert_eq!((got, all), if pattern == "D" { (17, 170) } else { (14, 136) });
    }
}

/// A grant that is too small carries nothing, so it goes to another slice, or stays with its owner if it is dedicated.
#[test]
fn grants_that_are_too_small_are_not_made() {
    let mut law = policy(&[(20, 20, 20), (0, 0, 100)], 1, 1);
    law.begin(0, 10);
    law.share_out(&[SliceDemand { wanted: 9, least: 3 }, SliceDemand { wanted: 99, least: 1 }]);
    assert_eq!((law.groups(0), law.kept_rbs(0), law.groups(1)), (0, 2, 8));
    let mut model = Model::new(&[(20, 20, 20), (0, 0, 100)], 1, 1);
    model.tick(0, 10, &[(9, 3), (99, 1)]);
    assert_eq!(model.now().iter().filter(|&&group| group == Group::Withheld(0)).count(), 2);
}

#[test]
fn impossible_policies_are_refused() {
    let of = |percents: &[Percents], rbg_rbs| {
        let ratios = percents
            .iter()
            .map(|&(dedicated, min, max)| Ratios::from_percent(dedicated, min, max))
            .collect::<Result<Vec<_>, _>>()?;
        RrmPolicy::new(&ratios, rbg_rbs, 10).map(|_| ())
    };
    assert_eq!(of(&[(0, 60, 100), (0, 41, 100)], 2), Err(SliceError::Minima { millionths: 1_010_000 }));
    assert_eq!(of(&[(0, 60, 100), (0, 40, 100)], 0), Err(SliceError::Group));
    let message = of(&[(7, 5, 100)], 2).unwrap_err().to_string();
    assert!(message.contains("a dedicated ratio of 7%, a minimum of 5%"), "{message}");
    assert!(of(&[(0, 100, 100), (0, 0, 100)], 2).is_ok(), "maxima may exceed 100% in all");
}
