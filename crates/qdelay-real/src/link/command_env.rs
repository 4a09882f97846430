//! Environment variables of the command and of its server: the ends of the links.

use qdelay_emu::link_setup::Addresses;
use std::net::IpAddr;
use std::process::Command;

/// Outer end of the outermost link: packets to it cross every link.
const OUTSIDE: [&str; 2] = ["QDELAY_OUTSIDE", "QDELAY_OUTSIDE6"];
/// The same under mahimahi's name, for scripts written for mahimahi.
const MAHIMAHI_BASE: &str = "MAHIMAHI_BASE";
/// Outer end of the nearest link.
const NEAREST: [&str; 2] = ["QDELAY_NEAREST", "QDELAY_NEAREST6"];
/// The command's device.
const INSIDE: [&str; 2] = ["QDELAY_INSIDE", "QDELAY_INSIDE6"];

/// Sets the variables. `MAHIMAHI_BASE` of a shell of mahimahi around the links stays if its address is reachable, with NAT.
pub(super) fn set(command: &mut Command, addresses: &Addresses, has_nat: bool) {
    let (outermost, outermost6) = addresses.outermost();
    let own6 = |which: fn((std::net::Ipv6Addr, std::net::Ipv6Addr)) -> std::net::Ipv6Addr| {
        addresses.ipv6.map(which).map(IpAddr::from)
    };
    for ([name, name6], address, address6) in [
        (OUTSIDE, outermost, outermost6.map(IpAddr::from)),
        (NEAREST, addresses.outside, own6(|(_, outside)| outside)),
        (INSIDE, addresses.inside, own6(|(inside, _)| inside)),
    ] {
        command.env(name, address.to_string());
        match address6 {
            Some(address) => command.env(name6, address.to_string()),
            None => command.env_remove(name6),
        };
    }
    let is_of_mahimahi = has_nat && !addresses.block.is_nested() && std::env::var_os(MAHIMAHI_BASE).is_some();
    if !is_of_mahimahi {
        command.env(MAHIMAHI_BASE, outermost.to_string());
    }
}
