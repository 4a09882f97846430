//! PDU sets in scenarios: keys of QoS flows and bearers, their defaults, errors, and results of runs.

use crate::common::{case, results};
use qdelay_core::Span;
use qdelay_sim::FlowSets;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// Two UEs; the frames of the first are in a bearer with a download.
const TEXT: &str = r#"[cell]
technology = "nr"
numerology = 1
prbs = 51
[[cell.ue]]
name = "headset"
[[cell.ue.bearer]]
[[cell.ue.bearer.qos_flow]]
qfi = 1
five_qi = 80
psihi = true
[[cell.ue.bearer.qos_flow]]
qfi = 2
five_qi = 9
[[cell.ue]]
name = "other"
[[cell.ue.bearer]]
five_qi = 9
[[flow]]
name = "xr"
transport = "frames:10mbit"
ue = "headset"
qfi = 1
[[flow]]
name = "file"
ue = "headset"
qfi = 2
[[flow]]
name = "rest"
ue = "other"
[run]
duration = "4s"
warmup = "1s"
"#;

fn with(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    TEXT.replacen(from, to, 1)
}

fn sets(text: &str) -> Vec<Option<FlowSets>> {
    case(text).scenario.flows.iter().map(|flow| flow.sets.as_deref().cloned()).collect()
}

#[test]
fn the_budget_of_sets_is_that_of_the_5qi_unless_given() {
    let of = |psdb: u64, pser, psihi, within: &[u64]| FlowSets {
        psdb: Some(Span::from_micros(psdb)),
        pser,
        psihi,
        within: within.iter().map(|ms| Span::from_millis(*ms)).collect(),
    };
    assert_eq!(sets(TEXT), [Some(of(10_000, None, true, &[])), None, None]);
    let text = with("psihi = true", "psdb = \"7.5ms\"\npser = 0.02");
    assert_eq!(sets(&text)[0], Some(of(7500, Some(0.02), false, &[])));
    let text =
        with("ue = \"headset\"\nqfi = 1", "ue = \"headset\"\nqfi = 1\nset_within = [\"20ms\", \"5ms\"]");
    assert_eq!(sets(&text)[0], Some(of(10_000, None, true, &[5, 20])), "in ascending order");
    // Of the bearer for its QoS flows without their own; only flows with frames have sets.
    let text = with("psihi = true\n", "").replacen(
        "[[cell.ue.bearer]]\n",
        "[[cell.ue.bearer]]\npsdb = \"12ms\"\n",
        1,
    );
    assert_eq!(sets(&text), [Some(of(12_000, None, false, &[])), None, None]);
    // Without a 5QI and without psdb there is no budget.
    let text = with("five_qi = 80\n", "").replace("five_qi = 9\n", "");
    assert_eq!(sets(&text)[0], Some(FlowSets { psihi: true, ..FlowSets::default() }));
    // Without keys sets do not matter, and without a cell they can be counted.
    assert_eq!(sets(&with("psihi = true\n", "")), [None, None, None]);
    let text = "[path]\nlink = \"20mbit\"\n[[flow]]\ntransport = \"webrtc\"\nset_within = \"10ms\"";
    assert_eq!(sets(text)[0].as_ref().map(|sets| sets.within.clone()), Some(vec![Span::from_millis(10)]));
}

