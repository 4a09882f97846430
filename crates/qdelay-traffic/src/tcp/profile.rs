//! What differs between the TCPs of different worlds, as named sets of knobs.

use crate::control::HystartRule;
use qdelay_core::Span;

/// How losses are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// By time: RACK (RFC 8985).
    Rack,
    /// By three segments selectively acknowledged above (RFC 6675).
    DuplicateAcks,
}

/// How the retransmission timeout is made of the estimator's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutRule {
    /// The smoothed round trip plus its variation, the latter never below the minimum (Linux `tcp_set_rto`).
    FlooredVariation,
    /// The sum of both, never below the minimum (RFC 6298 section 2).
    FlooredSum,
}

/// When the sender paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Where the congestion controller asks for it (BBR).
    Controller,
    /// Always, as under the `fq` qdisc: 200% of window per round trip in slow start, 120% after.
    Always,
    /// Never, whatever the controller asks.
    Never,
}

/// The knobs of a TCP endpoint. [`Profile::linux`] and [`Profile::ns3`] are the two that are measured against.
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
    /// How the timeout is computed.
    pub timeout_rule: TimeoutRule,
    /// Granularity of the kernel's timers (one jiffy); zero for exact timers.
    pub tick: Span,
    /// How long an acknowledgement may be held back.
    pub delayed_ack: Span,
    /// Full segments per acknowledgement; 1 acknowledges every segment.
    pub ack_every: u32,
    /// Acknowledgements sent at once at the start and after duplicates (Linux quick-ack mode).
    pub quick_acks: u32,
    /// Whether every segment is acknowledged at once while the receive window grows, and a burst's last one (PSH) when the
    /// reader has emptied the queue (Linux `tcp_grow_window`, `tcp_cleanup_rbuf`).
    pub eager_acks: bool,
    /// Longest time that acknowledgements of out-of-order segments are compressed (Linux `tcp_comp_sack_delay_ns`).
    pub sack_compression: Span,
    /// How losses are found.
    pub loss_detection: LossDetection,
    /// Whether tail loss probes are sent (RFC 8985 section 7).
    pub tail_loss_probe: bool,
    /// Whether spurious timeouts are looked for (F-RTO, RFC 5682) and spurious reductions undone (RFC 4015, RFC 3708).
    pub undo: bool,
    /// When the sender paces.
    pub pacing: Pacing,
    /// Whether segments leave in bursts of at least two and up to a millisecond of the pacing rate (Linux
    /// `tcp_tso_autosize`).
    pub bursts: bool,
    /// Whether ECN is negotiated (RFC 3168).
    pub ecn: bool,
    /// Whether the window grows by what an acknowledgement delivers (RFC 3465, Linux); else each counts as one segment,
    /// so that delayed acknowledgements halve the growth (RFC 5681 equation 3).
    pub byte_counting: bool,
    /// Whether slow start may end by HyStart.
    pub hystart: bool,
    /// By whose thresholds.
    pub hystart_rule: HystartRule,
    /// Receive buffer at the start, bytes.
    pub receive_buffer: u64,
    /// The most that autotuning lets it grow to, bytes; equal to `receive_buffer` for none.
    pub receive_buffer_max: u64,
}

impl Profile {
    /// Linux 6.12 with its default settings, HZ 250.
    pub const fn linux() -> Profile {
        Profile {
            mss: 1448,
            initial_window: 10,
            min_rto: Span::from_millis(200),
            max_rto: Span::from_secs(120),
            initial_rto: Span::from_secs(1),
            timeout_rule: TimeoutRule::FlooredVariation,
            tick: Span::from_millis(4),
            delayed_ack: Span::from_millis(40),
            ack_every: 2,
            quick_acks: 16,
            eager_acks: true,
            sack_compression: Span::from_millis(1),
            loss_detection: LossDetection::Rack,
            tail_loss_probe: true,
            undo: true,
            pacing: Pacing::Controller,
            bursts: true,
            ecn: false,
            byte_counting: true,
            hystart: true,
            hystart_rule: HystartRule::Linux,
            receive_buffer: 131_072,
            receive_buffer_max: 6_291_456,
        }
    }

    /// ns-3 3.48 as its dumbbells are usually set up: 1 s minimum timeout, no RACK, no probes, no pacing, exact timers.
    pub const fn ns3() -> Profile {
        Profile {
            min_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            timeout_rule: TimeoutRule::FlooredSum,
            tick: Span::ZERO,
            delayed_ack: Span::from_millis(200),
            quick_acks: 0,
            eager_acks: false,
            sack_compression: Span::ZERO,
            loss_detection: LossDetection::DuplicateAcks,
            tail_loss_probe: false,
            undo: false,
            pacing: Pacing::Never,
            bursts: false,
            byte_counting: false,
            hystart_rule: HystartRule::Ns3,
            receive_buffer: 4_194_304,
            receive_buffer_max: 4_194_304,
            ..Profile::linux()
        }
    }
}
