//! Elastic quantum partition (EQP): in each TTI as many whole packets as fit, of any slice, and over time its
//! share for each slice.
//!
//! Source: 5G QoS thesis, section 4.4, Algorithms 8 and 9.
//!
//! Each slice has a quantum in RBs: the RBs it has lent to others, or, if negative, borrowed from them. The
//! steps of a TTI are:
//! 1. Each slice's quantum grows by its share of the TTI's RBs, rounded down. The sum of these grants is
//!    assigned.
//! 2. The knapsack (`knapsack.rs`) chooses whole packets. Packets of a slice that has borrowed are inflated
//!    by a factor of `1 + 5 f^5`, where `f` is the borrowed amount divided by the quantum limit, so that it
//!    borrows further only for many packets. No slice may fall below minus the limit. The real size of the
//!    chosen packets is subtracted from the quanta.
//! 3. The remainder is assigned, one RBG at a time, to the slice with the highest quantum that has data left,
//!    unless that quantum is at -75% of the limit or below: the last quarter is reserved for RBGs that
//!    complete a packet now.
//! 4. RBGs still left are unused. They are charged to the slices with the highest quanta, which lent them.
//!
//! With [`Eqp::bound_lenders`] no slice ends a TTI above the limit either: RBs that would raise a slice above
//! it are not available to the others. If the knapsack's choice would take them, the choice is made again
//! with that much less capacity, and the remainder is assigned only as far as it leaves enough. Such RBs that
//! the lenders do not use themselves stay idle and are charged to them.
//!
//! Hence the quanta sum to zero after each TTI, and no slice is below minus the limit. In any interval a
//! slice therefore gets no more than its grants plus its lent RBs plus the limit: with bounded lenders at
//! most twice the limit above the agreed share, without them `n` times for `n` slices.
//!
//! Parameters:
//! * `limit_rbs`: the quantum limit, in RBs (100 in section 4.5.1, for 25 RBs a TTI).
//! * `rbg_rbs`: RBs in an RBG.
//!
//! Differences from the reference:
//! * Section 4.4 states that slices lend and borrow within a limit; Algorithm 8 only refuses RBGs that would
//!   bring a slice below minus the limit. With two slices, as in all of chapter 4, this bounds lending as
//!   well. With `n` slices one slice could have lent `n - 1` limits: [`Eqp::bound_lenders`] bounds it as the
//!   section states. Without that bound, for a scheduler with many UEs, a slice gets its RBs back as soon as
//!   it has data, because the others have then reached their limits.
//! * `5 f^5` alone would make packets smaller below `f` = 0.725; here the factor is `1 + 5 f^5`.
//! * Line 12 does not terminate if all queues are or become empty; here the loop ends then.
//! * `next_rnti` does not define the next of a slice's UEs. Here one queue gets the remainder until its
//!   demand is met, and then the next: this segments the fewest packets.
//! * The cut-off at -75% also holds back an RBG that would bring a slice below minus the limit.
//! * Shares may also be rounded such that nothing is left over ([`Rounding`]), for a scheduler with many UEs.
//! * Line 20 is done RB by RB, so that a slice that lent does not become a borrower by unused RBs.
//! * Only whole RBGs are assigned; a smaller last group of a carrier is not used, like the RB that the
//!   thesis's testbed discards. RBs of the grants that do not make a group are charged as unused.

use super::grants::{Grants, Rounding};
use super::knapsack::{Knapsack, Part};
use super::memory::Memory;
use super::problem::Inflation;
use super::{MOST_GROUPS, Queues, RbgCapacity, SliceError, Slices, Work};
use alloc::vec;
use alloc::vec::Vec;

/// Most RBs of the limit times the number of slices, and of a TTI, such that sums of quanta stay exact.
const MOST_RBS: u32 = 1_000_000;

/// The input of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tti {
    /// RBs that carry new data, over all slots of the TTI: without control and without repetitions.
    pub rbs: u32,
    /// The queue that comes first among equal choices; the last is followed by queue 0. Of the choices with
    /// equally many packets and the same sum of quanta, the law takes the one with the most packets from the
    /// first queue of slice 0 in this order, then from the second, and so on, and then in slice 1. A host
    /// whose queues take turns advances this index.
    pub first: usize,
}

/// The grant of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The index of the queue.
    pub queue: usize,
    /// Number of RBGs.
    pub groups: u16,
    /// Number of packets that these groups complete, among those of known size.
    pub packets: usize,
}

