//! The price of a group: the linear programming bound on the packets that a TTI can complete, and the numbers
//! of packets that can be part of a best choice.
//!
//! Let a group cost `p / r` packets. A choice then has at most `p C / r` packets, for the `C` groups of the
//! TTI, plus the gain of its queues above that price; and a queue gains at most `best(q)`, the largest
//! `(r k - p c(q, k)) / r` over its numbers `k` of packets, or nothing. The sum of both bounds every choice. A
//! choice that takes `k` packets of queue `q` loses at least `best(q) - (r k - p c(q, k)) / r` of that bound.
//! So once a choice is known that is less than `slack` below the bound, **packets that lose more than `slack`
//! are in no best choice**, and a queue whose `best` is above `slack` is in every one (Dantzig, Operations
//! Research 5, 1957, for the bound; Dyer, Kayal and Walker, Journal of Computational and Applied Mathematics
//! 11, 1984, for leaving out). A slice whose quantum limit is binding has an additional price for charged
//! groups, in the same way.
//!
//! Any price is valid; that of linear programming leaves the fewest candidates. It is the price at which the
//! groups run out if they are assigned to the steepest segments of the queues' upper hulls first. It hardly
//! changes from TTI to TTI, so that only queues with a gain at the last one, a little lower, are examined. If
//! the groups do not run out among these, the price has fallen further, and the search continues from a lower
//! one.
//!
//! All numbers are integers: `r` times packets.

use super::Queues;
use super::memory::Steepness;
#[cfg(test)]
use super::pool::PoolQueue;
use super::pool::{Pool, Reach};
use super::problem::{Prefix, Problem};
use super::work::Work;
use alloc::vec::Vec;

/// The cost of groups for a slice, in `1 / packet` packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    /// The value of a packet: `r`, at least 1.
    pub packet: i32,
    /// The price of a group at the inflated size.
    pub group: i32,
    /// The price of a group at the real size.
    pub charged: i32,
}

impl Price {
    pub const NONE: Price = Price { packet: 1, group: 0, charged: 0 };

    /// The gain of `packets` packets at these costs.
    #[inline]
    pub fn gain(&self, packets: usize, (groups, charged): (u16, u16)) -> i32 {
        self.packet * packets as i32 - self.group * i32::from(groups) - self.charged * i32::from(charged)
    }
    /// The gain of a prefix.
    #[inline]
    pub fn gain_of(&self, prefix: &Prefix) -> i32 {
        self.gain(prefix.packets.into(), (prefix.groups, prefix.charged))
    }
}

/// A segment of a queue's upper hull.
#[derive(Clone, Copy, Debug)]
struct Segment {
    steepness: u32,
    slice: u32,
    /// Index of the queue in the pool.
    place: u32,
    packets: u16,
    groups: u16,
    charged: u16,
}

/// Packets per group in units of 2^-20, as a whole number: different fractions of numbers up to 300 differ by at least 1/300^2,
/// which is more than one unit, so that integers compare them exactly.
fn steepness(packets: u16, groups: u16) -> u32 {
    (u32::from(packets) << 20) / u32::from(groups.max(1))
}

/// Finds prices. Keeps its memory, and the last TTI's price.
#[derive(Clone, Debug, Default)]
pub(super) struct Market {
    pub pool: Pool,
    /// The reach for which the pool is complete.
    pub reach: Reach,
    segments: Vec<Segment>,
    hull: Vec<(u16, u16, u16)>,
    /// The price of a group and, by slice, of a charged group.
    price: Option<(u16, u16)>,
    charged: Vec<u16>,
    closed: Vec<Option<Segment>>,
    /// Packets and groups of each queue of the pool up to that price; `left`: the groups that these leave.
    taken: Vec<(u16, u16)>,
    left: u16,
    last: Option<Price>,
    pub prices: Vec<Price>,
    /// An upper bound on every choice, in units of the value of a packet.
    pub bound: i64,
    pub work: Work,
}

