//! Statements of papers that follow from the algorithm: expectations of shipped scenarios, which hold unless the program is wrong.
//!
//! Statements that a test of the mechanism holds are not repeated here:
//!
//! | Paper, section | Statement | Test |
//! |---|---|---|
//! | ABE, properties of DSD | green is served within the bound, whatever arrives | `qdelay-core`, `dsd::on_a_line_*` and `dsd::by_service_*` |
//! | 5G QoS thesis, 3.4 | Fig. 3.4: paced bytes, and when two packets go | `qdelay-core`, `e5g_bdp::tests::the_example_of_figure_3_4` |
//! | 5G QoS thesis, 3.6.3 and 4.5.2 | 2289 and 1569 bytes a TTI, 1692 in 18 RBs | `qdelay-ran`, `lte::tests::sizes_match_measured_and_published_ones` |
//! | 5G QoS thesis, 4.4 | 18 and 23 RBs for one packet and two | `qdelay-ran`, `slices::a_prefix_is_rounded_up_once` |

use qdelay_core::Span;
use qdelay_papers::examples;
use qdelay_study::engine::{self, SharedSimulator};
use qdelay_study::expect::evaluate;
use qdelay_study::results::ExpectResult;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_testing::{Need, skip};
use std::path::PathBuf;

/// The expectations of the shipped scenario `name` and `more` of them, judged by the cases that they select.
fn judge(name: &str, more: &str, overrides: &Overrides, library: &Library) -> Vec<ExpectResult> {
    let text = shipped::find(name).expect("a shipped scenario");
    judge_text(name, &format!("{text}{more}"), overrides, library)
}

/// The same with the text of a scenario.
fn judge_text(name: &str, text: &str, overrides: &Overrides, library: &Library) -> Vec<ExpectResult> {
    let study = Study::parse(name, text, overrides).unwrap_or_else(|error| panic!("{error}"));
    let simulator = SharedSimulator::default();
    let is_read = |case: &Case| {
        let labels = case.labels(&study);
        study.expects.iter().any(|expect| expect.reads(&labels))
    };
    let cases = engine::some_in_memory(&simulator, &study, library, 2, is_read, &());
    let cases = cases.unwrap_or_else(|error| panic!("{error}"));
    evaluate(&study.expects, &engine::axes(&study), &cases)
}

/// `seconds` in place of the duration, and seed 1 in a scenario with seeds.
fn short(seconds: u64, has_seeds: bool) -> Overrides {
    let seeds = has_seeds.then(|| vec![1]);
    Overrides { seeds, duration: Some(Span::from_secs(seconds)), ..Overrides::default() }
}

/// Asks that the expectations of the scenario `name` and `more` match in runs of `seconds`.
fn hold(name: &str, seconds: u64, more: &str) {
    let has_seeds = shipped::find(name).is_some_and(|text| text.contains("\nseeds = "));
    all_match(name, &judge(name, more, &short(seconds, has_seeds), &Library::new()));
}

fn all_match(name: &str, results: &[ExpectResult]) {
    assert!(!results.is_empty(), "{name}: no expectation");
    for result in results {
        assert_eq!(result.verdict, "match", "{name}: {}: {:?}", result.claim, result.value);
    }
}

/// A library with the recorded traces; without them the test ends as skipped.
fn recorded(needed: &[&str]) -> Library {
    let Some(traces) = std::env::var_os("QDELAY_TRACES").map(PathBuf::from) else {
        skip(Need::Traces, "QDELAY_TRACES names no folder")
    };
    if let Some(name) = needed.iter().find(|name| !traces.join(name).exists()) {
        skip(Need::Traces, format_args!("no {name} in the folder of QDELAY_TRACES"));
    }
    Library::new().folder(traces)
}

/// BoDe, section V-C: the bound on the sojourn, and the last three packets.
#[test]
fn bode_bounds_the_sojourn() {
    let results = judge("bode/bound", "", &Overrides::default(), &Library::new());
    assert_eq!(results.len(), 5);
    all_match("bode/bound", &results);
}

