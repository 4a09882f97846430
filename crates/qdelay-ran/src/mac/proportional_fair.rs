//! Proportional fair (Jalali, Padovani and Pankaj, "Data throughput of CDMA-HDR", VTC 2000): serves the UE
//! whose current rate is highest relative to its recent throughput `T`.
//!
//! `T` decays with the window and grows with the bytes of new blocks. A rate is that of the whole carrier;
//! repetitions do not count. UEs without data are not evaluated, but their `T` decays as that of the others
//! does.
//!
//! # Differences from the reference
//! * The weight of a TTI is `1 - exp(-TTI / window)` instead of `TTI / window`, so that any window of at
//!   least a TTI is valid.
//! * One byte is added to the average for `T`, so that a UE that was never served has a finite metric.
//! * A UE is assigned as many groups as its data needs, not one at a time: with a channel that is equal in
//!   all groups, and `T` taken at the beginning of the TTI, the result is the same.

use super::averages::WINDOW;
use super::weighted::{Law, Weight};
use super::{Candidate, Setting};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "proportional_fair",
    "Resource blocks to the UE with the highest ratio of its rate to its recent throughput.",
)
.source("Jalali, Padovani and Pankaj, VTC 2000")
.with(&[WINDOW.parameter()]);

/// The scheduler of proportional fair: the UE with the highest rate relative to its recent throughput is
/// granted all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProportionalFair {
    /// Averaging window of the recent throughput. At least a TTI.
    pub window: Span,
}

impl Setting for ProportionalFair {
    type Law = Law<Even>;

    fn build(arguments: &Arguments) -> ProportionalFair {
        ProportionalFair { window: arguments.get(&WINDOW) }
    }
    fn start(self, ues: usize, tti: Span) -> Law<Even> {
        Law::new(ues, tti, self.window)
    }
    fn longest_tti(self) -> Span {
        self.window
    }
}

/// The weight 1 for every UE.
#[derive(Clone, Debug, Default)]
pub(crate) struct Even;

impl Weight for Even {
    #[inline]
    fn weight(&self, _: &Candidate) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::Law as _;
    use super::super::testing::{CompleteCandidates, candidates};
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Bytes served to each of the UEs, all with more data than fits, in `ttis` TTIs.
    fn run(rates: &[u64], window: Span, ttis: u64) -> Vec<u64> {
        let mut law = Law::<Even>::new(rates.len(), Span::from_millis(1), window);
        let wanted: Vec<(u32, u16, u16)> = (0..rates.len() as u32).map(|ue| (ue, 99, 1)).collect();
        let (mut served, mut plan) = (vec![0; rates.len()], Vec::new());
        for tti in 0..ttis {
            let mut candidates = candidates(&wanted);
            for (candidate, &rate) in candidates.iter_mut().zip(rates) {
                candidate.rate_bytes = rate;
            }
            plan.clear();
            law.plan(tti, &mut candidates, 13, &mut CompleteCandidates(&wanted), &mut plan);
            assert_eq!(plan.len(), 1, "the first takes all");
            let ue = plan[0];
            served[ue as usize] += rates[ue as usize];
            law.carried(ue, rates[ue as usize]);
        }
        served
    }

    #[test]
    fn ues_get_equal_time_at_any_rate() {
        let rates = [1000, 10_000, 3000, 7000];
        // The run is long enough for the weights to restart.
        let served = run(&rates, Span::from_millis(100), 80_000);
        for (served, rate) in served.iter().zip(rates) {
            let share = *served as f64 / (rate * 80_000) as f64;
            assert!((share - 0.25).abs() < 0.005, "a quarter of the TTIs each: {share}");
        }
    }

    #[test]
    fn decisions_match_the_recursion_of_the_paper() {
        let (rates, decay) = ([500_u64, 900, 400], libm::exp(-0.02));
        let mut law = Law::<Even>::new(3, Span::from_millis(1), Span::from_millis(50));
        let wanted = [(0, 99, 1), (1, 99, 1), (2, 99, 1)];
        let mut lately = [0.0; 3];
        for tti in 0..2000_u64 {
            // Rates vary so that no two metrics are equal.
            let rate = |ue: usize| rates[ue] + (tti * (17 + 6 * ue as u64)) % 101;
            let mut candidates = candidates(&wanted);
            (0..3).for_each(|ue| candidates[ue].rate_bytes = rate(ue));
            let mut plan = Vec::new();
            law.plan(tti, &mut candidates, 1, &mut CompleteCandidates(&wanted), &mut plan);
            let metric = |ue: usize| rate(ue) as f64 / (lately[ue] * decay + 1.0);
            let best = (0..3).max_by(|&a, &b| metric(a).total_cmp(&metric(b))).unwrap();
            assert_eq!(plan, [best as u32], "TTI {tti}");
            law.carried(best as u32, rate(best));
            for (ue, lately) in lately.iter_mut().enumerate() {
                let bytes = if ue == best { rate(ue) as f64 } else { 0.0 };
                *lately = decay * *lately + (1.0 - decay) * bytes;
            }
        }
    }
}
