//! Transports and applications as state machines: no sockets, no clock, no threads.
#![no_std]
extern crate alloc;

pub mod audio;
pub mod biases;
pub mod control;
pub mod emodel;
mod gaming;
pub mod playout;
pub mod segment;
pub mod tcp;
pub mod tfrc;
pub mod transport;
pub mod udp;
pub mod voice;