impl Market {
    /// Finds the price of `capacity` groups. `problem` is that of each slice, and `budget` the groups that it may be charged
    /// for, if these are fewer than the capacity.
    #[cfg(test)]
    pub fn find<'a, Q: Queues + 'a>(
        &mut self,
        slices: usize,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
        budget: impl Fn(usize) -> Option<u16>,
    ) {
        self.find_within(Reach::ALL, &Steepness::default(), slices, capacity, problem, budget);
    }

    /// Finds the price of `capacity` groups for the queues within `reach`.
    pub fn find_within<'a, Q: Queues + 'a>(
        &mut self,
        reach: Reach,
        steepness: &Steepness,
        slices: usize,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
        budget: impl Fn(usize) -> Option<u16>,
    ) {
        self.reach = reach;
        self.pool.fill((slices, capacity), &reach, steepness, &problem, &mut self.work);
        self.segments.clear();
        for slice in 0..slices {
            self.add_segments(slice);
        }
        self.clear_market(slices, capacity, &budget);
        self.set_prices(capacity, problem, budget);
    }

    /// Adds the upper hulls of a slice's queues over their groups, from the price that the reach begins with.
    fn add_segments(&mut self, slice: usize) {
        let Market { pool, reach, segments, hull, .. } = self;
        let from = pool.place(slice) as u32;
        for (place, known) in (from..).zip(pool.known(slice)) {
            hull.clear();
            hull.push((0, 0, 0));
            let prefixes = pool.prefixes(known);
            self.work.entries += prefixes.len() as u64;
            for prefix in prefixes {
                let &Prefix { packets, groups, charged } = prefix;
                // Prefixes below the line of that price are on no steeper segment.
                if reach.price.gain_of(prefix) < 0 {
                    continue;
                }
                while let [.., before, last] = hull[..] {
                    // The comparison is true if the segment after the last is at least as steep. Costs never
                    // fall.
                    let rise = |from: (u16, u16, u16), to: (u16, u16)| {
                        (u32::from(to.0 - from.0), u32::from(to.1 - from.1))
                    };
                    let (new, old) = (rise(before, (packets, groups)), rise(before, (last.0, last.1)));
                    if new.0 * old.1 < old.0 * new.1 {
                        break;
                    }
                    hull.pop();
                }
                hull.push((packets, groups, charged));
            }
            for pair in hull.windows(2) {
                let (packets, groups) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                // All further segments are less steep.
                if reach.price.gain(packets.into(), (groups, 0)) < 0 {
                    break;
                }
                let (charged, slice) = (pair[1].2 - pair[0].2, slice as u32);
                let steepness = steepness(packets, groups);
                segments.push(Segment { steepness, slice, place, packets, groups, charged });
            }
        }
    }

    /// Finds the price at which the groups run out; `None` if they do not.
    fn clear_market(&mut self, slices: usize, capacity: u16, budget: &impl Fn(usize) -> Option<u16>) {
        self.work.entries += self.segments.len() as u64;
        self.segments.sort_unstable_by_key(|segment| core::cmp::Reverse(segment.steepness));
        self.price = None;
        self.charged.clear();
        self.charged.resize(slices, 0);
        self.closed.clear();
        self.closed.resize(slices, None);
        self.taken.clear();
        self.taken.resize(self.pool.all().len(), (0, 0));
        self.left = capacity;
        for segment in &self.segments {
            let slice = segment.slice as usize;
            if self.closed[slice].is_some() {
                continue;
            }
            // A slice whose budget is used up is closed: its price is that of the segment that did not fit.
            if budget(slice).is_some_and(|budget| self.charged[slice] + segment.charged > budget) {
                self.closed[slice] = Some(*segment);
                continue;
            }
            if segment.groups > self.left {
                self.price = Some((segment.packets, segment.groups));
                return;
            }
            self.left -= segment.groups;
            let taken = &mut self.taken[segment.place as usize];
            *taken = (taken.0 + segment.packets, taken.1 + segment.groups);
            self.charged[slice] += segment.charged;
        }
    }

