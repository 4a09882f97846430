//! The price of a group: the linear programming bound on the packets that a TTI can complete, and the numbers of packets that
//! can be part of a best choice.
//!
//! Let a group cost `p / r` packets. A choice then has at most `p C / r` packets, for the `C` groups of the TTI, plus the
//! gain of its queues above that price; and a queue gains at most `best(q)`, the largest `(r k - p c(q, k)) / r` over its
//! numbers `k` of packets, or nothing. The sum of both bounds every choice. A choice that takes `k` packets of queue `q`
//! loses at least `best(q) - (r k - p c(q, k)) / r` of that bound. So once a choice is known that is less than `slack` below
//! the bound, **packets that lose more than `slack` are in no best choice**, and a queue whose `best` is above `slack` is in
//! every one (Dantzig, Operations Research 5, 1957, for the bound; Dyer, Kayal and Walker, Journal of Computational and
//! Applied Mathematics 11, 1984, for leaving out). A slice whose quantum limit is binding has an additional price for charged
//! groups, in the same way.
//!
//! Any price is valid; that of linear programming leaves the fewest candidates. It is the price at which the groups run out
//! if they are assigned to the steepest segments of the queues' upper hulls first. It only rises while queues are processed,
//! so that those after the first hundred are refused by comparing their bytes with the most that `k` packets with a gain may
//! have.
//!
//! All numbers are integers: `r` times packets.

use super::problem::Problem;
use super::{Head, MOST_PACKETS, Queues, RbgCapacity};
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
    const NONE: Price = Price { packet: 1, group: 0, charged: 0 };

    /// The gain of so many packets at these costs.
    #[inline]
    pub fn gain(&self, packets: usize, (groups, charged): (u16, u16)) -> i32 {
        self.packet * packets as i32 - self.group * i32::from(groups) - self.charged * i32::from(charged)
    }
}

/// A queue whose costs were looked up, because it might have a gain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub queue: u32,
    /// Index of its costs.
    first: u32,
    end: u32,
    /// Start of its hull: see [`steepness`].
    steepest: u32,
    /// Its largest gain.
    pub best: i32,
}

/// A segment of a queue's upper hull.
#[derive(Clone, Copy, Debug)]
struct Segment {
    steepness: u32,
    slice: u32,
    packets: u16,
    groups: u16,
    charged: u16,
}

/// Packets per group, as an exactly ordered number: two fractions of numbers up to 300 differ by more than 2^-20.
fn steepness(packets: u16, groups: u16) -> u32 {
    (u32::from(packets) << 20) / u32::from(groups.max(1))
}

/// The most bytes of 1, 2, … packets that are relevant, by channel.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// The most groups of 1, 2, … packets.
    pub groups: Vec<u16>,
    bytes: Vec<u32>,
    /// Number of computed limits, by channel.
    filled: Vec<u8>,
}

impl Limits {
    /// Packets are relevant if they gain at least `least` within `capacity` groups.
    pub fn set(&mut self, price: &Price, least: i64, capacity: u16, channels: usize) {
        self.groups.clear();
        self.groups.extend((1..=MOST_PACKETS as i64).map(|packets| {
            let room = i64::from(price.packet) * packets - least;
            match price.group {
                _ if room < 0 => 0,
                0 => capacity,
                group => (room / i64::from(group)).min(capacity.into()) as u16,
            }
        }));
        self.filled.clear();
        self.filled.resize(channels, 0);
        if self.bytes.len() < channels * MOST_PACKETS {
            self.bytes.resize(channels * MOST_PACKETS, 0);
        }
    }

    /// The least number of packets, less 1, that may be relevant; `None` if none is.
    #[inline]
    pub fn first<Q: Queues>(
        &mut self,
        problem: &Problem<'_, Q>,
        number: usize,
        head: Head<'_>,
    ) -> Option<usize> {
        let channel: &RbgCapacity = problem.channels.get(number)?;
        let filled = self.filled.get_mut(number)?;
        let row = self.bytes.get_mut(number * MOST_PACKETS..(number + 1) * MOST_PACKETS)?;
        let count = head.ends.len().min(MOST_PACKETS);
        while usize::from(*filled) < count {
            let packets = usize::from(*filled);
            row[packets] = match self.groups[packets] {
                0 => 0,
                groups => problem.inflation.deflate(channel.bytes_in(groups)),
            };
            *filled += 1;
        }
        let fits = |(end, limit): (&u32, &u32)| end.wrapping_sub(head.sent) <= *limit;
        // Compares all of them, without a branch for each.
        let pairs = || head.ends.iter().zip(&row[..count]);
        match pairs().fold(false, |any, pair| any | fits(pair)) {
            true => pairs().position(fits),
            false => None,
        }
    }
}

/// Finds prices. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Market {
    limits: Limits,
    segments: Vec<Segment>,
    hull: Vec<(u16, u16, u16)>,
    costs: Vec<(u16, u16)>,
    known: Vec<Known>,
    /// For each slice, the index in `known` after its last queue.
    ends: Vec<u32>,
    /// The price of a group and, by slice, of a charged group.
    price: Option<(u16, u16)>,
    charged: Vec<u16>,
    closed: Vec<Option<Segment>>,
    pub prices: Vec<Price>,
    /// An upper bound on every choice, in units of the value of a packet.
    pub bound: i64,
}

/// Number of hull segments that are collected before the price is computed.
const MANY: usize = if cfg!(test) { 3 } else { 256 };

