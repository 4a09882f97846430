//! TCP-friendly rate control (TFRC): an unreliable source that sends at the rate of a TCP connection under the same loss.
//!
//! The receiver detects missing packets, groups them into loss events, and reports once per round trip the loss event rate
//! (`p`) and the receive rate (`X_recv`). The sender inserts `p` and its round trip `R` into TCP's throughput equation and
//! spaces its packets accordingly. The rate changes more slowly than a TCP window does, which suits calls and streams.
//!
//! | file | contents |
//! | --- | --- |
//! | [`equation`] | rate from `p` and `R`, and `p` from a rate |
//! | [`intervals`] | `p` from the lengths of loss intervals |
//! | [`Receiver`] | losses, loss events, reports |
//! | [`RateControl`] | the sender's allowed rate, from reports and the no-feedback timer |
//! | [`Sender`] | packets of one size at the allowed rate |
//!
//! A flow may have packets of two codepoints, which the network may reorder because it treats them differently. Packets of a codepoint form a
//! *lane* with sequence numbers of its own; a packet counts as missing only if later packets of its lane have arrived.
//!
//! Time is an argument of every call; nothing is allocated after the start.
//!
//! Source: RFC 5348. With `b = 1` the equation equals eq. 1 of the ABE paper (Hurley et al. 2001), whose `t_1` is `t_RTO` here.
//!
//! # Differences from the reference
//! * `s` is the size of the IP packet with headers, and all rates (`X`, `X_Bps`, `X_recv`) count IP bytes; in section 3.1 `s` excludes
//!   IP and transport headers. For packets of one size, the equation and the receive rate give the same number of packets per second in both
//!   counts. Only the initial rate of min(4 s, max(2 s, 4380 bytes)) per round trip (section 4.2) differs: its 4380 bytes are IP bytes here.
//! * Every data packet contains the round trip (section 3.2.1); there is no window counter (RFC 4342).
//! * Packets leave exactly at their send times: `t_gran` of section 4.6 is 0.
//! * General discounting at a loss event (section 5.5) uses the interval that ends with the event; the RFC uses
//!   the open interval as of the last packet, which is at most three packets longer. The ended interval itself is not
//!   discounted, only the intervals before it.
//! * A flow may have two lanes.
//! * In slow start the rate may double again after 0.999 round trips, because with a constant round trip rounding would decide.
//! * A packet that arrives after it was declared lost does not change the history (section 5.1 allows either).
//! * If the first loss occurs before any receive rate was reported, section 6.3.1 has no input: the rate is then measured, or
//!   the packets received so far are the first interval.
//! * Without a round-trip sample, and without a packet sent since the timer was set, an expiry of the no-feedback timer has no effect (section
//!   4.4).

mod component;
mod ends;
pub mod equation;
pub mod intervals;
mod rate;
mod receiver;
mod reports;
mod sender;

pub(crate) use component::{ACK_EVERY, COMPONENTS, MIN_RTO, build, equation};
pub use ends::TfrcEnds;
pub use equation::Equation;
pub use rate::{RateConfig, RateControl};
pub use receiver::{Receiver, ReceiverConfig};
pub(crate) use reports::{ReportedEnds, Reporting};
pub use sender::{Sender, TfrcConfig};

use qdelay_core::{Span, Time};

/// Bytes of headers in a data packet: IPv4 and UDP (28), and sequence number, timestamp and round trip
/// (RFC 5348 section 3.2.1) of four bytes each. The number within a lane, needed only with two lanes, is not counted.
pub const HEADER_BYTES: u32 = 40;
/// Size of a report's IP packet, bytes: that of a TCP acknowledgement without options. The four fields of RFC 5348 section 3.2.2 with four bytes
/// each behind the headers of IPv4 and UDP would give 44.
pub const REPORT_BYTES: u32 = 40;

/// The header of a data packet (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// Sequence number; wraps.
    pub seq: u32,
    /// Lane of the packet, 0 or 1.
    pub lane: u8,
    /// Sequence number within the lane; wraps. Equal to `seq` with one lane.
    pub lane_seq: u32,
    /// Send time by the sender's clock.
    pub sent: Time,
    /// The sender's estimate of the round trip; zero before the first sample.
    pub rtt: Span,
}

/// The contents of a report (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Timestamp of the data packet received last, `t_recvdata`.
    pub echo: Time,
    /// Time from the arrival of that packet to this report, `t_delay`.
    pub delay: Span,
    /// Receive rate, `X_recv`, bytes/s.
    pub receive_rate: f64,
    /// Loss event rate, `p`: 0 before the first loss event, at most 1.
    pub loss_event_rate: f64,
}
