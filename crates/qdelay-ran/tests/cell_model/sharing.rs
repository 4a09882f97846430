//! The schedulers of the model: the sharing of a TTI's groups among the UEs, and their averages.

use super::Law;
use super::model::Model;
use crate::cell_common::MS;
use qdelay_ran::Sharing;

impl Model {
    /// Waiting time in s of the first packet of each bearer of `ue` with data, and its class.
    pub(super) fn heads(&self, ue: usize, now: u64) -> Vec<(f64, (u64, u8))> {
        let of = |bearer: usize| {
            let job = self.waiting[bearer].as_ref().or(self.queues[bearer].front())?;
            let priority = self.plan.ues[ue].2[bearer - self.bearer(ue, 0)];
            Some(((now - job.arrival + 1) as f64 / 1e9, self.plan.classes[usize::from(priority)]))
        };
        self.bearers_of(ue).into_iter().filter_map(of).collect()
    }

    pub(super) fn wanted(&self, ue: usize) -> u64 {
        self.bearers_of(ue).into_iter().map(|bearer| self.waits(bearer)).sum()
    }

    /// Number of groups of each UE, in the order of the UEs.
    pub(super) fn share(
        &mut self,
        tti: u64,
        groups: u64,
        ues: &[usize],
        repeating: &[usize],
    ) -> Vec<(usize, u64)> {
        let all = self.groups(tti);
        let mut order: Vec<usize> = ues.iter().copied().filter(|ue| !repeating.contains(ue)).collect();
        order.retain(|&ue| self.carries(tti, self.known[ue], &[(0, all)]).1 > 0);
        order.sort_by_key(|&ue| (ue < self.next, ue));
        let need = |model: &Model, ue: usize| model.groups_for(tti, model.known[ue], 0, model.wanted(ue));
        let least = |model: &Model, ue: usize| {
            let active = model.bearers_of(ue).into_iter().filter(|&bearer| model.waits(bearer) > 0).count();
            let least = if model.plan.sharing == Sharing::EqualShare { 1500 * active as u64 } else { 1500 };
            model.groups_for(tti, model.known[ue], 0, model.wanted(ue).min(least))
        };
        let (mut shares, mut left) = (Vec::new(), groups);
        self.held_over = false;
        match self.plan.law {
            Law::RoundRobin => {
                for ue in order {
                    if left == 0 {
                        break;
                    }
                    let least = least(self, ue);
                    if least <= left {
                        shares.push((ue, least));
                        left -= least;
                        if !self.held_over {
                            self.next = ue + 1;
                        }
                    } else if !self.held_over {
                        (self.next, self.held_over) = (ue, true);
                    }
                }
                while left > 0 {
                    let poor = (0..shares.len()).filter(|&n| shares[n].1 < need(self, shares[n].0));
                    let Some(poorest) = poor.min_by_key(|&n| (shares[n].1, n)) else { break };
                    shares[poorest].1 += 1;
                    left -= 1;
                    if !self.held_over {
                        self.next = shares[poorest].0 + 1;
                    }
                }
            }
            _ => {
                let now = self.plan.phase + tti * self.plan.tti();
                let late = |model: &Model, ue: usize| {
                    let weighed = |&(waited, (budget, loss)): &(f64, (u64, u8))| {
                        -(10_f64.powi(-i32::from(loss))).log10() / (budget as f64 / 1e3) * waited
                    };
                    model.heads(ue, now).iter().map(weighed).fold(0.0, f64::max)
                };
                let mean = order.iter().map(|&ue| late(self, ue)).sum::<f64>() / order.len().max(1) as f64;
                let metric = |model: &Model, ue: usize| {
                    let rate = model.carries(tti, model.known[ue], &[(0, all)]).1 as f64;
                    let fair = rate / (model.lately[ue] + 1.0);
                    match model.plan.law {
                        Law::ProportionalFair { .. } => fair,
                        Law::Mlwdf => late(model, ue) * fair,
                        Law::ExpPf => ((late(model, ue) - mean) / (1.0 + mean.sqrt())).exp() * fair,
                        Law::Edf => {
                            let left = model
                                .heads(ue, now)
                                .into_iter()
                                .map(|(waited, (budget, _))| budget as f64 / 1e3 - waited);
                            -left.fold(f64::INFINITY, f64::min)
                        }
                        Law::RoundRobin | Law::MaxThroughput => rate,
                    }
                };
                while left > 0 {
                    let mut best: Option<usize> = None;
                    for &ue in &order {
                        if least(self, ue) <= left && best.is_none_or(|b| metric(self, ue) > metric(self, b))
                        {
                            best = Some(ue);
                        }
                    }
                    let Some(ue) = best else { break };
                    order.retain(|&other| other != ue);
                    let groups = need(self, ue).min(left);
                    shares.push((ue, groups));
                    left -= groups;
                    self.next = ue + 1;
                }
            }
        }
        shares
    }

    /// Adds the bytes carried in the TTI to the averages, which then are a TTI older.
    pub(super) fn remember(&mut self, carried: &[(usize, u64)]) {
        let window = match self.plan.law {
            Law::ProportionalFair { window } => Some(window),
            Law::Mlwdf | Law::ExpPf => Some(100 * MS),
            _ => None,
        };
        if let Some(window) = window {
            let decay = (-(self.plan.tti() as f64) / window as f64).exp();
            for (ue, lately) in self.lately.iter_mut().enumerate() {
                let bytes: u64 = carried.iter().filter(|one| one.0 == ue).map(|one| one.1).sum();
                *lately = decay * (*lately + (1.0 - decay) * bytes as f64);
            }
        }
    }
}
