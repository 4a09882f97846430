//! The sending half of a TCP endpoint: state, acknowledgements, timers.
//!
//! RFC 9293 for the protocol, RFC 5681 and RFC 6675 for the recovery states, RFC 8985 for RACK and tail loss probes,
//! RFC 6937 for PRR, RFC 5682 for F-RTO. Where these leave a choice, the order of steps in `on_ack` is that of Linux's
//! `tcp_ack`, because congestion controllers depend on it. `recovery.rs` holds the states of loss recovery,
//! `transmit.rs` what may be sent.

use super::profile::{LossDetection, Profile};
use super::rack::Rack;
use super::rate_sample::{RateSampler, Sample};
use super::rtt::RttEstimator;
use super::scoreboard::{Record, Scoreboard, state};
use super::timer;
use crate::control::{AckSample, AnyController, Connection, Controller, Recovery, Window};
use crate::segment::{Segment, expand, flag};
use alloc::vec::Vec;
use qdelay_core::{Random, Rate, Span, Time};

/// What the retransmission timer is set for. One timer serves all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    Retransmission,
    TailLossProbe,
    Reordering,
}

/// Where outgoing segments go, and the header fields that the receiving half contributes to each.
pub struct Emit<'a> {
    /// Acknowledgement number, window, timestamps and flags of the moment.
    pub template: Segment,
    /// Segments to put on the wire, in order.
    pub out: &'a mut Vec<Segment>,
}

/// What an acknowledgement turned out to carry (the flags of Linux's `tcp_ack`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    pub una_advanced: bool,
    pub data_acked: bool,
    pub data_sacked: bool,
    /// Something never retransmitted and sent before recovery began was delivered.
    pub original_delivered: bool,
    pub retransmission_acked: bool,
    pub duplicate_sack: bool,
    pub congestion_echo: bool,
    pub window_update: bool,
    pub lost_retransmission: bool,
    /// It echoes a timestamp from before the first retransmission of this recovery.
    pub echoes_original: bool,
    pub rearm: bool,
    pub newly_acked: u32,
    first_acked: Option<Time>,
    last_acked: Option<Time>,
    first_sacked: Option<Time>,
    last_sacked: Option<Time>,
}

/// What to send after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    Lost,
    /// New data first (F-RTO's step 2b); what is lost only if there is none.
    NewFirst,
}

/// Counts of a sender's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Segments marked lost, each time.
    pub marked_lost: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions taken back as spurious.
    pub undone: u64,
    /// Reductions for an ECN echo.
    pub echo_reductions: u64,
}

/// The sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(super) profile: Profile,
    pub(super) controller: AnyController,
    pub(super) window: Window,
    pub(super) random: Random,
    pub(super) board: Scoreboard,
    pub(super) rack: Rack,
    pub(super) rtt: RttEstimator,
    pub(super) rate: RateSampler,
    /// First sequence number not acknowledged.
    pub(super) una: u64,
    /// Next sequence number to send.
    pub(super) nxt: u64,
    /// One past the last byte the application wrote.
    pub(super) write_end: u64,
    /// Whether the application has closed; the FIN takes the number `write_end`.
    pub(super) closed: bool,
    /// One past the last sequence number that the receiver has room for.
    pub(super) window_end: u64,
    pub(super) recovery: Recovery,
    /// `nxt` when the current recovery state was entered.
    pub(super) high_seq: u64,
    /// `una` when the current reduction began, while it can still be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions since then that no duplicate SACK has accounted for; `None` before the first.
    pub(super) undo_retransmits: Option<u32>,
    pub(super) prior_ssthresh: u32,
    pub(super) prior_cwnd: u32,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    /// Timestamp of the first retransmission of this recovery.
    pub(super) first_retransmit: Option<Time>,
    pub(super) f_rto: bool,
    /// `nxt` when a tail loss probe was sent that is not yet accounted for.
    pub(super) probe_end: Option<u64>,
    pub(super) probe_was_retransmission: bool,
    /// Consecutive timeouts.
    pub(super) backoffs: u32,
    pub(super) rto: Span,
    pub(super) timer: Option<(TimerKind, Time)>,
    /// When the next paced segment may leave (Linux `tcp_wstamp_ns`).
    pub(super) departure: Time,
    pub(super) pacing_timer: Option<Time>,
    pub(super) pacing_rate: Rate,
    pub(super) window_limited: bool,
    pub(super) max_out: u32,
    pub(super) usage_end: u64,
    pub(super) last_sent: Time,
    pub(super) reduction_pending_signal: bool,
    pub(super) duplicate_cursor: u64,
    prior_blocks: [(u64, u64); 3],
    pub(super) counts: SenderCounts,
}

