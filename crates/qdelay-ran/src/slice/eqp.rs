//! Elastic quantum partition (EQP): in each TTI as many whole packets as fit, whoever's they are, and over time to each slice its
//! share.
//!
//! Source: 5G QoS thesis, section 4.4, Algorithms 8 and 9.
//!
//! Each slice has a quantum in RBs: what it has lent to others, or, where it is negative, what it has borrowed. A TTI goes
//! like this:
//! 1. Each slice's quantum grows by its share of the TTI's RBs, rounded down. The sum of these grants is what is handed out.
//! 2. The knapsack (`knapsack.rs`) chooses whole packets. Those of a slice that has borrowed count as larger by
//!    `1 + 5 f^5`, where `f` is what it has borrowed by the quantum limit, so that it borrows more only for many packets. No
//!    slice may be brought below minus the limit. What the chosen packets really take is taken from the quanta.
//! 3. What is left goes, an RBG at a time, to the slice with the highest quantum that has data left, unless that is at -75% of the
//!    limit or below: what cannot complete a packet now shall not use up the last quarter.
//! 4. What is left then is not used. It is charged to the slices with the highest quanta, which lent it.
//!
//! Hence the quanta sum to zero after each TTI, and no slice is below minus the limit. So in a window of time a slice
//! gets no more than its grants and what it had lent plus the limit: for two slices at most twice the limit more than
//! agreed, for `n` slices `n` times.
//!
//! Parameters:
//! * `limit_rbs`: the quantum limit, in RBs (100 in section 4.5.1, for 25 RBs a TTI).
//! * `rbg_rbs`: RBs in an RBG.
//!
//! Differences from the reference:
//! * Section 4.4 says that slices lend and borrow within a limit; what it denies is what would bring a slice below minus the limit. So
//!   do Algorithm 8 and this law: borrowing is bounded, and lending by what the others may borrow. With two slices, as in all of
//!   chapter 4, that is the limit as well. With `n` slices one may have lent `n - 1` limits, and is then owed these: what is
//!   lent is paid back as soon as its owner has data, for the quanta of the others are at their end.
//! * `5 f^5` alone would make packets smaller below `f` = 0.725; here it is `1 + 5 f^5`.
//! * Line 12 has no end where all queues are empty or will be; here the loop ends there.
//! * `next_rnti` does not say which of a slice's UEs is next. Here a queue gets what is left until it wants no more, and
//!   then the next one: the fewest packets are cut.
//! * The cut-off at -75% also holds back an RBG that would bring a slice below minus the limit.
//! * Shares may also be rounded so that nothing is left over ([`Rounding`]), for a scheduler of many UEs.
//! * Line 20 is done RB by RB, so that nobody who lent is made a borrower by what was not used.
//! * Only whole RBGs are handed out; the last group of a carrier, where it is smaller, is not used, as the RB that the thesis's testbed
//!   discards. RBs of the grants that do not make a group are charged as unused.

use super::grants::{Grants, Rounding};
use super::knapsack::{Knapsack, Part};
use super::problem::Inflation;
use super::{Channel, MOST_GROUPS, Queues, SliceError, Slices};
use alloc::vec;
use alloc::vec::Vec;

/// The limit times the number of slices, at most, and the most RBs in a TTI: sums of quanta stay exact.
const MOST_RBS: u32 = 1_000_000;

/// A TTI that is to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tti {
    /// RBs that carry new data, over all slots of the TTI: without control and without repetitions.
    pub rbs: u32,
    /// The queue that comes first where all else is equal; behind the last comes queue 0. Of choices with as many packets and the same
    /// sum of quanta the one is made that takes the most packets from the first queue of slice 0 in this order, then from the
    /// second, and so on, and then in slice 1. A host that lets queues take turns counts it on.
    pub first: usize,
}

/// What a queue gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The number of the queue.
    pub queue: usize,
    /// RBGs.
    pub groups: u16,
    /// Packets that these complete, of those whose sizes are known.
    pub packets: usize,
}

/// Packets that were chosen to leave whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The number of the queue.
    pub queue: usize,
    /// How many, from its head on.
    pub packets: usize,
    /// RBGs that they take.
    pub groups: u16,
}

