//! Sprout in the simulator: the same measures as others have, losses and outages. The figures of its authors' program are in `programs.rs`.

use crate::common::{link, play, scenario};
use qdelay_core::Span;
use qdelay_sim::{LinkSpec, Scenario};

const UNLIMITED: &str = "taildrop:limit=10000";

/// A minute over 40 ms.
fn minute(link: LinkSpec, transport: &str) -> Scenario {
    Scenario { duration: Span::from_secs(60), ..scenario(UNLIMITED, link, &[transport]) }
}

#[test]
fn a_line_is_filled_without_much_delay() {
    for rate in [2.0, 5.0, 10.0] {
        let outcome = play(&minute(link(&format!("{rate}mbit")), "sprout"));
        let (used, p95) = (outcome.utilization, outcome.queue_delay_ms.p95);
        let flow = &outcome.flows[0];
        println!("{rate} Mbit/s: {used:.3}, p95 {p95:.1} ms, goodput {:.2}", flow.goodput_mbps);
        assert!(used > 0.5 && p95 < 100.0, "{rate}: {used} {p95}");
        // 1458 of 1500 bytes, and smaller packets.
        assert!((0.9..0.972).contains(&(flow.goodput_mbps / (used * rate))), "{}", flow.goodput_mbps);
    }
}

/// A queue of 5 packets and every tenth packet lost: the flow goes on, and every packet is somewhere.
#[test]
fn losses_do_not_stop_it() {
    for qdisc in ["taildrop:limit=5", "codel", "pie"] {
        for transport in ["sprout", "sprout:variant=ewma"] {
            let outcome = play(&scenario(qdisc, link("line:5mbit"), &[transport]));
            assert!(outcome.utilization > 0.2, "{qdisc} {transport}: {}", outcome.utilization);
        }
    }
}