/// Added to probe and reordering timeouts (Linux `TCP_TIMEOUT_MIN_US`).
pub(super) const MIN_TIMEOUT: Span = Span::from_millis(2);

/// Segments selectively acknowledged above a hole that prove it lost (RFC 6675 DupThresh).
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

impl Sender {
    /// A sender whose first data byte will be `iss` + 1.
    pub fn new(profile: Profile, controller: AnyController, random: Random, iss: u64) -> Sender {
        let window =
            Window { cwnd: profile.initial_window, ssthresh: u32::MAX, cwnd_count: 0, clamp: u32::MAX };
        Sender {
            controller,
            window,
            random,
            board: Scoreboard::default(),
            rack: Rack::default(),
            rtt: RttEstimator::new(&profile),
            rate: RateSampler::default(),
            una: iss + 1,
            nxt: iss + 1,
            write_end: iss + 1,
            closed: false,
            window_end: iss + 1,
            recovery: Recovery::Open,
            high_seq: iss + 1,
            undo_marker: None,
            undo_retransmits: None,
            prior_ssthresh: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            first_retransmit: None,
            f_rto: false,
            probe_end: None,
            probe_was_retransmission: false,
            backoffs: 0,
            rto: profile.initial_rto,
            timer: None,
            departure: Time::ZERO,
            pacing_timer: None,
            pacing_rate: Rate::INFINITE,
            window_limited: false,
            max_out: 0,
            usage_end: iss + 1,
            last_sent: Time::ZERO,
            reduction_pending_signal: false,
            duplicate_cursor: 0,
            prior_blocks: [(0, 0); 3],
            counts: SenderCounts::default(),
            profile,
        }
    }

    /// The handshake is complete; it took `rtt` if it was not retransmitted.
    pub fn established(&mut self, now: Time, rtt: Option<Span>, peer_window: u32) {
        if let Some(rtt) = rtt {
            self.rtt.sample_min(now, rtt);
            self.rtt.sample(rtt, self.una, self.nxt);
            self.rto = self.rtt.timeout();
        }
        self.window_end = self.una + u64::from(peer_window);
        self.rate.delivered_time = now;
        self.rate.first_sent = now;
        // The SYN counts as delivered, as in Linux: no rate sample may look like the first of all.
        self.rate.delivered = 1;
        let connection = self.connection(now);
        self.controller.init(&connection, &mut self.window, &mut self.random);
        self.update_pacing_rate();
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, now: Time, bytes: u64) {
        let idle = now.since(self.last_sent);
        if self.board.is_empty() && idle > self.rto && !self.controller.owns_window() && self.nxt > 1 {
            self.restart_after_idle(now, idle);
        }
        self.write_end = self.write_end.saturating_add(bytes);
    }

    /// The application has written everything; a FIN follows the last byte.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether everything written, and the FIN if closed, is acknowledged.
    pub fn is_done(&self) -> bool {
        self.una == self.write_end + u64::from(self.closed)
    }

