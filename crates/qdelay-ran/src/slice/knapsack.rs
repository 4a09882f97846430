//! The choice of EQP: from the heads of the queues the most packets that fit into a TTI whole, and of such
//! choices the one with the largest sum of quanta.
//!
//! Source: 5G QoS thesis, section 4.4, equations 4.1 to 4.4: a knapsack with precedence constraints. Because
//! packets leave a queue in order, a choice is one number of packets for each queue, and a knapsack over the
//! groups of the TTI solves it.
//!
//! All packets of a slice have the same quantum. So each slice is first solved for packets alone, for each
//! number of groups at once (16-bit counts over the groups, which the compiler turns into vector
//! instructions), and the few slices are then combined by (packets, sum of quanta), as one number in a double
//! that is exact below 2^53.
//!
//! **Of equal choices, the required one takes the most packets from the first queue, then from the second,
//! and so on**, slice by slice and within a slice in the order of its members. The dynamic programme runs
//! from the last queue to the first, and the choice is read off from the first to the last. A slice may have
//! several numbers of groups with which the total is equally good; all of them are followed until a queue
//! distinguishes them ([`Way`]).
//!
//! Before that, `price.rs` bounds the number of packets, and leaves out packets that are in no best choice,
//! assuming that the best choice reaches the bound. If the best choice turns out to have fewer packets, the
//! assumption was wrong, and the step is repeated with the better bound. The rounded solution of the price is
//! such a bound from the beginning ([`Market::rounded`]). Packets in every best choice are set aside; the
//! dynamic programme (`solved.rs`) runs over the few remaining groups.
//!
//! State kept from TTI to TTI only determines the starting point: the first price (`pool.rs`), and the queues
//! that need not be examined (`memory.rs`). It changes no choice.
//!
//! A slice may be charged for no more than its quantum limit leaves, at the real size of packets, while the
//! capacity counts the inflated size. That is a second dimension, but most of the time it is not binding: the
//! choice is made without it, and again with it for a slice that exceeds its limit. A relaxed optimum that is
//! feasible is the optimum. A slice with a price for charged groups (`price.rs`) is almost certain to exceed
//! its limit, and is solved with it at once.
//!
//! Differences from the reference:
//! * Algorithm 9 advances its indices before it uses them, and stores by position and capacity a value that
//!   depends on the path to them. This module solves the problem as stated in the text.
//! * Two bearers of one UE would share a transport block and its last, partly filled group. Here each is
//!   rounded up separately.

use super::contenders::{Cut, Sieve};
use super::memory::Steepness;
use super::pool::Reach;
use super::price::Market;
use super::problem::{Inflation, Problem};
use super::solved::{LANES, Solved, Way};
use super::work::Work;
use super::{Queues, RbgCapacity};
use alloc::vec::Vec;

/// Value of a packet, above that of any sum of quanta.
const PACKET: f64 = (1_u64 << 37) as f64;

/// Number of queues from which on they are examined in two passes: for the price, and for the candidates at
/// this price.
const MANY: usize = if cfg!(test) { 8 } else { 256 };
/// Number of queues of a slice from which the first price of many queues is computed.
const SAMPLE: usize = if cfg!(test) { 2 } else { 64 };
/// Distance from the bound, in packets, within which a known choice ends the search for better ones.
const CLOSE: i64 = 2;
/// Packets that a choice among fewer queues may lose before there is a second pass.
const SLACK: i64 = 2;

/// The input of one slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub inflation: Inflation,
    pub quantum: i64,
    /// Groups, at the real size, that the slice's quantum limit leaves.
    pub budget: u16,
}

/// The chosen packets of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub slice: u32,
    pub queue: u32,
    pub packets: u16,
    /// Groups at the real size.
    pub groups: u16,
}

