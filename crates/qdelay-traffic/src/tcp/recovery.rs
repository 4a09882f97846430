//! The states of loss recovery: fast recovery, retransmission timeout, and the undo of spurious ones.
//!
//! Follows Linux `tcp_fastretrans_alert`, `tcp_enter_loss` and `tcp_process_loss`, which implement RFC 5681 section 3.2,
//! RFC 6675 section 5, RFC 5682 (F-RTO), RFC 4015 (Eifel response) and RFC 3708 (duplicate SACKs).

use super::ack::Ack;
use super::scoreboard::state;
use super::sender::{DUPLICATE_THRESHOLD, Emit, MIN_TIMEOUT, Resend, Sender, TimerKind};
use crate::control::{Controller, Event, Recovery};
use crate::profile::LossDetection;
use qdelay_core::{Span, Time};

impl Sender {
    /// Runs the state machine for an acknowledgement that is a duplicate, has new SACK blocks, or arrives during recovery.
    pub(super) fn recover(&mut self, now: Time, ack: &mut Ack) -> Resend {
        if ack.congestion_echo {
            self.prior_ssthresh = 0;
        }
        if self.recovery == Recovery::Open {
            self.first_retransmit = None;
        } else if self.una >= self.high_seq {
            match self.recovery {
                // The state ends once a number above `high_seq` is acknowledged, so that CWR has reached the receiver.
                Recovery::Cwr if self.una != self.high_seq => {
                    self.end_reduction(now);
                    self.enter(now, Recovery::Open);
                }
                Recovery::Fast => {
                    self.leave_if_spurious(now, ack);
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
        match self.recovery {
            Recovery::Fast => self.continue_fast(now, ack),
            Recovery::Loss => self.continue_loss(now, ack),
            _ => self.continue_open(now, ack),
        }
    }

    fn continue_fast(&mut self, now: Time, ack: &mut Ack) -> Resend {
        if ack.una_advanced && self.profile.undo && self.undo_marker.is_some() && ack.echoes_original {
            self.rack.reordering_seen = true;
            if self.board.retransmitted > 0 {
                return Resend::Nothing;
            }
            self.undo(now, true);
            self.try_to_open(now, ack);
        }
        if self.duplicates_account_for_all() {
            self.undo(now, false);
            self.try_to_open(now, ack);
        }
        self.identify_losses(now, ack);
        if self.recovery != Recovery::Fast {
            if self.board.lost == 0 {
                return Resend::Nothing;
            }
            self.enter_fast(now, ack.congestion_echo);
        }
        Resend::Lost
    }

    fn continue_open(&mut self, now: Time, ack: &mut Ack) -> Resend {
        if self.recovery <= Recovery::Disorder && self.duplicates_account_for_all() {
            self.undo(now, false);
        }
        self.identify_losses(now, ack);
        if self.board.lost == 0 {
            self.try_to_open(now, ack);
            return Resend::Nothing;
        }
        self.enter_fast(now, ack.congestion_echo);
        Resend::Lost
    }

    fn continue_loss(&mut self, now: Time, ack: &mut Ack) -> Resend {
        let resend = self.process_loss(now, ack);
        self.identify_losses(now, ack);
        if self.recovery == Recovery::Open || ack.lost_retransmission {
            return match self.continue_open_after_loss(now, ack) {
                Resend::Nothing => resend,
                other => other,
            };
        }
        resend
    }

    /// Continues after the state Loss has ended, or after the loss of a retransmission in it.
    fn continue_open_after_loss(&mut self, now: Time, ack: &Ack) -> Resend {
        if self.board.lost == 0 {
            self.try_to_open(now, ack);
            return Resend::Nothing;
        }
        self.enter_fast(now, ack.congestion_echo);
        Resend::Lost
    }

    /// Processes an acknowledgement after a timeout (RFC 5682 section 3.1, the variant with SACK).
    fn process_loss(&mut self, now: Time, ack: &Ack) -> Resend {
        let recovered = self.una >= self.high_seq;
        if ack.una_advanced && self.undo_loss(now, false, ack) {
            return Resend::Nothing;
        }
        if self.f_rto {
            if ack.original_delivered && self.undo_loss(now, true, ack) {
                return Resend::Nothing;
            }
            if self.nxt > self.high_seq {
                if ack.data_sacked || !ack.una_advanced {
                    self.f_rto = false;
                }
            } else if ack.una_advanced && !recovered {
                self.high_seq = self.nxt;
                if self.has_new_data() && self.window_end > self.nxt {
                    return Resend::NewFirst;
                }
                self.f_rto = false;
            }
        }
        if recovered {
            self.leave_if_spurious(now, ack);
            return Resend::Nothing;
        }
        Resend::Lost
    }

    fn undo_loss(&mut self, now: Time, by_f_rto: bool, ack: &Ack) -> bool {
        if !self.profile.undo || !(by_f_rto || self.may_undo(ack)) {
            return false;
        }
        self.undo(now, true);
        self.backoffs = 0;
        self.enter(now, Recovery::Open);
        true
    }

    /// Marks the segments that are lost at `now`.
    pub(super) fn identify_losses(&mut self, now: Time, ack: &mut Ack) {
        if self.board.is_empty() {
            return;
        }
        match self.profile.loss_detection {
            LossDetection::Rack => {
                let prior = self.board.retransmitted;
                if self.rack.has_new_delivery() && self.detect_by_time(now) {
                    ack.rearm = false;
                }
                ack.lost_retransmission |= self.board.retransmitted < prior;
            }
            LossDetection::DuplicateAcks => self.detect_by_duplicates(),
        }
    }

    /// Runs RACK's detection; returns whether it set the reordering timer.
    fn detect_by_time(&mut self, now: Time) -> bool {
        let Some(wait) = self.mark_lost_by_time(now) else { return false };
        self.set_timer(now, TimerKind::Reordering, wait + MIN_TIMEOUT);
        true
    }

    /// Marks the segments that are lost at `now`; returns the time after which those in the reordering window are lost.
    fn mark_lost_by_time(&mut self, now: Time) -> Option<Span> {
        let window = self.reordering_window();
        let found = self.rack.detect(&mut self.board, now, window);
        self.counts.marked_lost += u64::from(found.lost);
        found.wait
    }

    /// Reordering window (RFC 8985 section 6.2 step 4): zero in recovery and after three duplicates, unless reordering was seen.
    fn reordering_window(&self) -> Span {
        let eager = self.recovery >= Recovery::Fast || self.board.sacked >= DUPLICATE_THRESHOLD;
        if eager && !self.rack.reordering_seen {
            return Span::ZERO;
        }
        (self.rtt.min() / 4 * u64::from(self.rack.steps())).min(self.rtt.smoothed())
    }

    /// Marks the segments with at least three selectively acknowledged ones above (RFC 6675 `IsLost`).
    fn detect_by_duplicates(&mut self) {
        if self.board.sacked < DUPLICATE_THRESHOLD {
            return;
        }
        let mut boundary = self.board.next();
        let mut above = 0;
        while above < DUPLICATE_THRESHOLD && boundary > self.board.first() {
            boundary -= 1;
            above += u32::from(self.board.get(boundary).is(state::SACKED));
        }
        for number in self.duplicate_cursor.max(self.board.first())..boundary {
            if !self.board.get(number).is(state::EVER_RETRANSMITTED) {
                self.counts.marked_lost += u64::from(self.board.mark_lost(number));
            }
        }
        self.duplicate_cursor = self.duplicate_cursor.max(boundary);
    }

    pub(super) fn enter(&mut self, now: Time, to: Recovery) {
        if self.recovery != to {
            let connection = self.connection(now);
            self.controller.set_recovery(&connection, &mut self.window, to);
            if matches!(self.recovery, Recovery::Fast | Recovery::Loss) {
                self.rack.recovered();
            }
            self.recovery = to;
        }
    }

    fn enter_fast(&mut self, now: Time, by_echo: bool) {
        self.counts.recoveries += 1;
        self.prior_ssthresh = 0;
        self.start_undo();
        if !matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
            if !by_echo {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.start_reduction(now);
        }
        self.enter(now, Recovery::Fast);
    }

    fn start_undo(&mut self) {
        self.undo_marker = Some(self.una);
        let probe = u32::from(self.probe_end.is_some() && self.probe_was_retransmission);
        let outstanding = self.board.retransmitted + probe;
        self.undo_retransmits = (outstanding > 0).then_some(outstanding);
    }

    /// Slow start threshold that the current window supports: in congestion avoidance at least three quarters of the window.
    pub(super) fn current_ssthresh(&self) -> u32 {
        if matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
            return self.window.ssthresh;
        }
        self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4)
    }

    pub(super) fn start_reduction(&mut self, now: Time) {
        self.high_seq = self.nxt;
        self.probe_end = None;
        self.window.cwnd_count = 0;
        self.prior_cwnd = self.window.cwnd;
        self.prr_delivered = 0;
        self.prr_out = 0;
        let connection = self.connection(now);
        self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
        self.reduction_pending_signal = self.profile.ecn;
    }

    fn end_reduction(&mut self, now: Time) {
        if self.controller.owns_window() {
            return;
        }
        if self.window.ssthresh < u32::MAX && (self.recovery == Recovery::Cwr || self.undo_marker.is_some()) {
            self.window.cwnd = self.window.ssthresh;
        }
        let connection = self.connection(now);
        self.controller.event(&connection, &mut self.window, Event::ReductionComplete);
    }

    pub(super) fn enter_cwr(&mut self, now: Time) {
        self.prior_ssthresh = 0;
        if self.recovery < Recovery::Cwr {
            self.undo_marker = None;
            self.start_reduction(now);
            self.enter(now, Recovery::Cwr);
        }
    }

    fn try_to_open(&mut self, now: Time, ack: &Ack) {
        if self.board.retransmitted == 0 {
            self.first_retransmit = None;
        }
        if ack.congestion_echo && self.recovery < Recovery::Cwr {
            self.counts.echo_reductions += 1;
            self.enter_cwr(now);
        }
        if self.recovery != Recovery::Cwr {
            self.keep_open(now);
        }
    }

    fn keep_open(&mut self, now: Time) {
        let dubious = self.board.sacked + self.board.lost + self.board.retransmitted > 0;
        let to = if dubious { Recovery::Disorder } else { Recovery::Open };
        if self.recovery != to {
            self.enter(now, to);
            self.high_seq = self.nxt;
        }
    }

    /// Whether the reduction was spurious: every retransmission was reported as a duplicate (RFC 3708), or an original that
    /// was retransmitted has arrived (RFC 4015's test by timestamps).
    fn may_undo(&self, ack: &Ack) -> bool {
        self.profile.undo
            && self.undo_marker.is_some()
            && (self.undo_retransmits == Some(0) || ack.echoes_original)
    }

    fn duplicates_account_for_all(&self) -> bool {
        self.profile.undo && self.undo_marker.is_some() && self.undo_retransmits == Some(0)
    }

    /// Undoes a spurious reduction once all data sent before recovery is acknowledged (Linux `tcp_try_undo_recovery`).
    fn leave_if_spurious(&mut self, now: Time, ack: &Ack) {
        if self.may_undo(ack) {
            self.undo(now, false);
        }
        self.enter(now, Recovery::Open);
    }

    fn undo(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_all_lost();
            self.duplicate_cursor = 0;
        }
        if self.prior_ssthresh > 0 {
            let connection = self.connection(now);
            self.window.cwnd = self.controller.undo(&connection, &self.window, self.prior_cwnd);
            self.window.ssthresh = self.window.ssthresh.max(self.prior_ssthresh);
        }
        self.undo_marker = None;
        self.rack.restart();
        self.counts.undone += 1;
    }

