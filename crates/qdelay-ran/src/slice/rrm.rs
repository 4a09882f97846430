//! Policy ratios: a slice has dedicated, prioritised and shared resource blocks (RBs), held over an averaging window.
//!
//! Source: 3GPP TS 28.541 clause 4.3.36 (RRMPolicyRatio) and the attributes of clause 4.4.1. The standard says what a ratio
//! entitles to, and neither the averaging window nor the order of service: those below are ours. Let `T` be the RBs in whole groups
//! (RBGs) of the window's TTIs so far, used or not, the present TTI included, and `U` the RBs that a slice was granted of them. TTIs
//! without downlink data have none.
//!
//! In each TTI groups are granted one at a time, to slices that want more of them:
//!
//! 1. **Due.** Two things are due, and first is what is due first. With `A` as the slice's arrears, the next group of its *minimum* is
//!    due, if it wants one, while `U + A` is below the minimum ratio of `T`: at `(U + A + group) / minimum`. The next group of its
//!    *reserve* is due while `U` and the RBs that were withheld for it, `R` together, are below the dedicated ratio of `T`: at
//!    `(R + group) / dedicated`; if the slice wants none, the group is withheld: it stays idle.
//! 2. **Arrears.** Other slices are below their minimum while `U` is below the minimum ratio of `T`: while they were idle. First is the
//!    slice with the least `(U + group) / minimum`.
//! 3. **Shared.** The others share what is left. First is the slice with the least `U / maximum`.
//!
//! No grant brings `U` above the maximum ratio of `T`, but for the group that completes the minimum ratio of `T`.
//! If two slices are equal the one that comes first in the order of declaration goes first, where the order begins one slice later in
//! each window. A slice's first grant in a TTI has as many groups as its smallest useful grant; a slice that cannot get so many gets
//! none.
//!
//! Arrears are what a slice did not want while it was due: at the end of a TTI in which it got all that it wanted they grow to the
//! minimum ratio of `T` less `U`, if they are smaller. A group that is granted to a slice while its minimum is not due is taken off
//! its arrears. A new window begins with all at zero: neither arrears nor what a slice got beyond its minimum are carried over.
//!
//! With minima of at most 100% in all it follows, at the end of each TTI:
//!
//! * A slice that has wanted more since the window began is less than a group below its minimum: the groups of step 1 are jobs
//!   with deadlines, one sequence for each slice at the rate of its minimum, and the earliest deadline is served first. The reserve of
//!   a slice that wakes may be due at another time than its minimum: for each other slice with a dedicated ratio that wakes, it
//!   may be a group more, until the next TTIs make up for it.
//! * No slice is above its maximum, except by less than a group where that completes its minimum.
//! * No group is left over while a slice a group or more below its maximum wants it, other than those that are withheld.
//! * A slice that wakes within a window gets what is due from then on, like all others, and its arrears before anything is shared.
//!
//! # Differences from the reference
//! * Ratios are of the RBs of downlink data, without retransmissions, which precede all slices.
//! * A smaller last group of a carrier is not used.

use super::{Ratios, SliceError};
use alloc::vec;
use alloc::vec::Vec;

/// One RB in the unit of ratios.
const ONE: u64 = 1_000_000;

/// Demand of a slice in a TTI, in groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceDemand {
    /// Groups that would carry all data of the slice.
    pub wanted: u16,
    /// The smallest useful grant: fewer groups carry nothing. At most `wanted`.
    pub least: u16,
}

/// The accounts of a slice: RBs since the beginning. `granted = used + wasted + lent`, where `used` are the RBs of its
/// grants, and `lent` is negative if it borrowed. Each window is balanced when it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyAccount {
    /// The minimum ratio of the RBs of each window, rounded down.
    pub granted: u64,
    /// RBs that were idle and are charged to the slice, up to its minimum.
    pub wasted: u64,
    /// RBs granted to the slice beyond its minimum.
    pub borrowed: u64,
    /// RBs that were withheld for it while another slice below its maximum wanted more.
    pub withheld_from_others: u64,
}

