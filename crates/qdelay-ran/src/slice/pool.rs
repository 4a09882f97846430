//! The queues of a TTI that can matter to the knapsack, with the numbers of packets that can.
//!
//! One pass over the queues finds them, and all later steps examine these alone, in all attempts. The pool is
//! valid within its [`Reach`]; if more is needed, the pass is repeated with a wider one. A number of packets
//! is left out for one of three reasons.
//!
//! **Its price.** At any price of a group, `k` packets that cost more than the price of `k` packets and a
//! slack lose more than the slack (`price.rs`). They are in no best choice if the price that is found is no
//! lower, and the slack no larger ([`Reach::covers`]).
//!
//! **The number of queues before it.** A choice has at most `B` packets. If it takes `k` of them from one
//! queue, it takes some from at most `B - k` others. So if more than `B - k` earlier queues of the slice need
//! no more groups for `k` packets, one of them is free and can replace it: the choice has as many packets of
//! the slice, costs no more, and takes more from an earlier queue. Hence the original was not the first among
//! equals. As each queue takes at least a group, the groups of the TTI bound the number of queues, too.
//!
//! **The loss of the queues before it.** Once the price is found, the total loss of a choice is within the
//! slack `L`. Let `l(i)` be the smallest loss if any packet is taken from queue `i`, and let `k` packets of
//! one queue lose `l`. Then the others that the choice takes from lose at most `L - l`. So if those earlier
//! queues of the slice that need no more groups for `k` packets have `l(i)` of more than `L - l` together,
//! again one of them is free.
//!
//! The latter two are not applied to a slice whose charged size differs from the counted size: a queue that
//! needs no more groups at one size may need more at the other.
//!
//! Queues are processed in their order. Almost every one is refused by its steepness (`memory.rs`), or by
//! comparing its bytes with the most bytes of 1, 2, … packets that matter on its channel, without computing
//! its cost.

use super::memory::Steepness;
use super::price::Price;
use super::problem::{Inflation, Prefix, Problem};
use super::work::Work;
use super::{Head, MOST_PACKETS, Queues, RbgCapacity};
use alloc::vec::Vec;

/// Number of queues in a slice below which the search for dominated queues costs more than it saves.
const FEW: usize = if cfg!(test) { 2 } else { 64 };
/// Number of times that a price is lowered.
const OFTEN: u32 = 8;

/// The range of choices for which the pool is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// A price of a group, at most the price that is found.
    pub price: Price,
    /// Largest loss of a choice at this price, in units of the value of a packet.
    pub slack: i64,
    /// The most packets of a choice. It has to hold for all queues: a bound found in a pool that was itself
    /// limited by a number of packets is not valid.
    pub packets: i64,
    /// True if the price is the one that was found, so that the total loss of a choice's queues is within the
    /// slack.
    pub is_exact: bool,
}

impl Reach {
    /// The reach of every choice; no queue replaces another.
    pub const ALL: Reach = Reach { price: Price::NONE, slack: i64::MAX, packets: i64::MAX, is_exact: false };

    /// The most groups that `packets` packets may take.
    fn groups(&self, packets: usize, capacity: u16) -> u16 {
        match self.price.group {
            0 => capacity,
            group => {
                let room = i64::from(self.price.packet) * packets as i64 + self.slack;
                (room / i64::from(group)).clamp(0, capacity.into()) as u16
            }
        }
    }
    /// The price of a group and the slack, in packets; rounding makes the price lower and the slack larger.
    fn in_packets(&self) -> (f32, f32) {
        let packet = self.price.packet as f32;
        (self.price.group as f32 / packet * 0.999_99, self.slack as f32 / packet * 1.000_01)
    }
    /// A lower price, for a TTI in which the groups do not run out at this one; the further, the more `often`
    /// it was too high.
    pub fn lower(&self, often: u32) -> Reach {
        let mut reach = *self;
        let shift = 3_u32.saturating_sub(often);
        reach.price.packet += reach.price.packet >> shift;
        reach.slack = reach.slack.saturating_add((reach.slack >> shift) + 1);
        if often < OFTEN { reach } else { Reach::ALL }
    }
    /// Returns true if the pool is complete for all choices of at most `packets` packets that lose at most
    /// `slack` at this price.
    pub fn covers(&self, price: &Price, slack: i64, packets: i64) -> bool {
        let (here, other) = (&self.price, price);
        if here.group == 0 {
            return true;
        }
        let is_lower = i64::from(here.group) * i64::from(other.packet)
            <= i64::from(other.group) * i64::from(here.packet);
        is_lower
            && packets <= self.packets
            && slack * i64::from(here.group) <= self.slack * i64::from(other.group)
    }
}

