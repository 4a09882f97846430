//! Real devices, in network namespaces of their own. Where the machine has none to give, these tests are skipped.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
mod common;
mod net_support;

mod net_command;
mod net_link;
mod net_transient;
mod net_user;
mod packet_socket;

main!(waits);
