//! The same scenario gives the same outcome, and what is added without a part in the traffic changes nobody's draws.

use crate::common::{flow, link, ms, play, probe, rate, scenario};
use qdelay_core::Span;
use qdelay_sim::{Bottleneck, Outcome, Scenario, Uplink, run};

/// Everything that draws: PIE, BBR, exponential periods, the probe, jitter.
fn busy(seed: u64) -> Scenario {
    let flows = ["bbr", "cubic:ecn=on", "udp:3mbit:size=900b:on=200ms:off=300ms:periods=exponential", "bbr"];
    Scenario {
        probe: probe(64),
        jitter: ms(3).into(),
        seed,
        warmup: Span::from_secs(2),
        ..scenario("pie:ecn=on", link("10mbit"), &flows)
    }
}

#[test]
fn twice_the_same() {
    for qdisc in ["taildrop:limit=50", "headdrop:limit=50", "codel", "pie", "bode"] {
        let mut s = busy(3);
        let Bottleneck::Link { link: bottleneck, .. } = s.bottleneck else { panic!() };
        s.bottleneck = scenario(qdisc, bottleneck, &[]).bottleneck;
        assert_eq!(play(&s), play(&s), "{qdisc}");
    }
}

#[test]
fn runs_do_not_disturb_one_another() {
    let alone = play(&busy(5));
    let together: Vec<Outcome> = std::thread::scope(|scope| {
        let runs: Vec<_> = (4..8).map(|seed| scope.spawn(move || run(&busy(seed)).unwrap())).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(together[1], alone);
}

#[test]
fn another_seed_is_another_run() {
    let outcomes: Vec<Outcome> = (1..5).map(|seed| play(&busy(seed))).collect();
    for (i, one) in outcomes.iter().enumerate() {
        assert!(
            outcomes[i + 1..]
                .iter()
                .all(|other| other.packets_forwarded != one.packets_forwarded || other != one)
        );
    }
    // Each of what draws changes with the seed by itself.
    let differs = |make: &dyn Fn(u64) -> Scenario| play(&make(1)) != play(&make(2));
    assert!(differs(&|seed| Scenario { seed, ..scenario("pie", link("5mbit"), &["cubic", "cubic"]) }));
    assert!(differs(&|seed| Scenario {
        seed,
        jitter: ms(2).into(),
        ..scenario("codel", link("5mbit"), &["cubic"])
    }));
    assert!(differs(&|seed| Scenario {
        seed,
        probe: probe(64),
        ..scenario("codel", link("5mbit"), &["cubic"])
    }));
    let bursts = "udp:3mbit:on=200ms:off=300ms:periods=exponential";
    assert!(differs(&|seed| Scenario { seed, ..scenario("codel", link("5mbit"), &[bursts]) }));
    // And where nothing draws, nothing changes.
    assert!(!differs(&|seed| Scenario {
        seed,
        ..scenario("codel", link("5mbit"), &["cubic", "reno", "udp:1mbit"])
    }));
}

/// What concerns the first `n` flows and the bottleneck.
fn part(outcome: &Outcome, n: usize) -> impl PartialEq + std::fmt::Debug {
    let node = |name: &str| outcome.nodes.get(name).copied();
    (
        outcome.flows[..n].to_vec(),
        (
            outcome.queue_delay_ms,
            outcome.sojourn_ms,
            outcome.probe_ms,
            outcome.probe_sent,
            outcome.probe_lost,
        ),
        (outcome.drops_by_reason.clone(), outcome.marks_by_reason.clone(), outcome.packets_forwarded),
        (node("bottleneck"), node("link"), node("down")),
    )
}

#[test]
fn a_flow_that_never_starts_changes_nothing() {
    let plain = play(&busy(3));
    let add = |change: &dyn Fn(&mut Scenario)| {
        let mut s = busy(3);
        let mut idle = flow("bbr");
        idle.start = Span::from_secs(1000);
        s.flows.push(idle);
        change(&mut s);
        play(&s)
    };
    assert!(part(&add(&|_| {}), 4) == part(&plain, 4), "a flow more");
    assert!(
        part(&add(&|s| s.flows[4].access = rate(5.0)), 4) == part(&plain, 4),
        "nodes in front of the bottleneck"
    );
    assert!(part(&add(&|s| s.flows[4].extra_rtt = ms(7)), 4) == part(&plain, 4), "a classifier and a delay");
    let both = add(&|s| {
        s.flows[4].access = rate(5.0);
        s.flows[4].extra_rtt = ms(7);
        s.flows.push(s.flows[4].clone());
    });
    assert!(part(&both, 4) == part(&plain, 4), "all of it, twice");
}

/// An uplink so fast that it adds nothing is a node more, and no more than that.
#[test]
fn a_node_more_changes_no_draws() {
    let s = |uplink| Scenario {
        uplink,
        jitter: ms(2).into(),
        ..scenario(
            "pie",
            link("line:10mbit"),
            &["udp:12mbit", "udp:3mbit:on=200ms:off=300ms:periods=exponential"],
        )
    };
    let fast = Some(Uplink::tail_drop(qdelay_path::Line::new(qdelay_core::Rate::from_mbps(1e6), 0), 1000));
    let (plain, more) = (play(&s(None)), play(&s(fast)));
    assert!(part(&plain, 2) == part(&more, 2));
}

/// The length of a run and of its warm-up do not change what happens in it.
#[test]
fn a_longer_run_begins_like_a_shorter_one() {
    let until = |seconds: u64, warmup: u64| {
        let s = Scenario { duration: Span::from_secs(seconds), warmup: Span::from_secs(warmup), ..busy(9) };
        play(&s)
    };
    let (short, long, warm) = (until(8, 0), until(12, 0), until(8, 5));
    let counts = |o: &Outcome| (o.packets_forwarded, o.drops_by_reason.clone(), o.flows[0].packets_sent);
    assert_eq!(counts(&short), counts(&warm));
    assert!(long.packets_forwarded > short.packets_forwarded);
    // The same bytes before and after the warm-up as without it.
    let all = short.throughput_mbps * 8.0;
    let late = warm.throughput_mbps * 3.0;
    assert!(late < all && late > 0.2 * all);
}
