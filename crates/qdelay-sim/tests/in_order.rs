//! The delay until a download's data is in order, beside the one-way delay of its packets.

use crate::common::{flow, link, play, scenario};
use qdelay_core::Span;
use qdelay_sim::results::GroupFigures;
use qdelay_sim::{FlowSpec, Scenario};

/// A download and a call for half a minute: their groups, and the bytes that the application of each has got after the warm-up.
fn groups(qdisc: &str, warmup: Span) -> ([GroupFigures; 2], Vec<f64>) {
    let plain = scenario(qdisc, link("line:6mbit"), &[]);
    let call = FlowSpec { group: 1, ..flow("voip") };
    let scenario = Scenario {
        flows: vec![flow("cubic"), call],
        groups: vec!["file".to_string(), "call".to_string()],
        duration: Span::from_secs(30),
        warmup,
        ..plain
    };
    let outcome = play(&scenario);
    let seconds = 30.0 - warmup.as_secs_f64();
    let bytes = outcome.flows.iter().map(|flow| flow.goodput_mbps * 1e6 / 8.0 * seconds).collect();
    (["file", "call"].map(|name| outcome.groups[name].clone()), bytes)
}

/// Where nothing is lost every packet of data is in order when it comes.
#[test]
fn without_loss_it_is_the_one_way_delay() {
    let (groups, _) = groups("taildrop:limit=100000", Span::from_secs(2));
    let found = groups[0].in_order_ms.unwrap();
    assert_eq!(groups[0].packets_lost, 0);
    assert_eq!(found, groups[0].one_way_delay_ms);
    assert!(found.count > 10_000 && groups[1].in_order_ms.is_none(), "datagrams have no order");
}

/// A queue that drops what has waited for 20 ms bounds the delay of what it lets through. What it drops comes again a round trip
/// later at the least.
#[test]
fn what_was_dropped_counts_from_the_first_time() {
    let (groups, bytes) = groups("bode:target=20ms", Span::ZERO);
    let (in_order, one_way) = (groups[0].in_order_ms.unwrap(), groups[0].one_way_delay_ms);
    assert!(groups[0].packets_lost > 10 && one_way.max < 50.0, "{one_way:?}");
    assert!(in_order.max >= one_way.max + 40.0, "{in_order:?}");
    assert!(in_order.mean > one_way.mean && in_order.p50 < 50.0);
    // Each byte counts once.
    assert_eq!(in_order.count as f64, (bytes[0] / 1448.0).round());
}
