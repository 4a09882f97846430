//! The queues of a slice that can matter to the knapsack, and the cost of each prefix of them.
//!
//! Only some hundred of ten thousand queues can be part of a best choice, because a TTI has few groups and
//! every packet counts the same. `pool.rs` finds these, roughly. `price.rs` determines which numbers of
//! packets of a queue lose too much. A queue that every best choice takes packets from has a base, and is a
//! contender with its further packets. The others compete for the groups that the bases leave, `C`, and for
//! the loss that a best choice may have, `L`. Let `k` packets of queue `q` cost `c(q, k)` groups and lose
//! `l(q, k)`, and let their weight be `w(q, k) = 4 L c(q, k) + C l(q, k)`. The total weight of a best choice
//! is at most `W = 5 L C`. Let `S(i)` be the sum of the `i` smallest of the least weights of the slice's
//! queues.
//!
//! **`k` packets of a queue may be left out if there is an `i` such that `i` earlier queues need no more
//! groups for `k` packets than it does, and `S(i) > W - w(q, k)`.** Proof: suppose that a best choice takes
//! these `k` packets. The other queues that the choice takes packets from share `W - w(q, k)`, and each has
//! at least its least weight, so there are fewer than `i` of them. Hence nothing is taken from one of these
//! `i` queues, and that queue can replace `q`: the choice has as many packets, of the same slice, and costs
//! no more. It takes more from an earlier queue, so the original choice was not the first one among equals.
//! If the quantum limit counts too, "no more groups" applies both to the inflated size and to the real one.
//!
//! A slice that is solved without its limit, although it has one, may yield a choice that violates the limit.
//! It is then solved again with the limit. If the choice satisfies the limit, it is the required one:
//! exchanges lead from any choice to one that was considered, is as good, and is no later among equals,
//! within the limit or not. Exchanges do not increase weights, because such a slice has no price for charged
//! groups (a slice with such a price is solved with the limit at once).
//!
//! Hence there is a cost `t(k)` from which on `k` packets are dominated: with the costs `s(1) <= s(2) <= …`
//! of the earlier queues, the minimum over `i` of `max(s(i), r(i))`, where `r(i)` is the least cost that
//! `S(i)` leaves no room for. Queues are processed in their order, and `t(k)` only falls. A queue is kept if
//! it costs less than one of them.

use super::pool::{Pool, push};
use super::price::{Market, Price};
use super::problem::{Prefix, Problem};
use super::work::Work;
use alloc::vec::Vec;

/// The criterion for leaving out: numbers of packets by which a choice loses more than `slack`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub price: Price,
    pub slack: i64,
}

impl Cut {
    /// Returns true if a prefix may be in a best choice, where the queue gains at most `best`.
    #[inline]
    fn keeps(&self, best: i32, prefix: &Prefix) -> bool {
        i64::from(best - self.price.gain_of(prefix)) <= self.slack
    }
}

/// A queue that can be part of a best choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub queue: u32,
    /// Number of the queue's packets in every best choice. Its prefixes are those beyond.
    pub base: u16,
    first: u32,
    end: u32,
}

/// The contending queues of a slice, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Contenders {
    pub list: Vec<Contender>,
    prefixes: Vec<Prefix>,
}

impl Contenders {
    /// The prefixes of a queue that can be chosen, in ascending number of packets.
    pub fn prefixes(&self, contender: Contender) -> &[Prefix] {
        &self.prefixes[contender.first as usize..contender.end as usize]
    }
    /// Sorts the contenders into the order of the members, of which `first` is the first.
    fn sort(&mut self, first: u32) {
        // The order of members wraps around once.
        let place = |contender: &Contender| contender.queue.wrapping_sub(first);
        if !self.list.is_sorted_by_key(place) {
            self.list.sort_unstable_by_key(place);
        }
    }
}

