//! Pairs of captures with known packets.

use crate::imports::files::{
    KINDS, Kind, capture, capture_cut, capture_with_options, options, reversed, tcp6, two_interfaces, udp,
};
use qdelay::import::captures::{Comparison, Evidence, Way, both_sides, compare, side};

const MS: u64 = 1_000_000;
/// Times since 1970, later than the time offset of one of the formats.
const BEGIN: u64 = 1_764_000_000_000 * MS;

fn compared(first: &[u8], second: &[u8], offset: i64) -> Comparison {
    compare(&side("first", first).unwrap(), &side("second", second).unwrap(), offset)
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.003
}

/// Hundred packets with 5 ms of delay; each tenth takes 9 ms and arrives after the next one; each twentieth is lost.
#[test]
fn delay_loss_and_reordering_of_packets_that_are_known() {
    let sent: Vec<(u64, Vec<u8>)> =
        (0..100).map(|number| (BEGIN + number * 2 * MS, udp(number as u16, number as u32, 0))).collect();
    let delay = |number: u64| if number % 10 == 3 { 9 * MS } else { 5 * MS };
    let mut came: Vec<(u64, Vec<u8>)> = (0..100)
        .filter(|number| number % 20 != 7)
        // DSCP and hop limit differ, as networks change them.
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
    // Without the offset the direction back is taken for forth: the result says that the smallest delay is below 0, or has the wrong sign.
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

/// Capture as written by `qdelay link --pcap`: a dropped packet appears again with a comment.
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

/// A user's comment (Wireshark) marks no drop: drops have the comment of `qdelay link`, and flags without a direction.
#[test]
fn captures_comment() {
    let packet = |number: u32, ms: u64, options: Vec<u8>| {
        (0, BEGIN + number as u64 * 10 * MS + ms * MS, udp(number as u16, number, 0), options)
    };
    let sent: Vec<_> = (0..10).map(|number| packet(number, 0, Vec::new())).collect();
    let of = |comment: &str, flags: Option<u32>| {
        let commented = |number: u32| if number == 5 { options(comment, flags) } else { Vec::new() };
        let came: Vec<_> = (0..10).map(|number| packet(number, 5, commented(number))).collect();
        let [first, second] =
            [&sent, &came].map(|packets| side("x", capture_with_options(1, packets).as_slice()).unwrap());
        (compare(&first, &second, 0).ways[0].lost, second.counts.commented)
    };
    for comment in ["look at this one!", "dropped", "dropped by down: codel", "dropped by the firewall: why?"]
    {
        assert_eq!(of(comment, None), (0, 0), "{comment}");
        assert_eq!(of(comment, Some(1)), (0, 0), "{comment}, inbound");
    }
    assert_eq!(of("look at this one!", Some(0)), (0, 0));
    assert_eq!(of("dropped by down: codel", Some(0)), (1, 1));
}

/// Twenty requests and answers of one pair of ports, 10 ms each way; the second clock is ahead.
fn clocks_apart(ahead: i64) -> [Vec<(u64, Vec<u8>)>; 2] {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for number in 0..20_u64 {
        let request = udp(number as u16, number as u32, 0);
        let answer = reversed(udp(number as u16, number as u32 + 100, 0));
        let times = [0, 10, 13, 23].map(|ms| BEGIN + number * 20 * MS + ms * MS);
        let [there, back] = [times[1], times[2]].map(|time| time.saturating_add_signed(ahead));
        first.extend([(times[0], request.clone()), (times[3], answer.clone())]);
        second.extend([(there, request), (back, answer)]);
    }
    first.sort();
    second.sort();
    [first, second]
}

#[test]
fn import_clocks() {
    for (ahead_ms, offset_ms) in
        [(5_000_i64, 0_i64), (-3_600_000, 0), (30, 0), (-30, 0), (5_000, 5_000), (0, 0)]
    {
        let ahead = ahead_ms * MS as i64;
        let [first, second] = clocks_apart(ahead).map(|packets| capture(Kind::Micros, &packets));
        let comparison = compared(&first, &second, offset_ms * MS as i64);
        let [forth, back] = comparison.ways.as_slice() else { panic!("{comparison:?}") };
        assert_eq!((forth.way, forth.sent, forth.lost), (Way::Forth, 20, 0), "{ahead_ms}");
        assert_eq!((back.way, back.sent, back.lost), (Way::Back, 20, 0), "{ahead_ms}");
        let remains = (ahead_ms - offset_ms) as f64;
        assert_eq!((forth.delay_min_ms, back.delay_min_ms), (Some(10.0 + remains), Some(10.0 - remains)));
        assert_eq!(comparison.likely_offset_ms, Some(ahead_ms as f64));
        assert_eq!((forth.way_by, back.way_by), (Evidence::Reverse, Evidence::Reverse));
    }
}

/// The hop limit decides the direction of one-way traffic, and the sign of the delays without routers.
#[test]
fn import_clocks_of_one_way_traffic() {
    let behind = 30 * MS;
    let mut sent: Vec<_> =
        (0..20).map(|number| (BEGIN + number * 20 * MS, udp(number as u16, number as u32, 0))).collect();
    // After a router.
    let came: Vec<_> = sent
        .iter()
        .map(|(time, packet)| (time + 10 * MS - behind, udp(packet[5].into(), packet[31].into(), 1)))
        .collect();
    let capture = |packets: &[(u64, Vec<u8>)]| capture(Kind::Micros, packets);
    let comparison = compared(&capture(&sent), &capture(&came), 0);
    let way = &comparison.ways[0];
    assert_eq!((way.way, way.way_by, way.delay_min_ms), (Way::Forth, Evidence::HopLimit, Some(-20.0)));
    sent.iter_mut().for_each(|(_, packet)| packet[8] = 63);
    let way = &compared(&capture(&sent), &capture(&came), 0).ways[0];
    assert_eq!((way.way, way.way_by), (Way::Back, Evidence::Sign));
    let way = &compared(&capture(&sent), &capture(&came), -(behind as i64)).ways[0];
    assert_eq!((way.way, way.delay_min_ms), (Way::Forth, Some(10.0)));
}

/// A link without a limit delays few packets; these packets decide the direction.
#[test]
fn delays_of_nothing() {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for number in 0..20_u64 {
        let (request, answer) =
            (udp(number as u16, number as u32, 0), reversed(udp(number as u16, number as u32, 0)));
        let sent = BEGIN + number * 20 * MS;
        let delay = if number == 7 { 3 * MS } else { 0 };
        first.extend([(sent, request.clone()), (sent + 5 * MS + delay, answer.clone())]);
        second.extend([(sent, request), (sent + 5 * MS, answer)]);
    }
    let capture = |packets: &[(u64, Vec<u8>)]| capture(Kind::Micros, packets);
    let comparison = compared(&capture(&first), &capture(&second), 0);
    let ways: Vec<_> =
        comparison.ways.iter().map(|way| (way.way, way.sent, way.delay_ms.unwrap().max)).collect();
    assert_eq!(ways, [(Way::Forth, 20, 0.0), (Way::Back, 20, 3.0)]);
}

/// Flows without traffic back use the clock offset that other flows show.
#[test]
fn clock_offset_mixes_both_ways() {
    let [mut first, mut second] = clocks_apart(30 * MS as i64);
    for number in 0..10_u64 {
        // From the second end to the first, 12 ms by true time: 18 ms forth by the sign.
        let sent = BEGIN + number * 20 * MS + MS;
        second.push((sent + 30 * MS, tcp6(number as u32)));
        first.push((sent + 12 * MS, tcp6(number as u32)));
    }
    let capture = |packets: &[(u64, Vec<u8>)]| capture(Kind::Micros, packets);
    let comparison = compared(&capture(&first), &capture(&second), 0);
    let tcp = comparison.flows.iter().find(|flow| flow.flow.starts_with("tcp")).unwrap();
    assert_eq!((tcp.way, tcp.way_by, tcp.delay_min_ms), (Way::Back, Evidence::Sign, Some(-18.0)));
    assert_eq!(comparison.likely_offset_ms, Some(30.0), "the least delays are 40 and -20");
}

/// A capture beside itself: all differences are 0, and hop limits equal. Both directions keep their own way.
#[test]
fn a_flow_and_its_mirror_never_go_the_same_way() {
    let mut packets: Vec<_> = (0..20_u64)
        .flat_map(|number| {
            let packet = udp(number as u16, number as u32, 0);
            let time = BEGIN + number * 20 * MS;
            [(time, packet.clone()), (time + MS, reversed(packet))]
        })
        .collect();
    let same = |packets: &[(u64, Vec<u8>)]| {
        let file = capture(Kind::Micros, packets);
        let comparison = compared(&file, &file, 0);
        comparison.flows.iter().map(|flow| (flow.way, flow.sent, flow.lost)).collect::<Vec<_>>()
    };
    assert_eq!(same(&packets), [(Way::Forth, 20, 0), (Way::Back, 20, 0)]);
    // One address at both ends: ports tell the directions apart.
    packets.iter_mut().for_each(|(_, packet)| packet[19] = 1);
    packets.iter_mut().for_each(|(_, packet)| packet[15] = 1);
    assert_eq!(same(&packets), [(Way::Forth, 20, 0), (Way::Back, 20, 0)]);
}

/// A capture that keeps fewer bytes than are compared is matched by the bytes it has.
#[test]
fn short_snaplen_reads_as_loss() {
    let packets = |delay: u64| -> Vec<(u64, Vec<u8>)> {
        let packet = |number: u64| {
            if number.is_multiple_of(3) { tcp6(number as u32) } else { udp(0, number as u32, 0) }
        };
        (0..30).map(|number| (BEGIN + number * 10 * MS + delay, packet(number))).collect()
    };
    let whole = capture_cut(65_535, &packets(0));
    // 40 bytes: of UDP the payload's first 12 bytes; of TCP over IPv6 nothing.
    for (snap, shortened) in [(40, 20), (56, 10), (60, 10), (96, 0)] {
        let cut = side("cut", capture_cut(snap, &packets(10 * MS)).as_slice());
        let whole = side("whole", whole.as_slice()).unwrap();
        let Ok(cut) = cut else {
            let error = cut.unwrap_err().to_string();
            let wanted = "cut: keeps too little of 10 packets to tell them apart (40 of 72 bytes); expected at least 96 bytes";
            assert!(snap == 40 && error.starts_with(wanted), "{error}");
            continue;
        };
        assert_eq!((cut.counts.packets, cut.counts.shortened), (30, shortened), "{snap}");
        for (first, second) in [(&whole, &cut), (&cut, &whole)] {
            for way in compare(first, second, 0).ways {
                assert_eq!((way.sent, way.lost, way.at_the_edges), (30, 0, 0), "{snap}: {way:?}");
                assert_eq!(way.delay_min_ms, Some(10.0));
            }
        }
    }
}
