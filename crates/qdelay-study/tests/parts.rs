//! Figures of UEs, slices and classes of a shipped scenario, compared with sums over their flows.

use qdelay_core::Span;
use qdelay_study::engine;
use qdelay_study::results::{CaseSummary, FlowFigures, TrafficFigures};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use std::collections::{BTreeMap, BTreeSet};

fn cases() -> Vec<CaseSummary> {
    let (name, text) = shipped::read("demo/ues".as_ref()).unwrap();
    let overrides = Overrides { duration: Some(Span::from_secs(4)), ..Overrides::default() };
    let study = Study::parse(&name, &text, &overrides).unwrap();
    engine::in_memory(&study, &Library::new(), None, &())
        .unwrap()
        .into_iter()
        .map(|done| done.summary)
        .collect()
}

/// Checks that `part` has the sums of the figures of its flows.
fn agrees(name: &str, part: &TrafficFigures, flows: &[&FlowFigures]) {
    let close = |ours: f64, theirs: f64| {
        assert!((ours - theirs).abs() <= 2e-5 + 1e-5 * theirs.abs(), "{name}: {ours}, {theirs}")
    };
    assert_eq!(part.flows, flows.len() as u64, "{name}");
    close(part.throughput_mbps, flows.iter().filter_map(|flow| flow.throughput_mbps).sum());
    close(part.goodput_mbps, flows.iter().map(|flow| flow.goodput_mbps).sum());
    let lost: u64 = flows.iter().map(|flow| flow.packets_lost).sum();
    let sent: u64 = flows.iter().map(|flow| flow.packets_sent).sum();
    assert_eq!((part.packets_lost, part.packets_sent), (lost, sent), "{name}");
    close(part.loss_ratio, lost as f64 / sent as f64);
    let delays: Vec<_> = flows.iter().filter_map(|flow| flow.queue_delay_ms).collect();
    let count: u64 = delays.iter().map(|delay| delay.count).sum();
    assert_eq!(part.queue_delay_ms.count, count, "{name}");
    close(
        part.queue_delay_ms.mean,
        delays.iter().map(|delay| delay.mean * delay.count as f64).sum::<f64>() / count as f64,
    );
    close(part.queue_delay_ms.max, delays.iter().map(|delay| delay.max).fold(0.0, f64::max));
    let least =
        delays.iter().filter(|delay| delay.count > 0).map(|delay| delay.p50).fold(f64::INFINITY, f64::min);
    let most = delays.iter().map(|delay| delay.p50).fold(0.0, f64::max);
    assert!((least..=most).contains(&part.queue_delay_ms.p50), "{name}: a median between those of its flows");
    let finite = flows.iter().filter(|flow| flow.bytes.is_some()).count() as u64;
    let done = flows.iter().filter(|flow| flow.completion_s.is_some()).count() as u64;
    assert_eq!(part.completion_ms.map(|took| took.count), (finite > 0).then_some(done), "{name}");
    assert_eq!(part.not_completed, (finite > 0).then_some(finite - done), "{name}");
    let scores: Vec<f64> = flows.iter().filter_map(|flow| flow.voice).map(|voice| voice.mos).collect();
    match part.voice {
        Some(voice) => close(voice.mos, scores.iter().sum::<f64>() / scores.len() as f64),
        None => assert!(scores.is_empty(), "{name}"),
    }
    let budgets: Vec<f64> = flows.iter().filter_map(|flow| flow.budget_ms).collect();
    close(part.budget_ms.unwrap(), budgets.iter().copied().fold(f64::INFINITY, f64::min));
    let shares: BTreeSet<u64> =
        flows.iter().filter_map(|flow| flow.within_budget).map(|share| (share * 1e6) as u64).collect();
    let ours = (part.within_budget.unwrap() * 1e6) as u64;
    assert!(
        shares.first().is_some_and(|least| *least <= ours + 1)
            && shares.last().is_some_and(|most| ours <= *most + 1),
        "{name}"
    );
}

#[test]
fn figures_of_a_part_are_sums_over_its_flows() {
    for case in cases() {
        let cell = case.cell.as_ref().unwrap();
        assert_eq!((cell.by_ue.len(), cell.by_slice.len(), cell.by_class.len()), (20, 3, 4));
        type Of = fn(&FlowFigures) -> &Option<String>;
        let kinds: [(&BTreeMap<String, TrafficFigures>, Of); 3] = [
            (&cell.by_ue, |flow| &flow.ue),
            (&cell.by_slice, |flow| &flow.slice),
            (&cell.by_class, |flow| &flow.class),
        ];
        for (parts, of) in kinds {
            for (name, part) in parts {
                let flows: Vec<&FlowFigures> =
                    case.flows.iter().filter(|flow| of(flow).as_ref() == Some(name)).collect();
                agrees(name, part, &flows);
            }
            assert_eq!(parts.values().map(|part| part.flows).sum::<u64>(), case.flows.len() as u64);
        }
        // The UE and slice of each flow are known from the scenario.
        for flow in &case.flows {
            let wanted = match flow.group.as_str() {
                "call" => ("voice", "5qi-1", 100.0),
                "game" => ("games", "5qi-3", 50.0),
                "download" => ("internet", "5qi-9", 300.0),
                _ => ("internet", "5qi-8", 300.0),
            };
            let ours =
                (flow.slice.as_deref().unwrap(), flow.class.as_deref().unwrap(), flow.budget_ms.unwrap());
            assert_eq!(ours, wanted, "{}", flow.name);
        }
    }
}
