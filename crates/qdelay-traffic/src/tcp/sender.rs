//! The sending half of a TCP endpoint: its state and its timers.
//!
//! RFC 9293 for the protocol, RFC 5681 and RFC 6675 for the recovery states, RFC 8985 for RACK and tail loss probes,
//! RFC 6937 for PRR, RFC 5682 for F-RTO. `ack.rs` processes acknowledgements, `recovery.rs` has the states of loss recovery,
//! `recovery_ns3.rs` those of ns-3, `recovery_newreno.rs` those without SACK, and `transmit.rs` sends segments.

use super::duplicates::Duplicates;
use super::rack::Rack;
use super::rate_sample::RateSampler;
use super::receiver::Receiver;
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::send_buffer::{Held, SendBuffer};
use super::timer;
use crate::control::{AnyController, Connection, Controller, Recovery, Window};
use crate::ends::ConnectionState;
use crate::profile::{LossDetection, Profile};
use crate::segment::Segment;
use alloc::vec::Vec;
use qdelay_core::{Random, Rate, Span, Time};

/// Purpose of the retransmission timer; one timer serves all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    Retransmission,
    TailLossProbe,
    Reordering,
}

/// The destination of outgoing segments, and the header fields that the receiving half contributes to each.
pub struct Emit<'a> {
    /// The receiving half, with the current acknowledgement number, window, timestamp to echo and flags.
    pub rx: &'a Receiver,
    /// Current timestamp.
    pub ts_value: u32,
    /// Segments to put on the wire, in order.
    pub out: &'a mut Vec<Segment>,
}

/// The data to send after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    Lost,
    /// New data first (F-RTO's step 2b); lost segments only if there is none.
    NewFirst,
}

/// Statistics of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Segments marked lost, counted each time.
    pub marked_lost: u64,
    /// Times the retransmission timer fired.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub probes: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions undone as spurious.
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
    /// The application's socket buffer.
    pub(super) buffer: SendBuffer,
    /// Whether the application has written everything and closed; the FIN takes the number `write_end`.
    pub(super) closed: bool,
    /// Whether partial segments leave at once.
    pub(super) nodelay: bool,
    /// One past the last sequence number that the receiver has room for.
    pub(super) window_end: u64,
    pub(super) recovery: Recovery,
    /// Value of `nxt` at the start of the current recovery state.
    pub(super) high_seq: u64,
    /// Value of `una` at the start of the current reduction, while the reduction can be undone.
    pub(super) undo_marker: Option<u64>,
    /// Retransmissions in the current reduction that no duplicate SACK has accounted for; `None` before the first.
    pub(super) undo_retransmits: Option<u32>,
    pub(super) prior_ssthresh: u32,
    pub(super) prior_cwnd: u32,
    pub(super) prr_delivered: u32,
    pub(super) prr_out: u32,
    /// Timestamp of the first retransmission of this recovery.
    pub(super) first_retransmit: Option<Time>,
    pub(super) f_rto: bool,
    /// Value of `nxt` at the transmission of an outstanding tail loss probe.
    pub(super) probe_end: Option<u64>,
    pub(super) probe_was_retransmission: bool,
    /// Consecutive timeouts.
    pub(super) backoffs: u32,
    pub(super) rto: Span,
    pub(super) timer: Option<(TimerKind, Time)>,
    /// Time at which the next paced segment may leave (Linux `tcp_wstamp_ns`).
    pub(super) departure: Time,
    /// Latest send time of any segment.
    pub(super) stamp: Time,
    pub(super) pacing_timer: Option<Time>,
    pub(super) pacing_rate: Rate,
    pub(super) window_limited: bool,
    pub(super) max_out: u32,
    pub(super) usage_end: u64,
    pub(super) last_sent: Time,
    pub(super) reduction_pending_signal: bool,
    pub(super) duplicate_cursor: u64,
    pub(super) prior_blocks: [(u64, u64); 3],
    pub(super) duplicates_seen: u64,
    /// State of the recoveries that count duplicates; unused by that of Linux.
    pub(super) duplicates: Duplicates,
    pub(super) counts: SenderCounts,
}

