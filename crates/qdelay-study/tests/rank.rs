//! Cells with `rank = "adapted"`: throughput by hand, the figures of the rank, other parts of a cell beside it, and errors.

use crate::cell_series::with_curves;
use crate::common::{case, cell, results, study};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;

const CARRIER: &str = "[cell]\ntechnology = \"nr\"\nnumerology = 1\nprbs = 273\nmcs_table = \"qam256\"\n";
const STEADY: &str = "deviation=0:fast=none";

/// Bits of a transport block of a codeword by TS 38.214 clause 5.1.3.2, for more than 3824 bits and code rates above a quarter.
fn block_bits(elements: f64, rate: f64, modulation: f64, layers: f64) -> f64 {
    let info = elements * rate * modulation * layers;
    let step = ((info - 24.0).log2().floor() - 5.0).exp2();
    let quantized = (step * ((info - 24.0) / step).round()).max(3840.0);
    let blocks = ((quantized + 24.0) / 8424.0).ceil();
    8.0 * blocks * ((quantized + 24.0) / (8.0 * blocks)).ceil() - 24.0
}

/// 100 MHz on DDDSU with up to four and eight layers, at SNRs whose rank and CQI follow by hand from 0.75 of Shannon's bound
/// of a layer; see the test of the same cases in qdelay-ran. Rows: layers, SNR, rank, code rate in 1/1024, modulation.
#[test]
fn a_hundred_megahertz_carry_the_bits_of_the_rank() {
    // 8 layers at 40 dB: 12.04, 10.97, 9.97 and 7.98 bits for ranks 5 to 8 less 1.66: 8 * 7.4063 is the most.
    let rows = [
        (4, 5.0, 2.0, 378.0, 4.0),
        (4, 15.0, 3.0, 567.0, 6.0),
        (4, 30.0, 4.0, 711.0, 8.0),
        (8, 40.0, 8.0, 948.0, 8.0),
    ];
    for (layers, snr, rank, rate, modulation) in rows {
        let codewords = if rank > 4.0 { 2.0 } else { 1.0 };
        let bits = |symbols: f64| {
            let elements = 273.0 * (12.0 * symbols - 12.0);
            codewords * block_bits(elements, rate / 1024.0, modulation, rank / codewords)
        };
        let expected = (3.0 * bits(13.0) + bits(9.0)) / 2.5e-3 / 1e6;
        let text = format!(
            "{CARRIER}layers = {layers}\nrank = \"adapted\"\ndecoding = \"snr:slope=100\"\nchannel = \"fading:snr={snr}:{STEADY}\"\n\
             tdd = \"tdd:DDDSU:special=10\"\n[[flow]]\ntransport = \"udp:{:.0}mbit\"\n[run]\nduration = \"300ms\"\nwarmup = \"200ms\"\n\
             series = \"50ms\"\n",
            1.1 * expected
        );
        let case = with_curves(&Folder::new("ranks"), &text);
        let found = case.throughput_mbps;
        // Headers of MAC, RLC and PDCP; a slot more or less in the time that is measured.
        assert!((found / expected - 1.0).abs() < 0.01, "{layers} {snr}: {found} of {expected} Mbit/s");
        assert_eq!(case.cell.as_ref().unwrap().air["ue-1"].rank, Some(rank));
        let series = case.series.as_ref().and_then(|series| series.cell.as_ref()).unwrap();
        assert_eq!(series.rank, vec![Some(rank); 6]);
        let table = qdelay_study::engine::series::table(case.series.as_ref().unwrap());
        assert!(table.columns.iter().any(|column| column.name == "rank" && column.about.contains("layers")));
        assert!(series.mcs.iter().all(|mcs| mcs.is_some_and(|mcs| mcs <= 27.0)), "an MCS, not a rung");
    }
}

/// Fixed is the default, and has no figures of ranks.
#[test]
fn a_fixed_rank_has_no_figures() {
    let text = format!(
        "{CARRIER}layers = 2\ndecoding = \"snr\"\nchannel = \"fading\"\n[[flow]]\n[run]\nduration = \"1s\"\n"
    );
    let case = with_curves(&Folder::new("fixed"), &text);
    assert_eq!(study(&text).case(0, &Library::new()).unwrap().settings["cell"]["rank"], "fixed");
    assert_eq!(case.cell.as_ref().unwrap().air["ue-1"].rank, None);
    assert!(case.series.as_ref().and_then(|series| series.cell.as_ref()).unwrap().rank.is_empty());
}