    /// Processes a retransmission timeout (RFC 6298 section 5.4 to 5.6).
    pub(super) fn on_retransmission_timeout(&mut self, now: Time, emit: &mut Emit<'_>) {
        if self.board.is_empty() {
            return;
        }
        self.counts.timeouts += 1;
        self.enter_loss(now);
        self.backoffs += 1;
        let head = self.board.first();
        self.retransmit(now, head, emit);
        self.rto = (self.rto * 2).min(self.profile.max_rto);
        let rto = self.rto;
        self.set_timer(now, TimerKind::Retransmission, rto);
    }

    fn enter_loss(&mut self, now: Time) {
        let ns3 = self.profile.recovers_like_ns3();
        let without_sack = !self.profile.sack;
        let in_flight = self.board.in_flight();
        self.mark_lost_by_timeout(now);
        self.board.end_lingering();
        let mut fresh = ns3
            || self.recovery <= Recovery::Disorder
            || self.high_seq <= self.una
            || (self.recovery == Recovery::Loss && self.backoffs == 0);
        if without_sack {
            fresh = self.reduce_at_timeout(now, in_flight);
        } else if fresh {
            self.prior_ssthresh = self.current_ssthresh();
            self.prior_cwnd = self.window.cwnd;
            let mut connection = self.connection(now);
            if ns3 {
                connection.in_flight = in_flight;
            }
            self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
            self.controller.event(&connection, &mut self.window, Event::Timeout);
            self.start_undo();
        }
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.cwnd_count = 0;
        self.enter(now, Recovery::Loss);
        self.high_seq = self.nxt;
        self.duplicates.on_timeout(self.nxt);
        self.probe_end = None;
        self.reduction_pending_signal = self.profile.ecn;
        self.f_rto = self.profile.undo && (fresh || self.backoffs > 0);
    }

