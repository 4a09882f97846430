//! Which queues of a slice can matter to the knapsack, and what each prefix of them costs.
//!
//! Of ten thousand queues only some hundred can be part of a best choice, because a TTI has few groups and every packet
//! counts the same. Let the cost of `k` packets of queue `q` be `c(q, k)` groups, the capacity `C`, and `S(i)` the sum of the
//! `i` smallest first costs, `c(q, 1)`, of the slice.
//!
//! **A queue may be left out if for each `k` there is an `i` such that `i` of the queues that stay take no more groups for
//! `k` packets than it does, and `S(i) > C - c(q, k)`.** For let a choice take `k` packets of such a queue. The others that it
//! takes from share `C - c(q, k)` groups, and each takes at least its first cost, so there are fewer than `i` of them. Hence
//! from one of these `i` queues nothing is taken, and it can stand in: the choice has as many packets, of the same slice, and costs
//! no more. Each such exchange leaves one queue less in the choice that does not stay, so in the end there is none.
//! Where the quantum limit counts too, "no more groups" means at the size that selects and at the real one.
//!
//! So there is a cost `t(k)` from which on `k` packets are beaten: with the costs `s(1) <= s(2) <= …` of the queues that stay, the
//! least over `i` of `max(s(i), C + 1 - S(i))`. Queues come one by one, those with the cheapest first packet first, and `t(k)` only falls. A queue
//! stays if it costs less than one of them. Almost every other queue is refused by comparing its bytes with the most bytes that cost
//! less than `t(k)` on its channel, without looking costs up.

use super::{Channel, Head, MOST_PACKETS, Queues};
use alloc::vec::Vec;

/// How much larger a slice's packets are made for the choice, in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inflation(u32);

impl Inflation {
    const ONE: u64 = 1 << 16;
    /// Packets count as what they are.
    pub const NONE: Inflation = Inflation(1 << 16);

    /// `1 + 5 f^5` for the part `f` of its limit that a slice has borrowed, rounded to 1/65536.
    pub fn of(borrowed_rbs: i64, limit_rbs: i64) -> Inflation {
        if borrowed_rbs <= 0 {
            return Inflation::NONE;
        }
        let fraction = (borrowed_rbs as f64 / limit_rbs.max(1) as f64).min(1.0);
        let square = fraction * fraction;
        Inflation(((1.0 + 5.0 * (square * square * fraction)) * 65536.0 + 0.5) as u32)
    }
    #[cfg(test)]
    pub fn from_sixteenths(sixteenths: u32) -> Inflation {
        Inflation(sixteenths << 12)
    }
    pub fn is_none(self) -> bool {
        self == Inflation::NONE
    }
    /// What `bytes` count as, rounded up.
    #[inline]
    pub fn inflate(self, bytes: u32) -> u64 {
        (u64::from(bytes) * u64::from(self.0)).div_ceil(Inflation::ONE)
    }
    /// At least the most bytes that count as no more than `bytes`, and few more.
    fn deflate(self, bytes: u32) -> u32 {
        match self.is_none() {
            true => bytes,
            false => (bytes as f64 * (65536.0 / f64::from(self.0))) as u32 + 1,
        }
    }
}

/// The queues of one slice and what bounds a choice among them.
pub(super) struct Problem<'a, Q> {
    pub queues: &'a Q,
    pub channels: &'a [Channel],
    /// Queues, with a channel that there is.
    pub members: &'a [u32],
    pub inflation: Inflation,
    /// Groups at the size that selects.
    pub capacity: u16,
    /// Groups at the real size, where these have to be watched as well.
    pub budget: Option<u16>,
}

impl<Q: Queues> Problem<'_, Q> {
    /// Costs of `bytes` from the head of a queue: groups, and groups at the real size, which are 0 where nobody watches them.
    /// `None` where they do not fit.
    #[inline]
    fn cost(&self, channel: &Channel, bytes: u32) -> Option<(u16, u16)> {
        let groups = channel.groups_for(self.inflation.inflate(bytes))?;
        if groups > self.capacity {
            return None;
        }
        let Some(budget) = self.budget else { return Some((groups, 0)) };
        let real = channel.groups_for(u64::from(bytes))?;
        (real <= budget).then_some((groups, real))
    }
}

/// Some packets from the head of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    pub packets: u16,
    /// Groups at the size that selects.
    pub groups: u16,
    /// Groups at the real size; 0 where nobody watches them.
    pub charged: u16,
}

/// A queue that can matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub queue: u32,
    first: u32,
    end: u32,
}

/// The queues of a slice that can matter, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Contenders {
    pub list: Vec<Contender>,
    prefixes: Vec<Prefix>,
}

impl Contenders {
    /// The prefixes of a queue that can be chosen, from few packets to many. No two cost the same.
    pub fn prefixes(&self, contender: Contender) -> &[Prefix] {
        &self.prefixes[contender.first as usize..contender.end as usize]
    }
}

