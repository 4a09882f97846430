//! A run that is advanced in steps, observed and changed.

use crate::common::{flow, link, ms, probe, scenario};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Span, Time};
use qdelay_sim::{Outcome, Scenario, Simulation, run};
use std::sync::Arc;

fn busy(qdisc: &str) -> Scenario {
    let flows = ["bbr", "cubic:ecn=on", "udp:3mbit:size=900b:on=200ms:off=300ms:periods=exponential", "tfrc"];
    Scenario {
        probe: probe(64),
        jitter: ms(3).into(),
        warmup: Span::from_secs(2),
        series: Some(ms(100)),
        ..scenario(qdisc, link("10mbit"), &flows)
    }
}

fn stepped(scenario: &Scenario, step: Span) -> Outcome {
    let mut simulation = Simulation::new(scenario).unwrap();
    let mut time = Time::ZERO;
    while !simulation.is_over() {
        time += step;
        simulation.advance_to(time).unwrap();
        // Observing changes nothing.
        let delivered: u64 = simulation.flows().map(|flow| flow.delivered_bytes).sum();
        assert!(simulation.backlog().packets < 10_000 && delivered < 100_000_000);
    }
    simulation.finish().unwrap()
}

/// Steps that meet events, bins and the end of the warm-up, and steps that do not.
#[test]
fn steps_change_no_outcome() {
    for qdisc in ["taildrop:limit=50", "pie:ecn=on", "fq_codel"] {
        let scenario = busy(qdisc);
        let whole = run(&scenario).unwrap();
        for step in
            [Span::from_micros(777), ms(1), ms(100), Span::from_nanos(33_333_333), Span::from_secs(20)]
        {
            assert_eq!(stepped(&scenario, step), whole, "{qdisc}, steps of {step}");
        }
    }
}

/// The same parameters, taken over again and again, change nothing; other ones do.
#[test]
fn parameters_are_taken_over_without_a_trace() {
    for text in ["taildrop:limit=50", "codel:target=8ms", "codel:variant=linux", "pie:target=20ms", "bode"] {
        let scenario = busy(text);
        let arguments = Arguments::parse(qdisc::COMPONENTS, text).unwrap();
        let mut simulation = Simulation::new(&scenario).unwrap();
        while !simulation.is_over() {
            let next = simulation.now() + ms(7);
            simulation.advance_to(next).unwrap();
            assert_eq!(simulation.adjust_qdisc(&arguments).unwrap(), Ok(true), "{text}");
        }
        assert_eq!(simulation.finish().unwrap(), run(&scenario).unwrap(), "{text}");
    }
    let scenario = busy("fq_codel");
    let mut simulation = Simulation::new(&scenario).unwrap();
    let arguments = Arguments::parse(qdisc::COMPONENTS, "fq_codel").unwrap();
    assert_eq!(simulation.adjust_qdisc(&arguments).unwrap(), Ok(false));
    let other = Arguments::parse(qdisc::COMPONENTS, "codel").unwrap();
    assert_eq!(simulation.adjust_qdisc(&other).unwrap(), Ok(false), "of another discipline");
}

#[test]
fn a_bound_that_is_taken_over_holds_for_what_waits() {
    let scenario = scenario("bode:target=100ms", link("10mbit"), &["cubic"]);
    let mut simulation = Simulation::new(Arc::new(scenario)).unwrap();
    simulation.advance_to(Time::ZERO + Span::from_secs(6)).unwrap();
    let (before, waiting) = (simulation.sums(), simulation.backlog().packets);
    assert!(waiting > 30, "{waiting}");
    let shorter = Arguments::parse(qdisc::COMPONENTS, "bode:target=5ms").unwrap();
    assert_eq!(simulation.adjust_qdisc(&shorter).unwrap(), Ok(true));
    simulation.advance_to(Time::ZERO + Span::from_millis(6010)).unwrap();
    let dropped = simulation.sums().dropped.packets - before.dropped.packets;
    assert!(dropped > waiting / 2, "{dropped} of {waiting}");
}

#[test]
fn what_is_observed_is_what_is_true() {
    let scenario = scenario("taildrop:limit=100", link("10mbit"), &["cubic"]);
    let mut simulation = Simulation::new(&scenario).unwrap();
    assert_eq!((simulation.now(), simulation.backlog().packets), (Time::ZERO, 0));
    simulation.advance_to(Time::ZERO + Span::from_secs(6)).unwrap();
    assert_eq!(simulation.now(), Time::ZERO + Span::from_secs(6));
    let (backlog, first) = (simulation.backlog(), simulation.flows().next().unwrap());
    assert!((30..=100).contains(&backlog.packets), "{backlog}");
    // The queue's delay is its bytes over the link's rate.
    let queued = Span::from_secs_f64(backlog.bytes as f64 * 8.0 / 10e6);
    let rtt = first.smoothed_rtt.unwrap();
    assert!(rtt > ms(40) + queued / 2 && rtt < ms(40) + queued * 2, "{rtt} {queued}");
    let used = first.delivered_bytes as f64 * 8.0 / 6.0 / 10e6;
    assert!((0.8..1.0).contains(&used), "{used}");
    // An earlier time changes nothing.
    simulation.advance_to(Time::ZERO).unwrap();
    assert_eq!((simulation.now(), simulation.backlog()), (Time::ZERO + Span::from_secs(6), backlog));
}

#[test]
fn discipline_and_link_can_be_changed_on_the_way() {
    let scenario = Scenario { warmup: ms(7500), ..scenario("taildrop", link("10mbit"), &["cubic", "cubic"]) };
    let delay = |change: &dyn Fn(&mut Simulation<'_>)| {
        let mut simulation = Simulation::new(&scenario).unwrap();
        simulation.advance_to(Time::ZERO + Span::from_secs(5)).unwrap();
        change(&mut simulation);
        simulation.finish().unwrap().measures.queue_delay_ms.mean
    };
    let unchanged = delay(&|_| {});
    let codel = delay(&|simulation| simulation.replace_qdisc(AnyQdisc::parse("codel").unwrap()).unwrap());
    let faster = delay(&|simulation| {
        simulation.replace_link(link("100mbit").0).unwrap();
    });
    assert!(codel < unchanged / 3.0, "{codel} {unchanged}");
    assert!(faster < unchanged / 3.0, "{faster} {unchanged}");
}

#[test]
fn a_flow_of_the_scenario_is_none_of_its_probe() {
    let scenario = Scenario { probe: probe(64), flows: vec![flow("bbr")], ..busy("codel") };
    assert_eq!(Simulation::new(&scenario).unwrap().flows().count(), 1);
}
