//! RRM policy ratios as a component; [`RrmPolicy`] decides, by the law that its file states.
//!
//! The standard leaves the averaging window to the implementation. A slice has the keys `dedicated`, `min` and `max` in place of `share`. Idle TTIs are counted one by one up to the end of the
//! averaging window; whole idle windows leave nothing but their accounts.

use super::{Charged, Decided, Division, Setting};
use crate::cell::account::repeated;
use crate::cell::error::CellError;
use crate::slice::{PolicyAccount, Queues, Ratios, RbgCapacity, RrmPolicy, SliceDemand, Tti};
use alloc::boxed::Box;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const WINDOW: Typed<Span> =
    Typed::new("window", "10ms", "Averaging window of the ratios; nothing is carried beyond it.")
        .unit(Unit::Span)
        .within("1us", "2s")
        .source("ours: a radio frame");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Partition,
    "rrm",
    "Policy ratios: dedicated, prioritised and shared resource blocks; those that are not dedicated are lent.",
)
.source("3GPP TS 28.541, clause 4.3.36")
.with(&[WINDOW.parameter()]);

/// Policy ratios: a dedicated, a minimum and a maximum ratio for each slice, over an averaging window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rrm {
    /// The averaging window, in whole TTIs.
    pub window: Span,
}

impl Setting for Rrm {
    type Law = Law;

    fn build(arguments: &Arguments) -> Rrm {
        Rrm { window: arguments.get(&WINDOW) }
    }
    fn start(self, division: &Division<'_>) -> Result<Law, CellError> {
        let (tti, rbg_rbs) = (division.tti, division.rbg_rbs);
        if self.window < tti {
            return Err(CellError::WindowOfSlices { window: self.window, tti });
        }
        let ratios = division.ratios()?;
        let window_ttis = self.window.as_nanos() / tti.as_nanos().max(1);
        let policy = RrmPolicy::new(&ratios, rbg_rbs, window_ttis).map_err(CellError::Slices)?;
        let windows = division.grid.windows(window_ttis);
        let rbs = |tti| division.grid.rbs(tti);
        let window_rbs = (0..windows).map(|window| rbs_of(window, &policy, rbg_rbs, rbs)).min().unwrap_or(0);
        for (slice, ratios) in ratios.iter().enumerate() {
            let keys = [("dedicated", ratios.dedicated()), ("min", ratios.min()), ("max", ratios.max())];
            for (key, millionths) in keys {
                if millionths > 0 && u64::from(millionths) * window_rbs < u64::from(rbg_rbs) * 1_000_000 {
                    return Err(CellError::RatioOfNothing { slice, key, millionths, window_rbs, rbg_rbs });
                }
            }
        }
        Ok(Law { policy: Box::new(policy), rbg_rbs, windows, demands: Vec::new() })
    }
    fn by_ratios(self) -> bool {
        true
    }
}

/// RBs of whole groups in window number `window`, of which each TTI has `rbs`.
fn rbs_of(window: u64, policy: &RrmPolicy, rbg_rbs: u32, rbs: impl Fn(u64) -> u32) -> u64 {
    let first = window * policy.window_ttis();
    let whole = |rbs: u32| u64::from(rbs - rbs % rbg_rbs);
    (first..first + policy.window_ttis()).map(|tti| whole(rbs(tti))).sum()
}

/// Grants groups to slices by their demands.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    policy: Box<RrmPolicy>,
    rbg_rbs: u32,
    /// Windows after which their RBs repeat.
    windows: u64,
    demands: Vec<SliceDemand>,
}

impl super::Law for Law {
    fn by_packets(&self) -> bool {
        false
    }
    /// RBs granted in the present TTI; those that were agreed are in the accounts.
    fn granted(&self, slice: usize, _: u32) -> u32 {
        u32::from(self.policy.groups(slice)) * self.rbg_rbs
    }
    fn quantum(&self, _: usize) -> Option<i64> {
        None
    }
    fn begin(&mut self, tti: u64, rbs: u32) {
        self.policy.begin(tti, rbs);
    }
    fn share_out(&mut self, demands: impl Iterator<Item = SliceDemand>) -> bool {
        self.demands.clear();
        self.demands.extend(demands);
        self.policy.share_out(&self.demands);
        true
    }
    fn idle(&mut self, from: u64, until: u64, rbs: impl Fn(u64) -> u32) -> bool {
        let (window_ttis, rbg_rbs) = (self.policy.window_ttis(), self.rbg_rbs);
        let mut tti = from;
        while tti < until {
            let (first, last) = (tti / window_ttis, until / window_ttis);
            if tti == first * window_ttis && first < last {
                let windows: Vec<u64> = {
                    let policy = &self.policy;
                    // A window's RBs are needed once for all slices, and repeat.
                    let known = (last - first).min(self.windows);
                    (first..first + known).map(|window| rbs_of(window, policy, rbg_rbs, &rbs)).collect()
                };
                let granted = |ratios: Ratios| {
                    repeated(first, last, self.windows, |window| {
                        let rbs = windows[((window - first) % self.windows) as usize];
                        u64::from(ratios.min()) * rbs / 1_000_000
                    })
                };
                self.policy.skip(last, granted);
                tti = last * window_ttis;
                continue;
            }
            self.policy.begin(tti, rbs(tti));
            self.policy.share_out(&[]);
            tti += 1;
        }
        true
    }
    fn is_another_hungry(&self, slice: usize) -> bool {
        self.policy.is_another_hungry(slice)
    }
    fn accounts(&self) -> Option<Vec<PolicyAccount>> {
        Some(self.policy.accounts())
    }
    fn decide<Q: Queues>(&mut self, _: Tti, _: &[RbgCapacity], _: &Q) -> Option<Decided<'_>> {
        None
    }
    fn spare_groups(&self, slice: Charged) -> u16 {
        let unused = (slice.granted - slice.used) / self.rbg_rbs.max(1);
        self.policy.spare_groups(slice.slice).saturating_add(unused as u16)
    }
}
