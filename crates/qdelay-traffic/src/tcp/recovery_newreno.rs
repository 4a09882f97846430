//! Loss recovery without SACK: NewReno (RFC 6582), or Reno (RFC 5681 section 3.2) with [`Profile::partial_acks`](crate::profile::Profile) off.
//!
//! A duplicate acknowledges nothing new, carries no data and leaves the window as it is, while data is outstanding (RFC 5681 section 2).
//! * The first two duplicates send one new segment each, beyond the window (RFC 3042).
//! * The third sends the oldest segment again, sets the threshold, and the window to the threshold and three segments; each
//!   further one inflates the window by a segment (RFC 5681 section 3.2 steps 2 to 4). Not where the last recovery or timeout began above
//!   the acknowledged data: such duplicates may be of segments that were sent twice (RFC 6582 section 3.2 step 2).
//! * An advance below the data sent before recovery (a *partial* acknowledgement) sends the next segment again, and takes what it
//!   acknowledges but one segment off the window; only the first one restarts the timer (RFC 6582 section 3.2 step 3, the variant called Impatient).
//! * An advance to that data ends recovery, with the smaller of the threshold and one segment more than the data in flight.
//! * Reno's recovery ends at the first advance, with the window at the threshold: each further loss of the window waits for the timer.
//! * A timeout goes back N (RFC 5681 section 3.1): the window is one segment, and everything unacknowledged is sent again in order, in slow start
//!   with a segment per acknowledgement, except for what acknowledgements pass meanwhile. The threshold is set at the first of several timeouts.
//!
//! RACK, tail loss probes and the undo of spurious reductions need SACK or its duplicates, and are off, as in Linux. The receiver sends no SACK
//! blocks, does not grow its window on segments above a gap, and acknowledges them at once (Linux `tcp_data_queue_ofo`, `__tcp_ack_snd_check`).
//!
//! Differences from the reference (RFC 6582): whole segments are counted instead of bytes; the threshold is the controller's. ns-2's `Agent/TCP/Reno`
//! sends no new segments at the first two duplicates by default (`singledup_` off in 2001), and begins recovery with the window at the threshold
//! and no inflation of three but of all duplicates, which is the same number. Controls that set their own window (BBR and others) get no inflation.

use super::ack::Ack;
use super::sender::{DUPLICATE_THRESHOLD, Emit, Resend, Sender};
use crate::control::{Controller, Event, Recovery};
use crate::segment::{Segment, flag};
use qdelay_core::Time;

impl Sender {
    /// Runs the state machine of a recovery that counts duplicates. `delivered`: segments that the acknowledgement delivers.
    pub(super) fn recover_by_duplicates(
        &mut self,
        now: Time,
        delivered: u32,
        segment: &Segment,
        ack: &mut Ack,
        emit: &mut Emit<'_>,
    ) -> Resend {
        if self.profile.sack {
            return self.recover_like_ns3(now, delivered, ack, emit);
        }
        if ack.una_advanced {
            self.end_echo_reduction(now);
            if ack.congestion_echo && self.recovery <= Recovery::Disorder {
                self.begin_echo_reduction(now);
            }
            self.take_advance(now, ack, emit);
        } else if !ack.window_update && segment.len == 0 && !segment.has(flag::FIN | flag::SYN) {
            self.take_duplicate(now, emit);
        }
        Resend::Lost
    }

    fn take_duplicate(&mut self, now: Time, emit: &mut Emit<'_>) {
        match self.recovery {
            Recovery::Loss => return,
            Recovery::Fast => {
                self.inflate(1);
                return;
            }
            Recovery::Open => self.enter(now, Recovery::Disorder),
            Recovery::Disorder | Recovery::Cwr => {}
        }
        self.duplicates.count += 1;
        if self.duplicates.count == DUPLICATE_THRESHOLD && !self.duplicates.guarded {
            self.retransmit_fast(now, emit);
        } else if self.duplicates.count < DUPLICATE_THRESHOLD
            && self.board.in_flight() < self.window.cwnd + self.duplicates.count
        {
            self.duplicates.limited += u32::from(self.send_one_new(now, emit));
        }
    }

