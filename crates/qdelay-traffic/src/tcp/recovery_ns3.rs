//! Loss recovery as ns-3 3.44 has it, and by its figures 3.48 (`TcpSocketBase::ProcessAck`, `DupAck`, `EnterRecovery`, `ReTxTimeout`;
//! `TcpPrrRecovery`): RFC 6675 with proportional rate reduction, its own way.
//!
//! Where it is not Linux's (`recovery.rs`):
//! * Recovery begins only at an acknowledgement that reports something new selectively (a *duplicate*): at the third, or where
//!   the head is marked lost. What is found lost by the end of one recovery so causes another reduction one acknowledgement
//!   later, and is sent again meanwhile.
//! * **Proportional rate reduction counts a duplicate's segment twice** until as much was counted as was in flight when recovery
//!   began (`DoRecovery`: RFC 6937's estimate for connections without SACK, added to what SACK told). With a threshold of 0.7 of
//!   the flight each duplicate sends 1.4 segments, so that CUBIC's flight grows for the first half of a recovery.
//!   What advances and reports at once counts in both ways.
//! * **The product in proportional rate reduction wraps at 2^32** (bytes delivered times threshold in bytes, both 32 bits), so
//!   that a flow with a large window sends nothing for most of the first round trip: with a threshold of 39 segments of
//!   1448 bytes after 52 were counted, with 371 after 5.
//! * An advance within recovery whose next hole was not sent again sends one segment whatever the window is. Only the first
//!   advance restarts the retransmission timer, and no retransmission does.
//! * When recovery ends the window is the threshold, and grows at once by all that this acknowledgement covers.
//! * A retransmission that is selectively acknowledged stays in the flight until it is cumulatively acknowledged, so that a
//!   recovery in which the first retransmission is lost dwindles (`TcpTxBuffer::Update`; ns-3's issue 1190).
//! * Every timeout reduces the threshold, in recovery and repeated ones too; a lost retransmission is found by timeout alone.
//! * An ECN echo begins a reduction from every state but that of an earlier echo; during it losses cause none.
//!
//! Differences from the reference: whole segments are counted here, bytes there (all segments of a flow that always has data are
//! full). A threshold of a half segment is compared rounded down.

use super::ack::Ack;
use super::scoreboard::state;
use super::sender::{DUPLICATE_THRESHOLD, Emit, Resend, Sender};
use crate::control::{Controller, Event, Recovery};
use qdelay_core::Time;

