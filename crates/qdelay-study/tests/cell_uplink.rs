//! Scenarios with a cell's own uplink: errors and results of runs.

use crate::common::{case, cell, results};
use qdelay_ran::rlc::{MacHeader, Mode, RlcSetting};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use serde_json::json;

/// The error of a scenario with `keys` in `[cell.uplink]`, the first of them in line 3.
fn error(keys: &str) -> String {
    let text = format!("[cell]\n[cell.uplink]\n{keys}\n[[flow]]");
    let study = Study::parse("my.toml", &text, &Overrides::default());
    let error = study.and_then(|study| study.check(&Library::new())).expect_err(&text);
    error.to_string()
}

#[test]
fn errors_of_uplinks_name_line_key_and_expected_value() {
    for (keys, expected) in [
        (
            "sr_period = \"3ms\"",
            "line 3: cell.uplink.sr_period: requests every 3ms; expected one of 1ms, 2ms, 5ms, 10ms, 20ms, 40ms, 80ms, and a multiple of the TTI, 1ms",
        ),
        (
            "sr_offset = \"12ms\"",
            "line 3: cell.uplink.sr_offset: a first occasion at 12ms; expected a multiple of the TTI, 1ms, before 10ms",
        ),
        (
            "configured_period = \"10ms\"\nconfigured_bytes = \"8b\"",
            "line 4: cell.uplink.configured_bytes: a grant of 8 bytes has no room for more than headers; expected at least 32",
        ),
        (
            "configured_period = \"1500us\"\nconfigured_bytes = \"80b\"",
            "line 3: cell.uplink.configured_period: a grant every 1.5ms; expected a multiple of the TTI, 1ms",
        ),
        (
            "sr_grant = \"9b\"",
            "line 3: cell.uplink.sr_grant: a grant of 9 bytes has no room for more than headers; expected at least 32",
        ),
        (
            "grant_delay = \"6ms\"",
            "line 3: cell.uplink.grant_delay: a block is repeated after 8ms; expected at least the time on the air and from a grant to its transmission, 10ms",
        ),
        ("scheduler = \"eqp\"", "line 3: cell.uplink.scheduler: a base station does not know how long"),
        ("scheduler = \"mlwdf\"", "expected round_robin, proportional_fair or max_throughput"),
        ("channel = \"mcs:40\"", "line 3: cell.uplink.channel: "),
    ] {
        let found = error(keys);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn bearers_inherit_uplink_keys() {
    let case = case(
        "[cell]\nrlc = \"am\"\n[cell.uplink]\nqdisc = \"codel\"\nchannel = \"mcs:12\"\n[[cell.ue]]\ncount = 2\n\
         [[cell.ue.bearer]]\n[[cell.ue.bearer]]\nuplink_qdisc = \"bode\"\nuplink_pbr = \"1mbit\"\n\
         [[cell.ue]]\nuplink_channel = \"mcs:3\"\n[[flow]]\nue = \"ue-2\"\ndirection = \"up\"",
    );
    let uplink = cell(&case).uplink.as_ref().expect("an uplink");
    let names: Vec<&str> = uplink.bearers.iter().map(|bearer| bearer.queue.component().name).collect();
    assert_eq!(names, ["codel", "bode", "codel", "bode", "codel"]);
    assert_eq!(uplink.ues.len(), 3);
    assert!(uplink.bearers.iter().all(|bearer| matches!(bearer.rlc.mode, Mode::LteAm(_))));
    assert!(uplink.bearers[1].rate.is_some() && uplink.bearers[0].rate.is_none());
    assert_eq!(case.settings["cell"]["uplink"]["sr_period"], json!("10ms"));
    assert!(case.scenario.uplink.is_none());
}

/// The uplink's RLC and PDCP are its own; without own keys, those of the bearer, or else those of the cell.
#[test]
fn uplink_rlc_and_pdcp_are_inherited_from_bearer_and_cell() {
    let of = |uplink: &str| {
        let case = case(&format!(
            "[cell]\nrlc = \"am\"\npdcp = \"standard\"\n[cell.uplink]\n{uplink}\n[[cell.ue]]\n[[cell.ue.bearer]]\n\
             [[cell.ue.bearer]]\nrlc = \"um:mac_header=off\"\n[[flow]]\nqfi = 1\ndirection = \"up\""
        ));
        let bearers = &cell(&case).uplink.as_ref().expect("an uplink").bearers;
        let rlcs: Vec<RlcSetting> = bearers.iter().map(|bearer| bearer.rlc).collect();
        rlcs
    };
    let rlcs = of("");
    assert!(matches!(rlcs[0].mode, Mode::LteAm(_)) && rlcs[0].mac == MacHeader::Lte);
    assert!(matches!(rlcs[1].mode, Mode::LteUm(_)) && rlcs[1].mac == MacHeader::None);
    assert!(rlcs.iter().all(|rlc| rlc.pdcp.is_some()));
    let rlcs = of("rlc = \"um\"\npdcp = \"ideal\"");
    assert!(rlcs.iter().all(|rlc| matches!(rlc.mode, Mode::LteUm(_)) && rlc.mac == MacHeader::Lte));
    assert!(rlcs.iter().all(|rlc| rlc.pdcp.is_none()));
}

const PHONE: &str = r#"
    [cell]
    [cell.uplink]
    [path]
    rtt = "10ms"
    [[flow]]
    name = "call"
    transport = "voip:echo=on"
    direction = "up"
    [[flow]]
    name = "download"
    transport = "udp:1mbit:size=1000b"
    [run]
    duration = "10s"
    warmup = "2s"
"#;

/// A call from an idle phone: the stages add up to the uplink's delay, and both directions with the wires add up to the round
/// trip.
#[test]
fn stages_of_an_uplink_call_add_up_to_its_delay() {
    let summary = results(PHONE);
    let case = &summary.cases[0];
    let call = &case.groups["call"];
    let up = call.uplink.as_ref().expect("the way up");
    let sum: f64 = up.stages.values().map(|stage| stage.mean).sum();
    assert!((sum - up.total_ms.mean).abs() < 0.01, "{sum} {}", up.total_ms.mean);
    let names: Vec<&str> = up.stages.keys().map(String::as_str).collect();
    assert_eq!(names, ["air", "grant", "queue", "reassembly", "reordering", "request"]);
    // A packet every 20 ms and an occasion every 10 ms: each packet arrives just too late for an occasion.
    assert_eq!(
        (up.stages["request"].mean, up.stages["grant"].mean, up.stages["queue"].mean),
        (10.0, 8.0, 0.0)
    );
    assert_eq!(up.total_ms.mean, 22.0);
    assert!((call.one_way_delay_ms.mean - 27.0).abs() < 1e-9, "{}", call.one_way_delay_ms.mean);
    let (down, round_trip) = (call.total_ms.expect("answers"), call.round_trip_ms.as_ref().expect("answers"));
    let whole = up.total_ms.mean + 10.0 + down.mean;
    assert!((round_trip.mean - whole).abs() < 0.05, "{} {whole}", round_trip.mean);
    assert!(call.node_delay_ms.expect("answers").mean <= down.mean - 4.0 + 1e-9);
    let uplink = case.uplink.as_ref().expect("an uplink");
    assert_eq!(uplink.arrived, 500);
    let of_cell = uplink.cell.as_ref().expect("an uplink of the cell");
    assert_eq!(of_cell.rbs_offered, 8000 * 25);
    assert_eq!(of_cell.rbs_used + of_cell.rbs_wasted, of_cell.rbs_offered);
    assert!(case.groups["download"].uplink.as_ref().is_some_and(|up| up.total_ms.count == 0));
}

/// An upload fills the uplink, and its acknowledgements use the downlink. A second run gives equal results.
#[test]
fn uploads_fill_the_uplink() {
    let text = r#"
        [cell]
        [cell.uplink]
        limit = 200
        [[flow]]
        direction = "up"
        [run]
        duration = "10s"
        warmup = "2s"
    "#;
    let (summary, again) = (results(text), results(text));
    let (case, other) = (&summary.cases[0], &again.cases[0]);
    let uplink = case.uplink.as_ref().expect("an uplink");
    assert_eq!(uplink, other.uplink.as_ref().expect("an uplink"));
    let of_cell = uplink.cell.as_ref().expect("an uplink of the cell");
    assert!(of_cell.rbs_unused_share < 0.01, "{}", of_cell.rbs_unused_share);
    assert!(uplink.utilization > 0.96 && uplink.utilization <= 1.0, "{}", uplink.utilization);
    let flow = &case.flows[0];
    assert_eq!(flow.direction.as_deref(), Some("up"));
    // 200 packets of 1500 bytes last 240 ms at 10 Mbit/s.
    assert!((150.0..300.0).contains(&uplink.queue_delay_ms.p99), "{}", uplink.queue_delay_ms.p99);
    assert!(uplink.drops > 0);
}

/// With several bearers in a UE, each flow uses the bearer of its QFI in the uplink.
#[test]
fn uplink_flows_use_the_bearer_of_their_qfi() {
    let summary = results(
        r#"
        [cell]
        [cell.uplink]
        [[cell.ue]]
        name = "phone"
        count = 2
        [[cell.ue.bearer]]
        [[cell.ue.bearer]]
        priority = 2
        [[flow]]
        name = "call"
        transport = "voip"
        direction = "up"
        ue = "each"
        qfi = 1
        [[flow]]
        name = "upload"
        direction = "up"
        ue = "phone"
        qfi = 2
        [run]
        duration = "5s"
        warmup = "1s"
        "#,
    );
    let case = &summary.cases[0];
    for ue in ["phone-1", "phone-2"] {
        let of = |drb: u8| case.nodes[&format!("uplink/{ue}/drb-{drb}")];
        assert_eq!(of(1).received_packets, 250, "{ue}");
        assert!(of(2).received_packets > 1000, "{ue}");
    }
    // The bearer of the call has priority, so the call waits for grants only.
    let [call, upload] = ["call", "upload"].map(|name| case.groups[name].queue_delay_ms.mean);
    assert!(call < 4.0 && upload > 10.0 * call, "{call} {upload}");
}
