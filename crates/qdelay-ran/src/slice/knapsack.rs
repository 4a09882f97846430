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
    /// Largest value of the slices from one to the last, for each slice and number of groups.
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
        // Packets in every best choice are set aside first; they must fit, or the assumed bound was too
        // high.
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
mod tests;