/// Finds contenders. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Sieve {
    /// Queues by the cost of their first packet: how many, and then where those of the next cost begin.
    histogram: Vec<u32>,
    /// `C + 1 - S(i)`, from `i` = 1 on, while that is above 0.
    reach: Vec<u16>,
    levels: Levels,
    /// Costs of the candidates, one behind the other, for 1, 2, … packets.
    costs: Vec<(u16, u16)>,
    candidates: Vec<Contender>,
    /// For each channel what may beat the `t(k)`.
    limits: Vec<u32>,
    fresh: Vec<Fresh>,
    /// Queues whose first packet fits, and its cost; and these queues by that cost.
    fitting: Vec<(u32, u16)>,
    by_cost: Vec<u32>,
    /// Beyond all `t(k)`, when there were so many candidates.
    beaten: (u16, u32),
}

/// How old a channel's limits are.
#[derive(Clone, Copy, Debug, Default)]
struct Fresh {
    is_set: bool,
    /// How many candidates there were.
    candidates: u32,
    levels: u32,
}

/// So few queues are not worth choosing among.
const FEW: usize = if cfg!(test) { 1 } else { 32 };
const STRIDE: usize = MOST_PACKETS + 1;

/// For each number of packets: what the cheapest queues that stay take.
#[derive(Clone, Debug, Default)]
struct Levels {
    /// Groups from none to the capacity.
    width: usize,
    /// Real groups that are told apart.
    depth: usize,
    /// By level, real groups: `t(k)`; so many groups or more are beaten.
    enough: Vec<u16>,
    /// How many costs are held.
    held: Vec<u16>,
    /// The costs below `enough`, ascending.
    costs: Vec<u16>,
}

