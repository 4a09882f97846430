//! Scenarios with slices: keys, errors, axes, and results of runs.

use crate::common::{results, study};
use qdelay_core::Span;
use qdelay_ran::Partition;
use qdelay_ran::cell::{Agreed, Elastic, Rrm};
use qdelay_study::results::{CaseSummary, SliceFigures};
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
        .map(|s| (s.name.as_str(), s.agreed.millionths(), &s.bearers[..], s.scheduler.is_some()))
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
    assert_eq!(setting.slices()[0].agreed.millionths(), 100_000);
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

/// The same cell on TDD with policy ratios, in slots of 0.5 ms.
fn ratios() -> String {
    SLICES
        .replace(
            "rlc = \"um\"\n",
            "rlc = \"um\"\ntechnology = \"nr\"\nnumerology = 1\nprbs = 51\ntdd = \"tdd:DDDSU\"\n",
        )
        .replace("\"eqp\"", "\"rrm\"")
        .replace("share = \"25%\"", "dedicated = \"10%\"\nmin = \"25%\"")
        .replace("share = \"75%\"", "min = \"40%\"\nmax = \"80%\"")
}

#[test]
fn slices_have_policy_ratios() {
    let case = study(&ratios()).case(0, &Library::new()).unwrap();
    let setting = case.scenario.bottleneck.as_cell().unwrap().complete();
    assert_eq!(setting.partitioned(), Some(Rrm { window: Span::from_millis(10) }.into()));
    let agreed: Vec<(u32, u32, u32)> = setting
        .slices()
        .iter()
        .map(|slice| match slice.agreed {
            Agreed::Ratios(ratios) => (ratios.dedicated(), ratios.min(), ratios.max()),
            Agreed::Share(_) => panic!("{slice:?}"),
        })
        .collect();
    assert_eq!(agreed, [(100_000, 250_000, 1_000_000), (0, 400_000, 800_000)]);
    let window = ratios().replace("\"rrm\"", "{ rrm = { window = \"2500us\" } }");
    let case = study(&window).case(0, &Library::new()).unwrap();
    let setting = case.scenario.bottleneck.as_cell().unwrap().complete();
    assert_eq!(setting.partitioned(), Some(Rrm { window: Span::from_micros(2500) }.into()));
}

#[test]
fn errors_of_policy_ratios_name_line_and_key() {
    let minima = "minima of 105% in all; expected at most 100 (calls 25%, rest 80%)";
    for (old, new, wanted) in [
        ("min = \"40%\"", "min = \"80%\"", format!("line 16: cell.slice.min: {minima}")),
        (
            "min = \"40%\"",
            "min = \"81%\"",
            "line 16: cell.slice.min: 81% is above the maximum, 80%; expected at most max".to_string(),
        ),
        (
            "dedicated = \"10%\"",
            "dedicated = \"26%\"",
            "line 12: cell.slice.dedicated: 26% is above the minimum, 25%; expected at most min".to_string(),
        ),
        (
            "min = \"25%\"\n",
            "",
            "line 12: cell.slice.dedicated: 10% is above the minimum, 0%; expected at most min".to_string(),
        ),
        (
            "\"rrm\"",
            "\"fp\"",
            "line 12: cell.slice.dedicated: the partition is fp, which has shares; expected share in place of dedicated, min and max, or cell.partition = \"rrm\"".to_string(),
        ),
        (
            "\"rrm\"",
            "\"eqp:limit=50\"",
            "line 12: cell.slice.dedicated: the partition is eqp:limit=50, which has shares".to_string(),
        ),
        ("partition = \"rrm\"\n", "", "line 9: cell.slice: there is no partition; expected cell.partition = \"fp\", \"eqp\" or \"rrm\", or \"none\"".to_string()),
        (
            "min = \"25%\"",
            "min = \"25%\"\nshare = \"25%\"",
            "line 14: cell.slice.share: the partition is rrm, which has no shares; expected dedicated, min and max in place of share".to_string(),
        ),
        (
            "min = \"40%\"",
            "min = \"0.5%\"",
            "line 16: cell.slice.min: 0.5% of the 768 resource blocks of an averaging window is less than a group of 4; expected at least 0.53%, or 0%, or a longer window".to_string(),
        ),
        (
            "max = \"80%\"",
            "max = \"0.4%\"",
            "line 16: cell.slice.min: 40% is above the maximum, 0.4%".to_string(),
        ),
        ("max = \"80%\"", "max = \"0%\"", "line 17: cell.slice.max: '0%': expected percent in quotes, above 0%".to_string()),
        ("max = \"80%\"", "max = \"101%\"", "line 17: cell.slice.max: '101%'".to_string()),
        ("min = \"25%\"", "min = 25", "line 13: cell.slice.min: found the integer 25; expected percent in quotes".to_string()),
        (
            "\"rrm\"",
            "\"rrm:window=400us\"",
            "line 9: cell.partition: an averaging window of 400us; expected at least the TTI, 500us".to_string(),
        ),
        (
            "\"rrm\"",
            "\"rrm:window=500us\"",
            "cell.slice.dedicated: an averaging window without a slot that carries downlink data; expected a longer window".to_string(),
        ),
        ("\"rrm\"", "\"rrm:window=0s\"", "line 9: cell.partition: 'rrm:window=0s': window=0s: out of range; expected 1us to 2s".to_string()),
    ] {
        let text = ratios().replacen(old, new, 1);
        assert_ne!(text, ratios(), "{old}");
        let message = error(&text);
        assert!(message.contains(&wanted), "{wanted}\n{message}");
    }
    // Slices have no effect without a partition, whatever they have agreed on.
    assert_eq!(error(&ratios().replace("\"rrm\"", "\"none\"")), "");
}

