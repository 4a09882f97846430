//! Processing of an acknowledgement: SACK blocks, cumulative acknowledgement, round trips, delivery rate, and the resulting
//! window.
//!
//! The order of steps is that of Linux `tcp_ack`, because congestion controllers depend on it: scoreboard, round trip,
//! `Controller::delivered`, tail loss probe, loss recovery, timer, delivery rate, window, retransmissions, new data.

use super::rate_sample::Sample;
use super::scoreboard::{Record, state};
use super::sender::{Emit, Resend, Sender};
use crate::control::{AckSample, Controller, Recovery};
use crate::profile::RoundTripRule;
use crate::segment::{Segment, expand, flag};
use qdelay_core::{Span, Time};

/// The result of processing an acknowledgement (the flags of Linux's `tcp_ack`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    pub una_advanced: bool,
    pub data_acked: bool,
    pub data_sacked: bool,
    /// Whether a segment was delivered that was never retransmitted and was sent before recovery began.
    pub original_delivered: bool,
    pub retransmission_acked: bool,
    pub duplicate_sack: bool,
    pub congestion_echo: bool,
    pub window_update: bool,
    pub lost_retransmission: bool,
    /// Whether the echoed timestamp is from before the first retransmission of this recovery.
    pub echoes_original: bool,
    pub rearm: bool,
    pub newly_acked: u32,
    /// Whether a retransmission in flight was cumulatively acknowledged.
    pub resent_advanced: bool,
    /// Segments that the window may grow by (set only by recoveries that count duplicates).
    pub counted: u32,
    first_acked: Option<Time>,
    last_acked: Option<Time>,
    first_sacked: Option<Time>,
    last_sacked: Option<Time>,
}

impl Sender {
    /// Processes an acknowledgement.
    #[inline]
    pub fn on_ack(&mut self, now: Time, segment: &Segment, emit: &mut Emit<'_>) {
        let ack_number = expand(segment.ack, self.una);
        if ack_number > self.nxt || ack_number < self.una {
            return;
        }
        if self.board.is_empty()
            && self.una == ack_number
            && self.probe_end.is_none()
            && segment.sack_count == 0
        {
            // With nothing outstanding only the window may change, as with every data segment of a one-way transfer.
            self.window_end = self.window_end.max(ack_number + u64::from(segment.window));
            if !self.is_silent() {
                self.transmit(now, emit);
            }
            return;
        }
        self.process_acknowledgement(now, ack_number, segment, emit);
    }