/// The uplink has all layers at the MCS of its own channel, and slices, OLLA, reports and handovers take part.
#[test]
fn adaptation_runs_beside_the_other_parts_of_a_cell() {
    let base =
        format!("{CARRIER}layers = 4\nrank = \"adapted\"\ndecoding = \"snr\"\nchannel = \"fading:snr=12\"\n");
    let more = [
        "olla = \"olla\"\nreport_delay = \"8ms\"\nreport_period = \"10ms\"\n",
        "handover = \"handover:every=300ms\"\nhandover_channel = \"fading:snr=3\"\n",
        "scheduler = \"eqp\"\n",
        "[cell.uplink]\nchannel = \"mcs:20\"\n",
        "[cell.uplink]\nchannel = \"cqi:9\"\n[[cell.ue]]\ncount = 3\n",
    ];
    for keys in more {
        let text = format!("{base}{keys}[[flow]]\nue = \"each\"\n[run]\nduration = \"1s\"\n");
        assert!(cell(&case(&text)).setting.carrier().adapts_rank());
        let summary = results(&text);
        let air = &summary.cases[0].cell.as_ref().unwrap().air;
        assert!(air.values().all(|air| air.rank.is_some_and(|rank| (1.0..=4.0).contains(&rank))), "{keys}");
    }
}

#[test]
fn errors_name_line_key_and_what_to_write() {
    let adapted = "[cell]\ntechnology = \"nr\"\nrank = \"adapted\"\n";
    let by_snr = format!("{adapted}decoding = \"snr\"\n");
    let cases = [
        (
            "[cell]\nrank = \"adapted\"\n[[flow]]".to_string(),
            "line 2: cell.rank: the cell is LTE; expected this key only with technology = \"nr\"",
        ),
        (
            "[cell]\ntechnology = \"nr\"\nrank = 2\n[[flow]]".to_string(),
            "line 3: cell.rank: found the integer 2; expected one of fixed, adapted in quotes",
        ),
        (
            format!("{adapted}channel = \"fading\"\n[[flow]]"),
            "line 3: cell.rank: decoding = \"steps\" counts steps of the MCS, which differ between ranks; expected decoding = \"snr\" too",
        ),
        (
            format!("{by_snr}channel = \"mcs:20\"\n[[flow]]"),
            "line 5: cell.channel: 'mcs:20': the channel has no SNR, by which rank adaptation chooses the number of layers; expected fading, such as fading:snr=20:fast=none, or no rank adaptation",
        ),
        (
            format!("{by_snr}channel = \"cqi:9\"\n[[flow]]"),
            "line 5: cell.channel: 'cqi:9': the channel has no SNR",
        ),
        (format!("{by_snr}channel = \"capacity:thesis-fig-3.8\"\n[[flow]]"), "line 5: cell.channel: "),
        (
            format!("{by_snr}channel = \"trace:synth-lte-driving\"\n[[flow]]"),
            "line 5: cell.channel: 'trace:synth-lte-driving': the channel has no SNR",
        ),
        (
            format!("{by_snr}channel = \"fading\"\n[[cell.ue]]\nchannel = \"mcs:3\"\n[[flow]]"),
            "line 7: cell.ue.channel: 'mcs:3': the channel has no SNR",
        ),
        (
            format!(
                "{by_snr}channel = \"fading\"\nhandover = \"handover:every=5s\"\nhandover_channel = \"cqi:3\"\n[[flow]]"
            ),
            "line 7: cell.handover_channel: 'cqi:3': the channel has no SNR",
        ),
        (format!("{by_snr}[[flow]]"), "line 3: cell.rank: the channel is 'mcs:28': the channel has no SNR"),
    ];
    for (text, expected) in cases {
        let study = Study::parse("my.toml", &text, &Overrides::default());
        let error = study.and_then(|study| study.check(&Library::new())).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}\n{error}\nexpected {expected}");
    }
}