impl Sender {
    /// Runs the state machine for an acknowledgement that delivered `delivered` segments. Leaves in `ack.counted` how many
    /// of them the window may grow by, none where it may not.
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
        self.take_echo(now, delivered, ack);
        if ack.data_sacked {
            self.take_duplicate(now, delivered, ack, emit);
        }
        if ack.una_advanced {
            self.take_advance(now, delivered, ack, emit);
        }
        Resend::Lost
    }

    /// `EnterCwr`, and its end in `ReceivedAck`.
    fn take_echo(&mut self, now: Time, delivered: u32, ack: &Ack) {
        if self.recovery == Recovery::Cwr && self.una > self.high_seq {
            self.end_recovery(now);
        }
        if ack.congestion_echo && ack.una_advanced && self.recovery != Recovery::Cwr {
            self.counts.echo_reductions += 1;
            self.begin_reduction(now, Recovery::Cwr, delivered);
            self.reduction_pending_signal = true;
        }
    }

    /// `DupAck`.
    fn take_duplicate(&mut self, now: Time, delivered: u32, ack: &Ack, emit: &mut Emit<'_>) {
        match self.recovery {
            Recovery::Loss => return,
            Recovery::Fast => return self.reduce_like_ns3(delivered, true, ack.resent_advanced),
            Recovery::Open => self.enter(now, Recovery::Disorder),
            Recovery::Disorder | Recovery::Cwr => {}
        }
        self.ns3.duplicates += 1;
        if self.recovery == Recovery::Cwr {
            return;
        }
        let third =
            self.ns3.duplicates == DUPLICATE_THRESHOLD && (self.una >= self.high_seq || !self.ns3.guarded);
        let head_is_lost = self.board.head().is_some_and(|head| head.is(state::LOST));
        if third || head_is_lost {
            self.enter_recovery(now, delivered, emit);
        }
    }

    /// `EnterRecovery`: the head is sent again whatever the window is.
    fn enter_recovery(&mut self, now: Time, delivered: u32, emit: &mut Emit<'_>) {
        let Some(head) = self.board.head().copied() else { return };
        let first = self.board.first();
        if !head.is(state::LOST) {
            self.counts.marked_lost += u64::from(self.board.mark_lost(first));
        }
        self.counts.recoveries += 1;
        self.ns3.guarded = true;
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

    /// The branches of `ProcessAck` for an acknowledgement that advances.
    fn take_advance(&mut self, now: Time, delivered: u32, ack: &mut Ack, emit: &mut Emit<'_>) {
        if !ack.data_sacked {
            self.ns3.duplicates = 0;
        }
        let whole = self.una >= self.high_seq;
        match self.recovery {
            Recovery::Fast if !whole => self.take_partial(now, delivered, ack, emit),
            Recovery::Cwr => self.reduce_like_ns3(delivered, false, false),
            Recovery::Fast => {
                self.ns3.duplicates = 0;
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
            self.ns3.guarded = false;
            self.ns3.first_advance = true;
        }
    }

    fn take_partial(&mut self, now: Time, delivered: u32, ack: &mut Ack, emit: &mut Emit<'_>) {
        self.reduce_like_ns3(delivered, false, ack.resent_advanced);
        if self.board.head().is_some_and(|head| !head.is(state::RETRANSMITTED)) {
            // `DoRetransmit`: what is lost, else something new, else the head.
            if let Some(number) = self.board.next_to_retransmit() {
                self.resend_at_once(now, number, emit);
            } else if !self.send_one_new(now, emit) {
                self.resend_at_once(now, self.board.first(), emit);
            }
        }
        ack.rearm &= core::mem::replace(&mut self.ns3.first_advance, false);
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

    /// `TcpPrrRecovery::DoRecovery`, in segments. `safe`: a retransmission was cumulatively acknowledged.
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
            // Where more was sent than delivered, the reference's unsigned comparison keeps the negative difference.
            let limit = if ahead < 0 { ahead } else { ahead.max(i64::from(delivered)) };
            (limit + i64::from(safe)).min(i64::from(target - in_flight))
        };
        let least = i64::from(self.prr_out == 0);
        self.window.cwnd = in_flight + send.max(least) as u32;
    }

    /// Segments that may have been sent by now: as the threshold is to the flight, of what was delivered; what is not a whole
    /// segment cannot be sent. The reference multiplies bytes in 32 bits.
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

    /// `flight` segments in flight, reducing to `threshold`.
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

    /// Duplicates arrive one by one, the sender sends what it may, and how much each let it send.
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

    /// 7 / 10 of two per duplicate, until as much as was in flight is counted; then of one.
    #[test]
    fn a_duplicate_counts_twice() {
        let mut sender = reducing(20, 14);
        assert_eq!(sent(&mut sender, 10), 14);
        assert_eq!(sender.prr_delivered, 20);
        sent(&mut sender, 1);
        assert_eq!(sender.prr_delivered, 21);
    }

    /// 39 * 1448 * 1448 * n is below 2^32 up to n = 52.
    #[test]
    fn the_product_wraps() {
        let mut sender = reducing(55, 39);
        assert_eq!(sent(&mut sender, 26), 52 * 39 / 55);
        let before = sender.prr_out;
        sent(&mut sender, 10);
        assert_eq!(sender.prr_out, before);
        let mut large = reducing(530, 371);
        // A wrapped product is at most 2^32 / (530 * 1448) bytes, 3.9 segments.
        assert!(sent(&mut large, 100) <= 3);
    }

    /// At or below the threshold: what was delivered and not yet sent, one more after a retransmission arrived, no more than
    /// to the threshold.
    #[test]
    fn fills_up_to_the_threshold() {
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