    /// Processes an acknowledgement while data is outstanding, or one that reports data.
    #[inline(never)]
    fn process_acknowledgement(
        &mut self,
        now: Time,
        ack_number: u64,
        segment: &Segment,
        emit: &mut Emit<'_>,
    ) {
        let prior_in_flight = self.board.in_flight();
        let (prior_delivered, prior_lost) = (self.rate.delivered, self.counts.marked_lost);
        let mut ack = Ack { una_advanced: ack_number > self.una, ..Ack::default() };
        ack.congestion_echo = self.profile.ecn && segment.has(flag::ECE);
        if ack.una_advanced {
            self.backoffs = 0;
        }
        let window_end = ack_number + u64::from(segment.window);
        ack.window_update = ack.una_advanced || window_end > self.window_end;
        ack.echoes_original = self.first_retransmit.is_some_and(|at| {
            let micros = (at.as_nanos() / 1000) as u32;
            (segment.ts_echo.wrapping_sub(micros) as i32) < 0
        });
        self.window_end = self.window_end.max(window_end);

        // A delivery is out of order only below the highest number selectively acknowledged before (Linux `prior_fack`).
        let highest = self.board.highest_sacked;
        let mut sample = Sample::default();
        if segment.sack_count > 0 {
            self.take_sack(now, segment, ack_number, &mut ack, &mut sample);
        }
        let out_before = self.board.out;
        debug_assert!(
            self.una <= ack_number && ack_number <= self.nxt,
            "{ack_number} acknowledges data that was not sent"
        );
        self.una = ack_number;
        self.take_cumulative(now, highest, &mut ack, &mut sample);
        let rtt = self.sample_round_trip(now, &ack, segment);
        let mut report = AckSample {
            acked_sacked: (self.rate.delivered - prior_delivered) as u32,
            acked: ack.newly_acked,
            losses: 0,
            prior_delivered: sample.prior_delivered,
            delivered: 0,
            interval: None,
            prior_in_flight,
            rtt,
            is_app_limited: sample.is_app_limited,
            is_ack_delayed: false,
        };
        let connection = self.connection(now);
        self.controller.delivered(&connection, &mut self.window, &report);
        if self.probe_end.is_some() {
            self.account_for_probe(now, ack_number, &ack);
        }
        self.rack.update_window(report.prior_delivered, self.rate.delivered);
        let mut resend = Resend::Nothing;
        let mut is_plain = false;
        if out_before > 0 {
            if self.profile.counts_duplicates() {
                resend = self.recover_by_duplicates(now, report.acked_sacked, segment, &mut ack, emit);
            } else if self.is_dubious(&ack) {
                resend = self.recover(now, &mut ack);
            } else {
                is_plain = self.may_probe();
            }
        }
        if ack.rearm && !is_plain {
            self.rearm_after_ack(now);
        }
        if out_before == 0 {
            // With nothing outstanding before, the acknowledgement is a window update or a late duplicate.
            self.transmit(now, emit);
            return;
        }
        report.losses = (self.counts.marked_lost - prior_lost) as u32;
        let progress = report.acked_sacked > 0;
        (report.delivered, report.interval) = self.rate.finish(now, &sample, progress, self.rtt.min());
        self.control(now, &ack, &report);
        self.resend(now, resend, emit);
        let sent = self.transmit(now, emit);
        // Without losses a transmission sets the timer, so it is set here only if nothing was sent.
        if ack.rearm && is_plain && !sent {
            self.rearm_after_ack(now);
        }
    }

    /// Whether loss recovery must process the acknowledgement (Linux `tcp_ack_is_dubious`).
    fn is_dubious(&self, ack: &Ack) -> bool {
        let duplicate = !(ack.data_acked || ack.window_update);
        let alert = ack.data_sacked || ack.duplicate_sack || ack.congestion_echo;
        duplicate || alert || self.recovery != Recovery::Open
    }

    fn take_sack(
        &mut self,
        now: Time,
        segment: &Segment,
        ack_number: u64,
        ack: &mut Ack,
        sample: &mut Sample,
    ) {
        let mut blocks = [(0, 0); 3];
        let count = segment.sack_blocks().len();
        for (block, wire) in blocks.iter_mut().zip(segment.sack_blocks()) {
            let start = expand(wire.0, self.una);
            *block = (start, start + u64::from(wire.1.wrapping_sub(wire.0)));
        }
        let inside_second = count > 1 && blocks[0].0 >= blocks[1].0 && blocks[0].1 <= blocks[1].1;
        let mut first = 0;
        if blocks[0].1 <= ack_number || inside_second {
            self.take_duplicate_sack(blocks[0], ack);
            first = 1;
        }
        let (min_rtt, highest) = (self.rtt.min(), self.board.highest_sacked);
        for &(start, end) in &blocks[first..count] {
            if end > self.nxt || start < self.una.min(ack_number) || start >= end {
                continue;
            }
            // Skips blocks that the previous acknowledgement has reported.
            let known = self.prior_blocks.iter().find(|b| b.0 == start && b.1 <= end);
            let from = known.map_or(start, |b| b.1).max(ack_number);
            let mut number = self.board.find(from);
            while number < self.board.next() {
                let record = self.board.get(number);
                if record.end() > end {
                    break;
                }
                self.sack_one(now, number, min_rtt, highest, ack, sample);
                number += 1;
            }
        }
        self.prior_blocks = blocks;
    }

