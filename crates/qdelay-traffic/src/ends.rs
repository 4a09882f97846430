//! The two ends of a flow, as whoever carries its packets sees them.
//!
//! A host (the simulator) knows no transport: it asks [`Ends`] when they want to be called, calls them, hands over what arrives,
//! and puts what they send through [`Host`] on the way. [`AnyEnds`](crate::transport::AnyEnds) is one of
//! them; the registry there makes it of the same line as the settings.
//!
//! The *near* end is the sender of a flow's data, the *far* end its receiver.

pub use crate::contents::Contents;

use crate::audio::AudioOutcome;
use crate::voice::VoiceOutcome;
use qdelay_core::{Ecn, Packet, Random, Span, Time};

/// What a host says of a flow before it begins.
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

/// A packet as it leaves an end.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// What is inside.
    pub contents: Contents,
    /// IP packet size.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether it has the flow's other codepoint.
    pub is_other: bool,
}

impl Outgoing {
    /// A packet that says nothing but that the report of this number has come.
    pub(crate) fn report(now: Time, number: u64, bytes: u32) -> Outgoing {
        let contents = Contents { created: now, number, ..Contents::default() };
        Outgoing { contents, bytes, ecn: Ecn::NotEct, is_other: false }
    }
}

/// Who carries a flow's packets, and is told what happens at its ends.
pub trait Host {
    /// Why a packet was not taken.
    type Error;

    /// Whether the next data packet has the flow's other codepoint, where its ends do not choose: asked once for each.
    fn draw(&mut self) -> bool;

    /// A packet leaves `end` for the other one.
    ///
    /// # Errors
    /// It is not taken; the run is over.
    fn send(&mut self, end: End, outgoing: Outgoing) -> Result<(), Self::Error>;

    /// Data up to the byte `end` of all that a connection sends is sent, for the first time or again.
    fn sent(&mut self, end: u64);

    /// The first `bytes` of a connection are with its application.
    fn in_order(&mut self, bytes: u64);

    /// A packet has come back, so long after it was sent.
    fn round_trip(&mut self, span: Span);
}

/// What ends can tell of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndFigures {
    /// Segments or datagrams sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Retransmission timeouts, or expirations of TFRC's no-feedback timer.
    pub timeouts: u64,
    /// Reductions that were taken back as spurious.
    pub undone: u64,
    /// Congestion window, segments.
    pub window: u32,
    /// When a finite download was complete.
    pub finished: Option<Time>,
    /// Of a call: what was heard of it.
    pub voice: Option<VoiceOutcome>,
    /// Of an adaptive call: what it did.
    pub audio: Option<AudioOutcome>,
}

/// Both ends of a flow. Time does not go back from call to call.
pub trait Ends: Sized {
    /// Their settings.
    type Config;

    /// Ends that have sent nothing yet.
    fn new(config: &Self::Config, flow: &FlowStart<'_>) -> Self;

    /// Something is due, or may be: both ends run. From when `is_stopped` on, the near end is gone, as a program that was killed.
    /// Returns when they want to be called next.
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

    /// Application bytes that have arrived.
    fn delivered_bytes(&self) -> u64;

    /// The near end's smoothed round trip, zero before the first sample; `None` where it has none.
    fn smoothed_rtt(&self) -> Option<Span>;

    /// Whether the host is told of round trips of single packets.
    fn has_round_trips(&self) -> bool;

    /// The warm-up is over at `now`: calls are rated from here on.
    fn end_warmup(&mut self, now: Time);

    /// What they tell at the end of the run, or at their stop.
    fn figures(&self, end: Time) -> EndFigures;
}
