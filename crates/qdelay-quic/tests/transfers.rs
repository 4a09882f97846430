//! Transfers arrive complete and in order over links that lose, copy, reorder and mark packets, and no packet's bytes are left in the store.

use crate::common::{HARMLESS, Harm, Pair, scenario};
use qdelay_core::{Span, Time};
use qdelay_quic::peer::Received;
use qdelay_traffic::own::OwnEnds;

const MINUTE: Time = Time::from_nanos(60_000_000_000);

fn harms() -> Vec<Harm> {
    let ms = Span::from_millis;
    vec![
        HARMLESS,
        Harm { lost: 0.02, ..HARMLESS },
        Harm { doubled: 0.05, ..HARMLESS },
        Harm { late: ms(8), ..HARMLESS },
        Harm { marked: 0.01, ..HARMLESS },
        Harm { lost: 0.1, doubled: 0.1, late: ms(30), marked: 0.05 },
    ]
}

#[test]
fn a_transfer_arrives_byte_exact_and_in_order() {
    for (index, harm) in harms().into_iter().enumerate() {
        for text in ["quic", "quic:newreno:streams=7", "quic:bbr:crypto=tls", "quic:bbr:streams=3:ecn=on"] {
            let bytes = 300_011;
            let mut pair =
                Pair::new(&format!("{text}:bytes={bytes}b"), index as u64, Span::from_millis(10), harm);
            pair.run(MINUTE);
            let Received { stream_bytes, finished, is_exact, .. } = pair.ends.received();
            assert_eq!((stream_bytes, is_exact), (bytes, true), "{text} {harm:?}");
            assert_eq!(pair.ends.ended(), None, "{text} {harm:?}");
            assert!(finished >= 1, "{text} {harm:?}");
            assert_eq!((pair.link.stream_sent, pair.link.in_order), (bytes, bytes), "{text} {harm:?}");
            assert_eq!(pair.ends.on_path(), pair.flying(), "bytes are kept for packets in flight only");
            let figures = pair.ends.figures(MINUTE);
            assert!(figures.finished.is_some());
            assert_eq!(figures.retransmits == 0, harm.lost == 0.0 && harm.late.is_zero(), "{text} {harm:?}");
        }
    }
}

/// The sender sends exactly the bytes that the application has offered; the application may offer more at any time, and the connection stays
/// open.
#[test]
fn exactly_the_offered_bytes_are_sent() {
    for (index, harm) in harms().into_iter().enumerate() {
        for text in ["quic", "quic:newreno:streams=3", "quic:bbr:bytes=600kb"] {
            let name = format!("{text} {harm:?}");
            let mut pair = Pair::new(text, index as u64, Span::from_millis(10), harm);
            assert!(pair.offer(Time::ZERO, 0), "{name}: before the flow begins");
            for (minute, total) in [(0, 0), (1, 1), (2, 100_001), (3, 100_001), (4, 90_000), (5, 600_000)] {
                let now = Time::ZERO + Span::from_secs(60 * minute);
                let expected = total.max(pair.link.in_order);
                pair.run(now);
                assert!(pair.offer(now, total));
                pair.run(now + Span::from_secs(60) - Span::from_nanos(1));
                let passed = (pair.link.stream_sent, pair.link.in_order);
                assert_eq!(passed, (expected, expected), "{name} after {minute} minutes");
            }
            let received = pair.ends.received();
            assert!(received.is_exact && pair.ends.ended().is_none(), "{name}");
            let is_finite = text.contains("bytes");
            assert_eq!(
                received.finished,
                u32::from(is_finite),
                "{name}: streams end with their last byte only"
            );
            assert_eq!(pair.ends.figures(MINUTE).finished.is_some(), is_finite, "{name}");
        }
    }
    let mut datagrams = Pair::new("quic:datagrams=1mbit", 1, Span::from_millis(10), HARMLESS);
    assert!(!datagrams.offer(Time::ZERO, 1), "without streams nothing can be offered");
}

