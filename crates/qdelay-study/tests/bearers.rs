//! Quality of service of bearers: QCIs and 5QIs, packet filters against a slow model, and errors.

use crate::common::{case, cell, results, study};
use qdelay_core::{Random, Span};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use serde_json::json;
use std::collections::BTreeSet;

/// A UE with a bearer for everything, one for low delay and one for signalling.
const LTE: &str = r#"[cell]
[[cell.ue]]
[[cell.ue.bearer]]
name = "default"
qci = 9
[[cell.ue.bearer]]
name = "low"
qci = 7
rlc_buffer = 1500
[[cell.ue.bearer.filter]]
precedence = 20
dscp = ["llt", 46]
[[cell.ue.bearer.filter]]
precedence = 10
flow = "game"
[[cell.ue.bearer]]
name = "signals"
qci = 69
priority = 200
[[cell.ue.bearer.filter]]
precedence = 0
dscp = "cs5"
protocol = "udp"
[[flow]]
name = "file"
[[flow]]
name = "call"
transport = "voip"
dscp = "ef"
[[flow]]
name = "game"
transport = "gaming"
[[flow]]
name = "signal"
transport = "udp:10kbit"
dscp = "cs5"
[[flow]]
name = "liar"
dscp = "cs5"
[[flow]]
name = "bound"
dscp = "ef"
qfi = 1
"#;

#[test]
fn a_qci_sets_priority_and_budget_and_filters_choose_the_bearer() {
    let case = case(LTE);
    let spec = cell(&case);
    let bearers = &spec.ues[0].bearers;
    let found: Vec<_> =
        bearers.iter().map(|bearer| (bearer.service.priority, bearer.qos_flows[0].budget)).collect();
    let ms = |n| Some(Span::from_millis(n));
    assert_eq!(found, [(90, ms(300)), (70, ms(100)), (200, ms(60))]);
    assert_eq!(
        bearers.iter().map(|bearer| bearer.buffer_bytes).collect::<Vec<_>>(),
        [None, Some(1500), None]
    );
    let qfis: Vec<u8> = case.scenario.flows.iter().map(|flow| flow.qfi).collect();
    // The flow `liar` is TCP, so the filter for signals does not match its packets.
    assert_eq!(qfis, [1, 2, 2, 3, 1, 1]);
    let by_dscp = |flow: usize| spec.by_dscp.iter().find(|by_dscp| by_dscp.flow == flow).map(|by| by.qfis);
    assert_eq!(by_dscp(5), None, "what names a QFI passes no filter");
    let wanted = |dscp: u8, udp: bool| match dscp {
        40 if udp => 3,
        5 | 46 => 2,
        _ => 1,
    };
    assert_eq!(by_dscp(0), Some(core::array::from_fn(|dscp| wanted(dscp as u8, false))));
    assert_eq!(by_dscp(1), Some(core::array::from_fn(|dscp| wanted(dscp as u8, true))));
    // Packets of the game use QoS flow 2, signals among them QoS flow 3. A packet without a flow, such as a probe, is filtered by its codepoint.
    assert_eq!(by_dscp(2), Some(core::array::from_fn(|dscp| if dscp == 40 { 3 } else { 2 })));
    assert_eq!(by_dscp(6), by_dscp(1));
    let low = &case.settings["cell"]["ue"][0]["bearer"][1];
    assert_eq!((&low["priority"], &low["qci"]), (&json!(70), &json!(7)));
    assert_eq!(
        low["filter"][0],
        json!({ "precedence": 20, "dscp": "llt,46", "protocol": null, "flow": null, "qfi": null })
    );
}

#[test]
fn qos_flows_inherit_the_5qi_of_their_bearer() {
    let text = r#"[cell]
technology = "nr"
[[cell.ue]]
[[cell.ue.bearer]]
five_qi = 9
[[cell.ue.bearer]]
five_qi = 80
[[cell.ue.bearer.qos_flow]]
qfi = 5
[[cell.ue.bearer.qos_flow]]
qfi = 6
five_qi = 82
[[cell.ue.bearer.qos_flow]]
qfi = 7
priority = 3
[[cell.ue.bearer.filter]]
precedence = 1
dscp = "nqb"
[[cell.ue.bearer.filter]]
precedence = 2
dscp = "ef"
qfi = 7
[[flow]]
[[flow]]
dscp = "nqb"
[[flow]]
dscp = "ef"
"#;
    let case = case(text);
    let bearers = &cell(&case).ues[0].bearers;
    let found: Vec<_> = bearers[1].qos_flows.iter().map(|flow| (flow.qfi, flow.budget)).collect();
    let budget = Some(Span::from_millis(10));
    // Highest priority first: 5QIs 3, 19 and 68. The bearer has the priority of 5QI 82.
    assert_eq!(found, [(7, budget), (6, budget), (5, budget)]);
    assert_eq!((bearers[0].service.priority, bearers[1].service.priority), (90, 19));
    // The QFI of the filter, or else the first QoS flow in the file.
    assert_eq!(case.scenario.flows.iter().map(|flow| flow.qfi).collect::<Vec<_>>(), [1, 5, 7]);
}

