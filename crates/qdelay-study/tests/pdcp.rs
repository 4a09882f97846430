//! PDCP in scenarios: keys, errors of what stands behind it, and results of runs.

use crate::common::{case, cell, results, study};
use qdelay_core::Span;
use qdelay_study::results::{CaseSummary, PdcpFigures};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// A bearer of at most 8 Mbit/s with a download and a call.
fn scenario(bearer: &str) -> String {
    format!(
        r#"
        [cell]
        technology = "nr"
        channel = "mcs:9"
        rlc_limit = 60
        {bearer}
        [[flow]]
        name = "bulk"
        [[flow]]
        name = "call"
        transport = "voip"
        dscp = "ef"
        [run]
        duration = "12s"
        warmup = "2s"
        "#
    )
}

fn one(bearer: &str) -> CaseSummary {
    let mut cases = results(&scenario(bearer)).cases;
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

fn pdcp(case: &CaseSummary) -> Option<PdcpFigures> {
    case.cell.as_ref().and_then(|cell| cell.bearers["ue-1/drb-1"].pdcp)
}

#[test]
fn a_bearer_has_the_pdcp_of_its_cell_or_its_own() {
    let text = r#"
        [cell]
        technology = "nr"
        pdcp = "standard:t_reordering=40ms:discard_timer=150ms"
        [[cell.ue]]
        [[cell.ue.bearer]]
        [[cell.ue.bearer]]
        pdcp = "ideal"
        [[cell.ue.bearer]]
        rlc = "am:header=9b"
        pdcp = "standard:sn_bits=12"
        [[flow]]
        qfi = 1
    "#;
    let case = case(text);
    let bearers = &cell(&case).ues[0].bearers;
    let first = bearers[0].rlc.pdcp.unwrap();
    assert_eq!((first.t_reordering, first.discard_timer), (Span::from_millis(40), Span::from_millis(150)));
    assert_eq!((first.sn_bits, first.ciphered, bearers[0].rlc.sdu_overhead_bytes), (18, true, 3));
    assert_eq!((bearers[1].rlc.pdcp, bearers[1].rlc.sdu_overhead_bytes), (None, 3));
    let last = bearers[2].rlc.pdcp.unwrap();
    assert_eq!((last.sn_bits, last.t_reordering), (12, Span::from_millis(300)));
    assert_eq!(bearers[2].rlc.sdu_overhead_bytes, 9, "as given");
}

#[test]
fn disciplines_that_cannot_work_behind_pdcp_are_refused() {
    let refused = |keys: &str, expected: &str| {
        let text = format!("[cell]\n{keys}\n[[flow]]");
        let study = Study::parse("my.toml", &text, &Overrides::default());
        let error = study.and_then(|study| study.check(&Library::new())).expect_err(&text).to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    };
    refused("pdcp = \"real\"", "line 2: cell.pdcp: 'real': unknown pdcp 'real'; known: ideal, standard");
    refused("pdcp = \"standard:t_reordering=70ms\"", "line 2: cell.pdcp: ");
    refused("pdcp = \"standard:t_reordering=70ms\"", "expected");
    refused("pdcp = \"standard:t_reordering=70ms\"", "2750ms");
    refused("pdcp = \"standard:discard_timer=7ms\"", "1500ms");
    for queue in ["priority", "fq_codel", "drr", "sfq", "dsd:g=0.5", "fcfs_green"] {
        let keys = format!("pdcp = \"standard\"\nrlc_qdisc = \"{queue}\"");
        refused(&keys, &format!("line 3: cell.rlc_qdisc: '{queue}': the discipline classifies packets by "));
        refused(&keys, "expected a discipline that keeps the order of packets, such as taildrop or codel");
    }
    for (queue, key) in [
        ("codel:ecn=on", "ecn"),
        ("codel:ce_threshold=5ms", "ce_threshold"),
        ("pie:ecn=on", "ecn"),
        ("red:ecn=on", "ecn"),
    ] {
        let keys = format!("pdcp = \"standard\"\nrlc_qdisc = \"{queue}\"");
        refused(&keys, &format!("line 3: cell.rlc_qdisc: '{queue}': the discipline marks packets ({key})"));
    }
    refused(
        "pdcp = \"standard:ciphering=off:discard_timer=100ms\"\nrlc_qdisc = \"priority\"",
        "line 2: cell.pdcp: 'standard:ciphering=off:discard_timer=100ms': discard_timer needs a discipline that keeps",
    );
    refused(
        "technology = \"nr\"\npdcp = \"standard\"\nrlc = \"um:reordering=1s\"",
        "line 4: cell.rlc: 'um:reordering=1s': reordering belongs to the ideal PDCP",
    );
    refused(
        "pdcp = \"standard\"\nrlc = \"tm\"",
        "line 2: cell.pdcp: 'standard': packets of transparent mode",
    );
    refused(
        "pdcp = \"standard\"\nunit = \"packets\"\ntti = \"10ms\"",
        "line 2: cell.pdcp: 'standard': packets of",
    );
}

#[test]
fn unciphered_packets_may_be_classified() {
    for keys in [
        "pdcp = \"standard:ciphering=off\"\nrlc_qdisc = \"priority\"",
        "pdcp = \"standard:ciphering=off\"\nrlc_qdisc = \"codel:ecn=on\"",
        "pdcp = \"standard\"\nsdap_qdisc = \"fq_codel\"\npacer = \"5g-bdp\"",
        "pdcp = \"standard\"\nrlc_qdisc = \"bode\"",
    ] {
        study(&format!("[cell]\n{keys}\n[[flow]]")).check(&Library::new()).unwrap();
    }
}

#[test]
fn timers_without_effect_give_a_warning() {
    let text = "[cell]\n[[flow]]\n[matrix]\ncell.pdcp = [\"ideal\", \"standard:out_of_order_delivery=on:t_reordering=20ms\"]";
    let warnings = study(text).warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let warning = warning.to_string();
    assert!(warning.contains("line 4: ") && warning.contains("cell.pdcp: 'standard:"), "{warning}");
    assert!(study("[cell]\npdcp = \"standard\"\n[[flow]]").warnings().is_empty());
}

/// A full queue drops arrivals. With ideal PDCP only the dropped packets are lost; with standard PDCP in front of the queue each
/// gap also stalls for t-Reordering; with drops in front of PDCP there are no stalls.
#[test]
fn drops_of_the_queue_stall_behind_pdcp_only() {
    let ideal = one("pdcp = \"ideal\"");
    let standard = one("pdcp = \"standard:t_reordering=50ms\"");
    let before = one("pdcp = \"standard:t_reordering=50ms:drop_before=on\"");
    let out_of_order = one("pdcp = \"standard:out_of_order_delivery=on\"");
    assert_eq!(pdcp(&ideal), None);
    assert!(!ideal.cell.as_ref().unwrap().stages.contains_key("reordering"));
    assert!(ideal.drops > 0);
    let figures = pdcp(&standard).unwrap();
    assert!(figures.holes > 0 && figures.stalls > 0, "{figures:?}");
    // Each hole comes from a packet dropped at the queue. Packets arrive continuously, so a stall lasts at least t-Reordering.
    assert!(figures.stalled_ms >= 50.0 * (figures.stalls as f64 - 1.0), "{figures:?}");
    assert!((figures.stalled_share - figures.stalled_ms / 10_000.0).abs() < 1e-9);
    assert!(figures.held_packets_mean > 0.0 && figures.held_packets_max > 5 && figures.held_bytes_max > 1500);
    let reordering = standard.cell.as_ref().unwrap().stages["reordering"];
    // Little's law at the UE: packets held equal packets delivered per second times the mean holding time.
    let little = reordering.count as f64 * reordering.mean / 10_000.0;
    assert!(
        (figures.held_packets_mean / little - 1.0).abs() < 0.05,
        "{} {little}",
        figures.held_packets_mean
    );
    assert!(reordering.max <= 50.5, "{reordering:?}");
    for free in [&before, &out_of_order] {
        assert!(free.drops > 0);
        assert_eq!(pdcp(free).map(|pdcp| (pdcp.stalls, pdcp.old)), Some((0, 0)));
    }
    assert_eq!(pdcp(&before).unwrap().holes, 0);
    assert!(pdcp(&out_of_order).unwrap().holes > 0);
    // The stages add up to the total delay.
    let stages: f64 = standard.cell.as_ref().unwrap().stages.values().map(|stage| stage.mean).sum();
    let total = standard.cell.as_ref().unwrap().total_ms.mean;
    assert!((stages - total).abs() < 0.01, "{stages} {total}");
}

#[test]
fn discards_by_timer_count_under_their_reason() {
    let timed = one("pdcp = \"standard:discard_timer=30ms\"");
    assert!(timed.drops_by_reason["pdcp_discard"] > 0, "{:?}", timed.drops_by_reason);
    assert!(!timed.drops_by_reason.contains_key("tail_limit"), "{:?}", timed.drops_by_reason);
    let rlc = timed.cell.as_ref().unwrap().stages["rlc"];
    assert!(rlc.max <= 30.0, "{rlc:?}");
    // Pacers hold packets in front of PDCP, where no discard timer runs.
    let paced = one("pacer = \"5g-bdp\"\npdcp = \"standard:discard_timer=30ms\"");
    assert!(!paced.drops_by_reason.contains_key("pdcp_discard"), "{:?}", paced.drops_by_reason);
}

/// The call overtakes the download in the queue, and then waits for it at the UE.
#[test]
fn packets_that_overtake_behind_pdcp_wait_at_the_ue() {
    let queue = "rlc_qdisc = \"priority\"";
    let ideal = one(&format!("pdcp = \"ideal\"\n{queue}"));
    let standard = one(&format!("pdcp = \"standard:ciphering=off:t_reordering=1000ms\"\n{queue}"));
    let mean = |case: &CaseSummary| case.groups["call"].total_ms.unwrap().mean;
    assert!(mean(&ideal) < 10.0, "{}", mean(&ideal));
    assert!(mean(&standard) > 4.0 * mean(&ideal), "{} {}", mean(&standard), mean(&ideal));
    // In the queue itself the call is as fast as without PDCP.
    let queued = |case: &CaseSummary| case.groups["call"].queue_delay_ms.mean;
    assert!(queued(&standard) < 5.0, "{}", queued(&standard));
}
