//! EQP compared with exhaustive search, with a textbook dynamic programme that leaves no queue out, and with
//! the fixed partition; and the bounds of its quanta.
//!
//! The oracles are written from the text of the 5G QoS thesis (section 4.4) and share no code with the crate.
//! The sampling of cases is shared, as input.

use crate::slicing::oracle::{self, Best};
use crate::slicing::{Case, Size};
use proptest::prelude::*;
use qdelay_core::Random;
use qdelay_ran::slice::{Eqp, FixedPartition, Grant, MOST_PACKETS, RbgCapacity, SliceError, Tti};
use qdelay_testing::for_each_seed;

/// Compares the choice of EQP with the complete choice that the oracle computes.
fn check(case: &Case, due: impl Fn(&Case, &oracle::Bounds) -> Best) -> Vec<Grant> {
    let mut eqp = case.eqp();
    let bounds = oracle::bounds(case);
    let grants = eqp.decide(case.tti(), &case.channels(), case).unwrap().to_vec();
    let chosen: Vec<(usize, usize)> = eqp.whole().iter().map(|whole| (whole.queue, whole.packets)).collect();
    let value = oracle::value(case, &bounds, &chosen).expect("a choice that keeps capacity, limit and order");
    assert_eq!(Best::new(case, value, &chosen), due(case, &bounds), "{case:?}");
    for whole in eqp.whole() {
        assert_eq!(u32::from(whole.groups), oracle::groups(case, whole.queue, whole.packets).unwrap());
        let grant = grants.iter().find(|grant| grant.queue == whole.queue).expect("a grant");
        assert!(grant.groups >= whole.groups && grant.packets >= whole.packets);
    }
    let given: u32 = grants.iter().map(|grant| u32::from(grant.groups)).sum();
    assert!(given <= bounds.capacity);
    assert_eq!(given * case.rbg_rbs + eqp.unused_rbs(), bounds.total_rbs);
    assert_eq!(eqp.quanta().iter().sum::<i64>(), 0);
    assert!(eqp.quanta().iter().all(|&quantum| quantum >= -eqp.limit_rbs()), "{:?}", eqp.quanta());
    grants
}

#[test]
fn small_cases_match_exhaustive_search() {
    for_each_seed(100_000, |seed| {
        let mut random = Random::derive(seed, "slices", "exhaustive");
        check(&Case::random(&mut random, &Size::SMALL), oracle::exhaustive);
    });
}

#[test]
fn crowds_match_the_textbook() {
    for_each_seed(1_500, |seed| {
        let mut random = Random::derive(seed, "slices", "crowds");
        check(&Case::random(&mut random, &Size::CROWD), oracle::textbook);
    });
}

#[test]
fn multitudes_of_queues_match_the_textbook() {
    for_each_seed(100, |seed| {
        let mut random = Random::derive(seed, "slices", "multitude");
        check(&Case::random(&mut random, &Size::MULTITUDE), oracle::textbook);
    });
}

#[test]
fn long_queues_match_the_textbook() {
    for_each_seed(60, |seed| {
        let mut random = Random::derive(seed, "slices", "deep");
        let mut case = Case::random(&mut random, &Size::DEEP);
        case.lengthen(&mut random, 20);
        check(&case, oracle::textbook);
    });
}

#[test]
fn queues_of_the_most_packets_match_the_textbook() {
    for_each_seed(6, |seed| {
        let mut random = Random::derive(seed, "slices", "deepest");
        let mut case = Case::random(&mut random, &Size::DEEP);
        case.lengthen(&mut random, MOST_PACKETS);
        check(&case, oracle::textbook);
    });
}

#[test]
fn among_equal_choices_the_first_in_turn_gets_the_most() {
    for_each_seed(600, |seed| {
        let mut random = Random::derive(seed, "slices", "equals");
        let mut case = Case::random(&mut random, &Size::CROWD);
        // Many queues and slices are alike.
        case.repeat_queues(&mut random);
        if seed % 2 == 0 {
            case.quanta.fill(0);
            let even = 1_000_000 / case.shares.len() as u32;
            let least = case.shares.iter().copied().min().unwrap_or(even);
            case.shares.fill(least.clamp(1, even));
        }
        check(&case, oracle::textbook);
    });
}