impl Default for Reach {
    fn default() -> Reach {
        Reach::ALL
    }
}

/// A queue of which some packets may be in a best choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolQueue {
    pub queue: u32,
    /// Range of the queue's numbers of packets.
    first: u32,
    end: u32,
    /// Largest gain of these numbers of packets.
    pub best: i32,
}

/// The queues that can matter. Keeps its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    known: Vec<PoolQueue>,
    prefixes: Vec<Prefix>,
    /// For each slice, the index after its last queue.
    ends: Vec<u32>,
    /// The most groups of 1, 2, … packets within the reach.
    groups: Vec<u16>,
    rows: Rows,
    crowd: Crowd,
}

/// The most bytes of 1, 2, … packets of a slice that matter, by channel.
#[derive(Clone, Debug, Default)]
struct Rows {
    bytes: Vec<i32>,
    /// Number of computed values by channel, and the number of queues for which they were computed.
    filled: Vec<(u8, u32)>,
}

impl Rows {
    fn begin(&mut self, channels: usize) {
        self.filled.clear();
        self.filled.resize(channels, (0, 0));
        if self.bytes.len() < channels * MOST_PACKETS {
            self.bytes.resize(channels * MOST_PACKETS, 0);
        }
    }
    /// Returns true if some number of packets at the head of a queue has no more bytes than matter. `groups`
    /// are the most groups, and values computed when `kept` was lower than `least_age` are computed anew.
    #[inline]
    fn fit(
        &mut self,
        number: usize,
        (channel, head): (&RbgCapacity, Head<'_>),
        inflation: Inflation,
        groups: &[u16],
        kept: u32,
        work: &mut Work,
    ) -> bool {
        let (Some(filled), Some(row)) = (
            self.filled.get_mut(number),
            self.bytes.get_mut(number * MOST_PACKETS..(number + 1) * MOST_PACKETS),
        ) else {
            return false;
        };
        if usize::from(filled.0) < groups.len() || is_stale(filled.1, kept) {
            work.entries += groups.len() as u64;
            *filled = (groups.len() as u8, kept);
            for (bytes, &groups) in row.iter_mut().zip(groups) {
                // Without groups, no number of packets matters.
                *bytes = match groups {
                    0 => 0,
                    groups => inflation.deflate(channel.bytes_in(groups)).min(i32::MAX as u32) as i32,
                };
            }
        }
        // The loop compares all of them, without a branch for each: of differences of which one is not
        // negative, no bit of a sign is left. (2^31 bytes fit no channel.)
        let pairs = head.ends.iter().zip(&row[..groups.len()]);
        pairs.fold(-1, |signs, (&end, &most)| signs & most.wrapping_sub(end.wrapping_sub(head.sent) as i32))
            >= 0
    }
}

/// Returns true if a value computed with `then` queues must be recomputed with `now`. An outdated value lets
/// too many queues through, which only costs time.
fn is_stale(then: u32, now: u32) -> bool {
    now > then + if cfg!(test) { 0 } else { 31 + then / 2 }
}

/// A number of queues, and their total loss if a packet is taken from each.
#[derive(Clone, Copy, Debug, Default)]
struct Beaters {
    queues: u32,
    loss: i32,
}

/// The resources that the earlier queues of a crowded slice leave to later ones.
#[derive(Clone, Debug, Default)]
struct Crowd {
    /// The most packets of a choice; `others`: the most queues beside one that it takes from.
    packets: usize,
    others: usize,
    /// The price, and the largest loss of a choice; `None` until they are found.
    exact: Option<(Price, i64)>,
    /// Number of group counts, from none to the capacity.
    width: usize,
    /// By packets: the most groups that are not dominated.
    most: Vec<u16>,
    /// By packets, the number of queues that need fewer groups than the dominated ones; `counts`: by
    /// packets and groups, the number that need exactly these groups.
    below: Vec<Beaters>,
    counts: Vec<Beaters>,
}

impl Crowd {
    fn begin(&mut self, reach: &Reach, capacity: u16) {
        self.packets = reach.packets.clamp(0, i64::from(u16::MAX)) as usize;
        self.others = usize::from(capacity.saturating_sub(1));
        self.exact = reach.is_exact.then_some((reach.price, reach.slack));
        self.width = usize::from(capacity) + 1;
        self.most.clear();
        self.below.clear();
    }
    /// Extends the tables to as many packets of a queue as `groups` has limits.
    #[inline(never)]
    fn grow(&mut self, groups: &[u16]) {
        let (from, count) = (self.most.len(), groups.len());
        self.most.extend_from_slice(&groups[from..]);
        self.below.resize(count, Beaters::default());
        if self.counts.len() < count * self.width {
            self.counts.resize(count * self.width, Beaters::default());
        }
        self.counts[from * self.width..count * self.width].fill(Beaters::default());
    }
    /// Records the prefixes of a queue, which are not dominated.
    fn add(&mut self, prefixes: &[Prefix]) {
        let loss = match self.exact {
            Some((price, _)) => {
                prefixes.iter().map(|prefix| -price.gain_of(prefix)).fold(i32::MAX, i32::min).max(0)
            }
            None => 0,
        };
        for prefix in prefixes {
            let (groups, level) = (usize::from(prefix.groups), usize::from(prefix.packets) - 1);
            let counts = &mut self.counts[level * self.width..(level + 1) * self.width];
            let (most, below) = (&mut self.most[level], &mut self.below[level]);
            if groups > usize::from(*most) {
                continue;
            }
            for beaters in [&mut counts[groups], below] {
                beaters.queues += 1;
                beaters.loss += loss;
            }
            let others = self.packets.saturating_sub(level + 1).min(self.others);
            // A number of groups is dominated if more earlier queues need fewer than a choice can take from,
            // or if they lose more together than it may.
            let is_beaten = |below: &Beaters, most: u16| {
                let left = self.exact.map_or(i64::MAX, |(price, slack)| {
                    slack - i64::from(-price.gain(level + 1, (most, 0))).max(0)
                });
                below.queues as usize > others || i64::from(below.loss) > left
            };
            while *most > 0 && is_beaten(below, *most) {
                let last = counts[usize::from(*most)];
                below.queues -= last.queues;
                below.loss -= last.loss;
                *most -= 1;
            }
        }
    }
}

impl Pool {
    /// Finds the queues that matter within `reach`. `problem` is that of each slice.
    pub fn fill<'a, Q: Queues + 'a>(
        &mut self,
        (slices, capacity): (usize, u16),
        reach: &Reach,
        steepness: &Steepness,
        problem: impl Fn(usize) -> Problem<'a, Q>,
        work: &mut Work,
    ) {
        self.known.clear();
        self.prefixes.clear();
        self.ends.clear();
        self.groups.clear();
        let many = match reach.is_exact {
            _ if reach.price.group == 0 => usize::MAX,
            true => FEW,
            false => reach.packets.clamp(0, capacity.into()) as usize,
        };
        for slice in 0..slices {
            let problem = problem(slice);
            self.rows.begin(problem.channels.len());
            self.crowd.begin(reach, capacity);
            match problem.budget.is_none() && problem.members.len() > many {
                true => self.fill_slice::<Q, true>(&problem, capacity, reach, steepness, work),
                false => self.fill_slice::<Q, false>(&problem, capacity, reach, steepness, work),
            }
            self.ends.push(self.known.len() as u32);
        }
    }

