//! Calls with video: frames from an encoder that follows a rate, packets on their way, and frames as the viewer has them.
//!
//! | file | what |
//! | --- | --- |
//! | [`encoder`] | frames, key frames, sizes that follow the rate with a lag |
//! | [`ladder`] | sizes of pictures |
//! | [`pacer`] | when packets leave |
//! | [`sender`] | all of the sender |
//! | [`history`] | packets that were sent |
//! | [`gcc`] | Google Congestion Control |
//! | [`scream`] | SCReAM v2 |
//! | [`wire`] | the packet format |
//! | [`feedback`] | what the receiver tells |
//! | [`nack`] | what it asks for again |
//! | [`receiver`] | all of the receiver |
//! | [`frames`] | the life of each frame, and the outcome of the call |
//! | [`quality`] | the score of a second |
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

/// What decides the rate of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// Google Congestion Control.
    Gcc {
        /// Whether bursts look for capacity.
        probes: bool,
    },
    /// SCReAM v2.
    Scream {
        /// Target of the queue delay.
        delay: Span,
        /// What marks mean.
        marks: Marks,
    },
    /// Nothing: `most` is the rate, and frames leave as bursts.
    None,
}

/// The settings of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoConfig {
    /// What decides its rate.
    pub control: Control,
    /// Lowest rate of IP packets.
    pub least: Rate,
    /// Highest.
    pub most: Rate,
    /// The first.
    pub start: Rate,
    /// Of the frames.
    pub encoder: EncoderConfig,
    /// Rate of the pacer over the target.
    pub pacing: f64,
    /// From a report to the next.
    pub feedback: Span,
    /// Whether lost packets are asked for.
    pub nack: bool,
    /// From capture to the time at which a frame is to be shown.
    pub playout: Span,
}
