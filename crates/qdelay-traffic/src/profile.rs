//! Differences between TCP implementations, as named sets of parameters.

use qdelay_core::Span;

/// The method of loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK, by send times (RFC 8985).
    Rack,
    /// Three selectively acknowledged segments above the hole (RFC 6675).
    DuplicateAcks,
}

/// The computation of the retransmission timeout from the estimator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutRule {
    /// The smoothed round trip plus its variation, the latter never below the minimum (Linux `tcp_set_rto`).
    FlooredVariation,
    /// The sum of both, never below the minimum (RFC 6298 section 2).
    FlooredSum,
}

/// The rules of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRule {
    /// Linux's: RFC 6675 or RFC 8985, RFC 6937, RFC 5682.
    Linux,
    /// ns-3's. Its NewReno and CUBIC are [`Ns3Reno`](crate::control::Ns3Reno) and [`Ns3Cubic`](crate::control::Ns3Cubic).
    Ns3,
}

/// The source of round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTripRule {
    /// Send times of segments, including selectively acknowledged ones (Linux `tcp_ack_update_rtt`).
    SendTimes,
    /// Timestamps echoed by acknowledgements, in whole milliseconds, and only by those that advance (ns-3
    /// `TcpSocketBase::EstimateRtt`, `TcpOptionTS::NowToTsValue`).
    Timestamps,
}

/// Condition under which the sender paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Paces if the congestion controller sets a rate (BBR).
    Controller,
    /// Always paces, as under the `fq` qdisc: 200% of the window per round trip in slow start, 120% after.
    Always,
    /// Never paces, even if the controller sets a rate.
    Never,
}

/// The knobs of a TCP endpoint. [`Profile::linux`] and [`Profile::ns3`] match the two references.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Application bytes in a full segment.
    pub mss: u32,
    /// Initial window, segments (RFC 6928).
    pub initial_window: u32,
    /// Smallest retransmission timeout.
    pub min_rto: Span,
    /// Largest retransmission timeout.
    pub max_rto: Span,
    /// Timeout before the first round-trip sample (RFC 6298 section 2.1).
    pub initial_rto: Span,
    /// Computation of the retransmission timeout.
    pub timeout_rule: TimeoutRule,
    /// Source of round-trip samples.
    pub round_trip_rule: RoundTripRule,
    /// Granularity of the kernel's timers (one jiffy); zero for exact timers.
    pub tick: Span,
    /// Longest delay of an acknowledgement (delayed ACK timer).
    pub delayed_ack: Span,
    /// Full segments per acknowledgement; 1 acknowledges every segment.
    pub ack_every: u32,
    /// Acknowledgements sent at once at the start and after duplicates (Linux quick-ack mode).
    pub quick_acks: u32,
    /// Whether segments are acknowledged at once in two cases: each segment while the receive window grows, and the last segment of a burst
    /// (PSH) once the reader has emptied the queue (Linux `tcp_grow_window`, `tcp_cleanup_rbuf`).
    pub eager_acks: bool,
    /// Longest time that acknowledgements of out-of-order segments are compressed (Linux `tcp_comp_sack_delay_ns`).
    pub sack_compression: Span,
    /// The method of loss detection.
    pub loss_detection: LossDetection,
    /// Whether the receiver sends SACK blocks (RFC 2018). Off: see [`Profile::without_sack`].
    pub sack: bool,
    /// Whether fast recovery goes on after an acknowledgement of a part of its data (NewReno, RFC 6582), or ends there (Reno, RFC 5681); used
    /// only without SACK.
    pub partial_acks: bool,
    /// Rules of loss recovery. Those of ns-3 support only [`LossDetection::DuplicateAcks`]; with RACK the rules of Linux apply.
    pub recovery_rule: RecoveryRule,
    /// Whether tail loss probes are sent (RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// Whether spurious timeouts are detected (F-RTO, RFC 5682) and spurious reductions undone (RFC 4015, RFC 3708).
    pub undo: bool,
    /// Condition under which the sender paces.
    pub pacing: Pacing,
    /// Whether segments leave in bursts of at least two and up to a millisecond of the pacing rate (Linux
    /// `tcp_tso_autosize`).
    pub bursts: bool,
    /// Whether ECN is negotiated (RFC 3168).
    pub ecn: bool,
    /// Receive buffer at the start, bytes.
    pub receive_buffer: u64,
    /// Largest receive buffer that autotuning sets, bytes; equal to `receive_buffer` for a fixed buffer.
    pub receive_buffer_max: u64,
    /// Largest send buffer, bytes: data in flight and data not yet sent; [`u64::MAX`] for no bound. The smaller sizes that autotuning passes
    /// through are not modelled: they have room for two windows and so do not bind (Linux `tcp_sndbuf_expand`).
    pub send_buffer_max: u64,
}

