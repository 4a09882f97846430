//! Transmission control: window, pacing, bursts, retransmissions and probes.
//!
//! Follows Linux's `tcp_write_xmit`, `tcp_tso_should_defer` and `tcp_xmit_retransmit_queue`: segments leave in bursts of
//! at least two and up to a millisecond of the pacing rate, never more than half a window at once.

use super::MAX_BURST;
use super::scoreboard::Record;
use super::sender::{Emit, Resend, Sender, TimerKind};
use crate::control::{Controller, Event, Recovery};
use crate::profile::Pacing;
use crate::segment::{Segment, flag};
use qdelay_core::{Rate, Span, Time};

/// Number of segments before a sender starts pacing (Linux `tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;

impl Sender {
    /// Sends one new segment regardless of the congestion window, if there is data and the receiver has room; returns whether it did.
    pub(super) fn send_one_new(&mut self, now: Time, emit: &mut Emit<'_>) -> bool {
        let sent = if self.nxt < self.window_end { self.send_burst(now, 1, true, emit) } else { 0 };
        self.prr_out += sent;
        sent > 0
    }

    /// Whether data or a FIN was never sent.
    pub(super) fn has_new_data(&self) -> bool {
        self.nxt < self.write_end + u64::from(self.closed)
    }

    /// Sends the new data that window, pacing and receiver allow; returns whether a segment was sent.
    #[inline]
    pub fn transmit(&mut self, now: Time, emit: &mut Emit<'_>) -> bool {
        self.write_again();
        if !self.has_new_data() && self.board.in_flight() < self.window.cwnd {
            self.note_app_limit();
            return false;
        }
        self.transmit_new(now, emit)
    }

