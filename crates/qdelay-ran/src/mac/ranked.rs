//! Grants the UE with the highest metric as many groups as it needs, then the next.

use super::{Candidate, Look};
use alloc::vec::Vec;

/// The UE that goes first among equal metrics: the one after the UE served last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Next(u32);

impl Next {
    pub fn plan<L: Look>(
        &mut self,
        candidates: &mut [Candidate],
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
        metric: impl Fn(&Candidate) -> f64,
    ) {
        let start = candidates.partition_point(|candidate| candidate.ue < self.0);
        for candidate in candidates.iter_mut() {
            look.look(candidate);
        }
        let mut left = groups;
        while left > 0 {
            let mut best: Option<(f64, usize)> = None;
            for number in (start..candidates.len()).chain(0..start) {
                let candidate = &candidates[number];
                if candidate.groups > 0 || candidate.need == 0 || candidate.least > left {
                    continue;
                }
                let metric = metric(candidate);
                if best.is_none_or(|(highest, _)| metric > highest) {
                    best = Some((metric, number));
                }
            }
            let Some((_, number)) = best else { break };
            let candidate = &mut candidates[number];
            candidate.groups = candidate.need.min(left);
            left -= candidate.groups;
            plan.push(number as u32);
            self.0 = candidate.ue + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Known, candidates};
    use super::*;

    fn plan(next: &mut Next, wanted: &[(u32, u16, u16)], rates: &[u64], groups: u16) -> Vec<(u32, u16)> {
        let (mut candidates, mut plan) = (candidates(wanted), Vec::new());
        let rate = |candidate: &Candidate| rates[candidate.ue as usize] as f64;
        next.plan(&mut candidates, groups, &mut Known(wanted), &mut plan, rate);
        plan.iter().map(|&n| (candidates[n as usize].ue, candidates[n as usize].groups)).collect()
    }

    #[test]
    fn the_highest_first_and_what_it_leaves_to_the_next() {
        let wanted = [(0, 5, 1), (1, 5, 1), (2, 5, 1)];
        assert_eq!(plan(&mut Next::default(), &wanted, &[1, 3, 2], 13), [(1, 5), (2, 5), (0, 3)]);
        assert_eq!(plan(&mut Next::default(), &wanted, &[1, 3, 2], 5), [(1, 5)]);
    }

    #[test]
    fn equals_take_turns() {
        let (mut next, wanted) = (Next::default(), [(0, 9, 1), (1, 9, 1), (2, 9, 1)]);
        for first in [0, 1, 2, 0] {
            assert_eq!(plan(&mut next, &wanted, &[7, 7, 7], 6), [(first, 6)]);
        }
    }

    #[test]
    fn too_little_is_given_to_nobody() {
        let wanted = [(0, 9, 4), (1, 2, 1), (2, 0, 0)];
        assert_eq!(plan(&mut Next::default(), &wanted, &[9, 8, 7], 3), [(1, 2)]);
        assert_eq!(plan(&mut Next::default(), &wanted, &[8, 9, 7], 5), [(1, 2)], "UE 0 needs more than 3");
    }
}