#[test]
fn a_slice_close_to_its_limit_gets_its_best_choice() {
    for_each_seed(600, |seed| {
        let mut random = Random::derive(seed, "slices", "debt");
        let mut case = Case::random(&mut random, &Size::CROWD);
        case.indebt(&mut random);
        check(&case, oracle::textbook);
    });
}

#[test]
fn the_two_oracles_agree() {
    for_each_seed(5_000, |seed| {
        let mut random = Random::derive(seed, "slices", "oracles");
        let case = Case::random(&mut random, &Size::SMALL);
        let bounds = oracle::bounds(&case);
        assert_eq!(oracle::exhaustive(&case, &bounds), oracle::textbook(&case, &bounds), "{case:?}");
    });
}

#[test]
fn elastic_never_completes_fewer_packets_than_fixed() {
    for_each_seed(10_000, |seed| {
        let mut random = Random::derive(seed, "slices", "fixed");
        let mut case = Case::random(&mut random, &Size::SMALL);
        case.quanta.fill(0);
        let partition = FixedPartition::new(case.slices(), case.rbg_rbs).unwrap();
        let grants = check(&case, oracle::exhaustive);
        let elastic: usize = grants.iter().map(|grant| grant.packets).sum();
        // The bound for any policy within a slice: the most packets that its groups can complete.
        let fixed: u64 = (0..partition.slices().count())
            .map(|slice| oracle::most_packets_of(&case, slice, partition.groups(slice, case.rbs)))
            .sum();
        assert!(elastic as u64 >= fixed, "seed {seed}: {elastic} packets, {fixed} with shares\n{case:?}");
    });
}

#[test]
fn equal_queues_are_served_in_order() {
    for_each_seed(2_000, |seed| {
        let mut random = Random::derive(seed, "slices", "order");
        let mut case = Case::random(&mut random, &Size::CROWD);
        case.repeat_queues(&mut random);
        let mut eqp = case.eqp();
        eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        let mut packets = vec![0; case.queues.len()];
        for whole in eqp.whole() {
            packets[whole.queue] = whole.packets;
        }
        let count = packets.len();
        let order: Vec<usize> = (0..count).map(|place| (case.first + place) % count).collect();
        for (place, &one) in order.iter().enumerate() {
            for &later in &order[place + 1..] {
                if case.look_alike(one, later) {
                    assert!(
                        packets[one] >= packets[later],
                        "queues {one} and {later}\n{case:?}\n{packets:?}"
                    );
                }
            }
        }
    });
}

/// The example of figure 4.10: four queues with a packet of 4 RBs each, and 4 RBs in a TTI.
#[test]
fn whole_packets_halve_the_mean_wait_of_the_example() {
    let mut case = Case::even(4, 25);
    (case.rbs, case.rbg_rbs, case.limit_rbs) = (4, 1, 100);
    case.tables = vec![vec![100, 200, 300, 400]];
    case.set_queues(&[&[400], &[400], &[400], &[400]]);
    let mut eqp = case.eqp();
    let mut left_at = Vec::new();
    for tti in 1..=4 {
        let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        assert_eq!((grants.len(), grants[0].groups, grants[0].packets), (1, 4, 1));
        case.queues.remove(grants[0].queue);
        left_at.push(tti);
        assert_eq!(eqp.quanta().iter().sum::<i64>(), 0);
    }
    assert_eq!(left_at.iter().sum::<i32>() as f64 / 4.0, 2.5, "TTIs a packet");
    assert!(case.queues.is_empty());
    assert_eq!(eqp.quanta(), [0; 4], "each has had its share");
    let partition = FixedPartition::new(case.slices(), 1).unwrap();
    assert_eq!(
        (0..4).map(|slice| partition.groups(slice, 4)).collect::<Vec<_>>(),
        [1; 4],
        "so 4 TTIs a packet"
    );
}

/// Section 4.4: 88 bytes an RB, packets of 1500 and 500 bytes: 18 RBs, and 23 for both.
#[test]
fn a_prefix_is_rounded_up_once() {
    let mut case = Case::even(1, 100);
    (case.rbg_rbs, case.limit_rbs) = (1, 100);
    case.tables = vec![(1..=275).map(|groups| groups * 88).collect()];
    case.set_queues(&[&[1500, 500]]);
    for (rbs, packets) in [(17, 0), (18, 1), (22, 1), (23, 2)] {
        case.rbs = rbs;
        let mut eqp = case.eqp();
        let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        assert_eq!((u32::from(grants[0].groups), grants[0].packets), (rbs, packets));
    }
}

