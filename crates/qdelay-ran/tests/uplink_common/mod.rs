//! A driver of an uplink, as `cell_common` drives a cell.

use crate::cell_common::{Arrival, Host, audit_of};
use qdelay_core::{Packet, Time};
use qdelay_ran::{UplinkCell, UplinkSetting};

/// Runs the events due by `end`, each at its time.
pub fn advance(uplink: &mut UplinkCell, host: &mut Host, end: Time) {
    while uplink.next_deadline() <= end && uplink.next_deadline() < Time::NEVER {
        host.now = uplink.next_deadline();
        host.runs += 1;
        uplink.run(host.now, host);
        assert!(uplink.next_deadline() > host.now, "all that is due was done");
    }
    host.now = end;
}

/// Puts `packet` into its queue.
pub fn arrive(uplink: &mut UplinkCell, host: &mut Host, bearer: usize, packet: Packet) {
    let packet = Packet { arrival: host.now, ..packet };
    host.queues[bearer].push_back(packet);
    uplink.announce(bearer, packet.bytes);
    if host.queues[bearer].len() == 1 {
        uplink.wake(host.now, bearer);
    }
}

/// Drives an uplink to `end` with `arrivals` in the order of their times; a packet's handle is its number.
pub fn drive(setting: UplinkSetting, seed: u64, arrivals: &[Arrival], end: u64) -> (UplinkCell, Host) {
    let mut uplink = UplinkCell::new(setting, seed, "uplink").unwrap();
    let mut host = Host::new(uplink.bearers());
    for (handle, &(time, bearer, bytes)) in arrivals.iter().enumerate() {
        advance(&mut uplink, &mut host, Time::from_nanos(time));
        arrive(&mut uplink, &mut host, bearer, Packet { handle: handle as u64, bytes, ..Packet::default() });
    }
    advance(&mut uplink, &mut host, Time::from_nanos(end));
    (uplink, host)
}

/// Checks that every packet ended once or is inside, and that every resource block is counted.
pub fn audit(uplink: &UplinkCell, host: &Host, arrivals: &[Arrival]) {
    audit_of(uplink.inside(), uplink.usage(host.now), host, arrivals);
}
