//! The reports of a TTI.
//!
//! A bearer with data is reported in every TTI. In most TTIs of a busy cell a bearer gets nothing, and could
//! have got nothing: its report has nothing new but the time. If the host allows it ([`Source::may_wait`]),
//! such reports are delayed until an event of the bearer or a request of the host, and a TTI costs nothing
//! for that bearer.

use super::activity::ones;
use super::tti::{Filled, Radios};
use super::{Cell, Load, Source};
use crate::mac::{Candidate, CandidateSource, Frame, Sharing};
use alloc::vec::Vec;
use core::mem::take;
use qdelay_core::Time;
use qdelay_core::pacer::{Served, Waited};
use qdelay_core::qdisc::Backlog;

impl Cell {
    /// Ends the watched bearers that have no data any more; only watched bearers can have become empty.
    pub(super) fn end_without_data<S: Source>(&mut self, source: &S) {
        let mut from = 0;
        while let Some(ue) = self.activity.first_watched(from) {
            from = ue + 1;
            let first = self.ues[ue].first;
            for local in ones(self.activity.watched(ue)) {
                let bearer = first + local;
                if self.wanted_bytes(bearer, source.backlog(bearer)) == 0 {
                    self.activity.end(ue, local);
                }
            }
        }
    }

    /// Reports TTI number `tti` to every bearer of the first `everyone` UEs that had data, and removes those
    /// that have none left.
    pub(super) fn settle<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        source: &mut S,
        filled: &Filled,
        everyone: usize,
    ) {
        let left_groups = frame.groups() - filled.groups;
        let is_crowded = self.candidates.len() < everyone;
        // UEs that the scheduler did not ask for could have used the groups left: their capacity is reported
        // too.
        if left_groups > 0 && is_crowded {
            let (mut demands, _, candidates, _) = self.demands(tti, now, frame, source);
            demands.add_others(candidates);
        }
        let mut order = take(&mut self.order);
        self.sort(&mut order);
        let mut watched = self.activity.first_watched(0);
        for &number in &order {
            let ue = self.candidates[number as usize].ue as usize;
            while let Some(other) = watched.filter(|&other| other < ue) {
                self.report_watched(tti, other, source);
                watched = self.activity.first_watched(other + 1);
            }
            watched = watched.and_then(|_| self.activity.first_watched(ue + 1));
            if left_groups > 0 || self.candidates[number as usize].groups > 0 {
                self.report_candidate((tti, now), number as usize, frame, source, filled, is_crowded);
            } else {
                self.report_watched(tti, ue, source);
            }
        }
        while let Some(other) = watched {
            self.report_watched(tti, other, source);
            watched = self.activity.first_watched(other + 1);
        }
        self.order = order;
    }

    /// Indices of the candidates, in the order of their UEs. The candidates are in that order except for one
    /// place where the turn wrapped around, or with some appended.
    fn sort(&self, order: &mut Vec<u32>) {
        let is_break = |two: &[Candidate]| two[0].ue > two[1].ue;
        let begin = self.candidates.windows(2).position(is_break).map_or(0, |place| place + 1);
        order.clear();
        order.extend(begin as u32..self.candidates.len() as u32);
        order.extend(0..begin as u32);
        let ue = |number: &u32| self.candidates[*number as usize].ue;
        if !order.is_sorted_by_key(ue) {
            order.sort_unstable_by_key(ue);
        }
    }

    /// Size that the block of a bearer would have had with unlimited data, where that of its UE would have had `whole` bytes, of
    /// which its bearers used `used`.
    #[inline]
    pub(super) fn capacity_bytes(&self, candidate: &Candidate, load: &Load, whole: u64, used: u64) -> u64 {
        match self.sharing {
            Sharing::Priority => (whole + load.used_bytes).saturating_sub(used),
            Sharing::EqualShare => whole / u64::from(candidate.bearers),
        }
    }

    /// Reports the TTI to the bearers of a candidate that used groups, or could have used some.
    fn report_candidate<S: Source>(
        &mut self,
        (tti, now): (u64, Time),
        number: usize,
        frame: Frame<'_>,
        source: &mut S,
        filled: &Filled,
        is_crowded: bool,
    ) {
        let left_groups = frame.groups() - filled.groups;
        let left = frame.prbs(filled.groups, left_groups);
        if !self.candidates[number].is_queried {
            Radios { links: &mut self.carrier.links, frame, now }.query_channel(&mut self.candidates[number]);
        }
        let candidate = self.candidates[number];
        let whole = frame.bytes(candidate.quality, candidate.prbs + left);
        let (ue, first, count) =
            (candidate.ue as usize, candidate.first_bearer as usize, candidate.bearers as usize);
        let used: u64 = self.loads[first..first + count].iter().map(|load| load.used_bytes).sum();
        for place in first..first + count {
            let load = self.loads[place];
            let (bearer, local) = (load.bearer as usize, usize::from(load.local));
            let capacity_bytes = self.capacity_bytes(&candidate, &load, whole, used);
            self.recall_load(tti, &load, source);
            self.tell(tti, place, capacity_bytes, source);
            // The host may have enqueued new packets during the report.
            if candidate.groups > 0 && self.wanted_bytes(bearer, source.backlog(bearer)) == 0 {
                self.activity.end(ue, local);
            } else if is_crowded {
                self.leave(tti, (ue, local), &load, source);
            }
        }
    }

    /// Reports TTI number `tti` to the watched bearers of a UE that got nothing, and could have got nothing.
    fn report_watched<S: Source>(&mut self, tti: u64, ue: usize, source: &mut S) {
        let first = self.ues[ue].first;
        for local in ones(self.activity.watched(ue)) {
            let bearer = first + local;
            let queue = source.backlog(bearer);
            let load = Load::new(bearer, local, self.carrier.grid.unit, queue, self.bearers[bearer].partly);
            let served = Served { tdd: self.duplex.slot(tti), ..self.waited(tti, &load).report() };
            source.served(bearer, served);
            self.leave(tti, (ue, local), &load, source);
        }
    }

    /// Reports TTI number `tti` to a bearer that had data, with this capacity.
    #[inline]
    pub(super) fn tell<S: Source>(&self, tti: u64, load: usize, capacity_bytes: u64, source: &mut S) {
        let load = &self.loads[load];
        let served = Served {
            capacity_bytes,
            sent_bytes: load.sent_bytes,
            remaining_bytes: load.remaining_bytes,
            remaining_packets: load.remaining_packets,
            left_packets: load.left_packets,
            left_sojourn: load.left_sojourn,
            tdd: self.duplex.slot(tti),
        };
        source.served(load.bearer as usize, served);
    }

    /// Delays the reports of the bearer after that of TTI number `tti`, if the host allows it.
    fn leave<S: Source>(&mut self, tti: u64, (ue, local): (usize, usize), load: &Load, source: &S) {
        if source.may_wait(load.bearer as usize, &self.waited(tti + 1, load)) {
            self.activity.leave(ue, local);
            self.told[load.bearer as usize] = tti + 1;
        }
    }

    /// An empty sequence of reports, the first of which will be that of TTI number `first`.
    fn waited(&self, first: u64, load: &Load) -> Waited {
        Waited {
            first: self.clock.time(first),
            tti: self.clock.tti,
            count: 0,
            remaining_bytes: load.remaining_bytes,
            remaining_packets: load.remaining_packets,
        }
    }

    /// Passes the delayed reports of the bearer of `load`, and watches it; called before it sends or is
    /// reported in TTI number `tti`.
    #[inline(always)]
    pub(super) fn recall_load<S: Source>(&mut self, tti: u64, load: &Load, source: &mut S) {
        if self.activity.any_waits() {
            self.recall_one(tti, load, source);
        }
    }

    fn recall_one<S: Source>(&mut self, tti: u64, load: &Load, source: &mut S) {
        let bearer = load.bearer as usize;
        let (ue, local) = self.place(bearer);
        if !self.activity.waits(ue, local) {
            return;
        }
        self.activity.watch(ue, local);
        let first = self.told[bearer];
        if first < tti {
            source.waited(bearer, &Waited { count: tti - first, ..self.waited(first, load) });
        }
    }

    /// The UE of a bearer, and the bearer's index within it.
    #[inline]
    pub(super) fn place(&self, bearer: usize) -> (usize, usize) {
        let ue = self.bearers[bearer].ue as usize;
        (ue, bearer - self.ues[ue].first)
    }

    /// Takes the delayed reports of `bearer` ([`Source::may_wait`]), with `queue` as its backlog since the
    /// first of them, for the host. Later reports are delayed too.
    pub fn take_waited(&mut self, bearer: usize, queue: Backlog) -> Option<Waited> {
        let partly = self.bearers.get(bearer)?.partly;
        if !self.activity.any_waits() {
            return None;
        }
        let (ue, local) = self.place(bearer);
        if !self.activity.waits(ue, local) {
            return None;
        }
        let first = core::mem::replace(&mut self.told[bearer], self.carrier.account.next);
        let count = self.carrier.account.next - first;
        let load = Load::new(bearer, local, self.carrier.grid.unit, queue, partly);
        (count > 0).then(|| Waited { count, ..self.waited(first, &load) })
    }

    /// Returns true if [`Cell::take_waited`] has reports of `bearer`.
    pub fn has_waited(&self, bearer: usize) -> bool {
        if bearer >= self.bearers.len() {
            return false;
        }
        let (ue, local) = self.place(bearer);
        self.activity.waits(ue, local) && self.told[bearer] < self.carrier.account.next
    }

    /// Takes the reports as [`Cell::take_waited`] does; later reports of `bearer` are not delayed until
    /// [`Source::may_wait`] is called again.
    pub fn recall(&mut self, bearer: usize, queue: Backlog) -> Option<Waited> {
        let waited = self.take_waited(bearer, queue);
        if self.activity.any_waits() && bearer < self.bearers.len() {
            let (ue, local) = self.place(bearer);
            if self.activity.has(ue, local) {
                self.activity.watch(ue, local);
            }
        }
        waited
    }
}