/// ABE, section "Simulation", Figs. 5 to 9: no green packet waits longer than d, 40 ms. Delays of results end with the last bit: a packet of
/// 1002 bytes takes 1.6032 ms. The bound is reached, so that 38 ms are exceeded: refusals keep queues shorter.
#[test]
fn dsd_serves_green_within_the_bound_in_every_figure() {
    for (name, variant) in [
        ("abe/fig4", "DSD"),
        ("abe/fig4", "DSD, refusals"),
        ("abe/fig6", "DSD"),
        ("abe/fig7", "DSD"),
        ("abe/fig8", "DSD"),
        ("abe/fig9-text", "DSD"),
        ("abe/fig9-caption", "DSD"),
    ] {
        let expect = format!(
            r#"
[[expect]]
claim = "{variant}: the longest wait of green"
measure = "codepoints.ef.queue_delay_ms.max"
where = {{ variant = "{variant}" }}
unit = "ms"
low = 38.0
high = 41.6032
"#
        );
        hold(name, 20, &expect);
    }
}

/// ABE, section "Interworking": the delay of green over three hops is at most propagation, transmissions and three bounds: 50 ms, three
/// times 15 and 1.6 ms, and 4 ms of uplinks and jitter, 103.8 ms. Three queues of 60 packets exceed it.
#[test]
fn bounds_of_dsd_add_up_over_hops() {
    hold(
        "abe/hops",
        60,
        r#"
[[expect]]
claim = "All DSD: the longest one-way delay of green"
measure = "groups.green.one_way_delay_ms.max"
where = { variant = "all DSD" }
unit = "ms"
high = 103.8

[[expect]]
claim = "All flat: the longest one-way delay of green"
measure = "groups.green.one_way_delay_ms.max"
where = { variant = "all flat" }
unit = "ms"
low = 103.8
"#,
    );
}

/// ABE, section "Simulation", Fig. 5: the longest wait in a queue of 60 packets is the time of 60 packets, 96.19 ms; with that of its own
/// packet at most 97.80 ms.
#[test]
fn the_longest_wait_of_flat_best_effort_is_that_of_its_buffer() {
    hold(
        "abe/fig4",
        20,
        r#"
[[expect]]
claim = "Flat, all Reno: the longest wait, with the packet's own time"
measure = "groups.blue1.queue_delay_ms.max"
where = { variant = "flat, all Reno" }
unit = "ms"
low = 96.192
high = 97.7952
"#,
    );
}

/// ABE, section "Simulation", Figs. 7 and 8: the CBR source sends 125 packets a second, whatever is lost. It starts in the first of 100 s.
/// 1 Mbit/s less the losses, which stay below a tenth, leaves the link.
#[test]
fn the_cbr_source_keeps_its_rate_under_losses() {
    for (name, variant) in [("abe/fig7", "flat"), ("abe/fig8", "flat, all Reno")] {
        let expects = format!(
            r#"
[[expect]]
claim = "{variant}: packets of the CBR source"
measure = "groups.cbr.packets_sent"
where = {{ variant = "{variant}" }}
low = 12375.0
high = 12500.0

[[expect]]
claim = "{variant}: packets of it that are lost"
measure = "groups.cbr.packets_lost"
where = {{ variant = "{variant}" }}
low = 1.0

[[expect]]
claim = "{variant}: throughput of it"
measure = "groups.cbr.throughput_mbps"
where = {{ variant = "{variant}" }}
unit = "Mbit/s"
low = 0.9
high = 1.0
"#
        );
        hold(name, 100, &expects);
    }
}

/// Rate-delay, section 3.0.1, Table 2 and takeaway 1: audio with the mark has a bearer for itself. The least delay is that of an empty cell,
/// whatever the phase of the download: 1 ms to the gateway, 0.38 ms on N3, the next TTI, and 3 ms less a nanosecond from there; in whole
/// milliseconds 4. The mean is below that without the mark in each phase.
#[test]
fn marked_audio_has_the_least_delay_of_an_empty_cell() {
    hold(
        "rd/exp1",
        5,
        r#"
[[expect]]
claim = "Marked: the least delay, the smallest of all phases"
measure = "groups.real-time.one_way_whole.min_ms"
where = { variant = "marked", "flow.real-time.transport" = "audio" }
aggregate = "min"
unit = "ms"
low = 4.0

[[expect]]
claim = "Marked: the least delay, the largest of all phases"
measure = "groups.real-time.one_way_whole.min_ms"
where = { variant = "marked", "flow.real-time.transport" = "audio" }
aggregate = "max"
unit = "ms"
high = 4.0

[[expect]]
claim = "The mean with the mark over that without, the largest of all phases"
measure = "groups.real-time.one_way_delay_ms.mean"
where = { variant = "marked", "flow.real-time.transport" = "audio" }
normalise = { variant = "control" }
aggregate = "max"
unit = "ratio"
high = 1.0
"#,
    );
}

