//! Where no acknowledgement is lost and nothing is reordered, a sender repeats what was dropped, its probes, and what a spurious timeout makes it
//! repeat: no segment arrives twice for another reason, however many acknowledgements arrive in one instant.

use crate::common::{link, ms, play, scenario, trace};
use qdelay_sim::{Outcome, Scenario, Uplink};

/// Uplinks as opportunities in bunches: every so many ms, so many packets.
const BUNCHES: [(u32, usize); 12] = [
    (1, 8),
    (2, 20),
    (5, 40),
    (7, 60),
    (10, 100),
    (15, 150),
    (20, 200),
    (25, 300),
    (30, 250),
    (40, 500),
    (50, 500),
    (100, 1000),
];
const CONTROLS: [&str; 4] = ["cubic", "reno", "bbr", "cubic:hystart=off"];
const RATES: [u32; 4] = [10, 50, 100, 400];

/// Checks a finished run, and returns the drops of its flow.
fn check(outcome: &Outcome, what: &str) -> u64 {
    assert_eq!(
        outcome.uplink.as_ref().map_or(0, |uplink| uplink.drops),
        0,
        "{what}: an acknowledgement was dropped"
    );
    let flow = &outcome.flows[0];
    let (probes, duplicates) = (flow.probes.unwrap(), flow.duplicates.unwrap());
    let told = format!(
        "{what}: {} drops, {} retransmits, {probes} probes, {duplicates} duplicates, {} timeouts",
        outcome.drops, flow.retransmits, flow.timeouts
    );
    assert!(flow.timeouts > 0 || duplicates <= probes, "{told}");
    // What is not yet repaired, or on its way again, is at most what the path holds.
    let inside: u64 = outcome.nodes.values().map(|node| node.inside).sum();
    assert!(flow.retransmits <= outcome.drops + duplicates + inside, "{told}");
    outcome.drops
}

fn sweep(uplinks: &[Option<(u32, usize)>], of_uplink: impl Fn(&mut Scenario, (u32, usize))) -> u64 {
    let mut drops = 0;
    for &bunch in uplinks {
        for rate in RATES {
            for control in CONTROLS {
                for (qdisc, rtt) in [("taildrop:limit=200", 10), ("taildrop:limit=500", 40), ("codel", 50)] {
                    let mut case = scenario(qdisc, link(&format!("line:{rate}mbit")), &[control]);
                    (case.base_rtt, case.duration, case.seed) = (ms(rtt), ms(3000), u64::from(rate));
                    if let Some(bunch) = bunch {
                        of_uplink(&mut case, bunch);
                    }
                    drops += check(
                        &play(&case),
                        &format!("{control} {rate}mbit {rtt} ms {qdisc} uplink {bunch:?}"),
                    );
                }
            }
        }
    }
    drops
}

/// Acknowledgements of a bunch arrive in one instant: new segments and retransmissions leave in it, and RACK must not mistake their order.
#[test]
fn rack_ties() {
    let uplinks: Vec<_> = BUNCHES.into_iter().map(Some).collect();
    let drops = sweep(&uplinks, |case, (period, count)| {
        case.uplink = Some(Uplink::tail_drop(trace(&vec![period; count], 0).0, 1_000_000));
    });
    assert!(drops > 10_000, "{drops}");
}

/// The acknowledgements that a receiver compresses report all that it has.
#[test]
fn sack_compression() {
    let drops = sweep(&[None], |_, _| ());
    assert!(drops > 1_000, "{drops}");
}