/// Time added to probe and reordering timeouts (Linux `TCP_TIMEOUT_MIN_US`).
pub(super) const MIN_TIMEOUT: Span = Span::from_millis(2);

/// Number of selectively acknowledged segments above a hole that make it lost (RFC 6675 DupThresh).
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

impl Sender {
    /// A sender whose first data byte will be `iss` + 1.
    pub fn new(profile: Profile, controller: AnyController, random: Random, iss: u64) -> Sender {
        debug_assert!(profile.initial_window >= 1 && profile.mss >= 1, "{profile:?}");
        let window =
            Window { cwnd: profile.initial_window, ssthresh: u32::MAX, cwnd_count: 0, clamp: u32::MAX };
        Sender {
            controller,
            window,
            random,
            board: Scoreboard::new(profile.recovers_like_ns3()),
            rack: Rack::default(),
            rtt: RttEstimator::new(&profile),
            rate: RateSampler::default(),
            una: iss + 1,
            nxt: iss + 1,
            write_end: iss + 1,
            buffer: SendBuffer::new(iss + 1),
            closed: false,
            nodelay: false,
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
            stamp: Time::ZERO,
            pacing_timer: None,
            pacing_rate: Rate::INFINITE,
            window_limited: false,
            max_out: 0,
            usage_end: iss + 1,
            last_sent: Time::ZERO,
            reduction_pending_signal: false,
            duplicate_cursor: 0,
            prior_blocks: [(0, 0); 3],
            duplicates_seen: 0,
            duplicates: Duplicates::default(),
            counts: SenderCounts::default(),
            profile,
        }
    }

    /// Completes the handshake. `rtt`: its round trip, `None` if a SYN was retransmitted; `peer_window`: the peer's window, bytes.
    pub fn established(&mut self, now: Time, rtt: Option<Span>, peer_window: u32) {
        if let Some(rtt) = rtt {
            self.rtt.sample_min(now, rtt);
            self.rtt.sample(rtt, self.una, self.nxt);
            self.rto = self.rtt.timeout();
        }
        self.window_end = self.una + u64::from(peer_window);
        debug_assert!(self.una == self.nxt && self.una <= self.write_end, "data before the handshake");
        self.rate.delivered_time = now;
        self.rate.first_sent = now;
        // The SYN counts as delivered, as in Linux: 0 delivered marks a sampler without any delivery.
        self.rate.delivered = 1;
        self.choose_control(now);
    }

    /// Initializes the congestion control.
    pub(super) fn choose_control(&mut self, now: Time) {
        let connection = self.connection(now);
        self.controller.init(&connection, &mut self.window, &mut self.random);
        self.board.notes_losses = self.controller.owns_window();
        self.update_pacing_rate();
    }

    /// The application writes `bytes` more bytes; after an idle time the window restarts.
    pub fn write(&mut self, now: Time, bytes: u64) {
        let idle = now.since(self.last_sent);
        if self.board.is_empty() && idle > self.rto && !self.controller.owns_window() && self.nxt > 1 {
            self.restart_after_idle(now, idle);
        }
        self.offer(bytes);
    }

    /// The application has `bytes` more bytes to write, and writes as many as the buffer has room for.
    pub(super) fn offer(&mut self, bytes: u64) {
        self.buffer.offer(bytes);
        self.fill_buffer();
    }

    /// A FIN follows the last byte.
    pub fn close(&mut self) {
        self.buffer.close();
        self.closed = self.has_written_all();
    }

    /// Whether the application has written everything into the buffer.
    pub(super) fn has_written_all(&self) -> bool {
        self.write_end == self.buffer.end()
    }