/// Rate-delay, section 3.0.2, Table 6: the filter does not match the liar, so that the real-time flow has its bearer for itself. Its least
/// delay is that of an empty cell, 4 ms, whoever lies, and a lie changes no delay.
#[test]
fn a_lie_that_the_filter_does_not_match_changes_no_delay() {
    hold(
        "rd/exp2-published",
        5,
        r#"
[[expect]]
claim = "The least delay, the smallest of all phases"
measure = "groups.real-time.one_way_whole.min_ms"
aggregate = "min"
unit = "ms"
low = 4.0

[[expect]]
claim = "The least delay, the largest of all phases"
measure = "groups.real-time.one_way_whole.min_ms"
aggregate = "max"
unit = "ms"
high = 4.0

[[expect]]
claim = "The mean delay with the lie over that without, the smallest of all phases"
measure = "groups.real-time.one_way_delay_ms.mean"
where = { variant = "lying" }
normalise = { variant = "honest" }
aggregate = "min"
unit = "ratio"
low = 1.0

[[expect]]
claim = "The mean delay with the lie over that without, the largest of all phases"
measure = "groups.real-time.one_way_delay_ms.mean"
where = { variant = "lying" }
normalise = { variant = "honest" }
aggregate = "max"
unit = "ratio"
high = 1.0
"#,
    );
}

/// 5G QoS thesis, section 3.6.2, Fig. 3.8: Vanilla always has packets below the SDAP, and the MAC sends all that it could, to three digits.
#[test]
fn vanilla_uses_the_whole_channel_of_the_emulator() {
    hold(
        "5g/emulator-1-intervals",
        20,
        r#"
[[expect]]
claim = "Vanilla: packets sent over packets that the MAC could have sent"
measure = "utilization"
where = { "cell.ue.channel" = "pedestrian", variant = "Vanilla" }
aggregate = "min"
unit = "ratio"
low = 0.9995
"#,
    );
}

/// 5G QoS thesis, section 3.6.2, Fig. 3.8: the MAC takes packets every 10 ms, so that packets at random times wait for 5 ms on average,
/// whatever waits before them. With a packet a second in place of the download it is at most 2 ms more: UPF and SDAP look each millisecond.
#[test]
fn no_scheme_waits_less_than_half_of_the_period_of_the_mac() {
    let name = "5g/emulator-1";
    let expect = |high: &str| {
        format!(
            r#"
[[expect]]
claim = "The least mean delay of the game, all schemes and channels"
measure = "groups.game.queue_delay_ms.mean"
where = {{ "cell.rlc_limit" = "31" }}
aggregate = "min"
unit = "ms"
low = 5.0
{high}
"#
        )
    };
    hold(name, 20, &expect(""));
    let text = shipped::find(name).expect("a shipped scenario");
    let alone = text.lines().map(|line| match line.split_once("transport = ") {
        Some((key, value)) if !value.contains("gaming") => {
            format!("{key}transport = \"udp:12kbit:size=1500b\"\n")
        }
        _ => format!("{line}\n"),
    });
    let text = alone.collect::<String>() + &expect("high = 7.0");
    all_match(name, &judge_text(name, &text, &short(20, true), &Library::new()));
}

/// 5G QoS thesis, section 3.6.4, Fig. 3.23: with Vanilla no RB is unused at MCS 28, in any phase of the call.
#[test]
fn vanilla_leaves_no_resource_block_unused() {
    hold(
        "5g/testbed-mcs28",
        10,
        r#"
[[expect]]
claim = "MCS 28: share of RBs that Vanilla leaves unused"
measure = "cell.rbs_unused_share"
where = { variant = "Vanilla" }
aggregate = "max"
unit = "ratio"
high = 0.005
"#,
    );
}

