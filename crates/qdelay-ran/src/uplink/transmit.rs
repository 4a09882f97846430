//! The UEs in a TTI: blocks for their grants, and requests.

use super::bsr::REPORT_BYTES;
use super::{Configured, Content, Grant, Requests, Sent, UplinkCell, lcp};
use crate::cell::host::Queue;
use crate::cell::{MAX_BEARERS, Source};
use crate::mac::Frame;
use crate::radio::Quality;
use qdelay_core::{Span, Time};

/// Usage of a TTI.
#[derive(Default)]
pub(super) struct Filled {
    pub groups: u16,
    pub rbs: u64,
    pub repeated_rbs: u64,
    /// Sum of resource blocks times bytes of the whole carrier, as in a cell.
    pub weighted_bytes: u128,
    pub sent_bytes: u64,
}

/// A grant that is used now.
struct Opportunity {
    ue: usize,
    groups: u16,
    bytes: u64,
    quality: Quality,
    is_configured: bool,
}

impl UplinkCell {
    /// Runs TTI number `tti`, which begins at `now`.
    pub(super) fn run_tti<S: Source>(&mut self, tti: u64, now: Time, source: &mut S) {
        self.count_idle(tti);
        self.account.next = tti + 1;
        // The grid is cloned, so that the rest can be borrowed mutably.
        let grid = self.grid.clone();
        let frame = grid.frame(tti);
        let mut filled = Filled::default();
        while let Some(Grant { groups, what, .. }) = self.grants.pop_front_if(|grant| grant.tti <= tti) {
            match what {
                Content::New { ue, bytes, quality } => {
                    let ue = ue as usize;
                    let opportunity = Opportunity { ue, groups, bytes, quality, is_configured: false };
                    self.fill(tti, now, frame, opportunity, source, &mut filled);
                }
                Content::Again(number) => self.repeat(tti, now, frame, number, &mut filled),
            }
        }
        while self.occasions.next() <= now {
            let place = self.occasions.first();
            self.occasions.set(place, Time::NEVER);
            match place.checked_sub(self.ues.len()) {
                None => self.use_configured(tti, now, frame, place, source, &mut filled),
                Some(ue) => self.request(tti, now, ue),
            }
        }
        self.count(frame, now, &filled);
        self.grant(tti, now);
    }

    /// Sends a block again.
    fn repeat(&mut self, tti: u64, now: Time, frame: Frame<'_>, number: u32, filled: &mut Filled) {
        let block = self.blocks.get(number);
        block.repeated += 1;
        block.tti = tti;
        let (ue, groups, chosen) = (block.ue, block.groups, block.chosen);
        let rbs = frame.count(frame.prbs(filled.groups, groups));
        filled.repeated_rbs += rbs;
        filled.groups += groups;
        filled.rbs += rbs;
        filled.weighted_bytes += u128::from(rbs) * u128::from(frame.bytes(chosen, frame.all()));
        self.account.last_ue = ue;
        self.ues[ue as usize].repeated = tti + 1;
        self.send(number, now);
    }

    /// Sends a block, and draws if it is lost.
    fn send(&mut self, number: u32, now: Time) {
        let block = self.blocks.get(number);
        let ue = &mut self.ues[block.ue as usize];
        let loss = self.harq.loss_of(block, &mut ue.radio, now);
        block.is_lost = loss >= 1.0 || (loss > 0.0 && ue.random.unit() < loss);
        self.blocks.send(number, now + self.air);
    }