#[test]
fn errors_of_sets_name_line_key_and_expected_value() {
    let link = |flow: &str| format!("[path]\nlink = \"20mbit\"\n[[flow]]\n{flow}\n");
    let cases = [
        (with("psihi = true", "psdb = \"100us\""), "line 11: cell.ue.bearer.qos_flow.psdb: 100us is shorter than a TTI of 500us, in which no set could be sent; expected at least 500us"),
        (with("numerology = 1\n", "numerology = 1\ntti = \"2ms\"\n").replace("psihi = true", "psdb = \"1ms\""), "line 12: cell.ue.bearer.qos_flow.psdb: 1ms is shorter than a TTI of 2ms"),
        (with("psihi = true", "psdb = \"2s\""), "line 11: cell.ue.bearer.qos_flow.psdb: '2s': out of range; expected 1us to 1s"),
        (with("psihi = true", "pser = 1.5"), "line 11: cell.ue.bearer.qos_flow.pser: '1.5': out of range; expected 0 to 1"),
        (with("psihi = true", "pser = -0.1"), "line 11: cell.ue.bearer.qos_flow.pser: '-0.1': out of range; expected 0 to 1"),
        (with("psihi = true", "psihi = 2"), "line 11: cell.ue.bearer.qos_flow.psihi: "),
        (with("frames:10mbit", "frames:10mbit:importance=0"), "line 21: flow.transport: 'frames:10mbit:importance=0': "),
        (with("frames:10mbit", "frames:10mbit:importance=16"), "1 to 15"),
        (with("frames:10mbit", "frames:10mbit:key_importance=16"), "1 to 15"),
        // Keys of sets for flows without frames.
        (with("qfi = 2\nfive_qi = 9", "qfi = 2\nfive_qi = 9\npsdb = \"10ms\""), "line 15: cell.ue.bearer.qos_flow.psdb: no flow of UE 'headset' that is carried here makes frames; expected transport = \"frames\", \"webrtc\" or \"scream\""),
        (with("transport = \"frames:10mbit\"", "transport = \"voip\""), "line 11: cell.ue.bearer.qos_flow.psihi: no flow of UE 'headset' that is carried here makes frames"),
        (with("[[cell.ue.bearer]]\nfive_qi = 9", "[[cell.ue.bearer]]\nfive_qi = 9\npser = 0.1"), "line 19: cell.ue.bearer.pser: no flow of UE 'other' that is carried here makes frames"),
        (link("set_within = \"10ms\""), "line 4: flow.set_within: no packet of the flow makes frames; expected transport = \"frames\""),
        (link("transport = \"frames\"\nset_within = []"), "line 5: flow.set_within: found"),
        (link("transport = \"frames\"\nset_within = [\"10ms\", \"10000us\"]"), "line 5: flow.set_within: '10000us' is given twice"),
        (link("transport = \"frames\"\nset_within = [\"10ms\", \"2s\"]"), "line 5: flow.set_within: '2s': out of range; expected 1us to 1s"),
        // Sets are of NR, like 5QIs.
        ("[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\npsdb = \"10ms\"\n[[flow]]\ntransport = \"frames:1mbit\"".to_string(), "line 4: cell.ue.bearer.psdb: the cell is LTE; expected this key only with technology = \"nr\""),
        // Options of the parts that use sets.
        (with("prbs = 51", "prbs = 51\nsdap_qdisc = \"pdu_sets:low=16\""), "line 5: cell.sdap_qdisc: 'pdu_sets:low=16': "),
        (with("prbs = 51", "prbs = 51\nscheduler = \"edf:deadline=set\""), "line 5: cell.scheduler: 'edf:deadline=set': "),
        (with("prbs = 51", "prbs = 51\npdcp = \"standard:set_discard=2\""), "line 5: cell.pdcp: 'standard:set_discard=2': "),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let study = Study::parse("my.toml", &text, &Overrides::default());
        let error = study.and_then(|study| study.check(&Library::new())).expect_err(&text).to_string();
        if !error.contains(expected) || error.contains('\n') {
            wrong.push((error, expected));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A download in the same bearer does not take the budget of the frames: with EDF by packet the downloads of two UEs have alike, with
/// EDF by bearer the one beside the frames has most.
#[test]
fn a_download_beside_frames_does_not_take_their_budget() {
    let text = with("prbs = 51", "prbs = 51\nrlc_limit = \"10mb\"\npacer = \"e5g-bdp\"");
    let rates = |scheduler: &str| {
        let text = text.replacen("prbs = 51", &format!("prbs = 51\nscheduler = \"{scheduler}\""), 1);
        let case = results(&text).cases.remove(0);
        let within = case.groups["xr"].pdu_sets.as_ref().and_then(|sets| sets.within_psdb);
        (case.groups["file"].goodput_mbps, case.groups["rest"].goodput_mbps, within)
    };
    let (file, rest, within) = rates("edf");
    println!("by bearer: {file} {rest} {within:?}");
    assert!(file > 4.0 * rest && within.is_some());
    let (file, rest, within) = rates("edf:deadline=packet");
    println!("by packet: {file} {rest} {within:?}");
    assert!(file < 1.5 * rest && rest < 4.0 * file && within.is_some());
}

/// Frames upwards are sets in the UE's queue, of 14 packets: with `set_discard` a frame that overflows it is discarded, and less is handed
/// up in vain.
#[test]
fn frames_of_an_upload_are_discarded_as_sets() {
    let sets_of = |discard: &str| {
        let text = format!(
            r#"
            [cell]
            technology = "nr"
            numerology = 1
            prbs = 24
            pdcp = "standard:out_of_order_delivery=on{discard}"
            [cell.uplink]
            channel = "mcs:12"
            limit = 14
            [[cell.ue]]
            [[cell.ue.bearer]]
            five_qi = 7
            psihi = true
            psdb = "30ms"
            [[flow]]
            name = "frames"
            transport = "frames:4mbit:fps=30:noise=0.4:key_size=1"
            direction = "up"
            [run]
            duration = "12s"
            warmup = "2s"
            "#
        );
        results(&text).cases.remove(0).groups["frames"].pdu_sets.clone().expect("sets")
    };
    let (single, whole) = (sets_of(""), sets_of(":set_discard=on"));
    println!("{single:?}\n{whole:?}");
    assert!(single.sets > 250 && whole.sets == single.sets && single.air_error_rate == 0.0);
    assert!(single.error_rate > 0.0 && whole.error_rate > 0.0);
    assert!(single.within_psdb.is_some_and(|share| share > 0.1) && whole.within_psdb >= single.within_psdb);
    assert!(whole.useless_mbps.unwrap() < 0.5 * single.useless_mbps.unwrap());
}
