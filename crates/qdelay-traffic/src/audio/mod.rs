//! A call that adapts its rate to the network, and chooses the colour of its packets.
//!
//! A network may offer two services: *green*, with little delay and more loss, and *blue*, with more delay and less loss. The
//! source sends most packets with one of them, and a few with the other to measure it. All packets are paced by TFRC
//! ([`crate::tfrc`]); if neither colour offers the least usable rate, the source hangs up, and calls again later.
//!
//! | file | what |
//! | --- | --- |
//! | [`choice`] | utility, and the estimates for either colour |
//! | [`Source`] | frames, their size and colour, epochs |
//! | [`Listener`] | TFRC's receiver, and the counts of either colour |
//!
//! The network assigns the services to the colours: the source only measures them. It sends green if green has the least
//! rate, because delay has priority, blue if only blue has that rate, and is off if neither has.
//!
//! Source: Hurley et al. 2001 (ABE), Fig. 1, which states the utility and leaves the rest to its sixth reference; the estimates,
//! epochs and pauses are ours. TFRC for frames that are smaller than TCP's packets is as in RFC 4828: the equation uses the
//! size of a TCP packet, the resulting rate includes frames and headers, and short loss intervals are counted by their
//! losses.
//!
//! # Differences from the reference
//! * The paper's figure distinguishes regions of load; here the load is unknown to the source.
//! * Forward error correction is a number of bytes, in proportion to the loss, and is assumed to repair all of it.
//! * The cap of 100 packets a second of RFC 4828 is not implemented.
//! * One-way delays are differences of two synchronised clocks, as in the simulator.

pub mod choice;
mod component;
mod ends;
mod listener;
mod source;

pub use choice::Utility;
pub(crate) use component::{COMPONENTS, build};
pub use ends::AudioEnds;
pub use listener::Listener;
pub use source::{AudioPacket, AudioTimes, Source};

use crate::tfrc::{DataHeader, Equation, RateConfig, ReceiverConfig, Report, TfrcConfig};
use qdelay_core::{Rate, Span};

/// Bytes of a report's IP packet: TFRC's, and two counts of two bytes and a delay of four for each colour.
pub const REPORT_BYTES: u32 = crate::tfrc::REPORT_BYTES + 16;

/// The two services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The flow's own codepoint; meant for little delay.
    #[default]
    Green,
    /// Its other codepoint.
    Blue,
}

impl Colour {
    /// Both.
    pub const ALL: [Colour; 2] = [Colour::Green, Colour::Blue];
    /// Its index in lists.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The colour of a TFRC lane.
    pub const fn of_lane(lane: u8) -> Colour {
        if lane == 0 { Colour::Green } else { Colour::Blue }
    }
    /// The other colour.
    pub const fn other(self) -> Colour {
        match self {
            Colour::Green => Colour::Blue,
            Colour::Blue => Colour::Green,
        }
    }
}

/// An adaptive call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioConfig {
    /// Interval between frames; each is a packet.
    pub interval: Span,
    /// The utility of rate and delay.
    pub utility: Utility,
    /// Bytes of forward error correction, over those of the codec and the share of packets lost.
    pub correction: f64,
    /// Share of the packets that have the other colour, 0 to 1.
    pub probe: f64,
    /// Interval between decisions.
    pub epoch: Span,
    /// First pause after hanging up; doubled each time, up to 16 times, until a call lasts longer than the next pause would.
    pub pause: Span,
    /// TFRC's equation, with the size of a TCP packet.
    pub equation: Equation,
}

impl AudioConfig {
    /// TFRC's sender.
    pub fn rate(&self) -> RateConfig {
        let initial_window = RateConfig::standard_window(self.equation.segment_bytes as u32);
        RateConfig { equation: self.equation, damping: false, initial_window }
    }
    /// TFRC's receiver.
    pub fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig {
            equation: self.equation,
            by_losses: true,
            ..TfrcConfig::standard(self.equation.segment_bytes as u32).receiver
        }
    }
    /// Bytes of a frame at this rate of the codec, with forward error correction for a loss ratio, without headers.
    pub(crate) fn frame_bytes(&self, rate: Rate, loss: f64) -> f64 {
        rate.as_bps() as f64 / 8.0 * self.interval.as_secs_f64() * self.overhead(loss)
    }
    /// Factor by which forward error correction enlarges a frame.
    pub(crate) fn overhead(&self, loss: f64) -> f64 {
        1.0 + self.correction * loss
    }
}

/// The header of a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioHeader {
    /// Number of the call of this source; wraps. Each call has a TFRC connection of its own.
    pub call: u8,
    /// TFRC's part. Each colour is a TFRC lane: see [`Colour::of_lane`].
    pub data: DataHeader,
}

/// The contents of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AudioReport {
    /// Number of the call.
    pub call: u8,
    /// TFRC's part.
    pub report: Report,
    /// Counts of either colour since the call began, by [`Colour::index`].
    pub colours: [ColourCount; 2],
}

/// Packets of a colour since the call began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColourCount {
    /// One more than the highest number received.
    pub expected: u64,
    /// Packets received.
    pub received: u64,
    /// Sum of their one-way delays.
    pub delay: Span,
}

/// The outcome of an adaptive call. Shares are of the time from its start to its stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioOutcome {
    /// It sent mainly with its own codepoint.
    pub green_share: f64,
    /// It sent mainly with its other codepoint.
    pub blue_share: f64,
    /// It sent nothing.
    pub off_share: f64,
    /// Changes of codepoint.
    pub changes: u64,
    /// Times it gave up for a while.
    pub hang_ups: u64,
    /// Rate of the codec while on and off, without headers and error correction, Mbit/s.
    pub codec_mbps: f64,
}
