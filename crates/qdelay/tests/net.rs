//! Tests of the command with packets of real programs, in network namespaces. Without namespaces these tests are skipped.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
mod common;
mod gateway_support;
mod link_support;
#[path = "../../qdelay-emu/tests/net_support/machine.rs"]
mod machine;

mod cell_real;
mod gateway;
mod gateway_input;
mod gateway_offload;
mod link;
mod link_changes;
mod link_ends;
mod link_input;
mod link_lines;
mod link_nat;
mod link_out;
mod link_own;
mod link_row;
mod link_services;
mod link_user;
mod live;
mod mahimahi;
mod quic_real;
mod run_real;
mod soak;
mod stream;
mod terminal_support;
mod tutorial_support;
mod tutorials_real;
mod webrtc;
mod wire;

main!(waits);
