//! Congestion controllers, one per file, behind one interface.
//!
//! The transport keeps the scoreboard, detects loss, measures delivery rate and round trips; a controller computes a congestion
//! window, a slow start threshold and, if it paces, a pacing rate from these measurements. The split and the order of
//! the calls are those of Linux (`tcp_congestion_ops`), so that a controller behaves here as it does there.
//! Windows are counted in segments.
//!
//! | controller | specification | Linux | sets its own window and pacing rate |
//! | --- | --- | --- | --- |
//! | [`Reno`] | RFC 5681 | `tcp_reno_cong_avoid` | no |
//! | [`Cubic`] | RFC 9438, HyStart | `tcp_cubic.c` | no |
//! | [`Bbr`] | BBR version 1 | `tcp_bbr.c` | yes |
//! | [`Vegas`] | Brakmo and Peterson 1995 | `tcp_vegas.c` | no |
//! | [`Westwood`] | Westwood+ (Grieco and Mascolo 2004) | `tcp_westwood.c` | no |
//! | [`C2tcp`] | Abbasloo, Xu and Chao 2019, on top of Cubic | none | no |
//! | [`Copa`] | Arun and Balakrishnan 2018 | none | yes |
//! | [`Ledbat`] | LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus) | none | no |
//! | [`Vivace`] | Dong et al. 2018 | none | yes |
//! | [`Verus`] | Zaki et al. 2015 | none | yes |
//! | [`Ns3Reno`] | RFC 5681 | ns-3's `TcpNewReno` instead | no |
//! | [`Ns3Cubic`] | RFC 8312, HyStart | ns-3's `TcpCubic` instead | no |
//!
//! [`AnyController`] is any of them. A new controller is a file, its `mod` line and a line of the registry below. The file has the
//! controller with its [`Default`], the `COMPONENT` with [TCP's knobs](crate::tcp::with_knobs) and the controller's own parameters,
//! and a function `build`.

mod bbr;
mod c2tcp;
mod copa;
mod cubic;
mod cubic_law;
mod custom;
mod dispatch;
mod hystart;
mod jiffies;
mod ledbat;
#[cfg(test)]
mod minimal;
mod ns3_cubic;
mod ns3_reno;
mod reno;
mod vegas;
mod verus;
mod vivace;
mod westwood;
mod windowed_max;

pub use bbr::{Bbr, BbrConfig, BbrKernel, Mode};
pub use c2tcp::{C2tcp, C2tcpConfig};
pub use copa::Copa;
pub use cubic::{Cubic, CubicConfig};
pub use custom::{CustomController, custom};
pub use ledbat::Ledbat;
pub use ns3_cubic::Ns3Cubic;
pub use ns3_reno::Ns3Reno;
pub use reno::Reno;
pub use vegas::Vegas;
pub use verus::Verus;
pub use vivace::{Vivace, VivaceConfig};
pub use westwood::Westwood;

use crate::profile::Profile;
use alloc::format;
use dispatch::controls;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::{Random, Rate, Span, Time};

controls! {
    cubic::Cubic, bbr::Bbr, reno::Reno, vegas::Vegas, westwood::Westwood, c2tcp::C2tcp, copa::Copa, ledbat::Ledbat,
    vivace::Vivace, verus::Verus;
    Ns3Cubic, Ns3Reno
}

/// State of loss recovery (Linux `tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recovery {
    /// Normal operation: no losses, no selective acknowledgements.
    #[default]
    Open,
    /// Selective acknowledgements have arrived, but no segment is marked lost.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery: a segment was marked lost (RFC 6675, RFC 8985).
    Fast,
    /// The retransmission timer fired (RFC 6298).
    Loss,
}

impl Recovery {
    /// Number of the state in Linux, from 0 for `TCP_CA_Open` to 4 for `TCP_CA_Loss`.
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// Congestion window, shared by the transport and its controller, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, at least 1.
    pub cwnd: u32,
    /// Slow start threshold; `u32::MAX` until the first reduction.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew by one (congestion avoidance).
    pub cwnd_count: u32,
    /// Upper bound on the window.
    pub clamp: u32,
}