    /// Enters fast recovery, and sends the oldest segment again.
    fn retransmit_fast(&mut self, now: Time, emit: &mut Emit<'_>) {
        self.counts.recoveries += 1;
        // The reduction for an echo counts for the losses of the same window (RFC 3168 section 6.1.2).
        if self.recovery != Recovery::Cwr {
            let mut connection = self.connection(now);
            // Without the segments of RFC 3042 (RFC 5681 section 3.2 step 2).
            connection.in_flight -= self.duplicates.limited;
            self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
        }
        self.enter(now, Recovery::Fast);
        self.high_seq = self.nxt;
        self.duplicates.guarded = true;
        self.duplicates.first_advance = true;
        if !self.controller.owns_window() {
            self.window.cwnd = self.window.ssthresh;
            self.window.cwnd_count = 0;
        }
        self.inflate(DUPLICATE_THRESHOLD);
        self.resend_oldest(now, emit);
    }

    fn resend_oldest(&mut self, now: Time, emit: &mut Emit<'_>) {
        let first = self.board.first();
        self.counts.marked_lost += u64::from(self.board.mark_lost(first));
        self.retransmit(now, first, emit);
    }

    fn inflate(&mut self, segments: u32) {
        if !self.controller.owns_window() {
            self.window.cwnd = self.window.cwnd.saturating_add(segments).min(self.window.clamp);
        }
    }

    fn take_advance(&mut self, now: Time, ack: &mut Ack, emit: &mut Emit<'_>) {
        (self.duplicates.count, self.duplicates.limited) = (0, 0);
        let is_whole = self.una >= self.high_seq;
        match self.recovery {
            Recovery::Fast if !is_whole && self.profile.partial_acks => self.take_part(now, ack, emit),
            Recovery::Fast => self.end_fast(now),
            Recovery::Loss => {
                // One segment an acknowledgement, however many it passes (RFC 5681 section 3.1, equation 2).
                ack.counted = ack.newly_acked.min(1);
                if is_whole {
                    self.enter(now, Recovery::Open);
                }
            }
            Recovery::Disorder => {
                ack.counted = ack.newly_acked;
                self.enter(now, Recovery::Open);
            }
            Recovery::Open => ack.counted = ack.newly_acked,
            Recovery::Cwr => {}
        }
        // Until a number above that of the recovery is acknowledged, duplicates may be of segments that were sent twice.
        if self.una > self.high_seq && self.recovery <= Recovery::Disorder {
            self.duplicates.guarded = false;
        }
    }

    /// Processes a partial acknowledgement.
    fn take_part(&mut self, now: Time, ack: &mut Ack, emit: &mut Emit<'_>) {
        ack.rearm &= core::mem::replace(&mut self.duplicates.first_advance, false);
        if !self.controller.owns_window() {
            let deflated = self.window.cwnd.saturating_sub(ack.newly_acked);
            self.window.cwnd = (deflated + u32::from(ack.newly_acked > 0)).max(1);
        }
        self.resend_oldest(now, emit);
    }

    fn end_fast(&mut self, now: Time) {
        let connection = self.connection(now);
        self.controller.event(&connection, &mut self.window, Event::ReductionComplete);
        self.enter(now, Recovery::Open);
        if self.controller.owns_window() {
            return;
        }
        let target = self.window.ssthresh;
        let burstless = self.board.in_flight().max(1) + 1;
        self.window.cwnd = if self.profile.partial_acks { target.min(burstless) } else { target };
    }

    fn begin_echo_reduction(&mut self, now: Time) {
        self.counts.echo_reductions += 1;
        self.high_seq = self.nxt;
        let connection = self.connection(now);
        self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
        if !self.controller.owns_window() {
            self.window.cwnd = self.window.ssthresh;
            self.window.cwnd_count = 0;
        }
        self.reduction_pending_signal = true;
        self.enter(now, Recovery::Cwr);
    }

    /// Ends the reduction for an echo once a number above it is acknowledged, so that CWR has reached the receiver.
    fn end_echo_reduction(&mut self, now: Time) {
        if self.recovery == Recovery::Cwr && self.una > self.high_seq {
            let connection = self.connection(now);
            self.controller.event(&connection, &mut self.window, Event::ReductionComplete);
            self.enter(now, Recovery::Open);
        }
    }

    /// Reduces the window at a timeout; `flight`: segments outstanding. Returns whether the threshold was set: a repeated timeout keeps it.
    pub(super) fn reduce_at_timeout(&mut self, now: Time, flight: u32) -> bool {
        if self.backoffs > 0 {
            return false;
        }
        // Without the inflation of fast recovery.
        if !self.controller.owns_window() {
            self.window.cwnd = self.window.cwnd.min(flight.max(1));
        }
        let mut connection = self.connection(now);
        connection.in_flight = flight;
        self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
        self.controller.event(&connection, &mut self.window, Event::Timeout);
        true
    }
}