/// The law of policy ratios.
#[derive(Clone, Debug)]
pub struct RrmPolicy {
    rbg_rbs: u32,
    window_ttis: u64,
    /// Number of the present window.
    window: u64,
    /// RBs of the window in whole groups (`T`).
    total: u64,
    /// RBs of the window that were neither granted nor withheld.
    idle: u64,
    /// Groups of the present TTI; `left`: those that no slice was granted, nor withheld.
    groups: u16,
    left: u16,
    slices: Vec<Held>,
    /// Accounts up to the beginning of the window.
    closed: Vec<PolicyAccount>,
}

/// A slice in the present window.
#[derive(Clone, Copy, Debug)]
struct Held {
    ratios: Ratios,
    /// RBs granted (`U`).
    got: u64,
    /// RBs withheld.
    withheld: u64,
    /// RBs, in millionths, that were due while the slice wanted nothing.
    arrears: u64,
    demand: SliceDemand,
    /// Groups granted in the present TTI; `kept`: those withheld.
    now: u16,
    kept: u16,
}

impl Held {
    fn new(ratios: Ratios) -> Held {
        Held { ratios, got: 0, withheld: 0, arrears: 0, demand: SliceDemand::default(), now: 0, kept: 0 }
    }
    fn grant(&mut self, groups: u16, rbg_rbs: u32, total: u64) {
        let rbs = u64::from(groups) * u64::from(rbg_rbs);
        if !self.is_due(total) {
            self.arrears = self.arrears.saturating_sub(rbs * ONE);
        }
        self.now += groups;
        self.got += rbs;
    }
    /// Returns true if the slice is below its minimum of `total` RBs by more than its arrears.
    fn is_due(&self, total: u64) -> bool {
        self.got * ONE + self.arrears < self.minimum(total)
    }
    fn withhold(&mut self, rbg_rbs: u32) {
        self.kept += 1;
        self.withheld += u64::from(rbg_rbs);
    }
    /// The minimum of `total` RBs, in millionths of an RB.
    fn minimum(&self, total: u64) -> u64 {
        u64::from(self.ratios.min()) * total
    }
    /// Returns true if `rbs` further RBs keep the slice at or below its maximum.
    fn is_within(&self, rbs: u64, total: u64) -> bool {
        (self.got + rbs) * ONE <= u64::from(self.ratios.max()) * total
    }
}

/// The next groups of a TTI, which a slice is granted, or one that is withheld for it.
#[derive(Clone, Copy, Debug)]
struct Next {
    slice: usize,
    groups: u16,
    is_withheld: bool,
}

/// The place of a slice in the order of service: the step, and within it a fraction. The lowest is first.
#[derive(Clone, Copy, Debug)]
struct Rank {
    step: u8,
    part: u64,
    whole: u64,
}

impl Rank {
    fn is_before(&self, other: &Rank) -> bool {
        let fractions = (
            u128::from(self.part) * u128::from(other.whole),
            u128::from(other.part) * u128::from(self.whole),
        );
        self.step < other.step || self.step == other.step && fractions.0 < fractions.1
    }
}

impl RrmPolicy {
    /// Policy ratios in groups of `rbg_rbs` RBs, over windows of `window_ttis` TTIs: window `k` begins with TTI `k * window_ttis`.
    ///
    /// # Errors
    /// Groups of no RBs; minima of more than 100% in all.
    pub fn new(ratios: &[Ratios], rbg_rbs: u32, window_ttis: u64) -> Result<RrmPolicy, SliceError> {
        let millionths = ratios.iter().map(|ratios| u64::from(ratios.min())).sum();
        if millionths > ONE {
            return Err(SliceError::Minima { millionths });
        }
        if rbg_rbs == 0 {
            return Err(SliceError::Group);
        }
        Ok(RrmPolicy {
            rbg_rbs,
            window_ttis: window_ttis.max(1),
            window: 0,
            total: 0,
            idle: 0,
            groups: 0,
            left: 0,
            slices: ratios.iter().map(|&ratios| Held::new(ratios)).collect(),
            closed: vec![PolicyAccount::default(); ratios.len()],
        })
    }

    /// TTIs of a window.
    pub fn window_ttis(&self) -> u64 {
        self.window_ttis
    }