/// The law of EQP.
#[derive(Clone, Debug)]
pub struct Eqp {
    slices: Slices,
    limit_rbs: i64,
    rbg_rbs: u32,
    granted: Grants,
    quanta: Vec<i64>,
    unused_rbs: u32,
    knapsack: Knapsack,
    parts: Vec<Part>,
    /// The queues of each slice, in their order.
    members: Vec<Vec<u32>>,
    /// For each slice, which of its members may want what is left.
    cursors: Vec<usize>,
    /// Groups by queue.
    groups: Vec<u16>,
    whole: Vec<Whole>,
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
            granted: Grants::new(count),
            quanta: vec![0; count],
            unused_rbs: 0,
            knapsack: Knapsack::default(),
            parts: Vec::with_capacity(count),
            members: vec![Vec::new(); count],
            cursors: vec![0; count],
            groups: Vec::new(),
            whole: Vec::new(),
            grants: Vec::new(),
        })
    }

    /// With another way to round shares.
    #[must_use]
    pub fn rounding(mut self, rounding: Rounding) -> Eqp {
        self.granted.rounding = rounding;
        self
    }

    /// What the last TTI gave, by queue: what [`Eqp::decide`] returned.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }
    /// What each slice was granted in the last TTI, in RBs.
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
    /// The quantum of each slice, in RBs: lent if positive, borrowed if negative. They sum to zero.
    pub fn quanta(&self) -> &[i64] {
        &self.quanta
    }
    /// Of the RBs that slices were granted in the last TTI, those that nobody got.
    pub fn unused_rbs(&self) -> u32 {
        self.unused_rbs
    }
    /// The packets that were chosen to leave whole in the last TTI, slice by slice. Grants contain their groups.
    pub fn whole(&self) -> &[Whole] {
        &self.whole
    }

    /// Goes on from these quanta.
    ///
    /// # Errors
    /// Not one for each slice, one below minus the limit, or a sum that is not 0.
    pub fn set_quanta(&mut self, quanta: &[i64]) -> Result<(), SliceError> {
        let sum = quanta.iter().try_fold(0_i64, |sum, &quantum| sum.checked_add(quantum));
        let is_low = quanta.iter().any(|&quantum| quantum < -self.limit_rbs);
        if quanta.len() != self.quanta.len() || is_low || sum != Some(0) {
            return Err(SliceError::Quanta);
        }
        self.quanta.copy_from_slice(quanta);
        Ok(())
    }

    /// Decides a TTI. Returns the queues that get something, by number. What they get is charged whether they use it or not.
    ///
    /// # Errors
    /// A queue whose DRB or channel there is not, more than [`MOST_GROUPS`] groups, or more than
    /// 1,000,000 RBs. Nothing is granted or charged then.
    pub fn decide<Q: Queues>(
        &mut self,
        tti: Tti,
        channels: &[Channel],
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
        let groups = total_rbs / self.rbg_rbs;
        let mut left = groups as u16;

        for (quantum, &granted) in self.quanta.iter_mut().zip(self.granted.all()) {
            *quantum += i64::from(granted);
        }
        self.choose(left, channels, queues);
        for whole in &self.whole {
            left -= whole.groups;
        }
        left -= self.hand_out(left, channels, queues);
        self.unused_rbs = total_rbs - (groups - u32::from(left)) * self.rbg_rbs;
        self.charge_unused();

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

    /// Groups that may be handed out of `rbs` RBs.
    fn most_groups(&self, rbs: u32) -> u32 {
        match self.granted.rounding {
            Rounding::Carried => rbs / self.rbg_rbs,
            Rounding::Down => {
                self.slices.shares().iter().map(|share| share.of(rbs)).sum::<u32>() / self.rbg_rbs
            }
        }
    }

    /// Puts each queue to its slice.
    fn collect<Q: Queues>(
        &mut self,
        first: usize,
        channels: &[Channel],
        queues: &Q,
    ) -> Result<(), SliceError> {
        let count = queues.count();
        self.members.iter_mut().for_each(Vec::clear);
        let first = if count == 0 { 0 } else { first % count };
        for queue in (first..count).chain(0..first) {
            let (drb, channel) = (queues.drb(queue), queues.channel(queue));
            if channel >= channels.len() {
                return Err(SliceError::UnknownChannel { channel, channels: channels.len() });
            }
            match self.slices.of_drb(drb).and_then(|slice| self.members.get_mut(slice)) {
                Some(members) => members.push(queue as u32),
                None => return Err(SliceError::UnknownDrb { drb, drbs: self.slices.drbs() }),
            }
        }
        self.groups.clear();
        self.groups.resize(count, 0);
        self.grants.clear();
        self.whole.clear();
        Ok(())
    }

    /// Whole packets.
    fn choose<Q: Queues>(&mut self, capacity: u16, channels: &[Channel], queues: &Q) {
        let (limit_rbs, rbg_rbs) = (self.limit_rbs, i64::from(self.rbg_rbs));
        self.parts.clear();
        self.parts.extend(self.quanta.iter().map(|&quantum| Part {
            inflation: Inflation::of(-quantum, limit_rbs),
            quantum,
            budget: ((quantum + limit_rbs) / rbg_rbs).clamp(0, capacity.into()) as u16,
        }));
        self.knapsack.choose(&self.parts, &self.members, capacity, channels, queues);
        for chosen in &self.knapsack.chosen {
            let queue = chosen.queue as usize;
            let (packets, groups) = (usize::from(chosen.packets), chosen.groups);
            self.quanta[chosen.slice as usize] -= i64::from(groups) * rbg_rbs;
            self.groups[queue] = groups;
            self.whole.push(Whole { queue, packets, groups });
            self.grants.push(Grant { queue, groups, packets });
        }
    }

    /// Hands out what is left, up to `left` groups, to those with data. Returns how many groups were.
    fn hand_out<Q: Queues>(&mut self, left: u16, channels: &[Channel], queues: &Q) -> u16 {
        let rbg_rbs = i64::from(self.rbg_rbs);
        self.cursors.iter_mut().for_each(|cursor| *cursor = 0);
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
            self.quanta[slice] -= rbg_rbs;
            if self.groups[queue] == 0 {
                self.grants.push(Grant { queue, groups: 0, packets: 0 });
            }
            self.groups[queue] += 1;
        }
        left
    }

    /// Charges what nobody got to the slices with the highest quanta.
    fn charge_unused(&mut self) {
        let mut left = i64::from(self.unused_rbs);
        while left > 0 {
            // Down to the next lower one, or a single RB where two are equal.
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

/// Whether a queue with `bytes` and `groups` groups could use another.
fn wants_more(groups: u16, channel: &Channel, bytes: u64) -> bool {
    let most = channel.bytes_in(MOST_GROUPS);
    bytes > 0 && most > 0 && (bytes > u64::from(most) || bytes > u64::from(channel.bytes_in(groups)))
}
