//! Round robin: the same number of groups for each UE with data, up to its demand.
//!
//! UEs take turns. Each is first assigned its smallest useful grant; the remaining groups go one by one to
//! the UE with the fewest. The next TTI begins after the UE that got the last group, so that over time all
//! get the same number; or with the first UE that got none because the remainder was below its smallest
//! useful grant, so that a UE that needs most of the carrier does not starve.

use super::{Candidate, CandidateSource, Setting};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "round_robin",
    "The same number of resource block groups to each UE, up to its demand.",
)
.source("OpenAirInterface, ns-3 lte");

/// The same number of groups for each UE, up to its demand; the UE that gets one more changes from TTI to TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundRobin;

impl Setting for RoundRobin {
    type Law = Law;

    fn build(_: &Arguments) -> RoundRobin {
        RoundRobin
    }
    fn start(self, _: usize, _: Span) -> Law {
        Law::default()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Law {
    /// The first UE of the next TTI.
    next: u32,
    /// True if `next` got nothing, and is first in any case.
    held: bool,
}

impl super::Law for Law {
    #[inline(always)]
    fn plan<L: CandidateSource>(
        &mut self,
        _: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        debug_assert!(plan.is_empty(), "a TTI is planned once");
        let first = look.begin(candidates, self.next);
        let (mut left, mut place) = (groups, 0);
        self.held = false;
        while left > 0
            && let Some(number) = look.in_turn(candidates, first, place)
        {
            place += 1;
            let candidate = &mut candidates[number];
            look.query_channel(candidate);
            if candidate.need == 0 {
                continue;
            }
            if candidate.least > left {
                self.failed(candidate.ue);
                continue;
            }
            candidate.groups = candidate.least;
            left -= candidate.least;
            plan.push(number as u32);
            self.granted(candidate.ue);
        }
        if let [only] = plan[..] {
            let candidate = &mut candidates[only as usize];
            candidate.groups = candidate.need.min(candidate.groups + left);
            return;
        }
        let mut level = 2;
        while left > 0 {
            // No UE above `level` could take more, and the loop ends at the largest demand.
            let mut most = 0;
            for &number in plan.iter() {
                let candidate = &mut candidates[number as usize];
                most = most.max(candidate.need);
                if candidate.groups < level.min(candidate.need) && left > 0 {
                    candidate.groups += 1;
                    left -= 1;
                    self.granted(candidate.ue);
                }
            }
            if level >= most {
                break;
            }
            level += 1;
        }
    }

    fn metric(&self, _: &Candidate) -> f64 {
        0.0
    }

    fn failed(&mut self, ue: u32) {
        if !self.held {
            (self.next, self.held) = (ue, true);
        }
    }
}

impl Law {
    fn granted(&mut self, ue: u32) {
        if !self.held {
            self.next = ue + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Law as _;
    use super::super::testing::{CompleteCandidates, candidates};
    use super::*;

    fn plan(law: &mut Law, wanted: &[(u32, u16, u16)], groups: u16) -> Vec<(u32, u16)> {
        let (mut candidates, mut plan) = (candidates(wanted), Vec::new());
        law.plan(0, &mut candidates, groups, &mut CompleteCandidates(wanted), &mut plan);
        plan.iter().map(|&n| (candidates[n as usize].ue, candidates[n as usize].groups)).collect()
    }

    #[test]
    fn all_get_the_same_number_and_the_odd_group_rotates() {
        let mut law = Law::default();
        let wanted = [(0, 99, 1), (1, 99, 1)];
        assert_eq!(plan(&mut law, &wanted, 13), [(0, 7), (1, 6)]);
        assert_eq!(plan(&mut law, &wanted, 13), [(1, 7), (0, 6)]);
        assert_eq!(plan(&mut law, &wanted, 13), [(0, 7), (1, 6)]);
    }

    #[test]
    fn groups_beyond_a_demand_go_to_other_ues() {
        let mut law = Law::default();
        assert_eq!(plan(&mut law, &[(0, 2, 1), (3, 99, 1), (7, 4, 1)], 13), [(0, 2), (3, 7), (7, 4)]);
        assert_eq!(plan(&mut Law::default(), &[(5, 3, 1)], 13), [(5, 3)]);
        assert_eq!(plan(&mut Law::default(), &[(5, 99, 1)], 13), [(5, 13)]);
        assert_eq!(plan(&mut Law::default(), &[(2, 0, 0), (5, 1, 1)], 13), [(5, 1)], "an outage");
        assert_eq!(plan(&mut Law::default(), &[(2, 9, 1), (5, 9, 1)], 0), []);
    }

    #[test]
    fn more_ues_than_groups_take_turns() {
        let mut law = Law::default();
        let wanted = [(0, 9, 1), (1, 9, 1), (2, 9, 1), (3, 9, 1), (4, 9, 1)];
        assert_eq!(plan(&mut law, &wanted, 3), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(plan(&mut law, &wanted, 3), [(3, 1), (4, 1), (0, 1)]);
        assert_eq!(plan(&mut law, &wanted, 3), [(1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn a_ue_that_needs_the_whole_carrier_is_first_the_next_time() {
        let mut law = Law::default();
        let wanted = [(0, 9, 1), (1, 13, 13), (2, 9, 1)];
        assert_eq!(plan(&mut law, &wanted, 13), [(0, 7), (2, 6)]);
        assert_eq!(plan(&mut law, &wanted, 13), [(1, 13)]);
        assert_eq!(plan(&mut law, &wanted, 13), [(2, 7), (0, 6)]);
        assert_eq!(plan(&mut law, &wanted, 13), [(1, 13)]);
    }

    #[test]
    fn other_ues_catch_up_with_a_large_smallest_grant() {
        let mut law = Law::default();
        assert_eq!(plan(&mut law, &[(0, 9, 4), (1, 9, 1)], 10), [(0, 5), (1, 5)]);
    }
}