    /// Begins TTI number `tti`, with `rbs` RBs for new data. TTIs are passed in their order, none is left out.
    pub fn begin(&mut self, tti: u64, rbs: u32) {
        self.enter(tti / self.window_ttis);
        // A carrier has at most 275 groups.
        self.groups = (rbs / self.rbg_rbs).min(u16::MAX.into()) as u16;
        self.total += u64::from(self.groups) * u64::from(self.rbg_rbs);
        self.left = self.groups;
        for slice in &mut self.slices {
            (slice.now, slice.kept, slice.demand) = (0, 0, SliceDemand::default());
        }
    }

    /// Shares out the groups of the TTI; `demands` are those of the slices, none for those that it lacks.
    pub fn share_out(&mut self, demands: &[SliceDemand]) {
        // A TTI without groups says nothing about what slices want.
        if self.groups == 0 {
            return;
        }
        for (slice, &demand) in self.slices.iter_mut().zip(demands) {
            slice.demand = demand;
        }
        let (total, rbg_rbs) = (self.total, self.rbg_rbs);
        while self.left > 0
            && let Some(Next { slice, groups, is_withheld }) = self.next()
        {
            match is_withheld {
                true => self.slices[slice].withhold(rbg_rbs),
                false => self.slices[slice].grant(groups, rbg_rbs, total),
            }
            self.left -= groups;
        }
        for slice in &mut self.slices {
            if slice.now >= slice.demand.wanted {
                slice.arrears = slice.arrears.max(slice.minimum(total).saturating_sub(slice.got * ONE));
            }
        }
        self.idle += u64::from(self.left) * u64::from(self.rbg_rbs);
        for slice in 0..self.slices.len() {
            if self.slices[slice].kept > 0 && self.is_another_hungry(slice) {
                self.closed[slice].withheld_from_others += u64::from(self.kept_rbs(slice));
            }
        }
    }

    /// Groups granted to `slice` in the present TTI.
    pub fn groups(&self, slice: usize) -> u16 {
        self.slices.get(slice).map_or(0, |slice| slice.now)
    }
    /// RBs withheld for `slice` in the present TTI.
    pub fn kept_rbs(&self, slice: usize) -> u32 {
        self.slices.get(slice).map_or(0, |slice| u32::from(slice.kept) * self.rbg_rbs)
    }
    /// Returns true if a slice other than `slice` wanted more groups in the present TTI and is a group or more below its maximum.
    pub fn is_another_hungry(&self, slice: usize) -> bool {
        let mut others = self.slices.iter().enumerate().filter(|&(number, _)| number != slice);
        others.any(|(_, other)| {
            other.demand.wanted > other.now && other.is_within(self.rbg_rbs.into(), self.total)
        })
    }
    /// Groups that `slice` could have had in the present TTI besides those that it was granted.
    pub fn spare_groups(&self, slice: usize) -> u16 {
        let Some(slice) = self.slices.get(slice) else { return 0 };
        let room = (u64::from(slice.ratios.max()) * self.total).saturating_sub(slice.got * ONE);
        let groups = room / (u64::from(self.rbg_rbs) * ONE);
        (self.left + slice.kept).min(groups.min(u16::MAX.into()) as u16)
    }

    /// The accounts of all slices, the present window included as if it ended now.
    pub fn accounts(&self) -> Vec<PolicyAccount> {
        let mut accounts = self.closed.clone();
        self.balance(&mut accounts);
        accounts
    }

    /// Adds idle windows that end before the window with number `window`; `granted` are the minima of their RBs. The present
    /// window is over, and the windows between are those.
    pub fn skip(&mut self, window: u64, granted: impl Fn(Ratios) -> u64) {
        self.enter(window);
        for (account, slice) in self.closed.iter_mut().zip(&self.slices) {
            let granted = granted(slice.ratios);
            account.granted += granted;
            account.wasted += granted;
        }
    }

    /// The window with this number is the present one.
    fn enter(&mut self, window: u64) {
        if window == self.window {
            return;
        }
        let mut closed = core::mem::take(&mut self.closed);
        self.balance(&mut closed);
        self.closed = closed;
        (self.window, self.total, self.idle) = (window, 0, 0);
        for slice in &mut self.slices {
            (slice.got, slice.withheld, slice.arrears) = (0, 0, 0);
        }
    }