#[test]
fn unused_resource_blocks_are_charged_to_the_lender() {
    // Only the second slice has data, without end; its packets are too large to be whole.
    let mut case = Case::even(2, 50);
    (case.rbs, case.rbg_rbs, case.limit_rbs) = (25, 2, 100);
    case.tables = vec![(1..=12).map(|groups| groups * 176).collect()];
    case.set_queues(&[&[], &[9000]]);
    case.queues.remove(0);
    let mut eqp = case.eqp();
    let (mut used, mut lowest) = (0, 0);
    for tti in 0..100 {
        let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        let groups: u16 = grants.iter().map(|grant| grant.groups).sum();
        used += u32::from(groups) * 2;
        assert_eq!(u32::from(groups) * 2 + eqp.unused_rbs(), 24, "TTI {tti}: one of 25 is discarded");
        let quanta = eqp.quanta();
        assert_eq!(quanta[0] + quanta[1], 0);
        lowest = lowest.min(quanta[1]);
    }
    assert_eq!(used, 100 * 12 + 76, "its share, and once the limit that it may borrow of the other");
    assert_eq!(lowest, -76, "the RBG that begins above -75 is given");
}

/// Borrowing is bounded, and lending by the sum that all others may borrow: of three slices an idle one lends
/// more than the limit, at most twice the limit.
#[test]
fn an_idle_slice_of_three_lends_up_to_twice_the_limit() {
    let mut case = Case::even(3, 33);
    (case.rbs, case.rbg_rbs, case.limit_rbs) = (25, 1, 100);
    case.tables = vec![(1..=25).map(|groups| groups * 88).collect()];
    case.set_queues(&[&[], &[9000], &[9000]]);
    case.queues.remove(0);
    let mut eqp = case.eqp();
    for _ in 0..100 {
        eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        assert!(
            eqp.quanta()[0] <= 2 * eqp.limit_rbs() && eqp.quanta().iter().all(|&quantum| quantum >= -100)
        );
    }
    // Each of the two has borrowed until the RBG that begins above -75.
    assert_eq!(eqp.quanta(), [150, -75, -75]);
    // Bounded lenders borrow until the first slice has lent the limit.
    let mut eqp = case.eqp().bound_lenders();
    for _ in 0..100 {
        eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        assert!(eqp.quanta()[0] <= eqp.limit_rbs());
    }
    assert_eq!(eqp.quanta(), [100, -50, -50]);
    assert_eq!(eqp.unused_rbs(), 8, "the share of the idle one");
    // Once that slice has data again, the others pay back.
    case.set_queues(&[&[9000], &[9000], &[9000]]);
    for _ in 0..4 {
        eqp.decide(case.tti(), &case.channels(), &case).unwrap();
        assert_eq!(eqp.unused_rbs(), 0);
    }
    assert_eq!(eqp.quanta(), [36, -18, -18]);
}

#[test]
fn no_whole_packet_is_sent_beyond_a_lenders_limit() {
    let mut case = Case::even(3, 33);
    (case.rbs, case.rbg_rbs, case.limit_rbs) = (25, 1, 100);
    case.tables = vec![(1..=25).map(|groups| groups * 88).collect()];
    // A packet of twenty RBs exceeds the two shares of eight that are not at the limit.
    case.set_queues(&[&[], &[1760], &[]]);
    let mut eqp = case.eqp().bound_lenders();
    eqp.set_quanta(&[100, -50, -50]).unwrap();
    let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
    assert_eq!(grants.iter().map(|grant| (grant.groups, grant.packets)).collect::<Vec<_>>(), [(16, 0)]);
    assert_eq!(eqp.quanta(), [100, -58, -42]);
    eqp.set_quanta(&[96, -50, -46]).unwrap();
    let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
    assert_eq!(grants.iter().map(|grant| (grant.groups, grant.packets)).collect::<Vec<_>>(), [(20, 1)]);
    assert!(eqp.set_quanta(&[101, -50, -51]).is_err());
}

#[test]
fn without_data_nothing_is_granted() {
    let mut case = Case::even(2, 50);
    case.queues.clear();
    let mut eqp = case.eqp();
    for _ in 0..3 {
        assert_eq!(eqp.decide(case.tti(), &case.channels(), &case), Ok(&[][..]));
        assert_eq!(eqp.quanta(), [0, 0]);
    }
    // An outage counts as no data.
    case.tables = vec![vec![0; 12]];
    case.set_queues(&[&[100], &[100]]);
    assert_eq!(eqp.decide(case.tti(), &case.channels(), &case), Ok(&[][..]));
}

