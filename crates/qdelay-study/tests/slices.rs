//! Scenarios with slices: keys, errors, axes, and results of runs.

use crate::common::{results, study};
use qdelay_ran::Partition;
use qdelay_ran::cell::Elastic;
use qdelay_study::results::CaseSummary;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

const SLICES: &str = r#"[cell]
rlc = "um"
decoding_delay = "0s"
pacer = "e5g-bdp"
partition = "eqp"
[[cell.slice]]
name = "calls"
share = "25%"
[[cell.slice]]
name = "rest"
share = "75%"
scheduler = "max_throughput"
[[cell.ue]]
name = "phone"
slice = "calls"
[[cell.ue.bearer]]
[[cell.ue.bearer.qos_flow]]
qfi = 1
[[cell.ue.bearer.qos_flow]]
qfi = 2
[[cell.ue]]
name = "laptop"
count = 2
[[cell.ue.bearer]]
slice = "rest"
[[cell.ue.bearer]]
name = "meeting"
slice = "calls"
[[flow]]
name = "call"
transport = "voip"
ue = "phone"
qfi = 1
[[flow]]
name = "download"
ue = "phone"
qfi = 2
[[flow]]
name = "file"
ue = "laptop"
qfi = 1
[run]
duration = "3s"
warmup = "1s"
"#;

/// The error of `text`, in parsing or in building the case.
fn error(text: &str) -> String {
    match Study::parse("my.toml", text, &Overrides::default()) {
        Err(error) => error.to_string(),
        Ok(study) => study.case(0, &Library::new()).err().map_or(String::new(), |error| error.to_string()),
    }
}

#[test]
fn bearers_inherit_the_slice_of_their_ue() {
    let case = study(SLICES).case(0, &Library::new()).unwrap();
    let setting = case.scenario.bottleneck.as_cell().unwrap().complete();
    assert_eq!(setting.partitioned(), Some(Partition::Elastic(Elastic { limit_rbs: 100 })));
    let slices: Vec<(&str, u32, &[usize], bool)> = setting
        .slices()
        .iter()
        .map(|s| (s.name.as_str(), s.share.millionths(), &s.bearers[..], s.scheduler.is_some()))
        .collect();
    assert_eq!(slices, [("calls", 250_000, &[0, 2, 4][..], false), ("rest", 750_000, &[1, 3][..], true)]);
    let limit =
        study(&SLICES.replace("\"eqp\"", "{ eqp = { limit = 40 } }")).case(0, &Library::new()).unwrap();
    let setting = limit.scenario.bottleneck.as_cell().unwrap().complete();
    assert_eq!(setting.partitioned(), Some(Partition::Elastic(Elastic { limit_rbs: 40 })));
}

#[test]
fn errors_name_line_and_key() {
    for (old, new, wanted) in [
        (
            "75%",
            "76%",
            "line 11: cell.slice.share: shares of 101% in all; expected at most 100 (calls 25%, rest 76%)",
        ),
        ("75%", "0%", "line 11: cell.slice.share: '0%': expected percent in quotes, above 0% and up to 100%"),
        ("\"75%\"", "\"0.75\"", "line 11: cell.slice.share: '0.75': expected percent in quotes"),
        ("share = \"75%\"\n", "", "line 9: cell.slice.share: is missing; expected percent"),
        ("name = \"rest\"\n", "", "line 9: cell.slice.name: is missing; expected a name"),
        (
            "slice = \"rest\"",
            "slice = \"resd\"",
            "line 25: cell.ue.bearer.slice: unknown slice 'resd'; expected one of calls, rest; did you mean 'rest'?",
        ),
        ("slice = \"rest\"", "slice = \"calls\"", "line 9: cell.slice: slice 'rest' has no bearer"),
        (
            "slice = \"calls\"\n[[cell.ue.bearer]]\n",
            "[[cell.ue.bearer]]\n",
            "line 15: cell.ue.bearer.slice: bearer 'drb-1' of UE 'phone' has no slice",
        ),
        ("partition = \"eqp\"\n", "", "line 5: cell.slice: there is no partition; expected cell.partition"),
        (
            "\"eqp\"",
            "\"eqp:limit=1\"",
            "line 5: cell.partition: a quantum limit of 1 resource blocks; expected 2, which is a group",
        ),
        ("\"eqp\"", "\"qep\"", "line 5: cell.partition: 'qep': unknown partition 'qep'; known: fp, eqp"),
        (
            "pacer = \"e5g-bdp\"",
            "scheduler = \"eqp\"",
            "line 4: cell.scheduler: eqp makes each UE a slice; expected another scheduler",
        ),
        (
            "scheduler = \"max_throughput\"",
            "scheduler = \"eqp\"",
            "line 12: cell.slice.scheduler: eqp makes each UE a slice; expected another scheduler",
        ),
        (
            "\"25%\"",
            "\"2%\"",
            "cell.slice.share: 2% of 25 resource blocks is rounded down to 0, below the smallest share of 1; expected at least 4%",
        ),
        ("name = \"rest\"", "name = \"calls\"", "line 10: cell.slice.name: 'calls' is given twice"),
        (
            "[[cell.slice]]\nname = \"calls\"",
            "[[cell.slice]]\nshares = 3\nname = \"calls\"",
            "line 7: cell.slice.shares: unknown key",
        ),
        (
            "decoding_delay = \"0s\"",
            "tti = \"2ms\"\ncontrol_ttis = \"testbed\"",
            "cell.partition: a TTI of 2ms has several slots",
        ),
    ] {
        let text = SLICES.replacen(old, new, 1);
        assert_ne!(text, SLICES, "{old}");
        let message = error(&text);
        assert!(message.contains(wanted), "{wanted}\n{message}");
    }
    let message = error(&SLICES.replacen("\"eqp\"", "\"fp\"", 1).replacen("\"25%\"", "\"7%\"", 1));
    let wanted = "cell.slice.share: 7% of 25 resource blocks is rounded down to 1, below the smallest share of 2; expected at least 8%";
    assert!(message.contains(wanted), "{message}");
    let message = error("[cell]\npartition = \"fp\"\n[[flow]]\n");
    assert!(
        message.contains("line 2: cell.partition: there are no slices; expected a [[cell.slice]]"),
        "{message}"
    );
    let message = error("[cell]\n[[cell.ue]]\nslice = \"a\"\n[[flow]]\n");
    assert!(message.contains("line 3: cell.ue.slice: there are no slices"), "{message}");
}