/// Finds contenders. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Sieve {
    weight: Weight,
    /// The sums of the `i` smallest weights, from `i` = 1 on, as long as they are within the room.
    sums: Vec<i64>,
    /// The least weight over all its prefixes, by candidate.
    weights: Vec<i64>,
    levels: Levels,
    /// Prefixes of the candidates, concatenated.
    prefixes: Vec<Prefix>,
    candidates: Vec<Candidate>,
    pub work: Work,
    /// True if nothing is left out.
    #[cfg(test)]
    pub keeps_all: bool,
}

/// A queue of which some packets may be in a best choice.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    queue: u32,
    /// Largest gain of the queue.
    best: i32,
    first: u32,
    end: u32,
}

/// The share of a queue's packets in the resources of a best choice: groups, and loss. A loss is weighted such that the
/// largest permitted loss equals a fifth of the total.
#[derive(Clone, Debug, Default)]
struct Weight {
    price: Option<Price>,
    /// Weight of a group, and of a unit of loss.
    group: i64,
    loss: i64,
    /// Total weight that a choice may have.
    room: i64,
}

impl Weight {
    fn set(&mut self, cut: Cut, capacity: u16) {
        let Cut { price, slack } = cut;
        self.price = Some(price);
        // If no loss is permitted, only groups count.
        (self.group, self.loss) = (4 * slack.max(1), i64::from(capacity));
        self.room = 4 * slack.max(1) * i64::from(capacity) + slack * i64::from(capacity);
    }
    /// The weight of a prefix of a queue that gains at most `best`.
    fn prefix_weight(&self, cut: &Cut, best: i32, prefix: &Prefix) -> i64 {
        self.group * i64::from(prefix.groups) + self.loss * i64::from(best - cut.price.gain_of(prefix))
    }
    /// The fewest groups with which `packets` packets leave less than `sum` of the room.
    fn beaten_from(&self, packets: usize, sum: i64) -> u16 {
        let room = self.room - sum;
        if room < 0 {
            return 0;
        }
        // By their groups alone, or with their least loss: the price of these groups, less the packets.
        let alone = room / self.group + 1;
        let with = self.price.map_or(i64::MAX, |price| {
            let worth = self.loss * i64::from(price.packet) * packets as i64;
            (room + worth) / (self.group + self.loss * i64::from(price.group)) + 1
        });
        alone.min(with).min(i64::from(u16::MAX)) as u16
    }
}

/// Number of queues below which leaving out costs more than it saves.
const FEW: usize = if cfg!(test) { 1 } else { 32 };

/// For each number of packets: the costs of the cheapest queues so far.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// Number of group counts, from none to the capacity.
    width: usize,
    /// Number of distinct values of the real groups.
    depth: usize,
    /// By level and real groups: `t(k)`; this number of groups or more is dominated.
    enough: Vec<u16>,
    /// Number of entries of `costs`, by level and real groups.
    held: Vec<u16>,
    /// Costs below `enough`, ascending.
    costs: Vec<u16>,
    /// By level, for 1, 2, … queues: the fewest groups that they dominate if none of them takes more.
    reach: Vec<u16>,
}