impl Market {
    /// Finds the price of `capacity` groups. `problem` is that of each slice, and `budget` the groups that it may be charged
    /// for, if these are fewer than the capacity.
    pub fn find<'a, Q: Queues + 'a>(
        &mut self,
        slices: usize,
        capacity: u16,
        problem: impl Fn(usize) -> Problem<'a, Q>,
        budget: impl Fn(usize) -> Option<u16>,
    ) {
        self.segments.clear();
        self.costs.clear();
        self.known.clear();
        self.ends.clear();
        self.price = None;
        let mut many = MANY;
        for slice in 0..slices {
            let problem = problem(slice);
            self.set_limits(&problem);
            for &queue in problem.members {
                let head = problem.queues.head(queue as usize);
                if head.ends.is_empty() {
                    continue;
                }
                let number = problem.queues.channel(queue as usize);
                if self.price.is_some() && self.limits.first(&problem, number, head).is_none() {
                    continue;
                }
                self.look_up(slice, &problem, queue, number);
                if self.segments.len() >= many {
                    self.clear_market(slices, capacity, &budget);
                    many = MANY + 2 * self.segments.len();
                    self.set_limits(&problem);
                }
            }
            self.ends.push(self.known.len() as u32);
        }
        self.clear_market(slices, capacity, &budget);
        self.set_prices(capacity, problem, budget);
    }

    fn set_limits<Q: Queues>(&mut self, problem: &Problem<'_, Q>) {
        if let Some((packets, groups)) = self.price {
            let price = Price { packet: groups.into(), group: packets.into(), charged: 0 };
            self.limits.set(&price, 1, problem.capacity, problem.channels.len());
        }
    }

    /// Looks up the costs of a queue, and the upper hull of its packets over them.
    fn look_up<Q: Queues>(&mut self, slice: usize, problem: &Problem<'_, Q>, queue: u32, channel: usize) {
        let first = self.costs.len();
        problem.push_costs(queue, channel, &mut self.costs);
        self.hull.clear();
        self.hull.push((0, 0, 0));
        for (index, &(groups, charged)) in self.costs[first..].iter().enumerate() {
            let packets = index as u16 + 1;
            while let [.., before, last] = self.hull[..] {
                // Whether the segment after the last is at least as steep. Costs never fall.
                let rise = |from: (u16, u16, u16), to: (u16, u16)| {
                    (u32::from(to.0 - from.0), u32::from(to.1 - from.1))
                };
                let (new, old) = (rise(before, (packets, groups)), rise(before, (last.0, last.1)));
                if new.0 * old.1 < old.0 * new.1 {
                    break;
                }
                self.hull.pop();
            }
            self.hull.push((packets, groups, charged));
        }
        if self.hull.len() == 1 {
            return;
        }
        let from = self.segments.len();
        for pair in self.hull.windows(2) {
            let (packets, groups) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            let (charged, slice) = (pair[1].2 - pair[0].2, slice as u32);
            self.segments.push(Segment {
                steepness: steepness(packets, groups),
                slice,
                packets,
                groups,
                charged,
            });
        }
        let steepest = self.segments[from].steepness;
        self.known.push(Known {
            queue,
            first: first as u32,
            end: self.costs.len() as u32,
            steepest,
            best: 0,
        });
    }

    /// Finds the price at which the groups run out. The price never falls.
    fn clear_market(&mut self, slices: usize, capacity: u16, budget: &impl Fn(usize) -> Option<u16>) {
        self.segments.sort_unstable_by_key(|segment| core::cmp::Reverse(segment.steepness));
        self.charged.clear();
        self.charged.resize(slices, 0);
        self.closed.clear();
        self.closed.resize(slices, None);
        let mut left = capacity;
        for (index, segment) in self.segments.iter().enumerate() {
            let slice = segment.slice as usize;
            if self.closed[slice].is_some() {
                continue;
            }
            if budget(slice).is_some_and(|budget| self.charged[slice] + segment.charged > budget) {
                self.closed[slice] = Some(*segment);
                continue;
            }
            if segment.groups > left {
                let is_higher = |(packets, groups)| segment.steepness > steepness(packets, groups);
                if self.price.is_none_or(is_higher) {
                    self.price = Some((segment.packets, segment.groups));
                }
                self.segments.truncate(index + 1);
                return;
            }
            left -= segment.groups;
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
        let tti = self.price.map_or(Price::NONE, |(packets, groups)| Price {
            packet: groups.into(),
            group: packets.into(),
            charged: 0,
        });
        self.bound = i64::from(tti.group) * i64::from(capacity);
        self.prices.clear();
        let mut from = 0;
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
            let end = self.ends[slice] as usize;
            for known in &mut self.known[from..end] {
                let is_gain =
                    self.price.is_none_or(|(packets, groups)| known.steepest > steepness(packets, groups));
                if !is_gain {
                    continue;
                }
                let costs = &self.costs[known.first as usize..known.end as usize];
                let gains = costs.iter().enumerate().map(|(index, &costs)| price.gain(index + 1, costs));
                known.best = gains.fold(0, i32::max);
                self.bound += i64::from(known.best);
            }
            from = end;
            self.prices.push(price);
        }
    }

    /// The queues of a slice that were looked up, in the order of its members. All others gain nothing.
    pub fn known(&self, slice: usize) -> &[Known] {
        let from = slice.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.known[from..self.ends[slice] as usize]
    }
    /// Costs of 1, 2, … packets.
    pub fn costs(&self, known: &Known) -> &[(u16, u16)] {
        &self.costs[known.first as usize..known.end as usize]
    }
}