impl Levels {
    fn clear(&mut self, capacity: u16, depth: usize) {
        (self.width, self.depth) = (usize::from(capacity) + 1, depth);
        self.enough.clear();
        self.held.clear();
    }
    fn len(&self) -> usize {
        self.enough.len() / self.depth.max(1)
    }
    /// Whether one of the costs is not beaten.
    #[inline]
    fn needs(&self, costs: &[(u16, u16)]) -> bool {
        costs.len() > self.len()
            || costs.iter().zip(self.enough.chunks_exact(self.depth)).any(|(&(groups, charged), enough)| {
                enough.get(usize::from(charged)).is_none_or(|&enough| groups < enough)
            })
    }
    /// Whether other queues, none of them dearer, beat these costs of `level` + 1 packets of one that stays.
    fn beats(&self, level: usize, groups: u16, charged: u16) -> bool {
        let enough = self.enough.get(level * self.depth + usize::from(charged));
        enough.is_some_and(|&enough| groups > enough)
    }
    /// A queue with these costs stays. `reach[i]` is the least cost that `i + 1` queues beat.
    fn add(&mut self, costs: &[(u16, u16)], reach: &[u16]) {
        // One more than the most that stay: a cost is put in before another is taken out.
        let most = reach.len() + 1;
        if costs.len() > self.len() {
            let cells = costs.len() * self.depth;
            self.enough.resize(cells, self.width as u16);
            self.held.resize(cells, 0);
            if self.costs.len() < cells * most {
                self.costs.resize(cells * most, 0);
            }
        }
        for (level, &(groups, charged)) in costs.iter().enumerate() {
            for charged in usize::from(charged)..self.depth {
                let cell = level * self.depth + charged;
                let enough = &mut self.enough[cell];
                if groups >= *enough {
                    continue;
                }
                let held = &mut self.held[cell];
                let count = usize::from(*held);
                let here = &mut self.costs[cell * most..(cell + 1) * most];
                let at = here[..count].partition_point(|&other| other <= groups);
                here.copy_within(at..count, at + 1);
                here[at] = groups;
                *held += 1;
                // So many queues take no more than the last of them, and they beat whatever costs `reach` of so many.
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

/// Whether what was worked out with `then` candidates is to be worked out again with `now`. What is old lets too many through,
/// which is only slower.
fn is_stale(then: u32, now: u32) -> bool {
    now > then + 15 + then / 4
}

impl Sieve {
    /// Finds the contenders of `problem`.
    pub fn find<Q: Queues>(&mut self, problem: &Problem<'_, Q>, found: &mut Contenders) {
        found.list.clear();
        found.prefixes.clear();
        let all_stay = self.count(problem);
        self.levels.clear(problem.capacity, problem.budget.map_or(1, |budget| usize::from(budget) + 1));
        self.costs.clear();
        self.candidates.clear();
        self.fresh.clear();
        self.fresh.resize(problem.channels.len(), Fresh::default());
        let limits = problem.channels.len() * STRIDE;
        if self.limits.len() < limits {
            self.limits.resize(limits, 0);
        }
        self.beaten = (u16::MAX, 0);
        if all_stay {
            for index in 0..self.fitting.len() {
                self.admit(problem, self.fitting[index].0, true);
            }
        } else {
            self.sort();
            let mut first = 0;
            for cost in 1..=problem.capacity {
                let end = self.histogram[usize::from(cost)] as usize;
                for index in first..end {
                    let queue = self.by_cost[index];
                    if self.may_matter(problem, queue as usize, cost) {
                        self.admit(problem, queue, false);
                    }
                }
                first = end;
            }
        }
        for candidate in &self.candidates {
            let first = found.prefixes.len() as u32;
            let costs = &self.costs[candidate.first as usize..candidate.end as usize];
            for (index, &(groups, charged)) in costs.iter().enumerate() {
                // More packets for the same are better.
                let is_best = costs.get(index + 1) != Some(&(groups, charged));
                if is_best && (all_stay || !self.levels.beats(index, groups, charged)) {
                    found.prefixes.push(Prefix { packets: index as u16 + 1, groups, charged });
                }
            }
            let end = found.prefixes.len() as u32;
            if end > first {
                found.list.push(Contender { queue: candidate.queue, first, end });
            }
        }
    }

    /// Counts first costs, and from these the reach. Returns whether there are so few queues that all stay.
    fn count<Q: Queues>(&mut self, problem: &Problem<'_, Q>) -> bool {
        let capacity = usize::from(problem.capacity);
        self.histogram.clear();
        self.histogram.resize(capacity + 1, 0);
        self.fitting.clear();
        for &member in problem.members {
            let queue = member as usize;
            let head = problem.queues.head(queue);
            if head.ends.is_empty() {
                continue;
            }
            let Some(channel) = problem.channels.get(problem.queues.channel(queue)) else { continue };
            if let Some((groups, _)) = problem.cost(channel, head.bytes(1)) {
                self.histogram[usize::from(groups)] += 1;
                self.fitting.push((member, groups));
            }
        }
        self.reach.clear();
        let mut sum = 0;
        'costs: for (cost, &count) in self.histogram.iter().enumerate().skip(1) {
            for _ in 0..count {
                sum += cost;
                if sum > capacity {
                    break 'costs;
                }
                self.reach.push((capacity + 1 - sum) as u16);
            }
        }
        self.fitting.len() <= self.reach.len().max(FEW)
    }

    /// Sorts by first cost: the cheap ones are hard to beat, so that the others are soon known not to matter. Equal ones stay
    /// in their order. Leaves in the histogram where each cost ends.
    fn sort(&mut self) {
        let mut sum = 0;
        for count in &mut self.histogram {
            (sum, *count) = (sum + *count, sum);
        }
        self.by_cost.resize(self.fitting.len(), 0);
        for &(queue, cost) in &self.fitting {
            let place = &mut self.histogram[usize::from(cost)];
            self.by_cost[*place as usize] = queue;
            *place += 1;
        }
    }

    /// Whether a queue with this first cost takes few enough bytes for some number of packets.
    #[inline]
    fn may_matter<Q: Queues>(&mut self, problem: &Problem<'_, Q>, queue: usize, cost: u16) -> bool {
        let candidates = self.candidates.len() as u32;
        if is_stale(self.beaten.1, candidates) {
            self.beaten = (self.levels.enough.iter().copied().max().unwrap_or(u16::MAX), candidates);
        }
        let Head { ends, sent } = problem.queues.head(queue);
        if cost >= self.beaten.0 && ends.len().min(MOST_PACKETS) <= self.levels.len() {
            return false;
        }
        if problem.budget.is_some() {
            return true;
        }
        let number = problem.queues.channel(queue);
        let (Some(fresh), Some(channel)) = (self.fresh.get_mut(number), problem.channels.get(number)) else {
            return false;
        };
        let limits = &mut self.limits[number * STRIDE..(number + 1) * STRIDE];
        if !fresh.is_set || is_stale(fresh.candidates, candidates) {
            let levels = self.levels.len();
            *fresh = Fresh { is_set: true, candidates, levels: levels as u32 };
            for (limit, &enough) in limits.iter_mut().zip(&self.levels.enough) {
                *limit = problem.inflation.deflate(channel.bytes_in(enough - 1));
            }
            if let Some(limit) = limits.get_mut(levels) {
                *limit = problem.inflation.deflate(channel.bytes_in(problem.capacity));
            }
        }
        // All of them, without a branch for each.
        let limits = &limits[..(fresh.levels as usize + 1).min(MOST_PACKETS)];
        ends.iter()
            .zip(limits)
            .fold(false, |matters, (end, &limit)| matters | (end.wrapping_sub(sent) <= limit))
    }

    /// Makes a queue a candidate, if it is needed.
    fn admit<Q: Queues>(&mut self, problem: &Problem<'_, Q>, queue: u32, at_once: bool) {
        let index = queue as usize;
        let Some(channel) = problem.channels.get(problem.queues.channel(index)) else { return };
        let first = self.costs.len();
        let head = problem.queues.head(index);
        for packets in 1..=head.ends.len().min(MOST_PACKETS) {
            match problem.cost(channel, head.bytes(packets)) {
                Some(cost) => self.costs.push(cost),
                None => break,
            }
        }
        let costs = &self.costs[first..];
        if !at_once {
            if !self.levels.needs(costs) {
                self.costs.truncate(first);
                return;
            }
            self.levels.add(costs, &self.reach);
        }
        let (first, end) = (first as u32, self.costs.len() as u32);
        self.candidates.push(Contender { queue, first, end });
    }
}
