//! Tests of the knapsack: its choices compared with choices that leave no queue out.

use super::*;
use crate::slice::Head;
use crate::slice::price::Price;
use alloc::vec;
use proptest::prelude::*;

/// For each queue: its channel, and the ends of its packets.
struct Sample(Vec<(usize, Vec<u32>)>);

impl Queues for Sample {
    fn count(&self) -> usize {
        self.0.len()
    }
    fn drb(&self, queue: usize) -> usize {
        queue
    }
    fn channel(&self, queue: usize) -> usize {
        self.0[queue].0
    }
    fn head(&self, queue: usize) -> Head<'_> {
        Head { ends: &self.0[queue].1, sent: 0 }
    }
    fn backlog_bytes(&self, _: usize) -> u64 {
        0
    }
}

/// The most packets for each number of groups, with no queue left out.
fn most(sample: &Sample, tables: &[Vec<u32>], sixteenths: u32, capacity: usize, budget: usize) -> Vec<u16> {
    let groups =
        |table: &[u32], bytes: u32| table.iter().position(|&carried| carried >= bytes).map(|n| n + 1);
    let mut best = vec![vec![0_u16; budget + 1]; capacity + 1];
    for (channel, ends) in &sample.0 {
        let before = best.clone();
        for (index, &bytes) in ends.iter().enumerate() {
            let table = &tables[*channel];
            let costs = groups(table, (bytes * sixteenths).div_ceil(16)).zip(groups(table, bytes));
            let Some((takes, charges)) = costs else { break };
            for taken in takes..=capacity {
                for charged in charges..=budget {
                    let with = before[taken - takes][charged - charges] + index as u16 + 1;
                    best[taken][charged] = best[taken][charged].max(with);
                }
            }
        }
    }
    best.iter().map(|best| best[budget]).collect()
}