#[test]
fn axes_vary_partition_share_and_slice() {
    let text = SLICES.to_string()
        + "[matrix]\ncell.partition = [\"none\", \"fp\", \"eqp:limit=50\"]\ncell.slice.calls.share = [\"10%\", \"25%\"]\n";
    assert_eq!(study(&text).case_count(), 6);
    let case = study(&text).case(4, &Library::new()).unwrap();
    let setting = case.scenario.bottleneck.as_cell().unwrap().complete();
    assert_eq!(setting.partitioned(), Some(Partition::Elastic(Elastic { limit_rbs: 50 })));
    assert_eq!(setting.slices()[0].share.millionths(), 100_000);
    let none = study(&text).case(0, &Library::new()).unwrap();
    assert_eq!(none.scenario.bottleneck.as_cell().unwrap().complete().partitioned(), None);
    // Contradictions at a single point are found before anything runs.
    let message = error(&text.replace("\"10%\"", "\"30%\""));
    assert!(message.contains("cell.slice.share: shares of 105% in all"), "{message}");
    let unknown = text.replace("cell.slice.calls.share", "cell.slice.call.share");
    assert!(error(&unknown).contains("neither a key nor the name of a slice"), "{}", error(&unknown));
}

fn closed(case: &CaseSummary) {
    let cell = case.cell.as_ref().unwrap();
    for slice in cell.slices.values() {
        let sum = (slice.rbs_used + slice.rbs_wasted + slice.rbs_unfit) as i64 + slice.rbs_lent;
        assert_eq!(slice.rbs_granted as i64, sum);
    }
    assert_eq!(cell.slices.values().map(|slice| slice.rbs_lent).sum::<i64>(), 0);
    let used: u64 = cell.slices.values().map(|slice| slice.rbs_used).sum();
    assert_eq!(used + cell.rbs_repeated, cell.rbs_used);
    for group in case.groups.values() {
        let (stages, total) = (group.stages.as_ref().unwrap(), group.total_ms.unwrap());
        let sum: f64 = stages.values().map(|delay| delay.mean).sum();
        assert!((sum - total.mean).abs() < 1e-3, "{sum} {total:?}");
        let within = group.delivered_within.as_ref().unwrap();
        assert_eq!(within["1ms"], within["1tti"]);
        assert!(within["100ms"] >= within["4ms"]);
    }
}

#[test]
fn slices_get_their_share_of_resource_blocks() {
    let text = SLICES.replace("\"voip\"\n", "\"voip\"\ncount = 8\nstart_spread = \"20ms\"\n")
        + "[matrix]\ncell.partition = [\"fp\", \"eqp\"]\n";
    let summary = results(&text);
    summary.cases.iter().for_each(closed);
    let slice = |case: usize, name: &str| summary.cases[case].cell.as_ref().unwrap().slices[name].clone();
    // Two seconds with 25 RBs per millisecond.
    assert_eq!((slice(0, "calls").rbs_granted, slice(0, "rest").rbs_granted), (12_000, 36_000));
    assert_eq!(
        (slice(0, "calls").share, slice(0, "calls").quantum_rbs, slice(0, "calls").rbs_lent),
        (0.25, None, 0)
    );
    let quantum = slice(1, "calls").quantum_rbs.unwrap();
    assert!(quantum.min >= -100.0 && quantum.min <= quantum.p25 && quantum.p25 <= quantum.p50);
    assert!(quantum.p50 <= quantum.p75 && quantum.p75 <= quantum.max && quantum.max <= 100.0);
    let within = |case: usize| summary.cases[case].groups["call"].delivered_within.as_ref().unwrap()["1ms"];
    assert!(within(1) >= within(0), "{} {}", within(1), within(0));
}

#[test]
fn schedulers_of_whole_packets_are_refused() {
    let text = "[cell]\nscheduler = \"eqp:limit=50\"\n[[cell.ue]]\ncount = 3\n[[flow]]\nue = \"each\"\n[run]\nduration = \"3s\"\n";
    let summary = results(text);
    let cell = summary.cases[0].cell.as_ref().unwrap();
    assert!(cell.slices.is_empty());
    assert!(summary.cases[0].jain > 0.9, "{}", summary.cases[0].jain);
    assert!(cell.rbs_unused_share < 0.1, "{}", cell.rbs_unused_share);
}