    /// Finds the queues of a slice that matter; in a crowd, without those that earlier ones dominate.
    fn fill_slice<Q: Queues, const CROWD: bool>(
        &mut self,
        problem: &Problem<'_, Q>,
        capacity: u16,
        reach: &Reach,
        steepness: &Steepness,
        work: &mut Work,
    ) {
        let (least, slack) = reach.in_packets();
        let steepness = steepness.with_slack(slack);
        work.checks += steepness.len().min(problem.members.len()) as u64;
        let before = self.known.len();
        // With so few queues most channels have one queue or none.
        let is_few = problem.members.len() <= 2 * problem.channels.len();
        for &queue in problem.members {
            if steepness.get(queue as usize).is_some_and(|&steepness| steepness < least) {
                continue;
            }
            work.looks += 1;
            let head = problem.queues.head(queue as usize);
            let number = problem.queues.channel(queue as usize);
            let Some(channel) = problem.channels.get(number) else { continue };
            let count = head.ends.len().min(MOST_PACKETS);
            while self.groups.len() < count {
                self.groups.push(reach.groups(self.groups.len() + 1, capacity));
            }
            if CROWD && self.crowd.most.len() < count {
                self.crowd.grow(&self.groups[..count]);
            }
            let groups = if CROWD { &self.crowd.most[..count] } else { &self.groups[..count] };
            let (mut levels, mut within) = ([0_u8; MOST_PACKETS], 0);
            // The comparison of all numbers of packets has no branch for each.
            if is_few {
                for (level, (packets, &most)) in (1..).zip(groups).enumerate() {
                    levels[within] = level as u8;
                    let bytes = problem.inflation.inflate(head.bytes(packets));
                    within += usize::from(bytes <= channel.bytes_in(most).into());
                }
                work.entries += count as u64 / 4;
            } else {
                let kept = if CROWD { (self.known.len() - before) as u32 } else { 0 };
                if !self.rows.fit(number, (channel, head), problem.inflation, groups, kept, work) {
                    continue;
                }
                let row = &self.rows.bytes[number * MOST_PACKETS..];
                for (level, (&end, &most)) in head.ends[..count].iter().zip(row).enumerate() {
                    levels[within] = level as u8;
                    within += usize::from(end.wrapping_sub(head.sent) as i32 <= most);
                }
            }
            let first = self.prefixes.len();
            for &level in &levels[..within] {
                let level = usize::from(level);
                work.costs += 1;
                let Some((groups, charged)) = problem.cost(channel, head.bytes(level + 1)) else { break };
                if groups > if CROWD { self.crowd.most[level] } else { self.groups[level] } {
                    continue;
                }
                push(&mut self.prefixes, first, Prefix { packets: level as u16 + 1, groups, charged });
            }
            let (first, end) = (first as u32, self.prefixes.len() as u32);
            if end > first {
                if CROWD {
                    self.crowd.add(&self.prefixes[first as usize..]);
                }
                self.known.push(PoolQueue { queue, first, end, best: 0 });
            }
        }
    }