    /// Sets the prices of each slice, the gains of queues, and the bound.
    fn set_prices<'a, Q: Queues + 'a>(
        &mut self,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
        budget: impl Fn(usize) -> Option<u16>,
    ) {
        let tti = self.price();
        self.bound = i64::from(tti.group) * i64::from(capacity);
        self.prices.clear();
        for (slice, closed) in self.closed.iter().enumerate() {
            let mut price = tti;
            if let (Some(last), Some(budget)) = (closed, budget(slice)) {
                let gain = tti.gain(last.packets.into(), (last.groups, 0));
                let own = (gain / i32::from(last.charged.max(1))).max(0);
                self.bound += i64::from(own) * i64::from(budget);
                match problem(slice).budget {
                    Some(_) => price.charged = own,
                    // The charged groups are the groups that count.
                    None => price.group += own,
                }
            }
            self.bound += self.pool.set_gains(slice, &price);
            self.prices.push(price);
        }
    }

    /// The price of a group, without the additional price of a slice with a limit.
    pub fn price(&self) -> Price {
        self.price.map_or(Price::NONE, |(packets, groups)| Price {
            packet: groups.into(),
            group: packets.into(),
            charged: 0,
        })
    }
    /// Number of packets of a feasible choice: those up to the price and, one queue after the other, the most
    /// that the remaining groups allow. 0 if a slice has a budget below the capacity, since the choice may
    /// then exceed it.
    pub fn rounded<'a, Q: Queues + 'a>(
        &mut self,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
    ) -> i64 {
        for slice in 0..self.prices.len() {
            let problem = problem(slice);
            if problem.budget.is_some() || problem.capacity != capacity {
                return 0;
            }
        }
        loop {
            let (mut most, mut at) = ((0, 0), 0);
            for (place, (known, taken)) in self.pool.all().iter().zip(&self.taken).enumerate() {
                let prefixes = self.pool.prefixes(known);
                let Some(last) = prefixes.iter().rfind(|prefix| prefix.groups <= taken.1 + self.left) else {
                    continue;
                };
                let more = last.packets.saturating_sub(taken.0);
                if more > most.0 {
                    (most, at) = ((more, last.groups - taken.1), place);
                }
            }
            self.work.entries += self.pool.all().len() as u64;
            if most.0 == 0 {
                return self.taken.iter().map(|taken| i64::from(taken.0)).sum();
            }
            self.left -= most.1;
            let taken = &mut self.taken[at];
            *taken = (taken.0 + most.0, taken.1 + most.1);
        }
    }
    /// Keeps the price for the next TTI.
    pub fn keep(&mut self) {
        let price = self.price();
        self.last = (price.group > 0).then_some(price);
    }
    /// A reach for prices a little lower than the kept one, and for higher ones, and for choices that lose at
    /// most `slack` packets; `None` if there is no price.
    pub fn around_last(&self, slack: i64) -> Option<Reach> {
        let Price { packet, group, .. } = self.last?;
        let price = Price { packet: 16 * packet, group: 15 * group, charged: 0 };
        Some(Reach { price, slack: slack * i64::from(price.packet), ..Reach::ALL })
    }

    /// Finds the queues that matter within `reach`, which is wider. Prices and the bound stay.
    pub fn extend<'a, Q: Queues + 'a>(
        &mut self,
        mut reach: Reach,
        steepness: &Steepness,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
    ) {
        // A slice with a higher price loses more.
        reach.is_exact = self.prices.iter().all(|price| price.group == reach.price.group);
        self.reach = reach;
        self.pool.fill((self.prices.len(), capacity), &reach, steepness, problem, &mut self.work);
        for (slice, price) in self.prices.iter().enumerate() {
            self.pool.set_gains(slice, price);
        }
    }

    /// The queues of a slice that matter, in the order of its members. All others gain nothing.
    #[cfg(test)]
    pub fn known(&self, slice: usize) -> &[PoolQueue] {
        self.pool.known(slice)
    }
}
