//! Both ends of a flow, and their interface to the host that carries the flow's packets.
//!
//! A host, such as the simulator, does not depend on transports. It asks [`Ends`] for their next deadline, calls them at that time, passes them
//! arriving packets, and puts the packets that they send through [`Host`] on the path. The registry of transports generates one implementation
//! over all transports, [`AnyEnds`](crate::transport::AnyEnds).
//!
//! The *near* end is the sender of a flow's data, the *far* end its receiver.

pub use crate::contents::Contents;

use crate::audio::AudioOutcome;
use crate::control::Recovery;
use crate::experience::Experience;
use crate::streaming::StreamOutcome;
use crate::video::VideoOutcome;
use crate::voice::VoiceOutcome;
use crate::web::WebOutcome;
use qdelay_core::{Ecn, Packet, Random, Rate, Span, Time};

/// The host's description of a flow before it begins.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart<'a> {
    /// Name of the flow, which with the seed names its random streams.
    pub name: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// Start time of the flow.
    pub start: Time,
    /// Whether the flow has two codepoints that its ends may choose between.
    pub has_choice: bool,
}

impl FlowStart<'_> {
    /// The flow's random stream for `purpose`.
    pub fn random(&self, purpose: &str) -> Random {
        Random::derive(self.seed, self.name, purpose)
    }
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender of the flow's data.
    Near,
    /// The receiver of the flow's data.
    Far,
}

/// A packet sent by an end.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Contents of the packet.
    pub contents: Contents,
    /// Size of the IP packet, bytes.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Whether the packet has the flow's other codepoint.
    pub is_other: bool,
}

impl Outgoing {
    /// A packet with report `number` of the flow and no data.
    pub(crate) fn report(now: Time, number: u64, bytes: u32) -> Outgoing {
        let contents = Contents { created: now, number, ..Contents::default() };
        Outgoing { contents, bytes, ecn: Ecn::NotEct, is_other: false }
    }
}

/// The carrier of a flow's packets, which also receives events of its ends.
pub trait Host {
    /// Reason for which the host refuses a packet.
    type Error;

    /// Draws whether the next data packet has the flow's other codepoint. Ends that do not choose the codepoint call this once per data packet.
    fn draw(&mut self) -> bool;

    /// Sends a packet from `end` to the other end.
    ///
    /// # Errors
    /// The host refuses the packet; the run is over.
    fn send(&mut self, end: End, outgoing: Outgoing) -> Result<(), Self::Error>;

    /// Reports that the connection's stream was sent up to byte `end`, for the first time or again.
    fn sent(&mut self, end: u64);

    /// Reports that bytes `first` to `end` of a connection's stream arrived, for the first time or again. Transports whose packets do not
    /// show their place in the stream never call this.
    fn arrived(&mut self, first: u64, end: u64) {
        let _ = (first, end);
    }

    /// Reports that the first `bytes` bytes of a connection's stream were delivered to the application.
    fn in_order(&mut self, bytes: u64);

    /// Reports the round trip of a packet that the far end echoed.
    fn round_trip(&mut self, span: Span);
}

/// Statistics of the ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndFigures {
    /// Segments or datagrams sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Retransmission timeouts, or expirations of TFRC's no-feedback timer.
    pub timeouts: u64,
    /// Window reductions undone as spurious.
    pub undone: u64,
    /// Tail loss probes sent (RFC 8985 section 7); `None` if the transport does not report them.
    pub probes: Option<u64>,
    /// Segments received without a new byte; `None` if the transport does not report them.
    pub duplicates: Option<u64>,
    /// Congestion window, segments.
    pub window: u32,
    /// Time at which a finite transfer was complete; `None` before, and for an endless flow.
    pub finished: Option<Time>,
    /// Outcome of a voice call; `None` for other flows.
    pub voice: Option<VoiceOutcome>,
    /// Outcome of an adaptive call; `None` for other flows.
    pub audio: Option<AudioOutcome>,
    /// Outcome of a video stream; `None` for other flows.
    pub stream: Option<StreamOutcome>,
    /// Outcome of a browser; `None` for other flows.
    pub web: Option<WebOutcome>,
    /// Outcome of a video call; `None` for other flows.
    pub video: Option<VideoOutcome>,
}

/// State of a sender's congestion control at one time. Bytes are TCP payload without headers; for QUIC they are UDP payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionState {
    /// Congestion window.
    pub window_bytes: u64,
    /// Slow start threshold; `None` before the first reduction, and for a control without one.
    pub threshold_bytes: Option<u64>,
    /// Bytes sent and neither acknowledged, selectively acknowledged nor marked lost; `None` if the transport does not report them.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed round trip; `None` before the first sample.
    pub smoothed_rtt: Option<Span>,
    /// Latest round-trip sample; `None` before the first, and if the transport does not report samples.
    pub latest_rtt: Option<Span>,
    /// Pacing rate; `None` without pacing.
    pub pacing_rate: Option<Rate>,
    /// Bytes acknowledged or selectively acknowledged since the connection began; `None` if the transport does not report them.
    pub acknowledged_bytes: Option<u64>,
    /// Segments retransmitted since the connection began.
    pub retransmits: u64,
    /// State of loss recovery; `None` for a transport without these states.
    pub recovery: Option<Recovery>,
}

/// Both ends of a flow. `now` does not decrease from call to call.
pub trait Ends: Sized {
    /// Settings of the flow.
    type Config;

    /// Creates the ends of a flow, before any packet is sent.
    fn new(config: &Self::Config, flow: &FlowStart<'_>) -> Self;

    /// Runs the events of both ends that are due. With `is_stopped` the near end no longer exists, like a killed program. Returns the
    /// next time at which the ends are to be called.
    ///
    /// # Errors
    /// The host refuses a packet.
    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error>;

    /// Processes the arrival of `packet` with these contents at the end `at`. Returns a time at which the ends are to be called, in addition to
    /// earlier ones.
    ///
    /// # Errors
    /// The host refuses a packet.
    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error>;

    /// Whether the ends store data per packet, so that the host has to call [`Ends::lost`] and [`Ends::doubled`].
    fn keeps_packets(&self) -> bool {
        false
    }

    /// The path has dropped a packet with these contents.
    fn lost(&mut self, contents: &Contents) {
        let _ = contents;
    }

    /// The path has copied a packet with these contents.
    fn doubled(&mut self, contents: &Contents) {
        let _ = contents;
    }

    /// Application bytes that have arrived at the far end.
    fn delivered_bytes(&self) -> u64;

    /// Smoothed round trip of the near end, zero before the first sample; `None` for a transport that measures none.
    fn smoothed_rtt(&self) -> Option<Span>;

    /// State of the near end's congestion control; `None` for a flow without a connection, and while the connection is not open.
    fn connection(&self) -> Option<ConnectionState> {
        None
    }

    /// Whether the ends report round trips of single packets to the host.
    fn has_round_trips(&self) -> bool;

    /// Ends the warm-up at `now`: calls and streams are rated from here on.
    fn end_warmup(&mut self, now: Time);

    /// Statistics at `end`, the end of the run or the stop of the flow.
    fn figures(&self, end: Time) -> EndFigures;

    /// Records of the application up to `end`; `None` for a flow without an application.
    fn experience(&self, end: Time) -> Option<Experience<'_>> {
        let _ = end;
        None
    }
}