#[test]
fn axes_vary_partition_and_ratios() {
    let shares = "cell.slice.calls.share = \"25%\"\ncell.slice.rest.share = \"75%\"\n";
    let text = ratios()
        .replace("dedicated = \"10%\"\nmin = \"25%\"", "")
        .replace("min = \"40%\"\nmax = \"80%\"", "")
        + "[[matrix.variant]]\nlabel = \"none\"\ncell.partition = \"none\"\n"
        + &format!("[[matrix.variant]]\nlabel = \"FP\"\ncell.partition = \"fp\"\n{shares}")
        + &format!("[[matrix.variant]]\nlabel = \"EQP\"\ncell.partition = \"eqp\"\n{shares}")
        + "[[matrix.variant]]\nlabel = \"rrm\"\ncell.slice.calls.min = \"25%\"\ncell.slice.rest.max = \"60%\"\n";
    let summary = results(&text);
    assert_eq!(summary.cases.len(), 4);
    for case in &summary.cases[1..3] {
        let slices = &case.cell.as_ref().unwrap().slices;
        assert!(
            slices.values().all(|slice| slice.rbs_borrowed.is_none() && slice.rbs_idle_dedicated.is_none())
        );
        closed_on_tdd(case);
    }
    let cell = summary.cases[3].cell.as_ref().unwrap();
    closed_on_tdd(&summary.cases[3]);
    let (calls, rest) = (&cell.slices["calls"], &cell.slices["rest"]);
    assert_eq!((calls.share, rest.share), (0.25, 0.0));
    // Two seconds of 3200 slots with data, of 48 RBs in whole groups.
    let all = 3200 * 48;
    assert_eq!((calls.rbs_granted, rest.rbs_granted), (all / 4, 0));
    // Both have a download, and share in proportion to their maxima of 100% and 60%.
    assert!(
        rest.rbs_used.abs_diff(all * 3 / 8) <= all / 100 && rest.rbs_borrowed == Some(rest.rbs_used),
        "{rest:?}"
    );
    assert!(calls.rbs_used > all * 61 / 100 && calls.rbs_wasted == 0, "{calls:?}");
    for slice in [calls, rest] {
        assert_eq!((slice.rbs_idle_dedicated, slice.rbs_idle_granted), (Some(0), Some(0)));
    }
}

/// Resource blocks of a case on TDD are accounted for: those of slices, of repetitions, and those of no slice, which are idle.
fn closed_on_tdd(case: &CaseSummary) {
    let cell = case.cell.as_ref().unwrap();
    assert_eq!(cell.rbs_used + cell.rbs_wasted + cell.rbs_unfit, cell.rbs_offered);
    assert_eq!(cell.rbs_offered, 51 * 3200, "four of five slots carry data");
    let sum = |of: fn(&SliceFigures) -> i64| cell.slices.values().map(of).sum::<i64>();
    let charged = sum(|slice| (slice.rbs_used + slice.rbs_wasted + slice.rbs_unfit) as i64);
    assert_eq!(charged, sum(|slice| slice.rbs_granted as i64 - slice.rbs_lent));
    assert!(charged <= cell.rbs_offered as i64);
    assert_eq!(sum(|slice| slice.rbs_used as i64), cell.rbs_used as i64);
}