/// Packets use the bearer that the filters choose, and count against the budget of the QoS flow that carries them.
#[test]
fn packets_count_against_the_budget_of_their_bearer() {
    let text = r#"[cell]
bandwidth = "1.4mhz"
rlc_limit = "60kb"
[[cell.ue]]
[[cell.ue.bearer]]
name = "default"
qci = 80
priority = 100
[[cell.ue.bearer]]
name = "low"
qci = 7
[[cell.ue.bearer.filter]]
precedence = 1
dscp = "llt"
[[flow]]
name = "file"
[[flow]]
name = "call"
transport = "voip"
dscp = "llt"
[run]
duration = "10s"
warmup = "1s"
"#;
    let summary = results(text);
    let case = &summary.cases[0];
    let cell = case.cell.as_ref().expect("a cell");
    let (default, low) = (cell.bearers["ue-1/default"], cell.bearers["ue-1/low"]);
    assert_eq!((default.budget_ms, low.budget_ms), (Some(10.0), Some(100.0)));
    assert_eq!(low.within_budget, Some(1.0));
    // Each bearer has one flow, so its packets within 10 ms can be counted independently.
    let file = &case.groups["file"];
    assert_eq!(default.within_budget, file.delivered_within.as_ref().map(|within| within["10ms"]));
    assert!(default.within_budget.is_some_and(|share| share < 0.9), "{default:?}");
    assert_eq!(case.nodes["rlc/ue-1/low"].received_packets, 500);
    assert_eq!(case.nodes["sdap/ue-1/qfi-2"].received_packets, 500);
    assert!(case.nodes["rlc/ue-1/default"].received_packets > 1000);
    let call = &case.groups["call"];
    assert!(
        call.one_way_min_ms <= call.one_way_delay_ms.p50 && call.one_way_whole.min_ms <= call.one_way_min_ms
    );
    assert!(call.one_way_whole.mean_ms <= call.one_way_delay_ms.mean);
    assert!(call.one_way_delay_ms.mean < call.one_way_whole.mean_ms + 1.0);
}

/// A filter in the slow model, which knows only the text.
#[derive(Clone, Debug)]
struct Plain {
    bearer: usize,
    precedence: u8,
    dscps: Vec<u8>,
    protocol: Option<bool>,
    flow: Option<usize>,
}

/// Draws a random filter, mostly of codepoints that the flows use.
fn plain(random: &mut Random, marks: [u8; 4]) -> Plain {
    let mut dscps: BTreeSet<u8> = (0..random.below(3)).map(|_| random.below(64) as u8).collect();
    dscps.extend((0..random.below(3)).map(|_| marks[random.below(4) as usize]));
    Plain {
        bearer: 1 + random.below(3) as usize,
        precedence: 0,
        dscps: dscps.into_iter().collect(),
        protocol: (random.below(4) == 0).then(|| random.below(2) == 0),
        flow: (random.below(4) == 0).then(|| random.below(4) as usize),
    }
}

/// Protocols of four flows, the first two of which are TCP.
const IS_TCP: [bool; 4] = [true, true, false, false];

fn text_of(filters: &[Plain], marks: [u8; 4]) -> String {
    let mut text = "[cell]\n[[cell.ue]]\n".to_string();
    for bearer in 0..4 {
        text += "[[cell.ue.bearer]]\n";
        for filter in filters.iter().filter(|filter| filter.bearer == bearer) {
            text += &format!("[[cell.ue.bearer.filter]]\nprecedence = {}\n", filter.precedence);
            if !filter.dscps.is_empty() {
                text += &format!("dscp = {:?}\n", filter.dscps);
            }
            if let Some(is_tcp) = filter.protocol {
                text += &format!("protocol = \"{}\"\n", if is_tcp { "tcp" } else { "udp" });
            }
            if let Some(flow) = filter.flow {
                text += &format!("flow = \"f{flow}\"\n");
            }
        }
    }
    for (flow, mark) in marks.iter().enumerate() {
        let transport = if IS_TCP[flow] { "reno" } else { "udp" };
        text += &format!("[[flow]]\nname = \"f{flow}\"\ntransport = \"{transport}\"\ndscp = {mark}\n");
    }
    text
}

