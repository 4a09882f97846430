//! F1 in scenarios: keys, errors, warnings, and results of runs.

use crate::common::{results, study};
use qdelay_study::results::CaseSummary;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// Runs a bearer of at most 8 Mbit/s with a download and a call, behind standard PDCP.
fn one(bearer: &str) -> CaseSummary {
    let text = format!(
        r#"
        [cell]
        technology = "nr"
        channel = "mcs:9"
        rlc_limit = 60
        pdcp = "standard"
        {bearer}
        [[flow]]
        name = "bulk"
        [[flow]]
        name = "call"
        transport = "voip"
        [run]
        duration = "12s"
        warmup = "2s"
        "#
    );
    let mut cases = results(&text).cases;
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

fn unused(case: &CaseSummary) -> f64 {
    case.cell.as_ref().unwrap().rbs_unused_share
}

fn stage(case: &CaseSummary, stage: &str) -> f64 {
    case.cell.as_ref().unwrap().stages[stage].mean
}

/// F1 delays packets between the units, and the reports. Without a pacer nothing else changes. A pacer that refills what the last
/// TTI sent leaves a pipe of two delays unfilled, because its reports are late and omit packets in transit.
#[test]
fn a_split_base_station_delays_packets_and_reports() {
    let whole = one("");
    assert!(stage(&whole, "sdap") < 1e-9);
    for f1 in ["ideal:delay=3ms", "standard:delay=3ms"] {
        let split = one(&format!("f1 = \"{f1}\""));
        assert!((stage(&split, "sdap") - 3.0).abs() < 1e-9, "{f1}: {}", stage(&split, "sdap"));
        assert_eq!(split.nodes["f1/ue-1/drb-1"].dropped, 0);
    }
    let paced = |f1: &str| unused(&one(&format!("pacer = \"5g-bdp\"\nf1 = \"{f1}\"")));
    let (none, some, more) = (paced("none"), paced("ideal:delay=2ms"), paced("ideal:delay=8ms"));
    assert!(none < 0.05 && some > none + 0.05 && more > some, "{none} {some} {more}");
    let late = unused(&one("pacer = \"5g-bdp\"\nfeedback_delay = \"2ms\""));
    assert!(some > late, "packets are late besides: {some} {late}");
    let standard = paced("standard:delay=2ms");
    assert!(standard < some, "what is on its way is accounted for: {standard} {some}");
}

/// A window of one packet whose reports are late leaves most resource blocks unused while a download waits above it, in one box and over F1; most TTIs
/// have no data at all. Without a pacer, and where the source has no more to send, as many are unused, and what is held back is below what a table names.
#[test]
fn what_a_pacer_holds_back_is_counted() {
    let figures = |keys: &str| {
        let case = one(keys);
        (unused(&case), case.cell.as_ref().unwrap().rbs_held_back_share.unwrap())
    };
    for f1 in ["none", "standard:delay=4ms"] {
        let (unused, held_back) =
            figures(&format!("pacer = \"credit:window=1b\"\nfeedback_delay = \"3ms\"\nf1 = \"{f1}\""));
        // The call leaves blocks too, and begins before the download has data above it.
        assert!(
            unused > 0.4 && held_back > unused - 0.01 && held_back <= unused,
            "{f1}: {held_back} of {unused}"
        );
        assert_eq!(figures(&format!("f1 = \"{f1}\"")).1, 0.0, "{f1}");
    }
    let slow = "[[flow]]\nname = \"slow\"\ntransport = \"udp:1mbit\"\n[run]\nduration = \"5s\"";
    let text = format!("[cell]\ntechnology = \"nr\"\nchannel = \"mcs:9\"\npacer = \"e5g-bdp\"\n{slow}");
    let cell = results(&text).cases.remove(0).measures.cell.clone().unwrap();
    assert!(cell.rbs_unused_share > 0.7, "{}", cell.rbs_unused_share);
    assert!(cell.rbs_held_back_share.unwrap() < 0.05, "{:?}", cell.rbs_held_back_share);
}

/// A packet lost on F1-U has a PDCP number already, so its loss is a hole that the UE waits for.
#[test]
fn what_f1_loses_is_a_hole_at_the_ue() {
    let lossy = one("f1 = \"standard:delay=1ms:loss=1%\"");
    let lost = lossy.nodes["f1/ue-1/drb-1"].dropped;
    let holes = lossy.cell.as_ref().unwrap().bearers["ue-1/drb-1"].pdcp.unwrap().holes;
    // Holes count from the end of the warm-up, which is a sixth of the run.
    assert!(lost > 20 && holes > 10 && holes <= lost, "{lost} lost, {holes} holes");
    let deaf = one("f1 = \"standard:delay=1ms:ddds_loss=90%\"\npacer = \"drql\"");
    assert!(deaf.throughput_mbps > 1.0, "{}", deaf.throughput_mbps);
}

#[test]
fn what_cannot_be_between_the_units_is_refused_by_line_and_key() {
    let refused = |keys: &str, expected: &str| {
        let text = format!("[cell]\n{keys}\n[[flow]]");
        let study = Study::parse("my.toml", &text, &Overrides::default());
        let error = study.and_then(|study| study.check(&Library::new())).expect_err(&text).to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    };
    refused("f1 = \"split\"", "line 2: cell.f1: 'split': unknown f1 'split'; known: none, ideal, standard");
    refused("f1 = \"standard:period=0s\"", "line 2: cell.f1: 'standard:period=0s': ");
    refused("f1 = \"standard:period=0s\"", "100us to 1s");
    refused("f1 = \"standard:loss=100%\"", "0% to 99%");
    refused("f1 = \"standard:ddds_loss=100%\"", "0% to 99%");
    refused("f1 = \"ideal:delay=200ms\"", "0s to 100ms");
    refused(
        "pdcp = \"ideal\"\nf1 = \"standard\"",
        "line 3: cell.f1: 'standard': the delivery status reports PDCP numbers",
    );
    refused(
        "pdcp = \"standard:drop_before=on\"\nf1 = \"ideal:delay=1ms\"",
        "line 3: cell.f1: 'ideal:delay=1ms': the queue in the distributed unit is behind the PDCP",
    );
    refused(
        "pdcp = \"standard\"\nf1 = \"standard\"\npacer = \"usp\"",
        "line 4: cell.pacer: 'usp': usp does not use the reports of F1-U; expected another pacer, or f1 = \"ideal\"",
    );
}

#[test]
fn timers_within_a_round_trip_are_warned_of_by_line_and_key() {
    let warned = |keys: &str, expected: &str| {
        let warnings = study(&format!("[cell]\n{keys}\n[[flow]]")).warnings();
        let [warning] = warnings.as_slice() else { panic!("{keys}: {warnings:?}") };
        assert!(warning.to_string().contains(expected), "{warning}");
    };
    warned(
        "pdcp = \"standard:discard_timer=10ms\"\nf1 = \"standard:delay=5ms\"",
        "line 3: cell.f1: 'standard:delay=5ms': its round trip of 10ms is not shorter than discard_timer of 10ms",
    );
    warned("pdcp = \"standard:t_reordering=40ms\"\nf1 = \"standard:delay=30ms\"", "t_reordering of 40ms");
    warned("pacer = \"ddds\"", "line 2: cell.pacer: 'ddds': without f1 = \"standard\"");
    let none = study("[cell]\npdcp = \"standard\"\nf1 = \"standard\"\npacer = \"ddds\"\n[[flow]]").warnings();
    assert!(none.is_empty(), "{none:?}");
}