/// Packets that were chosen to be sent whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholePackets {
    /// The index of the queue.
    pub queue: usize,
    /// Number of packets, from the head on.
    pub packets: usize,
    /// Number of RBGs that these packets take.
    pub groups: u16,
}

/// The law of EQP.
#[derive(Clone, Debug)]
pub struct Eqp {
    slices: Slices,
    limit_rbs: i64,
    rbg_rbs: u32,
    bounds_lenders: bool,
    granted: Grants,
    quanta: Vec<i64>,
    unused_rbs: u32,
    knapsack: Knapsack,
    parts: Vec<Part>,
    memory: Memory,
    /// The queues of each slice, in their order.
    members: Vec<Vec<u32>>,
    /// For each slice, the next of its members to get part of the remainder.
    cursors: Vec<usize>,
    /// Groups granted, by queue.
    groups: Vec<u16>,
    whole: Vec<WholePackets>,
    grants: Vec<Grant>,
}

impl Eqp {
    /// EQP among `slices`, with all quanta at 0.
    ///
    /// # Errors
    /// RBGs of no RBs; a limit below one RBG, or above 1,000,000 RBs by the number of slices.
    pub fn new(slices: Slices, limit_rbs: u32, rbg_rbs: u32) -> Result<Eqp, SliceError> {
        let count = slices.count();
        let most_rbs = MOST_RBS / count.max(1) as u32;
        if rbg_rbs == 0 {
            return Err(SliceError::Group);
        }
        if limit_rbs < rbg_rbs || limit_rbs > most_rbs {
            return Err(SliceError::Limit { limit_rbs, least_rbs: rbg_rbs, most_rbs });
        }
        Ok(Eqp {
            slices,
            limit_rbs: limit_rbs.into(),
            rbg_rbs,
            bounds_lenders: false,
            granted: Grants::new(count),
            quanta: vec![0; count],
            unused_rbs: 0,
            knapsack: Knapsack::default(),
            parts: Vec::with_capacity(count),
            memory: Memory::default(),
            members: vec![Vec::new(); count],
            cursors: vec![0; count],
            groups: Vec::new(),
            whole: Vec::new(),
            grants: Vec::new(),
        })
    }

    /// Sets the rounding of shares.
    #[must_use]
    pub fn rounding(mut self, rounding: Rounding) -> Eqp {
        self.granted.rounding = rounding;
        self
    }

    /// Bounds the RBs that a slice may have lent by the limit, as those that it may have borrowed.
    #[must_use]
    pub fn bound_lenders(mut self) -> Eqp {
        self.bounds_lenders = true;
        self
    }