/// 5G QoS thesis, section 3.6.4, Fig. 3.29 and Table 3.4: nor on the channels of two drives.
#[test]
fn vanilla_leaves_no_resource_block_unused_on_drives() {
    let library = recorded(&["5g-thesis/packets_train.txt", "5g-thesis/packets_pedestrian.txt"]);
    let expects: String = [("Train", "train"), ("Pedestrian", "pedestrian")]
        .iter()
        .map(|(name, label)| {
            format!(
                r#"
[[expect]]
claim = "{name}: share of RBs that Vanilla leaves unused"
measure = "cell.rbs_unused_share"
where = {{ "cell.ue.channel" = ["{label}, lowest", "{label}, highest"], variant = "Vanilla" }}
aggregate = "max"
unit = "ratio"
high = 0.005
"#
            )
        })
        .collect();
    let overrides = Overrides { seeds: Some(vec![1]), ..Overrides::default() };
    all_match("5g/testbed-drives", &judge("5g/testbed-drives", &expects, &overrides, &library));
}

/// 5G QoS thesis, section 3.6.4, Fig. 3.25: the bytes that the MAC asks for fall with the MCS, and with them the throughput of Vanilla, which
/// leaves nothing unused.
#[test]
fn throughput_falls_with_the_mcs() {
    let library = recorded(&["5g-thesis/packets_train.txt"]);
    let expect = r#"
[[expect]]
claim = "Vanilla's throughput in ten seconds after the fall over that in ten before"
measure = "throughput_mbps"
where = { variant = "Vanilla, after" }
normalise = { variant = "Vanilla, before" }
aggregate = "max"
unit = "ratio"
high = 1.0
"#;
    let overrides = Overrides { seeds: Some(vec![1]), ..Overrides::default() };
    all_match("5g/testbed-fall", &judge("5g/testbed-fall", expect, &overrides, &library));
}

/// 5G QoS thesis, section 3.4, the vicious circle: a MAC gives RBs by the bytes in the buffers, and the last TTI had none. 5G-BDP, which
/// counts the RBs used last, sends nothing from there on; e5G-BDP sends.
#[test]
fn only_e5g_bdp_leaves_the_vicious_circle() {
    let example = examples::find("5g/blocks-by-backlog").expect("an example");
    assert_eq!(example.figure("5g-bdp.bytes_per_tti"), Some(0.0));
    let bytes = example.figure("e5g-bdp.bytes_per_tti");
    assert!(bytes.is_some_and(|bytes| bytes >= 1.0), "{bytes:?}");
}

/// 5G QoS thesis, section 4.5.2, Fig. 4.16: of two slices one lends what the other borrows, at every limit: their quanta add up to zero. The
/// slice of 75% has a download only, and lends.
#[test]
fn of_two_slices_one_lends_what_the_other_borrows() {
    let limits = r#"["EQP 25", "EQP 50", "EQP 100", "EQP 250", "EQP 500"]"#;
    let median = |slice: char| format!("cell.slices.{slice}.quantum_rbs.p50");
    let (a, b) = (median('a'), median('b'));
    let expects = format!(
        r#"
[[expect]]
claim = "The least median quantum of the slice of 75%, all limits"
measure = "{b}"
where = {{ "cell.partition" = {limits} }}
aggregate = "min"
unit = "RBs"
low = 0.0

[[expect]]
claim = "Median quantum of the slice of 25% over that of the other, the smallest of all limits"
measure = "{a} / {b}"
where = {{ "cell.partition" = {limits} }}
aggregate = "min"
unit = "ratio"
low = -1.0

[[expect]]
claim = "Median quantum of the slice of 25% over that of the other, the largest of all limits"
measure = "{a} / {b}"
where = {{ "cell.partition" = {limits} }}
aggregate = "max"
unit = "ratio"
high = -1.0
"#
    );
    hold("eqp/fig15", 15, &expects);
}

/// 5G QoS thesis, section 4.4, Fig. 4.10: four packets of four RBs, four RBs in a TTI: 4 TTIs for each with FP, 2.5 with EQP. The
/// expectations are those of the scenario.
#[test]
fn whole_packets_take_two_and_a_half_ttis_and_not_four() {
    hold("eqp/fig10", 3, "");
}
