//! The channel of a UE: its quality, the quality that the cell knows, and the loss of blocks.
//!
//! A [`Channel`] is a declaration; [`Channel::start`] makes a [`Radio`] of it. In every TTI in which the UE has data,
//! [`Radio::known`] is the quality that the scheduler knows, [`Radio::quality`] is the real one, and [`Bler`] is the probability
//! that a block for the former is lost on the latter. docs/radio.md describes the model.
//!
//! A new channel is a file, its `mod` line and a line of the registry below.

mod bler;
mod capacity;
mod channel;
mod control;
mod cqi;
mod custom;
mod decoding;
mod dispatch;
mod error;
mod fading;
mod mcs;
mod olla;
mod quality;
mod rank;
mod schemes;
mod steps;
mod tdd;
mod thresholds;
mod volume;

pub use bler::Bler;
pub use channel::{Radio, Reported};
pub use control::Control;
pub use custom::{ChannelModel, CustomChannel, custom};
pub(crate) use decoding::loss;
pub use decoding::{Combining, DECODINGS, Decoding};
pub use error::RadioError;
pub use olla::{ADAPTATIONS, OllaSetting};
pub use quality::Quality;
pub use schemes::{MAPPING, mapping};
pub use tdd::{DUPLEXES, Tdd};

use crate::tables::Carrier;
use alloc::format;
use channel::Source;
use dispatch::channels;
use qdelay_core::Time;
use qdelay_core::component::{Arguments, Component, ComponentError};

channels! {
    named: {
        mcs::Mcs,
        cqi::Cqi,
        fading::Fading,
    }
    recorded: {
        steps::CqiTrace,
    }
    bytes: {
        volume::Capacity,
        volume::Rates,
        volume::Opportunities,
    }
}

/// A channel that users can name. Its file implements this besides its `COMPONENT`.
pub(crate) trait Named {
    /// The channel that `arguments` of its `COMPONENT` describe.
    fn build(arguments: &Arguments) -> Self;
}

/// A channel that has a quality at each time.
pub(crate) trait Declared {
    /// Type of the running channel.
    type Walk: Walk;

    /// Starts the channel on `carrier`; its random stream is derived from `seed` and `name`. Fails if the
    /// carrier does not support it.
    fn start(&self, carrier: &Carrier, seed: u64, name: &str) -> Result<Self::Walk, RadioError>;

    /// Returns true if the quality is the same in every TTI.
    fn is_constant(&self) -> bool;

    /// Returns true if the quality follows from an SNR, so that a rank can follow from it too.
    fn has_snr(&self) -> bool {
        false
    }

    /// Share of Shannon's bound that the channel reaches.
    fn share(&self) -> f64 {
        thresholds::SHARE
    }
}

/// The quality of a channel, at times that never decrease.
pub(crate) trait Walk {
    /// The quality at `now`.
    fn quality_at(&mut self, now: Time) -> Quality;

    /// The SNR at `now` in dB from which the quality follows; `None` if the channel has none.
    fn snr_db(&mut self, now: Time) -> Option<f64> {
        let _ = now;
        None
    }
}

/// A channel with a constant quality.
#[derive(Clone, Debug)]
pub(crate) struct Constant(Quality);

impl Walk for Constant {
    fn quality_at(&mut self, _: Time) -> Quality {
        self.0
    }
}
