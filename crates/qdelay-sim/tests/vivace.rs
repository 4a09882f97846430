//! PCC Vivace over whole paths: every discipline, rate and round trip; several flows; random loss.

use crate::common::{link, ms, play, scenario};
use qdelay_core::Span;
use qdelay_core::qdisc::COMPONENTS;
use qdelay_path::ImpairmentSpec;
use qdelay_sim::{Impairments, Scenario};

/// From 1 to 100 Mbit/s and 2 to 200 ms, over every discipline: the audit holds, and the flow goes on to the end.
#[test]
fn a_flow_never_sticks() {
    const SECONDS: u64 = 15;
    let utilities = ["vivace", "vivace:utility=loss"];
    let rates = [1, 10, 100];
    let round_trips = [2, 40, 200];
    for (number, qdisc) in COMPONENTS.iter().enumerate() {
        for case in 0..3 {
            // Each discipline has a third of the grid; all of it is there for some.
            let (mbps, rtt) = (rates[case], round_trips[(case + number) % 3]);
            let utility = utilities[(case + number) % 2];
            let one = scenario(qdisc.name, link(&format!("line:{mbps}mbit")), &[utility]);
            let outcome = play(&Scenario { duration: Span::from_secs(SECONDS), base_rtt: ms(rtt), ..one });
            let what = format!("{utility}, {mbps} Mbit/s, {rtt} ms, {}", qdisc.name);
            let goodput = outcome.flows[0].goodput_mbps;
            eprintln!("{what}: {goodput:.3} Mbit/s, p95 {:.2} ms", outcome.queue_delay_ms.p95);
            assert!(goodput > 0.1, "{what}: {goodput}");
        }
    }
}

/// Jain's index of the flows' goodputs.
fn fairness(outcome: &qdelay_sim::Outcome) -> f64 {
    let sum: f64 = outcome.flows.iter().map(|flow| flow.goodput_mbps).sum();
    let squares: f64 = outcome.flows.iter().map(|flow| flow.goodput_mbps * flow.goodput_mbps).sum();
    sum * sum / (outcome.flows.len() as f64 * squares)
}

/// Flows of the same kind converge to the same rate (the paper's theorem 1 and 2).
#[test]
fn flows_share_fairly() {
    for utility in ["vivace", "vivace:utility=loss"] {
        for count in [2, 4] {
            let flows = vec![utility; count];
            let shared = scenario("taildrop", link("line:40mbit"), &flows);
            let long = Scenario { duration: Span::from_secs(150), warmup: Span::from_secs(50), ..shared };
            let outcome = play(&long);
            let index = fairness(&outcome);
            let rates: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput_mbps).collect();
            eprintln!("{utility} x {count}: {index:.3} {rates:?} {:.3}", outcome.utilization);
            assert!(index > 0.9 && outcome.utilization > 0.8, "{utility} x {count}: {index} {rates:?}");
        }
    }
}

/// With the utility of losses 3% of random loss cost little more than themselves; Cubic has a fraction.
#[test]
fn random_loss_is_tolerated() {
    let goodput = |text: &str, loss: f64| {
        let down = ImpairmentSpec { loss: loss.into(), ..ImpairmentSpec::default() };
        let one = scenario("taildrop", link("line:10mbit"), &[text]);
        let one = Scenario {
            duration: Span::from_secs(60),
            warmup: Span::from_secs(20),
            impairments: Impairments { down, up: ImpairmentSpec::default() },
            ..one
        };
        play(&one).flows[0].goodput_mbps
    };
    let clean = goodput("vivace:utility=loss", 0.0);
    let lossy = goodput("vivace:utility=loss", 0.03);
    let cubic = goodput("cubic", 0.03);
    eprintln!("{clean} {lossy} {cubic}");
    assert!(lossy > 0.8 * clean && lossy > 3.0 * cubic, "{clean} {lossy} {cubic}");
}