/// The reported grant of each slice is rounded down, used or not.
#[test]
fn granted_reports_the_rounded_shares() {
    let mut case = Case::even(2, 50);
    (case.rbs, case.rbg_rbs, case.limit_rbs) = (25, 1, 100);
    case.tables = vec![(1..=25).map(|groups| groups * 100).collect()];
    case.set_queues(&[&[], &[2500]]);
    let mut eqp = case.eqp();
    assert_eq!(eqp.granted(), [0, 0]);
    let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap();
    assert_eq!(grants.iter().map(|grant| grant.groups).sum::<u16>(), 24);
    assert_eq!(eqp.granted(), [12, 12]);
    (case.rbs, case.shares) = (10, vec![200_000, 700_000]);
    let mut eqp = case.eqp();
    eqp.decide(case.tti(), &case.channels(), &case).unwrap();
    assert_eq!(eqp.granted(), [2, 7]);
}

/// The limit applies to the groups that are assigned, not to those of the carrier.
#[test]
fn the_largest_tti_is_decided() {
    let mut case = Case::even(1, 100);
    case.limit_rbs = 500_000;
    case.tables = vec![(1..=275).map(|groups| groups * 100).collect()];
    case.set_queues(&[&[100]]);
    for (rbs, rbg_rbs, share, groups) in [
        (275, 1, 1_000_000, Ok(1)),
        (276, 1, 1_000_000, Err(SliceError::Groups { groups: 276 })),
        (551, 2, 1_000_000, Ok(1)),
        (552, 2, 1_000_000, Err(SliceError::Groups { groups: 276 })),
        (551, 1, 500_000, Ok(1)),
        (552, 1, 500_000, Err(SliceError::Groups { groups: 276 })),
        (1_000_000, 10_000, 1_000_000, Ok(1)),
        (1_000_001, 10_000, 1_000_000, Err(SliceError::Rbs { rbs: 1_000_001, most_rbs: 1_000_000 })),
    ] {
        (case.rbs, case.rbg_rbs, case.shares) = (rbs, rbg_rbs, vec![share]);
        let mut eqp = case.eqp();
        let decided = eqp.decide(case.tti(), &case.channels(), &case).map(<[Grant]>::len);
        assert_eq!(decided, groups, "{rbs} of {rbg_rbs}");
    }
}

#[test]
fn invalid_inputs_are_refused_with_a_reason() {
    let case = Case::even(2, 50);
    let error = |limit_rbs, rbg_rbs| Eqp::new(case.slices(), limit_rbs, rbg_rbs).unwrap_err().to_string();
    assert_eq!(error(1, 2), "a quantum limit of 1 resource blocks; expected 2, which is a group, to 500000");
    assert_eq!(error(0, 0), "resource block groups of 0; expected at least 1");
    assert!(error(500_001, 1).contains("expected 1, which is a group, to 500000"));
    let mut eqp = case.eqp();
    let before = eqp.quanta().to_vec();
    let mut decide = |tti, channels: &[RbgCapacity], case: &Case| {
        eqp.decide(tti, channels, case).map(<[Grant]>::len).unwrap_err().to_string()
    };
    let channels = case.channels();
    let tti = Tti { rbs: 10_000, first: 0 };
    assert_eq!(decide(tti, &channels, &case), "5000 resource block groups in a TTI; expected at most 275");
    assert_eq!(decide(case.tti(), &[], &case), "channel 0 of 0; expected numbers below 0");
    let mut wrong = case.clone();
    wrong.queues[0].drb = 7;
    assert!(decide(case.tti(), &channels, &wrong).starts_with("bearer 7 of 2"));
    assert_eq!(eqp.quanta(), before);
    for quanta in [&[1, 0][..], &[0], &[101, -101], &[i64::MAX, i64::MIN]] {
        assert!(eqp.set_quanta(quanta).is_err());
    }
    assert_eq!(eqp.set_quanta(&[100, -100]), Ok(()));
}