/// The bearer of a packet in the slow model: compares all filters and keeps the match with the lowest precedence value.
fn slow(filters: &[Plain], flow: usize, dscp: u8) -> usize {
    let mut best: Option<&Plain> = None;
    for filter in filters {
        let by_dscp = filter.dscps.is_empty() || filter.dscps.contains(&dscp);
        let by_protocol = filter.protocol.is_none() || filter.protocol == Some(IS_TCP[flow]);
        let by_flow = filter.flow.is_none() || filter.flow == Some(flow);
        if by_dscp && by_protocol && by_flow && best.is_none_or(|best| filter.precedence < best.precedence) {
            best = Some(filter);
        }
    }
    best.map_or(0, |filter| filter.bearer)
}

/// True if the filter in `place` decides about some packet that the flows send.
fn decides(filters: &[Plain], place: usize, marks: [u8; 4]) -> bool {
    let least = |filters: &[Plain], flow: usize| {
        let matches = |filter: &&Plain| slow(std::slice::from_ref(*filter), flow, marks[flow]) != 0;
        filters.iter().filter(matches).map(|filter| filter.precedence).min()
    };
    let mut without = filters.to_vec();
    without.remove(place);
    (0..4).any(|flow| least(filters, flow) != least(&without, flow))
}

#[test]
fn filters_agree_with_the_slow_model() {
    let (mut sound, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random::derive(seed, "filters", "test");
        let more = random.below(3) as usize;
        let marks: [u8; 4] = core::array::from_fn(|_| random.below(64) as u8);
        let mut filters: Vec<Plain> = (0..3 + more).map(|_| plain(&mut random, marks)).collect();
        // One bearer has no filter and three have at least one each; all precedences differ.
        for (at, filter) in filters.iter_mut().enumerate() {
            filter.bearer = if at < 3 { at + 1 } else { filter.bearer };
            filter.precedence = (at as u8) * 40 + random.below(40) as u8;
        }
        let turn = random.below(filters.len() as u64) as usize;
        let mut precedences: Vec<u8> = filters.iter().map(|filter| filter.precedence).collect();
        precedences.rotate_left(turn);
        filters.iter_mut().zip(precedences).for_each(|(filter, precedence)| filter.precedence = precedence);
        let text = text_of(&filters, marks);
        let all_decide = (0..filters.len()).all(|place| decides(&filters, place, marks));
        match Study::parse("my.toml", &text, &Overrides::default()) {
            Err(error) => {
                assert!(!all_decide, "{error}\n{text}");
                assert!(error.to_string().contains("has no effect: "), "{error}");
                refused += 1;
            }
            Ok(study) => {
                assert!(all_decide, "{text}");
                sound += 1;
                let case = study.case(0, &Library::new()).expect("a case");
                for (flow, mark) in marks.into_iter().enumerate() {
                    let own = usize::from(case.scenario.flows[flow].qfi) - 1;
                    assert_eq!(own, slow(&filters, flow, mark), "{text}");
                    let by_dscp = cell(&case).by_dscp.iter().find(|by_dscp| by_dscp.flow == flow);
                    for dscp in 0..64_u8 {
                        let found = by_dscp.map_or(own, |by| usize::from(by.qfis[usize::from(dscp)]) - 1);
                        assert_eq!(found, slow(&filters, flow, dscp), "flow {flow} dscp {dscp}\n{text}");
                    }
                }
            }
        }
    }
    assert!(sound > 50 && refused > 50, "{sound} sound, {refused} refused");
}

