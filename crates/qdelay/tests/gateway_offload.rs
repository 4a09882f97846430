//! `qdelay gateway` between hosts whose interfaces have all offloads on, as those of containers and virtual machines: transfers by TCP
//! come in super-packets, which the gateway splits. No result depends on timing. Without permission to make namespaces the test is
//! skipped.

use crate::gateway_support::openmetrics::Metrics;
use crate::gateway_support::{INSIDE, LONG, Network, OUTSIDE, ip, network};
use qdelay_emu::netns::Namespace;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Bytes of each transfer.
const TRANSFER: usize = 6_000_000;
/// Longest IP packet, and most payload of a TCP segment in it, in bytes.
const MTU: f64 = 1500.0;
const SEGMENT: usize = 1460;

/// Sends `TRANSFER` bytes to `at`, an address of `to`, and reads them there.
fn transfer(from: &Namespace, to: &Namespace, at: &str) {
    let address: SocketAddr = format!("{at}:0").parse().unwrap();
    let listener = to.run(move || TcpListener::bind(address).unwrap());
    let address = listener.local_addr().unwrap();
    let mut client = from.run(move || TcpStream::connect_timeout(&address, LONG).unwrap());
    let mut server = listener.accept().unwrap().0;
    server.set_read_timeout(Some(LONG)).unwrap();
    let byte = |at: usize| (at % 253 + at / 100_000) as u8;
    let writing = std::thread::spawn(move || {
        client.write_all(&(0..TRANSFER).map(byte).collect::<Vec<u8>>()).unwrap();
    });
    let mut found = vec![0; TRANSFER];
    server.read_exact(&mut found).unwrap();
    writing.join().unwrap();
    assert!(found.iter().enumerate().all(|(at, found)| *found == byte(at)));
}

/// Lets the senders pass on as many segments at once as the kernel does by default.
fn with_offloads(network: &Network) {
    for host in [&network.inside, &network.outside] {
        assert!(ip(host, "link set eth0 gso_max_segs 65535"));
    }
}

#[test]
fn segments_are_queued_and_counted_one_by_one() {
    let network = network("offload");
    with_offloads(&network);
    // Every segment of a super-packet is dropped or sent on its own: 50 segments wait at most.
    let gateway = network.start(
        "",
        "[down]\nlink = \"200mbit\"\nqdisc = \"taildrop:limit=50\"\n[up]\nlink = \"1gbit\"\ndelay = \"1ms\"",
    );
    network.meet();
    transfer(&network.outside, &network.inside, INSIDE);
    transfer(&network.inside, &network.outside, OUTSIDE);
    let metrics = Metrics::parse(network.scrape().split_once("\r\n\r\n").expect("a head").1);
    for direction in ["down", "up"] {
        let count =
            |name: &str, stage: &str| metrics.get(name, &[("direction", direction), ("stage", stage)]);
        let (packets, bytes) = (count("qdelay_packets_total", "sent"), count("qdelay_bytes_total", "sent"));
        assert!(packets >= (TRANSFER / SEGMENT) as f64, "{direction}: {packets}");
        assert!(bytes >= TRANSFER as f64 && bytes <= MTU * packets, "{direction}: {bytes} in {packets}");
    }
    for cause in ["oversized", "pool_empty", "kernel_drops"] {
        assert_eq!(metrics.get("qdelay_outside_losses_total", &[("cause", cause)]), 0.0, "{cause}");
    }
    let said = gateway.stop();
    assert!(!said.contains("cannot be split"), "{said}");
    let line = said.lines().find(|line| line.starts_with("offload of senders: ")).expect(&said);
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [packets, supers] = numbers[..] else { panic!("{line}") };
    // Most segments of both transfers come in super-packets.
    assert!(packets > (TRANSFER / SEGMENT) as u64 && packets >= 2 * supers, "{line}");
}
