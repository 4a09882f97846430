//! Tests with real devices, in network namespaces of their own. Skipped if the machine does not permit namespaces.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
mod common;
mod net_support;

mod net_command;
mod net_link;
mod net_services;
mod net_transient;
mod net_user;
mod packet_socket;
mod tun_stamps;

main!(waits);