fn error(text: &str) -> String {
    let study = Study::parse("my.toml", text, &Overrides::default());
    let error = study.and_then(|study| study.check(&Library::new())).expect_err(text);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn errors_of_classes_and_filters_name_line_and_key() {
    let lte = |from: &str, to: &str| {
        assert!(LTE.contains(from), "{from}");
        LTE.replacen(from, to, 1)
    };
    let cases = [
        (lte("qci = 7\n", ""), "line 6: cell.ue.bearer.qci: is missing: bearer 'low' has no QCI, while others of UE 'ue-1' have one; expected one of 1, 2,"),
        (lte("qci = 7\n", "qci = 11\n"), "line 8: cell.ue.bearer.qci: 11: not standardized; expected one of 1, 2, 3,"),
        (lte("qci = 7\n", "qci = 255\n"), "line 8: cell.ue.bearer.qci: '255': out of range; expected 1 to 254"),
        (lte("qci = 7\n", "five_qi = 7\n"), "line 8: cell.ue.bearer.five_qi: the cell is LTE; expected the qci of a bearer"),
        (lte("[cell]\n", "[cell]\ntechnology = \"nr\"\n"), "line 6: cell.ue.bearer.qci: the cell is NR; expected five_qi"),
        (lte("precedence = 20", "precedence = 256"), "line 11: cell.ue.bearer.filter.precedence: '256': out of range; expected 0 to 255"),
        (lte("precedence = 20\n", ""), "line 10: cell.ue.bearer.filter.precedence: is missing; expected a number from 0 to 255"),
        (
            lte("precedence = 10", "precedence = 20"),
            "line 14: cell.ue.bearer.filter.precedence: 20 is also the precedence of the filter in line 10 (bearer 'low'), and a packet could match both: dscp llt,46 and flow game; expected each precedence once",
        ),
        (
            lte("precedence = 0\n", "precedence = 20\n"),
            "line 21: cell.ue.bearer.filter.precedence: 20 is also the precedence of the filter in line 10 (bearer 'low'), although no packet could match both; expected",
        ),
        (
            lte("dscp = [\"llt\", 46]", "dscp = \"af11\""),
            "line 10: cell.ue.bearer.filter: the filter with precedence 20 of UE 'ue-1' has no effect: no flow to UE 'ue-1' without a qfi of its own sends such packets (dscp af11)",
        ),
        (
            lte("precedence = 0\ndscp = \"cs5\"\nprotocol = \"udp\"\n", "precedence = 0\n"),
            "line 10: cell.ue.bearer.filter: the filter with precedence 20 of UE 'ue-1' has no effect: filters with a lower precedence value match all of its packets",
        ),
        (lte("flow = \"game\"", "flow = \"gmae\""), "line 15: cell.ue.bearer.filter.flow: unknown flow 'gmae'; expected one of file, call, game, signal, liar, bound; did you mean 'game'?"),
        (lte("dscp = [\"llt\", 46]", "dscp = []"), "line 12: cell.ue.bearer.filter.dscp: found"),
        (lte("dscp = [\"llt\", 46]", "dscp = [5, \"llt\"]"), "line 12: cell.ue.bearer.filter.dscp: 'llt' is given twice"),
        (lte("dscp = [\"llt\", 46]", "dscp = \"lltt\""), "line 12: cell.ue.bearer.filter.dscp: 'lltt': unknown codepoint"),
        (lte("protocol = \"udp\"", "protocol = \"sctp\""), "line 23: cell.ue.bearer.filter.protocol: 'sctp'"),
        (lte("flow = \"game\"", "port = 5000"), "line 15: cell.ue.bearer.filter.port: unknown key; expected one of precedence, dscp, protocol, flow, qfi"),
        (lte("flow = \"game\"", "qfi = 3"), "line 15: cell.ue.bearer.filter.qfi: 3: bearer 'low' does not carry this QFI; expected one of 2"),
        (
            lte("qci = 9\n", "qci = 9\n[[cell.ue.bearer.filter]]\nprecedence = 99\ndscp = 0\n"),
            "line 6: cell.ue.bearer.filter: all bearers of UE 'ue-1' have filters, so packets that match none have no bearer; expected one bearer without filters, the default",
        ),
        (
            lte("[[cell.ue.bearer]]\nname = \"low\"", "[[cell.ue.bearer]]\nname = \"more\"\nqci = 8\n[[cell.ue.bearer]]\nname = \"low\""),
            "bearers default, more of UE 'ue-1' have no filters; expected a single bearer without filters, the default",
        ),
        ("[cell]\n[[cell.filter]]\nprecedence = 1\n[[flow]]\n".to_string(), "line 2: cell.filter: stands outside of a bearer; expected [[cell.ue.bearer.filter]] below its [[cell.ue.bearer]]"),
        (
            "[cell]\ntechnology = \"nr\"\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.qos_flow]]\nqfi = 1\nfive_qi = 9\n[[cell.ue.bearer.qos_flow]]\nqfi = 2\n[[flow]]\nqfi = 1\n".to_string(),
            "line 4: cell.ue.bearer.qos_flow.five_qi: is missing: QoS flow 2 of bearer 'drb-1' has no 5QI, while others of UE 'ue-1' have one",
        ),
        ("[cell]\nrlc_buffer = 63\n[[flow]]\n".to_string(), "line 2: cell.rlc_buffer: '63': out of range; expected 64b to"),
    ];
    for (text, wanted) in cases {
        let found = error(&text);
        assert!(found.contains(wanted), "{found}\nand not\n{wanted}");
    }
}

/// A filter is accepted if it matches a packet in any case of the study; an axis may set the codepoint of a flow.
#[test]
fn a_filter_may_match_in_some_cases_only() {
    let text = "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.filter]]\nprecedence = 1\ndscp = \"nqb\"\n[[flow]]\nname = \"call\"\n[matrix]\n";
    let study = study(&format!("{text}flow.call.dscp = [\"be\", 45]\n"));
    let qfi = |case| study.case(case, &Library::new()).expect("a case").scenario.flows[0].qfi;
    assert_eq!((qfi(0), qfi(1)), (1, 2));
    assert!(error(&format!("{text}flow.call.dscp = [\"be\", \"ef\"]\n")).contains("has no effect: "));
}