    fn sack_one(
        &mut self,
        now: Time,
        number: u64,
        min_rtt: Span,
        highest: u64,
        ack: &mut Ack,
        sample: &mut Sample,
    ) {
        let Some(record) = self.board.mark_sacked(number) else { return };
        ack.data_sacked = true;
        let retransmitted = record.is(state::EVER_RETRANSMITTED);
        self.rack.delivered(now, record.sent, record.end(), retransmitted, min_rtt);
        if !retransmitted {
            self.rack.reordering_seen |= record.seq < highest;
            ack.original_delivered |= record.end() <= self.high_seq;
            ack.first_sacked.get_or_insert(record.sent);
            ack.last_sacked = Some(record.sent);
        }
        self.count_delivery(&record, sample);
        self.board.get_mut(number).state |= state::DELIVERED;
    }

    fn count_delivery(&mut self, record: &Record, sample: &mut Sample) {
        self.rate.delivered += 1;
        self.rate.deliver(sample, record);
    }

    fn take_duplicate_sack(&mut self, block: (u64, u64), ack: &mut Ack) {
        // More duplicates than retransmissions: the network duplicated packets (Linux `tcp_dsack_seen`).
        let segments = (block.1 - block.0).div_ceil(u64::from(self.profile.mss)).max(1) as u32;
        self.duplicates_seen += u64::from(segments);
        if self.duplicates_seen > self.counts.retransmits {
            return;
        }
        ack.duplicate_sack = true;
        let of_probe = self.probe_end == Some(block.1);
        self.rack.duplicate_seen |= self.rack.reordering_seen && !of_probe;
        // Above the cumulative acknowledgement, the record shows whether it was retransmitted (Linux `tcp_sacktag_one`).
        if block.0 >= self.una && !self.board.get(self.board.find(block.0)).is(state::EVER_RETRANSMITTED) {
            return;
        }
        if !self.profile.undo {
            return;
        }
        if let (Some(marker), Some(left)) = (self.undo_marker, self.undo_retransmits)
            && block.1 > marker
        {
            self.undo_retransmits = Some(left.saturating_sub(segments));
        }
    }

    /// Removes the cumulatively acknowledged segments.
    fn take_cumulative(&mut self, now: Time, highest: u64, ack: &mut Ack, sample: &mut Sample) {
        let min_rtt = self.rtt.min();
        while let Some(&record) = self.board.head() {
            if record.end() > self.una {
                if record.seq < self.una {
                    self.board.trim_head(self.una);
                }
                break;
            }
            self.board.pop();
            ack.resent_advanced |= record.is(state::RETRANSMITTED);
            ack.newly_acked += 1;
            ack.data_acked = true;
            let sacked = record.is(state::SACKED);
            if record.is(state::EVER_RETRANSMITTED) {
                ack.retransmission_acked = true;
            } else if !sacked {
                ack.first_acked.get_or_insert(record.sent);
                ack.last_acked = Some(record.sent);
                self.rack.reordering_seen |= record.seq < highest;
                ack.original_delivered |= record.end() <= self.high_seq;
            }
            if !sacked {
                let retransmitted = record.is(state::EVER_RETRANSMITTED);
                self.rack.delivered(now, record.sent, record.end(), retransmitted, min_rtt);
                self.count_delivery(&record, sample);
            }
        }
        ack.rearm = ack.data_acked;
    }

    /// Samples the round trip. Returns that for the controller, of the latest sent among the delivered segments.
    fn sample_round_trip(&mut self, now: Time, ack: &Ack, segment: &Segment) -> Option<Span> {
        let age = |sent: Option<Time>| sent.map(|sent| now.since(sent));
        let clean = !ack.retransmission_acked;
        if self.profile.round_trip_rule == RoundTripRule::Timestamps {
            return self.sample_timestamp(now, ack, segment);
        }
        let mut measured = age(ack.first_acked).filter(|_| clean);
        let mut report = age(ack.last_acked).filter(|_| clean);
        if ack.first_sacked.is_some() {
            report = age(ack.last_sacked);
            measured = measured.or(age(ack.first_sacked));
        }
        if measured.is_none() && ack.data_acked {
            // If only retransmissions were delivered, the timestamp gives the round trip (Linux `tcp_rtt_tsopt_us`).
            measured = Some(by_timestamp(now, segment).max(Span::from_millis(1)));
            report = measured;
        }
        if let Some(report) = report {
            self.rtt.sample_min(now, report);
        }
        if let Some(rtt) = measured {
            self.rtt.sample(rtt, self.una, self.nxt);
            self.rto = self.rtt.timeout();
        }
        report
    }

