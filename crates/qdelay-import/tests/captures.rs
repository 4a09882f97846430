//! Two captures: what is known of the packets that went in.

use crate::files::{KINDS, Kind, capture, tcp6, two_interfaces, udp};
use qdelay_import::captures::{Comparison, Way, both_sides, compare, side};

const MS: u64 = 1_000_000;
/// Times since 1970, after the offset of one of the kinds.
const BEGIN: u64 = 1_764_000_000_000 * MS;

fn compared(first: &[u8], second: &[u8], offset: i64) -> Comparison {
    compare(&side("first", first).unwrap(), &side("second", second).unwrap(), offset)
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.003
}

/// A hundred packets that take 5 ms, each tenth 9 ms and so later than the next one; each twentieth is lost.
#[test]
fn delay_loss_and_reordering_of_packets_that_are_known() {
    let sent: Vec<(u64, Vec<u8>)> =
        (0..100).map(|number| (BEGIN + number * 2 * MS, udp(number as u16, number as u32, 0))).collect();
    let delay = |number: u64| if number % 10 == 3 { 9 * MS } else { 5 * MS };
    let mut came: Vec<(u64, Vec<u8>)> = (0..100)
        .filter(|number| number % 20 != 7)
        // With another codepoint and hop limit, as networks change them.
        .map(|number| (BEGIN + number * 2 * MS + delay(number), udp(number as u16, number as u32, 46)))
        .collect();
    came.sort_by_key(|(time, _)| *time);
    for kinds in KINDS.map(|kind| [kind, Kind::Pcapng]) {
        let comparison = compared(&capture(kinds[0], &sent), &capture(kinds[1], &came), 0);
        let [way] = comparison.ways.as_slice() else { panic!("{comparison:?}") };
        assert_eq!((way.way, way.sent, way.lost, way.at_the_edges), (Way::Forth, 100, 5, 0), "{kinds:?}");
        // Each of the ten came after the one that was sent next; none of these is lost.
        assert_eq!((way.reordered, way.copies, way.loss), (10, 0, 0.05), "{kinds:?}");
        let delay = way.delay_ms.unwrap();
        assert_eq!(delay.count, 95);
        assert!(
            near(way.delay_min_ms.unwrap(), 5.0) && near(delay.p50, 5.0) && near(delay.max, 9.0),
            "{way:?}"
        );
        assert!(near(delay.mean, (85.0 * 5.0 + 10.0 * 9.0) / 95.0), "{way:?}");
        assert_eq!(comparison.flows[0].flow, "udp 10.0.0.1:5000 > 10.0.0.2:5001");
        assert_eq!(comparison.packets.len(), 100);
        assert_eq!(comparison.packets.iter().filter(|packet| packet.delay.is_none()).count(), 5);
    }
}

#[test]
fn ways_offsets_and_edges() {
    // The client sends UDP and gets TCP; its clock is 40 ms behind.
    let ahead = 40 * MS;
    let mut client: Vec<(u64, Vec<u8>)> =
        (0..50).map(|number| (BEGIN + number * 10 * MS, udp(number as u16, number as u32, 0))).collect();
    let mut server: Vec<(u64, Vec<u8>)> =
        client.iter().skip(3).map(|(time, packet)| (time + 7 * MS + ahead, packet.clone())).collect();
    for number in 0..50 {
        server.push((BEGIN + number * 10 * MS + ahead, tcp6(number as u32)));
        client.push((BEGIN + number * 10 * MS + 11 * MS, tcp6(number as u32)));
    }
    client.sort_by_key(|(time, _)| *time);
    server.sort_by_key(|(time, _)| *time);
    let comparison = compared(&capture(Kind::Micros, &client), &capture(Kind::Micros, &server), ahead as i64);
    let [forth, back] = comparison.ways.as_slice() else { panic!("{comparison:?}") };
    assert_eq!((forth.way, forth.sent, forth.lost, forth.at_the_edges), (Way::Forth, 47, 0, 3));
    assert_eq!((back.way, back.sent, back.lost), (Way::Back, 50, 0));
    assert!(near(forth.delay_min_ms.unwrap(), 7.0) && near(back.delay_min_ms.unwrap(), 11.0));
    assert_eq!(comparison.flows[0].flow, "tcp [fd00::2]:443 > [fd00::1]:32768");
    // Without the offset the way back is the other way: what is said of it is that the least delay is below 0, or the sign is wrong.
    let wrong = compared(&capture(Kind::Micros, &client), &capture(Kind::Micros, &server), 0);
    assert!(near(wrong.ways[0].delay_min_ms.unwrap().min(47.0), 29.0), "{:?}", wrong.ways);
}

#[test]
fn copies_and_packets_that_are_alike() {
    let at = |times: &[u64]| -> Vec<(u64, Vec<u8>)> {
        times.iter().map(|time| (BEGIN + time * MS, udp(0, 1, 0))).collect()
    };
    let of = |sent: &[u64], came: &[u64]| {
        let comparison = compared(&capture(Kind::Pcapng, &at(sent)), &capture(Kind::Pcapng, &at(came)), 0);
        let way = comparison.ways[0].clone();
        (way.sent, way.copies, way.alike, way.delay_ms.map(|delay| delay.max))
    };
    assert_eq!(of(&[0], &[5, 6, 7]), (1, 2, 0, Some(5.0)), "duplicated on the way");
    assert_eq!(of(&[0, 10], &[5, 16]), (2, 0, 0, Some(6.0)), "in their order");
    assert_eq!(of(&[0, 10, 20], &[5, 25]), (2, 0, 2, None), "nobody can say which");
}

/// As `qdelay link --pcap` writes it: a dropped packet stands there once more, with a comment.
#[test]
fn both_ends_in_one_capture() {
    let at = |interface: u32, ms: u64, number: u32, is_dropped: bool| {
        (interface, BEGIN + ms * MS, udp(number as u16, number, 0), is_dropped)
    };
    let packets = [
        at(1, 0, 1, false),
        at(0, 4, 1, false),
        at(1, 10, 2, false),
        at(1, 11, 2, true),
        at(1, 20, 3, false),
        at(0, 26, 3, false),
    ];
    let file = two_interfaces(&packets);
    let [inside, outside] = both_sides("x", file.as_slice()).unwrap();
    assert_eq!((inside.counts.packets, outside.counts.packets, outside.counts.commented), (2, 3, 1));
    let comparison = compare(&inside, &outside, 0);
    let way = &comparison.ways[0];
    assert_eq!((way.way, way.sent, way.lost), (Way::Back, 3, 1));
    assert_eq!((way.delay_min_ms, way.delay_ms.map(|delay| delay.max)), (Some(4.0), Some(6.0)));
    let one = both_sides("x", capture(Kind::Pcapng, &[(BEGIN, udp(1, 1, 0))]).as_slice());
    let error = one.unwrap_err().to_string();
    assert!(
        error.contains("expected two captures, or one (pcapng) with an interface for each end"),
        "{error}"
    );
}