    /// The queues of a slice that matter, in the order of its members.
    pub fn known(&self, slice: usize) -> &[PoolQueue] {
        self.known.get(self.range(slice)).unwrap_or(&[])
    }
    /// The queues of all slices.
    pub fn all(&self) -> &[PoolQueue] {
        &self.known
    }
    /// Index of the first queue of a slice among all.
    pub fn place(&self, slice: usize) -> usize {
        self.range(slice).start
    }
    fn range(&self, slice: usize) -> core::ops::Range<usize> {
        let end = |slice: usize| self.ends.get(slice).map_or(0, |&end| end as usize);
        slice.checked_sub(1).map_or(0, end)..end(slice)
    }
    /// The numbers of packets of a queue that matter, ascending.
    #[inline]
    pub fn prefixes(&self, known: &PoolQueue) -> &[Prefix] {
        &self.prefixes[known.first as usize..known.end as usize]
    }
    /// Sets the largest gain of each queue of a slice.
    pub fn set_gains(&mut self, slice: usize, price: &Price) -> i64 {
        let range = self.range(slice);
        let Pool { known, prefixes, .. } = self;
        let mut sum = 0;
        for known in &mut known[range] {
            let prefixes = &prefixes[known.first as usize..known.end as usize];
            known.best = prefixes.iter().map(|prefix| price.gain_of(prefix)).fold(0, i32::max);
            sum += i64::from(known.best);
        }
        sum
    }
}

/// Appends a prefix to those of a queue, which begin at `first`. More packets for the same cost are better.
#[inline]
pub(super) fn push(prefixes: &mut Vec<Prefix>, first: usize, prefix: Prefix) {
    match prefixes[first..].last_mut() {
        Some(last) if (last.groups, last.charged) == (prefix.groups, prefix.charged) => *last = prefix,
        _ => prefixes.push(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// Ends of the packets of each queue.
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

    /// Numbers of packets of each queue that matter, with ten bytes a group.
    fn matter(sample: &Sample, reach: &Reach) -> Vec<Vec<u16>> {
        let channels = [RbgCapacity::new(12, |groups| u32::from(groups) * 10)];
        let members: Vec<u32> = (0..sample.0.len() as u32).collect();
        let problem = |_: usize| Problem {
            queues: sample,
            channels: &channels,
            members: &members,
            inflation: Inflation::NONE,
            capacity: 12,
            budget: None,
            is_limited: false,
        };
        let mut pool = Pool::default();
        pool.fill((1, 12), reach, &Steepness::default(), problem, &mut Work::default());
        let mut matter = vec![Vec::new(); sample.0.len()];
        for known in pool.known(0) {
            matter[known.queue as usize] = pool.prefixes(known).iter().map(|prefix| prefix.packets).collect();
        }
        matter
    }

    /// At two groups a packet, one packet matters with a slack of half a packet up to three groups, and two
    /// up to five.
    #[test]
    fn packets_above_the_price_and_slack_are_left_out() {
        let price = Price { packet: 2, group: 1, charged: 0 };
        let reach = Reach { price, slack: 1, packets: 100, is_exact: false };
        let sample = Sample(vec![vec![30], vec![31], vec![31, 50], vec![10, 51], vec![9, 10]]);
        assert_eq!(matter(&sample, &reach), [vec![1], vec![], vec![2], vec![1], vec![2]]);
    }

    /// In a choice of two packets, the first two queues of equal cost leave none for a third.
    #[test]
    fn no_more_queues_than_packets_are_kept() {
        let price = Price { packet: 2, group: 1, charged: 0 };
        let reach = Reach { price, slack: 100, packets: 2, is_exact: false };
        let sample = Sample(vec![vec![20], vec![20], vec![20], vec![19], vec![10, 50], vec![11, 50]]);
        assert_eq!(matter(&sample, &reach), [vec![1], vec![1], vec![], vec![], vec![1, 2], vec![]]);
    }

    /// Three groups lose half a packet: with a permitted loss of one packet, two queues can be among them,
    /// and with half a packet, one can.
    #[test]
    fn queues_beyond_the_permitted_loss_are_left_out() {
        let price = Price { packet: 2, group: 1, charged: 0 };
        let sample = Sample(vec![vec![30]; 4]);
        let reach = |slack| Reach { price, slack, packets: 100, is_exact: true };
        assert_eq!(matter(&sample, &reach(2)), [vec![1], vec![1], vec![], vec![]]);
        assert_eq!(matter(&sample, &reach(1)), [vec![1], vec![], vec![], vec![]]);
        assert_eq!(matter(&sample, &reach(0)), [vec![], vec![], vec![], vec![]]);
    }

    proptest! {
        /// A reach that covers a price and a slack includes all numbers of packets that matter there.
        #[test]
        fn a_covering_reach_includes_all_that_matter(
            here in (1_i32..300, 1_i32..300), other in (1_i32..300, 1_i32..300), slacks in (0_i64..900, 0_i64..900),
        ) {
            let price = |(packet, group)| Price { packet, group, charged: 0 };
            let reach = |at, slack| Reach { price: price(at), slack, packets: 9, is_exact: false };
            let (wide, exact) = (reach(here, slacks.0), reach(other, slacks.1));
            if wide.covers(&exact.price, exact.slack, 9) {
                for packets in 1..=MOST_PACKETS {
                    prop_assert!(exact.groups(packets, 275) <= wide.groups(packets, 275));
                }
            }
            prop_assert!(reach(here, slacks.0).lower(0).covers(&price(here), slacks.0, 9));
        }
    }
}