/// Solves the problem. Keeps its memory from TTI to TTI.
#[derive(Clone, Debug, Default)]
pub(super) struct Knapsack {
    pub steepness: Steepness,
    market: Market,
    sieve: Sieve,
    solved: Vec<Solved>,
    /// The largest value of the slices from one on: by slice, groups.
    values: Vec<f64>,
    ways: Vec<Way>,
    /// The chosen packets, slice by slice.
    pub chosen: Vec<Chosen>,
    /// Work of the last choice.
    pub work: Work,
}

impl Knapsack {
    /// Chooses among `members`, which are the queues of each slice, for `capacity` groups.
    pub fn choose<Q: Queues>(
        &mut self,
        parts: &[Part],
        members: &[Vec<u32>],
        capacity: u16,
        channels: &[RbgCapacity],
        queues: &Q,
    ) {
        self.chosen.clear();
        self.solved.resize_with(parts.len(), Solved::default);
        let whole = Knapsack::problems(parts, members, capacity, channels, queues);
        (self.market.work, self.sieve.work) = (Work::default(), Work::default());
        self.find_price(parts, members, capacity, channels, queues);
        let price = self.market.price();
        // With few queues a second choice costs more than a pool for a larger loss.
        let is_few = members.iter().map(Vec::len).sum::<usize>() <= MANY;
        let (bound, packet) = (self.market.bound, i64::from(price.packet));
        // The first attempt assumes as many packets as the bound allows; later ones assume one less, two,
        // four, or as many as are known to be possible.
        let (least, mut fewer, mut found) = (bound % packet, 0, self.market.rounded(capacity, &whole));
        loop {
            let (gap, mut slack) = (bound - packet * found, least + packet * fewer);
            if gap <= slack || (is_few || fewer > 0) && gap <= least + packet * CLOSE {
                slack = gap;
            }
            if !self.market.reach.covers(&price, slack, bound / packet) {
                let reach = Reach { price, slack, packets: bound / packet, is_exact: true };
                self.market.extend(reach, &self.steepness, capacity, &whole);
            }
            let reached = self.attempt(parts, capacity, slack, &whole).unwrap_or(0);
            if bound - packet * reached <= slack {
                break;
            }
            found = found.max(reached);
            fewer = (2 * fewer).max(1);
        }
        self.work = self.market.work;
        self.work += self.sieve.work;
        self.work.costs += core::mem::take(&mut self.steepness.costs);
    }

    /// Finds the price of a group. Begins around the last TTI's price or, without one, that of a few queues of each slice, which
    /// is no higher than that of all.
    fn find_price<Q: Queues>(
        &mut self,
        parts: &[Part],
        members: &[Vec<u32>],
        capacity: u16,
        channels: &[RbgCapacity],
        queues: &Q,
    ) {
        let whole = Knapsack::problems(parts, members, capacity, channels, queues);
        let budgets = Knapsack::budgets(parts, capacity);
        let count = members.iter().map(Vec::len).sum::<usize>();
        let Knapsack { market, steepness, .. } = self;
        // For many queues the pool holds only those with a gain; the bound then determines which others
        // matter.
        let slack = if count > MANY { 0 } else { SLACK };
        if market.around_last(slack).is_none() && count > MANY {
            let sample = |slice: usize| {
                let mut problem = whole(slice);
                problem.members = problem.members.get(..SAMPLE).unwrap_or(problem.members);
                problem
            };
            market.find_within(Reach::ALL, steepness, parts.len(), capacity, sample, &budgets);
            market.keep();
        }
        let mut reach = market.around_last(slack).unwrap_or(Reach::ALL);
        for often in 0.. {
            market.find_within(reach, steepness, parts.len(), capacity, &whole, &budgets);
            if market.price().group > 0 || reach.price.group == 0 {
                break;
            }
            reach = reach.lower(often);
        }
        market.keep();
    }