    /// Lets the application write again if the buffer has room.
    #[inline]
    pub(super) fn write_again(&mut self) {
        if self.buffer.is_due(self.una) {
            self.check_app_limit();
            self.fill_buffer();
        }
    }

    fn fill_buffer(&mut self) {
        self.write_end = self.buffer.fill(&Held {
            una: self.una,
            nxt: self.nxt,
            write_end: self.write_end,
            bursts: self.board.bursts(),
            mss: u64::from(self.profile.mss),
            max: self.profile.send_buffer_max,
        });
        self.closed = self.buffer.closes() && self.has_written_all();
    }

    /// Partial segments leave at once, without Nagle's algorithm.
    pub fn set_nodelay(&mut self) {
        self.nodelay = true;
    }

    /// Whether everything written, and the FIN if closed, is acknowledged.
    pub fn is_done(&self) -> bool {
        self.has_written_all() && self.una == self.write_end + u64::from(self.closed)
    }

    /// State of loss recovery.
    pub fn recovery_state(&self) -> Recovery {
        self.recovery
    }
    /// Next sequence number to send.
    pub fn next_sequence(&self) -> u64 {
        self.nxt
    }
    /// Statistics so far.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }
    /// The current window.
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

    /// State of the congestion control, for time series; windows count full segments.
    pub fn connection_state(&self) -> ConnectionState {
        let bytes = |segments: u32| u64::from(segments) * u64::from(self.profile.mss);
        let known = |rtt: Span| Some(rtt).filter(|rtt| !rtt.is_zero());
        let (in_flight, sacked) = self.board.bytes();
        let window = self.window;
        ConnectionState {
            window_bytes: bytes(window.cwnd),
            threshold_bytes: (window.ssthresh != u32::MAX).then(|| bytes(window.ssthresh)),
            in_flight_bytes: Some(in_flight),
            smoothed_rtt: known(self.rtt.smoothed()),
            latest_rtt: known(self.rtt.latest()),
            pacing_rate: Some(self.pacing_rate).filter(|rate| self.is_pacing() && *rate != Rate::INFINITE),
            // SYN and FIN take a sequence number each, before the first byte and after the last.
            acknowledged_bytes: Some((self.una - 1 + sacked).min(self.write_end - 1)),
            retransmits: self.counts.retransmits,
            recovery: Some(self.recovery),
        }
    }

    /// Time at which [`Sender::on_deadline`] is due.
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

    /// Whether the window limited the sender in the last round trip (Linux `tcp_is_cwnd_limited`).
    fn is_window_limited(&self) -> bool {
        self.window_limited || (self.window.in_slow_start() && self.window.cwnd < 2 * self.max_out)
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
        // Windows up to more than a gigabyte fit 64 bits, which avoids the long division.
        let bps = match bits.checked_mul(1_000_000_000) {
            Some(scaled) => scaled / srtt,
            None => (u128::from(bits) * 1_000_000_000 / u128::from(srtt)) as u64,
        };
        self.pacing_rate = Rate::from_bps(bps);
    }

    /// Runs the timers that are due; has no effect at other times.
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
        debug_assert!(!self.board.is_empty(), "{kind:?} timer with nothing outstanding");
        self.timer = Some((kind, timer::deadline(now, span, self.profile.tick)));
    }

    /// Restarts the retransmission timer; if it replaces a probe or reordering timer, from the send time of the oldest segment
    /// (Linux `tcp_rearm_rto`).
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

    /// Whether a tail loss probe may be scheduled while data is outstanding.
    #[inline]
    pub(super) fn may_probe(&self) -> bool {
        self.profile.tail_loss_probe
            && self.profile.loss_detection == LossDetection::Rack
            && matches!(self.recovery, Recovery::Open | Recovery::Cwr)
    }

    /// Sets the timer for a tail loss probe (RFC 8985 section 7.2) if one may be sent.
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let allowed = self.may_probe() && self.board.out > 0;
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
