//! The proxy from outside: its engine beside a model, and sockets on the loopback interface.

#[macro_use]
extern crate qdelay_testing;

mod common;

mod engine;
mod model;
mod sockets;

main!(waits);
