//! The two ends of a flow, as seen by the host that carries its packets.
//!
//! A host (the simulator) is independent of transports: it queries [`Ends`] for their next deadline, calls them, passes
//! arriving packets, and puts the packets that they send through [`Host`] on the path. [`AnyEnds`](crate::transport::AnyEnds)
//! is one of the implementations; the registry there generates it from the same line as the settings.
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
    /// Names its random streams, with the seed.
    pub name: &'a str,
    /// The seed of the run.
    pub seed: u64,
    /// When it begins.
    pub start: Time,
    /// Whether it has two codepoints, so that its ends may choose.
    pub has_choice: bool,
}

impl FlowStart<'_> {
    /// The flow's random stream for `purpose`.
    pub fn random(&self, purpose: &str) -> Random {
        Random::derive(self.seed, self.name, purpose)
    }
}

/// The end at which something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sender of data.
    Near,
    /// Its receiver.
    Far,
}

/// A packet sent by an end.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its contents.
    pub contents: Contents,
    /// IP packet size.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether it has the flow's other codepoint.
    pub is_other: bool,
}

impl Outgoing {
    /// A packet that only carries the report of this number.
    pub(crate) fn report(now: Time, number: u64, bytes: u32) -> Outgoing {
        let contents = Contents { created: now, number, ..Contents::default() };
        Outgoing { contents, bytes, ecn: Ecn::NotEct, is_other: false }
    }
}

/// The carrier of a flow's packets, which is also notified of events at its ends.
pub trait Host {
    /// The reason for which a packet was not accepted.
    type Error;

    /// Whether the next data packet has the flow's other codepoint, where its ends do not choose: asked once for each.
    fn draw(&mut self) -> bool;

    /// A packet leaves `end` for the other one.
    ///
    /// # Errors
    /// The packet is not accepted; the run is over.
    fn send(&mut self, end: End, outgoing: Outgoing) -> Result<(), Self::Error>;

    /// Data up to byte `end` of the connection's stream was sent, for the first time or again.
    fn sent(&mut self, end: u64);

    /// The first `bytes` of a connection were delivered to its application.
    fn in_order(&mut self, bytes: u64);

    /// A packet has come back, `span` after it was sent.
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
    /// Reductions that were undone as spurious.
    pub undone: u64,
    /// Tail loss probes (RFC 8985 section 7), where the transport tells.
    pub probes: Option<u64>,
    /// Segments that arrived although all of their bytes had arrived before, where the transport tells.
    pub duplicates: Option<u64>,
    /// Congestion window, segments.
    pub window: u32,
    /// When a finite download was complete.
    pub finished: Option<Time>,
    /// Of a call: its voice outcome.
    pub voice: Option<VoiceOutcome>,
    /// Of an adaptive call: its outcome.
    pub audio: Option<AudioOutcome>,
    /// Of a video stream: its outcome.
    pub stream: Option<StreamOutcome>,
    /// Of a browser: its outcome.
    pub web: Option<WebOutcome>,
    /// Of a call with video: its outcome.
    pub video: Option<VideoOutcome>,
}

/// State of a sender's congestion control at one time. Bytes are those of segments without headers, of QUIC those of UDP payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionState {
    /// Congestion window.
    pub window_bytes: u64,
    /// Slow start threshold; `None` before the first reduction, and where the control has none.
    pub threshold_bytes: Option<u64>,
    /// Bytes sent and neither acknowledged, selectively acknowledged nor marked lost; `None` where the transport does not say.
    pub in_flight_bytes: Option<u64>,
    /// Smoothed round trip; `None` before the first sample.
    pub smoothed_rtt: Option<Span>,
    /// Latest sample of the round trip; `None` before the first, and where the transport keeps none.
    pub latest_rtt: Option<Span>,
    /// Rate at which segments leave; `None` where nothing is paced.
    pub pacing_rate: Option<Rate>,
    /// Bytes acknowledged or selectively acknowledged since the connection began; `None` where the transport does not say.
    pub acknowledged_bytes: Option<u64>,
    /// Segments sent again since the connection began.
    pub retransmits: u64,
    /// State of loss recovery; `None` where the transport has none of these.
    pub recovery: Option<Recovery>,
}

/// Both ends of a flow. Time does not go back from call to call.
pub trait Ends: Sized {
    /// Their settings.
    type Config;

    /// Ends before any packet was sent.
    fn new(config: &Self::Config, flow: &FlowStart<'_>) -> Self;

    /// Runs both ends if an event is due. If `is_stopped`, the near end no longer exists, like a killed program. Returns the
    /// next time at which the ends are to be called.
    ///
    /// # Errors
    /// Those of the host.
    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error>;

    /// `packet` with these contents arrives at `at`. Returns when the ends want to be called for it, which changes nothing of what
    /// they wanted before.
    ///
    /// # Errors
    /// Those of the host.
    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error>;

    /// Whether the ends store something for each packet, so that the host calls [`Ends::lost`] and [`Ends::doubled`].
    fn keeps_packets(&self) -> bool {
        false
    }

    /// A packet with these contents was dropped.
    fn lost(&mut self, contents: &Contents) {
        let _ = contents;
    }

    /// The path has made a copy of a packet with these contents.
    fn doubled(&mut self, contents: &Contents) {
        let _ = contents;
    }

    /// Application bytes that have arrived.
    fn delivered_bytes(&self) -> u64;

    /// The near end's smoothed round trip, zero before the first sample; `None` where it has none.
    fn smoothed_rtt(&self) -> Option<Span>;

    /// The state of the near end's congestion control; `None` where the flow is no connection, or it is not open.
    fn connection(&self) -> Option<ConnectionState> {
        None
    }

    /// Whether the host is notified of round trips of single packets.
    fn has_round_trips(&self) -> bool;

    /// The warm-up ends at `now`: calls are rated from here on.
    fn end_warmup(&mut self, now: Time);

    /// The statistics at the end of the run, or at their stop.
    fn figures(&self, end: Time) -> EndFigures;

    /// What the user of the flow had over time, up to `end`; `None` where nothing is kept of it.
    fn experience(&self, end: Time) -> Option<Experience<'_>> {
        let _ = end;
        None
    }
}
