//! Closed forms that follow from RFC 9000, RFC 9001 and RFC 9002.

use crate::common::{HARMLESS, Harm, Pair, scenario};
use qdelay_core::{Span, Time};
use qdelay_traffic::own::OwnEnds;

/// Initial congestion window of the stack: ten datagrams of 1200 bytes (RFC 9002 section 7.2).
const INITIAL_WINDOW: u64 = 12_000;

/// Completion time of a transfer, in round trips.
fn completion(text: &str, rtt_ms: u64) -> f64 {
    let mut pair = Pair::new(text, 1, Span::from_millis(rtt_ms / 2), HARMLESS);
    pair.run(Time::ZERO + Span::from_secs(100));
    pair.ends.figures(Time::ZERO).finished.unwrap().as_secs_f64() * 1e3 / rtt_ms as f64
}

/// The handshake takes one round trip, and the data half a round trip more (RFC 9001 section 4.1).
#[test]
fn first_data_arrives_after_one_and_a_half_round_trips() {
    for rtt_ms in [2, 40, 100, 600] {
        for crypto in ["none", "tls"] {
            let round_trips = completion(&format!("quic:bytes=1kb:crypto={crypto}"), rtt_ms);
            assert_eq!(round_trips, 1.5, "{rtt_ms} ms, {crypto}");
        }
    }
}

/// In slow start the window doubles each round trip: 12, 24, 48, 96 kB. The packets of one window leave within less than a round trip.
#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    for (kb, rounds) in [(11, 0), (30, 1), (75, 2), (160, 3), (330, 4)] {
        assert!(
            INITIAL_WINDOW * ((1 << (rounds + 1)) - 1) > kb * 1000 * 1480 / 1410,
            "within the windows so far"
        );
        let taken = completion(&format!("quic:newreno:bytes={kb}kb"), 100) - 1.5;
        let rounds = rounds as f64;
        assert!(
            taken >= rounds - 1e-9 && taken < rounds + 1.0,
            "{kb} kB: {taken} round trips after the first data"
        );
    }
}

/// After slow start one flow with a buffer of one bandwidth-delay product keeps the line full: RFC 9002 halves a window of two products, which
/// leaves one.
#[test]
fn a_buffer_of_the_bandwidth_delay_product_fills_the_line() {
    let (mbit, rtt) = (20.0, Span::from_millis(50));
    let packets = (mbit * 1e6 / 8.0 * rtt.as_secs_f64() / 1480.0).ceil() as u64;
    for control in ["newreno", "cubic"] {
        let mut scenario = scenario(&format!("quic:{control}"), mbit, packets, rtt, Span::from_secs(60));
        scenario.warmup = Span::from_secs(10);
        let outcome = qdelay_sim::run(&scenario).unwrap();
        assert!(outcome.throughput_mbps > 0.98 * mbit, "{control}: {}", outcome.throughput_mbps);
        assert!(outcome.throughput_mbps < 1.001 * mbit, "{control}");
    }
}

/// The receive window bounds the bytes in flight, and so the rate: window / round trip, without losses.
#[test]
fn the_receive_window_bounds_the_rate() {
    let rtt = Span::from_millis(100);
    let mut scenario = scenario("quic:window=250kb", 100.0, 10_000, rtt, Span::from_secs(30));
    scenario.warmup = Span::from_secs(5);
    let outcome = qdelay_sim::run(&scenario).unwrap();
    let bound = 250e3 * 8.0 / rtt.as_secs_f64() / 1e6;
    let goodput = outcome.flows[0].goodput_mbps;
    assert!(goodput <= bound * 1.001 && goodput > 0.8 * bound, "{goodput} of {bound} Mbit/s");
}

/// The square root law for NewReno (Mathis et al. 1997): size / round trip * sqrt(3/2p), within 20%.
#[test]
fn newreno_follows_the_square_root_law() {
    let (loss, rtt, seconds) = (0.005_f64, 0.05, 300_u64);
    let mut pair =
        Pair::new("quic:newreno", 7, Span::from_secs_f64(rtt / 2.0), Harm { lost: loss, ..HARMLESS });
    pair.run(Time::ZERO + Span::from_secs(seconds));
    let rate = pair.ends.received().stream_bytes as f64 / seconds as f64;
    let law = 1452.0 / rtt * (1.5 / loss).sqrt();
    assert!((0.8..1.2).contains(&(rate / law)), "{rate:.0} of {law:.0} bytes/s");
}

#[test]
fn equal_flows_share_a_line_evenly() {
    let mut scenario = scenario("quic", 20.0, 100, Span::from_millis(40), Span::from_secs(120));
    scenario.warmup = Span::from_secs(20);
    let flow = scenario.flows[0].clone();
    scenario.flows.extend([flow.clone(), flow.clone(), flow]);
    let outcome = qdelay_sim::run(&scenario).unwrap();
    assert!(outcome.jain > 0.9, "{}", outcome.jain);
    assert!(outcome.flows.iter().all(|flow| flow.retransmits > 0 && flow.packets_sent > 10_000));
}