impl Profile {
    /// Whether loss recovery follows ns-3.
    pub(crate) fn recovers_like_ns3(&self) -> bool {
        self.counts_duplicates() && self.sack
    }

    /// Whether loss recovery counts duplicate acknowledgements: that of ns-3, and that without SACK.
    pub(crate) fn counts_duplicates(&self) -> bool {
        self.loss_detection == LossDetection::DuplicateAcks
            && (self.recovery_rule == RecoveryRule::Ns3 || !self.sack)
    }

    /// This profile with a receiver that sends no SACK blocks and a sender that recovers by RFC 6582, and without what needs SACK: RACK,
    /// tail loss probes, the undo of spurious reductions, compressed acknowledgements.
    #[must_use]
    pub const fn without_sack(self) -> Profile {
        Profile {
            sack: false,
            loss_detection: LossDetection::DuplicateAcks,
            tail_loss_probe: false,
            undo: false,
            sack_compression: Span::ZERO,
            ..self
        }
    }

    /// Linux 6.12 with its default settings, HZ 250.
    pub const fn linux() -> Profile {
        Profile {
            mss: 1448,
            initial_window: 10,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_secs(120),
            initial_rto: Span::from_secs(1),
            timeout_rule: TimeoutRule::FlooredVariation,
            round_trip_rule: RoundTripRule::SendTimes,
            tick: Span::from_millis(4),
            delayed_ack: Span::from_millis(40),
            ack_every: 2,
            quick_acks: 16,
            eager_acks: true,
            sack_compression: Span::from_millis(1),
            loss_detection: LossDetection::Rack,
            sack: true,
            partial_acks: true,
            recovery_rule: RecoveryRule::Linux,
            tail_loss_probe: true,
            undo: true,
            pacing: Pacing::Controller,
            bursts: true,
            ecn: false,
            receive_buffer: 131_072,
            receive_buffer_max: 6_291_456,
            send_buffer_max: 4_194_304,
        }
    }

    /// ns-3 3.48 as its dumbbells are usually set up: 1 s minimum timeout, no RACK, no probes, no pacing, exact timers; the
    /// first segment is acknowledged at once (`TcpSocketBase::ProcessSynRcvd`).
    pub const fn ns3() -> Profile {
        Profile {
            min_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            timeout_rule: TimeoutRule::FlooredSum,
            round_trip_rule: RoundTripRule::Timestamps,
            tick: Span::ZERO,
            delayed_ack: Span::from_millis(200),
            quick_acks: 1,
            eager_acks: false,
            sack_compression: Span::ZERO,
            loss_detection: LossDetection::DuplicateAcks,
            recovery_rule: RecoveryRule::Ns3,
            tail_loss_probe: false,
            undo: false,
            pacing: Pacing::Never,
            bursts: false,
            receive_buffer: 4_194_304,
            receive_buffer_max: 4_194_304,
            send_buffer_max: u64::MAX,
            ..Profile::linux()
        }
    }
}
