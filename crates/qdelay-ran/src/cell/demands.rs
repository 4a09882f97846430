//! Demands of the UEs with data in a TTI, collected for as many UEs as the scheduler asks for.

use super::activity::{Activity, ones};
use super::tti::Radios;
use super::{BearerState, Cell, Load, Source, Ue};
use crate::mac::{Candidate, CandidateSource, Frame, Service, Sharing, State, Urgency};
use crate::rlc::Bearer;
use alloc::vec::Vec;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::{Span, Time};

/// Collects candidates, and the loads of their bearers.
pub(super) struct Demands<'a, S> {
    source: &'a S,
    radios: Radios<'a>,
    ues: &'a [Ue],
    bearers: &'a mut [BearerState],
    rlcs: &'a [Bearer],
    activity: &'a mut Activity,
    loads: &'a mut Vec<Load>,
    /// Quality of service of each bearer, for schedulers by delay.
    services: &'a [Service],
    /// Packet delay budgets of the QoS flows of each bearer, by QFI.
    budgets: &'a [Vec<(u16, Span)>],
    urgency: Option<Urgency>,
    sharing: Sharing,
    unit: SizeUnit,
    tti: u64,
    turn: Turn,
}

/// A walk over all UEs from one on, and from the last to the first.
#[derive(Default)]
struct Turn {
    start: usize,
    /// The UE from which the walk continues.
    from: usize,
    has_wrapped: bool,
}

impl Cell {
    /// The demands in TTI number `tti`; with them the scheduler, its candidates and its plan.
    pub(super) fn demands<'a, S: Source>(
        &'a mut self,
        tti: u64,
        now: Time,
        frame: Frame<'a>,
        source: &'a S,
    ) -> (Demands<'a, S>, &'a mut State, &'a mut Vec<Candidate>, &'a mut Vec<u32>) {
        let demands = Demands {
            source,
            radios: Radios { links: &mut self.carrier.links, frame, now },
            ues: &self.ues,
            bearers: &mut self.bearers,
            rlcs: &self.rlcs,
            activity: &mut self.activity,
            loads: &mut self.loads,
            services: &self.services,
            budgets: &self.budgets,
            urgency: self.urgency,
            sharing: self.sharing,
            unit: self.carrier.grid.unit,
            tti,
            turn: Turn::default(),
        };
        (demands, &mut self.carrier.scheduler, &mut self.candidates, &mut self.plan)
    }
}

impl<S: Source> Demands<'_, S> {
    /// The candidate of a UE with data; `None` if it has none. Appends the loads of its bearers.
    fn collect(&mut self, number: usize) -> Option<Candidate> {
        let (ue, link) = (&self.ues[number], &self.radios.links[number]);
        let first = ue.first;
        let is_silent = ue.is_silent(link, self.tti, self.radios.now);
        let first_bearer = self.loads.len();
        let (mut wanted, mut least) = (0_u64, u64::MAX);
        for local in ones(self.activity.bearers(number)) {
            let bearer = first + local;
            let queue = self.source.backlog(bearer);
            let state = &mut self.bearers[bearer];
            let wanted_bytes = state.wanted_bytes(&self.rlcs[bearer], queue);
            if wanted_bytes == 0 {
                self.activity.end(number, local);
                continue;
            }
            self.loads.push(Load::new(bearer, local, self.unit, queue, state.partly));
            wanted = wanted.saturating_add(wanted_bytes);
            least = least.min(u64::from(state.least_bytes));
        }
        let bearers = self.loads.len() - first_bearer;
        if bearers == 0 {
            return None;
        }
        if self.sharing == Sharing::EqualShare {
            least = least.saturating_mul(bearers as u64);
        }
        let urgency = match self.urgency {
            Some(urgency) => self.urgency_of(urgency, first, first_bearer),
            None => 0.0,
        };
        Some(Candidate {
            bearers: bearers as u32,
            first_bearer: first_bearer as u32,
            // A silent UE is treated as in outage.
            is_queried: is_silent,
            urgency,
            ..Candidate::new(number as u32, wanted, least)
        })
    }

    /// Urgency of the loads from `first_load` on, of a UE whose first bearer is `first`.
    #[inline(never)]
    fn urgency_of(&self, urgency: Urgency, first: usize, first_load: usize) -> f64 {
        let of = |load: &Load| {
            let bearer = first + usize::from(load.local);
            if urgency == Urgency::OwnDeadline {
                return self.since_deadline(bearer);
            }
            let head = self.rlcs[bearer].head().or_else(|| self.source.head(bearer));
            // A retransmission has no head packet: its waiting time counts as zero.
            let waited = self.radios.now.since(head.unwrap_or(self.radios.now));
            urgency.evaluate(&self.services[bearer], Span::from_nanos(waited.as_nanos() + 1).as_secs_f64())
        };
        self.loads[first_load..].iter().map(of).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Seconds since the deadline of the packet at the head of `bearer`; below 0 before it.
    fn since_deadline(&self, bearer: usize) -> f64 {
        let service = &self.services[bearer];
        let head = self.rlcs[bearer].head_packet().or_else(|| self.source.next_packet(bearer));
        // A retransmission has no head packet: it counts as one that has just come.
        let Some(packet) = head else { return -service.budget.as_secs_f64() };
        let of_set = self.source.pdu_set(&packet).map_or(Time::NEVER, |set| set.deadline);
        let deadline = if of_set == Time::NEVER {
            let own = self.budgets[bearer].iter().find(|(qfi, _)| *qfi == packet.class);
            packet.arrival + own.map_or(service.budget, |(_, budget)| *budget)
        } else {
            of_set
        };
        let now = self.radios.now;
        // A nanosecond is added, as for waiting times.
        now.since(deadline).as_secs_f64() - deadline.since(now).as_secs_f64() + 1e-9
    }

    /// Appends the candidates that are not among `candidates`.
    pub fn add_others(&mut self, candidates: &mut Vec<Candidate>) {
        let mut known: Vec<u32> = candidates.iter().map(|candidate| candidate.ue).collect();
        known.sort_unstable();
        let mut from = 0;
        while let Some(ue) = self.activity.first_from(from) {
            from = ue + 1;
            if known.binary_search(&(ue as u32)).is_err() {
                candidates.extend(self.collect(ue));
            }
        }
    }
}

impl<S: Source> CandidateSource for Demands<'_, S> {
    #[inline]
    fn query_channel(&mut self, candidate: &mut Candidate) {
        self.radios.query_channel(candidate);
    }
    fn all(&mut self, candidates: &mut Vec<Candidate>) {
        let mut from = 0;
        while let Some(ue) = self.activity.first_from(from) {
            from = ue + 1;
            candidates.extend(self.collect(ue));
        }
    }
    fn begin(&mut self, _: &mut Vec<Candidate>, next: u32) -> usize {
        let start = next as usize;
        self.turn = Turn { start, from: start, has_wrapped: false };
        0
    }
    #[inline(always)]
    fn in_turn(&mut self, candidates: &mut Vec<Candidate>, _: usize, _: usize) -> Option<usize> {
        loop {
            let Turn { start, from, has_wrapped } = self.turn;
            match self.activity.first_from(from) {
                Some(ue) if !has_wrapped || ue < start => {
                    self.turn.from = ue + 1;
                    if let Some(candidate) = self.collect(ue) {
                        candidates.push(candidate);
                        return Some(candidates.len() - 1);
                    }
                }
                _ if has_wrapped => return None,
                _ => (self.turn.from, self.turn.has_wrapped) = (0, true),
            }
        }
    }
}
