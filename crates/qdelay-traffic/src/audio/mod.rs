//! An adaptive call (ABE): the source adapts its rate to the network, and chooses the colour of its packets.
//!
//! A network may offer two services: *green*, with little delay and more loss, and *blue*, with more delay and less loss. The
//! source sends most packets with one colour, and a few with the other colour to measure it. TFRC paces all packets
//! ([`crate::tfrc`]). If neither colour offers the least usable rate, the source hangs up, and calls again after a pause.
//!
//! | file | contents |
//! | --- | --- |
//! | [`choice`] | the utility of a call and its estimates per colour |
//! | [`Source`] | frames, their size and colour, epochs |
//! | [`Listener`] | TFRC's receiver, and packet counts per colour |
//!
//! The source measures the two services without knowing their parameters. It sends green if green has the least rate, because delay has priority;
//! blue if only blue has the least rate; nothing if neither has.
//!
//! Source: Hurley et al. 2001 (ABE), Fig. 1, which defines the utility and leaves the rest to its reference 6; estimates,
//! epochs and pauses are ours. Frames are smaller than TCP's packets, so TFRC follows RFC 4828: the equation uses the
//! size of a TCP packet, the resulting rate includes frames and headers, and a short loss interval counts once per lost packet.
//!
//! # Differences from the reference
//! * The paper's figure distinguishes regions of load; here the source does not know the load.
//! * Forward error correction adds bytes in proportion to the loss, and is assumed to repair every loss.
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

use crate::tfrc::intervals::LossCount;
use crate::tfrc::{DataHeader, Equation, RateConfig, ReceiverConfig, Report, TfrcConfig};
use qdelay_core::{Rate, Span};

/// Size of a report's IP packet, bytes: that of TFRC, and for each colour two counts of two bytes and a delay of four bytes.
pub const REPORT_BYTES: u32 = crate::tfrc::REPORT_BYTES + 16;

/// The colour of a packet: one of two services of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The flow's own codepoint: little delay.
    #[default]
    Green,
    /// The flow's other codepoint: little loss.
    Blue,
}

impl Colour {
    /// Both colours, in the order of [`Colour::index`].
    pub const ALL: [Colour; 2] = [Colour::Green, Colour::Blue];
    /// Index of the colour in arrays: 0 for green, 1 for blue.
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

/// Settings of an adaptive call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioConfig {
    /// Interval between frames; each frame is one packet.
    pub interval: Span,
    /// Utility of rate and delay.
    pub utility: Utility,
    /// Forward error correction per byte of the codec, as a multiple of the share of packets lost.
    pub correction: f64,
    /// Share of the packets that have the other colour, 0 to 1.
    pub probe: f64,
    /// Interval between decisions.
    pub epoch: Span,
    /// First pause after hanging up. Each further pause is twice as long, up to 16 times the first, until a call lasts longer than the next pause.
    pub pause: Span,
    /// TFRC's equation for the size of a TCP packet.
    pub equation: Equation,
}

impl AudioConfig {
    /// Settings of TFRC's sender.
    pub fn rate(&self) -> RateConfig {
        let initial_window = RateConfig::standard_window(self.equation.segment_bytes as u32);
        RateConfig { equation: self.equation, damping: false, initial_window }
    }
    /// Settings of TFRC's receiver.
    pub fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig {
            equation: self.equation,
            count: LossCount::Short,
            ..TfrcConfig::standard(self.equation.segment_bytes as u32).receiver
        }
    }
    /// Bytes of a frame at the codec's rate `rate`, without headers, with forward error correction for the loss ratio `loss`, 0 to 1.
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
    /// Number of the call within the flow; wraps. Each call has a TFRC connection of its own.
    pub call: u8,
    /// Header of TFRC. Each colour is a TFRC lane: see [`Colour::of_lane`].
    pub data: DataHeader,
}

/// The contents of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AudioReport {
    /// Number of the call within the flow; wraps.
    pub call: u8,
    /// Report of TFRC.
    pub report: Report,
    /// Packet counts of each colour since the call began, by [`Colour::index`].
    pub colours: [ColourCount; 2],
}

/// Packet counts of a colour since the call began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColourCount {
    /// Packets sent as far as known: one more than the highest number received.
    pub expected: u64,
    /// Packets received.
    pub received: u64,
    /// Sum of the one-way delays of the received packets.
    pub delay: Span,
}

/// Outcome of an adaptive call. Shares are of the time from the end of the warm-up to the end of the flow, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AudioOutcome {
    /// Share of the time with the own codepoint as the main one.
    pub green_share: f64,
    /// Share of the time with the other codepoint as the main one.
    pub blue_share: f64,
    /// Share of the time without a call.
    pub off_share: f64,
    /// Changes of the main codepoint.
    pub changes: u64,
    /// Number of times that the source hung up.
    pub hang_ups: u64,
    /// Mean rate of the codec over all of the time, without headers and error correction, Mbit/s.
    pub codec_mbps: f64,
}
