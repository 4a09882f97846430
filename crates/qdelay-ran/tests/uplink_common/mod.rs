//! Drives an uplink as `cell_common` drives a cell.

use crate::cell_common::{Arrival, Host, What};
use qdelay_core::{Packet, Time};
use qdelay_ran::{UplinkCell, UplinkSetting};

/// Runs what is due by `end`, each at its time.
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

/// Every packet ended once or is inside, and every resource block is counted.
pub fn audit(uplink: &UplinkCell, host: &Host, arrivals: &[Arrival]) {
    let mut ended = vec![0; arrivals.len()];
    for event in &host.log {
        if let What::Delivered(handle, _) | What::Dropped(handle, _) = event.what {
            ended[handle as usize] += 1;
        }
    }
    for queue in &host.queues {
        queue.iter().for_each(|packet| ended[packet.handle as usize] += 1);
    }
    let open: Vec<usize> = (0..arrivals.len()).filter(|&n| ended[n] == 0).collect();
    assert!(ended.iter().all(|&n| n <= 1), "ended twice");
    let inside = uplink.inside();
    assert_eq!(inside.packets, open.len() as u64);
    assert_eq!(inside.bytes, open.iter().map(|&n| u64::from(arrivals[n].2)).sum::<u64>());
    let usage = uplink.usage(host.now);
    assert_eq!(usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
    assert!(usage.repeated_rbs <= usage.used_rbs);
}
