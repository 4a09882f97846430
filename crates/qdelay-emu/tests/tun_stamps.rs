//! Time stamps of a TUN device: the first packets after the device was read empty have one.

use crate::net_support::{host, link, pause};
use qdelay_core::Span;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::device::Device;
use qdelay_emu::device::tun::Tun;
use qdelay_emu::link_setup::LinkSetup;
use qdelay_testing::eventually;
use std::net::UdpSocket;

/// Length of a datagram of 100 bytes as an IPv4 packet.
const OURS: usize = 128;

/// Reads all packets that wait: their lengths and time stamps.
fn drain(device: &mut Tun) -> Vec<(usize, Option<u64>)> {
    let mut buffer = [0; 2000];
    std::iter::from_fn(|| {
        let stamp = device.next_stamp();
        let received = device.receive(&mut buffer).expect("read")?;
        Some((received.bytes, stamp))
    })
    .collect()
}

/// A link, and a socket inside whose datagrams leave by it.
fn link_with_sender() -> (LinkSetup, UdpSocket) {
    let link = link(&host()).expect("a link");
    let sender = link.namespace.run(|| UdpSocket::bind("0.0.0.0:0")).expect("a socket");
    sender.connect((link.addresses.outside, 9)).expect("connected");
    (link, sender)
}

#[test]
fn packets_have_their_arrival_time() {
    let (mut link, sender) = link_with_sender();
    let send = || assert_eq!(sender.send(&[0; 100]).expect("sent"), 100);
    let mut clock = RealClock::start();
    assert!(link.inside.is_stamped() && link.outside.is_stamped());
    // What arrived before the device was first read empty has no time stamp.
    send();
    assert_eq!(link.inside.next_stamp(), None);
    assert!(drain(&mut link.inside).contains(&(OURS, None)));
    for _ in 0..3 {
        // Other packets of the new interface may come between.
        eventually("three packets alone", || {
            drain(&mut link.inside);
            let mut between = vec![clock.now()];
            for _ in 0..3 {
                send();
                between.push(clock.now());
            }
            let stamp = link.inside.next_stamp();
            (0..4).for_each(|_| pause());
            assert_eq!(link.inside.next_stamp(), stamp, "nothing was read by looking");
            let late = clock.now();
            let read = drain(&mut link.inside);
            let times: Vec<_> =
                read.iter().map(|(_, stamp)| clock.convert_wall_clock(stamp.expect("some"), late)).collect();
            assert!(times.is_sorted());
            // Room for the comparison of two clocks on a busy machine.
            let slack = Span::from_millis(5);
            let is_between = |(time, sent): (_, &[_])| sent[0] <= time + slack && time <= sent[1] + slack;
            read.len() == 3 && times.into_iter().zip(between.windows(2)).all(is_between)
        });
    }
}

#[test]
fn a_backlog_has_time_stamps_at_its_beginning() {
    let (mut link, sender) = link_with_sender();
    drain(&mut link.inside);
    for count in [255, 256, 257, 600, 1] {
        for _ in 0..count {
            sender.send(&[0; 100]).expect("sent");
        }
        let read = drain(&mut link.inside);
        let stamped = read.iter().filter(|(_, stamp)| stamp.is_some()).count();
        assert!(read.len() >= count, "{} of {count}", read.len());
        assert_eq!(stamped, read.len().min(256));
        assert!(read[..stamped].is_sorted_by_key(|(_, stamp)| *stamp));
    }
}

#[test]
fn packets_of_the_owner_have_no_time_stamp() {
    let host = host();
    let mut link = link(&host).expect("a link");
    drain(&mut link.outside);
    // An IPv4 header without a packet that anyone answers.
    let mut packet = [0; 28];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 28]);
    (packet[8], packet[9]) = (64, 17);
    let stamps = (0..50).filter(|_| {
        drain(&mut link.outside);
        link.outside.send(&packet).expect("written");
        link.outside.next_stamp().is_some()
    });
    // The interface may send a packet of its own meanwhile.
    assert!(stamps.count() < 5);
}