    /// Uses the configured grant of a UE with data, if there is room for it.
    fn use_configured<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        ue: usize,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let Some(Configured { period, bytes }) = self.configured else { return };
        if self.ues[ue].with_data == 0 {
            return;
        }
        let next = self.occasion(tti + 1, period, Span::ZERO, ue);
        self.occasions.set(self.place_configured(ue), self.clock.time(next));
        let quality = self.ues[ue].radio.known(now);
        let groups = frame.groups_for(quality, 0, u64::from(bytes));
        if groups == 0 || groups > frame.groups() - filled.groups || self.ues[ue].repeated == tti + 1 {
            return;
        }
        let bytes = frame.bytes(quality, frame.prbs(filled.groups, groups));
        let opportunity = Opportunity { ue, groups, bytes, quality, is_configured: true };
        self.fill(tti, now, frame, opportunity, source, filled);
    }

    /// Handles an occasion of a request of `ue`.
    fn request(&mut self, tti: u64, now: Time, ue: usize) {
        if !self.ues[ue].reports {
            return;
        }
        self.ues[ue].waits.request(now);
        let prohibit = self.requests.map_or(Span::ZERO, |Requests { prohibit, .. }| prohibit);
        self.ues[ue].may_request = now + prohibit;
        self.heard.push_back((now + self.air, ue as u32, tti));
        self.await_request(tti + 1, ue);
    }

    /// Fills a block of a UE.
    fn fill<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        Opportunity { ue: number, groups, bytes, quality, is_configured }: Opportunity,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let ue = &mut self.ues[number];
        let (first, count) = (ue.first, ue.turns.len());
        // All three lists are in the order of service.
        let (mut wanted, mut rounds, mut shares) = ([0; MAX_BEARERS], [0; MAX_BEARERS], [0; MAX_BEARERS]);
        for place in 0..count {
            let bearer = first + ue.turns.bearer_at(place);
            wanted[place] = self.rlcs[bearer].wanted_bytes(source.backlog(bearer));
            rounds[place] = self.bearers[bearer].bucket.first_round(now);
        }
        let total: u64 = wanted[..count].iter().sum();
        let is_due = ue.reports || now >= ue.periodic;
        // A grant for all the data but not for the report has no report (TS 36.321 clause 5.4.5).
        let has_report = is_due && (total > bytes || total + REPORT_BYTES <= bytes);
        let room = if has_report { bytes.saturating_sub(REPORT_BYTES) } else { bytes };
        lcp::share(room, &wanted[..count], &rounds[..count], &mut shares[..count]);
        let block = self.blocks.open(number as u32, quality, groups, tti);
        let (mut left, mut used, mut sent, mut more) = (0, 0, 0, 0_u64);
        for place in 0..count {
            let local = self.ues[number].turns.bearer_at(place);
            let bearer = first + local;
            // Bytes that a bearer leaves unused go to the next.
            let grant = (shares[place] + more).min(wanted[place]);
            if grant > 0 {
                let mut queue = Queue { source, bearer, now, left_packets: 0, left_sojourn: Span::ZERO };
                let done = self.rlcs[bearer].transmit(now, grant, &mut queue);
                filled.sent_bytes += done.sdu_bytes;
                self.bearers[bearer].bucket.sent(done.used_bytes);
                used += done.used_bytes;
                if let Some(id) = done.block {
                    self.blocks.get(block).parts.push((bearer as u32, id));
                    sent |= 1 << local;
                }
                more = (shares[place] + more).saturating_sub(done.used_bytes);
                self.bearers[bearer].partly = self.rlcs[bearer].remaining();
                self.set_timer(bearer);
                wanted[place] = self.rlcs[bearer].wanted_bytes(source.backlog(bearer));
            } else {
                more += shares[place];
            }
            left += wanted[place];
            let bit = 1 << local;
            let ue = &mut self.ues[number];
            ue.with_data = if wanted[place] > 0 { ue.with_data | bit } else { ue.with_data & !bit };
        }
        let ue = &mut self.ues[number];
        ue.turns.end(sent);
        if is_configured && sent == 0 {
            // No bearer had data after all.
            self.blocks.close(block);
            return;
        }
        ue.waits.grant(now);
        self.retries.set(number, if left > 0 { now + self.reports.retransmission } else { Time::NEVER });
        let level =
            (has_report || room.saturating_sub(used) >= REPORT_BYTES).then(|| self.levels.level(left));
        if level.is_some() {
            ue.periodic = now + self.reports.periodic;
        }
        if level.is_some() || left == 0 {
            ue.reports = false;
            self.occasions.set(self.place_request(number), Time::NEVER);
        }
        if self.sent.len() <= block as usize {
            self.sent.resize(block as usize + 1, Sent::default());
        }
        self.sent[block as usize] = Sent { tti, level, is_configured };
        let rbs = frame.count(frame.prbs(filled.groups, groups));
        filled.groups += groups;
        filled.rbs += rbs;
        filled.weighted_bytes += u128::from(rbs) * u128::from(frame.bytes(quality, frame.all()));
        self.account.last_ue = number as u32;
        self.send(block, now);
    }

    /// Counts the resource blocks of a TTI.
    fn count(&mut self, frame: Frame<'_>, now: Time, filled: &Filled) {
        let all = frame.count(frame.all());
        let whole_bytes = if filled.rbs > 0 {
            (filled.weighted_bytes / u128::from(filled.rbs)) as u64
        } else {
            let last = &mut self.ues[self.account.last_ue as usize];
            frame.bytes(last.radio.known(now), frame.all())
        };
        let usage = &mut self.account.usage;
        usage.offered_rbs += all;
        usage.used_rbs += filled.rbs;
        usage.repeated_rbs += filled.repeated_rbs;
        usage.wasted_rbs += all - filled.rbs;
        usage.offered_bytes = usage.offered_bytes.saturating_add(whole_bytes);
        usage.sent_bytes += filled.sent_bytes;
    }
}