    /// Whether nothing is in flight or waits, and the application limit is already recorded: [`Sender::transmit`] would have no effect.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        let is_noted = self.rate.app_limited == self.rate.delivered.max(1);
        self.board.is_empty() && is_noted && !self.has_new_data() && self.has_written_all()
    }

    fn transmit_new(&mut self, now: Time, emit: &mut Emit<'_>) -> bool {
        // A probe scheduled at the end sets the timer; otherwise each burst sets it.
        let rearms = !self.may_probe();
        let mut sent = 0;
        let mut limited = false;
        while self.has_new_data() {
            let quota = self.window_quota();
            if quota == 0 || self.nxt >= self.window_end || self.is_pacing_blocked(now) {
                break;
            }
            let largest = self.burst_segments();
            if self.should_defer(now, largest, &mut limited) || self.nagle_holds() {
                break;
            }
            let count = self.send_burst(now, quota.min(largest), rearms, emit);
            if count == 0 {
                break;
            }
            sent += count;
        }
        limited |= self.board.in_flight() >= self.window.cwnd;
        if sent > 0 || limited {
            self.validate_window(limited);
        }
        if sent > 0 {
            if matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
                self.prr_out += sent;
            }
            self.schedule_probe(now, false);
        }
        self.note_app_limit();
        sent > 0
    }

    /// Room of the window, segments; with bursts at most half of the window, so that at least two bursts are in flight.
    fn window_quota(&self) -> u32 {
        let room = self.window.cwnd.saturating_sub(self.board.in_flight());
        if self.profile.bursts { room.min((self.window.cwnd / 2).max(1)) } else { room }
    }

    pub(super) fn is_pacing(&self) -> bool {
        match self.profile.pacing {
            Pacing::Always => true,
            Pacing::Controller => self.controller.pacing_rate().is_some(),
            Pacing::Never => false,
        }
    }

    fn is_pacing_blocked(&mut self, now: Time) -> bool {
        if !self.is_pacing() || self.departure <= now {
            return false;
        }
        self.pacing_timer = Some(self.departure);
        true
    }

    /// Segments per burst (Linux `tcp_tso_autosize`).
    fn burst_segments(&self) -> u32 {
        if !self.profile.bursts {
            return 1;
        }
        // 2^-10 s of the pacing rate, in bytes; more on paths of less than 16 ms (Linux `tcp_tso_rtt_log`).
        let mut bytes = self.pacing_rate.as_bps() >> 13;
        let halvings = (self.rtt.min().as_micros() >> 9).min(32);
        if halvings < 32 {
            bytes += MAX_BURST >> halvings;
        }
        let segments = bytes.min(MAX_BURST) / u64::from(self.profile.mss);
        let burst = (segments as u32).max(self.controller.min_burst());
        debug_assert!(burst >= 1, "a burst without segments");
        burst
    }

    /// Whether to wait for a fuller burst because the next acknowledgement is due soon (Linux `tcp_tso_should_defer`).
    fn should_defer(&self, now: Time, largest: u32, limited: &mut bool) -> bool {
        if largest < 2 || self.recovery >= Recovery::Fast {
            return false;
        }
        if now.since(self.departure) > Span::from_millis(1) {
            return false;
        }
        let mss = u64::from(self.profile.mss);
        let unsent = self.write_end - self.nxt.min(self.write_end);
        let send_window = self.window_end - self.nxt;
        let room = u64::from(self.window.cwnd.saturating_sub(self.board.in_flight())) * mss;
        let limit = send_window.min(room);
        if limit >= u64::from(largest) * mss || limit >= unsent {
            return false;
        }
        let whole = (self.window_end - self.una).min(u64::from(self.window.cwnd) * mss);
        if limit >= whole / 3 {
            return false;
        }
        let Some(head) = self.board.head() else { return false };
        // Waits only if the next acknowledgement is due within a millisecond and within half a round trip.
        let smoothed = self.rtt.smoothed();
        if head.sent + smoothed > now + (smoothed / 2).min(Span::from_millis(1)) {
            return false;
        }
        *limited |= room < send_window;
        true
    }

    /// Whether Nagle's algorithm holds back a partial segment: while data is in flight, unless the segment is the last of a closed stream or the
    /// application has set [`Sender::set_nodelay`].
    fn nagle_holds(&self) -> bool {
        let unsent = self.write_end.saturating_sub(self.nxt);
        let is_partial = unsent < u64::from(self.profile.mss) && unsent > 0;
        is_partial && !self.closed && !self.nodelay && !self.board.is_empty()
    }

    /// Sends up to `segments` new segments; returns their number. `rearms`: sets the retransmission timer if necessary.
    fn send_burst(&mut self, now: Time, segments: u32, rearms: bool, emit: &mut Emit<'_>) -> u32 {
        let mut sent = 0;
        let mut bytes = 0;
        let departure = self.stamp_new(now);
        while sent < segments && self.has_new_data() {
            let left = self.write_end.saturating_sub(self.nxt);
            let len = left.min(u64::from(self.profile.mss));
            if self.nxt + len > self.window_end {
                break;
            }
            if sent > 0 && self.nagle_holds() {
                break;
            }
            let fin = self.closed && len == left;
            let idle = self.send_new(now, departure, len as u32, fin, emit);
            if rearms && (idle || matches!(self.timer, Some((TimerKind::TailLossProbe, _)))) {
                self.rearm(now);
            }
            sent += 1;
            bytes += len;
            // The FIN takes a sequence number, but no room in the window.
            debug_assert!(self.nxt <= self.window_end + 1, "sent beyond the receiver's window");
        }
        debug_assert!(sent <= segments, "{sent} segments for a quota of {segments}");
        if sent > 0 {
            self.board.end_burst();
        }
        // A burst of several segments ends with PSH (Linux `__tcp_transmit_skb`).
        if sent > 1
            && let Some(last) = emit.out.last_mut()
        {
            last.flags |= flag::PSH;
        }
        self.advance_departure(now, bytes);
        sent
    }

    /// Sends a new segment; returns whether nothing was outstanding before.
    fn send_new(&mut self, now: Time, departure: Time, len: u32, fin: bool, emit: &mut Emit<'_>) -> bool {
        let idle = self.board.is_empty();
        if self.board.in_flight() == 0 {
            let connection = self.connection(now);
            self.controller.event(&connection, &mut self.window, Event::TransmitStart);
        }
        let covered = len + u32::from(fin);
        debug_assert!(len <= self.profile.mss, "a segment of {len} bytes");
        debug_assert!(
            self.nxt + u64::from(len) <= self.write_end,
            "data that the application has not written"
        );
        let mut record = Record { seq: self.nxt, len: covered, sent: departure, ..Record::default() };
        self.rate.stamp(&mut record, idle);
        debug_assert!(
            idle || self.board.get(self.board.next() - 1).end() == self.nxt,
            "a gap before {}",
            self.nxt
        );
        self.board.push(record);
        let flags = if fin { flag::FIN } else { 0 };
        self.put(now, self.nxt, len, flags, emit);
        self.nxt += u64::from(covered);
        idle
    }

    /// Sends a segment.
    fn put(&mut self, now: Time, seq: u64, len: u32, flags: u8, emit: &mut Emit<'_>) {
        let mut segment = Segment {
            seq: seq as u32,
            len: len as u16,
            flags,
            ts_value: emit.ts_value,
            ..Segment::default()
        };
        emit.rx.fill_header(&mut segment);
        if self.reduction_pending_signal && len > 0 && flags & flag::RESENT == 0 {
            segment.flags |= flag::CWR;
            self.reduction_pending_signal = false;
        }
        emit.out.push(segment);
        self.counts.segments_sent += 1;
        self.last_sent = now;
    }

    /// Send time of a burst of new segments. The time may equal that of the segments before, because RACK orders equal times by
    /// sequence numbers (RFC 8985 section 6.2, `RACK_sent_after`).
    fn stamp_new(&mut self, now: Time) -> Time {
        self.stamp = self.stamp.max(self.departure).max(now);
        self.stamp
    }

    /// Send time of a retransmission: later than that of every segment sent before. In the simulator several segments may leave at one instant;
    /// a real clock distinguishes their times.
    fn stamp_again(&mut self, now: Time) -> Time {
        let before = self.stamp;
        self.stamp = self.departure.max(now).max(self.stamp + Span::from_nanos(1));
        debug_assert!(self.stamp > before, "a retransmission that is not later than the segments before");
        self.stamp
    }

    /// Sets the earliest time of the next burst: the transmission time of this burst at the pacing rate, less the delay of this burst
    /// (at most by half).
    fn advance_departure(&mut self, now: Time, bytes: u64) {
        let prior = self.departure;
        self.departure = self.departure.max(now);
        let paced = self.is_pacing() && self.counts.segments_sent >= UNPACED_SEGMENTS;
        // A pacing rate rounded down to zero is ignored.
        if paced && self.pacing_rate > Rate::ZERO {
            let span = self.pacing_rate.time_for(bytes);
            let late = self.departure.since(prior);
            self.departure += span.saturating_sub(late.min(span / 2));
        }
        debug_assert!(self.departure >= now && self.departure >= prior, "pacing goes back in time");
    }

    /// Records whether the window was fully used (Linux `tcp_cwnd_validate`; RFC 7661).
    fn validate_window(&mut self, limited: bool) {
        let new_round = self.una >= self.usage_end;
        let fuller = !self.window_limited && self.board.out > self.max_out;
        if new_round || limited || fuller {
            self.window_limited = limited;
            self.max_out = self.board.out;
            self.usage_end = self.nxt;
        }
    }

    /// Restarts the window after an idle time: the window is halved for each retransmission timeout that has passed (RFC 9293 section 3.8.3).
    pub(super) fn restart_after_idle(&mut self, now: Time, idle: Span) {
        let connection = self.connection(now);
        self.controller.event(&connection, &mut self.window, Event::WindowRestart);
        self.window.ssthresh = self.current_ssthresh();
        let restart = self.profile.initial_window.min(self.window.cwnd);
        let mut left = idle;
        while left > self.rto && self.window.cwnd > restart {
            left = left.saturating_sub(self.rto);
            self.window.cwnd >>= 1;
        }
        self.window.cwnd = self.window.cwnd.max(restart);
        debug_assert!(self.window.cwnd >= 1, "no window after an idle time");
    }

    /// Checks for an application limit, unless the application waits for room in the buffer: then the check follows when it writes again (Linux
    /// `tcp_rate_check_app_limited`).
    fn note_app_limit(&mut self) {
        if self.has_written_all() {
            self.check_app_limit();
        }
    }

    pub(super) fn check_app_limit(&mut self) {
        let starved = !self.has_new_data()
            && self.board.in_flight() < self.window.cwnd
            && self.board.lost <= self.board.retransmitted;
        if starved {
            self.mark_app_limited();
        }
    }

    /// Marks deliveries up to the segments in flight as application-limited: they do not show the capacity of the path.
    pub(super) fn mark_app_limited(&mut self) {
        self.rate.app_limited = (self.rate.delivered + u64::from(self.board.in_flight())).max(1);
    }

    /// Sends the data that loss recovery has chosen.
    pub(super) fn resend(&mut self, now: Time, what: Resend, emit: &mut Emit<'_>) {
        match what {
            Resend::Nothing => {}
            Resend::Lost => self.retransmit_lost(now, emit),
            Resend::NewFirst => {
                self.transmit(now, emit);
                if self.nxt <= self.high_seq {
                    self.f_rto = false;
                    self.retransmit_lost(now, emit);
                }
            }
        }
    }

    /// Retransmits lost segments, lowest first, while the window allows.
    pub(super) fn retransmit_lost(&mut self, now: Time, emit: &mut Emit<'_>) {
        let mut head_resent = false;
        let mut burst = 0;
        loop {
            if self.is_pacing_blocked(now) || self.board.in_flight() >= self.window.cwnd {
                break;
            }
            let Some(number) = self.board.next_to_retransmit() else { break };
            self.retransmit(now, number, emit);
            burst += 1;
            if matches!(self.recovery, Recovery::Cwr | Recovery::Fast) {
                self.prr_out += 1;
            }
            let reordering = matches!(self.timer, Some((TimerKind::Reordering, _)));
            head_resent |= number == self.board.first() && !reordering;
        }
        if head_resent && burst > 0 && !self.profile.counts_duplicates() {
            let rto = self.rto;
            self.set_timer(now, TimerKind::Retransmission, rto);
        }
    }

    /// Retransmits one segment.
    pub(super) fn retransmit(&mut self, now: Time, number: u64, emit: &mut Emit<'_>) {
        self.send_again(now, number, false, emit);
        self.first_retransmit.get_or_insert(now);
        self.undo_retransmits = Some(self.undo_retransmits.unwrap_or(0) + 1);
    }

    fn send_again(&mut self, now: Time, number: u64, probe: bool, emit: &mut Emit<'_>) {
        let departure = self.stamp_again(now);
        let mut record = *self.board.get(number);
        record.sent = departure;
        self.rate.stamp(&mut record, false);
        *self.board.get_mut(number) = record;
        if probe {
            self.board.mark_probed(number, departure);
        } else {
            self.board.mark_retransmitted(number, departure);
        }
        self.rack.retransmitted(number, departure);
        let fin = self.closed && record.end() == self.write_end + 1;
        let len = record.len - u32::from(fin);
        let flags = flag::RESENT | if fin { flag::FIN } else { 0 };
        self.put(now, record.seq, len, flags, emit);
        self.counts.retransmits += 1;
        self.advance_departure(now, u64::from(len));
    }

    /// Sends a tail loss probe: new data, or else the last segment again (RFC 8985 section 7.3).
    pub(super) fn send_probe(&mut self, now: Time, emit: &mut Emit<'_>) {
        if self.board.is_empty() {
            return;
        }
        if self.probe_end.is_none() {
            let mss = u64::from(self.profile.mss);
            let new = self.has_new_data() && self.nxt + mss <= self.window_end;
            let number = self.board.next() - 1;
            if new {
                self.send_burst(now, 1, true, emit);
            } else {
                self.send_again(now, number, true, emit);
            }
            self.probe_was_retransmission = !new;
            self.probe_end = Some(self.nxt);
            self.counts.probes += 1;
        }
        self.timer = None;
        self.rearm(now);
    }
}
