//! Tests of the QUIC transport.

#[macro_use]
extern crate qdelay_testing;

main!();