    /// The problem of each slice.
    fn problems<'a, Q: Queues>(
        parts: &'a [Part],
        members: &'a [Vec<u32>],
        capacity: u16,
        channels: &'a [RbgCapacity],
        queues: &'a Q,
    ) -> impl Fn(usize) -> Problem<'a, Q> {
        move |slice: usize| {
            let part = parts[slice];
            let members = members.get(slice).map_or(&[][..], Vec::as_slice);
            let mut problem = Problem {
                queues,
                channels,
                members,
                inflation: part.inflation,
                capacity,
                budget: None,
                is_limited: false,
            };
            match part.inflation.is_none() {
                // Without inflation, the charged groups are the groups that count.
                true => problem.capacity = capacity.min(part.budget),
                false => problem.budget = (part.budget < capacity).then_some(part.budget),
            }
            problem
        }
    }
    /// The groups that each slice may be charged for, if these are fewer than the capacity.
    fn budgets(parts: &[Part], capacity: u16) -> impl Fn(usize) -> Option<u16> {
        move |slice: usize| Some(parts[slice].budget).filter(|&budget| budget < capacity)
    }

    /// Finds the best choice among those that lose at most `slack` in any queue. Returns its number of
    /// packets; `None` if there is none.
    fn attempt<'a, Q: Queues + 'a>(
        &mut self,
        parts: &[Part],
        capacity: u16,
        slack: i64,
        whole: impl Fn(usize) -> Problem<'a, Q>,
    ) -> Option<i64> {
        let mut rest = u32::from(capacity);
        for (slice, (part, solved)) in parts.iter().zip(&mut self.solved).enumerate() {
            let cut = Cut { price: *self.market.prices.get(slice)?, slack };
            solved.begin(&self.market, slice, cut);
            rest = rest.checked_sub(solved.base.0)?;
            let charged = if part.inflation.is_none() { solved.base.0 } else { solved.base.1 };
            u32::from(part.budget).checked_sub(charged)?;
        }
        let rest = rest as u16;
        let problem = |slice: usize, base: (u32, u32)| {
            let mut problem = whole(slice);
            problem.capacity = (u32::from(problem.capacity).saturating_sub(base.0) as u16).min(rest);
            problem.budget = problem.budget.map(|budget| u32::from(budget).saturating_sub(base.1) as u16);
            problem
        };
        for (slice, solved) in self.solved.iter_mut().enumerate() {
            let cut = Cut { price: *self.market.prices.get(slice)?, slack };
            let mut problem = problem(slice, solved.base);
            problem.is_limited = cut.price.charged > 0;
            solved.solve(&problem, &self.market, slice, cut, &mut self.sieve);
        }
        loop {
            self.combine(parts, rest);
            let Problem { queues, channels, .. } = whole(0);
            self.read(parts, rest, channels, queues);
            let Some(slice) = self.beyond_limit(parts) else { break };
            let (solved, cut) =
                (&mut self.solved[slice], Cut { price: *self.market.prices.get(slice)?, slack });
            solved.begin(&self.market, slice, cut);
            let problem = Problem { is_limited: true, ..problem(slice, solved.base) };
            solved.solve(&problem, &self.market, slice, cut, &mut self.sieve);
        }
        Some(self.chosen.iter().map(|chosen| i64::from(chosen.packets)).sum())
    }

    /// A slice whose charged groups exceed its budget.
    fn beyond_limit(&self, parts: &[Part]) -> Option<usize> {
        let mut chosen = self.chosen.iter().peekable();
        for (slice, (part, solved)) in parts.iter().zip(&self.solved).enumerate() {
            let mut charged = 0;
            while let Some(here) = chosen.next_if(|chosen| chosen.slice as usize == slice) {
                charged += u32::from(here.groups);
            }
            if charged > u32::from(part.budget) && !solved.is_limited {
                return Some(slice);
            }
        }
        None
    }

    /// Combines the slices, from the last to the first.
    fn combine(&mut self, parts: &[Part], capacity: u16) {
        let (width, count) = (usize::from(capacity) + 1, parts.len());
        if self.values.len() < (count + 1) * width {
            self.values.resize((count + 1) * width, 0.0);
        }
        self.values[count * width..(count + 1) * width].fill(0.0);
        for (slice, (part, solved)) in parts.iter().zip(&self.solved).enumerate().rev() {
            let (front, back) = self.values.split_at_mut((slice + 1) * width);
            let (row, next) = (&mut front[slice * width..], &back[..width]);
            if slice + 1 == count && slice > 0 {
                // For the last slice the value of a number of groups is that of this slice alone.
                let ends = solved.steps.iter().skip(1).map(|&(groups, _)| usize::from(groups)).chain([width]);
                for (&(groups, packets), end) in solved.steps.iter().zip(ends) {
                    row[groups.into()..end].fill(worth(part, packets));
                }
                continue;
            }
            self.sieve.work.blocks += (width * solved.steps.len() / LANES) as u64;
            row.copy_from_slice(next);
            // For the first slice only the last entry is needed.
            let from = if slice == 0 { width - 1 } else { 0 };
            for &(groups, packets) in &solved.steps[1..] {
                let value = worth(part, packets);
                let groups = usize::from(groups);
                let skip = from.saturating_sub(groups);
                for (to, from) in row[groups + skip..].iter_mut().zip(&next[skip..]) {
                    let with = *from + value;
                    *to = if with > *to { with } else { *to };
                }
            }
        }
    }

    /// Reads the choice from the tables.
    fn read<Q: Queues>(&mut self, parts: &[Part], capacity: u16, channels: &[RbgCapacity], queues: &Q) {
        let width = usize::from(capacity) + 1;
        let mut left = usize::from(capacity);
        let Knapsack { solved, values, ways, chosen, .. } = self;
        chosen.clear();
        for (slice, (part, solved)) in parts.iter().zip(solved.iter()).enumerate() {
            let best = values[slice * width + left];
            let next = &values[(slice + 1) * width..(slice + 2) * width];
            let most = left.min(solved.width - 1);
            ways.clear();
            for &(groups, packets) in &solved.steps {
                let mut groups = usize::from(groups);
                let rest = best - worth(part, packets);
                if groups > most || next[left - groups] != rest {
                    continue;
                }
                // The slice may use as many further groups as do not reduce the value of the following
                // slices.
                while groups < most && next[left - groups - 1] == rest {
                    groups += 1;
                }
                ways.push(Way { groups: groups as u16, packets: packets as i16 });
            }
            left -= usize::from(solved.read(ways, |queue, packets| {
                let number = queue as usize;
                let bytes = queues.head(number).bytes(packets.into());
                let channel = channels.get(queues.channel(number));
                let groups = channel.and_then(|channel| channel.groups_for(bytes.into())).unwrap_or(0);
                chosen.push(Chosen { slice: slice as u32, queue, packets, groups });
            }));
        }
    }
}

/// Value of `packets` packets of a slice.
fn worth(part: &Part, packets: u16) -> f64 {
    (PACKET + part.quantum as f64) * f64::from(packets)
}

#[cfg(test)]
mod tests {
    use super::super::Head;
    use super::super::price::Price;
    use super::*;
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
    fn most(
        sample: &Sample,
        tables: &[Vec<u32>],
        sixteenths: u32,
        capacity: usize,
        budget: usize,
    ) -> Vec<u16> {
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
            let groups =
                |bytes: u64| tables[*channel].iter().position(|&carried| u64::from(carried) >= bytes);
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
                        Part { inflation: Inflation::of(-quantum, 1100), quantum, budget }
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
        assert_eq!(Inflation::of(-5, 100), Inflation::NONE);
        assert_eq!(Inflation::of(100, 100).inflate(200), 1200, "a factor of 1 + 5");
        assert_eq!(Inflation::of(300, 100).inflate(200), 1200, "the factor is limited");
        // Expected factor: 1 + 5 / 32.
        assert_eq!(Inflation::of(50, 100).inflate(320), 370);
    }
}
