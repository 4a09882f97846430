//! Loss recovery of ns-3 3.44; 3.48 gives the same figures (`TcpSocketBase::ProcessAck`, `DupAck`, `EnterRecovery`, `ReTxTimeout`;
//! `TcpPrrRecovery`): RFC 6675 with a variant of proportional rate reduction.
//!
//! Differences from Linux (`recovery.rs`):
//! * Recovery begins only at an acknowledgement with new SACK blocks (a *duplicate*): at the third, or if
//!   the head is marked lost. Segments found lost at the end of one recovery therefore cause another reduction one acknowledgement
//!   later, and are retransmitted meanwhile.
//! * **Proportional rate reduction counts a duplicate's segment twice** until the count reaches the segments in flight at the start of recovery
//!   (`DoRecovery`: RFC 6937's estimate for connections without SACK, added to the SACK count). With a threshold of 0.7 of
//!   the flight each duplicate sends 1.4 segments, so that CUBIC's flight grows for the first half of a recovery.
//!   An acknowledgement that both advances and has new blocks counts in both ways.
//! * **The product in proportional rate reduction wraps at 2^32** (bytes delivered times threshold in bytes, both 32 bits), so
//!   that a flow with a large window sends nothing for most of the first round trip: with a threshold of 39 segments of
//!   1448 bytes after 52 were counted, with 371 after 5.
//! * An advance within recovery whose next hole was not retransmitted sends one segment at any window. Only the first
//!   advance restarts the retransmission timer; retransmissions do not.
//! * When recovery ends, the window is set to the threshold, and grows at once by all segments of this acknowledgement.
//! * A retransmission that is selectively acknowledged counts as in flight until it is cumulatively acknowledged, so that few segments are sent
//!   in a recovery whose first retransmission is lost (`TcpTxBuffer::Update`; ns-3's issue 1190).
//! * Every timeout reduces the threshold, also in recovery and when repeated; only a timeout detects a lost retransmission.
//! * An ECN echo begins a reduction from every state but that of an earlier echo; losses during that reduction cause no other.
//!
//! Differences from the reference: whole segments are counted instead of bytes (all segments of a flow that always has data are
//! full). A threshold with a half segment is rounded down in comparisons.

use super::ack::Ack;
use super::scoreboard::state;
use super::sender::{DUPLICATE_THRESHOLD, Emit, Resend, Sender};
use crate::control::{Controller, Event, Recovery};
use qdelay_core::Time;

impl Sender {
    /// Runs the state machine for an acknowledgement that delivered `delivered` segments. Sets `ack.counted` to the number
    /// of segments by which the window may grow.
    pub(super) fn recover_like_ns3(
        &mut self,
        now: Time,
        delivered: u32,
        ack: &mut Ack,
        emit: &mut Emit<'_>,
    ) -> Resend {
        if ack.data_sacked {
            self.identify_losses(now, ack);
        }
        self.process_echo(now, delivered, ack);
        if ack.data_sacked {
            self.process_duplicate(now, delivered, ack, emit);
        }
        if ack.una_advanced {
            self.process_advance(now, delivered, ack, emit);
        }
        Resend::Lost
    }

    /// Begins and ends the reduction for an ECN echo (`EnterCwr`, `ReceivedAck`).
    fn process_echo(&mut self, now: Time, delivered: u32, ack: &Ack) {
        if self.recovery == Recovery::Cwr && self.una > self.high_seq {
            self.end_recovery(now);
        }
        if ack.congestion_echo && ack.una_advanced && self.recovery != Recovery::Cwr {
            self.counts.echo_reductions += 1;
            self.begin_reduction(now, Recovery::Cwr, delivered);
            self.reduction_pending_signal = true;
        }
    }

    /// Processes a duplicate acknowledgement (`DupAck`).
    fn process_duplicate(&mut self, now: Time, delivered: u32, ack: &Ack, emit: &mut Emit<'_>) {
        match self.recovery {
            Recovery::Loss => return,
            Recovery::Fast => return self.reduce_like_ns3(delivered, true, ack.resent_advanced),
            Recovery::Open => self.enter(now, Recovery::Disorder),
            Recovery::Disorder | Recovery::Cwr => {}
        }
        self.duplicates.count += 1;
        if self.recovery == Recovery::Cwr {
            return;
        }
        let third = self.duplicates.count == DUPLICATE_THRESHOLD
            && (self.una >= self.high_seq || !self.duplicates.guarded);
        let head_is_lost = self.board.head().is_some_and(|head| head.is(state::LOST));
        if third || head_is_lost {
            self.enter_recovery(now, delivered, emit);
        }
    }