fn ends(sizes: Vec<u32>) -> Vec<u32> {
    (1..=sizes.len()).map(|packets| sizes[..packets].iter().sum()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn leaving_out_queues_keeps_the_best_choice_of_a_slice(
        queues in prop::collection::vec((0_usize..3, prop::collection::vec(1_u32..60, 1..5)), 1..40),
        tables in prop::collection::vec(prop::collection::vec(1_u32..40, 12), 3),
        capacity in 1_u16..=12, budget in prop::option::of(0_u16..8), sixteenths in 16_u32..64,
    ) {
        let tables: Vec<Vec<u32>> = tables.into_iter().map(ends).collect();
        let sample = Sample(queues.into_iter().map(|(channel, sizes)| (channel, ends(sizes))).collect());
        let channel = |table: &Vec<u32>| RbgCapacity::new(12, |groups| table[usize::from(groups) - 1]);
        let channels: Vec<RbgCapacity> = tables.iter().map(channel).collect();
        let members: Vec<u32> = (0..sample.0.len() as u32).collect();
        let inflation = Inflation::from_sixteenths(sixteenths);
        let problem = |_: usize| Problem {
            queues: &sample,
            channels: &channels,
            members: &members,
            inflation,
            capacity,
            budget,
            is_limited: budget.is_some(),
        };
        let (mut solved, mut market) = (Solved::default(), Market::default());
        market.find(1, capacity, problem, |_| budget);
        // No packet is left out by price, as all numbers of groups are evaluated.
        let cut = Cut { price: market.prices[0], slack: i64::from(i32::MAX) };
        solved.begin(&market, 0, cut);
        solved.solve(&problem(0), &market, 0, cut, &mut Sieve::default());
        let limit = budget.unwrap_or(capacity).into();
        let expected = most(&sample, &tables, sixteenths, capacity.into(), limit);
        // The properties of the price hold for the queues that were not examined too.
        let price = market.prices[0];
        let best = expected.last().copied().unwrap_or(0);
        prop_assert!(market.bound >= i64::from(price.packet) * i64::from(best), "a bound on every choice");
        let costs: Vec<Vec<(u16, u16)>> = members
            .iter()
            .map(|&queue| {
                let mut costs = Vec::new();
                problem(0).push_costs(queue, sample.0[queue as usize].0, &mut costs);
                costs
            })
            .collect();
        let gain = |price: &Price, costs: &[(u16, u16)]| {
            costs.iter().enumerate().map(|(index, &costs)| price.gain(index + 1, costs)).fold(0, i32::max)
        };
        for queue in members.iter().filter(|&&queue| market.known(0).iter().all(|known| known.queue != queue)) {
            prop_assert_eq!(gain(&price, &costs[*queue as usize]), 0, "queue {} gains something", queue);
        }
        for (group, packet) in (0..5).flat_map(|group| (1..=12).map(move |packet| (group, packet))) {
            let other = Price { packet, group, charged: 0 };
            let gains: i64 = costs.iter().map(|costs| i64::from(gain(&other, costs))).sum();
            let bound = i64::from(group) * i64::from(capacity) + gains;
            let is_least = market.bound * i64::from(packet) <= bound * i64::from(price.packet);
            prop_assert!(is_least || budget.is_some(), "{packet} packets for {group} groups bound it closer");
        }
        for (groups, &expected) in expected.iter().enumerate() {
            let step = solved.steps.iter().rev().find(|step| usize::from(step.0) <= groups);
            prop_assert_eq!(step.map(|step| step.1), Some(expected), "{} groups", groups);
            let (mut ways, mut read) = (vec![Way { groups: groups as u16, packets: expected as i16 }], 0);
            let taken = solved.read(&mut ways, |_, packets| read += packets);
            prop_assert_eq!(read, expected);
            prop_assert!(usize::from(taken) <= groups);
        }
    }
}

/// Chooses among slices, each given by its queues, the inflation of its packets, its quantum and its budget. Returns the
/// packets and the sum of their quanta.
fn choose(slices: &[(Sample, u32, i64, u16)], tables: &[Vec<u32>], capacity: u16) -> (i64, i64) {
    let channel = |table: &Vec<u32>| RbgCapacity::new(12, |groups| table[usize::from(groups) - 1]);
    let channels: Vec<RbgCapacity> = tables.iter().map(channel).collect();
    let (mut all, mut members, mut parts) = (Sample(Vec::new()), Vec::new(), Vec::new());
    for (sample, sixteenths, quantum, budget) in slices {
        let first = all.0.len() as u32;
        all.0.extend(sample.0.iter().cloned());
        members.push((first..all.0.len() as u32).collect());
        let inflation = Inflation::from_sixteenths(*sixteenths);
        parts.push(Part { inflation, quantum: *quantum, budget: *budget });
    }
    let mut knapsack = Knapsack::default();
    knapsack.choose(&parts, &members, capacity, &channels, &all);
    let (mut taken, mut charged, mut value) = (0, vec![0; slices.len()], (0, 0));
    for chosen in &knapsack.chosen {
        let (channel, ends) = &all.0[chosen.queue as usize];
        let part = &parts[chosen.slice as usize];
        let bytes = ends[usize::from(chosen.packets) - 1];
        let groups = |bytes: u64| tables[*channel].iter().position(|&carried| u64::from(carried) >= bytes);
        taken += groups(part.inflation.inflate(bytes)).unwrap() + 1;
        charged[chosen.slice as usize] += groups(bytes.into()).unwrap() + 1;
        value.0 += i64::from(chosen.packets);
        value.1 += i64::from(chosen.packets) * part.quantum;
    }
    assert!(taken <= capacity.into());
    assert!(charged.iter().zip(&parts).all(|(&charged, part)| charged <= part.budget.into()));
    value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn no_better_choice_is_left_out_by_price(
        slices in prop::collection::vec((
            prop::collection::vec((0_usize..3, prop::collection::vec(1_u32..60, 1..7)), 1..20),
            prop::sample::select(vec![16_u32, 16, 17, 29, 48]), -4_i64..5, 0_u16..16,
        ), 1..5),
        tables in prop::collection::vec(prop::collection::vec(1_u32..80, 12), 3),
        capacity in 1_u16..=12,
    ) {
        let tables: Vec<Vec<u32>> = tables.into_iter().map(ends).collect();
        let sample = |queues: Vec<(usize, Vec<u32>)>| {
            Sample(queues.into_iter().map(|(channel, sizes)| (channel, ends(sizes))).collect())
        };
        let slices: Vec<(Sample, u32, i64, u16)> =
            slices.into_iter().map(|(queues, sixteenths, quantum, budget)| {
                (sample(queues), sixteenths, quantum, budget.min(capacity))
            }).collect();
        let mut best = vec![(0_i64, 0_i64); usize::from(capacity) + 1];
        for (sample, sixteenths, quantum, budget) in &slices {
            let most = most(sample, &tables, *sixteenths, capacity.into(), usize::from(*budget));
            for groups in (0..best.len()).rev() {
                let with = (0..=groups).map(|here| {
                    let (before, packets) = (best[groups - here], i64::from(most[here]));
                    (before.0 + packets, before.1 + packets * quantum)
                });
                best[groups] = with.max().unwrap();
            }
        }
        prop_assert_eq!(choose(&slices, &tables, capacity), best[usize::from(capacity)]);
    }
}

/// Queues of 20 packets of 200 or 1500 bytes on channels of 16 to 88 bytes an RB, from TTI to TTI; a
/// choice that leaves out by price or by dominance is compared with one that leaves nothing out.
#[test]
fn leaving_out_keeps_the_best_choice_of_long_queues() {
    for (run, (queues, rbg_rbs, slices)) in
        [(60, 1, 4), (500, 1, 4), (500, 16, 3), (2000, 1, 1), (2000, 4, 4), (4000, 1, 4)]
            .into_iter()
            .enumerate()
    {
        let mut random = qdelay_core::Random::derive(run as u64, "knapsack", "long");
        let groups = 275 / rbg_rbs;
        let channel =
            |mcs: u32| RbgCapacity::new(groups, |many| u32::from(many * rbg_rbs) * (16 + 72 * mcs / 28));
        let channels: Vec<RbgCapacity> = (0..29).map(channel).collect();
        let sizes = |random: &mut qdelay_core::Random| -> Vec<u32> {
            (0..20).map(|_| if random.below(2) == 0 { 200 } else { 1500 }).collect()
        };
        let mut waiting: Vec<(usize, Vec<u32>)> =
            (0..queues).map(|_| (random.below(29) as usize, sizes(&mut random))).collect();
        let mut knapsack = Knapsack::default();
        for tti in 0..300 {
            let all =
                Sample(waiting.iter().map(|(channel, sizes)| (*channel, ends(sizes.clone()))).collect());
            let members: Vec<Vec<u32>> = (0..slices)
                .map(|slice| {
                    let first = tti * 100 % queues;
                    let turn = (first..queues).chain(0..first);
                    turn.filter(|queue| queue % slices == slice).map(|queue| queue as u32).collect()
                })
                .collect();
            let parts: Vec<Part> = (0..slices)
                .map(|_| {
                    let quantum = random.below(2000) as i64 - 1000;
                    let budget = ((quantum + 1100) / i64::from(rbg_rbs)).clamp(0, groups.into()) as u16;
                    Part { inflation: Inflation::from_borrowed(-quantum, 1100), quantum, budget }
                })
                .collect();
            knapsack.choose(&parts, &members, groups, &channels, &all);
            let mut thorough = Knapsack::default();
            thorough.sieve.keeps_all = true;
            thorough.solved.resize_with(slices, Solved::default);
            let whole = Knapsack::problems(&parts, &members, groups, &channels, &all);
            thorough.market.find(slices, groups, &whole, Knapsack::budgets(&parts, groups));
            assert!(thorough.attempt(&parts, groups, i32::MAX.into(), &whole).is_some());
            for chosen in [&mut knapsack.chosen, &mut thorough.chosen] {
                chosen.sort_by_key(|chosen| (chosen.slice, chosen.queue));
            }
            assert_eq!(knapsack.chosen, thorough.chosen, "{queues} queues, TTI {tti}, {parts:?}");
            for chosen in &knapsack.chosen {
                let (_, sizes) = &mut waiting[chosen.queue as usize];
                sizes.drain(..usize::from(chosen.packets));
                while sizes.len() < 20 {
                    sizes.push(if random.below(2) == 0 { 200 } else { 1500 });
                }
            }
        }
    }
}

/// One and two packets take equally many groups at the inflated size, but not at the real one: neither
/// may replace the other.
#[test]
fn the_limit_counts_the_real_size_of_packets() {
    let tables = [ends(vec![100, 100, 800, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000])];
    let queue = || (0, vec![90, 150]);
    for (budget, expected) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6), (7, 6)] {
        let slices = [(Sample(vec![queue(), queue(), queue()]), 48, -5, budget)];
        assert_eq!(choose(&slices, &tables, 12).0, expected, "budget {budget}");
    }
}

#[test]
fn borrowing_inflates_packets() {
    assert_eq!(Inflation::from_borrowed(-5, 100), Inflation::NONE);
    assert_eq!(Inflation::from_borrowed(100, 100).inflate(200), 1200, "a factor of 1 + 5");
    assert_eq!(Inflation::from_borrowed(300, 100).inflate(200), 1200, "the factor is limited");
    // Expected factor: 1 + 5 / 32.
    assert_eq!(Inflation::from_borrowed(50, 100).inflate(320), 370);
}