    /// The grants of the last TTI, by queue: the result of [`Eqp::decide`].
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }
    /// RBs that each slice was granted in the last TTI.
    pub fn granted(&self) -> &[u32] {
        self.granted.all()
    }
    /// The slices.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }
    /// The quantum limit, in RBs.
    pub fn limit_rbs(&self) -> i64 {
        self.limit_rbs
    }
    /// RBs in an RBG.
    pub fn rbg_rbs(&self) -> u32 {
        self.rbg_rbs
    }
    /// Quantum of each slice, in RBs: lent if positive, borrowed if negative. The quanta sum to zero.
    pub fn quanta(&self) -> &[i64] {
        &self.quanta
    }
    /// RBs granted to slices in the last TTI that were not assigned.
    pub fn unused_rbs(&self) -> u32 {
        self.unused_rbs
    }
    /// The packets chosen to be sent whole in the last TTI, slice by slice. Grants include their groups.
    pub fn whole(&self) -> &[WholePackets] {
        &self.whole
    }

    /// The work of the last decision.
    pub fn work(&self) -> Work {
        let queues = Work { checks: self.groups.len() as u64, looks: self.memory.looks, ..Work::default() };
        let mut work = self.knapsack.work;
        work += queues;
        work
    }

    /// Sets the quanta.
    ///
    /// # Errors
    /// Not one quantum for each slice, one below minus the limit or, with bounded lenders, above it, or a sum other than 0.
    pub fn set_quanta(&mut self, quanta: &[i64]) -> Result<(), SliceError> {
        let sum = quanta.iter().try_fold(0_i64, |sum, &quantum| sum.checked_add(quantum));
        let most = if self.bounds_lenders { self.limit_rbs } else { i64::MAX };
        let is_within = quanta.iter().all(|quantum| (-self.limit_rbs..=most).contains(quantum));
        if quanta.len() != self.quanta.len() || !is_within || sum != Some(0) {
            return Err(SliceError::Quanta);
        }
        self.quanta.copy_from_slice(quanta);
        Ok(())
    }

    /// Decides a TTI. Returns the grants of the queues, by index. A grant is charged, used or not.
    ///
    /// # Errors
    /// A queue with an unknown DRB or channel, more than [`MOST_GROUPS`] groups, or more than 1,000,000 RBs.
    /// Nothing is granted or charged then.
    pub fn decide<Q: Queues>(
        &mut self,
        tti: Tti,
        channels: &[RbgCapacity],
        queues: &Q,
    ) -> Result<&[Grant], SliceError> {
        if tti.rbs > MOST_RBS {
            return Err(SliceError::Rbs { rbs: tti.rbs, most_rbs: MOST_RBS });
        }
        let groups = self.most_groups(tti.rbs);
        if groups > MOST_GROUPS.into() {
            return Err(SliceError::Groups { groups });
        }
        self.collect(tti.first, channels, queues)?;
        self.granted.set(self.slices.shares(), tti.rbs, self.rbg_rbs);
        let total_rbs = self.granted.total();
        let groups = (total_rbs / self.rbg_rbs) as u16;

        for (quantum, &granted) in self.quanta.iter_mut().zip(self.granted.all()) {
            *quantum += i64::from(granted);
        }
        let free = if self.bounds_lenders { self.free_groups(total_rbs) } else { groups };
        let mut given = self.choose(groups, channels, queues);
        if self.bounds_lenders && i64::from(total_rbs - self.rbs(given)) < self.beyond_rbs() {
            self.take_back();
            given = self.choose(groups.min(free), channels, queues);
        }
        given += self.hand_out((groups, given), total_rbs, channels, queues);
        self.unused_rbs = total_rbs - self.rbs(given);
        self.charge_unused();
        debug_assert_eq!(self.quanta.iter().sum::<i64>(), 0, "lent and borrowed RBs are equal");

        self.grants.sort_unstable_by_key(|grant| grant.queue);
        for grant in &mut self.grants {
            grant.groups = self.groups[grant.queue];
            let channel = &channels[queues.channel(grant.queue)];
            let bytes = channel.bytes_in(grant.groups);
            let head = queues.head(grant.queue);
            while grant.packets < head.ends.len() && head.bytes(grant.packets + 1) <= bytes {
                grant.packets += 1;
            }
        }
        Ok(&self.grants)
    }

    /// Groups that may be assigned out of `rbs` RBs.
    fn most_groups(&self, rbs: u32) -> u32 {
        match self.granted.rounding {
            Rounding::Carried => rbs / self.rbg_rbs,
            Rounding::Down => {
                self.slices.shares().iter().map(|share| share.rounded_down(rbs)).sum::<u32>() / self.rbg_rbs
            }
        }
    }

    /// Assigns each queue to its slice.
    fn collect<Q: Queues>(
        &mut self,
        first: usize,
        channels: &[RbgCapacity],
        queues: &Q,
    ) -> Result<(), SliceError> {
        let count = queues.count();
        let steepness = &mut self.knapsack.steepness;
        self.memory.collect((&self.slices, first), channels, queues, &mut self.members, steepness)?;
        self.groups.clear();
        self.groups.resize(count, 0);
        self.grants.clear();
        self.whole.clear();
        Ok(())
    }

    /// RBs of `groups` groups.
    fn rbs(&self, groups: u16) -> u32 {
        u32::from(groups) * self.rbg_rbs
    }

    /// Sum of the RBs by which slices are above the limit: these must stay idle, or be used by the slices
    /// themselves.
    fn beyond_rbs(&self) -> i64 {
        self.quanta.iter().map(|&quantum| (quantum - self.limit_rbs).max(0)).sum()
    }

    /// Groups out of `total_rbs` RBs that may be assigned to any slice.
    fn free_groups(&self, total_rbs: u32) -> u16 {
        let free = (i64::from(total_rbs) - self.beyond_rbs()).max(0);
        (free / i64::from(self.rbg_rbs)) as u16
    }

    /// Undoes the choice of whole packets.
    fn take_back(&mut self) {
        for chosen in &self.knapsack.chosen {
            self.quanta[chosen.slice as usize] += i64::from(chosen.groups) * i64::from(self.rbg_rbs);
            self.groups[chosen.queue as usize] = 0;
        }
        self.whole.clear();
        self.grants.clear();
    }

    /// Chooses whole packets. Returns the number of groups that they take.
    fn choose<Q: Queues>(&mut self, capacity: u16, channels: &[RbgCapacity], queues: &Q) -> u16 {
        let (limit_rbs, rbg_rbs) = (self.limit_rbs, i64::from(self.rbg_rbs));
        self.parts.clear();
        self.parts.extend(self.quanta.iter().map(|&quantum| Part {
            inflation: Inflation::from_borrowed(-quantum, limit_rbs),
            quantum,
            budget: ((quantum + limit_rbs) / rbg_rbs).clamp(0, capacity.into()) as u16,
        }));
        self.knapsack.choose(&self.parts, &self.members, capacity, channels, queues);
        for chosen in &self.knapsack.chosen {
            let queue = chosen.queue as usize;
            let (packets, groups) = (usize::from(chosen.packets), chosen.groups);
            self.quanta[chosen.slice as usize] -= i64::from(groups) * rbg_rbs;
            self.groups[queue] = groups;
            self.whole.push(WholePackets { queue, packets, groups });
            self.grants.push(Grant { queue, groups, packets });
        }
        self.whole.iter().map(|whole| whole.groups).sum()
    }

    /// Assigns the remainder of `groups` groups, `taken` of which are assigned, to slices with data. Returns
    /// the number of groups assigned.
    fn hand_out<Q: Queues>(
        &mut self,
        (groups, taken): (u16, u16),
        total_rbs: u32,
        channels: &[RbgCapacity],
        queues: &Q,
    ) -> u16 {
        let rbg_rbs = i64::from(self.rbg_rbs);
        let mut idle_rbs = i64::from(total_rbs - self.rbs(taken));
        let mut beyond_rbs = if self.bounds_lenders { self.beyond_rbs() } else { 0 };
        self.cursors.iter_mut().for_each(|cursor| *cursor = 0);
        let left = groups - taken;
        for given in 0..left {
            let mut best: Option<(i64, usize, usize)> = None;
            for (slice, (&quantum, members)) in self.quanta.iter().zip(&self.members).enumerate() {
                if best.is_some_and(|(highest, _, _)| quantum <= highest) {
                    continue;
                }
                let cursor = &mut self.cursors[slice];
                while let Some(&member) = members.get(*cursor) {
                    let queue = member as usize;
                    if wants_more(
                        self.groups[queue],
                        &channels[queues.channel(queue)],
                        queues.backlog_bytes(queue),
                    ) {
                        best = Some((quantum, slice, queue));
                        break;
                    }
                    *cursor += 1;
                }
            }
            let Some((quantum, slice, queue)) = best else { return given };
            if 4 * quantum <= -3 * self.limit_rbs || quantum - rbg_rbs < -self.limit_rbs {
                return given;
            }
            // The slice with the highest quantum needs the least of the RBs that must stay idle.
            idle_rbs -= rbg_rbs;
            beyond_rbs -= (quantum - self.limit_rbs).clamp(0, rbg_rbs.min(beyond_rbs));
            if idle_rbs < beyond_rbs {
                return given;
            }
            self.quanta[slice] -= rbg_rbs;
            if self.groups[queue] == 0 {
                self.grants.push(Grant { queue, groups: 0, packets: 0 });
            }
            self.groups[queue] += 1;
        }
        left
    }

    /// Charges unassigned RBs to the slices with the highest quanta.
    fn charge_unused(&mut self) {
        let mut left = i64::from(self.unused_rbs);
        while left > 0 {
            // Down to the next lower quantum, or a single RB if two are equal.
            let (mut highest, mut at, mut next) = (i64::MIN, 0, i64::MIN);
            for (slice, &quantum) in self.quanta.iter().enumerate() {
                if quantum > highest {
                    (next, highest, at) = (highest, quantum, slice);
                } else {
                    next = next.max(quantum);
                }
            }
            let rbs = highest.saturating_sub(next).clamp(1, left);
            self.quanta[at] -= rbs;
            left -= rbs;
        }
    }
}

/// Returns true if a queue with `bytes` and `groups` groups could use another group.
fn wants_more(groups: u16, channel: &RbgCapacity, bytes: u64) -> bool {
    let most = channel.bytes_in(MOST_GROUPS);
    bytes > 0 && most > 0 && (bytes > u64::from(most) || bytes > u64::from(channel.bytes_in(groups)))
}