    /// Enters fast recovery, and retransmits the head at any window (`EnterRecovery`).
    fn enter_recovery(&mut self, now: Time, delivered: u32, emit: &mut Emit<'_>) {
        let Some(head) = self.board.head().copied() else { return };
        let first = self.board.first();
        if !head.is(state::LOST) {
            self.counts.marked_lost += u64::from(self.board.mark_lost(first));
        }
        self.counts.recoveries += 1;
        self.duplicates.guarded = true;
        self.begin_reduction(now, Recovery::Fast, delivered);
        self.resend_at_once(now, first, emit);
    }

    fn begin_reduction(&mut self, now: Time, to: Recovery, delivered: u32) {
        self.high_seq = self.nxt;
        self.enter(now, to);
        let connection = self.connection(now);
        self.window.ssthresh = self.controller.ssthresh(&connection, &self.window);
        self.prior_cwnd = connection.in_flight;
        self.prr_delivered = 0;
        self.prr_out = 0;
        self.reduce_like_ns3(delivered, true, false);
    }

    /// Processes an acknowledgement that advances (branches of `ProcessAck`).
    fn process_advance(&mut self, now: Time, delivered: u32, ack: &mut Ack, emit: &mut Emit<'_>) {
        if !ack.data_sacked {
            self.duplicates.count = 0;
        }
        let whole = self.una >= self.high_seq;
        match self.recovery {
            Recovery::Fast if !whole => self.take_partial(now, delivered, ack, emit),
            Recovery::Cwr => self.reduce_like_ns3(delivered, false, false),
            Recovery::Fast => {
                self.duplicates.count = 0;
                self.end_recovery(now);
                ack.counted = ack.newly_acked;
            }
            Recovery::Loss if whole => {
                self.enter(now, Recovery::Open);
                ack.counted = ((self.una - self.high_seq) / u64::from(self.profile.mss.max(1))) as u32;
            }
            Recovery::Disorder if ack.data_sacked => {}
            Recovery::Disorder => {
                self.enter(now, Recovery::Open);
                ack.counted = delivered;
            }
            Recovery::Open | Recovery::Loss => ack.counted = delivered,
        }
        if whole && !matches!(self.recovery, Recovery::Fast | Recovery::Cwr) {
            self.duplicates.guarded = false;
            self.duplicates.first_advance = true;
        }
    }

    fn take_partial(&mut self, now: Time, delivered: u32, ack: &mut Ack, emit: &mut Emit<'_>) {
        self.reduce_like_ns3(delivered, false, ack.resent_advanced);
        if self.board.head().is_some_and(|head| !head.is(state::RETRANSMITTED)) {
            // `DoRetransmit` sends a lost segment, or else new data, or else the head.
            if let Some(number) = self.board.next_to_retransmit() {
                self.resend_at_once(now, number, emit);
            } else if !self.send_one_new(now, emit) {
                self.resend_at_once(now, self.board.first(), emit);
            }
        }
        ack.rearm &= core::mem::replace(&mut self.duplicates.first_advance, false);
    }

    fn resend_at_once(&mut self, now: Time, number: u64, emit: &mut Emit<'_>) {
        self.retransmit(now, number, emit);
        self.prr_out += 1;
    }

