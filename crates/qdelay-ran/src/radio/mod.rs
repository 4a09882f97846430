//! The channel of a UE: how good it is, what of it the cell knows, and how often a block is lost.
//!
//! A [`Channel`] is declared; [`Channel::start`] makes a [`Radio`] of it, which is asked in every TTI in which its UE has
//! data: [`Radio::known`] for what the scheduler takes the channel for, [`Radio::quality`] for how it is, [`Bler`] for what
//! becomes of a block sent with the one on the other. docs/radio.md describes all of it.

mod bler;
mod capacity;
mod channel;
mod component;
mod control;
mod error;
mod fading;
mod process;
mod quality;

pub use bler::Bler;
pub use channel::{Channel, Radio, Reported};
pub use component::COMPONENTS as CHANNELS;
pub use control::Control;
pub use error::RadioError;
pub use fading::Fading;
pub use quality::Quality;