impl Window {
    /// Whether the window is in slow start.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The state of the connection at a call, besides the window.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Current time.
    pub now: Time,
    /// State of loss recovery.
    pub recovery: Recovery,
    /// Smoothed round trip (RFC 6298); zero before the first sample.
    pub srtt: Span,
    /// Smallest round trip of the last five minutes (Linux `tcp_min_rtt`); [`Span::MAX`] before the first sample.
    pub min_rtt: Span,
    /// Segments in flight now: sent and neither acknowledged, selectively acknowledged nor marked lost.
    pub in_flight: u32,
    /// Segments delivered (acknowledged or selectively acknowledged) since the connection began.
    pub delivered: u64,
    /// Time of the latest delivery (Linux `delivered_mstamp`).
    pub delivered_time: Time,
    /// Segments marked lost since the connection began, counted each time.
    pub lost: u64,
    /// First sequence number not acknowledged, bytes.
    pub una: u64,
    /// Next sequence number to send, bytes.
    pub nxt: u64,
    /// Application bytes of a full segment.
    pub mss: u32,
    /// Whether the sender ran out of data (Linux `tp->app_limited` is not zero).
    pub app_limited: bool,
    /// Whether the window, and not the application, limited what was sent in the last round trip (Linux
    /// `tcp_is_cwnd_limited`).
    pub window_limited: bool,
    /// Send time of the latest data segment, before the one that an [`Event::TransmitStart`] announces (Linux `lsndtime`).
    pub last_sent: Time,
    /// Earliest time at which pacing lets the next segment leave (Linux `tcp_wstamp_ns`); at most `now` if pacing holds
    /// nothing back.
    pub next_departure: Time,
}

/// Deliveries and measurements of one acknowledgement (Linux `rate_sample`; draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// Segments newly acknowledged or selectively acknowledged.
    pub acked_sacked: u32,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly marked lost by this acknowledgement.
    pub losses: u32,
    /// Value of [`Connection::delivered`] at the transmission of the most recently sent segment that this acknowledgement delivers; valid only
    /// with `interval`.
    pub prior_delivered: u64,
    /// Segments delivered over `interval`; meaningless without `interval`.
    pub delivered: u32,
    /// The longer of send interval and ack interval of the sample; `None` without a valid sample (nothing was
    /// delivered, or the interval is shorter than the smallest round trip).
    pub interval: Option<Span>,
    /// Segments in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// Round-trip sample, from the send time of a segment that was never retransmitted; `None` without one.
    pub rtt: Option<Span>,
    /// Whether the sample was taken while the sender was application-limited.
    pub is_app_limited: bool,
    /// Whether the receiver probably delayed this acknowledgement (of a single segment).
    pub is_ack_delayed: bool,
}

/// Events of a connection other than acknowledgements (Linux `tcp_ca_event`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first segment is sent while none are in flight.
    TransmitStart,
    /// The window restarts after an idle time longer than the retransmission timer (RFC 9293 section 3.8.3).
    WindowRestart,
    /// A reduction after fast recovery or an ECN echo is complete.
    ReductionComplete,
    /// The retransmission timer fired.
    Timeout,
}

/// A congestion control: computes a window and a rate from the transport's measurements.
pub trait Controller {
    /// The connection is established; the window holds its initial value.
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random);

    /// New slow start threshold, segments; called when recovery begins or the timer fires, before the window is reduced.
    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32;

    /// Grows the window by `sample.acked_sacked` (Linux `cong_avoid`): called for acknowledgements that advance the window
    /// outside fast recovery; not called if [`Controller::owns_window`].
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample);

    /// Whether this controller sets window and pacing rate itself at every acknowledgement (Linux `cong_control`), in place
    /// of the transport's PRR and growth.
    fn owns_window(&self) -> bool {
        false
    }

    /// Sets window and pacing rate at each acknowledgement, after loss detection; called only if [`Controller::owns_window`].
    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        let _ = (connection, window, sample, random);
    }

    /// Reports that a segment last sent at `sent` was marked lost: called for each mark, before the next [`Controller::control`], and only
    /// if [`Controller::owns_window`].
    fn lost(&mut self, sent: Time) {
        let _ = sent;
    }

    /// Reports an acknowledgement that delivers a segment, before [`Controller::grow`] (Linux `pkts_acked`): for controllers
    /// that use round trips.
    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        let _ = (connection, window, sample);
    }

    /// Reports that loss recovery changes to state `to` (Linux `set_state`); `connection.recovery` is the old state.
    fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
        let _ = (connection, window, to);
    }

    /// Reports an event (Linux `cwnd_event`).
    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        let _ = (connection, window, event);
    }

    /// Window after the undo of a spurious reduction, segments; `prior`: window before the reduction (Linux `undo_cwnd`).
    fn undo(&mut self, connection: &Connection, window: &Window, prior: u32) -> u32 {
        let _ = connection;
        window.cwnd.max(prior)
    }

    /// Pacing rate of a controller that needs pacing; `None` leaves pacing to the profile.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether the segments in flight must count as application-limited, because the controller keeps its rate low
    /// on purpose: called after each [`Controller::control`]. If true, the transport sets its mark as if the sender had
    /// run out of data (Linux `app_limited` = delivered + in flight, at least 1).
    fn marks_app_limited(&self) -> bool {
        false
    }

    /// Smallest number of segments in a burst (Linux `min_tso_segs`); 2 by default.
    fn min_burst(&self) -> u32 {
        2
    }

    /// Name of this congestion control in Linux kernels (`TCP_CONGESTION`); `None` if no kernel has it.
    fn in_kernel(&self) -> Option<&'static str>;
}
