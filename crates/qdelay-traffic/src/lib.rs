//! Transports and applications as state machines: no sockets, no clock, no threads.
#![no_std]
extern crate alloc;

pub mod audio;
pub mod biases;
mod contents;
pub mod control;
pub mod datagrams;
pub mod emodel;
pub mod ends;
mod gaming;
mod knobs;
mod parameter;
pub mod playout;
mod profile;
pub mod segment;
pub mod tcp;
pub mod tfrc;
pub mod transport;
pub mod udp;
pub mod voice;
mod voip;