    /// Marks all segments lost that are not selectively acknowledged; with RACK only the head and those sent long enough ago.
    fn mark_lost_by_timeout(&mut self, now: Time) {
        let by_time = self.profile.loss_detection == LossDetection::Rack;
        let first = self.board.first();
        for number in first..self.board.next() {
            let record = self.board.get(number);
            if record.is(state::SACKED) {
                continue;
            }
            let recent = by_time && !self.rack.remaining(now, record.sent, Span::ZERO).is_zero();
            if number == first || !recent {
                self.counts.marked_lost += u64::from(self.board.mark_lost(number));
            }
        }
        self.duplicate_cursor = self.duplicate_cursor.max(self.board.next());
    }

    /// Processes an expiry of the reordering timer (RFC 8985 section 6.3).
    pub(super) fn on_reordering_timeout(&mut self, now: Time, emit: &mut Emit<'_>) {
        let prior_in_flight = self.board.in_flight();
        let prior_lost = self.counts.marked_lost;
        self.mark_lost_by_time(now);
        if self.board.in_flight() != prior_in_flight {
            if self.recovery != Recovery::Fast {
                self.enter_fast(now, false);
                if !self.controller.owns_window() {
                    let losses = (self.counts.marked_lost - prior_lost) as u32;
                    self.reduce_proportionally(1, losses, false);
                }
            }
            self.retransmit_lost(now, emit);
        }
        if !matches!(self.timer, Some((TimerKind::Retransmission, _))) {
            self.rearm(now);
        }
    }

    /// Processes an acknowledgement for an outstanding tail loss probe (RFC 8985 section 7.4).
    pub(super) fn account_for_probe(&mut self, now: Time, ack_number: u64, ack: &Ack) {
        let Some(end) = self.probe_end.filter(|&end| ack_number >= end) else { return };
        if !self.probe_was_retransmission || ack.duplicate_sack {
            self.probe_end = None;
        } else if ack_number > end {
            // The probe repaired a loss: one reduction is due.
            self.start_reduction(now);
            self.enter(now, Recovery::Cwr);
            self.end_reduction(now);
            self.keep_open(now);
            self.probe_end = None;
        } else if !(ack.una_advanced || ack.data_sacked || ack.data_acked || ack.window_update) {
            self.probe_end = None;
        }
    }
}