proptest! {
    /// Over any window no slice gets more above its share than the thesis states (section 4.4): from one
    /// limit to the other.
    #[test]
    fn the_share_is_kept(seed: u64, slices in 2_usize..5, ttis in 50_usize..400) {
        let mut random = Random::derive(seed, "slices", "share");
        let mut case = Case::random(&mut random, &Size::SMALL);
        case.share_evenly(slices, &mut random);
        let mut eqp = case.eqp();
        eqp.set_quanta(&vec![0; slices]).unwrap();
        let limit = eqp.limit_rbs();
        let (mut granted, mut got) = (vec![0_i64; slices], vec![0_i64; slices]);
        let mut surplus = vec![vec![0_i64]; slices];
        for _ in 0..ttis {
            case.refresh(&mut random);
            let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap().to_vec();
            for grant in &grants {
                got[case.slice_of(grant.queue)] += i64::from(grant.groups) * i64::from(case.rbg_rbs);
            }
            prop_assert_eq!(eqp.quanta().iter().sum::<i64>(), 0);
            for slice in 0..slices {
                granted[slice] += i64::from(case.rbs) * case.shares[slice] as i64 / 1_000_000;
                surplus[slice].push(got[slice] - granted[slice]);
                let quantum = eqp.quanta()[slice];
                prop_assert!(-limit <= quantum && quantum <= (slices as i64 - 1) * limit);
                // The difference of charged and used resource blocks is at most the idle ones.
                prop_assert!(quantum <= granted[slice] - got[slice]);
            }
        }
        for surplus in &surplus {
            let (mut least, mut most) = (i64::MAX, 0);
            for &now in surplus {
                least = least.min(now);
                most = most.max(now - least);
            }
            prop_assert!(most <= slices as i64 * limit, "{most} RBs more than agreed, limit {limit}");
        }
    }

    /// With bounded lenders no slice lends or borrows more than the limit, for any number of slices: over any
    /// window no slice gets more than twice the limit above its share (section 4.4).
    #[test]
    fn bounded_lenders_stay_within_the_limit(seed: u64, slices in 1_usize..6, ttis in 50_usize..400) {
        let mut random = Random::derive(seed, "slices", "lenders");
        let mut case = Case::random(&mut random, &Size::SMALL);
        case.share_evenly(slices, &mut random);
        let (mut eqp, mut free) = (case.eqp(), case.eqp());
        free.set_quanta(&vec![0; slices]).unwrap();
        eqp = eqp.bound_lenders();
        eqp.set_quanta(&vec![0; slices]).unwrap();
        let limit = eqp.limit_rbs();
        let mut surplus = vec![(0_i64, 0_i64); slices];
        for _ in 0..ttis {
            case.refresh(&mut random);
            let grants = eqp.decide(case.tti(), &case.channels(), &case).unwrap().to_vec();
            if slices <= 2 {
                prop_assert_eq!(&grants[..], free.decide(case.tti(), &case.channels(), &case).unwrap());
            }
            prop_assert_eq!(eqp.quanta().iter().sum::<i64>(), 0);
            prop_assert!(eqp.quanta().iter().all(|quantum| (-limit..=limit).contains(quantum)), "{:?}", eqp.quanta());
            for (slice, (now, least)) in surplus.iter_mut().enumerate() {
                let groups = grants.iter().filter(|grant| case.slice_of(grant.queue) == slice);
                *now += groups.map(|grant| i64::from(grant.groups) * i64::from(case.rbg_rbs)).sum::<i64>();
                *now -= i64::from(case.rbs) * case.shares[slice] as i64 / 1_000_000;
                *least = (*least).min(*now);
                prop_assert!(*now - *least <= 2 * limit, "{} RBs more than agreed, limit {limit}", *now - *least);
            }
        }
    }

    /// A decision depends on earlier ones by the quanta only.
    #[test]
    fn decisions_depend_on_quanta_only(seed: u64) {
        let mut random = Random::derive(seed, "slices", "again");
        let mut case = Case::random(&mut random, &Size::CROWD);
        let (channels, mut old) = (case.channels(), case.eqp());
        for _ in 0..10 {
            case.refresh(&mut random);
            let mut new = case.eqp();
            new.set_quanta(old.quanta()).unwrap();
            let decided = old.decide(case.tti(), &channels, &case).unwrap();
            prop_assert_eq!(decided, new.decide(case.tti(), &channels, &case).unwrap());
            prop_assert_eq!(old.quanta(), new.quanta());
        }
    }
}
