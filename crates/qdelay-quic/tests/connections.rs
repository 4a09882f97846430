//! Window, threshold, round trip and pacing rate of QUIC connections over time, as the stack reports them.

use crate::common::scenario;
use qdelay_core::Span;
use qdelay_sim::{Scenario, run};

#[test]
fn series_of_a_connection_have_the_values_of_the_stack() {
    for (text, is_paced) in [("quic", false), ("quic:newreno", false), ("quic:bbr", true)] {
        let plain = scenario(text, 10.0, 30, Span::from_millis(40), Span::from_secs(10));
        let watched = Scenario { series: Some(Span::from_millis(50)), connections: true, ..plain };
        let outcome = run(&watched).unwrap();
        let flow = &outcome.flows[0];
        let series = outcome.series.as_ref().unwrap().flows[&flow.name].connection.as_ref().unwrap();
        let last = series.cwnd_bytes.last().copied().flatten().unwrap();
        // `final_cwnd` counts full packets, of at most 1472 bytes.
        let packets = last / u64::from(flow.final_cwnd);
        assert!((1200..=1472).contains(&packets), "{text}: {last} {}", flow.final_cwnd);
        // The round trip is 40 ms of the path and up to 36 ms in a queue of 30 packets.
        let rtts: Vec<f64> = series.srtt_ms.iter().flatten().copied().collect();
        assert!(
            rtts.len() > 150 && rtts.iter().all(|ms| (40.0..40.0 + 42.0).contains(ms)),
            "{text}: {rtts:?}"
        );
        assert_eq!(series.pacing_mbps.last().unwrap().is_some(), is_paced, "{text}");
        assert_eq!(series.ssthresh_bytes.last().unwrap().is_some(), !is_paced, "{text}");
        assert_eq!(series.retransmits.iter().sum::<u64>(), flow.retransmits, "{text}");
        // The stack reports neither single round trips nor delivery rates.
        for empty in [&series.rtt_ms, &series.delivery_mbps] {
            assert!(empty.iter().all(Option::is_none), "{text}");
        }
        assert!(series.in_flight_bytes.iter().all(Option::is_none), "{text}");
    }
}
