//! TCP-friendly rate control, TFRC: an unreliable source that sends at the rate that a TCP connection would have.
//!
//! The receiver detects missing packets, groups them into loss events, and reports once per round trip the loss event rate
//! (`p`) and the receive rate (`X_recv`). The sender inserts `p` and its round trip `R` into TCP's throughput equation and
//! spaces its packets accordingly. The rate changes more slowly than a TCP window does, which suits calls and streams.
//!
//! | file | what |
//! | --- | --- |
//! | [`equation`] | rate from `p` and `R`, and back |
//! | [`intervals`] | `p` from the lengths of loss intervals |
//! | [`Receiver`] | losses, loss events, reports |
//! | [`RateControl`] | the rate that the sender is allowed, from reports and from silence |
//! | [`Sender`] | packets of one size at that rate |
//!
//! A flow may have packets of two kinds that overtake each other on their way, because the network treats their codepoints
//! differently. Each kind is a *lane* with numbers of its own, and a packet is missing only when others of its lane have overtaken
//! it.
//!
//! Time is an argument of every call; nothing is allocated after the start.
//!
//! Source: RFC 5348. With `b = 1` the equation is also the one that the ABE paper calls eq. 1 (Hurley et al. 2001), whose `t_1`
//! is `t_RTO` here.
//!
//! # Differences from the reference
//! * `s` is the size of the IP packet, headers included, and all rates (`X`, `X_Bps`, `X_recv`) are of IP bytes; in section 3.1 `s` leaves
//!   IP and transport headers out. With packets of one size the equation, and the rate that was received, give the same packets a
//!   second either way. The first rate does not: of min(4 s, max(2 s, 4380 bytes)) a round trip (section 4.2) the 4380 bytes are IP bytes here.
//! * The round trip is in every data packet (section 3.2.1), so that there is no window counter (RFC 4342).
//! * Packets leave exactly when they may: `t_gran` of section 4.6 is 0.
//! * The interval that ends with a loss event is what general discounting goes by at that event (section 5.5); the RFC goes by
//!   the open interval as of the last packet, which is at most three packets longer. The interval that has just ended is not
//!   discounted by it, those before it are.
//! * Lanes.
//! * In slow start the rate may double again after 0.999 round trips: where the round trip is constant, rounding would decide.
//! * A packet that arrives after it was declared lost does not change the history (section 5.1 allows either).
//! * If the first loss occurs before any receive rate was reported, section 6.3.1 has no input: the rate is then measured, or
//!   the packets received so far are the first interval.
//! * Without a sample of the round trip and without a packet sent since, the no-feedback timer changes nothing (section 4.4).

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

/// Bytes of a data packet that are not the application's: IPv4 and UDP (28), and sequence number, timestamp and round trip
/// (RFC 5348 section 3.2.1) of four bytes each. The number within a lane, which only a flow with two of them needs, is not counted.
pub const HEADER_BYTES: u32 = 40;
/// Size of a report's IP packet, that of a bare TCP acknowledgement. (The four fields of RFC 5348 section 3.2.2 with four bytes
/// each behind the headers of IPv4 and UDP would be 44.)
pub const REPORT_BYTES: u32 = 40;

/// The header of a data packet (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// Sequence number; wraps.
    pub seq: u32,
    /// Its lane, 0 or 1.
    pub lane: u8,
    /// Its number within the lane; wraps. With one lane it is `seq`.
    pub lane_seq: u32,
    /// When it was sent, by the sender's clock.
    pub sent: Time,
    /// The sender's estimate of the round trip; zero for none yet.
    pub rtt: Span,
}

/// The contents of a report (RFC 5348 section 3.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// The timestamp of the data packet that came last, `t_recvdata`.
    pub echo: Time,
    /// From its arrival until this report, `t_delay`.
    pub delay: Span,
    /// The rate at which data was received, `X_recv`, in bytes a second.
    pub receive_rate: f64,
    /// Loss events per packet, `p`: 0 for none yet, at most 1.
    pub loss_event_rate: f64,
}