    fn end_recovery(&mut self, now: Time) {
        let connection = self.connection(now);
        self.controller.event(&connection, &mut self.window, Event::ReductionComplete);
        self.enter(now, Recovery::Open);
        if !self.controller.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Sets the window by proportional rate reduction, in segments (`TcpPrrRecovery::DoRecovery`). `safe`: a retransmission was cumulatively
    /// acknowledged.
    fn reduce_like_ns3(&mut self, delivered: u32, duplicate: bool, safe: bool) {
        let twice = duplicate && self.prr_delivered < self.prior_cwnd;
        let delivered = delivered + u32::from(twice);
        if delivered == 0 || self.controller.owns_window() {
            return;
        }
        self.prr_delivered += delivered;
        let (in_flight, target) = (self.board.in_flight(), self.window.ssthresh);
        let ahead = i64::from(self.prr_delivered) - i64::from(self.prr_out);
        let send = if in_flight > target {
            i64::from(self.proportional_share()) - i64::from(self.prr_out)
        } else {
            // If more was sent than delivered, the reference's unsigned comparison keeps the negative difference.
            let limit = if ahead < 0 { ahead } else { ahead.max(i64::from(delivered)) };
            (limit + i64::from(safe)).min(i64::from(target - in_flight))
        };
        let least = i64::from(self.prr_out == 0);
        self.window.cwnd = in_flight + send.max(least) as u32;
    }

    /// Segments that may have been sent in this recovery: the delivered segments times threshold over flight, rounded down. The
    /// reference multiplies bytes in 32 bits, so the product wraps.
    fn proportional_share(&self) -> u32 {
        let mss = self.profile.mss.max(1);
        let bytes = |segments: u32| segments.wrapping_mul(mss);
        let product = bytes(self.prr_delivered).wrapping_mul(bytes(self.window.ssthresh));
        product.div_ceil(bytes(self.prior_cwnd).max(1)) / mss
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Record;
    use super::*;
    use crate::control::Ns3Cubic;
    use crate::profile::Profile;
    use qdelay_core::Random;

    const MSS: u32 = 1448;

    /// A sender in recovery with `flight` segments in flight at its start and the threshold `threshold`, segments.
    fn reducing(flight: u32, threshold: u32) -> Sender {
        let controller = Ns3Cubic::new(true).into();
        let mut sender = Sender::new(Profile::ns3(), controller, Random::derive(1, "test", "tcp"), 0);
        (0..flight).for_each(|n| {
            let record = Record { seq: u64::from(n * MSS), len: MSS, ..Record::default() };
            sender.board.push(record);
        });
        sender.prior_cwnd = flight;
        sender.window.ssthresh = threshold;
        sender
    }

    /// Segments sent over `duplicates` single duplicates.
    fn sent(sender: &mut Sender, duplicates: u32) -> u32 {
        let mut sum = 0;
        for _ in 0..duplicates {
            let number = sender.board.first() + 1 + u64::from(sender.board.sacked);
            sender.board.mark_sacked(number);
            sender.reduce_like_ns3(1, true, false);
            let sends = sender.window.cwnd - sender.board.in_flight();
            sender.prr_out += sends;
            (0..sends).for_each(|_| sender.board.push(Record { len: MSS, ..Record::default() }));
            sum += sends;
        }
        sum
    }

    /// Each duplicate sends 7/10 of two segments until the flight is counted, then 7/10 of one.
    #[test]
    fn a_duplicate_counts_twice_until_the_flight_is_counted() {
        let mut sender = reducing(20, 14);
        assert_eq!(sent(&mut sender, 10), 14);
        assert_eq!(sender.prr_delivered, 20);
        sent(&mut sender, 1);
        assert_eq!(sender.prr_delivered, 21);
    }

    /// 39 * 1448 * 1448 * n is below 2^32 up to n = 52.
    #[test]
    fn the_product_of_rate_reduction_wraps_at_32_bits() {
        let mut sender = reducing(55, 39);
        assert_eq!(sent(&mut sender, 26), 52 * 39 / 55);
        let before = sender.prr_out;
        sent(&mut sender, 10);
        assert_eq!(sender.prr_out, before);
        let mut large = reducing(530, 371);
        // A wrapped product is at most 2^32 / (530 * 1448) bytes, 3.9 segments.
        assert!(sent(&mut large, 100) <= 3);
    }

    /// At or below the threshold the sender sends the delivered segments not yet replaced, and one more after a retransmission has arrived, at most
    /// up to the threshold.
    #[test]
    fn the_flight_grows_to_the_threshold() {
        let mut sender = reducing(10, 14);
        sender.prr_delivered = 8;
        sender.prr_out = 5;
        sender.reduce_like_ns3(1, false, false);
        assert_eq!(sender.window.cwnd, 14);
        sender.prr_out = 8;
        sender.reduce_like_ns3(1, false, true);
        assert_eq!(sender.window.cwnd, 10 + 3);
        sender.prr_out = 14;
        sender.reduce_like_ns3(1, false, false);
        assert_eq!(sender.window.cwnd, 10, "more was sent than delivered");
    }
}
