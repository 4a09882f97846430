//! Policy ratios, group by group, written from the text of the law: fractions are exact, and a window's grants are a list that is
//! counted anew for every group.

use std::cmp::Ordering;

/// A slice: ratios in percent, and what it wants in the present TTI.
#[derive(Clone, Debug)]
pub struct Slice {
    pub dedicated: i128,
    pub min: i128,
    pub max: i128,
    /// Arrears in hundredths of an RB.
    pub arrears: i128,
    pub wanted: usize,
    pub least: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Group {
    Granted(usize),
    Withheld(usize),
    Idle,
}

pub struct Model {
    pub slices: Vec<Slice>,
    group: i128,
    window_ttis: u64,
    window: u64,
    /// Groups of the window, TTI by TTI.
    pub ttis: Vec<Vec<Group>>,
    /// For each slice: granted, wasted, borrowed, in RBs of the windows that are over.
    pub accounts: Vec<[i128; 3]>,
}

impl Model {
    pub fn new(ratios: &[(u32, u32, u32)], group: u32, window_ttis: u64) -> Model {
        let slice = |&(dedicated, min, max): &(u32, u32, u32)| Slice {
            dedicated: dedicated.into(),
            min: min.into(),
            max: max.into(),
            arrears: 0,
            wanted: 0,
            least: 0,
        };
        Model {
            slices: ratios.iter().map(slice).collect(),
            group: group.into(),
            window_ttis,
            window: 0,
            ttis: Vec::new(),
            accounts: vec![[0; 3]; ratios.len()],
        }
    }

    fn count(&self, is_meant: impl Fn(Group) -> bool) -> i128 {
        self.ttis.iter().flatten().filter(|&&group| is_meant(group)).count() as i128 * self.group
    }
    /// RBs granted to a slice in the window.
    pub fn got(&self, slice: usize) -> i128 {
        self.count(|group| group == Group::Granted(slice))
    }
    fn withheld(&self, slice: usize) -> i128 {
        self.count(|group| group == Group::Withheld(slice))
    }
    /// RBs of the window, with the TTI that begins.
    pub fn total(&self, groups: usize) -> i128 {
        self.count(|_| true) + groups as i128 * self.group
    }

    /// Runs a TTI: for each slice what it wants, and its smallest useful grant.
    pub fn tick(&mut self, tti: u64, groups: usize, wants: &[(usize, usize)]) {
        if tti / self.window_ttis != self.window {
            self.close();
            self.window = tti / self.window_ttis;
        }
        for (slice, &(wanted, least)) in self.slices.iter_mut().zip(wants) {
            (slice.wanted, slice.least) = (wanted, least);
        }
        let total = self.total(groups);
        self.ttis.push(Vec::new());
        if groups == 0 {
            return;
        }
        while self.now().len() < groups && self.grant(total, groups) {}
        for slice in 0..self.slices.len() {
            if self.granted(slice) >= self.slices[slice].wanted {
                let below = self.slices[slice].min * total - 100 * self.got(slice);
                self.slices[slice].arrears = self.slices[slice].arrears.max(below);
            }
        }
        while self.now().len() < groups {
            self.ttis.last_mut().unwrap().push(Group::Idle);
        }
    }

    pub fn now(&self) -> &[Group] {
        self.ttis.last().map_or(&[], |groups| groups)
    }
    /// Groups granted to a slice in the present TTI.
    pub fn granted(&self, slice: usize) -> usize {
        self.now().iter().filter(|&&group| group == Group::Granted(slice)).count()
    }
    pub fn kept(&self, slice: usize) -> usize {
        self.now().iter().filter(|&&group| group == Group::Withheld(slice)).count()
    }

    fn turn(&self, slice: usize) -> usize {
        let count = self.slices.len();
        (slice + count - (self.window % count as u64) as usize) % count
    }
    fn is_due(&self, slice: usize, total: i128) -> bool {
        100 * self.got(slice) + self.slices[slice].arrears < self.slices[slice].min * total
    }
    fn give(&mut self, slice: usize, groups: usize, total: i128) {
        if !self.is_due(slice, total) {
            let arrears = &mut self.slices[slice].arrears;
            *arrears = (*arrears - 100 * self.group * groups as i128).max(0);
        }
        self.ttis.last_mut().unwrap().extend(vec![Group::Granted(slice); groups]);
    }

    fn grant(&mut self, total: i128, groups: usize) -> bool {
        let left = groups - self.now().len();
        let mut candidates = Vec::new();
        for (number, slice) in self.slices.iter().enumerate() {
            let (granted, got, one) = (self.granted(number), 100 * self.got(number), 100 * self.group);
            let takes = if granted < slice.least { slice.least - granted } else { 1 };
            let then = got + takes as i128 * one;
            let is_allowed = then <= slice.max * total || then - one < slice.min * total;
            let is_able = granted < slice.wanted && takes <= left && is_allowed;
            let reserve = got + 100 * self.withheld(number);
            if reserve < slice.dedicated * total {
                let gets = is_able.then_some(takes);
                candidates.push(((1, (reserve + one, slice.dedicated)), self.turn(number), number, gets));
            }
            let place = if self.is_due(number, total) {
                (1, (got + slice.arrears + one, slice.min))
            } else if got < slice.min * total {
                (2, (got + one, slice.min))
            } else {
                (3, (got, slice.max))
            };
            if is_able {
                candidates.push((place, self.turn(number), number, Some(takes)));
            }
        }
        candidates.sort_by(|a, b| a.0.0.cmp(&b.0.0).then(fractions(a.0.1, b.0.1)).then(a.1.cmp(&b.1)));
        let Some(&(_, _, slice, takes)) = candidates.first() else { return false };
        match takes {
            Some(takes) => self.give(slice, takes, total),
            None => self.ttis.last_mut().unwrap().push(Group::Withheld(slice)),
        }
        true
    }

    /// The accounts with the present window as if it were over.
    pub fn balanced(&self) -> Vec<[i128; 3]> {
        let (total, mut idle) = (self.total(0), self.count(|group| group == Group::Idle));
        let slices = 0..self.slices.len();
        let granted: Vec<i128> = self.slices.iter().map(|slice| slice.min * total / 100).collect();
        let mut short: Vec<i128> =
            slices.clone().map(|slice| (granted[slice] - self.got(slice)).max(0)).collect();
        let mut wasted = vec![0; self.slices.len()];
        for slice in slices.clone() {
            for _ in 0..self.withheld(slice) {
                let is_own = short[slice] > 0;
                short[slice] -= i128::from(is_own);
                wasted[slice] += i128::from(is_own);
                idle += i128::from(!is_own);
            }
        }
        // RB by RB, to the slice that is farthest below its minimum.
        while idle > 0 && short.iter().any(|&short| short > 0) {
            let most = *short.iter().max().unwrap();
            let slice = short.iter().position(|&short| short == most).unwrap();
            (short[slice], wasted[slice], idle) = (short[slice] - 1, wasted[slice] + 1, idle - 1);
        }
        slices
            .map(|slice| {
                let [all, idle, borrowed] = self.accounts[slice];
                let more = (self.got(slice) - granted[slice]).max(0);
                [all + granted[slice], idle + wasted[slice], borrowed + more]
            })
            .collect()
    }

    fn close(&mut self) {
        self.accounts = self.balanced();
        self.ttis.clear();
        self.slices.iter_mut().for_each(|slice| slice.arrears = 0);
    }
}

/// Compares two fractions with positive denominators.
fn fractions(one: (i128, i128), other: (i128, i128)) -> Ordering {
    (one.0 * other.1).cmp(&(other.0 * one.1))
}
