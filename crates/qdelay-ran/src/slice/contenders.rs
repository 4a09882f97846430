//! The queues of a slice that can matter to the knapsack, and the cost of each prefix of them.
//!
//! Of ten thousand queues only some hundred can be part of a best choice, because a TTI has few groups and every packet
//! counts the same. `price.rs` determines which numbers of packets of a queue lose too much. A queue that every best choice
//! takes packets from has a base, and is a contender with its further packets. The others compete for the groups that the
//! bases leave, `C`, and for the loss that a best choice may have, `L`. Let `k` packets of queue `q` cost `c(q, k)` groups
//! and lose `l(q, k)`, and let their weight be `w(q, k) = 4 L c(q, k) + C l(q, k)`. The total weight of a best choice is at
//! most `W = 5 L C`. Let `S(i)` be the sum of the `i` smallest of the least weights of the slice's queues.
//!
//! **`k` packets of a queue may be left out if there is an `i` such that `i` earlier queues need no more groups for `k`
//! packets than it does, and `S(i) > W - w(q, k)`.** For suppose that a best choice takes these `k` packets. The other queues
//! that it takes packets from share `W - w(q, k)`, and each has at least its least weight, so there are fewer than `i` of
//! them. Hence nothing is taken from one of these `i` queues, and that queue can replace `q`: the choice has as many packets,
//! of the same slice, and costs no more. It takes more from an earlier queue, so the original choice was not the first one
//! among equals. If the quantum limit counts too, "no more groups" applies both to the inflated size and to the real one.
//!
//! A slice that is solved without its limit, although it has one, may yield a choice that violates the limit. It is then
//! solved again with the limit. If the choice satisfies the limit, it is the required one: exchanges lead from any choice to
//! one that was considered, is as good, and is no later among equals, whether or not it satisfies the limit. Exchanges do not
//! increase weights, because such a slice has no price for charged groups (a slice with such a price is solved with the limit
//! at once).
//!
//! So there is a cost `t(k)` from which on `k` packets are beaten: with the costs `s(1) <= s(2) <= …` of the earlier queues,
//! the minimum over `i` of `max(s(i), r(i))`, where `r(i)` is the least cost that `S(i)` leaves no room for. Queues are
//! processed in their order, and `t(k)` only falls. A queue is kept if it costs less than one of them. Almost every other
//! queue is refused by comparing its bytes with the most bytes that cost less than `t(k)` on its channel, without looking up
//! its costs.

use super::price::{Known, Limits, Market, Price};
use super::problem::Problem;
use super::{Head, MOST_PACKETS, Queues, RbgCapacity};
use alloc::vec::Vec;

/// The criterion for leaving out: numbers of packets by which a choice loses more than `slack`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub price: Price,
    pub slack: i64,
}

impl Cut {
    /// Whether so many packets at these costs may be in a best choice, where the queue gains at most `best`.
    #[inline]
    fn keeps(&self, best: i32, packets: usize, costs: (u16, u16)) -> bool {
        i64::from(best - self.price.gain(packets, costs)) <= self.slack
    }
}

impl<Q: Queues> Problem<'_, Q> {
    /// Costs of `bytes` from the head of a queue: groups, and groups at the real size, which are 0 if they are not limited.
    /// `None` if they do not fit.
    #[inline]
    fn cost(&self, channel: &RbgCapacity, bytes: u32) -> Option<(u16, u16)> {
        let groups = channel.groups_for(self.inflation.inflate(bytes))?;
        if groups > self.capacity {
            return None;
        }
        let Some(budget) = self.budget else { return Some((groups, 0)) };
        let real = channel.groups_for(u64::from(bytes))?;
        (real <= budget).then_some((groups, real))
    }
    /// Adds the costs of 1, 2, … packets from the head of a queue, as many as fit.
    pub fn push_costs(&self, queue: u32, channel: usize, costs: &mut Vec<(u16, u16)>) {
        let Some(channel) = self.channels.get(channel) else { return };
        let head = self.queues.head(queue as usize);
        for packets in 1..=head.ends.len().min(MOST_PACKETS) {
            match self.cost(channel, head.bytes(packets)) {
                Some(cost) => costs.push(cost),
                None => break,
            }
        }
    }
    /// Number of distinct values of the real groups.
    pub fn depth(&self) -> usize {
        self.budget.filter(|_| self.is_limited).map_or(1, |budget| usize::from(budget) + 1)
    }
}