    /// Samples the round trip from the echoed timestamp; a zero difference counts as a microsecond. `None` for segments sent before a timeout.
    fn sample_timestamp(&mut self, now: Time, ack: &Ack, segment: &Segment) -> Option<Span> {
        if !ack.data_acked {
            return None;
        }
        if self.una <= self.duplicates.unmeasured_end {
            // An advance ends the backoff even without a sample (ns-3 `NewAck`).
            self.rto = self.rtt.timeout();
            return None;
        }
        let rtt = by_timestamp(now, segment).max(Span::from_micros(1));
        self.rtt.sample_min(now, rtt);
        self.rtt.sample(rtt, self.una, self.nxt);
        self.rto = self.rtt.timeout();
        Some(rtt)
    }

    /// Sets window and pacing rate (Linux `tcp_cong_control`).
    fn control(&mut self, now: Time, ack: &Ack, sample: &AckSample) {
        let connection = self.connection(now);
        if self.controller.owns_window() {
            for sent in self.board.noted_losses.drain(..) {
                self.controller.lost(sent);
            }
            self.controller.control(&connection, &mut self.window, sample, &mut self.random);
            if self.controller.marks_app_limited() {
                self.mark_app_limited();
            }
        } else if self.profile.counts_duplicates() {
            if ack.counted > 0 {
                let sample = AckSample { acked_sacked: ack.counted, ..*sample };
                self.controller.grow(&connection, &mut self.window, &sample);
                self.window.cwnd = self.window.cwnd.min(self.window.clamp).max(1);
            }
        } else if matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
            self.reduce_proportionally(sample.acked_sacked, sample.losses, ack.una_advanced);
        } else if ack.data_acked || (self.rack.reordering_seen && ack.data_sacked) {
            self.controller.grow(&connection, &mut self.window, sample);
            self.window.cwnd = self.window.cwnd.min(self.window.clamp).max(1);
        }
        debug_assert!(self.window.cwnd >= 1 && self.window.cwnd <= self.window.clamp, "{:?}", self.window);
        self.update_pacing_rate();
    }

    /// Sets the window by proportional rate reduction (RFC 6937), with Linux's reduction bound. `advanced`: the acknowledgement advances
    /// [`Sender::una`].
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, losses: u32, advanced: bool) {
        if delivered == 0 || self.prior_cwnd == 0 {
            return;
        }
        let in_flight = self.board.in_flight();
        let target = self.window.ssthresh;
        self.prr_delivered += delivered;
        let send = if in_flight > target {
            let share = u64::from(target) * u64::from(self.prr_delivered);
            share.div_ceil(u64::from(self.prior_cwnd)) as i64 - i64::from(self.prr_out)
        } else {
            let missing = i64::from(target - in_flight);
            let mut send =
                (i64::from(self.prr_delivered) - i64::from(self.prr_out)).max(i64::from(delivered));
            if advanced && losses == 0 {
                send += 1;
            }
            send.min(missing)
        };
        let least = i64::from(self.prr_out == 0);
        self.window.cwnd = in_flight + send.max(least) as u32;
        debug_assert!(self.window.cwnd >= in_flight, "rate reduction takes segments out of flight");
    }
}

/// Time since the echoed timestamp; both times are counted in whole milliseconds, as by hosts.
fn by_timestamp(now: Time, segment: &Segment) -> Span {
    let micros = now.as_nanos() / 1000;
    let sent = micros - u64::from((micros as u32).wrapping_sub(segment.ts_echo)).min(micros);
    Span::from_millis(micros / 1000 - sent / 1000)
}
