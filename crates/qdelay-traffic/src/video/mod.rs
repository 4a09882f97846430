//! Video calls: an encoder that follows a target rate, packets on the path, and the frames that the viewer sees.
//!
//! | file | contents |
//! | --- | --- |
//! | [`encoder`] | frames, key frames, frame sizes that follow the rate with a lag |
//! | [`ladder`] | picture sizes |
//! | [`pacer`] | send times of packets |
//! | [`sender`] | the sender: encoder, packets, control |
//! | [`history`] | sent packets |
//! | [`gcc`] | Google Congestion Control |
//! | [`scream`] | SCReAM v2 |
//! | [`wire`] | the packet format |
//! | [`feedback`] | reports of the receiver |
//! | [`nack`] | requests for missing packets |
//! | [`receiver`] | the receiver: frames, decoding, requests, reports |
//! | [`frames`] | records of frames, and the outcome of the call |
//! | [`quality`] | mean opinion score of a second |
//!
//! Time is an argument of every call. Nothing is allocated per packet once queues have grown; a frame takes 40 bytes for as long as the
//! run lasts.

mod component;
pub mod encoder;
mod ends;
pub mod feedback;
pub mod frames;
pub mod gcc;
pub mod history;
pub mod ladder;
pub mod nack;
pub mod pacer;
pub mod quality;
pub mod receiver;
pub mod scream;
pub mod sender;
pub mod wire;

pub(crate) use component::{COMPONENTS, build};
pub use ends::VideoEnds;
pub use frames::VideoOutcome;

use encoder::EncoderConfig;
use qdelay_core::{Rate, Span};
use scream::Marks;

/// Control of the rate of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Google Congestion Control.
    Gcc {
        /// Whether bursts of packets probe for capacity.
        probes: bool,
        /// Signals that set the rate.
        signals: gcc::Signals,
    },
    /// SCReAM v2.
    Scream {
        /// Target of the queue delay.
        delay: Span,
        /// Meaning of congestion marks.
        marks: Marks,
    },
    /// No control: the rate is `most`, and each frame leaves as a burst.
    None,
}

/// Importance of frames as PDU sets, 1 (the most important) to 15 (TS 26.522 clause 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Importance {
    /// Key frames, without which later frames cannot be decoded.
    pub key: u8,
    /// Other frames.
    pub other: u8,
}

/// Settings of a video call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoConfig {
    /// Control of the rate.
    pub control: Control,
    /// Lowest rate, in IP bytes.
    pub least: Rate,
    /// Highest rate, in IP bytes.
    pub most: Rate,
    /// Initial rate, in IP bytes.
    pub start: Rate,
    /// Settings of the encoder.
    pub encoder: EncoderConfig,
    /// Rate of the pacer relative to the target rate.
    pub pacing: f64,
    /// Interval between reports.
    pub feedback: Span,
    /// Whether the receiver requests lost packets.
    pub nack: bool,
    /// Playout delay: time from the capture of a frame to its display.
    pub playout: Span,
    /// Importance of frames as PDU sets.
    pub importance: Importance,
}