    /// Where loss recovery stands.
    pub fn recovery_state(&self) -> Recovery {
        self.recovery
    }
    /// Next sequence number to send.
    pub fn next_sequence(&self) -> u64 {
        self.nxt
    }
    /// What has happened so far.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }
    /// The window now.
    pub fn window(&self) -> Window {
        self.window
    }
    /// The round-trip estimator.
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }
    /// Segments in flight.
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// When [`Sender::on_deadline`] wants to be called.
    pub fn next_deadline(&self) -> Time {
        let timer = self.timer.map_or(Time::NEVER, |(_, at)| at);
        timer.min(self.pacing_timer.unwrap_or(Time::NEVER))
    }

    pub(super) fn connection(&self, now: Time) -> Connection {
        Connection {
            now,
            recovery: self.recovery,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            in_flight: self.board.in_flight(),
            delivered: self.rate.delivered,
            delivered_time: self.rate.delivered_time,
            lost: self.counts.marked_lost,
            una: self.una,
            nxt: self.nxt,
            mss: self.profile.mss,
            app_limited: self.rate.app_limited != 0,
            window_limited: self.is_window_limited(),
            next_departure: self.departure,
            last_sent: self.last_sent,
        }
    }

    /// Linux `tcp_is_cwnd_limited`.
    fn is_window_limited(&self) -> bool {
        self.window_limited || (self.window.in_slow_start() && self.window.cwnd < 2 * self.max_out)
    }

    /// An acknowledgement has arrived.
    pub fn on_ack(&mut self, now: Time, segment: &Segment, emit: &mut Emit<'_>) {
        let ack_number = expand(segment.ack, self.una);
        if ack_number > self.nxt || ack_number < self.una {
            return;
        }
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

        let mut sample = Sample::default();
        if segment.sack_count > 0 {
            self.take_sack(now, segment, ack_number, &mut ack, &mut sample);
        }
        let out_before = self.board.out;
        self.una = ack_number;
        self.take_cumulative(now, &mut ack, &mut sample);
        let rtt = self.sample_round_trip(now, &ack, segment);
        let mut told = AckSample {
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
        self.controller.delivered(&connection, &mut self.window, &told);
        if self.probe_end.is_some() {
            self.account_for_probe(now, ack_number, &ack);
        }
        let mut resend = Resend::Nothing;
        if out_before > 0 && self.is_dubious(&ack) {
            resend = self.recover(now, &mut ack);
        }
        if ack.rearm {
            self.rearm_after_ack(now);
        }
        if out_before == 0 {
            // Nothing was outstanding: a window update or a late duplicate.
            self.transmit(now, emit);
            return;
        }
        told.losses = (self.counts.marked_lost - prior_lost) as u32;
        let progress = told.acked_sacked > 0;
        (told.delivered, told.interval) = self.rate.finish(now, &sample, progress, self.rtt.min());
        self.control(now, &ack, &told);
        self.resend(now, resend, emit);
        self.transmit(now, emit);
    }

    /// Whether loss recovery must look at it (Linux `tcp_ack_is_dubious`).
    fn is_dubious(&self, ack: &Ack) -> bool {
        let duplicate = !(ack.data_acked || ack.window_update);
        let alert = ack.data_sacked || ack.duplicate_sack || ack.congestion_echo;
        duplicate || alert || self.recovery != Recovery::Open
    }

    fn take_sack(&mut self, now: Time, segment: &Segment, ack_number: u64, ack: &mut Ack, sample: &mut Sample) {
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
        let min_rtt = self.rtt.min();
        for &(start, end) in &blocks[first..count] {
            if end > self.nxt || start < self.una.min(ack_number) || start >= end {
                continue;
            }
            // What the previous acknowledgement told already need not be walked again.
            let known = self.prior_blocks.iter().find(|b| b.0 == start && b.1 <= end);
            let from = known.map_or(start, |b| b.1).max(ack_number);
            let mut number = self.board.find(from);
            while number < self.board.next() {
                let record = self.board.get(number);
                if record.end() > end {
                    break;
                }
                self.sack_one(now, number, min_rtt, ack, sample);
                number += 1;
            }
        }
        self.prior_blocks = blocks;
    }

    fn sack_one(&mut self, now: Time, number: u64, min_rtt: Span, ack: &mut Ack, sample: &mut Sample) {
        let highest = self.board.highest_sacked;
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
        ack.duplicate_sack = true;
        if !self.profile.undo {
            return;
        }
        let segments = (block.1 - block.0).div_ceil(u64::from(self.profile.mss)).max(1) as u32;
        if let (Some(marker), Some(left)) = (self.undo_marker, self.undo_retransmits)
            && block.1 > marker
        {
            self.undo_retransmits = Some(left.saturating_sub(segments));
        }
    }

    /// Removes what is cumulatively acknowledged.
    fn take_cumulative(&mut self, now: Time, ack: &mut Ack, sample: &mut Sample) {
        let min_rtt = self.rtt.min();
        while let Some(&record) = self.board.head() {
            if record.end() > self.una {
                if record.seq < self.una {
                    self.board.trim_head(self.una);
                }
                break;
            }
            self.board.pop();
            ack.newly_acked += 1;
            ack.data_acked = true;
            let sacked = record.is(state::SACKED);
            if record.is(state::EVER_RETRANSMITTED) {
                ack.retransmission_acked = true;
            } else if !sacked {
                ack.first_acked.get_or_insert(record.sent);
                ack.last_acked = Some(record.sent);
                self.rack.reordering_seen |= record.seq < self.board.highest_sacked;
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

    /// Returns the round trip told to the controller: of the segment sent last among those delivered.
    fn sample_round_trip(&mut self, now: Time, ack: &Ack, segment: &Segment) -> Option<Span> {
        let age = |sent: Option<Time>| sent.map(|sent| now.since(sent));
        let clean = !ack.retransmission_acked;
        let mut measured = age(ack.first_acked).filter(|_| clean);
        let mut told = age(ack.last_acked).filter(|_| clean);
        if ack.first_sacked.is_some() {
            told = age(ack.last_sacked);
            measured = measured.or(age(ack.first_sacked));
        }
        if measured.is_none() && ack.data_acked {
            let micros = ((now.as_nanos() / 1000) as u32).wrapping_sub(segment.ts_echo);
            measured = Some(Span::from_micros(u64::from(micros)));
            told = measured;
        }
        if let Some(told) = told {
            self.rtt.sample_min(now, told);
        }
        if let Some(rtt) = measured {
            self.rtt.sample(rtt, self.una, self.nxt);
            self.rto = self.rtt.timeout();
        }
        told
    }

    /// Window and pacing rate (Linux `tcp_cong_control`).
    fn control(&mut self, now: Time, ack: &Ack, sample: &AckSample) {
        let connection = self.connection(now);
        if self.controller.owns_window() {
            self.controller.control(&connection, &mut self.window, sample, &mut self.random);
            if self.controller.marks_app_limited() {
                self.mark_app_limited();
            }
        } else if matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
            self.reduce_proportionally(sample.acked_sacked, sample.losses, ack.una_advanced);
        } else if ack.data_acked || (self.rack.reordering_seen && ack.data_sacked) {
            let counted = if self.profile.byte_counting { sample.acked_sacked } else { 1 };
            let sample = AckSample { acked_sacked: counted, ..*sample };
            self.controller.grow(&connection, &mut self.window, &sample);
            self.window.cwnd = self.window.cwnd.min(self.window.clamp).max(1);
        }
        self.update_pacing_rate();
    }

    /// Proportional rate reduction (RFC 6937), with Linux's reduction bound.
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
            let mut send = (i64::from(self.prr_delivered) - i64::from(self.prr_out))
                .max(i64::from(delivered));
            if advanced && losses == 0 {
                send += 1;
            }
            send.min(missing)
        };
        let least = i64::from(self.prr_out == 0);
        self.window.cwnd = in_flight + send.max(least) as u32;
    }

    pub(super) fn update_pacing_rate(&mut self) {
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacing_rate = rate;
            return;
        }
        let srtt = self.rtt.smoothed().as_nanos();
        if srtt == 0 {
            return;
        }
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let segments = u64::from(self.window.cwnd.max(self.board.out));
        let bits = segments * u64::from(self.profile.mss) * 8 * percent / 100;
        self.pacing_rate = Rate::from_bps((u128::from(bits) * 1_000_000_000 / u128::from(srtt)) as u64);
    }

    /// Timers that are due; harmless at any other time.
    pub fn on_deadline(&mut self, now: Time, emit: &mut Emit<'_>) {
        if self.pacing_timer.is_some_and(|at| at <= now) {
            self.pacing_timer = None;
            if self.board.lost > self.board.retransmitted {
                self.retransmit_lost(now, emit);
            }
            self.transmit(now, emit);
        }
        let Some((kind, at)) = self.timer else { return };
        if at > now {
            return;
        }
        self.timer = None;
        match kind {
            TimerKind::Retransmission => self.on_retransmission_timeout(now, emit),
            TimerKind::TailLossProbe => self.send_probe(now, emit),
            TimerKind::Reordering => self.on_reordering_timeout(now, emit),
        }
    }

    pub(super) fn set_timer(&mut self, now: Time, kind: TimerKind, span: Span) {
        self.timer = Some((kind, timer::deadline(now, span, self.profile.tick)));
    }

    /// Restarts the retransmission timer; from the send time of the oldest segment if a probe or reordering timer had
    /// taken its place (Linux `tcp_rearm_rto`).
    pub(super) fn rearm(&mut self, now: Time) {
        let Some(head) = self.board.head() else {
            self.timer = None;
            return;
        };
        let mut span = self.rto;
        if let Some((TimerKind::TailLossProbe | TimerKind::Reordering, _)) = self.timer {
            span = (head.sent + self.rto).since(now).max(Span::from_micros(1));
        }
        self.set_timer(now, TimerKind::Retransmission, span);
    }

    pub(super) fn rearm_after_ack(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// Sets the timer for a tail loss probe (RFC 8985 section 7.2) if one may be sent.
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let allowed = self.profile.tail_loss_probe
            && self.profile.loss_detection == LossDetection::Rack
            && self.board.out > 0
            && matches!(self.recovery, Recovery::Open | Recovery::Cwr);
        let Some(head) = self.board.head().filter(|_| allowed) else { return false };
        let srtt = self.rtt.smoothed();
        let mut span = self.profile.initial_rto;
        if !srtt.is_zero() {
            let extra = if self.board.out == 1 { self.profile.min_rto } else { MIN_TIMEOUT };
            span = srtt * 2 + extra;
        }
        let rest = if advancing { self.rto } else { (head.sent + self.rto).since(now) };
        if !rest.is_zero() {
            span = span.min(rest);
        }
        self.set_timer(now, TimerKind::TailLossProbe, span);
        true
    }
}
