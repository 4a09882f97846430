//! Truncated, damaged and random files.

use crate::imports::files::{KINDS, capture, reversed, tcp6, udp};
use crate::imports::irtt;
use arbtest::arbitrary::Unstructured;
use qdelay::import::captures::{Way, compare, compare_estimated, side};
use qdelay::import::clocks::estimate;
use qdelay::import::mahimahi_log::read;
use qdelay::import::replay::{Arrived, Choices, DelayPart, Unsaturated, traces};
use qdelay_core::Span;
use qdelay_testing::fuzz::{fuzz, mutate};

const BEGIN: u64 = 1_764_000_000_000_000_000;

fn packets() -> Vec<(u64, Vec<u8>)> {
    let packet =
        |number: u64| if number.is_multiple_of(3) { tcp6(number as u32) } else { udp(0, number as u32, 0) };
    (0..12).map(|number| (BEGIN + number * 1_000_000, packet(number))).collect()
}

/// A capture that ends at any byte yields the packets up to there.
#[test]
fn captures_that_end_anywhere() {
    for kind in KINDS {
        let whole = capture(kind, &packets());
        assert_eq!(side("x", whole.as_slice()).unwrap().counts.packets, 12);
        let mut before = 0;
        for length in 0..whole.len() {
            match side("x", &whole[..length]) {
                Ok(found) => {
                    assert!(found.counts.packets >= before && found.counts.packets <= 12);
                    before = found.counts.packets;
                }
                Err(error) => assert!(before == 0 && length < 4, "{kind:?} {length}: {error}"),
            }
        }
        assert_eq!(before, 11, "the last one is cut");
    }
}

#[test]
fn other_files_are_refused_as_captures() {
    for (bytes, wanted) in [
        (&b""[..], "an empty file; expected a capture"),
        (b"\x1f\x8b\x08\x00", "no capture; expected pcap or pcapng, not compressed"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\0\0\0\0", "no byte order"),
        (b"\x0a\x0d\x0d\x0a\x08\0\0\0\x4d\x3c\x2b\x1a", "a block of an impossible length"),
        (b"\x0a\x0d\x0d\x0a\xff\xff\xff\xff\x4d\x3c\x2b\x1a", "a block of an impossible length"),
    ] {
        let error = side("x.pcap", bytes).unwrap_err().to_string();
        assert!(error.starts_with("x.pcap") && error.contains(wanted), "{error}");
    }
    let mut huge = capture(KINDS[0], &packets());
    huge[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = side("x.pcap", huge.as_slice()).unwrap_err().to_string();
    assert!(error.contains("a packet of more than 16 MiB"), "{error}");
}

#[test]
fn anything_as_captures() {
    let mut both_ways = packets();
    both_ways.extend(
        packets()
            .into_iter()
            .filter(|(_, packet)| packet.len() == 60)
            .map(|(time, packet)| (time + 5, reversed(packet))),
    );
    let valid = KINDS.map(|kind| capture(kind, &both_ways));
    fuzz(1.0, |u: &mut Unstructured<'_>| {
        let first = u.choose(&valid)?.clone();
        let first = mutate(u, first, &[&[0xff; 4], &[0; 12], b"\x0a\x0d\x0d\x0a"])?;
        let second = u.choose(&valid)?.clone();
        let second = mutate(u, second, &[&[0x7f; 8], b"\x06\0\0\0\x20\0\0\0"])?;
        let offset = u.arbitrary()?;
        if let (Ok(first), Ok(second)) = (side("a", first.as_slice()), side("b", second.as_slice())) {
            let comparison = compare(&first, &second, offset);
            for flow in comparison.ways.iter().chain(&comparison.flows) {
                assert!(
                    flow.lost <= flow.sent && flow.sent <= first.counts.packets.max(second.counts.packets)
                );
            }
            if let Ok(comparison) = compare_estimated(&first, &second) {
                let arrived = |way: Way| {
                    let packets = comparison.packets.iter().filter(|packet| packet.way == way);
                    let arrived = packets.filter_map(|packet| {
                        Some(Arrived { sent: packet.sent, delay: packet.delay?, bytes: packet.bytes })
                    });
                    arrived.collect()
                };
                try_traces(&[arrived(Way::Forth), arrived(Way::Back)]);
            }
        }
        Ok(())
    });
}

/// Traces, if they can be made, are whole.
fn try_traces(directions: &[Vec<Arrived>]) {
    let choices = Choices {
        bin: Span::from_millis(100),
        window: Span::from_secs(10),
        delay: DelayPart::Base,
        unsaturated: Unsaturated::Hold,
        lead: Span::from_millis(50),
    };
    for traces in traces(directions, &choices).into_iter().flatten().flatten() {
        assert_eq!(traces.delays.period(), traces.rates.period());
    }
}

#[test]
fn anything_as_results_of_irtt() {
    let valid = irtt::sample(irtt::ALL).into_bytes();
    fuzz(1.0, |u: &mut Unstructured<'_>| {
        let pieces: [&[u8]; 6] =
            [b"9223372036854775807", b"-9223372036854775808", b"null", b"{}", b"[]", b"\"lost\": true,"];
        let text = mutate(u, valid.clone(), &pieces)?;
        let Ok(results) = qdelay::import::irtt::read("x", &mut text.as_slice()) else { return Ok(()) };
        let _ = results.losses();
        let trips = results.round_trips().into_iter();
        let trips = trips.map(|(sent, delay)| Arrived { sent, delay, bytes: 0 }).collect();
        try_traces(&[trips]);
        if let Some((_, replies)) = results.one_way() {
            let up: Vec<_> = replies.iter().map(|reply| reply.up).collect();
            let down: Vec<_> = replies.iter().map(|reply| reply.down).collect();
            if let Ok(found) = estimate(&up, &down) {
                assert!(found.within_ms >= 0.0);
            }
        }
        Ok(())
    });
}

#[test]
fn anything_as_a_log() {
    let valid = b"# base timestamp: 5\n5 # 1504\n6 + 1504\n9 - 1504 3\n10 d 1 1504\n".to_vec();
    fuzz(1.0, |u: &mut Unstructured<'_>| {
        let pieces: [&[u8]; 5] =
            [b"999999999999", b" - 1 ", b"\n", b"# base timestamp: 0\n", b"1000000000000 - 9 9\n"];
        let log = mutate(u, valid.clone(), &pieces)?;
        let bin_ms = u.int_in_range(0..=1_000)?;
        let _ = read("x", log.as_slice(), bin_ms);
        Ok(())
    });
}