impl Levels {
    fn clear(&mut self, capacity: u16, depth: usize) {
        (self.width, self.depth) = (usize::from(capacity) + 1, depth);
        self.enough.clear();
        self.held.clear();
        self.reach.clear();
    }
    fn len(&self) -> usize {
        self.enough.len() / self.depth.max(1)
    }
    /// Returns true if one of the prefixes is not dominated.
    #[inline]
    fn needs(&self, prefixes: &[Prefix]) -> bool {
        prefixes.iter().any(|prefix| {
            let cell = (usize::from(prefix.packets) - 1) * self.depth + usize::from(prefix.charged);
            self.enough.get(cell).is_none_or(|&enough| prefix.groups < enough)
        })
    }
    /// Makes room for `count` packets.
    fn grow(&mut self, count: usize, weight: &Weight, sums: &[i64]) {
        if count <= self.len() {
            return;
        }
        for packets in self.len() + 1..=count {
            self.reach.extend(sums.iter().map(|&sum| weight.beaten_from(packets, sum)));
        }
        let cells = count * self.depth;
        self.enough.resize(cells, self.width as u16);
        self.held.resize(cells, 0);
        let costs = cells * Levels::most(sums);
        if self.costs.len() < costs {
            self.costs.resize(costs, 0);
        }
    }
    /// One more than the most costs that are kept: a cost is inserted before another is removed.
    fn most(sums: &[i64]) -> usize {
        sums.len() + 1
    }
    /// Adds a prefix. Returns true if it is not dominated.
    fn add(&mut self, prefix: &Prefix, sums: &[i64]) -> bool {
        let (level, most) = (usize::from(prefix.packets) - 1, Levels::most(sums));
        let reach = &self.reach[level * sums.len()..(level + 1) * sums.len()];
        let (groups, least) = (prefix.groups, usize::from(prefix.charged));
        for charged in least..self.depth {
            let cell = level * self.depth + charged;
            let enough = &mut self.enough[cell];
            if groups >= *enough {
                // With more real groups it is dominated at no higher cost.
                return charged > least;
            }
            let held = &mut self.held[cell];
            let count = usize::from(*held);
            let here = &mut self.costs[cell * most..(cell + 1) * most];
            let at = here[..count].partition_point(|&other| other <= groups);
            here.copy_within(at..count, at + 1);
            here[at] = groups;
            *held += 1;
            // That many queues take at most the last of the held costs each, so every cost from the larger of it and
            // `reach` on is beaten.
            while let Some(last) = held.checked_sub(1).map(usize::from) {
                let reach = reach.get(last).copied().unwrap_or(0);
                *enough = (*enough).min(here[last].max(reach));
                if here[last] < reach {
                    break;
                }
                *held -= 1;
            }
        }
        true
    }
}

impl Contenders {
    /// Records the packets of a slice that every best choice takes: from each queue that gains more than the
    /// slack, the smallest number that may be taken. Returns their groups, at both sizes. The prefixes beyond
    /// are contenders.
    pub fn begin(
        &mut self,
        pool: &Pool,
        slice: usize,
        cut: Cut,
        mut fixed: impl FnMut(u32, u16),
    ) -> (u32, u32) {
        self.list.clear();
        self.prefixes.clear();
        let mut sum = (0, 0);
        for known in pool.known(slice).iter().filter(|known| i64::from(known.best) > cut.slack) {
            let first = self.prefixes.len() as u32;
            let mut kept = pool.prefixes(known).iter().filter(|prefix| cut.keeps(known.best, prefix));
            // The smallest number that may be taken is in every best choice; further packets compete as
            // prefixes relative to it.
            let Some(base) = kept.next() else { continue };
            self.prefixes.extend(kept.map(|prefix| Prefix {
                packets: prefix.packets - base.packets,
                groups: prefix.groups - base.groups,
                charged: prefix.charged - base.charged,
            }));
            sum = (sum.0 + u32::from(base.groups), sum.1 + u32::from(base.charged));
            let end = self.prefixes.len() as u32;
            match end > first {
                true => {
                    self.list.push(Contender { queue: known.queue, base: base.packets, first, end });
                }
                false => fixed(known.queue, base.packets),
            }
        }
        sum
    }
    /// Removes prefixes that do not fit beside the packets of every best choice, and real groups if their sum is not limited.
    fn settle<Q>(&mut self, problem: &Problem<'_, Q>) {
        for contender in &mut self.list {
            let prefixes = &mut self.prefixes[contender.first as usize..contender.end as usize];
            let fits = |prefix: &&mut Prefix| {
                prefix.groups <= problem.capacity
                    && problem.budget.is_none_or(|budget| prefix.charged <= budget)
            };
            let mut count = 0;
            for prefix in prefixes.iter_mut().take_while(fits) {
                count += 1;
                if !problem.is_limited {
                    prefix.charged = 0;
                }
            }
            contender.end = contender.first + count;
        }
    }
}