/// A number of packets from the head of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    pub packets: u16,
    /// Groups at the inflated size.
    pub groups: u16,
    /// Groups at the real size; 0 if they are not limited.
    pub charged: u16,
}

/// A queue that can be part of a best choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub queue: u32,
    /// Number of its packets in every best choice. Its prefixes are those beyond.
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
    /// Sorts them into the order of the members, of which `first` is the first.
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
    /// The least weight over all its packets that fit, by queue.
    weights: Vec<i64>,
    levels: Levels,
    /// Costs of the candidates, concatenated, for 1, 2, … packets.
    costs: Vec<(u16, u16)>,
    candidates: Vec<Contender>,
    /// For each channel the byte limits below `t(k)`.
    limits: Vec<u32>,
    fresh: Vec<Fresh>,
    /// Queues whose first packet fits, and its cost.
    fitting: Vec<Fitting>,
    price_limits: Limits,
    beaten: Beaten,
    /// Nothing is left out.
    #[cfg(test)]
    pub keeps_all: bool,
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
    /// The least weight of a queue that takes at least so many groups, if it gains nothing.
    least: Vec<i64>,
}

impl Weight {
    fn set(&mut self, cut: Cut, capacity: u16) {
        let Cut { price, slack } = cut;
        self.price = Some(price);
        // If nothing may be lost, only groups count.
        (self.group, self.loss) = (4 * slack.max(1), i64::from(capacity));
        self.room = 4 * slack.max(1) * i64::from(capacity) + slack * i64::from(capacity);
        self.least.clear();
        self.least.resize(usize::from(capacity) + 2, i64::MAX);
        for groups in (1..=usize::from(capacity)).rev() {
            // Its packets are worth no more than the groups, and are a whole number.
            let worth = price.group * groups as i32;
            let loss = if price.charged == 0 { worth % price.packet.max(1) } else { 0 };
            let here = self.group * groups as i64 + self.loss * i64::from(loss);
            self.least[groups] = here.min(self.least[groups + 1]);
        }
    }
    /// The weight of so many groups with such a loss.
    fn of(&self, groups: u16, loss: i64) -> i64 {
        self.group * i64::from(groups) + self.loss * loss
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

/// A queue of which some packets may be in a best choice.
#[derive(Clone, Copy, Debug, Default)]
struct Fitting {
    queue: u32,
    /// A lower bound on the groups that it takes.
    cost: u16,
    /// Its position among the queues that were looked up, from 1 on; or 0.
    known: u32,
}

/// The smallest number of groups that is beaten for every number of packets.
#[derive(Clone, Copy, Debug, Default)]
struct Beaten {
    /// This number of groups or more is beaten.
    groups: u16,
    /// Numbers of candidates and of `t(k)` when it was computed: for more packets there was no `t(k)` then.
    candidates: u32,
    levels: usize,
}

/// Age of a channel's limits.
#[derive(Clone, Copy, Debug, Default)]
struct Fresh {
    is_set: bool,
    /// Number of candidates at the time.
    candidates: u32,
    /// For how many packets limits were computed.
    filled: u8,
}

/// With fewer queues, leaving out costs more than it saves.
const FEW: usize = if cfg!(test) { 1 } else { 32 };
/// The costs of packets that are left out.
const NEVER: (u16, u16) = (u16::MAX, u16::MAX);

/// For each number of packets: the costs of the cheapest queues so far.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// Number of group counts, from none to the capacity.
    width: usize,
    /// Number of distinct values of the real groups.
    depth: usize,
    /// By level and real groups: `t(k)`; this number of groups or more is beaten.
    enough: Vec<u16>,
    /// Number of costs held.
    held: Vec<u16>,
    /// The costs below `enough`, ascending.
    costs: Vec<u16>,
    /// By level, for 1, 2, … queues: the fewest groups that they beat if none of them takes more.
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
    /// Whether one of the costs is not beaten.
    #[inline]
    fn needs(&self, costs: &[(u16, u16)]) -> bool {
        costs.len() > self.len()
            || costs.iter().zip(self.enough.chunks_exact(self.depth)).any(|(&(groups, charged), enough)| {
                // The cost of left-out packets is no real group of any level.
                enough.get(usize::from(charged)).is_some_and(|&enough| groups < enough)
            })
    }
    /// Adds a queue with these costs. Costs that are beaten become [`NEVER`].
    fn add(&mut self, costs: &mut [(u16, u16)], weight: &Weight, sums: &[i64]) {
        // One more than the most that are kept: a cost is inserted before another is removed.
        let most = sums.len() + 1;
        for packets in self.len() + 1..=costs.len() {
            self.reach.extend(sums.iter().map(|&sum| weight.beaten_from(packets, sum)));
        }
        if costs.len() > self.len() {
            let cells = costs.len() * self.depth;
            self.enough.resize(cells, self.width as u16);
            self.held.resize(cells, 0);
            if self.costs.len() < cells * most {
                self.costs.resize(cells * most, 0);
            }
        }
        for (level, costs) in costs.iter_mut().enumerate() {
            let reach = &self.reach[level * sums.len()..(level + 1) * sums.len()];
            let (groups, least) = (costs.0, usize::from(costs.1));
            for charged in least..self.depth {
                let cell = level * self.depth + charged;
                let enough = &mut self.enough[cell];
                if groups >= *enough {
                    if charged == least {
                        *costs = NEVER;
                    }
                    // With more real groups it is beaten no later.
                    break;
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
        }
    }
}

/// Whether a value computed with `then` candidates must be recomputed with `now`. An outdated value lets too many queues
/// through, which only costs time.
fn is_stale(then: u32, now: u32) -> bool {
    now > then + if cfg!(test) { 1 } else { 15 + then / 4 }
}

impl Contenders {
    /// Records the packets of a slice that every best choice takes: from each queue that gains more than the slack, the least
    /// number that may be taken. Returns their groups, at both sizes. The prefixes beyond are contenders.
    pub fn begin(
        &mut self,
        market: &Market,
        slice: usize,
        cut: Cut,
        mut fixed: impl FnMut(u32, u16),
    ) -> (u32, u32) {
        self.list.clear();
        self.prefixes.clear();
        let mut sum = (0, 0);
        for known in market.known(slice).iter().filter(|known| i64::from(known.best) > cut.slack) {
            let first = self.prefixes.len() as u32;
            let costs = market.costs(known);
            let mut base: Option<Prefix> = None;
            for (index, &(groups, charged)) in costs.iter().enumerate() {
                // More packets for the same cost are better.
                let is_best = costs.get(index + 1) != Some(&(groups, charged));
                if !is_best || !cut.keeps(known.best, index + 1, (groups, charged)) {
                    continue;
                }
                let here = Prefix { packets: index as u16 + 1, groups, charged };
                match base {
                    None => base = Some(here),
                    Some(base) => self.prefixes.push(Prefix {
                        packets: here.packets - base.packets,
                        groups: groups - base.groups,
                        charged: charged - base.charged,
                    }),
                }
            }
            let Some(base) = base else { continue };
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
    fn settle<Q: Queues>(&mut self, problem: &Problem<'_, Q>) {
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
    pub fn find<Q: Queues>(
        &mut self,
        problem: &Problem<'_, Q>,
        market: &Market,
        slice: usize,
        cut: Cut,
        found: &mut Contenders,
    ) {
        found.settle(problem);
        let all_stay = self.count(problem, market, slice, cut);
        self.levels.clear(problem.capacity, problem.depth());
        self.costs.clear();
        self.candidates.clear();
        self.fresh.clear();
        self.fresh.resize(problem.channels.len(), Fresh::default());
        let limits = problem.channels.len() * MOST_PACKETS;
        if self.limits.len() < limits {
            self.limits.resize(limits, 0);
        }
        self.beaten = Beaten { groups: u16::MAX, candidates: 0, levels: 0 };
        let known = market.known(slice);
        if all_stay {
            for index in 0..self.fitting.len() {
                self.admit(problem, self.fitting[index], market, known, cut, true);
            }
        } else {
            for index in 0..self.fitting.len() {
                let fitting = self.fitting[index];
                if fitting.known != 0 || self.may_matter(problem, fitting.queue as usize, fitting.cost) {
                    self.admit(problem, fitting, market, known, cut, false);
                }
            }
        }
        for candidate in &self.candidates {
            let first = found.prefixes.len() as u32;
            let costs = &self.costs[candidate.first as usize..candidate.end as usize];
            for (index, &(groups, charged)) in costs.iter().enumerate() {
                // More packets for the same cost are better.
                let is_best = (groups, charged) != NEVER && costs.get(index + 1) != Some(&(groups, charged));
                if is_best {
                    found.prefixes.push(Prefix { packets: index as u16 + 1, groups, charged });
                }
            }
            let end = found.prefixes.len() as u32;
            if end > first {
                found.list.push(Contender { queue: candidate.queue, base: 0, first, end });
            }
        }
        found.sort(problem.members.first().copied().unwrap_or(0));
    }

    /// Finds the queues that packets may be taken from and their least weights, and from these the reach. Returns whether
    /// there are so few queues that all are kept.
    fn count<Q: Queues>(
        &mut self,
        problem: &Problem<'_, Q>,
        market: &Market,
        slice: usize,
        cut: Cut,
    ) -> bool {
        let capacity = usize::from(problem.capacity);
        self.weight.set(cut, problem.capacity);
        self.weights.clear();
        self.fitting.clear();
        let known = market.known(slice);
        let mut has_limits = false;
        let mut place = 0;
        for &member in problem.members {
            let mut fitting = Fitting { queue: member, cost: 0, known: 0 };
            if let Some(here) = known.get(place).filter(|known| known.queue == member) {
                place += 1;
                if i64::from(here.best) > cut.slack {
                    continue;
                }
                let (mut cost, mut least) = (u16::MAX, i64::MAX);
                for (index, &costs) in market.costs(here).iter().enumerate() {
                    let loss = i64::from(here.best - cut.price.gain(index + 1, costs));
                    if loss <= cut.slack {
                        cost = cost.min(costs.0);
                        least = least.min(self.weight.of(costs.0, loss));
                    }
                }
                (fitting.cost, fitting.known) = (cost, place as u32);
                if usize::from(cost) <= capacity {
                    self.weights.push(least);
                }
            } else {
                if !has_limits {
                    has_limits = true;
                    let channels = problem.channels.len();
                    self.price_limits.set(&cut.price, -cut.slack, problem.capacity, channels);
                }
                let queue = member as usize;
                let head = problem.queues.head(queue);
                let number = problem.queues.channel(queue);
                let Some(first) = self.price_limits.first(problem, number, head) else { continue };
                let Some(channel) = problem.channels.get(number) else { continue };
                let Some((groups, _)) = problem.cost(channel, head.bytes(first + 1)) else { continue };
                fitting.cost = groups;
                if let Some(&least) =
                    self.weight.least.get(usize::from(groups)).filter(|&&least| least < i64::MAX)
                {
                    self.weights.push(least);
                }
            }
            if usize::from(fitting.cost) <= capacity {
                self.fitting.push(fitting);
            }
        }
        // Only as many as can have room at all are needed.
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
        #[cfg(test)]
        if self.keeps_all {
            return true;
        }
        self.fitting.len() <= self.sums.len().max(FEW)
    }

    /// Whether a queue that takes at least `cost` is within the byte limit for some number of packets.
    #[inline]
    fn may_matter<Q: Queues>(&mut self, problem: &Problem<'_, Q>, queue: usize, cost: u16) -> bool {
        let candidates = self.candidates.len() as u32;
        if is_stale(self.beaten.candidates, candidates) {
            let groups = self.levels.enough.iter().copied().max().unwrap_or(u16::MAX);
            self.beaten = Beaten { groups, candidates, levels: self.levels.len() };
        }
        let Head { ends, sent } = problem.queues.head(queue);
        if cost >= self.beaten.groups && ends.len().min(MOST_PACKETS) <= self.beaten.levels {
            return false;
        }
        if problem.is_limited {
            return true;
        }
        let number = problem.queues.channel(queue);
        let (Some(fresh), Some(channel)) = (self.fresh.get_mut(number), problem.channels.get(number)) else {
            return false;
        };
        let limits = &mut self.limits[number * MOST_PACKETS..(number + 1) * MOST_PACKETS];
        let count = ends.len().min(MOST_PACKETS);
        if !fresh.is_set || is_stale(fresh.candidates, candidates) || usize::from(fresh.filled) < count {
            *fresh = Fresh { is_set: true, candidates, filled: count as u8 };
            let most = self.price_limits.groups.iter().copied();
            let enough = self.levels.enough.iter().map(|&enough| enough.saturating_sub(1));
            let groups =
                most.zip(enough.chain(core::iter::repeat(u16::MAX))).map(|(most, enough)| most.min(enough));
            for (limit, groups) in limits[..count].iter_mut().zip(groups) {
                *limit = match groups {
                    0 => 0,
                    groups => problem.inflation.deflate(channel.bytes_in(groups)),
                };
            }
        }
        // Compares all of them, without a branch for each.
        ends.iter()
            .zip(&limits[..count])
            .fold(false, |matters, (end, &limit)| matters | (end.wrapping_sub(sent) <= limit))
    }

    /// Adds a queue to the candidates, if it is needed.
    fn admit<Q: Queues>(
        &mut self,
        problem: &Problem<'_, Q>,
        fitting: Fitting,
        market: &Market,
        known: &[Known],
        cut: Cut,
        at_once: bool,
    ) {
        let first = self.costs.len();
        let known = (fitting.known as usize).checked_sub(1).and_then(|place| known.get(place));
        match known {
            Some(known) => self.costs.extend_from_slice(market.costs(known)),
            None => {
                let channel = problem.queues.channel(fitting.queue as usize);
                problem.push_costs(fitting.queue, channel, &mut self.costs);
            }
        }
        let best = known.map_or(0, |known| known.best);
        let mut count = 0;
        for (index, costs) in self.costs[first..].iter_mut().enumerate() {
            let fits = costs.0 <= problem.capacity && problem.budget.is_none_or(|budget| costs.1 <= budget);
            if !fits || !cut.keeps(best, index + 1, *costs) {
                *costs = NEVER;
                continue;
            }
            count = index + 1;
            if !problem.is_limited {
                costs.1 = 0;
            }
        }
        self.costs.truncate(first + count);
        if !at_once {
            if !self.levels.needs(&self.costs[first..]) {
                self.costs.truncate(first);
                return;
            }
            self.levels.add(&mut self.costs[first..], &self.weight, &self.sums);
        }
        let (first, end) = (first as u32, self.costs.len() as u32);
        self.candidates.push(Contender { queue: fitting.queue, base: 0, first, end });
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::Inflation;
    use super::*;
    use alloc::vec;

    /// For each queue the ends of its packets.
    struct Sample(Vec<Vec<u32>>);

    impl Queues for Sample {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn drb(&self, queue: usize) -> usize {
            queue
        }
        fn channel(&self, _: usize) -> usize {
            0
        }
        fn head(&self, queue: usize) -> Head<'_> {
            Head { ends: &self.0[queue], sent: 0 }
        }
        fn backlog_bytes(&self, _: usize) -> u64 {
            0
        }
    }

    /// Ten bytes a group; one packet is relevant up to one group, two up to three.
    #[test]
    fn a_queue_with_more_packets_than_those_before_it() {
        let sample = Sample(vec![vec![5], vec![25, 30], vec![25, 31], vec![11]]);
        let channels = [RbgCapacity::new(12, |groups| u32::from(groups) * 10)];
        let problem = Problem {
            queues: &sample,
            channels: &channels,
            members: &[0, 1, 2, 3],
            inflation: Inflation::NONE,
            capacity: 12,
            budget: None,
            is_limited: false,
        };
        let beaten = Beaten { groups: u16::MAX, candidates: 0, levels: 0 };
        let (fresh, limits) = (vec![Fresh::default()], vec![0; MOST_PACKETS]);
        let mut sieve = Sieve { beaten, fresh, limits, ..Sieve::default() };
        sieve.price_limits.set(&Price { packet: 2, group: 1, charged: 0 }, 1, problem.capacity, 1);
        let matters: Vec<bool> = (0..4).map(|queue| sieve.may_matter(&problem, queue, 1)).collect();
        assert_eq!(matters, [true, true, false, false]);
    }
}
