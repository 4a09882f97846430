//! The host's resolv.conf(5): any text has a server, and points at another one afterwards.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_emu::dns::Configuration;
use std::net::{IpAddr, Ipv4Addr};

fuzz_target!(|text: &str| {
    let read = Configuration::parse(text);
    assert!((1..=3).contains(&read.servers.len()));
    let other = Ipv4Addr::new(100, 64, 0, 1);
    let again = Configuration::parse(&read.pointing_at(other));
    assert_eq!(again.servers.iter().map(|server| server.ip()).collect::<Vec<_>>(), [IpAddr::V4(other)]);
});
