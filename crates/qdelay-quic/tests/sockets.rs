//! A connection over UDP sockets, and the settings that sockets refuse.

use crate::common::quic;
use qdelay_core::Span;
use qdelay_quic::socket::{Sending, check, receive, send};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Over this machine's loopback, with and without cryptography.
#[test]
fn a_transfer_between_sockets_arrives_complete_and_exact() {
    for text in ["quic:bytes=3mb:streams=3", "quic:newreno:bytes=2mb:crypto=tls"] {
        let config = quic(text);
        let address = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let receiver = {
            let (config, stop) = (config.clone(), Arc::clone(&stop));
            std::thread::spawn(move || receive(&config, address, 0, &stop))
        };
        let sending =
            Sending { to: address, from: None, dscp: 0, duration: None, warmup: Span::ZERO, seed: 1 };
        let sent = send(&config, &sending, &AtomicBool::new(false)).unwrap();
        let received = receiver.join().unwrap().unwrap();
        assert!(sent.completion_s.is_some());
        assert_eq!(Some(received.received.stream_bytes), config.bytes, "{text}");
        assert!(received.received.is_exact && received.received.finished == config.streams);
        // The packet that closes the connection is not counted by the sender.
        assert!(sent.packets_sent - sent.refused + 1 >= received.packets);
    }
}

#[test]
fn sockets_refuse_ecn_and_packets_above_the_mtu() {
    assert!(check(&quic("quic:ecn=on"), 1500).unwrap_err().contains("without ecn=on"));
    assert!(check(&quic("quic:size=4kb"), 1500).unwrap_err().contains("at most 1500b"));
    assert_eq!(check(&quic("quic:size=1500b:crypto=tls"), 1500), Ok(()));
}
