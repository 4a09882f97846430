//! The channel of a UE: how good it is, what of it the cell knows, and how often a block is lost.
//!
//! A [`Channel`] is declared; [`Channel::start`] makes a [`Radio`] of it, which is asked in every TTI in which its UE has
//! data: [`Radio::known`] for what the scheduler takes the channel for, [`Radio::quality`] for how it is, [`Bler`] for what
//! becomes of a block sent with the one on the other. docs/radio.md describes all of it.
//!
//! A new one is a file, its `mod` line and a line of the registry below.

mod bler;
mod capacity;
mod channel;
mod control;
mod cqi;
mod custom;
mod dispatch;
mod error;
mod fading;
mod mcs;
mod quality;
mod schemes;
mod steps;
mod volume;

pub use bler::Bler;
pub use channel::{Radio, Reported};
pub use control::Control;
pub use custom::{ChannelModel, CustomChannel, custom};
pub use error::RadioError;
pub use quality::Quality;
pub use schemes::{MAPPING, mapping};

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

/// A channel that text can name: what its file has beside its `COMPONENT`.
pub(crate) trait Named {
    /// What `arguments` of its `COMPONENT` say.
    fn build(arguments: &Arguments) -> Self;
}

/// A channel that has a quality at each time.
pub(crate) trait Declared {
    /// The same while it runs.
    type Walk: Walk;

    /// The channel on `carrier`; its random stream is derived from `seed` and `name`. Refuses what the carrier does not have.
    fn start(&self, carrier: &Carrier, seed: u64, name: &str) -> Result<Self::Walk, RadioError>;

    /// Whether it is the same in every TTI.
    fn is_constant(&self) -> bool;
}

/// How good a channel is, asked at times that never decrease.
pub(crate) trait Walk {
    /// The quality at `now`.
    fn at(&mut self, now: Time) -> Quality;
}

/// Always alike.
#[derive(Clone, Debug)]
pub(crate) struct Constant(Quality);

impl Walk for Constant {
    fn at(&mut self, _: Time) -> Quality {
        self.0
    }
}