/// On an idle connection one byte arrives after half a round trip, and 10 kB, less than the window, do so too.
#[test]
fn an_idle_connection_sends_offered_bytes_at_once() {
    let mut pair = Pair::new("quic", 1, Span::from_millis(50), HARMLESS);
    assert!(pair.offer(Time::ZERO, 0));
    let mut total = 0;
    for (second, bytes) in [(1, 1), (2, 10_000), (3, 1)] {
        let now = Time::ZERO + Span::from_secs(second);
        pair.run(now);
        total += bytes;
        assert!(pair.offer(now, total));
        pair.run(now + Span::from_millis(50) - Span::from_nanos(1));
        assert_eq!(pair.link.in_order, total - bytes, "before half a round trip");
        pair.run(now + Span::from_millis(50));
        assert_eq!(pair.link.in_order, total, "after half a round trip");
    }
}

/// Datagrams are not retransmitted: with 2% loss 96 to 99% of the bytes arrive.
#[test]
fn datagrams_have_their_rate_and_are_lost_for_good() {
    let mut pair =
        Pair::new("quic:datagrams=2mbit", 1, Span::from_millis(10), Harm { lost: 0.02, ..HARMLESS });
    pair.run(MINUTE);
    let received = pair.ends.received();
    let sent = 2e6 * 60.0 / 8.0;
    let share = received.datagram_bytes as f64 / sent;
    assert!((0.96..0.99).contains(&share), "{share}");
    assert_eq!((received.stream_bytes, pair.ends.figures(MINUTE).retransmits), (0, 0));
    let mut both =
        Pair::new("quic:datagrams=1mbit:streams=2:bytes=100kb", 1, Span::from_millis(10), HARMLESS);
    both.run(MINUTE);
    let received = both.ends.received();
    assert_eq!(received.stream_bytes, 100_000);
    assert!(received.datagram_bytes as f64 > 0.99 * 1e6 * 60.0 / 8.0, "{received:?}");
}

#[test]
fn the_largest_packet_has_the_configured_size() {
    let sizes = [1228_u32, 1480, 1500, 4000, 6403, 6406, 9000, 16_384];
    let variants = ["control=cubic", "control=newreno", "control=bbr", "crypto=tls"];
    for (size, variant) in sizes.into_iter().flat_map(|size| variants.map(|variant| (size, variant))) {
        let text = format!("quic:size={size}b:bytes=200kb:{variant}");
        let mut pair = Pair::new(&text, 3, Span::from_millis(10), HARMLESS);
        pair.run(MINUTE);
        assert_eq!(pair.ends.received().stream_bytes, 200_000, "{text}");
        let largest = pair.link.log.iter().map(|(_, _, bytes)| *bytes).max();
        assert_eq!(largest, Some(size), "{text}");
        // Without losses no timeout occurs: the transfer takes about 15 round trips of 20 ms at most.
        let last = pair.link.log.iter().map(|(time, ..)| *time).max().unwrap();
        assert!(last < Time::ZERO + Span::from_millis(400), "{text}: {last:?}");
    }
}

/// The simulator reports drops, losses and copies of packets to the ends.
#[test]
fn a_transfer_through_the_simulator_is_complete() {
    use qdelay_path::{ImpairmentSpec, LossModel};
    let ms = Span::from_millis;
    let harm = ImpairmentSpec {
        loss: LossModel::Random(0.01),
        reorder: LossModel::Random(0.02),
        reorder_delay: ms(5),
        duplicate: LossModel::Random(0.02),
        ..ImpairmentSpec::default()
    };
    for text in ["quic:bytes=2mb:streams=3", "quic:bbr:bytes=2mb:crypto=tls", "quic:newreno:bytes=2mb"] {
        let mut scenario = scenario(text, 10.0, 20, ms(30), Span::from_secs(60));
        (scenario.impairments.down, scenario.impairments.up) = (harm.clone(), harm.clone());
        let outcome = qdelay_sim::run(&scenario).unwrap();
        let flow = &outcome.flows[0];
        assert_eq!((flow.bytes, flow.delivered_bytes), (Some(2_000_000), 2_000_000), "{text}");
        assert!(flow.completion_s.unwrap() > 2e6 * 8.0 / 10e6 && flow.retransmits > 0, "{text}: {flow:?}");
    }
}
