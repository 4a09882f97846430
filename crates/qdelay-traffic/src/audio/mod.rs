//! A call that adapts: to the rate that the network leaves it, and by the colour of its packets.
//!
//! A network may offer two ways to the same place: *green*, with little delay and more loss, and *blue*, with more delay and
//! less loss. The source sends most packets by one of them, and a few by the other to see what that is like. Whatever it sends
//! is paced by TFRC ([`crate::tfrc`]); when both ways leave it less than it can work with, it hangs up, and calls again later.
//!
//! | file | what |
//! | --- | --- |
//! | [`choice`] | utility, and what either colour would be worth |
//! | [`Source`] | frames, their size and colour, epochs |
//! | [`Listener`] | TFRC's receiver, and what came of either colour |
//!
//! Which colour is which is the network's business: the source only measures. It is green where it can be because delay is what
//! it minds, blue where only blue has the rate it needs, and off where none has.
//!
//! Source: Hurley et al. 2001 (ABE), Fig. 1, which states the utility and leaves the rest to its sixth reference; the estimates,
//! epochs and pauses are ours. TFRC for frames that are smaller than TCP's packets is as in RFC 4828: the equation has the size of a
//! TCP packet, the rate that it gives is shared by frames and headers, and short loss intervals count by their losses.
//!
//! # Differences from the reference
//! * The paper's figure has regions of load; here nothing knows the load.
//! * Forward error correction is a number of bytes, in proportion to the loss, and taken to repair all of it.
//! * Of RFC 4828 the cap of 100 packets a second is not here.
//! * One-way delays are differences of two clocks that agree, as they do in the simulator.

pub mod choice;
mod component;
mod ends;
mod listener;
mod source;

pub use choice::Utility;
pub(crate) use component::{COMPONENTS, build};
pub use ends::{AudioEnds, AudioOutcome};
pub use listener::Listener;
pub use source::{AudioPacket, AudioTimes, Source};

use crate::tfrc::{DataHeader, Equation, RateConfig, ReceiverConfig, Report};
use qdelay_core::{Rate, Span};

/// Bytes of a report's IP packet: TFRC's, and two counts of two bytes and a delay of four for each colour.
pub const REPORT_BYTES: u32 = crate::tfrc::REPORT_BYTES + 16;

/// The two ways to send.
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
    /// Its place in lists.
    pub const fn index(self) -> usize {
        self as usize
    }
    /// The colour of a lane of TFRC.
    pub const fn of_lane(lane: u8) -> Colour {
        if lane == 0 { Colour::Green } else { Colour::Blue }
    }
    /// The other one.
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
    /// From one frame to the next; each is a packet.
    pub interval: Span,
    /// What it wants of rate and delay.
    pub utility: Utility,
    /// Bytes of forward error correction, over those of the codec and the share of packets lost.
    pub correction: f64,
    /// Share of the packets that have the other colour, 0 to 1.
    pub probe: f64,
    /// How often it decides.
    pub epoch: Span,
    /// How long it is off at first; twice as long each time, up to 16 times, until a call lasts longer than the next pause would.
    pub pause: Span,
    /// TFRC's equation, with the size of a TCP packet.
    pub equation: Equation,
}

impl Default for AudioConfig {
    /// 16 to 64 kbit/s each 20 ms, beside TCP with packets of 1000 bytes.
    fn default() -> Self {
        AudioConfig {
            interval: Span::from_millis(20),
            utility: Utility::default(),
            correction: 2.0,
            probe: 0.05,
            epoch: Span::from_secs(5),
            pause: Span::from_secs(10),
            equation: Equation::recommended(1000),
        }
    }
}

impl AudioConfig {
    /// TFRC's sender.
    pub fn rate(&self) -> RateConfig {
        let initial_window = RateConfig::standard_window(self.equation.segment_bytes as u32);
        RateConfig { equation: self.equation, damping: false, initial_window }
    }
    /// TFRC's receiver.
    pub fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig { equation: self.equation, reorder: 3, discounting: true, by_losses: true }
    }
    /// Bytes of a frame at a rate of the codec, with forward error correction for a share of packets lost, without headers.
    pub(crate) fn frame_bytes(&self, rate: Rate, loss: f64) -> f64 {
        rate.as_bps() as f64 / 8.0 * self.interval.as_secs_f64() * self.overhead(loss)
    }
    /// What forward error correction makes of a byte.
    pub(crate) fn overhead(&self, loss: f64) -> f64 {
        1.0 + self.correction * loss
    }
}

/// What stands in a data packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioHeader {
    /// Which call of this source; wraps. Each has a TFRC connection of its own.
    pub call: u8,
    /// TFRC's part. Each colour is a lane of it: see [`Colour::of_lane`].
    pub data: DataHeader,
}

/// What stands in a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AudioReport {
    /// Which call it is about.
    pub call: u8,
    /// TFRC's part.
    pub report: Report,
    /// What came of either colour since the call began, by [`Colour::index`].
    pub colours: [ColourCount; 2],
}

/// Packets of a colour since the call began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColourCount {
    /// One more than the highest number that came.
    pub expected: u64,
    /// Packets that came.
    pub received: u64,
    /// Their one-way delays together.
    pub delay: Span,
}