    /// The next groups of the TTI; `None` if nobody can be given one.
    fn next(&self) -> Option<Next> {
        let rbg_rbs = u64::from(self.rbg_rbs);
        let mut first: Option<(Rank, Next)> = None;
        let mut propose = |rank: Rank, next: Next| {
            if first.is_none_or(|(first, _)| rank.is_before(&first)) {
                first = Some((rank, next));
            }
        };
        for number in self.order() {
            let slice = &self.slices[number];
            let groups = slice.demand.least.saturating_sub(slice.now).max(1);
            let can_use = slice.now < slice.demand.wanted && groups <= self.left;
            let rank = if can_use { self.rank(slice, groups) } else { None };
            let grant = Next { slice: number, groups, is_withheld: false };
            let (reserve, dedicated) = (slice.got + slice.withheld, u64::from(slice.ratios.dedicated()));
            if reserve * ONE < dedicated * self.total {
                let next =
                    if rank.is_some() { grant } else { Next { groups: 1, is_withheld: true, ..grant } };
                propose(Rank { step: 1, part: (reserve + rbg_rbs) * ONE, whole: dedicated }, next);
            }
            if let Some(rank) = rank {
                propose(rank, grant);
            }
        }
        first.map(|(_, next)| next)
    }

    /// The place of a slice that can use `groups` groups; `None` if its maximum forbids them.
    fn rank(&self, slice: &Held, groups: u16) -> Option<Rank> {
        let (got, group) = (slice.got * ONE, u64::from(self.rbg_rbs) * ONE);
        let (minimum, of_min) = (slice.minimum(self.total), u64::from(slice.ratios.min()));
        // The last of the groups completes the minimum, or all are within the maximum.
        let completes = got + u64::from(groups - 1) * group < minimum;
        if !completes && !slice.is_within(u64::from(groups) * u64::from(self.rbg_rbs), self.total) {
            return None;
        }
        Some(match (slice.is_due(self.total), got < minimum) {
            (true, _) => Rank { step: 1, part: got + slice.arrears + group, whole: of_min },
            (false, true) => Rank { step: 2, part: got + group, whole: of_min },
            (false, false) => Rank { step: 3, part: got, whole: slice.ratios.max().into() },
        })
    }

    /// The slices in the order that decides among equal ones.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.slices.len();
        // The remainder is below the number of slices.
        let first = (self.window % count.max(1) as u64) as usize;
        (first..count).chain(0..first)
    }

    /// Adds the present window to `accounts`. Idle RBs are charged to slices that are below their minimum, and to none beyond it:
    /// those that were withheld to their slice, and the others to the slices that are farthest below.
    fn balance(&self, accounts: &mut [PolicyAccount]) {
        let granted = |slice: &Held| slice.minimum(self.total) / ONE;
        let own = |slice: &Held| slice.withheld.min(granted(slice).saturating_sub(slice.got));
        let short = |slice: &Held| granted(slice).saturating_sub(slice.got + own(slice));
        let shorts = || self.slices.iter().map(short);
        let idle = self.idle + self.slices.iter().map(|slice| slice.withheld - own(slice)).sum::<u64>();
        let level = level(shorts, idle);
        // Too few RBs to bring all of them one below the level.
        let mut spare = idle - shorts().map(|short| short.saturating_sub(level)).sum::<u64>();
        for (account, slice) in accounts.iter_mut().zip(&self.slices) {
            let short = short(slice);
            let one = u64::from(spare > 0 && level > 0 && short >= level);
            spare -= one;
            account.granted += granted(slice);
            account.wasted += own(slice) + short.saturating_sub(level) + one;
            account.borrowed += slice.got.saturating_sub(granted(slice));
        }
    }
}

/// The smallest value to which `idle` RBs bring the largest of `shorts` down, those above it all to the same.
fn level<I: Iterator<Item = u64>>(shorts: impl Fn() -> I, idle: u64) -> u64 {
    let (mut low, mut high) = (0, shorts().max().unwrap_or(0));
    while low < high {
        let middle = low + (high - low) / 2;
        match shorts().map(|short| short.saturating_sub(middle)).sum::<u64>() <= idle {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}