impl Sieve {
    /// Finds the contenders of `problem` among the queues that not every best choice takes packets from, and merges them with
    /// the others. `problem` is the remainder beside those.
    pub fn find<Q>(
        &mut self,
        problem: &Problem<'_, Q>,
        market: &Market,
        slice: usize,
        cut: Cut,
        found: &mut Contenders,
    ) {
        found.settle(problem);
        self.collect(problem, &market.pool, slice, cut);
        let all_stay = self.candidates.len() <= FEW || self.weigh(problem.capacity, cut);
        if !all_stay {
            self.levels.clear(problem.capacity, problem.depth());
        }
        self.work.entries += (found.prefixes.len() + self.prefixes.len()) as u64;
        for candidate in &self.candidates {
            let prefixes = &self.prefixes[candidate.first as usize..candidate.end as usize];
            let first = found.prefixes.len();
            if all_stay {
                found.prefixes.extend_from_slice(prefixes);
            } else if self.levels.needs(prefixes) {
                let most = prefixes.last().map_or(0, |prefix| prefix.packets);
                self.levels.grow(most.into(), &self.weight, &self.sums);
                let (levels, sums) = (&mut self.levels, &self.sums);
                found.prefixes.extend(prefixes.iter().filter(|prefix| levels.add(prefix, sums)));
            }
            let end = found.prefixes.len();
            if end > first {
                let (first, end) = (first as u32, end as u32);
                found.list.push(Contender { queue: candidate.queue, base: 0, first, end });
            }
        }
        found.sort(problem.members.first().copied().unwrap_or(0));
    }

    /// Collects the queues that packets may be taken from.
    fn collect<Q>(&mut self, problem: &Problem<'_, Q>, pool: &Pool, slice: usize, cut: Cut) {
        self.candidates.clear();
        self.prefixes.clear();
        for known in pool.known(slice).iter().filter(|known| i64::from(known.best) <= cut.slack) {
            let first = self.prefixes.len();
            let prefixes = pool.prefixes(known);
            self.work.entries += prefixes.len() as u64;
            for prefix in prefixes.iter().filter(|prefix| cut.keeps(known.best, prefix)) {
                if prefix.groups > problem.capacity
                    || problem.budget.is_some_and(|budget| prefix.charged > budget)
                {
                    break;
                }
                let charged = if problem.is_limited { prefix.charged } else { 0 };
                push(&mut self.prefixes, first, Prefix { charged, ..*prefix });
            }
            let end = self.prefixes.len();
            if end > first {
                let (first, end) = (first as u32, end as u32);
                self.candidates.push(Candidate { queue: known.queue, best: known.best, first, end });
            }
        }
    }

    /// Finds the least weights of the candidates, and from these the reach. Returns true if there are so few
    /// candidates that all are kept.
    fn weigh(&mut self, capacity: u16, cut: Cut) -> bool {
        #[cfg(test)]
        if self.keeps_all {
            return true;
        }
        self.weight.set(cut, capacity);
        self.weights.clear();
        let (weight, prefixes) = (&self.weight, &self.prefixes);
        self.weights.extend(self.candidates.iter().map(|candidate| {
            let prefixes = &prefixes[candidate.first as usize..candidate.end as usize];
            prefixes
                .iter()
                .map(|prefix| weight.prefix_weight(&cut, candidate.best, prefix))
                .fold(i64::MAX, i64::min)
        }));
        self.work.entries += prefixes.len() as u64;
        // The sums end where they exceed the room: at most this many weights are needed.
        let least = self.weights.iter().copied().min().unwrap_or(1).max(1);
        let most = (self.weight.room / least) as usize + 1;
        if most < self.weights.len() {
            self.weights.select_nth_unstable(most);
            self.weights.truncate(most);
        }
        self.weights.sort_unstable();
        self.sums.clear();
        let mut sum = 0;
        for weight in &self.weights {
            sum += weight;
            self.sums.push(sum);
            if sum > self.weight.room {
                break;
            }
        }
        self.candidates.len() <= self.sums.len()
    }
}
