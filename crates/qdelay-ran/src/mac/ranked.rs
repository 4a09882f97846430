//! Ranking: grants the UE with the highest metric as many groups as it needs, then the next.

use super::{Candidate, CandidateSource};
use alloc::vec::Vec;

/// Ranks the candidates of each TTI.
#[derive(Clone, Debug, Default)]
pub(crate) struct Next {
    /// The UE that goes first among equal metrics: the one after the UE served last.
    ue: u32,
    /// The candidates that may still get something, with their metrics: kept for its allocation.
    ranks: Vec<(f64, u32)>,
}

impl Next {
    pub fn plan<L: CandidateSource>(
        &mut self,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
        metric: impl Fn(&Candidate) -> f64,
    ) {
        look.all(candidates);
        candidates.iter_mut().for_each(|candidate| look.query_channel(candidate));
        self.rank(candidates, groups, plan, metric);
    }

    /// Plans a TTI as `plan` does, for candidates that are complete.
    pub fn rank(
        &mut self,
        candidates: &mut [Candidate],
        groups: u16,
        plan: &mut Vec<u32>,
        metric: impl Fn(&Candidate) -> f64,
    ) {
        if groups == 0 {
            return;
        }
        let start = candidates.partition_point(|candidate| candidate.ue < self.ue);
        let in_turn = (start..candidates.len()).chain(0..start);
        let wanting = in_turn.filter(|&number| candidates[number].need > 0);
        self.ranks.clear();
        self.ranks.extend(wanting.map(|number| (metric(&candidates[number]), number as u32)));
        let mut left = groups;
        while left > 0 {
            // A candidate whose smallest useful number exceeds the remainder gets nothing later either,
            // because the remainder only shrinks.
            self.ranks.retain(|&(_, number)| candidates[number as usize].least <= left);
            let first = |best: Option<(f64, usize)>, (place, &(metric, _)): (usize, &(f64, u32))| {
                let is_higher = best.is_none_or(|(highest, _)| metric > highest);
                if is_higher { Some((metric, place)) } else { best }
            };
            let Some((_, place)) = self.ranks.iter().enumerate().fold(None, first) else { break };
            let (_, number) = self.ranks.remove(place);
            let candidate = &mut candidates[number as usize];
            candidate.groups = candidate.need.min(left);
            debug_assert!(candidate.groups > 0, "a ranked candidate needs a group");
            left -= candidate.groups;
            plan.push(number);
            self.ue = candidate.ue + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CompleteCandidates, candidates};
    use super::*;

    fn plan(next: &mut Next, wanted: &[(u32, u16, u16)], rates: &[u64], groups: u16) -> Vec<(u32, u16)> {
        let (mut candidates, mut plan) = (candidates(wanted), Vec::new());
        let rate = |candidate: &Candidate| rates[candidate.ue as usize] as f64;
        next.plan(&mut candidates, groups, &mut CompleteCandidates(wanted), &mut plan, rate);
        plan.iter().map(|&n| (candidates[n as usize].ue, candidates[n as usize].groups)).collect()
    }

    #[test]
    fn the_highest_metric_is_served_first_and_the_next_gets_the_rest() {
        let wanted = [(0, 5, 1), (1, 5, 1), (2, 5, 1)];
        assert_eq!(plan(&mut Next::default(), &wanted, &[1, 3, 2], 13), [(1, 5), (2, 5), (0, 3)]);
        assert_eq!(plan(&mut Next::default(), &wanted, &[1, 3, 2], 5), [(1, 5)]);
    }

    #[test]
    fn equal_metrics_take_turns() {
        let (mut next, wanted) = (Next::default(), [(0, 9, 1), (1, 9, 1), (2, 9, 1)]);
        for first in [0, 1, 2, 0] {
            assert_eq!(plan(&mut next, &wanted, &[7, 7, 7], 6), [(first, 6)]);
        }
    }

    #[test]
    fn no_ue_gets_less_than_its_smallest_useful_number() {
        let wanted = [(0, 9, 4), (1, 2, 1), (2, 0, 0)];
        assert_eq!(plan(&mut Next::default(), &wanted, &[9, 8, 7], 3), [(1, 2)]);
        assert_eq!(plan(&mut Next::default(), &wanted, &[8, 9, 7], 5), [(1, 2)], "UE 0 needs more than 3");
    }
}
